//! Patches for `config apply-patch`: there and back, for fabrics and running tables drawn at random.

mod common;

use common::{fabric_files, setup};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use xoff_config::change::Change;
use xoff_config::delivery::patches::{self, Operation};
use xoff_config::intent::{Choices, Intent};
use xoff_config::place::FileId;
use xoff_config::system::{Input, SystemId};

type Tables = Map<String, Value>;

/// RFC 6902 for objects: `add`, `replace` and `remove`, refused where it says that they fail.
fn apply(tables: &mut Tables, operation: &Operation) {
    let path = operation.path.strip_prefix('/').expect("a pointer starts with a slash");
    let parts: Vec<String> =
        path.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
    let (last, above) = parts.split_last().unwrap();
    let mut place = tables;
    for part in above {
        let found = place.get_mut(part).unwrap_or_else(|| panic!("nothing at {}", operation.path));
        place = found.as_object_mut().unwrap();
    }
    match (operation.op, &operation.value) {
        ("add", Some(value)) => {
            place.insert(last.clone(), value.clone());
        }
        ("replace", Some(value)) => {
            let old = place.insert(last.clone(), value.clone());
            assert!(old.is_some(), "nothing to replace at {}", operation.path);
        }
        ("remove", None) => {
            assert!(place.remove(last).is_some(), "nothing to remove at {}", operation.path);
        }
        other => panic!("{other:?}"),
    }
}

/// Panics where an entry refers to one that is not there.
fn assert_refers(tables: &Tables, after: &str) {
    let references = [
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
    for (table, field, other) in references {
        for (key, fields) in tables.get(table).and_then(Value::as_object).into_iter().flatten() {
            let Some(name) = fields.get(field).and_then(Value::as_str) else { continue };
            let there = tables.get(other).is_some_and(|other| other.get(name).is_some());
            assert!(there, "after {after}: {table}|{key} refers to {other}|{name}");
        }
    }
}

/// Applies a patch step by step; every reference holds at every step, and no table is left empty.
fn applied(tables: &Tables, patch: &[Operation]) -> Tables {
    let mut now = tables.clone();
    for operation in patch {
        apply(&mut now, operation);
        assert_refers(&now, &format!("{} {}", operation.op, operation.path));
    }
    let empty = |(name, value): (&String, &Value)| {
        let made = tables.get(name) != Some(value);
        made && value.as_object().is_some_and(Map::is_empty)
    };
    assert!(!now.iter().any(empty), "a table is left empty");
    now
}

/// What a box may run: another fabric's tables, or its factory's, with things that are not ours.
fn running(of: &Tables, kind: usize) -> Tables {
    let mut tables = match kind {
        0 => Map::new(),
        1 => of.clone(),
        _ => factory().as_object().unwrap().clone(),
    };
    tables.insert("DEVICE_METADATA".into(), json!({"localhost": {"hostname": "leaf0"}}));
    let ports = tables.entry("PORT").or_insert_with(|| json!({}));
    for (port, lanes) in [("Ethernet0", "1,2"), ("Ethernet500", "500")] {
        ports[port]["lanes"] = lanes.into();
    }
    tables
}

fn factory() -> Value {
    json!({
        "DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4"}, "ROCE_2": {"1": "1"}},
        "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}},
        "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all"}},
        "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "9", "xoff": "1"}},
        "BUFFER_PROFILE": {
            "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"},
            "pg_lossless_400000_5m_profile": {"pool": "ingress_lossless_pool", "size": "1", "xoff": "7"},
            "roce_lossless_old": {"pool": "ingress_lossless_pool", "size": "1", "xoff": "7"}
        },
        "PORT_QOS_MAP": {
            "Ethernet0,Ethernet500": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3,4", "tc_to_dscp_map": "X"},
            "global": {"dscp_to_tc_map": "AZURE"}
        },
        "QUEUE": {
            "Ethernet0,Ethernet500|3-4": {"scheduler": "scheduler.0", "wred_profile": "AZURE_LOSSLESS"},
            "Ethernet0|0-15": {"scheduler": "scheduler.0"}
        },
        "BUFFER_PG": {
            "Ethernet0|3-4": {"profile": "pg_lossless_400000_5m_profile"},
            "Ethernet0|0": {"profile": "ingress_lossy_profile"},
            "Ethernet500|3-4": {"profile": "pg_lossless_400000_5m_profile"}
        },
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "300m", "Ethernet500": "40m"}},
        "PFC_WD": {"Ethernet500": {"action": "drop", "detection_time": "400", "restoration_time": "400"}}
    })
}

fn leaf(file: &str) -> xoff_config::Device {
    let intent = Intent::with(&setup(file), Choices::all(SystemId::Sonic));
    intent.device("leaf0").unwrap().clone()
}

fn check(before: &str, after: &str, kind: usize) {
    let meant = leaf(after);
    let running = running(&patches::intended(&leaf(before)), kind);
    let patch = patches::between(&running, &meant).unwrap();
    let there = applied(&running, &patch.forward);
    for (table, entries) in patches::intended(&meant) {
        for (key, fields) in entries.as_object().unwrap() {
            let now = &there[&table][key];
            for (field, value) in fields.as_object().unwrap() {
                assert_eq!(&now[field], value, "{table}|{key} {field}");
            }
        }
    }
    // The box is then as it is meant, for our own reader, and there is nothing more to do.
    let text = Value::Object(there.clone()).to_string();
    let input = Input { name: "leaf0", file: FileId(0), text: &text };
    let read = SystemId::Sonic.system().parse(&input);
    let left = Change::between(&read, &meant).map(|change| change.differences);
    assert!(left.is_none(), "{left:#?}\n{text}");
    assert_eq!(patches::between(&there, &meant).unwrap().forward, []);
    // Ports of others stay as they are.
    for table in ["PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "PFC_WD", "CABLE_LENGTH", "PORT"] {
        assert_eq!(others(&there, table), others(&running, table), "{table}");
    }
    let back = applied(&there, &patch.back);
    assert_eq!(back, running, "the way back");
}

/// What a table says of a port that is not the intent's.
fn others(tables: &Tables, table: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (key, fields) in tables.get(table).and_then(Value::as_object).into_iter().flatten() {
        let (ports, rest) = key.split_once('|').unwrap_or((key, ""));
        if ports.split(',').any(|port| port == "Ethernet500") {
            found.push(format!("{rest} {fields}"));
        }
        found.extend(fields.get("Ethernet500").map(|field| format!("{key} {field}")));
    }
    found
}

#[test]
fn the_factory_s_tables_become_the_intent_s_and_again_the_factory_s() {
    for kind in 0..3 {
        check(common::POD, common::POD, kind);
    }
    let patch = patches::between(factory().as_object().unwrap(), &leaf(common::POD)).unwrap();
    let removed = |path: &str| patch.forward.iter().any(|o| o.op == "remove" && o.path == path);
    assert!(removed("/BUFFER_PG/Ethernet0|3-4"), "{:#?}", patch.forward);
    assert!(removed("/BUFFER_PROFILE/roce_lossless_old"), "nothing uses it any more");
    assert!(!removed("/BUFFER_PG/Ethernet0|0"), "lossy traffic keeps its buffer");
    assert!(
        patch.shared.iter().any(|said| said.contains("Ethernet500")) || patch.shared.is_empty()
    );
}

#[test]
fn what_others_use_and_changes_is_named() {
    let meant = leaf(common::POD);
    let running = json!({
        "DSCP_TO_TC_MAP": {"ROCE": {"1": "1"}},
        "PORT_QOS_MAP": {"Ethernet500": {"dscp_to_tc_map": "ROCE"}}
    });
    let patch = patches::between(running.as_object().unwrap(), &meant).unwrap();
    assert_eq!(patch.shared, ["PORT_QOS_MAP|Ethernet500 uses DSCP_TO_TC_MAP|ROCE"]);
}

#[test]
fn what_is_no_configuration_is_told_with_its_line() {
    assert!(patches::read("").unwrap_err().contains("no JSON"));
    assert!(patches::read("$ cat x\n{\n\"A\": {,}\n}\n").unwrap_err().starts_with("line 3:"));
    let wrong = json!({"QUEUE": {"Ethernet0|3": "x"}});
    let said = patches::between(wrong.as_object().unwrap(), &leaf(common::POD)).unwrap_err();
    assert!(said.contains("QUEUE"), "{said}");
    let text = patches::text(&patches::between(&Map::new(), &leaf(common::POD)).unwrap().back);
    assert!(serde_json::from_str::<Value>(&text).unwrap().is_array());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn there_and_back(before in fabric_files(), after in fabric_files(), kind in 0usize..3) {
        check(&before, &after, kind);
    }
}
