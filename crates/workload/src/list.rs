//! Flows that are listed one by one, in the scenario or in a CSV file.

use crate::csv::{Table, Wrong};
use crate::error::Place;
use crate::expand::{Open, Own, Plan, Shared};
use crate::flow::Pinned;
use crate::sizes;
use xoff_fabric::model::{ClassId, NicId};
use xoff_fabric::scenario::{FlowEntry, Flows};
use xoff_units::{Bytes, Span};

/// The columns of a CSV file; the first four must be there.
const COLUMNS: [&str; 7] = ["start", "source", "destination", "bytes", "class", "path", "ack_path"];
const REQUIRED: usize = 4;

/// The flows of a list and of its file, in this order.
pub(crate) fn flows(plan: &mut Plan<'_>, entry: &Flows, open: Open<'_>) {
    let Some(shared) = plan.shared(&entry.common) else {
        return;
    };
    if entry.file.is_none() && entry.list.is_empty() {
        plan.wrong(Place::Entry, "no flows; give a `file` or a `list`");
        return;
    }
    let mut order = 0;
    for (index, flow) in entry.list.iter().enumerate() {
        let read = from_entry(plan, flow);
        add(plan, shared, &mut order, read, || Place::Flow(index));
    }
    if let Some(file) = &entry.file {
        from_file(plan, shared, &mut order, file, open);
    }
}

/// A flow of a list, before it has its place.
struct Listed {
    after: Span,
    ends: (NicId, NicId),
    bytes: Bytes,
    class: Option<ClassId>,
    path: Option<Box<Pinned>>,
}

/// What is wrong with one flow.
type Mistakes = Vec<String>;

fn from_file(plan: &mut Plan<'_>, shared: Shared, order: &mut u64, file: &str, open: Open<'_>) {
    let whole = || Place::File(file.to_owned());
    let mut reader = match open(file) {
        Ok(reader) => reader,
        Err(error) => return plan.wrong(whole(), error.to_string()),
    };
    let mut table = match Table::open(&mut *reader, &COLUMNS, REQUIRED) {
        Ok(table) => table,
        Err(Wrong::File(message) | Wrong::Line(_, message)) => return plan.wrong(whole(), message),
    };
    while let Some(row) = table.row() {
        if plan.findings.are_many() {
            return plan.wrong(whole(), "so many mistakes that the rest is not read");
        }
        match row {
            Ok((line, row)) => {
                let read = from_row(plan, row);
                if !add(plan, shared, order, read, || Place::Line(file.to_owned(), line)) {
                    return;
                }
            }
            Err(Wrong::Line(line, message)) => {
                plan.wrong(Place::Line(file.to_owned(), line), message);
            }
            Err(Wrong::File(message)) => return plan.wrong(whole(), message),
        }
    }
}

/// Appends a flow, or says what is wrong with it. False when there is no room for more.
fn add(
    plan: &mut Plan<'_>,
    shared: Shared,
    order: &mut u64,
    read: Result<Listed, Mistakes>,
    place: impl Fn() -> Place,
) -> bool {
    match read {
        Ok(flow) => {
            if !plan.has_room(1) {
                return false;
            }
            if (shared.start + flow.after).is_never() {
                plan.wrong(place(), "starts after the end of simulated time (213 days)");
                return true;
            }
            let shared = Shared { class: flow.class.unwrap_or(shared.class), ..shared };
            let (source, destination) = flow.ends;
            let own = Own {
                order: *order,
                after: flow.after,
                source,
                destination,
                bytes: flow.bytes,
                path: flow.path,
            };
            plan.push(shared, own);
            *order += 1;
        }
        Err(mistakes) => mistakes.into_iter().for_each(|message| plan.wrong(place(), message)),
    }
    true
}

fn from_entry<'a>(plan: &Plan<'_>, flow: &'a FlowEntry) -> Result<Listed, Mistakes> {
    let mut mistakes = Mistakes::new();
    let ends = (plan.names.nic(&flow.source), plan.names.nic(&flow.destination));
    let class = flow.class.map(|class| plan.names.class(Some(class))).transpose();
    let (ends, class) = (both(ends, &mut mistakes), keep(class, &mut mistakes).flatten());
    let bytes = keep(not_empty(flow.size), &mut mistakes);
    let path = ends.and_then(|ends| {
        let names = |path: &'a [String]| path.iter().map(String::as_str);
        keep(plan.names.path(ends, names(&flow.path), names(&flow.ack_path)), &mut mistakes)
    });
    match (ends, bytes, path) {
        (Some(ends), Some(bytes), Some(path)) if mistakes.is_empty() => {
            Ok(Listed { after: flow.start, ends, bytes, class, path })
        }
        _ => Err(mistakes),
    }
}

fn from_row(plan: &Plan<'_>, mut row: Vec<String>) -> Result<Listed, Mistakes> {
    row.resize(COLUMNS.len(), String::new());
    let text = |column: usize| row[column].as_str();
    let mut mistakes = Mistakes::new();
    for (name, text) in COLUMNS.iter().zip(&row).take(REQUIRED) {
        if text.is_empty() {
            mistakes.push(format!("`{name}` is empty"));
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let after = text(0).parse::<Span>().map_err(|error| error.to_string());
    let after = keep(after, &mut mistakes);
    let ends =
        both((plan.names.nic_by_name(text(1)), plan.names.nic_by_name(text(2))), &mut mistakes);
    let bytes = keep(sizes::bytes(text(3)).and_then(not_empty), &mut mistakes);
    let class = keep(class(plan, text(4)), &mut mistakes).flatten();
    let path = ends.and_then(|ends| {
        keep(plan.names.path(ends, stops(text(5)), stops(text(6))), &mut mistakes)
    });
    match (after, ends, bytes, path) {
        (Some(after), Some(ends), Some(bytes), Some(path)) if mistakes.is_empty() => {
            Ok(Listed { after, ends, bytes, class, path })
        }
        _ => Err(mistakes),
    }
}

/// `leaf0>spine1>leaf2`, or nothing.
fn stops(path: &str) -> impl Iterator<Item = &str> {
    path.split('>').filter(move |_| !path.is_empty())
}

fn class(plan: &Plan<'_>, text: &str) -> Result<Option<ClassId>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let number =
        text.parse().map_err(|_| format!("`{text}` is not a class; classes are 0 to 7"))?;
    plan.names.class(Some(number)).map(Some)
}

fn not_empty(bytes: Bytes) -> Result<Bytes, String> {
    if bytes.is_zero() { Err("a flow needs at least one byte".into()) } else { Ok(bytes) }
}

fn keep<T>(result: Result<T, String>, mistakes: &mut Mistakes) -> Option<T> {
    result.map_err(|message| mistakes.push(message)).ok()
}

fn both(
    (source, destination): (Result<NicId, String>, Result<NicId, String>),
    mistakes: &mut Mistakes,
) -> Option<(NicId, NicId)> {
    let (source, destination) = (keep(source, mistakes), keep(destination, mistakes));
    let ends = (source?, destination?);
    if ends.0 == ends.1 {
        mistakes.push("source and destination are the same NIC".into());
        return None;
    }
    Some(ends)
}

#[cfg(test)]
mod tests;
