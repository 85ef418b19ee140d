//! The maps and policies of OS10.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, Queue, ranges};
use crate::place::Said;
use crate::qos::{Levels, QueueSettings, Wred};
use crate::text::notes::Notes;
use crate::text::outline::Statement;
use std::collections::BTreeMap;
use xoff_fabric::model::{Ecn, Scheduling};
use xoff_units::{Bytes, Ratio};

type Named<T> = BTreeMap<String, T>;

/// All of a box, by name.
#[derive(Debug, Default)]
pub(super) struct Policies {
    pub(super) trust: Named<[Said<Class>; Dscp::COUNT]>,
    pub(super) traffic_class: Named<[Said<Queue>; 8]>,
    /// Groups or queues that class maps match.
    matches: Named<Vec<u8>>,
    network: Named<Vec<(String, Said<Priority>)>>,
    queuing: Named<Vec<(String, Queuing)>>,
    wred: Named<Said<Wred>>,
}

/// What a queuing policy says of a class.
#[derive(Debug, Clone, Default)]
struct Queuing {
    turn: Said<Scheduling>,
    profile: Option<String>,
}

impl Policies {
    /// `trust dscp-map NAME`, with lines like `qos-group 3 dscp 26`.
    pub(super) fn trust_map(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut map = [Said::Absent; Dscp::COUNT];
        for child in &statement.children {
            let ["qos-group", group, "dscp", list] = child.words()[..] else {
                notes.unknown(child);
                continue;
            };
            match Class::read(group).zip(ranges(list, Dscp::COUNT)) {
                Some((class, dscps)) => dscps.into_iter().for_each(|dscp| {
                    map[usize::from(dscp)] = Said::At(class, notes.line(child.line));
                }),
                None => notes.mark(child.line, RemarkKind::Malformed),
            }
        }
        self.trust.insert(name.to_owned(), map);
    }

    /// `qos-map traffic-class NAME`, with lines like `queue 3 qos-group 3`.
    pub(super) fn traffic_map(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut map = [Said::Absent; 8];
        for child in &statement.children {
            let ["queue", queue, "qos-group", groups, ..] = child.words()[..] else {
                notes.unknown(child);
                continue;
            };
            match Queue::read(queue).zip(ranges(groups, 8)) {
                Some((queue, groups)) => groups.into_iter().for_each(|group| {
                    map[usize::from(group)] = Said::At(queue, notes.line(child.line));
                }),
                None => notes.mark(child.line, RemarkKind::Malformed),
            }
        }
        self.traffic_class.insert(name.to_owned(), map);
    }

    pub(super) fn class_map(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut list = Vec::new();
        for child in &statement.children {
            match child.words()[..] {
                ["match", "qos-group" | "queue", numbers] => match ranges(numbers, 8) {
                    Some(numbers) => list.extend(numbers),
                    None => notes.mark(child.line, RemarkKind::Malformed),
                },
                _ => notes.unknown(child),
            }
        }
        self.matches.insert(name.to_owned(), list);
    }

    pub(super) fn network(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut classes = Vec::new();
        for (class, lines) in self.classes(statement, notes) {
            let mut cos = Said::Absent;
            for line in lines {
                match line.words()[..] {
                    ["pfc-cos", number] => cos = notes.said(line.line, Priority::read(number)),
                    ["pause", ..] | ["queue-limit", ..] => {}
                    _ => notes.unknown(line),
                }
            }
            classes.push((class, cos));
        }
        self.network.insert(name.to_owned(), classes);
    }

    pub(super) fn queuing(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut classes = Vec::new();
        for (class, lines) in self.classes(statement, notes) {
            let mut queuing = Queuing::default();
            for line in lines {
                match line.words()[..] {
                    ["bandwidth", "percent", share] => {
                        let turn = share.parse().ok().map(Scheduling::Weighted);
                        queuing.turn = notes.said(line.line, turn);
                    }
                    ["priority"] => {
                        queuing.turn = Said::At(Scheduling::Strict, notes.line(line.line));
                    }
                    ["random-detect", profile] => queuing.profile = Some(profile.to_owned()),
                    ["queue-limit" | "shape", ..] => {}
                    _ => notes.unknown(line),
                }
            }
            classes.push((class, queuing));
        }
        self.queuing.insert(name.to_owned(), classes);
    }

    fn classes<'s, 't>(
        &self,
        statement: &'s Statement<'t>,
        notes: &mut Notes,
    ) -> Vec<(String, &'s [Statement<'t>])> {
        let mut found = Vec::new();
        for child in &statement.children {
            match child.words()[..] {
                ["class", name] | ["class", "type", _, name] => {
                    found.push((name.to_owned(), &child.children[..]));
                }
                _ => notes.unknown(child),
            }
        }
        found
    }

    /// `wred NAME`: thresholds in kilobytes.
    pub(super) fn wred(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let (mut levels, mut marks) = (Said::Absent, false);
        for child in &statement.children {
            match child.words()[..] {
                [
                    "random-detect",
                    "color",
                    "green",
                    "minimum-threshold",
                    low,
                    "maximum-threshold",
                    high,
                    "drop-probability",
                    percent,
                ] => {
                    let kilobytes = |word: &str| word.parse::<u64>().ok()?.checked_mul(1000);
                    let percent = percent.parse().ok().filter(|percent| *percent <= 100);
                    let read = kilobytes(low).zip(kilobytes(high)).zip(percent);
                    let read = read.map(|((low, high), percent)| Ecn {
                        kmin: Bytes::new(low),
                        kmax: Bytes::new(high),
                        pmax: Ratio::new(percent, 100),
                    });
                    levels = notes.said(child.line, read);
                }
                ["random-detect", "ecn"] => marks = true,
                ["random-detect", "color" | "weight", ..] => {}
                _ => notes.unknown(child),
            }
        }
        let wred = levels.map(|ecn| Wred { levels: Levels::Sizes(ecn), marks });
        self.wred.insert(name.to_owned(), wred);
    }

    /// The groups that a network-qos policy pauses, and by which priority.
    pub(super) fn pauses(&self, name: &str) -> Vec<(Class, Said<Priority>)> {
        let classes = self.network.get(name).into_iter().flatten();
        let groups = |class: &String| self.matches.get(class).into_iter().flatten();
        classes
            .flat_map(|(class, cos)| groups(class).map(move |group| (*group, *cos)))
            .filter_map(|(group, cos)| Some((Class::new(group)?, cos)))
            .collect()
    }

    /// The queues that a queuing policy makes.
    pub(super) fn queues(&self, name: &str) -> [QueueSettings; 8] {
        let mut queues = [QueueSettings::default(); 8];
        for (class, queuing) in self.queuing.get(name).into_iter().flatten() {
            for number in self.matches.get(class).into_iter().flatten() {
                let profile = queuing.profile.as_ref().and_then(|name| self.wred.get(name));
                queues[usize::from(*number)] = QueueSettings {
                    scheduling: queuing.turn,
                    wred: profile.copied().unwrap_or_default(),
                };
            }
        }
        queues
    }
}
