//! Reading NX-OS configuration.

use super::policy::Policies;
use super::{NxOs, own_numbers};
use crate::device::{Balancing, Device, Neighbour};
use crate::number::{Group, Priorities, Queue};
use crate::place::{Place, Said};
use crate::qos::{Maps, Trust};
use crate::system::{Input, System};
use crate::text::notes::{Notes, access_list, bytes, share, speed};
use crate::text::outline::{Statement, outline};
use std::collections::BTreeMap;

/// What a port refers to.
#[derive(Debug, Default)]
struct Bindings {
    pfc: Said<bool>,
    classify: Option<(String, Place)>,
    queuing: Option<(String, Place)>,
    input: Option<(String, Place)>,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let outline = outline(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, NxOs.id()),
        notes: Notes::new(input.file),
        policies: Policies::default(),
        ports: BTreeMap::new(),
        system: Bindings::default(),
        network: None,
        balanced: Vec::new(),
    };
    if let Some((_, host)) = outline.prompts.first() {
        parser.device.name = (*host).to_owned();
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
    ports: BTreeMap<String, Bindings>,
    /// What holds for all ports that do not say otherwise.
    system: Bindings,
    network: Option<(String, Place)>,
    balanced: Vec<(String, Place)>,
}

impl Parser {
    fn top(&mut self, statement: &Statement<'_>) {
        let place = self.notes.line(statement.line);
        match statement.words()[..] {
            ["hostname" | "switchname", name] => self.device.name = name.to_owned(),
            ["version", version, ..] => self.device.version = Said::At(version.to_owned(), place),
            ["class-map", "type", "qos", .., name] => {
                self.policies.class_map(name, statement, &mut self.notes);
            }
            ["class-map", "type", "network-qos" | "queuing", ..] => {}
            ["policy-map", "type", "qos", name] => {
                self.policies.classify(name, statement, &mut self.notes);
            }
            ["policy-map", "type", "network-qos", name] => {
                self.policies.network(name, statement, &mut self.notes);
            }
            ["policy-map", "type", "queuing", name] => {
                self.policies.queuing(name, statement, &mut self.notes);
            }
            ["system", "qos"] => self.system_qos(statement),
            ["priority-flow-control", "watch-dog-interval" | "watch-dog", ..]
            | ["priority-flow-control", "fixed-restore" | "auto-restore", ..] => {}
            ["hardware", "profile", "dlb"] => self.dlb(statement),
            ["ip", "access-list", name] => {
                access_list(name, statement, &mut self.device, &mut self.notes)
            }
            ["interface", name] => self.interface(name, statement),
            ["class-map" | "policy-map" | "priority-flow-control" | "qos", ..] => {
                self.notes.unknown(statement);
            }
            _ => self.notes.foreign(statement),
        }
    }

    fn system_qos(&mut self, statement: &Statement<'_>) {
        for child in &statement.children {
            let place = self.notes.line(child.line);
            match child.words()[..] {
                ["service-policy", "type", "network-qos", name] => {
                    self.network = Some((name.to_owned(), place));
                }
                ["service-policy", "type", "queuing", "output", name] => {
                    self.system.queuing = Some((name.to_owned(), place));
                }
                ["service-policy", "type", "queuing", "input", name] => {
                    self.system.input = Some((name.to_owned(), place));
                }
                ["service-policy", "type", "qos", "input", name] => {
                    self.system.classify = Some((name.to_owned(), place));
                }
                _ => self.notes.unknown(child),
            }
        }
    }

    fn dlb(&mut self, statement: &Statement<'_>) {
        for child in &statement.children {
            let place = self.notes.line(child.line);
            match child.words()[..] {
                ["dlb-interface", ref lists @ ..] => {
                    let names = lists.iter().flat_map(|list| list.split(','));
                    let full = |name: &str| match name.strip_prefix("Eth") {
                        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
                            format!("Ethernet{rest}")
                        }
                        _ => name.to_owned(),
                    };
                    self.balanced.extend(names.map(|name| (full(name), place)));
                }
                ["mode", "flowlet" | "policy-driven", ..] => {
                    self.device.balancing = Said::At(Balancing::Flowlet, place);
                }
                ["mode", "per-packet", ..] => {
                    self.device.balancing = Said::At(Balancing::Packet, place);
                }
                ["mac-address" | "flowlet-aging" | "dre-thresholds" | "static-pinning", ..] => {}
                _ => self.notes.unknown(child),
            }
        }
    }

    fn interface(&mut self, name: &str, statement: &Statement<'_>) {
        let ethernet = name.starts_with("Ethernet");
        if !ethernet {
            self.notes.foreign(statement);
            return;
        }
        // A port may be described in several places: each adds to the others.
        let mut bindings = self.ports.remove(name).unwrap_or_default();
        let whole = self.notes.whole(statement);
        self.device.port(name).place = Some(whole);
        for child in &statement.children {
            let place = self.notes.line(child.line);
            match child.words()[..] {
                ["mtu", mtu] => {
                    let said = self.notes.said(child.line, bytes(mtu));
                    self.device.port(name).mtu = said;
                }
                ["speed", word] => {
                    if let Some(rate) = speed(word) {
                        self.device.port(name).rate = Said::At(rate, place);
                    }
                }
                ["description", ..] => {
                    let device = child.text["description".len()..].trim().to_owned();
                    self.device.port(name).neighbour =
                        Said::At(Neighbour { device, port: None }, place);
                }
                ["shutdown"] => self.device.port(name).enabled = Said::At(false, place),
                ["no", "shutdown"] => self.device.port(name).enabled = Said::At(true, place),
                ["priority-flow-control", "mode", word] => {
                    bindings.pfc = Said::At(word == "on", place);
                }
                ["priority-flow-control", "watch-dog-interval", word] => {
                    self.device.port(name).watchdog.on = Said::At(word == "on", place);
                }
                ["service-policy", "type", "qos", "input", policy]
                | ["service-policy", "input", policy] => {
                    bindings.classify = Some((policy.to_owned(), place));
                }
                ["service-policy", "type", "queuing", "output", policy] => {
                    bindings.queuing = Some((policy.to_owned(), place));
                }
                ["service-policy", "type", "queuing", "input", policy] => {
                    bindings.input = Some((policy.to_owned(), place));
                }
                ["service-policy" | "priority-flow-control" | "qos", ..] => {
                    self.notes.unknown(child);
                }
                _ => self.notes.foreign(child),
            }
        }
        self.ports.insert(name.to_owned(), bindings);
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        let network = self.network.as_ref().and_then(|(name, _)| self.policies.network.get(name));
        let pauses = network.map_or(&[][..], |network| &network.pauses);
        let priorities: Priorities = pauses.iter().filter_map(|(_, cos)| cos.get()).collect();
        let pause_place = pauses.iter().find_map(|(_, cos)| cos.place());
        let (mut maps_known, mut queues_known, mut groups_known) = (vec![], vec![], vec![]);
        for (name, own) in std::mem::take(&mut self.ports) {
            let mut maps = Maps::default();
            let bound = own.classify.as_ref().or(self.system.classify.as_ref());
            let classified =
                bound.and_then(|(name, place)| Some((self.policies.classified(name)?, *place)));
            let trust = match classified {
                Some((classified, place)) => {
                    maps.dscp_to_class = classified.classes;
                    Said::At(classified.trust, place)
                }
                None => Said::Default(Trust::Nothing),
            };
            maps.unmatched_in_class_0();
            own_numbers(&mut maps);
            for (class, cos) in pauses {
                let Some((cos, place)) = cos.get().zip(cos.place()) else { continue };
                if let Some(queue) = Queue::new(class.get()) {
                    maps.pfc_to_queue[cos.index()] = Said::At(queue, place);
                }
                if let Some(group) = Group::new(class.get()) {
                    maps.pfc_to_group[cos.index()] = Said::At(group, place);
                }
            }
            let queues = own.queuing.as_ref().or(self.system.queuing.as_ref());
            let queues = queues.and_then(|(name, _)| self.policies.queuing.get(name));
            let groups = own.input.as_ref().or(self.system.input.as_ref());
            let groups = groups.and_then(|(name, _)| self.policies.input.get(name));
            let port = self.device.port(&name);
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues.copied().unwrap_or_default());
            port.groups = share(&mut groups_known, groups.copied().unwrap_or_default());
            port.pfc = match own.pfc {
                Said::At(true, place) => Said::At(priorities, pause_place.unwrap_or(place)),
                Said::At(false, place) => Said::At(Priorities::NONE, place),
                _ => Said::Default(Priorities::NONE),
            };
            port.watchdog.on = port.watchdog.on.or_default(false);
            let balanced = self.balanced.iter().find(|(other, _)| *other == name);
            port.balancing = match balanced {
                Some((_, place)) => Said::At(true, *place),
                None => Said::Default(false),
            };
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }
}
