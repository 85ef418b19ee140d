//! Text that may come from anywhere, made safe for its place in the page.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Text for an element or a quoted attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars().map(visible) {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

/// A sentence for an element; what is in it between two backticks is set as code.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, (code, after))) =
        rest.split_once('`').and_then(|(before, rest)| Some((before, rest.split_once('`')?)))
    {
        out += &format!("{}<code>{}</code>", escape(before), escape(code));
        rest = after;
    }
    out + &escape(rest)
}

/// Text in which nothing but line ends and tabs controls anything: no terminal, no direction of
/// writing.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(visible).collect()
}

fn visible(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// Letters, digits and hyphens of a name, for ids and file names.
pub(super) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().take(80) {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
    }
    match out.trim_end_matches('-') {
        "" => "part".to_owned(),
        slug => slug.to_owned(),
    }
}

/// Ids that were given away.
#[derive(Debug, Default)]
pub(super) struct Ids(BTreeSet<String>);

impl Ids {
    /// A unique id that is this name as far as letters, digits, dots and hyphens go: what people
    /// write behind `#`.
    pub(super) fn exactly(&mut self, name: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let kept: String = name.chars().take(120).map(|c| if plain(c) { c } else { '-' }).collect();
        // An id begins with a letter, so that style sheets and scripts can name it.
        let first = if kept.starts_with(|c: char| c.is_ascii_alphabetic()) {
            kept
        } else {
            format!("c-{kept}")
        };
        self.unique(first)
    }

    /// A unique id made of this name.
    pub(super) fn take(&mut self, prefix: &str, name: &str) -> String {
        self.unique(format!("{prefix}-{}", slug(name)))
    }

    fn unique(&mut self, first: String) -> String {
        let mut id = first.clone();
        let mut number = 2u64;
        while !self.0.insert(id.clone()) {
            id = format!("{first}-{number}");
            number += 1;
        }
        id
    }
}

/// Text inside a `data:` address, as an attribute's value.
pub(super) fn data_address(mime: &str, text: &str) -> String {
    let mut out = format!("data:{mime};charset=utf-8,");
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => out.push(byte.into()),
            b',' | b'.' | b'-' | b'_' | b'/' | b':' | b';' | b'(' | b')' => out.push(byte.into()),
            // Writing to text cannot fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_gets_out_of_its_place(text in any::<String>()) {
            let safe = escape(&text);
            let forbidden = ['<', '>', '"', '\'', '\0', '\u{1b}', '\u{202e}'];
            prop_assert!(!safe.contains(forbidden));
            let set = prose(&text).replace("<code>", "").replace("</code>", "");
            prop_assert!(!set.contains(forbidden));
            prop_assert!(slug(&text).bytes().all(|b| b == b'-' || b.is_ascii_alphanumeric()));
            prop_assert!(!data_address("text/csv", &text).contains(['<', '>', '"', '\'', ' ', '#']));
        }
    }

    #[test]
    fn words_between_backticks_are_code() {
        assert_eq!(prose("set `a<b` and `c`."), "set <code>a&lt;b</code> and <code>c</code>.");
        assert_eq!(prose("one ` alone"), "one ` alone");
        assert_eq!(prose("`a` and `"), "<code>a</code> and `");
        assert_eq!(prose(""), "");
    }

    #[test]
    fn ids_are_given_once() {
        let mut ids = Ids::default();
        assert_eq!(ids.take("f", "Queue depth!"), "f-queue-depth");
        assert_eq!(ids.take("f", "queue-depth"), "f-queue-depth-2");
        assert_eq!(ids.take("f", "<>"), "f-part");
        assert_eq!(ids.exactly("synthetic.incast"), "synthetic.incast");
        assert_eq!(ids.exactly("synthetic.incast"), "synthetic.incast-2");
        assert_eq!(ids.exactly("f-queue-depth"), "f-queue-depth-3");
        assert_eq!(ids.exactly("\"><b 1"), "c----b-1");
    }
}
