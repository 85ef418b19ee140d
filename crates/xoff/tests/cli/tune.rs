//! `xoff tune`: values that suit a workload, the same whatever ran the search.

use super::{code, folder_with, is_parquet, json, output, stderr, stdout, xoff};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// An incast on a switch that marks far too early, so that there is something to find.
const EARLY: &str = "[[workload]]\nkind = \"incast\"\nsize = \"300KB\"\n\
    [override.ecn]\nkmin = \"4KB\"\nkmax = \"8KB\"\npmax = 1.0\n";

const KNOBS: [&str; 6] = [
    "--knob",
    "fabric.ecn.kmin=2KB..500KB:log",
    "--knob",
    "fabric.ecn.kmax=8KB..2MB:log",
    "--knob",
    "fabric.pfc.alpha=1/16,1/8,1/4",
];

fn tune(folder: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["tune", "s.toml", "--budget", "110", "--seeds", "1"];
    arguments.extend(KNOBS);
    arguments.extend(more);
    output(folder, &arguments)
}

fn files(folder: &Path) -> Vec<Vec<u8>> {
    let names = ["tune.parquet", "tune.html", "advised.toml", "advised-scenario.toml"];
    names.map(|name| fs::read(folder.join(name)).unwrap()).to_vec()
}

#[test]
fn a_tuning_ends_with_values_a_table_a_page_and_files_that_load() {
    let folder = folder_with(EARLY);
    let path = folder.path();
    let ran = tune(path, &["--json", "--threads", "2"]);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    let summary = json(&ran);
    let answer = &summary["answer"];
    assert_eq!(answer["verdict"], "better", "{summary}");
    let change = answer["change"]["mean"].as_f64().unwrap();
    assert!(change < -0.02, "{change}");
    assert!(answer["runs"].as_u64().unwrap() <= 110, "{answer}");
    let kmin = &answer["values"][0];
    assert_eq!((&kmin["knob"], &kmin["present"]), (&"fabric.ecn.kmin".into(), &"4KB".into()));
    let own = path.join("tunes/s");
    assert!(is_parquet(&own.join("tune.parquet")));
    let page = fs::read_to_string(own.join("tune.html")).unwrap();
    for part in ["What each is worth", "What is indifferent", "What speed costs in pauses"] {
        assert!(page.contains(part), "no {part}");
    }
    // The scenario overrides the thresholds, so that it is advised as well; both load, and run better.
    for name in ["advised.toml", "advised-scenario.toml"] {
        let checked = output(path, &["check", own.join(name).to_str().unwrap()]);
        assert_eq!(code(&checked), Some(0), "{name}: {}", stderr(&checked));
    }
    let p99 = |scenario: &str| {
        let ran = output(path, &["run", scenario, "--json", "--no-report", "--out", "runs"]);
        assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
        json(&ran)["flows"]["fct_us"]["p99"].as_f64().unwrap()
    };
    let advised = own.join("advised-scenario.toml");
    assert!(p99(advised.to_str().unwrap()) < p99("s.toml"));
    // One thread gives the same bytes, and what is there is not run again by accident.
    let before = files(&own);
    assert_eq!(code(&tune(path, &[])), Some(3));
    let again = tune(path, &["--fresh", "--threads", "1"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    for part in ["better setting", "unseen seeds", "advised.toml", "tune.parquet", "worth"] {
        assert!(stdout(&again).contains(part), "no {part} in {}", stdout(&again));
    }
    assert!(before == files(&own), "one thread and two differ");
    let other = tune(path, &["--resume", "--search-seed", "5"]);
    assert_eq!(code(&other), Some(3), "another tuning");
    assert!(stderr(&other).contains("another tuning"), "{}", stderr(&other));
}

/// Interrupted and killed at moving places, it ends with the same bytes.
#[test]
fn interruptions_do_not_show() {
    let folder = folder_with(EARLY);
    let path = folder.path();
    let whole = tune(path, &["--out", "whole"]);
    assert_eq!(code(&whole), Some(0), "{}", stderr(&whole));
    let mut interrupted = 0;
    for step in 0..30u64 {
        let mut command: Command = xoff(path);
        command.args(["tune", "s.toml", "--budget", "110", "--seeds", "1", "--out", "parts"]);
        command.args(KNOBS).arg("--resume");
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        sleep(Duration::from_millis(60 + 40 * step));
        if child.try_wait().unwrap().is_some_and(|ended| ended.success()) {
            break;
        }
        let signal = if step.is_multiple_of(2) { "-INT" } else { "-KILL" };
        let id = child.id().to_string();
        Command::new("kill").args([signal, &id]).stderr(Stdio::null()).status().unwrap();
        let ended = child.wait_with_output().unwrap();
        if ended.status.code() == Some(130) {
            interrupted += 1;
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(said.is_empty() || said.contains("--resume"), "{said}");
        }
    }
    let last = tune(path, &["--out", "parts", "--resume"]);
    assert_eq!(code(&last), Some(0), "{}", stderr(&last));
    let (whole, parts) = (path.join("whole"), path.join("parts"));
    let table = |folder: &Path| fs::read(folder.join("tune.parquet")).unwrap();
    let advised = |folder: &Path| {
        let text = fs::read_to_string(folder.join("advised-scenario.toml")).unwrap();
        text.lines().filter(|line| !line.starts_with('#')).collect::<String>()
    };
    assert!(table(&whole) == table(&parts) && advised(&whole) == advised(&parts), "{interrupted}");
}

#[test]
fn mistakes_are_explained_before_anything_is_searched() {
    let folder = folder_with(EARLY);
    let path = folder.path();
    fs::write(path.join("tune.toml"), "scenario = \"nowhere.toml\"\n").unwrap();
    fs::write(path.join("wrong.toml"), "scenario = \"s.toml\"\nbudgte = 3\n").unwrap();
    fs::write(path.join("sweep.toml"), "scenario = \"s.toml\"\n[[axis]]\nkey = \"fabric.x\"\n")
        .unwrap();
    for (arguments, word) in [
        (&["nothing.toml"][..], "cannot read"),
        (&["fabric.toml"], "is a fabric file"),
        (&["sweep.toml"], "xoff sweep sweep.toml"),
        (&["tune.toml"], "nowhere.toml"),
        (&["wrong.toml"], "budget"),
        (&["s.toml", "tune.toml"], "goes alone"),
        (&["s.toml", "--knob", "fabric.ecn.kmni=1KB..2KB"], "kmin"),
        (&["s.toml", "--knob", "kmni"], "kmin"),
        (&["s.toml", "--knob", "fabric.ecn.kmin=2KB..1KB"], "not below"),
        (&["s.toml", "--knob", "fabric.ecn.kmin=1KB..2KB:lgo"], "no scale"),
        (&["s.toml", "--knob", "fabric.ecn.kmin=1us..2us"], "refused"),
        (&["s.toml", "--knob", "fabric.ecn.kmin=1KB,,2KB"], "missing"),
        (&["s.toml", "--knob", "kmin", "--knob", "fabric.ecn.kmin=1KB..2KB"], "two knobs"),
        (&["s.toml", "--without", "nothing"], "no default knob"),
        (&["s.toml", "--objective", "step_ms"], "step_us"),
        (&["s.toml", "--objective", "step_us"], "no `step_us`"),
        (&["s.toml", "--at-most", "paused_us"], "no bound"),
        (&["s.toml", "--at-least", "within_objective=1"], "cannot keep"),
        (&["s.toml", "--faults", "lnik"], "link"),
        (&["s.toml", "--faults", "link"], "no links between switches"),
        (&["s.toml", "--budget", "10"], "--budget"),
    ] {
        let all: Vec<&str> = ["tune"].iter().chain(arguments).copied().collect();
        let ran = output(path, &all);
        assert_eq!(code(&ran), Some(2), "{arguments:?}: {}", stderr(&ran));
        assert!(stderr(&ran).contains(word), "{arguments:?}: no {word} in {}", stderr(&ran));
        assert!(!path.join("tunes").exists(), "{arguments:?}");
    }
    let dry = output(path, &["tune", "s.toml", "--dry-run"]);
    assert_eq!(code(&dry), Some(0), "{}", stderr(&dry));
    for part in ["fct_p99_us", "kmin", "additive increase", "alpha", "headroom", "At most 600 runs"]
    {
        assert!(stdout(&dry).contains(part), "no {part} in {}", stdout(&dry));
    }
    // One switch has no equal paths to choose among.
    assert!(!stdout(&dry).contains("balancing"), "{}", stdout(&dry));
}

#[test]
fn a_controller_of_thresholds_can_be_trained() {
    let folder = folder_with(EARLY);
    let plan = output(folder.path(), &["tune", "s.toml", "--online", "--dry-run"]);
    assert_eq!(code(&plan), Some(0), "{}", stderr(&plan));
    for knob in ["kmin", "adaptive", "utilisation", "overload"] {
        assert!(stdout(&plan).contains(knob), "{}", stdout(&plan));
    }
    let arguments = ["tune", "s.toml", "--online", "--budget", "130", "--seeds", "1", "--json"];
    let ran = output(folder.path(), &arguments);
    assert_eq!(code(&ran), Some(0), "{}", stderr(&ran));
    assert_eq!(json(&ran)["answer"]["verdict"], "better", "{}", stdout(&ran));
    let deaf = folder_with(&format!("{EARLY}[override.transport.congestion]\nkind = \"hpcc\"\n"));
    let refused = output(deaf.path(), &["tune", "s.toml", "--online"]);
    assert_eq!(code(&refused), Some(2), "{}", stdout(&refused));
    assert!(stderr(&refused).contains("act on marks"), "{}", stderr(&refused));
}
