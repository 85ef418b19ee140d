//! The devices that names can mean: those that were collected, then those that only the intent has.

use crate::cabling::{Cables, End, Names, is_address, port_key};
use crate::device::{Device, PortName};
use crate::intent::Intent;
use crate::system::{Cage, SystemId};
use std::collections::BTreeMap;

/// Devices and ports by name.
pub(super) struct Known<'a> {
    /// Numbered as in the scene: what was collected, then what is missing.
    devices: Vec<&'a Device>,
    names: Names,
    ports: Vec<Keys>,
}

/// The ports of a device by what their names have in common; none where two ports have it.
type Keys = BTreeMap<String, Option<PortName>>;

impl<'a> Known<'a> {
    pub(super) fn new(devices: &'a [Device], cables: &Cables, intent: Option<&'a Intent>) -> Self {
        let mut known = Self { devices: Vec::new(), names: Names::default(), ports: Vec::new() };
        let meant: BTreeMap<&str, &'a Device> = intent
            .into_iter()
            .flat_map(|intent| &intent.devices)
            .map(|device| (device.name.as_str(), device))
            .collect();
        for device in devices {
            known.add(device);
        }
        let there: std::collections::BTreeSet<&str> =
            devices.iter().map(|device| device.name.as_str()).collect();
        // In the order in which the scene numbers them.
        for (_, device) in meant.iter().filter(|(name, _)| !there.contains(*name)) {
            known.add(device);
        }
        for (device, keys) in devices.iter().zip(&mut known.ports) {
            // A port of the intent that the configuration does not mention is a port still.
            let more =
                meant.get(device.name.as_str()).into_iter().flat_map(|meant| meant.ports.keys());
            for port in more {
                keys.entry(port_key(device.system, port.as_str())).or_insert(Some(port.clone()));
            }
        }
        for interface in &cables.interfaces {
            let Some(index) = known.names.find(&interface.device) else { continue };
            let system = known.devices[index].system;
            let port = known.port(index, &interface.nic).cloned();
            let keys = &mut known.ports[index];
            if port.is_some() {
                keys.entry(port_key(system, &interface.name)).or_insert(port);
            }
        }
        known
    }

    fn add(&mut self, device: &'a Device) {
        self.names.add(&device.name, self.devices.len());
        self.devices.push(device);
        let mut keys = Keys::new();
        for port in device.ports.keys() {
            // Two ports of one key are never joined.
            keys.entry(port_key(device.system, port.as_str()))
                .and_modify(|known| *known = None)
                .or_insert_with(|| Some(port.clone()));
        }
        self.ports.push(keys);
    }

    /// The device of that name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.find(name)
    }

    /// The port of a device, however its name is written.
    pub(super) fn port(&self, index: usize, name: &str) -> Option<&PortName> {
        let device = self.devices[index];
        self.ports[index].get(&port_key(device.system, name))?.as_ref()
    }

    /// The device and, if it can be seen, the port that an end of a cable means.
    pub(super) fn end(&self, end: &End) -> Option<(usize, Option<PortName>)> {
        if let Some(index) = self.find(&end.device) {
            let own = end.ports.iter().find_map(|name| self.port(index, name).cloned());
            return Some((index, own.or_else(|| self.numbered(index, &end.ports))));
        }
        // `server3-nic2`, as `xoff plan` calls it.
        let (server, nic) = end.device.rsplit_once("-nic")?;
        let index = self.find(server)?;
        let cage = Cage { cage: nic.parse().ok()?, link: 0, links: 1 };
        let name = SystemId::Host.system().port_name(cage);
        Some((index, self.port(index, &name).cloned()))
    }

    /// The port of a number, as `xoff plan` calls it: the cage, and which of its links, both from 1.
    fn numbered(&self, index: usize, names: &[String]) -> Option<PortName> {
        let [name] = names else { return None };
        let (cage, link) =
            name.split_once('/').map_or((name.as_str(), None), |(a, b)| (a, Some(b)));
        let cage = cage.parse::<u32>().ok()?.checked_sub(1)?;
        let link = link.map_or(Some(1u32), |link| link.parse().ok())?.checked_sub(1)?;
        let system = self.devices[index].system.system();
        let splits =
            [1, 2, 4, 8].into_iter().filter(|links| link < *links && (*links > 1 || link == 0));
        let names = splits.map(|links| system.port_name(Cage { cage, link, links }));
        let mut found: Vec<&PortName> = names.filter_map(|name| self.port(index, &name)).collect();
        found.dedup();
        match found[..] {
            [port] => Some(port.clone()),
            _ => None,
        }
    }
}

/// Whether a device has no name that anything could be looked up by.
pub(super) fn nameless(device: &str) -> bool {
    is_address(device) || device.is_empty() || device == "localhost" || device == "(none)"
}
