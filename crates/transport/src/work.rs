//! What is posted to a queue pair and what comes back.

use crate::host::Atomic;
use std::fmt;
use xoff_units::Bytes;
use xoff_wire::{Immediate, Qpn, Rkey};

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
    /// Write, and notify the peer with four bytes of immediate data; takes one of its receives.
    WriteImmediate(Immediate),
    /// Send with four bytes beside the message.
    SendImmediate(Immediate),
    /// Send, and ask the peer to invalidate one of its keys.
    SendInvalidate(Rkey),
    /// Change eight bytes of the peer's memory and fetch what was there. The length posted with it
    /// does not matter.
    Atomic(Atomic),
}

impl Verb {
    /// Whether the peer answers it with more than an acknowledgement.
    #[inline]
    pub(crate) const fn fetches(self) -> bool {
        matches!(self, Self::Read | Self::Atomic(_))
    }

    #[inline]
    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteImmediate(_))
    }
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
    /// Longer than [`MAX_MESSAGE`], or than a datagram.
    TooLong,
    /// Too much is posted already; poll completions and post again.
    QueueFull,
    /// The queue pair has failed.
    Failed,
    /// The service of the queue pair has no such operation.
    Unsupported,
    /// An atomic operation on an address that is not a multiple of eight.
    Misaligned,
}

impl fmt::Display for PostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "a message can have at most {MAX_MESSAGE}, and a datagram one packet")
            }
            Self::QueueFull => write!(f, "at most {MAX_POSTED} messages can be posted at a time"),
            Self::Failed => f.write_str("the queue pair has failed"),
            Self::Unsupported => f.write_str("this service does not support the operation"),
            Self::Misaligned => f.write_str("the address of an atomic must be a multiple of eight"),
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
    /// The peer had no receive for it, as often as we tried.
    RnrRetryExceeded,
    /// The peer refused the request as invalid.
    RemoteInvalidRequest,
    /// The peer's key, address range or access rights do not allow it.
    RemoteAccess,
    /// The peer failed to carry it out.
    RemoteOperational,
    /// The message was longer than the receive.
    LocalLength,
    /// The access rights of our own memory do not allow it.
    LocalProtection,
    /// Not attempted to the end, because the queue pair failed for another reason.
    Flushed,
}

impl fmt::Display for Status {
    /// The words of the verbs, and what they mean.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "success",
            Self::RetryExceeded => "retry exceeded: the peer did not answer",
            Self::RnrRetryExceeded => {
                "RNR retry exceeded: the peer posted no receive for it in time"
            }
            Self::RemoteInvalidRequest => {
                "remote invalid request: the peer refused it as malformed or too long"
            }
            Self::RemoteAccess => {
                "remote access error: the peer's memory key, address range or rights do not allow it"
            }
            Self::RemoteOperational => "remote operation error: the peer failed to carry it out",
            Self::LocalLength => "local length error: the message was longer than the receive",
            Self::LocalProtection => {
                "local protection error: the rights of our own memory do not allow it"
            }
            Self::Flushed => "flushed: the queue pair failed before",
        })
    }
}

/// The end of posted work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The name given when it was posted.
    pub id: u64,
    /// How it ended.
    pub status: Status,
    /// What the peer had at the address before an atomic operation; zero for everything else.
    pub before: u64,
}

/// The end of a posted receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The name given to the receive.
    pub id: u64,
    /// How it ended; what follows counts only if it is [`Status::Ok`].
    pub status: Status,
    /// Length of the message: in the receive, or written to memory.
    pub length: Bytes,
    /// How it came.
    pub kind: ReceivedKind,
    /// The four bytes beside it.
    pub immediate: Option<Immediate>,
    /// The key that was invalidated.
    pub invalidated: Option<Rkey>,
    /// The queue pair that sent it, if it was a datagram.
    pub source: Option<Qpn>,
}

/// What ended a receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceivedKind {
    /// A send, whose bytes are in the receive.
    Send,
    /// A write with immediate data, whose bytes are where the peer wanted them.
    Write,
}

impl Received {
    /// A message of `length` bytes in the receive `id`.
    pub(crate) const fn sent(id: u64, length: Bytes) -> Self {
        Self {
            id,
            status: Status::Ok,
            length,
            kind: ReceivedKind::Send,
            immediate: None,
            invalidated: None,
            source: None,
        }
    }

    /// A receive that ended in an error.
    pub(crate) const fn failed(id: u64, status: Status) -> Self {
        Self { status, ..Self::sent(id, Bytes::ZERO) }
    }
}
