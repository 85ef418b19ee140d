//! `xoff validate`.

use super::{code, json, output, repository, stderr, stdout, xoff};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Two leaves, two spines, sixteen hosts: all phases in a few seconds.
const SMALL: &str = "[cluster]\nhosts = 16\nnic = \"generic-100g\"\n\
                     [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
                     [switch]\nbuffer = \"16MB\"\n[switch.watchdog]\nenabled = true\n";

fn folder_with(fabric: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    folder
}

/// Every file of a validation.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for part in ["", "experiments"] {
        for entry in fs::read_dir(folder.join(part)).unwrap().flatten() {
            if entry.path().is_file() {
                let name = format!("{part}/{}", entry.file_name().to_str().unwrap());
                all.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    all
}

#[test]
fn a_small_fabric_is_validated_in_all_phases() {
    let folder = folder_with(SMALL);
    let arguments = ["validate", "fabric.toml", "--quick", "--out", "v", "--junit", "v.xml"];
    let output = output(folder.path(), &arguments);
    let page = stdout(&output);
    assert_eq!(code(&output), Some(0), "{page}\n{}", stderr(&output));
    assert!(!page.contains('\u{1b}'), "colour in a pipe");
    for phase in
        ["Laboratory", "Baseline", "Synthetic load", "AI workload", "Failures", "Operations"]
    {
        assert!(page.contains(phase), "{phase}\n{page}");
    }
    let text = fs::read_to_string(folder.path().join("v/validation.json")).unwrap();
    let validation: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(validation["phases"].as_array().unwrap().len(), 6);
    assert_ne!(validation["verdict"], "fail");
    let report = fs::read_to_string(folder.path().join("v/report.html")).unwrap();
    assert!(report.contains("Validation of fabric.toml"));
    let xml = fs::read_to_string(folder.path().join("v.xml")).unwrap();
    assert_eq!(xml.matches("<testsuite ").count(), 6);
    // Each experiment is a scenario that anybody can run.
    let run = xoff(&folder.path().join("v/experiments"))
        .args(["run", "incast-4.toml", "--out", "../../run", "--quiet"])
        .output()
        .unwrap();
    assert_eq!(code(&run), Some(0), "{}", stderr(&run));
}

#[test]
fn a_validation_that_is_killed_goes_on_and_ends_the_same() {
    let folder = folder_with(SMALL);
    let validate = |out: &'static str| {
        let mut command = xoff(folder.path());
        command.args(["validate", "fabric.toml", "--quick", "--out", out]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    assert!(validate("calm").status().unwrap().success());
    // Killed after longer and longer times, each a fifth longer, until one try gets through.
    let mut kills = 0;
    for milliseconds in std::iter::successors(Some(10), |last| Some(last + last / 5)) {
        let mut child = validate("killed").spawn().unwrap();
        sleep(Duration::from_millis(milliseconds));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 0, "it was never killed");
    let (calm, killed) = (files(&folder.path().join("calm")), files(&folder.path().join("killed")));
    let finished = |files: &BTreeMap<String, String>| {
        let whole = files.iter().filter(|(name, _)| !name.ends_with(".partial"));
        whole.map(|(name, text)| (name.clone(), text.clone())).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(finished(&calm), finished(&killed));
    // The same on one thread.
    assert!(validate("alone").args(["--threads", "1"]).status().unwrap().success());
    assert_eq!(finished(&calm), finished(&files(&folder.path().join("alone"))));
}

#[test]
#[cfg(unix)]
fn an_interrupted_validation_says_how_to_go_on() {
    let folder = folder_with(SMALL);
    let child = xoff(folder.path())
        .args(["validate", "fabric.toml", "--out", "v"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !folder.path().join("v/experiments").is_dir() {
        sleep(Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("the same command resumes"), "{}", stderr(&output));
    assert!(!folder.path().join("v/validation.json").exists());
}

/// What a budget takes away is printed, on the page and in the file, and is the same whenever it is asked for.
#[test]
fn a_budget_says_what_it_leaves_out() {
    let folder = folder_with(SMALL);
    let validate = |out: &'static str, more: &[&'static str]| {
        let usual =
            ["validate", "fabric.toml", "--out", out, "--no-what-if", "--phase", "baseline"];
        let usual = usual.into_iter().chain(["--phase", "synthetic", "--phase", "workload"]);
        let arguments: Vec<&str> = usual.chain(more.iter().copied()).collect();
        output(folder.path(), &arguments)
    };
    let short = validate("short", &["--budget", "3s"]);
    let page = stdout(&short);
    assert!(page.contains("Budget of 3 s"), "{page}\n{}", stderr(&short));
    let text = fs::read_to_string(folder.path().join("short/validation.json")).unwrap();
    let validation: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names = |key: &str| -> Vec<&str> {
        let list = validation["curtailment"][key].as_array().unwrap();
        list.iter().map(|name| name.as_str().unwrap()).collect()
    };
    let left_out = names("left_out");
    assert!(left_out.contains(&"training-step"), "{left_out:?}");
    let report = fs::read_to_string(folder.path().join("short/report.html")).unwrap();
    for name in &left_out {
        assert!(page.replace('\n', " ").contains(name) && report.contains(name), "{name}\n{page}");
        assert!(!folder.path().join(format!("short/experiments/{name}.toml")).exists(), "{name}");
    }
    // On one thread it takes longer, and leaves out the same.
    let again = validate("again", &["--budget", "3s", "--threads", "1"]);
    assert_eq!(code(&again), code(&short));
    let (short, again) = (folder.path().join("short"), folder.path().join("again"));
    assert_eq!(files(&short), files(&again));
    let wrong = output(folder.path(), &["validate", "fabric.toml", "--budget", "soon"]);
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("10min"), "{}", stderr(&wrong));
}

#[test]
fn a_broken_rule_fails_with_advice_that_cures_it() {
    let folder = tempfile::tempdir().unwrap();
    let bad = repository("examples/bad/mtu-mismatch.toml");
    let bad = bad.to_str().unwrap();
    let failed = output(folder.path(), &["validate", bad, "--out", "v", "--json"]);
    assert_eq!(code(&failed), Some(1), "{}", stderr(&failed));
    let validation = json(&failed);
    assert_eq!(validation["checks"][0]["id"], "laboratory.mtu");
    let checked = output(folder.path(), &["check", "v/advised.toml"]);
    assert_eq!(code(&checked), Some(0), "{}", stderr(&checked));
}

#[test]
fn mistakes_in_the_file_or_the_arguments_are_not_findings() {
    let folder = folder_with("[cluster]\nhosts = \"many\"\n");
    let wrong = output(folder.path(), &["validate", "fabric.toml"]);
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("fabric.toml:2"), "{}", stderr(&wrong));
    assert!(!folder.path().join("validations").exists());
    let phase = output(folder.path(), &["validate", "fabric.toml", "--phase", "seven"]);
    assert_eq!(code(&phase), Some(2));
    assert!(stderr(&phase).contains("phases are laboratory"), "{}", stderr(&phase));
}

#[test]
fn nothing_runs_on_no_threads() {
    let folder = super::folder_with(super::INCAST);
    let commands: [&[&str]; 2] = [
        &["validate", "fabric.toml", "--phase", "1", "--threads"],
        &["compare", "s.toml", "--transports", "roce", "--threads"],
    ];
    for command in commands {
        for (number, words) in [("0", "give 1 or more"), ("many", "give a number")] {
            let refused = output(folder.path(), &[command, &[number]].concat());
            assert_eq!(code(&refused), Some(2), "{command:?} {number}");
            assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
        }
    }
    assert!(!folder.path().join("validations").exists());
}

#[test]
fn an_empty_file_is_no_fabric() {
    let folder = folder_with("# nothing yet\n");
    for file in ["/dev/null", "fabric.toml"] {
        let refused = output(folder.path(), &["validate", file, "--out", "v"]);
        assert_eq!(code(&refused), Some(2), "{file}: {}", stdout(&refused));
        assert!(stderr(&refused).contains("describes no fabric"), "{}", stderr(&refused));
        assert!(!folder.path().join("v").exists());
    }
}

#[test]
fn what_to_change_first_is_what_costs_most() {
    // 4:1 without saying so: better balancing of links that are too few is worth nothing.
    let folder = tempfile::tempdir().unwrap();
    let bad = repository("examples/bad/oversubscribed.toml");
    let arguments = ["validate", bad.to_str().unwrap(), "--quick", "--phase", "1", "--phase", "3"];
    let failed = output(folder.path(), &[&arguments[..], &["--json", "--out", "v"]].concat());
    assert_eq!(code(&failed), Some(1), "{}", stderr(&failed));
    let validation = json(&failed);
    let first = &validation["changes"][0];
    let keys = first["advice"]["change"].to_string();
    assert!(keys.contains("oversubscription") || keys.contains("spines"), "{first:#}");
    assert!(!first["effect"]["better"].as_array().unwrap().is_empty(), "{first:#}");
}

#[test]
fn what_if_tries_what_is_advised() {
    let folder = tempfile::tempdir().unwrap();
    let bad = repository("examples/bad/no-cnp-class.toml");
    let arguments =
        ["validate", bad.to_str().unwrap(), "--phase", "1", "--what-if", "--json", "--out", "v"];
    let failed = output(folder.path(), &arguments);
    assert_eq!(code(&failed), Some(1), "{}", stderr(&failed));
    let validation = json(&failed);
    let change = &validation["changes"][0];
    assert_eq!(change["advice"]["change"]["traffic"]["cnp"], 6);
    assert_eq!(change["effect"]["better"][0]["check"], "laboratory.cnp-class");
    assert_eq!(change["effect"]["better"][0]["verdicts"][1], "pass");
}

#[test]
fn devices_are_held_against_the_fabric() {
    let folder = folder_with(SMALL);
    let config = ["config", "fabric.toml", "--out", "devices", "--system", "eos"];
    assert_eq!(code(&output(folder.path(), &config)), Some(0));
    let arguments =
        ["validate", "fabric.toml", "--phase", "1", "--devices", "devices", "--json", "--out", "v"];
    let checks = || json(&output(folder.path(), &arguments))["checks"].clone();
    let verdict = |checks: &serde_json::Value| {
        let found = checks.as_array().unwrap().iter().find(|c| c["id"] == "laboratory.devices");
        found.unwrap()["verdict"].clone()
    };
    assert_eq!(verdict(&checks()), "pass");
    // A leaf that forgot what it believes of a packet.
    let leaf = fs::read_dir(folder.path().join("devices"))
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with("leaf0")));
    let path = leaf.unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    let wrong = text.replace("qos trust dscp", "qos trust cos");
    assert_ne!(text, wrong);
    fs::write(&path, wrong).unwrap();
    assert_eq!(verdict(&checks()), "fail");
}
