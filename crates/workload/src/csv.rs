//! Tables of text: comma-separated values with a header, read line by line.
//!
//! Fields may be quoted (`"a,b"`, with `""` for a quote inside); a line break inside a field is not
//! supported. Empty lines and lines that start with `#` are skipped.
//!
//! By hand and not by the `csv` crate, for two reasons: a quote that is not closed spoils its own line here and the
//! rest of the file there, and lines are bounded here, so that a file without line breaks is refused and not read
//! into memory.

use std::io::{self, BufRead, Read};

/// Longest line taken.
const MOST_BYTES: u64 = 1 << 16;

/// Reads a table whose columns are known by name.
pub(crate) struct Table<'a> {
    reader: &'a mut dyn BufRead,
    line: u64,
    buffer: Vec<u8>,
    columns: Vec<usize>,
    required: usize,
}

/// Something a line or a file does wrong.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// This line; the next ones can be read.
    Line(u64, String),
    /// The file cannot be read further.
    File(String),
}

impl<'a> Table<'a> {
    /// Reads the header. The first `required` of `names` must be there, in any order.
    pub(crate) fn open(
        reader: &'a mut dyn BufRead,
        names: &[&str],
        required: usize,
    ) -> Result<Self, Wrong> {
        let mut table = Self { reader, line: 0, buffer: Vec::new(), columns: Vec::new(), required };
        let expected = || format!("a header like `{}`", names.join(","));
        let Some(header) = table.fields() else {
            return Err(Wrong::File(format!("the file is empty; it starts with {}", expected())));
        };
        // Without a header no line can be understood, so its mistakes end the file.
        let header = header.map_err(|wrong| Wrong::File(wrong.text()))?;
        for field in &header {
            let name = field.trim().to_ascii_lowercase();
            let Some(column) = names.iter().position(|n| *n == name) else {
                let text = format!("`{name}` is not a column; the file starts with {}", expected());
                return Err(Wrong::File(text));
            };
            if table.columns.contains(&column) {
                return Err(Wrong::File(format!("column `{name}` is there twice")));
            }
            table.columns.push(column);
        }
        if let Some(missing) = (0..required).find(|column| !table.columns.contains(column)) {
            let text = format!("column `{}` is missing; expected {}", names[missing], expected());
            return Err(Wrong::File(text));
        }
        Ok(table)
    }

    /// The next row with its line number: one text per name, empty where there is none.
    pub(crate) fn row(&mut self) -> Option<Result<(u64, Vec<String>), Wrong>> {
        let fields = match self.fields()? {
            Ok(fields) => fields,
            Err(wrong) => return Some(Err(wrong)),
        };
        if fields.len() > self.columns.len() {
            let text = format!("{} fields for {} columns", fields.len(), self.columns.len());
            return Some(Err(Wrong::Line(self.line, text)));
        }
        let width = self.columns.iter().max().map_or(0, |last| last + 1);
        let mut row = vec![String::new(); width.max(self.required)];
        for (&column, field) in self.columns.iter().zip(fields) {
            row[column] = field.trim().to_owned();
        }
        Some(Ok((self.line, row)))
    }

    /// The fields of the next line that has any.
    fn fields(&mut self) -> Option<Result<Vec<String>, Wrong>> {
        loop {
            self.buffer.clear();
            match self.reader.take(MOST_BYTES).read_until(b'\n', &mut self.buffer) {
                Ok(0) => return None,
                Ok(_) => self.line += 1,
                Err(error) => return Some(Err(Wrong::File(error.to_string()))),
            }
            if !self.buffer.ends_with(b"\n") && self.buffer.len() as u64 == MOST_BYTES {
                return Some(Err(self.skip_line()));
            }
            let Ok(text) = std::str::from_utf8(&self.buffer) else {
                return Some(Err(Wrong::Line(self.line, "not UTF-8 text".into())));
            };
            // Some spreadsheets begin a file with a byte order mark.
            let text = if self.line == 1 { text.trim_start_matches('\u{feff}') } else { text };
            let text = text.trim();
            if !text.is_empty() && !text.starts_with('#') {
                return Some(split(text).map_err(|text| Wrong::Line(self.line, text.into())));
            }
        }
    }

    fn skip_line(&mut self) -> Wrong {
        let line = self.line;
        match skip_to_newline(self.reader) {
            Ok(()) => Wrong::Line(line, format!("longer than {MOST_BYTES} bytes")),
            Err(error) => Wrong::File(error.to_string()),
        }
    }
}

impl Wrong {
    fn text(self) -> String {
        match self {
            Wrong::Line(_, text) | Wrong::File(text) => text,
        }
    }
}

fn skip_to_newline(reader: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let bytes = reader.fill_buf()?;
        let found = bytes.iter().position(|&byte| byte == b'\n');
        let (count, done) = match found {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        reader.consume(count);
        if done {
            return Ok(());
        }
    }
}

fn split(line: &str) -> Result<Vec<String>, &'static str> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start();
        let (field, after) = if let Some(quoted) = trimmed.strip_prefix('"') {
            unquote(quoted)?
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            (rest[..end].to_owned(), &rest[end..])
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Ok(fields),
        }
    }
}

/// The text up to the closing quote, and what follows it from the next comma on.
fn unquote(quoted: &str) -> Result<(String, &str), &'static str> {
    let mut text = String::new();
    let mut rest = quoted;
    loop {
        let end = rest.find('"').ok_or("a quote is opened and not closed")?;
        text.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        let Some(more) = rest.strip_prefix('"') else {
            let after = rest.trim_start();
            let ends = after.is_empty() || after.starts_with(',');
            return if ends { Ok((text, after)) } else { Err("text after a closing quote") };
        };
        text.push('"');
        rest = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &[u8]) -> Vec<Result<(u64, Vec<String>), String>> {
        let mut reader = text;
        let mut table = match Table::open(&mut reader, &["a", "b", "c"], 2) {
            Ok(table) => table,
            Err(wrong) => return vec![Err(wrong.text())],
        };
        std::iter::from_fn(|| table.row()).map(|row| row.map_err(Wrong::text)).collect()
    }

    fn row(line: u64, fields: [&str; 3]) -> Result<(u64, Vec<String>), String> {
        Ok((line, fields.map(str::to_owned).to_vec()))
    }

    #[test]
    fn reads_what_spreadsheets_write() {
        let text = "\u{feff}b,A,c\r\n1, 2 ,\"x,\"\"y\"\"\"\r\n\r\n# note\r\n3,4\r\n";
        assert_eq!(read(text.as_bytes()), [row(2, ["2", "1", "x,\"y\""]), row(5, ["4", "3", ""])]);
    }

    #[test]
    fn headers_must_fit() {
        let wrong = |text: &str| read(text.as_bytes())[0].clone().unwrap_err();
        assert!(wrong("").contains("empty"));
        assert!(wrong("a,x\n").contains("`x` is not a column"));
        assert!(wrong("a\n1\n").contains("`b` is missing"));
        assert!(wrong("a,b,a\n").contains("twice"));
    }

    #[test]
    fn a_wrong_line_does_not_hide_the_next() {
        let long = "x".repeat(200_000);
        let text = format!("a,b\n1,2,3\n\"x\n\"x\"y,1\n{long}\n5,6\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(b"\xff\xfe,1\n7,8");
        let rows = read(&bytes);
        let lines: Vec<_> = rows.iter().map(|row| row.as_ref().ok().map(|row| row.0)).collect();
        assert_eq!(lines, [None, None, None, None, Some(6), None, Some(8)]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            read(&bytes);
            read(&[b"a,b,c\n", bytes.as_slice()].concat());
        }

        #[test]
        fn quoted_text_comes_back(text in "[^\r\n]{0,20}") {
            let file = format!("a,b\n\"{}\",1\n", text.replace('"', "\"\""));
            let rows = read(file.as_bytes());
            prop_assert_eq!(&rows[0].as_ref().unwrap().1[0], text.trim());
        }
    }
}
