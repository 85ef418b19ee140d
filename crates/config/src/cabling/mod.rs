//! Cables as tables tell them: what neighbour tables (LLDP) of devices show, and what lists of cables say.
//!
//! [`scan`] takes a text apart: each table in it is recognised by its content, whatever the file is called and whatever
//! else is in it. What it leaves is the text without them, line for line, so that a file may hold a configuration and a neighbour
//! table. A table knows the device that it is of from the prompt before it; else it is of the device that the file
//! describes, or of the one that the file is named after.
//!
//! Names stay as they are written: which device and port they mean is seen where devices are known, with
//! [`same_device`] and [`port_key`]. A line of a table that is not understood is remarked.
//!
//! Read: `lldpctl` and `lldpcli` (plain, `json`, `json0`, `keyvalue`), `show lldp neighbors` of EOS, NX-OS, Junos,
//! OS10, SONiC, Cumulus and PicOS as tables, as blocks and as JSON; the `cabling.csv` of `xoff plan`, cables of NetBox
//! (CSV and REST), and other CSV files with a device and a port for each end.

mod blocks;
mod columns;
mod csv;
mod json;
mod names;
mod prompt;

pub(crate) use names::is_address;
pub use names::{Names, port_key, same_device};

use crate::device::{Remark, RemarkKind};
use crate::place::{FileId, Place};

/// What tables say about cables.
#[derive(Debug, Clone, Default)]
pub struct Cables {
    /// The cables.
    pub cables: Vec<Cable>,
    /// Devices whose neighbour tables were read, as they are called there.
    pub tables: Vec<Table>,
    /// What network interfaces of hosts are called otherwise.
    pub interfaces: Vec<Interface>,
    /// Lines of tables that were not understood.
    pub remarks: Vec<Remark>,
}

/// The neighbour table of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The device.
    pub device: String,
    /// Its lines.
    pub place: Place,
}

/// A cable, or what one end of it knows about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cable {
    /// Its ends; of a neighbour table, the device itself first.
    pub ends: [End; 2],
    /// Who says it.
    pub source: Source,
    /// Where it is said.
    pub place: Place,
}

/// One end of a cable, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// The device: a name, or an address where there is none.
    pub device: String,
    /// What its port is called, the likeliest first; none where nothing is said.
    pub ports: Vec<String>,
}

/// Who says where a cable leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The device itself: what it heard on the cable.
    Neighbours,
    /// A list of cables: how somebody documented or planned it.
    Document,
}

/// The two names of a host's interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The host.
    pub device: String,
    /// Its RDMA device.
    pub nic: String,
    /// The same port otherwise: the network interface, or its address.
    pub name: String,
}

/// The tables of a text.
#[derive(Debug, Default)]
pub struct Scan {
    /// Cables of which one end is this text's device where no prompt said which: its name is empty.
    found: Cables,
    /// The text without its tables; none if there are none.
    pub rest: Option<String>,
}

impl Scan {
    /// Whether there is nothing about cables in the text.
    pub fn is_empty(&self) -> bool {
        self.rest.is_none()
    }
}

impl Cables {
    /// Adds what a text says. `name` is the device it is of where it does not say so.
    pub fn add(&mut self, scan: Scan, name: &str) {
        let named = |device: String| if device.is_empty() { name.to_owned() } else { device };
        let found = scan.found;
        self.cables.extend(found.cables.into_iter().map(|mut cable| {
            cable.ends[0].device = named(std::mem::take(&mut cable.ends[0].device));
            cable
        }));
        let tables = found.tables.into_iter();
        self.tables.extend(tables.map(|table| Table { device: named(table.device), ..table }));
        let interfaces = found.interfaces.into_iter();
        self.interfaces.extend(interfaces.map(|i| Interface { device: named(i.device), ..i }));
        self.remarks.extend(found.remarks);
    }

    /// Whether no table was found.
    pub fn is_empty(&self) -> bool {
        self.cables.is_empty() && self.tables.is_empty()
    }
}

/// The device that a file is named after: `leaf1` of `lab/leaf1-lldp-neighbors.json` and of `leaf1/lldp.txt`.
pub fn device_of_file(path: &str) -> String {
    prompt::device_of_file(path)
}

/// The tables of a text.
pub fn scan(file: FileId, text: &str) -> Scan {
    let mut reader = Reader::new(file);
    for section in prompt::sections(text) {
        reader.device = section.device.unwrap_or_default().to_owned();
        read_section(&mut reader, section.first, section.text);
    }
    let rest = reader.rest(text);
    Scan { found: reader.found, rest }
}

fn read_section(reader: &mut Reader, first: u32, text: &str) {
    if json::read(reader, first, text) || csv::read(reader, first, text) {
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let left = &lines[at..];
        let number = first + at as u32;
        let taken = columns::read(reader, number, left)
            .or_else(|| blocks::read(reader, number, left))
            .or_else(|| blocks::key_values(reader, number, left));
        at += match taken {
            Some(taken) => taken.max(1),
            None => {
                prompt::interface(reader, line);
                1
            }
        };
    }
}

/// What is read from one file.
struct Reader {
    file: FileId,
    /// The device that the lines are of; empty if it is not said.
    device: String,
    found: Cables,
    /// Lines that belong to tables, from 1.
    taken: Vec<(u32, u32)>,
}

/// A neighbour as a table has it.
#[derive(Debug, Default, Clone)]
struct Neighbour {
    /// The device's own port.
    local: String,
    /// The neighbour's name.
    name: String,
    /// The neighbour's chassis, if it has no name.
    chassis: String,
    /// The neighbour's port.
    port: String,
    /// How it describes it: on Linux, the name of the interface.
    description: String,
}

impl Reader {
    fn new(file: FileId) -> Self {
        Self { file, device: String::new(), found: Cables::default(), taken: Vec::new() }
    }

    fn unknown(&mut self, line: u32) {
        let place = Place::line(self.file, line);
        self.found.remarks.push(Remark { place, kind: RemarkKind::Unknown });
    }

    /// Lines of a neighbour table.
    fn table(&mut self, first: u32, last: u32) {
        self.taken.push((first, last));
        let place = Place { file: self.file, first, last };
        self.found.tables.push(Table { device: self.device.clone(), place });
    }

    /// A neighbour; false if it does not say enough.
    fn neighbour(&mut self, first: u32, last: u32, found: &Neighbour) -> bool {
        let device = if found.name.is_empty() { &found.chassis } else { &found.name };
        if found.local.is_empty() || device.is_empty() {
            return false;
        }
        let said = |text: &&String| !text.is_empty() && *text != "-";
        let ports = [&found.port, &found.description].into_iter().filter(said).cloned().collect();
        let near = End { device: self.device.clone(), ports: vec![found.local.clone()] };
        let far = End { device: device.clone(), ports };
        let place = Place { file: self.file, first, last };
        self.found.cables.push(Cable { ends: [near, far], source: Source::Neighbours, place });
        true
    }

    /// The text without the lines that were taken.
    fn rest(&self, text: &str) -> Option<String> {
        if self.taken.is_empty() && self.found.interfaces.is_empty() {
            return None;
        }
        let mut rest = String::with_capacity(text.len());
        let mut taken = self.taken.clone();
        taken.sort_unstable();
        let mut ranges = taken.into_iter().peekable();
        for (line, number) in text.lines().zip(1u32..) {
            while ranges.next_if(|(_, last)| *last < number).is_some() {}
            let inside = ranges.peek().is_some_and(|(first, _)| *first <= number);
            if !inside {
                rest += line;
            }
            rest.push('\n');
        }
        Some(rest)
    }
}

#[cfg(test)]
mod tests;
