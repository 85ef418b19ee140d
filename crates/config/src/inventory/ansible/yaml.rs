//! Ansible's YAML, as far as inventories use it: nested keys with plain or quoted values, one-line `{…}`.
//!
//! A value that is a list or a block of text is passed over where it is a variable that says nothing of
//! connections. Anchors, aliases and merges are refused: `ansible-inventory --list --yaml` writes inventories
//! without them.

use super::super::Found;
use super::super::fields::shown;
use super::{Tree, Vars};
use std::collections::BTreeMap;

/// Keys are not nested deeper.
const DEEPEST: usize = 64;

const EXPAND: &str =
    "let Ansible write it out: ansible-inventory -i INVENTORY --list --yaml > plain.yml";

/// A key and what is below it.
#[derive(Debug)]
struct Node {
    key: String,
    line: u32,
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// Nothing, or not yet anything.
    Empty,
    Text(String),
    Map(Vec<Node>),
    /// A list, or a block of text.
    Other,
}

pub(in super::super) fn read(text: &str) -> Found {
    let mut tree = Tree::default();
    let nodes = parse(text, &mut tree.found);
    if tree.found.mistakes.is_empty() {
        for node in &nodes {
            group(&mut tree, None, node);
        }
    }
    tree.finish()
}

fn group(tree: &mut Tree, parent: Option<&str>, node: &Node) {
    tree.group(&node.key);
    if let Some(parent) = parent {
        tree.child(parent, &node.key);
    }
    let parts = match &node.value {
        Value::Map(parts) => parts.as_slice(),
        Value::Empty => &[],
        Value::Text(_) | Value::Other => {
            let message = format!("group `{}` has no keys below it", shown(&node.key));
            return tree.found.mistake(node.line, message, "a group has hosts, vars and children");
        }
    };
    for part in parts {
        match (part.key.as_str(), &part.value) {
            (_, Value::Empty) => {}
            ("vars", Value::Map(vars)) => {
                let mut known = std::mem::take(&mut tree.group(&node.key).vars);
                variables(tree, &mut known, vars);
                tree.group(&node.key).vars = known;
            }
            ("hosts", Value::Map(hosts)) => {
                hosts.iter().for_each(|host| self::host(tree, &node.key, host))
            }
            ("children", Value::Map(groups)) => {
                groups.iter().for_each(|child| group(tree, Some(&node.key), child));
            }
            ("hosts" | "children", _) => {
                let message = format!("`{}` of `{}` is no table", part.key, shown(&node.key));
                tree.found.mistake(part.line, message, "write each below it as a key: `leaf0:`");
            }
            ("vars", _) => {
                let message = format!("`vars` of `{}` is no table", shown(&node.key));
                tree.found.mistake(
                    part.line,
                    message,
                    "write each below it: `ansible_user: admin`",
                );
            }
            (other, _) => {
                let message = format!("group `{}` has no `{}`", shown(&node.key), shown(other));
                let cure = "a group has hosts, vars and children; groups below it belong under `children:`";
                tree.found.mistake(part.line, message, cure);
            }
        }
    }
}

fn host(tree: &mut Tree, group: &str, node: &Node) {
    let mut vars = Vars::default();
    match &node.value {
        Value::Empty => {}
        Value::Map(list) => variables(tree, &mut vars, list),
        Value::Text(_) | Value::Other => {
            let message = format!("`{}` has a value, and a host has variables", shown(&node.key));
            tree.found.mistake(node.line, message, "write `ansible_host: 10.0.0.10` below it");
        }
    }
    tree.hosts(group, &node.key, node.line, &vars);
}

fn variables(tree: &mut Tree, vars: &mut Vars, list: &[Node]) {
    for node in list {
        match &node.value {
            Value::Text(text) => tree.variable(vars, &node.key, text, node.line),
            Value::Empty | Value::Map(_) | Value::Other => {}
        }
    }
}

/// Keys that are open, with their indentation.
struct Reader<'f> {
    open: Vec<(usize, Node)>,
    top: Vec<Node>,
    /// Everything indented more than this is passed over.
    skip: Option<usize>,
    found: &'f mut Found,
}

fn parse(text: &str, found: &mut Found) -> Vec<Node> {
    let mut reader = Reader { open: Vec::new(), top: Vec::new(), skip: None, found };
    for (raw, number) in text.trim_start_matches('\u{feff}').lines().zip(1u32..) {
        if raw.trim_end() == "..." {
            break;
        }
        if !reader.line(raw, number) {
            break;
        }
    }
    reader.close(0);
    let Reader { top, found, .. } = reader;
    twice(found, &top);
    top
}

impl Reader<'_> {
    /// Takes a line; whether reading goes on.
    fn line(&mut self, raw: &str, number: u32) -> bool {
        let body = raw.trim_start();
        let indent = raw.len() - body.len();
        if self.skip.is_some_and(|least| indent > least || body.is_empty()) {
            return true;
        }
        self.skip = None;
        let body = comment_cut(body).trim_end();
        if body.is_empty() || body == "---" || (indent == 0 && body.starts_with('%')) {
            return true;
        }
        if raw[..indent].contains('\t') {
            return self.wrong(number, "a tab indents this line", "YAML is indented with spaces");
        }
        if body == "-" || body.starts_with("- ") {
            return self.item(indent, number);
        }
        let Some((key, value)) = entry(body) else {
            // A plain text may go on below its key.
            let goes_on = self.open.last().is_some_and(|(at, node)| {
                indent > *at && matches!(node.value, Value::Text(_) | Value::Other)
            });
            let message = format!("`{}` is no key with a value", shown(body));
            return goes_on || self.wrong(number, message, EXPAND);
        };
        if key == "<<" || value.starts_with(['*', '&']) {
            return self.wrong(number, "anchors and aliases of YAML are not read", EXPAND);
        }
        self.close(indent);
        if self.open.len() >= DEEPEST {
            return self.wrong(number, format!("keys are nested deeper than {DEEPEST}"), EXPAND);
        }
        let beyond = self.open.last().map(|(_, node)| &node.value);
        if matches!(beyond, Some(Value::Text(_) | Value::Other)) {
            let message = format!("`{}` is below a key that has a value", shown(key));
            return self.wrong(number, message, "check how far it is indented");
        }
        let value = match value {
            "" | "~" | "null" => Value::Empty,
            text if text.starts_with(['|', '>', '!']) => {
                self.skip = Some(indent);
                Value::Other
            }
            text if text.starts_with('{') => match flow(text, number) {
                Some(nodes) => Value::Map(nodes),
                None => return self.wrong(number, "this `{` cannot be read", EXPAND),
            },
            text if text.starts_with('[') => {
                self.skip = Some(indent);
                Value::Other
            }
            text => match scalar(text) {
                Some(text) => Value::Text(text),
                None => return self.wrong(number, "a quotation mark has no end", EXPAND),
            },
        };
        self.open.push((indent, Node { key: key.to_owned(), line: number, value }));
        true
    }

    /// An item of a list: the key above it has one, and what is below is not looked at.
    fn item(&mut self, indent: usize, number: u32) -> bool {
        // Items may stand as far left as their key.
        while self.open.len() > 1 && self.open.last().is_some_and(|(at, _)| *at > indent) {
            let last = self.open.last().map_or(0, |(at, _)| *at);
            self.close(last);
        }
        match self.open.last_mut() {
            Some((at, node))
                if *at <= indent && matches!(node.value, Value::Empty | Value::Other) =>
            {
                node.value = Value::Other;
                self.skip = Some(indent);
                true
            }
            _ => self.wrong(number, "a list is not expected here", EXPAND),
        }
    }

    fn wrong(&mut self, number: u32, message: impl Into<String>, cure: &str) -> bool {
        self.found.mistake(number, message, cure);
        false
    }

    /// Closes the keys that are indented at least so far.
    fn close(&mut self, indent: usize) {
        while let Some((at, node)) = self.open.pop() {
            if at < indent {
                self.open.push((at, node));
                return;
            }
            let Some((_, parent)) = self.open.last_mut() else {
                self.top.push(node);
                continue;
            };
            match &mut parent.value {
                Value::Map(list) => list.push(node),
                value => *value = Value::Map(vec![node]),
            }
        }
    }
}

/// Keys that are there twice in one table: of two equal hosts YAML keeps the last, in silence.
fn twice(found: &mut Found, nodes: &[Node]) {
    let mut first: BTreeMap<&str, u32> = BTreeMap::new();
    for node in nodes {
        if let Some(line) = first.insert(&node.key, node.line) {
            let message = format!("`{}` is there already, on line {line}", shown(&node.key));
            found.mistake(node.line, message, "leave one of them out");
        }
        if let Value::Map(below) = &node.value {
            twice(found, below);
        }
    }
}

/// A line without its comment.
fn comment_cut(body: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in body.char_indices() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if (c == '"' || c == '\'') && (before == ' ' || "{,[:".contains(before)) => {
                quote = Some(c);
            }
            None if c == '#' && before.is_whitespace() => return &body[..at],
            None => {}
        }
        before = c;
    }
    body
}

/// `key: value`, `key:` or `"key": value`.
fn entry(body: &str) -> Option<(&str, &str)> {
    let (key, rest) = match body.chars().next()? {
        mark @ ('"' | '\'') => {
            let end = body[1..].find(mark)? + 1;
            (&body[1..end], body[end + 1..].trim_start().strip_prefix(':')?)
        }
        '{' | '[' | '?' => return None,
        _ => {
            let end = body.find(": ").or_else(|| body.ends_with(':').then(|| body.len() - 1))?;
            (&body[..end], &body[end + 1..])
        }
    };
    let key = key.trim();
    (!key.is_empty()).then_some((key, rest.trim()))
}

/// A plain or quoted value.
fn scalar(text: &str) -> Option<String> {
    match text.chars().next() {
        Some(mark @ ('"' | '\'')) => {
            let inner = text.strip_prefix(mark)?.strip_suffix(mark)?;
            Some(if mark == '\'' { inner.replace("''", "'") } else { inner.replace("\\\"", "\"") })
        }
        _ => Some(text.to_owned()),
    }
}

/// `{a: b, c: d}` on one line, one level deep.
fn flow(text: &str, line: u32) -> Option<Vec<Node>> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let mut nodes = Vec::new();
    for part in split(inner)? {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let (key, value) = entry(part)?;
        if value.starts_with(['{', '[', '*', '&']) {
            return None;
        }
        let value = if value.is_empty() { Value::Empty } else { Value::Text(scalar(value)?) };
        nodes.push(Node { key: key.to_owned(), line, value });
    }
    Some(nodes)
}

/// Parts between commas that are not in quotation marks.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '{' || c == '}' => return None,
            None if c == ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            None => {}
        }
    }
    parts.push(&text[start..]);
    quote.is_none().then_some(parts)
}
