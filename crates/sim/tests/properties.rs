//! What holds on every fabric, under every load and setting.
//!
//! The engine asserts at the end of every run that packets, bytes and buffer are conserved, and at
//! every completion that it is not below its bound; in these builds it also asserts that a paused
//! class never sends. So every run here checks that too.

mod common;
mod random;

use proptest::prelude::*;
use random::{burst, load, plan};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::scenario::Operation;
use xoff_sim::{QueueKind, Observer, Outcome, Report, Sample, Settings, Silent, Trace, TraceKind};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// Ends runs that would go on for ever; nothing here needs so long.
fn settings() -> Settings {
    Settings { until: Some(Instant::ZERO + Span::from_ms(20_000)), ..Settings::default() }
}

fn simulate(fabric: &Fabric, flows: &[Flow], settings: &Settings) -> Report {
    xoff_sim::run(fabric, flows, &[], settings, &mut Silent).expect("the fabric is right")
}

fn lossless(fabric: &Fabric) -> [bool; 8] {
    std::array::from_fn(|class| fabric.classes[class].lossless)
}

/// Everything was delivered and nothing that must not be was lost.
fn check_complete(fabric: &Fabric, flows: &[Flow], report: &Report) -> Result<(), TestCaseError> {
    prop_assert_eq!(report.outcome, Outcome::Completed);
    prop_assert_eq!(report.lossless_drops(&lossless(fabric)), 0, "{:?}", report.dropped);
    prop_assert!(report.deadlocks.is_empty());
    let mut owed: BTreeMap<NicId, u64> = BTreeMap::new();
    for (flow, result) in flows.iter().zip(&report.flows) {
        prop_assert!(!result.failed && result.end.is_some());
        prop_assert_eq!(result.bytes, flow.bytes);
        prop_assert!(result.completion() >= Some(result.ideal));
        let (sender, receiver) = match flow.operation {
            Operation::Read => (flow.destination, flow.source),
            Operation::Write | Operation::Send => (flow.source, flow.destination),
        };
        let _ = sender;
        *owed.entry(receiver).or_default() += flow.bytes.get();
    }
    // What was delivered went over the last link to its receiver.
    for (nic, bytes) in owed {
        let own = PortId(fabric.nics[nic.index()].ports.start);
        let last = fabric.ports[own.index()].peer;
        let sent: u64 = report.ports[last.index()].iter().map(|class| class.tx_bytes).sum();
        prop_assert!(sent >= bytes, "{} of {} bytes went to {:?}", sent, bytes, nic);
    }
    Ok(())
}

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { cases: count * std::env::var("SOAK").map_or(1, |x| x.parse().unwrap()), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(96))]

    /// Whatever is sent arrives, in lossless classes without a drop.
    #[test]
    fn everything_arrives(mut plan in plan(), load in load(&[3, 3, 4, 0, 1])) {
        plan.switches.slack = 32_000_000;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &Settings { check_wire: true, ..settings() });
        check_complete(&fabric, &flows, &report)?;
    }
}

proptest! {
    #![proptest_config(cases(96))]

    /// Headroom as computed is always enough, with any rate, length, packet, cell and latency, when
    /// nobody slows down and the switches have hardly any buffer besides.
    #[test]
    fn computed_headroom_is_enough(mut plan in plan(), load in burst(&[3])) {
        plan.transport.congestion = "none";
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
    }
}

/// Keeps everything it is told, and checks that classes stand still while they are paused.
#[derive(Default)]
struct Watcher {
    traces: Vec<Trace>,
    samples: u64,
    /// Paused queues: since when, and what they had sent when that was last seen.
    paused: BTreeMap<(PortId, u8), (Instant, Option<u64>)>,
    total: BTreeMap<(PortId, u8), Span>,
    wrong: Vec<String>,
}

impl Observer for Watcher {
    fn trace(&mut self, trace: &Trace) {
        self.traces.push(*trace);
        let slot = (trace.port, trace.class);
        match trace.kind {
            TraceKind::PauseStart => {
                if self.paused.insert(slot, (trace.at, None)).is_some() {
                    self.wrong.push(format!("{slot:?} was paused twice"));
                }
            }
            TraceKind::PauseEnd => match self.paused.remove(&slot) {
                Some((since, _)) => *self.total.entry(slot).or_default() += trace.at - since,
                None => self.wrong.push(format!("{slot:?} was not paused")),
            },
            _ => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        self.samples += 1;
        let slot = (sample.port, sample.class);
        let Some((_, sent)) = self.paused.get_mut(&slot) else {
            if sample.paused {
                self.wrong.push(format!("{slot:?} is paused and nobody said so"));
            }
            return;
        };
        if !sample.paused || sent.is_some_and(|sent| sent != sample.tx_bytes) {
            self.wrong.push(format!("{slot:?} moved while it was paused"));
        }
        *sent = Some(sample.tx_bytes);
    }
}

proptest! {
    #![proptest_config(cases(48))]

    /// A paused class sends nothing, and the time it stood still is reported.
    #[test]
    fn a_paused_class_stands_still(plan in plan(), load in load(&[3, 4])) {
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let mut watcher = Watcher::default();
        let settings = Settings { sample_period: Span::from_ns(700), ..settings() };
        // Without buffer to share a lossy class 4 may never get through.
        let settings = Settings { until: Some(Instant::ZERO + Span::from_ms(5)), ..settings };
        let report = xoff_sim::run(&fabric, &flows, &[], &settings, &mut watcher).unwrap();
        prop_assert!(watcher.wrong.is_empty(), "{:?}", watcher.wrong);
        for (&slot, &(since, _)) in &watcher.paused {
            *watcher.total.entry(slot).or_default() += report.end - since;
        }
        for (port, classes) in report.ports.iter().enumerate() {
            for (class, result) in classes.iter().enumerate() {
                let seen = watcher.total.get(&(PortId(port as u32), class as u8));
                prop_assert_eq!(seen.copied().unwrap_or(Span::ZERO), result.paused);
            }
        }
    }

    /// The same seed gives the same result: with either event queue, watched or not.
    #[test]
    fn the_same_seed_gives_the_same_result(
        mut plan in plan(),
        load in load(&[3, 4, 0]),
        seed: u64,
        loss in prop::sample::select(vec!["0", "0.001"]),
    ) {
        plan.loss = loss;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        prop_assume!(!flows.is_empty());
        let base = Settings { seed, until: Some(Instant::ZERO + Span::from_ms(5)), ..settings() };
        let report = simulate(&fabric, &flows, &base);
        let again = simulate(&fabric, &flows, &Settings { check_wire: true, ..base.clone() });
        prop_assert_eq!((report.hash, report.events), (again.hash, again.events));
        let plain = simulate(&fabric, &flows, &Settings { queue: QueueKind::Heap, ..base.clone() });
        prop_assert_eq!((report.hash, report.events), (plain.hash, plain.events));
        let mut watcher = Watcher::default();
        let watched = Settings { sample_period: Span::from_ns(1300), ..base };
        let watched = xoff_sim::run(&fabric, &flows, &[], &watched, &mut watcher).unwrap();
        prop_assert_eq!(report.hash, watched.hash);
    }
}

proptest! {
    #![proptest_config(cases(48))]

    /// Packets that get lost on cables are sent again, whatever the recovery.
    #[test]
    fn losses_on_cables_recover(
        mut plan in plan(),
        load in load(&[3, 3, 0]),
        loss in prop::sample::select(vec!["0.001", "0.01"]),
    ) {
        plan.switches.slack = 32_000_000;
        plan.loss = loss;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
    }

    /// A lossy class drops when its buffer is full, recovers, and harms nobody else.
    #[test]
    fn a_lossy_class_drops_and_recovers(mut plan in plan(), load in burst(&[1]), slack in 50_000u64..400_000) {
        plan.transport.ack = "7";
        plan.switches.slack = slack;
        plan.switches.reserved = 20_000;
        let fabric = plan.fabric();
        let flows = load.flows(&fabric);
        let report = simulate(&fabric, &flows, &settings());
        check_complete(&fabric, &flows, &report)?;
        prop_assert_eq!(report.ports.iter().flatten().map(|c| c.pauses_received).sum::<u64>(), 0);
    }
}
