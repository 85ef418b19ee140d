//! The policies of NX-OS: class maps, classification, network QoS, queuing.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, ranges};
use crate::place::Said;
use crate::qos::{GroupSettings, QueueSettings, Trust};
use crate::text::access::AccessLists;
use crate::text::notes::{Notes, bytes};
use crate::text::outline::{Form, Statement};
use crate::text::wred::Written;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{Scheduling, Threshold};
use xoff_units::{Bytes, Rate};

type Named<T> = BTreeMap<String, T>;

/// All policies of a box, by name.
#[derive(Debug, Default)]
pub(super) struct Policies {
    pub(super) lists: AccessLists,
    matches: Named<Match>,
    /// The qos-groups of classes that people made themselves.
    network_classes: Named<Vec<u8>>,
    queuing_classes: Named<Vec<u8>>,
    pub(super) classify: Named<Vec<(String, Said<Class>)>>,
    pub(super) network: Named<Network>,
    queuing: Named<[Lines; 8]>,
    pub(super) input: Named<[GroupSettings; 8]>,
}

/// What a class map matches.
#[derive(Debug, Clone, Default)]
struct Match {
    dscps: Vec<Dscp>,
    cos: bool,
    /// Access lists, with the lines that name them.
    lists: Vec<(String, u32)>,
}

/// What a network-qos policy says.
#[derive(Debug, Clone, Default)]
pub(super) struct Network {
    pub(super) pauses: Vec<Pause>,
    /// The MTU of ports, on boxes that have it here: those whose class is `class-default`.
    pub(super) mtu: Said<Bytes>,
    /// The smallest MTU of the classes that are paused.
    pub(super) paused_mtu: Said<Bytes>,
}

/// A class that a network-qos policy pauses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pause {
    pub(super) class: Class,
    /// The priority that pauses it.
    pub(super) priority: Said<Priority>,
    /// Whether pauses are sent, not only obeyed.
    pub(super) sends: bool,
}

/// What a queuing policy says of a queue.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    turn: Said<Scheduling>,
    wred: Said<Written>,
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
            let (form, words) = child.form();
            match (form, &words[..]) {
                (
                    Form::Plain,
                    ["match", "dscp", lists @ ..] | ["match", "ip", "dscp", lists @ ..],
                ) => match dscps(lists) {
                    Some(list) => found.dscps.extend(list),
                    None => notes.mark(child.line, RemarkKind::Malformed),
                },
                (Form::Plain, ["match", "precedence", lists @ ..]) => match precedences(lists) {
                    Some(list) => found.dscps.extend(list),
                    None => notes.mark(child.line, RemarkKind::Malformed),
                },
                (Form::No, ["match", "dscp", lists @ ..]) => {
                    let gone = dscps(lists).unwrap_or_default();
                    found.dscps.retain(|dscp| !gone.contains(dscp));
                }
                (Form::Plain, ["match", "access-group", "name", list]) => {
                    found.lists.push(((*list).to_owned(), child.line));
                }
                (Form::Plain, ["match", "cos", ..]) => found.cos = true,
                (Form::No, ["match", "cos", ..]) => found.cos = false,
                (_, ["description", ..] | ["match", "protocol", ..]) => {}
                _ => notes.unknown(child),
            }
        }
        self.matches.insert(name.to_owned(), found);
    }

    /// Resolves access lists. What matches by something else than a DSCP is not in the model, and said.
    pub(super) fn settle(&mut self, notes: &mut Notes) {
        for found in self.matches.values_mut() {
            for (list, line) in std::mem::take(&mut found.lists) {
                match self.lists.dscps(&list) {
                    [] => notes.mark(line, RemarkKind::Unknown),
                    dscps => found.dscps.extend(dscps),
                }
            }
        }
    }

    /// A class of queuing or network QoS that people made themselves.
    pub(super) fn own_class(
        &mut self,
        kind: &str,
        name: &str,
        statement: &Statement<'_>,
        notes: &mut Notes,
    ) {
        let mut groups = Vec::new();
        for child in &statement.children {
            match child.words()[..] {
                ["match", "qos-group", list] => match ranges(list, Class::COUNT) {
                    Some(list) => groups.extend(list),
                    None => notes.mark(child.line, RemarkKind::Malformed),
                },
                ["description", ..] | ["match", "cos" | "protocol", ..] => {}
                _ => notes.unknown(child),
            }
        }
        let classes = match kind {
            "queuing" => &mut self.queuing_classes,
            _ => &mut self.network_classes,
        };
        // The box's own classes say what they match in their names.
        if !groups.is_empty() {
            classes.insert(name.to_owned(), groups);
        }
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
                let (form, words) = set.form();
                match (form, &words[..]) {
                    (Form::Plain, ["set", "qos-group", number]) => {
                        group = notes.said(set.line, Class::read(number));
                    }
                    (_, ["set", "qos-group", ..]) => group = Said::Absent,
                    // Rewrites and policers change no class.
                    (Form::Plain, ["set", "dscp" | "precedence", ..] | ["set", "ip", ..]) => {
                        notes.mark(set.line, RemarkKind::Rewrite);
                    }
                    (_, ["set", "dscp" | "cos" | "precedence" | "dlb-mode", ..])
                    | (_, ["set", "ip", ..] | ["police" | "description", ..]) => {}
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
                ["class", "type", "network-qos", name] | ["class", name] => name,
                ["description", ..] => continue,
                _ => {
                    notes.unknown(child);
                    continue;
                }
            };
            let before = network.pauses.len();
            match numbers(&self.network_classes, class, "-nq") {
                Some(numbers) => network.pauses.extend(paused(child, &numbers, notes)),
                None => notes.mark(child.line, RemarkKind::Malformed),
            }
            let mtu = |line: &Statement<'_>| match line.words()[..] {
                ["mtu", mtu] => Some(Said::At(bytes(mtu)?, notes.line(line.line))),
                _ => None,
            };
            // The last one said holds.
            let own = child.children.iter().rev().find_map(mtu).unwrap_or_default();
            if class == "class-default" {
                network.mtu = own;
            }
            let smaller = network.paused_mtu.get().is_none_or(|least| own.get() < Some(least));
            // Frames of Fibre Channel have a class of that size.
            let storage = own.get().is_some_and(|mtu| (2112..=2240).contains(&mtu.get()));
            if network.pauses.len() > before && own.is_said() && smaller && !storage {
                network.paused_mtu = own;
            }
        }
        self.network.insert(name.to_owned(), network);
    }

    pub(super) fn queuing(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut queues = [Lines::default(); 8];
        let mut groups = [GroupSettings::default(); 8];
        for child in &statement.children {
            let class = match child.words()[..] {
                ["class", "type", "queuing", name] | ["class", name] => name,
                ["description", ..] => continue,
                _ => {
                    notes.unknown(child);
                    continue;
                }
            };
            let Some(numbers) = numbers(&self.queuing_classes, class, "-q") else {
                notes.mark(child.line, RemarkKind::Malformed);
                continue;
            };
            for (index, number) in numbers.into_iter().enumerate() {
                // What a class of several groups says is remarked once.
                let mut again = Notes::new(notes.file);
                let notes = if index == 0 { &mut *notes } else { &mut again };
                let number = usize::from(number);
                for line in &child.children {
                    queue_line(line, &mut queues[number], &mut groups[number], notes);
                }
            }
        }
        self.queuing.insert(name.to_owned(), queues);
        self.input.insert(name.to_owned(), groups);
    }

    /// The queues that a queuing policy makes at a port of that rate. `told` has the lines that were
    /// remarked already.
    pub(super) fn queues(
        &self,
        name: &str,
        rate: Option<Rate>,
        notes: &mut Notes,
        told: &mut BTreeSet<u32>,
    ) -> Option<[QueueSettings; 8]> {
        let queues = self.queuing.get(name)?;
        Some(queues.map(|lines| {
            let wred = lines.wred.map(|written| written.at(rate));
            if let Said::At((_, false), place) = wred
                && told.insert(place.first)
            {
                notes.mark(place.first, RemarkKind::Malformed);
            }
            QueueSettings { scheduling: lines.turn, wred: wred.map(|(wred, _)| wred) }
        }))
    }
}

/// DSCPs by number, range or name, in words or with commas.
fn dscps(lists: &[&str]) -> Option<Vec<Dscp>> {
    let mut found = Vec::new();
    for word in lists.iter().flat_map(|list| list.split(',')).filter(|word| !word.is_empty()) {
        match Dscp::named(word) {
            Some(dscp) => found.push(dscp),
            None => found.extend(ranges(word, Dscp::COUNT)?.into_iter().filter_map(Dscp::new)),
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The DSCPs of IP precedences.
fn precedences(lists: &[&str]) -> Option<Vec<Dscp>> {
    let numbers = ranges(&lists.join(","), Class::COUNT)?;
    let found = numbers.into_iter().flat_map(|number| (number * 8..).take(8));
    Some(found.filter_map(Dscp::new).collect())
}

/// What a class of a network-qos policy pauses.
fn paused(statement: &Statement<'_>, numbers: &[u8], notes: &mut Notes) -> Vec<Pause> {
    let mut pauses = Vec::new();
    let classes = || numbers.iter().filter_map(|number| Class::new(*number));
    for line in &statement.children {
        let (form, words) = line.form();
        let place = notes.line(line.line);
        match (form, &words[..]) {
            (Form::Plain, ["pause", "pfc-cos", list, rest @ ..])
            | (Form::Plain, ["pause", "no-drop", "pfc-cos", list, rest @ ..]) => {
                let list = ranges(list, Priority::COUNT).filter(|list| !list.is_empty());
                let list = list.filter(|_| matches!(rest, [] | ["receive"]));
                let Some(list) = list else {
                    notes.mark(line.line, RemarkKind::Malformed);
                    continue;
                };
                for priority in list.into_iter().filter_map(Priority::new) {
                    let priority = Said::At(priority, place);
                    let sends = rest.is_empty();
                    pauses.extend(classes().map(|class| Pause { class, priority, sends }));
                }
            }
            // The priority is that of the class.
            (Form::Plain, ["pause", "no-drop", ..]) => {
                pauses.extend(classes().filter_map(|class| {
                    let priority = Said::At(Priority::new(class.get())?, place);
                    Some(Pause { class, priority, sends: true })
                }));
            }
            (Form::No | Form::Default, ["pause", ..]) => pauses.clear(),
            (Form::Plain, ["mtu", mtu]) => {
                let _ = notes.said(line.line, bytes(mtu));
            }
            (_, ["mtu" | "congestion-control" | "multicast-optimize" | "description", ..])
            | (_, ["set", "cos", ..] | ["queue-limit", ..]) => {}
            _ => notes.unknown(line),
        }
    }
    pauses
}

fn queue_line(
    line: &Statement<'_>,
    queue: &mut Lines,
    group: &mut GroupSettings,
    notes: &mut Notes,
) {
    let (form, words) = line.form();
    match (form, &words[..]) {
        (
            Form::Plain,
            ["bandwidth", "remaining", "percent", share] | ["bandwidth", "percent", share],
        ) => {
            let turn = share.parse().ok().map(Scheduling::Weighted);
            queue.turn = notes.said(line.line, turn);
        }
        (Form::Plain, ["priority"] | ["priority", "level", _]) => {
            queue.turn = Said::At(Scheduling::Strict, notes.line(line.line));
        }
        (_, ["bandwidth", "remaining", "ratio", ..]) => {}
        (Form::No | Form::Default, ["bandwidth" | "priority", ..]) => queue.turn = Said::Absent,
        (Form::Plain, ["random-detect", words @ ..]) => {
            queue.wred = notes.said(line.line, wred(words))
        }
        (_, ["random-detect", ..]) => queue.wred = Said::Absent,
        (
            Form::Plain,
            ["pause", "buffer-size", total, "pause-threshold", pause, "resume-threshold", resume],
        ) => {
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
        (Form::No | Form::Default, ["pause", ..]) => *group = GroupSettings::default(),
        (_, ["queue-limit" | "shape" | "afd" | "description", ..]) => {}
        _ => notes.unknown(line),
    }
}

/// The qos-groups of a class: those that it says, or those in the name of a class of the box, like
/// `c-out-8q-q3`; `default` is 0.
fn numbers(own: &Named<Vec<u8>>, name: &str, mark: &str) -> Option<Vec<u8>> {
    if let Some(groups) = own.get(name) {
        return Some(groups.clone());
    }
    if name == "class-default" {
        return Some(vec![0]);
    }
    let (_, rest) = name.rsplit_once(mark)?;
    if rest == "-default" {
        return Some(vec![0]);
    }
    rest.parse().ok().filter(|number| *number < 8).map(|number| vec![number])
}

/// `minimum-threshold 950 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn`, or
/// `threshold burst-optimized ecn`, with thresholds that the box has by itself.
fn wred(words: &[&str]) -> Option<Written> {
    let marks = words.contains(&"ecn");
    let optimized = |word: &&str| matches!(*word, "burst-optimized" | "mesh-optimized");
    if words.iter().any(optimized) || matches!(words, [] | ["ecn"]) {
        return Some(Written::of_the_box(marks));
    }
    Written::read(words, marks, None)
}
