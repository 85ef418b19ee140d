//! NVUE's YAML and commands are the same tree: keys are words. Only what NVUE prints is read, nested
//! keys with plain values; anything else is reported as unknown.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A path of words.
pub(super) type Words<'a> = Vec<Cow<'a, str>>;

/// A text taken apart.
#[derive(Debug, Default)]
pub(super) struct Read<'a> {
    /// Paths from the top to a value, or to a key with nothing below.
    pub(super) paths: Vec<(u32, Words<'a>)>,
    /// Lines that are no keys.
    pub(super) strange: Vec<(u32, &'a str)>,
    /// The last line, if it is no key, or one with nothing behind it: NVUE prints `{}` there.
    pub(super) cut: Option<u32>,
    /// The version in the header.
    pub(super) version: Option<(u32, &'a str)>,
}

pub(super) fn likeness(text: &str) -> u32 {
    let keys = [
        "\n  qos:",
        "\n    qos:",
        "\n    interface:",
        "\n- set:",
        "nvue-api-version",
        "switch-priority:",
    ];
    let found = keys.iter().filter(|key| text.contains(*key)).count() as u32;
    if text.contains("set:\n") { 15 * found } else { 0 }
}

/// Deeper than NVUE nests.
const DEEPEST: usize = 24;

/// Takes a text apart.
pub(super) fn read(text: &str) -> Read<'_> {
    let mut found = Read::default();
    // Open keys with their indentation, and whether anything was said below them.
    let mut open: Vec<(usize, u32, &str, bool)> = Vec::new();
    // Indentation of the key whose value is a block of text: what is deeper belongs to it, whatever it looks like.
    let mut block: Option<usize> = None;
    for (raw, number) in text.lines().zip(1u32..) {
        let line = raw.trim_end();
        let body = line.trim_start();
        if let Some(at) = block.filter(|_| !body.is_empty()) {
            if line.len() - body.len() > at {
                found.cut = None;
                found.strange.push((number, line));
                continue;
            }
            block = None;
        }
        if body.is_empty() || body.starts_with('#') || body == "---" {
            continue;
        }
        let (indent, body) = match body.strip_prefix("- ") {
            Some(rest) => (line.len() - rest.len(), rest.trim_start()),
            None => (line.len() - body.len(), body),
        };
        let entry = entry(body);
        let whole = match entry {
            Some((_, value)) => value.is_some(),
            // A prompt stands at the margin.
            None => indent == 0,
        };
        found.cut = (!whole).then_some(number);
        let Some((key, value)) = entry else {
            found.strange.push((number, line));
            continue;
        };
        while open.last().is_some_and(|(at, ..)| *at >= indent) {
            close(&mut open, &mut found);
        }
        if let Some((_, _, _, said)) = open.last_mut() {
            *said = true;
        }
        match value {
            None if open.len() < DEEPEST => open.push((indent, number, key, false)),
            None => found.strange.push((number, line)),
            Some("{}") => found.path(&open, number, key, None),
            Some(value) if opens_block(value) => {
                block = Some(indent);
                found.cut = Some(number);
                found.path(&open, number, key, None);
            }
            Some(value) => found.path(&open, number, key, Some(value)),
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut found);
    }
    found
}

fn close<'a>(open: &mut Vec<(usize, u32, &'a str, bool)>, found: &mut Read<'a>) {
    if let Some((_, line, key, said)) = open.pop()
        && !said
    {
        found.path(open, line, key, None);
    }
}

impl<'a> Read<'a> {
    fn path(
        &mut self,
        open: &[(usize, u32, &'a str, bool)],
        line: u32,
        key: &'a str,
        value: Option<&'a str>,
    ) {
        let mut words: Vec<&str> = open.iter().map(|(_, _, key, _)| *key).collect();
        words.push(key);
        words.extend(value);
        match words[..] {
            ["header", "version", version] => self.version = Some((line, version)),
            ["header", ..] => {}
            ["set", ref path @ ..] if !path.is_empty() => {
                let path = path.iter().map(|word| Cow::Borrowed(*word)).collect();
                self.paths.push((line, path));
            }
            _ => self.strange.push((line, key)),
        }
    }
}

/// `key: value`, `key:` or `'key': value`, without quotation marks.
fn entry(text: &str) -> Option<(&str, Option<&str>)> {
    let (key, rest) = match text.chars().next()? {
        quote @ ('\'' | '"') => {
            let end = text[1..].find(quote)? + 1;
            (&text[1..end], text[end + 1..].strip_prefix(':')?)
        }
        _ => {
            let end = text.find(": ").or_else(|| text.ends_with(':').then(|| text.len() - 1))?;
            (&text[..end], &text[end + 1..])
        }
    };
    let value = rest.trim().trim_matches(['\'', '"']);
    let plain = |text: &str| opens_block(text) || !text.starts_with(['[', '&', '*', '|', '>']);
    (!key.is_empty() && plain(value))
        .then_some((key, Some(value).filter(|value| !value.is_empty())))
}

/// Whether the value is a block of text that follows, such as a snippet for a file of the box: `|`, `>-`.
fn opens_block(value: &str) -> bool {
    let rest = value.strip_prefix(['|', '>']);
    rest.is_some_and(|rest| rest.chars().all(|c| matches!(c, '-' | '+') || c.is_ascii_digit()))
}

/// A tree of keys in the order of their names, as NVUE prints it.
#[derive(Debug, Default)]
struct Node(BTreeMap<String, Node>);

/// Commands as YAML. Comments come first: YAML keys have an order of their own.
pub(super) fn of_commands(commands: &str) -> String {
    let mut text = String::new();
    let mut root = Node::default();
    for line in commands.lines() {
        // Only a description has spaces, within quotation marks, and it is the last word.
        let (plain, quoted) = match line.split_once('\'') {
            Some((plain, quoted)) => (plain, Some(quoted.trim_end_matches('\''))),
            None => (line, None),
        };
        let words: Vec<&str> = plain.split_whitespace().chain(quoted).collect();
        match words[..] {
            ["nv", "set", ref path @ ..] => root.add(path),
            _ if line.starts_with("# RoCE") => text += &format!("{line}\n"),
            _ => {}
        }
    }
    text += "- set:\n";
    root.write(&mut text, 2, false);
    text
}

impl Node {
    /// A list of numbers is a key for each of them.
    fn add(&mut self, path: &[&str]) {
        let Some((first, rest)) = path.split_first() else { return };
        for key in first.split(',') {
            self.0.entry(key.to_owned()).or_default().add(rest);
        }
    }

    /// `keyed` says that the priorities below are keys of a set, as those of PFC are; elsewhere one
    /// word below a key is its value.
    fn write(&self, text: &mut String, depth: usize, keyed: bool) {
        for (key, below) in &self.0 {
            let quoted = match key.bytes().all(|byte| byte.is_ascii_digit()) {
                true => format!("'{key}'"),
                false => key.clone(),
            };
            let indent = "  ".repeat(depth);
            let single = below.0.iter().next().filter(|(_, leaf)| {
                below.0.len() == 1 && leaf.0.is_empty() && !(keyed && key == "switch-priority")
            });
            if let Some((value, _)) = single {
                let mark = if value.contains([' ', ':']) { "'" } else { "" };
                let _ = writeln!(text, "{indent}{quoted}: {mark}{value}{mark}");
            } else if below.0.is_empty() {
                let _ = writeln!(text, "{indent}{quoted}: {{}}");
            } else {
                let _ = writeln!(text, "{indent}{quoted}:");
                below.write(text, depth + 1, keyed || key == "pfc");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flat(text: &str) -> Vec<String> {
        read(text).paths.iter().map(|(_, words)| words.join(" ")).collect()
    }

    #[test]
    fn keys_are_words() {
        let text = "cumulus@leaf0:mgmt:~$ nv config show\n- header:\n    version: Cumulus Linux 5.9\n- set:\n    \
                    qos:\n      mapping:\n        ROCE:\n          dscp:\n            '26':\n              \
                    switch-priority: 3\n          trust: l3\n    interface:\n      swp1:\n        qos:\n          \
                    pfc-watchdog: {}\n        type: swp\n      swp2:\n";
        assert_eq!(
            flat(text),
            [
                "qos mapping ROCE dscp 26 switch-priority 3",
                "qos mapping ROCE trust l3",
                "interface swp1 qos pfc-watchdog",
                "interface swp1 type swp",
                "interface swp2"
            ]
        );
        let read = read(text);
        assert_eq!(read.version, Some((3, "Cumulus Linux 5.9")));
        assert_eq!(read.strange.len(), 1);
    }

    /// Snippets hold lines of other files, which are neither keys nor a cut.
    #[test]
    fn blocks_of_text_are_one_value() {
        let text = "- set:\n    system:\n      config:\n        snippet:\n          eni:\n            \
                    peer: |\n              clagd-args --peerTimeout 400\n\n              # interface:\n\
                    \x20   qos:\n      pfc: {}\n";
        let read = read(text);
        assert_eq!(flat(text), ["system config snippet eni peer", "qos pfc"]);
        assert_eq!((read.strange.len(), read.cut), (2, None));
        let end = text.find("    qos").expect("what follows");
        assert_eq!(super::read(&text[..end]).cut, None);
        assert_eq!(super::read(&text[..text.find("              clagd").unwrap()]).cut, Some(6));
    }

    #[test]
    fn commands_become_keys_and_words_again() {
        let yaml = of_commands(
            "# RoCE of x\nnv set a dscp 1,2 switch-priority 3\nnv set a pfc P switch-priority 3\n\
             nv set b c\nnv set b c d\n",
        );
        assert!(yaml.starts_with("# RoCE of x\n- set:\n    a:\n"), "{yaml}");
        assert_eq!(
            flat(&yaml),
            [
                "a dscp 1 switch-priority 3",
                "a dscp 2 switch-priority 3",
                "a pfc P switch-priority 3",
                "b c d"
            ]
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ a-c:'\"{}\\n#-]{0,200}") {
            let _ = read(&text);
        }
    }
}
