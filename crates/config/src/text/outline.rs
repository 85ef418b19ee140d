//! Statements and what is indented below them, as EOS, NX-OS and OS10 print them. Whatever people collect
//! along with a configuration (prompts, banners, comments) is recognised and not read as statements.

use std::collections::{BTreeMap, BTreeSet};

/// A statement and those that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// Line number, from 1.
    pub(crate) line: u32,
    /// The statement without indentation.
    pub(crate) text: &'a str,
    /// What is indented below it.
    pub(crate) children: Vec<Statement<'a>>,
}

impl<'a> Statement<'a> {
    /// Its words.
    pub(crate) fn words(&self) -> Vec<&'a str> {
        self.text.split_whitespace().collect()
    }

    /// Its words, without what takes it back.
    pub(crate) fn form(&self) -> (Form, Vec<&'a str>) {
        let mut words = self.words();
        let form = match words.first() {
            Some(&"no") => Form::No,
            Some(&"default") => Form::Default,
            _ => return (Form::Plain, words),
        };
        words.remove(0);
        (form, words)
    }

    /// The last line that belongs to it.
    pub(crate) fn last_line(&self) -> u32 {
        self.children.last().map_or(self.line, Statement::last_line)
    }
}

/// Whether a statement says something or takes it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// It says it.
    Plain,
    /// `no`: it is off, or said no longer.
    No,
    /// `default`: it is said no longer.
    Default,
}

/// A text taken apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline<'a> {
    /// Top-level statements.
    pub(crate) statements: Vec<Statement<'a>>,
    /// Comments, without their mark.
    pub(crate) comments: Vec<(u32, &'a str)>,
    /// Host names that prompts show.
    pub(crate) prompts: Vec<(u32, &'a str)>,
}

/// Deeper than any system nests; deeper lines stay at this depth, so that no text exhausts the
/// stack.
const DEEPEST: usize = 12;

/// Takes a text apart.
pub(crate) fn outline(text: &str) -> Outline<'_> {
    let mut found = Outline::default();
    // Indentation and statement of every level that is open.
    let mut open: Vec<(usize, Statement<'_>)> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    let mut index = 0;
    while index < lines.len() {
        let number = index as u32 + 1;
        let raw = lines[index].trim_end();
        let line = raw.trim_start();
        let indent = raw.len() - line.len();
        index += 1;
        if line.is_empty() {
            continue;
        }
        if let Some(comment) = line.strip_prefix(['!', '#']) {
            found.comments.push((number, comment.trim()));
            continue;
        }
        if let Some(host) = prompt(line) {
            found.prompts.push((number, host));
            continue;
        }
        if let Some(last) = banner_end(&lines, index - 1) {
            index = last + 1;
        }
        while open.last().is_some_and(|(at, _)| *at >= indent || open.len() >= DEEPEST) {
            close(&mut open, &mut found.statements);
        }
        open.push((indent, Statement { line: number, text: line, children: Vec::new() }));
    }
    while !open.is_empty() {
        close(&mut open, &mut found.statements);
    }
    withdraw(&mut found.statements);
    found
}

/// `no` before a statement takes away the same statement above it, at the top and at ports: what is
/// entered later counts. A device prints neither; a log of what was entered has both.
fn withdraw(statements: &mut Vec<Statement<'_>>) {
    // Where statements stand: the port, and number of the block and in it; at the top, no number.
    type Places = Vec<(usize, Option<usize>)>;
    let mut entered: BTreeMap<(&str, &str), Places> = BTreeMap::new();
    let mut gone: BTreeSet<(usize, Option<usize>)> = BTreeSet::new();
    for (block, statement) in statements.iter().enumerate() {
        let at_port = statement.text.starts_with("interface ");
        let own = statement.children.iter().enumerate().filter(|_| at_port);
        let own = own.map(|(at, child)| (statement.text, child.text, Some(at)));
        for (port, text, at) in own.chain([("", statement.text, None)]) {
            let taken = text.strip_prefix("no ").and_then(|what| entered.remove(&(port, what)));
            match taken {
                Some(places) => gone.extend(places.into_iter().chain([(block, at)])),
                None => entered.entry((port, text)).or_default().push((block, at)),
            }
        }
    }
    if gone.is_empty() {
        return;
    }
    for (block, statement) in statements.iter_mut().enumerate() {
        let mut numbers = 0..;
        statement.children.retain(|_| !gone.contains(&(block, numbers.next())));
    }
    let mut numbers = 0..;
    statements.retain(|_| !gone.contains(&(numbers.next().unwrap_or_default(), None)));
}

/// Maps and policies that are opened again are changed, not made anew: what stands there is entered into what is there, class by
/// class. A device prints each once; a log of what was entered, and a fix behind a configuration, has them again.
pub(crate) fn join(statements: &mut Vec<Statement<'_>>, kinds: &[&str]) {
    let joined = |statement: &Statement<'_>| kinds.iter().any(|k| statement.text.starts_with(k));
    join_where(statements, &joined);
    for statement in statements.iter_mut().filter(|statement| joined(statement)) {
        join_where(&mut statement.children, &|class| !class.children.is_empty());
    }
}

fn join_where<'a>(statements: &mut Vec<Statement<'a>>, wanted: &dyn Fn(&Statement<'a>) -> bool) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kept: Vec<Statement<'a>> = Vec::with_capacity(statements.len());
    for statement in statements.drain(..) {
        match first.get(statement.text).copied().filter(|_| wanted(&statement)) {
            Some(at) => kept[at].children.extend(statement.children),
            None => {
                first.entry(statement.text).or_insert(kept.len());
                kept.push(statement);
            }
        }
    }
    *statements = kept;
}

fn close<'a>(open: &mut Vec<(usize, Statement<'a>)>, top: &mut Vec<Statement<'a>>) {
    let Some((_, done)) = open.pop() else { return };
    match open.last_mut() {
        Some((_, parent)) => parent.children.push(done),
        None => top.push(done),
    }
}

/// The host name of a line like `leaf0(config)#show running-config`.
fn prompt(line: &str) -> Option<&str> {
    let end = line.find(['#', '>'])?;
    let (name, rest) = (&line[..end], &line[end + 1..]);
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    let named =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@:~".contains(c));
    let command = rest.trim_start();
    let known = ["sh", "show", "term", "terminal", "more", "cat", "exit", "end", "conf", "copy"];
    let first = command.split_whitespace().next().unwrap_or("");
    let host = name.rsplit_once('@').map_or(name, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    (named && (command.is_empty() || known.contains(&first))).then_some(host)
}

/// The last line of the banner that starts at `index`, if one does. A banner without an end is one
/// line long: better to read some of its text as statements than to lose the rest of the file.
fn banner_end(lines: &[&str], index: usize) -> Option<usize> {
    let mut words = lines[index].split_whitespace();
    if words.next() != Some("banner") {
        return None;
    }
    let _kind = words.next();
    let rest = words.next();
    let after = lines.iter().enumerate().skip(index + 1);
    let end = match rest {
        None => after.clone().find(|(_, line)| line.trim() == "EOF"),
        Some(text) => {
            let mark = if text.starts_with("^C") { "^C" } else { text.get(..1)? };
            if text.matches(mark).count() > 1 {
                return None;
            }
            after.clone().find(|(_, line)| line.contains(mark))
        }
    };
    end.map(|(last, _)| last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_back_is_gone() {
        let text = "interface e1\n mtu 9000\n no shutdown\n qos x\ninterface e2\n qos x\nfeature a\n b\n\
                    interface e1\n no qos x\n no qos y\nno feature a\nno feature z\n";
        let found = outline(text).statements;
        let all = found.iter().flat_map(|s| [s].into_iter().chain(&s.children));
        let all: Vec<&str> = all.map(|statement| statement.text).collect();
        assert_eq!(
            all,
            [
                "interface e1",
                "mtu 9000",
                "no shutdown",
                "interface e2",
                "qos x",
                "interface e1",
                "no qos y",
                "no feature z"
            ]
        );
    }

    #[test]
    fn what_is_opened_again_is_changed() {
        let text = "policy-map a\n class x\n  weight 1\n class y\n  strict\nrouter b\n z\npolicy-map a\n class x\n  \
                    weight 2\nrouter b\n z\n";
        let mut found = outline(text).statements;
        join(&mut found, &["policy-map "]);
        let shape: Vec<(&str, usize)> = found.iter().map(|s| (s.text, s.children.len())).collect();
        assert_eq!(shape, [("policy-map a", 2), ("router b", 1), ("router b", 1)]);
        let x: Vec<&str> = found[0].children[0].children.iter().map(|line| line.text).collect();
        assert_eq!(x, ["weight 1", "weight 2"]);
    }
    use proptest::prelude::*;

    #[test]
    fn indentation_makes_children() {
        let found = outline("a\n  b\n    c\n  d\ne\n");
        assert_eq!(found.statements.len(), 2);
        let a = &found.statements[0];
        assert_eq!((a.text, a.children.len(), a.last_line()), ("a", 2, 4));
        assert_eq!(a.children[0].children[0].text, "c");
    }

    #[test]
    fn prompts_comments_and_banners_are_told_apart() {
        let text = "leaf0#show running-config\n! device: leaf0 (X, EOS-4.30)\nbanner motd\n\
                    qos trust cos\nEOF\nbanner exec ^C\nhello\n^C\nhostname leaf0\nleaf0(config)#\n";
        let found = outline(text);
        assert_eq!(found.prompts, [(1, "leaf0"), (10, "leaf0")]);
        assert_eq!(found.comments, [(2, "device: leaf0 (X, EOS-4.30)")]);
        let texts: Vec<&str> = found.statements.iter().map(|s| s.text).collect();
        assert_eq!(texts, ["banner motd", "banner exec ^C", "hostname leaf0"]);
    }

    #[test]
    fn a_banner_without_an_end_does_not_swallow_the_file() {
        let found = outline("banner motd\nhello\nhostname x\n");
        assert_eq!(found.statements.len(), 3);
    }

    #[test]
    fn depth_is_bounded() {
        let deep: String = (0..5000).map(|i| format!("{}x\n", " ".repeat(i))).collect();
        assert_eq!(outline(&deep).statements.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ a-c#>!^\\nbanerEOFé(]{0,200}") {
            let _ = outline(&text);
        }
    }
}
