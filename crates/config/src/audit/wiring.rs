//! The cables between devices: as the intent has them, or as descriptions of ports tell them.

use crate::device::{Device, Port, PortName};
use crate::intent::Intent;
use std::collections::BTreeMap;
use xoff_units::{Bytes, Length, Rate};

/// A cable between two devices that are there.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) ends: [(usize, PortName); 2],
    pub(super) rate: Option<Rate>,
    pub(super) length: Option<Length>,
    pub(super) headroom: [Option<Bytes>; 2],
}

/// Ports of the device against ports of the intent: by name, else by what they lead to.
pub(super) fn match_ports(device: &Device, meant: &Device) -> BTreeMap<PortName, PortName> {
    let mut aliases = BTreeMap::new();
    if meant.ports.keys().all(|name| device.ports.contains_key(name)) {
        return aliases;
    }
    let mut free: Vec<(&PortName, &Port)> = meant.ports.iter().collect();
    for (name, port) in &device.ports {
        let Some(said) = port.neighbour.value() else { continue };
        let words: Vec<&str> = words(&said.device).collect();
        let found = free.iter().position(|(_, meant)| {
            meant.neighbour.value().is_some_and(|peer| words.contains(&peer.device.as_str()))
        });
        if let Some(position) = found {
            aliases.insert(name.clone(), free.remove(position).0.clone());
        }
    }
    aliases
}

fn words(text: &str) -> impl Iterator<Item = &str> + Clone {
    let part = |c: char| !(c.is_ascii_alphanumeric() || "_-./".contains(c));
    text.split(part).filter(|word| !word.is_empty())
}

pub(super) fn wires_of_intent(
    devices: &[Device],
    intent: &Intent,
    aliases: &[BTreeMap<PortName, PortName>],
) -> Vec<Wire> {
    let index: BTreeMap<&str, usize> =
        devices.iter().enumerate().map(|(i, device)| (device.name.as_str(), i)).collect();
    let real: Vec<BTreeMap<&PortName, &PortName>> = aliases
        .iter()
        .map(|names| names.iter().map(|(own, meant)| (meant, own)).collect())
        .collect();
    let end = |end: &crate::intent::End| {
        let device = *index.get(end.device.as_str())?;
        let port = real[device].get(&end.port).map_or(&end.port, |own| *own);
        devices[device].ports.contains_key(port).then(|| (device, port.clone()))
    };
    let joined = intent.links.iter().filter_map(|link| {
        Some(Wire {
            ends: [end(&link.ends[0])?, end(&link.ends[1])?],
            rate: link.rate,
            length: link.length,
            headroom: link.headroom,
        })
    });
    joined.collect()
}

/// Cables as descriptions and neighbour tables tell them.
pub(super) fn wires_of_neighbours(devices: &[Device]) -> Vec<Wire> {
    let index: BTreeMap<&str, usize> =
        devices.iter().enumerate().map(|(i, device)| (device.name.as_str(), i)).collect();
    // Which device, and which of its ports where said, each port leads to.
    type Leads = BTreeMap<PortName, (usize, Option<PortName>)>;
    let mut leads: Vec<Leads> = vec![Leads::new(); devices.len()];
    for (number, device) in devices.iter().enumerate() {
        for (name, port) in &device.ports {
            let Some(said) = port.neighbour.value() else { continue };
            let mut all = words(&said.device).chain(said.port.as_deref());
            let Some(peer) = all.clone().find_map(|word| index.get(word)) else { continue };
            let far = all.find_map(|word| devices[*peer].ports.get_key_value(&PortName::new(word)));
            leads[number].insert(name.clone(), (*peer, far.map(|(name, _)| name.clone())));
        }
    }
    let mut taken: BTreeMap<(usize, PortName), ()> = BTreeMap::new();
    let mut wires = Vec::new();
    let all = leads.iter().enumerate().flat_map(|(number, ports)| {
        ports.iter().map(move |(name, lead)| ((number, name.clone()), lead))
    });
    for (near, (peer, far)) in all {
        if taken.contains_key(&near) {
            continue;
        }
        let mutual = || {
            let free = |port: &PortName| {
                let end = (*peer, port.clone());
                !taken.contains_key(&end) && end != near
            };
            let mut back = leads[*peer].iter().filter(|(_, (to, _))| *to == near.0);
            back.find(|(port, _)| free(port)).map(|(port, _)| port.clone())
        };
        let Some(port) = far.clone().or_else(mutual) else { continue };
        let other = (*peer, port);
        if taken.contains_key(&other) || other == near {
            continue;
        }
        taken.insert(near.clone(), ());
        taken.insert(other.clone(), ());
        let of = |end: &(usize, PortName)| devices[end.0].ports.get(&end.1);
        let rate = of(&near).and_then(|p| p.rate.get()).or(of(&other).and_then(|p| p.rate.get()));
        wires.push(Wire { ends: [near, other], rate, length: None, headroom: [None, None] });
    }
    wires
}
