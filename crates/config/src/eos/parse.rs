//! Reading EOS configuration.

use super::Eos;
use crate::device::{Balancing, Device, Neighbour, Port, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Priority, Queue};
use crate::place::Said;
use crate::qos::{
    GroupSettings, Levels, Maps, QueueSettings, Reaction, Trust, WatchdogSettings, Wred,
};
use crate::system::{Input, System};
use crate::text::notes::{Notes, access_list, bytes, seconds, share, size, speed};
use crate::text::outline::{Statement, outline};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::{Ecn, Scheduling, Threshold, WatchdogAction};
use xoff_units::{Bytes, Ratio};

/// What a profile or a port says.
#[derive(Debug, Clone, Default)]
struct Section {
    trust: Said<Trust>,
    pfc_on: Said<bool>,
    priorities: Said<Priorities>,
    watchdog: WatchdogSettings,
    queues: [QueueSettings; 8],
}

/// What the text says of one port.
#[derive(Debug, Default)]
struct Own {
    profile: Option<String>,
    section: Section,
    routed: bool,
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let outline = outline(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, Eos.id()),
        notes: Notes::new(input.file),
        maps: Maps::default(),
        groups: [GroupSettings::default(); 8],
        mmu: BTreeMap::new(),
        profiles: BTreeMap::new(),
        ports: BTreeMap::new(),
        watchdog: WatchdogSettings::default(),
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
    maps: Maps,
    groups: [GroupSettings; 8],
    mmu: BTreeMap<String, [GroupSettings; 8]>,
    profiles: BTreeMap<String, Section>,
    ports: BTreeMap<String, Own>,
    watchdog: WatchdogSettings,
}

/// First words of statements about QoS: what is not understood of them is worth a remark.
const QOS: [&str; 10] = [
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
        match statement.words()[..] {
            ["hostname", name] => self.device.name = name.to_owned(),
            ["qos", "profile", name] => {
                let section = self.section(&statement.children);
                let known = self.profiles.entry(name.to_owned()).or_default();
                *known = known.overlaid(&section);
            }
            ["interface", name] => self.interface(name, statement),
            ["interface", kind, number] => self.interface(&format!("{kind}{number}"), statement),
            ["qos", "map", ref map @ ..] => self.map(statement, map),
            ["platform", "trident", "mmu", ref rest @ ..] => self.mmu(statement, rest),
            ["priority-flow-control", "pause", "watchdog", ref rest @ ..] => {
                self.global_watchdog(statement, rest);
            }
            ["ip", "hardware", "fib", "load-balance", "distribution", "dynamic", ..] => {
                let place = self.notes.line(statement.line);
                self.device.balancing = Said::At(Balancing::Flowlet, place);
            }
            ["hardware", "counter", "feature", "ecn", ..] => {}
            ["ip" | "ipv6", "access-list", .., name] => {
                access_list(name, statement, &mut self.device, &mut self.notes);
            }
            [first, ..] if QOS.contains(&first) => self.notes.unknown(statement),
            _ => self.notes.foreign(statement),
        }
    }

    fn map(&mut self, statement: &Statement<'_>, words: &[&str]) {
        let line = statement.line;
        match words {
            ["dscp", dscps @ .., "to", "traffic-class", class] => {
                let class = Class::read(class);
                let words = dscps.iter().flat_map(|word| word.split(',')).filter(|w| !w.is_empty());
                for word in words {
                    let Some((dscp, class)) = Dscp::named(word).zip(class) else {
                        self.notes.mark(line, RemarkKind::Malformed);
                        continue;
                    };
                    self.maps.dscp_to_class[dscp.index()] = Said::At(class, self.notes.line(line));
                }
            }
            ["traffic-class", classes @ .., "to", "tx-queue" | "uc-tx-queue", queue] => {
                for class in classes {
                    let Some((class, queue)) = Class::read(class).zip(Queue::read(queue)) else {
                        self.notes.mark(line, RemarkKind::Malformed);
                        continue;
                    };
                    self.maps.class_to_queue[class.index()] =
                        Said::At(queue, self.notes.line(line));
                }
            }
            // Rewriting and VLAN priorities: known, and nothing RoCE depends on.
            ["traffic-class", .., "to", "dscp" | "cos" | "mc-tx-queue", _] => {}
            ["cos", .., "to", "traffic-class", _] => {}
            _ => self.notes.unknown(statement),
        }
    }

    fn mmu(&mut self, statement: &Statement<'_>, words: &[&str]) {
        let line = statement.line;
        match words {
            ["queue", "profile", name, "apply"] => match self.mmu.get(*name) {
                Some(groups) => self.groups = *groups,
                // It may be defined further down.
                None => {
                    let groups = self.mmu.entry(format!("{name} apply")).or_default();
                    let _ = groups;
                }
            },
            ["queue", "profile", name] => {
                let mut groups = [GroupSettings::default(); 8];
                for child in &statement.children {
                    self.mmu_group(child, &mut groups);
                }
                self.mmu.insert((*name).to_owned(), groups);
            }
            ["headroom-pool", "limit", "bytes", limit] => {
                self.device.headroom_pool = self.notes.said(line, bytes(limit));
            }
            _ => self.notes.unknown(statement),
        }
    }

    fn mmu_group(&mut self, statement: &Statement<'_>, groups: &mut [GroupSettings; 8]) {
        let line = statement.line;
        let words = statement.words();
        let number = words.get(2).and_then(|word| word.parse::<usize>().ok());
        let group = number.and_then(|number| groups.get_mut(number));
        match (&words[..], group) {
            (["ingress", "priority-group", _, "reserved", "bytes", size], Some(group)) => {
                group.reserved = self.notes.said(line, bytes(size));
            }
            (["ingress", "priority-group", _, "threshold", share], Some(group)) => {
                let alpha = share.parse::<Ratio>().ok();
                group.threshold = self.notes.said(line, alpha.map(Threshold::Dynamic));
            }
            (["ingress", "priority-group", ..], None) => {
                self.notes.mark(line, RemarkKind::Malformed);
            }
            (["ingress", "reserved", ..] | ["egress", ..] | ["ingress", "threshold", ..], _) => {}
            _ => self.notes.unknown(statement),
        }
    }

    fn global_watchdog(&mut self, statement: &Statement<'_>, words: &[&str]) {
        let line = statement.line;
        match words {
            ["default", "timeout", time] => {
                self.watchdog.detect = self.notes.said(line, seconds(time));
                self.watchdog.on = Said::At(true, self.notes.line(line));
            }
            ["default", "recovery-time", time, ..] => {
                self.watchdog.restore = self.notes.said(line, seconds(time));
            }
            ["default", "polling-interval", _] => {}
            ["action", action] | ["default", "action", action] => {
                self.watchdog.reaction = self.notes.said(line, reaction(action));
            }
            ["hardware"] | ["override", ..] => {}
            _ => self.notes.unknown(statement),
        }
    }

    fn interface(&mut self, name: &str, statement: &Statement<'_>) {
        let place = self.notes.whole(statement);
        let mut qos = Vec::new();
        let mut profile = None;
        let mut routed = false;
        for child in &statement.children {
            let line = child.line;
            match child.words()[..] {
                ["mtu", mtu] | ["l2", "mtu", mtu] => {
                    let said = self.notes.said(line, bytes(mtu));
                    self.port(name).mtu = said;
                }
                ["speed", ref words @ ..] => {
                    let rate = words.iter().find_map(|word| speed(word));
                    if let Some(rate) = rate {
                        self.port(name).rate = Said::At(rate, self.notes.line(line));
                    }
                }
                ["description", ..] => {
                    let device = child.text["description".len()..].trim().to_owned();
                    let place = self.notes.line(line);
                    self.port(name).neighbour = Said::At(Neighbour { device, port: None }, place);
                }
                ["shutdown"] => self.port(name).enabled = Said::At(false, self.notes.line(line)),
                ["no", "shutdown"] => {
                    self.port(name).enabled = Said::At(true, self.notes.line(line));
                }
                ["no", "switchport"] => routed = true,
                ["service-profile", profile_name] => profile = Some((line, profile_name)),
                [first, ..] | ["no", first, ..] if QOS.contains(&first) => qos.push(child.clone()),
                _ => self.notes.foreign(child),
            }
        }
        if name.starts_with("Ethernet") || profile.is_some() || !qos.is_empty() {
            self.port(name).place = Some(place);
            let section = self.section(&qos);
            // A port may be described in several places: each adds to the others.
            let own = self.ports.entry(name.to_owned()).or_default();
            own.profile = profile.map(|(_, name)| name.to_owned()).or(own.profile.take());
            own.section = own.section.overlaid(&section);
            own.routed |= routed;
        } else {
            self.device.ports.remove(&crate::device::PortName::new(name));
        }
    }

    fn port(&mut self, name: &str) -> &mut Port {
        self.device.port(name)
    }

    /// The statements of a profile or of a port.
    fn section(&mut self, statements: &[Statement<'_>]) -> Section {
        let mut section = Section::default();
        for statement in statements {
            let line = statement.line;
            let place = self.notes.line(line);
            match statement.words()[..] {
                ["qos", "trust", word] => {
                    let trust = match word {
                        "dscp" => Some(Trust::Dscp),
                        "cos" => Some(Trust::Pcp),
                        _ => None,
                    };
                    section.trust = self.notes.said(line, trust);
                }
                ["no", "qos", "trust", ..] => section.trust = Said::At(Trust::Nothing, place),
                ["priority-flow-control", "on"] => section.pfc_on = Said::At(true, place),
                ["no", "priority-flow-control"] | ["priority-flow-control", "off"] => {
                    section.pfc_on = Said::At(false, place);
                }
                ["priority-flow-control", "priority", number, word] => {
                    let priority = Priority::read(number);
                    let old = section.priorities.get().unwrap_or(Priorities::NONE);
                    let new = match (priority, word) {
                        (Some(priority), "no-drop") => Some(old.with(priority)),
                        (Some(priority), "drop") => Some(old.without(priority)),
                        _ => None,
                    };
                    section.priorities = self.notes.said(line, new);
                }
                ["priority-flow-control", "pause", "watchdog", ref rest @ ..] => {
                    self.watchdog_of(statement, rest, &mut section.watchdog);
                }
                ["no", "priority-flow-control", "pause", "watchdog"] => {
                    section.watchdog.on = Said::At(false, place);
                }
                ["uc-tx-queue" | "tx-queue", number] => {
                    match number.parse::<usize>().ok().filter(|number| *number < 8) {
                        Some(number) => self.queue(statement, &mut section.queues[number]),
                        None => self.notes.mark(line, RemarkKind::Malformed),
                    }
                }
                ["qos", "cos" | "dscp" | "rewrite", ..] | ["mc-tx-queue", _] => {}
                _ => self.notes.unknown(statement),
            }
        }
        section
    }

    fn watchdog_of(
        &mut self,
        statement: &Statement<'_>,
        words: &[&str],
        watchdog: &mut WatchdogSettings,
    ) {
        let line = statement.line;
        match words {
            [] => watchdog.on = Said::At(true, self.notes.line(line)),
            ["port", "timer", "timeout", rest @ ..] => {
                let after = |word| rest.iter().skip_while(|w| **w != word).nth(1);
                watchdog.detect = self.notes.said(line, rest.first().and_then(|w| seconds(w)));
                let recovery = after("recovery-time").and_then(|w| seconds(w));
                watchdog.restore = self.notes.said(line, recovery);
            }
            ["port", "action", action] => {
                watchdog.reaction = self.notes.said(line, reaction(action));
            }
            ["disabled"] => watchdog.on = Said::At(false, self.notes.line(line)),
            _ => self.notes.unknown(statement),
        }
    }

    fn queue(&mut self, statement: &Statement<'_>, queue: &mut QueueSettings) {
        for child in &statement.children {
            let line = child.line;
            match child.words()[..] {
                ["no", "priority"] => {}
                ["priority", "strict"] => {
                    queue.scheduling = Said::At(Scheduling::Strict, self.notes.line(line));
                }
                ["bandwidth", "percent", share] => {
                    let turn = share.parse().ok().map(Scheduling::Weighted);
                    queue.scheduling = self.notes.said(line, turn);
                }
                ["random-detect", "ecn", "count"]
                | ["shape", ..]
                | ["bandwidth", "guaranteed", ..] => {}
                ["random-detect", verb @ ("ecn" | "drop"), ref words @ ..] => {
                    queue.wred = self.notes.said(line, wred(words, verb == "ecn"));
                }
                _ => self.notes.unknown(child),
            }
        }
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        let applied = self.mmu.keys().find_map(|name| name.strip_suffix(" apply"));
        if let Some(groups) = applied.and_then(|name| self.mmu.get(name)) {
            self.groups = *groups;
        }
        for dscp in Dscp::all() {
            // The box's own map: 0-7 are class 1 and 8-15 class 0, the rest as the selector.
            let class = match dscp.get() >> 3 {
                0 => 1,
                1 => 0,
                selector => selector,
            };
            if let Some(class) = Class::new(class) {
                let entry = &mut self.maps.dscp_to_class[dscp.index()];
                *entry = entry.or_default(class);
            }
        }
        self.maps.number_by_class();
        let maps = Arc::new(self.maps);
        let groups = Arc::new(self.groups);
        let mut queues = Vec::new();
        for (name, own) in std::mem::take(&mut self.ports) {
            let base = own.profile.and_then(|name| self.profiles.get(&name)).cloned();
            let section = base.unwrap_or_default().overlaid(&own.section);
            let port = self.device.port(&name);
            port.maps = Arc::clone(&maps);
            port.groups = Arc::clone(&groups);
            let usual = if own.routed { Trust::Dscp } else { Trust::Pcp };
            port.trust = section.trust.or_default(usual);
            port.pfc = section.pfc();
            port.watchdog = section.watchdog_with(&self.watchdog);
            // Without a word about it, a queue is strict.
            let turns = section.queues.map(|queue| QueueSettings {
                scheduling: queue.scheduling.or_default(Scheduling::Strict),
                ..queue
            });
            port.queues = share(&mut queues, turns);
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }
}

impl Section {
    /// What a port says itself comes before what its profile says.
    fn overlaid(&self, own: &Section) -> Section {
        fn over<T: Copy>(own: Said<T>, base: Said<T>) -> Said<T> {
            if own.is_said() { own } else { base }
        }
        let mut queues = self.queues;
        for (queue, own) in queues.iter_mut().zip(&own.queues) {
            queue.scheduling = over(own.scheduling, queue.scheduling);
            queue.wred = over(own.wred, queue.wred);
        }
        Section {
            trust: over(own.trust, self.trust),
            pfc_on: over(own.pfc_on, self.pfc_on),
            priorities: over(own.priorities, self.priorities),
            watchdog: WatchdogSettings {
                on: over(own.watchdog.on, self.watchdog.on),
                detect: over(own.watchdog.detect, self.watchdog.detect),
                restore: over(own.watchdog.restore, self.watchdog.restore),
                reaction: over(own.watchdog.reaction, self.watchdog.reaction),
            },
            queues,
        }
    }

    fn pfc(&self) -> Said<Priorities> {
        match (self.pfc_on, self.priorities) {
            (Said::At(true, place), Said::Absent) => Said::At(Priorities::NONE, place),
            (Said::At(true, _), said) => said,
            (Said::At(false, place), _) => Said::At(Priorities::NONE, place),
            _ => Said::Default(Priorities::NONE),
        }
    }

    fn watchdog_with(&self, global: &WatchdogSettings) -> WatchdogSettings {
        fn over<T: Copy>(own: Said<T>, base: Said<T>) -> Said<T> {
            if own.is_said() { own } else { base }
        }
        let own = &self.watchdog;
        WatchdogSettings {
            on: over(own.on, global.on).or_default(false),
            detect: over(own.detect, global.detect),
            restore: over(own.restore, global.restore),
            reaction: over(own.reaction, global.reaction),
        }
    }
}

fn reaction(word: &str) -> Option<Reaction> {
    match word {
        "drop" => Some(Reaction::Act(WatchdogAction::Drop)),
        "notify-only" => Some(Reaction::Alert),
        _ => None,
    }
}

/// `minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 100 …`.
fn wred(words: &[&str], marks: bool) -> Option<Wred> {
    let after = |word: &str| words.iter().position(|w| *w == word).map(|at| &words[at + 1..]);
    let amount =
        |word: &str| -> Option<Bytes> { size(after(word)?.first()?, after(word)?.get(1)?) };
    let probability = after("max-mark-probability").or_else(|| after("drop-probability"));
    let percent = match probability {
        Some(rest) => rest.first()?.parse::<u64>().ok().filter(|percent| *percent <= 100)?,
        None => 100,
    };
    let ecn = Ecn {
        kmin: amount("minimum-threshold")?,
        kmax: amount("maximum-threshold")?,
        pmax: Ratio::new(percent, 100),
    };
    Some(Wred { levels: Levels::Sizes(ecn), marks })
}
