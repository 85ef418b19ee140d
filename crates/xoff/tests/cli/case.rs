//! Keys of JSON that the program writes are in snake_case, wherever it writes them.

use super::{INCAST, code, example, folder_with, json, output, repository, stderr};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// Keys that are not in snake_case. Below `change` are settings of a fabric file, as it spells
/// them.
fn odd_keys(value: &Value, path: &str) -> Vec<String> {
    let snake = |key: &str| {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !key.is_empty() && key.chars().all(plain)
    };
    match value {
        Value::Object(map) => {
            let each = map.iter().flat_map(|(key, value)| {
                let path = format!("{path}.{key}");
                let inner = if key == "change" { Vec::new() } else { odd_keys(value, &path) };
                inner.into_iter().chain((!snake(key)).then_some(path))
            });
            each.collect()
        }
        Value::Array(list) => list.iter().flat_map(|item| odd_keys(item, path)).collect(),
        _ => Vec::new(),
    }
}

fn check(what: &str, value: &Value) {
    assert!(value.is_object() || value.is_array(), "{what}: {value}");
    let odd = odd_keys(value, "");
    assert!(odd.is_empty(), "{what}: {odd:?}");
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn what_commands_print_is_in_snake_case() {
    let folder = folder_with(INCAST);
    let capture = repository("crates/wire/tests/data/pcap/rc_send_lat_v4.pcap");
    let capture = capture.to_str().unwrap();
    let devices = output(folder.path(), &["config", "fabric.toml", "--out", "devices"]);
    assert_eq!(code(&devices), Some(0), "{}", stderr(&devices));
    let pod = example("pod-256.toml");
    let commands: [&[&str]; 9] = [
        &["check", &pod, "--json"],
        &["check", "s.toml", "--json"],
        &["plan", "256", "--json"],
        &["catalogue", "silicon", "--json"],
        &["catalogue", "media", "--json"],
        &["inspect", capture, "--json"],
        &["audit", "devices", "--fabric", "fabric.toml", "--json"],
        &["run", "s.toml", "--json"],
        &["compare", "s.toml", "--transports", "roce,tcp", "--json"],
    ];
    for arguments in commands {
        check(&arguments.join(" "), &json(&output(folder.path(), arguments)));
    }
}

#[test]
fn what_a_validation_keeps_is_in_snake_case_and_older_measurements_are_made_again() {
    let folder = folder_with(INCAST);
    let validate = ["validate", "fabric.toml", "--quick", "--out", "v", "--phase", "baseline"];
    let first = output(folder.path(), &validate);
    assert!(code(&first).is_some_and(|code| code < 2), "{}", stderr(&first));
    let v = folder.path().join("v");
    check("validation.json", &read(&v.join("validation.json")));
    let verdict = fs::read_to_string(v.join("validation.json")).unwrap();
    let kept = fs::read_dir(v.join("experiments")).unwrap().map(|entry| entry.unwrap().path());
    let kept = kept.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    let kept: Vec<_> = kept.collect();
    assert!(!kept.is_empty());
    for path in &kept {
        let now = read(path);
        check("an experiment", &now);
        // As an earlier version kept it, whose figures had other names.
        let text = fs::read_to_string(path.with_extension("toml")).unwrap();
        let fabric = fs::read_to_string(v.join("fabric.toml")).unwrap();
        let key = format!("{}\n{text}\n{fabric}", env!("CARGO_PKG_VERSION"));
        let key: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_ne!(now["key"], key.as_str());
        let old = now.to_string().replace('_', "-").replace(now["key"].as_str().unwrap(), &key);
        fs::write(path, old).unwrap();
    }
    assert_eq!(code(&output(folder.path(), &validate)), code(&first));
    assert_eq!(fs::read_to_string(v.join("validation.json")).unwrap(), verdict);
    for path in &kept {
        check("an experiment made again", &read(path));
    }
}
