//! The maps and policies of OS10.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priority, Queue, ranges};
use crate::place::Said;
use crate::qos::{GroupSettings, Levels, QueueSettings, Trust, Wred};
use crate::text::notes::Notes;
use crate::text::outline::{Form, Statement};
use std::collections::BTreeMap;
use xoff_fabric::model::{Ecn, Scheduling, Threshold};
use xoff_units::{Bytes, Ratio};

type Named<T> = BTreeMap<String, T>;

/// All of a box, by name.
#[derive(Debug, Default)]
pub(super) struct Policies {
    pub(super) trust: Named<[Said<Class>; Dscp::COUNT]>,
    pub(super) traffic_class: Named<[Said<Queue>; 8]>,
    /// Groups or queues that class maps match.
    matches: Named<Vec<u8>>,
    /// DSCPs that class maps match.
    dscps: Named<Vec<Dscp>>,
    classify: Named<Vec<(String, Rule)>>,
    network: Named<Vec<(String, Pausing)>>,
    queuing: Named<Vec<(String, Queuing)>>,
    wred: Named<Said<Wred>>,
}

/// What a classification policy says of a class.
#[derive(Debug, Clone, Copy, Default)]
struct Rule {
    group: Said<Class>,
    trust: Said<Trust>,
}

/// What a network-qos policy says of a class.
#[derive(Debug, Clone, Default)]
struct Pausing {
    on: bool,
    priorities: Vec<Said<Priority>>,
    group: GroupSettings,
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
            let (form, words) = child.form();
            let ["qos-group", group, "dscp", list @ ..] = &words[..] else {
                notes.unknown(child);
                continue;
            };
            let place = notes.line(child.line);
            match Class::read(group).zip(numbers(list, Dscp::COUNT)) {
                Some((class, dscps)) => dscps.into_iter().for_each(|dscp| {
                    map[usize::from(dscp)] = match form {
                        Form::Plain => Said::At(class, place),
                        Form::No | Form::Default => Said::Absent,
                    };
                }),
                None => notes.mark(child.line, RemarkKind::Malformed),
            }
        }
        self.trust.insert(name.to_owned(), map);
    }

    /// `trust dot1p-map NAME`: VLAN priorities, which are not in the model, are checked to be some.
    pub(super) fn vlan_map(statement: &Statement<'_>, notes: &mut Notes) {
        for child in &statement.children {
            match child.form().1[..] {
                ["qos-group", group, "dot1p", ref list @ ..] => {
                    if Class::read(group).zip(numbers(list, Priority::COUNT)).is_none() {
                        notes.mark(child.line, RemarkKind::Malformed);
                    }
                }
                _ => notes.unknown(child),
            }
        }
    }

    /// `qos-map traffic-class NAME`, with lines like `queue 3 qos-group 3`.
    pub(super) fn traffic_map(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut map = [Said::Absent; 8];
        for child in &statement.children {
            let (form, words) = child.form();
            let ["queue", queue, "qos-group", groups @ ..] = &words[..] else {
                notes.unknown(child);
                continue;
            };
            // `type ucast` may follow.
            let end = groups.iter().position(|word| *word == "type").unwrap_or(groups.len());
            let place = notes.line(child.line);
            match Queue::read(queue).zip(numbers(&groups[..end], Class::COUNT)) {
                Some((queue, groups)) => groups.into_iter().for_each(|group| {
                    map[usize::from(group)] = match form {
                        Form::Plain => Said::At(queue, place),
                        Form::No | Form::Default => Said::Absent,
                    };
                }),
                None => notes.mark(child.line, RemarkKind::Malformed),
            }
        }
        self.traffic_class.insert(name.to_owned(), map);
    }

    pub(super) fn class_map(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let (mut groups, mut dscps) = (Vec::new(), Vec::new());
        for child in &statement.children {
            let (form, words) = child.form();
            match (form, &words[..]) {
                (Form::Plain, ["match", "qos-group" | "queue", list @ ..]) => {
                    match numbers(list, 8) {
                        Some(list) => groups.extend(list),
                        None => notes.mark(child.line, RemarkKind::Malformed),
                    }
                }
                (Form::Plain, ["match", "dscp", list @ ..])
                | (Form::Plain, ["match", "ip" | "ipv6" | "ip-any", "dscp", list @ ..]) => {
                    match numbers(list, Dscp::COUNT) {
                        Some(list) => dscps.extend(list.into_iter().filter_map(Dscp::new)),
                        None => notes.mark(child.line, RemarkKind::Malformed),
                    }
                }
                (Form::No, ["match", "qos-group" | "queue", list @ ..]) => {
                    let gone = numbers(list, 8).unwrap_or_default();
                    groups.retain(|group| !gone.contains(group));
                }
                (Form::No, ["match", "dscp", list @ ..])
                | (Form::No, ["match", "ip" | "ipv6" | "ip-any", "dscp", list @ ..]) => {
                    let gone = numbers(list, Dscp::COUNT).unwrap_or_default();
                    dscps.retain(|dscp: &Dscp| !gone.contains(&dscp.get()));
                }
                (_, ["match", "cos" | "vlan", ..] | ["description", ..]) => {}
                _ => notes.unknown(child),
            }
        }
        self.matches.insert(name.to_owned(), groups);
        self.dscps.insert(name.to_owned(), dscps);
    }

    /// `policy-map type qos NAME`: classes of packets get their qos-group, or are believed.
    pub(super) fn classify(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut rules = Vec::new();
        for (class, lines) in self.classes(statement, notes) {
            let mut rule = Rule::default();
            for line in lines {
                let (form, words) = line.form();
                match (form, &words[..]) {
                    (Form::Plain, ["set", "qos-group", number]) => {
                        rule.group = notes.said(line.line, Class::read(number));
                    }
                    (Form::No | Form::Default, ["set", "qos-group", ..]) => {
                        rule.group = Said::Absent;
                    }
                    (Form::Plain, ["trust", word]) => {
                        let trust = match *word {
                            "dscp" | "diffserv" => Some(Trust::Dscp),
                            "dot1p" => Some(Trust::Pcp),
                            _ => None,
                        };
                        rule.trust = notes.said(line.line, trust);
                    }
                    (_, ["trust", ..]) => rule.trust = Said::Absent,
                    // Rewrites and policers change no class.
                    (Form::Plain, ["set", "dscp", ..]) => {
                        notes.mark(line.line, RemarkKind::Rewrite)
                    }
                    (_, ["set", "dscp" | "cos", ..] | ["police" | "description", ..]) => {}
                    _ => notes.unknown(line),
                }
            }
            rules.push((class, rule));
        }
        self.classify.insert(name.to_owned(), rules);
    }

    pub(super) fn network(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut classes = Vec::new();
        for (class, lines) in self.classes(statement, notes) {
            let mut pausing = Pausing::default();
            for line in lines {
                pausing.read(line, notes);
            }
            classes.push((class, pausing));
        }
        self.network.insert(name.to_owned(), classes);
    }

    pub(super) fn queuing(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut classes = Vec::new();
        for (class, lines) in self.classes(statement, notes) {
            let mut queuing = Queuing::default();
            for line in lines {
                let (form, words) = line.form();
                match (form, &words[..]) {
                    (Form::Plain, ["bandwidth", "percent", share]) => {
                        let turn = share.parse().ok().map(Scheduling::Weighted);
                        queuing.turn = notes.said(line.line, turn);
                    }
                    (Form::Plain, ["priority"]) => {
                        queuing.turn = Said::At(Scheduling::Strict, notes.line(line.line));
                    }
                    (Form::No | Form::Default, ["bandwidth" | "priority", ..]) => {
                        queuing.turn = Said::Absent;
                    }
                    (Form::Plain, ["random-detect", profile]) => {
                        queuing.profile = Some((*profile).to_owned());
                    }
                    (Form::No | Form::Default, ["random-detect", ..]) => queuing.profile = None,
                    (_, ["queue-limit" | "shape" | "description", ..]) => {}
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
                ["description", ..] => {}
                _ => notes.unknown(child),
            }
        }
        found
    }

    /// `wred NAME`: thresholds in kilobytes.
    pub(super) fn wred(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let (mut levels, mut marks) = (Said::Absent, false);
        for child in &statement.children {
            let (form, words) = child.form();
            match (form, &words[..]) {
                // Packets that nothing was said against are green.
                (Form::Plain, ["random-detect", "color", color, words @ ..]) => {
                    let read = thresholds(words);
                    if *color == "green" || read.is_none() {
                        levels = notes.said(child.line, read);
                    }
                }
                (_, ["random-detect", "color", "green", ..]) => levels = Said::Absent,
                (_, ["random-detect", "ecn"]) => marks = form == Form::Plain,
                (_, ["random-detect", "color" | "weight" | "pool", ..]) => {}
                _ => notes.unknown(child),
            }
        }
        let wred = levels.map(|ecn| Wred { levels: Levels::Sizes(ecn), marks });
        self.wred.insert(name.to_owned(), wred);
    }

    /// Whether there is a policy of that kind and name.
    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        match kind {
            "qos" => self.classify.contains_key(name),
            "network-qos" => self.network.contains_key(name),
            "queuing" => self.queuing.contains_key(name),
            "dscp" => self.trust.contains_key(name) || name == "default",
            _ => self.traffic_class.contains_key(name) || name == "default",
        }
    }

    /// What a classification policy sorts DSCPs into, and what it believes of a packet.
    pub(super) fn classified(&self, name: &str) -> ([Said<Class>; Dscp::COUNT], Said<Trust>) {
        let mut map = [Said::Absent; Dscp::COUNT];
        let mut trust = Said::Absent;
        for (class, rule) in self.classify.get(name).into_iter().flatten() {
            if rule.trust.is_said() {
                trust = rule.trust;
            }
            for dscp in self.dscps.get(class).into_iter().flatten() {
                // The first class that matches decides.
                if !map[dscp.index()].is_said() {
                    map[dscp.index()] = rule.group;
                }
            }
        }
        (map, trust)
    }

    /// The groups that a network-qos policy pauses, and by which priority.
    pub(super) fn pauses(&self, name: &str) -> Vec<(Class, Said<Priority>)> {
        let mut found = Vec::new();
        for (class, pausing) in self.pausing(name) {
            let priorities = pausing.priorities.iter();
            found.extend(priorities.map(|priority| (class, *priority)));
        }
        found
    }

    /// The buffers of groups that a network-qos policy pauses.
    pub(super) fn groups(&self, name: &str) -> [GroupSettings; 8] {
        let mut groups = [GroupSettings::default(); 8];
        for (class, pausing) in self.pausing(name) {
            groups[class.index()] = pausing.group;
        }
        groups
    }

    /// What is paused, by group. `pfc-cos` without `pause` protects nothing.
    fn pausing(&self, name: &str) -> impl Iterator<Item = (Class, &Pausing)> {
        let classes = self.network.get(name).into_iter().flatten();
        let paused = classes.filter(|(_, pausing)| pausing.on);
        paused.flat_map(|(class, pausing)| {
            let groups = self.matches.get(class).into_iter().flatten();
            groups.filter_map(move |group| Some((Class::new(*group)?, pausing)))
        })
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

impl Pausing {
    fn read(&mut self, line: &Statement<'_>, notes: &mut Notes) {
        let place = notes.line(line.line);
        let (form, words) = line.form();
        match (form, &words[..]) {
            (Form::Plain, ["pfc-cos", list @ ..]) => match numbers(list, Priority::COUNT) {
                Some(list) => {
                    let list = list.into_iter().filter_map(Priority::new);
                    self.priorities = list.map(|priority| Said::At(priority, place)).collect();
                }
                None => notes.mark(line.line, RemarkKind::Malformed),
            },
            (_, ["pfc-cos", ..]) => self.priorities.clear(),
            (Form::Plain, ["pause"]) => self.on = true,
            (
                Form::Plain,
                [
                    "pause",
                    "buffer-size",
                    total,
                    "pause-threshold",
                    pause,
                    "resume-threshold",
                    resume,
                ],
            ) => {
                self.on = true;
                let read = kilobytes(total).zip(kilobytes(pause)).zip(kilobytes(resume));
                match read.filter(|((total, pause), resume)| pause <= total && resume <= pause) {
                    Some(((total, pause), resume)) => {
                        self.group.threshold = Said::At(Threshold::Static(pause), place);
                        self.group.headroom = Said::At(total - pause, place);
                        self.group.xon_offset = Said::At(pause - resume, place);
                    }
                    None => notes.mark(line.line, RemarkKind::Malformed),
                }
            }
            (Form::No | Form::Default, ["pause", ..]) => {
                (self.on, self.group) = (false, GroupSettings::default());
            }
            (_, ["queue-limit" | "description" | "mtu", ..]) => {}
            _ => notes.unknown(line),
        }
    }
}

/// A list of numbers that may have spaces behind its commas; at least one.
fn numbers(words: &[&str], count: usize) -> Option<Vec<u8>> {
    ranges(&words.join(","), count).filter(|numbers| !numbers.is_empty())
}

fn kilobytes(word: &str) -> Option<Bytes> {
    word.parse::<u64>().ok()?.checked_mul(1000).map(Bytes::new)
}

/// `minimum-threshold 150 maximum-threshold 1500 drop-probability 100`.
fn thresholds(words: &[&str]) -> Option<Ecn> {
    let ["minimum-threshold", low, "maximum-threshold", high, rest @ ..] = words else {
        return None;
    };
    let percent = match rest {
        ["drop-probability", percent, ..] => {
            percent.parse().ok().filter(|percent| *percent <= 100)?
        }
        [] => 100,
        _ => return None,
    };
    Some(Ecn { kmin: kilobytes(low)?, kmax: kilobytes(high)?, pmax: Ratio::new(percent, 100) })
}
