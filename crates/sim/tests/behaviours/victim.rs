//! A flow that meets no congestion of its own, behind a port that is paused because of others.

use crate::scene::{Scene, near};
use xoff_units::Span;

const VICTIM: &str = "leaf-c→c0";
const NEIGHBOURS: [&str; 2] = ["a1→leaf-a", "a2→leaf-a"];
const LOCALS: [&str; 3] = ["b1→leaf-b", "b2→leaf-b", "b3→leaf-b"];

fn completion(name: &str) -> f64 {
    Scene::load(name).run().completion("a0", "c0").as_us_f64()
}

/// Four ports feed b0's, so each gets 25 Gb/s: the three local senders, and the uplink for a1 and
/// a2 together. The victim is one of three flows that enter leaf-a at the same pace.
#[test]
fn a_victim_moves_as_slowly_as_its_neighbours() {
    let scene = Scene::load("victim-pfc.toml");
    // The victim's first packets wait for what stood in the uplink's queue before them: 2.3 MB at
    // 25 Gb/s, 0.7 ms. It is through at 7.9 ms.
    let window = (Span::from_ms(3), Span::from_ms(7));
    let ports = [VICTIM, NEIGHBOURS[0], NEIGHBOURS[1], LOCALS[0], LOCALS[1], LOCALS[2]];
    let rates = scene.gbps(1, ports, window);
    // The 400G uplink overshoots its threshold by up to 75 KB of 1.1 MB, and gets up to 6 % more.
    near("victim", rates[0], 12.5, 0.07);
    near("neighbours", rates[1] + rates[2], 25.0, 0.06);
    near("victim over a neighbour", 2.0 * rates[0] / (rates[1] + rates[2]), 1.0, 0.05);
    for local in &rates[3..] {
        near("local sender", *local, 25.0, 0.02);
    }
    // 8 times as long for its bytes, and the wait before the first.
    let slowdown = completion("victim-pfc.toml") / completion("victim-alone.toml");
    assert!((8.0..9.0).contains(&slowdown), "{slowdown} times as long");
}

/// It crosses no congested port: none of its packets is ever marked, and its own path drops or
/// delays nothing when the incast is held back at its senders.
#[test]
fn dcqcn_sets_the_victim_free() {
    let scene = Scene::load("victim-dcqcn.toml");
    let run = scene.run();
    let victim = run.flow("a0", "c0");
    assert_eq!(victim.counters.marked, 0);
    assert_eq!(run.data("leaf-a→spine").paused, Span::ZERO);
    near("victim", completion("victim-dcqcn.toml"), completion("victim-alone.toml"), 0.001);
    // It was an incast all the same, and it used the port.
    let rates = scene.gbps(1, ["leaf-b→b0"], (Span::from_ms(1), Span::from_ms(9)));
    assert!(rates[0] > 80.0, "the incast got {} Gb/s", rates[0]);
}
