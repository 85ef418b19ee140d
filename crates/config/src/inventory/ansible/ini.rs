//! Ansible's INI: `[group]`, `[group:vars]`, `[group:children]`, and hosts with variables behind them.

use super::super::Found;
use super::super::fields::shown;
use super::{Tree, Vars};

/// What the lines of a section are.
enum Section {
    Hosts(String),
    Vars(String),
    Children(String),
    /// One that is not known: its lines are not judged.
    Unknown,
}

pub(in super::super) fn read(text: &str) -> Found {
    let mut tree = Tree::default();
    let mut section = Section::Hosts("ungrouped".to_owned());
    for (raw, number) in text.trim_start_matches('\u{feff}').lines().zip(1u32..) {
        let line = raw.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // `[a:c]leaf` begins with a range; a section ends with its bracket.
        let header = line.strip_prefix('[').and_then(|rest| {
            let (name, behind) = rest.split_once(']')?;
            let behind = behind.trim();
            (behind.is_empty() || behind.starts_with('#')).then_some(name.trim())
        });
        if let Some(name) = header {
            section = begin(&mut tree, name, number);
            continue;
        }
        match &section {
            Section::Hosts(group) => host(&mut tree, group, line, number),
            Section::Vars(group) => variable(&mut tree, group, line, number),
            Section::Children(group) => {
                let child = line.split([' ', '\t', '#']).next().unwrap_or(line);
                tree.child(group, child);
            }
            Section::Unknown => {}
        }
    }
    tree.finish()
}

fn begin(tree: &mut Tree, name: &str, number: u32) -> Section {
    let (group, kind) =
        name.split_once(':').map_or((name, None), |(group, kind)| (group, Some(kind)));
    let section = match kind {
        _ if group.is_empty() => None,
        None => Some(Section::Hosts(group.to_owned())),
        Some("vars") => Some(Section::Vars(group.to_owned())),
        Some("children") => Some(Section::Children(group.to_owned())),
        Some(_) => None,
    };
    match section {
        Some(section) => {
            tree.group(group);
            section
        }
        None => {
            let message = format!("there is no section `[{}]`", shown(name));
            let cure = "sections are [group], [group:vars] and [group:children]";
            tree.found.mistake(number, message, cure);
            Section::Unknown
        }
    }
}

fn host(tree: &mut Tree, group: &str, line: &str, number: u32) {
    let words = match words(line) {
        Some(words) => words,
        None => {
            let message = "a quotation mark has no end";
            return tree.found.mistake(number, message, "close it on the same line");
        }
    };
    let Some((name, rest)) = words.split_first() else { return };
    let mut vars = Vars::default();
    for word in rest {
        match word.split_once('=') {
            Some((key, value)) => tree.variable(&mut vars, key, value, number),
            None => {
                let message = format!("`{}` is no variable", shown(word));
                tree.found.mistake(number, message, "write ansible_host=10.0.0.10 behind the name");
            }
        }
    }
    // `leaf0:2222` has its port behind the name; a range has its colon inside brackets.
    let name = match name.rsplit_once(':') {
        Some((bare, port)) if !port.contains(']') && !bare.contains(':') => {
            tree.variable(&mut vars, "ansible_port", port, number);
            bare
        }
        _ => name,
    };
    tree.hosts(group, name, number, &vars);
}

fn variable(tree: &mut Tree, group: &str, line: &str, number: u32) {
    let Some((key, value)) = line.split_once('=') else {
        let message = format!("`{}` is no variable", shown(line));
        return tree.found.mistake(number, message, "write ansible_user=admin");
    };
    let value = match words(value.trim()) {
        Some(words) if words.len() == 1 => words[0].clone(),
        _ => value.trim().to_owned(),
    };
    let mut vars = std::mem::take(&mut tree.group(group).vars);
    tree.variable(&mut vars, key.trim(), &value, number);
    tree.group(group).vars = vars;
}

/// The words of a line, those in quotation marks whole; a comment ends it. Nothing where a mark is not closed.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word = String::new();
    let (mut quote, mut open) = (None, false);
    for c in line.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.push(c),
            None if c == '"' || c == '\'' => (quote, open) = (Some(c), true),
            None if c == '#' && !open => break,
            None if c.is_whitespace() => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            None => {
                word.push(c);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    quote.is_none().then_some(words)
}
