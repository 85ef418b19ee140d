//! What a device says otherwise than one like it, statement by statement. Devices of one kind have policies of one name, so one wrong
//! line is one difference, where a part that is rendered anew would be a policy beside the one that is there.

use super::statement::{Statement, numbered};
use crate::device::{Device, PortName};
use crate::place::Files;
use crate::system::SystemId;
use std::collections::{BTreeMap, BTreeSet};

/// Devices that a device is compared with.
pub(super) const MOST_SIBLINGS: usize = 3;
/// Ports that one statement is about.
const MOST_PORTS: usize = 256;
/// Differences beyond which two devices are not alike.
const MOST_DIFFERENCES: usize = 48;

/// What a text says of RoCE.
#[derive(Debug, Default)]
pub(super) struct Spoken {
    /// What belongs to no port, in the order of the text.
    common: Vec<Statement>,
    ports: BTreeMap<PortName, Vec<Statement>>,
}

/// Words of statements that name a device or its surroundings, and are no setting that another device could lend.
const OWN: [&str; 11] = [
    "hostname",
    "host-name",
    "description",
    "version",
    "hwsku",
    "mac",
    "neighbor",
    "DEVICE_NEIGHBOR",
    "alias",
    "lanes",
    "index",
];

impl Spoken {
    /// The statements that a setting was read from. Those that the parser remarked on are about something else, or not understood.
    pub(super) fn of(device: &Device, files: &Files) -> Option<Self> {
        let file = *device.files.first()?;
        let text = &files.get(file)?.text;
        let remarked: BTreeSet<u32> = device
            .remarks
            .iter()
            .filter(|remark| remark.place.file == file)
            .flat_map(|remark| remark.place.first..=remark.place.last)
            .collect();
        Some(Self::read(device, text, &remarked))
    }

    /// All statements of a text that says nothing else.
    pub(super) fn read(device: &Device, text: &str, without: &BTreeSet<u32>) -> Self {
        let mut spoken = Self::default();
        for (line, statement) in numbered(device.system, text) {
            let own = |word: &str| OWN.contains(&word) || word == device.name;
            if without.contains(&line) || statement.words().any(own) {
                continue;
            }
            // A statement about a list of ports is one about each.
            let known = |name: &PortName| device.ports.contains_key(name);
            let listed = statement.listed_ports().take(MOST_PORTS).filter(known);
            let mut ports: Vec<PortName> = listed.collect();
            if ports.is_empty() {
                ports.extend(statement.words().map(PortName::new).find(known));
            }
            for port in &ports {
                let one = statement.for_port(port.as_str(), port.as_str());
                spoken.ports.entry(port.clone()).or_default().push(one);
            }
            if ports.is_empty() {
                spoken.common.push(statement);
            }
        }
        spoken
    }

    /// The ports that it speaks of.
    pub(super) fn ports(&self) -> impl Iterator<Item = &PortName> {
        self.ports.keys()
    }

    /// What makes a device that says this say what another one does, with what takes statements away and without. `models` are
    /// ports that are meant to be like some of the other device.
    pub(super) fn towards(
        &self,
        other: &Self,
        models: &[(PortName, PortName)],
        system: SystemId,
    ) -> Option<[Vec<Statement>; 2]> {
        let mut gone = missing(&self.common, &other.common);
        let mut fresh = missing(&other.common, &self.common);
        for (port, model) in models {
            let nothing = Vec::new();
            let own = self.ports.get(port).unwrap_or(&nothing);
            let theirs = other.ports.get(model)?.iter();
            let theirs: Vec<Statement> =
                theirs.map(|one| one.for_port(model.as_str(), port.as_str())).collect();
            gone.extend(missing(own, &theirs));
            fresh.extend(missing(&theirs, own));
        }
        if gone.len() + fresh.len() > MOST_DIFFERENCES {
            return None;
        }
        // Where several words take a statement away, the last ones name it whole.
        let gone = gone.iter().filter_map(|one| one.removed(system).pop());
        Some([gone.chain(fresh.iter().cloned()).collect(), fresh])
    }
}

/// What is in the first list and not in the second.
fn missing(from: &[Statement], other: &[Statement]) -> Vec<Statement> {
    let known: BTreeSet<&Statement> = other.iter().collect();
    from.iter().filter(|one| !known.contains(one)).cloned().collect()
}

/// Other devices of the system, those that are named alike and stand nearest first.
pub(super) fn siblings(devices: &[&Device], index: usize) -> Vec<usize> {
    let Some(own) = devices.get(index) else { return Vec::new() };
    let stem = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
    let wanted = stem(&own.name);
    let alike =
        |(other, device): &(usize, &&Device)| *other != index && device.system == own.system;
    let mut all: Vec<(bool, usize, usize)> = devices
        .iter()
        .enumerate()
        .filter(alike)
        .map(|(other, device)| (stem(&device.name) != wanted, other.abs_diff(index), other))
        .collect();
    all.sort_unstable();
    all.into_iter().take(MOST_SIBLINGS).map(|(_, _, other)| other).collect()
}
