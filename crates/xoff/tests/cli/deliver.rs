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
