//! Groups, and the places that apply them: the top, places below it, and other groups.
//!
//! A place gets what a group says of that place. Of several groups the one that is named first comes before the others, and what is applied at a place
//! comes before what is applied above it: what comes first is read last.

use super::inherit::{bare, matches};
use crate::text::paths::Path;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Statements of groups that are looked at: more than any box has, and few enough for groups that apply each other.
const MOST_STEPS: usize = 1 << 20;
/// Groups within groups.
const DEEPEST: usize = 16;

/// The groups of a text, and where they are applied.
#[derive(Debug, Default)]
pub(super) struct Groups<'a> {
    groups: BTreeMap<&'a str, Vec<(u32, &'a [&'a str])>>,
    applied: Vec<Application<'a>>,
    /// Places that a group does not reach.
    excepted: Vec<(&'a [&'a str], &'a str)>,
}

#[derive(Debug, Clone)]
struct Application<'a> {
    at: Vec<&'a str>,
    line: u32,
    group: &'a str,
}

/// A statement that a group brings along.
#[derive(Debug)]
pub(super) struct Brought<'a> {
    pub(super) line: u32,
    pub(super) words: Vec<&'a str>,
    pub(super) group: &'a str,
}

/// What groups bring.
#[derive(Debug, Default)]
pub(super) struct Bringing<'a> {
    pub(super) statements: Vec<Brought<'a>>,
    /// Lines of groups that nothing applies.
    pub(super) idle: Vec<u32>,
    /// Lines that apply what is not there, or more than is looked at.
    pub(super) unknown: BTreeSet<u32>,
    used: BTreeSet<&'a str>,
    steps: usize,
}

impl<'a> Groups<'a> {
    /// Takes a statement about groups; false if it is another one.
    pub(super) fn take(&mut self, path: &'a Path<'a>) -> bool {
        if let ["groups", name, rest @ ..] = &path.words[..] {
            self.groups.entry(*name).or_default().push((path.line, rest));
            return true;
        }
        let at = path.words.iter().position(|word| word.starts_with("apply-groups"));
        let Some(at) = at.filter(|at| *at == 0 || is_read(&path.words)) else { return false };
        let (place, names) = (&path.words[..at], &path.words[at + 1..]);
        match path.words[at] {
            "apply-groups" => self.applied.extend(names.iter().map(|group| Application {
                at: place.to_vec(),
                line: path.line,
                group,
            })),
            "apply-groups-except" => {
                self.excepted.extend(names.iter().map(|group| (place, *group)));
            }
            _ => return false,
        }
        true
    }

    /// What all groups bring, in the order in which it is to be read.
    pub(super) fn bring(&self) -> Bringing<'a> {
        let mut bringing = Bringing::default();
        let mut applied: Vec<&Application<'a>> = self.applied.iter().rev().collect();
        applied.sort_by_key(|application| application.at.len());
        for application in applied {
            self.apply(application, &mut Vec::new(), &mut bringing);
        }
        let idle = self.groups.iter().filter(|(name, _)| !bringing.used.contains(*name));
        bringing.idle = idle.flat_map(|(_, all)| all).map(|(line, _)| *line).collect();
        bringing
    }

    fn apply(
        &self,
        application: &Application<'a>,
        within: &mut Vec<&'a str>,
        bringing: &mut Bringing<'a>,
    ) {
        let group = application.group;
        let Some(statements) = self.groups.get(group) else {
            bringing.unknown.insert(application.line);
            return;
        };
        bringing.used.insert(group);
        bringing.steps += statements.len() + 1;
        let circular = within.contains(&group) || within.len() >= DEEPEST;
        if circular || bringing.steps > MOST_STEPS {
            bringing.unknown.insert(application.line);
            return;
        }
        let mut own = Vec::new();
        within.push(group);
        for (line, words) in statements {
            let Some(words) = below(&application.at, words) else { continue };
            match words.iter().position(|word| *word == "apply-groups") {
                // What a group takes from others comes behind what it says itself: it is read first.
                Some(at) => {
                    for name in words[at + 1..].iter().rev() {
                        let nested =
                            Application { at: words[..at].to_vec(), line: *line, group: name };
                        self.apply(&nested, within, bringing);
                    }
                }
                None => own.push(Brought { line: *line, words, group }),
            }
        }
        within.pop();
        bringing.statements.extend(own);
    }

    /// Whether a group does not reach a statement.
    pub(super) fn excepts(&self, group: &str, words: &[Cow<'a, str>]) -> bool {
        self.excepted.iter().any(|(place, name)| {
            *name == group
                && place.len() <= words.len()
                && place.iter().zip(words).all(|(place, word)| *place == word.as_ref())
        })
    }
}

/// Whether a part of the configuration is read at all.
fn is_read(words: &[&str]) -> bool {
    let parts = ["interfaces", "class-of-service", "forwarding-options", "firewall", "system"];
    words.first().is_some_and(|first| parts.contains(first))
}

/// What a statement of a group says of a place.
fn below<'a>(place: &[&'a str], words: &[&'a str]) -> Option<Vec<&'a str>> {
    let (head, rest) = words.split_at_checked(place.len())?;
    let same = |(own, word): (&&str, &&str)| {
        own == word || (bare(word) != *word && matches(bare(word), own))
    };
    let holds = !rest.is_empty() && place.iter().zip(head).all(same);
    holds.then(|| [place, rest].concat())
}
