//! Cables that are not where they belong: against the plan, and against what descriptions say.
//!
//! The plan is the intent; without one it is a list of cables, where neighbour tables can be held against it. One mistake is one
//! finding of a device, however many of its cables are in it; a device at whose port only the other end's mistake shows is
//! not reported.

use super::finding::{Collector, Fault};
use super::leads::{End, Lead, Peer, Ways};
use super::rule;
use super::scene::Scene;
use crate::device::{Device, PortName};
use crate::place::Place;
use std::collections::{BTreeMap, BTreeSet};

/// Cables that are named in one finding.
const MOST_NAMED: usize = 16;

pub(super) fn check(scene: &Scene<'_>, found: &mut Collector<'_>) {
    let plan = Plan::new(scene);
    let mut wrong: BTreeSet<End> = BTreeSet::new();
    for index in 0..scene.devices.len() {
        if scene.intent.is_some() && !scene.wiring.is_named(index) {
            plan.count(index, found);
            continue;
        }
        plan.mismatches(index, &mut wrong, found);
        plan.missing(index, found);
    }
    for index in 0..scene.devices.len() {
        stale(&plan, index, &wrong, found);
        if scene.intent.is_some() && scene.wiring.is_named(index) {
            misdescribed(&plan, index, found);
        }
    }
}

const FILE: &str = "the fabric file";
const LIST: &str = "the list of cables";

/// Where cables are meant to lead.
struct Plan<'s> {
    scene: &'s Scene<'s>,
    /// What it is called.
    source: &'static str,
    /// Whether any host was heard.
    hosts_speak: bool,
}

/// Where one port is meant to lead.
struct Wanted {
    peer: usize,
    far: Option<PortName>,
    rail: Option<u32>,
    place: Option<Place>,
}

/// How far a cable is from its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Degree {
    /// It leads to another port of the same device.
    Port,
    /// It joins devices of the plan at a port where the plan has none.
    Extra,
    /// It leads to a device that nothing is known about.
    Stranger,
    /// It leads to another device.
    Device,
}

impl<'s> Plan<'s> {
    fn new(scene: &'s Scene<'s>) -> Self {
        let source = if scene.intent.is_some() { FILE } else { LIST };
        let leads = &scene.wiring.leads;
        let mut heard = leads.heard.iter().chain(&leads.tables);
        let hosts_speak = heard.any(|index| is_host(scene, *index));
        Self { scene, source, hosts_speak }
    }

    fn wanted(&self, end: &End) -> Option<Wanted> {
        let wiring = &self.scene.wiring;
        if self.scene.intent.is_some() {
            let planned = wiring.planned(end)?;
            let (peer, far) = planned.other.clone();
            return Some(Wanted { peer, far: Some(far), rail: planned.link.rail, place: None });
        }
        let listed = wiring.leads.at(end)?.listed.as_ref()?;
        let (far, place) = (listed.far.clone(), Some(listed.place));
        Some(Wanted { peer: listed.known()?, far, rail: None, place })
    }

    /// What a table says about a port, where it can be held against the plan.
    fn seen<'w>(&self, ways: &'w Ways) -> Option<&'w Lead> {
        match self.scene.intent {
            Some(_) => ways.seen(),
            None => ways.heard.as_ref(),
        }
    }

    /// How far a cable is from its plan; none if it is not.
    fn degree(&self, lead: &Lead, wanted: Option<&Wanted>) -> Option<Degree> {
        let Some(wanted) = wanted else {
            // Beside the plan there may be other networks; between devices of the plan there is none.
            let planned = |index: usize| self.scene.wiring.planned_of(index).next().is_some();
            let known = lead.known().filter(|index| self.scene.intent.is_some() && planned(*index));
            return known.map(|_| Degree::Extra);
        };
        match lead.known() {
            None => Some(Degree::Stranger),
            Some(peer) if peer != wanted.peer => Some(Degree::Device),
            Some(peer) => {
                let far = lead.far.as_ref()?;
                let far = match self.scene.intent {
                    Some(_) => self.scene.wiring.meant(&(peer, far.clone()))?,
                    None => far.clone(),
                };
                (far != *wanted.far.as_ref()?).then_some(Degree::Port)
            }
        }
    }

    fn degree_at(&self, end: &End) -> Option<Degree> {
        let lead = self.seen(self.scene.wiring.leads.at(end)?)?;
        self.degree(lead, self.wanted(end).as_ref())
    }

    /// Whether the fault shows at the other end already.
    fn told_elsewhere(&self, near: &End, lead: &Lead, degree: Degree) -> bool {
        let Some((peer, far)) = lead.known().zip(lead.far.clone()) else { return false };
        if peer >= self.scene.devices.len() {
            return false;
        }
        let other = (peer, far);
        match (degree, self.degree_at(&other)) {
            (Degree::Port | Degree::Extra, Some(Degree::Device)) => true,
            (Degree::Extra, Some(Degree::Port)) => true,
            (Degree::Port, Some(Degree::Port)) | (Degree::Extra, Some(Degree::Extra)) => {
                other < *near
            }
            _ => false,
        }
    }

    fn mismatches(&self, index: usize, wrong: &mut BTreeSet<End>, found: &mut Collector<'_>) {
        let mut all: BTreeMap<Degree, Vec<(PortName, String, Vec<Place>)>> = BTreeMap::new();
        for (port, ways) in self.scene.wiring.leads.of(index) {
            let near = (index, port.clone());
            let (Some(lead), wanted) = (self.seen(ways), self.wanted(&near)) else { continue };
            let Some(degree) = self.degree(lead, wanted.as_ref()) else { continue };
            wrong.insert(near.clone());
            if self.told_elsewhere(&near, lead, degree) {
                continue;
            }
            let places = [Some(lead.place), wanted.as_ref().and_then(|wanted| wanted.place)];
            let text = self.sentence(port, lead, wanted.as_ref());
            let places = places.into_iter().flatten().collect();
            all.entry(degree).or_default().push((port.clone(), text, places));
        }
        for (degree, faults) in all {
            let texts = faults.iter().map(|(_, text, _)| text.as_str());
            let message = listed(texts, faults.len());
            for (port, _, places) in &faults {
                let fault = Fault::new(&rule::CABLE_MISMATCH, &message).at(places.iter().copied());
                let fault = if degree == Degree::Device { fault } else { fault.warning() };
                found.port_named(index, port, fault);
            }
        }
    }

    /// `Ethernet1/1 leads to spine2 Ethernet3/1; the fabric file has spine1 Ethernet3/1`
    fn sentence(&self, port: &PortName, lead: &Lead, wanted: Option<&Wanted>) -> String {
        let source = self.source;
        let seen = self.peer(lead);
        let Some(wanted) = wanted else {
            return format!("{port} leads to {seen}; {source} has no cable there");
        };
        let name = self.scene.name(wanted.peer);
        let meant = match &wanted.far {
            Some(far) => format!("{name} {far}"),
            None => name.to_owned(),
        };
        match wanted.rail {
            Some(rail) => format!("{port} leads to {seen}; {source} has {meant}, rail {rail}"),
            None => format!("{port} leads to {seen}; {source} has {meant}"),
        }
    }

    fn peer(&self, lead: &Lead) -> String {
        let name = match &lead.peer {
            Peer::Known(index) => self.scene.name(*index),
            Peer::Stranger(name) => name,
        };
        match &lead.far {
            Some(far) => format!("{name} {far}"),
            None => name.to_owned(),
        }
    }

    /// Cables of the plan that the device's own table, and that of the other end, do not show.
    fn missing(&self, index: usize, found: &mut Collector<'_>) {
        let leads = &self.scene.wiring.leads;
        if !leads.tables.contains(&index) {
            return;
        }
        let ports: Vec<PortName> = match self.scene.intent {
            Some(_) => self.scene.wiring.planned_of(index).map(|(port, _)| port.clone()).collect(),
            None => leads.of(index).map(|(port, _)| port.clone()).collect(),
        };
        let mut absent = Vec::new();
        for port in ports {
            let near = (index, port);
            let seen = leads.at(&near).is_some_and(|ways| ways.heard.is_some());
            let off = self.scene.devices[index].ports.get(&near.1);
            let off = off.is_some_and(|port| port.enabled.get() == Some(false));
            let Some(wanted) = self.wanted(&near).filter(|_| !seen && !off) else { continue };
            if self.speaks(wanted.peer) && !self.heard_unplaced(index, wanted.peer) {
                absent.push((near.1, wanted));
            }
        }
        let texts: Vec<String> = absent
            .iter()
            .map(|(port, wanted)| {
                let far = wanted.far.as_ref().map(|far| format!(" {far}")).unwrap_or_default();
                format!("{port} to {}{far}", self.scene.name(wanted.peer))
            })
            .collect();
        let message = format!(
            "no neighbour is seen where {} has a cable: {}",
            self.source,
            listed(texts.iter().map(String::as_str), texts.len())
        );
        for (port, wanted) in &absent {
            let fault = Fault::new(&rule::CABLE_MISSING, &message).at(wanted.place);
            found.port_named(index, port, fault);
        }
    }

    /// Whether a device is expected to be heard: switches are, hosts where any host is.
    fn speaks(&self, index: usize) -> bool {
        self.hosts_speak || !is_host(self.scene, index)
    }

    /// Whether a cable between two devices was seen from the other end, and its port here cannot be made out.
    fn heard_unplaced(&self, index: usize, peer: usize) -> bool {
        let mut back = self.scene.wiring.leads.of(peer);
        back.any(|(_, ways)| {
            let lead = ways.heard.as_ref();
            lead.is_some_and(|lead| lead.known() == Some(index) && lead.far.is_none())
        })
    }

    /// A device with names of its own: its cables are counted, device by device.
    fn count(&self, index: usize, found: &mut Collector<'_>) {
        let counts = self.counts(index);
        let more: Vec<&Count> = counts.iter().filter(|c| c.seen.len() > c.meant).collect();
        let fewer: Vec<&Count> = counts.iter().filter(|c| c.seen.len() < c.meant).collect();
        let message = |all: &[&Count]| {
            let texts: Vec<String> = all.iter().map(|count| self.counted(count)).collect();
            listed(texts.iter().map(String::as_str), texts.len())
        };
        if !more.is_empty() {
            let all: Vec<&Count> = more.iter().chain(&fewer).copied().collect();
            let message = message(&all);
            for (port, place) in more.iter().flat_map(|count| &count.seen) {
                let fault = Fault::new(&rule::CABLE_MISMATCH, &message).at([*place]);
                found.port_named(index, port, fault);
            }
            return;
        }
        let leads = &self.scene.wiring.leads;
        let collected = leads.tables.contains(&index) || leads.listed.contains(&index);
        let absent: Vec<&Count> = fewer.into_iter().filter(|c| self.speaks(c.peer)).collect();
        if collected && !absent.is_empty() {
            found.device(index, Fault::new(&rule::CABLE_MISSING, message(&absent)));
        }
    }

    fn counts(&self, index: usize) -> Vec<Count> {
        let wiring = &self.scene.wiring;
        let mut counts: BTreeMap<usize, Count> = BTreeMap::new();
        let new = |peer| Count { peer, seen: Vec::new(), meant: 0 };
        for (_, planned) in wiring.planned_of(index) {
            let peer = planned.other.0;
            counts.entry(peer).or_insert_with(|| new(peer)).meant += 1;
        }
        for (port, ways) in wiring.leads.of(index) {
            let Some(lead) = ways.seen() else { continue };
            let planned = |peer: &usize| wiring.planned_of(*peer).next().is_some();
            let Some(peer) = lead.known().filter(planned) else { continue };
            let count = counts.entry(peer).or_insert_with(|| new(peer));
            count.seen.push((port.clone(), lead.place));
        }
        counts.into_values().collect()
    }

    /// `2 cables lead to spine1; the fabric file has 1`
    fn counted(&self, count: &Count) -> String {
        let cables = match count.seen.len() {
            1 => "1 cable leads".to_owned(),
            many => format!("{many} cables lead"),
        };
        format!("{cables} to {}; {} has {}", self.scene.name(count.peer), self.source, count.meant)
    }
}

/// Cables between a device and another one.
struct Count {
    peer: usize,
    seen: Vec<(PortName, Place)>,
    meant: usize,
}

/// Descriptions that contradict what was heard. Of a cable that is in the wrong place, it is the cable that is wrong.
fn stale(plan: &Plan<'_>, index: usize, wrong: &BTreeSet<End>, found: &mut Collector<'_>) {
    for (port, ways) in plan.scene.wiring.leads.of(index) {
        let (Some(heard), Some(said)) = (&ways.heard, &ways.described) else { continue };
        let near = (index, port.clone());
        let as_planned = || {
            plan.wanted(&near).is_some_and(|wanted| {
                let far = wanted.far.as_ref().zip(said.far.as_ref());
                said.known() == Some(wanted.peer) && far.is_none_or(|(a, b)| a == b)
            })
        };
        if !heard.contradicts(said) || (wrong.contains(&near) && as_planned()) {
            continue;
        }
        let message = format!(
            "LLDP shows {}, and the description names {}",
            plan.peer(heard),
            plan.peer(said)
        );
        let fault = Fault::new(&rule::STALE, message).at([said.place, heard.place]);
        found.port_named(index, port, fault);
    }
}

/// Descriptions that the plan contradicts, where nothing else says where a cable leads: the cable is wrong, or its description is.
fn misdescribed(plan: &Plan<'_>, index: usize, found: &mut Collector<'_>) {
    let mut all: Vec<(PortName, String, Place)> = Vec::new();
    for (port, ways) in plan.scene.wiring.leads.of(index) {
        let Some(said) = ways.described.as_ref().filter(|_| ways.seen().is_none()) else {
            continue;
        };
        let wanted = plan.wanted(&(index, port.clone()));
        let degree = wanted.as_ref().and_then(|wanted| plan.degree(said, Some(wanted)));
        if matches!(degree, Some(Degree::Device | Degree::Port)) {
            all.push((port.clone(), plan.sentence(port, said, wanted.as_ref()), said.place));
        }
    }
    let message = format!(
        "by its description {}",
        listed(all.iter().map(|(_, text, _)| text.as_str()), all.len())
    );
    for (port, _, place) in &all {
        found.port_named(index, port, Fault::new(&rule::STALE, &message).at([*place]));
    }
}

fn is_host(scene: &Scene<'_>, index: usize) -> bool {
    let device = match scene.devices.get(index) {
        Some(device) => Some(*device),
        None => scene.intent.and_then(|intent| intent.device(scene.name(index))),
    };
    device.is_some_and(Device::is_host)
}

/// Sentences in a row, the first ones of many.
fn listed<'t>(texts: impl Iterator<Item = &'t str>, count: usize) -> String {
    let named: Vec<&str> = texts.take(MOST_NAMED).collect();
    let more = count.saturating_sub(MOST_NAMED);
    let text = named.join(". ");
    if more > 0 { format!("{text}. And {more} more") } else { text }
}
