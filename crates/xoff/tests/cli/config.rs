//! `xoff config` and `xoff audit`.

use super::{code, example, json, output, stderr, stdout};
use std::fs;

#[test]
fn what_is_configured_passes_the_audit() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    for system in
        ["eos", "nx-os", "sonic", "cumulus", "cumulus-yaml", "junos", "junos-set", "os10", "picos"]
    {
        let out = format!("of-{system}");
        let arguments = ["config", &fabric, "--system", system, "--out", &out];
        let written = output(folder.path(), &arguments);
        assert_eq!(code(&written), Some(0), "{}", stderr(&written));
        let again = output(folder.path(), &arguments);
        assert_eq!(code(&again), Some(0), "the same bytes again: {}", stderr(&again));
        let audited = output(folder.path(), &["audit", &out, "--fabric", &fabric]);
        assert_eq!(code(&audited), Some(0), "{}", stdout(&audited));
        assert!(stdout(&audited).contains("0 errors, 0 warnings"), "{}", stdout(&audited));
        assert!(stdout(&audited).contains("0 statements not understood, 0 unreadable"));
        assert!(!stderr(&audited).contains("looks like no known"), "{}", stderr(&audited));
    }
}

#[test]
fn a_mistake_is_shown_on_its_line_with_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = example("leaf-spine-64.toml");
    let out = ["config", &fabric, "--system", "eos", "--out", "d"];
    assert_eq!(code(&output(folder.path(), &out)), Some(0));
    let leaf = folder.path().join("d/leaf0.cfg");
    let text = fs::read_to_string(&leaf).unwrap();
    fs::write(&leaf, text.replace("qos trust dscp", "qos trust cos\n   qos be fast")).unwrap();

    let found = output(folder.path(), &["audit", "d", "--fabric", &fabric, "--unknown"]);
    assert_eq!(code(&found), Some(1));
    let page = stdout(&found);
    assert!(page.contains("error[trust]: leaf0 Ethernet"), "{page}");
    assert!(page.contains("|    qos trust cos"), "{page}");
    assert!(
        page.contains("    qos trust dscp") || page.contains("       qos trust dscp"),
        "{page}"
    );
    assert!(page.contains("unknown qos be fast"), "{page}");

    let found = output(folder.path(), &["audit", "d", "--fabric", &fabric, "--json"]);
    let answer = json(&found);
    assert_eq!(answer["findings"][0]["rule"], "trust");
    assert_eq!(answer["findings"][0]["device"], "leaf0");
    assert!(answer["unknown"].as_u64() > Some(0));

    let refused = output(folder.path(), &out);
    assert_eq!(code(&refused), Some(3), "a changed file is not replaced");
    assert!(stderr(&refused).contains("--force"));
}

#[test]
fn rules_are_explained_and_mistakes_in_usage_told() {
    let folder = tempfile::tempdir().unwrap();
    let page = output(folder.path(), &["audit", "--explain", "ecn-above-xoff"]);
    assert_eq!(code(&page), Some(0));
    assert!(stdout(&page).starts_with("ecn-above-xoff  error\n"));
    let wrong = output(folder.path(), &["audit", "--explain", "nothing"]);
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("pfc-missing"));
    assert_eq!(code(&output(folder.path(), &["audit", "."])), Some(2));
    assert_eq!(code(&output(folder.path(), &["audit", "missing"])), Some(2));
    let host = ["config", "x.toml", "--system", "host", "--out", "d"];
    assert_eq!(code(&output(folder.path(), &host)), Some(2));
}
