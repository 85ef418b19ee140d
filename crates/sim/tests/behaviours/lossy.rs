//! What one packet in 10,000 lost on every link costs an AllReduce and a training step.

use crate::scene::Scene;

const SEEDS: u64 = 2;

/// Mean time over some seeds in us, and packets sent again.
fn mean(scene: &Scene) -> (f64, u64) {
    let runs = (1..=SEEDS).map(|seed| {
        let run = scene.run_seeded(seed);
        let job = &run.report.jobs[0];
        (job.runs[0].time().expect("it ended").as_us_f64(), job.counters.retransmitted)
    });
    let (time, again) = runs.fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (time / SEEDS as f64, again / SEEDS)
}

/// Times without loss, with go-back-N and with selective repeat.
fn times(name: &str) -> [(f64, u64); 3] {
    let clean = |text: String| text.replace("loss = 1e-4", "loss = 0");
    let found = [
        mean(&Scene::edited(&format!("{name}.toml"), clean)),
        mean(&Scene::load(&format!("{name}.toml"))),
        mean(&Scene::load(&format!("{name}-selective.toml"))),
    ];
    println!("{name}: {found:?}");
    found
}

/// A ring never stops sending, so a loss is seen by the packets that follow it: it costs go-back-N some
/// 20 packets, and every ring waits for the slowest of its hops.
#[test]
fn an_all_reduce_under_loss() {
    let [clean, go_back, selective] = times("loss-all-reduce");
    assert_eq!(clean.1, 0);
    assert!(go_back.1 > 10 * selective.1, "go-back-N sends {} packets again", go_back.1);
    assert!(go_back.0 > 1.005 * clean.0, "{} us after {} us", go_back.0, clean.0);
    assert!((1.0..1.003).contains(&(selective.0 / clean.0)), "{} us", selective.0);
}

/// A step sends small messages and waits for each of them. A message whose last packet is lost is
/// followed by nothing that shows the loss: only the timeout of 67 ms does, and the step waits for it. Selective
/// repeat does not help there.
#[test]
fn a_training_step_under_loss() {
    let [clean, go_back, selective] = times("loss-step");
    assert_eq!(clean.1, 0);
    for lossy in [go_back, selective] {
        assert!(lossy.0 > clean.0 + 67_000.0, "{} us after {} us", lossy.0, clean.0);
    }
}
