//! The event queue: a wheel of narrow time buckets, and a plain heap to check it against.
//!
//! A bucket holds about one event, so that finding the next one is a look at a bitmap and sorting a
//! handful. Events beyond the wheel wait in a heap and move in as it turns.

use crate::event::{Event, EventQueue, Key};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::{Instant, Span};

/// No node.
const NIL: u32 = u32::MAX;

/// An event in a bucket. Its time is the bucket's plus the high half of `order`; the low half is
/// its key, so one comparison of `order` sorts a bucket.
#[derive(Clone, Copy)]
struct Node {
    order: u64,
    data: u32,
    next: u32,
}

/// The bucket wheel.
pub(crate) struct Wheel {
    /// log2 of the bucket width in picoseconds.
    shift: u32,
    /// The bits of a time that say where in its bucket it lies.
    within: u64,
    /// Number of buckets less one; a power of two less one.
    mask: u64,
    /// First node of each bucket.
    heads: Vec<u32>,
    /// One bit per bucket that holds something.
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    free: u32,
    /// The bucket being emptied, as an absolute number.
    now: u64,
    /// What is left of it, last first.
    current: Vec<(u64, u32)>,
    overflow: BinaryHeap<Reverse<Event>>,
    /// Absolute bucket of the first event in `overflow`.
    overflow_bucket: u64,
}

impl Wheel {
    /// A wheel for about `density` events per microsecond that reaches `horizon` ahead.
    pub(crate) fn new(events_per_us: u64, horizon: Span) -> Self {
        const MOST_BUCKETS: u64 = 1 << 16;
        let width = (1_000_000 / events_per_us.max(1)).clamp(1, 1 << 24);
        let mut shift = width.ilog2();
        while (horizon.as_ps() >> shift) + 2 > MOST_BUCKETS && shift < 31 {
            shift += 1;
        }
        let buckets = ((horizon.as_ps() >> shift) + 2).next_power_of_two().clamp(64, MOST_BUCKETS);
        Self {
            shift,
            within: (1 << shift) - 1,
            mask: buckets - 1,
            heads: vec![NIL; buckets as usize],
            occupied: vec![0; (buckets / 64) as usize],
            nodes: Vec::new(),
            free: NIL,
            now: 0,
            current: Vec::with_capacity(64),
            overflow: BinaryHeap::new(),
            overflow_bucket: u64::MAX,
        }
    }

    #[inline(always)]
    fn place(&mut self, bucket: u64, event: Event) {
        let slot = (bucket & self.mask) as usize;
        let order = (event.at.as_ps() & self.within) << 32 | u64::from(event.key.0);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        let head = &mut self.heads[slot];
        let node = Node { order, data: event.data, next: *head };
        match self.nodes.get_mut(self.free as usize) {
            Some(place) => {
                *head = self.free;
                self.free = place.next;
                *place = node;
            }
            None => {
                *head = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
    }

    /// Adds an event of the bucket that is being emptied, or one beyond the wheel.
    #[cold]
    fn push_near_or_far(&mut self, at: u64, key: u32, data: u32) {
        let bucket = at >> self.shift;
        debug_assert!(bucket >= self.now, "an event in the past");
        if bucket == self.now {
            let order = (at & self.within) << 32 | u64::from(key);
            let place = self.current.partition_point(|&(other, _)| other > order);
            self.current.insert(place, (order, data));
        } else {
            self.overflow_bucket = self.overflow_bucket.min(bucket);
            self.overflow.push(Reverse(Event { at: Instant::from_ps(at), key: Key(key), data }));
        }
    }

    /// Turns to the next bucket that holds something and gives back its first event.
    #[inline(always)]
    fn turn(&mut self) -> Option<(u64, u32)> {
        let bucket = self.next_occupied();
        if self.overflow_bucket <= bucket.saturating_add(self.mask) {
            return self.turn_with_overflow(bucket);
        }
        self.now = bucket;
        self.empty_bucket()
    }

    /// The same when events have come, or may have come, within reach from beyond the wheel.
    #[cold]
    fn turn_with_overflow(&mut self, bucket: u64) -> Option<(u64, u32)> {
        let bucket = bucket.min(self.overflow_bucket);
        if bucket == u64::MAX {
            return None;
        }
        self.now = bucket;
        self.take_in_overflow();
        self.empty_bucket()
    }

    /// The next occupied bucket after the current one, as an absolute number; `u64::MAX` if there
    /// is none.
    #[inline(always)]
    fn next_occupied(&self) -> u64 {
        let start = self.now & self.mask;
        let first = (start / 64) as usize;
        // The current bucket was emptied, and nothing is placed into it again: its bit is clear.
        let bits = self.occupied[first] & (u64::MAX << (start % 64));
        if bits != 0 {
            return self.now + (u64::from(bits.trailing_zeros()) - start % 64);
        }
        self.next_occupied_after(first)
    }

    /// The same, beyond the first word.
    #[inline(never)]
    fn next_occupied_after(&self, first: usize) -> u64 {
        let start = self.now & self.mask;
        let (before, after) = self.occupied.split_at(first + 1);
        let words = after.iter().zip(first + 1..).chain(before.iter().zip(0..));
        for (&bits, word) in words {
            if bits != 0 {
                let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return self.now + (slot.wrapping_sub(start) & self.mask);
            }
        }
        u64::MAX
    }

    /// Moves what has come within reach from the overflow heap into the wheel.
    #[cold]
    fn take_in_overflow(&mut self) {
        while let Some(&Reverse(event)) = self.overflow.peek() {
            let bucket = event.at.as_ps() >> self.shift;
            if bucket > self.now + self.mask {
                break;
            }
            self.overflow.pop();
            self.place(bucket, event);
        }
        self.overflow_bucket =
            self.overflow.peek().map_or(u64::MAX, |&Reverse(event)| event.at.as_ps() >> self.shift);
    }

    /// Takes the current bucket's events out and gives back the first.
    #[inline(always)]
    fn empty_bucket(&mut self) -> Option<(u64, u32)> {
        let slot = (self.now & self.mask) as usize;
        let index = self.heads[slot];
        self.heads[slot] = NIL;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let node = &mut self.nodes[index as usize];
        let first = (node.order, node.data);
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = index;
        if next == NIL {
            return Some(first);
        }
        let node = &mut self.nodes[next as usize];
        if node.next != NIL {
            return self.sort_bucket(first, next);
        }
        let second = (node.order, node.data);
        node.next = self.free;
        self.free = next;
        let (sooner, later) = if first < second { (first, second) } else { (second, first) };
        self.current.push(later);
        Some(sooner)
    }

    /// Sorts a bucket of three events or more into `current` and gives back the first.
    #[inline(never)]
    fn sort_bucket(&mut self, first: (u64, u32), mut index: u32) -> Option<(u64, u32)> {
        self.current.push(first);
        while index != NIL {
            let node = &mut self.nodes[index as usize];
            self.current.push((node.order, node.data));
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = index;
            index = next;
        }
        match self.current.as_mut_slice() {
            few if few.len() <= 20 => insertion_sort(few),
            many => many.sort_unstable_by(|a, b| b.cmp(a)),
        }
        self.current.pop()
    }
}

/// Sorts a handful of events, last first.
#[inline(always)]
fn insertion_sort(events: &mut [(u64, u32)]) {
    for sorted in 1..events.len() {
        let event = events[sorted];
        let mut at = sorted;
        while at > 0 && events[at - 1] < event {
            events[at] = events[at - 1];
            at -= 1;
        }
        events[at] = event;
    }
}

impl EventQueue for Wheel {
    #[inline(always)]
    fn push(&mut self, event: Event) {
        let bucket = event.at.as_ps() >> self.shift;
        let ahead = bucket.wrapping_sub(self.now);
        if ahead.wrapping_sub(1) < self.mask {
            self.place(bucket, event);
        } else {
            self.push_near_or_far(event.at.as_ps(), event.key.0, event.data);
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Event> {
        let (order, data) = match self.current.pop() {
            Some(event) => event,
            None => self.turn()?,
        };
        let at = Instant::from_ps((self.now << self.shift) + (order >> 32));
        Some(Event { at, key: Key(order as u32), data })
    }

    fn at_most(&self, count: usize) -> bool {
        let buckets: u32 = self.occupied.iter().map(|word| word.count_ones()).sum();
        if self.current.len() + self.overflow.len() + buckets as usize > count {
            return false;
        }
        let mut waiting = self.current.len() + self.overflow.len();
        for &head in self.heads.iter().filter(|&&head| head != NIL) {
            let mut index = head;
            while index != NIL {
                waiting += 1;
                index = self.nodes[index as usize].next;
            }
        }
        waiting <= count
    }
}

/// The reference: a binary heap.
#[derive(Default)]
pub(crate) struct Heap {
    heap: BinaryHeap<Reverse<Event>>,
}

impl EventQueue for Heap {
    fn push(&mut self, event: Event) {
        self.heap.push(Reverse(event));
    }

    fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse(event)| event)
    }

    fn at_most(&self, count: usize) -> bool {
        self.heap.len() <= count
    }
}

/// A heap that hands out the events of one instant in the order in which they were thought of.
#[derive(Default)]
pub(crate) struct TurnHeap {
    heap: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    turns: u64,
}

impl EventQueue for TurnHeap {
    const BY_TURN: bool = true;

    fn push(&mut self, event: Event) {
        let turn = self.take_turn();
        self.push_in_turn(event, turn);
    }

    fn take_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    fn push_in_turn(&mut self, event: Event, turn: u64) {
        self.heap.push(Reverse((event.at, turn, event)));
    }

    fn pop(&mut self) -> Option<Event> {
        self.heap.pop().map(|Reverse((_, _, event))| event)
    }

    fn at_most(&self, count: usize) -> bool {
        self.heap.len() <= count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is pushed when, wheel and heap give back the same sequence.
        #[test]
        fn wheel_and_heap_agree(
            density in 1u64..100_000,
            horizon in 1_000u64..10_000_000,
            steps in proptest::collection::vec(
                (proptest::collection::vec((0u64..20_000_000, 0u32..500), 0..4), 0usize..4),
                1..200,
            ),
        ) {
            let mut wheel = Wheel::new(density, Span::from_ps(horizon));
            let mut heap = Heap::default();
            let mut now = Instant::ZERO;
            let mut serial = 0;
            for (pushes, pops) in steps {
                for (delay, id) in pushes {
                    // A few exactly now, many soon, some far.
                    let delay = match delay % 5 { 0 => 0, 1 | 2 => delay % 5_000, _ => delay };
                    let at = now + Span::from_ps(delay);
                    serial += 1;
                    let key = Key::new(Kind::Arrive, id * 4096 + serial % 4096);
                    let event = Event { at, key, data: serial };
                    wheel.push(event);
                    heap.push(event);
                }
                for count in [0, 1, 5] {
                    prop_assert_eq!(wheel.at_most(count), heap.at_most(count));
                }
                for _ in 0..pops {
                    let (a, b) = (wheel.pop(), heap.pop());
                    prop_assert_eq!(a, b);
                    now = a.map_or(now, |event| event.at);
                }
            }
            while let Some(event) = heap.pop() {
                prop_assert_eq!(wheel.pop(), Some(event));
            }
            prop_assert_eq!(wheel.pop(), None);
        }
    }

    #[test]
    fn far_events_come_in_order() {
        let mut wheel = Wheel::new(1000, Span::from_us(1));
        for ms in [30u64, 10, 20] {
            let at = Instant::ZERO + Span::from_ms(ms);
            wheel.push(Event { at, key: Key::new(Kind::Sample, 0), data: ms as u32 });
        }
        let order: Vec<u32> = std::iter::from_fn(|| wheel.pop()).map(|event| event.data).collect();
        assert_eq!(order, [10, 20, 30]);
    }
}
