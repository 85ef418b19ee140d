//! What `class-of-service` says: classes, classifiers, drop profiles, schedulers, pauses.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, Queue};
use crate::place::{Place, Said};
use crate::qos::{Levels, QueueSettings, Wred};
use crate::text::notes::Notes;
use std::collections::BTreeMap;
use xoff_fabric::model::Scheduling;
use xoff_units::{Length, Ratio};

/// By name.
type Named<T> = BTreeMap<String, T>;

/// A forwarding class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ForwardingClass {
    pub(super) queue: Said<Queue>,
    pub(super) pause: Said<Priority>,
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
}

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
                    match code_point(word) {
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
            ["shared-buffer" | "rewrite-rules" | "host-outbound-traffic", ..] => {}
            _ => return false,
        }
        true
    }

    fn class(&mut self, name: &str, rest: &[&str], line: u32, notes: &mut Notes) {
        let entry = self.classes.entry(name.to_owned()).or_default();
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            match *word {
                "queue-num" => {
                    let read = words.next().and_then(|word| Queue::read(word));
                    entry.queue = notes.said(line, read);
                }
                "pfc-priority" => {
                    let read = words.next().and_then(|word| Priority::read(word));
                    entry.pause = notes.said(line, read);
                }
                "no-loss" => {}
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
            ["priority", _] | ["buffer-size" | "shaping-rate" | "transmit-rate", ..] => {}
            _ => return false,
        }
        true
    }

    fn pause(&mut self, name: &str, rest: &[&str], line: u32, notes: &mut Notes) -> bool {
        let place = notes.line(line);
        let entry = self.pausing.entry(name.to_owned()).or_default();
        match rest {
            ["pfc-watchdog", ..] => entry.watchdog = Said::At(true, place),
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

    /// The number of every forwarding class.
    pub(super) fn numbers(&self) -> BTreeMap<&str, Class> {
        let mut numbers: BTreeMap<&str, Class> = BTreeMap::new();
        let mut taken = [false; 8];
        let fixed = |name: &str| match name {
            "best-effort" => Class::new(0),
            _ => name.strip_prefix("TC").and_then(Class::read),
        };
        let by_pause =
            |class: &ForwardingClass| class.pause.get().and_then(|p| Class::new(p.get()));
        let by_queue =
            |class: &ForwardingClass| class.queue.get().and_then(|q| Class::new(q.get()));
        for pass in 0..4 {
            for (name, class) in &self.classes {
                if numbers.contains_key(name.as_str()) {
                    continue;
                }
                let wanted = match pass {
                    0 => fixed(name),
                    1 => by_pause(class).filter(|c| !taken[c.index()]),
                    2 => by_queue(class).filter(|c| !taken[c.index()]),
                    _ => Class::all().find(|c| !taken[c.index()]).or(by_queue(class)),
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
