//! Queues that wait for each other in a ring, and routes that make them.

use crate::scene::{Run, Scene};
use xoff_sim::{Drop, Outcome};
use xoff_units::{Instant, Span};

const RING: [&str; 3] = ["s0→s1", "s1→s2", "s2→s0"];

/// The run ended with one deadlock: exactly the ring's queues, in the order in which they wait.
fn ends_in_the_ring(run: &Run<'_>) {
    assert_eq!(run.report.outcome, Outcome::Deadlock);
    let [cycle] = &run.report.deadlocks[..] else { panic!("{:?}", run.report.deadlocks) };
    let name = |port| run.scene.fabric.port_name(port);
    let mut names: Vec<String> = cycle.queues.iter().map(|&(port, _)| name(port)).collect();
    let start = names.iter().position(|name| name == RING[0]);
    names.rotate_left(start.expect("the ring's first queue"));
    assert_eq!(names, RING);
    assert!(cycle.queues.iter().all(|&(_, class)| class == 3));
    assert_eq!(run.report.end, cycle.at, "the run went on");
}

/// What each queue of the ring has sent.
fn sent(run: &Run<'_>) -> [u64; 3] {
    RING.map(|port| run.data(port).tx_bytes)
}

#[test]
fn two_hops_clockwise_deadlock() {
    let scene = Scene::load("deadlock.toml");
    let run = scene.run();
    ends_in_the_ring(&run);
    // The buffers before a pause (1.3 MB at 100 Gb/s) fill in 107 us each, host and ring port of a
    // switch one after the other; a few round trips more, and 20 us of patience.
    assert!(run.report.end < Instant::ZERO + Span::from_ms(1), "found only at {}", run.report.end);
    assert!(run.report.flows.iter().all(|flow| flow.end.is_none()));
    // It is a true one: nothing has moved for as long as the search is patient, and nothing was
    // lost.
    let before = Span::from_ps(run.report.end.as_ps()) - Span::from_us(19);
    assert_eq!(sent(&scene.run_until(1, Some(before))), sent(&run), "something moved");
    assert_eq!(run.report.dropped, [[0; Drop::COUNT]; 8]);
}

#[test]
fn shortest_paths_do_not() {
    let scene = Scene::load("deadlock-free.toml");
    let run = scene.run();
    assert_eq!(run.report.xoff_frames(), 0);
    for flow in &run.report.flows {
        let (took, ideal) = (flow.completion().expect("finished"), flow.ideal);
        // Acknowledgements of one flow share the wire with data of another: 66 B per 16 packets.
        assert!(took.as_us_f64() <= ideal.as_us_f64() * 1.002, "{took} where {ideal} would do");
    }
}

/// Without the routes, what deadlock.toml sends is what deadlock-free.toml sends.
#[test]
fn the_routes_make_the_difference() {
    let bent = Scene::edited("deadlock.toml", |text| {
        text[..text.find("[override]").expect("routes")].to_owned()
    });
    assert_eq!(bent.flows, Scene::load("deadlock-free.toml").flows);
    assert_eq!(bent.run().report.outcome, Outcome::Completed);
}

/// With a watchdog on every switch the ring is reported, broken, and the flows get through: what
/// they lose they send again.
#[test]
fn a_watchdog_breaks_the_ring() {
    let scene = Scene::edited("deadlock.toml", |text| {
        text.replace("deadlock = true", "deadlock = true\nlossless-drops = true")
            + "[override.switch.watchdog]\ndetect = \"200us\"\nrestore = \"200us\"\n"
            + "[override.transport]\ntimeout = \"1ms\"\nadaptive-retransmission = false\n"
    });
    let run = scene.run();
    assert_eq!(run.report.outcome, Outcome::Completed);
    assert!(!run.report.deadlocks.is_empty(), "the ring goes unreported");
    let dropped: u64 = run.report.dropped.iter().flatten().sum();
    assert_eq!(run.report.dropped[3][Drop::Watchdog as usize], dropped);
    assert!(dropped > 0);
}

/// The loop, fed at another rate.
fn fed(gbps: &str) -> Scene {
    Scene::edited("routing-loop.toml", |text| {
        let rate = format!("[override]\ncluster = {{ nic-rate = \"{gbps}Gbps\" }}\n");
        text.replace("[override]\n", &rate).replace("\"100ms\"", "\"20ms\"")
    })
}

#[test]
fn a_routing_loop_deadlocks() {
    let scene = Scene::load("routing-loop.toml");
    let run = scene.run();
    ends_in_the_ring(&run);
    assert!(run.report.end < Instant::ZERO + Span::from_ms(1), "found only at {}", run.report.end);
}

/// A loop of three cables carries each packet 63 times, 21 times over each: it passes on what feeds
/// it up to 1/21 of a cable, 4.76 Gb/s, and fills up beyond.
#[test]
fn a_routing_loop_stands_still_only_when_it_is_fed_too_fast() {
    let slow = fed("4.6");
    let run = slow.run();
    assert_eq!(run.report.outcome, Outcome::TimeUp);
    assert!(run.report.deadlocks.is_empty());
    // Whatever it is fed ends as a packet that went round too long, but for what is on its way.
    let entered = run.data("h0→s0").tx_packets;
    let dropped = run.report.dropped[3][Drop::Loop as usize];
    assert!(dropped <= entered && entered - dropped < 100, "{entered} entered, {dropped} left");
    assert_eq!(run.report.dropped.iter().flatten().sum::<u64>(), dropped);
    // 6 Gb/s are 1.24 too many: they fill the 2 MB that the ring holds before it stops in 13 ms.
    let fast = fed("6");
    let times = [Span::from_ms(12), Span::from_ms(17), Span::from_ms(20)];
    let [moving, still, end] = times.map(|end| sent(&fast.run_until(1, Some(end))));
    assert_ne!(moving, still, "it stopped too early");
    assert_eq!(still, end, "it moves");
}

#[test]
fn a_slowly_filled_ring_is_found() {
    for gbps in ["6", "10", "20"] {
        ends_in_the_ring(&fed(gbps).run());
    }
}
