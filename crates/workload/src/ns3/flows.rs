//! `flow.txt`: how many, then one per line: `source destination class port bytes start`, the start
//! in seconds. Starts are relative: the first flow starts at zero.

use super::text::{Line, Mistakes, lines};
use super::topology::Topology;
use xoff_units::Span;

/// A flow.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) class: u8,
    pub(super) port: u32,
    pub(super) bytes: u64,
    /// After the first flow.
    pub(super) start: Span,
    /// Switches of data and ACKs, where they are known.
    pub(super) path: Option<(Vec<u32>, Vec<u32>)>,
}

/// Reads the file.
pub(super) fn read(text: &str, topology: &Topology, mistakes: &mut Mistakes) -> Vec<Flow> {
    let mut lines = lines(text);
    let Some(header) = lines.next() else {
        mistakes.add(1, "the file is empty; it starts with the number of flows");
        return Vec::new();
    };
    let announced = header.read::<usize>(0, "the number of flows", mistakes);
    let mut flows = Vec::new();
    let mut found = 0;
    for line in lines {
        found += 1;
        flows.extend(read_flow(&line, topology, mistakes));
    }
    if let Some(announced) = announced.filter(|&announced| announced != found) {
        let text = format!("{announced} flows are announced, but the file has {found}");
        mistakes.add(header.number, text);
    }
    let first = flows.iter().map(|flow| flow.start).min().unwrap_or_default();
    for flow in &mut flows {
        flow.start = flow.start.saturating_sub(first);
    }
    flows
}

fn read_flow(line: &Line<'_>, topology: &Topology, mistakes: &mut Mistakes) -> Option<Flow> {
    let words = line.words.len();
    if words != 6 {
        let text = format!("{words} words; a flow is `source destination class port bytes start`");
        mistakes.add(line.number, text);
        return None;
    }
    let source = read_host(line, 0, topology, mistakes);
    let destination = read_host(line, 1, topology, mistakes);
    let class = line.read::<u8>(2, "a class, 0 to 7", mistakes);
    let port = line.read::<u32>(3, "a port", mistakes);
    let bytes = line.read::<u64>(4, "a number of bytes", mistakes);
    let start = read_start(line, mistakes);
    if let Some(class) = class.filter(|&class| class > 7) {
        mistakes.add(line.number, format!("class {class}; classes are 0 to 7"));
    }
    if bytes == Some(0) {
        mistakes.add(line.number, "a flow of 0 bytes moves nothing");
    }
    if source.is_some() && source == destination {
        mistakes.add(line.number, "a flow from a host to itself does not cross the fabric");
    }
    Some(Flow {
        source: source?,
        destination: destination?,
        class: class?,
        port: port?,
        bytes: bytes?,
        start: start?,
        path: None,
    })
}

fn read_host(
    line: &Line<'_>,
    at: usize,
    topology: &Topology,
    mistakes: &mut Mistakes,
) -> Option<u32> {
    let node = line.read(at, "a host's number", mistakes)?;
    if !topology.knows(node, line.number, mistakes) {
        return None;
    }
    if topology.switches.contains(&node) {
        mistakes.add(line.number, format!("{node} is a switch; flows are between hosts"));
        return None;
    }
    Some(node)
}

/// The start. Digits below a picosecond, as programs print them, are rounded away.
fn read_start(line: &Line<'_>, mistakes: &mut Mistakes) -> Option<Span> {
    let word = line.words[5];
    let exact = format!("{word}s").parse::<Span>();
    let rounded = || {
        let seconds: f64 = word.parse().ok()?;
        let ps = seconds * 1e12;
        (ps >= 0.0 && ps < u64::MAX as f64).then(|| Span::from_ps(ps.round() as u64))
    };
    let start = exact.ok().or_else(rounded);
    if start.is_none() {
        mistakes.add(line.number, format!("`{word}` is not a start in seconds, like 2.0000015"));
    }
    start
}
