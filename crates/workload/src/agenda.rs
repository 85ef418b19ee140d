//! [`Agenda`]: what is to happen on a network without packets, in its order.
//!
//! Jobs of thousands of GPUs have hundreds of thousands of entries here, most of them a few microseconds ahead. What is near
//! is in buckets by its time, as in a calendar, and sorted when the bucket's time has come; what is far is in a radix heap
//! ([`radix`]). An entry is written once, in order of memory, and moved once.

mod radix;

use radix::Radix;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use xoff_units::{Instant, Span};

/// A bucket holds 2^14 ps, 16 ns: a ring on a thousand GPUs has a dozen entries in each.
const WIDTH: u32 = 14;

/// Buckets: 67 us. A summary of which are filled fits one word.
const BUCKETS: u64 = 64 * 64;

/// Which of those that happen at the same instant come first: by class, then by source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The lower one first.
    pub class: u8,
    /// The lower one first.
    pub source: u32,
}

/// When something happens: by time, then by rank, then in the order of coming up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    at: u64,
    /// Class and source, 40 bits.
    rank: u64,
    order: u64,
}

/// Something that happens. No two have the same turn.
#[derive(Debug, Clone, Copy)]
struct Entry<T> {
    turn: Turn,
    what: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.turn == other.turn
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.turn.cmp(&other.turn)
    }
}

/// What is to happen, by time, then by rank, then in the order of coming up: there is one thread, so that is
/// an order, too.
#[derive(Debug)]
pub struct Agenda<T> {
    /// The time of what happened last. Nothing comes up for a time before it.
    present: u64,
    order: u64,
    /// When the next thing happens; the end of time if nothing does.
    next: u64,
    /// Things to happen.
    count: usize,
    /// The bucket whose time has come: what was in it, the first one last, and what came up for it, or for a time before it,
    /// since.
    open: u64,
    sorted: Vec<Entry<T>>,
    late: BinaryHeap<Reverse<Entry<T>>>,
    near: Buckets<T>,
    far: Radix<T>,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self {
            present: 0,
            order: 0,
            next: u64::MAX,
            count: 0,
            open: 0,
            sorted: Vec::new(),
            late: BinaryHeap::new(),
            near: Buckets::default(),
            far: Radix::default(),
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
        let at = at.as_ps();
        assert!(at >= self.present, "time does not go back");
        self.order += 1;
        let rank = u64::from(rank.class) << 32 | u64::from(rank.source);
        self.put(Entry { turn: Turn { at, rank, order: self.order }, what });
    }

    #[inline(always)]
    fn put(&mut self, entry: Entry<T>) {
        let at = entry.turn.at;
        self.count += 1;
        self.next = self.next.min(at);
        let bucket = at >> WIDTH;
        if bucket <= self.open {
            self.late.push(Reverse(entry));
        } else if bucket - self.open < BUCKETS {
            self.near.put(bucket, entry);
        } else {
            self.far.push(entry.turn, entry.what);
        }
    }

    /// When the next thing happens.
    #[inline(always)]
    pub fn next_at(&self) -> Option<Instant> {
        (self.count > 0).then_some(Instant::from_ps(self.next))
    }

    /// What happens next, and when.
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        if self.count == 0 {
            return None;
        }
        self.present = self.next;
        if self.sorted.is_empty() && self.late.is_empty() {
            self.open_next();
        }
        let what = self.take();
        self.count -= 1;
        self.find_next();
        Some((Instant::from_ps(self.present), what))
    }

    /// The open bucket is empty: the next one is opened if its time has come. Else the calendar goes on to the present, when
    /// something happens that was far when it came up.
    fn open_next(&mut self) {
        let present = self.present >> WIDTH;
        match self.near.first(self.open) {
            Some(first) if first == self.present => {
                self.open = self.near.take(self.open, &mut self.sorted).unwrap_or(present);
                self.sorted.sort_unstable_by(|one, other| other.cmp(one));
            }
            Some(first) if first >> WIDTH == present => {}
            _ => self.open = self.open.max(present),
        }
    }

    /// Takes what happens next, whose time is the present: of the bucket that is open, or of what was far when it came up.
    #[inline(always)]
    fn take(&mut self) -> T {
        let sorted = self.sorted.last().map_or(Turn::NEVER, |entry| entry.turn);
        let late = self.late.peek().map_or(Turn::NEVER, |Reverse(entry)| entry.turn);
        let first = sorted.min(late);
        if self.far.next_at().is_some_and(|at| at <= first.at)
            && let Some(turn) = self.far.next_turn()
            && turn < first
            && let Some(what) = self.far.pop()
        {
            return what;
        }
        let entry = if sorted < late {
            self.sorted.pop()
        } else {
            self.late.pop().map(|Reverse(entry)| entry)
        };
        entry.expect("something happens at the present").what
    }

    /// Finds when the next thing happens.
    #[inline(always)]
    fn find_next(&mut self) {
        let sorted = self.sorted.last().map_or(u64::MAX, |entry| entry.turn.at);
        let late = self.late.peek().map_or(u64::MAX, |Reverse(entry)| entry.turn.at);
        let far = self.far.next_at().unwrap_or(u64::MAX);
        self.next = sorted.min(late).min(far);
        // What is in buckets comes after what is sorted.
        if sorted == u64::MAX {
            self.next = self.next.min(self.near.first(self.open).unwrap_or(u64::MAX));
        }
    }

    /// All that is to happen, in its order.
    pub(crate) fn in_order(&self) -> Vec<(Instant, T)> {
        let open = self.sorted.iter().chain(self.late.iter().map(|Reverse(entry)| entry));
        let near = open.chain(self.near.entries()).copied();
        let far = self.far.entries().map(|(turn, what)| Entry { turn, what });
        let mut all: Vec<Entry<T>> = near.chain(far).collect();
        all.sort_unstable();
        all.into_iter().map(|Entry { turn, what }| (Instant::from_ps(turn.at), what)).collect()
    }

    /// The present and all that is to happen are so much later.
    pub(crate) fn postpone(&mut self, span: Span) {
        let span = span.as_ps();
        let mut entries = std::mem::take(&mut self.sorted);
        entries.extend(self.late.drain().map(|Reverse(entry)| entry));
        while let Some(bucket) = self.near.take(self.open, &mut self.sorted) {
            self.open = bucket;
            entries.append(&mut self.sorted);
        }
        self.present += span;
        self.open = self.present >> WIDTH;
        self.far.postpone(span);
        (self.count, self.next) = (self.count - entries.len(), u64::MAX);
        for mut entry in entries {
            entry.turn.at += span;
            self.put(entry);
        }
        self.find_next();
    }
}

impl Turn {
    const NEVER: Self = Self { at: u64::MAX, rank: u64::MAX, order: u64::MAX };
}

/// What is near, by bucket. Those of one turn of the calendar are all after the open one.
#[derive(Debug)]
struct Buckets<T> {
    /// The entries of a bucket and the earliest of their times; none before the first is put in.
    buckets: Vec<(u64, Vec<Entry<T>>)>,
    /// Buckets that have something, a bit each, and which of these words have any.
    filled: [u64; 64],
    words: u64,
    /// Memory of buckets that are empty. What was emptied last is used first, because it is in the caches.
    spare: Vec<Vec<Entry<T>>>,
}

impl<T> Default for Buckets<T> {
    fn default() -> Self {
        Self { buckets: Vec::new(), filled: [0; 64], words: 0, spare: Vec::new() }
    }
}

impl<T> Buckets<T> {
    #[inline(always)]
    fn put(&mut self, bucket: u64, entry: Entry<T>) {
        if self.buckets.is_empty() {
            self.buckets.resize_with(BUCKETS as usize, || (u64::MAX, Vec::new()));
        }
        let place = (bucket % BUCKETS) as usize;
        let (first, entries) = &mut self.buckets[place];
        if *first == u64::MAX
            && let Some(spare) = self.spare.pop()
        {
            *entries = spare;
        }
        *first = entry.turn.at.min(*first);
        entries.push(entry);
        self.filled[place / 64] |= 1 << (place % 64);
        self.words |= 1 << (place / 64);
    }

    /// The place of the first bucket that has something after the open one.
    #[inline(always)]
    fn next(&self, open: u64) -> Option<usize> {
        if self.words == 0 {
            return None;
        }
        let start = ((open + 1) % BUCKETS) as usize;
        let (word, bit) = (start / 64, start % 64);
        let rest = self.filled[word] & u64::MAX << bit;
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        // The words after it, round to the bits of its own before the start.
        let after = (word + 1) % 64;
        let next = (after + self.words.rotate_right(after as u32).trailing_zeros() as usize) % 64;
        Some(next * 64 + self.filled[next].trailing_zeros() as usize)
    }

    /// The earliest time in any bucket after the open one.
    #[inline(always)]
    fn first(&self, open: u64) -> Option<u64> {
        Some(self.buckets[self.next(open)?].0)
    }

    /// Empties the first bucket after the open one into `out`, which is empty: its number.
    fn take(&mut self, open: u64, out: &mut Vec<Entry<T>>) -> Option<u64> {
        let place = self.next(open)?;
        let (first, entries) = &mut self.buckets[place];
        let bucket = std::mem::replace(first, u64::MAX) >> WIDTH;
        debug_assert!(out.is_empty(), "what is to happen would be lost");
        self.spare.push(std::mem::replace(out, std::mem::take(entries)));
        self.filled[place / 64] &= !(1 << (place % 64));
        if self.filled[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
        Some(bucket)
    }

    fn entries(&self) -> impl Iterator<Item = &Entry<T>> {
        self.buckets.iter().flat_map(|(_, entries)| entries)
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
    fn buckets_are_found_all_the_way_round() {
        for open in [0, 1, 62, 63, 64, 4000, 4095, 4096, 9_999] {
            for ahead in [1, 2, 63, 64, 65, 2_000, BUCKETS - 1] {
                let mut buckets = Buckets::default();
                assert_eq!(buckets.first(open), None);
                let bucket = open + ahead;
                for at in [(bucket << WIDTH) + 5, bucket << WIDTH] {
                    buckets.put(bucket, Entry { turn: Turn { at, rank: 0, order: 0 }, what: () });
                }
                assert_eq!(buckets.first(open), Some(bucket << WIDTH));
                let mut out = Vec::new();
                assert_eq!((buckets.take(open, &mut out), out.len()), (Some(bucket), 2));
                assert_eq!((buckets.first(open), buckets.words), (None, 0));
            }
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
                    // Spans that come again, and others.
                    let span = match drawn >> 40 & 3 {
                        0 => stream.next_u64() >> (64 - (1 + drawn % spread)),
                        _ => [0, 3, 700, 5_000][(drawn >> 42) as usize & 3],
                    };
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
