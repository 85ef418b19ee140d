//! Reading EOS configuration.

use super::Eos;
use super::maps::Shared;
use super::policy::Policies;
use super::section::Section;
use super::vxlan::Vxlan;
use crate::device::{Balancing, Device, Port, RemarkKind};
use crate::number::Priorities;
use crate::place::{Place, Said};
use crate::qos::{Maps, Reaction, Trust, WatchdogSettings};
use crate::system::{Input, System};
use crate::text::interfaces::{Bindings, Interfaces};
use crate::text::notes::{Notes, access_list, bytes, seconds, share, speed};
use crate::text::outline::{Form, Statement, outline};
use crate::text::overlay::Member;
use crate::text::ports;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xoff_fabric::model::WatchdogAction;
use xoff_units::Bytes;

/// What the text says of one port or bundle of ports.
#[derive(Debug, Default, Clone)]
struct Own {
    profile: Option<(String, Place)>,
    /// The policy that sorts what arrives.
    policy: Option<(String, Place)>,
    section: Section,
    /// Whether it routes, where it says so.
    routed: Option<bool>,
    mtu: Said<Bytes>,
    /// The VLANs and the VRF it belongs to.
    member: Member,
    /// The bundle it belongs to.
    channel: Option<u32>,
    says_qos: bool,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let outline = outline(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, Eos.id()),
        notes: Notes::new(input.file),
        shared: Shared::default(),
        profiles: BTreeMap::new(),
        policies: Policies::default(),
        interfaces: Interfaces::default(),
        vxlan: Vxlan::default(),
        watchdog: WatchdogSettings::default(),
        mtu: Said::Absent,
        off: None,
    };
    if let Some((_, host)) = outline.prompts.first() {
        parser.device.name = (*host).to_owned();
    }
    for (line, comment) in &outline.comments {
        parser.comment(*line, comment);
    }
    for statement in &outline.statements {
        parser.top(statement);
    }
    parser.finish()
}

struct Parser {
    device: Device,
    notes: Notes,
    /// What all ports have in common: maps and buffers.
    shared: Shared,
    profiles: BTreeMap<String, Section>,
    policies: Policies,
    interfaces: Interfaces<Own>,
    vxlan: Vxlan,
    watchdog: WatchdogSettings,
    /// The MTU of ports that say none, where `interface defaults` says one.
    mtu: Said<Bytes>,
    /// Where PFC is turned off for all ports.
    off: Option<Place>,
}

/// First words of statements about QoS: what is not understood of them is worth a remark.
const QOS: [&str; 11] = [
    "qos",
    "priority-flow-control",
    "uc-tx-queue",
    "mc-tx-queue",
    "tx-queue",
    "random-detect",
    "service-profile",
    "service-policy",
    "load-balance",
    "flowcontrol",
    "shape",
];

impl Parser {
    /// `device: leaf0 (DCS-7060X6-64PE, EOS-4.32.2F)`.
    fn comment(&mut self, line: u32, comment: &str) {
        let Some(rest) = comment.strip_prefix("device:") else { return };
        let Some((name, box_and_version)) = rest.split_once('(') else { return };
        self.device.name = name.trim().to_owned();
        let mut parts = box_and_version.trim_end_matches(')').split(',').map(str::trim);
        let place = self.notes.line(line);
        if let Some(hardware) = parts.next() {
            self.device.hardware = Said::At(hardware.to_owned(), place);
        }
        if let Some(version) = parts.next() {
            self.device.version = Said::At(version.to_owned(), place);
        }
    }

    fn top(&mut self, statement: &Statement<'_>) {
        let place = self.notes.line(statement.line);
        let (form, words) = statement.form();
        match (form, &words[..]) {
            (Form::Plain, ["hostname", name]) => self.device.name = (*name).to_owned(),
            (Form::Plain, ["qos", "profile", name]) => {
                let section = self.profiles.entry((*name).to_owned()).or_default();
                for child in &statement.children {
                    section.read(child, &mut self.notes);
                }
            }
            (_, ["qos", "profile", name]) => drop(self.profiles.remove(*name)),
            (Form::Plain, ["interface", "defaults"]) => self.defaults(statement),
            (Form::Plain, ["interface", name])
                if name.to_ascii_lowercase().starts_with("vxlan") =>
            {
                self.vxlan.read(statement, &mut self.notes);
            }
            (form, ["interface", names @ ..]) => self.interface(form, names, statement),
            (form, ["qos", "map", map @ ..]) => {
                self.shared.map(form, map, statement, &mut self.notes);
                self.vxlan.rewrite(form, map, statement.line, &self.notes);
            }
            // How packets are rewritten, and what ECN does with those that cannot be marked.
            (Form::Plain, ["qos", "rewrite", "dscp", ..]) => {
                self.notes.mark(statement.line, RemarkKind::Rewrite);
            }
            (_, ["qos", "rewrite" | "random-detect", ..]) => {}
            (form, ["platform", "trident", "mmu", rest @ ..]) => {
                self.shared.mmu(form, rest, statement, &mut self.notes);
            }
            (form, ["priority-flow-control", "pause", "watchdog", rest @ ..]) => {
                self.global_watchdog(form, rest, statement);
            }
            (Form::Plain, ["priority-flow-control", "all", "off"]) => self.off = Some(place),
            (_, ["priority-flow-control", "all", ..]) => self.off = None,
            (form, ["ip", "hardware", "fib", "load-balance", "distribution", "dynamic", ..]) => {
                self.device.balancing = match form {
                    Form::Plain => Said::At(Balancing::Flowlet, place),
                    Form::No | Form::Default => Said::Absent,
                };
            }
            (_, ["hardware", "counter", "feature", "ecn", ..]) => {}
            (Form::Plain, ["ip" | "ipv6", "access-list", .., name]) => {
                access_list(name, statement, &mut self.device, &mut self.notes);
                self.policies.lists.read(name, statement);
            }
            (Form::Plain, words) if self.policies.read(words, statement, &mut self.notes) => {}
            (_, [first, ..]) if QOS.contains(first) => self.notes.unknown(statement),
            _ => self.notes.foreign(statement),
        }
    }

    /// What ports have that do not say otherwise.
    fn defaults(&mut self, statement: &Statement<'_>) {
        for child in &statement.children {
            match child.form() {
                (Form::Plain, words) if words.len() == 2 && words[0] == "mtu" => {
                    self.mtu = self.notes.said(child.line, bytes(words[1]));
                }
                _ => self.notes.foreign(child),
            }
        }
    }

    fn global_watchdog(&mut self, form: Form, words: &[&str], statement: &Statement<'_>) {
        let line = statement.line;
        let watchdog = &mut self.watchdog;
        match (form, words) {
            (Form::Plain, ["default", "timeout", time]) => {
                watchdog.detect = self.notes.said(line, seconds(time));
                watchdog.on = Said::At(true, self.notes.line(line));
            }
            (Form::Plain, ["default", "recovery-time", time, ..]) => {
                watchdog.restore = self.notes.said(line, seconds(time));
            }
            (Form::Plain, ["action", action] | ["default", "action", action]) => {
                watchdog.reaction = self.notes.said(line, reaction(action));
            }
            (_, ["default", "polling-interval", ..] | ["hardware"] | ["override", ..]) => {}
            (Form::No | Form::Default, ["default", "timeout", ..]) => {
                (watchdog.detect, watchdog.on) = (Said::Absent, Said::Absent);
            }
            (Form::No | Form::Default, ["default", "recovery-time", ..]) => {
                watchdog.restore = Said::Absent;
            }
            (Form::No | Form::Default, ["action", ..] | ["default", "action", ..]) => {
                watchdog.reaction = Said::Absent;
            }
            (Form::No | Form::Default, []) => *watchdog = WatchdogSettings::default(),
            _ => self.notes.unknown(statement),
        }
    }

    fn interface(&mut self, form: Form, names: &[&str], statement: &Statement<'_>) {
        let named = (form, ports::named(names, "Ethernet"));
        self.interfaces.read(named, statement, &mut self.device, &mut self.notes);
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        self.device.headroom_pool = self.shared.headroom_pool;
        self.device.tunnels = self.vxlan.settled();
        let (maps, groups) = self.shared.finish();
        let (maps, groups) = (Arc::new(maps), Arc::new(groups));
        self.policies.settle(&mut self.notes);
        let mut sorted = Vec::new();
        // A bundle whose ports are not in the text stands for them.
        for (number, own) in &self.interfaces.channels {
            let empty = !self.interfaces.ports.values().any(|port| port.channel == Some(*number));
            if empty && own.says_qos {
                self.interfaces.ports.insert(format!("Port-Channel{number}"), own.clone());
            }
        }
        let (mut told, mut missing) = (BTreeSet::new(), BTreeSet::new());
        let mut queues = Vec::new();
        for (name, own) in std::mem::take(&mut self.interfaces.ports) {
            let own = match own.channel.and_then(|number| self.interfaces.channels.get(&number)) {
                Some(channel) => own.in_channel(channel),
                None => own,
            };
            let mut section = self.section_of(&own, &mut missing);
            let own_maps = match self.sorted(&own, &maps, &mut section, &mut missing) {
                Some(changed) => share(&mut sorted, changed),
                None => Arc::clone(&maps),
            };
            let port = self.device.port(&name);
            port.tunnelled = Said::Default(self.vxlan.carries(&own.member));
            port.maps = own_maps;
            port.groups = Arc::clone(&groups);
            let usual = if own.routed == Some(true) { Trust::Dscp } else { Trust::Pcp };
            port.trust = section.trust.or_default(usual);
            port.pfc = match self.off {
                Some(place) => Said::At(Priorities::NONE, place),
                None => section.pfc(),
            };
            port.watchdog = section.watchdog_with(&self.watchdog);
            let said = if own.mtu.is_said() { own.mtu } else { self.mtu };
            port.mtu = said.or_default(super::default_mtu(own.routed));
            let turns = section.queues(port.rate.get(), &mut self.notes, &mut told);
            port.queues = share(&mut queues, turns);
        }
        self.notes.remarks.sort_by_key(|remark| remark.place);
        self.device.remarks = self.notes.remarks;
        self.device
    }
}

impl Parser {
    /// What a port's profile says, and the port itself on top of it. A profile that is not there says nothing.
    fn section_of(&mut self, own: &Own, missing: &mut BTreeSet<String>) -> Section {
        let profile = own.profile.as_ref();
        let base = profile.and_then(|(name, _)| self.profiles.get(name)).cloned();
        if let (None, Some((name, place))) = (&base, profile)
            && missing.insert(name.clone())
        {
            self.notes.mark(place.first, RemarkKind::Malformed);
        }
        base.unwrap_or_default().overlaid(&own.section)
    }

    /// The maps of a port, changed by its policy if it has one. What is sorted by DSCP is as good as trusted.
    fn sorted(
        &mut self,
        own: &Own,
        maps: &Maps,
        section: &mut Section,
        missing: &mut BTreeSet<String>,
    ) -> Option<Maps> {
        let (policy, place) = own.policy.as_ref()?;
        let mut changed = maps.clone();
        match self.policies.apply(policy, &mut changed) {
            Some(true) => section.trust = Said::At(Trust::Dscp, *place),
            Some(false) => {}
            // What is not there sorts nothing.
            None => {
                if missing.insert(policy.clone()) {
                    self.notes.mark(place.first, RemarkKind::Malformed);
                }
                return None;
            }
        }
        Some(changed)
    }
}

impl Bindings for Own {
    fn read_port(&mut self, statement: &Statement<'_>, port: &mut Port, notes: &mut Notes) {
        for child in &statement.children {
            let place = notes.line(child.line);
            match child.form() {
                (Form::Plain, words) if words[..].starts_with(&["description"]) => {
                    let said = ports::neighbour(&child.text["description".len()..]);
                    port.neighbour = Said::At(said, place);
                }
                (form, words) => match (form, &words[..]) {
                    (Form::Plain, ["speed", words @ ..]) => {
                        if let Some(rate) = words.iter().find_map(|word| speed(word)) {
                            port.rate = Said::At(rate, place);
                        }
                    }
                    (_, ["speed", ..]) => port.rate = Said::Absent,
                    (_, ["description", ..]) => port.neighbour = Said::Absent,
                    (Form::Plain, ["shutdown"]) => port.enabled = Said::At(false, place),
                    (_, ["shutdown"]) => port.enabled = Said::At(true, place),
                    _ if self.read(child, notes) => {}
                    _ => notes.foreign(child),
                },
            }
        }
    }

    fn read(&mut self, statement: &Statement<'_>, notes: &mut Notes) -> bool {
        let line = statement.line;
        let (form, words) = statement.form();
        self.member.read(form, &words);
        match (form, &words[..]) {
            (Form::Plain, ["mtu", mtu]) => self.mtu = notes.said(line, bytes(mtu)),
            (_, ["mtu", ..]) => self.mtu = Said::Absent,
            // What switched packets may have, where it is not the box's own.
            (Form::Plain, ["l2", "mtu", mtu]) if !self.mtu.is_said() => {
                self.mtu = notes.said(line, bytes(mtu));
            }
            (_, ["l2", "mtu", ..]) => {}
            (Form::No, ["switchport"]) => self.routed = Some(true),
            (Form::Plain, ["switchport", ..]) => {
                self.routed = self.routed.or(Some(false));
                return false;
            }
            (Form::Plain, ["channel-group", number, ..]) => {
                self.channel = number.parse().ok();
                return false;
            }
            (_, ["channel-group", ..]) => self.channel = None,
            (Form::Plain, ["service-profile", name]) => {
                self.profile = Some(((*name).to_owned(), notes.line(line)));
                self.says_qos = true;
            }
            (_, ["service-profile", ..]) => self.profile = None,
            (_, ["service-policy", "type", "qos", "input", name])
            | (_, ["service-policy", "input", name]) => {
                let said = ((*name).to_owned(), notes.line(line));
                self.policy = (form == Form::Plain).then_some(said);
                self.says_qos = true;
            }
            (_, [first, ..]) if QOS.contains(first) => {
                self.section.read(statement, notes);
                self.says_qos = true;
            }
            _ => return false,
        }
        true
    }
}

impl Own {
    /// A port that belongs to a bundle has what the bundle says.
    fn in_channel(self, channel: &Own) -> Own {
        Own {
            profile: self.profile.or_else(|| channel.profile.clone()),
            policy: self.policy.or_else(|| channel.policy.clone()),
            section: channel.section.overlaid(&self.section),
            routed: channel.routed.or(self.routed),
            member: channel.member.clone(),
            mtu: if self.mtu.is_said() { self.mtu } else { channel.mtu },
            ..self
        }
    }
}

pub(super) fn reaction(word: &str) -> Option<Reaction> {
    match word {
        "drop" => Some(Reaction::Act(WatchdogAction::Drop)),
        "no-drop" => Some(Reaction::Act(WatchdogAction::Forward)),
        "notify-only" => Some(Reaction::Alert),
        _ => None,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
