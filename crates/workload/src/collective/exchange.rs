//! [`Exchange`]: every rank sends to others, round after round: all-to-all and point-to-point.
//!
//! In round `(d, e)` GPU `g` of server `s` sends to GPU `g + e` of server `s + d`: all ranks are busy in
//! every round, and all of them inside their servers or all outside. (Where servers have different
//! numbers of ranks, round `d` is from rank `r` to rank `r + d`.) A rank works on several rounds at once, one
//! per lane; lane `l` of `k` takes every `k`-th, and rounds inside and outside have lanes of their own.
//!
//! Only the round in hand has state, so memory grows with ranks and lanes, not with pairs: a receiver
//! that is in a round can be written to by one rank only, and a sender that comes first waits for the
//! receiver to get there.

use super::link::{SLOTS, Way};
use super::machine::Terms;
use super::shape::part;
use super::traffic::Loads;
use crate::layout::{Layout, RankId, Seat};
use crate::program::{Action, Queue, Token, Traffic};
use xoff_units::Bytes;

mod kind {
    pub(super) const LANDED: u8 = 0;
    pub(super) const STAGED: u8 = 1;
    pub(super) const CLEARED: u8 = 2;
    pub(super) const LAUNCHED: u8 = 3;
}

/// Which rounds there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounds {
    /// Every rank to every other.
    All,
    /// Every rank to the one after it.
    Next,
}

/// One message of a round.
pub(super) struct Round {
    pub(super) network: bool,
    pub(super) pieces: u32,
    /// Bytes of the first piece, which is the largest.
    pub(super) piece: u64,
}

/// What a rank sends on a channel.
#[derive(Debug, Clone, Copy, Default)]
struct Sender {
    /// Which of the channel's rounds; past the last one it is done.
    round: u32,
    /// Pieces of the round in all.
    pieces: u32,
    filled: u32,
    staged: u32,
    posted: u32,
    landed: u32,
}

/// What a rank receives on a channel.
#[derive(Debug, Clone, Copy, Default)]
struct Receiver {
    round: u32,
    pieces: u32,
    granted: u32,
    cleared: u32,
    landed: u32,
}

/// Every rank sends to others. Made by [`super::program`].
#[derive(Debug, Clone)]
pub struct Exchange {
    seats: Vec<Seat>,
    /// Ranks of each domain.
    domains: Vec<Vec<RankId>>,
    /// Ranks server by server, and where each is in that order.
    grid: Vec<u32>,
    place: Vec<u32>,
    /// Where each is in its domain, and how many ranks the largest has.
    local: Vec<u32>,
    largest: u32,
    /// Ranks in every server; 1 where rounds do not go by servers.
    columns: u32,
    rounds: Rounds,
    /// What a rank has to send, to itself included; cut evenly over the ranks.
    bytes: u64,
    /// Most bytes of a piece.
    piece: u64,
    channels: u32,
    /// One per channel, and again for rounds inside servers.
    lanes: u32,
    terms: Terms,
    /// Whether data goes by the NIC that is on the receiver's rail.
    by_rail: bool,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    launched: Vec<bool>,
    /// Senders and receivers that are not done.
    active: usize,
}

impl Exchange {
    pub(crate) fn new(layout: &Layout, rounds: Rounds, bytes: u64, terms: Terms) -> Self {
        let ranks = layout.ranks();
        let columns = match rounds {
            Rounds::All => layout.ranks_per_domain().unwrap_or(1),
            Rounds::Next => 1,
        };
        let grid: Vec<u32> = match columns {
            1 => (0..ranks).collect(),
            _ => layout.domains().iter().flatten().map(|rank| rank.0).collect(),
        };
        let mut place = vec![0; ranks as usize];
        grid.iter().zip(0..).for_each(|(&rank, at)| place[rank as usize] = at);
        let mut local = vec![0; ranks as usize];
        for domain in layout.domains() {
            domain.iter().zip(0..).for_each(|(rank, at)| local[rank.index()] = at);
        }
        Self {
            local,
            largest: layout.domains().iter().map(Vec::len).max().unwrap_or(1) as u32,
            grid,
            place,
            columns,
            seats: (0..ranks).map(|rank| layout.seat(RankId(rank))).collect(),
            domains: layout.domains().to_vec(),
            rounds,
            bytes,
            piece: 1,
            channels: 1,
            lanes: 1,
            terms,
            by_rail: false,
            senders: Vec::new(),
            receivers: Vec::new(),
            launched: Vec::new(),
            active: 0,
        }
    }

    /// With so many channels, pieces of at most so many bytes, and PXN if `by_rail`.
    pub(crate) fn with(mut self, channels: u32, piece: u64, by_rail: bool) -> Self {
        let lanes = if self.columns > 1 { 2 * channels } else { channels };
        let count = self.seats.len() * lanes as usize;
        self.senders = vec![Sender::default(); count];
        self.receivers = vec![Receiver::default(); count];
        self.launched = vec![false; count];
        Self { channels, lanes, piece, by_rail, ..self }
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        let lanes = self.senders.len();
        for lane in 0..lanes {
            self.open_sender(lane);
            self.open_receiver(lane);
        }
        self.active = 2 * lanes
            - (0..lanes).filter(|&lane| self.sender_is_done(lane)).count()
            - (0..lanes).filter(|&lane| self.receiver_is_done(lane)).count();
        if self.active == 0 {
            return out.push(Action::Finished);
        }
        for lane in 0..lanes {
            let span = self.terms.launch;
            if span.is_zero() {
                self.launch(lane, out);
            } else {
                let gpu = self.seats[self.rank(lane) as usize].gpu;
                let token = Token::new(kind::LAUNCHED, 0, lane as u32);
                out.push(Action::Wait { token, gpu, span });
            }
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let lane = token.index();
        if lane >= self.senders.len() {
            debug_assert!(false, "a token of another program");
            return;
        }
        match token.kind() {
            kind::LANDED => self.land(lane, out),
            kind::STAGED => {
                self.senders[lane].staged += 1;
                self.pump(lane, out);
            }
            kind::CLEARED => {
                self.receivers[lane].cleared += 1;
                self.serve(lane, out);
            }
            _ => self.launch(lane, out),
        }
    }

    /// What goes over every NIC and NVLink.
    pub(super) fn loads(&self) -> Loads {
        let ranks = self.seats.len() as u32;
        let shifts = match self.rounds {
            Rounds::All => 1..ranks,
            Rounds::Next => 1..2,
        };
        let mut loads = Loads::default();
        for from in 0..ranks {
            for to in shifts.clone().map(|shift| (from + shift) % ranks) {
                let (lane, target) = (from * self.lanes, to * self.lanes);
                let (own, peer) = (self.seats[from as usize], self.seats[to as usize]);
                let way = match self.exit(lane as usize, target as usize) {
                    None => Way::Nvlink { from: own.gpu, to: peer.gpu },
                    Some(exit) => {
                        let relay = (exit.nic != own.nic).then_some((own.gpu, exit.gpu));
                        Way::Network { from: exit.nic, to: peer.nic, queue: 0, relay }
                    }
                };
                loads.add(way, Bytes::new(self.message(to)));
            }
        }
        loads
    }

    /// Pieces in a buffer.
    pub(super) fn window(&self) -> u32 {
        self.terms.window
    }

    /// The rounds of a rank on a lane, and how many lanes there are.
    pub(super) fn rounds(&self, rank: u32, lane: u32) -> impl Iterator<Item = Round> + '_ {
        let shifts = (0..).map_while(move |round| self.shift(lane, round));
        shifts.map(move |shift| {
            let to = self.at(rank, shift);
            let pieces = self.pieces(to);
            let piece = if pieces == 0 { 0 } else { part(self.message(to), pieces, 0) };
            let ends = [rank, to].map(|rank| (rank * self.lanes) as usize);
            Round { network: self.exit(ends[0], ends[1]).is_some(), pieces, piece }
        })
    }

    /// How many lanes a rank has, and how many ranks there are.
    pub(super) fn extent(&self) -> (u32, u32) {
        (self.lanes, self.seats.len() as u32)
    }

    fn launch(&mut self, lane: usize, out: &mut Vec<Action>) {
        self.launched[lane] = true;
        self.grant(lane, out);
        self.fill(lane, out);
        self.serve(lane, out);
    }

    fn rank(&self, lane: usize) -> u32 {
        lane as u32 / self.lanes
    }

    fn channel(&self, lane: usize) -> u32 {
        lane as u32 % self.lanes
    }

    /// How far the partner of a lane's round is, in servers and GPUs; none after the last round.
    fn shift(&self, lane: u32, round: u32) -> Option<(u32, u32)> {
        let rows = match self.rounds {
            Rounds::All => self.seats.len() as u32 / self.columns,
            Rounds::Next => 2,
        };
        let inside = lane >= self.channels;
        let number = round.checked_mul(self.channels)?.checked_add(lane % self.channels)?;
        match inside {
            true => (number + 1 < self.columns).then_some((0, number + 1)),
            false => (number < (rows - 1) * self.columns)
                .then(|| (1 + number / self.columns, number % self.columns)),
        }
    }

    /// The rank so many servers and GPUs further on.
    fn at(&self, rank: u32, (rows, columns): (u32, u32)) -> u32 {
        let (place, count) = (self.place[rank as usize], self.seats.len() as u32 / self.columns);
        let row = (place / self.columns + rows) % count;
        let column = (place % self.columns + columns) % self.columns;
        self.grid[(row * self.columns + column) as usize]
    }

    /// The lane that a sender's round leads to.
    fn target(&self, lane: usize) -> Option<usize> {
        let (rank, channel) = (self.rank(lane), self.channel(lane));
        let shift = self.shift(channel, self.senders[lane].round)?;
        Some((self.at(rank, shift) * self.lanes + channel) as usize)
    }

    /// The lane that a receiver's round comes from.
    fn source(&self, lane: usize) -> Option<usize> {
        let (rank, channel) = (self.rank(lane), self.channel(lane));
        let (rows, columns) = self.shift(channel, self.receivers[lane].round)?;
        let count = self.seats.len() as u32 / self.columns;
        let back = (count - rows % count, self.columns - columns % self.columns);
        Some((self.at(rank, back) * self.lanes + channel) as usize)
    }

    /// What goes to a rank.
    fn message(&self, to: u32) -> u64 {
        match self.rounds {
            Rounds::All => part(self.bytes, self.seats.len() as u32, to),
            Rounds::Next => self.bytes,
        }
    }

    fn pieces(&self, to: u32) -> u32 {
        self.message(to).div_ceil(self.piece) as u32
    }

    fn sender_is_done(&self, lane: usize) -> bool {
        self.target(lane).is_none()
    }

    fn receiver_is_done(&self, lane: usize) -> bool {
        self.source(lane).is_none()
    }

    /// Goes to the next round that has something to send, the one in hand included.
    fn open_sender(&mut self, lane: usize) {
        while let Some(target) = self.target(lane) {
            let pieces = self.pieces(self.rank(target));
            let round = self.senders[lane].round;
            self.senders[lane] = Sender { round, pieces, ..Sender::default() };
            if pieces > 0 {
                return;
            }
            self.senders[lane].round += 1;
        }
    }

    fn open_receiver(&mut self, lane: usize) {
        let pieces = self.pieces(self.rank(lane));
        while self.source(lane).is_some() {
            let round = self.receivers[lane].round;
            self.receivers[lane] = Receiver { round, pieces, ..Receiver::default() };
            if pieces > 0 {
                return;
            }
            self.receivers[lane].round += 1;
        }
    }

    /// The seat whose NIC a sender uses towards a receiver; none inside a server.
    fn exit(&self, lane: usize, target: usize) -> Option<Seat> {
        let (from, to) = (self.seat(lane), self.seat(target));
        if from.domain == to.domain {
            return None;
        }
        let on_rail = |rank: &&RankId| self.seats[rank.index()].rail == to.rail;
        let near = self.by_rail && from.rail != to.rail;
        let other = near.then(|| self.domains[from.domain as usize].iter().find(on_rail));
        Some(other.flatten().map_or(from, |rank| self.seats[rank.index()]))
    }

    fn seat(&self, lane: usize) -> Seat {
        self.seats[self.rank(lane) as usize]
    }

    /// The queue between the NICs of two lanes, apart from those of other ranks behind them.
    fn queue(&self, lane: usize, target: usize) -> u32 {
        let place = |lane: usize| self.local[self.rank(lane) as usize];
        let pair = place(lane) * self.largest + place(target);
        (pair * self.lanes + self.channel(lane)) * self.terms.queues
    }

    /// Tells the sender of a receiver's round of the buffers that are free.
    fn grant(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(source) = self.source(lane) else { return };
        let Some(exit) = self.exit(source, lane) else { return };
        let (from, to) = (self.seat(lane).nic, exit.nic);
        let queue = Queue(self.queue(source, lane));
        let bytes = self.terms.clear_to_send;
        let window = self.terms.window;
        let receiver = &mut self.receivers[lane];
        while receiver.granted < receiver.pieces.min(receiver.landed + window) {
            receiver.granted += 1;
            let (token, traffic) =
                (Token::new(kind::CLEARED, 0, lane as u32), Traffic::ClearToSend);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// Lets the sender of a receiver's round go on, if it has got there.
    fn serve(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(source) = self.source(lane) else { return };
        if self.target(source) == Some(lane) && self.launched[source] {
            self.fill(source, out);
            self.pump(source, out);
        }
    }

    /// Puts pieces into the sender's buffer: of the GPU that owns the NIC, or of the receiver.
    fn fill(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else { return };
        let exit = self.exit(lane, target);
        let met = self.met(lane, target);
        let (own, peer) = (self.seat(lane), self.seat(target));
        loop {
            let sender = &mut self.senders[lane];
            let full = sender.filled - sender.landed >= self.terms.window;
            if sender.filled == sender.pieces || full || exit.is_none() && !met {
                break;
            }
            let piece = sender.filled;
            sender.filled += 1;
            let (to, step) = match exit {
                None => (peer.gpu, kind::LANDED),
                Some(exit) if exit.nic != own.nic => (exit.gpu, kind::STAGED),
                Some(_) => {
                    sender.staged += 1;
                    continue;
                }
            };
            let slot = (piece % SLOTS) as u8;
            let bytes = self.size(target, piece);
            let token = Token::new(step, slot, lane as u32);
            out.push(Action::Nvlink { token, from: own.gpu, to, bytes });
        }
        self.pump(lane, out);
    }

    /// Whether a receiver is in the round that a sender is in.
    fn met(&self, lane: usize, target: usize) -> bool {
        self.receivers[target].round == self.senders[lane].round && self.launched[target]
    }

    fn size(&self, target: usize, piece: u32) -> Bytes {
        let rank = self.rank(target);
        Bytes::new(part(self.message(rank), self.pieces(rank), piece))
    }

    /// Hands pieces to the NIC as far as the receiver is ready for them.
    fn pump(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else { return };
        let Some(exit) = self.exit(lane, target) else { return };
        let cleared = match self.met(lane, target) {
            true => self.receivers[target].cleared,
            false => 0,
        };
        let (from, to) = (exit.nic, self.seat(target).nic);
        let first = self.queue(lane, target);
        while self.senders[lane].posted < self.senders[lane].staged.min(cleared) {
            let piece = self.senders[lane].posted;
            self.senders[lane].posted += 1;
            let bytes = self.size(target, piece);
            let token = Token::new(kind::LANDED, (piece % SLOTS) as u8, lane as u32);
            let (queue, traffic) = (Queue(first + piece % self.terms.queues), Traffic::Data);
            out.push(Action::Network { token, from, to, queue, traffic, bytes });
        }
    }

    /// A piece has arrived: both ends go on, to the next round if it was the last.
    fn land(&mut self, lane: usize, out: &mut Vec<Action>) {
        let Some(target) = self.target(lane) else {
            debug_assert!(false, "a piece arrived after the last");
            return;
        };
        self.senders[lane].landed += 1;
        self.receivers[target].landed += 1;
        if self.receivers[target].landed == self.receivers[target].pieces {
            self.receivers[target].round += 1;
            self.open_receiver(target);
            self.active -= usize::from(self.receiver_is_done(target));
        }
        if self.senders[lane].landed == self.senders[lane].pieces {
            self.senders[lane].round += 1;
            self.open_sender(lane);
            self.active -= usize::from(self.sender_is_done(lane));
        }
        if self.active == 0 {
            return out.push(Action::Finished);
        }
        self.grant(target, out);
        self.fill(lane, out);
        self.serve(target, out);
    }
}
