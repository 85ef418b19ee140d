//! Transport headers: what only the two ends of a flow read of a packet.
//!
//! What switches read of a packet is a small value of its own ([`crate::switch::packet`]); the header has the same id. It
//! is written when the packet is made, and not read after the packet was delivered or dropped.

use crate::id::{Entropy, FlowId, PacketId, Table};
use xoff_transport::{IntHop, IntStack};
use xoff_units::Instant;
use xoff_wire::{Header, MAX_HEADER_LEN};

/// What only the ends of a flow read of a packet. One cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct PacketHeader {
    pub(crate) transport: Header,
    /// When the data packet that this is, or answers, left its NIC.
    pub(crate) sent_at: Instant,
    /// The flow it belongs to.
    pub(crate) flow: FlowId,
}

/// The headers of all packets alive, by packet, and how many were ever written.
#[derive(Default)]
pub(crate) struct Headers {
    headers: Table<PacketId, PacketHeader>,
    /// Packets made, and their bytes.
    pub(crate) written: u64,
    pub(crate) written_bytes: u64,
    /// Every header goes through the bytes of the wire and back.
    checked: bool,
    /// Some packets collect telemetry, which is here, by header.
    collects: bool,
    ints: Table<PacketId, IntStack>,
    /// Entropies travel back; the one of each packet is here, by header, and whether it was marked.
    recycles: bool,
    entropies: Table<PacketId, Option<(Entropy, bool)>>,
    /// The entropy of the packet whose header is written next.
    pub(crate) entropy: Option<Entropy>,
    /// Any of the two.
    tables: bool,
}

impl Headers {
    /// No headers yet. With `checked` every header must survive the wire; with `collects` there is
    /// room for the telemetry of every packet, with `recycles` for its entropy. `expected` packets may be alive at a time, or more.
    pub(crate) fn new(expected: usize, checked: bool, collects: bool, recycles: bool) -> Self {
        let headers = Vec::with_capacity(expected).into();
        let tables = collects | recycles;
        Self { headers, checked, collects, recycles, tables, ..Self::default() }
    }

    /// Writes the header of a packet of `size` bytes, whose place is one that was used before or the
    /// next new one.
    #[inline(always)]
    pub(crate) fn write(&mut self, index: PacketId, header: PacketHeader, size: u16) {
        self.written += 1;
        self.written_bytes += u64::from(size);
        match self.headers.get_mut(index) {
            Some(place) => *place = header,
            None => {
                debug_assert_eq!(index, self.headers.next_id(), "a place was left out");
                self.headers.push(header);
            }
        }
        if self.checked | self.tables {
            self.prepare(index);
        }
    }

    /// What belongs to a packet beside its header, which it takes along to another thread.
    pub(crate) fn extras(&mut self, index: PacketId) -> Option<Extras> {
        if !self.tables {
            return None;
        }
        let int = self.collected(index).copied();
        let entropy = self.entropies.get_mut(index).and_then(Option::take);
        Some(Extras { int, entropy })
    }

    /// Puts down the header of a packet that was made on another thread, and is counted there.
    pub(crate) fn put(&mut self, index: PacketId, header: &PacketHeader, extras: Option<&Extras>) {
        match self.headers.get_mut(index) {
            Some(place) => *place = *header,
            None => self.headers.push(*header),
        }
        let Some(extras) = extras else { return };
        self.prepare(index);
        if let Some(int) = extras.int {
            self.ints[index] = int;
        }
        if self.recycles {
            self.entropies[index] = extras.entropy;
        }
    }

    /// Headers of a thread that makes no packets of its own: none yet, and kept like these.
    pub(crate) fn like(&self) -> Self {
        let Self { checked, collects, recycles, tables, .. } = *self;
        Self { checked, collects, recycles, tables, ..Self::default() }
    }

    /// What few runs do for every header.
    #[cold]
    fn prepare(&mut self, index: PacketId) {
        if self.checked {
            survives_the_wire(&self.headers[index].transport);
        }
        if self.collects {
            self.ints.resize(self.headers.len(), IntStack::EMPTY);
            self.ints[index] = IntStack::EMPTY;
        }
        if self.recycles {
            self.entropies.resize(self.headers.len(), None);
            self.entropies[index] = self.entropy.take().map(|entropy| (entropy, false));
        }
    }

    /// Prefetches a header.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: PacketId) {
        self.headers.prefetch(index);
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: PacketId) -> &PacketHeader {
        &self.headers[index]
    }

    /// What a packet has collected, where packets do.
    pub(crate) fn collected(&self, index: PacketId) -> Option<&IntStack> {
        self.ints.get(index)
    }

    /// A packet collects what a hop says.
    pub(crate) fn collect(&mut self, index: PacketId, hop: IntHop) {
        self.ints[index].push(hop);
    }

    /// What one packet collected travels back in another.
    #[inline(always)]
    pub(crate) fn return_collected(&mut self, from: PacketId, to: PacketId) {
        if self.tables {
            self.bring_back(from, to);
        }
    }

    #[cold]
    fn bring_back(&mut self, from: PacketId, to: PacketId) {
        if self.collects {
            self.ints[to] = self.ints[from];
        }
        if self.recycles {
            self.entropies[to] = self.entropies[from].take();
        }
    }

    /// The entropy that a packet brings back, and whether the packet that had it was marked.
    pub(crate) fn returned(&self, index: PacketId) -> Option<(Entropy, bool)> {
        *self.entropies.get(index)?
    }

    /// A packet was marked, which its entropy brings back.
    pub(crate) fn mark_entropy(&mut self, index: PacketId) {
        if let Some(Some((_, marked))) = self.entropies.get_mut(index) {
            *marked = true;
        }
    }

    /// The most packets ever alive at once.
    pub(crate) fn most(&self) -> u64 {
        self.headers.len() as u64
    }
}

/// What few runs know of a packet beside its header.
#[derive(Debug, Clone)]
pub(crate) struct Extras {
    int: Option<IntStack>,
    entropy: Option<(Entropy, bool)>,
}

/// Encodes and decodes a header: what the simulator speaks must be what the wire can carry.
fn survives_the_wire(header: &Header) {
    let mut bytes = [0; MAX_HEADER_LEN];
    let length = header.encode(&mut bytes);
    match Header::decode(&bytes[..length], header.payload) {
        Ok((decoded, used)) => {
            assert_eq!(used, length, "{header:?} leaves bytes over");
            assert_eq!(decoded, *header, "the wire changed a header");
        }
        Err(error) => panic!("{header:?} does not decode: {error:?}"),
    }
}
