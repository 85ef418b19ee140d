//! The policies of NX-OS: class maps, classification, network QoS, queuing.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, ranges};
use crate::place::Said;
use crate::qos::{GroupSettings, Levels, QueueSettings, Trust, Wred};
use crate::text::notes::{Notes, bytes, size};
use crate::text::outline::Statement;
use std::collections::BTreeMap;
use xoff_fabric::model::{Ecn, Scheduling, Threshold};
use xoff_units::{Bytes, Ratio};

/// All policies of a box, by name.
#[derive(Debug, Default)]
pub(super) struct Policies {
    matches: BTreeMap<String, Match>,
    pub(super) classify: BTreeMap<String, Vec<(String, Said<Class>)>>,
    pub(super) network: BTreeMap<String, Network>,
    pub(super) queuing: BTreeMap<String, [QueueSettings; 8]>,
    pub(super) input: BTreeMap<String, [GroupSettings; 8]>,
}

/// What a class map matches.
#[derive(Debug, Clone, Default)]
struct Match {
    dscps: Vec<Dscp>,
    cos: bool,
}

/// What a network-qos policy pauses.
#[derive(Debug, Clone, Default)]
pub(super) struct Network {
    /// The priority that pauses each class.
    pub(super) pauses: Vec<(Class, Said<Priority>)>,
}

/// What a classification policy makes of a port.
#[derive(Debug, Clone)]
pub(super) struct Classified {
    pub(super) classes: [Said<Class>; Dscp::COUNT],
    pub(super) trust: Trust,
}

impl Policies {
    pub(super) fn class_map(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut found = Match::default();
        for child in &statement.children {
            match child.words()[..] {
                ["match", "dscp", ref lists @ ..] | ["match", "ip", "dscp", ref lists @ ..] => {
                    for word in lists.iter().flat_map(|list| list.split(',')) {
                        let read = ranges(word, Dscp::COUNT)
                            .map(|list| list.into_iter().filter_map(Dscp::new).collect())
                            .or_else(|| Dscp::named(word).map(|dscp| vec![dscp]));
                        match read {
                            Some(list) => found.dscps.extend::<Vec<Dscp>>(list),
                            None => notes.mark(child.line, RemarkKind::Malformed),
                        }
                    }
                }
                ["match", "cos", ..] => found.cos = true,
                ["description", ..] | ["match", "access-group", ..] => {}
                _ => notes.unknown(child),
            }
        }
        self.matches.insert(name.to_owned(), found);
    }

    pub(super) fn classify(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut rules = Vec::new();
        for child in &statement.children {
            let class = match child.words()[..] {
                ["class", "type", "qos", name] | ["class", name] => name,
                ["description", ..] => continue,
                _ => {
                    notes.unknown(child);
                    continue;
                }
            };
            let mut group = Said::Absent;
            for set in &child.children {
                match set.words()[..] {
                    ["set", "qos-group", number] => {
                        group = notes.said(set.line, Class::read(number));
                    }
                    // Rewrites and policers change no class.
                    ["set", "dscp" | "cos" | "precedence", ..] | ["police", ..] => {}
                    _ => notes.unknown(set),
                }
            }
            rules.push((class.to_owned(), group));
        }
        self.classify.insert(name.to_owned(), rules);
    }

    /// What the classification policy of that name makes of a port.
    pub(super) fn classified(&self, name: &str) -> Option<Classified> {
        let rules = self.classify.get(name)?;
        let mut classes = [Said::Absent; Dscp::COUNT];
        let (mut by_dscp, mut by_cos) = (false, false);
        let mut rest = Said::Absent;
        for (name, group) in rules {
            if name == "class-default" {
                rest = *group;
            }
            let Some(found) = self.matches.get(name) else { continue };
            by_dscp |= !found.dscps.is_empty();
            by_cos |= found.cos;
            for dscp in &found.dscps {
                let entry = &mut classes[dscp.index()];
                // The first class that matches decides.
                if !entry.is_said() {
                    *entry = *group;
                }
            }
        }
        let trust = match (by_dscp, by_cos) {
            (true, true) => Trust::Both,
            (true, false) => Trust::Dscp,
            (false, true) => Trust::Pcp,
            (false, false) => Trust::Nothing,
        };
        for entry in &mut classes {
            if !entry.is_said() {
                *entry = rest;
            }
        }
        Some(Classified { classes, trust })
    }

    pub(super) fn network(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut network = Network::default();
        for child in &statement.children {
            let class = match child.words()[..] {
                ["class", "type", "network-qos", name] => number_in(name, "-nq"),
                _ => {
                    notes.unknown(child);
                    continue;
                }
            };
            for line in &child.children {
                match line.words()[..] {
                    ["pause", "pfc-cos", cos] => {
                        let said = notes.said(line.line, Priority::read(cos));
                        if let Some(class) = class.and_then(Class::new) {
                            network.pauses.push((class, said));
                        }
                    }
                    ["mtu", mtu] => {
                        let _ = notes.said(line.line, bytes(mtu));
                    }
                    ["congestion-control", ..] | ["set", "cos", _] | ["multicast-optimize"] => {}
                    _ => notes.unknown(line),
                }
            }
            if class.is_none() {
                notes.mark(child.line, RemarkKind::Malformed);
            }
        }
        self.network.insert(name.to_owned(), network);
    }

    pub(super) fn queuing(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut queues = [QueueSettings::default(); 8];
        let mut groups = [GroupSettings::default(); 8];
        for child in &statement.children {
            let class = match child.words()[..] {
                ["class", "type", "queuing", name] => name,
                _ => {
                    notes.unknown(child);
                    continue;
                }
            };
            let number = number_in(class, "-q").map(usize::from);
            let (Some(queue), Some(group)) = (
                number.and_then(|number| queues.get_mut(number)),
                number.and_then(|number| groups.get_mut(number)),
            ) else {
                notes.mark(child.line, RemarkKind::Malformed);
                continue;
            };
            for line in &child.children {
                queue_line(line, queue, group, notes);
            }
        }
        self.queuing.insert(name.to_owned(), queues);
        self.input.insert(name.to_owned(), groups);
    }
}

fn queue_line(
    line: &Statement<'_>,
    queue: &mut QueueSettings,
    group: &mut GroupSettings,
    notes: &mut Notes,
) {
    match line.words()[..] {
        ["bandwidth", "remaining", "percent", share] | ["bandwidth", "percent", share] => {
            let turn = share.parse().ok().map(Scheduling::Weighted);
            queue.scheduling = notes.said(line.line, turn);
        }
        ["priority"] | ["priority", "level", _] => {
            queue.scheduling = Said::At(Scheduling::Strict, notes.line(line.line));
        }
        ["random-detect", ref words @ ..] => {
            queue.wred = notes.said(line.line, wred(words));
        }
        ["pause", "buffer-size", total, "pause-threshold", pause, "resume-threshold", resume] => {
            let read = bytes(total).zip(bytes(pause)).zip(bytes(resume));
            match read.filter(|((total, pause), resume)| pause <= total && resume <= pause) {
                Some(((total, pause), resume)) => {
                    let place = notes.line(line.line);
                    group.threshold = Said::At(Threshold::Static(pause), place);
                    group.headroom = Said::At(total - pause, place);
                    group.xon_offset = Said::At(pause - resume, place);
                }
                None => notes.mark(line.line, RemarkKind::Malformed),
            }
        }
        ["queue-limit", ..] | ["shape", ..] | ["bandwidth", "remaining", "ratio", ..] => {}
        _ => notes.unknown(line),
    }
}

/// The number behind `mark` in the name of a system class: `default` is 0.
fn number_in(name: &str, mark: &str) -> Option<u8> {
    let (_, rest) = name.rsplit_once(mark)?;
    if rest == "-default" {
        return Some(0);
    }
    rest.parse().ok().filter(|number| *number < 8)
}

/// `minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn`.
fn wred(words: &[&str]) -> Option<Wred> {
    let after = |word: &str| words.iter().position(|w| *w == word).map(|at| &words[at + 1..]);
    let amount =
        |word: &str| -> Option<Bytes> { size(after(word)?.first()?, after(word)?.get(1)?) };
    let percent = match after("drop-probability") {
        Some(rest) => rest.first()?.parse::<u64>().ok().filter(|percent| *percent <= 100)?,
        None => 100,
    };
    let ecn = Ecn {
        kmin: amount("minimum-threshold")?,
        kmax: amount("maximum-threshold")?,
        pmax: Ratio::new(percent, 100),
    };
    Some(Wred { levels: Levels::Sizes(ecn), marks: words.contains(&"ecn") })
}
