//! [`Rounds`]: which rank sends to which, in which order, in all-to-all and point-to-point.
//!
//! In round `(d, e)` GPU `g` of server `s` sends to GPU `g + e` of server `s + d`: all ranks are busy in
//! every round, and all of them inside their servers or all outside. (Where servers have different
//! numbers of ranks, round `d` is from rank `r` to rank `r + d`.) A rank works on several rounds at once, one
//! per lane; lane `l` of `k` takes every `k`-th, and rounds inside and outside have lanes of their own.
//!
//! Where all send to one, it hears the rank `i + 1` after it in round `i / k` of lane `i mod k`: that rank's only
//! round has the same number. Where one sends to all it is the same the other way round.
//!
//! What they send is the same for every pair, or as a [`Matrix`] has it; pairs with nothing to say are passed over.

use super::link::Way;
use super::matrix::Matrix;
use super::shape::part;
use super::traffic::Loads;
use crate::layout::{Layout, RankId, Seat};
use std::sync::Arc;
use xoff_units::Bytes;

/// The pattern of senders and receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Every rank to every other.
    All,
    /// Every rank to the one after it.
    Next,
    /// Every other rank to this one.
    To(u32),
    /// This rank to every other.
    From(u32),
}

/// What ranks have to send.
#[derive(Debug, Clone)]
pub(super) enum Amounts {
    /// So much each, to itself included; cut evenly over the ranks.
    Even(u64),
    /// To each its own.
    Each(Arc<Matrix>),
}

/// One message of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Which NIC of its server it goes by; none inside a server.
    pub(super) exit: Option<u32>,
    /// Handed over to another GPU of the server first.
    pub(super) relay: bool,
    /// The receiver has asked for it from the beginning: it has nothing else to receive.
    pub(super) asked: bool,
    pub(super) pieces: u32,
    /// Of all of them, and of one at most.
    pub(super) bytes: u64,
    pub(super) most: u64,
}

impl Round {
    /// Whether it goes over the network.
    pub(super) fn is_far(&self) -> bool {
        self.exit.is_some()
    }

    /// The bytes of a piece; the first is the largest, but for a byte.
    pub(super) fn piece(&self, number: u32) -> u64 {
        piece(self.bytes, self.most, self.pieces, number)
    }
}

/// Piece `number` of a message in so many: full ones, and what is left.
const fn piece(bytes: u64, most: u64, pieces: u32, number: u32) -> u64 {
    if number + 1 == pieces { bytes - most * number as u64 } else { most }
}

/// Which rank sends to which, in which order. A lane is one of a rank's several rows of rounds; lanes are
/// counted through all ranks.
#[derive(Debug, Clone)]
pub(super) struct Rounds {
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
    pattern: Pattern,
    amounts: Amounts,
    /// Most bytes of a piece.
    piece: u64,
    channels: u32,
    /// One per channel, and again for rounds inside servers.
    lanes: u32,
    /// Whether data goes by the NIC that is on the receiver's rail.
    by_rail: bool,
}

impl Rounds {
    /// The rounds of a layout in which ranks have so much to send.
    pub(super) fn new(layout: &Layout, pattern: Pattern, amounts: Amounts) -> Self {
        let ranks = layout.ranks();
        let columns = match pattern {
            Pattern::All => layout.ranks_per_domain().unwrap_or(1),
            Pattern::Next | Pattern::To(_) | Pattern::From(_) => 1,
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
            pattern,
            amounts,
            piece: 1,
            channels: 1,
            lanes: 1,
            by_rail: false,
        }
    }

    /// With so many channels, pieces of at most so many bytes, and PXN if `by_rail`.
    pub(super) fn with(self, channels: u32, piece: u64, by_rail: bool) -> Self {
        let lanes = if self.columns > 1 { 2 * channels } else { channels };
        Self { channels, lanes, piece, by_rail, ..self }
    }

    /// Channels that carry what crosses the network.
    pub(super) fn channels(&self) -> u32 {
        self.channels
    }

    /// Lanes of all ranks.
    pub(super) fn lanes_in_all(&self) -> usize {
        self.seats.len() * self.lanes as usize
    }

    /// A rank's lane of a channel. First lanes come before second ones: at a NIC that several ranks share,
    /// those of the same round are next to each other.
    fn lane(&self, rank: u32, channel: u32) -> usize {
        channel as usize * self.seats.len() + rank as usize
    }

    fn rank(&self, lane: usize) -> u32 {
        (lane % self.seats.len()) as u32
    }

    fn channel(&self, lane: usize) -> u32 {
        (lane / self.seats.len()) as u32
    }

    /// All lanes, rank by rank.
    pub(super) fn by_rank(&self) -> impl Iterator<Item = usize> + '_ {
        let ranks = 0..self.seats.len() as u32;
        ranks.flat_map(move |rank| (0..self.lanes).map(move |channel| self.lane(rank, channel)))
    }

    /// The first round in which a lane has something to send, if it ever has.
    pub(super) fn first(&self, lane: usize) -> Option<u32> {
        match self.pattern {
            Pattern::To(root) => self.only(lane, root),
            Pattern::From(root) => (self.rank(lane) == root).then_some(0),
            Pattern::All | Pattern::Next => Some(0),
        }
    }

    /// The first round in which a lane may receive something, if it ever does.
    pub(super) fn first_heard(&self, lane: usize) -> Option<u32> {
        match self.pattern {
            Pattern::From(root) => self.only(lane, root),
            Pattern::To(root) => (self.rank(lane) == root).then_some(0),
            Pattern::All | Pattern::Next => Some(0),
        }
    }

    /// The only round that a lane has with the root, if it is that of its rank.
    fn only(&self, lane: usize, root: u32) -> Option<u32> {
        let ranks = self.seats.len() as u32;
        let number = ((self.rank(lane) + ranks - root) % ranks).checked_sub(1)?;
        (number % self.channels == self.channel(lane)).then_some(number / self.channels)
    }

    /// The lane of the rank that has its only round with the root in this round of the root's.
    fn partner(&self, lane: usize, round: u32, root: u32) -> Option<usize> {
        let (rank, channel) = (self.rank(lane), self.channel(lane));
        let number = round.checked_mul(self.channels)?.checked_add(channel)?;
        let ranks = self.seats.len() as u32;
        let has = rank == root && number < ranks - 1;
        has.then(|| self.lane((root + 1 + number) % ranks, channel))
    }

    /// How far the partner of a lane's round is, in servers and GPUs; none after the last round.
    fn shift(&self, lane: u32, round: u32) -> Option<(u32, u32)> {
        let rows = match self.pattern {
            Pattern::All => self.seats.len() as u32 / self.columns,
            Pattern::Next | Pattern::To(_) | Pattern::From(_) => 2,
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

    /// All other ranks in an order in which every rank is the next one of exactly one other.
    pub(super) fn others(&self, rank: u32) -> impl Iterator<Item = u32> + '_ {
        (1..self.seats.len() as u32).map(move |number| self.other(rank, number))
    }

    /// One of them by its number in that order, from 1 on.
    pub(super) fn other(&self, rank: u32, number: u32) -> u32 {
        self.at(rank, (number / self.columns, number % self.columns))
    }

    /// The lane that a sender's round leads to; none after the last round.
    pub(super) fn target(&self, lane: usize, round: u32) -> Option<usize> {
        let (rank, channel) = (self.rank(lane), self.channel(lane));
        match self.pattern {
            Pattern::To(root) => {
                let own = self.only(lane, root) == Some(round);
                return own.then(|| self.lane(root, channel));
            }
            Pattern::From(root) => return self.partner(lane, round, root),
            Pattern::All | Pattern::Next => {}
        }
        let shift = self.shift(channel, round)?;
        Some(self.lane(self.at(rank, shift), channel))
    }

    /// The lane that a receiver's round comes from; none after the last round.
    pub(super) fn source(&self, lane: usize, round: u32) -> Option<usize> {
        let (rank, channel) = (self.rank(lane), self.channel(lane));
        match self.pattern {
            Pattern::To(root) => return self.partner(lane, round, root),
            Pattern::From(root) => {
                let own = self.only(lane, root) == Some(round);
                return own.then(|| self.lane(root, channel));
            }
            Pattern::All | Pattern::Next => {}
        }
        let (rows, columns) = self.shift(channel, round)?;
        let count = self.seats.len() as u32 / self.columns;
        let back = (count - rows % count, self.columns - columns % self.columns);
        Some(self.lane(self.at(rank, back), channel))
    }

    /// The channel of a lane, its rank, and that of the lane it sends to.
    pub(super) fn ends(&self, lane: usize, target: usize) -> (u32, u32, u32) {
        (self.channel(lane), self.rank(lane), self.rank(target))
    }

    /// What goes from a rank to another.
    pub(super) fn message(&self, from: u32, to: u32) -> u64 {
        let ranks = self.seats.len() as u32;
        match (&self.amounts, self.pattern) {
            (Amounts::Each(matrix), _) => matrix.between(from, to).get(),
            (&Amounts::Even(bytes), Pattern::All) => part(bytes, ranks, to),
            (&Amounts::Even(bytes), Pattern::Next) => bytes,
            (&Amounts::Even(bytes), Pattern::To(_) | Pattern::From(_)) => bytes / u64::from(ranks),
        }
    }

    /// Messages that are a byte longer than others of the collective have as many pieces.
    fn pieces_between(&self, from: u32, to: u32) -> u32 {
        let message = self.message(from, to);
        let least = match (&self.amounts, self.pattern) {
            (&Amounts::Even(bytes), Pattern::All) => bytes / self.seats.len() as u64,
            _ => message,
        };
        least.div_ceil(self.piece).max(u64::from(message > 0)) as u32
    }

    /// Pieces of the message from the rank of a lane to that of another.
    pub(super) fn pieces(&self, lane: usize, target: usize) -> u32 {
        self.pieces_between(self.rank(lane), self.rank(target))
    }

    /// The bytes of that message.
    pub(super) fn in_all(&self, lane: usize, target: usize) -> u64 {
        self.message(self.rank(lane), self.rank(target))
    }

    /// The bytes of a piece of it.
    pub(super) fn size(&self, lane: usize, target: usize, piece: u32) -> Bytes {
        let (from, to) = (self.rank(lane), self.rank(target));
        let pieces = self.pieces_between(from, to);
        Bytes::new(self::piece(self.message(from, to), self.piece, pieces, piece))
    }

    /// The seat whose NIC a sender uses towards a receiver; none inside a server.
    pub(super) fn exit(&self, lane: usize, target: usize) -> Option<Seat> {
        let (from, to) = (self.seat(lane), self.seat(target));
        if from.domain == to.domain {
            return None;
        }
        let on_rail = |rank: &&RankId| self.seats[rank.index()].rail == to.rail;
        let near = self.by_rail && from.rail != to.rail;
        let other = near.then(|| self.domains[from.domain as usize].iter().find(on_rail));
        Some(other.flatten().map_or(from, |rank| self.seats[rank.index()]))
    }

    /// Where a rank sits.
    pub(super) fn seat_of(&self, rank: RankId) -> Seat {
        self.seats[rank.index()]
    }

    /// Where the rank of a lane sits.
    pub(super) fn seat(&self, lane: usize) -> Seat {
        self.seats[self.rank(lane) as usize]
    }

    /// The number of a connection between the NICs of two lanes, apart from those of other ranks
    /// behind them.
    pub(super) fn queue(&self, lane: usize, target: usize) -> u32 {
        let place = |lane: usize| self.local[self.rank(lane) as usize];
        let pair = place(lane) * self.largest + place(target);
        pair * self.lanes + self.channel(lane)
    }

    /// What goes over every NIC and NVLink.
    pub(super) fn loads(&self) -> Loads {
        let ranks = self.seats.len() as u32;
        let mut loads = Loads::default();
        for from in 0..ranks {
            let shifts = match self.pattern {
                Pattern::All => 1..ranks,
                Pattern::Next => 1..2,
                Pattern::To(root) if from == root => 0..0,
                Pattern::To(root) => {
                    let shift = (root + ranks - from) % ranks;
                    shift..shift + 1
                }
                Pattern::From(root) if from == root => 1..ranks,
                Pattern::From(_) => 0..0,
            };
            for to in shifts.map(|shift| (from + shift) % ranks) {
                let (lane, target) = (self.lane(from, 0), self.lane(to, 0));
                let (own, peer) = (self.seats[from as usize], self.seats[to as usize]);
                let way = match self.exit(lane, target) {
                    None => Way::Nvlink { from: own.gpu, to: peer.gpu },
                    Some(exit) => {
                        let relay = (exit.nic != own.nic).then_some((own.gpu, exit.gpu));
                        Way::Network { from: exit.nic, to: peer.nic, queue: 0, relay }
                    }
                };
                loads.add(way, Bytes::new(self.message(from, to)));
            }
        }
        loads
    }

    /// The messages of a rank on a lane, round by round; where all send to one, or one to all, those of the one.
    pub(super) fn of(&self, rank: u32, lane: u32) -> impl Iterator<Item = Round> + '_ {
        let pair = move |round| match self.pattern {
            Pattern::To(root) => {
                let source = self.source(self.lane(root, lane), round)?;
                Some((self.rank(source), root))
            }
            Pattern::From(root) => {
                let target = self.target(self.lane(root, lane), round)?;
                Some((root, self.rank(target)))
            }
            Pattern::All | Pattern::Next => {
                Some((rank, self.rank(self.target(self.lane(rank, lane), round)?)))
            }
        };
        (0..).map_while(pair).map(move |(rank, to)| {
            let pieces = self.pieces_between(rank, to);
            let ends = [rank, to].map(|rank| self.lane(rank, 0));
            let exit = self.exit(ends[0], ends[1]);
            let relay = exit.is_some_and(|exit| exit.nic != self.seats[rank as usize].nic);
            let (bytes, most) = (self.message(rank, to), self.piece);
            let asked = matches!(self.pattern, Pattern::From(_));
            Round { exit: exit.map(|exit| exit.rail), relay, asked, pieces, bytes, most }
        })
    }

    /// Whether all ranks have the same part.
    pub(super) fn is_symmetric(&self) -> bool {
        !matches!(self.pattern, Pattern::To(_))
    }

    /// Whether one NIC stands for all: all ranks do the same in every round, or all send to one.
    pub(super) fn has_one_port(&self) -> bool {
        let size = self.domains.first().map_or(0, Vec::len);
        let mut nics: Vec<_> = self.seats.iter().map(|seat| seat.nic).collect();
        nics.sort_unstable();
        nics.dedup();
        let Amounts::Even(bytes) = self.amounts else { return false };
        match self.pattern {
            Pattern::All => {
                bytes >= self.seats.len() as u64
                    && nics.len() == self.seats.len()
                    && self.domains.iter().all(|domain| domain.len() == size)
            }
            Pattern::Next => false,
            Pattern::To(_) | Pattern::From(_) => true,
        }
    }

    /// How many lanes a rank has, and how many ranks there are.
    pub(super) fn extent(&self) -> (u32, u32) {
        (self.lanes, self.seats.len() as u32)
    }
}
