//! What `class-of-service` says: classes, classifiers, drop profiles, schedulers, pauses.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, Queue};
use crate::place::{Place, Said};
use crate::qos::{Levels, QueueSettings, Reaction, Wred};
use crate::text::fit::power;
use crate::text::notes::Notes;
use std::collections::BTreeMap;
use xoff_fabric::model::{Scheduling, Threshold, WatchdogAction};
use xoff_units::{Length, Ratio};

/// By name.
type Named<T> = BTreeMap<String, T>;

/// A forwarding class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ForwardingClass {
    pub(super) queue: Said<Queue>,
    pub(super) pause: Said<Priority>,
    /// It is `no-loss`: without that, a pause priority protects nothing.
    pub(super) lossless: bool,
    /// It has a queue for multicast, 8 to 11, which is not in the model.
    multicast: bool,
}

/// A scheduler, with the name of its drop profile.
#[derive(Debug, Clone, Default)]
struct Scheduler {
    turn: Said<Scheduling>,
    marks: bool,
    profile: Option<(String, Place)>,
}

/// Points of a drop profile: fill and probability in percent.
#[derive(Debug, Clone, Default)]
struct DropProfile {
    fill: Vec<u64>,
    probability: Vec<u64>,
}

/// A congestion notification profile.
#[derive(Debug, Clone, Default)]
pub(super) struct Pausing {
    pub(super) dscps: Vec<(Dscp, Place)>,
    pub(super) priorities: Vec<(Priority, Place)>,
    pub(super) queues: Vec<(Priority, Queue, Place)>,
    pub(super) cable: Said<Length>,
    pub(super) watchdog: Said<bool>,
    /// Milliseconds between two polls, and how many of them make a queue stuck.
    pub(super) poll: Said<u64>,
    pub(super) polls: Said<u64>,
    /// Milliseconds until a stuck queue is back.
    pub(super) recovery: Said<u64>,
    pub(super) action: Said<Reaction>,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Policies {
    pub(super) classes: Named<ForwardingClass>,
    pub(super) classifiers: Named<Vec<(Dscp, String, Place)>>,
    drop_profiles: Named<DropProfile>,
    schedulers: Named<Scheduler>,
    pub(super) maps: Named<Vec<(String, String)>>,
    pub(super) pausing: Named<Pausing>,
    /// Names of code points.
    aliases: Named<Dscp>,
    /// When a lossless class pauses: a share of the free buffer, for all of them.
    pub(super) threshold: Said<Threshold>,
    /// Percent of the buffer that is headroom.
    pub(super) headroom: Said<u64>,
    /// Shares of the buffer, by their names.
    pub(super) shares: BTreeMap<String, Said<String>>,
}

/// Classes that boxes have without any statement, with the queue and the pause of each on QFX (Juniper's
/// CoS guide, default forwarding classes).
const BUILT_IN: [(&str, u8, Option<u8>); 6] = [
    ("best-effort", 0, None),
    ("expedited-forwarding", 1, None),
    ("assured-forwarding", 2, None),
    ("fcoe", 3, Some(3)),
    ("no-loss", 4, Some(4)),
    ("network-control", 7, None),
];
/// What names of classes of multicast start with.
const MULTICAST: &str = "mcast";
/// Queues of a port, those for multicast included.
const QUEUES: u8 = 12;

/// Parts of class of service that are not about RoCE.
const ELSEWHERE: [&str; 16] = [
    "adaptive-shapers",
    "dedicated-buffer-profile",
    "forwarding-class-sets",
    "forwarding-policy",
    "fragmentation-maps",
    "host-outbound-traffic",
    "loss-priority-maps",
    "multi-destination",
    "non-strict-priority-scheduling",
    "restricted-queues",
    "rewrite-rules",
    "routing-instances",
    "system-defaults",
    "traffic-control-profiles",
    "translation-table",
    "tri-color",
];

impl Policies {
    /// A statement of `class-of-service`; false if it is not known.
    pub(super) fn statement(&mut self, words: &[&str], line: u32, notes: &mut Notes) -> bool {
        match words {
            [
                "classifiers",
                "dscp",
                name,
                "forwarding-class",
                class,
                "loss-priority",
                _,
                rest @ ..,
            ] => {
                let list = self.classifiers.entry((*name).to_owned()).or_default();
                for word in rest.iter().filter(|word| **word != "code-points") {
                    match self.aliases.get(*word).copied().or_else(|| code_point(word)) {
                        Some(dscp) => list.push((dscp, (*class).to_owned(), notes.line(line))),
                        None => notes.mark(line, RemarkKind::Malformed),
                    }
                }
            }
            ["classifiers", "dscp", name, "import", _] => {
                self.classifiers.entry((*name).to_owned()).or_default();
            }
            ["classifiers", "ieee-802.1" | "dscp-ipv6" | "inet-precedence" | "exp", ..] => {}
            ["forwarding-classes", "class", name, rest @ ..] => self.class(name, rest, line, notes),
            ["forwarding-classes", "queue", number, name, ..] => {
                let entry = self.classes.entry((*name).to_owned()).or_default();
                entry.queue = notes.said(line, Queue::read(number));
            }
            ["drop-profiles", name, rest @ ..] => self.drop_profile(name, rest, line, notes),
            ["schedulers", name, rest @ ..] => return self.scheduler(name, rest, line, notes),
            ["scheduler-maps", map, "forwarding-class", class, "scheduler", scheduler] => {
                let list = self.maps.entry((*map).to_owned()).or_default();
                list.retain(|(known, _)| known != class);
                list.push(((*class).to_owned(), (*scheduler).to_owned()));
            }
            ["congestion-notification-profile", name, rest @ ..] => {
                return self.pause(name, rest, line, notes);
            }
            ["shared-buffer", direction @ ("ingress" | "egress"), rest @ ..] => {
                return self.shared_buffer(direction, rest, line, notes);
            }
            ["dedicated-buffer", direction @ ("ingress" | "egress"), "percent", share] => {
                let said = notes.said(line, percent(share));
                self.shares.insert(format!("dedicated {direction} buffer"), said.map(in_percent));
            }
            ["code-point-aliases", ..] => {}
            [part, ..] if ELSEWHERE.contains(part) => notes.mark(line, RemarkKind::Foreign),
            _ => return false,
        }
        true
    }

    /// A name for a code point.
    pub(super) fn alias(&mut self, name: &str, bits: &str) {
        if let Some(dscp) = code_point(bits) {
            self.aliases.insert(name.to_owned(), dscp);
        }
    }

    /// How the buffer is divided; what is lossless may take a share of what is free.
    fn shared_buffer(
        &mut self,
        direction: &str,
        rest: &[&str],
        line: u32,
        notes: &mut Notes,
    ) -> bool {
        let ingress = direction == "ingress";
        match rest {
            ["percent", share] => {
                let share = notes.said(line, percent(share));
                self.shares.insert(format!("shared {direction} buffer"), share.map(in_percent));
            }
            ["buffer-partition", part, "percent", share] => {
                let share = notes.said(line, percent(share));
                self.shares.insert(format!("{part} {direction} buffer"), share.map(in_percent));
                if ingress && *part == "lossless-headroom" {
                    self.headroom = share;
                }
            }
            ["buffer-partition", part, "dynamic-threshold", step] => {
                let step = step.parse::<i32>().ok().filter(|step| (0..=10).contains(step));
                let threshold = step.map(|step| Threshold::Dynamic(power(step - 7)));
                let said = notes.said(line, threshold);
                if ingress && *part == "lossless" {
                    self.threshold = said;
                }
            }
            _ => return false,
        }
        true
    }

    /// Adds the classes that a box has by itself, where they are used, and remarks those that it has
    /// not.
    pub(super) fn settle(&mut self, notes: &mut Notes) {
        let classified = self.classifiers.values().flatten();
        let mut used: BTreeMap<String, Option<u32>> = BTreeMap::new();
        for (_, class, place) in classified {
            used.entry(class.clone()).or_insert(Some(place.first));
        }
        for (class, _) in self.maps.values().flatten() {
            used.entry(class.clone()).or_insert(None);
        }
        let (partial, mut first) = (self.classes.is_empty(), None);
        for (name, line) in used {
            if self.classes.contains_key(&name) || name.starts_with(MULTICAST) {
                continue;
            }
            match (BUILT_IN.iter().find(|(known, ..)| *known == name), line) {
                (Some((_, queue, pause)), _) => {
                    let class = ForwardingClass {
                        queue: Queue::new(*queue).map_or(Said::Absent, Said::Default),
                        pause: pause.and_then(Priority::new).map_or(Said::Absent, Said::Default),
                        lossless: pause.is_some(),
                        multicast: false,
                    };
                    self.classes.insert(name, class);
                }
                // Where no class is defined at all, the text is a part: one remark says so.
                (None, Some(line)) if partial => {
                    first = Some(first.map_or(line, |old: u32| old.min(line)));
                }
                (None, Some(line)) => notes.mark(line, RemarkKind::Malformed),
                (None, None) => {}
            }
        }
        if let Some(line) = first {
            notes.mark(line, RemarkKind::Malformed);
        }
    }

    fn class(&mut self, name: &str, rest: &[&str], line: u32, notes: &mut Notes) {
        let entry = self.classes.entry(name.to_owned()).or_default();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match *word {
                "queue-num" => {
                    let number = words.next().and_then(|word| word.parse::<u8>().ok());
                    entry.multicast = number.is_some_and(|n| (8..QUEUES).contains(&n));
                    // What is in a queue for multicast cannot be lossless.
                    let lossless = rest.iter().any(|w| ["no-loss", "pfc-priority"].contains(w));
                    if !entry.multicast || lossless {
                        entry.queue = notes.said(line, number.and_then(Queue::new));
                    }
                }
                "pfc-priority" => {
                    let read = words.next().and_then(|word| Priority::read(word));
                    entry.pause = notes.said(line, read);
                }
                "no-loss" => entry.lossless = true,
                _ => notes.mark(line, RemarkKind::Unknown),
            }
        }
    }

    /// `interpolate fill-level [ 10 40 ]` and `interpolate drop-probability [ 0 100 ]`; both may
    /// stand in one statement, or every number in one of its own.
    fn drop_profile(&mut self, name: &str, rest: &[&str], line: u32, notes: &mut Notes) {
        let entry = self.drop_profiles.entry(name.to_owned()).or_default();
        let mut list = None;
        for word in rest {
            match *word {
                "interpolate" => {}
                "fill-level" => list = Some(&mut entry.fill),
                "drop-probability" => list = Some(&mut entry.probability),
                number => match (number.parse(), &mut list) {
                    // More points than a box takes are a mistake, and memory.
                    (Ok(percent), Some(list)) if percent <= 100 && list.len() < 64 => {
                        list.push(percent);
                    }
                    _ => notes.mark(line, RemarkKind::Malformed),
                },
            }
        }
    }

    fn scheduler(&mut self, name: &str, rest: &[&str], line: u32, notes: &mut Notes) -> bool {
        let place = notes.line(line);
        let entry = self.schedulers.entry(name.to_owned()).or_default();
        match rest {
            ["transmit-rate", "percent", share] => {
                if entry.turn.get() != Some(Scheduling::Strict) {
                    let turn = share.parse().ok().map(Scheduling::Weighted);
                    entry.turn = notes.said(line, turn);
                }
            }
            ["priority", "strict-high"] => entry.turn = Said::At(Scheduling::Strict, place),
            ["explicit-congestion-notification"] => entry.marks = true,
            ["drop-profile-map", .., "drop-profile", profile] => {
                entry.profile = Some(((*profile).to_owned(), place));
            }
            ["priority", _] => {}
            [
                "buffer-size"
                | "buffer-dynamic-threshold"
                | "shaping-rate"
                | "transmit-rate"
                | "excess-rate"
                | "excess-priority",
                ..,
            ] => {}
            _ => return false,
        }
        true
    }

    fn pause(&mut self, name: &str, rest: &[&str], line: u32, notes: &mut Notes) -> bool {
        let place = notes.line(line);
        let entry = self.pausing.entry(name.to_owned()).or_default();
        match rest {
            ["pfc-watchdog", rest @ ..] => {
                entry.watchdog = Said::At(true, place);
                return entry.watch(rest, line, notes);
            }
            ["input", "cable-length", metres] => {
                entry.cable = notes.said(line, metres.parse().ok().map(Length::from_m));
            }
            ["input", "dscp", "code-point", point, "pfc"] => match code_point(point) {
                Some(dscp) => entry.dscps.push((dscp, place)),
                None => notes.mark(line, RemarkKind::Malformed),
            },
            ["input", "ieee-802.1", "code-point", point, "pfc"] => match bits(point, 3) {
                Some(number) => entry.priorities.extend(Priority::new(number).map(|p| (p, place))),
                None => notes.mark(line, RemarkKind::Malformed),
            },
            ["input", "ieee-802.1" | "dscp", "code-point", _, "mru" | "xoff" | "xon", ..] => {}
            ["output", "ieee-802.1", "code-point", point, "flow-control-queue", queues @ ..] => {
                let priority = bits(point, 3).and_then(Priority::new);
                for queue in queues {
                    match priority.zip(Queue::read(queue)) {
                        Some((priority, queue)) => entry.queues.push((priority, queue, place)),
                        None => notes.mark(line, RemarkKind::Malformed),
                    }
                }
            }
            _ => return false,
        }
        true
    }

    /// The number of every forwarding class: that of its name, of its pause or of its queue. A class whose
    /// number another one has gets the queue of that one, or any but 0: there is what no classifier
    /// names.
    pub(super) fn numbers(&self) -> BTreeMap<&str, Class> {
        let mut numbers: BTreeMap<&str, Class> = BTreeMap::new();
        let mut taken = [false; 8];
        let free = |taken: &[bool; 8], number: &Class| !taken[number.index()];
        let fixed = |name: &str| match name {
            "best-effort" => Class::new(0),
            _ => name.strip_prefix("TC").and_then(Class::read),
        };
        let by_pause =
            |class: &ForwardingClass| class.pause.get().and_then(|p| Class::new(p.get()));
        let by_queue =
            |class: &ForwardingClass| class.queue.get().and_then(|q| Class::new(q.get()));
        for pass in 0..4 {
            for (name, class) in self.classes.iter().filter(|(_, class)| !class.multicast) {
                if numbers.contains_key(name.as_str()) {
                    continue;
                }
                let wanted = match pass {
                    0 => fixed(name),
                    1 => by_pause(class).filter(|c| !taken[c.index()]),
                    2 => by_queue(class).filter(|c| !taken[c.index()]),
                    _ => {
                        let holder =
                            numbers.iter().find(|(_, number)| Some(**number) == by_queue(class));
                        let swapped =
                            holder.and_then(|(name, _)| by_queue(self.classes.get(*name)?));
                        let others = Class::all().skip(1).chain(Class::new(0));
                        let mut wanted = swapped.into_iter().chain(others);
                        wanted.find(|number| free(&taken, number)).or(by_queue(class))
                    }
                };
                if let Some(number) = wanted {
                    taken[number.index()] = true;
                    numbers.insert(name, number);
                }
            }
        }
        numbers
    }

    /// Queues as a scheduler map makes them.
    pub(super) fn queues(&self, map: &str) -> [QueueSettings; 8] {
        let mut queues = [QueueSettings::default(); 8];
        for (class, scheduler) in self.maps.get(map).into_iter().flatten() {
            let queue = match self.classes.get(class).and_then(|class| class.queue.get()) {
                Some(queue) => queue.index(),
                None if class == "best-effort" => 0,
                None => continue,
            };
            let Some(scheduler) = self.schedulers.get(scheduler) else { continue };
            queues[queue] =
                QueueSettings { scheduling: scheduler.turn, wred: self.wred(scheduler) };
        }
        queues
    }

    fn wred(&self, scheduler: &Scheduler) -> Said<Wred> {
        let Some((name, place)) = &scheduler.profile else { return Said::Absent };
        let Some(profile) = self.drop_profiles.get(name) else { return Said::Absent };
        let points =
            (profile.fill.first()).zip(profile.fill.last()).zip(profile.probability.last());
        let Some(((min, max), pmax)) = points else { return Said::Absent };
        let share = |percent: &u64| Ratio::new(*percent, 100);
        let levels = Levels::Fill { min: share(min), max: share(max), pmax: share(pmax) };
        Said::At(Wred { levels, marks: scheduler.marks }, *place)
    }
}

impl Pausing {
    fn watch(&mut self, rest: &[&str], line: u32, notes: &mut Notes) -> bool {
        // Longer than any box waits, and within the clock.
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n > 0 && *n < 100_000);
        match rest {
            [] => {}
            ["poll-interval", ms] => self.poll = notes.said(line, number(ms)),
            ["detection", polls] => self.polls = notes.said(line, number(polls)),
            ["recovery", ms] => self.recovery = notes.said(line, number(ms)),
            ["watchdog-action", word] => {
                let action = match *word {
                    "drop" => Some(Reaction::Act(WatchdogAction::Drop)),
                    "forward" => Some(Reaction::Act(WatchdogAction::Forward)),
                    _ => None,
                };
                self.action = notes.said(line, action);
            }
            _ => return false,
        }
        true
    }
}

fn in_percent(share: u64) -> String {
    format!("{share}%")
}

/// Whole percent.
fn percent(text: &str) -> Option<u64> {
    text.parse().ok().filter(|percent| *percent <= 100)
}

/// A code point as six bits or by its name.
pub(super) fn code_point(text: &str) -> Option<Dscp> {
    if text.len() == 6 {
        return bits(text, 6).and_then(Dscp::new);
    }
    Dscp::named(text)
}

fn bits(text: &str, count: usize) -> Option<u8> {
    let binary = text.len() == count && text.bytes().all(|byte| matches!(byte, b'0' | b'1'));
    binary.then(|| u8::from_str_radix(text, 2).ok())?
}
