//! Paths that are given instead of drawn: pinned to ports, or placed by a controller.

use crate::scene::{Run, Scene};

/// The bus bandwidth of an AllReduce of 128 MiB over 64 ranks, in GB/s.
fn bandwidth(run: &Run<'_>) -> f64 {
    let time = run.report.jobs[0].runs[0].time().expect("it ended");
    let bandwidth = f64::from(128 << 20) * 2.0 * 63.0 / 64.0 / time.as_us_f64() / 1e3;
    println!("{bandwidth:.1} GB/s");
    bandwidth
}

/// Published: pinning lost more than 30 % under fragmented placement.
#[test]
fn pinning_is_as_good_as_the_placement() {
    let (packed, fragmented) = (Scene::load("pinned.toml"), Scene::load("pinned-fragmented.toml"));
    let (packed, fragmented) = (packed.run(), fragmented.run());
    let spread = packed.links("leaf→spine");
    assert!(spread.max_over_mean() < 2.1, "half of the links, all alike: {spread:?}");
    let (good, bad) = (bandwidth(&packed), bandwidth(&fragmented));
    assert!(bad < 0.7 * good, "{bad} of {good} GB/s");
}

/// The same with a link that is down, long after all know: places are counted on over what is left.
#[test]
fn pinning_does_not_get_over_a_dead_link() {
    let broken = Scene::load("pinned-dead-link.toml");
    let mended = |text: String| text.split("[[fault]]").next().unwrap_or_default().to_owned();
    let whole = Scene::edited("pinned-dead-link.toml", mended);
    let (broken, whole) = (broken.run(), whole.run());
    let (bad, good) = (bandwidth(&broken), bandwidth(&whole));
    assert!(bad < 0.7 * good, "{bad} of {good} GB/s");
}

/// Published: a controller gains 5 to 10 % over hashed queue pairs, and links are used alike.
#[test]
fn a_controller_beats_hashed_queue_pairs() {
    let names = ["engineered-fragmented.toml", "scaled-fragmented.toml", "pinned-fragmented.toml"];
    let scenes = names.map(Scene::load);
    let runs: Vec<Run<'_>> = scenes.iter().map(Scene::run).collect();
    let [engineered, scaled, pinned] = [0, 1, 2].map(|run: usize| bandwidth(&runs[run]));
    assert!(engineered > 1.05 * scaled, "{engineered} and {scaled} GB/s");
    assert!(engineered > 1.4 * pinned, "{engineered} and {pinned} GB/s");
    let [engineered, scaled] = [0, 1].map(|run: usize| runs[run].links("leaf→spine"));
    assert!(engineered.at_worst < scaled.at_worst, "{} {}", engineered.at_worst, scaled.at_worst);
}

/// Flows of a list are placed as well: the permutation of `balance-ecmp.toml` is done in a fraction.
#[test]
fn a_controller_places_plain_flows() {
    let placed = "\n[override.switch.balancing]\nkind = \"engineered\"\n";
    let scene = Scene::edited("balance-ecmp.toml", |text| text + placed);
    let hashed = Scene::load("balance-ecmp.toml");
    let (placed, hashed) = (scene.run(), hashed.run());
    assert_eq!(placed.report.hash, scene.run().report.hash);
    let (placed, hashed) = (placed.last_end().as_ps(), hashed.last_end().as_ps());
    assert!(placed * 2 < hashed, "{placed} and {hashed} ps");
}

/// A controller that nobody would hear is refused.
#[test]
fn a_controller_needs_the_source_port_in_the_hash() {
    let fabric = "[cluster]\nhosts = 4\n[fabric]\nkind = 'leaf-spine'\nhosts-per-leaf = 2\nspines = 2\n\
                  [switch.hash]\nfields = ['addresses']\n[switch.balancing]\nkind = 'engineered'\n";
    let loaded = xoff_fabric::load_fabric(fabric);
    let said = format!("{:?}", loaded.diagnostics);
    assert!(said.contains("source port"), "{said}");
}
