//! Letters: what only the two ends of a flow read of a packet.
//!
//! A packet on its way is a small value ([`crate::packet`]); its letter lies at the place of the same
//! number. It is written when the packet is made, and nobody reads it after the packet was delivered or
//! dropped.

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
    /// The flow it belongs to.
    pub(crate) flow: u32,
}

/// The letters of all packets alive, by packet, and how many were ever written.
#[derive(Default)]
pub(crate) struct Letters {
    letters: Vec<Letter>,
    /// Packets made, and their bytes.
    pub(crate) written: u64,
    pub(crate) written_bytes: u64,
    /// Every header goes through the bytes of the wire and back.
    checked: bool,
    /// Some packets collect telemetry, which is here, by letter.
    collects: bool,
    ints: Vec<IntStack>,
    /// Entropies travel back; the one of each packet is here, by letter, and whether it was marked.
    recycles: bool,
    entropies: Vec<Option<(u32, bool)>>,
    /// The entropy of the packet whose letter is written next.
    pub(crate) entropy: Option<u32>,
    /// Any of the two.
    tables: bool,
}

impl Letters {
    /// No letters yet. With `checked` every header must survive the wire; with `collects` there is
    /// room for the telemetry of every packet, with `recycles` for its entropy. `expected` packets may be alive at a time, or more.
    pub(crate) fn new(expected: usize, checked: bool, collects: bool, recycles: bool) -> Self {
        let letters = Vec::with_capacity(expected);
        let tables = collects | recycles;
        Self { letters, checked, collects, recycles, tables, ..Self::default() }
    }

    /// Writes the letter of a packet of `size` bytes, whose place is one that was used before or the
    /// next new one.
    #[inline(always)]
    pub(crate) fn write(&mut self, index: u32, letter: Letter, size: u16) {
        self.written += 1;
        self.written_bytes += u64::from(size);
        match self.letters.get_mut(index as usize) {
            Some(place) => *place = letter,
            None => {
                debug_assert_eq!(index as usize, self.letters.len(), "a place was left out");
                self.letters.push(letter);
            }
        }
        if self.checked | self.tables {
            self.prepare(index);
        }
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
        if self.recycles {
            self.entropies.resize(self.letters.len(), None);
            self.entropies[index as usize] = self.entropy.take().map(|entropy| (entropy, false));
        }
    }

    /// Asks for the memory of a letter.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32) {
        prefetch_index::prefetch_index(&self.letters, index as usize);
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &Letter {
        &self.letters[index as usize]
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
        if self.tables {
            self.bring_back(from, to);
        }
    }

    #[cold]
    fn bring_back(&mut self, from: u32, to: u32) {
        if self.collects {
            self.ints[to as usize] = self.ints[from as usize];
        }
        if self.recycles {
            self.entropies[to as usize] = self.entropies[from as usize].take();
        }
    }

    /// The entropy that a packet brings back, and whether the packet that had it was marked.
    pub(crate) fn returned(&self, index: u32) -> Option<(u32, bool)> {
        *self.entropies.get(index as usize)?
    }

    /// A packet was marked, which its entropy brings back.
    pub(crate) fn mark_entropy(&mut self, index: u32) {
        if let Some(Some((_, marked))) = self.entropies.get_mut(index as usize) {
            *marked = true;
        }
    }

    /// The most packets ever alive at once.
    pub(crate) fn most(&self) -> u64 {
        self.letters.len() as u64
    }
}
