//! Transport headers: what only the two ends of a flow read of a packet.
//!
//! What switches read of a packet is a small value of its own ([`crate::switch::packet`]); the header has the same id. It
//! is written when the packet is made, and not read after the packet was delivered or dropped. It stays with the hosts: where
//! threads simulate switches alone, a packet has its place there and its flow instead ([`Away`]).

use crate::id::{Entropy, FlowId, Id, PacketId, Table};
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

/// What a part without hosts knows of a packet instead of its header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Away {
    /// The packet's place with the hosts, which is kept until it comes back or is lost.
    pub(crate) home: PacketId,
    pub(crate) flow: FlowId,
}

/// The headers of all packets alive, by packet, and how many were ever written.
#[derive(Default)]
pub(crate) struct Headers {
    headers: Table<PacketId, PacketHeader>,
    /// Instead of headers, where there are no hosts.
    away: Option<Table<PacketId, Away>>,
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

    /// Puts down what a packet has taken along.
    #[cold]
    pub(crate) fn put(&mut self, index: PacketId, extras: &Extras) {
        let places = index.index() + 1;
        if let Some(int) = extras.int {
            self.ints.resize(self.ints.len().max(places), IntStack::EMPTY);
            self.ints[index] = int;
        }
        if self.recycles {
            self.entropies.resize(self.entropies.len().max(places), None);
            self.entropies[index] = extras.entropy;
        }
    }

    /// Where the hosts are not: no headers, and of each packet where it has one.
    pub(crate) fn elsewhere(&self) -> Self {
        let Self { checked, collects, recycles, tables, .. } = *self;
        Self { away: Some(Table::new()), checked, collects, recycles, tables, ..Self::default() }
    }

    /// Whether the hosts are here, and with them all headers.
    #[inline(always)]
    pub(crate) fn are_here(&self) -> bool {
        self.away.is_none()
    }

    /// What is known of a packet where the hosts are not.
    #[inline(always)]
    pub(crate) fn away(&self, index: PacketId) -> Option<Away> {
        self.away.as_ref().map(|away| away[index])
    }

    /// A packet whose header is with the hosts has come to a place here.
    #[inline(always)]
    pub(crate) fn set_away(&mut self, index: PacketId, known: Away) {
        let away = self.away.as_mut().expect("packets have headers with the hosts");
        match away.get_mut(index) {
            Some(place) => *place = known,
            None => away.push(known),
        }
    }

    /// The flow that a packet belongs to.
    #[inline(always)]
    pub(crate) fn flow(&self, index: PacketId) -> FlowId {
        self.away(index).map_or_else(|| self.get(index).flow, |away| away.flow)
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
