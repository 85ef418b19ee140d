//! Reading NVUE, command by command.

use super::buffers::Buffers;
use super::roce::{self, Mode, USUAL_ECN};
use super::{Cumulus, USUAL_CABLE, USUAL_MTU, USUAL_POLL_MS, USUAL_ROBUSTNESS};
use crate::device::{Balancing, Device, Port, RemarkKind};
use crate::number::{Class, Dscp, Priorities, Priority, Queue, ranges};
use crate::place::{Place, Said};
use crate::qos::{GroupSettings, Levels, Maps, QueueSettings, Reaction, Trust, Wred};
use crate::system::{Input, System, SystemId};
use crate::text::description;
use crate::text::notes::{Notes, bytes, share, speed};
use crate::text::profiles::lossless;
use std::collections::BTreeMap;
use xoff_fabric::model::{Ecn, Scheduling, WatchdogAction};
use xoff_units::{Bytes, Length, Ratio, Span};

/// Profiles of one kind, and the name that holds where none is bound.
type Profiles<T> = BTreeMap<String, T>;
const GLOBAL: &str = "default-global";

#[derive(Debug, Clone)]
struct Mapping {
    trust: Said<Trust>,
    classes: [Said<Class>; Dscp::COUNT],
}

impl Default for Mapping {
    fn default() -> Self {
        Self { trust: Said::Absent, classes: [Said::Absent; Dscp::COUNT] }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Marking {
    on: Said<bool>,
    red: Said<bool>,
    kmin: Said<Bytes>,
    kmax: Said<Bytes>,
    /// Whether thresholds are shares of what the queue may hold, and which.
    relative: Said<bool>,
    fill_min: Said<u64>,
    fill_max: Said<u64>,
    percent: Said<u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Pausing {
    priorities: Said<Priorities>,
    cable: Said<Length>,
    off: bool,
}

#[derive(Debug, Clone, Default)]
struct Bound {
    mapping: Option<String>,
    scheduler: Option<String>,
    congestion: Option<String>,
    pfc: Option<String>,
}

struct Parser {
    device: Device,
    notes: Notes,
    mapping: Profiles<Mapping>,
    queue_mapping: [Said<Queue>; 8],
    scheduler: Profiles<[(Said<bool>, Said<u32>); 8]>,
    congestion: Profiles<[Marking; 8]>,
    pfc: Profiles<Pausing>,
    bound: BTreeMap<String, Bound>,
    poll: Said<u64>,
    robustness: Said<u64>,
    roce: Option<(Mode, Place)>,
    roce_off: bool,
    roce_cable: Said<Length>,
    buffers: Buffers,
}

/// Reads commands, as `nv config show -o commands` prints them.
pub(super) fn commands(input: &Input<'_>) -> Device {
    let mut parser = Parser::new(input, Cumulus::Commands.id());
    for (line, number) in input.text.lines().zip(1u32..) {
        let line = line.trim();
        // `cumulus@leaf0:mgmt:~$ nv set …`
        let command = match line.find("nv set ").or_else(|| line.find("nv unset ")) {
            Some(at) => &line[at..],
            None => line,
        };
        if command.is_empty() || command.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["nv", "set", ref path @ ..] => parser.command(number, path),
            ["nv", "unset", ref path @ ..] => parser.unset(number, path),
            _ => parser.strange(number, line),
        }
    }
    parser.finish()
}

/// Reads YAML, as `nv config show` prints it.
pub(super) fn yaml(input: &Input<'_>) -> Device {
    let mut parser = Parser::new(input, Cumulus::Yaml.id());
    let found = super::yaml::read(input.text);
    for (line, text) in found.strange {
        parser.strange(line, text);
    }
    if let Some(line) = found.cut {
        parser.notes.mark(line, RemarkKind::Truncated);
    }
    if let Some((line, version)) = found.version {
        parser.device.version = Said::At(version.to_owned(), parser.notes.line(line));
    }
    for (line, path) in &found.paths {
        let words: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        parser.command(*line, &words);
    }
    parser.finish()
}

impl Parser {
    fn new(input: &Input<'_>, system: SystemId) -> Self {
        Self {
            device: Device::new(input.name, system),
            notes: Notes::new(input.file),
            mapping: BTreeMap::new(),
            queue_mapping: [Said::Absent; 8],
            scheduler: BTreeMap::new(),
            congestion: BTreeMap::new(),
            pfc: BTreeMap::new(),
            bound: BTreeMap::new(),
            poll: Said::Absent,
            robustness: Said::Absent,
            roce: None,
            roce_off: false,
            roce_cable: Said::Absent,
            buffers: Buffers::default(),
        }
    }

    /// A line that says nothing; a prompt names the device.
    fn strange(&mut self, number: u32, line: &str) {
        if let Some((_, rest)) = line.split_once('@') {
            let host = rest.split([':', '$', '#', ' ']).next().unwrap_or_default();
            if !host.is_empty() {
                self.device.name = host.to_owned();
            }
        }
        self.notes.mark(number, RemarkKind::Foreign);
    }
}

impl Parser {
    fn command(&mut self, line: u32, path: &[&str]) {
        let place = self.notes.line(line);
        match path {
            ["system", "hostname", name] => self.device.name = (*name).to_owned(),
            ["qos", "roce", rest @ ..] => self.roce_mode(line, rest),
            ["qos", "mapping", profile, rest @ ..] => self.map(line, profile, rest),
            [
                "qos",
                "egress-queue-mapping",
                GLOBAL,
                "switch-priority",
                from,
                "traffic-class",
                to,
            ] => match (ranges(from, 8), Queue::read(to)) {
                (Some(classes), Some(queue)) => {
                    for class in classes {
                        self.queue_mapping[usize::from(class)] = Said::At(queue, place);
                    }
                }
                _ => self.notes.mark(line, RemarkKind::Malformed),
            },
            ["qos", "traffic-pool", rest @ ..] => self.buffers.pool(line, rest, &mut self.notes),
            ["qos", "advance-buffer-config", _, rest @ ..] => {
                self.buffers.advanced(line, rest, &mut self.notes);
            }
            ["qos", "remark" | "egress-shaper" | "link-pause", ..] => {
                self.notes.mark(line, RemarkKind::Foreign);
            }
            ["qos", "egress-scheduler", profile, "traffic-class", list, rest @ ..] => {
                self.turn(line, profile, list, rest);
            }
            ["qos", "congestion-control", profile, "traffic-class", list, rest @ ..] => {
                self.marking(line, profile, list, rest);
            }
            ["qos", "pfc", profile, rest @ ..] => self.pausing(line, profile, rest),
            ["qos", "pfc-watchdog", "polling-interval", ms] => {
                self.poll = self.notes.said(line, ms.parse().ok().filter(|ms| *ms < 1_000_000));
            }
            ["qos", "pfc-watchdog", "robustness", count] => {
                self.robustness = self.notes.said(line, count.parse().ok().filter(|n| *n < 10_000));
            }
            ["router", "adaptive-routing", "state" | "enable", word] => {
                let on = matches!(*word, "enabled" | "on");
                let value = if on { Balancing::Packet } else { Balancing::Hash };
                self.device.balancing = Said::At(value, place);
            }
            ["router", "adaptive-routing", ..] => {}
            ["interface", list, rest @ ..] => self.interface(line, list, rest),
            ["qos", ..] => self.notes.mark(line, RemarkKind::Unknown),
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    /// Takes away what was said of a port so far.
    fn unset(&mut self, line: u32, path: &[&str]) {
        match path {
            ["interface", list, "qos"] => {
                for name in names(list) {
                    self.bound.remove(&name);
                    self.device.port(&name).watchdog.on = Said::Absent;
                }
            }
            ["interface", list, "router", "adaptive-routing"] => {
                for name in names(list) {
                    self.device.port(&name).balancing = Said::Absent;
                }
            }
            ["router", "adaptive-routing"] => self.device.balancing = Said::Absent,
            ["qos", "roce"] => (self.roce, self.roce_cable) = (None, Said::Absent),
            ["qos", ..] | ["interface", _, "qos", ..] => {
                self.notes.mark(line, RemarkKind::Unknown);
            }
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    fn roce_mode(&mut self, line: u32, rest: &[&str]) {
        let place = self.notes.line(line);
        match rest {
            // A mode that was chosen before stays.
            [] | ["enable", "on"] | ["state", "enabled"] => {
                self.roce_off = false;
                self.roce = self.roce.or(Some((Mode::Lossless, place)));
            }
            ["enable", "off"] | ["state", "disabled"] => self.roce_off = true,
            ["mode", word] => match Mode::read(word) {
                Some(mode) => self.roce = Some((mode, place)),
                None => self.notes.mark(line, RemarkKind::Malformed),
            },
            ["cable-length", metres] => {
                let cable = metres.parse().ok().map(Length::from_m);
                self.roce_cable = self.notes.said(line, cable);
            }
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn map(&mut self, line: u32, profile: &str, rest: &[&str]) {
        let place = self.notes.line(line);
        let entry = self.mapping.entry(profile.to_owned()).or_default();
        match rest {
            ["trust", word] => {
                let trust = match *word {
                    "l3" => Some(Trust::Dscp),
                    "l2" => Some(Trust::Pcp),
                    "both" => Some(Trust::Both),
                    "port" => Some(Trust::Nothing),
                    _ => None,
                };
                entry.trust = self.notes.said(line, trust);
            }
            ["dscp", list, "switch-priority", class] => {
                match ranges(list, Dscp::COUNT).zip(Class::read(class)) {
                    Some((dscps, class)) => {
                        for dscp in dscps {
                            entry.classes[usize::from(dscp)] = Said::At(class, place);
                        }
                    }
                    None => self.notes.mark(line, RemarkKind::Malformed),
                }
            }
            ["pcp" | "port-default-sp", ..] => {}
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn turn(&mut self, line: u32, profile: &str, list: &str, rest: &[&str]) {
        let place = self.notes.line(line);
        let Some(queues) = ranges(list, 8) else {
            return self.notes.mark(line, RemarkKind::Malformed);
        };
        let before = self.notes.remarks.len();
        let entry = self.scheduler.entry(profile.to_owned()).or_default();
        for queue in queues.into_iter().map(usize::from) {
            match rest {
                ["mode", "strict"] => entry[queue].0 = Said::At(true, place),
                ["mode", "dwrr"] => entry[queue].0 = Said::At(false, place),
                ["bw-percent", share] => {
                    entry[queue].1 = self.notes.said(line, share.parse().ok());
                }
                _ => self.notes.mark(line, RemarkKind::Unknown),
            }
        }
        self.once(before);
    }

    fn marking(&mut self, line: u32, profile: &str, list: &str, rest: &[&str]) {
        let Some(queues) = ranges(list, 8) else {
            return self.notes.mark(line, RemarkKind::Malformed);
        };
        let before = self.notes.remarks.len();
        let entry = self.congestion.entry(profile.to_owned()).or_default();
        for queue in queues.into_iter().map(usize::from) {
            let marking = &mut entry[queue];
            match rest {
                ["ecn", word] => marking.on = self.notes.said(line, switch(word)),
                ["red", word] => marking.red = self.notes.said(line, switch(word)),
                ["min-threshold" | "min-threshold-bytes", size] => {
                    marking.kmin = self.notes.said(line, bytes(size));
                }
                ["max-threshold" | "max-threshold-bytes", size] => {
                    marking.kmax = self.notes.said(line, bytes(size));
                }
                ["mode", word @ ("absolute" | "relative")] => {
                    marking.relative = Said::At(*word == "relative", self.notes.line(line));
                }
                ["min-threshold-percent", share] => {
                    marking.fill_min = self.notes.said(line, percent(share));
                }
                ["max-threshold-percent", share] => {
                    marking.fill_max = self.notes.said(line, percent(share));
                }
                ["probability", share] => marking.percent = self.notes.said(line, percent(share)),
                _ => self.notes.mark(line, RemarkKind::Unknown),
            }
        }
        self.once(before);
    }

    /// A statement about many ports or queues is remarked once.
    fn once(&mut self, before: usize) {
        self.notes.remarks.truncate(before + 1);
    }

    fn pausing(&mut self, line: u32, profile: &str, rest: &[&str]) {
        let place = self.notes.line(line);
        let entry = self.pfc.entry(profile.to_owned()).or_default();
        match rest {
            ["switch-priority", list] => {
                let old = entry.priorities.get().unwrap_or(Priorities::NONE);
                let read = ranges(list, 8).map(|numbers| {
                    numbers.into_iter().filter_map(Priority::new).fold(old, Priorities::with)
                });
                entry.priorities = self.notes.said(line, read);
            }
            ["cable-length", metres] => {
                entry.cable = self.notes.said(line, metres.parse().ok().map(Length::from_m));
            }
            ["tx" | "rx", word] => {
                if matches!(*word, "disabled" | "disable" | "off") {
                    entry.off = true;
                    entry.priorities = Said::At(Priorities::NONE, place);
                }
            }
            ["port-buffer" | "xoff-threshold" | "xon-threshold", size] => {
                let _ = self.notes.said(line, bytes(size));
            }
            ["small-packet-probability", share] => drop(self.notes.said(line, percent(share))),
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn interface(&mut self, line: u32, list: &str, rest: &[&str]) {
        let place = self.notes.line(line);
        let before = self.notes.remarks.len();
        for name in names(list) {
            let port = name.starts_with("swp");
            match rest {
                _ if !port => {
                    self.notes.mark(line, RemarkKind::Foreign);
                    break;
                }
                ["link", "mtu", mtu] => {
                    self.device.port(&name).mtu = self.notes.said(line, bytes(mtu));
                }
                ["link", "speed", word] => {
                    if let Some(rate) = speed(word) {
                        self.device.port(&name).rate = Said::At(rate, place);
                    }
                }
                ["link", "state", word] => {
                    self.device.port(&name).enabled = Said::At(*word == "up", place);
                }
                ["description", words @ ..] => {
                    let neighbour = description::neighbour(&words.join(" "));
                    self.device.port(&name).neighbour = Said::At(neighbour, place);
                }
                ["qos", kind, "profile", profile] => {
                    let bound = self.bound.entry(name.clone()).or_default();
                    let slot = match *kind {
                        "mapping" => Some(&mut bound.mapping),
                        "egress-scheduler" => Some(&mut bound.scheduler),
                        "congestion-control" => Some(&mut bound.congestion),
                        "pfc" => Some(&mut bound.pfc),
                        "remark" | "egress-shaper" | "link-pause" => {
                            self.notes.mark(line, RemarkKind::Foreign);
                            None
                        }
                        // Among them `egress-queue-mapping`, which a box has once.
                        _ => {
                            self.notes.mark(line, RemarkKind::Unknown);
                            None
                        }
                    };
                    if let Some(slot) = slot {
                        *slot = Some((*profile).to_owned());
                    }
                }
                ["qos", "pfc-watchdog"] => {
                    self.device.port(&name).watchdog.on = Said::At(true, place);
                }
                ["qos", "pfc-watchdog", "state", word] => {
                    let on = matches!(*word, "enable" | "enabled" | "on");
                    self.device.port(&name).watchdog.on = Said::At(on, place);
                }
                ["router", "adaptive-routing", "state" | "enable", word] => {
                    let on = matches!(*word, "enabled" | "on");
                    self.device.port(&name).balancing = Said::At(on, place);
                }
                ["qos", "headroom" | "shared-headroom-pool", ..] => {
                    self.notes.mark(line, RemarkKind::Foreign);
                }
                ["qos", ..] => self.notes.mark(line, RemarkKind::Unknown),
                _ => self.notes.mark(line, RemarkKind::Foreign),
            }
            let port = self.device.port(&name);
            port.place = Some(port.place.map_or(place, |old| Place { last: line, ..old }));
        }
        self.once(before);
    }

    fn finish(mut self) -> Device {
        self.device.balancing = self.device.balancing.or_default(Balancing::Hash);
        if self.roce_off {
            self.roce = None;
        }
        let poll = self.poll.get().unwrap_or(USUAL_POLL_MS);
        let robustness = self.robustness.get().unwrap_or(USUAL_ROBUSTNESS);
        let detect = Span::from_ms(poll * robustness);
        let detect = match self.poll.place().or(self.robustness.place()) {
            Some(place) => Said::At(detect, place),
            None => Said::Default(detect),
        };
        let names: Vec<String> = self.device.ports.keys().map(ToString::to_string).collect();
        let (mut maps_known, mut queues_known) = (Vec::new(), Vec::new());
        let mut groups_known = Vec::new();
        for name in names {
            let bound = self.bound.remove(&name).unwrap_or_default();
            let (trust, maps) = self.maps(&bound);
            let queues = self.queues(&bound);
            let pausing = self.pausing_of(&bound);
            let port = self.device.port(&name);
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues);
            port.pfc = pausing.priorities.or_default(Priorities::NONE);
            if port.pfc.get().is_some_and(|set| !set.is_empty()) {
                port.cable = pausing.cable.or_default(USUAL_CABLE);
            }
            port.mtu = port.mtu.or_default(USUAL_MTU);
            let groups = groups(port, &self.buffers, self.roce.is_some());
            port.groups = share(&mut groups_known, groups);
            port.watchdog.on = port.watchdog.on.or_default(false);
            if port.watchdog.on.get() == Some(true) {
                port.watchdog.detect = detect;
                port.watchdog.reaction = Said::Default(Reaction::Act(WatchdogAction::Drop));
            }
            port.balancing = port.balancing.or_default(false);
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }

    fn maps(&self, bound: &Bound) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        let mapping = pick(&self.mapping, bound.mapping.as_ref());
        let mut trust = Said::Default(if self.roce.is_some() { Trust::Both } else { Trust::Pcp });
        if let Some(mapping) = mapping {
            if mapping.trust.is_said() {
                trust = mapping.trust;
            }
            maps.dscp_to_class = mapping.classes;
        }
        maps.class_to_queue = self.queue_mapping;
        if let Some((mode, place)) = self.roce {
            mode.fill_maps(place, &mut maps);
        }
        for dscp in Dscp::all() {
            if let Some(class) = Class::new(dscp.get() >> 3) {
                let entry = &mut maps.dscp_to_class[dscp.index()];
                *entry = entry.or_default(class);
            }
        }
        for (number, entry) in (0u8..).zip(&mut maps.class_to_queue) {
            if let Some(queue) = Queue::new(number) {
                *entry = entry.or_default(queue);
            }
        }
        maps.pause_by_class();
        (trust, maps)
    }

    fn queues(&self, bound: &Bound) -> [QueueSettings; 8] {
        let mut queues = [QueueSettings::default(); 8];
        let congestion = pick(&self.congestion, bound.congestion.as_ref());
        match self.roce {
            Some((mode, place)) => queues = mode.queues(place),
            // The profile for all marks queue 0 until it says something else.
            None if bound.congestion.is_none() && congestion.is_none() => {
                queues[0].wred = Said::Default(super::USUAL_MARKING);
            }
            None => {}
        }
        if let Some(turns) = pick(&self.scheduler, bound.scheduler.as_ref()) {
            for (queue, (strict, share)) in queues.iter_mut().zip(turns) {
                queue.scheduling = match (*strict, *share) {
                    (Said::At(true, place), _) => Said::At(Scheduling::Strict, place),
                    (_, Said::At(share, place)) => Said::At(Scheduling::Weighted(share), place),
                    _ => queue.scheduling,
                };
            }
        }
        if let Some(markings) = congestion {
            for (queue, marking) in queues.iter_mut().zip(markings) {
                if let Some(said) = marking.settle() {
                    queue.wred = said;
                }
            }
        }
        queues
    }

    fn pausing_of(&self, bound: &Bound) -> Pausing {
        let mut pausing = pick(&self.pfc, bound.pfc.as_ref()).copied().unwrap_or_default();
        if pausing.off {
            pausing.priorities = pausing.priorities.map(|_| Priorities::NONE);
        }
        if let (Some((mode, place)), Said::Absent) = (self.roce, pausing.priorities)
            && let Some(priorities) = mode.pauses()
        {
            pausing.priorities = Said::At(priorities, place);
            if let Said::Absent = pausing.cable {
                pausing.cable = self.roce_cable.or_default(roce::USUAL_CABLE);
            }
        }
        pausing
    }
}

/// Groups that pause: their threshold is the box's. Without a lossless pool they have no headroom.
fn groups(port: &Port, buffers: &Buffers, roce: bool) -> [GroupSettings; 8] {
    let mut groups = [GroupSettings::default(); 8];
    for group in lossless(port) {
        groups[group].threshold = buffers.threshold;
        if let (false, false, Some(place)) = (roce, buffers.has_lossless(), port.pfc.place()) {
            groups[group].headroom = Said::At(Bytes::ZERO, place);
        }
    }
    groups
}

impl Marking {
    /// What it comes to. A class that is named in a profile is marked, at the usual thresholds, unless
    /// it says otherwise: `nv show qos congestion-control` of a profile with thresholds alone shows
    /// `ecn enable` (NVIDIA's Cumulus Linux guide, Congestion Control).
    fn settle(&self) -> Option<Said<Wred>> {
        let sizes = [self.kmin.place(), self.kmax.place()];
        let shares = [self.fill_min, self.fill_max, self.percent].map(|said| said.place());
        let switches = [self.on, self.red, self.relative].map(|said| said.place());
        let places = || sizes.iter().chain(&shares).chain(&switches).flatten();
        let place = *places().min()?;
        let place = Place { last: places().map(|p| p.last).max().unwrap_or(place.last), ..place };
        // A class that is switched off drops, with RED or when its buffer is full.
        let marks = self.on.get().unwrap_or(true);
        let pmax = Ratio::new(self.percent.get().unwrap_or(100), 100);
        let share = |percent: u64| Ratio::new(percent, 100);
        let levels = if self.relative.get() == Some(true) {
            let (min, max) = (self.fill_min.get()?, self.fill_max.get()?);
            Levels::Fill { min: share(min), max: share(max), pmax }
        } else {
            let kmin = self.kmin.get().unwrap_or(USUAL_ECN.kmin);
            let kmax = self.kmax.get().unwrap_or(USUAL_ECN.kmax);
            Levels::Sizes(Ecn { kmin, kmax, pmax })
        };
        Some(Said::At(Wred { levels, marks }, place))
    }
}

/// `enable` or `disable`, as releases spell them.
fn switch(word: &str) -> Option<bool> {
    match word {
        "enabled" | "enable" | "on" => Some(true),
        "disabled" | "disable" | "off" => Some(false),
        _ => None,
    }
}

fn percent(text: &str) -> Option<u64> {
    text.parse().ok().filter(|percent| *percent <= 100)
}

/// The profile a port is bound to, or the one for all.
fn pick<'a, T>(profiles: &'a Profiles<T>, bound: Option<&String>) -> Option<&'a T> {
    match bound {
        Some(name) => profiles.get(name),
        None => profiles.get(GLOBAL),
    }
}

/// Interfaces of a list like `swp1,swp3-5`, `swp1s0-3` or `swp1-2,51`; at most as many as a box can have.
fn names(list: &str) -> Vec<String> {
    const MOST: usize = 1024;
    let mut names = Vec::new();
    let mut before = "";
    for part in list.split(',').map(str::trim).take(MOST) {
        let (from, to) = match part.split_once('-') {
            Some((from, to)) => (from, Some(to)),
            None => (part, None),
        };
        let cut = from.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, first) = from.split_at(cut);
        // A number alone goes on with the kind of port that came before.
        let stem = if stem.is_empty() { before } else { stem };
        before = stem;
        let last = to.map(|to| to.strip_prefix(stem).unwrap_or(to));
        let range = first.parse::<u32>().ok().zip(last.unwrap_or(first).parse::<u32>().ok());
        match range.filter(|(first, last)| first <= last && last - first < MOST as u32) {
            Some((first, last)) => {
                names.extend((first..=last).map(|number| format!("{stem}{number}")));
            }
            None => names.push(part.to_owned()),
        }
        if names.len() > MOST {
            break;
        }
    }
    names.truncate(MOST);
    names
}

#[cfg(test)]
mod tests;
