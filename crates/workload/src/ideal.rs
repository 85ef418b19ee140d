//! [`run`]: a program on a network without switches, queues or loss, to see what the program itself
//! allows.
//!
//! Every NIC sends and receives at its rate, one whole transfer after the other, and so does every GPU
//! into its NVLink domain; a transfer is on both ends' wires at once (nothing is stored in between) and its
//! first bit arrives after a fixed latency. Senders serve their connections in turn, as NICs do with
//! queue pairs; receivers take what comes first. Whole transfers, not packets: turns are coarser, but sums
//! and the last arrival are the same, at a hundredth of the events. Clear-to-sends pass by data: a NIC
//! that takes turns packet by packet does not make them wait.
//!
//! Turns are given by start-time fair queueing (P. Goyal, H. M. Vin, H. Cheng, "Start-time fair
//! queueing", 1996), in bytes.

use crate::collective::Network;
use crate::layout::{self, GpuId};
use crate::program::{Action, Program, Token, Traffic};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use xoff_fabric::model::{Fabric, NicId};
use xoff_units::{Bytes, Instant, Rate, Span};

/// What a program did on the ideal network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// When it finished.
    pub end: Instant,
    /// Actions carried out.
    pub actions: u64,
    /// Data that each NIC sent and received, without clear-to-sends.
    pub nics: Vec<Moved>,
    /// What each GPU sent and received over NVLink.
    pub gpus: Vec<Moved>,
    /// Clear-to-sends.
    pub clear_to_sends: u64,
    /// Most clear-to-sends and data asked for by them under way at once.
    pub most_under_way: u64,
}

/// Bytes that went out and came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Out.
    pub sent: Bytes,
    /// In.
    pub received: Bytes,
}

/// Why a program did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdealError {
    /// Nothing is under way, and the program has not finished.
    #[error("the program is stuck after {0} actions")]
    Stuck(u64),
    /// It finished with something under way, or went on afterwards.
    #[error("the program finished before its last action was done")]
    Early,
    /// A NIC or GPU that the fabric does not have, or one without a rate.
    #[error("the program uses a NIC or GPU that cannot send")]
    NoSuchPort,
    /// Beyond what time can be counted.
    #[error("the program takes longer than 213 days")]
    TooLong,
}

/// A transfer: its ends, and what comes back when it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Transfer {
    from: u32,
    to: u32,
    bytes: u64,
    token: Token,
}

/// A transfer at its sender: by turn, then by time of coming, then by connection, and those of one in their
/// order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    turn: u64,
    since: Instant,
    connection: usize,
    order: u64,
    transfer: Transfer,
}

/// The sending side of a port.
#[derive(Debug, Default)]
struct Sender {
    free: Instant,
    /// Whether somebody looks when it is free.
    watched: bool,
    /// The turn of the transfer it is at: bytes that a connection that always sends has sent.
    turn: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
}

/// All ports of one kind.
#[derive(Debug)]
struct Ports {
    rates: Vec<Rate>,
    senders: Vec<Sender>,
    /// When a receiver has taken what it is at.
    receivers: Vec<Instant>,
    moved: Vec<Moved>,
    latency: Span,
    /// The port of a connection, and the turn at which its next transfer comes, by lane and index:
    /// tokens of one connection have one of each. Lanes are used again, so that what is found may
    /// be of a connection that is over; its turn then means nothing to another port.
    next: Vec<Vec<(u32, u64)>>,
}

impl Ports {
    fn new(rates: Vec<Rate>, latency: Span) -> Self {
        Self {
            senders: rates.iter().map(|_| Sender::default()).collect(),
            receivers: vec![Instant::ZERO; rates.len()],
            moved: vec![Moved::default(); rates.len()],
            rates,
            latency,
            next: Vec::new(),
        }
    }

    fn can(&self, from: u32, to: u32) -> bool {
        let has = |at: u32| self.rates.get(at as usize).is_some_and(|&rate| rate != Rate::ZERO);
        has(from) && has(to)
    }

    /// The turn of a transfer.
    fn turn(&mut self, transfer: &Transfer) -> u64 {
        let (lane, index) = (transfer.token.lane() as usize, transfer.token.index());
        if self.next.len() <= lane {
            self.next.resize(lane + 1, Vec::new());
        }
        let lane = &mut self.next[lane];
        if lane.len() <= index {
            lane.resize(index + 1, (transfer.from, 0));
        }
        let (port, next) = lane[index];
        let next = if port == transfer.from { next } else { 0 };
        let turn = next.max(self.senders[transfer.from as usize].turn);
        lane[index] = (transfer.from, turn.saturating_add(transfer.bytes));
        turn
    }

    fn slower(&self, transfer: &Transfer) -> Rate {
        self.rates[transfer.from as usize].min(self.rates[transfer.to as usize])
    }

    /// The last bit of a transfer whose first bit is here.
    fn receive(&mut self, now: Instant, transfer: &Transfer) -> Instant {
        let (to, bytes) = (transfer.to as usize, Bytes::new(transfer.bytes));
        self.moved[to].received += bytes;
        let end = now.max(self.receivers[to]).plus(self.slower(transfer).time_for(bytes));
        self.receivers[to] = end;
        end
    }
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// What this stands for is done.
    Done(Token),
    /// The first bit of a transfer arrives.
    Arrives(bool, Transfer),
    /// A port may send the next transfer.
    Free(bool, u32),
}

impl What {
    /// Which of those that happen at the same instant come first: what is done, then what arrives,
    /// connection by connection, and ports look last, when all that comes to them at that instant is there. So it
    /// is not chance who goes first: where all ranks begin at once, all begin with their first connection.
    fn rank(&self) -> (u8, u32) {
        match self {
            What::Done(_) => (0, 0),
            What::Arrives(_, transfer) => (1, transfer.token.index() as u32),
            What::Free(_, port) => (2, *port),
        }
    }
}

/// What is to happen, by time, then by rank, then in the order of coming up: there is one thread, so that is
/// an order, too. The heap moves and compares plain numbers, what happens stays where it is.
#[derive(Debug, Default)]
struct Events {
    /// Time; class, source and order in one number; slot.
    heap: BinaryHeap<Reverse<(u64, u128)>>,
    order: u64,
    slots: Vec<What>,
    free: Vec<u32>,
}

impl Events {
    fn push(&mut self, at: Instant, what: What) {
        self.order = self.order.wrapping_add(1);
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = what;
                slot
            }
            None => {
                self.slots.push(what);
                self.slots.len() as u32 - 1
            }
        };
        // 56 bits of order last for any run.
        let (class, source) = what.rank();
        let first = u128::from(class) << 120 | u128::from(source) << 88;
        let key = first | u128::from(self.order << 8 >> 8) << 32 | u128::from(slot);
        self.heap.push(Reverse((at.as_ps(), key)));
    }

    fn pop(&mut self) -> Option<(Instant, What)> {
        let Reverse((at, key)) = self.heap.pop()?;
        let slot = key as u32;
        self.free.push(slot);
        Some((Instant::from_ps(at), self.slots[slot as usize]))
    }
}

/// Runs a program to its end.
pub fn run(
    program: &mut Program,
    fabric: &Fabric,
    network: &Network,
) -> Result<Outcome, IdealError> {
    let nics =
        (0..fabric.nics.len() as u32).map(|nic| network.nic(layout::rate(fabric, NicId(nic))));
    let gpus = layout::nvlinks(fabric).into_iter().map(|rate| network.nvlink(rate));
    let mut executor = Executor {
        nics: Ports::new(nics.collect(), network.latency),
        gpus: Ports::new(gpus.collect(), network.nvlink_latency),
        events: Events::default(),
        sent: 0,
        actions: 0,
        under_way: 0,
        clear_to_sends: 0,
        finished: false,
    };
    let mut actions = Vec::new();
    let (mut now, mut most) = (Instant::ZERO, 0);
    program.start(&mut actions);
    loop {
        for action in actions.drain(..) {
            executor.begin(now, action)?;
        }
        most = most.max(executor.under_way);
        let Some((at, what)) = executor.events.pop() else { break };
        if at.is_never() {
            return Err(IdealError::TooLong);
        }
        now = at;
        match what {
            What::Done(token) => {
                executor.under_way -= 1;
                program.at(now);
                program.done(token, &mut actions);
            }
            What::Arrives(nvlink, transfer) => executor.arrive(now, nvlink, &transfer),
            What::Free(nvlink, port) => executor.next(now, nvlink, port),
        }
    }
    if !executor.finished {
        return Err(IdealError::Stuck(executor.actions));
    }
    Ok(Outcome {
        end: now,
        actions: executor.actions,
        nics: executor.nics.moved,
        gpus: executor.gpus.moved,
        clear_to_sends: executor.clear_to_sends,
        most_under_way: most,
    })
}

struct Executor {
    nics: Ports,
    gpus: Ports,
    events: Events,
    /// Transfers so far: those of one connection go in their order.
    sent: u64,
    actions: u64,
    under_way: u64,
    clear_to_sends: u64,
    finished: bool,
}

impl Executor {
    fn push(&mut self, at: Instant, what: What) {
        self.events.push(at, what);
    }

    fn ports(&mut self, nvlink: bool) -> &mut Ports {
        if nvlink { &mut self.gpus } else { &mut self.nics }
    }

    fn begin(&mut self, now: Instant, action: Action) -> Result<(), IdealError> {
        if self.finished {
            return Err(IdealError::Early);
        }
        self.actions += 1;
        self.under_way += 1;
        match action {
            Action::Network { token, from: NicId(from), to: NicId(to), traffic, bytes, .. } => {
                if !self.nics.can(from, to) {
                    return Err(IdealError::NoSuchPort);
                }
                let transfer = Transfer { from, to, bytes: bytes.get(), token };
                if traffic == Traffic::ClearToSend {
                    self.clear_to_sends += 1;
                    let wire = self.nics.slower(&transfer).time_for(bytes);
                    self.push(now.plus(wire).plus(self.nics.latency), What::Done(token));
                } else {
                    self.send(now, false, transfer);
                }
            }
            Action::Nvlink { token, from: GpuId(from), to: GpuId(to), bytes } => {
                if !self.gpus.can(from, to) {
                    return Err(IdealError::NoSuchPort);
                }
                self.send(now, true, Transfer { from, to, bytes: bytes.get(), token });
            }
            Action::Wait { token, span, .. } => self.push(now.plus(span), What::Done(token)),
            Action::Begins { .. } | Action::Ends { .. } => self.under_way -= 1,
            Action::Finished => {
                self.finished = true;
                self.under_way -= 1;
                if self.under_way > 0 {
                    return Err(IdealError::Early);
                }
            }
        }
        Ok(())
    }

    /// A transfer comes to its sender, which looks when it is free.
    fn send(&mut self, now: Instant, nvlink: bool, transfer: Transfer) {
        self.sent += 1;
        let (connection, order) = (transfer.token.index(), self.sent);
        let ports = self.ports(nvlink);
        let turn = ports.turn(&transfer);
        let sender = &mut ports.senders[transfer.from as usize];
        sender.waiting.push(Reverse(Waiting { turn, since: now, connection, order, transfer }));
        if !std::mem::replace(&mut sender.watched, true) {
            let at = now.max(sender.free);
            self.push(at, What::Free(nvlink, transfer.from));
        }
    }

    /// A sender is free.
    fn next(&mut self, now: Instant, nvlink: bool, port: u32) {
        let sender = &mut self.ports(nvlink).senders[port as usize];
        let Some(Reverse(Waiting { turn, transfer, .. })) = sender.waiting.pop() else { return };
        sender.watched = !sender.waiting.is_empty();
        let more = sender.watched;
        self.transmit(now, nvlink, turn, transfer);
        if more {
            let at = self.ports(nvlink).senders[port as usize].free;
            self.push(at, What::Free(nvlink, port));
        }
    }

    fn transmit(&mut self, now: Instant, nvlink: bool, turn: u64, transfer: Transfer) {
        let ports = self.ports(nvlink);
        let (from, bytes) = (transfer.from as usize, Bytes::new(transfer.bytes));
        ports.moved[from].sent += bytes;
        let sender = &mut ports.senders[from];
        sender.turn = turn;
        sender.free = now.plus(ports.rates[from].time_for(bytes));
        let at = now.plus(ports.latency);
        self.push(at, What::Arrives(nvlink, transfer));
    }

    fn arrive(&mut self, now: Instant, nvlink: bool, transfer: &Transfer) {
        let at = self.ports(nvlink).receive(now, transfer);
        self.push(at, What::Done(transfer.token));
    }
}

#[cfg(test)]
mod tests;
