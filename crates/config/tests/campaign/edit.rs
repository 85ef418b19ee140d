//! Mistakes as edits of text. An edit that changes nothing is a defect of the campaign and panics.

/// What an edit changes.
pub(crate) enum Edit {
    /// The configuration of a switch, as its template wrote it.
    Switch(Box<dyn Fn(&str) -> String>),
    /// The configuration of a switch, as it was collected.
    Collected(Box<dyn Fn(&str) -> String>),
    /// The file of these names that there is.
    File(Vec<String>, Box<dyn Fn(&str) -> String>),
}

/// A mistake in an otherwise clean fabric.
pub(crate) struct Mistake {
    pub(crate) name: String,
    pub(crate) device: String,
    /// The names of its port, if it is about one.
    pub(crate) ports: Vec<String>,
    /// Rules that would be a right answer.
    pub(crate) rules: Vec<&'static str>,
    /// Whether it can be known from the fabric file only.
    pub(crate) planned_only: bool,
    pub(crate) edit: Edit,
}

impl Mistake {
    /// A mistake of a whole switch.
    pub(crate) fn device(
        name: &str,
        device: &str,
        rules: &[&'static str],
        edit: impl Fn(&str) -> String + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            device: device.to_owned(),
            ports: Vec::new(),
            rules: rules.to_vec(),
            planned_only: false,
            edit: Edit::Switch(Box::new(edit)),
        }
    }

    /// A mistake of one port of a switch.
    pub(crate) fn port(
        name: &str,
        at: (&str, &str),
        rules: &[&'static str],
        edit: impl Fn(&str) -> String + 'static,
    ) -> Self {
        Self { ports: vec![at.1.to_owned()], ..Self::device(name, at.0, rules, edit) }
    }

    /// A configuration of which the end is missing.
    pub(crate) fn truncated(device: &str) -> Self {
        let rules = ["truncated", "nothing-checked", "qos-not-applied", "not-seen"];
        let cut = |text: &str| text[..text.len() * 3 / 5].to_owned();
        let whole = Self::device("configuration truncated", device, &rules, cut);
        Self { edit: Edit::Collected(Box::new(cut)), ..whole }
    }
}

/// Replaces text everywhere.
pub(crate) fn swap(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in\n{text}");
    text.replace(from, to)
}

/// Removes the lines that begin with this, apart from blanks.
pub(crate) fn without(text: &str, start: &str) -> String {
    let kept: Vec<&str> = text.lines().filter(|l| !l.trim_start().starts_with(start)).collect();
    assert!(kept.len() < text.lines().count(), "no line begins with `{start}` in\n{text}");
    lines(&kept)
}

fn lines(kept: &[&str]) -> String {
    kept.iter().fold(String::new(), |all, line| all + line + "\n")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Changes the indented block below a line, in every place where that line stands.
pub(crate) fn block(text: &str, head: &str, change: impl Fn(&str) -> String) -> String {
    let all: Vec<&str> = text.lines().collect();
    let mut done = String::new();
    let mut next = 0;
    let mut found = false;
    while next < all.len() {
        let line = all[next];
        done += line;
        done.push('\n');
        next += 1;
        if line.trim() != head {
            continue;
        }
        let depth = indent(line);
        let inside = |line: &&&str| line.trim().is_empty() || indent(line) > depth;
        let body: Vec<&str> = all[next..].iter().take_while(inside).copied().collect();
        next += body.len();
        // The same words may be a reference to the block elsewhere.
        if !body.is_empty() {
            done += &change(&lines(&body));
            found = true;
        }
    }
    assert!(found, "no block `{head}` in\n{text}");
    done
}

/// Removes a line and the indented block below it.
pub(crate) fn without_block(text: &str, head: &str) -> String {
    let marked = block(text, head, |_| String::new());
    let kept: Vec<&str> = marked.lines().filter(|line| line.trim() != head).collect();
    lines(&kept)
}
