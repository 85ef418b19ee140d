//! What is there already: which of it can stay, what must go, and in which order.
//!
//! An inventory is a table `part,quantity` with the names of the catalogue, and `length_m` and
//! `rate` for cables. A part stays where the bill has the same part (of cables, one of the same rate
//! and of the same length or a shorter one, as long as what is there reaches). What the bill has no use for is replaced, with
//! the reason. The order of work keeps the old fabric running as long as possible.

use super::bill::{Bill, Line, Role};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;
use xoff_fabric::catalogue::Catalogue;
use xoff_fabric::suggest;
use xoff_units::{Length, Rate};

/// A row of an inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owned {
    /// The part, by its name in the catalogue.
    pub part: String,
    /// How many are there.
    pub quantity: u64,
    /// How long a cable is.
    pub length: Option<Length>,
    /// What a cable carries, at its widest end. The catalogue's copper and active optical cables come in several rates.
    pub rate: Option<Rate>,
}

/// A mistake in an inventory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InventoryError {
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// Bytes of the file.
    pub span: Range<usize>,
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fate {
    /// The row.
    pub owned: Owned,
    /// How many stay, spares included.
    pub stays: u64,
    /// How many are not needed any more.
    pub goes: u64,
    /// Why they go.
    pub reason: String,
}

/// A plan for a place where something stands already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Brownfield {
    /// What becomes of what is there.
    pub fates: Vec<Fate>,
    /// What must be bought: role, part, length and number.
    pub buy: Vec<(Role, String, Option<Length>, u64)>,
    /// What of the bill's price is saved, in hundredths of the currency.
    pub saved: u64,
    /// What to do, in this order.
    pub steps: Vec<String>,
}

/// More parts, or metres, than anyone has: a typing error.
const MOST: u64 = 1_000_000_000;
const LONGEST: u64 = 100_000;

/// Reads an inventory.
pub fn inventory(text: &str, catalogue: &Catalogue) -> Result<Vec<Owned>, InventoryError> {
    let wrong = |message: String, help: &str, span: Range<usize>| InventoryError {
        message,
        help: help.to_owned(),
        span,
    };
    let mut rows = Vec::new();
    let mut columns: Option<Vec<String>> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let span = start..start + line.trim_end().len();
        start += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let Some(columns) = &columns else {
            let known = ["part", "quantity", "length_m", "rate"];
            let names: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
            let odd = names.iter().find(|name| !known.contains(&name.as_str()));
            let help = "the first line names the columns: part,quantity,length_m,rate";
            if let Some(odd) = odd {
                return Err(wrong(format!("there is no column `{odd}`"), help, span));
            }
            if !names.iter().any(|n| n == "part") || !names.iter().any(|n| n == "quantity") {
                return Err(wrong("part or quantity is missing".to_owned(), help, span));
            }
            columns = Some(names);
            continue;
        };
        let cell = |name: &str| {
            let at = columns.iter().position(|column| column == name)?;
            cells.get(at).copied().filter(|cell| !cell.is_empty())
        };
        if cells.len() != columns.len() {
            let message = format!("{} cells, and {} columns", cells.len(), columns.len());
            return Err(wrong(message, "a cell for each column, empty ones too", span));
        }
        let part = cell("part").unwrap_or_default().to_owned();
        let names = || {
            let media = catalogue.media.keys().chain(catalogue.nics.keys());
            media.chain(catalogue.silicon.keys()).map(String::as_str)
        };
        if !names().any(|known| known == part) {
            let help = suggest::help(&part, names());
            return Err(wrong(format!("there is no `{part}` in the catalogue"), &help, span));
        }
        let number = |name: &str, most: u64| {
            let value = cell(name).map(str::parse::<u64>).transpose().ok()?;
            value.is_none_or(|value| value <= most).then_some(value)
        };
        let Some(Some(quantity)) = number("quantity", MOST) else {
            let help = "a whole number up to 1000000000, like 128";
            return Err(wrong("not a quantity".to_owned(), help, span));
        };
        let Some(length) = number("length_m", LONGEST) else {
            let help = "whole metres up to 100000, like 5";
            return Err(wrong("not a length".to_owned(), help, span));
        };
        let Ok(rate) = cell("rate").map(str::parse::<Rate>).transpose() else {
            let help = "the rate of its widest end, like 800Gbps";
            return Err(wrong("not a rate".to_owned(), help, span));
        };
        rows.push(Owned { part, quantity, length: length.map(Length::from_m), rate });
    }
    match columns {
        Some(_) => Ok(rows),
        None => Err(wrong(
            "the inventory is empty".to_owned(),
            "a first line part,quantity,length_m,rate, then a line for each part",
            0..0,
        )),
    }
}

/// What can stay of an inventory, held against a bill.
pub(super) fn brownfield(owned: &[Owned], bill: &Bill, catalogue: &Catalogue) -> Brownfield {
    let mut open: Vec<(u64, &Line)> =
        bill.lines.iter().map(|line| (line.ordered(), line)).collect();
    // The longest needs first: a cable that is too long for one place may be right for another.
    open.sort_by_key(|(_, line)| std::cmp::Reverse(line.item.length));
    let mut saved = 0u64;
    let fates = owned.iter().map(|owned| {
        let mut left = owned.quantity;
        for (needed, line) in &mut open {
            let take = if serves(owned, line) { left.min(*needed) } else { 0 };
            left -= take;
            *needed -= take;
            saved = saved.saturating_add(line.price.amount.0.saturating_mul(take));
        }
        let stays = owned.quantity - left;
        let reason = if left == 0 { String::new() } else { reason(owned, bill, catalogue) };
        Fate { owned: owned.clone(), stays, goes: left, reason }
    });
    let fates: Vec<Fate> = fates.collect();
    open.sort_by_key(|(_, line)| (line.role, line.item.clone()));
    let buy = open.iter().filter(|(needed, _)| *needed > 0);
    let buy =
        buy.map(|(needed, line)| (line.role, line.item.part.clone(), line.item.length, *needed));
    let buy: Vec<_> = buy.collect();
    // Spares are bought, and not installed.
    let install: Vec<(Role, u64)> =
        open.iter().map(|(needed, line)| (line.role, needed.saturating_sub(line.spares))).collect();
    Brownfield { steps: steps(&fates, &install, catalogue), fates, buy, saved }
}

/// Whether what is there can be used for a line: the same part, and a cable of the same rate that is long enough but
/// not twice as long.
fn serves(owned: &Owned, line: &Line) -> bool {
    let rate = line.role != Role::Cable || owned.rate == Some(line.item.rate);
    let length = match (owned.length, line.item.length) {
        (Some(there), Some(needed)) => there >= needed && there.as_mm() <= 2 * needed.as_mm(),
        (None, Some(_)) => false,
        (_, None) => true,
    };
    owned.part == line.item.part && length && rate
}

/// Why a part is not needed.
fn reason(owned: &Owned, bill: &Bill, catalogue: &Catalogue) -> String {
    let same = bill.lines.iter().any(|line| line.item.part == owned.part);
    if same {
        return unplaced(owned, bill);
    }
    let role = |role: Role| bill.lines.iter().find(|line| line.role == role);
    if let Some(nic) = catalogue.nics.get(&owned.part) {
        let wanted = role(Role::Nic).map_or(String::new(), |line| line.item.part.clone());
        return format!("a NIC of {}; the plan has {wanted}", nic.rate);
    }
    if let Some(silicon) = catalogue.silicon.get(&owned.part) {
        let wanted = role(Role::Leaf).map_or(String::new(), |line| line.item.part.clone());
        return format!("{} x {}; the plan has {wanted}", silicon.ports, silicon.port_rate);
    }
    match catalogue.media.get(&owned.part).and_then(|media| media.optics()) {
        Some(optics) => {
            let (lanes, scheme) = (optics.lanes, optics.scheme.name());
            format!("{lanes} {scheme}: nothing in the plan links with it")
        }
        None => "the plan has no such cable".to_owned(),
    }
}

/// Why a part is left that the plan has, too.
fn unplaced(owned: &Owned, bill: &Bill) -> String {
    let own = || bill.lines.iter().filter(|line| line.item.part == owned.part);
    let cables = || own().filter(|line| line.role == Role::Cable);
    let fits = |line: &Line| owned.rate.is_none_or(|rate| rate == line.item.rate);
    if let Some(rate) = owned.rate.filter(|_| cables().next().is_some() && !cables().any(fits)) {
        let rates: BTreeSet<Rate> = cables().map(|line| line.item.rate).collect();
        let rates: Vec<String> = rates.iter().map(Rate::to_string).collect();
        return format!("carries {rate}; the plan has such cables of {}", rates.join(", "));
    }
    let long = own().any(|line| line.item.length.is_some());
    let missing = [
        ("length_m", long && owned.length.is_none()),
        ("rate", cables().next().is_some() && owned.rate.is_none()),
    ];
    let missing: Vec<&str> = missing.iter().filter(|one| one.1).map(|one| one.0).collect();
    match (missing.as_slice(), long) {
        ([], true) => "no place of that length is left".to_owned(),
        ([], false) => "more than the plan needs".to_owned(),
        ([one], _) => format!("{one} is needed to place a cable"),
        (all, _) => format!("{} are needed to place a cable", all.join(" and ")),
    }
}

/// The order of work: from above to below, so that what is old runs until its replacement does.
fn steps(fates: &[Fate], install: &[(Role, u64)], catalogue: &Catalogue) -> Vec<String> {
    let bought = |roles: &[Role]| {
        let own = install.iter().filter(|(role, _)| roles.contains(role));
        own.map(|(_, number)| *number).sum::<u64>()
    };
    let gone = |of: fn(&Catalogue, &str) -> bool| {
        let own = fates.iter().filter(|fate| of(catalogue, &fate.owned.part));
        own.map(|fate| fate.goes).sum::<u64>()
    };
    let mut steps = Vec::new();
    let mut step = |number: u64, text: String| {
        if number > 0 {
            steps.push(text);
        }
    };
    let above = some(bought(&[Role::Spine, Role::Core]), "spine or core", "spines and cores");
    step(above.0, format!("Rack and configure {} beside the old ones.", above.1));
    let has_spines = install.iter().any(|(role, _)| *role == Role::Spine);
    let uplinks = if has_spines { "cable them to the spines" } else { "configure them" };
    let (leaves, words) = some(bought(&[Role::Leaf]), "leaf", "leaves");
    step(leaves, format!("Rack {words} and {uplinks}; no server is on them yet."));
    let nics = bought(&[Role::Nic]);
    let moving = match nics {
        0 => String::new(),
        nics => format!("change {nics} NICs in all, "),
    };
    step(
        nics + leaves,
        format!(
            "Group by group: drain the servers, {moving}move the host cables to the new leaves, \
             test, return the servers to service."
        ),
    );
    let (switches, adapters) = (
        gone(|catalogue, part| catalogue.silicon.contains_key(part)),
        gone(|catalogue, part| catalogue.nics.contains_key(part)),
    );
    let media = gone(|catalogue, part| catalogue.media.contains_key(part));
    let old = [
        some(switches, "switch", "switches"),
        some(adapters, "NIC", "NICs"),
        some(media, "cable or transceiver", "cables and transceivers"),
    ];
    let words = old.iter().filter(|(number, _)| *number > 0).map(|(_, words)| words.as_str());
    let words = words.collect::<Vec<_>>().join(", ");
    step(switches + adapters + media, format!("Take out what is old and not needed: {words}."));
    if steps.is_empty() {
        steps.push("Everything is there: nothing is bought or replaced.".to_owned());
    }
    steps
}

/// A number of things, and the words for it.
fn some(number: u64, one: &str, many: &str) -> (u64, String) {
    (number, format!("{number} {}", if number == 1 { one } else { many }))
}
