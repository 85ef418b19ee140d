//! What people see: streams, colours, numbers, tables and diagnostics.

pub(crate) mod derived;
pub(crate) mod diagnostics;
pub(crate) mod files;
pub(crate) mod number;
pub(crate) mod progress;
pub(crate) mod reading;
pub(crate) mod style;
pub(crate) mod summary;
pub(crate) mod table;

use crate::exit::Failure;
use std::io::{self, ErrorKind, IsTerminal, Write};

/// Columns where there is no terminal to say how many there are: in a file or a pipe.
const DEFAULT_WIDTH: usize = 100;

/// Fewer columns than this are treated as this many.
const LEAST_WIDTH: usize = 40;

/// Writes to standard output. A reader that has seen enough (`| head`) is not an error; a full disk
/// behind `>` is.
pub(crate) fn stdout(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let full = error.kind() == ErrorKind::StorageFull;
            let cure = if full { "; free some space or write elsewhere" } else { "" };
            Err(Failure::write(format!("cannot write to standard output: {error}{cure}")))
        }
    }
}

/// A value as a JSON document.
pub(crate) fn json(value: &(impl serde::Serialize + ?Sized)) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| Failure::write(format!("cannot write JSON: {error}")))? + "\n")
}

/// Writes a value as JSON to standard output.
pub(crate) fn stdout_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    stdout(&json(value)?)
}

/// Writes to standard error. Nobody is left to tell when that fails.
pub(crate) fn stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Columns of the terminal behind standard output, or what `COLUMNS` says.
pub(crate) fn stdout_width() -> usize {
    width(io::stdout().is_terminal().then(console::Term::stdout))
}

/// Columns of the terminal behind standard error, or what `COLUMNS` says.
pub(crate) fn stderr_width() -> usize {
    width(io::stderr().is_terminal().then(console::Term::stderr))
}

fn width(terminal: Option<console::Term>) -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let measured = || terminal?.size_checked().map(|(_, columns)| usize::from(columns));
    said.or_else(measured).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH)
}

/// Text in which nothing but line ends controls the terminal: names come from files, and a file
/// must not be able to recolour or overwrite what is on the screen.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

/// Text in lines of at most `width` columns, as far as its words allow.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in printable(text).split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_control_the_terminal() {
        assert_eq!(printable("leaf\u{1b}[31m\r\n"), "leaf\u{fffd}[31m\u{fffd}\n");
        assert_eq!(printable("leaf0→spine1"), "leaf0→spine1");
    }
}
