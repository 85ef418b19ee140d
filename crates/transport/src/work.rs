//! What is posted to a queue pair and what comes back.

use std::fmt;
use xoff_units::Bytes;
use xoff_wire::Rkey;

/// The longest message (IBTA 9.2): two gibibytes.
pub const MAX_MESSAGE: Bytes = Bytes::new(1 << 31);

/// Messages one queue pair holds at a time.
pub(crate) const MAX_POSTED: usize = 1 << 16;

/// What to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Put it into the peer's memory.
    Write,
    /// Put it into a buffer the peer posted.
    Send,
    /// Fetch it from the peer's memory.
    Read,
}

/// A message to be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkRequest {
    /// The caller's name for it, which comes back in the [`Completion`].
    pub id: u64,
    /// What to do.
    pub operation: Verb,
    /// How long it is: at most [`MAX_MESSAGE`].
    pub length: Bytes,
    /// Where it lies at the peer (not for sends).
    pub address: u64,
    /// The key of that memory (not for sends).
    pub rkey: Rkey,
}

/// Why work was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostError {
    /// Longer than [`MAX_MESSAGE`].
    TooLong,
    /// Too much is posted already; poll completions and post again.
    QueueFull,
    /// The queue pair has failed.
    Failed,
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "a message is at most {MAX_MESSAGE} long"),
            Self::QueueFull => write!(f, "at most {MAX_POSTED} messages can be posted at a time"),
            Self::Failed => f.write_str("the queue pair has failed"),
        }
    }
}

impl std::error::Error for PostError {}

/// How posted work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The peer has all of it (or we have all that was read).
    Ok,
    /// The peer did not answer, as often as we tried.
    RetryExceeded,
    /// The peer could not make sense of the request.
    RemoteInvalidRequest,
    /// The peer's memory may not be used so.
    RemoteAccess,
    /// The peer failed to carry it out.
    RemoteOperational,
    /// Not attempted to the end, because work before it failed.
    Flushed,
}

/// The end of posted work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The name given when it was posted.
    pub id: u64,
    /// How it ended.
    pub status: Status,
}

/// A message that arrived in a posted receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The name given to the receive.
    pub id: u64,
    /// Length of the message.
    pub length: Bytes,
}
