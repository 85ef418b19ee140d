//! Single statements in their context, as text: what has to be entered so that a device says a line at the place
//! where another one stands.

use crate::cumulus::ports_of_list;
use crate::device::PortName;
use crate::system::SystemId;
use serde_json::{Map, Value};

/// How statements belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// By indentation.
    Outline,
    /// Each line is whole.
    Lines,
    /// By braces.
    Braces,
    /// JSON with a key to a line.
    Json,
    /// Keys by indentation.
    Yaml,
}

fn shape(system: SystemId) -> Shape {
    match system {
        SystemId::Eos | SystemId::NxOs | SystemId::Os10 => Shape::Outline,
        SystemId::Cumulus | SystemId::JunosSet | SystemId::PicOs | SystemId::Host => Shape::Lines,
        SystemId::Junos => Shape::Braces,
        SystemId::Sonic => Shape::Json,
        SystemId::CumulusYaml => Shape::Yaml,
    }
}

/// A statement of a text: the lines that it belongs to, outermost first, and itself, without indentation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Statement {
    parents: Vec<String>,
    own: String,
}

impl Statement {
    /// The statement that stands on a line, from 1; `None` if the line has none, or more than one.
    pub(super) fn at(system: SystemId, text: &str, line: u32) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        let raw = *lines.get(at)?;
        let own = raw.trim();
        let above = &lines[..at];
        let (parents, own) = match shape(system) {
            Shape::Lines => (Vec::new(), without_prompt(own)),
            Shape::Outline | Shape::Yaml => (indented_above(above, indent(raw)), own),
            Shape::Braces => (opened_above(above), own.trim_end_matches(['{', ' '])),
            Shape::Json => (opened_above(above), json_entry(own)?),
        };
        let plain = !own.is_empty() && !own.starts_with(['!', '}']);
        plain.then(|| Self { parents, own: own.to_owned() })
    }

    /// The same place with another statement.
    pub(super) fn saying(&self, other: &Self) -> Self {
        Self { parents: self.parents.clone(), own: other.own.clone() }
    }

    /// The statement for another port: where its name stands, alone or in a list, the other one does.
    pub(super) fn for_port(&self, from: &str, to: &str) -> Self {
        let listed = |word: &str| {
            let (list, end) = word.split_at(word.trim_end_matches(':').len());
            let has = is_list(list) && ports_of_list(list).iter().any(|one| one == from);
            if has { format!("{to}{end}") } else { word.to_owned() }
        };
        let moved = |text: &String| {
            let words: Vec<String> = text.split(' ').map(listed).collect();
            replace_word(&words.join(" "), from, to)
        };
        Self { parents: self.parents.iter().map(moved).collect(), own: moved(&self.own) }
    }

    /// The ports of lists in it.
    pub(super) fn listed_ports(&self) -> impl Iterator<Item = PortName> {
        let texts = self.parents.iter().chain([&self.own]);
        let words = texts.flat_map(|text| text.split(' ')).map(|word| word.trim_end_matches(':'));
        let listed = words.filter(|word| is_list(word)).flat_map(ports_of_list);
        listed.map(|name| PortName::new(&name))
    }

    /// Its words and those of what it stands in, without quotation marks.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let texts = self.parents.iter().chain([&self.own]);
        let between = |c: char| c.is_whitespace() || "\"'|,;=[]{}".contains(c);
        texts.flat_map(move |text| text.split(between)).map(|word| word.trim_end_matches(':'))
    }

    /// What takes it away, in the words of the system.
    pub(super) fn removed(&self, system: SystemId) -> Vec<Self> {
        let with = |own: String| Self { parents: self.parents.clone(), own };
        match (system, self.own.split_once(' ')) {
            (SystemId::Eos | SystemId::NxOs | SystemId::Os10, _) => {
                let Some(positive) = self.own.strip_prefix("no ") else {
                    let own = self.own.strip_prefix("default ").unwrap_or(&self.own);
                    return vec![with(format!("no {own}"))];
                };
                // What comes before a profile gives way to it again.
                let default = (system == SystemId::Eos).then(|| format!("default {positive}"));
                [positive.to_owned()].into_iter().chain(default).map(with).collect()
            }
            (SystemId::JunosSet | SystemId::PicOs, Some(("set", rest))) => {
                vec![with(format!("delete {rest}"))]
            }
            (SystemId::JunosSet, Some(("deactivate", rest))) => {
                vec![with(format!("activate {rest}"))]
            }
            (SystemId::JunosSet, Some(("activate", rest))) => {
                vec![with(format!("deactivate {rest}"))]
            }
            (SystemId::Cumulus, Some(("nv", rest))) => {
                let path = rest.strip_prefix("set ").unwrap_or(rest);
                let short = path.rsplit_once(' ').map(|(path, _)| format!("nv unset {path}"));
                short.into_iter().chain([format!("nv unset {path}")]).map(with).collect()
            }
            (SystemId::Junos, _) => {
                let switched = self.switched();
                vec![switched.unwrap_or_else(|| with(format!("delete: {}", self.own)))]
            }
            _ => Vec::new(),
        }
    }

    /// Active what was inactive, and the other way, if it is said of the statement or of what it stands in.
    fn switched(&self) -> Option<Self> {
        let flip = |text: &String| match text.split_once(": ") {
            Some(("inactive", rest)) => format!("active: {rest}"),
            Some(("active", rest)) => format!("inactive: {rest}"),
            _ => text.clone(),
        };
        let flipped =
            Self { parents: self.parents.iter().map(flip).collect(), own: flip(&self.own) };
        (flipped != *self).then_some(flipped)
    }
}

/// The statements of a text, those with others below them only as their context.
pub(super) fn statements_of(system: SystemId, text: &str) -> Vec<Statement> {
    numbered(system, text).into_iter().map(|(_, statement)| statement).collect()
}

/// The same with their lines, from 1.
pub(super) fn numbered(system: SystemId, text: &str) -> Vec<(u32, Statement)> {
    let shape = shape(system);
    let mut all = Vec::new();
    // What is open, with its indentation.
    let mut open: Vec<(usize, String)> = Vec::new();
    let mut lines = text.lines().zip(1u32..).peekable();
    while let Some((line, number)) = lines.next() {
        let body = line.trim();
        if body.is_empty() || body.starts_with(['#', '!', '/']) {
            continue;
        }
        let depth = indent(line);
        let parent = match shape {
            Shape::Outline | Shape::Yaml => {
                open.retain(|(at, _)| *at < depth);
                while lines.next_if(|(next, _)| next.trim().is_empty()).is_some() {}
                lines.peek().is_some_and(|(next, _)| indent(next) > depth)
            }
            Shape::Braces | Shape::Json => body.ends_with('{'),
            Shape::Lines => false,
        };
        if matches!(shape, Shape::Braces | Shape::Json) && body.starts_with('}') {
            open.pop();
        } else if parent {
            let name = match shape {
                Shape::Braces | Shape::Json => opened(body),
                _ => body,
            };
            open.push((depth, name.to_owned()));
        } else {
            let own = match shape {
                Shape::Lines => Some(without_prompt(body)),
                Shape::Json => json_entry(body),
                _ => Some(body),
            };
            let parents = || open.iter().map(|(_, name)| name.clone()).collect();
            all.extend(own.map(|own| (number, Statement { parents: parents(), own: own.into() })));
        }
    }
    all
}

/// The name before an opening brace.
fn opened(line: &str) -> &str {
    line.trim_end_matches(['{', ' ']).trim_end_matches(':').trim_matches('"')
}

/// Statements as they are entered, those of one context together.
pub(super) fn written(system: SystemId, statements: &[Statement]) -> String {
    let shape = shape(system);
    if shape == Shape::Json {
        return json(statements);
    }
    let mut text = String::new();
    let mut open: &[String] = &[];
    let close = |text: &mut String, open: &[String], keep: usize| {
        for depth in (keep..open.len()).rev().filter(|_| shape == Shape::Braces) {
            *text += &format!("{}}}\n", pad(shape, depth));
        }
    };
    for statement in statements {
        let same = open.iter().zip(&statement.parents).take_while(|(a, b)| a == b).count();
        close(&mut text, open, same);
        for (depth, parent) in statement.parents.iter().enumerate().skip(same) {
            let end = if shape == Shape::Braces { " {" } else { "" };
            text += &format!("{}{parent}{end}\n", pad(shape, depth));
        }
        open = &statement.parents;
        text += &format!("{}{}\n", pad(shape, open.len()), statement.own);
    }
    close(&mut text, open, 0);
    text
}

fn pad(shape: Shape, depth: usize) -> String {
    let width = if matches!(shape, Shape::Outline) { 3 } else { 4 };
    " ".repeat(width * depth)
}

pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A command behind the prompt that it was entered at.
fn without_prompt(line: &str) -> &str {
    let starts = ["nv set ", "set ", "mlnx_qos ", "cma_roce_tos ", "echo ", "ip link "];
    let found = starts.iter().filter_map(|start| line.find(start)).min();
    found.map_or(line, |at| &line[at..])
}

/// The lines above with ever less indentation, outermost first.
fn indented_above(above: &[&str], mut than: usize) -> Vec<String> {
    let mut parents = Vec::new();
    for line in above.iter().rev() {
        let body = line.trim();
        if body.is_empty() || body.starts_with(['!', '#']) || indent(line) >= than {
            continue;
        }
        than = indent(line);
        parents.push(body.to_owned());
        if than == 0 {
            break;
        }
    }
    parents.reverse();
    parents
}

/// What is open at the end of these lines.
fn opened_above(above: &[&str]) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    for line in above {
        let body = line.trim();
        if body.starts_with(['#', '/']) {
            continue;
        }
        if body.ends_with('{') {
            open.push(opened(body).to_owned());
        } else if body.starts_with('}') {
            open.pop();
        }
    }
    // The outermost braces of JSON have no name, and a prompt may stand before them.
    open
}

/// `"key": "value"` without the comma, if that is all there is.
fn json_entry(line: &str) -> Option<&str> {
    let entry = line.trim_end_matches(',');
    let value: Value = serde_json::from_str(&format!("{{{entry}}}")).ok()?;
    let one = value.as_object().is_some_and(|map| map.len() == 1);
    one.then_some(entry)
}

fn json(statements: &[Statement]) -> String {
    let mut root = Map::new();
    for statement in statements {
        let mut table = &mut root;
        for key in statement.parents.iter().skip(1) {
            let next = table.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
            if !next.is_object() {
                *next = Value::Object(Map::new());
            }
            let Some(inner) = next.as_object_mut() else { return String::new() };
            table = inner;
        }
        let entry = format!("{{{}}}", statement.own);
        if let Ok(Value::Object(entry)) = serde_json::from_str(&entry) {
            table.extend(entry);
        }
    }
    serde_json::to_string_pretty(&Value::Object(root)).unwrap_or_default()
}

/// Whether a word may be a list of ports as NVUE has them, `swp1-4,swp7`.
fn is_list(word: &str) -> bool {
    word.starts_with("swp") && word.contains([',', '-'])
}

/// `text` with every whole word `from` as `to`.
fn replace_word(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let inside = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    while let Some(at) = rest.find(from).filter(|_| !from.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + from.len()..]);
        let whole = !before.ends_with(inside) && !after.starts_with(|c| inside(c) || c == ':');
        out += before;
        out += if whole { to } else { from };
        rest = after;
    }
    out + rest
}

/// A configuration after statements were entered into it.
pub(super) fn entered(system: SystemId, text: &str, statements: &str) -> Option<String> {
    match shape(system) {
        Shape::Json => merged(text, statements),
        _ => Some(format!("{}\n{statements}\n", text.trim_end())),
    }
}

/// JSON tables put into each other.
fn merged(text: &str, statements: &str) -> Option<String> {
    let body = text.get(text.find('{')?..=text.rfind('}')?)?;
    let mut all: Value = serde_json::from_str(body).ok()?;
    merge(&mut all, serde_json::from_str(statements).ok()?);
    serde_json::to_string_pretty(&all).ok()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_entered_where_another_stands() {
        let text = "hostname a\n!\nqos profile X\n   uc-tx-queue 3\n      bandwidth percent 5\n";
        let old = Statement::at(SystemId::Eos, text, 5).unwrap();
        let new = Statement { parents: Vec::new(), own: "bandwidth percent 50".into() };
        let fix = written(SystemId::Eos, &[old.saying(&new)]);
        assert_eq!(fix, "qos profile X\n   uc-tx-queue 3\n      bandwidth percent 50\n");
        let gone = written(SystemId::Eos, &old.removed(SystemId::Eos));
        assert!(gone.ends_with("      no bandwidth percent 5\n"), "{gone}");
    }

    #[test]
    fn braces_and_json_are_closed() {
        let text = "class-of-service {\n    schedulers {\n        s3 {\n            priority low;\n        }\n";
        let low = Statement::at(SystemId::Junos, text, 4).unwrap();
        let fix = written(SystemId::Junos, &[low]);
        assert_eq!(
            fix,
            "class-of-service {\n    schedulers {\n        s3 {\n            priority low;\n        }\n    }\n}\n"
        );
        let text =
            "$ cat db\n{\n  \"WRED_PROFILE\": {\n    \"A\": {\n      \"ecn\": \"ecn_all\",\n";
        let ecn = Statement::at(SystemId::Sonic, text, 5).unwrap();
        let fix = written(SystemId::Sonic, &[ecn]);
        let value: Value = serde_json::from_str(&fix).unwrap();
        assert_eq!(value["WRED_PROFILE"]["A"]["ecn"], "ecn_all");
        assert!(Statement::at(SystemId::Sonic, text, 3).is_none());
    }

    #[test]
    fn what_takes_inactive_away_is_active() {
        let text = "a {\n    inactive: b c;\n    inactive: d {\n        e f;\n    }\n}\n";
        let taken = |line| {
            let one = Statement::at(SystemId::Junos, text, line).unwrap();
            written(SystemId::Junos, &one.removed(SystemId::Junos))
        };
        assert_eq!(taken(2), "a {\n    active: b c;\n}\n");
        assert_eq!(taken(4), "a {\n    active: d {\n        e f;\n    }\n}\n");
    }

    #[test]
    fn another_port_has_another_name() {
        let line = Statement { parents: vec!["interface Ethernet1/1".into()], own: "x".into() };
        let moved = line.for_port("Ethernet1/1", "Ethernet2/1");
        assert_eq!(moved.parents, ["interface Ethernet2/1"]);
        let other = Statement { parents: vec!["interface Ethernet1/11".into()], own: "x".into() };
        assert_eq!(other.for_port("Ethernet1/1", "Ethernet2/1"), other);
        let list = |own: &str| Statement { parents: Vec::new(), own: own.into() };
        let all = list("nv set interface swp1-3,swp7s0-1 link mtu 9216");
        assert_eq!(all.for_port("swp2", "swp9"), list("nv set interface swp9 link mtu 9216"));
        assert_eq!(all.for_port("swp4", "swp9"), all);
        let names: Vec<PortName> = all.listed_ports().collect();
        assert_eq!(names, ["swp1", "swp2", "swp3", "swp7s0", "swp7s1"].map(PortName::new));
    }
}
