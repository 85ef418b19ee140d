//! Statements that stand in one place and hold in others: `groups` that `apply-groups` brings to the
//! top, and `interface-range`. What is brought along comes before a box's own statements, which
//! override it.

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
    /// Lines that apply groups below the top, or where there is no such group: they are not expanded.
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
pub(super) fn inherit<'a>(paths: &[Path<'a>]) -> Inherited<'a> {
    let mut found = Inherited::default();
    let mut groups: BTreeMap<&str, Vec<(u32, &[&'a str])>> = BTreeMap::new();
    let (mut own, mut applied) = (Vec::new(), Vec::new());
    for path in paths {
        match &path.words[..] {
            ["groups", name, rest @ ..] => groups.entry(*name).or_default().push((path.line, rest)),
            ["apply-groups", names @ ..] => applied.extend(names.iter().map(|n| (path.line, *n))),
            ["interfaces" | "class-of-service" | "forwarding-options", rest @ ..]
                if rest.contains(&"apply-groups") =>
            {
                found.unknown.push(path.line);
            }
            words => own.push((path.line, words)),
        }
    }
    let mut brought = Vec::new();
    // The first group that is named comes before the others: it is read last.
    for (line, name) in applied.into_iter().rev() {
        match groups.remove(name) {
            Some(statements) => brought.extend(statements),
            None => found.unknown.push(line),
        }
    }
    found.idle.extend(groups.into_values().flatten().map(|(line, _)| line));
    let ports = ports(&brought, &own);
    for (line, words) in brought {
        found.expand(line, words, &ports);
    }
    let ranges = ranges(&own, &ports);
    for (line, words) in &own {
        if let ["interfaces", "interface-range", name, rest @ ..] = words {
            let members = ranges.get(name).into_iter().flatten();
            members.for_each(|port| found.push(*line, port, rest));
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
    fn expand(&mut self, line: u32, words: &[&'a str], ports: &BTreeSet<String>) {
        match words {
            ["interfaces", name, rest @ ..] if bare(name) != *name => {
                let matching = ports.iter().filter(|port| matches(bare(name), port));
                matching.for_each(|port| self.push(line, port, rest));
            }
            _ => {
                let words = words.iter().map(|word| Cow::Borrowed(bare(word))).collect();
                self.statements.push((line, words));
            }
        }
    }

    fn push(&mut self, line: u32, port: &str, rest: &[&'a str]) {
        if self.statements.len() >= MOST {
            if self.unknown.last() != Some(&line) {
                self.unknown.push(line);
            }
            return;
        }
        if matches!(rest, ["member" | "member-range", ..]) {
            return;
        }
        let head = [Cow::Borrowed("interfaces"), Cow::Owned(port.to_owned())];
        let rest = rest.iter().map(|word| Cow::Borrowed(*word));
        self.statements.push((line, head.into_iter().chain(rest).collect()));
    }
}

/// A name without the angle brackets of groups.
fn bare(name: &str) -> &str {
    name.strip_prefix('<').and_then(|name| name.strip_suffix('>')).unwrap_or(name)
}

/// All ports that statements name.
fn ports(brought: &[(u32, &[&str])], own: &[(u32, &[&str])]) -> BTreeSet<String> {
    let mut ports = BTreeSet::new();
    for (_, words) in brought.iter().chain(own) {
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
    fn groups_below_the_top_are_remarked() {
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
        fn no_text_panics(pattern in "[a-c*?\\[\\]0-3-]{0,12}", name in "[a-c0-3]{0,12}") {
            let _ = matches(&pattern, &name);
        }
    }
}
