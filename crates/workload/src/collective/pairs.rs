//! [`time`]: what rounds between pairs take on an idle network, worked out for one rank.
//!
//! Where every server has as many ranks, all ranks are in the same round at the same time, and what one of
//! them sends, receives and hands over, all the others do as well. So one rank stands for all: its receiving port
//! is taken exactly as its sending one, a latency later, and the recurrence has to know of one NIC and one NVLink
//! alone. Where all send to one, the port is that of the one, and lanes are those that it hears. For piece `j` of a round that began at `t`, with `w` pieces in a buffer:
//!
//! - it is handed over (PXN) once there is room: from `t` on, or when piece `j - w` has landed;
//! - it may leave when it is handed over and a clear-to-send has come, `ask` after `t` or after piece `j - w`
//!   landed;
//! - it leaves in its turn: lanes share the port evenly by bytes;
//! - it arrives a latency, its time on the wire and the proxy's delay later, and has landed when the receiver has
//!   copied it, one piece after the other; the round is over with its last piece.
//!
//! That all ranks are in step is the best case, and the case where all messages are as long. Where they differ by a
//! byte, several ranks may happen to send to the same one first; the time is then longer, and the recurrence
//! a lower bound.

use super::cost::Cost;
use super::rounds::Round;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::{Bytes, Rate, Span};

/// What the network costs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub(super) nic: Rate,
    pub(super) nvlink: Rate,
    pub(super) latency: Span,
    pub(super) nvlink_latency: Span,
    /// A clear-to-send, from one NIC to the other.
    pub(super) ask: Span,
    /// What the receiver and its proxy take.
    pub(super) cost: Cost,
    /// Channels that carry what crosses the network.
    pub(super) channels: u32,
    /// Pieces in a buffer.
    pub(super) window: u32,
    /// Lanes take turns at the port, as they do where it sends; a port that receives takes what comes
    /// first.
    pub(super) turns: bool,
}

/// What can happen to a lane, and when a port is free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Landed(usize),
    /// A piece of so many bytes is in the receiver's hands, and whether it came over the network.
    Arrived(usize, u64, bool),
    HandedOver(usize),
    Cleared(usize),
    /// A piece comes to the NIC.
    Comes(Piece),
    Free(bool),
}

/// A piece at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    lane: usize,
    bytes: u64,
    /// Whether it has landed when it has passed.
    lands: bool,
}

/// A piece that waits: by turn, then by time of coming, then by lane where those take turns, then in the order
/// of coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    turn: u64,
    since: Span,
    lane: usize,
    order: u64,
    piece: Piece,
}

/// A port that lanes share.
#[derive(Debug, Default)]
struct Port {
    free: Span,
    watched: bool,
    turn: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// The turn of each lane's next piece.
    next: Vec<u64>,
}

/// A lane in the round that it is at. Counters are of pieces.
#[derive(Debug, Default)]
struct Lane {
    rounds: Vec<Round>,
    at: usize,
    filled: u32,
    staged: u32,
    granted: u32,
    cleared: u32,
    posted: u32,
    landed: u32,
    /// When its sender is free, where every lane has one of its own.
    sender: Span,
    /// When its proxy has passed on what has come, and when its receiver has copied it.
    passed: Span,
    copied: Span,
}

impl Lane {
    /// Whether the piece that has just been posted is the first to go by its NIC.
    fn is_new(&self) -> bool {
        let exit = |at: usize| self.rounds.get(at).and_then(|round| round.exit);
        let before = self.at.checked_sub(1).and_then(exit);
        self.posted == 1 && before != exit(self.at)
    }
}

struct Recurrence {
    costs: Costs,
    lanes: Vec<Lane>,
    /// The NIC, and the NVLink.
    ports: [Port; 2],
    /// By time; ports choose after everything else of that instant.
    events: BinaryHeap<Reverse<(Span, bool, u64, What)>>,
    order: u64,
}

/// From the first round of any lane to the last piece of all.
pub(super) fn time(lanes: Vec<Vec<Round>>, costs: Costs) -> Span {
    let count = lanes.len();
    let port = || Port { next: vec![0; count], ..Port::default() };
    let lane = |rounds: Vec<Round>| {
        let rounds = rounds.into_iter().filter(|round| round.pieces > 0).collect();
        Lane { rounds, ..Lane::default() }
    };
    let lanes = lanes.into_iter().map(lane).collect();
    let ports = [port(), port()];
    let mut all = Recurrence { costs, lanes, ports, events: BinaryHeap::new(), order: 0 };
    (0..count).for_each(|lane| all.begin(lane, Span::ZERO));
    let mut last = Span::ZERO;
    while let Some(Reverse((now, _, _, what))) = all.events.pop() {
        match what {
            What::Landed(lane) => {
                last = now;
                all.land(lane, now);
            }
            What::Arrived(lane, bytes, far) => {
                let lane_state = &mut all.lanes[lane];
                let bytes = Bytes::new(bytes);
                let work = match far {
                    true => costs.cost.pair_work(bytes, costs.channels),
                    false => costs.cost.work(bytes),
                };
                let end = lane_state.copied.max(now) + work;
                lane_state.copied = end;
                all.push(end, What::Landed(lane));
            }
            What::HandedOver(lane) => {
                all.lanes[lane].staged += 1;
                all.post(lane, now);
            }
            What::Cleared(lane) => {
                all.lanes[lane].cleared += 1;
                all.post(lane, now);
            }
            What::Comes(piece) => all.come(false, piece, now),
            What::Free(nvlink) => all.serve(nvlink, now),
        }
    }
    last
}

impl Recurrence {
    fn push(&mut self, at: Span, what: What) {
        self.order += 1;
        let looks = matches!(what, What::Free(_));
        self.events.push(Reverse((at, looks, self.order, what)));
    }

    fn round(&self, lane: usize) -> Option<Round> {
        let lane = &self.lanes[lane];
        lane.rounds.get(lane.at).copied()
    }

    /// A round begins: buffers are granted and filled.
    fn begin(&mut self, lane: usize, now: Span) {
        self.ask(lane, now);
        self.fill(lane, now);
    }

    fn ask(&mut self, lane: usize, now: Span) {
        let Some(round) = self.round(lane).filter(Round::is_far) else { return };
        let window = self.costs.window;
        let state = &mut self.lanes[lane];
        let at = match round.asked && state.granted == 0 {
            true => now.max(self.costs.ask),
            false => now + self.costs.ask,
        };
        let more = round.pieces.min(state.landed + window) - state.granted;
        state.granted += more;
        (0..more).for_each(|_| self.push(at, What::Cleared(lane)));
    }

    fn fill(&mut self, lane: usize, now: Span) {
        let Some(round) = self.round(lane) else { return };
        let state = &mut self.lanes[lane];
        let more = state.filled..round.pieces.min(state.landed + self.costs.window);
        state.filled = more.end;
        if round.is_far() && !round.relay {
            state.staged = more.end;
        } else {
            let lands = !round.is_far();
            let piece = |number| Piece { lane, bytes: round.piece(number), lands };
            more.for_each(|number| self.come(true, piece(number), now));
        }
        self.post(lane, now);
    }

    fn post(&mut self, lane: usize, now: Span) {
        let Some(round) = self.round(lane).filter(Round::is_far) else { return };
        let state = &mut self.lanes[lane];
        let more = state.posted..state.staged.min(state.cleared).min(round.pieces);
        state.posted = more.end;
        for bytes in more.map(|number| round.piece(number)) {
            let piece = Piece { lane, bytes, lands: true };
            if self.costs.turns {
                self.come(false, piece, now);
                continue;
            }
            // The port is that of the receiver, to which a sender sends one piece after the other.
            let at = now.max(self.lanes[lane].sender);
            self.lanes[lane].sender = at + self.costs.nic.time_for(Bytes::new(bytes));
            self.push(at, What::Comes(piece));
        }
    }

    fn land(&mut self, lane: usize, now: Span) {
        let pieces = self.round(lane).map_or(0, |round| round.pieces);
        let state = &mut self.lanes[lane];
        state.landed += 1;
        if state.landed < pieces {
            return self.begin(lane, now);
        }
        let rounds = std::mem::take(&mut state.rounds);
        *state = Lane { rounds, at: state.at + 1, ..Lane::default() };
        self.begin(lane, now);
    }

    /// A piece comes to a port, which chooses what to send when it is free.
    fn come(&mut self, nvlink: bool, piece: Piece, now: Span) {
        self.order += 1;
        let order = self.order;
        let port = &mut self.ports[usize::from(nvlink)];
        // Where a lane goes by another NIC than before, it is new to that.
        if !nvlink && self.lanes[piece.lane].is_new() {
            port.next[piece.lane] = 0;
        }
        let turn = port.next[piece.lane].max(port.turn);
        port.next[piece.lane] = if self.costs.turns { turn + piece.bytes } else { 0 };
        let lane = if self.costs.turns { piece.lane } else { 0 };
        port.waiting.push(Reverse(Waiting { turn, since: now, lane, order, piece }));
        if !std::mem::replace(&mut port.watched, true) {
            let at = now.max(port.free);
            self.push(at, What::Free(nvlink));
        }
    }

    /// A port sends what is next.
    fn serve(&mut self, nvlink: bool, now: Span) {
        let (rate, latency) = match nvlink {
            true => (self.costs.nvlink, self.costs.nvlink_latency),
            false => (self.costs.nic, self.costs.latency),
        };
        let port = &mut self.ports[usize::from(nvlink)];
        let Some(Reverse(Waiting { turn, piece, .. })) = port.waiting.pop() else { return };
        let more = !port.waiting.is_empty();
        port.watched = more;
        port.turn = if self.costs.turns { turn } else { 0 };
        let free = now + rate.time_for(Bytes::new(piece.bytes));
        self.ports[usize::from(nvlink)].free = free;
        let Piece { lane, lands, bytes } = piece;
        let delay = if nvlink { Span::ZERO } else { self.costs.cost.delay(Bytes::new(bytes)) };
        match lands {
            true => {
                let at = self.lanes[lane].passed.max(free + latency + delay);
                self.lanes[lane].passed = at;
                self.push(at, What::Arrived(lane, bytes, !nvlink));
            }
            false => self.push(free + latency, What::HandedOver(lane)),
        }
        if more {
            self.push(free, What::Free(nvlink));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        nic: Rate::from_gbps(8),
        nvlink: Rate::from_gbps(80),
        latency: Span::from_us(3),
        nvlink_latency: Span::from_us(1),
        ask: Span::from_us(4),
        cost: Cost::NONE,
        channels: 1,
        window: 8,
        turns: true,
    };

    const ROUND: Round =
        Round { exit: Some(0), relay: false, asked: false, pieces: 1, bytes: 1_000, most: 1_000 };

    #[test]
    fn rounds_follow_each_other() {
        // A clear-to-send, a microsecond on the wire, a latency.
        assert_eq!(time(vec![vec![ROUND; 5]], COSTS), Span::from_us(5 * 8));
        let relayed = Round { relay: true, bytes: 10_000, most: 10_000, ..ROUND };
        // Handing over takes 2 us, which the clear-to-send covers.
        assert_eq!(time(vec![vec![relayed]], COSTS), Span::from_us(4 + 10 + 3));
        let near = Round { exit: None, ..relayed };
        assert_eq!(time(vec![vec![near; 3]], COSTS), Span::from_us(3 * 2));
    }

    #[test]
    fn buffers_and_lanes_share() {
        let long = Round { pieces: 100, bytes: 100_000, ..ROUND };
        // A round trip is 8 us, which is what the pieces of a buffer take.
        assert_eq!(time(vec![vec![long]], COSTS), Span::from_us(4 + 100 + 3));
        // With half a buffer the port idles half of the time.
        let half = Costs { window: 4, ..COSTS };
        assert_eq!(time(vec![vec![long]], half), Span::from_us(4 + 24 * 8 + 4 + 3));
        // Two of those fill it.
        let two = time(vec![vec![long]; 2], half);
        assert_eq!(two, Span::from_us(4 + 200 + 3));
        assert_eq!(time(vec![vec![]], COSTS), Span::ZERO);
        assert_eq!(time(vec![vec![Round { pieces: 0, ..ROUND }]], COSTS), Span::ZERO);
    }
}
