//! Fixes on Junos devices that have statements switched off: what is entered below an inactive statement is inactive, too, so a
//! fix says what it makes active.

use super::statement::indent;
use crate::system::SystemId;
use crate::text::paths::{self, words};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Paths that are switched off, with all below them.
type Off<'a> = BTreeSet<Vec<&'a str>>;

/// Statements that a device is to get, with what makes active whatever its text has inactive of them.
pub(super) fn activated(system: SystemId, text: &str, statements: &str) -> String {
    if system.family() != SystemId::Junos {
        return statements.to_owned();
    }
    let off = paths::read(text).off;
    match system {
        _ if off.is_empty() => statements.to_owned(),
        SystemId::Junos => with_tags(&off, statements),
        _ => with_commands(&off, statements),
    }
}

/// With `active:` before each level that is off.
fn with_tags(off: &Off<'_>, statements: &str) -> String {
    let mut text = String::new();
    let mut around: Vec<&str> = Vec::new();
    let mut levels: Vec<usize> = Vec::new();
    for line in statements.lines() {
        let body = line.trim();
        let mut tag = "";
        if body.starts_with('}') {
            around.truncate(levels.pop().unwrap_or(0));
        } else if body.ends_with(['{', ';']) && !paths::is_tagged(body) {
            let outer = around.len();
            let own = words(body);
            around.extend(&own);
            if is_off(off, &around, body.ends_with(';') && own.len() == 2) {
                tag = "active: ";
            }
            match body.ends_with('{') {
                true => levels.push(outer),
                false => around.truncate(outer),
            }
        }
        let _ = writeln!(text, "{}{tag}{body}", " ".repeat(indent(line)));
    }
    text
}

/// Whether a path is off. One that ends in a name and a value is off with another value, too.
fn is_off(off: &Off<'_>, path: &[&str], valued: bool) -> bool {
    let name = &path[..path.len().saturating_sub(1)];
    let other = |path: &Vec<&str>| valued && path.len() == name.len() + 1 && path.starts_with(name);
    off.contains(path) || off.iter().any(other)
}

/// With `activate` before the first command that enters something below what is off.
fn with_commands(off: &Off<'_>, statements: &str) -> String {
    let mut text = String::new();
    let mut left: Vec<&Vec<&str>> = off.iter().collect();
    for line in statements.lines() {
        if let Some(path) = line.trim().strip_prefix("set ").map(words) {
            left.retain(|off| {
                let below = path.starts_with(off);
                if below {
                    let _ = writeln!(text, "activate {}", quoted(off));
                }
                !below
            });
        }
        let _ = writeln!(text, "{line}");
    }
    text
}

fn quoted(path: &[&str]) -> String {
    let word = |word: &&str| match word.contains(char::is_whitespace) {
        true => format!("\"{word}\""),
        false => (*word).to_owned(),
    };
    path.iter().map(word).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_that_is_inactive_is_made_active() {
        let text = "a {\n    inactive: b {\n        c 1;\n    }\n    inactive: d 1;\n}\n";
        let fix = "a {\n    b {\n        c 2;\n    }\n    d 2;\n    delete: e;\n}\n";
        let wanted =
            "a {\n    active: b {\n        c 2;\n    }\n    active: d 2;\n    delete: e;\n}\n";
        assert_eq!(activated(SystemId::Junos, text, fix), wanted);
        assert_eq!(activated(SystemId::Junos, "a { b { c 1; } }", fix), fix);
    }

    #[test]
    fn a_path_that_is_deactivated_is_activated_once() {
        let text = "set a \"b b\" c 1\nset d 1\ndeactivate a \"b b\"\ndeactivate d\ndeactivate e\n";
        let fix = "set a \"b b\" c 2\nset a \"b b\" f\nset d 2\nset g\n";
        let wanted =
            "activate a \"b b\"\nset a \"b b\" c 2\nset a \"b b\" f\nactivate d\nset d 2\nset g\n";
        assert_eq!(activated(SystemId::JunosSet, text, fix), wanted);
    }
}
