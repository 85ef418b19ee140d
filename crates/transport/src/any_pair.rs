//! [`AnyPair`]: a queue pair of any service, with the same calls.

use crate::congestion::CongestionState;
use crate::counters::Counters;
use crate::datagram::{AddressHandle, Datagram, DatagramPair};
use crate::host::{Host, Source, Target};
use crate::pacing::Slack;
use crate::queue_pair::QueuePair;
use crate::receive::ReceiveQueue;
use crate::signals::Signals;
use crate::unreliable::UnreliablePair;
use crate::work::{Completion, PostError, Received, Status, WorkRequest};
use xoff_units::{Bytes, Instant, Rate};
use xoff_wire::{Header, Qpn, Service};

/// A queue pair of any of the three services.
///
/// Boxed, because they differ in size and a table of them should not be as wide as the widest.
#[derive(Debug, Clone)]
pub enum AnyPair {
    /// Reliable connection.
    Reliable(Box<QueuePair>),
    /// Unreliable connection.
    Unreliable(Box<UnreliablePair>),
    /// Datagrams.
    Datagram(Box<DatagramPair>),
}

/// The same call for each of them.
macro_rules! each {
    ($self:expr, $pair:ident => $call:expr) => {
        match $self {
            AnyPair::Reliable($pair) => $call,
            AnyPair::Unreliable($pair) => $call,
            AnyPair::Datagram($pair) => $call,
        }
    };
}

impl AnyPair {
    /// The service it belongs to.
    pub fn service(&self) -> Service {
        match self {
            Self::Reliable(_) => Service::Reliable,
            Self::Unreliable(_) => Service::Unreliable,
            Self::Datagram(_) => Service::Datagram,
        }
    }

    /// The number packets to us carry.
    pub fn local(&self) -> Qpn {
        each!(self, pair => pair.local())
    }

    /// The peer's queue pair, if it has just one.
    pub fn peer(&self) -> Option<Qpn> {
        match self {
            Self::Reliable(pair) => Some(pair.peer()),
            Self::Unreliable(pair) => Some(pair.peer()),
            Self::Datagram(_) => None,
        }
    }

    /// Gives a message to move over a connection.
    pub fn post(&mut self, now: Instant, work: WorkRequest) -> Result<(), PostError> {
        match self {
            Self::Reliable(pair) => pair.post(now, work),
            Self::Unreliable(pair) => pair.post(now, work),
            Self::Datagram(_) => Err(PostError::Unsupported),
        }
    }

    /// Gives a datagram to send.
    pub fn post_datagram(&mut self, now: Instant, datagram: Datagram) -> Result<(), PostError> {
        match self {
            Self::Datagram(pair) => pair.post(now, datagram),
            Self::Reliable(_) | Self::Unreliable(_) => Err(PostError::Unsupported),
        }
    }

    /// When [`AnyPair::poll_transmit`] has a packet: in the past means at once, [`Instant::MAX`]
    /// not before something else happens.
    pub fn next_send(&self) -> Instant {
        each!(self, pair => pair.next_send())
    }

    /// The next data packet, if there is one to send at `now`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Header> {
        each!(self, pair => pair.poll_transmit(now))
    }

    /// The same for a sender that works in bursts.
    pub fn poll_transmit_within(&mut self, now: Instant, slack: Slack) -> Option<Header> {
        each!(self, pair => pair.poll_transmit_within(now, slack))
    }

    /// The same with at most `grant` more payload in flight: see [`QueuePair::poll_granted`]. Other services hear nothing
    /// of what arrives, so that there is nothing to bound.
    pub fn poll_granted(&mut self, now: Instant, slack: Slack, grant: Bytes) -> Option<Header> {
        match self {
            Self::Reliable(pair) => pair.poll_granted(now, slack, grant),
            Self::Unreliable(_) | Self::Datagram(_) => self.poll_transmit_within(now, slack),
        }
    }

    /// What the peer has yet to answer: see [`QueuePair::in_flight`]. Nothing of other services.
    pub fn in_flight(&self) -> (Bytes, u64) {
        match self {
            Self::Reliable(pair) => pair.in_flight(),
            Self::Unreliable(_) | Self::Datagram(_) => (Bytes::ZERO, 0),
        }
    }

    /// How many packets follow `last`, the one given last, that differ from it in their number
    /// alone, at most `most`: see [`QueuePair::poll_alike_granted`]. Other services give them one by
    /// one.
    pub fn poll_alike_granted(
        &mut self,
        now: Instant,
        slack: Slack,
        last: &Header,
        most: u32,
        grant: Bytes,
    ) -> u32 {
        match self {
            Self::Reliable(pair) => pair.poll_alike_granted(now, slack, last, most, grant),
            Self::Unreliable(_) | Self::Datagram(_) => 0,
        }
    }

    /// How many messages follow that of `last`, the packet given last, whose only packets differ from it in number and
    /// address alone, at most `most`: see [`QueuePair::poll_row_granted`]. Other services give them one by one.
    pub fn poll_row_granted(
        &mut self,
        now: Instant,
        slack: Slack,
        last: &Header,
        most: u32,
        grant: Bytes,
    ) -> u32 {
        match self {
            Self::Reliable(pair) => pair.poll_row_granted(now, slack, last, most, grant),
            Self::Unreliable(_) | Self::Datagram(_) => 0,
        }
    }

    /// Names of the messages that [`AnyPair::poll_row_granted`] gave, and where they go at the peer.
    pub fn row(&self, count: u32) -> impl Iterator<Item = (u64, u64)> {
        let pair = match self {
            Self::Reliable(pair) => Some(pair),
            Self::Unreliable(_) | Self::Datagram(_) => None,
        };
        pair.into_iter().flat_map(move |pair| pair.row(count))
    }

    /// Where the payload of the packet that [`AnyPair::poll_transmit`] gave last comes from.
    pub fn payload_of(&self, header: &Header) -> Source {
        each!(self, pair => pair.payload_of(header))
    }

    /// The way the datagram takes that was given last; none on a connection.
    pub fn address(&self) -> Option<AddressHandle> {
        match self {
            Self::Datagram(pair) => pair.address(),
            Self::Reliable(_) | Self::Unreliable(_) => None,
        }
    }

    /// The packet given last cannot be sent: the peer may no longer read the memory its payload is
    /// in. (Only a reliable connection has such packets.)
    pub fn withdraw(&mut self, header: &Header) {
        if let Self::Reliable(pair) = self {
            pair.withdraw(header);
        }
    }

    /// The next acknowledgement, NAK or congestion notification packet. On a connection it goes to
    /// the peer, from datagrams to where the packet came from that was handled last.
    pub fn poll_control(&mut self, now: Instant) -> Option<Header> {
        each!(self, pair => pair.poll_control(now))
    }

    /// A packet arrived. Says where its payload belongs: put it there before the next call.
    pub fn handle_at<H: Host>(
        &mut self,
        now: Instant,
        header: &Header,
        signals: Signals<'_>,
        host: &mut H,
    ) -> Target {
        each!(self, pair => pair.handle_at(now, header, signals, host))
    }

    /// When [`AnyPair::handle_deadline`] has something to do; [`Instant::MAX`] if nothing.
    pub fn deadline(&self) -> Instant {
        each!(self, pair => pair.deadline())
    }

    /// Does what is due by `now`; nothing if it is too early.
    pub fn handle_deadline(&mut self, now: Instant) {
        each!(self, pair => pair.handle_deadline(now));
    }

    /// The next work that is done with, in the order it was posted.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        each!(self, pair => pair.poll_completion())
    }

    /// The next posted receive that has ended.
    pub fn poll_receive(&mut self) -> Option<Received> {
        each!(self, pair => pair.poll_receive())
    }

    /// Ends it: the oldest work that is posted ends with `status`, the rest is flushed, and packets
    /// that arrive are dropped and counted.
    pub fn fail(&mut self, status: Status) {
        each!(self, pair => pair.fail(status));
    }

    /// Whether it has ended for good.
    pub fn has_failed(&self) -> bool {
        each!(self, pair => pair.has_failed())
    }

    /// Ends the receives in `queue`, if the queue pair has; not for a queue that others share.
    pub fn flush_receives(&mut self, queue: &mut ReceiveQueue) {
        each!(self, pair => pair.flush_receives(queue));
    }

    /// Bytes of payload accepted.
    pub fn delivered(&self) -> u64 {
        each!(self, pair => pair.delivered())
    }

    /// Messages of the peer that arrived whole, of an unreliable connection: its writes are
    /// reported by nothing else. The other services do not count them.
    pub fn messages(&self) -> Option<u64> {
        match self {
            Self::Unreliable(pair) => Some(pair.messages()),
            Self::Reliable(_) | Self::Datagram(_) => None,
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        each!(self, pair => pair.counters())
    }

    /// The rate packets are paced at.
    pub fn rate(&self) -> Rate {
        each!(self, pair => pair.rate())
    }

    /// What congestion control says at `now`.
    pub fn congestion_state(&self, now: Instant) -> CongestionState {
        each!(self, pair => pair.congestion_state(now))
    }

    /// Whether nothing is posted, unacknowledged or owed to a peer.
    pub fn is_idle(&self) -> bool {
        each!(self, pair => pair.is_idle())
    }
}
