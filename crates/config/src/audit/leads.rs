//! Where each port leads, and who says so: the device's own neighbour table, a list of cables, or its description.

use super::describe;
use super::known::{Known, nameless};
use crate::cabling::{Cable, Cables, Source};
use crate::device::{Device, PortName};
use crate::place::Place;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A port of a device.
pub(super) type End = (usize, PortName);

/// What is at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Peer {
    /// A device that was collected or is in the intent.
    Known(usize),
    /// Another one.
    Stranger(String),
}

/// Where a port leads.
#[derive(Debug, Clone)]
pub(super) struct Lead {
    pub(super) peer: Peer,
    /// The port there, if it can be seen.
    pub(super) far: Option<PortName>,
    pub(super) place: Place,
}

impl Lead {
    fn new(peer: Peer, far: Option<PortName>, place: Place) -> Self {
        Self { peer, far, place }
    }

    /// The device, if it is a known one.
    pub(super) fn known(&self) -> Option<usize> {
        match self.peer {
            Peer::Known(index) => Some(index),
            Peer::Stranger(_) => None,
        }
    }

    /// Whether it cannot be where `other` says. A port that one of them does not name decides nothing.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let ports = self.far.as_ref().zip(other.far.as_ref());
        self.peer != other.peer || ports.is_some_and(|(a, b)| a != b)
    }
}

/// What is said about one port.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// What was heard on the cable.
    pub(super) heard: Option<Lead>,
    /// What a list of cables says.
    pub(super) listed: Option<Lead>,
    /// What its description says.
    pub(super) described: Option<Lead>,
}

impl Ways {
    /// What a table says, what was heard first.
    pub(super) fn seen(&self) -> Option<&Lead> {
        self.heard.as_ref().or(self.listed.as_ref())
    }

    /// The best there is, and how good that is: 0 is best.
    fn best(&self) -> Option<(u8, &Lead)> {
        let all = [&self.heard, &self.listed, &self.described];
        all.into_iter().zip(0u8..).find_map(|(lead, rank)| Some((rank, lead.as_ref()?)))
    }
}

/// Where all ports lead.
#[derive(Debug, Default)]
pub(super) struct Leads {
    ports: BTreeMap<End, Ways>,
    /// Devices whose own neighbour tables were read.
    pub(super) tables: BTreeSet<usize>,
    /// Devices that a list of cables has.
    pub(super) listed: BTreeSet<usize>,
    /// Devices that were heard by others.
    pub(super) heard: BTreeSet<usize>,
}

/// A cable between two devices that are there.
#[derive(Debug, Clone)]
pub(super) struct Joined {
    pub(super) ends: [End; 2],
    /// Whether both ends are said, and not only taken in order.
    pub(super) sure: bool,
}

impl Leads {
    pub(super) fn new(known: &Known<'_>, devices: &[Device], cables: &Cables) -> Self {
        let mut leads = Self::default();
        for table in &cables.tables {
            leads.tables.extend(known.find(&table.device));
        }
        let mut others = Vec::new();
        for cable in &cables.cables {
            leads.add(known, cable, &mut others);
        }
        for (end, lead) in others {
            leads.ports.entry(end).or_default().heard.get_or_insert(lead);
        }
        for (index, device) in devices.iter().enumerate() {
            for (name, port) in &device.ports {
                let Some((said, place)) = port.neighbour.value().zip(port.neighbour.place()) else {
                    continue;
                };
                let text = match &said.port {
                    Some(port) => format!("{} {port}", said.device),
                    None => said.device.clone(),
                };
                let Some((peer, far)) = describe::named(known, index, &text) else { continue };
                let lead = Lead::new(Peer::Known(peer), far, place);
                leads.ports.entry((index, name.clone())).or_default().described = Some(lead);
            }
        }
        leads
    }

    /// Adds a cable. `others` gets what a device heard of the other end: that device's own table comes first.
    fn add(&mut self, known: &Known<'_>, cable: &Cable, others: &mut Vec<(End, Lead)>) {
        let [near, far] = cable.ends.each_ref().map(|end| known.end(end));
        let place = cable.place;
        let sides = [(&near, &far, &cable.ends[1]), (&far, &near, &cable.ends[0])];
        for (side, (own, other, text)) in sides.into_iter().enumerate() {
            let Some((index, port)) = own else { continue };
            match cable.source {
                Source::Document => drop(self.listed.insert(*index)),
                Source::Neighbours if side == 1 => drop(self.heard.insert(*index)),
                Source::Neighbours => {}
            }
            let Some(port) = port else { continue };
            let lead = match other {
                Some((peer, far)) => Lead::new(Peer::Known(*peer), far.clone(), place),
                None if nameless(&text.device) => continue,
                None => Lead::new(Peer::Stranger(text.device.clone()), None, place),
            };
            let end = (*index, port.clone());
            match (cable.source, side) {
                (Source::Neighbours, 1) => others.push((end, lead)),
                (Source::Neighbours, _) => put(&mut self.ports.entry(end).or_default().heard, lead),
                (Source::Document, _) => put(&mut self.ports.entry(end).or_default().listed, lead),
            }
        }
    }

    /// What is said about a port.
    pub(super) fn at(&self, end: &End) -> Option<&Ways> {
        self.ports.get(end)
    }

    /// The best that is known about a port.
    pub(super) fn best(&self, end: &End) -> Option<&Lead> {
        Some(self.ports.get(end)?.best()?.1)
    }

    /// All ports of a device about which something is said.
    pub(super) fn of(&self, index: usize) -> impl Iterator<Item = (&PortName, &Ways)> {
        // No name is less than an empty one.
        let all = self.ports.range((index, PortName::new(""))..);
        all.take_while(move |((device, _), _)| *device == index)
            .map(|((_, port), ways)| (port, ways))
    }

    /// Ports that lead to a device that is there, and which.
    pub(super) fn known(&self) -> impl Iterator<Item = (End, usize)> {
        let known = |(end, ways): (&End, &Ways)| Some((end.clone(), ways.best()?.1.known()?));
        self.ports.iter().filter_map(known)
    }

    /// The cables whose two ends are known, or follow from the order of ports between two devices.
    pub(super) fn join(&self) -> Vec<Joined> {
        let mut taken: BTreeSet<&End> = BTreeSet::new();
        let mut joined = Vec::new();
        let best = || self.ports.iter().filter_map(|(end, ways)| Some((end, ways.best()?)));
        for rank in 0..3 {
            for (near, (_, lead)) in best().filter(|(_, (own, _))| *own == rank) {
                let (Some(peer), Some(far)) = (lead.known(), &lead.far) else { continue };
                let other = (peer, far.clone());
                let back = self.ports.get(&other).and_then(Ways::best);
                let denied = back.is_some_and(|(own, back)| {
                    let here = Lead::new(Peer::Known(near.0), Some(near.1.clone()), back.place);
                    own <= rank && back.contradicts(&here)
                });
                let known = self.ports.get_key_value(&other).map(|(end, _)| end);
                let used = taken.contains(near) || taken.contains(&other) || other == *near;
                if used || denied {
                    continue;
                }
                taken.insert(near);
                taken.extend(known);
                joined.push(Joined { ends: [near.clone(), other], sure: true });
            }
        }
        self.join_in_order(&taken, &mut joined);
        joined
    }

    /// Ports that lead to each other's device, and do not say to which port, in order.
    fn join_in_order(&self, taken: &BTreeSet<&End>, joined: &mut Vec<Joined>) {
        let mut ended: BTreeSet<&End> = taken.clone();
        let ends: BTreeSet<End> = joined.iter().flat_map(|cable| cable.ends.clone()).collect();
        let open = |(end, ways): (&'_ End, &'_ Ways)| {
            let (_, lead) = ways.best()?;
            let peer = lead.known().filter(|_| lead.far.is_none() && !ends.contains(end))?;
            Some((end.clone(), peer))
        };
        let mut waiting: BTreeMap<(usize, usize), VecDeque<PortName>> = BTreeMap::new();
        for ((index, port), peer) in self.ports.iter().filter_map(open) {
            waiting.entry((index, peer)).or_default().push_back(port);
        }
        for (end, ways) in &self.ports {
            let Some(((index, port), peer)) = open((end, ways)) else { continue };
            if ended.contains(end) || index == peer {
                continue;
            }
            let Some(back) = waiting.get_mut(&(peer, index)) else { continue };
            let free = std::iter::from_fn(|| back.pop_front()).find_map(|port| {
                self.ports
                    .get_key_value(&(peer, port))
                    .map(|(end, _)| end)
                    .filter(|end| !ended.contains(end))
            });
            let Some(other) = free else { continue };
            ended.extend([end, other]);
            joined.push(Joined { ends: [(index, port), other.clone()], sure: false });
        }
    }
}

/// A known device rather than a stranger; otherwise what came first.
fn put(slot: &mut Option<Lead>, lead: Lead) {
    match slot {
        Some(known) if known.known().is_some() || lead.known().is_none() => {}
        _ => *slot = Some(lead),
    }
}
