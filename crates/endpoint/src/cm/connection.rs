//! One connection: where it stands, and what is repeated until it is answered.

use super::event::{Offer, Peer};
use std::net::IpAddr;
use xoff_units::{Instant, Span};
use xoff_wire::cm::{CommId, Message};
use xoff_wire::mad::TransactionId;

/// The manager's name for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub(super) u32);

/// How long an answer may take before the question is repeated: 4.096 us times two to the power of
/// 17, about half a second. The code says it on the wire.
pub(super) const RESPONSE_TIMEOUT: u8 = 17;

/// How often a question is repeated.
pub(super) const MAX_RETRIES: u8 = 15;

/// How long the names of an ended connection are kept, so that late messages find their answer.
pub(super) const TIME_WAIT: Span = Span::from_ms(2000);

/// How long the caller may take to accept or reject.
pub(super) const DECISION: Span = Span::from_ms(30_000);

/// A time as the standard codes it (IBTA 9.7.5.1.3 has the scale): five bits.
pub(super) fn coded(time: u8) -> Span {
    Span::from_ns(4096 << (time & 31).min(27))
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// We have requested it.
    Asked,
    /// The peer has requested it, and the caller has not answered.
    Considered,
    /// We accepted, and the peer has not said that it knows.
    Accepted,
    /// It stands.
    Established,
    /// We want to part, and the peer has not answered.
    Parting,
    /// It has ended.
    Ended,
}

/// One connection.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    pub(super) phase: Phase,
    /// The peer's address, and the peer itself as soon as it is known.
    pub(super) address: IpAddr,
    pub(super) peer: Option<Peer>,
    /// The peer's name for it; zero as long as we do not know.
    pub(super) remote_id: CommId,
    pub(super) offer: Option<Offer>,
    /// How often what is not acknowledged is sent again: the requester's wish.
    pub(super) retry_count: u8,
    /// What the peer's application added to its last message.
    pub(super) data: Vec<u8>,
    pub(super) transaction: TransactionId,
    /// What is sent again: the question in its states, the answer if the peer repeats its question.
    pub(super) last: Option<(TransactionId, Message)>,
    pub(super) retries: u8,
    /// When the question is repeated, or the connection is forgotten.
    pub(super) due: Instant,
}

impl Connection {
    /// Whether the peer has requested it and it is not established yet.
    pub(super) fn is_pending(&self) -> bool {
        matches!(self.phase, Phase::Considered | Phase::Accepted)
    }
}
