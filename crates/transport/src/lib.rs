//! RoCEv2 queue pairs without any input or output: verbs, memory protection, recovery of lost
//! packets, pacing, congestion notification and congestion control.
//!
//! A [`QueuePair`] is driven by its owner, which has the clock, the wires and the bytes:
//!
//! 1. [`post`](QueuePair::post) work; read it back with
//!    [`poll_completion`](QueuePair::poll_completion) when it is done.
//! 2. At [`next_send`](QueuePair::next_send) take a data packet from
//!    [`poll_transmit`](QueuePair::poll_transmit). A paused port or a busy wire may do so later.
//!    [`payload_of`](QueuePair::payload_of) says where its bytes come from.
//! 3. Give every packet that arrives to [`handle_at`](QueuePair::handle_at) with the [`Host`] it is
//!    for, and put its payload where the [`Target`] says.
//! 4. After every one of these take acknowledgements and notifications from
//!    [`poll_control`](QueuePair::poll_control) until it has none. Because a packet's payload is in
//!    its place by then, nothing is acknowledged that is not there.
//! 5. At [`deadline`](QueuePair::deadline) call [`handle_deadline`](QueuePair::handle_deadline),
//!    then `poll_control`. Any call may move `next_send` and `deadline`, either way. Calling early
//!    does nothing, so a stale event need not be cancelled: let it fire and read both again.
//!
//! Every call takes `now`; it must not run backwards, and it may be late. Nothing here reads a
//! clock, draws a random number, or allocates per packet. Packets are [`Header`](xoff_wire::Header)
//! values with the length of their payload. Whatever a peer sends ends as a counter, an answer or a
//! failed completion, never as a panic; assertions are about our own state, and those on the path
//! of every packet run in debug builds only.
//!
//! **Memory.** [`Regions`] says which bytes a key opens, and a [`ReceiveQueue`] which buffers wait
//! for sends, for one queue pair or many. Both are plain values beside the queue pairs; the owner's
//! [`Host`] brings them together with its bytes for the duration of a call. A write is checked as a
//! whole before its first byte, and every packet of it again. The simulator has no bytes: its
//! [`handle`](QueuePair::handle) is the same code compiled for a host without memory.
//!
//! **Errors.** A request that cannot be carried out is refused and ends the connection, as does a
//! peer that does not answer: posted work is flushed, receives with
//! [`flush_receives`](QueuePair::flush_receives), and what still arrives is dropped and counted
//! ([`Discards`]).
//!
//! What it is not: connection set-up, address resolution, bytes on the wire. Read [`QueuePair`]
//! first, then [`Host`], then [`config`] for everything that can be set.

mod any_pair;
mod cache;
pub mod config;
mod congestion;
mod counters;
mod datagram;
mod delay;
mod discard;
mod fetch;
mod framing;
mod host;
mod inbound;
mod memory;
mod message;
mod notifier;
mod pacing;
mod queue_pair;
mod rack;
mod reads;
mod receive;
mod regulator;
mod requester;
mod responder;
mod retransmit;
mod rnr;
mod selective;
mod send_queue;
mod sequence;
mod signals;
mod unreliable;
mod work;

pub use any_pair::AnyPair;
pub use congestion::CongestionState;
pub use counters::Counters;
pub use datagram::{AddressHandle, Datagram, DatagramPair, Qkey};
pub use discard::{Discard, Discards};
pub use host::{Atomic, Host, Receive, Source, Target};
pub use memory::{
    Access, AccessError, Placement, ProtectionDomain, Region, RegionId, Regions, RegisterError,
};
pub use notifier::CnpLimiter;
pub use pacing::Slack;
pub use queue_pair::QueuePair;
pub use receive::ReceiveQueue;
pub use signals::{IntHop, IntStack, MAX_INT_HOPS, PathInfo, Signals};
pub use unreliable::UnreliablePair;
pub use work::{
    Completion, MAX_MESSAGE, PostError, Received, ReceivedKind, Status, Verb, WorkRequest,
};
