//! `report.html` in the run folder.

use super::{INCAST, code, example, folder_with, json, output, program, stderr};
use std::process::Command;

#[test]
fn a_run_leaves_a_page_with_its_figures() {
    let folder = folder_with(INCAST);
    let output =
        output(folder.path(), &["run", "s.toml", "--seed", "7", "--out", "run", "--quiet"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    for part in [
        "<title>s.toml</title>",
        "xoff run s.toml --seed 7",
        "3 of 3 flows",
        "id=\"f-completion-times\"",
        "id=\"f-queues\"",
        "id=\"f-links\"",
        "id=\"f-topology\"",
        "Digest of the results",
        "SHA-256 of s.toml",
        "bit errors and loss take whole packets",
    ] {
        assert!(page.contains(part), "no `{part}`");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
    assert!(!folder.path().join("run/report.html.partial").exists());
}

/// The page of an example.
fn page_of(name: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = example(name);
    let arguments = [&["run", &path, "--out", "run", "--quiet"], more].concat();
    let output = output(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    std::fs::read_to_string(folder.path().join("run/report.html")).unwrap()
}

#[test]
fn workloads_and_tenants_are_on_the_page() {
    let page = page_of("tenants-one-class.toml", &["--alone"]);
    for part in ["--seed 1 --alone", "Tenants", ">lab<", ">archive<", "mean alone", "slowdown"] {
        assert!(page.contains(part), "no `{part}`");
    }
    assert!(!page.contains("objective"), "a column for nothing");
    let page = page_of("kv-cache.toml", &[]);
    for part in ["What one of them takes", "objective", "within it"] {
        assert!(page.contains(part), "no `{part}`");
    }
    assert!(!page.contains("mean alone"), "a column for nothing");
}

#[test]
fn it_can_be_left_out_and_changes_no_result() {
    let folder = folder_with(INCAST);
    let run = |more: &[&str]| {
        let arguments = [&["run", "s.toml", "--out", "run", "--json"], more].concat();
        json(&output(folder.path(), &arguments))["result_hash"].clone()
    };
    let with = run(&[]);
    assert!(folder.path().join("run/report.html").exists());
    let without = run(&["--no-report"]);
    assert!(!folder.path().join("run/report.html").exists(), "the earlier report is still there");
    assert_eq!(with, without);
}

#[test]
fn the_same_run_writes_the_same_page() {
    let folder = folder_with(INCAST);
    let page = |out: &str| {
        output(folder.path(), &["run", "s.toml", "--out", out, "--quiet"]);
        std::fs::read(folder.path().join(out).join("report.html")).unwrap()
    };
    assert_eq!(page("a"), page("b"));
}

#[test]
fn a_run_that_broke_a_rule_says_so_first() {
    let folder = folder_with(&format!("duration = \"5us\"\n{INCAST}"));
    let output = output(folder.path(), &["run", "s.toml", "--out", "run", "--quiet"]);
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert_eq!(code(&output), Some(1), "{}", stderr(&output));
    let (top, _) = page.split_once("</header>").unwrap();
    assert!(top.contains("badge fail") && top.contains("did not finish"), "{top}");
}

/// The header of an example's page, which is what a reader sees first.
fn top_of(name: &str) -> String {
    let page = page_of(name, &[]);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let (top, _) = page.split_once("</header>").unwrap();
    let (_, top) = top.split_once("<header").unwrap();
    top.to_owned()
}

#[test]
fn a_deadlock_is_not_called_completed_and_its_ring_is_named() {
    let top = top_of("deadlock.toml");
    assert!(!top.contains("Completed") && !top.contains("nothing was dropped"), "{top}");
    assert!(top.contains("Deadlocked") && top.contains("0 of 3 flows finished"), "{top}");
    for queue in ["s0→s1 class 3", "s1→s2 class 3", "s2→s0 class 3"] {
        assert!(top.contains(queue), "no {queue} in {top}");
    }
}

#[test]
fn the_culprit_of_a_storm_is_named() {
    let top = top_of("storm.toml");
    assert!(!top.contains("nothing was dropped"), "{top}");
    assert!(top.contains("Pause storm or slow receiver at <code>b0</code>"), "{top}");
    // Flows 1 to 4 never send to b0 and stand still for good.
    assert!(top.contains("7 other ports were paused behind it"), "{top}");
    assert!(top.contains("4 flows that do not even go there did not finish"), "{top}");
    // Where nobody storms nobody is blamed.
    assert!(!top_of("permutation.toml").contains("torm"));
}

#[test]
fn a_training_step_has_its_time_and_its_wait_at_the_top() {
    let top = top_of("loss-step.toml");
    for part in ["Step time", "GPUs wait for transfers, a day", "GPU-h", "of 1,536"] {
        assert!(top.contains(part), "no {part} in {top}");
    }
}

#[test]
#[cfg(unix)]
fn a_page_that_cannot_be_written_is_named() {
    let folder = folder_with(INCAST);
    // A limit on the size of files, which fails writes as a full disk does. The tables fit.
    let script = "trap '' XFSZ; ulimit -f 32; exec \"$0\" run s.toml --out run --quiet";
    let mut shell = Command::new("sh");
    shell.current_dir(folder.path()).args(["-c", script]).arg(program());
    let output = shell.output().expect("sh runs");
    assert_eq!(code(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("report.html"), "{}", stderr(&output));
    let run = folder.path().join("run");
    let summary = std::fs::read_to_string(run.join("summary.json")).unwrap();
    assert!(summary.contains("report.html"), "the summary does not say so");
    assert!(!run.join("report.html").exists() && !run.join("report.html.partial").exists());
}
