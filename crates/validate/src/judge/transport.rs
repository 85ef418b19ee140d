//! Settings of NICs and queue pairs against rate and round trip: constants of congestion control, windows, packets.

use super::words::{percent, some, time};
use super::{Evidence, advice};
use crate::check::Check;
use crate::phase::Phase;
use xoff_fabric::derived::Derived;
use xoff_fabric::model::{Fabric, Nic};
use xoff_report::Verdict;
use xoff_transport::config::{CnpScope, Congestion, Dcqcn, Notification};
use xoff_units::{Bytes, Rate, Span};

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let all = [constants(evidence, derived), packets(evidence), window(evidence, derived)];
    all.into_iter().flatten().collect()
}

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Laboratory, name, title)
}

/// Senders of an incast that congestion control must be able to slow down to the receiver's rate.
const SENDERS: u64 = 64;

/// Constants of congestion control that cannot work at this rate.
fn constants(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let mut wrong: Vec<String> = Vec::new();
    let mut fatal = false;
    for nic in &fabric.nics {
        let (deaf, words) = of_a_nic(fabric, nic, derived);
        fatal |= deaf;
        wrong.extend(words.into_iter().filter(|words| !wrong.contains(words)).collect::<Vec<_>>());
    }
    fabric.nics.iter().any(|nic| !matches!(nic.qp.congestion, Congestion::None)).then_some(())?;
    let seen = match wrong.is_empty() {
        true => "constants of congestion control fit the line rate".to_owned(),
        false => some(&wrong),
    };
    let verdict = match (fatal, wrong.is_empty()) {
        (true, _) => Verdict::Fail,
        (false, false) => Verdict::Warn,
        (false, true) => Verdict::Pass,
    };
    let check = check("constants", "Constants of congestion control fit the fabric")
        .done("compared the constants of every NIC with its line rate and the round trip")
        .seen(
            seen,
            "cuts that count, increases that neither crawl nor jump, targets of a few round trips",
        )
        .verdict(verdict)
        .places((!wrong.is_empty()).then_some("transport.congestion"));
    Some(check.consider(advice::usual_congestion_control(evidence)))
}

/// Whether a NIC hears nothing of congestion, and what else is wrong with its constants.
fn of_a_nic(fabric: &Fabric, nic: &Nic, derived: &Derived) -> (bool, Vec<String>) {
    let rate = fabric.nic_rate(nic);
    let rtt = derived.paths.iter().map(|path| path.base_rtt).max().unwrap_or(Span::ZERO);
    let deaf = nic.qp.congestion.needs_echo() && nic.qp.notification != Notification::EchoInAck;
    let mut wrong = Vec::new();
    if deaf {
        wrong.push("senders wait for echoed marks, and receivers send notification packets".into());
    }
    let late = nic.qp.cnp_delay + nic.qp.reaction_delay;
    if late > Span::from_us(100) {
        wrong.push(format!("senders act {late} after a mark"));
    }
    match &nic.qp.congestion {
        Congestion::Dcqcn(dcqcn) => {
            wrong.extend(of_dcqcn(dcqcn, rate));
            let shared = nic.qp.cnp_scope == CnpScope::Port;
            if shared && nic.qp.cnp_interval * 16 > Span::from_us(200) {
                wrong.push(format!(
                    "a port sends a notification every {}: of 16 senders each hears one in {}",
                    nic.qp.cnp_interval,
                    nic.qp.cnp_interval * 16
                ));
            }
        }
        Congestion::Hpcc(_) if fabric.switches.iter().any(|switch| switch.balancing.reorders()) => {
            wrong.push("senders add up the loads of one path, and packets take several".to_owned());
        }
        Congestion::Hpcc(hpcc) if !(0.85..=0.99).contains(&hpcc.eta.as_f64()) => {
            wrong.push(format!("links are to be used to {}", percent(hpcc.eta.as_f64())));
        }
        Congestion::Swift(swift) => {
            let (low, high) = (rtt.as_us_f64() / 4.0, (16.0 * rtt.as_us_f64()).max(100.0));
            if !(low..=high).contains(&swift.target.as_us_f64()) {
                wrong.push(format!(
                    "the target delay is {}, the round trip {}",
                    swift.target,
                    time(rtt.as_us_f64())
                ));
            }
        }
        _ => {}
    }
    (deaf, wrong)
}

/// Constants of DCQCN outside of what NICs ship and papers use, by more than the line rate explains.
fn of_dcqcn(dcqcn: &Dcqcn, rate: Rate) -> Vec<String> {
    let line = rate.bps() as f64;
    let mut wrong = Vec::new();
    let g = dcqcn.g.as_f64();
    if !(1.0 / 8_192.0..=0.25).contains(&g) {
        wrong.push(format!("g is {g}: alpha forgets too slowly or too fast"));
    }
    if dcqcn.initial_alpha.as_f64() < 0.02 {
        wrong.push(format!("the first cut takes {}", percent(dcqcn.initial_alpha.as_f64() / 2.0)));
    }
    if dcqcn.largest_cut.as_f64() < 0.1 {
        wrong.push(format!("a cut takes {} at most", percent(dcqcn.largest_cut.as_f64())));
    }
    if dcqcn.decrease_interval > Span::from_us(500) {
        wrong.push(format!("rates are cut once in {}", dcqcn.decrease_interval));
    }
    if dcqcn.min_rate.bps() as f64 > line / SENDERS as f64 {
        wrong.push(format!(
            "no sender goes below {}, more than a {SENDERS}th of the line rate",
            dcqcn.min_rate
        ));
    }
    let scaled = |increase: Rate| match dcqcn.increase_at.bps() {
        0 => increase.bps() as f64,
        at => increase.bps() as f64 * line / at as f64,
    };
    let (additive, hyper) = (scaled(dcqcn.additive_increase), scaled(dcqcn.hyper_increase));
    if additive > line / 20.0 || hyper > line / 4.0 {
        wrong.push(format!(
            "rates rise by {} at a time, then by {}",
            dcqcn.additive_increase, dcqcn.hyper_increase
        ));
    }
    if additive < 1e6 && hyper < 1e7 {
        wrong.push(format!(
            "rates rise by {} at a time, and never by more than {}",
            dcqcn.additive_increase, dcqcn.hyper_increase
        ));
    }
    wrong
}

/// Payload below which headers take more than a twentieth of the line.
const SMALL: Bytes = Bytes::new(2_048);

/// Packets that are small beside their headers.
fn packets(evidence: &Evidence<'_>) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let smallest = fabric.nics.iter().min_by_key(|nic| nic.qp.mtu)?;
    let (mtu, framing) = (smallest.qp.mtu, &smallest.qp.framing);
    let share = |payload: Bytes| {
        let around = framing.header + framing.gap;
        payload.get() as f64 / (payload + around).get().max(1) as f64
    };
    let small = mtu < SMALL;
    let check = check("packets", "Packets are large beside their headers")
        .done("compared the transport's MTU with the headers around it")
        .seen(
            format!("packets of {mtu}: data is {} of what the wire carries", percent(share(mtu))),
            format!("packets of {SMALL} or more, 4KiB where switches pass jumbo frames"),
        )
        .verdict(if small { Verdict::Warn } else { Verdict::Pass })
        .places(small.then_some("transport.mtu"));
    Some(check.consider(small.then(advice::large_packets)))
}

/// A window that holds less than the path.
fn window(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let fabric = &evidence.setup.fabric;
    let rtt = derived.paths.iter().map(|path| path.base_rtt).max()?;
    let limited = |nic: &&Nic| !nic.qp.window.is_zero();
    let nic = fabric.nics.iter().filter(limited).min_by_key(|nic| nic.qp.window)?;
    let holds = fabric.nic_rate(nic).bytes_in(rtt);
    let short = nic.qp.window < holds;
    let check = check("window", "A queue pair may have as much in flight as its path holds")
        .done("compared the window of NICs with line rate times round trip")
        .seen(
            format!("a window of {}; the longest path holds {holds}", nic.qp.window),
            "as much as the longest path holds, or more",
        )
        .verdict(if short { Verdict::Warn } else { Verdict::Pass })
        .places(short.then_some("transport.window"));
    Some(check.consider(advice::usual_recovery(evidence)))
}
