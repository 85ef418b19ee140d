//! Reproducers of mistakes that properties or reading have found. Each must pass.

use crate::common::{fabric, flow};
use xoff_fabric::load::load_fabric;
use xoff_fabric::model::{ClassId, Fabric};
use xoff_fabric::scenario::{Fault, NodeRef, Operation};
use xoff_sim::{Drop, Outcome, Report, Settings, Silent};
use xoff_units::{Bytes, Instant, Rate, Span};
use xoff_workload::Flow;

const SINGLE: &str = "[cluster]\nhosts = 4\n[fabric]\nkind = \"single\"\n";

fn at(span: Span) -> Option<Instant> {
    Some(Instant::ZERO + span)
}

fn run(fabric: &Fabric, flows: &[Flow], faults: &[Fault], settings: &Settings) -> Report {
    xoff_sim::run(fabric, flows, faults, settings, &mut Silent).unwrap()
}

/// Two reads and writes at once into NIC 0, long enough to be marked.
fn congested(fabric: &Fabric, operation: Operation) -> Vec<Flow> {
    let into_zero = |other| match operation {
        Operation::Read => flow(fabric, 0, other, 4_000_000),
        Operation::Write | Operation::Send => flow(fabric, other, 0, 4_000_000),
    };
    (1..4).map(|other| Flow { operation, ..into_zero(other) }).collect()
}

/// A congestion notification carries no telemetry, and there was no place to put it.
#[test]
fn hpcc_senders_may_get_congestion_notifications() {
    let fabric = fabric(&format!(
        "{SINGLE}[transport.congestion]\nkind = \"hpcc\"\n\
         [ecn]\nkmin = \"10KB\"\nkmax = \"20KB\"\n"
    ));
    let report = run(&fabric, &congested(&fabric, Operation::Write), &[], &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
}

/// A read completes while its initiator still owes a congestion notification.
#[test]
fn a_read_completes_while_a_notification_is_delayed() {
    let fabric = fabric(&format!(
        "{SINGLE}[transport]\ncnp-delay = \"50us\"\n\
         [ecn]\nkmin = \"10KB\"\nkmax = \"20KB\"\n"
    ));
    let settings = Settings { until: at(Span::from_ms(1000)), ..Settings::default() };
    let report = run(&fabric, &congested(&fabric, Operation::Read), &[], &settings);
    assert_eq!(report.outcome, Outcome::Completed);
}

/// Without traffic a run is over at once, whoever samples.
#[test]
fn sampling_does_not_move_the_end_of_a_run_without_traffic() {
    let fabric = fabric(SINGLE);
    let base = Settings { until: at(Span::from_ms(1)), ..Settings::default() };
    let plain = run(&fabric, &[], &[], &base);
    let sampled =
        Settings { sample_period: Span::from_us(1), scrape_period: Span::from_us(3), ..base };
    let sampled = run(&fabric, &[], &[], &sampled);
    assert_eq!((plain.hash, plain.end), (sampled.hash, sampled.end));
}

/// A storm without end is given up at the same instant, whoever samples.
#[test]
fn sampling_does_not_move_the_end_of_a_hopeless_run() {
    let fabric = fabric(SINGLE);
    let storm = [Fault::PauseStorm { nic: NodeRef::Number(0), at: Span::ZERO, duration: None }];
    let flows = [flow(&fabric, 1, 0, 100_000)];
    let plain = run(&fabric, &flows, &storm, &Settings::default());
    let (sample_period, scrape_period) = (Span::from_ms(1), Span::from_ms(3));
    let sampled = Settings { sample_period, scrape_period, ..Settings::default() };
    let sampled = run(&fabric, &flows, &storm, &sampled);
    assert_eq!(plain.outcome, sampled.outcome);
    assert_eq!((plain.hash, plain.end), (sampled.hash, sampled.end));
}

/// The end of a storm must not lift the pause of a receive side that is still full.
#[test]
fn a_storm_that_ends_leaves_a_full_receiver_paused() {
    let fabric = fabric(SINGLE);
    let nic = NodeRef::Number(0);
    let faults = [
        Fault::SlowReceiver {
            nic: nic.clone(),
            at: Span::ZERO,
            rate: Rate::from_gbps(1),
            duration: None,
        },
        Fault::PauseStorm { nic, at: Span::from_us(50), duration: Some(Span::from_us(50)) },
    ];
    let flows: Vec<Flow> = (1..4).map(|from| flow(&fabric, from, 0, 4_000_000)).collect();
    let settings = Settings { until: at(Span::from_ms(2)), ..Settings::default() };
    let without = run(&fabric, &flows, &faults[..1], &settings);
    assert_eq!(without.dropped[3][Drop::HostBuffer as usize], 0, "the receiver is lossless");
    let report = run(&fabric, &flows, &faults, &settings);
    assert_eq!(report.dropped[3][Drop::HostBuffer as usize], 0);
}

/// Two storms of one NIC that overlap last until the later one ends.
#[test]
fn overlapping_storms_last_until_the_later_one_ends() {
    let fabric = fabric(SINGLE);
    let storm = |at, duration| Fault::PauseStorm {
        nic: NodeRef::Number(0),
        at: Span::from_us(at),
        duration: Some(Span::from_us(duration)),
    };
    let flows = [flow(&fabric, 1, 0, 4_000_000)];
    let report = run(&fabric, &flows, &[storm(0, 1000), storm(10, 10)], &Settings::default());
    let end = report.flows[0].end.unwrap();
    assert!(end >= Instant::ZERO + Span::from_us(1000), "sent through a storm: ended at {end:?}");
}

/// Any buffer and alpha that a file may have can be run.
#[test]
fn the_largest_buffer_and_alpha_do_not_overflow() {
    let fabric = fabric(&format!("{SINGLE}[switch]\nbuffer = \"16TB\"\n[pfc]\nalpha = 60000\n"));
    let report = run(&fabric, &[flow(&fabric, 1, 0, 100_000)], &[], &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
}

/// Flows may come in any order.
#[test]
fn flows_need_not_be_sorted_by_their_start() {
    let fabric = fabric(SINGLE);
    let mut flows = vec![flow(&fabric, 1, 0, 100_000), flow(&fabric, 2, 0, 100_000)];
    flows[0].start = Instant::ZERO + Span::from_us(50);
    let report = run(&fabric, &flows, &[], &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
    assert!(report.flows[1].end < at(Span::from_us(50)), "the earlier flow waited for the later");
}

/// Pauses so short that a full packet outlasts them still hold, or the file's reader warns.
#[test]
fn short_pauses_still_protect() {
    let text = "[cluster]\nhosts = 8\n[fabric]\nkind = \"single\"\n[pfc]\nquanta = 40\n\
                [switch]\nbuffer = \"8MB\"\n[ecn]\nenabled = false\n\
                [transport.congestion]\nkind = \"none\"\n";
    let loaded = load_fabric(text);
    if loaded.diagnostics.iter().any(|told| told.message.contains("refreshed")) {
        return;
    }
    let fabric = loaded.value.unwrap().fabric;
    // While a full packet goes to a paused sender, no pause frame does.
    let flows: Vec<Flow> = (1..4)
        .flat_map(|n| [flow(&fabric, n, 0, 16_000_000), flow(&fabric, n + 4, n, 16_000_000)])
        .collect();
    let settings = Settings { until: at(Span::from_ms(20)), ..Settings::default() };
    let report = run(&fabric, &flows, &[], &settings);
    assert_eq!(report.dropped[3][Drop::Headroom as usize], 0);
}

/// A NIC that sends to itself goes through its switch and back.
#[test]
fn a_nic_may_send_to_itself() {
    let fabric = fabric(SINGLE);
    let settings = Settings { until: at(Span::from_ms(100)), ..Settings::default() };
    for operation in [Operation::Write, Operation::Send, Operation::Read] {
        let flows = [Flow { operation, ..flow(&fabric, 1, 1, 100_000) }];
        let report = run(&fabric, &flows, &[], &settings);
        assert_eq!(report.outcome, Outcome::Completed, "{operation:?}");
    }
}

/// Messages of no bytes complete, whatever the operation.
#[test]
fn empty_messages_complete() {
    let fabric = fabric(SINGLE);
    let settings = Settings { until: at(Span::from_ms(100)), ..Settings::default() };
    for operation in [Operation::Write, Operation::Send, Operation::Read] {
        let flows = [Flow { operation, bytes: Bytes::ZERO, ..flow(&fabric, 1, 2, 0) }];
        let report = run(&fabric, &flows, &[], &settings);
        assert_eq!(report.outcome, Outcome::Completed, "{operation:?}");
    }
}

/// A strong class that is never served for want of weight still gets its turn.
#[test]
fn all_classes_of_one_port_get_their_turn() {
    let fabric = fabric(SINGLE);
    let flows: Vec<Flow> = (0..8)
        .map(|class| Flow { class: ClassId(class), ..flow(&fabric, 1, 0, 1_000_000) })
        .collect();
    let report = run(&fabric, &flows, &[], &Settings::default());
    assert_eq!(report.outcome, Outcome::Completed);
}

/// A thousand packets lost in a row do not cost a timeout each.
#[test]
fn a_lost_tail_recovers_in_a_few_round_trips() {
    let text = "[cluster]\nhosts = 3\n[fabric]\nkind = \"single\"\nleaf = \"ideal\"\n\
                [links]\nrate = \"100Gbps\"\n[switch]\nbuffer = \"2MB\"\n[ecn]\nenabled = false\n\
                [transport]\nrecovery = \"selective-repeat\"\ntimeout = \"1ms\"\n\
                adaptive-retransmission = false\n[transport.congestion]\nkind = \"none\"\n";
    let fabric = fabric(text);
    let lossy = |source| Flow { class: ClassId(1), ..flow(&fabric, source, 0, 5_000_000) };
    let report = run(&fabric, &[lossy(1), lossy(2)], &[], &Settings::default());
    assert!(report.dropped[1][Drop::EgressLimit as usize] > 500);
    assert!(report.end < Instant::ZERO + Span::from_ms(10), "it took until {:?}", report.end);
}
