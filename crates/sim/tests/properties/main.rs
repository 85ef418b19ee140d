//! What holds on every fabric, under every load and setting.
//!
//! The engine asserts at the end of every run that packets, bytes and buffer are conserved, and at
//! every completion that it is not below its bound; in these builds it also asserts that a paused
//! class never sends. So every run here checks that too.

#[path = "../common/mod.rs"]
mod common;

mod deadlock;
mod deep;
mod delivery;
mod determinism;
mod extremes;
mod faults;
mod marking;
mod pauses;
mod random;
mod rivals;
mod scrapes;
mod threads;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::scenario::Operation;
use xoff_sim::{Outcome, Report, Settings, Silent};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// Until then everything is over, or never will be.
fn until(span: Span) -> Settings {
    Settings { until: Some(Instant::ZERO + span), ..Settings::default() }
}

/// Ends runs that would go on for ever; nothing that completes needs so long.
fn settings() -> Settings {
    until(Span::from_ms(20_000))
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
        prop_assert!(result.failure.is_none() && result.end.is_some());
        prop_assert_eq!(result.bytes, flow.bytes);
        prop_assert!(result.completion() >= Some(result.ideal));
        let receiver = match flow.operation {
            Operation::Read => flow.source,
            Operation::Write | Operation::Send => flow.destination,
        };
        *owed.entry(receiver).or_default() += flow.bytes.get();
    }
    // What was delivered went over the last link to its receiver.
    for (nic, bytes) in owed {
        let own = fabric.nics[nic.index()].ports.clone();
        let last = own.map(|port| fabric.ports[PortId(port).index()].peer);
        let classes = last.flat_map(|port| &report.ports[port.index()]);
        let sent: u64 = classes.map(|class| class.tx_bytes).sum();
        prop_assert!(sent >= bytes, "{} of {} bytes went to {:?}", sent, bytes, nic);
    }
    Ok(())
}

/// So many cases, the same ones every time; `PROPTEST_RNG_SEED` draws others, and
/// `PROPTEST_CASES_TIMES` more of them.
fn cases(count: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(8021),
        chosen => chosen,
    };
    let times = std::env::var("PROPTEST_CASES_TIMES").ok().and_then(|text| text.parse().ok());
    let cases = count * times.unwrap_or(1);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..default }
}
