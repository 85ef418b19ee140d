//! A NIC that pauses without end, and the watchdog that ends it.

use crate::scene::{Run, Scene, near};
use xoff_sim::{Drop, Outcome, TraceKind};
use xoff_units::{Instant, Span};

/// Flows that do not go to the broken NIC and yet stand behind packets that do.
const UNRELATED: [(&str, &str); 4] = [("a1", "c1"), ("a2", "c2"), ("a2", "a3"), ("c0", "b3")];

const DETECT: Span = Span::from_ms(1);

fn moments(run: &Run<'_>, kind: TraceKind) -> Vec<(String, Instant)> {
    let name = |trace: &xoff_sim::Trace| (run.scene.fabric.port_name(trace.port), trace.at);
    run.traces(|found| found == kind).iter().map(name).collect()
}

fn between(at: Instant, from: Span, to: Span) -> bool {
    Instant::ZERO + from <= at && at <= Instant::ZERO + to
}

#[test]
fn a_storm_stops_flows_that_have_nothing_to_do_with_it() {
    let scene = Scene::load("storm.toml");
    let run = scene.run();
    assert_eq!(run.report.outcome, Outcome::TimeUp);
    for (source, destination) in UNRELATED.into_iter().chain([("a0", "b0")]) {
        assert!(run.flow(source, destination).end.is_none(), "{source} to {destination} is done");
    }
    let aside = run.completion("b1", "b2").as_us_f64();
    near("not in the way", aside, run.flow("b1", "b2").ideal.as_us_f64(), 0.001);
    // 100 Gb/s fill the 1.3 MB before a pause in 107 us: the storm of 100 us is at the spine at 207
    // us, at leaf-a at 314 us, at its hosts at 421 us, and at a2, half of whose packets stay on the
    // leaf, at 528 us. After that nobody moves.
    for port in ["spine→leaf-b", "leaf-a→spine", "a0→leaf-a", "a1→leaf-a", "a2→leaf-a", "c0→leaf-c"]
    {
        let paused = run.data(port).paused;
        println!("{port} {paused}");
        assert!(paused >= Span::from_us(9_440), "{port} was paused for {paused} only");
    }
    assert_eq!(run.report.dropped, [[0; Drop::COUNT]; 8], "a storm drops nothing");
}

#[test]
fn the_watchdog_ends_it() {
    let scene = Scene::load("storm-watchdog.toml");
    let run = scene.run();
    let detected = moments(&run, TraceKind::WatchdogDetect);
    // Pauses upstream begin later and end with the cause: no other queue is declared stuck.
    assert_eq!(detected.len(), 1, "{detected:?}");
    assert_eq!(detected[0].0, "leaf-b→b0");
    // The pause begins after 100 us, a frame, the cable and the response time.
    let begins = Span::from_us(100);
    assert!(between(detected[0].1, begins + DETECT, begins + DETECT + Span::from_us(3)));
    assert_eq!(moments(&run, TraceKind::WatchdogRestore), [], "the storm goes on");

    let dropped: u64 = run.report.dropped.iter().flatten().sum();
    assert_eq!(run.report.dropped[3][Drop::Watchdog as usize], dropped);
    assert_eq!(run.data("leaf-b→b0").dropped_packets, dropped);
    assert!(run.flow("a0", "b0").end.is_none());

    let calm = Scene::edited("storm-watchdog.toml", without_storm);
    let calm = calm.run();
    for (source, destination) in UNRELATED {
        let late = run.completion(source, destination) - calm.completion(source, destination);
        // They stood still from when the storm reached them (see above) to when it was ended.
        assert!(late <= DETECT, "{source} to {destination} is {late} late");
        assert!(late >= DETECT - Span::from_us(528 - 100), "{source} to {destination}: {late}");
    }
}

fn without_storm(text: String) -> String {
    let begin = text.find("[[fault]]").expect("a fault");
    let end = text.find("[allow]").expect("what is allowed");
    text[..begin].to_owned() + &text[end..]
}

#[test]
fn a_storm_that_ends_leaves_nothing_behind() {
    let scene = Scene::edited("storm-watchdog.toml", |text| {
        text.replace("at = \"100us\"", "at = \"100us\"\nfor = \"3ms\"").replace("10ms", "100ms")
    });
    let run = scene.run();
    let restored = moments(&run, TraceKind::WatchdogRestore);
    assert_eq!(restored.len(), 1, "{restored:?}");
    // A restoration time after the last pause frame; one is sent every half of 65,535 quanta, 168
    // us.
    let last = Span::from_us(3_100);
    let early = last - Span::from_us(168);
    assert!(between(restored[0].1, early + DETECT, last + DETECT + Span::from_us(3)));
    // The queue pair to the broken NIC times out, sends again, and is done.
    assert_eq!(run.report.outcome, Outcome::Completed);
    assert!(run.flow("a0", "b0").counters.timeouts >= 1);
}
