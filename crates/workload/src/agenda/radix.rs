//! [`Radix`]: what happens at any time from now on.
//!
//! Jobs of thousands of GPUs have hundreds of thousands of entries here, and a heap of them misses the cache at every
//! level. Time only goes forward, so that a radix heap serves (R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan,
//! "Faster algorithms for the shortest path problem", 1990): entries lie in buckets by the highest bit in which their
//! time differs from the present, and a bucket is dealt out to those below it when all of them are empty. An entry is moved a
//! few times, always in order of memory. Buckets move and compare plain numbers, what happens stays where it is.

use super::Turn;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is to happen, by its turn.
#[derive(Debug)]
pub(super) struct Radix<T> {
    /// The time of what happened last, or a time before that. Nothing comes up for a time before it.
    present: u64,
    /// What happens at that time: rank, order and slot in one number.
    due: BinaryHeap<Reverse<u128>>,
    /// What happens later.
    later: [Bucket; 64],
    /// Buckets that have something, a bit each.
    filled: u64,
    slots: Vec<T>,
    free: Vec<u32>,
}

/// Entries whose time differs from the present in the same highest bit: all are before those of the next bucket.
#[derive(Debug, Default)]
struct Bucket {
    entries: Vec<(u64, u128)>,
    /// The earliest of their times.
    first: u64,
}

/// Rank (40 bits), order and slot of an entry in one number. 56 bits of order last for any run.
fn key(turn: Turn, slot: u32) -> u128 {
    u128::from(turn.rank) << 88 | u128::from(turn.order << 8 >> 8) << 32 | u128::from(slot)
}

/// The turn of an entry.
fn turn((at, key): (u64, u128)) -> Turn {
    Turn { at, rank: (key >> 88) as u64, order: (key >> 32) as u64 & (u64::MAX >> 8) }
}

impl<T> Default for Radix<T> {
    fn default() -> Self {
        Self {
            present: 0,
            due: BinaryHeap::new(),
            later: std::array::from_fn(|_| Bucket::default()),
            filled: 0,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Radix<T> {
    pub(super) fn push(&mut self, turn: Turn, what: T) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = what;
                slot
            }
            None => {
                self.slots.push(what);
                self.slots.len() as u32 - 1
            }
        };
        self.place(turn.at, key(turn, slot));
    }

    fn place(&mut self, at: u64, key: u128) {
        debug_assert!(at >= self.present, "an entry of the past");
        let Some(bit) = (at ^ self.present).checked_ilog2() else {
            return self.due.push(Reverse(key));
        };
        let bucket = &mut self.later[bit as usize];
        if self.filled >> bit & 1 == 0 || at < bucket.first {
            bucket.first = at;
        }
        bucket.entries.push((at, key));
        self.filled |= 1 << bit;
    }

    /// When the next thing happens.
    #[inline(always)]
    pub(super) fn next_at(&self) -> Option<u64> {
        if !self.due.is_empty() {
            return Some(self.present);
        }
        Some(self.later.get(self.filled.trailing_zeros() as usize)?.first)
    }

    /// The turn of what happens next. To be asked for only when its time has come: nothing may come up for an earlier one
    /// after that.
    pub(super) fn next_turn(&mut self) -> Option<Turn> {
        if self.due.is_empty() {
            self.advance()?;
        }
        let &Reverse(key) = self.due.peek()?;
        Some(turn((self.present, key)))
    }

    /// What happens next.
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.due.is_empty() {
            self.advance()?;
        }
        let Reverse(key) = self.due.pop()?;
        let slot = key as u32;
        self.free.push(slot);
        Some(self.slots[slot as usize])
    }

    /// All that is to happen, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (Turn, T)> {
        let now = self.due.iter().map(|&Reverse(key)| (self.present, key));
        let later = self.later.iter().flat_map(|bucket| bucket.entries.iter().copied());
        now.chain(later).map(|entry| (turn(entry), self.slots[entry.1 as u32 as usize]))
    }

    /// The present and all that is to happen are so much later.
    pub(super) fn postpone(&mut self, span: u64) {
        self.present += span;
        let later = self.later.iter_mut().flat_map(|bucket| bucket.entries.drain(..));
        let entries: Vec<(u64, u128)> = later.collect();
        self.filled = 0;
        for (at, key) in entries {
            self.place(at + span, key);
        }
    }

    /// The present becomes the time of what happens next: its bucket is dealt out to those below it.
    fn advance(&mut self) -> Option<()> {
        let bit = self.filled.trailing_zeros();
        let bucket = self.later.get_mut(bit as usize)?;
        self.present = bucket.first;
        self.filled &= !(1 << bit);
        let mut entries = std::mem::take(&mut bucket.entries);
        for (at, key) in entries.drain(..) {
            self.place(at, key);
        }
        // It is empty again, and keeps its memory.
        self.later[bit as usize].entries = entries;
        Some(())
    }
}
