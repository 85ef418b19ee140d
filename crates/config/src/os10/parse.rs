//! Reading OS10 configuration.

use super::policy::Policies;
use super::{DEFAULT_MTU, Os10};
use crate::device::{Balancing, Device, Port, PortName, RemarkKind};
use crate::number::{Class, Dscp, Group, Priorities};
use crate::place::{Place, Said};
use crate::qos::{Maps, Trust};
use crate::system::{Input, System};
use crate::text::interfaces::{Bindings, Interfaces};
use crate::text::notes::{Notes, access_list, bytes, share, speed};
use crate::text::outline::{Form, Statement, join, outline};
use crate::text::ports;
use std::collections::BTreeSet;
use xoff_units::{Bytes, Rate};

/// A policy or map that is applied, and where that is said.
type Applied = Option<(String, Place)>;

/// What a port, a bundle of ports or the box refers to.
#[derive(Debug, Clone, Default)]
struct Bound {
    pfc: Said<bool>,
    mtu: Said<Bytes>,
    trust: Applied,
    vlan: Option<Place>,
    classify: Applied,
    traffic_class: Applied,
    network: Applied,
    queuing: Applied,
    /// The bundle it belongs to.
    channel: Option<u32>,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let mut outline = outline(input.text);
    join(&mut outline.statements, &["class-map ", "policy-map ", "trust ", "qos-map ", "wred "]);
    let mut parser = Parser {
        device: Device::new(input.name, Os10.id()),
        notes: Notes::new(input.file),
        policies: Policies::default(),
        interfaces: Interfaces::default(),
        cages: Vec::new(),
        system: Bound::default(),
        mtu: Said::Absent,
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
    interfaces: Interfaces<Bound>,
    /// Cages that are broken out, with the speed of their ports.
    cages: Vec<(String, Said<Rate>)>,
    /// What `system qos` applies to all ports that do not say otherwise.
    system: Bound,
    /// The MTU of ports that say none, where `default mtu` says one.
    mtu: Said<Bytes>,
}

impl Parser {
    fn top(&mut self, statement: &Statement<'_>) {
        let (policies, notes) = (&mut self.policies, &mut self.notes);
        let (form, words) = statement.form();
        match (form, &words[..]) {
            (Form::Plain, ["hostname", name]) => self.device.name = (*name).to_owned(),
            (Form::Default, ["mtu", mtu]) => self.mtu = notes.said(statement.line, bytes(mtu)),
            (Form::Plain, ["trust", "dscp-map", name]) => {
                policies.trust_map(name, statement, notes);
            }
            (Form::Plain, ["trust", "dot1p-map", _]) => Policies::vlan_map(statement, notes),
            (Form::Plain, ["qos-map", "traffic-class", name]) => {
                policies.traffic_map(name, statement, notes);
            }
            (Form::Plain, ["class-map", "type", "network-qos" | "queuing" | "qos", name])
            | (Form::Plain, ["class-map", "type", "network-qos" | "queuing" | "qos", _, name]) => {
                policies.class_map(name, statement, notes);
            }
            (Form::Plain, ["policy-map", "type", "qos", name]) => {
                policies.classify(name, statement, notes);
            }
            (Form::Plain, ["policy-map", "type", "network-qos", name]) => {
                policies.network(name, statement, notes);
            }
            (Form::Plain, ["policy-map", "type", "queuing", name]) => {
                policies.queuing(name, statement, notes);
            }
            (_, ["class-map" | "policy-map", "type", "application" | "control-plane", ..]) => {
                notes.foreign(statement);
            }
            (Form::Plain, ["wred", name]) => policies.wred(name, statement, notes),
            // What was defined above it is gone with it already.
            (Form::No, ["class-map" | "policy-map" | "wred" | "qos-map" | "trust", ..]) => {}
            (Form::Plain, ["system", "qos"]) => {
                for child in &statement.children {
                    if !self.system.read(child, notes) {
                        notes.unknown(child);
                    }
                }
            }
            (_, ["dcbx", ..]) => {}
            (Form::Plain, ["virtual-network", _]) => {
                notes.foreign(statement);
                let carries = |child: &&Statement<'_>| child.words().starts_with(&["vxlan-vni"]);
                if let Some(child) = statement.children.iter().find(carries) {
                    notes.mark(child.line, RemarkKind::Tunnel);
                }
            }
            (Form::Plain, ["ip", "access-list", name]) => {
                access_list(name, statement, &mut self.device, notes);
            }
            (form, ["interface", names @ ..]) => self.interface(form, names, statement),
            (_, ["class-map" | "policy-map" | "qos-map" | "trust" | "wred", ..])
            | (_, ["priority-flow-control" | "pfc-watchdog", ..]) => notes.unknown(statement),
            _ => notes.foreign(statement),
        }
    }

    fn interface(&mut self, form: Form, names: &[&str], statement: &Statement<'_>) {
        // `interface breakout 1/1/5 map 200g-2x`: the speed of the ports of a cage.
        if let (["breakout", cage, "map", map], Form::Plain) = (names, form) {
            let word = map.split_once('-').map_or(*map, |(speed, _)| speed);
            let rate = self.notes.said(statement.line, speed(word));
            self.cages.push(((*cage).to_owned(), rate));
            return;
        }
        let named = (form, ports::named(names, "ethernet"));
        self.interfaces.read(named, statement, &mut self.device, &mut self.notes);
    }

    fn finish(mut self) -> Device {
        self.device.balancing = Said::Default(Balancing::Hash);
        let (mut maps_known, mut queues_known, mut groups_known) = (vec![], vec![], vec![]);
        let mut told = BTreeSet::new();
        for (cage, rate) in std::mem::take(&mut self.cages) {
            let whole = format!("ethernet{cage}");
            let inside = |name: &PortName| {
                let rest = name.as_str().strip_prefix(whole.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            };
            for (_, port) in self.device.ports.iter_mut().filter(|(name, _)| inside(name)) {
                if !port.rate.is_said() {
                    port.rate = rate;
                }
            }
        }
        for (name, own) in std::mem::take(&mut self.interfaces.ports) {
            let own = match own.channel.and_then(|number| self.interfaces.channels.get(&number)) {
                Some(channel) => own.over(channel),
                None => own,
            };
            let mtu = if own.mtu.is_said() { own.mtu } else { self.mtu };
            let bound = own.over(&self.system);
            for (kind, applied) in bound.applied() {
                // What is not there does nothing.
                let missing = applied.as_ref().filter(|(name, _)| !self.policies.has(kind, name));
                let first = missing.filter(|(name, _)| told.insert((kind, name.clone())));
                if let Some((_, place)) = first {
                    self.notes.mark(place.first, RemarkKind::Malformed);
                }
            }
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
            let queues = bound.queuing.as_ref().map(|(name, _)| self.policies.queues(name));
            let groups = network.map(|(name, _)| self.policies.groups(name)).unwrap_or_default();
            let port = self.device.port(&name);
            port.pfc = match (bound.pfc, network) {
                (Said::At(true, place), Some(_)) => Said::At(set, first.unwrap_or(place)),
                (Said::At(_, place), _) => Said::At(Priorities::NONE, place),
                _ => Said::Default(Priorities::NONE),
            };
            port.trust = trust;
            port.mtu = mtu.or_default(DEFAULT_MTU);
            port.groups = share(&mut groups_known, groups);
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues.unwrap_or_default());
        }
        self.notes.remarks.sort_by_key(|remark| remark.place);
        self.device.remarks = self.notes.remarks;
        self.device
    }

    fn maps(&self, bound: &Bound) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        let mut trust = Said::Default(Trust::Nothing);
        if let Some(place) = bound.vlan {
            trust = Said::At(Trust::Pcp, place);
        }
        if let Some((name, place)) = &bound.classify {
            let (map, believed) = self.policies.classified(name);
            maps.dscp_to_class = map;
            if map.iter().any(Said::is_said) {
                trust = Said::At(Trust::Dscp, *place);
            } else if let Some(believed) = believed.get() {
                trust = Said::At(believed, *place);
            }
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
        if let Some(map) = queues.and_then(|(name, _)| self.policies.traffic_class.get(name)) {
            maps.class_to_queue = *map;
        }
        maps.pause_by_class();
        (trust, maps)
    }
}

impl Bindings for Bound {
    fn read_port(&mut self, statement: &Statement<'_>, port: &mut Port, notes: &mut Notes) {
        for child in &statement.children {
            let place = notes.line(child.line);
            let (form, words) = child.form();
            match (form, &words[..]) {
                (Form::Plain, ["speed", word]) => {
                    if let Some(rate) = speed(word) {
                        port.rate = Said::At(rate, place);
                    }
                }
                (_, ["speed", ..]) => port.rate = Said::Absent,
                (Form::Plain, ["description", ..]) => {
                    let said = ports::neighbour(&child.text["description".len()..]);
                    port.neighbour = Said::At(said, place);
                }
                (_, ["description", ..]) => port.neighbour = Said::Absent,
                (Form::Plain, ["shutdown"]) => port.enabled = Said::At(false, place),
                (_, ["shutdown"]) => port.enabled = Said::At(true, place),
                // Pauses of the whole port, and what is told to the other end.
                (_, ["flowcontrol", "receive" | "transmit", ..] | ["dcbx", ..]) => {}
                _ if self.read(child, notes) => {}
                (_, ["service-policy" | "priority-flow-control" | "qos-map" | "trust-map", ..])
                | (_, ["ets" | "pfc" | "pfc-watchdog" | "trust", ..]) => notes.unknown(child),
                _ => notes.foreign(child),
            }
        }
    }

    fn read(&mut self, statement: &Statement<'_>, notes: &mut Notes) -> bool {
        let (line, place) = (statement.line, notes.line(statement.line));
        let (form, words) = statement.form();
        match (form, &words[..]) {
            (Form::Plain, ["mtu", mtu]) => self.mtu = notes.said(line, bytes(mtu)),
            (_, ["mtu", ..]) => self.mtu = Said::Absent,
            (Form::Plain, ["channel-group", number, ..]) => {
                self.channel = number.parse().ok();
                return false;
            }
            (_, ["channel-group", ..]) => self.channel = None,
            // What is negotiated is on only if the other end wants it.
            (
                Form::Plain,
                ["priority-flow-control" | "pfc", "mode", word @ ("on" | "off" | "auto")],
            ) => {
                self.pfc = Said::At(*word == "on", place);
            }
            (
                Form::No,
                ["priority-flow-control"] | ["priority-flow-control" | "pfc", "mode", ..],
            ) => {
                self.pfc = Said::At(false, place);
            }
            (Form::Default, ["priority-flow-control", ..]) => self.pfc = Said::Absent,
            (Form::No | Form::Default, ["trust-map"]) => (self.trust, self.vlan) = (None, None),
            (Form::Plain, ["trust-map", "dot1p", _]) => self.vlan = Some(place),
            (_, ["trust-map", "dot1p", ..]) => self.vlan = None,
            (_, ["ets", "mode", ..] | ["buffer-statistics-tracking"])
            | (_, ["pfc-max-buffer-size" | "pfc-shared-buffer-size", ..])
            | (_, ["pfc-shared-headroom-buffer-size", ..]) => {}
            _ => return self.apply(form, &words, place),
        }
        true
    }
}

impl Bound {
    /// A policy or map that is applied or taken away; false if it is something else.
    fn apply(&mut self, form: Form, words: &[&str], place: Place) -> bool {
        let (applied, name) = match words {
            ["trust-map", "dscp", name @ ..] => (&mut self.trust, name),
            ["qos-map", "traffic-class", name @ ..] => (&mut self.traffic_class, name),
            ["service-policy", "input", "type", "network-qos", name @ ..] => {
                (&mut self.network, name)
            }
            ["service-policy", "input", "type", "qos", name @ ..] => (&mut self.classify, name),
            ["service-policy", "output", "type", "queuing", name @ ..] => (&mut self.queuing, name),
            _ => return false,
        };
        *applied = match (form, name) {
            (Form::Plain, [name]) => Some(((*name).to_owned(), place)),
            (Form::No | Form::Default, [] | [_]) => None,
            _ => return false,
        };
        true
    }

    /// What is applied, by kind.
    fn applied(&self) -> [(&'static str, &Applied); 5] {
        [
            ("qos", &self.classify),
            ("network-qos", &self.network),
            ("queuing", &self.queuing),
            ("dscp", &self.trust),
            ("traffic-class", &self.traffic_class),
        ]
    }

    /// What a port says comes before what its bundle or the box says.
    fn over(self, base: &Self) -> Self {
        let over = |own: Applied, base: &Applied| own.or_else(|| base.clone());
        Self {
            pfc: if self.pfc.is_said() { self.pfc } else { base.pfc },
            mtu: if self.mtu.is_said() { self.mtu } else { base.mtu },
            trust: over(self.trust, &base.trust),
            vlan: self.vlan.or(base.vlan),
            classify: over(self.classify, &base.classify),
            traffic_class: over(self.traffic_class, &base.traffic_class),
            network: over(self.network, &base.network),
            queuing: over(self.queuing, &base.queuing),
            channel: self.channel,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
