//! The cables between devices: as the intent has them, or as tables and descriptions tell them.
//!
//! A fabric file generates names of ports; devices have their own. Where those of a device are the generated ones, a cable that leads
//! elsewhere is a mistake. Where they are not, its ports are matched to those of the intent by where their cables lead.

use super::known::Known;
use super::leads::{End, Joined, Leads};
use crate::device::{Device, PortName};
use crate::intent::{Intent, Link};
use std::collections::{BTreeMap, BTreeSet};
use xoff_units::{Bytes, Length, Rate};

/// A cable between two devices that are there.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    pub(super) ends: [(usize, PortName); 2],
    pub(super) rate: Option<Rate>,
    pub(super) length: Option<Length>,
    pub(super) headroom: [Option<Bytes>; 2],
}

/// How devices are cabled, and how they are meant to be.
#[derive(Default)]
pub(super) struct Wiring<'a> {
    pub(super) leads: Leads,
    pub(super) wires: Vec<Wire>,
    /// For each device, the intent's name of a port, where it differs.
    pub(super) aliases: Vec<BTreeMap<PortName, PortName>>,
    /// Devices whose ports have the names of the intent.
    named: BTreeSet<usize>,
    /// Cables of the intent by their ends, in the intent's names.
    planned: BTreeMap<End, Planned<'a>>,
}

/// A cable of the intent, as seen from one of its ends.
#[derive(Debug, Clone)]
pub(super) struct Planned<'a> {
    pub(super) link: &'a Link,
    /// Which end of the link this is.
    side: usize,
    pub(super) other: End,
}

impl<'a> Wiring<'a> {
    pub(super) fn new(
        known: &Known<'_>,
        leads: Leads,
        devices: &[Device],
        intent: Option<&'a Intent>,
    ) -> Self {
        let aliases = vec![BTreeMap::new(); devices.len()];
        let (named, planned) = (BTreeSet::new(), BTreeMap::new());
        let mut wiring = Self { leads, wires: Vec::new(), aliases, named, planned };
        let joined = wiring.leads.join();
        match intent {
            Some(intent) => {
                wiring.plan(known, intent);
                wiring.named = (0..devices.len())
                    .filter(|index| wiring.has_names_of_plan(&devices[*index], *index))
                    .collect();
                wiring.match_ports(devices.len(), &joined);
                wiring.match_nics(devices);
                wiring.wire_as_planned(devices, &joined);
            }
            None => wiring.wire_as_said(devices, joined),
        }
        wiring
    }

    /// Whether the ports of a device have the names that the intent gives them.
    pub(super) fn is_named(&self, index: usize) -> bool {
        self.named.contains(&index)
    }

    /// Where the intent wants a port to lead, both in its names.
    pub(super) fn planned(&self, end: &End) -> Option<&Planned<'a>> {
        self.planned.get(end)
    }

    /// The ports of a device in the intent, and where they lead.
    pub(super) fn planned_of(
        &self,
        index: usize,
    ) -> impl Iterator<Item = (&PortName, &Planned<'a>)> {
        let all = self.planned.range((index, PortName::new(""))..);
        let own = all.take_while(move |((device, _), _)| *device == index);
        own.map(|((_, port), planned)| (port, planned))
    }

    /// The intent's name of a port; none if it is not known which one it is.
    pub(super) fn meant(&self, end: &End) -> Option<PortName> {
        match self.aliases.get(end.0) {
            Some(_) if self.is_named(end.0) => Some(end.1.clone()),
            Some(aliases) => aliases.get(&end.1).cloned(),
            // Nothing but the intent tells the names of a device that was not collected.
            None => Some(end.1.clone()),
        }
    }

    fn plan(&mut self, known: &Known<'_>, intent: &'a Intent) {
        for link in &intent.links {
            let [a, b] =
                link.ends.each_ref().map(|end| Some((known.find(&end.device)?, end.port.clone())));
            let (Some(a), Some(b)) = (a, b) else { continue };
            self.planned.insert(a.clone(), Planned { link, side: 0, other: b.clone() });
            self.planned.insert(b, Planned { link, side: 1, other: a });
        }
    }

    /// Names are taken at their word if most cables lead where the intent has them, or if nothing speaks against it.
    fn has_names_of_plan(&self, device: &Device, index: usize) -> bool {
        let peers: Vec<(&PortName, usize)> = (self.leads.of(index))
            .filter_map(|(port, _)| {
                let peer = self.leads.best(&(index, port.clone()))?.known()?;
                Some((port, peer))
            })
            .collect();
        let at = |port: &PortName| {
            self.planned.get(&(index, port.clone())).map(|planned| planned.other.0)
        };
        let agreeing = peers.iter().filter(|(port, peer)| at(port) == Some(*peer)).count();
        if agreeing > 0 && 2 * agreeing >= peers.len() {
            return true;
        }
        let there = self.planned_of(index).all(|(port, _)| device.ports.contains_key(port));
        let among = peers.iter().all(|(port, _)| at(port).is_some());
        // A switch whose ports all have their peers, only in another order, is numbered otherwise. On a host the number of a
        // NIC says which GPU it is of.
        let mut seen: Vec<usize> = peers.iter().map(|(_, peer)| *peer).collect();
        let mut meant: Vec<usize> =
            self.planned_of(index).map(|(_, planned)| planned.other.0).collect();
        seen.sort_unstable();
        meant.sort_unstable();
        let reordered = !device.is_host() && seen.len() >= 4 && seen == meant;
        there && among && !reordered
    }

    /// Ports of devices with names of their own, by where they lead; several cables between two devices in order.
    fn match_ports(&mut self, devices: usize, joined: &[Joined]) {
        let mut links: BTreeMap<(usize, usize), Vec<[PortName; 2]>> = BTreeMap::new();
        for (near, planned) in &self.planned {
            let far = &planned.other;
            if near.0 < far.0 {
                links.entry((near.0, far.0)).or_default().push([near.1.clone(), far.1.clone()]);
            }
        }
        let mut cables: BTreeMap<(usize, usize), Vec<[PortName; 2]>> = BTreeMap::new();
        for cable in joined {
            let [a, b] = &cable.ends;
            let (low, high) = if a.0 < b.0 { (a, b) } else { (b, a) };
            cables.entry((low.0, high.0)).or_default().push([low.1.clone(), high.1.clone()]);
        }
        for (pair, mut found) in cables {
            let Some(free) = links.get(&pair) else { continue };
            found.sort();
            let sides = [pair.0, pair.1].map(|index| self.is_named(index) || index >= devices);
            for (cable, link) in pairs(found, free, sides) {
                for (side, index) in [pair.0, pair.1].into_iter().enumerate() {
                    if !sides[side] {
                        self.aliases[index].insert(cable[side].clone(), link[side].clone());
                    }
                }
            }
        }
        for index in 0..devices {
            if !self.is_named(index) {
                self.match_open_ports(index);
            }
        }
    }

    /// RDMA devices go by other names where udev renames them: as many as are meant are those, in their order.
    fn match_nics(&mut self, devices: &[Device]) {
        for (index, device) in devices.iter().enumerate().filter(|(_, device)| device.is_host()) {
            let meant: Vec<PortName> =
                self.planned_of(index).map(|(port, _)| port.clone()).collect();
            let strangers = device.ports.keys().all(|name| !meant.contains(name));
            if strangers && self.aliases[index].is_empty() && device.ports.len() == meant.len() {
                self.aliases[index] = device.ports.keys().cloned().zip(meant).collect();
            }
        }
    }

    /// Ports of which only the device that they lead to is known, and ports of the same name where nothing else is known.
    fn match_open_ports(&mut self, index: usize) {
        let aliases = &self.aliases[index];
        let used: BTreeSet<PortName> = aliases.values().cloned().collect();
        let mut free: Vec<(PortName, usize)> = self
            .planned_of(index)
            .filter(|(port, _)| !used.contains(*port))
            .map(|(port, planned)| (port.clone(), planned.other.0))
            .collect();
        let open: Vec<(PortName, usize)> = (self.leads.of(index))
            .filter(|(port, _)| !aliases.contains_key(*port))
            .filter_map(|(port, _)| {
                let peer = self.leads.best(&(index, port.clone()))?.known()?;
                Some((port.clone(), peer))
            })
            .collect();
        for (port, peer) in open {
            if let Some(at) = free.iter().position(|(_, other)| *other == peer) {
                let (meant, _) = free.remove(at);
                self.aliases[index].insert(port, meant);
            }
        }
    }

    /// The cables of the intent, except where others are really there.
    fn wire_as_planned(&mut self, devices: &[Device], joined: &[Joined]) {
        let names: Vec<BTreeMap<&PortName, &PortName>> = self
            .aliases
            .iter()
            .map(|names| names.iter().map(|(own, meant)| (meant, own)).collect())
            .collect();
        let there = |end: &End| devices.get(end.0).is_some_and(|d| d.ports.contains_key(&end.1));
        let real = |end: &End| {
            let port = names.get(end.0)?.get(&end.1).map_or(&end.1, |own| *own);
            Some((end.0, port.clone())).filter(there)
        };
        let sure: Vec<&Joined> =
            joined.iter().filter(|cable| cable.sure && cable.ends.iter().all(there)).collect();
        let mut leads: BTreeMap<&End, &End> = BTreeMap::new();
        for [a, b] in sure.iter().map(|cable| &cable.ends) {
            leads.extend([(a, b), (b, a)]);
        }
        let moved = |end: &End, other: &End| leads.get(end).is_some_and(|seen| *seen != other);
        let (mut wires, mut wired, mut of_end) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        for (near, planned) in &self.planned {
            let (link, side) = (planned.link, planned.side);
            let Some(a) = real(near) else { continue };
            of_end.insert(a.clone(), planned);
            let Some(b) = real(&planned.other).filter(|_| side == 0) else { continue };
            if moved(&a, &b) || moved(&b, &a) {
                continue;
            }
            wired.extend([a.clone(), b.clone()]);
            let Link { rate, length, headroom, .. } = *link;
            wires.push(Wire { ends: [a, b], rate, length, headroom });
        }
        for cable in sure {
            if cable.ends.iter().any(|end| wired.contains(end)) {
                continue;
            }
            let [a, b] = cable.ends.each_ref().map(|end| of_end.get(end));
            let rate = a.or(b).and_then(|planned| planned.link.rate);
            let headroom = [a, b].map(|planned| planned.and_then(|p| p.link.headroom[p.side]));
            wires.push(Wire { ends: cable.ends.clone(), rate, length: None, headroom });
        }
        self.wires = wires;
    }

    fn wire_as_said(&mut self, devices: &[Device], joined: Vec<Joined>) {
        let of = |end: &End| devices.get(end.0).and_then(|device| device.ports.get(&end.1));
        self.wires = joined
            .into_iter()
            .filter(|cable| cable.ends.iter().all(|end| of(end).is_some()))
            .map(|cable| {
                let rate = cable.ends.iter().find_map(|end| of(end)?.rate.get());
                Wire { ends: cable.ends, rate, length: None, headroom: [None, None] }
            })
            .collect();
    }
}

/// Cables between two devices and the links that they are: by the side whose names are those of the intent, else in order.
fn pairs(
    cables: Vec<[PortName; 2]>,
    links: &[[PortName; 2]],
    named: [bool; 2],
) -> Vec<([PortName; 2], [PortName; 2])> {
    let Some(side) = named.iter().position(|named| *named) else {
        return cables.into_iter().zip(links.iter().cloned()).collect();
    };
    let link = |cable: &[PortName; 2]| links.iter().find(|link| link[side] == cable[side]).cloned();
    cables.into_iter().filter_map(|cable| Some((cable.clone(), link(&cable)?))).collect()
}
