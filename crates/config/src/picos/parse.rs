//! Reading PicOS configuration.

use super::PicOs;
use crate::device::{Balancing, Device, Guard, PortName, RemarkKind};
use crate::number::{Class, Dscp, Group, Priorities, Priority, Queue};
use crate::place::{Place, Said};
use crate::qos::{Levels, Maps, QueueSettings, Trust, WatchdogSettings, Wred};
use crate::system::{Input, System};
use crate::text::description;
use crate::text::notes::{Notes, bytes, share, speed};
use crate::text::paths::read;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::Scheduling;
use xoff_units::{Bytes, Ratio, Span};

/// The MTU of a port that says none: that of a plain Ethernet frame. No guide of PicOS at hand says so.
const USUAL_MTU: Bytes = Bytes::new(1514);

type Named<T> = BTreeMap<String, T>;

#[derive(Debug, Default)]
struct Classifier {
    trust: Said<Trust>,
    points: Vec<(Dscp, String, Place)>,
}

#[derive(Debug, Default)]
struct Bound {
    classifier: Option<(String, Place)>,
    scheduler: Option<String>,
    pfc: Option<(String, Place)>,
    /// Polls of the watchdog on this port.
    polls: Said<u64>,
    early: BTreeMap<Queue, Early>,
}

/// Random early detection of a queue. Guides show thresholds without their unit, and not whether packets are marked or
/// dropped.
#[derive(Debug, Default)]
struct Early {
    on: Option<bool>,
    min: Option<u64>,
    max: Option<u64>,
    percent: Option<u64>,
    lines: Vec<Place>,
}

impl Early {
    fn read(&mut self, words: &[&str], place: Place) -> Option<()> {
        match words {
            ["enable", word @ ("true" | "false")] => self.on = Some(*word == "true"),
            ["min_thresh", number] => self.min = Some(number.parse().ok()?),
            ["max_thresh", number] => self.max = Some(number.parse().ok()?),
            ["drop_probability", number] => {
                self.percent = Some(number.parse().ok().filter(|percent| *percent <= 100)?);
            }
            _ => return None,
        }
        self.lines.push(place);
        Some(())
    }

    /// What it does; `None` where nothing says so.
    fn settings(&self) -> Option<Said<Wred>> {
        match (self.on, self.min.zip(self.max), self.lines.first()) {
            (Some(true), Some((min, max)), Some(place)) => {
                let pmax = Ratio::new(self.percent.unwrap_or(100), 100);
                let levels = Levels::Counts { min, max, pmax };
                Some(Said::At(Wred { levels, marks: false }, *place))
            }
            (Some(false), ..) => Some(Said::Absent),
            _ => None,
        }
    }
}

pub(super) fn parse(input: &Input<'_>) -> Device {
    let found = read(input.text);
    let mut parser = Parser {
        device: Device::new(input.name, PicOs.id()),
        notes: Notes::new(input.file),
        classes: BTreeMap::new(),
        classifiers: BTreeMap::new(),
        schedulers: BTreeMap::new(),
        profiles: BTreeMap::new(),
        pfc: BTreeMap::new(),
        bound: BTreeMap::new(),
        granularity: Said::Absent,
        polls: Said::Absent,
        described: BTreeSet::new(),
        bundled: BTreeSet::new(),
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
    for path in &found.statements {
        // With braces, a key that has a value ends in a colon.
        let words: Vec<&str> = path.words.iter().map(|word| word.trim_end_matches(':')).collect();
        parser.statement(&words, path.line);
    }
    parser.finish()
}

struct Parser {
    device: Device,
    notes: Notes,
    /// Queue of each forwarding class.
    classes: Named<Said<Queue>>,
    classifiers: Named<Classifier>,
    /// Mode and weight of each scheduler.
    schedulers: Named<(Said<bool>, Said<u32>)>,
    profiles: Named<Vec<(String, String)>>,
    pfc: Named<(Priorities, Option<Place>)>,
    bound: Named<Bound>,
    /// Milliseconds that the watchdog counts in, and how many of them make a queue stuck.
    granularity: Said<u64>,
    polls: Said<u64>,
    /// Ports of which more is said than what they refer to.
    described: BTreeSet<PortName>,
    bundled: BTreeSet<PortName>,
}

impl Parser {
    fn statement(&mut self, words: &[&str], line: u32) {
        let place = self.notes.line(line);
        match words {
            ["system", "hostname", name] => self.device.name = (*name).to_owned(),
            ["version", version] => self.device.version = Said::At((*version).to_owned(), place),
            ["class-of-service", "interface", name, rest @ ..] => self.bind(name, rest, line),
            ["class-of-service", rest @ ..] => self.class_of_service(rest, line),
            ["interface", "gigabit-ethernet", name, rest @ ..] => self.interface(name, rest, line),
            ["firewall", "filter", name, "sequence", _, "from", "destination-port", "4791"] => {
                self.device.guards.push(Guard { name: (*name).to_owned(), place });
                self.notes.mark(line, RemarkKind::Foreign);
            }
            ["vxlans", "vni", ..] => self.notes.mark(line, RemarkKind::Tunnel),
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    fn class_of_service(&mut self, words: &[&str], line: u32) {
        let place = self.notes.line(line);
        match words {
            ["forwarding-class", name] => {
                let entry = self.classes.entry((*name).to_owned()).or_default();
                if let Some(zero) = Queue::new(0) {
                    *entry = entry.or_default(zero);
                }
            }
            ["forwarding-class", name, "local-priority", number] => {
                let read = self.notes.said(line, Queue::read(number));
                self.classes.insert((*name).to_owned(), read);
            }
            ["classifier", name, "trust-mode", word] => {
                let trust = match *word {
                    "dscp" => Some(Trust::Dscp),
                    "ieee-802.1" => Some(Trust::Pcp),
                    "inet-precedence" => Some(Trust::Nothing),
                    _ => None,
                };
                let said = self.notes.said(line, trust);
                self.classifiers.entry((*name).to_owned()).or_default().trust = said;
            }
            ["classifier", name, "forwarding-class", class, "code-point", point] => {
                let entry = self.classifiers.entry((*name).to_owned()).or_default();
                match Dscp::read(point) {
                    Some(dscp) => entry.points.push((dscp, (*class).to_owned(), place)),
                    None => self.notes.mark(line, RemarkKind::Malformed),
                }
            }
            ["scheduler", name, "mode", word] => {
                let strict = matches!(*word, "SP" | "sp");
                self.schedulers.entry((*name).to_owned()).or_default().0 = Said::At(strict, place);
            }
            ["scheduler", name, "weight", number] => {
                let said = self.notes.said(line, number.parse().ok());
                self.schedulers.entry((*name).to_owned()).or_default().1 = said;
            }
            ["scheduler", _, "guaranteed-rate" | "max-bandwidth-pps" | "max-rate", _] => {}
            ["scheduler-profile", name, "forwarding-class", class, "scheduler", scheduler] => {
                let list = self.profiles.entry((*name).to_owned()).or_default();
                list.retain(|(known, _)| known != class);
                list.push(((*class).to_owned(), (*scheduler).to_owned()));
            }
            ["pfc-profile", name, "code-point", number, "drop", word] => {
                let entry = self.pfc.entry((*name).to_owned()).or_default();
                match (Priority::read(number), *word) {
                    (Some(priority), "false") => {
                        *entry = (entry.0.with(priority), entry.1.or(Some(place)));
                    }
                    (Some(priority), "true") => entry.0 = entry.0.without(priority),
                    _ => self.notes.mark(line, RemarkKind::Malformed),
                }
            }
            ["pfc-watchdog", "granularity", ms @ ("10" | "100")] => {
                self.granularity = self.notes.said(line, ms.parse().ok());
            }
            ["pfc-watchdog", "code-point", _, "detect-interval", count] => {
                self.polls = self.notes.said(line, polls(count));
            }
            // When a queue is back, and what is done about one that keeps being stuck.
            ["pfc-watchdog", what @ ("restore-mode" | "restore-action" | "threshold"), word] => {
                let said = Said::At((*word).to_owned(), place);
                self.device.own.insert(format!("pfc-watchdog {what}"), said);
            }
            [
                "pfc-watchdog",
                "code-point" | "restore-mode" | "restore-action" | "threshold",
                ..,
            ] => {
                self.notes.mark(line, RemarkKind::Foreign);
            }
            // Marks at thresholds that the box chooses.
            ["easy-ecn", "mode", word @ ("throughput-first" | "latency-first")] => {
                self.device.own.insert("easy-ecn".to_owned(), Said::At((*word).to_owned(), place));
            }
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn bind(&mut self, name: &str, rest: &[&str], line: u32) {
        let place = self.notes.line(line);
        let port = self.device.port(name);
        port.place = port.place.or(Some(place));
        let bound = self.bound.entry(name.to_owned()).or_default();
        match rest {
            ["classifier", name] => bound.classifier = Some(((*name).to_owned(), place)),
            ["scheduler-profile", name] => bound.scheduler = Some((*name).to_owned()),
            ["pfc-profile", name] => bound.pfc = Some(((*name).to_owned(), place)),
            ["pfc-watchdog", "code-point", _, "enable", word @ ("true" | "false")] => {
                let on = *word == "true" || port.watchdog.on.get() == Some(true);
                port.watchdog.on = Said::At(on, place);
            }
            ["pfc-watchdog", "code-point", _, "detect-interval", count] => {
                bound.polls = self.notes.said(line, polls(count));
            }
            _ => self.notes.mark(line, RemarkKind::Unknown),
        }
    }

    fn interface(&mut self, name: &str, rest: &[&str], line: u32) {
        let place = self.notes.line(line);
        // The MTU of a port of an aggregate stands at the aggregate.
        if rest.contains(&"802.3ad") {
            self.bundled.insert(PortName::new(name));
        }
        self.described.insert(PortName::new(name));
        let port = self.device.port(name);
        port.place = port.place.or(Some(place));
        match rest {
            ["mtu", mtu] => port.mtu = self.notes.said(line, bytes(mtu)),
            ["speed", word] => {
                if let Some(rate) = speed(word) {
                    port.rate = Said::At(rate, place);
                }
            }
            ["description", text @ ..] => {
                port.neighbour = Said::At(description::neighbour(&text.join(" ")), place);
            }
            ["disable", word] => port.enabled = Said::At(*word != "true", place),
            ["wred", "queue", number, rest @ ..] => {
                let bound = self.bound.entry(name.to_owned()).or_default();
                let queue = Queue::read(number);
                let own = queue.map(|queue| bound.early.entry(queue).or_default());
                if own.and_then(|own| own.read(rest, place)).is_none() {
                    self.notes.mark(line, RemarkKind::Unknown);
                }
            }
            ["wred", ..] => self.notes.mark(line, RemarkKind::Unknown),
            _ => self.notes.mark(line, RemarkKind::Foreign),
        }
    }

    fn finish(mut self) -> Device {
        self.device.balancing = Said::Default(Balancing::Hash);
        let names: Vec<PortName> = self.device.ports.keys().cloned().collect();
        let (mut maps_known, mut queues_known) = (Vec::new(), Vec::new());
        let numbers = self.numbers();
        for name in names {
            let bound = self.bound.remove(name.as_str()).unwrap_or_default();
            let (trust, maps) = self.maps(&bound, &numbers);
            let mut queues = self.queues(&bound);
            for (queue, early) in &bound.early {
                match early.settings() {
                    Some(wred) => queues[queue.index()].wred = wred,
                    None => {
                        let strange = early.lines.iter().map(|line| line.first);
                        strange.for_each(|line| self.notes.mark(line, RemarkKind::Unknown));
                    }
                }
            }
            let pfc = match &bound.pfc {
                Some((name, place)) => {
                    let (set, first) = self.pfc.get(name).copied().unwrap_or_default();
                    Said::At(set, first.unwrap_or(*place))
                }
                None => Said::Default(Priorities::NONE),
            };
            let watchdog = self.watchdog(&bound);
            let Some(port) = self.device.ports.get_mut(&name) else { continue };
            port.pfc = pfc;
            port.watchdog.on = port.watchdog.on.or_default(false);
            if port.watchdog.on.get() == Some(true) {
                port.watchdog = WatchdogSettings { on: port.watchdog.on, ..watchdog };
            }
            if self.described.contains(&name) && !self.bundled.contains(&name) {
                port.mtu = port.mtu.or_default(USUAL_MTU);
            }
            port.trust = trust;
            port.maps = share(&mut maps_known, maps);
            port.queues = share(&mut queues_known, queues);
        }
        self.device.remarks = self.notes.remarks;
        self.device
    }

    /// A queue is stuck after so many times the granularity: 15 times 100 ms where nothing is said
    /// (Pica8's command reference, pfc-watchdog).
    fn watchdog(&self, bound: &Bound) -> WatchdogSettings {
        let polls = if bound.polls.is_said() { bound.polls } else { self.polls };
        let ms = self.granularity.get().unwrap_or(100) * polls.get().unwrap_or(15);
        let detect = match polls.place().or(self.granularity.place()) {
            Some(place) => Said::At(Span::from_ms(ms), place),
            None => Said::Default(Span::from_ms(ms)),
        };
        WatchdogSettings { detect, ..WatchdogSettings::default() }
    }

    /// The number of each forwarding class: of its name `TC3`, or of its queue.
    fn numbers(&self) -> BTreeMap<String, Class> {
        let number = |(name, queue): (&String, &Said<Queue>)| {
            let own = name.strip_prefix("TC").and_then(Class::read);
            let number = own.or_else(|| Class::new(queue.get()?.get()))?;
            Some((name.clone(), number))
        };
        self.classes.iter().filter_map(number).collect()
    }

    fn maps(&self, bound: &Bound, numbers: &BTreeMap<String, Class>) -> (Said<Trust>, Maps) {
        let mut maps = Maps::default();
        let classifier = bound.classifier.as_ref();
        let classifier =
            classifier.and_then(|(name, place)| Some((self.classifiers.get(name)?, *place)));
        let trust = match &classifier {
            Some((found, place)) => match found.trust {
                Said::At(..) => found.trust,
                _ => Said::At(Trust::Nothing, *place),
            },
            None => Said::Default(Trust::Nothing),
        };
        for (dscp, class, place) in classifier.iter().flat_map(|(found, _)| &found.points) {
            if let Some(number) = numbers.get(class) {
                maps.dscp_to_class[dscp.index()] = Said::At(*number, *place);
            }
        }
        maps.unmatched_in_class_0();
        for (name, queue) in &self.classes {
            if let Some(number) = numbers.get(name).filter(|_| queue.is_said()) {
                maps.class_to_queue[number.index()] = *queue;
            }
        }
        maps.number_by_class();
        // A priority pauses what waits in the queue of its number.
        for (name, queue) in &self.classes {
            let (Some(number), Some(queue)) = (numbers.get(name), queue.get()) else { continue };
            if let Some(group) = Group::new(number.get()) {
                maps.pfc_to_group[queue.index()] = Said::Default(group);
            }
        }
        (trust, maps)
    }

    fn queues(&self, bound: &Bound) -> [QueueSettings; 8] {
        let mut queues = [QueueSettings::default(); 8];
        let list = bound.scheduler.as_ref().and_then(|name| self.profiles.get(name));
        for (class, scheduler) in list.into_iter().flatten() {
            let queue = self.classes.get(class).and_then(|queue| queue.get());
            let (Some(queue), Some((strict, weight))) = (queue, self.schedulers.get(scheduler))
            else {
                continue;
            };
            queues[queue.index()].scheduling = match (*strict, *weight) {
                (Said::At(true, place), _) => Said::At(Scheduling::Strict, place),
                (_, Said::At(weight, place)) => Said::At(Scheduling::Weighted(weight), place),
                _ => Said::Absent,
            };
        }
        queues
    }
}

/// A number of polls that the watchdog takes.
fn polls(text: &str) -> Option<u64> {
    text.parse().ok().filter(|count| (1..=15).contains(count))
}
