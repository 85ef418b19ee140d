//! Reading OS10 configuration.

use super::Os10;
use super::policy::Policies;
use crate::device::{Balancing, Device, Neighbour};
use crate::number::{Class, Dscp, Group, Priorities};
use crate::place::{Place, Said};
use crate::qos::{Maps, Trust};
use crate::system::{Input, System};
use crate::text::notes::{Notes, access_list, bytes, share, speed};
use crate::text::outline::{Statement, outline};
use std::collections::BTreeMap;

/// What a port, or the box, refers to.
#[derive(Debug, Clone, Default)]
struct Bound {
    pfc: Said<bool>,
    trust: Option<(String, Place)>,
    vlan: Option<Place>,
    traffic_class: Option<String>,
    network: Option<(String, Place)>,
    queuing: Option<String>,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let outline = outline(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, Os10.id()),
        notes: Notes::new(input.file),
        policies: Policies::default(),
        ports: BTreeMap::new(),
        system: Bound::default(),
    };
    if let Some((_, host)) = outline.prompts.first() {
        parser.device.name = (*host).to_owned();
    }
    for (line, comment) in &outline.comments {
        if let Some(version) = comment.strip_prefix("Version ") {
            let place = parser.notes.line(*line);
            parser.device.version = Said::At(version.to_owned(), place);
        }
    }
    for statement in &outline.statements {
        parser.top(statement);
    }
    parser.finish()
}

struct Parser {
    device: Device,
    notes: Notes,
    policies: Policies,
    ports: BTreeMap<String, Bound>,
    /// What `system qos` applies to all ports that do not say otherwise.
    system: Bound,
}

impl Parser {
    fn top(&mut self, statement: &Statement<'_>) {
        let (policies, notes) = (&mut self.policies, &mut self.notes);
        match statement.words()[..] {
            ["hostname", name] => self.device.name = name.to_owned(),
            ["trust", "dscp-map", name] => policies.trust_map(name, statement, notes),
            ["trust", "dot1p-map", _] => {}
            ["qos-map", "traffic-class", name] => policies.traffic_map(name, statement, notes),
            ["class-map", "type", "network-qos" | "queuing", name]
            | ["class-map", "type", "network-qos" | "queuing", _, name] => {
                policies.class_map(name, statement, notes);
            }
            ["policy-map", "type", "network-qos", name] => {
                policies.network(name, statement, notes);
            }
            ["policy-map", "type", "queuing", name] => policies.queuing(name, statement, notes),
            ["wred", name] => policies.wred(name, statement, notes),
            ["system", "qos"] => {
                let mut bound = std::mem::take(&mut self.system);
                for child in &statement.children {
                    if !self.bind(child, &mut bound) {
                        self.notes.unknown(child);
                    }
                }
                self.system = bound;
            }
            ["dcbx", ..] => {}
            ["ip", "access-list", name] => {
                access_list(name, statement, &mut self.device, &mut self.notes);
            }
            ["interface", name] if name.starts_with("ethernet") => self.interface(name, statement),
            [
                "class-map"
                | "policy-map"
                | "qos-map"
                | "trust"
                | "priority-flow-control"
                | "pfc-watchdog",
                ..,
            ] => self.notes.unknown(statement),
            _ => self.notes.foreign(statement),
        }
    }

    /// What may stand at a port and in `system qos` alike; false if it is something else.
    fn bind(&mut self, statement: &Statement<'_>, bound: &mut Bound) -> bool {
        let place = self.notes.line(statement.line);
        match statement.words()[..] {
            ["priority-flow-control", "mode", word] => {
                bound.pfc = Said::At(word == "on", place);
            }
            ["trust-map", "dscp", name] => bound.trust = Some((name.to_owned(), place)),
            ["trust-map", "dot1p", _] => bound.vlan = Some(place),
            ["qos-map", "traffic-class", name] => bound.traffic_class = Some(name.to_owned()),
            ["service-policy", "input", "type", "network-qos", name] => {
                bound.network = Some((name.to_owned(), place));
            }
            ["service-policy", "output", "type", "queuing", name] => {
                bound.queuing = Some(name.to_owned());
            }
            ["ets", "mode", _]
            | ["buffer-statistics-tracking"]
            | [
                "pfc-max-buffer-size"
                | "pfc-shared-buffer-size"
                | "pfc-shared-headroom-buffer-size",
                _,
            ] => {}
            _ => return false,
        }
        true
    }

    fn interface(&mut self, name: &str, statement: &Statement<'_>) {
        let mut bound = self.ports.remove(name).unwrap_or_default();
        let whole = self.notes.whole(statement);
        self.device.port(name).place = Some(whole);
        for child in &statement.children {
            let place = self.notes.line(child.line);
            let port = self.device.port(name);
            match child.words()[..] {
                ["mtu", mtu] => port.mtu = self.notes.said(child.line, bytes(mtu)),
                ["speed", word] => {
                    if let Some(rate) = speed(word) {
                        port.rate = Said::At(rate, place);
                    }
                }
                ["description", ..] => {
                    let text = child.text["description".len()..].trim().trim_matches('"');
                    let peer = Neighbour { device: text.to_owned(), port: None };
                    port.neighbour = Said::At(peer, place);
                }
                ["shutdown"] => port.enabled = Said::At(false, place),
                ["no", "shutdown"] => port.enabled = Said::At(true, place),
                ["flowcontrol", "receive" | "transmit", "off"] => {}
                [
                    "service-policy"
                    | "priority-flow-control"
                    | "qos-map"
                    | "trust-map"
                    | "ets"
                    | "pfc-watchdog",
                    ..,
                ] => {
                    if !self.bind(child, &mut bound) {
                        self.notes.unknown(child);
                    }
                }
                _ => self.notes.foreign(child),
            }
        }
        self.ports.insert(name.to_owned(), bound);
    }

    fn finish(mut self) -> Device {
        self.device.balancing = Said::Default(Balancing::Hash);
        let (mut maps_known, mut queues_known) = (Vec::new(), Vec::new());
        for (name, own) in std::mem::take(&mut self.ports) {
            let bound = own.over(&self.system);
            let (trust, mut maps) = self.maps(&bound);
            let network = bound.network.as_ref();
            let pauses = network.map(|(name, _)| self.policies.pauses(name)).unwrap_or_default();
            let mut set = Priorities::NONE;
            let mut first = None;
            for (class, cos) in &pauses {
                let Some((priority, place)) = cos.get().zip(cos.place()) else { continue };
                set = set.with(priority);
                first = first.or(Some(place));
                if let Some(group) = Group::new(class.get()) {
                    maps.pfc_to_group[priority.index()] = Said::At(group, place);
                }
                if let Some(queue) = maps.class_to_queue[class.index()].get() {
                    maps.pfc_to_queue[priority.index()] = Said::At(queue, place);
                }
            }
            let queues = bound.queuing.as_deref().map(|name| self.policies.queues(name));
            let port = self.device.port(&name);
            port.pfc = match (bound.pfc, network) {
                (Said::At(true, place), Some(_)) => Said::At(set, first.unwrap_or(place)),
                (Said::At(_, place), _) => Said::At(Priorities::NONE, place),
                _ => Said::Default(Priorities::NONE),
            };
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues.unwrap_or_default());
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }

    fn maps(&self, bound: &Bound) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        let mut trust = Said::Default(Trust::Nothing);
        if let Some(place) = bound.vlan {
            trust = Said::At(Trust::Pcp, place);
        }
        if let Some((name, place)) = &bound.trust {
            trust = Said::At(Trust::Dscp, *place);
            if let Some(map) = self.policies.trust.get(name) {
                maps.dscp_to_class = *map;
            } else if name == "default" {
                for dscp in Dscp::all() {
                    let class = Class::new(dscp.get() >> 3);
                    maps.dscp_to_class[dscp.index()] = class.map_or(Said::Absent, Said::Default);
                }
            }
        }
        maps.unmatched_in_class_0();
        let queues = bound.traffic_class.as_ref();
        if let Some(map) = queues.and_then(|name| self.policies.traffic_class.get(name)) {
            maps.class_to_queue = *map;
        }
        maps.pause_by_class();
        (trust, maps)
    }
}

impl Bound {
    /// What a port says comes before what the box says.
    fn over(&self, system: &Self) -> Self {
        Self {
            pfc: if self.pfc.is_said() { self.pfc } else { system.pfc },
            trust: self.trust.clone().or_else(|| system.trust.clone()),
            vlan: self.vlan.or(system.vlan),
            traffic_class: self.traffic_class.clone().or_else(|| system.traffic_class.clone()),
            network: self.network.clone().or_else(|| system.network.clone()),
            queuing: self.queuing.clone().or_else(|| system.queuing.clone()),
        }
    }
}
