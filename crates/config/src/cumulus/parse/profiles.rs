//! Profiles of NVUE: maps, turns, marking and pausing, each by its name.

use super::{Marking, Parser};
use crate::cumulus::roce::USUAL_ECN;
use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Priorities, Priority, ranges};
use crate::place::{Place, Said};
use crate::qos::{Levels, Trust, Wred};
use crate::text::notes::bytes;
use xoff_fabric::model::Ecn;
use xoff_units::{Length, Ratio};

impl Parser {
    pub(super) fn map(&mut self, line: u32, profile: &str, rest: &[&str]) {
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

    pub(super) fn turn(&mut self, line: u32, profile: &str, list: &str, rest: &[&str]) {
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

    pub(super) fn marking(&mut self, line: u32, profile: &str, list: &str, rest: &[&str]) {
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

    pub(super) fn pausing(&mut self, line: u32, profile: &str, rest: &[&str]) {
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
}

impl Marking {
    /// What it comes to. A class that is named in a profile is marked, at the usual thresholds, unless
    /// it says otherwise: `nv show qos congestion-control` of a profile with thresholds alone shows
    /// `ecn enable` (NVIDIA's Cumulus Linux guide, Congestion Control).
    pub(super) fn settle(&self) -> Option<Said<Wred>> {
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
