//! Statements that stand in one place and hold in others: those of groups, and `interface-range`. What is brought along comes before a
//! box's own statements, which override it.

use super::groups::{Brought, Groups};
use crate::text::paths::Path;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// A statement with its line.
pub(super) type Statement<'a> = (u32, Vec<Cow<'a, str>>);

/// A text's statements where they hold.
#[derive(Debug, Default)]
pub(super) struct Inherited<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    /// Lines of groups that nothing applies.
    pub(super) idle: Vec<u32>,
    /// Lines that apply groups that are not there, or whose groups apply each other: they are not expanded.
    pub(super) unknown: Vec<u32>,
}

/// More than any box has: what patterns and ranges become stays bounded.
const MOST: usize = 1 << 16;
const MOST_PORTS: u32 = 1024;

/// Ports that carry traffic, not management or loopback.
pub(super) fn is_port(name: &str) -> bool {
    ["et-", "xe-", "ge-"].iter().any(|kind| name.starts_with(kind))
}

/// A pattern that names no single port.
pub(super) fn is_pattern(name: &str) -> bool {
    name == "all" || name.contains(['*', '?', '['])
}

/// Brings statements to where they hold.
pub(super) fn inherit<'a>(paths: &'a [Path<'a>]) -> Inherited<'a> {
    let mut found = Inherited::default();
    let mut groups = Groups::default();
    let mut own: Vec<(u32, &[&'a str])> = Vec::new();
    for path in paths {
        if !groups.take(path) {
            own.push((path.line, &path.words));
        }
    }
    let bringing = groups.bring();
    found.idle.extend(bringing.idle);
    found.unknown.extend(bringing.unknown);
    let brought = bringing.statements;
    let all = brought.iter().map(|brought| (brought.line, &brought.words[..]));
    let ports = ports(all.chain(own.iter().copied()));
    for statement in &brought {
        found.expand(statement, &groups, &ports);
    }
    let ranges = ranges(&own, &ports);
    for (line, words) in &own {
        if let ["interfaces", "interface-range", name, rest @ ..] = words {
            let members = ranges.get(name).into_iter().flatten();
            members.for_each(|port| found.push(*line, statement_of(port, rest)));
        }
    }
    let ranged = |words: &[&str]| matches!(words, ["interfaces", "interface-range", ..]);
    for (line, words) in own.into_iter().filter(|(_, words)| !ranged(words)) {
        found.statements.push((line, words.iter().map(|word| Cow::Borrowed(*word)).collect()));
    }
    found
}

impl<'a> Inherited<'a> {
    /// A statement of a group: `<et-*>` stands for the ports that match.
    fn expand(&mut self, brought: &Brought<'a>, groups: &Groups<'a>, ports: &BTreeSet<String>) {
        match &brought.words[..] {
            ["interfaces", name, rest @ ..] if bare(name) != *name => {
                let matching = ports.iter().filter(|port| matches(bare(name), port));
                for port in matching {
                    let words = statement_of(port, rest);
                    if !groups.excepts(brought.group, &words) {
                        self.push(brought.line, words);
                    }
                }
            }
            words => {
                let words: Vec<_> = words.iter().map(|word| Cow::Borrowed(bare(word))).collect();
                if !groups.excepts(brought.group, &words) {
                    self.push(brought.line, words);
                }
            }
        }
    }

    fn push(&mut self, line: u32, words: Vec<Cow<'a, str>>) {
        if self.statements.len() >= MOST {
            if self.unknown.last() != Some(&line) {
                self.unknown.push(line);
            }
            return;
        }
        let third = words.get(2).map(AsRef::as_ref);
        if words[0] == "interfaces" && matches!(third, Some("member" | "member-range")) {
            return;
        }
        self.statements.push((line, words));
    }
}

/// What is said of a port.
fn statement_of<'a>(port: &str, rest: &[&'a str]) -> Vec<Cow<'a, str>> {
    let head = [Cow::Borrowed("interfaces"), Cow::Owned(port.to_owned())];
    head.into_iter().chain(rest.iter().map(|word| Cow::Borrowed(*word))).collect()
}

/// A name without the angle brackets of groups.
pub(super) fn bare(name: &str) -> &str {
    name.strip_prefix('<').and_then(|name| name.strip_suffix('>')).unwrap_or(name)
}

/// All ports that statements name.
fn ports<'w, 'a: 'w>(all: impl Iterator<Item = (u32, &'w [&'a str])>) -> BTreeSet<String> {
    let mut ports = BTreeSet::new();
    for (_, words) in all {
        match words {
            ["interfaces", "interface-range", _, "member", name] if !is_pattern(name) => {
                ports.insert((*name).to_owned());
            }
            ["interfaces", "interface-range", _, "member-range", from, "to", to] => {
                ports.extend(between(from, to));
            }
            ["interfaces", name, ..] | ["class-of-service", "interfaces", name, ..]
                if is_port(name) && !is_pattern(name) =>
            {
                ports.insert((*name).to_owned());
            }
            _ => {}
        }
    }
    ports
}

/// The members of every range.
fn ranges<'a>(
    own: &[(u32, &[&'a str])],
    ports: &BTreeSet<String>,
) -> BTreeMap<&'a str, BTreeSet<String>> {
    let mut ranges: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (_, words) in own {
        match words {
            ["interfaces", "interface-range", range, "member", name] => {
                let members = ranges.entry(range).or_default();
                members.extend(ports.iter().filter(|port| matches(name, port)).cloned());
            }
            ["interfaces", "interface-range", range, "member-range", from, "to", to] => {
                ranges.entry(range).or_default().extend(between(from, to));
            }
            _ => {}
        }
    }
    ranges
}

/// The ports from `et-0/0/0` to `et-0/0/15`; none if the two do not differ in their last number only.
fn between(from: &str, to: &str) -> Vec<String> {
    let cut = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let ((stem, first), (other, last)) = (from.split_at(cut(from)), to.split_at(cut(to)));
    let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
        return Vec::new();
    };
    if stem != other || first > last || last - first >= MOST_PORTS {
        return Vec::new();
    }
    (first..=last).map(|number| format!("{stem}{number}")).collect()
}

/// Whether a name matches a pattern of `*`, `?` and `[0-3]`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    if pattern == "all" {
        return true;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where to go on after the last star, if what follows it does not match.
    let mut star: Option<(usize, usize)> = None;
    while read < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, read));
            at += 1;
            continue;
        }
        if let Some(length) = one(&pattern[at.min(pattern.len())..], name[read]) {
            (at, read) = (at + length, read + 1);
            continue;
        }
        let Some((from, taken)) = star else { return false };
        star = Some((from, taken + 1));
        (at, read) = (from + 1, taken + 1);
    }
    pattern[at.min(pattern.len())..].iter().all(|c| *c == '*')
}

/// How much of a pattern stands for one character, if it is this one.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => {
            let end = pattern.iter().position(|c| *c == ']')?;
            let inside = &pattern[1..end];
            let range = |w: &[char]| matches!(w, [from, '-', to] if (*from..=*to).contains(&c));
            let hit = inside.contains(&c) || inside.windows(3).any(range);
            hit.then_some(end + 1)
        }
        other => (*other == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::paths::read;
    use proptest::prelude::*;

    fn flat(text: &str) -> Vec<String> {
        let read = read(text);
        let found = inherit(&read.statements);
        found.statements.iter().map(|(_, words)| words.join(" ")).collect()
    }

    #[test]
    fn groups_hold_where_they_are_applied() {
        let text = "set groups jumbo interfaces <et-*> mtu 9216\nset groups idle system x\n\
                    set apply-groups jumbo\nset interfaces et-0/0/1 mtu 1500\n\
                    set interfaces et-0/0/2 unit 0\nset interfaces em0 mtu 1500\n";
        assert_eq!(
            flat(text),
            [
                "interfaces et-0/0/1 mtu 9216",
                "interfaces et-0/0/2 mtu 9216",
                "interfaces et-0/0/1 mtu 1500",
                "interfaces et-0/0/2 unit 0",
                "interfaces em0 mtu 1500",
            ]
        );
        let read = read(text);
        assert_eq!(inherit(&read.statements).idle, [2]);
    }

    #[test]
    fn groups_below_the_top_reach_what_is_below() {
        let text = "set groups jumbo interfaces <et-*> mtu 9216\nset groups jumbo system host-name x\n\
                    set groups up interfaces <et-*> unit 0\nset groups up interfaces <*> speed 400g\n\
                    set interfaces et-0/0/1 apply-groups jumbo\nset interfaces et-0/0/2 disable\n\
                    set interfaces apply-groups up\nset interfaces et-0/0/2 apply-groups-except up\n";
        assert_eq!(
            flat(text),
            [
                "interfaces et-0/0/1 unit 0",
                "interfaces et-0/0/1 speed 400g",
                "interfaces et-0/0/1 mtu 9216",
                "interfaces et-0/0/2 disable",
            ]
        );
    }

    #[test]
    fn groups_of_groups() {
        let text = "set groups all apply-groups base\nset groups all interfaces <et-*> mtu 9216\n\
                    set groups base interfaces <et-*> mtu 1500\nset groups base interfaces et-0/0/1 speed 400g\n\
                    set apply-groups all\nset interfaces et-0/0/1 unit 0\n";
        assert_eq!(
            flat(text),
            [
                "interfaces et-0/0/1 mtu 1500",
                "interfaces et-0/0/1 speed 400g",
                "interfaces et-0/0/1 mtu 9216",
                "interfaces et-0/0/1 unit 0",
            ]
        );
        let circular =
            "set groups a apply-groups b\nset groups b apply-groups a\nset apply-groups a\n";
        let read = read(circular);
        assert_eq!(inherit(&read.statements).unknown, [2]);
    }

    #[test]
    fn groups_that_are_not_there_are_remarked() {
        let text = "set interfaces et-0/0/0 apply-groups x\nset apply-groups y\n";
        let read = read(text);
        let found = inherit(&read.statements);
        assert_eq!((found.unknown, found.statements.len()), (vec![1, 2], 0));
    }

    #[test]
    fn ranges_hold_for_their_members() {
        let text = "set interfaces interface-range r member et-0/0/7\n\
                    set interfaces interface-range r member-range et-0/0/0 to et-0/0/1\n\
                    set interfaces interface-range r member \"et-0/0/[8-9]\"\n\
                    set interfaces interface-range r mtu 9216\nset interfaces et-0/0/9 speed 100g\n";
        assert_eq!(
            flat(text),
            [
                "interfaces et-0/0/0 mtu 9216",
                "interfaces et-0/0/1 mtu 9216",
                "interfaces et-0/0/7 mtu 9216",
                "interfaces et-0/0/9 mtu 9216",
                "interfaces et-0/0/9 speed 100g",
            ]
        );
        assert!(between("et-0/0/0", "et-0/0/99999999").is_empty());
    }

    #[test]
    fn patterns() {
        assert!(matches("et-*", "et-0/0/1:2") && matches("et-0/0/[0-3]", "et-0/0/2"));
        assert!(matches("*:0", "et-0/0/1:0") && matches("et-?/0/0", "et-1/0/0"));
        assert!(!matches("et-0/0/[0-3]", "et-0/0/4") && !matches("xe-*", "et-0/0/0"));
        assert!(!matches("et-0/0/[0-3", "et-0/0/0") && !matches("et", "et-0"));
    }

    proptest! {
        #[test]
        fn no_groups_run_away(
            applied in prop::collection::vec((0usize..6, 0usize..6, any::<bool>()), 0..40),
        ) {
            let line = |(a, b, below): &(usize, usize, bool)| {
                let place = if *below { "interfaces <et-*> " } else { "" };
                format!("set groups g{a} {place}apply-groups g{b}\n")
            };
            let text: String = applied.iter().map(line).collect();
            let text = format!("{text}set groups g5 interfaces <*> mtu 9216\nset apply-groups g0\nset interfaces et-0/0/0 disable\n");
            let read = read(&text);
            prop_assert!(inherit(&read.statements).statements.len() <= MOST);
        }

        #[test]
        fn no_text_panics(pattern in "[a-c*?\\[\\]0-3-]{0,12}", name in "[a-c0-3]{0,12}") {
            let _ = matches(&pattern, &name);
        }
    }
}
