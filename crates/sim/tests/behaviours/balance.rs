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

/// The longest queue of a leaf towards a spine, in bytes.
fn deepest_uplink(run: &Run<'_>) -> u64 {
    let ports = (0..8).flat_map(|leaf| (0..8).map(move |spine| format!("leaf{leaf}→spine{spine}")));
    ports.map(|port| run.data(&port).deepest_queue.get()).max().unwrap_or(0)
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

/// An example without congestion control, so that only balancing differs, and with a change to its text.
fn unthrottled(name: &str, edit: impl Fn(String) -> String) -> Scene {
    let none = "\n[override.transport.congestion]\nkind = \"none\"\n";
    Scene::edited(name, |text| edit(text) + none)
}

/// The mean completion, in microseconds.
fn mean(run: &Run<'_>) -> f64 {
    let ends = run.report.flows.iter().filter_map(|flow| flow.completion());
    let (sum, count) = ends.fold((0.0, 0), |(sum, n), span| (sum + span.as_us_f64(), n + 1));
    sum / f64::from(count)
}

/// Packets that choose the shorter queue must not end up on the same paths: a rule that prefers any idle port
/// lets the flows of a permutation keep their ports, and they then meet at the spines.
#[test]
fn packets_that_look_at_queues_are_no_slower_than_packets_drawn_at_random() {
    let plain = |text: String| text;
    let all_to_all = |text: String| {
        text.replace(
            "kind = \"permutation\"\nsize = \"4MB\"",
            "kind = \"all-to-all\"\nsize = \"128KB\"",
        )
    };
    for (pattern, edit) in
        [("permutation", plain as fn(String) -> String), ("all-to-all", all_to_all)]
    {
        let [spray, dlb] = ["balance-spray.toml", "balance-dlb.toml"].map(|n| unthrottled(n, edit));
        for seed in 1..=3 {
            let (spray, dlb) = (spray.run_seeded(seed), dlb.run_seeded(seed));
            let (blind, adaptive) = (mean(&spray), mean(&dlb));
            println!(
                "{pattern}, seed {seed}: {blind:.1}/{:.1} us drawn, {adaptive:.1}/{:.1} us by queue",
                last(&spray),
                last(&dlb)
            );
            assert_eq!(repeated(&dlb), 0, "{pattern}, seed {seed}");
            assert!(adaptive < 1.002 * blind, "{pattern}, seed {seed}: {adaptive} and {blind} us");
            assert!(last(&dlb) < 1.03 * last(&spray), "{pattern}, seed {seed}");
        }
    }
}

const SLOW_LINK: &str = "\n[[fault]]\nkind = \"link-degraded\"\nlink = \"leaf0 spine0\"\nat = \"0us\"\n\
                         rate = \"25Gbps\"\n";

/// One of a leaf's eight uplinks at a quarter of its rate: drawn packets wait for it, others go round.
#[test]
fn a_slow_uplink_is_avoided_by_queue() {
    let from_leaf0 = |text: String| {
        let flow = |nic: u32| {
            let to = 8 + 8 * (nic % 7) + nic;
            format!("  {{ source = {nic}, destination = {to}, size = \"4MB\" }},\n")
        };
        let list: String = (0..8).map(flow).collect();
        let flows = format!("kind = \"flows\"\nlist = [\n{list}]");
        text.replace("kind = \"permutation\"\nsize = \"4MB\"", &flows) + SLOW_LINK
    };
    let [spray, dlb] =
        ["balance-spray.toml", "balance-dlb.toml"].map(|n| unthrottled(n, from_leaf0));
    let (spray, dlb) = (spray.run(), dlb.run());
    println!("{:.1} us drawn, {:.1} us by queue", last(&spray), last(&dlb));
    assert!(last(&dlb) < 0.4 * last(&spray), "{} and {} us", last(&dlb), last(&spray));
}

/// A slow link below a spine is seen by the leaves only if the spine reports it, and as late as it does.
#[test]
fn global_balancing_is_as_good_as_its_reports_are_recent() {
    let slow = |text: String| text + SLOW_LINK;
    let glb = |refresh: &str| {
        let key = format!("kind = \"glb\"\nrefresh = \"{refresh}\"");
        let scene =
            unthrottled("balance-glb.toml", |text| slow(text).replace("kind = \"glb\"", &key));
        last(&scene.run())
    };
    let [spray, dlb] = ["balance-spray.toml", "balance-dlb.toml"].map(|n| unthrottled(n, slow));
    let (spray, dlb) = (last(&spray.run()), last(&dlb.run()));
    let [at_once, usual, late, never] = ["0us", "5us", "200us", "100ms"].map(glb);
    println!(
        "{spray:.1} us drawn, {dlb:.1} us by local queue; reports at once {at_once:.1}, every 5 us {usual:.1}, \
         200 us {late:.1}, never {never:.1} us"
    );
    let default = unthrottled("balance-glb.toml", slow);
    assert_eq!(last(&default.run()), usual, "5us is the default");
    assert!(usual < 0.5 * spray && usual < 0.5 * dlb, "{usual} {spray} {dlb}");
    assert!(late > 1.1 * usual && never > 1.5 * late, "{usual} {late} {never}");
    assert_eq!(never, dlb, "without reports it is local balancing");
}

#[test]
fn queues_beyond_the_next_switch_are_the_best_guide() {
    let (spray, dlb) = (Scene::load("balance-spray.toml"), Scene::load("balance-dlb.toml"));
    let glb = Scene::edited("balance-glb.toml", |text| {
        text.replace("kind = \"glb\"", "kind = \"glb\"\nrefresh = \"0us\"")
    });
    let (spray, dlb, glb) = (spray.run(), dlb.run(), glb.run());
    // What is even at the leaves can still meet at the spines: only who looks further sees that.
    assert!(last(&glb) < 0.7 * last(&spray), "{} and {} us", last(&glb), last(&spray));
    assert!(last(&glb) < last(&dlb), "{} and {} us", last(&glb), last(&dlb));
    // Drawn packets pile up at the leaves, too.
    assert!(imbalance(&dlb) < 1.1, "{}", imbalance(&dlb));
    let (blind, adaptive) = (deepest_uplink(&spray), deepest_uplink(&dlb));
    assert!(adaptive < blind / 2, "{adaptive} and {blind} bytes");
}

#[test]
fn flows_without_pauses_have_one_flowlet() {
    let (ecmp, flowlet) = (Scene::load("balance-ecmp.toml"), Scene::load("balance-flowlet.toml"));
    let (ecmp, flowlet) = (ecmp.run(), flowlet.run());
    assert!(last(&flowlet) > 0.5 * last(&ecmp), "{} and {} us", last(&flowlet), last(&ecmp));
    assert!(early(&flowlet) < 100, "{} packets came early", early(&flowlet));
}
