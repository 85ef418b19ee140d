//! `xoff catalogue`.

use super::{code, json, output, stdout, xoff};
use std::path::Path;
use std::process::Stdio;

#[test]
fn lists_all_or_one_part() {
    let here = Path::new(".");
    let all = output(here, &["catalogue"]);
    let text = stdout(&all);
    assert!(
        text.contains("tomahawk-5") && text.contains("connectx-7") && text.contains("400g-dr4")
    );
    let nics = output(here, &["catalogue", "nics"]);
    assert!(stdout(&nics).contains("connectx-7") && !stdout(&nics).contains("tomahawk-5"));
    let media = json(&output(here, &["catalogue", "media", "--json"]));
    let dac = media["media"].as_array().unwrap().iter().find(|m| m["name"] == "dac").unwrap();
    assert_eq!(dac["reach_mm"], 2000);
    assert!(media.get("silicon").is_none());
}

#[test]
fn models_and_gpus_with_their_sources() {
    let here = Path::new(".");
    let all = stdout(&output(here, &["catalogue"])).to_owned();
    assert!(all.contains("\nModels\n") && all.contains("\nGPUs\n"), "{all}");
    let models = json(&output(here, &["catalogue", "models", "--json"]));
    let models = models["models"].as_array().unwrap();
    let named = |name: &str| models.iter().find(|model| model["name"] == name).unwrap();
    // The sums that the models' authors publish: 70.6 and 46.7 billion, 12.9 of which a token meets.
    let billions = |value: &serde_json::Value| value.as_f64().unwrap() / 1e9;
    assert!((billions(&named("llama-3-70b")["parameters"]) - 70.6).abs() < 0.1);
    let mixtral = named("mixtral-8x7b");
    assert!((billions(&mixtral["parameters"]) - 46.7).abs() < 0.1);
    assert!((billions(&mixtral["active_parameters"]) - 12.9).abs() < 0.1);
    assert_eq!(named("llama-3-70b")["transformer"]["layers"], 80);
    assert!(models.iter().all(|model| !model["source"].as_str().unwrap().is_empty()));
    assert_eq!(named("resnet-50")["transformer"], serde_json::Value::Null);
    let one = output(here, &["catalogue", "model", "llama-3-70b"]);
    assert!(stdout(&one).contains("Llama 3 Herd") && !stdout(&one).contains("mixtral"));
    let wrong = output(here, &["catalogue", "models", "llama-3-70"]);
    assert_eq!(code(&wrong), Some(2));
    assert!(super::stderr(&wrong).contains("llama-3-70b"), "{}", super::stderr(&wrong));
    let gpus = json(&output(here, &["catalogue", "gpu", "h100", "--json"]));
    assert_eq!(gpus["gpus"][0]["peak_flops"], 989_000_000_000_000u64);
}

#[test]
fn profiles_of_collectives_with_their_errors() {
    let here = Path::new(".");
    let all = json(&output(here, &["catalogue", "collectives", "--json"]));
    let all = all["collectives"].as_array().unwrap();
    let worst = |profile: &serde_json::Value| {
        let errors = profile["errors"].as_array().unwrap().clone();
        errors.iter().filter_map(|error| error["above_64mib"].as_f64()).fold(0.0, f64::max)
    };
    for profile in all {
        assert!(!profile["errors"].as_array().unwrap().is_empty(), "{profile}");
        assert!(worst(profile) <= 0.1, "{profile}");
    }
    let efa = all.iter().find(|profile| profile["name"] == "h100-efa").unwrap();
    assert_eq!(efa["errors"].as_array().unwrap().len(), 4);
    let most = format!("-{:.1} %", worst(efa) * 100.0);
    let table = output(here, &["catalogue", "collectives"]);
    let row = stdout(&table).lines().find(|line| line.trim_start().starts_with("h100-efa "));
    assert!(row.unwrap().contains(&most), "{}", stdout(&table));
    let one = output(here, &["catalogue", "collective", "h100-efa"]);
    let one = stdout(&one);
    assert!(one.contains("AllToAll on 16 to 256 H100") && one.contains("pair-rate"), "{one}");
}

#[test]
fn fits_a_narrow_terminal() {
    let output = xoff(Path::new(".")).arg("catalogue").env("COLUMNS", "60").output().unwrap();
    let text = stdout(&output);
    for line in text.lines() {
        assert!(line.chars().count() <= 60, "{line:?}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = xoff(Path::new("."))
        .args(["schema", "fabric"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_standard_output_is_code_3() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = xoff(Path::new(".")).args(["schema", "fabric"]).stdout(full).output().unwrap();
    assert_eq!(code(&output), Some(3));
    assert!(super::stderr(&output).contains("cannot write to standard output"));
}
