//! What `xoff config` leaves in its folder, and the ways it delivers configurations.

use super::{code, example, output, stderr, stdout};
use std::fs;
use std::path::Path;

/// Names of the files below a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => open.push(entry),
                false => found.push(entry.strip_prefix(folder).unwrap().display().to_string()),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn another_system_replaces_the_files_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    let config = |system: &str, more: &[&str]| {
        let arguments = ["config", &fabric, "--system", system, "--out", "d"];
        output(folder.path(), &[&arguments[..], more].concat())
    };
    assert_eq!(code(&config("eos", &[])), Some(0));
    let d = folder.path().join("d");
    fs::write(d.join("notes.txt"), "mine\n").unwrap();
    let second = config("sonic", &[]);
    assert_eq!(code(&second), Some(0), "{}", stderr(&second));
    assert!(stdout(&second).contains("removed"), "{}", stdout(&second));
    assert!(stdout(&second).contains("leaf0.cfg"), "{}", stdout(&second));
    assert!(!stderr(&second).contains("notes.txt"), "it looks like no device");
    let now = files(&d);
    assert!(now.contains(&"leaf0.json".to_owned()) && now.contains(&"notes.txt".to_owned()));
    assert!(!now.iter().any(|name| name.ends_with(".cfg")), "{now:?}");
    let audited = output(folder.path(), &["audit", "d", "--fabric", &fabric]);
    assert_eq!(code(&audited), Some(0), "{}", stdout(&audited));
    assert!(stdout(&audited).contains("0 errors, 0 warnings"), "{}", stdout(&audited));

    // What was edited is named and stays, whether it would be written again or not.
    let leaf = fs::read_to_string(d.join("leaf0.json")).unwrap();
    fs::write(d.join("leaf0.json"), leaf.replace("9216", "1500")).unwrap();
    for system in ["sonic", "eos"] {
        let refused = config(system, &[]);
        assert_eq!(code(&refused), Some(3), "{}", stdout(&refused));
        let said = stderr(&refused);
        assert!(said.contains("leaf0.json` was edited") && said.contains("--force"), "{said}");
        assert!(!d.join("leaf0.cfg").exists(), "nothing is written");
    }
    let forced = config("eos", &["--force"]);
    assert_eq!(code(&forced), Some(0), "{}", stderr(&forced));
    assert!(!d.join("leaf0.json").exists() && d.join("notes.txt").exists());

    // A file of another origin that the audit would read is named.
    fs::write(d.join("old-leaf.json"), leaf).unwrap();
    let named = config("eos", &["--force"]);
    assert_eq!(code(&named), Some(0));
    let said = stderr(&named);
    assert!(said.contains("old-leaf.json") && said.contains("(sonic)"), "{said}");
    assert!(d.join("old-leaf.json").exists());
}

#[test]
fn a_manifest_that_was_tampered_with_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    let arguments = ["config", &fabric, "--system", "eos", "--out", "d"];
    assert_eq!(code(&output(folder.path(), &arguments)), Some(0));
    let manifest = folder.path().join("d/xoff-config.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.lines().take(5).any(|line| line.contains("not read by the audit")), "{text}");
    fs::write(folder.path().join("secret"), "x").unwrap();
    for wrong in [text.replacen("leaf0.cfg", "../secret", 1), text[..200].to_owned(), "[]".into()] {
        fs::write(&manifest, wrong).unwrap();
        let refused = output(folder.path(), &[&arguments[..], &["--force"]].concat());
        assert_eq!(code(&refused), Some(3), "{}", stdout(&refused));
        assert!(stderr(&refused).contains("xoff-config.json"), "{}", stderr(&refused));
        assert!(folder.path().join("secret").exists());
    }
}

#[test]
fn files_for_tools_stand_beside_those_of_devices_and_the_audit_does_not_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    let config = ["config", &fabric, "--system", "eos", "--out", "d"];
    let all = [&config[..], &["--ansible", "--avd", "--gnmi"]].concat();
    let written = output(folder.path(), &all);
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    assert!(stderr(&written).contains("gnmi: OpenConfig has no PFC"), "{}", stderr(&written));
    let d = folder.path().join("d");
    let now = files(&d);
    for name in [
        "ansible/deliver.yml",
        "ansible/inventory.yml",
        "ansible/tasks/eos.yml",
        "ansible/tasks/host.yml",
        "avd/structured_configs/leaf0.yml",
        "gnmi/leaf0.json",
        "gnmi/README.md",
        "leaf0.cfg",
    ] {
        assert!(now.iter().any(|own| own == name), "{name} is not in {now:?}");
    }
    // Every file that the inventory names is there.
    let inventory = fs::read_to_string(d.join("ansible/inventory.yml")).unwrap();
    let named = inventory.lines().filter_map(|line| line.trim().strip_prefix("xoff_file: "));
    let named: Vec<&str> = named.collect();
    assert!(named.len() > 10 && named.iter().all(|name| d.join(name).is_file()), "{named:?}");
    let audited = output(folder.path(), &["audit", "d", "--fabric", &fabric]);
    assert_eq!(code(&audited), Some(0), "{}", stdout(&audited));
    assert!(stdout(&audited).contains("0 errors, 0 warnings"), "{}", stdout(&audited));
    assert!(!stderr(&audited).contains("looks like no known"), "{}", stderr(&audited));
    // Without the options their files go again, folders and all.
    assert_eq!(code(&output(folder.path(), &config)), Some(0));
    assert!(!d.join("ansible").exists() && !d.join("avd").exists() && !d.join("gnmi").exists());
    let none = ["config", &fabric, "--system", "sonic", "--avd", "--out", "e"];
    let refused = output(folder.path(), &none);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("--system eos"), "{}", stderr(&refused));
}

#[test]
fn an_agent_gets_a_file_for_each_switch_whose_thresholds_move() {
    let folder = tempfile::tempdir().unwrap();
    let (moves, stays) = (example("adaptive-17.toml"), example("leaf-spine-64.toml"));
    let written = output(folder.path(), &["config", &moves, "--agent", "--out", "d"]);
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    let text = fs::read_to_string(folder.path().join("d/agent/leaf0.json")).unwrap();
    let agent: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(agent["form"], "xoff ECN agent 1");
    assert_eq!(agent["queues"][0]["ports"].as_array().unwrap().len(), 17);
    let audited = output(folder.path(), &["audit", "d", "--fabric", &moves]);
    assert_eq!(code(&audited), Some(0), "{}", stdout(&audited));
    assert!(!stderr(&audited).contains("looks like no known"), "{}", stderr(&audited));
    let refused = output(folder.path(), &["config", &stays, "--agent", "--out", "e"]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("[ecn.adaptive]"), "{}", stderr(&refused));
}

#[test]
fn patches_of_sonic_lead_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    let config = ["config", &fabric, "--system", "sonic", "--out", "d"];
    assert_eq!(code(&output(folder.path(), &config)), Some(0));
    let leaf = folder.path().join("d/leaf0.json");
    let text = fs::read_to_string(&leaf).unwrap();
    fs::write(&leaf, text.replacen("\"mtu\": \"9216\"", "\"mtu\": \"1500\"", 1)).unwrap();
    let diff = ["config", &fabric, "--diff", "d", "--patches", "--out", "c"];
    let differs = output(folder.path(), &diff);
    assert_eq!(code(&differs), Some(1), "{}", stderr(&differs));
    let read = |name: &str| -> serde_json::Value {
        let text = fs::read_to_string(folder.path().join("c").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (there, back) = (read("leaf0.patch.json"), read("leaf0.patch-back.json"));
    assert_eq!(there.as_array().unwrap().len(), 1, "{there}");
    assert_eq!((&there[0]["op"], &there[0]["value"]), (&"replace".into(), &"9216".into()));
    assert_eq!(back[0]["value"], "1500");
    assert!(!folder.path().join("c/leaf0.change.json").exists());
    fs::write(&leaf, text[..text.len() - 30].replacen("9216", "1500", 1)).unwrap();
    let broken = output(folder.path(), &diff);
    assert_eq!(code(&broken), Some(2), "{}", stdout(&broken));
    assert!(stderr(&broken).contains("leaf0.json` cannot be patched: line"), "{}", stderr(&broken));
}

#[test]
fn a_bundle_is_by_serial_number_and_mistakes_have_their_lines() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    let config = ["config", &fabric, "--system", "eos", "--out", "d"];
    let plain = output(folder.path(), &config);
    assert_eq!(code(&plain), Some(0), "{}", stderr(&plain));
    let d = folder.path().join("d");
    let mut switches = files(&d);
    switches.retain(|name| name.ends_with(".cfg"));
    let lines = switches.iter().enumerate();
    let lines = lines.map(|(i, name)| format!("{},SN{i}\n", name.trim_end_matches(".cfg")));
    let lines: String = lines.collect();
    let serials = folder.path().join("serials.csv");
    let more = ["--ztp", "--serials", "serials.csv", "--server", "http://192.0.2.1/"];
    let ztp = [&config[..], &more].concat();

    fs::write(&serials, format!("{lines}leaf0,SN9999\nnobody,X1\n")).unwrap();
    let refused = output(folder.path(), &ztp);
    assert_eq!(code(&refused), Some(2), "{}", stdout(&refused));
    let said = stderr(&refused);
    let last = switches.len();
    for line in [
        format!("line {}: `leaf0` is already", last + 1),
        format!("line {}: the fabric has no", last + 2),
    ] {
        assert!(said.contains(&line), "{line} is not in {said}");
    }
    assert!(!d.join("ztp").exists(), "nothing is written");

    fs::write(&serials, &lines).unwrap();
    let written = output(folder.path(), &ztp);
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    assert!(stderr(&written).contains("RoCE part only"), "{}", stderr(&written));
    let bundled = fs::read_to_string(d.join("ztp/eos/SN0.cfg")).unwrap();
    assert_eq!(bundled, fs::read_to_string(d.join(&switches[0])).unwrap());
    assert!(d.join("ztp/eos/bootstrap").exists() && d.join("ztp/dhcp/dnsmasq.conf").exists());
    // The audit reads every device once.
    let audited = output(folder.path(), &["audit", "d", "--fabric", &fabric]);
    assert!(stdout(&audited).contains("0 errors, 0 warnings"), "{}", stdout(&audited));

    fs::create_dir(folder.path().join("base")).unwrap();
    fs::write(folder.path().join("base/leaf0.txt"), "hostname leaf0\nend\n").unwrap();
    let lacking = output(folder.path(), &[&ztp[..], &["--base", "base"]].concat());
    assert_eq!(code(&lacking), Some(2));
    assert!(stderr(&lacking).contains("`leaf1` has no base configuration"), "{}", stderr(&lacking));
    let quoted =
        [&config[..], &["--ztp", "--serials", "serials.csv", "--server", "http://x'$(id)"]];
    assert_eq!(code(&output(folder.path(), &quoted.concat())), Some(2));
}
