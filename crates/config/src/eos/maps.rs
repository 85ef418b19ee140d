//! What all ports of a box have in common: the maps from DSCP to queue, and the buffers.

use crate::device::RemarkKind;
use crate::number::{Class, Dscp, Queue, ranges};
use crate::place::Said;
use crate::qos::{GroupSettings, Maps};
use crate::text::notes::{Notes, bytes};
use crate::text::outline::{Form, Statement};
use std::collections::BTreeMap;
use xoff_fabric::model::Threshold;
use xoff_units::{Bytes, Ratio};

type Groups = [GroupSettings; 8];

/// Maps and buffers of a box.
#[derive(Debug, Default)]
pub(super) struct Shared {
    maps: Maps,
    profiles: BTreeMap<String, Groups>,
    /// The buffer profile in force; it may be defined further down.
    applied: Option<String>,
    pub(super) headroom_pool: Said<Bytes>,
}

impl Shared {
    /// What stands behind `qos map`. `no` gives an entry back to the box.
    pub(super) fn map(
        &mut self,
        form: Form,
        words: &[&str],
        statement: &Statement<'_>,
        notes: &mut Notes,
    ) {
        let (line, place) = (statement.line, notes.line(statement.line));
        let said = |value| if form == Form::Plain { value } else { Said::Absent };
        match words {
            ["dscp", dscps @ .., "to", "traffic-class", class]
            | ["dscp", dscps @ .., "to", "traffic-class", class, "drop-precedence", _] => {
                match Class::read(class).zip(list(dscps, dscp_list)) {
                    Some((class, dscps)) => dscps.into_iter().for_each(|dscp| {
                        self.maps.dscp_to_class[dscp.index()] = said(Said::At(class, place));
                    }),
                    None => notes.mark(line, RemarkKind::Malformed),
                }
            }
            ["traffic-class", classes @ .., "to", "tx-queue" | "uc-tx-queue", queue] => {
                let classes = list(classes, |word| {
                    let numbers = ranges(word, Class::COUNT)?;
                    Some(numbers.into_iter().filter_map(Class::new).collect())
                });
                match Queue::read(queue).zip(classes) {
                    Some((queue, classes)) => classes.into_iter().for_each(|class| {
                        let entry = &mut self.maps.class_to_queue[class.index()];
                        *entry = match form {
                            Form::Plain => Said::At(queue, place),
                            Form::No | Form::Default => Said::Absent,
                        };
                    }),
                    None => notes.mark(line, RemarkKind::Malformed),
                }
            }
            // Rewriting, labels and VLAN priorities: known, and nothing RoCE depends on.
            ["traffic-class", .., "to", "dscp" | "cos" | "exp" | "mc-tx-queue", _]
            | ["traffic-class", .., "to", "pfc-priority" | "priority-group", _]
            | ["cos" | "exp", .., "to", "traffic-class", _] => {}
            _ if form != Form::Plain => self.unmap(words, statement, notes),
            _ => notes.unknown(statement),
        }
    }

    /// `no qos map dscp 26`, without saying where to.
    fn unmap(&mut self, words: &[&str], statement: &Statement<'_>, notes: &mut Notes) {
        match words {
            ["dscp", dscps @ ..] => match list(dscps, dscp_list) {
                Some(dscps) => dscps.into_iter().for_each(|dscp| {
                    self.maps.dscp_to_class[dscp.index()] = Said::Absent;
                }),
                None => notes.mark(statement.line, RemarkKind::Malformed),
            },
            _ => notes.unknown(statement),
        }
    }

    /// What stands behind `platform trident mmu`.
    pub(super) fn mmu(
        &mut self,
        form: Form,
        words: &[&str],
        statement: &Statement<'_>,
        notes: &mut Notes,
    ) {
        let plain = form == Form::Plain;
        match words {
            ["queue", "profile", name, "apply"] => {
                self.applied = plain.then(|| (*name).to_owned());
            }
            ["queue", "profile", name] if plain => {
                let groups = self.profiles.entry((*name).to_owned()).or_default();
                for child in &statement.children {
                    group(child, groups, notes);
                }
            }
            ["queue", "profile", name] => drop(self.profiles.remove(*name)),
            ["headroom-pool", "limit", "bytes", limit] if plain => {
                self.headroom_pool = notes.said(statement.line, bytes(limit));
            }
            ["headroom-pool", "limit", ..] if !plain => self.headroom_pool = Said::Absent,
            _ => notes.unknown(statement),
        }
    }

    /// The maps with what the box does where nothing is said, and the buffers in force.
    pub(super) fn finish(&mut self) -> (Maps, Groups) {
        for dscp in Dscp::all() {
            // The box's own map: 0-7 are class 1 and 8-15 class 0, the rest as the selector.
            let class = match dscp.get() >> 3 {
                0 => 1,
                1 => 0,
                selector => selector,
            };
            if let Some(class) = Class::new(class) {
                let entry = &mut self.maps.dscp_to_class[dscp.index()];
                *entry = entry.or_default(class);
            }
        }
        self.maps.number_by_class();
        let applied = self.applied.as_ref().and_then(|name| self.profiles.get(name));
        (self.maps.clone(), applied.copied().unwrap_or_default())
    }
}

/// The values of a list that may be in words, with commas or both.
fn list<T>(words: &[&str], read: impl Fn(&str) -> Option<Vec<T>>) -> Option<Vec<T>> {
    let parts = words.iter().flat_map(|word| word.split(',')).filter(|part| !part.is_empty());
    let mut found = Vec::new();
    for part in parts {
        found.extend(read(part)?);
    }
    (!found.is_empty()).then_some(found)
}

/// DSCPs by number, name or range, in words or with commas.
pub(super) fn dscps(words: &[&str]) -> Option<Vec<Dscp>> {
    list(words, dscp_list)
}

/// A DSCP by number or name, or a range of numbers.
fn dscp_list(word: &str) -> Option<Vec<Dscp>> {
    let named = Dscp::named(word).map(|dscp| vec![dscp]);
    named.or_else(|| {
        let numbers = ranges(word, Dscp::COUNT)?;
        Some(numbers.into_iter().filter_map(Dscp::new).collect())
    })
}

/// A line of a buffer profile.
fn group(statement: &Statement<'_>, groups: &mut Groups, notes: &mut Notes) {
    let line = statement.line;
    let (form, words) = statement.form();
    let number = words.get(2).and_then(|word| word.parse::<usize>().ok());
    let group = number.and_then(|number| groups.get_mut(number));
    match (form, &words[..], group) {
        (Form::Plain, ["ingress", "priority-group", _, "reserved", "bytes", size], Some(group)) => {
            group.reserved = notes.said(line, bytes(size));
        }
        (Form::Plain, ["ingress", "priority-group", _, "threshold", share], Some(group)) => {
            let alpha = share.parse::<Ratio>().ok();
            group.threshold = notes.said(line, alpha.map(Threshold::Dynamic));
        }
        (Form::No | Form::Default, ["ingress", "priority-group", _, what, ..], Some(group)) => {
            match *what {
                "reserved" => group.reserved = Said::Absent,
                "threshold" => group.threshold = Said::Absent,
                _ => notes.unknown(statement),
            }
        }
        (_, ["ingress", "priority-group", ..], None) => notes.mark(line, RemarkKind::Malformed),
        (_, ["ingress", "reserved" | "threshold", ..] | ["egress", ..], _) => {}
        _ => notes.unknown(statement),
    }
}
