//! Reading Junos configuration, in either form.

use super::inherit::{inherit, is_pattern, is_port, matches};
use super::policy::Policies;
use super::resolve::Resolved;
use crate::device::{Balancing, Device, Guard, Port, PortName, RemarkKind};
use crate::number::Priorities;
use crate::place::{Place, Said};
use crate::qos::{GroupSettings, Reaction, WatchdogSettings};
use crate::system::{Input, SystemId};
use crate::text::description;
use crate::text::notes::{Notes, bytes, share, speed};
use crate::text::paths::read;
use crate::text::profiles::lossless;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use xoff_fabric::model::WatchdogAction;
use xoff_units::{Bytes, Span};

/// The MTU of a port that says none, Ethernet's header included (Juniper's interface guides: 1514 bytes
/// on every Ethernet interface).
const USUAL_MTU: Bytes = Bytes::new(1514);
/// Watchdog of a profile that says no times: two polls of 100 ms, 200 ms until the queue is back
/// (Juniper's CoS guide, PFC watchdog).
const USUAL_POLL_MS: u64 = 100;
const USUAL_POLLS: u64 = 2;
const USUAL_RECOVERY_MS: u64 = 200;

/// What a port, or all ports of a pattern, refer to.
#[derive(Debug, Clone, Default)]
pub(super) struct Bound {
    pub(super) classifier: Option<(String, Place)>,
    pub(super) vlan: Option<Place>,
    /// The class of everything that arrives.
    pub(super) fixed: Option<(String, Place)>,
    scheduler_map: Option<String>,
    pausing: Option<(String, Place)>,
}

impl Bound {
    /// What is said of a port itself comes before what a pattern says.
    fn over(&self, base: &Self) -> Self {
        Self {
            classifier: self.classifier.clone().or_else(|| base.classifier.clone()),
            vlan: self.vlan.or(base.vlan),
            fixed: self.fixed.clone().or_else(|| base.fixed.clone()),
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
        used: BTreeSet::new(),
        bundled: BTreeSet::new(),
        split: BTreeSet::new(),
    };
    if let Some(host) = found.prompts.first() {
        parser.device.name = (*host).to_owned();
    }
    for line in found.strange.iter().chain(&found.inactive) {
        parser.notes.mark(*line, RemarkKind::Foreign);
    }
    if let Some(line) = found.cut {
        parser.notes.mark(line, RemarkKind::Truncated);
    }
    let inherited = inherit(&found.statements);
    for line in &inherited.idle {
        parser.notes.mark(*line, RemarkKind::Foreign);
    }
    for line in &inherited.unknown {
        parser.notes.mark(*line, RemarkKind::Unknown);
    }
    let statements: Vec<(u32, Vec<&str>)> = (inherited.statements.iter())
        .map(|(line, words)| (*line, words.iter().map(AsRef::as_ref).collect()))
        .collect();
    // Classifiers may use names of code points that are defined behind them.
    for (_, words) in &statements {
        if let ["class-of-service", "code-point-aliases", "dscp", name, bits] = words[..] {
            parser.policies.alias(name, bits);
        }
    }
    for (line, words) in &statements {
        parser.statement(words, *line);
    }
    parser.finish()
}

struct Parser {
    device: Device,
    notes: Notes,
    policies: Policies,
    bound: BTreeMap<String, Bound>,
    /// Ports that are configured for more than their speed.
    used: BTreeSet<PortName>,
    /// Ports of an aggregate, which has their MTU.
    bundled: BTreeSet<PortName>,
    /// Ports that are split into channels: cages, not ports.
    split: BTreeSet<PortName>,
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
            ["vlans" | "bridge-domains" | "routing-instances", .., "vxlan", "vni", _] => {
                self.notes.mark(line, RemarkKind::Tunnel);
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
        if is_port(name) && !is_pattern(name) {
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
            ["unit", _, "forwarding-class", class] | ["forwarding-class", class] => {
                bound.fixed = Some(((*class).to_owned(), place));
            }
            ["unit", _, "rewrite-rules", "dscp", ..] | ["rewrite-rules", "dscp", ..] => {
                self.notes.mark(line, RemarkKind::Rewrite);
            }
            ["unit", _, "rewrite-rules", ..] | ["rewrite-rules", ..] => {}
            ["unit", _, "classifiers", kind, ..] | ["classifiers", kind, ..]
                if ["dscp-ipv6", "exp", "inet-precedence", "no-default"].contains(kind) =>
            {
                self.notes.mark(line, RemarkKind::Foreign);
            }
            ["unit", _, kind, ..] | [kind, ..] if ELSEWHERE.contains(kind) => {
                self.notes.mark(line, RemarkKind::Foreign);
            }
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
        // A port that has nothing but a speed and an empty family carries nothing.
        let idle = matches!(
            rest,
            [] | ["speed", _] | ["unit", _] | ["unit", _, "family", _] | ["disable"]
        );
        if !idle {
            self.used.insert(PortName::new(name));
        }
        if rest.contains(&"802.3ad") {
            self.bundled.insert(PortName::new(name));
        }
        match rest {
            ["number-of-sub-ports", _] => drop(self.split.insert(PortName::new(name))),
            ["mtu", mtu] => port.mtu = self.notes.said(line, bytes(mtu)),
            ["speed", word] | ["ether-options", "speed", word] => {
                if let Some(rate) = speed(word) {
                    port.rate = Said::At(rate, place);
                }
            }
            ["description", text @ ..] => {
                port.neighbour = Said::At(description::neighbour(&text.join(" ")), place);
            }
            ["disable"] => port.enabled = Said::At(false, place),
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        self.cages();
        self.policies.settle(&mut self.notes);
        let described = !self.used.is_empty();
        let names: Vec<PortName> = self.device.ports.keys().cloned().collect();
        let (mut maps_known, mut queues_known) = (Vec::new(), Vec::new());
        let mut groups_known: Vec<Arc<[GroupSettings; 8]>> = Vec::new();
        let numbers = self.policies.numbers();
        let resolved = Resolved::new(&self.policies, numbers);
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
                port.watchdog = watchdog(profile);
            }
            port.watchdog.on = port.watchdog.on.or_default(false);
            if described && self.used.contains(&name) && !self.bundled.contains(&name) {
                port.mtu = port.mtu.or_default(USUAL_MTU);
            }
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues.unwrap_or_default());
            let groups = groups(port, &self.policies);
            port.groups = share(&mut groups_known, groups);
        }
        self.device.own = std::mem::take(&mut self.policies.shares);
        self.device.remarks = self.notes.remarks;
        self.device
    }

    fn bound_of(&self, name: &str) -> Bound {
        let mut bound = self.bound.get(name).cloned().unwrap_or_default();
        let patterns = self.bound.iter().filter(|(pattern, _)| is_pattern(pattern));
        for (_, base) in patterns.filter(|(pattern, _)| matches(pattern, name)) {
            bound = bound.over(base);
        }
        bound
    }

    /// A port that is split is no port any more: its channels have its speed.
    fn cages(&mut self) {
        let channel = |name: &PortName| Some(PortName::new(name.as_str().split_once(':')?.0));
        let parents: Vec<PortName> = self.device.ports.keys().filter_map(channel).collect();
        self.split.extend(parents);
        for name in &self.split {
            let Some(cage) = self.device.ports.remove(name) else { continue };
            let Some(rate) = cage.rate.get() else { continue };
            let channels = self.device.ports.iter_mut();
            for (_, port) in channels.filter(|(own, _)| channel(own).as_ref() == Some(name)) {
                port.rate = port.rate.or_default(rate);
            }
        }
    }
}

/// What a port can say of class of service that is not about RoCE.
const ELSEWHERE: [&str; 9] = [
    "output-traffic-control-profile",
    "output-traffic-control-profile-remaining",
    "input-traffic-control-profile",
    "forwarding-class-set",
    "dedicated-buffer-profile",
    "shaping-rate",
    "exclude-queue-overhead-bytes",
    "translation-table",
    "loss-priority-maps",
];

/// What the box has once for all that is lossless: the threshold, and no headroom where its part of
/// the buffer is nothing.
fn groups(port: &Port, policies: &Policies) -> [GroupSettings; 8] {
    let mut groups = [GroupSettings::default(); 8];
    for group in lossless(port) {
        groups[group].threshold = policies.threshold;
        if policies.headroom.get() == Some(0) {
            groups[group].headroom = policies.headroom.map(Bytes::new);
        }
    }
    groups
}

fn watchdog(profile: &super::policy::Pausing) -> WatchdogSettings {
    let on = profile.watchdog;
    if on.get() != Some(true) {
        return WatchdogSettings { on, ..WatchdogSettings::default() };
    }
    let poll = profile.poll.get().unwrap_or(USUAL_POLL_MS);
    let polls = profile.polls.get().unwrap_or(USUAL_POLLS);
    let detect = Span::from_ms(poll * polls);
    WatchdogSettings {
        on,
        detect: match profile.poll.place().or(profile.polls.place()) {
            Some(place) => Said::At(detect, place),
            None => Said::Default(detect),
        },
        restore: profile.recovery.or_default(USUAL_RECOVERY_MS).map(Span::from_ms),
        reaction: profile.action.or_default(Reaction::Act(WatchdogAction::Drop)),
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
