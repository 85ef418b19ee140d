//! Lines of words, and mistakes with their file and line.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Mistakes that are kept; a file of a million wrong lines is wrong for a few reasons.
const MOST_KEPT: usize = 100;

/// Everything that is wrong.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    file: PathBuf,
    kept: Vec<String>,
    left_out: usize,
}

impl Mistakes {
    /// Sets the file of the mistakes that follow.
    pub(super) fn in_file(&mut self, file: &Path) {
        self.file = file.to_owned();
    }

    pub(super) fn add(&mut self, line: usize, message: impl Display) {
        if self.kept.len() < MOST_KEPT {
            self.kept.push(format!("{}:{line}: {message}", self.file.display()));
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn into_result(mut self) -> Result<(), Vec<String>> {
        if self.left_out > 0 {
            self.kept.push(format!("and {} more mistakes", self.left_out));
        }
        if self.kept.is_empty() { Ok(()) } else { Err(self.kept) }
    }
}

/// A line that has words.
#[derive(Debug, Clone)]
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) words: Vec<&'a str>,
}

/// The lines of a file that have words.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = text.lines().enumerate();
    let lines = numbered
        .map(|(at, line)| Line { number: at + 1, words: line.split_whitespace().collect() });
    lines.filter(|line| !line.words.is_empty())
}

impl Line<'_> {
    /// The word at `at` as a value, or a mistake.
    pub(super) fn read<T: FromStr>(
        &self,
        at: usize,
        what: &str,
        mistakes: &mut Mistakes,
    ) -> Option<T>
    where
        T::Err: Display,
    {
        let word = self.words.get(at).copied().unwrap_or("");
        match word.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                // Our own errors quote the word; those of plain numbers do not.
                let error = error.to_string();
                let quoted = if error.contains('`') { error } else { format!("`{word}`: {error}") };
                mistakes.add(self.number, format!("{quoted} (expected {what})"));
                None
            }
        }
    }
}
