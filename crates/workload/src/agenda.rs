//! [`Agenda`]: what is to happen on a network without packets, in its order.
//!
//! Jobs of thousands of GPUs have hundreds of thousands of entries here, and a heap of them misses the cache at every
//! level. Time only goes forward, so that a radix heap serves (R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan,
//! "Faster algorithms for the shortest path problem", 1990): entries lie in buckets by the highest bit in which their
//! time differs from the present, and a bucket is dealt out to those below it when all of them are empty. An entry is moved a
//! few times, always in order of memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::{Instant, Span};

/// Which of those that happen at the same instant come first: by class, then by source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The lower one first.
    pub class: u8,
    /// The lower one first.
    pub source: u32,
}

/// What is to happen, by time, then by rank, then in the order of coming up: there is one thread, so that is
/// an order, too. Buckets move and compare plain numbers, what happens stays where it is.
#[derive(Debug)]
pub struct Agenda<T> {
    /// The time of what happened last. Nothing comes up for a time before it.
    present: u64,
    /// What happens at that time: class, source, order and slot in one number.
    due: BinaryHeap<Reverse<u128>>,
    /// What happens later.
    later: [Bucket; 64],
    /// Buckets that have something, a bit each.
    filled: u64,
    order: u64,
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

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            present: 0,
            due: BinaryHeap::new(),
            later: std::array::from_fn(|_| Bucket::default()),
            filled: 0,
            order: 0,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Agenda<T> {
    /// This is to happen then.
    ///
    /// # Panics
    ///
    /// If that is before what happened last.
    pub fn push(&mut self, at: Instant, rank: Rank, what: T) {
        assert!(at.as_ps() >= self.present, "time does not go back");
        self.order = self.order.wrapping_add(1);
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
        // 56 bits of order last for any run.
        let first = u128::from(rank.class) << 120 | u128::from(rank.source) << 88;
        let key = first | u128::from(self.order << 8 >> 8) << 32 | u128::from(slot);
        self.place(at.as_ps(), key);
    }

    fn place(&mut self, at: u64, key: u128) {
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
    pub fn next_at(&self) -> Option<Instant> {
        if !self.due.is_empty() {
            return Some(Instant::from_ps(self.present));
        }
        let bucket = self.later.get(self.filled.trailing_zeros() as usize)?;
        Some(Instant::from_ps(bucket.first))
    }

    /// What happens next, and when.
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        if self.due.is_empty() {
            self.advance()?;
        }
        let Reverse(key) = self.due.pop()?;
        let slot = key as u32;
        self.free.push(slot);
        Some((Instant::from_ps(self.present), self.slots[slot as usize]))
    }

    /// All that is to happen, in its order.
    pub(crate) fn in_order(&self) -> Vec<(Instant, T)> {
        let now = self.due.iter().map(|&Reverse(key)| (self.present, key));
        let later = self.later.iter().flat_map(|bucket| bucket.entries.iter().copied());
        let mut all: Vec<(u64, u128)> = now.chain(later).collect();
        all.sort_unstable();
        let what = |(at, key): (u64, u128)| (Instant::from_ps(at), self.slots[key as u32 as usize]);
        all.into_iter().map(what).collect()
    }

    /// The present and all that is to happen are so much later.
    pub(crate) fn postpone(&mut self, span: Span) {
        self.present += span.as_ps();
        let later = self.later.iter_mut().flat_map(|bucket| bucket.entries.drain(..));
        let entries: Vec<(u64, u128)> = later.collect();
        self.filled = 0;
        for (at, key) in entries {
            self.place(at + span.as_ps(), key);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;

    #[test]
    fn time_goes_first_then_rank_then_order() {
        let mut agenda = Agenda::default();
        let rank = |class, source| Rank { class, source };
        let at = Instant::from_ps;
        agenda.push(at(7), rank(0, 0), 'd');
        agenda.push(at(5), rank(1, 9), 'c');
        agenda.push(at(5), rank(1, 2), 'a');
        agenda.push(at(5), rank(1, 2), 'b');
        agenda.push(at(5), rank(0, 9), '0');
        assert_eq!(agenda.next_at(), Some(at(5)));
        let all: String = std::iter::from_fn(|| agenda.pop()).map(|(_, what)| what).collect();
        assert_eq!(all, "0abcd");
        agenda.push(at(7), rank(0, 0), 'e');
        assert_eq!(agenda.pop(), Some((at(7), 'e')));
        assert_eq!(agenda.next_at(), None);
        assert_eq!(agenda.pop(), None);
    }

    #[test]
    fn what_is_postponed_keeps_its_order_and_its_distance() {
        let mut stream = Stream::new(3, 0, "agenda");
        for spread in [3, 20, 44] {
            let mut agenda = Agenda::default();
            for number in 0..500u32 {
                let at = Instant::from_ps(stream.next_u64() >> (64 - spread));
                agenda.push(at, Rank { class: 0, source: number % 7 }, number);
            }
            assert!((0..100).all(|_| agenda.pop().is_some()));
            let before = agenda.in_order();
            let span = Span::from_ps(stream.next_u64() >> 20);
            agenda.postpone(span);
            let meant: Vec<_> =
                before.into_iter().map(|(at, what)| (at.plus(span), what)).collect();
            assert_eq!(agenda.in_order(), meant);
            let popped: Vec<_> = std::iter::from_fn(|| agenda.pop()).collect();
            assert_eq!(popped, meant);
        }
    }

    #[test]
    #[should_panic(expected = "time does not go back")]
    fn the_past_is_refused() {
        let mut agenda = Agenda::default();
        agenda.push(Instant::from_ps(5), Rank { class: 0, source: 0 }, ());
        agenda.pop();
        agenda.push(Instant::from_ps(4), Rank { class: 0, source: 0 }, ());
    }

    /// As a list that is sorted again for everything that happens.
    #[test]
    fn the_order_is_that_of_a_sorted_list() {
        let mut stream = Stream::new(7, 0, "agenda");
        for spread in [1, 3, 40, 64] {
            let mut agenda = Agenda::default();
            let mut list: Vec<(u64, u8, u32, u64)> = Vec::new();
            let mut now = 0;
            for number in 0..20_000 {
                let drawn = stream.next_u64();
                if drawn % 5 < 2 {
                    let first = list.iter().min().copied();
                    assert_eq!(agenda.next_at(), first.map(|(at, ..)| Instant::from_ps(at)));
                    let popped = agenda.pop().map(|(at, number)| (at.as_ps(), number));
                    assert_eq!(popped, first.map(|(at, .., number)| (at, number)));
                    list.retain(|entry| Some(*entry) != first);
                    now = first.map_or(now, |(at, ..)| at);
                } else {
                    let span = stream.next_u64() >> (64 - (1 + drawn % spread));
                    let (class, source) = ((drawn >> 8) as u8 % 3, (drawn >> 16) as u32 % 4);
                    let at = now.saturating_add(span);
                    agenda.push(Instant::from_ps(at), Rank { class, source }, number);
                    list.push((at, class, source, number));
                }
                // The list stays short, so that sorting it is quick.
                if list.len() > 300 {
                    list.sort_unstable();
                    for &(at, .., number) in &list {
                        assert_eq!(agenda.pop(), Some((Instant::from_ps(at), number)));
                        now = at;
                    }
                    list.clear();
                }
            }
        }
    }
}
