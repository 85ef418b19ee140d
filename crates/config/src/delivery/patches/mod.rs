//! JSON patches (RFC 6902) for `config apply-patch` of SONiC: from the running `config_db.json` to the
//! intent, and back, exactly.
//!
//! [`merge()`] says what the running tables become: the intent's entries for the intent's ports, everything
//! else as it is. The patches are the difference, in an order in which nothing refers to what is not
//! there: entries of ports that go come first, then what is added from profiles to ports, then profiles
//! that nothing uses any more. Empty tables, which SONiC refuses, are never left behind.

mod keys;
mod merge;

use crate::device::Device;
use crate::system::SystemId;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

pub use merge::merge;

/// The tables that are written, each behind those it refers to, and whether ports have entries in it.
pub(crate) const TABLES: [(&str, bool); 16] = [
    ("DSCP_TO_TC_MAP", false),
    ("TC_TO_QUEUE_MAP", false),
    ("TC_TO_PRIORITY_GROUP_MAP", false),
    ("MAP_PFC_PRIORITY_TO_QUEUE", false),
    ("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", false),
    ("SCHEDULER", false),
    ("WRED_PROFILE", false),
    ("BUFFER_POOL", false),
    ("BUFFER_PROFILE", false),
    ("CABLE_LENGTH", false),
    ("PORT", false),
    ("PORT_QOS_MAP", true),
    ("QUEUE", true),
    ("BUFFER_PG", true),
    ("BUFFER_QUEUE", true),
    ("PFC_WD", true),
];

/// One operation of a patch.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// `add`, `replace` or `remove`.
    pub op: &'static str,
    /// Where, as a JSON pointer.
    pub path: String,
    /// What is put there; nothing of `remove`.
    pub value: Option<Value>,
}

impl Operation {
    fn new(op: &'static str, parts: &[&str], value: Option<&Value>) -> Self {
        let path = parts.iter().fold(String::new(), |path, part| {
            path + "/" + &part.replace('~', "~0").replace('/', "~1")
        });
        Self { op, path, value: value.cloned() }
    }
}

/// A patch there, the patch back, and what else has to be said.
#[derive(Debug, Clone, PartialEq)]
pub struct Patches {
    /// From what runs to the intent.
    pub forward: Vec<Operation>,
    /// From the intent to what runs now.
    pub back: Vec<Operation>,
    /// Ports that are not the intent's and change because they use a profile that changes.
    pub shared: Vec<String>,
}

/// Reads a running `config_db.json`; an error has the line.
pub fn read(text: &str) -> Result<Map<String, Value>, String> {
    // A prompt before and after, as copied from a terminal, is set aside.
    let start = text.find('{').ok_or("there is no JSON in it")?;
    let end = text.rfind('}').map_or(text.len(), |end| end + 1).max(start);
    let above = text[..start].matches('\n').count();
    match serde_json::from_str(&text[start..end]) {
        Ok(Value::Object(tables)) => Ok(tables),
        Ok(_) => Err("it is no table of tables".to_owned()),
        Err(error) => Err(format!("line {}: {error}", above + error.line())),
    }
}

/// The intent's tables for a device: what is rendered for it, without what only says where cables lead.
pub fn intended(meant: &Device) -> Map<String, Value> {
    let system = SystemId::Sonic.system();
    let rendered = system.render(&system.fit(meant, &mut Vec::new()));
    let text = rendered.first().map_or("{}", |file| file.text.as_str());
    match serde_json::from_str(text) {
        Ok(Value::Object(mut tables)) => {
            tables.retain(|name, _| TABLES.iter().any(|(table, _)| table == name));
            let ports = tables.get_mut("PORT").and_then(Value::as_object_mut);
            for port in ports.into_iter().flat_map(Map::values_mut) {
                port.as_object_mut().and_then(|fields| fields.remove("description"));
            }
            tables
        }
        _ => unreachable!("what is rendered for SONiC is a table of tables"),
    }
}

/// The patches of a device from its running tables; `Err` if they are no tables of entries.
pub fn between(running: &Map<String, Value>, meant: &Device) -> Result<Patches, String> {
    for (table, _) in TABLES {
        let entries = running.get(table).map(Value::as_object);
        let whole = match entries {
            None => true,
            Some(None) => false,
            Some(Some(entries)) => entries.values().all(Value::is_object),
        };
        if !whole {
            return Err(format!("`{table}` is no table of entries"));
        }
    }
    let ports: BTreeSet<&str> = meant.ports.keys().map(|port| port.as_str()).collect();
    let target = merge(running, &intended(meant), &ports);
    Ok(Patches {
        forward: difference(running, &target),
        back: difference(&target, running),
        shared: merge::shared(running, &target, &ports),
    })
}

/// A patch as the file that `config apply-patch` takes.
pub fn text(operations: &[Operation]) -> String {
    let list = operations.iter().map(|operation| {
        let mut object = json!({"op": operation.op, "path": operation.path});
        if let Some(value) = &operation.value {
            object["value"] = value.clone();
        }
        object
    });
    format!("{:#}\n", list.collect::<Value>())
}

fn entries<'a>(tables: &'a Map<String, Value>, table: &str) -> Option<&'a Map<String, Value>> {
    tables.get(table).and_then(Value::as_object)
}

/// The operations that make one of the other.
fn difference(from: &Map<String, Value>, to: &Map<String, Value>) -> Vec<Operation> {
    let mut operations = Vec::new();
    let empty = Map::new();
    let mut late = Vec::new();
    for (table, of_ports) in TABLES.into_iter().rev() {
        let (Some(old), new) = (entries(from, table), entries(to, table)) else { continue };
        let new = new.unwrap_or(&empty);
        let gone: Vec<&String> = old.keys().filter(|key| !new.contains_key(*key)).collect();
        let list = if of_ports { &mut operations } else { &mut late };
        if !to.contains_key(table) {
            list.push(Operation::new("remove", &[table], None));
        } else if gone.len() < old.len() {
            list.extend(gone.iter().map(|key| Operation::new("remove", &[table, key], None)));
        }
        // Where all entries go and others come, the table is replaced below.
    }
    for (table, _) in TABLES {
        let Some(new) = entries(to, table) else { continue };
        let whole = to.get(table);
        match entries(from, table) {
            None => operations.push(Operation::new("add", &[table], whole)),
            Some(old) if !old.keys().any(|key| new.contains_key(key)) => {
                if old != new {
                    operations.push(Operation::new("replace", &[table], whole));
                }
            }
            Some(old) => changes(table, old, new, &mut operations),
        }
    }
    operations.extend(late);
    operations
}

/// Entries of a table that are new or different.
fn changes(
    table: &str,
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    operations: &mut Vec<Operation>,
) {
    for (key, value) in new {
        let (was, is) = match (old.get(key), value) {
            (None, _) => {
                operations.push(Operation::new("add", &[table, key], Some(value)));
                continue;
            }
            (Some(Value::Object(was)), Value::Object(is)) => (was, is),
            (Some(was), _) => {
                if was != value {
                    operations.push(Operation::new("replace", &[table, key], Some(value)));
                }
                continue;
            }
        };
        for (field, value) in is {
            let op = match was.get(field) {
                None => "add",
                Some(old) if old != value => "replace",
                Some(_) => continue,
            };
            operations.push(Operation::new(op, &[table, key, field], Some(value)));
        }
        for field in was.keys().filter(|field| !is.contains_key(*field)) {
            operations.push(Operation::new("remove", &[table, key, field], None));
        }
    }
}
