//! [`Ports`]: NICs or NVLinks that send and receive whole transfers.
//!
//! The two directions of a port have nothing to do with each other. A port sends one transfer after the other at its
//! rate and serves its connections in turn, by bytes (start-time fair queueing: P. Goyal, H. M. Vin,
//! H. Cheng, "Start-time fair queueing", 1996). A transfer's first bit arrives a latency after it was sent; the
//! receiving port takes transfers at its own rate in the order in which they arrive. What arrives at a port that is
//! busy waits there, at no cost to its sender, which goes on with its other transfers: ports are never held for each
//! other, and none idles while it has something to do.
//!
//! Its user carries out three steps: [`Ports::send`] returns when the port is to choose,
//! [`Ports::next`] which transfer it then sends, and [`Ports::arrive`] when that one is complete.

use crate::program::Token;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_units::{Bytes, Instant, Rate, Span};

/// Bytes that went out and came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Out.
    pub sent: Bytes,
    /// In.
    pub received: Bytes,
}

/// A transfer: its ends, and what comes back when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// The port that sends.
    pub from: u32,
    /// The port that receives.
    pub to: u32,
    /// How much.
    pub bytes: Bytes,
    /// The program that asked for it, where there are several.
    pub program: u32,
    /// What comes back to it.
    pub token: Token,
}

impl Transfer {
    /// The connection it belongs to: those of lower number arrive first at the same instant.
    pub fn connection(&self) -> u32 {
        self.token.index() as u32
    }
}

/// A transfer at its sender: by turn, then by time of coming, then by connection, and those of one in their
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    turn: u64,
    since: Instant,
    program: u32,
    connection: usize,
    order: u64,
    transfer: Transfer,
}

/// How long transfers take at a rate. Mostly they are as large as the one before.
#[derive(Debug)]
struct Pace {
    rate: Rate,
    bytes: Bytes,
    time: Span,
}

impl Pace {
    fn new(rate: Rate) -> Self {
        Self { rate, bytes: Bytes::ZERO, time: rate.time_for(Bytes::ZERO) }
    }

    fn time_for(&mut self, bytes: Bytes) -> Span {
        if self.bytes != bytes {
            (self.bytes, self.time) = (bytes, self.rate.time_for(bytes));
        }
        self.time
    }
}

/// The sending side of a port.
#[derive(Debug, Default)]
struct Sender {
    free: Instant,
    /// Whether it is to be looked at when it is free.
    watched: bool,
    /// The turn of the transfer it is at: bytes that a connection that always sends has sent.
    turn: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

/// All ports of one kind.
#[derive(Debug)]
pub struct Ports {
    paces: Vec<Pace>,
    senders: Vec<Sender>,
    /// When a receiver has taken what it is at.
    receivers: Vec<Instant>,
    moved: Vec<Moved>,
    /// Transfers so far: those of one connection go in their order.
    sent: u64,
    /// The port of a connection, and the turn at which its next transfer comes, by program, lane and index:
    /// tokens of one connection have one of each. Lanes are used again, so that what is found may
    /// be of a connection that is over; its turn then means nothing to another port.
    next: Vec<Vec<Vec<(u32, u64)>>>,
}

impl Ports {
    /// Ports of these rates.
    pub fn new(rates: Vec<Rate>) -> Self {
        Self {
            senders: rates.iter().map(|_| Sender::default()).collect(),
            receivers: vec![Instant::ZERO; rates.len()],
            moved: vec![Moved::default(); rates.len()],
            paces: rates.into_iter().map(Pace::new).collect(),
            sent: 0,
            next: Vec::new(),
        }
    }

    /// Whether both ports are there and have a rate.
    pub fn can(&self, from: u32, to: u32) -> bool {
        let has = |at: u32| self.paces.get(at as usize).is_some_and(|pace| pace.rate != Rate::ZERO);
        has(from) && has(to)
    }

    /// The rate of the slower of two ports.
    pub fn slower(&self, from: u32, to: u32) -> Rate {
        self.paces[from as usize].rate.min(self.paces[to as usize].rate)
    }

    /// What every port has sent and received.
    pub fn into_moved(self) -> Vec<Moved> {
        self.moved
    }

    /// A transfer comes to its sender: when that port is to choose, unless it will anyway.
    pub fn send(&mut self, now: Instant, transfer: Transfer) -> Option<Instant> {
        self.sent += 1;
        let (program, connection) = (transfer.program, transfer.token.index());
        let (turn, order) = (self.turn(&transfer), self.sent);
        let sender = &mut self.senders[transfer.from as usize];
        let waiting = Waiting { turn, since: now, program, connection, order, transfer };
        sender.waiting.push(Reverse(waiting));
        let watched = std::mem::replace(&mut sender.watched, true);
        (!watched).then(|| now.max(sender.free))
    }

    /// A port whose time has come sends its next transfer, which arrives a latency from now: that transfer, and
    /// when the port is to choose again.
    pub fn next(&mut self, now: Instant, port: u32) -> Option<(Transfer, Option<Instant>)> {
        let sender = &mut self.senders[port as usize];
        let Reverse(Waiting { turn, transfer, .. }) = sender.waiting.pop()?;
        sender.watched = !sender.waiting.is_empty();
        sender.turn = turn;
        sender.free = now.plus(self.paces[port as usize].time_for(transfer.bytes));
        self.moved[port as usize].sent += transfer.bytes;
        Some((transfer, sender.watched.then_some(sender.free)))
    }

    /// The first bit of a transfer arrives: when the last one has been taken.
    pub fn arrive(&mut self, now: Instant, transfer: &Transfer) -> Instant {
        let to = transfer.to as usize;
        self.moved[to].received += transfer.bytes;
        // A port is busy for as long as the bytes take at its own rate: slower senders share a fast one.
        let own = self.paces[to].time_for(transfer.bytes);
        let taken = now.max(self.receivers[to]).plus(own);
        self.receivers[to] = taken;
        match self.paces[transfer.from as usize].rate < self.paces[to].rate {
            true => {
                let slower = self.paces[transfer.from as usize].time_for(transfer.bytes);
                taken.max(now.plus(slower))
            }
            false => taken,
        }
    }

    /// All that decides what ports do next, as it is seen from an instant, but for the sizes of what waits: added to `out`.
    pub(crate) fn posture(&self, now: Instant, out: &mut Vec<u64>) {
        let left = |at: Instant| at.since(now).as_ps();
        for (sender, &receiver) in self.senders.iter().zip(&self.receivers) {
            out.extend([left(sender.free), left(receiver), sender.waiting.len() as u64]);
            out.push(sender.watched.into());
            let mut waiting: Vec<&Waiting> =
                sender.waiting.iter().map(|Reverse(own)| own).collect();
            waiting.sort_unstable();
            for own in waiting {
                let since = now.since(own.since).as_ps();
                out.extend([own.turn - sender.turn, since, own.transfer.token.word()]);
            }
        }
        for (port, next) in self.next.iter().flatten().flatten() {
            // A connection whose turn is over begins at its port's.
            let ahead = next.saturating_sub(self.senders[*port as usize].turn);
            out.extend([u64::from(*port), ahead]);
        }
    }

    /// What happens next at any port happens so much later.
    pub(crate) fn postpone(&mut self, span: Span) {
        for (sender, receiver) in self.senders.iter_mut().zip(&mut self.receivers) {
            sender.free = sender.free.plus(span);
            *receiver = receiver.plus(span);
            let waiting = std::mem::take(&mut sender.waiting).into_iter();
            let later = |Reverse(own): Reverse<Waiting>| {
                Reverse(Waiting { since: own.since.plus(span), ..own })
            };
            sender.waiting = waiting.map(later).collect();
        }
    }

    /// What every port has sent and received so far.
    pub(crate) fn moved(&self) -> &[Moved] {
        &self.moved
    }

    /// Counts again, so many times, what has been moved since it was `before`.
    pub(crate) fn repeat_moved(&mut self, before: &[Moved], times: u64) {
        for (own, before) in self.moved.iter_mut().zip(before) {
            let more = |now: Bytes, then: Bytes| Bytes::new((now.get() - then.get()) * times);
            own.sent += more(own.sent, before.sent);
            own.received += more(own.received, before.received);
        }
    }

    /// The turn of a transfer.
    fn turn(&mut self, transfer: &Transfer) -> u64 {
        let program = slot(&mut self.next, transfer.program as usize);
        let lane = slot(program, transfer.token.lane() as usize);
        let index = transfer.token.index();
        if lane.len() <= index {
            lane.resize(index + 1, (transfer.from, 0));
        }
        let (port, next) = lane[index];
        let next = if port == transfer.from { next } else { 0 };
        let turn = next.max(self.senders[transfer.from as usize].turn);
        lane[index] = (transfer.from, turn.saturating_add(transfer.bytes.get()));
        turn
    }
}

/// The place of an index, which is made if there is none.
fn slot<T: Clone>(all: &mut Vec<Vec<T>>, index: usize) -> &mut Vec<T> {
    if all.len() <= index {
        all.resize(index + 1, Vec::new());
    }
    &mut all[index]
}
