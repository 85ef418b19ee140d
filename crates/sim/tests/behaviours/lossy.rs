//! What one packet in 10,000 lost on every link costs an AllReduce and a training step.

use crate::scene::Scene;

const SEEDS: u64 = 3;

/// What came of some seeds.
struct Seen {
    /// Shortest and longest time in us.
    least: f64,
    most: f64,
    /// Packets sent again, all seeds together.
    again: u64,
}

fn seen(scene: &Scene) -> Seen {
    let mut seen = Seen { least: f64::MAX, most: 0.0, again: 0 };
    for seed in 1..=SEEDS {
        let run = scene.run_seeded(seed);
        let job = &run.report.jobs[0];
        let time = job.runs[0].time().expect("it ended").as_us_f64();
        println!("seed {seed}: {time} us, {} sent again", job.counters.retransmitted);
        seen.least = seen.least.min(time);
        seen.most = seen.most.max(time);
        seen.again += job.counters.retransmitted;
    }
    seen
}

/// Without loss, with go-back-N and with selective repeat.
fn all(name: &str) -> [Seen; 3] {
    println!("{name}");
    let clean = |text: String| text.replace("loss = 1e-4", "loss = 0");
    [
        seen(&Scene::edited(&format!("{name}.toml"), clean)),
        seen(&Scene::load(&format!("{name}.toml"))),
        seen(&Scene::load(&format!("{name}-selective.toml"))),
    ]
}

/// The first timeout of a queue pair whose NIC adapts it: a sixteenth of 67 ms.
const FIRST_TIMEOUT_US: f64 = 67_000.0 / 16.0;

/// A loss in the middle of a stream is seen by the packets that follow it: it costs go-back-N some 20 packets
/// and selective repeat one. A lost last packet costs both a timeout, so only the best seed is compared.
#[test]
fn an_all_reduce_under_loss() {
    let [clean, go_back, selective] = all("loss-all-reduce");
    assert_eq!(clean.again, 0);
    assert!(go_back.again > 10 * selective.again, "go-back-N sends {} again", go_back.again);
    assert!(go_back.least > 1.003 * clean.least, "{} us", go_back.least);
    let share = selective.least / clean.least;
    assert!((1.0..1.003).contains(&share), "{} us", selective.least);
}

/// A step waits for each of many small messages. Nothing follows a last packet to show its loss: only the
/// timeout does, and the step waits for it. Selective repeat does not help there.
#[test]
fn a_training_step_under_loss() {
    let [clean, go_back, selective] = all("loss-step");
    assert_eq!(clean.again, 0);
    for lossy in [&go_back, &selective] {
        assert!(lossy.most > clean.most + FIRST_TIMEOUT_US, "{} us", lossy.most);
    }
    assert!(go_back.again > 10 * selective.again);
}
