//! [`Direct`]: everybody writes to everybody at once, into memory that is known to be free.
//!
//! That is how kernels for mixtures of experts send tokens in their low-latency mode: no rounds, no clear-to-sends,
//! no proxies; each GPU posts all of its messages when it begins, by its own NIC. What such a kernel takes beside the network
//! is in `launch`: once per collective, whatever the size.

use super::ends::Ends;
use super::machine::Terms;
use super::rounds::Rounds;
use super::shape::part;
use crate::layout::RankId;
use crate::program::{Action, Demand, Queue, Token, Traffic};
use crate::replay::RankEnds;
use xoff_units::Bytes;

mod kind {
    pub(super) const LAUNCHED: u8 = 0;
    pub(super) const LANDED: u8 = 1;
}

/// Ranks up to which the tokens of all pairs are told apart: runners keep a few bytes for each.
const MOST_TOLD: u32 = 1024;

/// Everybody writes to everybody at once. Made by [`super::program`].
#[derive(Debug, Clone)]
pub struct Direct {
    rounds: Rounds,
    terms: Terms,
    /// Ranks that have not begun, and writes that have not landed.
    left: u64,
    pub(crate) ends: Ends,
}

impl Direct {
    pub(super) fn new(rounds: Rounds, terms: Terms, ends: Ends) -> Self {
        Self { rounds, terms, left: 0, ends }
    }

    pub(super) fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    fn ranks(&self) -> u32 {
        self.rounds.extent().1
    }

    /// The writes of a rank, in their order: their number, to whom, and how much.
    fn writes(&self, rank: u32) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let write = move |(number, to)| (number, to, self.rounds.message(rank, to));
        (1..).zip(self.rounds.others(rank)).map(write).filter(|&(_, _, bytes)| bytes > 0)
    }

    /// What goes over each of its queue pairs.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let queues = self.terms.queues;
        let mut demands = Vec::new();
        for rank in 0..self.ranks() {
            for (_, to, bytes) in self.writes(rank) {
                let Some((from, seat, first)) = self.way(rank, to) else { continue };
                demands.extend((0..queues).map(|turn| Demand {
                    from,
                    to: seat,
                    queue: Queue(first + turn),
                    bytes: Bytes::new(part(bytes, queues, turn)),
                }));
            }
        }
        demands
    }

    /// The NICs of two ranks and the first queue between them; none inside a server.
    fn way(
        &self,
        from: u32,
        to: u32,
    ) -> Option<(xoff_fabric::model::NicId, xoff_fabric::model::NicId, u32)> {
        let seats = [from, to].map(|rank| self.rounds.seat_of(RankId(rank)));
        let first = self.rounds.queue(from as usize, to as usize) * self.terms.queues;
        (seats[0].domain != seats[1].domain).then_some((seats[0].nic, seats[1].nic, first))
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        self.left = u64::from(self.ranks());
        for rank in 0..self.ranks() {
            let gpu = self.rounds.seat_of(RankId(rank)).gpu;
            let span = self.terms.launch(gpu);
            if span.is_zero() {
                self.begin(rank, out);
            } else {
                let token = Token::new(kind::LAUNCHED, 0, rank);
                out.push(Action::Wait { token, gpu, span });
            }
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        match token.kind() {
            kind::LAUNCHED => self.begin(token.index() as u32, out),
            _ => {
                let index = token.index() as u32;
                if let Some(ranks) = self.countable().filter(|ranks| index / ranks < *ranks) {
                    self.ends.mark(self.rounds.other(index / ranks, index % ranks));
                }
                self.end(out);
            }
        }
    }

    /// The ranks, if there are not too many pairs of them: tokens then say who receives.
    fn countable(&self) -> Option<u32> {
        Some(self.ranks()).filter(|ranks| *ranks <= MOST_TOLD)
    }

    /// When ranks had all that they get, where tokens say who receives.
    pub(crate) fn ends(&self) -> Option<RankEnds> {
        self.countable().and_then(|_| self.ends.all())
    }

    /// What comes back when a write has landed: its sender, and its place among the sender's writes.
    fn landing(&self, from: u32, number: u32) -> Token {
        let index = self.countable().map_or(from, |ranks| from * ranks + number);
        Token::new(kind::LANDED, 0, index)
    }

    /// A rank posts all that it has.
    fn begin(&mut self, rank: u32, out: &mut Vec<Action>) {
        let queues = self.terms.queues;
        self.ends.mark(rank);
        let mut posted = 0;
        for (number, to, bytes) in self.writes(rank) {
            let token = self.landing(rank, number);
            let Some((from, seat, first)) = self.way(rank, to) else {
                let gpus = [rank, to].map(|rank| self.rounds.seat_of(RankId(rank)).gpu);
                let bytes = Bytes::new(bytes);
                out.push(Action::Nvlink { token, from: gpus[0], to: gpus[1], bytes });
                posted += 1;
                continue;
            };
            for turn in 0..queues {
                let bytes = Bytes::new(part(bytes, queues, turn));
                if bytes.is_zero() {
                    continue;
                }
                let (queue, traffic) = (Queue(first + turn), Traffic::Data);
                out.push(Action::Network { token, from, to: seat, queue, traffic, bytes });
                posted += 1;
            }
        }
        self.left += posted;
        self.end(out);
    }

    fn end(&mut self, out: &mut Vec<Action>) {
        debug_assert!(self.left > 0, "more has landed than was posted");
        self.left -= 1;
        if self.left == 0 {
            out.push(Action::Finished);
        }
    }
}
