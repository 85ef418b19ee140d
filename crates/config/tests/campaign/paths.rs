//! Configurations that are trees: written as one path per line, `a|b|c|value`, and printed as commands or as an
//! outline. `{}` at the end of a path is an empty entry.

use std::collections::BTreeMap;

/// Sets the value at a path: replaces it where it is set, adds it where not.
pub(crate) fn set(text: &str, path: &str, value: &str) -> String {
    let start = format!("{path}|");
    let line = format!("{path}|{value}\n");
    let mut done = String::new();
    let mut found = false;
    for old in text.lines() {
        if old.starts_with(&start) {
            if !found {
                done += &line;
            }
            found = true;
        } else {
            done += old;
            done.push('\n');
        }
    }
    if found { done } else { done + &line }
}

/// Adds a path.
pub(crate) fn add(text: &str, path: &str) -> String {
    format!("{text}{path}\n")
}

/// A tree of words, in the order of their first appearance.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) children: Vec<(String, Tree)>,
}

impl Tree {
    /// The tree of all paths.
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut root = Self::default();
        for line in lines.filter(|line| !line.is_empty()) {
            let mut at = &mut root;
            for word in line.split('|') {
                let known = at.children.iter().position(|(name, _)| name == word);
                let index = known.unwrap_or_else(|| {
                    at.children.push((word.to_owned(), Self::default()));
                    at.children.len() - 1
                });
                at = &mut at.children[index].1;
            }
        }
        root
    }
}

/// Paths of interfaces with the same end, joined: `interface|swp1-2|type|swp`.
pub(crate) fn joined(text: &str) -> Vec<String> {
    let mut ends: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some((name, end)) = line.strip_prefix("interface|").and_then(|l| l.split_once('|'))
        else {
            order.push(line.to_owned());
            continue;
        };
        let entry = ends.entry(end).or_default();
        if entry.is_empty() {
            order.push(format!("\u{1}{end}"));
        }
        entry.push(name);
    }
    let print = |line: String| match line.strip_prefix('\u{1}') {
        Some(end) => format!("interface|{}|{end}", ranges(&ends[end])),
        None => line,
    };
    order.into_iter().map(print).collect()
}

/// Names of interfaces as ranges.
fn ranges(names: &[&str]) -> String {
    let cut = |name: &str| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let number: Option<u32> = name[stem.len()..].parse().ok();
        (stem, number)
    };
    let mut parts: Vec<(String, Option<(u32, u32)>)> = Vec::new();
    for name in names {
        let (stem, number) = cut(name);
        match (parts.last_mut(), number) {
            (Some((last, Some((_, end)))), Some(number)) if *last == stem && *end + 1 == number => {
                *end = number;
            }
            (_, number) => parts.push((stem, number.map(|n| (n, n)))),
        }
    }
    let mut text = String::new();
    let mut before = String::new();
    for (stem, numbers) in parts {
        if !text.is_empty() {
            text.push(',');
        }
        // `swp1-2,5`: the stem of plain ports is said once.
        if stem != before || stem.ends_with('s') {
            text += &stem;
        }
        match numbers {
            Some((first, last)) if first == last => text += &first.to_string(),
            Some((first, last)) => text += &format!("{first}-{last}"),
            None => {}
        }
        before = stem;
    }
    text
}
