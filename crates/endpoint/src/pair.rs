//! Queue pairs of a device, by number.

use crate::outbox::Route;
use crate::settings::PairSettings;
use std::net::SocketAddr;
use xoff_transport::{AnyPair, ReceiveQueue};
use xoff_units::Instant;
use xoff_wire::{Psn, Qpn};

/// A name for a queue pair. It stops working when the queue pair is destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairId(pub(crate) Qpn);

impl PairId {
    /// The number that packets to it carry.
    pub const fn qpn(self) -> Qpn {
        self.0
    }
}

/// How far a queue pair is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairState {
    /// It has a number and takes receives, but knows no peer.
    Init,
    /// It moves data.
    Ready,
    /// It has ended; whatever was posted ends, too.
    Error,
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Its address, with the UDP port it listens at: 4791 everywhere but in tests.
    pub address: SocketAddr,
    /// Its queue pair.
    pub qpn: Qpn,
    /// The number of the first packet we send.
    pub send_psn: Psn,
    /// The number of the first packet it sends.
    pub receive_psn: Psn,
    /// The most payload in a packet: 256, 512, 1024, 2048 or 4096 bytes.
    pub mtu: u16,
}

/// A queue pair and what belongs to it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: PairId,
    pub(crate) settings: PairSettings,
    /// Once it is ready.
    pub(crate) core: Option<AnyPair>,
    /// The way to the peer of a connection.
    pub(crate) route: Option<Route>,
    /// Receives of its own.
    pub(crate) receives: ReceiveQueue,
    /// In the ring of those that may send.
    pub(crate) ringed: bool,
    /// Packets came to it that were not answered yet.
    pub(crate) touched: bool,
    /// The earliest alarm that is set for it.
    pub(crate) alarm: Instant,
    /// The number of its peer among those of a reliable connection, and how much of what is in flight to it is this
    /// one's.
    pub(crate) peer: Option<usize>,
    pub(crate) flying: u64,
    /// Packets of its turn that there was no room for at the peer.
    pub(crate) turn_left: usize,
}

impl Entry {
    pub(crate) fn state(&self) -> PairState {
        match &self.core {
            None => PairState::Init,
            Some(core) if core.has_failed() => PairState::Error,
            Some(_) => PairState::Ready,
        }
    }
}

/// Bits of a queue pair number that are its place; the others differ each time a place is used.
const PLACE_BITS: u32 = 14;
const TAGS: u32 = 1 << (24 - PLACE_BITS);

/// The queue pair for management datagrams (IBTA 13.5.1).
pub(crate) const MANAGEMENT: Qpn = Qpn::new(1);

/// All queue pairs.
#[derive(Debug)]
pub(crate) struct Pairs {
    slots: Vec<Slot>,
    free: Vec<u32>,
    limit: usize,
    /// The place of the one that is found by a well-known number.
    management: Option<u32>,
    /// The first tag of a new place.
    seed: u32,
}

#[derive(Debug)]
struct Slot {
    /// Of the pair that is here, or of the next: never zero, so that small numbers stay free.
    tag: u32,
    entry: Option<Box<Entry>>,
}

impl Pairs {
    pub(crate) fn new(seed: u32, limit: usize) -> Self {
        let limit = limit.min(1 << PLACE_BITS);
        Self { slots: Vec::new(), free: Vec::new(), limit, management: None, seed }
    }

    /// Adds a queue pair, under the well-known number if `management`. `None` when there are too
    /// many.
    pub(crate) fn insert(&mut self, settings: PairSettings, management: bool) -> Option<PairId> {
        if management && self.management.is_some() {
            return None;
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < self.limit => {
                let tag = self.seed.wrapping_mul(self.slots.len() as u32 + 1) % (TAGS - 1) + 1;
                self.slots.push(Slot { tag, entry: None });
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        let slot = &mut self.slots[index as usize];
        let mut id = PairId(Qpn::new(slot.tag << PLACE_BITS | index));
        if management {
            id = PairId(MANAGEMENT);
            self.management = Some(index);
        }
        slot.entry = Some(Box::new(Entry {
            id,
            settings,
            core: None,
            route: None,
            receives: ReceiveQueue::default(),
            ringed: false,
            touched: false,
            alarm: Instant::MAX,
            peer: None,
            flying: 0,
            turn_left: 0,
        }));
        Some(id)
    }

    /// The place of the queue pair with this number.
    #[inline]
    pub(crate) fn find(&self, qpn: Qpn) -> Option<u32> {
        let index =
            if qpn == MANAGEMENT { self.management? } else { qpn.get() & ((1 << PLACE_BITS) - 1) };
        let entry = self.slots.get(index as usize)?.entry.as_ref()?;
        (entry.id.0 == qpn).then_some(index)
    }

    /// The queue pair at a place.
    #[inline]
    pub(crate) fn at(&mut self, index: u32) -> Option<&mut Entry> {
        self.slots.get_mut(index as usize)?.entry.as_deref_mut()
    }

    /// The queue pair at a place, read-only.
    pub(crate) fn peek(&self, index: u32) -> Option<&Entry> {
        self.slots.get(index as usize)?.entry.as_deref()
    }

    pub(crate) fn get(&self, id: PairId) -> Option<&Entry> {
        let index = self.find(id.0)?;
        self.slots[index as usize].entry.as_deref()
    }

    pub(crate) fn get_mut(&mut self, id: PairId) -> Option<(u32, &mut Entry)> {
        let index = self.find(id.0)?;
        Some((index, self.slots[index as usize].entry.as_deref_mut()?))
    }

    /// Takes a queue pair away; its number is not used again soon.
    pub(crate) fn remove(&mut self, id: PairId) -> Option<Box<Entry>> {
        let index = self.find(id.0)?;
        if self.management == Some(index) {
            self.management = None;
        }
        let slot = &mut self.slots[index as usize];
        slot.tag = slot.tag % (TAGS - 1) + 1;
        self.free.push(index);
        slot.entry.take()
    }
}
