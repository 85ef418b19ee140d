//! Letters: what only the two ends of a flow read of a packet.
//!
//! A packet on its way is a small value ([`crate::packet`]) with the number of its letter. The letter
//! is written when the packet is made and thrown away when it is delivered or dropped, so as many
//! letters exist as packets are alive.

use xoff_transport::{IntHop, IntStack};
use xoff_units::Instant;
use xoff_wire::Header;

/// What only the ends of a flow read of a packet. One cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Letter {
    /// The transport header.
    pub(crate) header: Header,
    /// When the data packet that this is, or answers, left its NIC.
    pub(crate) sent_at: Instant,
    /// The flow it belongs to, and the endpoint it is for while that flow lives.
    pub(crate) flow: u32,
    pub(crate) to: u32,
}

/// The letters of all packets alive, and how many were ever written.
#[derive(Default)]
pub(crate) struct Letters {
    letters: Vec<Letter>,
    free: Vec<u32>,
    /// Packets made, and their bytes.
    pub(crate) written: u64,
    pub(crate) written_bytes: u64,
    /// Every header goes through the bytes of the wire and back.
    checked: bool,
    /// Some packets collect telemetry, which is here, by letter.
    collects: bool,
    ints: Vec<IntStack>,
}

impl Letters {
    /// No letters yet. With `checked` every header must survive the wire; with `collects` there is
    /// room for the telemetry of every packet.
    pub(crate) fn new(checked: bool, collects: bool) -> Self {
        Self { checked, collects, ..Self::default() }
    }

    /// Writes the letter of a packet of `size` bytes.
    #[inline(always)]
    pub(crate) fn write(&mut self, letter: Letter, size: u16) -> u32 {
        self.written += 1;
        self.written_bytes += u64::from(size);
        let index = match self.free.pop() {
            Some(index) => {
                self.letters[index as usize] = letter;
                index
            }
            None => {
                self.letters.push(letter);
                self.letters.len() as u32 - 1
            }
        };
        if self.checked | self.collects {
            self.prepare(index);
        }
        index
    }

    /// What few runs do for every letter.
    #[cold]
    fn prepare(&mut self, index: u32) {
        if self.checked {
            crate::check::survives_the_wire(&self.letters[index as usize].header);
        }
        if self.collects {
            self.ints.resize(self.letters.len(), IntStack::EMPTY);
            self.ints[index as usize] = IntStack::EMPTY;
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &Letter {
        &self.letters[index as usize]
    }

    /// Throws a letter away.
    #[inline(always)]
    pub(crate) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// What a packet has collected, where packets do.
    pub(crate) fn collected(&self, index: u32) -> Option<&IntStack> {
        self.ints.get(index as usize)
    }

    /// A packet collects what a hop says.
    pub(crate) fn collect(&mut self, index: u32, hop: IntHop) {
        self.ints[index as usize].push(hop);
    }

    /// What one packet collected travels back in another.
    #[inline(always)]
    pub(crate) fn return_collected(&mut self, from: u32, to: u32) {
        if self.collects {
            self.ints[to as usize] = self.ints[from as usize];
        }
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
