//! [`WorkloadError`]: what is wrong with a piece of traffic, and where.

use std::fmt;

/// What is wrong with a piece of traffic. The message says what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("workload {workload}{place}: {message}")]
pub struct WorkloadError {
    /// Which `[[workload]]`, counted from 0.
    pub workload: u32,
    /// Where in it.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Where in a workload something is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the entry as a whole.
    Entry,
    /// In a flow of its list, counted from 0.
    Flow(usize),
    /// In a file as a whole.
    File(String),
    /// On a line of a file, counted from 1.
    Line(String, u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Entry => Ok(()),
            Place::Flow(index) => write!(f, ", flow {index}"),
            Place::File(file) => write!(f, ", `{file}`"),
            Place::Line(file, line) => write!(f, ", `{file}` line {line}"),
        }
    }
}

/// A file of a million wrong lines is wrong for a few reasons.
pub(crate) const MANY: usize = 100;

/// Gathers what is wrong with all workloads, so that it can be said at once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<WorkloadError>,
}

impl Findings {
    pub(crate) fn add(&mut self, workload: u32, place: Place, message: impl Into<String>) {
        self.kept.push(WorkloadError { workload, place, message: message.into() });
    }

    /// Whether it is time to stop reading a file.
    pub(crate) fn are_many(&self) -> bool {
        self.kept.len() >= MANY
    }

    /// `Ok` if there is nothing to say.
    pub(crate) fn into_result(self) -> Result<(), Vec<WorkloadError>> {
        if self.kept.is_empty() { Ok(()) } else { Err(self.kept) }
    }
}
