//! How much is in flight, and the poll interval of a receiver.
//!
//! The more may be in flight, the longer the receiver's poll interval may be, which is less work
//! for both sides; but what arrives must be kept until the next poll. So each side says how much it
//! can keep.

use crate::host_config;
use xoff_units::{Bytes, Span};

/// The most that a queue pair of a test has in flight.
const MOST: Bytes = Bytes::new(768 << 10);
/// How long a receiver pauses while packets come in a stream, and what has to be in flight then, so
/// that it lasts: twice the pause at 50 Gbit/s.
const PAUSE: Span = Span::from_us(40);
const LASTING: Bytes = Bytes::new(512 << 10);
/// Of what is kept for a receiver, the part that is used; the rest is for what the system adds.
const USED: u64 = 4;
/// The least that is in flight in any case: a run of packets.
const LONGEST: Bytes = Bytes::new(64 << 10);
/// What the shortest message takes of it: the system keeps more than the bytes of a packet.
const LEAST: u64 = 1024;

/// The window of each of `pairs` queue pairs whose peer can keep `kept` of what they send together.
/// A peer that does not say gets the usual one.
pub(super) fn window(kept: Bytes, pairs: usize) -> Bytes {
    let usual = host_config().window;
    Bytes::new(kept.get() / USED / pairs.max(1) as u64).clamp(usual, MOST)
}

/// What `pairs` queue pairs that have at most `pair` in flight each have together, if their receiver
/// keeps `kept`. One alone has its window.
pub(super) fn together(kept: Bytes, pair: Bytes, pairs: usize) -> Bytes {
    match pairs {
        0 | 1 => pair,
        _ => Bytes::new(kept.get() / USED).max(pair.min(Bytes::new(kept.get() / 2))).max(LONGEST),
    }
}

/// What all queue pairs of a test may have in flight together: as much as its receiver can keep.
///
/// Each has a window of its own, but there may be a thousand of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    limit: u64,
    /// What a message takes, and the most that one queue pair does.
    message: u64,
    pair: u64,
    used: u64,
}

impl Default for Budget {
    /// Without end.
    fn default() -> Self {
        Self { limit: u64::MAX, message: 0, pair: u64::MAX, used: 0 }
    }
}

impl Budget {
    /// For messages of `size` bytes to a receiver that keeps `kept`, of `pairs` queue pairs that have
    /// at most `pair` in flight each.
    pub(super) fn new(kept: Bytes, size: u64, pair: Bytes, pairs: usize) -> Self {
        let limit = together(kept, pair, pairs).get();
        Self { limit, message: size.max(LEAST), pair: pair.get(), used: 0 }
    }

    fn of(&self, messages: u64) -> u64 {
        messages.saturating_mul(self.message).min(self.pair)
    }

    /// Takes what one more message needs of a queue pair that has `messages` posted, if there is
    /// that much. A message always gets it if nothing else is in flight, or if its queue pair has its
    /// window full already.
    pub(super) fn take(&mut self, messages: u64) -> bool {
        let more = self.of(messages + 1) - self.of(messages);
        // A queue pair whose window is full posts on: that waits for its window, not for us.
        let fits = more == 0 || self.used == 0 || self.used.saturating_add(more) <= self.limit;
        if fits {
            self.used = self.used.saturating_add(more);
        }
        fits
    }

    /// Gives it back: one message less of a queue pair that had `messages` posted.
    pub(super) fn give_back(&mut self, messages: u64) {
        self.used =
            self.used.saturating_sub(self.of(messages) - self.of(messages.saturating_sub(1)));
    }
}

/// How many messages of `size` bytes each of `pairs` queue pairs posts that may have `bound` in flight together: twice what
/// each has of that. More would wait in the queues, and at the end some had sent more than others.
pub(super) fn enough(bound: Bytes, size: u64, pairs: usize) -> u64 {
    match pairs {
        0 | 1 => u64::MAX,
        _ => (bound.get().saturating_mul(2) / size.max(LEAST) / pairs as u64).max(1),
    }
}

/// The poll interval of a receiver whose peer has `in_flight` in flight.
pub(super) fn pause(in_flight: Bytes) -> Span {
    if in_flight >= LASTING { PAUSE } else { Span::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much `pairs` queue pairs can post, each in turn, until none may.
    fn posted(budget: &mut Budget, pairs: usize, depth: u64) -> Vec<u64> {
        let mut posted = vec![0; pairs];
        for round in 0..depth {
            for messages in &mut posted {
                if *messages == round && budget.take(*messages) {
                    *messages += 1;
                }
            }
        }
        posted
    }

    #[test]
    fn all_queue_pairs_together_fit_what_is_kept() {
        let (kept, size) = (Bytes::new(8 << 20), 64 << 10);
        let usual = host_config().window;
        let mut budget = Budget::new(kept, size, usual, 1000);
        let each = posted(&mut budget, 1000, 128);
        assert_eq!(each.iter().sum::<u64>(), 32, "a quarter of 8 MiB");
        assert!(each.iter().all(|&messages| messages <= 1));
        each.iter().filter(|&&messages| messages > 0).for_each(|_| budget.give_back(1));
        assert_eq!(budget.used, 0);
        // One queue pair posts as deep as it likes: its window bounds what is in flight.
        assert_eq!(posted(&mut Budget::new(Bytes::ZERO, size, usual, 1), 1, 128), [128]);
        // A message that is larger than everything still goes, alone.
        let huge = posted(&mut Budget::new(Bytes::ZERO, 8 << 20, usual, 3), 3, 2);
        assert_eq!(huge, [2, 0, 0]);
        // Short messages count for what the system makes of them.
        let short = posted(&mut Budget::new(Bytes::new(4 << 20), 1, usual, 2000), 2000, 1);
        assert_eq!(short.iter().sum::<u64>(), 1024);
        assert_eq!(posted(&mut Budget::default(), 1000, 2), vec![2; 1000]);
        // What a system gives without rights holds half of itself, of packets that are not alike.
        assert_eq!(together(Bytes::new(425_984), usual, 2), Bytes::new(212_992));
    }

    #[test]
    fn as_much_is_posted_as_can_be_in_flight() {
        let bound = Bytes::new(2 << 20);
        assert_eq!(enough(bound, 4096, 1000), 1, "a thousand take turns");
        assert_eq!(enough(bound, 64 << 10, 16), 4);
        assert_eq!((enough(bound, 1 << 30, 2), enough(bound, 1, 2)), (1, 2048));
        assert_eq!((enough(bound, 4096, 1), enough(Bytes::MAX, 1, 2) > 1 << 40), (u64::MAX, true));
    }

    #[test]
    fn windows_fit_what_is_kept() {
        let usual = host_config().window;
        assert_eq!(window(Bytes::ZERO, 1), usual);
        assert_eq!(window(Bytes::new(425_984), 1), usual, "without rights");
        assert_eq!(window(Bytes::new(8 << 20), 1), MOST);
        assert_eq!(window(Bytes::new(8 << 20), 4), Bytes::new(512 << 10));
        assert_eq!(window(Bytes::MAX, 0), MOST);
        let many = window(Bytes::new(8 << 20), 1000);
        assert_eq!(many, usual, "each may fill its window when it is its turn");
        assert_eq!((pause(usual), pause(LASTING)), (Span::ZERO, PAUSE));
    }
}
