//! Statements in a hierarchy, as Junos and PicOS print them: `set` commands, or braces. Either way a
//! statement is a path of words from the top; both forms may be mixed in one text.

use std::collections::BTreeSet;
use std::fmt::Write;

/// A statement: all words from the top of the hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path<'a> {
    /// Line number, from 1.
    pub(crate) line: u32,
    /// Its words, without quotation marks and list brackets.
    pub(crate) words: Vec<&'a str>,
}

/// A text taken apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Paths<'a> {
    pub(crate) statements: Vec<Path<'a>>,
    /// Lines that are no statements: prompts, banners, ends that were cut off.
    pub(crate) strange: Vec<u32>,
    /// Statements that are there and switched off.
    pub(crate) inactive: Vec<u32>,
    /// What is switched off, with all below it.
    pub(crate) off: BTreeSet<Vec<&'a str>>,
    /// Host names that prompts show.
    pub(crate) prompts: Vec<&'a str>,
    /// The last line, where the text ends within braces, a statement or a comment.
    pub(crate) cut: Option<u32>,
}

/// Words of the levels around a statement, and of a statement itself: more than any system has, so
/// that memory stays in proportion to the text.
const MOST_AROUND: usize = 32;
const MOST_WORDS: usize = 256;

/// Statements that take away others: each looks at all of them.
const MOST_DELETIONS: usize = 256;

/// Takes a text apart.
pub(crate) fn read(text: &str) -> Paths<'_> {
    let mut reader = Reader::default();
    for (line, number) in text.lines().zip(1u32..) {
        reader.line(line, number);
    }
    if let Some((line, _)) = reader.pending.first() {
        reader.found.strange.push(*line);
    }
    if !reader.pending.is_empty() || !reader.levels.is_empty() || reader.comment {
        reader.found.cut = Some(text.trim_end().lines().count().max(1) as u32);
    }
    let Paths { statements, inactive, off, .. } = &mut reader.found;
    // Whatever came last: what is entered below a path that is off stays off.
    let longest = off.iter().map(Vec::len).max().unwrap_or(0);
    statements.retain(|path| {
        let most = longest.min(path.words.len());
        let kept = !(1..=most).any(|length| off.contains(&path.words[..length]));
        if !kept {
            inactive.push(path.line);
        }
        kept
    });
    reader.found
}

#[derive(Default)]
struct Reader<'a> {
    found: Paths<'a>,
    /// Words of the statement that is being read, with their lines.
    pending: Vec<(u32, &'a str)>,
    /// Levels that are open: how many words each added.
    levels: Vec<usize>,
    around: Vec<&'a str>,
    comment: bool,
    /// How many paths were taken away.
    deletions: usize,
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str, number: u32) {
        let trimmed = line.trim();
        let fresh = self.levels.is_empty() && self.pending.is_empty() && !self.comment;
        if fresh && self.command(trimmed, number) {
            return;
        }
        if fresh && !trimmed.is_empty() && !looks_like_braces(trimmed) {
            self.found.prompts.extend(prompt(trimmed));
            self.found.strange.push(number);
            return;
        }
        self.braces(line, number);
    }

    /// `set …`, `delete …`, `deactivate …` and `activate …`, which take a line; the prompt before them may be there still.
    fn command(&mut self, line: &'a str, number: u32) -> bool {
        let command = match line.find("# set ") {
            Some(at) if prompt(&line[..at + 1]).is_some() => {
                self.found.prompts.extend(prompt(&line[..at + 1]));
                &line[at + 2..]
            }
            _ => line,
        };
        if let Some(rest) = command.strip_prefix("set ") {
            let words = words(rest);
            if words.is_empty() || words.len() > MOST_WORDS {
                self.found.strange.push(number);
            } else {
                self.found.statements.push(Path { line: number, words });
            }
            return true;
        }
        if let Some(rest) = command.strip_prefix("deactivate ") {
            match words(rest) {
                words if words.is_empty() => self.found.strange.push(number),
                words => drop(self.found.off.insert(words)),
            }
            return true;
        }
        if let Some(rest) = command.strip_prefix("activate ") {
            if !self.found.off.remove(&words(rest)) {
                self.found.strange.push(number);
            }
            return true;
        }
        if let Some(rest) = command.strip_prefix("delete ") {
            self.delete(&words(rest), number);
            return true;
        }
        false
    }

    /// Takes away what was said so far below a path.
    fn delete(&mut self, path: &[&str], number: u32) {
        self.deletions += 1;
        if path.is_empty() || self.deletions > MOST_DELETIONS {
            return self.found.strange.push(number);
        }
        self.found.statements.retain(|statement| !statement.words.starts_with(path));
        self.found.off.retain(|off| !off.starts_with(path));
    }

    fn braces(&mut self, line: &'a str, number: u32) {
        let mut rest = line;
        loop {
            if self.comment {
                let Some(end) = rest.find("*/") else { return };
                self.comment = false;
                rest = &rest[end + 2..];
            }
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else { return };
            match first {
                '#' => return,
                '/' if rest.starts_with("/*") => {
                    self.comment = true;
                    rest = &rest[2..];
                    continue;
                }
                '{' => self.open(number),
                '}' => self.close(number),
                ';' => self.end(number),
                '[' | ']' => {}
                _ => {
                    let (word, after) = word(rest);
                    if self.pending.len() < MOST_WORDS {
                        self.pending.push((number, word));
                    }
                    rest = after;
                    continue;
                }
            }
            rest = &rest[first.len_utf8()..];
        }
    }

    fn open(&mut self, number: u32) {
        let mut words: Vec<&'a str> = self.pending.drain(..).map(|(_, word)| word).collect();
        let tag = words.first().copied().filter(|word| TAGS.contains(word));
        words.retain(|word| !TAGS.contains(word));
        if self.around.len() + words.len() > MOST_AROUND || (words.is_empty() && tag.is_some()) {
            self.found.strange.push(number);
            words.clear();
        }
        self.levels.push(words.len());
        let named = !words.is_empty();
        self.around.append(&mut words);
        if let Some(tag) = tag.filter(|_| named) {
            self.switch(tag, self.around.clone());
        }
    }

    /// Switches a path off, or on again.
    fn switch(&mut self, tag: &str, path: Vec<&'a str>) {
        match tag {
            "inactive:" => drop(self.found.off.insert(path)),
            "active:" => drop(self.found.off.remove(&path)),
            _ => {}
        }
    }

    fn close(&mut self, number: u32) {
        if !self.pending.is_empty() {
            self.end(number);
        }
        match self.levels.pop() {
            Some(words) => self.around.truncate(self.around.len() - words),
            None => self.found.strange.push(number),
        }
    }

    fn end(&mut self, number: u32) {
        let Some((line, first)) = self.pending.first().copied() else {
            return self.found.strange.push(number);
        };
        let own = self.pending.drain(..).map(|(_, word)| word).filter(|word| !TAGS.contains(word));
        let words: Vec<&'a str> = self.around.iter().copied().chain(own).collect();
        if first == "delete:" {
            self.delete(&words, line);
        } else if words.is_empty() {
            self.found.strange.push(line);
        } else {
            if TAGS.contains(&first) {
                self.switch(first, words.clone());
            }
            self.found.statements.push(Path { line, words });
        }
    }
}

/// Words that say something about a statement and are not of it.
const TAGS: [&str; 5] = ["inactive:", "protect:", "replace:", "active:", "delete:"];

/// Whether a statement begins with such a word.
pub(crate) fn is_tagged(statement: &str) -> bool {
    TAGS.iter().any(|tag| statement.starts_with(tag))
}

/// Whether a line can be part of braces: it ends as statements do, or is a comment.
fn looks_like_braces(line: &str) -> bool {
    let bare = line.split("/*").next().unwrap_or(line).split(" #").next().unwrap_or(line).trim();
    let noise = bare.starts_with("{master") || bare.starts_with("{backup");
    !noise && (bare.is_empty() || bare.starts_with('#') || bare.ends_with(['{', '}', ';']))
}

/// The host name of a line like `admin@leaf0> show configuration`.
fn prompt(line: &str) -> Option<&str> {
    let first = line.split_whitespace().next()?;
    let (_, host) = first.split_once('@')?;
    let end = host.find(['>', '#', ':', '%'])?;
    (end > 0).then(|| &host[..end])
}

/// One word, or one text in quotation marks, and what comes after.
fn word(text: &str) -> (&str, &str) {
    if let Some(quoted) = text.strip_prefix('"') {
        return match quoted.find('"') {
            Some(end) => (&quoted[..end], &quoted[end + 1..]),
            None => (quoted, ""),
        };
    }
    let end = text.find(|c: char| c.is_whitespace() || "{};[]".contains(c)).unwrap_or(text.len());
    text.split_at(end.max(1).min(text.len()))
}

/// The words of a command or a statement: lists lose their brackets.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && found.len() <= MOST_WORDS {
        if let Some(after) = rest.strip_prefix(['[', ']', '{', '}', ';']) {
            rest = after.trim_start();
            continue;
        }
        let (next, after) = word(rest);
        found.push(next);
        rest = after.trim_start();
    }
    found
}

/// Statements to write, in either form.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    entries: Vec<Entry>,
}

#[derive(Debug)]
enum Entry {
    Comment(String),
    /// The levels from the top, each with its words.
    Statement(Vec<String>),
}

impl Tree {
    /// A comment before what comes next.
    pub(crate) fn comment(&mut self, text: impl Into<String>) {
        self.entries.push(Entry::Comment(text.into()));
    }

    /// A statement below levels.
    pub(crate) fn add(&mut self, levels: &[&str]) {
        self.entries.push(Entry::Statement(levels.iter().map(|l| (*l).to_owned()).collect()));
    }

    /// As `set` commands.
    pub(crate) fn as_commands(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let _ = match entry {
                Entry::Comment(comment) => writeln!(text, "# {comment}"),
                Entry::Statement(levels) => writeln!(text, "set {}", levels.join(" ")),
            };
        }
        text
    }

    /// With braces. Neighbours share the levels they have in common.
    pub(crate) fn as_braces(&self) -> String {
        let mut text = String::new();
        let mut open: Vec<&str> = Vec::new();
        let indent = |depth: usize| "    ".repeat(depth);
        for entry in &self.entries {
            let Entry::Statement(levels) = entry else {
                if let Entry::Comment(comment) = entry {
                    close_to(&mut text, &mut open, 0);
                    let _ = writeln!(text, "/* {comment} */");
                }
                continue;
            };
            let Some((leaf, above)) = levels.split_last() else { continue };
            let common = open.iter().zip(above).take_while(|(a, b)| *a == b).count();
            close_to(&mut text, &mut open, common);
            for level in &above[common..] {
                let _ = writeln!(text, "{}{level} {{", indent(open.len()));
                open.push(level);
            }
            let _ = writeln!(text, "{}{leaf};", indent(open.len()));
        }
        close_to(&mut text, &mut open, 0);
        text
    }
}

fn close_to(text: &mut String, open: &mut Vec<&str>, depth: usize) {
    while open.len() > depth {
        open.pop();
        let _ = writeln!(text, "{}}}", "    ".repeat(open.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deleted_is_gone() {
        let text = "set a b 1\nset a b 2\nset a c\ndelete a b\nset a b 3\nx {\n    y 1;\n    z 2;\n}\n\
                    x {\n    delete: y;\n}\n";
        let found = read(text);
        let all: Vec<String> = found.statements.iter().map(|path| path.words.join(" ")).collect();
        assert_eq!(all, ["a c", "a b 3", "x z 2"]);
        assert!(found.strange.is_empty());
    }
    use proptest::prelude::*;

    fn flat(text: &str) -> Vec<String> {
        read(text).statements.iter().map(|path| path.words.join(" ")).collect()
    }

    #[test]
    fn both_forms_say_the_same() {
        let mut tree = Tree::default();
        tree.comment("why");
        tree.add(&["a", "b one", "c [ 1 2 ]"]);
        tree.add(&["a", "b one", "d"]);
        tree.add(&["a", "e \"x y\""]);
        let wanted = ["a b one c 1 2", "a b one d", "a e x y"];
        assert_eq!(flat(&tree.as_commands()), wanted);
        assert_eq!(flat(&tree.as_braces()), wanted);
        assert_eq!(
            tree.as_braces(),
            "/* why */\na {\n    b one {\n        c [ 1 2 ];\n        d;\n    }\n    e \"x y\";\n}\n"
        );
    }

    #[test]
    fn what_people_collect_along_with_it() {
        let text = "admin@leaf0> show configuration\n\n{master:0}\n## Last commit: today\n\
                    version 24.4R1;\nsystem { host-name leaf0; } /* a\n b */\ninactive: x { y; }\n\
                    a {\n  inactive: b;\n  c\n   d;\n}\n}\nbroken end {\n  e";
        let read = read(text);
        assert_eq!(flat(text), ["version 24.4R1", "system host-name leaf0", "a c d"]);
        assert_eq!(read.prompts, ["leaf0"]);
        assert_eq!(read.strange, [1, 3, 14, 16]);
        assert_eq!(read.inactive, [8, 10]);
        assert_eq!(read.cut, Some(16));
    }

    #[test]
    fn braces_that_do_not_close_are_the_end_of_a_text() {
        for whole in ["a { b; }\n", "set a b\n", "a { b; } }\n", "/* c */\n\n"] {
            assert_eq!(read(whole).cut, None, "{whole}");
        }
        for (part, line) in [("a {\n b;\n", 2), ("a {\n b", 2), ("a { b; }\n/* c", 2)] {
            assert_eq!(read(part).cut, Some(line), "{part}");
        }
    }

    #[test]
    fn commands_can_be_switched_off() {
        let text = "set a b c\nset a b d\nset x\ndeactivate a b\n[edit]\nadmin@l0# set z\n";
        assert_eq!(flat(text), ["x", "z"]);
        assert_eq!(read(text).inactive, [1, 2]);
        assert_eq!(read(text).prompts, ["l0"]);
        let again = format!("{text}activate a b\n");
        assert_eq!(flat(&again), ["a b c", "a b d", "x", "z"]);
        // What is on cannot be switched on.
        assert_eq!(read(&format!("{again}activate a b\n")).strange.last(), Some(&8));
    }

    #[test]
    fn what_is_inactive_stays_so_until_it_is_made_active() {
        let text = "a {\n    inactive: b 1;\n    inactive: c {\n        d;\n    }\n    e;\n}\n";
        assert_eq!(flat(text), ["a e"]);
        let merged = |more: &str| flat(&format!("{text}{more}"));
        assert_eq!(merged("a {\n    b 1;\n    c {\n        d;\n        f;\n    }\n}\n"), ["a e"]);
        let active = merged("a {\n    active: b 1;\n    active: c {\n        f;\n    }\n}\n");
        assert_eq!(active, ["a b 1", "a c d", "a e", "a b 1", "a c f"]);
        assert_eq!(merged("a {\n    inactive: e;\n}\n"), [""; 0]);
        // What was deleted is entered anew, and is active.
        assert_eq!(
            merged("a {\n    delete: c;\n    c {\n        f;\n    }\n}\n"),
            ["a e", "a c f"]
        );
    }

    #[test]
    fn memory_is_bounded() {
        let deep = format!("{}{}", "a {\n".repeat(1000), "b;\n".repeat(1000));
        let most = read(&deep).statements.iter().map(|path| path.words.len()).max();
        assert!(most <= Some(MOST_AROUND + 1));
        assert!(read(&format!("set {}", "x ".repeat(1000))).statements.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ a-c{};#\\[\\]/*\"\\nsetdactivé@>]{0,200}") {
            let _ = read(&text);
        }
    }
}
