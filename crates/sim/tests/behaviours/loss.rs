//! What lost packets cost: a round trip each with go-back-N, a packet each with selective repeat.

use crate::scene::{Scene, near};
use xoff_sim::Drop;

const SEEDS: u64 = 4;
/// Packets in a flow, and bytes of a full one on the wire at 20 ps each.
const PACKETS: f64 = 97_657.0;
const PACKET_US: f64 = (4096.0 + 62.0 + 20.0) * 20e-6;
/// Packets in a round trip of 10 us.
const BDP: f64 = 10.0 / PACKET_US;

/// The scenario without loss.
fn clean(name: &str) -> Scene {
    Scene::edited(name, |text| {
        let loss =
            text.lines().find(|line| line.starts_with("loss = ")).expect("a loss").to_owned();
        text.replace(&loss, "loss = 0")
    })
}

/// Mean goodput over some seeds, as a share of that without loss. On the way: the cable loses as
/// many packets as it should.
fn goodput(name: &str, loss: f64) -> f64 {
    let without = clean(name).run().completion("sender", "receiver").as_us_f64();
    let scene = Scene::load(name);
    let (mut time, mut sent, mut lost) = (0.0, 0, 0);
    for seed in 1..=SEEDS {
        let run = scene.run_seeded(seed);
        time += run.completion("sender", "receiver").as_us_f64();
        sent += run.data("sender→switch").tx_packets + run.data("switch→sender").tx_packets;
        lost += run.report.dropped[3][Drop::Wire as usize];
    }
    // Four standard deviations: one run in 16,000 would be beyond.
    let expected = loss * sent as f64;
    near("packets lost", lost as f64, expected, 4.0 / expected.sqrt());
    without * SEEDS as f64 / time
}

/// The share that is left, 1 / (1 + p x BDP), is uncertain by what the number of losses is
/// uncertain by: three standard deviations of that. The formula leaves out the lost packets
/// themselves and the lost NAKs, which cost p each.
fn go_back_n(name: &str, loss: f64) {
    let expected = 1.0 / (1.0 + loss * BDP);
    let losses = SEEDS as f64 * PACKETS * loss;
    let tolerance = 3.0 * (1.0 - expected) / losses.sqrt() + 2.0 * loss;
    near(name, goodput(name, loss), expected, tolerance);
}

#[test]
fn go_back_n_at_one_in_10_000() {
    go_back_n("loss-1e-4.toml", 1e-4);
}

#[test]
fn go_back_n_at_one_in_1_000() {
    go_back_n("loss-1e-3.toml", 1e-3);
}

#[test]
fn go_back_n_at_one_in_100() {
    go_back_n("loss-1e-2.toml", 1e-2);
}

/// Without chance: every loss of a run costs one round trip of packets, not half of one and not
/// two.
#[test]
fn a_loss_costs_a_round_trip() {
    let packet = |text: String| text.replace("400MB", "4096B");
    let round_trip = Scene::edited("loss-1e-4.toml", packet).run().completion("sender", "receiver");
    near("round trip in us", round_trip.as_us_f64(), 10.0, 0.002);
    let clean = clean("loss-1e-3.toml").run().completion("sender", "receiver").as_us_f64();
    let scene = Scene::load("loss-1e-3.toml");
    let run = scene.run();
    let flow = run.flow("sender", "receiver");
    let wasted = run.completion("sender", "receiver").as_us_f64() - clean;
    let each = wasted / flow.counters.naks as f64 / PACKET_US;
    // The lost packet itself, and those on their way until the NAK is there.
    near("packets wasted by each loss", each, BDP + 1.0, 0.01);
    assert_eq!(flow.counters.timeouts, 0);
}

/// Only what is lost is sent again: 1 - p. A repetition that is lost too (p x p) is found by a
/// timeout, which repeats up to a round trip; the last of them may end the flow one timeout (1.2 %)
/// late.
#[test]
fn selective_repeat_at_one_in_100() {
    let share = goodput("loss-1e-2-selective.toml", 1e-2);
    let least = 1.0 - 0.01 - 1e-4 * BDP - 0.012;
    assert!((least..0.992).contains(&share), "{share}, and at least {least} was expected");
}
