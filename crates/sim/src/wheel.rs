//! The event queue: a wheel of narrow time buckets, and a plain heap to check it against.
//!
//! A bucket is two cache lines with room for a few events, kept in order, so that finding the next
//! one is mostly a look at the next place, else at a bitmap. Time goes through the buckets in order,
//! and most events are put in a fixed distance ahead: both are streams that the processor fetches by
//! itself. What finds no room in its bucket, as when a thousand flows start together, is written on sheets
//! and sorted when its time comes. Events beyond the wheel wait in a heap and move in as it turns.

use crate::Settings;
use crate::engine::Engine;
use crate::event::{Ahead, Event, EventQueue, Key, Showing};
use crate::report::Outcome;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::{Instant, Span};

/// Events that a bucket holds itself.
const ROOM: usize = 10;

/// An event of a crowd is shown so many events before its turn: what it needs is there by then, and not gone again.
const SOON: usize = 8;

/// The same in a dense wheel, where events are shown three times.
const SHOWINGS: [(usize, Showing); 3] =
    [(24, Showing::First), (13, Showing::Second), (5, Showing::Third)];

/// From so many events per microsecond on a wheel is dense: some thousand busy NICs, whose state no cache holds.
const DENSE: u64 = 200_000;

/// No sheet.
const NONE: u32 = u32::MAX;

/// Events on a sheet.
const LINES: usize = 31;

/// The events of one stretch of time, first to last. The high half of an event's order is the low
/// half of its time, the low half is its key: within a bucket, which never reaches over a multiple
/// of 2^32 ps, comparing orders compares time, kind and id.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket {
    orders: [u64; ROOM],
    data: [u32; ROOM],
}

impl Bucket {
    const EMPTY: Self = Self { orders: [0; ROOM], data: [0; ROOM] };

    /// Adds an event to so many.
    #[inline(always)]
    fn add(&mut self, count: u8, order: u64, data: u32) {
        let mut at = usize::from(count);
        while at > 0 && order <= self.orders[at - 1] {
            if order == self.orders[at - 1] && data >= self.data[at - 1] {
                break;
            }
            (self.orders[at], self.data[at]) = (self.orders[at - 1], self.data[at - 1]);
            at -= 1;
        }
        (self.orders[at], self.data[at]) = (order, data);
    }
}

/// What an event is ordered by within its bucket.
#[inline(always)]
fn order(at: u64, key: u32) -> u64 {
    at << 32 | u64::from(key)
}

/// Order and data in one number, for sorting.
#[inline(always)]
fn whole(order: u64, data: u32) -> u128 {
    u128::from(order) << 32 | u128::from(data)
}

/// Events that had no room in their bucket.
struct Sheet {
    count: u32,
    /// The bucket's sheet before, or the next unused one.
    next: u32,
    events: [u128; LINES],
}

/// The bucket wheel.
pub(crate) struct Wheel {
    /// log2 of the bucket width in picoseconds.
    shift: u32,
    /// Number of buckets less one; a power of two less one.
    mask: u64,
    /// Events are shown three times.
    dense: bool,
    buckets: Vec<Bucket>,
    /// Events in each bucket; when it is full, there may be more on its sheets. Apart, because all of
    /// these fit the cache: adding the first event to a bucket waits for no load.
    counts: Vec<u8>,
    /// One bit per bucket that holds something.
    occupied: Vec<u64>,
    /// Each bucket's last sheet. Apart, because it is rarely looked at.
    last_sheets: Vec<u32>,
    sheets: Vec<Sheet>,
    /// The first that no bucket uses.
    unused: u32,
    /// The bucket being emptied, as an absolute number, and the high half of its time.
    now: u64,
    high: u64,
    /// Its place among the buckets, how many events it had, and how many of those are done.
    slot: usize,
    count: u32,
    done: u32,
    /// All that is left of it, last first, if it spilled or if events have come since it is being
    /// emptied; then nothing is left in its place.
    crowd: Vec<u128>,
    overflow: BinaryHeap<Reverse<Event>>,
    /// When the wheel comes to this bucket, the first event in `overflow` is within reach.
    overflow_reach: u64,
}

impl Wheel {
    /// A wheel for about so many events per microsecond that reaches `horizon` ahead.
    pub(crate) fn new(events_per_us: u64, horizon: Span) -> Self {
        // Half full on average: fuller ones spill, emptier ones waste cache.
        let dense = events_per_us >= DENSE;
        let most_buckets = if dense { 1 << 18 } else { 1 << 16 };
        let width = (4_000_000 / events_per_us.max(1)).clamp(1, 1 << 24);
        let mut shift = width.ilog2();
        while (horizon.as_ps() >> shift) + 2 > most_buckets && shift < 32 {
            shift += 1;
        }
        let buckets = ((horizon.as_ps() >> shift) + 2).next_power_of_two().clamp(64, most_buckets);
        Self {
            shift,
            mask: buckets - 1,
            dense,
            buckets: vec![Bucket::EMPTY; buckets as usize],
            counts: vec![0; buckets as usize],
            occupied: vec![0; (buckets / 64) as usize],
            last_sheets: vec![NONE; buckets as usize],
            sheets: Vec::new(),
            unused: NONE,
            now: 0,
            high: 0,
            slot: 0,
            count: 0,
            done: 0,
            crowd: Vec::with_capacity(64),
            overflow: BinaryHeap::new(),
            overflow_reach: u64::MAX,
        }
    }

    /// Puts an event into a bucket ahead.
    #[inline(always)]
    fn place(&mut self, bucket: u64, event: Event) {
        let slot = (bucket & self.mask) as usize;
        let order = order(event.at.as_ps(), event.key.0);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        let count = self.counts[slot];
        if usize::from(count) < ROOM {
            self.counts[slot] = count + 1;
            self.buckets[slot].add(count, order, event.data);
        } else {
            self.spill(slot, order, event.data);
        }
    }

    /// Keeps an event whose bucket is full.
    #[inline(never)]
    fn spill(&mut self, slot: usize, order: u64, data: u32) {
        let event = whole(order, data);
        match self.sheets.get_mut(self.last_sheets[slot] as usize) {
            Some(sheet) if (sheet.count as usize) < LINES => {
                sheet.events[sheet.count as usize] = event;
                sheet.count += 1;
            }
            _ => self.spill_more(slot, event),
        }
    }

    /// The same on a new sheet.
    #[cold]
    fn spill_more(&mut self, slot: usize, event: u128) {
        if self.unused == NONE {
            self.unused = self.sheets.len() as u32;
            self.sheets.push(Sheet { count: 0, next: NONE, events: [0; LINES] });
        }
        let before = std::mem::replace(&mut self.last_sheets[slot], self.unused);
        let sheet = &mut self.sheets[self.unused as usize];
        self.unused = std::mem::replace(&mut sheet.next, before);
        sheet.events[0] = event;
        sheet.count = 1;
    }

    /// Adds an event of the bucket that is being emptied, or one beyond the wheel.
    #[cold]
    fn push_near_or_far(&mut self, at: u64, key: u32, data: u32) {
        let bucket = at >> self.shift;
        debug_assert!(bucket >= self.now, "an event in the past");
        if bucket == self.now {
            let event = whole(order(at, key), data);
            self.crowd_together();
            let place = self.crowd.partition_point(|&other| other > event);
            self.crowd.insert(place, event);
        } else {
            self.overflow_reach = self.overflow_reach.min(bucket - self.mask);
            self.overflow.push(Reverse(Event { at: Instant::from_ps(at), key: Key(key), data }));
        }
    }

    /// Turns to the next bucket that holds something; nothing if none does.
    #[inline(always)]
    fn turn(&mut self) -> Option<()> {
        let next = self.next_occupied();
        self.now = if next >= self.overflow_reach { self.take_in_overflow(next)? } else { next };
        self.high = (self.now << self.shift) & !u64::from(u32::MAX);
        let slot = (self.now & self.mask) as usize;
        self.slot = slot;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        self.count = std::mem::take(&mut self.counts[slot]).into();
        self.done = 0;
        if self.count as usize == ROOM {
            self.gather();
        }
        Some(())
    }

    /// Moves what has come within reach from the overflow heap into the wheel. Returns the bucket
    /// to go on with, given the next one that holds something; nothing if there is nothing at all.
    #[cold]
    fn take_in_overflow(&mut self, next: u64) -> Option<u64> {
        let first = self.overflow.peek().map(|Reverse(event)| event.at.as_ps() >> self.shift);
        let next = first.map_or(next, |first| first.min(next));
        if next == u64::MAX {
            return None;
        }
        self.overflow_reach = u64::MAX;
        while let Some(&Reverse(event)) = self.overflow.peek() {
            let bucket = event.at.as_ps() >> self.shift;
            if bucket > next + self.mask {
                self.overflow_reach = bucket - self.mask;
                break;
            }
            self.overflow.pop();
            self.place(bucket, event);
        }
        Some(next)
    }

    /// The next occupied bucket, as an absolute number; `u64::MAX` if there is none.
    #[inline(always)]
    fn next_occupied(&self) -> u64 {
        // The current bucket was emptied, and nothing is placed into it again: its bit is clear.
        match self.occupied[self.slot / 64] >> (self.slot % 64) {
            0 => self.next_occupied_after(self.slot / 64),
            bits => self.now + u64::from(bits.trailing_zeros()),
        }
    }

    /// The same, beyond the current bucket's word.
    #[inline(never)]
    fn next_occupied_after(&self, word: usize) -> u64 {
        let (before, after) = self.occupied.split_at(word + 1);
        let words = after.iter().zip(word + 1..).chain(before.iter().zip(0..));
        for (&bits, word) in words {
            if bits != 0 {
                let slot = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return self.now + (slot.wrapping_sub(self.now) & self.mask);
            }
        }
        u64::MAX
    }

    /// Shows the events of the bucket after the current one, if that is near.
    #[inline(always)]
    fn look_ahead(&self, show: &mut impl FnMut(Ahead<'_>)) {
        let bits = self.occupied[self.slot / 64] >> (self.slot % 64);
        if self.dense {
            return self.look_further_ahead(bits, show);
        }
        self.show_bucket(self.slot + bits.trailing_zeros() as usize, Showing::Only, show);
    }

    /// Shows the events of the current bucket for the third time, those of the next one for the second, and those of the one
    /// after that for the first time, as far as these are near: `bits` are the buckets that hold something from the current one on.
    #[inline(always)]
    fn look_further_ahead(&self, bits: u64, show: &mut impl FnMut(Ahead<'_>)) {
        let own = &self.buckets[self.slot];
        let count = self.count as usize;
        let (orders, data) = (&own.orders[..count], &own.data[..count]);
        show(Ahead { showing: Showing::Third, orders, data });
        let next = bits.trailing_zeros() as usize;
        self.show_bucket(self.slot + next, Showing::Second, show);
        let after = (bits & bits.wrapping_sub(1)).trailing_zeros() as usize;
        self.show_bucket(self.slot + after, Showing::First, show);
    }

    /// Shows what a bucket holds itself.
    #[inline(always)]
    fn show_bucket(&self, slot: usize, showing: Showing, show: &mut impl FnMut(Ahead<'_>)) {
        let (Some(bucket), Some(&count)) = (self.buckets.get(slot), self.counts.get(slot)) else {
            return;
        };
        let count = usize::from(count).min(ROOM);
        show(Ahead { showing, orders: &bucket.orders[..count], data: &bucket.data[..count] });
    }

    /// Shows events of the crowd that come a little later: there may be thousands of them, and nothing else shows them.
    #[inline(always)]
    fn look_into_crowd(&self, show: &mut impl FnMut(Ahead<'_>)) {
        if !self.dense {
            return self.show_of_crowd(SOON, Showing::Only, show);
        }
        for (soon, showing) in SHOWINGS {
            self.show_of_crowd(soon, showing, show);
        }
    }

    #[inline(always)]
    fn show_of_crowd(&self, soon: usize, showing: Showing, show: &mut impl FnMut(Ahead<'_>)) {
        let later = self.crowd.len().checked_sub(soon).and_then(|at| self.crowd.get(at));
        if let Some(&event) = later {
            show(Ahead { showing, orders: &[(event >> 32) as u64], data: &[event as u32] });
        }
    }

    /// Takes what the current bucket has spilled, if it has.
    #[inline(never)]
    fn gather(&mut self) {
        let mut last = std::mem::replace(&mut self.last_sheets[self.slot], NONE);
        if last == NONE {
            return;
        }
        self.crowd_together();
        while let Some(sheet) = self.sheets.get_mut(last as usize) {
            self.crowd.extend_from_slice(&sheet.events[..sheet.count as usize]);
            sheet.count = 0;
            let before = std::mem::replace(&mut sheet.next, self.unused);
            self.unused = std::mem::replace(&mut last, before);
        }
        self.crowd.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// Moves what is left in the current bucket to the crowd.
    fn crowd_together(&mut self) {
        let bucket = &self.buckets[self.slot];
        while self.count > self.done {
            self.count -= 1;
            let last = self.count as usize;
            self.crowd.push(whole(bucket.orders[last], bucket.data[last]));
        }
    }
}

/// What several threads need of their queues, see [`crate::parallel`].
impl Wheel {
    /// Takes all events out, in no order. The wheel stays where it is.
    pub(crate) fn take_all(&mut self) -> Vec<Event> {
        let mut all = Vec::new();
        let whole_of = |high: u64, order: u64, data: u32| Event {
            at: Instant::from_ps(high | order >> 32),
            key: Key(order as u32),
            data,
        };
        self.crowd_together();
        let high = self.high;
        all.extend(self.crowd.drain(..).map(|event| {
            let order = (event >> 32) as u64;
            whole_of(high, order, event as u32)
        }));
        for slot in 0..self.buckets.len() {
            if self.occupied[slot / 64] >> (slot % 64) & 1 == 0 {
                continue;
            }
            let bucket = self.now + ((slot as u64).wrapping_sub(self.now) & self.mask);
            let high = (bucket << self.shift) & !u64::from(u32::MAX);
            let count = std::mem::take(&mut self.counts[slot]).into();
            let here = &self.buckets[slot];
            let events = here.orders.iter().zip(&here.data).take(count);
            all.extend(events.map(|(&order, &data)| whole_of(high, order, data)));
            let mut last = std::mem::replace(&mut self.last_sheets[slot], NONE);
            while let Some(sheet) = self.sheets.get_mut(last as usize) {
                let events = &sheet.events[..std::mem::take(&mut sheet.count) as usize];
                all.extend(events.iter().map(|&e| whole_of(high, (e >> 32) as u64, e as u32)));
                let before = std::mem::replace(&mut sheet.next, self.unused);
                self.unused = std::mem::replace(&mut last, before);
            }
        }
        self.occupied.fill(0);
        all.extend(self.overflow.drain().map(|Reverse(event)| event));
        self.overflow_reach = u64::MAX;
        all
    }

    /// Begins anew at this instant. Nothing may be in it.
    pub(crate) fn begin_at(&mut self, at: Instant) {
        debug_assert!(self.at_most(0), "events would be left behind");
        self.now = at.as_ps() >> self.shift;
        self.high = (self.now << self.shift) & !u64::from(u32::MAX);
        self.slot = (self.now & self.mask) as usize;
        (self.count, self.done) = (0, 0);
    }

    /// No event comes before this instant.
    pub(crate) fn earliest(&self) -> Instant {
        if self.done < self.count || !self.crowd.is_empty() {
            return Instant::from_ps(self.now << self.shift);
        }
        let far = self.overflow.peek().map_or(u64::MAX, |Reverse(event)| event.at.as_ps());
        match self.next_occupied() {
            u64::MAX => Instant::from_ps(far),
            bucket => Instant::from_ps(far.min(bucket << self.shift)),
        }
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
    fn pop_and_show(&mut self, mut show: impl FnMut(Ahead<'_>)) -> Option<Event> {
        let (order, data) = loop {
            if self.done < self.count {
                let (bucket, at) = (&self.buckets[self.slot], self.done as usize);
                self.done += 1;
                break (bucket.orders[at], bucket.data[at]);
            }
            if let Some(event) = self.crowd.pop() {
                self.look_into_crowd(&mut show);
                break ((event >> 32) as u64, event as u32);
            }
            self.turn()?;
            self.look_ahead(&mut show);
        };
        let at = Instant::from_ps(self.high | order >> 32);
        Some(Event { at, key: Key(order as u32), data })
    }

    /// The only queue with which there may be several threads.
    fn run(engine: &mut Engine<'_, Self>, settings: &Settings) -> Outcome {
        engine.run_on_threads(settings)
    }

    fn pending(&self) -> impl Iterator<Item = (Key, u32)> {
        let current = (self.done as usize..self.count as usize)
            .map(|at| (self.buckets[self.slot].orders[at], self.buckets[self.slot].data[at]));
        let occupied = self.occupied.iter().zip(0..).filter(|(bits, _)| **bits != 0);
        let words = occupied.map(|(_, word)| 64 * word..64 * (word + 1));
        let ahead =
            words.flat_map(|slots| self.buckets[slots.clone()].iter().zip(&self.counts[slots]));
        let ahead = ahead.flat_map(|(bucket, &count)| {
            let events = bucket.orders.iter().zip(&bucket.data);
            events.take(count.into()).map(|(order, data)| (*order, *data))
        });
        let sheets = self.sheets.iter().flat_map(|sheet| &sheet.events[..sheet.count as usize]);
        let spilled = self.crowd.iter().chain(sheets);
        let spilled = spilled.map(|&event| ((event >> 32) as u64, event as u32));
        let far = self.overflow.iter().map(|Reverse(event)| (event.key, event.data));
        let near = current.chain(ahead).chain(spilled);
        near.map(|(order, data)| (Key(order as u32), data)).chain(far)
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

    fn pop_and_show(&mut self, _show: impl FnMut(Ahead<'_>)) -> Option<Event> {
        self.heap.pop().map(|Reverse(event)| event)
    }

    fn pending(&self) -> impl Iterator<Item = (Key, u32)> {
        self.heap.iter().map(|Reverse(event)| (event.key, event.data))
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

    fn pop_and_show(&mut self, _show: impl FnMut(Ahead<'_>)) -> Option<Event> {
        self.heap.pop().map(|Reverse((_, _, event))| event)
    }

    fn pending(&self) -> impl Iterator<Item = (Key, u32)> {
        self.heap.iter().map(|Reverse((_, _, event))| (event.key, event.data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use proptest::prelude::*;
    use proptest::sample::select;

    proptest! {
        /// Whatever is pushed when, wheel and heap give back the same sequence.
        #[test]
        fn wheel_and_heap_agree(
            density in select(vec![1u64, 900, 100_000, 250_000, 4_000_000]),
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
    fn a_crowd_of_one_instant_comes_in_order_again_and_again() {
        let mut wheel = Wheel::new(1000, Span::from_us(1));
        for round in 1..4u64 {
            let at = Instant::ZERO + Span::from_ns(300 * round);
            // Two crowds at a time, so that sheets are shared out and used again.
            for n in 0..2000u32 {
                let (late, id) = (n % 2, n * 7919 % 2003);
                let at = at + Span::from_ns(100 * u64::from(late));
                wheel.push(Event { at, key: Key::new(Kind::Arrive, id), data: n });
            }
            assert_eq!(wheel.pending().count(), 2000);
            let all: Vec<Event> = std::iter::from_fn(|| wheel.pop()).collect();
            assert_eq!(all.len(), 2000, "each comes once");
            assert!(all.is_sorted(), "in order");
            let sheets = 2 * (1000 - ROOM).div_ceil(LINES);
            assert!(wheel.sheets.len() <= sheets, "{} sheets", wheel.sheets.len());
        }
    }

    proptest! {
        /// Taken out and put back, whenever that is, events come as if nothing had happened.
        #[test]
        fn taken_out_and_put_back(
            delays in proptest::collection::vec((0u64..40_000_000, 0u32..50), 1..300),
            pops in proptest::collection::vec(1usize..40, 1..8),
        ) {
            let mut wheel = Wheel::new(20_000, Span::from_us(2));
            let mut heap = Heap::default();
            let start = Instant::ZERO + Span::from_ms(7);
            wheel.begin_at(start);
            for (serial, &(delay, id)) in (0..).zip(&delays) {
                let key = Key::new(Kind::Arrive, id * 4096 + serial);
                let event = Event { at: start + Span::from_ps(delay), key, data: serial };
                wheel.push(event);
                heap.push(event);
            }
            for pops in pops {
                for _ in 0..pops {
                    let next = heap.pop();
                    prop_assert!(next.is_none_or(|next| wheel.earliest() <= next.at));
                    prop_assert_eq!(wheel.pop(), next);
                }
                let all = wheel.take_all();
                prop_assert!(wheel.at_most(0));
                prop_assert_eq!(all.len(), heap.pending().count());
                all.into_iter().for_each(|event| wheel.push(event));
            }
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
