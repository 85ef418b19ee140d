//! What a `qos profile` or a port says: trust, pauses, watchdog, queues.

use super::parse::reaction;
use crate::device::RemarkKind;
use crate::number::{Priorities, Priority};
use crate::place::Said;
use crate::qos::{QueueSettings, Trust, WatchdogSettings};
use crate::text::notes::{Notes, seconds};
use crate::text::outline::{Form, Statement};
use crate::text::wred::Written;
use std::collections::BTreeSet;
use xoff_fabric::model::Scheduling;
use xoff_units::{Bytes, Rate};

/// A segment of the buffer, in which thresholds may be counted: a cell of the Trident family.
const SEGMENT: Bytes = Bytes::new(208);

/// What a profile or a port says.
#[derive(Debug, Clone, Default)]
pub(super) struct Section {
    pub(super) trust: Said<Trust>,
    pub(super) pfc_on: Said<bool>,
    pub(super) priorities: Said<Priorities>,
    pub(super) watchdog: WatchdogSettings,
    queues: [Lines; 8],
}

/// What is said of a queue.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    strict: Said<bool>,
    share: Said<u32>,
    mark: Said<Written>,
    /// With the drop precedence of the packets it is about.
    drop: Said<(u8, Written)>,
}

impl Section {
    /// Reads one statement; what takes something back leaves the rest as it was.
    pub(super) fn read(&mut self, statement: &Statement<'_>, notes: &mut Notes) {
        let line = statement.line;
        let place = notes.line(line);
        let (form, words) = statement.form();
        match (form, &words[..]) {
            (Form::Plain, ["qos", "trust", word]) => {
                let trust = match *word {
                    "dscp" => Some(Trust::Dscp),
                    "cos" => Some(Trust::Pcp),
                    _ => None,
                };
                self.trust = notes.said(line, trust);
            }
            (Form::No, ["qos", "trust", ..]) => self.trust = Said::At(Trust::Nothing, place),
            (Form::Default, ["qos", "trust", ..]) => self.trust = Said::Absent,
            (form, ["priority-flow-control", words @ ..]) => {
                self.pauses(form, words, statement, notes);
            }
            (form, ["uc-tx-queue" | "tx-queue", number]) => {
                match number.parse::<usize>().ok().and_then(|n| self.queues.get_mut(n)) {
                    Some(queue) if form == Form::Plain => queue.read(statement, notes),
                    Some(queue) => *queue = Lines::default(),
                    None => notes.mark(line, RemarkKind::Malformed),
                }
            }
            // What packets without a class get, multicast, shaping, pauses of the whole port.
            (_, ["qos", "cos" | "dscp" | "rewrite", ..] | ["mc-tx-queue" | "flowcontrol", ..])
            | (_, ["shape", ..]) => {}
            // Nothing of it sorts packets into classes.
            (_, ["service-policy", "type", "pbr" | "pdp" | "traffic" | "copp", ..]) => {
                notes.foreign(statement);
            }
            (Form::No | Form::Default, ["service-policy", ..]) => {}
            _ => notes.unknown(statement),
        }
    }

    /// What stands behind `priority-flow-control`.
    fn pauses(&mut self, form: Form, words: &[&str], statement: &Statement<'_>, notes: &mut Notes) {
        let line = statement.line;
        let place = notes.line(line);
        match (form, words) {
            (Form::Plain, ["on"] | ["mode", "on"]) => self.pfc_on = Said::At(true, place),
            (Form::Plain, ["off"] | ["mode", "off"])
            | (Form::No, [] | ["on"] | ["mode"] | ["mode", "on"]) => {
                self.pfc_on = Said::At(false, place);
            }
            (Form::Default, [] | ["on" | "off"] | ["mode", ..]) => self.pfc_on = Said::Absent,
            (_, ["priority", number, rest @ ..]) => {
                let old = self.priorities.get().unwrap_or(Priorities::NONE);
                let read = Priority::read(number).and_then(|priority| match (form, rest) {
                    (Form::Plain, ["no-drop"]) => Some(Said::At(old.with(priority), place)),
                    (Form::Plain, ["drop"]) => Some(Said::At(old.without(priority), place)),
                    (Form::No | Form::Default, _) => {
                        Some(self.priorities.map(|set| set.without(priority)))
                    }
                    _ => None,
                });
                match read {
                    Some(priorities) => self.priorities = priorities,
                    None => notes.mark(line, RemarkKind::Malformed),
                }
            }
            (_, ["pause", "watchdog", words @ ..]) => {
                self.watch(form, words, statement, notes);
            }
            _ => notes.unknown(statement),
        }
    }

    fn watch(&mut self, form: Form, words: &[&str], statement: &Statement<'_>, notes: &mut Notes) {
        let line = statement.line;
        let watchdog = &mut self.watchdog;
        match (form, words) {
            (Form::Plain, []) => watchdog.on = Said::At(true, notes.line(line)),
            (Form::Plain, ["disabled"]) | (Form::No, []) => {
                watchdog.on = Said::At(false, notes.line(line));
            }
            (Form::Default, []) | (_, ["disabled"]) => watchdog.on = Said::Absent,
            (Form::Plain, ["port", "timer", "timeout", rest @ ..]) => {
                watchdog.detect = notes.said(line, rest.first().and_then(|w| seconds(w)));
                let recovery = rest.iter().position(|word| *word == "recovery-time");
                if let Some(at) = recovery {
                    watchdog.restore = notes.said(line, rest.get(at + 1).and_then(|w| seconds(w)));
                }
            }
            (Form::Plain, ["port", "action", action]) => {
                watchdog.reaction = notes.said(line, reaction(action));
            }
            (_, ["port", "timer", ..]) => {
                (watchdog.detect, watchdog.restore) = (Said::Absent, Said::Absent);
            }
            (_, ["port", "action", ..]) => watchdog.reaction = Said::Absent,
            _ => notes.unknown(statement),
        }
    }

    /// What a port says itself comes before what its profile says.
    pub(super) fn overlaid(&self, own: &Section) -> Section {
        let mut queues = self.queues;
        for (queue, own) in queues.iter_mut().zip(&own.queues) {
            if own.strict.is_said() || own.share.is_said() {
                (queue.strict, queue.share) = (own.strict, own.share);
            }
            queue.mark = over(own.mark, queue.mark);
            queue.drop = over(own.drop, queue.drop);
        }
        Section {
            trust: over(own.trust, self.trust),
            pfc_on: over(own.pfc_on, self.pfc_on),
            priorities: over(own.priorities, self.priorities),
            watchdog: overlaid(&self.watchdog, &own.watchdog),
            queues,
        }
    }

    pub(super) fn pfc(&self) -> Said<Priorities> {
        match (self.pfc_on, self.priorities) {
            (Said::At(true, place), Said::Absent) => Said::At(Priorities::NONE, place),
            (Said::At(true, _), said) => said,
            (Said::At(false, place), _) => Said::At(Priorities::NONE, place),
            _ => Said::Default(Priorities::NONE),
        }
    }

    pub(super) fn watchdog_with(&self, global: &WatchdogSettings) -> WatchdogSettings {
        let watchdog = overlaid(global, &self.watchdog);
        WatchdogSettings { on: watchdog.on.or_default(false), ..watchdog }
    }

    /// The queues at a port of that rate. `told` has the lines that were remarked already.
    pub(super) fn queues(
        &self,
        rate: Option<Rate>,
        notes: &mut Notes,
        told: &mut BTreeSet<u32>,
    ) -> [QueueSettings; 8] {
        // A queue that takes turns makes those below it take turns, too; all others are strict.
        let turns = self.queues.iter().rposition(|queue| queue.strict.said() == Some(&false));
        std::array::from_fn(|number| {
            let lines = &self.queues[number];
            let below = turns.is_some_and(|turns| number < turns);
            let written = match lines.mark {
                Said::Absent => lines.drop.map(|(_, written)| written),
                mark => mark,
            };
            let wred = written.map(|written| written.at(rate));
            if let Said::At((_, false), place) = wred
                && told.insert(place.first)
            {
                notes.mark(place.first, RemarkKind::Malformed);
            }
            QueueSettings { scheduling: lines.turn(below), wred: wred.map(|(wred, _)| wred) }
        })
    }
}

impl Lines {
    fn read(&mut self, statement: &Statement<'_>, notes: &mut Notes) {
        for child in &statement.children {
            let line = child.line;
            let place = notes.line(line);
            let (form, words) = child.form();
            match (form, &words[..]) {
                (Form::Plain, ["priority"] | ["priority", "strict"]) => {
                    self.strict = Said::At(true, place);
                }
                (Form::No, ["priority", ..]) => self.strict = Said::At(false, place),
                (Form::Default, ["priority", ..]) => self.strict = Said::Absent,
                (Form::Plain, ["bandwidth", "percent", share]) => {
                    self.share = notes.said(line, share.parse().ok());
                }
                (Form::No | Form::Default, ["bandwidth", "percent", ..]) => {
                    self.share = Said::Absent;
                }
                (_, ["random-detect", words @ ..]) => self.detect(form, words, child, notes),
                (_, ["shape", ..] | ["bandwidth", "guaranteed", ..] | ["latency", ..]) => {}
                _ => notes.unknown(child),
            }
        }
    }

    /// What stands behind `random-detect`.
    fn detect(&mut self, form: Form, words: &[&str], statement: &Statement<'_>, notes: &mut Notes) {
        let line = statement.line;
        match (form, words) {
            (_, ["ecn", "count"]) => {}
            (Form::Plain, ["ecn", words @ ..]) => {
                self.mark = notes.said(line, Written::read(words, true, Some(SEGMENT)));
            }
            (Form::Plain, ["drop", words @ ..]) => {
                let (precedence, words) = match words {
                    ["drop-precedence", number, rest @ ..] => (number.parse().ok(), rest),
                    rest => (Some(0), rest),
                };
                let read = precedence.filter(|number| *number < 3);
                let read = read.zip(Written::read(words, false, Some(SEGMENT)));
                let read = notes.said(line, read);
                // Packets of the lowest precedence are those that nothing was said against.
                let lower = read.get().zip(self.drop.get()).is_some_and(|(new, old)| new.0 > old.0);
                if !lower {
                    self.drop = read;
                }
            }
            (Form::No | Form::Default, ["ecn", ..]) => self.mark = Said::Absent,
            (Form::No | Form::Default, ["drop", ..]) => self.drop = Said::Absent,
            (Form::No | Form::Default, []) => {
                (self.mark, self.drop) = (Said::Absent, Said::Absent);
            }
            _ => notes.unknown(statement),
        }
    }

    /// Its turn at the wire; `below` a queue that takes turns it takes turns, too.
    fn turn(&self, below: bool) -> Said<Scheduling> {
        match (self.strict, self.share) {
            (Said::At(true, place), _) => Said::At(Scheduling::Strict, place),
            (_, Said::At(share, place)) => Said::At(Scheduling::Weighted(share), place),
            (Said::At(false, _), _) => Said::Absent,
            _ if below => Said::Absent,
            _ => Said::Default(Scheduling::Strict),
        }
    }
}

fn over<T: Copy>(own: Said<T>, base: Said<T>) -> Said<T> {
    if own.is_said() { own } else { base }
}

fn overlaid(base: &WatchdogSettings, own: &WatchdogSettings) -> WatchdogSettings {
    WatchdogSettings {
        on: over(own.on, base.on),
        detect: over(own.detect, base.detect),
        restore: over(own.restore, base.restore),
        reaction: over(own.reaction, base.reaction),
    }
}
