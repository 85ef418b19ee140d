//! What the running tables of a device become when they get the intent's.

use super::keys::{Key, rest};
use super::{TABLES, entries};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

type Tables = Map<String, Value>;

/// Fields of `PORT_QOS_MAP` that are the intent's, said or not.
const PORT_FIELDS: [&str; 7] = [
    "dscp_to_tc_map",
    "tc_to_queue_map",
    "tc_to_pg_map",
    "pfc_to_queue_map",
    "pfc_to_pg_map",
    "pfc_enable",
    "pfcwd_sw_enable",
];

/// Which field of which table refers to an entry of which other.
const REFERENCES: [(&str, &str, &str); 10] = [
    ("PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"),
    ("PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"),
    ("PORT_QOS_MAP", "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
    ("PORT_QOS_MAP", "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
    ("PORT_QOS_MAP", "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"),
    ("QUEUE", "scheduler", "SCHEDULER"),
    ("QUEUE", "wred_profile", "WRED_PROFILE"),
    ("BUFFER_PG", "profile", "BUFFER_PROFILE"),
    ("BUFFER_QUEUE", "profile", "BUFFER_PROFILE"),
    ("BUFFER_PROFILE", "pool", "BUFFER_POOL"),
];

/// The running tables with the intent's entries for the intent's ports. Ports and tables that the intent
/// does not know stay as they are, and so do fields that are not of RoCE.
pub fn merge(running: &Tables, intended: &Tables, ports: &BTreeSet<&str>) -> Tables {
    let mut target = running.clone();
    cut(&mut target, running, intended, ports);
    for (table, of_ports) in TABLES {
        let Some(meant) = entries(intended, table) else { continue };
        let slot = target.entry(table).or_insert_with(|| Value::Object(Map::new()));
        let Some(slot) = slot.as_object_mut() else { continue };
        // Others have fields of their own in these: lanes and speeds, other ports' cables.
        let joined = ["PORT", "CABLE_LENGTH", "PORT_QOS_MAP"].contains(&table)
            || (of_ports && table == "PFC_WD");
        for (key, value) in meant {
            match (slot.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
                (Some(old), Some(new)) if joined => {
                    old.extend(new.iter().map(|(field, value)| (field.clone(), value.clone())));
                }
                _ => {
                    slot.insert(key.clone(), value.clone());
                }
            }
        }
    }
    sweep(&mut target, intended);
    target.retain(|table, value| {
        let ours = TABLES.iter().any(|(name, _)| name == table);
        let emptied = value.as_object().is_some_and(Map::is_empty);
        // One that was empty before is not ours to remove.
        !(ours && emptied) || running.get(table) == Some(value)
    });
    target
}

/// Takes out what the intent says of its ports, so that only the intent's is left.
fn cut(target: &mut Tables, running: &Tables, intended: &Tables, ports: &BTreeSet<&str>) {
    let meant = |table: &str, port: &str, number: u8| {
        entries(intended, table).is_some_and(|own| own.contains_key(&format!("{port}|{number}")))
    };
    let lossless = |value: &Value| {
        let profile = value.get("profile").and_then(Value::as_str).map(name_of);
        let fields = profile.and_then(|name| entries(running, "BUFFER_PROFILE")?.get(name));
        fields.is_some_and(|fields| fields.get("xoff").is_some())
    };
    let split = |target: &mut Tables, table: &str, taken: &dyn Fn(&str, u8, &Value) -> bool| {
        if let Some(slot) = target.get_mut(table).and_then(Value::as_object_mut) {
            split_numbered(slot, ports, taken);
        }
    };
    split(target, "QUEUE", &|_, number, _| number < 8);
    split(target, "BUFFER_PG", &|port, number, value| {
        meant("BUFFER_PG", port, number) || lossless(value)
    });
    split(target, "BUFFER_QUEUE", &|port, number, _| meant("BUFFER_QUEUE", port, number));
    for table in ["PORT_QOS_MAP", "PFC_WD"] {
        if let Some(slot) = target.get_mut(table).and_then(Value::as_object_mut) {
            split_ports(slot, ports);
            for port in ports {
                let Some(Value::Object(fields)) = slot.get_mut(*port) else { continue };
                match table {
                    "PORT_QOS_MAP" => {
                        fields.retain(|field, _| !PORT_FIELDS.contains(&field.as_str()))
                    }
                    _ => fields.clear(),
                }
                if fields.is_empty() {
                    slot.remove(*port);
                }
            }
        }
    }
    if let Some(slot) = target.get_mut("CABLE_LENGTH").and_then(Value::as_object_mut) {
        for fields in slot.values_mut().filter_map(Value::as_object_mut) {
            fields.retain(|port, _| !ports.contains(port.as_str()));
        }
        slot.retain(|_, fields| fields.as_object().is_none_or(|fields| !fields.is_empty()));
    }
}

/// Takes numbers of our ports out of keys; what else a key stands for gets keys of its own.
fn split_numbered(
    slot: &mut Map<String, Value>,
    ports: &BTreeSet<&str>,
    taken: &dyn Fn(&str, u8, &Value) -> bool,
) {
    let mut new = Vec::new();
    slot.retain(|name, value| {
        let Some(Key { ports: of, numbers: Some(range) }) = Key::read(name, true) else {
            return true;
        };
        let ours = |port: &str, number: u8| ports.contains(port) && taken(port, number, value);
        if !of.iter().any(|port| (range.0..=range.1).any(|number| ours(port, number))) {
            return true;
        }
        for port in of {
            let keys = rest(port, range, |number| ours(port, number));
            new.extend(keys.into_iter().map(|key| (key, value.clone())));
        }
        false
    });
    for (key, value) in new {
        slot.entry(key).or_insert(value);
    }
}

/// Gives each of our ports an entry of its own.
fn split_ports(slot: &mut Map<String, Value>, ports: &BTreeSet<&str>) {
    let mut new = Vec::new();
    slot.retain(|name, value| {
        let Some(key) = Key::read(name, false).filter(|key| key.ports.len() > 1) else {
            return true;
        };
        if !key.ports.iter().any(|port| ports.contains(port)) {
            return true;
        }
        new.extend(key.ports.iter().map(|port| ((*port).to_owned(), value.clone())));
        false
    });
    for (key, value) in new {
        slot.entry(key).or_insert(value);
    }
}

/// Removes profiles that xoff made at another time and that nothing uses any more.
fn sweep(target: &mut Tables, intended: &Tables) {
    let used = used(target);
    for (_, _, table) in REFERENCES.iter().filter(|(_, _, table)| *table != "BUFFER_POOL") {
        let kept = entries(intended, table);
        let Some(slot) = target.get_mut(*table).and_then(Value::as_object_mut) else { continue };
        slot.retain(|name, _| {
            let own = name.starts_with("ROCE") || name.starts_with("roce");
            let meant = kept.is_some_and(|kept| kept.contains_key(name));
            !own || meant || used.contains(&((*table).to_owned(), name.clone()))
        });
    }
}

/// The name in a reference, which older versions write as `[TABLE|name]`.
fn name_of(reference: &str) -> &str {
    let inner = reference.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner.map_or(reference, |inner| inner.rsplit('|').next().unwrap_or(inner))
}

/// Entries that something refers to, by table and name.
fn used(tables: &Tables) -> BTreeSet<(String, String)> {
    let mut used = BTreeSet::new();
    for (table, field, other) in REFERENCES {
        for fields in entries(tables, table).into_iter().flat_map(Map::values) {
            if let Some(name) = fields.get(field).and_then(Value::as_str) {
                used.insert((other.to_owned(), name_of(name).to_owned()));
            }
        }
    }
    used
}

/// Entries of ports that are not ours and refer to something that changes.
pub(super) fn shared(running: &Tables, target: &Tables, ports: &BTreeSet<&str>) -> Vec<String> {
    let mut found = BTreeSet::new();
    for (table, field, other) in REFERENCES {
        let numbered = table != "PORT_QOS_MAP";
        for (name, fields) in entries(target, table).into_iter().flatten() {
            let Some(key) = Key::read(name, numbered) else { continue };
            if key.ports.iter().all(|port| ports.contains(port)) {
                continue;
            }
            let Some(reference) = fields.get(field).and_then(Value::as_str).map(name_of) else {
                continue;
            };
            let entry = |tables: &Tables| entries(tables, other)?.get(reference).cloned();
            if entry(running) != entry(target) {
                found.insert(format!("{table}|{name} uses {other}|{reference}"));
            }
        }
    }
    found.into_iter().collect()
}
