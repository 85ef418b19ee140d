//! Policies that sort packets into classes: `class-map type qos`, `policy-map type quality-of-service`.
//!
//! What a policy matches comes before the maps of the box; of its classes the first that matches decides.

use super::maps::dscps;
use crate::device::RemarkKind;
use crate::number::{Class, Dscp};
use crate::place::Said;
use crate::qos::Maps;
use crate::text::access::AccessLists;
use crate::text::notes::Notes;
use crate::text::outline::{Form, Statement};
use std::collections::BTreeMap;

/// Classes, policies and the access lists that they use.
#[derive(Debug, Default)]
pub(super) struct Policies {
    pub(super) lists: AccessLists,
    classes: BTreeMap<String, Match>,
    policies: BTreeMap<String, Vec<(String, Said<Class>)>>,
}

/// What a class matches.
#[derive(Debug, Default)]
struct Match {
    dscps: Vec<Dscp>,
    /// Access lists, with the lines that name them.
    lists: Vec<(String, u32)>,
}

impl Policies {
    /// Reads a class or a policy; false if the statement is of another kind.
    pub(super) fn read(
        &mut self,
        words: &[&str],
        statement: &Statement<'_>,
        notes: &mut Notes,
    ) -> bool {
        match words {
            ["class-map", "type", "qos", .., name] => self.class(name, statement, notes),
            ["policy-map", "type", "quality-of-service" | "qos", name] => {
                self.policy(name, statement, notes);
            }
            ["class-map" | "policy-map", ..] => notes.foreign(statement),
            _ => return false,
        }
        true
    }

    fn class(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let found = self.classes.entry(name.to_owned()).or_default();
        for child in &statement.children {
            match child.words()[..] {
                ["match", "dscp", ref lists @ ..] | ["match", "ip", "dscp", ref lists @ ..] => {
                    match dscps(lists) {
                        Some(list) => found.dscps.extend(list),
                        None => notes.mark(child.line, RemarkKind::Malformed),
                    }
                }
                ["match", "ip" | "ipv6", "access-group", list] => {
                    found.lists.push((list.to_owned(), child.line));
                }
                ["match", "cos" | "vlan" | "mac", ..] => notes.foreign(child),
                _ => notes.unknown(child),
            }
        }
    }

    fn policy(&mut self, name: &str, statement: &Statement<'_>, notes: &mut Notes) {
        let mut rules = Vec::new();
        for child in &statement.children {
            let ["class", .., class] = child.words()[..] else {
                notes.unknown(child);
                continue;
            };
            let mut set = Said::Absent;
            for line in &child.children {
                let (form, words) = line.form();
                match (form, &words[..]) {
                    (Form::Plain, ["set", "traffic-class", number]) => {
                        set = notes.said(line.line, Class::read(number));
                    }
                    // Rewrites, policers and marks of precedence change no class.
                    (Form::Plain, ["set", "dscp", ..]) => {
                        notes.mark(line.line, RemarkKind::Rewrite)
                    }
                    (_, ["set", "dscp" | "cos" | "drop-precedence", ..] | ["police", ..]) => {}
                    _ => notes.unknown(line),
                }
            }
            rules.push((class.to_owned(), set));
        }
        self.policies.insert(name.to_owned(), rules);
    }

    /// Resolves access lists. What matches by something else than a DSCP is not in the model, and said.
    pub(super) fn settle(&mut self, notes: &mut Notes) {
        for found in self.classes.values_mut() {
            for (list, line) in std::mem::take(&mut found.lists) {
                match self.lists.dscps(&list) {
                    [] => notes.mark(line, RemarkKind::Unknown),
                    dscps => found.dscps.extend(dscps),
                }
            }
        }
    }

    /// Enters what a policy says into the maps of a port: whether it sorts by DSCP. None if there is no such policy.
    pub(super) fn apply(&self, name: &str, maps: &mut Maps) -> Option<bool> {
        let rules = self.policies.get(name)?;
        let mut decided = [false; Dscp::COUNT];
        let mut sorts = false;
        for (class, set) in rules {
            let all = || Dscp::all().collect();
            let matched: Vec<Dscp> = match class.as_str() {
                "class-default" => all(),
                name => self.classes.get(name).map(|class| class.dscps.clone()).unwrap_or_default(),
            };
            sorts |= class != "class-default" && !matched.is_empty();
            for dscp in matched {
                if !decided[dscp.index()] && set.is_said() {
                    maps.dscp_to_class[dscp.index()] = *set;
                }
                decided[dscp.index()] = true;
            }
        }
        Some(sorts)
    }
}
