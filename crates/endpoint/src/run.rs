//! Runs: packets for one peer that leave with one call.

use crate::memory::{Place, Store};
use crate::name::{Control, Name};
use crate::outbox::Route;
use crate::socket::{Door, USUAL_CLASS};
use std::io::IoSlice;
use std::ops::Range;
use xoff_wire::icrc::{self, Flow};
use xoff_wire::ip::TrafficClass;
use xoff_wire::roce::MAX_DATAGRAM;

/// The longest run that fits a datagram of IPv4.
const LONGEST: usize = 65_507;
/// Packets of any length that a run holds at least.
pub(crate) const LEAST: usize = LONGEST / (MAX_DATAGRAM + 8);
/// The longest answer: an atomic's, or a notification.
const SHORT: usize = 32;
/// The most packets in a run that every kernel takes.
const MOST: u16 = 64;

/// A packet on its way out. Headers, padding and ICRC are in the outbox; so is a short payload. A
/// long one is still in memory, and gathered from there when the packet is sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    /// Where in the outbox its own bytes end that come before the payload.
    pub(crate) split: usize,
    /// Where those end that come behind it.
    pub(crate) end: usize,
    pub(crate) payload: Place,
}

/// Packets for one peer that leave with one call: equally long, but the last may be shorter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) name: Name,
    pub(crate) flow: Flow,
    pub(crate) door: Door,
    class: TrafficClass,
    /// Where in the outbox its own bytes begin; those of its packets follow each other.
    pub(crate) start: usize,
    /// The number of its first packet.
    pub(crate) first: usize,
    pub(crate) count: u16,
    /// Bytes of all its packets.
    pub(crate) length: usize,
    /// Bytes of its first packet.
    pub(crate) segment: usize,
    /// Another packet may follow.
    open: bool,
}

impl Run {
    /// One packet of `length` bytes, the `first` in the outbox.
    pub(crate) fn new(
        route: &Route,
        class: TrafficClass,
        start: usize,
        first: usize,
        length: usize,
    ) -> Self {
        let Route { name, flow, door, .. } = *route;
        let (count, segment, open) = (1, length, true);
        Self { name, flow, door, class, start, first, count, length, segment, open }
    }

    /// Its packets, by number.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.first..self.first + usize::from(self.count)
    }

    /// Whether it is one packet without payload, such as an acknowledgement.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.count == 1 && self.segment <= SHORT
    }

    /// Whether packets of this class take the same way.
    #[inline]
    pub(crate) fn is_along(&self, route: &Route, class: TrafficClass) -> bool {
        self.class == class && self.door == route.door && self.name == route.name
    }

    /// Whether a packet of `length` bytes may join.
    #[inline]
    pub(crate) fn takes(&self, length: usize) -> bool {
        self.open && length <= self.segment && self.count < MOST && self.length + length <= LONGEST
    }

    /// A packet joins.
    #[inline]
    pub(crate) fn join(&mut self, length: usize) {
        self.open = length == self.segment;
        self.count += 1;
        self.length += length;
    }

    /// What the kernel has to know of it beside its bytes.
    #[inline]
    pub(crate) fn describe(&self, v6: bool, control: &mut Control) {
        let class = i32::from(self.class.0).to_ne_bytes();
        match self.class {
            USUAL_CLASS => {}
            _ if v6 => control.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &class),
            _ => control.push(libc::IPPROTO_IP, libc::IP_TOS, &class),
        }
        if self.count > 1 {
            let segment = (self.segment as u16).to_ne_bytes();
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &segment);
        }
    }

    /// Its bytes from where they are: what is behind one payload and before the next is one piece.
    #[inline]
    pub(crate) fn gather<'a>(
        &self,
        own: &'a [u8],
        packets: &[Packet],
        store: &'a Store,
        pieces: &mut Vec<IoSlice<'a>>,
    ) {
        let mut from = self.start;
        let mut end = from;
        for packet in &packets[self.range()] {
            if packet.payload.length() > 0 {
                pieces.push(IoSlice::new(&own[from..packet.split]));
                pieces.push(IoSlice::new(store.at(packet.payload)));
                from = packet.split;
            }
            end = packet.end;
        }
        pieces.push(IoSlice::new(&own[from..end]));
    }

    /// Its packets as runs of one, each with the ICRC that it has alone.
    pub(crate) fn taken_apart(
        self,
        own: &mut [u8],
        packets: &[Packet],
        store: &Store,
    ) -> Vec<Self> {
        let mut start = self.start;
        let mut singles = Vec::new();
        for (packet, first) in packets[self.range()].iter().zip(self.range()) {
            let payload = store.at(packet.payload);
            let sum = packet.end - icrc::LEN;
            let pad = &own[packet.split..sum];
            let alone = self.flow.icrc(0, &own[start..packet.split], &[payload, pad]);
            own[sum..packet.end].copy_from_slice(&alone.to_bytes());
            let length = packet.end - start + payload.len();
            let (count, segment, open) = (1, length, false);
            singles.push(Self { start, first, count, length, segment, open, ..self });
            start = packet.end;
        }
        singles
    }
}
