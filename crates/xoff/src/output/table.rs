//! [`Table`]: columns that fit the terminal.
//!
//! A table that is too wide shortens its text columns in the middle (both ends of `leaf0→spine1`
//! say something); one that is still too wide is shown row by row, so that no line is ever broken
//! by the terminal.

use super::printable;
use super::style::Style;

/// Where the cells of a column stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Text, which may be shortened.
    Left,
    /// Numbers, which may not.
    Right,
}

/// Rows under a heading.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

const INDENT: usize = 2;
const GAP: usize = 2;

/// A text column is not made narrower than this.
const LEAST_TEXT: usize = 10;

impl Table {
    /// A table with these headings.
    pub(crate) fn new(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|&(name, align)| (name.to_owned(), align)).collect();
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row; a missing cell is empty.
    pub(crate) fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let clean = |cell: T| printable(&cell.into()).replace('\n', " ");
        let mut row: Vec<String> = cells.into_iter().map(clean).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as text of at most `width` columns.
    pub(crate) fn render(&self, width: usize, style: Style) -> String {
        match self.fit(width) {
            Some(widths) => self.in_columns(&widths, style),
            None => self.row_by_row(width, style),
        }
    }

    /// Widths of the columns, if they can be made to fit.
    fn fit(&self, width: usize) -> Option<Vec<usize>> {
        let natural = |at: usize| {
            let cells = self.rows.iter().map(|row| columns_of(&row[at]));
            cells.chain([columns_of(&self.columns[at].0)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(natural).collect();
        let gaps = INDENT + GAP * widths.len().saturating_sub(1);
        loop {
            let excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
            if excess == 0 {
                return Some(widths);
            }
            let text = (0..widths.len()).filter(|&at| self.columns[at].1 == Align::Left);
            let widest = text.max_by_key(|&at| widths[at]).filter(|&at| widths[at] > LEAST_TEXT)?;
            widths[widest] -= 1;
        }
    }

    fn in_columns(&self, widths: &[usize], style: Style) -> String {
        let mut text = String::new();
        let named = self.columns.iter().any(|(name, _)| !name.is_empty());
        if named {
            let headings: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
            text += &style.dim(&self.line(&headings, widths));
            text.push('\n');
        }
        for row in &self.rows {
            let lines = if named { vec![row.clone()] } else { self.folded(row, widths) };
            for line in lines {
                text += &self.line(&line, widths);
                text.push('\n');
            }
        }
        text
    }

    /// A row of names and what they stand for, text on as many lines as it takes: there nothing is left out.
    fn folded(&self, row: &[String], widths: &[usize]) -> Vec<Vec<String>> {
        let cells = row.iter().zip(widths).zip(&self.columns);
        let cells = cells.map(|((cell, &width), (_, align))| match align {
            Align::Left if columns_of(cell) > width => super::wrap(cell, width.max(1)),
            Align::Left | Align::Right => vec![cell.clone()],
        });
        let cells: Vec<Vec<String>> = cells.collect();
        let lines = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let line = |at: usize| -> Vec<String> {
            cells.iter().map(|cell| cell.get(at).cloned().unwrap_or_default()).collect()
        };
        (0..lines).map(line).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = " ".repeat(INDENT);
        for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            let cell = shorten(cell, width);
            let space = " ".repeat(width - columns_of(&cell));
            match self.columns[at].1 {
                Align::Left => line.extend([cell, space]),
                Align::Right => line.extend([space, cell]),
            }
            line += &" ".repeat(GAP);
        }
        line.truncate(line.trim_end().len());
        line
    }

    fn row_by_row(&self, width: usize, style: Style) -> String {
        let names = self.columns.iter().skip(1).map(|(name, _)| columns_of(name));
        let name_width = names.max().unwrap_or(0);
        let room = width.saturating_sub(INDENT * 2 + name_width + GAP).max(1);
        let mut text = String::new();
        for row in &self.rows {
            let Some((first, others)) = row.split_first() else { continue };
            let first = shorten(first, width.saturating_sub(INDENT).max(1));
            text += &format!("{}{}\n", " ".repeat(INDENT), style.bold(&first));
            for ((name, _), cell) in self.columns.iter().skip(1).zip(others) {
                if !cell.is_empty() {
                    let space = " ".repeat(name_width - columns_of(name) + GAP);
                    let indent = " ".repeat(INDENT * 2);
                    text += &format!("{indent}{}{space}{}\n", style.dim(name), shorten(cell, room));
                }
            }
        }
        text
    }
}

/// Columns that a text takes on a terminal.
fn columns_of(text: &str) -> usize {
    console::measure_text_width(text)
}

/// The text in at most `width` columns, with an ellipsis for what is missing from its middle.
fn shorten(text: &str, width: usize) -> String {
    if columns_of(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let front = take(text.chars(), room - room / 2);
    let back: String = take(text.chars().rev(), room / 2).chars().rev().collect();
    format!("{front}…{back}")
}

/// As many characters as fit `room` columns.
fn take(chars: impl Iterator<Item = char>, room: usize) -> String {
    let mut taken = String::new();
    let mut used = 0;
    for c in chars {
        used += columns_of(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        taken.push(c);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn queues() -> Table {
        let mut table = Table::new(&[("queue", Align::Left), ("bytes", Align::Right)]);
        table.row(["leaf0→server12-nic3", "1.5 MB"]);
        table.row(["spine1→leaf0", "12 KB"]);
        table
    }

    #[test]
    fn columns_line_up() {
        let text = queues().render(60, Style::PLAIN);
        let expected = "  queue                 bytes\n  \
                        leaf0→server12-nic3  1.5 MB\n  \
                        spine1→leaf0          12 KB\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn names_are_shortened_in_the_middle() {
        let text = queues().render(22, Style::PLAIN);
        assert!(text.contains("leaf0→…-nic3"), "{text}");
    }

    #[test]
    fn what_does_not_fit_at_all_is_shown_row_by_row() {
        let text = queues().render(14, Style::PLAIN);
        assert!(text.starts_with("  leaf0→…-nic3\n    bytes  1…B\n"), "{text}");
    }

    #[test]
    fn what_a_name_stands_for_takes_several_lines() {
        let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
        table.row(["switches", "8 leaves (tomahawk-5), 2 spines (tomahawk-5)"]);
        let text = table.render(40, Style::PLAIN);
        let expected = "  switches  8 leaves (tomahawk-5), 2\n            spines (tomahawk-5)\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn escape_codes_in_names_do_nothing() {
        let mut table = Table::new(&[("node", Align::Left)]);
        table.row(["evil\u{1b}[2Jname"]);
        assert!(!table.render(80, Style::PLAIN).contains('\u{1b}'));
    }

    proptest! {
        #[test]
        fn no_line_is_too_long(
            rows in prop::collection::vec(prop::collection::vec("\\PC{0,30}", 4), 1..6),
            width in 20usize..120,
        ) {
            let (left, right) = (Align::Left, Align::Right);
            let columns = [("a", left), ("bb", right), ("", left), ("d", right)];
            let mut table = Table::new(&columns);
            for row in rows {
                table.row(row);
            }
            for line in table.render(width, Style::PLAIN).lines() {
                prop_assert!(columns_of(line) <= width, "{line:?}");
            }
        }
    }
}
