//! RoCEv2 reliable connections without any input or output: queue pairs, recovery of lost packets,
//! pacing, congestion notification and congestion control.
//!
//! A [`QueuePair`] is driven by its owner, who has the clock and the wires:
//!
//! 1. [`post`](QueuePair::post) work; read it back with
//!    [`poll_completion`](QueuePair::poll_completion) when it is done.
//! 2. At [`next_send`](QueuePair::next_send) ask for a data packet with
//!    [`poll_transmit`](QueuePair::poll_transmit). Not asking (a paused port, a busy wire) is fine.
//! 3. Give every packet that arrives to [`handle`](QueuePair::handle), then take acknowledgements and
//!    notifications from [`poll_control`](QueuePair::poll_control) until it has none.
//! 4. At [`deadline`](QueuePair::deadline) call [`handle_deadline`](QueuePair::handle_deadline), then
//!    `poll_control`. Any call may move `next_send` and `deadline`, either way. Calling early does
//!    nothing, so an event that became stale need not be cancelled: let it fire and look again.
//!
//! Every call takes `now`; it must not run backwards, and it may be late. Nothing here asks a clock,
//! draws a random number, or allocates per packet. Packets are [`Header`](xoff_wire::Header) values
//! with the length of their payload; bytes belong to whoever has wires. Whatever a peer sends ends as
//! a counter, an answer or a failed completion, never as a panic.
//!
//! What it is not: memory regions and protection, the unreliable services, connection set-up. Read
//! [`QueuePair`] first, then [`config`] for everything that can be set.

pub mod config;
mod congestion;
mod counters;
mod delay;
mod framing;
mod message;
mod notifier;
mod pacing;
mod queue_pair;
mod reads;
mod requester;
mod responder;
mod retransmit;
mod rnr;
mod selective;
mod sequence;
mod signals;
mod work;

pub use congestion::CongestionState;
pub use counters::Counters;
pub use queue_pair::QueuePair;
pub use signals::{IntHop, IntStack, MAX_INT_HOPS, PathInfo, Signals};
pub use work::{Completion, MAX_MESSAGE, PostError, Received, Status, Verb, WorkRequest};
