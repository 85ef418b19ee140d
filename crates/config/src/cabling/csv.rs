//! Lists of cables as CSV: the `cabling.csv` of `xoff plan`, exports of NetBox, and tables that people keep.
//!
//! A column is recognised by two words of its heading: which end (`a`, `from`, `local`, `source`, `side_a`), and what of it (`device`,
//! `port`). Lists without a device column have device and port in one cell: `leaf1:Ethernet1/1`.

use super::{Cable, End, Reader, Source};
use crate::place::Place;

/// Words for the two ends.
const ENDS: [&[&str]; 2] = [
    &["a", "from", "local", "source", "src", "near", "left", "1"],
    &[
        "b",
        "to",
        "remote",
        "destination",
        "dst",
        "dest",
        "far",
        "right",
        "2",
        "peer",
        "neighbor",
        "neighbour",
        "z",
    ],
];
const DEVICES: [&str; 8] =
    ["device", "host", "hostname", "switch", "node", "server", "system", "equipment"];
const PORTS: [&str; 8] =
    ["port", "interface", "intf", "ifname", "nic", "termination", "iface", "if"];
/// Words that change nothing.
const FILL: [&str; 5] = ["side", "end", "name", "id", "cable"];

/// Columns of the two ends.
#[derive(Debug)]
struct Columns {
    devices: Option<[usize; 2]>,
    /// Ports; without devices, both in one cell.
    ports: [usize; 2],
    separator: char,
}

/// Reads a text that is a list of cables; false if it is none.
pub(super) fn read(reader: &mut Reader, first: u32, text: &str) -> bool {
    let numbered = || text.lines().zip(first..);
    let said = |(line, _): &(&str, u32)| !line.trim().is_empty() && !line.starts_with('#');
    let mut lines = numbered().filter(said);
    let Some((heading, number)) = lines.next() else { return false };
    let Some(columns) = columns(heading.trim_start_matches('\u{feff}')) else { return false };
    let mut rows = lines.clone().map(|(line, _)| line);
    if columns.devices.is_none() && !rows.any(|line| cable(&columns, line).is_some()) {
        return false;
    }
    let mut last = number;
    for (line, at) in lines {
        last = at;
        match cable(&columns, line) {
            Some(ends) => {
                let place = Place::line(reader.file, at);
                reader.found.cables.push(Cable { ends, source: Source::Document, place });
            }
            None => reader.unknown(at),
        }
    }
    reader.taken.push((number, last));
    true
}

fn columns(heading: &str) -> Option<Columns> {
    if heading.len() > 4000 {
        return None;
    }
    let separator = [',', ';', '\t', '|'].into_iter().find(|separator| {
        let cells = cells(heading, *separator).unwrap_or_default();
        cells.len() > 1
    })?;
    let cells = cells(heading, separator)?;
    let mut found: [[Option<usize>; 3]; 2] = [[None; 3]; 2];
    let meanings = cells.iter().enumerate().filter_map(|(at, cell)| Some((at, meaning(cell)?)));
    // A column that names no end is of the near one, if no other is. The first of a kind counts.
    let (sided, plain): (Vec<_>, Vec<_>) = meanings.partition(|(_, (end, _))| end.is_some());
    for (at, (end, kind)) in sided.into_iter().chain(plain) {
        let known = &mut found[end.unwrap_or(0)][kind];
        *known = known.or(Some(at));
    }
    for [device, port, both] in &mut found {
        // `source,source_port`
        *device = device.or(both.filter(|_| port.is_some()));
    }
    let both = |kind: usize| Some([found[0][kind]?, found[1][kind]?]);
    if let (Some(devices), Some(ports)) = (both(0), both(1)) {
        return Some(Columns { devices: Some(devices), ports, separator });
    }
    let ports = both(2).or_else(|| both(1))?;
    Some(Columns { devices: None, ports, separator })
}

/// Which end a heading is about, if it says so, and what of it: 0 the device, 1 the port, 2 both.
fn meaning(heading: &str) -> Option<(Option<usize>, usize)> {
    let lower = heading.to_ascii_lowercase();
    // `device1` is two words.
    let mut words: Vec<&str> = Vec::new();
    for word in lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let split = word.find(|c: char| c.is_ascii_digit()).unwrap_or(0);
        let (name, digits) = word.split_at(split);
        words.extend([name, digits].into_iter().filter(|part| !part.is_empty()));
    }
    let end = words.iter().find_map(|word| ENDS.iter().position(|names| names.contains(word)));
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let known = |word: &&str| {
        end.is_some_and(|end| ENDS[end].contains(word))
            || DEVICES.contains(word)
            || PORTS.contains(word)
            || FILL.contains(word)
    };
    if words.is_empty() || !words.iter().all(known) {
        return None;
    }
    let device = has(&DEVICES);
    // `termination_a_device` and `termination_a_name` are device and port of a termination.
    let mut ports = words.iter().filter(|word| PORTS.contains(word));
    let port = ports.any(|word| !device || *word != "termination");
    let kind = match (device, port) {
        (true, false) => 0,
        (_, true) => 1,
        // NetBox calls the port of `side_a_device` `side_a_name`.
        (false, false) if end.is_some() && has(&["name"]) => 1,
        (false, false) if end.is_none() || has(&["id", "cable"]) => return None,
        (false, false) => 2,
    };
    Some((end, kind))
}

fn cable(columns: &Columns, line: &str) -> Option<[End; 2]> {
    let cells = cells(line, columns.separator)?;
    let cell = |at: usize| cells.get(at).map(|cell| cell.trim()).filter(|cell| !cell.is_empty());
    let end = |side: usize| match columns.devices {
        Some(devices) => {
            let port = cell(columns.ports[side]).map(str::to_owned);
            Some(End { device: cell(devices[side])?.to_owned(), ports: port.into_iter().collect() })
        }
        None => together(cell(columns.ports[side])?),
    };
    Some([end(0)?, end(1)?])
}

/// Device and port in one cell: `leaf1:Ethernet1/1`, `leaf1 Ethernet1/1`, `leaf1 / swp1`.
fn together(cell: &str) -> Option<End> {
    let at = cell.find([':', ' ', '\t'])?;
    let (device, port) = cell.split_at(at);
    let port = port.trim_matches([':', ' ', '\t', '/', '>', '-']);
    let said = !device.is_empty() && port.contains(|c: char| c.is_ascii_digit());
    said.then(|| End { device: device.to_owned(), ports: vec![port.to_owned()] })
}

/// The cells of a line; none if a quote is not closed.
fn cells(line: &str, separator: char) -> Option<Vec<String>> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        let cell = cells.last_mut()?;
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            c if c == separator && !quoted => cells.push(String::new()),
            c => cell.push(c),
        }
    }
    (!quoted).then_some(cells)
}
