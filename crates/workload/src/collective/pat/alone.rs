//! The time of [`Pat`] on an idle network, worked out for one rank.
//!
//! All ranks do the same at the same time, but for a byte: what one sends it receives from another a latency later. So one rank stands
//! for all, and its sending port for all ports. A piece of a message is posted when the messages that it needs are copied, a clear-to-send is there,
//! and the pieces of the channel before it are posted; connections take turns at the port, by bytes. It arrives a latency, its time on the
//! wire and the proxy's delay later, and is copied when all that were posted before it are.

use super::*;
use std::collections::VecDeque;

/// An idle network: what a port takes and how far ports are apart.
pub(in crate::collective) struct Idle {
    pub(in crate::collective) nic: Rate,
    pub(in crate::collective) latency: Span,
    /// A clear-to-send, from one NIC to the other.
    pub(in crate::collective) ask: Span,
}

/// A piece that is posted and not copied.
struct Piece {
    dim: u32,
    bytes: Bytes,
    /// The last of its message.
    last: bool,
    arrives: Option<Span>,
}

/// One channel of the rank.
struct Lane<'a> {
    channel: &'a Channel,
    at: Cursor,
    /// When the piece before was posted, and when the last that came was copied.
    posted: Span,
    copied: Span,
    /// When each message was copied, over all laps.
    done: Vec<Span>,
    /// When the pieces of each connection were copied, and how many are posted.
    freed: Vec<Vec<Span>>,
    filled: Vec<usize>,
    /// In the order of posting, and the number of the first.
    flight: VecDeque<Piece>,
    first: usize,
}

/// A piece at the port: by turn, time of coming, connection and number.
type Waiting = (u64, Span, usize, usize);

impl Lane<'_> {
    fn message(&self) -> Option<Message> {
        let inside = self.at.lap < self.channel.shape.laps;
        inside.then(|| self.channel.of_lap(self.at.lap)[self.at.message as usize])
    }

    /// When the next piece may be posted, if that is known yet.
    fn ready(&self, ask: Span) -> Option<Span> {
        let message = self.message()?;
        let before = self.at.lap as usize * self.channel.messages[0].len();
        let need = match message.need {
            0 => Span::ZERO,
            need => *self.done.get(before + need as usize - 1)?,
        };
        let dim = message.dim as usize;
        let room = match self.filled[dim].checked_sub(STEPS as usize) {
            None => Span::ZERO,
            Some(place) => *self.freed[dim].get(place)?,
        };
        Some(self.posted.max(need).max(room + ask))
    }

    /// Posts the next piece: its connection, bytes and number.
    fn post(&mut self, at: Span, ranks: u32, step: u64) -> Option<(usize, Bytes, usize)> {
        let Message { dim, count, .. } = self.message()?;
        // The largest chunks stand for all.
        let all = largest(self.channel.shape.lap(self.at.lap), ranks) * u64::from(count);
        let bytes = Bytes::new(ragged(all, step, self.at.piece));
        self.at.piece += 1;
        let last = u64::from(self.at.piece) * step >= all;
        if last {
            self.at = Cursor { message: self.at.message + 1, piece: 0, ..self.at };
        }
        if self.at.message as usize == self.channel.of_lap(self.at.lap).len() {
            self.at = Cursor { lap: self.at.lap + 1, ..Cursor::default() };
        }
        self.posted = at;
        self.filled[dim as usize] += 1;
        self.flight.push_back(Piece { dim, bytes, last, arrives: None });
        Some((dim as usize, bytes, self.first + self.flight.len() - 1))
    }

    /// A piece arrives: all are copied that can be.
    fn arrive(&mut self, number: usize, at: Span, work: impl Fn(Bytes) -> Span) {
        self.flight[number - self.first].arrives = Some(at);
        while let Some(&Piece { dim, bytes, last, arrives: Some(arrives) }) = self.flight.front() {
            self.flight.pop_front();
            self.first += 1;
            self.copied = self.copied.max(arrives) + work(bytes);
            self.freed[dim as usize].push(self.copied);
            if last {
                self.done.push(self.copied);
            }
        }
    }
}

impl Pat {
    /// The bound on an idle network.
    pub(in crate::collective) fn bound(&self, idle: &Idle, wire: Span) -> Bound {
        let path = self.time_of(&self.channels[..1], idle);
        let time = self.time_of(&self.channels, idle);
        Bound { wire, path, credit: Span::ZERO, time: self.terms.cost.launch + time }
    }

    /// From the first piece to the last, of some channels.
    fn time_of(&self, channels: &[Channel], idle: &Idle) -> Span {
        let dims = self.dims as usize;
        let lane = |channel| Lane {
            channel,
            at: Cursor::default(),
            posted: Span::ZERO,
            copied: Span::ZERO,
            done: Vec::new(),
            freed: vec![Vec::new(); dims],
            filled: vec![0; dims],
            flight: VecDeque::new(),
            first: 0,
        };
        let mut lanes: Vec<Lane<'_>> = channels.iter().map(lane).collect();
        let (mut free, mut turn) = (Span::ZERO, 0);
        let mut turns = vec![0; lanes.len() * dims];
        let mut waiting: std::collections::BTreeMap<Waiting, Bytes> = Default::default();
        loop {
            let ready = |(number, lane): (usize, &Lane<'_>)| Some((lane.ready(idle.ask)?, number));
            let next = lanes.iter().enumerate().filter_map(ready).min();
            match next.filter(|&(at, _)| waiting.is_empty() || at <= free) {
                Some((at, number)) => {
                    let posted = lanes[number].post(at, self.ranks(), self.step);
                    let Some((dim, bytes, piece)) = posted else { break };
                    let own = &mut turns[number * dims + dim];
                    let begin = turn.max(*own);
                    *own = begin + bytes.get();
                    waiting.insert((begin, at, number * dims + dim, piece), bytes);
                    free = if waiting.len() == 1 { free.max(at) } else { free };
                }
                None => {
                    let Some(((begin, _, link, piece), bytes)) = waiting.pop_first() else { break };
                    turn = begin;
                    free += idle.nic.time_for(bytes);
                    let at = free + idle.latency + self.terms.cost.delay(bytes);
                    lanes[link / dims].arrive(piece, at, |bytes| self.terms.cost.work(bytes));
                }
            }
        }
        lanes.iter().map(|lane| lane.copied).max().unwrap_or(Span::ZERO)
    }
}
