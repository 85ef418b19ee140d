//! `xoff diagnose`: from a run's counters to the cause.

use super::{code, example, json, output, stderr, stdout};
use std::path::Path;

/// Runs an example with counters.
fn run(folder: &Path, name: &str, period: &str) {
    let scenario = example(name);
    let out = output(
        folder,
        &["run", &scenario, "--counters", period, "--quiet", "--no-report", "--out", name],
    );
    assert!(folder.join(name).join("counters.parquet").exists(), "{}", stderr(&out));
}

#[test]
fn what_is_broken_is_found_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, period, cause, place) in [
        ("storm.toml", "20us", "pause-storm", "b0"),
        ("dead-spine.toml", "50us", "switch-down", "spine0"),
        ("flapping-link.toml", "50us", "link-flaps", "leaf0→spine0"),
        ("dirty-optic.toml", "200us", "bad-optic", "sender→switch"),
    ] {
        run(folder.path(), name, period);
        let out = output(folder.path(), &["diagnose", name, "--json"]);
        assert_eq!(code(&out), Some(1), "{name}: {}", stderr(&out));
        let answer = json(&out);
        let first = &answer["findings"][0];
        assert_eq!((first["cause"].as_str(), first["place"].as_str()), (Some(cause), Some(place)));
        assert!(!first["evidence"].as_array().unwrap().is_empty());
        let text = output(folder.path(), &["diagnose", name]);
        assert!(stdout(&text).starts_with(&format!("1. {place}: ")), "{}", stdout(&text));
        assert!(!stdout(&text).contains('\u{1b}'), "colour in a pipe");
    }
}

#[test]
fn a_sound_run_has_nothing_wrong() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "all-reduce.toml", "50us");
    let out = output(folder.path(), &["diagnose", "all-reduce.toml"]);
    assert_eq!(code(&out), Some(0), "{}", stdout(&out));
    assert!(stdout(&out).starts_with("Nothing wrong"), "{}", stdout(&out));
    assert!(stdout(&out).contains("Ruled out: "), "{}", stdout(&out));
    assert!(stdout(&out).contains("Not known: it is not known what is usual"), "{}", stdout(&out));
    // The same run is its own usual one.
    let usual =
        output(folder.path(), &["diagnose", "all-reduce.toml", "--usual", "all-reduce.toml"]);
    assert_eq!(code(&usual), Some(0));
    assert!(!stdout(&usual).contains("what is usual"), "{}", stdout(&usual));
}

#[test]
fn mistakes_say_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = example("incast.toml");
    let plain = ["run", &scenario, "--quiet", "--no-report", "--out", "plain"];
    output(folder.path(), &plain);
    run(folder.path(), "incast.toml", "20us");
    for (arguments, message) in [
        (vec!["diagnose", "plain"], "has no counters; make the run with"),
        (vec!["diagnose", "nowhere"], "has no counters"),
        (vec!["diagnose", "incast.toml", "--window", "soon"], "write it like 1ms..2ms"),
        (vec!["diagnose", "incast.toml", "--window", "2ms..1ms"], "ends before it begins"),
        (vec!["diagnose", "incast.toml", "--window", "5s.."], "no reading of the counters"),
        (vec!["diagnose", "incast.toml", "--usual", "0us.."], "no counters are left"),
        (vec!["diagnose", "incast.toml", "--fabric", "none.toml"], "none.toml"),
    ] {
        let out = output(folder.path(), &arguments);
        assert_eq!(code(&out), Some(2), "{arguments:?}: {}", stdout(&out));
        assert!(stderr(&out).contains(message), "{arguments:?}: {}", stderr(&out));
    }
}
