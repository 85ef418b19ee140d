//! `xoff audit --simulate`.

use super::{code, json, output, stderr};
use std::fs;

#[test]
fn what_a_mistake_does_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = "[cluster]\nhosts = 16\nnic = \"generic-100g\"\n\
                  [fabric]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 2\n\
                  [switch]\nbuffer = \"16MB\"\n[switch.watchdog]\nenabled = true\n";
    fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    let config = ["config", "fabric.toml", "--out", "devices", "--system", "sonic"];
    let written = output(folder.path(), &config);
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));

    let audit = ["audit", "devices", "--fabric", "fabric.toml", "--simulate", "--json"];
    let clean = output(folder.path(), &audit);
    assert_eq!(code(&clean), Some(0), "{}", stderr(&clean));
    let effects = &json(&clean)["effects"];
    assert_eq!(effects["applied"].as_array().unwrap().len(), 0);
    assert_eq!(effects["left_out"].as_array().unwrap().len(), 0, "{effects}");

    // PFC is off on all ports of one leaf.
    let path = folder.path().join("devices/leaf0.json");
    let text = fs::read_to_string(&path).unwrap();
    let wrong = text.replace("\"pfc_enable\": \"3\",", "");
    assert_ne!(text, wrong);
    fs::write(&path, wrong).unwrap();
    let found = output(folder.path(), &audit);
    assert_eq!(code(&found), Some(1), "{}", stderr(&found));
    let effects = &json(&found)["effects"];
    assert!(!effects["applied"].as_array().unwrap().is_empty());
    let rows = effects["rows"].as_array().unwrap();
    let flood = rows.iter().find(|row| row["experiment"] == "flood").unwrap();
    assert!(flood["configured"]["drops"].as_u64().unwrap() > 0, "{flood}");
    assert_eq!(flood["meant"]["drops"], 0);
}
