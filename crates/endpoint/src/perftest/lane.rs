//! One queue pair of a test, and what both sides know of it.

use super::message::Keys;
use super::pattern::Body;
use crate::PairId;
use crate::cm::ConnectionId;
use std::net::SocketAddr;
use xoff_transport::Qkey;
use xoff_wire::Qpn;

/// One queue pair of a test.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) pair: PairId,
    /// Our keys, which the peer gets.
    pub(super) local: Keys,
    /// The peer's keys.
    pub(super) remote: Keys,
    /// Where the peer is.
    pub(super) address: SocketAddr,
    /// The connection, if rdma_cm made it.
    pub(super) connection: Option<ConnectionId>,
    /// The key that our datagrams carry, and the queue pair they go to if rdma_cm said so.
    pub(super) qkey: Qkey,
    pub(super) found: Option<Qpn>,
    /// What is in our messages.
    pub(super) ours: Body,
    /// What is in the peer's, if it is one of us.
    pub(super) theirs: Body,
    /// Messages posted, done, and arrived, of the size that runs.
    pub(super) posted: u64,
    pub(super) done: u64,
    pub(super) arrived: u64,
    /// Receives posted.
    pub(super) awaited: u64,
    /// What atomics left in each place at the peer, as far as we know.
    pub(super) values: Vec<Option<u64>>,
}

impl Lane {
    /// A new size begins.
    pub(super) fn restart(&mut self) {
        (self.posted, self.done, self.arrived, self.awaited) = (0, 0, 0, 0);
        self.values.clear();
    }

    /// Messages in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.posted - self.done
    }
}
