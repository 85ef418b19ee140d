//! What a choice among equal paths is worth: the same permutation on a fabric that could carry all of
//! it, by hash, by flowlet, by queue length, at random, and what that does to go-back-N.

use crate::scene::{Run, Scene};

/// The last completion, in microseconds.
fn last(run: &Run<'_>) -> f64 {
    let ends = run.report.flows.iter().map(|flow| flow.completion().expect("a flow that ended"));
    ends.map(|span| span.as_us_f64()).fold(0.0, f64::max)
}

fn early(run: &Run<'_>) -> u64 {
    run.report.flows.iter().map(|flow| flow.counters.out_of_sequence).sum()
}

fn repeated(run: &Run<'_>) -> u64 {
    run.report.flows.iter().map(|flow| flow.counters.retransmitted).sum()
}

/// Most bytes on a link from a leaf to a spine over the mean of that leaf's, at the worst leaf.
fn imbalance(run: &Run<'_>) -> f64 {
    let fabric = &run.scene.fabric;
    let mut leaves = std::collections::BTreeMap::<String, Vec<f64>>::new();
    for (port, classes) in run.report.ports.iter().enumerate() {
        let name = fabric.port_name(xoff_fabric::model::PortId(port as u32));
        if let Some((leaf, _)) = name.split_once("→spine") {
            let sent = classes.iter().map(|class| class.tx_bytes as f64).sum();
            leaves.entry(leaf.to_owned()).or_default().push(sent);
        }
    }
    let worst = |sent: &Vec<f64>| {
        let mean = sent.iter().sum::<f64>() / sent.len() as f64;
        sent.iter().copied().fold(0.0, f64::max) / mean
    };
    leaves.values().map(worst).fold(0.0, f64::max)
}

#[test]
fn spraying_beats_hashing_where_receivers_can_reorder() {
    let (ecmp, spray) = (Scene::load("balance-ecmp.toml"), Scene::load("balance-spray.toml"));
    let (ecmp, spray) = (ecmp.run(), spray.run());
    assert_eq!(early(&ecmp), 0, "a hashed flow keeps its order");
    assert!(early(&spray) > 10_000, "{} packets came early", early(&spray));
    assert!(last(&spray) < 0.5 * last(&ecmp), "{} and {} us", last(&spray), last(&ecmp));
    assert!(imbalance(&ecmp) > 3.0, "{}", imbalance(&ecmp));
    assert!(imbalance(&spray) < 1.1, "{}", imbalance(&spray));
}

#[test]
fn go_back_n_takes_overtaking_for_loss() {
    let scene = Scene::load("balance-spray-go-back-n.toml");
    let run = scene.run();
    let patient = Scene::load("balance-spray.toml");
    let patient = patient.run();
    assert!(repeated(&run) > 10 * repeated(&patient).max(1), "{} repeated", repeated(&run));
    assert!(last(&run) > 2.0 * last(&patient), "{} and {} us", last(&run), last(&patient));
}

#[test]
fn queues_beyond_the_next_switch_are_the_best_guide() {
    let (spray, dlb) = (Scene::load("balance-spray.toml"), Scene::load("balance-dlb.toml"));
    let glb = Scene::load("balance-glb.toml");
    let (spray, dlb, glb) = (spray.run(), dlb.run(), glb.run());
    // What is even at the leaves can still meet at the spines: only who looks further sees that.
    assert!(last(&glb) < 0.7 * last(&spray), "{} and {} us", last(&glb), last(&spray));
    assert!(last(&glb) < last(&dlb), "{} and {} us", last(&glb), last(&dlb));
    assert!(imbalance(&dlb) < imbalance(&spray), "{} {}", imbalance(&dlb), imbalance(&spray));
}

#[test]
fn flows_without_pauses_have_one_flowlet() {
    let (ecmp, flowlet) = (Scene::load("balance-ecmp.toml"), Scene::load("balance-flowlet.toml"));
    let (ecmp, flowlet) = (ecmp.run(), flowlet.run());
    assert!(last(&flowlet) > 0.5 * last(&ecmp), "{} and {} us", last(&flowlet), last(&ecmp));
    assert!(early(&flowlet) < 100, "{} packets came early", early(&flowlet));
}
