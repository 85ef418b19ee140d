//! Failures that last as long as real ones: simulated time in which nothing moves costs next to nothing.

use crate::scene::Scene;
use xoff_sim::{Drop, Outcome, TraceKind};
use xoff_units::{Instant, Span};

/// 16 servers send to one NIC, which stops to take anything; an AllReduce of others runs beside it.
const STORM: &str = "fabric = ''\nduration = '60s'\n[record]\nperiod = '0us'\n\
    [allow]\nunfinished = true\nlossless-drops = true\ndeadlock = true\n\
    [[workload]]\nkind = 'incast'\ntarget = 'server0-nic0'\nsize = '20MB'\nsenders = 16\n\
    [[workload]]\nkind = 'permutation'\nsize = '1MB'\nstart = '20ms'\n\
    [[fault]]\nkind = 'pause-storm'\nnic = 'server0-nic0'\nat = '100us'\n";
const POD: &str = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\n\
    leaves = 4\nspines = 2\nleaf = 'tomahawk-5'\n";

/// Refreshes of pauses at every port that holds one would be tens of millions of events; searches for a deadlock every
/// 20 us three million more.
#[test]
fn a_storm_of_half_a_minute_costs_few_more_events_than_one_of_a_second() {
    let events = |duration: &str| {
        let text = STORM.replace("60s", duration);
        let scene = Scene::of("storm", &text, POD);
        let run = scene.run_until(1, scene.scenario.duration);
        let storm =
            run.report.ports.iter().flatten().map(|class| class.pauses_received).sum::<u64>();
        println!("{duration}: {} events, {storm} pause frames", run.report.events);
        (run.report.events, storm)
    };
    let ((short, few), (long, many)) = (events("1s"), events("30s"));
    // Some sixty ports hold pauses, of which 29 s have 40 million refreshes, each of several events.
    assert!(long < short + 29 * 20_000, "{long} events, {short} in a second");
    // Frames that were not simulated are counted all the same.
    assert!(many > 20 * few, "{many} frames in half a minute, {few} in a second");
}

/// A watchdog of 200 ms acts at its time in a run of seconds, and the storm does not end by itself.
#[test]
fn the_watchdog_acts_after_its_real_time() {
    let fabric =
        format!("{POD}[switch.watchdog]\nenabled = true\ndetect = '200ms'\nrestore = '200ms'\n");
    let scene = Scene::of("storm", &STORM.replace("60s", "2s"), &fabric);
    let run = scene.run_until(1, scene.scenario.duration);
    let detected = run.traces(|kind| kind == TraceKind::WatchdogDetect);
    let first = detected.first().expect("the watchdog acts").at;
    let from = Instant::ZERO + Span::from_ms(200);
    assert!(first >= from && first <= from + Span::from_ms(1), "{first:?}");
    // While frames keep coming, also those that stand for many, nothing is restored.
    let place = detected[0].port;
    let restored = run.traces(|kind| kind == TraceKind::WatchdogRestore);
    assert!(restored.iter().all(|trace| trace.port != place), "{restored:?}");
    assert!(run.report.dropped[3][Drop::Watchdog as usize] > 0);
}

/// Two leaves, two spines, flows of some duration across; spine0 is worked on.
fn upgrade(drain: &str) -> (u64, Outcome) {
    let text = format!(
        "fabric = ''\n[allow]\nunfinished = true\n\
         [[workload]]\nkind = 'permutation'\nsize = '40MB'\n\
         [[fault]]\nkind = 'switch-down'\nswitch = 'spine0'\nat = '600us'\n{drain}\
         restore-after = '200us'\nconverge = '10us'\nlate = '50us'\n"
    );
    let fabric = "[cluster]\nhosts = 8\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\n\
        leaves = 2\nspines = 2\nleaf = 'tomahawk-5'\n";
    let scene = Scene::of("upgrade", &text, fabric);
    let run = scene.run_until(1, None);
    let lost =
        [Drop::LinkDown, Drop::NodeDown].map(|reason| run.report.dropped[3][reason as usize]);
    (lost.iter().sum(), run.report.outcome)
}

#[test]
fn a_drained_switch_takes_nothing_with_it() {
    assert_eq!(upgrade("drain = '400us'\n"), (0, Outcome::Completed));
    let (lost, _) = upgrade("");
    assert!(lost > 100, "{lost} packets lost without a drain");
}

/// A link that swallows packets shows no link-down event, one whose carrier is lost does, at both ends.
#[test]
fn a_silent_link_shows_nothing_at_its_ports() {
    let downs = |silent: bool| {
        let text = format!(
            "fabric = ''\n[allow]\nunfinished = true\n\
             [[workload]]\nkind = 'permutation'\nsize = '4MB'\n\
             [[fault]]\nkind = 'link-down'\nlink = 'leaf0 spine0'\nat = '20us'\nsilent = {silent}\n"
        );
        let scene = Scene::of("silent", &text, POD);
        let run = scene.run_until(1, None);
        let health = run.report.health.iter();
        let lost: u64 = run.report.health.iter().map(|port| port.lost).sum();
        assert!(lost > 0, "the link carried nothing");
        health.map(|port| port.link_downs).sum::<u64>()
    };
    assert_eq!((downs(true), downs(false)), (0, 2));
}

/// What ports count by reason and NIC is what the run counts in all.
#[test]
fn counters_of_ports_add_up() {
    let text = "fabric = ''\n[allow]\nunfinished = true\n\
        [[workload]]\nkind = 'permutation'\nsize = '4MB'\n\
        [[fault]]\nkind = 'link-degraded'\nlink = 'leaf0 spine0'\nloss = 0.01\n\
        [[fault]]\nkind = 'switch-down'\nswitch = 'spine1'\nat = '20us'\nconverge = '10us'\n";
    let scene = Scene::of("counters", text, POD);
    let run = scene.run_until(1, None);
    for reason in Drop::ALL {
        let all: u64 = run.report.dropped.iter().map(|class| class[reason as usize]).sum();
        let ports: u64 = run.report.health.iter().map(|port| port.drops(reason)).sum();
        assert_eq!(ports, all, "{}", reason.name());
    }
    let flows = || run.report.flows.iter().map(|flow| &flow.counters);
    let health = || run.report.health.iter();
    let timeouts: u64 = flows().map(|counters| counters.timeouts).sum();
    assert_eq!(health().map(|port| port.timeouts).sum::<u64>(), timeouts);
    let again: u64 = flows().map(|counters| counters.retransmitted).sum();
    assert!(again > 0);
    assert_eq!(health().map(|port| port.retransmitted).sum::<u64>(), again);
    let sequence: u64 = flows().map(|counters| counters.out_of_sequence).sum();
    assert_eq!(health().map(|port| port.out_of_sequence).sum::<u64>(), sequence);
}
