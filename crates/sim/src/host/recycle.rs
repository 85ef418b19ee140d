//! Senders that give every packet an entropy of its own, so that switches that hash spread the packets of a flow.
//!
//! Two rules. **Recycling**, after recycled entropy packet spraying (T. Bonato and others, "REPS: Recycled Entropy Packet
//! Spraying", 2024): a sender keeps up to [`KEPT`] entropies, each of which an acknowledgement brought back whose
//! data packet was not marked. A packet takes the one kept longest, which is then forgotten; where none is
//! kept it takes one at random. So paths without congestion are used again and again.
//!
//! **A set of paths**, as Ultra Ethernet senders have it: [`PATHS`] entropies per sender, used in turn, each round in another
//! order. A path that came back marked sits out one of its turns, one whose packet was trimmed several:
//! the feedback of Ultra Ethernet's acknowledgements and NACKs.
//!
//! An acknowledgement speaks for the packet that made the receiver send it; where receivers acknowledge every few packets
//! the others' entropies say nothing.

use crate::id::Entropy;
use std::collections::VecDeque;
use xoff_workload::stream::Stream;

/// Entropies that a recycling sender keeps.
const KEPT: usize = 8;

/// Entropies in the set of a sender that uses them in turn.
const PATHS: usize = 64;

/// Turns that a path sits out for a trimmed packet, and the most that add up.
const TRIMMED: u8 = 4;
const MOST: u8 = 16;

/// How senders choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Recycle,
    Paths,
}

/// What became of a packet on the path that its entropy chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feedback {
    Good,
    Marked,
    Trimmed,
}

/// The entropies of one sender.
pub(crate) struct Recycler {
    stream: Stream,
    choice: Choice,
}

enum Choice {
    Recycle(VecDeque<Entropy>),
    Paths(Box<Paths>),
}

struct Paths {
    entropies: [Entropy; PATHS],
    /// Turns that each sits out.
    penalties: [u8; PATHS],
    /// The turn within a round, and the order of this round.
    turn: usize,
    order: usize,
}

impl Recycler {
    pub(crate) fn new(rule: Rule, seed: u64, endpoint: u64) -> Self {
        let mut stream = Stream::new(seed, endpoint, "entropy");
        let choice = match rule {
            Rule::Recycle => Choice::Recycle(VecDeque::with_capacity(KEPT)),
            Rule::Paths => {
                let entropies = std::array::from_fn(|_| draw(&mut stream));
                let (penalties, order) = ([0; PATHS], stream.next_u64() as usize % PATHS);
                Choice::Paths(Box::new(Paths { entropies, penalties, turn: 0, order }))
            }
        };
        Self { stream, choice }
    }

    /// The entropy of the next packet.
    pub(crate) fn next(&mut self) -> Entropy {
        match &mut self.choice {
            Choice::Recycle(kept) => kept.pop_front().unwrap_or_else(|| draw(&mut self.stream)),
            Choice::Paths(paths) => paths.next(&mut self.stream),
        }
    }

    /// What became of a packet with this entropy.
    pub(crate) fn hear(&mut self, entropy: Entropy, feedback: Feedback) {
        match &mut self.choice {
            Choice::Recycle(kept) if feedback == Feedback::Good => {
                // Of too many the oldest is forgotten.
                if kept.len() == KEPT {
                    kept.pop_front();
                }
                kept.push_back(entropy);
            }
            Choice::Recycle(_) => {}
            Choice::Paths(paths) => paths.hear(entropy, feedback),
        }
    }
}

impl Paths {
    fn next(&mut self, stream: &mut Stream) -> Entropy {
        // Every path sits out at most `MOST` turns, so this ends.
        loop {
            let path = self.turn ^ self.order;
            self.turn += 1;
            if self.turn == PATHS {
                (self.turn, self.order) = (0, stream.next_u64() as usize % PATHS);
            }
            match self.penalties[path].checked_sub(1) {
                None => return self.entropies[path],
                Some(left) => self.penalties[path] = left,
            }
        }
    }

    fn hear(&mut self, entropy: Entropy, feedback: Feedback) {
        let Some(path) = self.entropies.iter().position(|&known| known == entropy) else { return };
        let more = match feedback {
            Feedback::Good => return,
            Feedback::Marked => 1,
            Feedback::Trimmed => TRIMMED,
        };
        self.penalties[path] = (self.penalties[path] + more).min(MOST);
    }
}

/// A random entropy.
fn draw(stream: &mut Stream) -> Entropy {
    Entropy((stream.next_u64() >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_back_is_used_first_and_once() {
        let mut recycler = Recycler::new(Rule::Recycle, 1, 0);
        let drawn = recycler.next();
        recycler.hear(Entropy(5), Feedback::Good);
        recycler.hear(Entropy(6), Feedback::Marked);
        recycler.hear(Entropy(7), Feedback::Good);
        assert_eq!((recycler.next(), recycler.next()), (Entropy(5), Entropy(7)));
        assert!(![Entropy(5), Entropy(7), drawn].contains(&recycler.next()));
    }

    #[test]
    fn no_more_than_a_few_are_kept() {
        let mut recycler = Recycler::new(Rule::Recycle, 1, 0);
        (0..100).for_each(|entropy| recycler.hear(Entropy(entropy), Feedback::Good));
        assert_eq!(recycler.next(), Entropy(100 - KEPT as u32));
    }

    #[test]
    fn every_path_has_its_turn_and_bad_ones_sit_out() {
        let mut sender = Recycler::new(Rule::Paths, 1, 0);
        let mut first: Vec<Entropy> = (0..PATHS).map(|_| sender.next()).collect();
        let (marked, trimmed) = (first[3], first[9]);
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), PATHS, "all of them in one round");
        sender.hear(marked, Feedback::Marked);
        sender.hear(trimmed, Feedback::Trimmed);
        let uses: Vec<Entropy> = (0..PATHS * 5 - 5).map(|_| sender.next()).collect();
        let count = |path: Entropy| uses.iter().filter(|&&used| used == path).count();
        assert_eq!((count(marked), count(trimmed)), (4, 1), "of five rounds");
    }

    #[test]
    fn a_sender_whose_paths_are_all_bad_still_sends() {
        let mut sender = Recycler::new(Rule::Paths, 1, 0);
        let all: Vec<Entropy> = (0..PATHS).map(|_| sender.next()).collect();
        for _ in 0..100 {
            all.iter().for_each(|&path| sender.hear(path, Feedback::Trimmed));
        }
        assert!(all.contains(&sender.next()));
    }
}
