//! Laying one document over another.

use super::{Document, Node, Value};
use crate::network::Network;
use std::collections::BTreeMap;

/// Keys that say the same thing in two ways: the upper layer's choice removes the lower layer's.
const RIVALS: [(&str, &str); 3] = [("length", "delay"), ("alpha", "xoff"), ("gpus", "hosts")];

impl Document {
    /// Lays `upper` over this document: tables are merged key by key, lists of things with an `id`
    /// or a `name` are merged by it, everything else is replaced.
    pub(crate) fn overlay(&mut self, upper: Node) {
        merge("", &mut self.root, upper);
    }

    /// Takes one top-level table out of the document.
    pub(crate) fn take(&mut self, key: &str) -> Option<Node> {
        match &mut self.root.value {
            Value::Table(table) => table.remove(key),
            _ => None,
        }
    }
}

fn merge(key: &str, lower: &mut Node, upper: Node) {
    match (&mut lower.value, upper.value) {
        (Value::Table(below), Value::Table(above)) if !changes_kind(key, below, &above) => {
            merge_tables(below, above);
            // What is missing from a merged table is missing where it was last opened.
            lower.place = upper.place;
            lower.key = upper.key;
        }
        (Value::Array(below), Value::Array(above)) if keyed(below) && keyed(&above) => {
            merge_lists(below, above);
        }
        (_, value) => *lower = Node { value, place: upper.place, key: upper.key },
    }
}

/// A table of another `kind` shares no keys with this one.
fn changes_kind(key: &str, below: &BTreeMap<String, Node>, above: &BTreeMap<String, Node>) -> bool {
    if key == "transport" {
        let kind = |table: &BTreeMap<String, Node>| {
            table.get("kind").and_then(|node| node.value.as_text()).map(str::to_owned)
        };
        return !Network::same_kind(kind(below).as_deref(), kind(above).as_deref());
    }
    match (below.get("kind"), above.get("kind")) {
        (Some(a), Some(b)) => a.value.as_text() != b.value.as_text(),
        _ => false,
    }
}

fn merge_tables(below: &mut BTreeMap<String, Node>, above: BTreeMap<String, Node>) {
    for (one, other) in RIVALS {
        for (chosen, dropped) in [(one, other), (other, one)] {
            if above.contains_key(chosen) && !above.contains_key(dropped) {
                below.remove(dropped);
            }
        }
    }
    for (key, node) in above {
        match below.get_mut(&key) {
            Some(existing) => merge(&key, existing, node),
            None => {
                below.insert(key, node);
            }
        }
    }
}

fn keyed(list: &[Node]) -> bool {
    !list.is_empty() && list.iter().all(|node| identity(node).is_some())
}

/// What a list entry is known by.
fn identity(node: &Node) -> Option<String> {
    let table = node.table()?;
    let of = |key: &str| match &table.get(key)?.value {
        Value::Integer(number) => Some(format!("{key} {number}")),
        Value::Text(text) => Some(format!("{key} {text}")),
        _ => None,
    };
    of("id").or_else(|| of("name"))
}

fn merge_lists(below: &mut Vec<Node>, above: Vec<Node>) {
    // Only what the lower layer had is merged: two entries of one layer with the same identity
    // are a mistake that has to stay visible.
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (index, node) in below.iter().enumerate() {
        if let Some(identity) = identity(node) {
            known.insert(identity, index);
        }
    }
    for node in above {
        let index = identity(&node).and_then(|identity| known.remove(&identity));
        match index {
            Some(index) => merge("", &mut below[index], node),
            None => below.push(node),
        }
    }
}
