//! What a connection carries for a job.

use crate::id::JobId;
use std::collections::VecDeque;
use xoff_units::Bytes;
use xoff_workload::program::Token;

/// What a connection carries for a job.
pub(crate) struct Carried {
    pub(super) job: JobId,
    /// Which of its NICs' ports it uses (see [`crate::plane`]).
    pub(crate) turn: u32,
    /// Bytes that each end was asked to send so far.
    pub(super) posted: [u64; 2],
    /// Transfers on their way to each end, in order.
    pub(super) due: [VecDeque<Due>; 2],
    /// Messages that each end has still to post, in order: its queue was full.
    pub(super) backlog: [VecDeque<Bytes>; 2],
}

/// A transfer that has arrived when so many bytes have.
pub(super) struct Due {
    pub(super) bytes: u64,
    pub(super) token: Token,
}
