//! Packets, and the queues they wait in.
//!
//! A packet on its way is a small value ([`Packet`], half a cache line) that stays where it is from
//! NIC to NIC: events and queues have its number. Places are reused last-in-first-out, so that what is
//! touched stays in cache. What only the two ends need is in a [header](crate::switch::header) of the same number.

use crate::id::{EndpointId, Entropy, PacketId, Slot, Table};
use crate::switch::trail::Stamp;
use xoff_fabric::model::NicId;

/// The destination of a packet that no NIC may take: it was lost on a cable.
pub(crate) const NOBODY: NicId = NicId(u32::MAX);

/// A packet that comes to so many switches is taken to be lost in a loop.
pub(crate) const MAX_HOPS: u8 = 64;

/// What the hops read of a packet.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Packet {
    /// The NIC it is for.
    pub(crate) dst: NicId,
    /// Which [trail](crate::switch::trail) it follows.
    pub(crate) stamp: Stamp,
    /// Hash of its flow's fields, or which hashes it has: see [hashing](crate::switch::hashing).
    pub(crate) entropy: Entropy,
    /// The one behind it in its queue, or the next free place.
    pub(crate) next: PacketId,
    /// The endpoint it is for, while its flow lives.
    pub(crate) to: EndpointId,
    /// Port and class it is charged to in the switch that holds it; none in a NIC's own queue.
    pub(crate) ingress: Slot,
    /// Bytes from Ethernet header to FCS.
    pub(crate) size: u16,
    /// Bytes charged to the buffer: `size` in whole cells.
    pub(crate) charged: u16,
    /// DSCP in the IP header.
    pub(crate) dscp: u8,
    /// See [`flag`].
    pub(crate) flags: u8,
    /// Switches it has come to.
    pub(crate) hops: u8,
}

/// Bits of [`Packet::flags`].
pub(crate) mod flag {
    /// ECN-capable transport.
    pub(crate) const ECT: u8 = 1;
    /// Congestion experienced.
    pub(crate) const CE: u8 = 2;
    /// For the endpoint that opened the flow (else for the one at its destination).
    pub(crate) const TO_INITIATOR: u8 = 4;
    /// Follows a pinned path.
    pub(crate) const PINNED: u8 = 8;
    /// Has arrived whole although the switch cuts through.
    pub(crate) const WHOLE: u8 = 16;
    /// Collects telemetry at every hop.
    pub(crate) const INT: u8 = 32;
    /// Was on a cable that went dead: it arrives nowhere.
    pub(crate) const LOST: u8 = 64;
    /// Has lost its payload to a full queue. Such packets are marked as well.
    pub(crate) const TRIMMED: u8 = 128;
}

/// All packets alive.
pub(crate) struct Packets {
    packets: Table<PacketId, Packet>,
    /// First free place.
    free: PacketId,
}

impl Packets {
    /// No packets yet; `expected` may be alive at a time, or more.
    pub(crate) fn new(expected: usize) -> Self {
        Self { packets: Vec::with_capacity(expected).into(), free: PacketId::NONE }
    }

    /// Gives a packet a place. By reference, so that it is copied whole and not field by field.
    #[inline(always)]
    pub(crate) fn add(&mut self, packet: &Packet) -> PacketId {
        match self.packets.get_mut(self.free) {
            Some(place) => {
                let index = self.free;
                self.free = place.next;
                *place = *packet;
                index
            }
            None => {
                let index = self.packets.next_id();
                self.packets.push(*packet);
                index
            }
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: PacketId) -> &Packet {
        &self.packets[index]
    }

    /// The packet at a place, if there is such a place.
    #[inline(always)]
    pub(crate) fn peek(&self, index: PacketId) -> Option<&Packet> {
        self.packets.get(index)
    }

    /// Prefetches a packet, if there is such a place.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: PacketId) {
        self.packets.prefetch(index);
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: PacketId) -> &mut Packet {
        &mut self.packets[index]
    }

    /// Gives a place back.
    #[inline(always)]
    pub(crate) fn release(&mut self, index: PacketId) {
        // Last in, first out: the place that was used last is still in cache.
        self.packets[index].next = self.free;
        self.free = index;
    }

    /// Takes a packet out of its place.
    pub(crate) fn take(&mut self, index: PacketId) -> Packet {
        let packet = *self.get(index);
        self.release(index);
        packet
    }

    /// A packet comes back to its place.
    #[inline(always)]
    pub(crate) fn put(&mut self, index: PacketId, packet: &Packet) {
        self.packets[index] = *packet;
    }

    /// Packets alive.
    pub(crate) fn live(&self) -> u64 {
        let mut free = 0;
        let mut index = self.free;
        while index != PacketId::NONE {
            free += 1;
            index = self.packets[index].next;
        }
        self.packets.len() as u64 - free
    }
}

/// A queue of packets, and how long it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    first: PacketId,
    /// Only if there is a first.
    last: PacketId,
    /// Bytes queued.
    pub(crate) bytes: u32,
    /// Most bytes ever queued.
    pub(crate) deepest: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { first: PacketId::NONE, last: PacketId::NONE, bytes: 0, deepest: 0 }
    }
}

impl Queue {
    /// Appends a packet of `size` bytes.
    #[inline(always)]
    pub(crate) fn push(&mut self, packets: &mut Packets, index: PacketId, size: u16) {
        if self.first == PacketId::NONE {
            self.first = index;
        } else {
            packets.get_mut(self.last).next = index;
        }
        self.last = index;
        self.bytes += u32::from(size);
        self.deepest = self.deepest.max(self.bytes);
    }

    /// Takes the first packet, which the caller knows is there, and shows it.
    #[inline(always)]
    pub(crate) fn pop<'a>(&mut self, packets: &'a mut Packets) -> (PacketId, &'a mut Packet) {
        debug_assert!(!self.is_empty(), "an empty queue was served");
        let index = self.first;
        let packet = packets.get_mut(index);
        self.first = if index == self.last { PacketId::NONE } else { packet.next };
        self.bytes -= u32::from(packet.size);
        (index, packet)
    }

    /// Nothing is in it any more.
    pub(crate) fn clear(&mut self) {
        (self.first, self.last, self.bytes) = (PacketId::NONE, PacketId::NONE, 0);
    }

    /// The packet at its head, or [`PacketId::NONE`].
    #[inline(always)]
    pub(crate) fn first(&self) -> PacketId {
        self.first
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == PacketId::NONE
    }

    /// The packets in order.
    pub(crate) fn iter<'a>(&self, packets: &'a Packets) -> impl Iterator<Item = &'a Packet> {
        self.after(None, packets).map(|(_, packet)| packet)
    }

    /// The packets behind one of them, or all, in order, with their numbers.
    pub(crate) fn after<'a>(
        &self,
        before: Option<PacketId>,
        packets: &'a Packets,
    ) -> impl Iterator<Item = (PacketId, &'a Packet)> {
        let last = self.last;
        let next = move |index: PacketId| {
            if index == last { PacketId::NONE } else { packets.get(index).next }
        };
        let mut index = before.map_or(self.first, next);
        std::iter::from_fn(move || {
            let packet = packets.peek(index)?;
            let found = (index, packet);
            index = next(index);
            Some(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    const NONE: Packet = Packet {
        dst: NicId(0),
        stamp: Stamp::NONE,
        entropy: Entropy(0),
        next: PacketId::NONE,
        to: EndpointId::NONE,
        ingress: Slot::NONE,
        size: 0,
        charged: 0,
        dscp: 0,
        flags: 0,
        hops: 0,
    };

    proptest! {
        /// Several queues over one storage behave as if each were alone.
        #[test]
        fn queues_keep_their_order(steps in proptest::collection::vec((0usize..3, 0u8..5), 1..400)) {
            let mut packets = Packets::new(0);
            let mut queues = [Queue::default(); 3];
            let mut models: [VecDeque<u32>; 3] = Default::default();
            let mut serial = 0;
            for (which, action) in steps {
                if action < 3 {
                    serial += 1;
                    let index = packets.add(&Packet { to: EndpointId(serial), size: 100, ..NONE });
                    queues[which].push(&mut packets, index, 100);
                    models[which].push_back(serial);
                } else if let Some(expected) = models[which].pop_front() {
                    let (index, _) = queues[which].pop(&mut packets);
                    prop_assert_eq!(packets.take(index).to.0, expected);
                }
                for (queue, model) in queues.iter().zip(&models) {
                    let order: VecDeque<u32> =
                        queue.iter(&packets).map(|packet| packet.to.0).collect();
                    prop_assert_eq!(&order, model);
                    prop_assert_eq!(queue.bytes as usize, 100 * model.len());
                    prop_assert_eq!(queue.is_empty(), model.is_empty());
                }
                prop_assert_eq!(packets.live() as usize, models.iter().map(VecDeque::len).sum::<usize>());
            }
        }
    }
}
