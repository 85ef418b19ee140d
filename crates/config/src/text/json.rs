//! JSON with the lines that things stand on, as far as it can be read: what comes before the first
//! brace (a prompt, a command) and after the last is set aside, and a broken end does not lose the
//! beginning.

/// A value and its lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// A JSON value. Numbers stay text: what they mean depends on where they stand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<Node>),
    /// In the order of the file; a key may come twice.
    Table(Vec<(Key, Node)>),
}

/// A key and its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) line: u32,
}

impl Node {
    /// The entries of a table; none of anything else.
    pub(crate) fn entries(&self) -> &[(Key, Node)] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The last entry of that key.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().rev().find(|(k, _)| k.text == key).map(|(_, node)| node)
    }

    /// Text, or a number or word as text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// What came of reading.
#[derive(Debug, Clone)]
pub(crate) struct Read {
    /// The outermost value, as far as it could be read.
    pub(crate) root: Option<Node>,
    /// The line at which reading stopped early.
    pub(crate) broken: Option<u32>,
    /// Whether it stopped because the text ends there.
    pub(crate) cut: bool,
    /// Lines around the value that are not empty.
    pub(crate) around: Vec<u32>,
}

const DEEPEST: usize = 48;

/// Reads the first object of a text.
pub(crate) fn read(text: &str) -> Read {
    // A text that is cut off behind a line's end stops at that line, not at one after it.
    let text = text.trim_end();
    let Some(start) = text.find('{') else {
        return Read { root: None, broken: None, cut: false, around: lines_of(text, 1) };
    };
    let before = &text[..start];
    let line = 1 + before.matches('\n').count() as u32;
    let mut reader = Reader { bytes: text.as_bytes(), at: start, line, broken: None, cut: false };
    let root = reader.value(0);
    let mut around = lines_of(before, 1);
    around.extend(lines_of(text.get(reader.at..).unwrap_or(""), reader.line));
    if let Some(broken) = reader.broken {
        around.retain(|line| *line < broken);
    }
    Read { root, broken: reader.broken, cut: reader.cut, around }
}

fn lines_of(text: &str, first: u32) -> Vec<u32> {
    let numbered = text.lines().zip(first..);
    numbered.filter(|(line, _)| !line.trim().is_empty()).map(|(_, number)| number).collect()
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    broken: Option<u32>,
    cut: bool,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' => {}
                other => return Some(*other),
            }
            self.at += 1;
        }
        None
    }

    fn fail<T>(&mut self) -> Option<T> {
        if self.broken.is_none() {
            self.broken = Some(self.line);
            self.cut = self.at >= self.bytes.len();
        }
        None
    }

    fn value(&mut self, depth: usize) -> Option<Node> {
        if depth > DEEPEST {
            return self.fail();
        }
        let next = self.peek();
        let first = self.line;
        let value = match next {
            Some(b'{') => self.table(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Value::Text(self.string()?),
            Some(_) => Value::Text(self.word()?),
            None => return self.fail(),
        };
        Some(Node { value, first, last: self.line })
    }

    fn table(&mut self, depth: usize) -> Value {
        let mut entries = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                Some(b'"') => {
                    let line = self.line;
                    let Some(text) = self.string() else { break };
                    if self.peek() != Some(b':') {
                        self.fail::<()>();
                        break;
                    }
                    self.at += 1;
                    let Some(node) = self.value(depth + 1) else { break };
                    entries.push((Key { text, line }, node));
                }
                _ => {
                    self.fail::<()>();
                    break;
                }
            }
            if self.broken.is_some() {
                break;
            }
        }
        Value::Table(entries)
    }

    fn list(&mut self, depth: usize) -> Value {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => self.at += 1,
                _ => match self.value(depth + 1) {
                    Some(node) => items.push(node),
                    None => break,
                },
            }
            if self.broken.is_some() {
                break;
            }
        }
        Value::List(items)
    }

    fn string(&mut self) -> Option<String> {
        self.at += 1;
        let mut text: Vec<u8> = Vec::new();
        loop {
            let Some(&byte) = self.bytes.get(self.at) else { return self.fail() };
            self.at += 1;
            match byte {
                b'"' => return Some(String::from_utf8_lossy(&text).into_owned()),
                // A string never spans lines: its end was lost.
                b'\n' => return self.fail(),
                b'\\' => {
                    let Some(&escaped) = self.bytes.get(self.at) else { return self.fail() };
                    self.at += 1;
                    match escaped {
                        b'n' => text.push(b'\n'),
                        b't' => text.push(b'\t'),
                        b'u' => text.extend(self.code_point().to_string().bytes()),
                        other => text.push(other),
                    }
                }
                other => text.push(other),
            }
        }
    }

    /// The character of four hexadecimal digits; what cannot be one is shown as such.
    fn code_point(&mut self) -> char {
        let digits = self.bytes.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code {
            Some(code) => {
                self.at += 4;
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            None => char::REPLACEMENT_CHARACTER,
        }
    }

    fn word(&mut self) -> Option<String> {
        let rest = &self.bytes[self.at..];
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-._".contains(byte);
        let length = rest.iter().take_while(|byte| plain(byte)).count();
        if length == 0 {
            return self.fail();
        }
        self.at += length;
        Some(String::from_utf8_lossy(&rest[..length]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_is_cut_off_stops_at_its_last_line() {
        for text in ["{\n\"a\": {\n", "{\n\"a\": {\r\n  \n", "{\n\"a\": {"] {
            assert_eq!(read(text).broken, Some(2), "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_text_is_told_from_a_mistake_in_it() {
        let whole = "{\"a\": {\"b\": \"12\", \"c\": [1, true]}}";
        for end in 1..whole.len() {
            let read = read(&whole[..end]);
            assert!(read.broken.is_some() && read.cut, "{}", &whole[..end]);
        }
        assert!(read(whole).broken.is_none());
        for wrong in ["{\"a\" 1}", "{\"a\": }", "{\"a\": \"b\n\"}", "{a: 1}"] {
            let read = read(wrong);
            assert!(read.broken.is_some() && !read.cut, "{wrong}");
        }
    }

    #[test]
    fn values_know_their_lines() {
        let read = read(
            "admin@leaf0:~$ cat x\n{\n \"A\": {\n  \"b\": \"1\",\n  \"c\": [2, true]\n }\n}\n$",
        );
        let root = read.root.unwrap();
        let a = root.get("A").unwrap();
        assert_eq!((a.first, a.last), (3, 6));
        assert_eq!(a.get("b").unwrap().text(), Some("1"));
        assert_eq!(a.get("c").unwrap().first, 5);
        assert_eq!(read.around, [1, 8]);
        assert_eq!(read.broken, None);
    }

    #[test]
    fn a_broken_end_keeps_the_beginning() {
        let read = read("{\"A\": {\"b\": \"1\"},\n\"C\": {\"d\": \"2\", \"e");
        assert_eq!(read.broken, Some(2));
        let root = read.root.unwrap();
        assert_eq!(root.get("A").unwrap().get("b").unwrap().text(), Some("1"));
        assert_eq!(root.get("C").unwrap().get("d").unwrap().text(), Some("2"));
    }

    #[test]
    fn escapes_and_depth() {
        assert_eq!(
            read(r#"{"a":"\u00e9\"\\"}"#).root.unwrap().get("a").unwrap().text(),
            Some("é\"\\")
        );
        assert!(read(&"{\"a\":".repeat(10_000)).broken.is_some());
        assert!(read(&format!("{{\"a\":{}", "[".repeat(100_000))).broken.is_some());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[{}\\[\\]\",:a\\\\un0-9 \\né]{0,200}") {
            let _ = read(&text);
        }
    }
}
