//! Known behaviour of lossless fabrics: the scenarios in `examples/`, and the figures they must
//! show.
//!
//! Every test reads the very files that users copy. Where a test needs a variant it edits the text
//! of the file, so that nothing is said twice.

mod adaptive;
mod balance;
mod deadlock;
mod deep;
mod dual_tor;
mod fairness;
mod headroom;
mod hosts;
mod long;
mod loss;
mod lossy;
mod mixed;
mod nics;
mod outage;
mod rivals;
mod scene;
mod settings;
mod shapes;
mod sites;
mod steering;
mod storm;
mod traffic;
mod victim;

use scene::Scene;

/// What is not run below must at least be right: every file of the folder is a fabric or a scenario
/// without errors.
#[test]
fn every_example_can_be_read() {
    let mut scenarios = 0;
    for entry in std::fs::read_dir(scene::examples()).expect("the folder of examples") {
        let path = entry.expect("an entry of the folder").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        // Sweep and tune files are checked by their commands.
        let many = |text: String| text.contains("\n[[axis]]") || text.contains("\n[[case]]");
        if std::fs::read_to_string(&path).is_ok_and(many) {
            continue;
        }
        let files = xoff_fabric::load(&path).expect("a readable file");
        let found = files.loaded.diagnostics.iter().filter(|found| found.is_error());
        assert_eq!(found.count(), 0, "{}: {:#?}", path.display(), files.loaded.diagnostics);
        scenarios += u32::from(files.scenario.is_some());
    }
    assert!(scenarios >= 18, "only {scenarios} scenarios");
}

/// The table of the folder's README names every file, and no other.
#[test]
fn the_readme_lists_every_example() {
    let readme = std::fs::read_to_string(scene::examples().join("README.md")).expect("a README");
    let listed: std::collections::BTreeSet<String> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect();
    let files = std::fs::read_dir(scene::examples()).expect("the folder of examples");
    let there: std::collections::BTreeSet<String> = files
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    assert_eq!(listed, there);
}

/// The same file and seed give the same result, and another seed another one where chance matters.
#[test]
fn a_scenario_repeats() {
    let scene = Scene::load("loss-1e-3.toml");
    let hash = |seed| scene.run_seeded(seed).report.hash;
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}
