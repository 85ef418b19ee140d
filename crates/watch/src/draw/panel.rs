//! [`Panel`]: a title and lines, and what lines are made of: numbers, cuts, wraps, columns.

use super::tone::Tone;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
use xoff_report::Unit;

/// A title and lines.
#[derive(Debug, Default)]
pub(crate) struct Panel {
    pub(crate) title: String,
    /// The heading of a table, which stays when its lines are scrolled.
    pub(crate) head: Option<Line<'static>>,
    pub(crate) lines: Vec<Line<'static>>,
}

impl Panel {
    /// The title in a rule, with which lines are shown if not all are; `»` has the focus.
    pub(crate) fn title_line(
        &self,
        width: usize,
        top: usize,
        room: usize,
        focus: bool,
        colour: bool,
    ) -> Line<'static> {
        let mark = if focus { "»" } else { "─" };
        let mut title = format!("{mark} {} ", self.title);
        if self.lines.len() > room {
            let last = (top + room).min(self.lines.len());
            title = format!("{title}{}-{last} of {} ", top + 1, self.lines.len());
        }
        let title = cut(&title, width);
        let rest = "─".repeat(width.saturating_sub(title.width()));
        let tone = if focus { Tone::Strong } else { Tone::Plain };
        let rule = Span::styled(rest, Tone::Dim.style(colour));
        Line::from(vec![Span::styled(title, tone.style(colour)), rule])
    }
}

/// At most so many columns of a text, the last one an ellipsis if it is longer.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    if width > 0 {
        out.push('…');
    }
    out
}

/// Text in lines of at most so many columns; words that are longer are broken.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let long = word.width();
        if used > 0 && used + 1 + long <= width {
            used += 1;
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
        } else if used > 0 {
            lines.push(String::new());
            used = 0;
        }
        for c in word.chars() {
            let columns = c.width().unwrap_or(0);
            if used + columns > width && used > 0 {
                lines.push(String::new());
                used = 0;
            }
            used += columns;
            lines.last_mut().into_iter().for_each(|line| line.push(c));
        }
    }
    lines
}

/// What is not known.
const MISSING: &str = "-";

/// `97 %`, `0.4 %`.
pub(crate) fn percent(share: Option<f64>) -> String {
    match share {
        None => MISSING.to_owned(),
        Some(share) if share > 0.0 && share < 0.0005 => "<0.1 %".to_owned(),
        Some(share) if share > 0.0 && share < 0.0995 => format!("{:.1} %", share * 100.0),
        Some(share) => format!("{:.0} %", share * 100.0),
    }
}

/// `12`, `3.40 M`.
pub(crate) fn number(count: Option<f64>) -> String {
    match count {
        None => MISSING.to_owned(),
        Some(count) if count < 10.0 && count > 0.0 && count.fract() > 0.05 => format!("{count:.1}"),
        Some(count) => Unit::Large.show(count.round()),
    }
}

/// A column of a table: its heading and its width; the first takes what is left.
pub(crate) struct Column {
    pub(crate) head: &'static str,
    pub(crate) width: usize,
}

/// The columns that fit beside a first one of at least so many columns, and the width of the first.
pub(crate) fn fitting(columns: &[Column], width: usize, least: usize) -> (usize, usize) {
    let mut left = width;
    let mut count = 0;
    for column in columns {
        if left < least + column.width {
            break;
        }
        left -= column.width;
        count += 1;
    }
    (count, left)
}

/// A row: the first cell to the left, all others to the right.
pub(crate) fn row(first: &str, left: usize, cells: &[String], columns: &[Column]) -> String {
    let first = cut(first, left.saturating_sub(1));
    let pad = left.saturating_sub(first.width());
    let mut line = format!("{first}{:pad$}", "");
    for (cell, column) in cells.iter().zip(columns) {
        let cell = cut(cell, column.width.saturating_sub(1));
        let pad = column.width.saturating_sub(cell.width());
        line.push_str(&format!("{:pad$}{cell}", ""));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_short_and_missing_is_not_zero() {
        assert_eq!(percent(None), "-");
        assert_eq!(percent(Some(0.0)), "0 %");
        assert_eq!(percent(Some(0.0001)), "<0.1 %");
        assert_eq!(percent(Some(0.004)), "0.4 %");
        assert_eq!(percent(Some(0.974)), "97 %");
        assert_eq!(number(None), "-");
        assert_eq!(number(Some(0.0)), "0");
        assert_eq!(number(Some(3_400_000.0)), "3.40 M");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in "[ a-zé→漢\u{301}]{0,60}", width in 0usize..40) {
            prop_assert!(cut(&text, width).width() <= width);
            // A character of two columns cannot be broken.
            prop_assert!(wrap(&text, width).iter().all(|line| line.width() <= width.max(2)));
            let words = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(words(&wrap(&text, width).join(" ")), words(&text));
        }
    }
}
