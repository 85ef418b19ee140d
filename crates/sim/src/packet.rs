//! Packets, and the three places they live in.
//!
//! A packet is a small value ([`Packet`], half a cache line) that is copied from place to place
//! rather than pointed at: into a place of [`Flights`] while it is on a wire, into a queue's
//! [`Chunks`] while it waits. Both are reused last-in-first-out, so what is touched stays in cache
//! however many packets are queued elsewhere. What only the two ends need is a [`Letter`].

use xoff_units::Instant;
use xoff_wire::Header;

/// Nothing.
pub(crate) const NIL: u32 = u32::MAX;

/// Not charged to any ingress: the packet came from a NIC's own queue.
pub(crate) const NO_INGRESS: u32 = u32::MAX;

/// Links a packet may cross before it is taken to be lost in a loop.
pub(crate) const MAX_HOPS: u8 = 64;

/// What the hops read of a packet.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Packet {
    /// The NIC it is for.
    pub(crate) dst: u32,
    /// That NIC's row in the routes.
    pub(crate) row: u32,
    /// Hash of its flow's fields.
    pub(crate) entropy: u32,
    /// The flow it belongs to.
    pub(crate) flow: u32,
    /// Where the rest of it is.
    pub(crate) letter: u32,
    /// Port and class it is charged to in the switch that holds it.
    pub(crate) ingress: u32,
    /// Bytes from Ethernet header to FCS.
    pub(crate) size: u16,
    /// Bytes charged to the buffer: `size` in whole cells.
    pub(crate) charged: u16,
    /// DSCP in the IP header.
    pub(crate) dscp: u8,
    /// See [`flag`].
    pub(crate) flags: u8,
    /// Switches it may still come to before it is taken to be lost in a loop.
    pub(crate) hops_left: u8,
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
}

impl Packet {
    const NONE: Self = Self {
        dst: NIL,
        row: 0,
        entropy: 0,
        flow: 0,
        letter: NIL,
        ingress: NO_INGRESS,
        size: 0,
        charged: 0,
        dscp: 0,
        flags: 0,
        hops_left: MAX_HOPS,
    };
}

/// What only the ends of a flow read of a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Letter {
    /// The transport header.
    pub(crate) header: Header,
    /// When the data packet that this is, or answers, left its NIC.
    pub(crate) sent_at: Instant,
}

/// The letters of all packets alive.
#[derive(Default)]
pub(crate) struct Letters {
    letters: Vec<Letter>,
    free: Vec<u32>,
}

impl Letters {
    pub(crate) fn add(&mut self, letter: Letter) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.letters[index as usize] = letter;
                index
            }
            None => {
                self.letters.push(letter);
                self.letters.len() as u32 - 1
            }
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &Letter {
        &self.letters[index as usize]
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> &mut Letter {
        &mut self.letters[index as usize]
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Packets alive.
    pub(crate) fn live(&self) -> u64 {
        (self.letters.len() - self.free.len()) as u64
    }

    /// The most packets ever alive at once.
    pub(crate) fn most(&self) -> u64 {
        self.letters.len() as u64
    }
}

/// The packets on wires.
pub(crate) struct Flights {
    packets: Vec<Packet>,
    /// First free place; the next one is in its `dst`.
    free: u32,
}

impl Flights {
    pub(crate) fn new() -> Self {
        Self { packets: Vec::new(), free: NIL }
    }

    /// Gives a packet a place. By reference, so that it is copied whole and not field by field.
    #[inline(always)]
    pub(crate) fn add(&mut self, packet: &Packet) -> u32 {
        match self.packets.get_mut(self.free as usize) {
            Some(place) => {
                let index = self.free;
                self.free = place.dst;
                *place = *packet;
                index
            }
            None => {
                self.packets.push(*packet);
                self.packets.len() as u32 - 1
            }
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &Packet {
        &self.packets[index as usize]
    }

    /// The packet at a place, if there is such a place.
    #[inline(always)]
    pub(crate) fn peek(&self, index: u32) -> Option<&Packet> {
        self.packets.get(index as usize)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut Packet {
        &mut self.packets[index as usize]
    }

    /// Gives a place back.
    #[inline(always)]
    pub(crate) fn release(&mut self, index: u32) {
        self.packets[index as usize].dst = self.free;
        self.free = index;
    }

    /// Takes a packet off its wire.
    pub(crate) fn take(&mut self, index: u32) -> Packet {
        let packet = *self.get(index);
        self.release(index);
        packet
    }

    /// Packets on wires.
    pub(crate) fn live(&self) -> u64 {
        let mut free = 0;
        let mut index = self.free;
        while index != NIL {
            free += 1;
            index = self.packets[index as usize].dst;
        }
        self.packets.len() as u64 - free
    }
}

/// Packets in one chunk of a queue.
const CHUNK: usize = 8;

/// Storage for queues, in chunks of a few packets.
pub(crate) struct Chunks {
    chunks: Vec<[Packet; CHUNK]>,
    /// The chunk that follows, in its queue or in the free list.
    next: Vec<u32>,
    free: u32,
}

impl Chunks {
    pub(crate) fn new() -> Self {
        Self { chunks: Vec::new(), next: Vec::new(), free: NIL }
    }

    fn allocate(&mut self) -> u32 {
        let index = self.free;
        match self.next.get(index as usize) {
            Some(&next) => {
                self.free = next;
                index
            }
            None => {
                self.chunks.push([Packet::NONE; CHUNK]);
                self.next.push(NIL);
                self.chunks.len() as u32 - 1
            }
        }
    }

    fn release(&mut self, index: u32) {
        self.next[index as usize] = self.free;
        self.free = index;
    }
}

/// A packet that has left its queue: its place among the flights, and what its port asks about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Popped {
    pub(crate) index: u32,
    pub(crate) ingress: u32,
    pub(crate) size: u16,
    pub(crate) charged: u16,
    pub(crate) flags: u8,
}

/// A queue of packets, and how long it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    head_chunk: u32,
    tail_chunk: u32,
    /// Place of the first packet in the first chunk.
    head: u8,
    /// Place after the last packet in the last chunk.
    tail: u8,
    /// Bytes queued.
    pub(crate) bytes: u32,
    /// Most bytes ever queued.
    pub(crate) deepest: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self { head_chunk: NIL, tail_chunk: NIL, head: 0, tail: 0, bytes: 0, deepest: 0 }
    }
}

impl Queue {
    #[inline(always)]
    pub(crate) fn push(&mut self, chunks: &mut Chunks, packet: &Packet) {
        if self.tail_chunk == NIL {
            self.head_chunk = chunks.allocate();
            self.tail_chunk = self.head_chunk;
            (self.head, self.tail) = (0, 0);
        } else if usize::from(self.tail) == CHUNK {
            let chunk = chunks.allocate();
            chunks.next[self.tail_chunk as usize] = chunk;
            self.tail_chunk = chunk;
            self.tail = 0;
        }
        chunks.chunks[self.tail_chunk as usize][usize::from(self.tail) % CHUNK] = *packet;
        self.tail += 1;
        self.bytes += u32::from(packet.size);
        self.deepest = self.deepest.max(self.bytes);
    }

    /// Takes the first packet, which the caller knows is there, and puts it among the flights.
    #[inline(always)]
    pub(crate) fn pop(&mut self, chunks: &mut Chunks, flights: &mut Flights) -> Popped {
        debug_assert!(!self.is_empty(), "an empty queue was served");
        let packet = &chunks.chunks[self.head_chunk as usize][usize::from(self.head) % CHUNK];
        let popped = Popped {
            index: flights.add(packet),
            ingress: packet.ingress,
            size: packet.size,
            charged: packet.charged,
            flags: packet.flags,
        };
        self.head += 1;
        self.bytes -= u32::from(packet.size);
        if self.head_chunk == self.tail_chunk {
            if self.head == self.tail {
                chunks.release(self.head_chunk);
                (self.head_chunk, self.tail_chunk) = (NIL, NIL);
            }
        } else if usize::from(self.head) == CHUNK {
            let next = chunks.next[self.head_chunk as usize];
            chunks.release(self.head_chunk);
            self.head_chunk = next;
            self.head = 0;
        }
        popped
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head_chunk == NIL
    }

    /// The packets in order.
    pub(crate) fn iter<'a>(&self, chunks: &'a Chunks) -> impl Iterator<Item = &'a Packet> {
        let mut rest = *self;
        std::iter::from_fn(move || {
            if rest.is_empty() || rest.head_chunk == rest.tail_chunk && rest.head == rest.tail {
                return None;
            }
            let packet = &chunks.chunks[rest.head_chunk as usize][usize::from(rest.head) % CHUNK];
            rest.head += 1;
            if usize::from(rest.head) == CHUNK && rest.head_chunk != rest.tail_chunk {
                rest.head_chunk = chunks.next[rest.head_chunk as usize];
                rest.head = 0;
            }
            Some(packet)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Several queues over one storage behave as if each were alone.
        #[test]
        fn queues_keep_their_order(steps in proptest::collection::vec((0usize..3, 0u8..5), 1..400)) {
            let (mut chunks, mut flights) = (Chunks::new(), Flights::new());
            let mut queues = [Queue::default(); 3];
            let mut models: [VecDeque<u32>; 3] = Default::default();
            let mut serial = 0;
            for (which, action) in steps {
                if action < 3 {
                    serial += 1;
                    let packet = Packet { flow: serial, size: 100, ..Packet::NONE };
                    queues[which].push(&mut chunks, &packet);
                    models[which].push_back(serial);
                } else if let Some(expected) = models[which].pop_front() {
                    let popped = queues[which].pop(&mut chunks, &mut flights);
                    prop_assert_eq!(flights.take(popped.index).flow, expected);
                }
                for (queue, model) in queues.iter().zip(&models) {
                    let flows: VecDeque<u32> = queue.iter(&chunks).map(|packet| packet.flow).collect();
                    prop_assert_eq!(&flows, model);
                    prop_assert_eq!(queue.bytes as usize, 100 * model.len());
                    prop_assert_eq!(queue.is_empty(), model.is_empty());
                }
            }
        }
    }
}
