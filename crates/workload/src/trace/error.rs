//! [`TraceError`]: why a trace cannot be read, and where.

use std::fmt;

/// Why a trace cannot be read. The message says what would help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}{place}: {message}")]
pub struct TraceError {
    /// The file or folder.
    pub file: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
    /// Whether reading was stopped on request.
    pub interrupted: bool,
}

/// Where in a file. Of a compressed file, in what it decompresses to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The file as a whole.
    File,
    /// On a line, counted from 1.
    Line(u64),
    /// At a byte, counted from 0.
    Byte(u64),
    /// At an event of a profiler's list, counted from 0.
    Event(u64),
    /// At a node, by the number that the file gives it.
    Node(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(line) => write!(f, " line {line}"),
            Place::Byte(byte) => write!(f, " byte {byte}"),
            Place::Event(event) => write!(f, " event {event}"),
            Place::Node(node) => write!(f, " node {node}"),
        }
    }
}

impl TraceError {
    pub(super) fn new(file: &str, place: Place, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), place, message: message.into(), interrupted: false }
    }
}

/// What the readers return.
pub(crate) type Outcome<T> = Result<T, TraceError>;
