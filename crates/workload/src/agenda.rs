//! [`Agenda`]: what is to happen on a network without packets, in its order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::Instant;

/// Which of those that happen at the same instant come first: by class, then by source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The lower one first.
    pub class: u8,
    /// The lower one first.
    pub source: u32,
}

/// What is to happen, by time, then by rank, then in the order of coming up: there is one thread, so that is
/// an order, too. The heap moves and compares plain numbers, what happens stays where it is.
#[derive(Debug)]
pub struct Agenda<T> {
    /// Time; class, source, order and slot in one number.
    heap: BinaryHeap<Reverse<(u64, u128)>>,
    order: u64,
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), order: 0, slots: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Agenda<T> {
    /// This is to happen then.
    pub fn push(&mut self, at: Instant, rank: Rank, what: T) {
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
        self.heap.push(Reverse((at.as_ps(), key)));
    }

    /// When the next thing happens.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| Instant::from_ps(*at))
    }

    /// What happens next, and when.
    pub fn pop(&mut self) -> Option<(Instant, T)> {
        let Reverse((at, key)) = self.heap.pop()?;
        let slot = key as u32;
        self.free.push(slot);
        Some((Instant::from_ps(at), self.slots[slot as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        agenda.push(at(1), rank(0, 0), 'e');
        assert_eq!(agenda.pop(), Some((at(1), 'e')));
        assert_eq!(agenda.next_at(), None);
    }
}
