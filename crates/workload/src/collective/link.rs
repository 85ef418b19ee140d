//! [`Link`]: one direction of a connection between two workers, with its buffers.
//!
//! As NCCL's proxies do it: the sender has room for a window of pieces and so has the receiver.
//! A piece is put into the sender's buffer, and leaves over the network once the receiver has said
//! that a buffer of its own is free (clear-to-send). With PXN the sender's buffer is that of another GPU
//! in its server, the one whose NIC is on the right rail, and a piece first goes there by NVLink.

use crate::layout::GpuId;
use xoff_fabric::model::NicId;

/// Most pieces in a window.
pub(crate) const MOST_WINDOW: u32 = 8;

/// Pieces that are remembered one by one: a window at the sender and one at the receiver.
pub(crate) const SLOTS: u32 = 2 * MOST_WINDOW;

/// How pieces get from worker to worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Both are the same GPU: at once.
    Local,
    /// Inside a server.
    Nvlink { from: GpuId, to: GpuId },
    /// Over the network, through the buffer of another GPU if there is a `relay` (from, to).
    Network { from: NicId, to: NicId, queue: u32, relay: Option<(GpuId, GpuId)> },
}

/// One direction of a connection. Counters only grow; their differences are what is where.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) sender: u32,
    pub(crate) receiver: u32,
    pub(crate) way: Way,
    /// Pieces in all.
    pub(crate) expected: u32,
    /// Put into the sender's buffer.
    pub(crate) filled: u32,
    /// Arrived in the buffer from which the NIC sends.
    pub(crate) staged: u32,
    /// Handed to the NIC.
    pub(crate) posted: u32,
    /// Clear-to-sends on their way or arrived.
    pub(crate) granted: u32,
    /// Clear-to-sends arrived.
    pub(crate) cleared: u32,
    /// Arrived at the receiver, without gaps.
    pub(crate) landed: u32,
    /// Taken out of the receiver's buffer.
    pub(crate) consumed: u32,
    /// Pieces that arrived, by number modulo the slots; several queue pairs may overtake.
    ahead: u16,
    sizes: [u32; SLOTS as usize],
}

impl Link {
    pub(crate) fn new(sender: u32, receiver: u32, way: Way) -> Self {
        Self {
            sender,
            receiver,
            way,
            expected: 0,
            filled: 0,
            staged: 0,
            posted: 0,
            granted: 0,
            cleared: 0,
            landed: 0,
            consumed: 0,
            ahead: 0,
            sizes: [0; SLOTS as usize],
        }
    }

    /// Whether the sender has room for a piece more.
    pub(crate) fn has_room(&self, window: u32) -> bool {
        let freed = match self.way {
            // Written straight into the receiver's buffer.
            Way::Local | Way::Nvlink { .. } => self.consumed,
            // Free again when the piece has been delivered.
            Way::Network { .. } => self.landed,
        };
        self.filled - freed < window
    }

    /// Whether there is a piece to take.
    pub(crate) fn has_piece(&self) -> bool {
        self.landed > self.consumed
    }

    /// Takes a piece into the sender's buffer; its slot.
    pub(crate) fn fill(&mut self, bytes: u32) -> u8 {
        let slot = self.filled % SLOTS;
        self.sizes[slot as usize] = bytes;
        self.filled += 1;
        slot as u8
    }

    /// The next piece for the NIC, if there is one and the receiver is ready for it: its number.
    pub(crate) fn post(&mut self) -> Option<(u32, u32)> {
        let ready = self.posted < self.staged && self.posted < self.cleared;
        ready.then(|| {
            self.posted += 1;
            let number = self.posted - 1;
            (number, self.sizes[(number % SLOTS) as usize])
        })
    }

    /// Whether the receiver may ask for a piece more, and asks.
    pub(crate) fn grant(&mut self, window: u32) -> bool {
        let may = self.granted < self.expected.min(self.consumed + window);
        self.granted += u32::from(may);
        may
    }

    /// The piece in a slot has arrived.
    pub(crate) fn land(&mut self, slot: u8) {
        debug_assert!(self.ahead >> slot & 1 == 0, "a piece arrived twice");
        self.ahead |= 1 << (u32::from(slot) % SLOTS);
        while self.landed < self.filled && self.ahead >> (self.landed % SLOTS) & 1 == 1 {
            self.ahead &= !(1 << (self.landed % SLOTS));
            self.landed += 1;
        }
    }

    /// The size of the piece in a slot.
    pub(crate) fn size(&self, slot: u8) -> u32 {
        self.sizes[usize::from(slot)]
    }

    /// What is where, but for how many pieces have passed.
    pub(crate) fn posture(&self, out: &mut Vec<u64>) {
        let beyond = |count: u32| u64::from(count.wrapping_sub(self.consumed) & 0xff);
        let slot = self.consumed % SLOTS;
        let mut first = u64::from(slot) | u64::from(self.ahead) << 8;
        first |= beyond(self.filled) << 24 | beyond(self.landed) << 32;
        out.push(first);
        if let Way::Network { .. } = self.way {
            let counts = [self.staged, self.posted, self.granted, self.cleared];
            out.push(counts.into_iter().fold(0, |all, count| all << 8 | beyond(count)));
        }
        let held = (self.consumed..self.filled).map(|piece| self.size((piece % SLOTS) as u8));
        out.extend(held.map(u64::from));
    }

    /// So many pieces more have passed, a multiple of the slots.
    pub(crate) fn advance(&mut self, pieces: u32) {
        debug_assert!(pieces.is_multiple_of(SLOTS), "pieces keep their slots");
        let all = [&mut self.filled, &mut self.landed, &mut self.consumed];
        all.into_iter().for_each(|count| *count += pieces);
        if let Way::Network { .. } = self.way {
            let own = [&mut self.staged, &mut self.posted, &mut self.granted, &mut self.cleared];
            own.into_iter().for_each(|count| *count += pieces);
        }
    }

    /// The size of the oldest piece in the receiver's buffer.
    pub(crate) fn oldest(&self) -> u32 {
        self.sizes[(self.consumed % SLOTS) as usize]
    }
}
