//! Senders that give every packet an entropy of its own, and use again those that came back unmarked.
//!
//! The rule, after recycled entropy packet spraying (T. Bonato and others, "REPS: Recycled Entropy Packet
//! Spraying", 2024): a sender keeps up to [`KEPT`] entropies, each of which an acknowledgement brought back whose
//! data packet was not marked. A packet takes the one kept longest, which is then forgotten; where none is
//! kept it takes one at random. So paths without congestion are used again and again, and those with
//! congestion are left, without anybody knowing which they are. An acknowledgement speaks for the packet that made
//! the receiver send it; where receivers acknowledge every few packets the others' entropies are lost.

use std::collections::VecDeque;
use xoff_workload::stream::Stream;

/// Entropies that a sender keeps.
const KEPT: usize = 8;

/// The entropies of one sender.
pub(crate) struct Recycler {
    kept: VecDeque<u32>,
    stream: Stream,
}

impl Recycler {
    pub(crate) fn new(seed: u64, endpoint: u64) -> Self {
        Self { kept: VecDeque::with_capacity(KEPT), stream: Stream::new(seed, endpoint, "entropy") }
    }

    /// The entropy of the next packet.
    pub(crate) fn next(&mut self) -> u32 {
        self.kept.pop_front().unwrap_or_else(|| (self.stream.next_u64() >> 32) as u32)
    }

    /// An entropy came back unmarked. Of too many the oldest is forgotten.
    pub(crate) fn keep(&mut self, entropy: u32) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(entropy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_back_is_used_first_and_once() {
        let mut recycler = Recycler::new(1, 0);
        let drawn = recycler.next();
        recycler.keep(5);
        recycler.keep(7);
        assert_eq!((recycler.next(), recycler.next()), (5, 7));
        assert!(![5, 7, drawn].contains(&recycler.next()));
    }

    #[test]
    fn no_more_than_a_few_are_kept() {
        let mut recycler = Recycler::new(1, 0);
        (0..100).for_each(|entropy| recycler.keep(entropy));
        assert_eq!(recycler.kept.len(), KEPT);
        assert_eq!(recycler.next(), 100 - KEPT as u32);
    }
}
