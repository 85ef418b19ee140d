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
    assert!(stdout(&page).starts_with("ecn-above-xoff  warning\n"));
    let wrong = output(folder.path(), &["audit", "--explain", "nothing"]);
    assert_eq!(code(&wrong), Some(2));
    assert!(stderr(&wrong).contains("pfc-missing"));
    assert_eq!(code(&output(folder.path(), &["audit", "."])), Some(2));
    assert_eq!(code(&output(folder.path(), &["audit", "missing"])), Some(2));
    let host = ["config", "x.toml", "--system", "host", "--out", "d"];
    assert_eq!(code(&output(folder.path(), &host)), Some(2));
}

/// A folder with the configurations of a fabric for EOS, and the fabric file.
fn configured() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let fabric = folder.path().join("f.toml");
    fs::copy(example("leaf-spine-64.toml"), &fabric).unwrap();
    let out = ["config", "f.toml", "--system", "eos", "--out", "d"];
    assert_eq!(code(&output(folder.path(), &out)), Some(0));
    let leaf = fs::read_to_string(folder.path().join("d/leaf0.cfg")).unwrap();
    (folder, leaf)
}

#[test]
fn a_difference_is_shown_and_its_way_back_written() {
    let (folder, leaf) = configured();
    let same = output(folder.path(), &["config", "f.toml", "--diff", "d"]);
    assert_eq!(code(&same), Some(0), "{}", stdout(&same));
    assert!(stdout(&same).starts_with("0 devices would change"), "{}", stdout(&same));
    fs::write(folder.path().join("d/leaf0.cfg"), leaf.replacen("mtu 9214", "mtu 1500", 1)).unwrap();
    let arguments = ["config", "f.toml", "--diff", "d", "--rollback", "--out", "c"];
    let differs = output(folder.path(), &arguments);
    assert_eq!(code(&differs), Some(1), "{}", stderr(&differs));
    assert!(stdout(&differs).contains("leaf0 (eos): 1 settings differ"), "{}", stdout(&differs));
    let read = |name: &str| fs::read_to_string(folder.path().join("c").join(name)).unwrap();
    assert!(read("leaf0.change.cfg").contains("   mtu 9214\n"));
    assert!(read("leaf0.back.cfg").contains("   mtu 1500\n"));
    let wrong = ["config", "f.toml", "--rollback", "--out", "c"];
    assert_eq!(code(&output(folder.path(), &wrong)), Some(2));
}

#[test]
fn an_approved_fabric_tells_drift() {
    let (folder, leaf) = configured();
    let arguments = ["config", "f.toml", "--approve", "Ada"];
    let approved = output(folder.path(), &arguments);
    assert_eq!(code(&approved), Some(0), "{}", stderr(&approved));
    let audit = ["audit", "d", "--fabric", "f.toml", "--json"];
    let answer = json(&output(folder.path(), &audit));
    assert_eq!(answer["approval"]["who"], "Ada");
    assert_eq!(answer["approval"]["drifted"], serde_json::json!([]));
    fs::write(folder.path().join("d/leaf0.cfg"), leaf.replacen("mtu 9214", "mtu 9000", 1)).unwrap();
    let answer = json(&output(folder.path(), &audit));
    assert_eq!(answer["approval"]["drifted"][0]["device"], "leaf0");
    let page = output(folder.path(), &["audit", "d", "--fabric", "f.toml"]);
    assert!(stdout(&page).contains("leaf0 drifted in 1 settings"), "{}", stdout(&page));
    let records = folder.path().join("f.toml.approved.json");
    let forged = fs::read_to_string(&records).unwrap().replace("leaf", "Leaf");
    fs::write(&records, forged).unwrap();
    let refused = output(folder.path(), &["audit", "d", "--fabric", "f.toml"]);
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("was changed after it was written"));
}

#[test]
fn accepted_findings_are_not_told_again() {
    let (folder, leaf) = configured();
    let broken = leaf.replacen("qos trust dscp", "qos trust cos", 1);
    fs::write(folder.path().join("d/leaf0.cfg"), &broken).unwrap();
    let audit = ["audit", "d", "--fabric", "f.toml"];
    let written = output(folder.path(), &[&audit[..], &["--write-baseline", "b.json"]].concat());
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    let with = [&audit[..], &["--baseline", "b.json"]].concat();
    let quiet = output(folder.path(), &with);
    assert_eq!(code(&quiet), Some(0), "{}", stdout(&quiet));
    assert!(stdout(&quiet).contains("accepted by the baseline"));
    let worse = broken.replacen("mtu 9214", "mtu 1500", 1);
    fs::write(folder.path().join("d/leaf0.cfg"), worse).unwrap();
    let told = output(folder.path(), &with);
    assert_eq!(code(&told), Some(1));
    assert!(stdout(&told).contains("mtu-small") && !stdout(&told).contains("error[trust]"));
    fs::write(folder.path().join("b.json"), "{}").unwrap();
    assert_eq!(code(&output(folder.path(), &with)), Some(2));
}

/// The properties that SARIF 2.1.0 requires (sections 3.13, 3.14, 3.18, 3.19, 3.27, 3.30, 3.49).
#[test]
fn sarif_has_what_it_must_have() {
    let (folder, leaf) = configured();
    let broken = leaf.replacen("qos trust dscp", "qos trust cos", 1);
    fs::write(folder.path().join("d/leaf0.cfg"), broken).unwrap();
    fs::remove_file(folder.path().join("d/spine0.cfg")).unwrap();
    let found = output(folder.path(), &["audit", "d", "--fabric", "f.toml", "--sarif"]);
    assert_eq!(code(&found), Some(1));
    let log = json(&found);
    assert_eq!(log["version"], "2.1.0");
    let schema = log["$schema"].as_str().unwrap_or_default();
    assert!(schema.starts_with("https://") && schema.ends_with("/sarif-schema-2.1.0.json"));
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "xoff");
    let rules = driver["rules"].as_array().unwrap();
    assert!(rules.iter().all(|rule| rule["id"].is_string()));
    assert!(rules.iter().all(|rule| rule["shortDescription"]["text"].is_string()));
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 2, "{results:?}");
    let levels = ["none", "note", "warning", "error"];
    for result in results {
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(levels.contains(&result["level"].as_str().unwrap()));
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        for location in result["locations"].as_array().unwrap() {
            if let Some(physical) = location.get("physicalLocation") {
                assert!(physical["artifactLocation"]["uri"].is_string());
                let (first, last) =
                    (&physical["region"]["startLine"], &physical["region"]["endLine"]);
                assert!(first.as_u64() >= Some(1) && last.as_u64() >= first.as_u64());
            }
        }
    }
    let placed = |r: &serde_json::Value| r["locations"][0].get("physicalLocation").is_some();
    assert!(results.iter().any(placed), "no finding points at a line");
}
