//! PFC alone divides a port among the ports that feed it; DCQCN divides it among flows.

use crate::scene::{Scene, near};
use xoff_units::Span;

const SENDERS: [&str; 4] = ["local→near", "remote1→far", "remote2→far", "remote3→far"];

/// Two ports feed the receiver's: PFC stops both at the same occupancy and a queue is served in the
/// order of arrival, so each gets half. The uplink's half is divided the same way among three.
#[test]
fn pfc_alone_gives_the_local_sender_half() {
    let scene = Scene::load("unfair-pfc.toml");
    // From when all buffers are full to before the local flow is done.
    let rates = scene.gbps(1, SENDERS, (Span::from_ms(2), Span::from_ms(18)));
    // A port sends about 10 KB between a pause and its effect, and the buffer it fills has 1.1 MB:
    // the shares are equal within one part in a hundred.
    near("local", rates[0], 20.0, 0.01);
    for remote in &rates[1..] {
        near("remote", *remote, 20.0 / 3.0, 0.01);
    }
    near("all", rates.iter().sum(), 40.0, 0.005);
    let run = scene.run();
    let end = |sender| run.completion(sender, "receiver").as_us_f64();
    // The local flow has half the port for its bytes, all four together have all of it for theirs.
    near("local completion over remote", end("local") / end("remote1"), 0.5, 0.01);
    assert!(run.report.xoff_frames() > 1_000, "who stopped them?");
}

/// Marks are drawn at random and a flow that gets one is cut for milliseconds, so single runs
/// wander by 20 %. Three of them, 36 ms each, must be within 10 % of a quarter; with PFC alone the
/// local flow has twice that, the others a third less.
#[test]
fn dcqcn_gives_everybody_a_quarter() {
    let scene = Scene::load("fair-dcqcn.toml");
    let window = (Span::from_ms(2), Span::from_ms(38));
    let runs = [1, 2, 3].map(|seed| scene.gbps(seed, SENDERS, window));
    for (sender, name) in SENDERS.iter().enumerate() {
        let mean = runs.iter().map(|rates| rates[sender]).sum::<f64>() / runs.len() as f64;
        near(name, mean, 10.0, 0.10);
    }
    for rates in runs {
        near("all", rates.iter().sum(), 40.0, 0.01);
        assert!(rates.iter().all(|rate| (8.0..12.0).contains(rate)), "{rates:?}");
    }
    let run = scene.run();
    assert_eq!(run.report.xoff_frames(), 0, "DCQCN acts long before PFC here");
}
