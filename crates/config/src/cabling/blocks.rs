//! Neighbours as blocks of `key: value` lines: `lldpcli show neighbors` and `show lldp neighbors detail`; and as `key=value`
//! lines of `lldpctl -f keyvalue`.
//!
//! One reader does for all: the keys of different systems mean the same. A block is over when a key comes again that stands once in each.

use super::{Neighbour, Reader};
use std::collections::BTreeMap;

/// Reads blocks that start at the first line; says how many lines they have.
pub(super) fn read(reader: &mut Reader, number: u32, lines: &[&str]) -> Option<usize> {
    if !starts(lines) {
        return None;
    }
    let mut blocks =
        Blocks { block: Neighbour::default(), first: number, last: number, port: None };
    let mut taken = 0;
    for line in lines {
        if taken > 0 && is_configuration(line) {
            break;
        }
        blocks.line(reader, number + taken as u32, line);
        taken += 1;
    }
    blocks.finish(reader);
    reader.table(number, number + taken as u32 - 1);
    Some(taken)
}

fn starts(lines: &[&str]) -> bool {
    let line = lines[0].trim_start();
    if let Some(rest) = line.strip_prefix("Interface:") {
        let near = lines.iter().take(8).any(|line| line.trim_start().starts_with("Chassis:"));
        return rest.contains(", via:") || near;
    }
    local_port(line).is_some()
        || line.starts_with("LLDP Neighbor Information:")
        || (line.contains("hassis")
            && key_value(line).is_some_and(|(key, _)| {
                key == "chassis id"
                    || key == "remote chassis id"
                    || key == "remote chassis id subtype"
            }))
}

/// A line of a configuration: the neighbours are over.
fn is_configuration(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let whole = line.starts_with(['!', '}']) || line.starts_with("set ");
    whole || (["interface", "hostname", "version"].contains(&word) && !line.contains(':'))
}

/// The port of `Interface Ethernet1 detected 1 LLDP neighbors:` and of `Local Interface Te 1/1 has 1 neighbor`.
fn local_port(line: &str) -> Option<&str> {
    let eos = line.strip_prefix("Interface ").and_then(|rest| rest.split_once(" detected "));
    let dell = line.strip_prefix("Local Interface ").and_then(|rest| rest.split_once(" has "));
    let (port, rest) = eos.or(dell)?;
    rest.to_ascii_lowercase().contains("neighbor").then(|| port.trim())
}

fn key_value(line: &str) -> Option<(String, &str)> {
    let line = line.trim().trim_start_matches("- ");
    let (key, value) = line.split_once(':')?;
    let words: Vec<&str> = key.split_whitespace().collect();
    Some((words.join(" ").to_ascii_lowercase(), value.trim()))
}

struct Blocks {
    block: Neighbour,
    first: u32,
    last: u32,
    /// The port that all blocks are of, until the next is named.
    port: Option<String>,
}

impl Blocks {
    fn line(&mut self, reader: &mut Reader, number: u32, line: &str) {
        if let Some(port) = local_port(line.trim_start()) {
            self.finish(reader);
            self.port = Some(port.to_owned());
            return;
        }
        let Some((key, value)) = key_value(line) else { return };
        let value = value.trim_matches('"').trim();
        let value = match value {
            "null" | "not advertised" | "-" | "N/A" => "",
            value => value,
        };
        let untyped = untyped(value);
        let block = &self.block;
        let again = match key.as_str() {
            "interface" | "local interface" => !block.local.is_empty() || !block.chassis.is_empty(),
            "chassis id" | "remote chassis id" | "chassisid" => !block.chassis.is_empty(),
            _ => false,
        };
        if again {
            self.finish(reader);
        }
        let block = &mut self.block;
        let field = match key.as_str() {
            "interface" | "local interface" => {
                value.split(',').next().unwrap_or(value).trim().clone_into(&mut block.local);
                self.first = number;
                self.last = number;
                return;
            }
            "local port id" if block.local.is_empty() => &mut block.local,
            "chassis id" | "remote chassis id" => {
                if block.local.is_empty() {
                    self.first = number;
                }
                &mut block.chassis
            }
            "port id" | "remote port id" => &mut block.port,
            "port description" | "remote port description" | "portdescr" => &mut block.description,
            "system name" | "remote system name" | "sysname" => &mut block.name,
            "chassisid" | "portid" => {
                let field = if key == "portid" { &mut block.port } else { &mut block.chassis };
                untyped.clone_into(field);
                self.last = number;
                return;
            }
            _ => return,
        };
        value.clone_into(field);
        self.last = number;
    }

    fn finish(&mut self, reader: &mut Reader) {
        let mut block = std::mem::take(&mut self.block);
        if let (true, Some(port)) = (block.local.is_empty(), &self.port) {
            block.local.clone_from(port);
        }
        let said = !block.chassis.is_empty() || !block.name.is_empty();
        if said && !reader.neighbour(self.first, self.last, &block) {
            reader.unknown(self.first);
        }
    }
}

/// The value behind its type: `swp1` of `ifname swp1`.
fn untyped(value: &str) -> &str {
    match value.split_once(' ') {
        Some(("mac" | "ifname" | "local" | "ifalias" | "ip" | "unhandled", rest)) => rest.trim(),
        _ => value,
    }
}

/// Lines of `lldpctl -f keyvalue`; says how many there are.
pub(super) fn key_values(reader: &mut Reader, number: u32, lines: &[&str]) -> Option<usize> {
    let is_one = |line: &str| line.starts_with("lldp.") && line.contains('=');
    if !is_one(lines[0]) {
        return None;
    }
    // In the order of the file: a port may have several neighbours, one after the other.
    let mut blocks: Vec<(Neighbour, u32, u32)> = Vec::new();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    let mut taken = 0;
    for line in lines.iter().take_while(|line| is_one(line) || line.trim().is_empty()) {
        let at = number + taken as u32;
        taken += 1;
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim_start_matches("lldp.");
        let parts = [".chassis.", ".port.", ".via"].map(|part| key.find(part));
        let Some(end) = parts.into_iter().flatten().min() else { continue };
        let (port, rest) = key.split_at(end);
        if rest == ".via" {
            open.remove(port);
        }
        let index = *open.entry(port.to_owned()).or_insert_with(|| {
            let block = Neighbour { local: port.to_owned(), ..Neighbour::default() };
            blocks.push((block, at, at));
            blocks.len() - 1
        });
        let (block, _, last) = &mut blocks[index];
        *last = at;
        match rest {
            ".chassis.name" => value.clone_into(&mut block.name),
            ".chassis.mac" | ".chassis.local" => value.clone_into(&mut block.chassis),
            ".port.ifname" | ".port.mac" | ".port.local" => value.clone_into(&mut block.port),
            ".port.descr" | ".port.ifalias" => value.clone_into(&mut block.description),
            _ => {}
        }
    }
    for (block, first, last) in &blocks {
        if !reader.neighbour(*first, *last, block) {
            reader.unknown(*first);
        }
    }
    reader.table(number, number + taken as u32 - 1);
    Some(taken)
}
