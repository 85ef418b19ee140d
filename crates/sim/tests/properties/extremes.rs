//! What nobody should build still neither crashes nor hangs.

use crate::random::{Plan, Wiring, load, plan};
use crate::{cases, check_complete, settings, simulate, until};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Write;
use xoff_fabric::scenario::{Fault, NodeRef};
use xoff_sim::{Outcome, QueueKind, Settings, Silent};
use xoff_units::{Instant, Rate, Span};

/// Two hosts with long and bad cables between them.
fn long_line(delay: &str, loss: &str, errors: &str, recovery: &str, window: &str) -> String {
    let mut text = format!(
        "[fabric]\nkind = \"custom\"\nleaf = \"ideal\"\n[switch]\nbuffer = \"16GB\"\n\
         [transport]\nrecovery = \"{recovery}\"\nwindow = \"{window}\"\n"
    );
    for (name, kind) in [("a", "nic"), ("s", "switch"), ("t", "switch"), ("b", "nic")] {
        write!(text, "[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n").unwrap();
    }
    write!(
        text,
        "[[link]]\nends = \"a s\"\n[[link]]\nends = \"t b\"\n[[link]]\nends = \"s t\"\nparallel = 2\n\
         delay = \"{delay}\"\nloss = {loss}\nbit-error-rate = {errors}\n"
    )
    .unwrap();
    text
}

proptest! {
    #![proptest_config(cases(64))]

    /// Links of 10 ms and more, longer than the timeout, that lose packets besides.
    #[test]
    fn long_and_bad_links_get_through(
        delay in select(vec!["1us", "1ms", "10ms", "25ms"]),
        loss in select(vec!["0", "0.0001", "0.01"]),
        errors in select(vec!["0", "1e-9", "1e-7"]),
        recovery in select(vec!["go-back-n", "selective-repeat"]),
        window in select(vec!["0B", "1MB"]),
        load in load(&[3, 0]),
    ) {
        let fabric = crate::common::fabric(&long_line(delay, loss, errors, recovery, window));
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
    }

    /// Routes that lead anywhere, also in circles: runs end, and nothing is lost from the books.
    #[test]
    fn any_static_route_ends(
        mut plan in plan(),
        wiring in (2u32..5, 2u32..4, 1u32..3),
        routes in prop::collection::vec((any::<u32>(), any::<u32>(), any::<bool>()), 1..6),
        load in load(&[3, 0]),
        retries in select(vec![0u8, 1, 7]),
        heap: bool,
    ) {
        let (switches, hosts, parallel) = wiring;
        plan.wiring = Wiring::Line { switches, hosts, parallel };
        let fabric = astray(&plan, (switches, hosts), &routes, retries);
        let flows = load.flows(&fabric);
        let queue = if heap { QueueKind::Heap } else { QueueKind::Wheel };
        let report = simulate(&fabric, &flows, &Settings { queue, ..until(Span::from_ms(4)) });
        for flow in &report.flows {
            prop_assert!(flow.failure.is_none() || flow.end.is_none());
        }
        if report.outcome == Outcome::Completed {
            prop_assert!(report.flows.iter().all(|flow| flow.failure.is_some() || flow.end.is_some()));
        }
    }

    /// Storms and slow receivers at any time, with and without a watchdog.
    #[test]
    fn any_fault_ends(
        plan in plan(),
        faults in prop::collection::vec((any::<u32>(), 0u64..300, 0u64..300, 0u64..4), 1..5),
        load in load(&[3, 4]),
        watchdog in select(vec!["", "drop", "forward"]),
        heap: bool,
    ) {
        let mut text = plan.text();
        if !watchdog.is_empty() {
            let dog = format!(
                "[switch]\nwatchdog = {{ detect = \"40us\", restore = \"70us\", action = \"{watchdog}\" }}\n"
            );
            text = text.replacen("[switch]\n", &dog, 1);
        }
        let fabric = crate::common::fabric(&text);
        let nics = fabric.nics.len() as u32;
        let faults: Vec<Fault> = faults.iter().map(|&fault| any_fault(nics, fault)).collect();
        let flows = load.flows(&fabric);
        let queue = if heap { QueueKind::Heap } else { QueueKind::Wheel };
        let settings = Settings { queue, ..until(Span::from_ms(4)) };
        let report = xoff_sim::run(&fabric, &flows, &faults, &settings, &mut Silent).unwrap();
        prop_assert!(report.outcome == Outcome::Completed || report.end == Instant::ZERO + Span::from_ms(4));
    }
}

/// A line of switches with wrong turns.
fn astray(
    plan: &Plan,
    (switches, hosts): (u32, u32),
    routes: &[(u32, u32, bool)],
    retries: u8,
) -> xoff_fabric::model::Fabric {
    let mut text =
        plan.text().replace("retry-limit = 255\n", &format!("retry-limit = {retries}\n"));
    let mut seen = std::collections::BTreeSet::new();
    for &(at, to, up) in routes {
        let (at, to) = (at % switches, to % (switches * hosts));
        let via = if at == 0 || up && at + 1 < switches { at + 1 } else { at - 1 };
        if seen.insert((at, to)) {
            write!(
                text,
                "[[route]]\nat = \"s{at}\"\nto = \"h{}-{}\"\nvia = \"s{via}\"\n",
                to / hosts,
                to % hosts
            )
            .unwrap();
        }
    }
    crate::common::fabric(&text)
}

fn any_fault(nics: u32, (nic, at, long, kind): (u32, u64, u64, u64)) -> Fault {
    let (nic, at) = (NodeRef::Number(nic % nics), Span::from_us(at));
    let duration = (long > 100).then_some(Span::from_us(long));
    match kind {
        0 => Fault::PauseStorm { nic, at, duration },
        rate => Fault::SlowReceiver { nic, at, rate: Rate::from_gbps(rate * rate), duration },
    }
}
