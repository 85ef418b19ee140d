//! Reading NX-OS configuration.

use super::policy::Policies;
use super::{DEFAULT_MTU, NxOs, own_numbers};
use crate::device::{Balancing, Device, Port, RemarkKind};
use crate::number::{Group, Priorities, Queue};
use crate::place::{Place, Said};
use crate::qos::{Maps, Trust};
use crate::system::{Input, System};
use crate::text::interfaces::{self, Interfaces};
use crate::text::notes::{Notes, access_list, bytes, share, speed};
use crate::text::outline::{Form, Statement, join, outline};
use crate::text::ports::{self, Named};
use std::collections::BTreeSet;
use xoff_units::Bytes;

/// A policy that is applied, and where that is said.
type Applied = Option<(String, Place)>;

/// What a port, a bundle of ports or the box refers to.
#[derive(Debug, Clone, Default)]
struct Bindings {
    pfc: Said<bool>,
    mtu: Said<Bytes>,
    classify: Applied,
    queuing: Applied,
    input: Applied,
    network: Applied,
    /// The bundle it belongs to.
    channel: Option<u32>,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let mut outline = outline(input.text);
    join(&mut outline.statements, &["class-map ", "policy-map "]);
    let mut parser = Parser {
        device: Device::new(input.name, NxOs.id()),
        notes: Notes::new(input.file),
        policies: Policies::default(),
        interfaces: Interfaces::default(),
        system: Bindings::default(),
        watchdog: Said::Absent,
        balanced: Vec::new(),
    };
    if let Some((_, host)) = outline.prompts.first() {
        parser.device.name = (*host).to_owned();
    }
    // Policies name classes, wherever those are defined.
    let classes = |statement: &&Statement<'_>| statement.text.starts_with("class-map ");
    for statement in outline.statements.iter().filter(classes) {
        parser.class_map(statement);
    }
    for statement in outline.statements.iter().filter(|statement| !classes(statement)) {
        parser.top(statement);
    }
    parser.finish()
}

struct Parser {
    device: Device,
    notes: Notes,
    policies: Policies,
    interfaces: Interfaces<Bindings>,
    /// What holds for all ports that do not say otherwise.
    system: Bindings,
    watchdog: Said<bool>,
    balanced: Vec<(String, Place)>,
}

impl Parser {
    fn class_map(&mut self, statement: &Statement<'_>) {
        match statement.words()[..] {
            ["class-map", "type", "qos", .., name]
            | ["class-map", "match-any" | "match-all", name]
            | ["class-map", name] => self.policies.class_map(name, statement, &mut self.notes),
            ["class-map", "type", kind @ ("network-qos" | "queuing"), .., name] => {
                self.policies.own_class(kind, name, statement, &mut self.notes);
            }
            ["class-map", "type", "control-plane" | "traffic" | "plc" | "psp", ..] => {
                self.notes.foreign(statement);
            }
            _ => self.notes.unknown(statement),
        }
    }

    fn top(&mut self, statement: &Statement<'_>) {
        let place = self.notes.line(statement.line);
        let (form, words) = statement.form();
        let (policies, notes) = (&mut self.policies, &mut self.notes);
        match (form, &words[..]) {
            (Form::Plain, ["hostname" | "switchname", name]) => {
                self.device.name = (*name).to_owned();
            }
            (Form::Plain, ["version", version, ..]) => {
                self.device.version = Said::At((*version).to_owned(), place);
            }
            (Form::Plain, ["policy-map", "type", "qos", name] | ["policy-map", name]) => {
                policies.classify(name, statement, notes);
            }
            (Form::Plain, ["policy-map", "type", "network-qos", name]) => {
                policies.network(name, statement, notes);
            }
            (Form::Plain, ["policy-map", "type", "queuing", name]) => {
                policies.queuing(name, statement, notes);
            }
            (_, ["policy-map", "type", "control-plane" | "plc" | "psp", ..]) => {
                notes.foreign(statement);
            }
            // What was defined above it is gone with it already.
            (Form::No, ["policy-map" | "class-map", ..]) => {}
            (Form::Plain, ["system", "qos"]) => {
                for child in &statement.children {
                    if !self.system.policy(child, &self.notes) {
                        self.notes.unknown(child);
                    }
                }
            }
            (_, ["priority-flow-control", words @ ..]) => self.watch(form, words, statement),
            (Form::Plain, ["hardware", "profile", "dlb"]) => self.dlb(statement),
            (_, ["hardware", "profile", "dlb"]) => {
                self.device.balancing = Said::Absent;
                self.balanced.clear();
            }
            // Statistics of queues, and which queues multicast takes.
            (_, ["qos", "statistics" | "shared-policer", ..]) => notes.foreign(statement),
            (Form::Plain, ["ip", "access-list", name]) => {
                policies.lists.read(name, statement);
                access_list(name, statement, &mut self.device, notes);
            }
            (Form::Plain, ["interface", name]) if name.to_ascii_lowercase().starts_with("nve") => {
                notes.foreign(statement);
                let carries =
                    |child: &&Statement<'_>| child.words().starts_with(&["member", "vni"]);
                if let Some(child) = statement.children.iter().find(carries) {
                    notes.mark(child.line, RemarkKind::Tunnel);
                }
            }
            (form, ["interface", names @ ..]) => self.interface(form, names, statement),
            (_, ["policy-map" | "qos", ..]) => notes.unknown(statement),
            _ => notes.foreign(statement),
        }
    }

    /// The watchdog of all ports that do not say otherwise; its times are not in the model.
    fn watch(&mut self, form: Form, words: &[&str], statement: &Statement<'_>) {
        match (form, words) {
            (Form::Plain, ["watch-dog-interval", word]) => {
                self.watchdog = Said::At(*word != "off", self.notes.line(statement.line));
            }
            (_, ["watch-dog-interval", ..]) => self.watchdog = Said::Absent,
            (_, ["watch-dog" | "fixed-restore" | "auto-restore" | "recover", ..]) => {}
            _ => self.notes.unknown(statement),
        }
    }

    fn dlb(&mut self, statement: &Statement<'_>) {
        for child in &statement.children {
            let place = self.notes.line(child.line);
            let (form, words) = child.form();
            match (form, &words[..]) {
                (Form::Plain, ["dlb-interface", lists @ ..]) => {
                    match ports::named(lists, "Ethernet") {
                        Named::Ports(names) => {
                            self.balanced.extend(names.into_iter().map(|name| (name, place)));
                        }
                        _ => self.notes.mark(child.line, RemarkKind::Malformed),
                    }
                }
                (_, ["dlb-interface", lists @ ..]) => {
                    if let Named::Ports(names) = ports::named(lists, "Ethernet") {
                        self.balanced.retain(|(name, _)| !names.contains(name));
                    }
                }
                (Form::Plain, ["mode", "flowlet" | "policy-driven", ..]) => {
                    self.device.balancing = Said::At(Balancing::Flowlet, place);
                }
                (Form::Plain, ["mode", "per-packet", ..]) => {
                    self.device.balancing = Said::At(Balancing::Packet, place);
                }
                (Form::No | Form::Default, ["mode", ..]) => self.device.balancing = Said::Absent,
                (
                    _,
                    ["mac-address" | "flowlet-aging" | "dre-thresholds" | "static-pinning", ..],
                ) => {}
                _ => self.notes.unknown(child),
            }
        }
    }

    fn interface(&mut self, form: Form, names: &[&str], statement: &Statement<'_>) {
        let named = (form, ports::named(names, "Ethernet"));
        self.interfaces.read(named, statement, &mut self.device, &mut self.notes);
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        self.policies.settle(&mut self.notes);
        let mut told = BTreeSet::new();
        let mut missing = Missing::default();
        let applied = self.system.network.clone();
        let network = applied.as_ref().and_then(|(name, _)| self.policies.network.get(name));
        missing.remark(&applied, network.is_some(), &mut self.notes);
        let network = network.cloned().unwrap_or_default();
        let pauses = network.pauses;
        let priorities: Priorities =
            pauses.iter().filter_map(|pause| pause.priority.get()).collect();
        let pause_place = pauses.iter().find_map(|pause| pause.priority.place());
        let (mut maps_known, mut queues_known, mut groups_known) = (vec![], vec![], vec![]);
        // It takes the statement of the box and that of the port. Where no port says it, the box speaks for all.
        let singly = self.device.ports.values().any(|port| port.watchdog.on.said() == Some(&true));
        for (name, own) in std::mem::take(&mut self.interfaces.ports) {
            let own = match own.channel.and_then(|number| self.interfaces.channels.get(&number)) {
                Some(channel) => own.over(channel),
                None => own,
            };
            let mtu = if own.mtu.is_said() { own.mtu } else { network.mtu };
            let own = own.over(&self.system);
            let mut maps = Maps::default();
            let bound = own.classify.as_ref();
            let classified =
                bound.and_then(|(name, place)| Some((self.policies.classified(name)?, *place)));
            missing.remark(&own.classify, classified.is_some(), &mut self.notes);
            let trust = match classified {
                Some((classified, place)) => {
                    maps.dscp_to_class = classified.classes;
                    Said::At(classified.trust, place)
                }
                None => Said::Default(Trust::Nothing),
            };
            maps.unmatched_in_class_0();
            own_numbers(&mut maps);
            for pause in &pauses {
                let Some((cos, place)) = pause.priority.get().zip(pause.priority.place()) else {
                    continue;
                };
                if let Some(queue) = Queue::new(pause.class.get()) {
                    maps.pfc_to_queue[cos.index()] = Said::At(queue, place);
                }
                maps.pfc_to_group[cos.index()] = match Group::new(pause.class.get()) {
                    Some(group) if pause.sends => Said::At(group, place),
                    _ => Said::Absent,
                };
            }
            let port = self.device.port(&name);
            let rate = port.rate.get();
            let queues = own
                .queuing
                .as_ref()
                .and_then(|(name, _)| self.policies.queues(name, rate, &mut self.notes, &mut told));
            missing.remark(&own.queuing, queues.is_some(), &mut self.notes);
            let groups = own.input.as_ref().and_then(|(name, _)| self.policies.input.get(name));
            missing.remark(&own.input, groups.is_some(), &mut self.notes);
            port.trust = trust;
            port.mtu = mtu.or_default(DEFAULT_MTU);
            if network.paused_mtu.is_said() && network.paused_mtu.get() < port.mtu.get() {
                port.mtu = network.paused_mtu;
            }
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues.unwrap_or_default());
            port.groups = share(&mut groups_known, groups.copied().unwrap_or_default());
            port.pfc = match own.pfc {
                Said::At(true, place) => Said::At(priorities, pause_place.unwrap_or(place)),
                Said::At(false, place) => Said::At(Priorities::NONE, place),
                _ => Said::Default(Priorities::NONE),
            };
            if !port.watchdog.on.is_said() {
                port.watchdog.on = match singly {
                    true => Said::Default(false),
                    false => self.watchdog.or_default(false),
                };
            }
            let balanced = self.balanced.iter().find(|(other, _)| *other == name);
            port.balancing = match balanced {
                Some((_, place)) => Said::At(true, *place),
                None => Said::Default(false),
            };
        }
        self.notes.remarks.sort_by_key(|remark| remark.place);
        self.device.remarks = self.notes.remarks;
        self.device
    }
}

/// Policies that are applied and are not there: they do nothing.
#[derive(Default)]
struct Missing(BTreeSet<String>);

impl Missing {
    /// Remarks the first place that applies one. The box's own are not in the text.
    fn remark(&mut self, applied: &Applied, found: bool, notes: &mut Notes) {
        let Some((name, place)) = applied.as_ref().filter(|_| !found) else { return };
        if !name.starts_with("default-") && self.0.insert(name.clone()) {
            notes.mark(place.first, RemarkKind::Malformed);
        }
    }
}

impl interfaces::Bindings for Bindings {
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
                (Form::Plain, ["priority-flow-control", "watch-dog-interval", word, ..]) => {
                    port.watchdog.on = Said::At(*word != "off", place);
                }
                (_, ["priority-flow-control", "watch-dog-interval", ..]) => {
                    port.watchdog.on = Said::Absent;
                }
                (_, ["priority-flow-control", "watch-dog", ..]) => {}
                _ if self.read(child, notes) => {}
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
            (Form::Plain, ["priority-flow-control", "mode", word @ ("on" | "off" | "auto")])
            | (
                Form::Plain,
                ["priority-flow-control", "mode", word @ ("on" | "off" | "auto"), "send-tlv"],
            ) => self.pfc = Said::At(*word == "on", place),
            (Form::No, ["priority-flow-control"] | ["priority-flow-control", "mode", ..]) => {
                self.pfc = Said::At(false, place);
            }
            (Form::Default, ["priority-flow-control"] | ["priority-flow-control", "mode", ..]) => {
                self.pfc = Said::Absent;
            }
            (_, ["service-policy", ..]) if self.policy(statement, notes) => {}
            // Pauses of the whole port, and what packets without a VLAN tag get.
            (_, ["flowcontrol", ..] | ["untagged", "cos", ..]) => {}
            (_, ["service-policy" | "priority-flow-control" | "qos", ..]) => {
                notes.unknown(statement);
            }
            _ => return false,
        }
        true
    }
}

impl Bindings {
    /// A policy that is applied or taken away; false if it is something else.
    fn policy(&mut self, statement: &Statement<'_>, notes: &Notes) -> bool {
        let (form, words) = statement.form();
        let words: Vec<&str> = words.into_iter().filter(|word| *word != "no-stats").collect();
        let (applied, name) = match words[..] {
            ["service-policy", "type", "qos", "input", ref name @ ..]
            | ["service-policy", "input", ref name @ ..] => (&mut self.classify, name),
            ["service-policy", "type", "queuing", "output", ref name @ ..] => {
                (&mut self.queuing, name)
            }
            ["service-policy", "type", "queuing", "input", ref name @ ..] => {
                (&mut self.input, name)
            }
            ["service-policy", "type", "network-qos", ref name @ ..] => (&mut self.network, name),
            // Rewrites on the way out change no class.
            ["service-policy", "type", "qos", "output", ..] => return true,
            _ => return false,
        };
        *applied = match (form, name) {
            (Form::Plain, [name]) => Some(((*name).to_owned(), notes.line(statement.line))),
            (Form::No | Form::Default, [] | [_]) => None,
            _ => return false,
        };
        true
    }

    /// What a port says comes before what its bundle or the box says.
    fn over(self, base: &Self) -> Self {
        let over = |own: Applied, base: &Applied| own.or_else(|| base.clone());
        Self {
            pfc: if self.pfc.is_said() { self.pfc } else { base.pfc },
            mtu: if self.mtu.is_said() { self.mtu } else { base.mtu },
            classify: over(self.classify, &base.classify),
            queuing: over(self.queuing, &base.queuing),
            input: over(self.input, &base.input),
            network: over(self.network, &base.network),
            channel: self.channel,
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
