//! SONiC's tables as its gNMI server sends them: one JSON object for each path, with an object of fields for each port, and for each
//! queue or priority group as `PORT:INDEX`. Periodic watermarks of queues are beside their counters, as `PORT:INDEX:periodic`.
//!
//! A path with a wildcard is answered with the aliases of ports. What they are called otherwise is in APPL_DB's `PORT_TABLE`.

use super::store::{Scalar, Store};
use crate::exposition::{Exposition, Target};
use crate::naming::Naming;
use crate::sonic::{Detail, Field, Subject, Table, state, wanted};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What is subscribed to in COUNTERS_DB, and whether every switch has it.
pub(super) const PATHS: &[(&str, bool)] = &[
    ("COUNTERS/Ethernet*", true),
    ("COUNTERS/Ethernet*/Queues", true),
    ("PERIODIC_WATERMARKS/Ethernet*/PriorityGroups", false),
];
/// The states of ports in APPL_DB.
pub(super) const PORT_TABLE: &str = "PORT_TABLE";

/// Where a leaf belongs to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    State { port: &'a str, field: &'a str },
    Counter { table: Table, field: Reverse<&'a str>, port: &'a str, subject: Subject },
}

fn place<'a>(steps: &[&'a str]) -> Option<Place<'a>> {
    let [table, between @ .., object, field] = steps else { return None };
    if *table == PORT_TABLE {
        return Some(Place::State { port: object, field });
    }
    let tables = [Table::Counters, Table::Periodic];
    let table = tables.into_iter().find(|known| known.name() == *table)?;
    if !between.iter().any(|step| ["Queues", "PriorityGroups"].contains(step)) {
        let (port, subject) = (*object, Subject::Port);
        return Some(Place::Counter { table, field: Reverse(field), port, subject });
    }
    let (table, object) = match object.strip_suffix(":periodic") {
        Some(object) => (Table::Periodic, object),
        None => (table, *object),
    };
    let (port, index) = object.rsplit_once(':')?;
    let subject = Subject::queue(index);
    Some(Place::Counter { table, field: Reverse(field), port, subject })
}

pub(super) fn wants(steps: &[&str]) -> bool {
    match place(steps) {
        Some(Place::State { field, .. }) => ["alias", "oper_status", "speed"].contains(&field),
        Some(Place::Counter { table, field, subject, .. }) => {
            wanted(&subject, table, field.0, Detail::Schema)
        }
        None => false,
    }
}

pub(super) fn export(store: &Store, naming: &Naming, out: &mut Exposition) {
    let all = store.leaves().filter_map(|(steps, value)| Some((place(&steps)?, text(value))));
    let mut all: Vec<(Place<'_>, Cow<'_, str>)> = all.collect();
    // Periodic watermarks before others, and what the switch counts before what it estimates: SAI_ before EST_.
    all.sort();
    let mut aliases = BTreeMap::new();
    for (place, value) in &all {
        if let Place::State { port, field: "alias" } = place {
            aliases.insert(&**value, *port);
        }
    }
    let mut targets: BTreeMap<&str, Target> = BTreeMap::new();
    for (place, value) in &all {
        let (Place::State { port, .. } | Place::Counter { port, .. }) = place;
        let name = aliases.get(port).unwrap_or(port);
        let target = targets.entry(name).or_insert_with(|| naming.port(&[name]));
        match place {
            Place::State { field, .. } => state(target, field, value, out),
            Place::Counter { table, field, subject, .. } => {
                let field = Field { target, subject, table: *table, name: field.0 };
                field.export(value, Detail::Schema, out);
            }
        }
    }
}

/// A value as Redis has it.
fn text(value: &Scalar) -> Cow<'_, str> {
    match value {
        Scalar::Whole(value) => value.to_string().into(),
        Scalar::Real(value) => value.to_string().into(),
        Scalar::Word(word) => Cow::Borrowed(word),
    }
}
