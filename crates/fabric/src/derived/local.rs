//! Rules that hold at some switches only, one row for each that a file gives.

use crate::model::Tier;
use crate::setup::FabricSetup;
use serde::Serialize;
use toml::Value;

/// A rule of a tier or of single switches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LocalRow {
    /// Where it holds: `spine`, or the names that the file gives.
    pub at: String,
    /// The setting, like `ecn.enabled` or `class 3 dscp`.
    pub key: String,
    /// Its value, as a file writes it.
    pub value: String,
}

pub(super) fn rows(setup: &FabricSetup) -> Vec<LocalRow> {
    let file = &setup.file;
    let mut rows = Vec::new();
    for tier in [Tier::Leaf, Tier::Spine, Tier::Core] {
        let there = setup.fabric.switches.iter().any(|switch| switch.tier == tier);
        if let (true, Ok(settings)) = (there, Value::try_from(file.switch.tier(tier))) {
            flatten(tier.name(), "", &settings, &mut rows);
        }
    }
    for device in &file.devices {
        let names: Vec<&str> =
            device.name.iter().chain(&device.names).map(String::as_str).collect();
        let Ok(Value::Table(mut settings)) = Value::try_from(device) else { continue };
        settings.remove("name");
        settings.remove("names");
        flatten(&names.join(", "), "", &Value::Table(settings), &mut rows);
    }
    rows
}

/// One row for each value in a table; classes are named by their number.
fn flatten(at: &str, prefix: &str, value: &Value, rows: &mut Vec<LocalRow>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(at, &key, value, rows);
            }
        }
        Value::Array(list) if list.iter().any(Value::is_table) => {
            for class in list.iter().filter_map(Value::as_table) {
                let mut class = class.clone();
                let id = class.remove("id").map_or(String::new(), |id| id.to_string());
                flatten(at, &format!("{prefix} {id}"), &Value::Table(class), rows);
            }
        }
        Value::Array(list) if list.is_empty() => {}
        value => {
            let value = value.to_string();
            let value = value.trim_matches(['"', '\'']).to_owned();
            rows.push(LocalRow { at: at.to_owned(), key: prefix.to_owned(), value });
        }
    }
}
