//! What is in flight to each peer, over all queue pairs: a bound, and turns for those that meet it.
//!
//! What queue pairs send to one address waits in one receive buffer there. Each has a window of its own, but there may
//! be a thousand of them. Where a peer's bound is reached, queue pairs wait in line; when acknowledgements make room,
//! the first in line gets the next turn.

use crate::pair::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use xoff_units::Bytes;

/// The least that a packet counts for: the system keeps more than its bytes.
const LEAST: u64 = 1024;

/// What a packet with so much payload counts for.
pub(crate) fn least_counted(payload: u64) -> u64 {
    payload.max(LEAST)
}

/// One peer.
#[derive(Debug, Default)]
struct Peer {
    /// Connected queue pairs.
    pairs: u32,
    /// In flight of all of them.
    used: u64,
    /// Places of those that wait for room.
    line: VecDeque<u32>,
    /// The first of them, whose turn it is.
    called: Option<u32>,
}

/// All peers of a device.
#[derive(Debug)]
pub(crate) struct Flights {
    limit: u64,
    numbers: BTreeMap<SocketAddr, usize>,
    peers: Vec<Peer>,
    free: Vec<usize>,
}

impl Flights {
    /// With this much to each peer.
    pub(crate) fn new(limit: Bytes) -> Self {
        Self { limit: limit.get(), numbers: BTreeMap::new(), peers: Vec::new(), free: Vec::new() }
    }

    /// From now on there may be this much.
    pub(crate) fn set_limit(&mut self, limit: Bytes) {
        self.limit = limit.get();
    }

    /// A queue pair is connected to this address. Returns the peer's number.
    pub(crate) fn join(&mut self, address: SocketAddr) -> usize {
        let (peers, free) = (&mut self.peers, &mut self.free);
        let number = *self.numbers.entry(address).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                peers.push(Peer::default());
                peers.len() - 1
            })
        });
        self.peers[number].pairs += 1;
        number
    }

    /// The queue pair that was at `index` is gone. Returns the place of one whose turn it is now.
    pub(crate) fn leave(&mut self, index: u32, entry: &Entry) -> Option<u32> {
        let number = entry.peer?;
        let peer = &mut self.peers[number];
        peer.pairs -= 1;
        peer.used -= entry.flying;
        peer.line.retain(|&other| other != index);
        peer.called = peer.called.filter(|&other| other != index);
        if peer.pairs == 0 {
            debug_assert_eq!(peer.used, 0, "bytes in flight of no queue pair");
            self.peers[number] = Peer::default();
            self.numbers.retain(|_, other| *other != number);
            self.free.push(number);
            return None;
        }
        self.call(number)
    }

    /// How much more a queue pair may have in flight. One alone has its window.
    #[inline]
    fn room(&self, entry: &Entry) -> u64 {
        let Some(number) = entry.peer else { return u64::MAX };
        let peer = &self.peers[number];
        let alone = peer.pairs == 1;
        if alone { u64::MAX } else { self.limit.saturating_sub(peer.used) }
    }

    /// How much the queue pair at `index`, whose turn to send it is, may add to what is in flight. Nothing if it has
    /// to wait, in line from now on; then there may be another whose turn it is.
    pub(crate) fn admit(&mut self, index: u32, entry: &Entry) -> Result<u64, Option<u32>> {
        let room = self.room(entry);
        let Some(number) = entry.peer else { return Ok(room) };
        let peer = &mut self.peers[number];
        let first = peer.called == Some(index);
        if first {
            peer.called = None;
        }
        let in_line = peer.called.is_some() || !peer.line.is_empty();
        if room > 0 && (first || !in_line) {
            return Ok(room);
        }
        if first || entry.turn_left > 0 {
            peer.line.push_front(index);
        } else {
            peer.line.push_back(index);
        }
        Err(self.call(number))
    }

    /// Whether others wait for room at the peer of a queue pair.
    #[inline]
    pub(crate) fn has_line(&self, entry: &Entry) -> bool {
        entry.peer.is_some_and(|number| !self.peers[number].line.is_empty())
    }

    /// Counts what a queue pair has in flight now, and returns the room that is left.
    #[inline]
    pub(crate) fn count(&mut self, entry: &mut Entry) -> u64 {
        let Some(number) = entry.peer else { return u64::MAX };
        let now = entry.core.as_ref().map_or(0, |core| {
            let (bytes, packets) = core.in_flight();
            bytes.get().max(packets.saturating_mul(LEAST))
        });
        let peer = &mut self.peers[number];
        peer.used = peer.used - entry.flying + now;
        entry.flying = now;
        self.room(entry)
    }

    /// The place of the queue pair whose turn it is, if there is room for a peer's next in line.
    #[inline]
    pub(crate) fn next_in_line(&mut self, entry: &Entry) -> Option<u32> {
        self.call(entry.peer?)
    }

    #[inline]
    fn call(&mut self, number: usize) -> Option<u32> {
        let (limit, peer) = (self.limit, &mut self.peers[number]);
        if peer.called.is_some() || peer.used >= limit {
            return None;
        }
        peer.called = peer.line.pop_front();
        peer.called
    }
}
