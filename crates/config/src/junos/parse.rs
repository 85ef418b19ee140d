//! Reading Junos configuration, in either form.

use super::policy::Policies;
use crate::device::{Balancing, Device, Guard, Neighbour, Port, PortName, RemarkKind};
use crate::number::{Class, Group, Priorities, Queue};
use crate::place::{Place, Said};
use crate::qos::{Maps, Trust};
use crate::system::{Input, SystemId};
use crate::text::notes::{Notes, bytes, share, speed};
use crate::text::paths::read;
use std::collections::BTreeMap;

/// What a port, or all ports of a pattern, refer to.
#[derive(Debug, Clone, Default)]
struct Bound {
    classifier: Option<(String, Place)>,
    vlan: Option<Place>,
    scheduler_map: Option<String>,
    pausing: Option<(String, Place)>,
}

impl Bound {
    /// What is said of a port itself comes before what a pattern says.
    fn over(&self, base: &Self) -> Self {
        Self {
            classifier: self.classifier.clone().or_else(|| base.classifier.clone()),
            vlan: self.vlan.or(base.vlan),
            scheduler_map: self.scheduler_map.clone().or_else(|| base.scheduler_map.clone()),
            pausing: self.pausing.clone().or_else(|| base.pausing.clone()),
        }
    }
}

pub(super) fn parse(input: &Input<'_>, system: SystemId) -> Device {
    let found = read(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, system),
        notes: Notes::new(input.file),
        policies: Policies::default(),
        bound: BTreeMap::new(),
    };
    if let Some(host) = found.prompts.first() {
        parser.device.name = (*host).to_owned();
    }
    for line in found.strange.iter().chain(&found.inactive) {
        parser.notes.mark(*line, RemarkKind::Foreign);
    }
    for path in &found.statements {
        parser.statement(&path.words, path.line);
    }
    parser.finish()
}

struct Parser {
    device: Device,
    notes: Notes,
    policies: Policies,
    bound: BTreeMap<String, Bound>,
}

/// Ports that carry traffic, not management or loopback.
fn is_port(name: &str) -> bool {
    ["et-", "xe-", "ge-"].iter().any(|kind| name.starts_with(kind))
}

impl Parser {
    fn statement(&mut self, words: &[&str], line: u32) {
        let place = self.notes.line(line);
        match words {
            ["system", "host-name", name] => self.device.name = (*name).to_owned(),
            ["version", version] => self.device.version = Said::At((*version).to_owned(), place),
            ["class-of-service", "interfaces", name, rest @ ..] => self.bind(name, rest, line),
            ["class-of-service", rest @ ..] => {
                if !self.policies.statement(rest, line, &mut self.notes) {
                    self.notes.mark(line, RemarkKind::Unknown);
                }
            }
            ["forwarding-options", "enhanced-hash-key", "ecmp-dlb", rest @ ..] => {
                self.balance(rest, line);
            }
            ["interfaces", name, rest @ ..] if is_port(name) => self.interface(name, rest, line),
            ["firewall", rest @ ..] => {
                self.firewall(rest, place);
                self.notes.mark(line, RemarkKind::Foreign);
            }
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    /// A filter that names RoCE's port, of whatever family.
    fn firewall(&mut self, words: &[&str], place: Place) {
        let words = match words {
            ["family", _, rest @ ..] => rest,
            other => other,
        };
        let ["filter", name, "term", _, "from", "destination-port", ports @ ..] = words else {
            return;
        };
        let known = self.device.guards.iter().any(|guard| guard.name == *name);
        if ports.contains(&"4791") && !known {
            self.device.guards.push(Guard { name: (*name).to_owned(), place });
        }
    }

    fn bind(&mut self, name: &str, rest: &[&str], line: u32) {
        let place = self.notes.line(line);
        if is_port(name) && !name.contains('*') {
            touch(self.device.port(name), place);
        }
        let bound = self.bound.entry(name.to_owned()).or_default();
        match rest {
            ["congestion-notification-profile", profile] => {
                bound.pausing = Some(((*profile).to_owned(), place));
            }
            ["scheduler-map", map] => bound.scheduler_map = Some((*map).to_owned()),
            ["unit", _, "classifiers", "dscp", name] | ["classifiers", "dscp", name] => {
                bound.classifier = Some(((*name).to_owned(), place));
            }
            ["unit", _, "classifiers", "ieee-802.1", _] | ["classifiers", "ieee-802.1", _] => {
                bound.vlan = Some(place);
            }
            ["unit", _, "rewrite-rules", ..] | ["rewrite-rules", ..] => {}
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn balance(&mut self, rest: &[&str], line: u32) {
        let place = self.notes.line(line);
        match rest {
            ["flowlet", ..] => self.device.balancing = Said::At(Balancing::Flowlet, place),
            ["per-packet", ..] => self.device.balancing = Said::At(Balancing::Packet, place),
            ["assigned-flow"] => self.device.balancing = Said::At(Balancing::Hash, place),
            ["ether-type" | "sampling-rate" | "egress-quantization", ..] => {}
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn interface(&mut self, name: &str, rest: &[&str], line: u32) {
        let place = self.notes.line(line);
        let port = self.device.port(name);
        touch(port, place);
        match rest {
            ["mtu", mtu] => port.mtu = self.notes.said(line, bytes(mtu)),
            ["speed", word] | ["ether-options", "speed", word] => {
                if let Some(rate) = speed(word) {
                    port.rate = Said::At(rate, place);
                }
            }
            ["description", text @ ..] => {
                let device = text.join(" ");
                port.neighbour = Said::At(Neighbour { device, port: None }, place);
            }
            ["disable"] => port.enabled = Said::At(false, place),
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        let names: Vec<PortName> = self.device.ports.keys().cloned().collect();
        let (mut maps_known, mut queues_known) = (Vec::new(), Vec::new());
        let numbers = self.policies.numbers();
        let resolved = Resolved { policies: &self.policies, numbers };
        for name in names {
            let bound = self.bound_of(name.as_str());
            let queues = bound.scheduler_map.as_deref().map(|map| self.policies.queues(map));
            let (trust, mut maps) = resolved.maps(&bound);
            let pausing = bound.pausing.as_ref();
            let profile = pausing.and_then(|(name, _)| self.policies.pausing.get(name));
            let Some(port) = self.device.ports.get_mut(&name) else { continue };
            port.pfc = Said::Default(Priorities::NONE);
            if let Some((profile, (_, place))) = profile.zip(pausing) {
                port.pfc = resolved.pauses(profile, &maps, *place);
                for (priority, queue, place) in &profile.queues {
                    maps.pfc_to_queue[priority.index()] = Said::At(*queue, *place);
                }
                if port.pfc.get().is_some_and(|set| !set.is_empty()) {
                    port.cable = profile.cable;
                }
                port.watchdog.on = profile.watchdog;
            }
            port.watchdog.on = port.watchdog.on.or_default(false);
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues.unwrap_or_default());
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }

    fn bound_of(&self, name: &str) -> Bound {
        let mut bound = self.bound.get(name).cloned().unwrap_or_default();
        for (pattern, base) in &self.bound {
            let stem = pattern.split_once('*').map(|(stem, _)| stem);
            if stem.is_some_and(|stem| name.starts_with(stem)) {
                bound = bound.over(base);
            }
        }
        bound
    }
}

/// A port's place is from the first line about it to the last, as long as they follow closely.
fn touch(port: &mut Port, place: Place) {
    port.place = Some(match port.place {
        Some(old) if place.first <= old.last + 4 => Place { last: place.last, ..old },
        Some(old) => old,
        None => place,
    });
}

struct Resolved<'p> {
    policies: &'p Policies,
    numbers: BTreeMap<&'p str, Class>,
}

impl Resolved<'_> {
    fn maps(&self, bound: &Bound) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        let list = bound.classifier.as_ref();
        let list =
            list.and_then(|(name, place)| Some((self.policies.classifiers.get(name)?, place)));
        for (dscp, class, place) in list.into_iter().flat_map(|(list, _)| list) {
            let number = match self.numbers.get(class.as_str()) {
                Some(number) => Some(*number),
                None if class == "best-effort" => Class::new(0),
                None => None,
            };
            if let Some(number) = number {
                maps.dscp_to_class[dscp.index()] = Said::At(number, *place);
            }
        }
        maps.unmatched_in_class_0();
        for (name, number) in &self.numbers {
            if let Some(class) = self.policies.classes.get(*name).filter(|c| c.queue.is_said()) {
                maps.class_to_queue[number.index()] = class.queue;
            }
        }
        maps.pause_by_class();
        for (name, number) in &self.numbers {
            let class = self.policies.classes.get(*name);
            let Some((class, priority)) = class.and_then(|c| Some((c, c.pause.get()?))) else {
                continue;
            };
            let place = class.pause.place().unwrap_or(Place::INTENT);
            if let Some(group) = Group::new(number.get()) {
                maps.pfc_to_group[priority.index()] = Said::At(group, place);
            }
            let queue: Said<Queue> = maps.class_to_queue[number.index()];
            if let Some(queue) = queue.get() {
                maps.pfc_to_queue[priority.index()] = Said::Default(queue);
            }
        }
        let trust = match (list, bound.vlan) {
            (Some((_, place)), _) => Said::At(Trust::Dscp, *place),
            (None, Some(place)) => Said::At(Trust::Pcp, place),
            (None, None) => Said::Default(Trust::Nothing),
        };
        (trust, maps)
    }

    /// The priorities a profile pauses: those of the classes that its code points are in.
    fn pauses(
        &self,
        profile: &super::policy::Pausing,
        maps: &Maps,
        bound: Place,
    ) -> Said<Priorities> {
        let of_class = |number: Class| {
            let named = self.numbers.iter().find(|(_, other)| **other == number)?;
            self.policies.classes.get(*named.0)?.pause.get()
        };
        let mut set = Priorities::NONE;
        let mut first = None;
        for (dscp, place) in &profile.dscps {
            let class = maps.dscp_to_class[dscp.index()].get();
            if let Some(priority) = class.and_then(of_class) {
                set = set.with(priority);
                first = first.or(Some(*place));
            }
        }
        for (priority, place) in &profile.priorities {
            set = set.with(*priority);
            first = first.or(Some(*place));
        }
        Said::At(set, first.unwrap_or(bound))
    }
}
