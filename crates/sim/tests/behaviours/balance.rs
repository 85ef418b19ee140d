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
    run.links("leaf→spine").at_worst
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

/// What a link of a quarter of its rate does to packets that are drawn blindly, and to those whose
/// senders learn to stay away from it.
#[test]
fn recycled_entropy_avoids_what_is_marked() {
    let slow = "\n[[fault]]\nkind = \"link-degraded\"\nlink = \"leaf0 spine0\"\nat = \"0us\"\nrate = \"25Gbps\"\n";
    let every =
        |text: String| text.replace("reorder-window = 256", "reorder-window = 256\nack-every = 1");
    let blind = Scene::edited("balance-spray.toml", |text| every(text) + slow);
    let learned = Scene::edited("balance-recycle.toml", |text| text + slow);
    let (blind, learned) = (blind.run(), learned.run());
    println!("{} us blind, {} us recycled", last(&blind), last(&learned));
    assert!(last(&learned) < 0.8 * last(&blind), "{} and {} us", last(&learned), last(&blind));
    let (spray, recycle) =
        (Scene::edited("balance-spray.toml", every), Scene::load("balance-recycle.toml"));
    let (spray, recycle) = (spray.run(), recycle.run());
    println!("{} us sprayed, {} us recycled", last(&spray), last(&recycle));
    assert!(last(&recycle) < 1.02 * last(&spray), "{} and {} us", last(&recycle), last(&spray));
    assert!(early(&recycle) > 1_000, "{} packets came early", early(&recycle));
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
