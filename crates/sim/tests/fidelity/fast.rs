//! `fast` beside `packet`.

use crate::rows::{NO_CONTROL, Row, collective, leaf_spine, rail, row, step};
use crate::{errors, run, run_with, times};
use xoff_fabric::scenario::Fidelity;
use xoff_sim::{QueueKind, Refusal, Report, Settings, Shortcuts};

/// Both ways, and the error of the times.
fn compared(row: &Row) -> (Report, Report, f64) {
    let (packet, ..) = run(row, Fidelity::Packet, 1);
    let (fast, ..) = run(row, Fidelity::Fast, 1);
    let (mean, _) = errors(&packet, &fast);
    (packet, fast, mean)
}

fn shortcuts(report: &Report) -> Shortcuts {
    report.shortcuts.expect("it is fast")
}

/// One collective that is simulated is simulated as ever: to the picosecond, and every counter of every port.
#[test]
fn one_collective_that_crowds_links_is_the_same_in_everything() {
    for name in [
        "Gather, 32 GPUs, 32 MiB",
        "PAT AllGather, 8 GPUs, 4 MiB",
        "direct AllToAll, 64 GPUs, 8 MiB",
        "tree AllReduce, 64 GPUs, 16 MiB",
    ] {
        let (packet, fast, _) = compared(&row(name));
        assert_eq!(shortcuts(&fast).simulated, 1, "{name}");
        assert_eq!(times(&packet), times(&fast), "{name}");
        assert_eq!(packet.ports, fast.ports, "{name}");
        assert_eq!(packet.health, fast.health, "{name}");
        assert_eq!(packet.packet_hops, fast.packet_hops, "{name}");
    }
}

#[test]
fn what_nothing_is_in_the_way_of_is_not_simulated() {
    for name in ["NVLS AllReduce, 8 GPUs, 64 MiB", "AllGather of 16 servers, 256 MiB"] {
        let (packet, fast, error) = compared(&row(name));
        assert!(error < 0.003, "{name}: {error}");
        assert_eq!(shortcuts(&fast), Shortcuts { plain: 1, ..Shortcuts::default() }, "{name}");
        let bytes = |report: &Report| -> u64 {
            report.ports.iter().flatten().map(|class| class.wire_bytes).sum()
        };
        let (packet, fast) = (bytes(&packet) as f64, bytes(&fast) as f64);
        assert!((0.97 * packet..=packet).contains(&fast), "{name}: {fast} of {packet}");
    }
}

/// NICs that wait for clear-to-sends take turns among their queue pairs: the network without queues is too fast there.
#[test]
fn what_waits_for_its_peers_is_simulated() {
    let text = "model = 'llama-2-13b'\ntp = 8\ndp = 2\nmicro-batches = 1\nlayers = 1";
    let (packet, fast, error) = compared(&("", rail(16, 32), step(text)));
    assert!(error < 0.002, "{:?} {:?}", times(&packet), times(&fast));
    // All that is done inside servers is not, and neither is what is done again.
    let Shortcuts { plain, simulated, remembered, .. } = shortcuts(&fast);
    assert!(plain > 0 && simulated < remembered, "{:?}", shortcuts(&fast));
}

/// Rates that were cut stay cut for a while: what a job sends on after that is packets.
#[test]
fn rates_that_last_are_not_forgotten() {
    let fan_in = collective("gather", "64MiB", "ranks = 32\nrepeat = 2");
    let (packet, fast, error) = compared(&("", rail(32, 32), fan_in));
    assert!(packet.jobs[0].counters.rate_decreases > 0, "it is congested");
    assert_eq!((fast.instead_of_fast, error), (Some(Refusal::Rates), 0.0));
}

/// The same again is not simulated again, and counts again.
#[test]
fn what_repeats_is_remembered() {
    let text = |more: &str| collective("all-to-all-collective", "8MiB", more);
    let once: Row = ("", rail(64, 32), text(""));
    let again: Row = ("", rail(64, 32), text("repeat = 5"));
    let (once, again) = (run(&once, Fidelity::Fast, 1).0, run(&again, Fidelity::Fast, 1).0);
    assert_eq!((shortcuts(&again).simulated, shortcuts(&again).remembered), (1, 4));
    assert_eq!(shortcuts(&again).hops_simulated, once.packet_hops);
    assert_eq!(again.packet_hops, 5 * once.packet_hops);
    assert!(times(&again).iter().all(|time| *time == times(&once)[0]), "{:?}", times(&again));
}

/// Two groups of servers on leaves of their own do the same: one of them is simulated, and both count. Without congestion control: which
/// packets are marked is drawn at every port, so that with it no two groups take the same time.
#[test]
fn what_is_alike_elsewhere_is_remembered() {
    let gathers = |first: u32| {
        let place: Vec<String> = (0..4).map(|rank| (first + 8 * rank).to_string()).collect();
        collective("gather", "8MiB", &format!("placement = [{}]", place.join(", ")))
    };
    let row: Row = ("", rail(128, 4) + NO_CONTROL, gathers(0) + &gathers(64));
    let (packet, fast, error) = compared(&row);
    assert_eq!((shortcuts(&fast).simulated, shortcuts(&fast).remembered), (1, 1));
    assert!(error < 0.001, "{:?} {:?}", times(&packet), times(&fast));
    let sent = |report: &Report| -> Vec<u64> {
        let sent = report.ports.iter().map(|port| port.iter().map(|class| class.tx_bytes).sum());
        sent.collect()
    };
    for (port, (meant, found)) in sent(&packet).into_iter().zip(sent(&fast)).enumerate() {
        let difference = meant.abs_diff(found) as f64;
        assert!(difference <= 0.05 * meant as f64 + 1e4, "port {port}: {meant} {found}");
    }
}

/// A ring begins while another is under way that shares its links.
#[test]
fn what_begins_later_changes_what_is_under_way() {
    let ring = |ranks: u32, start: &str| {
        let more = format!(
            "algorithm = 'ring'\nranks = {ranks}\nplacement = 'fragmented'\nstart = '{start}'"
        );
        collective("all-reduce", "16MiB", &more)
    };
    let row: Row = ("", rail(128, 4), ring(64, "0us") + &ring(32, "150us"));
    let (packet, fast, error) = compared(&row);
    assert_eq!(shortcuts(&fast).simulated, 2, "with the first, and with both");
    assert!(error < 0.001, "{:?} {:?}", times(&packet), times(&fast));
}

#[test]
fn a_step_takes_the_time_that_it_takes_with_packets() {
    let text = "model = 'llama-3-8b'\ntp = 4\npp = 2\ndp = 2\nmicro-batches = 2\nlayers = 2";
    let (packet, fast, error) = compared(&("", rail(16, 32), step(text)));
    assert!(error < 0.005, "{:?} {:?}", times(&packet), times(&fast));
    assert!(shortcuts(&fast).plain > 0);
}

/// What cannot be had this way is simulated by packets, with the same result, and says why.
#[test]
fn anything_else_is_packets_throughout() {
    let ring = collective("all-reduce", "1MiB", "");
    let flows = collective("permutation", "1MB", "");
    let fault = "[[fault]]\nkind = 'link-down'\nat = '1us'\nlink = 'leaf0 spine0'\n";
    let hosts = || leaf_spine(8);
    let adaptive = hosts() + "[ecn.adaptive]\n";
    let lossy = hosts() + "[pfc]\nenabled = false\n";
    let rows = [
        (hosts(), flows.clone(), Refusal::Traffic),
        (hosts(), ring.clone() + &flows, Refusal::Traffic),
        (hosts(), ring.clone() + fault, Refusal::Faults),
        (adaptive, ring.clone(), Refusal::Adaptive),
        (lossy, ring.clone(), Refusal::Lossy),
    ];
    for (fabric, workloads, reason) in rows {
        let row: Row = ("", fabric, workloads);
        let (packet, fast, _) = compared(&row);
        assert_eq!((fast.fidelity, fast.instead_of_fast), (Fidelity::Packet, Some(reason)));
        assert_eq!((fast.hash, fast.shortcuts), (packet.hash, None));
    }
    let ended = Settings {
        until: Some(xoff_units::Instant::ZERO + xoff_units::Span::from_us(20)),
        ..Settings::default()
    };
    let (report, ..) = run_with(&("", hosts(), ring), Fidelity::Fast, ended);
    assert_eq!(report.instead_of_fast, Some(Refusal::Duration));
}

#[test]
fn the_same_seed_gives_the_same_result_with_either_queue() {
    let row = row("two fragmented rings, 16 MiB");
    let hash = |seed, queue| {
        let settings = Settings { seed, queue, ..Settings::default() };
        run_with(&row, Fidelity::Fast, settings).0.hash
    };
    assert_eq!(hash(1, QueueKind::Wheel), hash(1, QueueKind::Heap));
    assert_ne!(hash(1, QueueKind::Wheel), hash(2, QueueKind::Wheel));
}
