//! Rounds between pairs.

use super::*;
use crate::collective::exchange::Exchange;

/// A round of a lane, and whom it meets there.
struct Round {
    /// The lane that it sends to, and which of that one's rounds it is there.
    target: usize,
    met: usize,
    /// Pieces, counted through all rounds of the lane.
    pieces: std::ops::Range<usize>,
    /// Its connection at the NIC: another than the round before has if it goes by another NIC.
    connection: usize,
}

struct Equations<'a> {
    exchange: &'a Exchange,
    ports: Ports,
    /// By sending lane.
    rounds: Vec<Vec<Round>>,
    /// By receiving lane: the lanes and rounds that it hears.
    heard: Vec<Vec<(usize, usize)>>,
    /// By sending lane and piece.
    staged: Vec<Vec<u64>>,
    landed: Vec<Vec<u64>>,
}

/// When the last piece has landed.
pub(super) fn time(exchange: &Exchange, ports: Ports) -> Span {
    let mut all = Equations::new(exchange, ports);
    let most = 10 + 4 * all.landed.iter().map(Vec::len).sum::<usize>();
    for _ in 0..most {
        if !all.pass() {
            return Span::from_ps(all.landed.iter().flatten().copied().max().unwrap_or(0));
        }
    }
    panic!("the equations have no solution");
}

impl<'a> Equations<'a> {
    fn new(exchange: &'a Exchange, ports: Ports) -> Self {
        let rounds = exchange.rounds();
        let lanes = rounds.lanes_in_all();
        // A round without a byte is no round.
        let heard: Vec<Vec<(usize, u32)>> = (0..lanes)
            .map(|lane| {
                let first = rounds.first_heard(lane).into_iter();
                let all = first.flat_map(|first| {
                    (first..).map_while(|round| Some((rounds.source(lane, round)?, round)))
                });
                all.filter(|&(source, _)| rounds.pieces(source, lane) > 0).collect()
            })
            .collect();
        let mut sent: Vec<Vec<Round>> = Vec::new();
        let mut numbers = vec![BTreeMap::new(); lanes];
        for (lane, numbers) in numbers.iter_mut().enumerate() {
            let mut own: Vec<Round> = Vec::new();
            let all = rounds.first(lane).into_iter().flat_map(|first| {
                (first..).map_while(|round| Some((rounds.target(lane, round)?, round)))
            });
            for (target, round) in all {
                let begin = own.last().map_or(0, |round| round.pieces.end);
                let pieces = begin..begin + rounds.pieces(lane, target) as usize;
                let met =
                    heard[target].iter().position(|&(source, at)| (source, at) == (lane, round));
                let Some(met) = met else { continue };
                numbers.insert(round, own.len());
                let exit = |target| rounds.exit(lane, target).map(|exit| exit.nic);
                let connection = own.last().map_or(0, |last| {
                    last.connection + usize::from(exit(last.target) != exit(target))
                });
                own.push(Round { target, met, pieces, connection });
            }
            sent.push(own);
        }
        let number = |(lane, round): (usize, u32)| (lane, numbers[lane][&round]);
        let heard = heard.into_iter().map(|all| all.into_iter().map(number).collect()).collect();
        let count = |own: &Vec<Round>| vec![0; own.last().map_or(0, |round| round.pieces.end)];
        let landed: Vec<_> = sent.iter().map(count).collect();
        Self { exchange, ports, rounds: sent, heard, staged: landed.clone(), landed }
    }

    /// When the last piece of a lane's round has landed.
    fn over(&self, (lane, round): (usize, usize)) -> u64 {
        self.rounds[lane][round].pieces.clone().map(|at| self.landed[lane][at]).max().unwrap_or(0)
    }

    /// When a sender, and when the receiver that it meets, come to a round.
    fn begin(&self, lane: usize, round: usize) -> (u64, u64) {
        let launch = self.exchange.cost().launch.as_ps();
        let Round { target, met, .. } = self.rounds[lane][round];
        let before = |at: usize| at.checked_sub(1);
        let sends = before(round).map_or(launch, |at| self.over((lane, at)));
        let hears = before(met).map_or(launch, |at| self.over(self.heard[target][at]));
        (sends, hears)
    }

    /// Every port passes on what comes to it; whether anything has changed.
    fn pass(&mut self) -> bool {
        let window = self.exchange.window() as usize;
        let rounds = self.exchange.rounds();
        let (mut near, mut far) = (Vec::new(), Vec::new());
        for lane in 0..self.rounds.len() {
            for (number, round) in self.rounds[lane].iter().enumerate() {
                let (sends, hears) = self.begin(lane, number);
                let (own, peer) = (rounds.seat(lane), rounds.seat(round.target));
                let exit = rounds.exit(lane, round.target);
                let mut last = 0;
                for (piece, at) in round.pieces.clone().enumerate() {
                    let bytes = rounds.size(lane, round.target, piece as u32).get();
                    let passage =
                        |comes, from, to| Passage { comes, piece: (lane, at), bytes, from, to };
                    let freed = piece.checked_sub(window).map(|_| self.landed[lane][at - window]);
                    let room = freed.unwrap_or(sends);
                    let Some(exit) = exit else {
                        near.push(passage(room.max(hears), own.gpu.0, peer.gpu.0));
                        continue;
                    };
                    let mut staged = room;
                    if exit.nic != own.nic {
                        near.push(passage(room, own.gpu.0, exit.gpu.0));
                        staged = self.staged[lane][at];
                    }
                    let cleared = freed.unwrap_or(hears) + self.ports.ask;
                    last = staged.max(cleared).max(last);
                    let connection = (lane << 32) + round.connection;
                    far.push(Passage {
                        piece: (connection, at),
                        ..passage(last, exit.nic.0, peer.nic.0)
                    });
                }
            }
        }
        self.note(near, far)
    }

    /// Notes when pieces have landed or are handed over; whether anything has changed. A receiver copies the pieces of
    /// a round one after the other, those of the network after its proxy.
    fn note(&mut self, near: Vec<Passage>, far: Vec<Passage>) -> bool {
        let over_network: std::collections::BTreeSet<Name> =
            far.iter().map(|passage| (passage.piece.0 >> 32, passage.piece.1)).collect();
        let (near, far) = (self.ports.near(near), self.ports.far(far));
        let mut changed = false;
        let mut arrived: Vec<Vec<u64>> = self.landed.iter().map(|own| vec![0; own.len()]).collect();
        for ((lane, at), time) in near {
            match over_network.contains(&(lane, at)) {
                true => changed |= std::mem::replace(&mut self.staged[lane][at], time) != time,
                false => arrived[lane][at] = time,
            }
        }
        let (cost, rounds) = (self.exchange.cost(), self.exchange.rounds());
        for ((connection, at), time) in far {
            arrived[connection >> 32][at] = time;
        }
        for (lane, arrived) in arrived.iter().enumerate() {
            for round in &self.rounds[lane] {
                let mut free = 0;
                for (piece, at) in round.pieces.clone().enumerate() {
                    let bytes = rounds.size(lane, round.target, piece as u32);
                    let (delay, work) = match over_network.contains(&(lane, at)) {
                        true => (cost.delay(bytes), cost.pair_work(bytes, rounds.channels())),
                        false => (Span::ZERO, cost.work(bytes)),
                    };
                    free = (arrived[at] + delay.as_ps()).max(free) + work.as_ps();
                    changed |= std::mem::replace(&mut self.landed[lane][at], free) != free;
                }
            }
        }
        changed
    }
}
