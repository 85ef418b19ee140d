//! [`run`]: a program on a network without switches, queues or loss, to see what the program itself
//! allows.
//!
//! Every NIC sends and receives at its rate, one transfer after the other in the order in which they
//! come, and so does every GPU into its NVLink domain; a transfer is on both ends' wires at once (nothing is
//! stored in between) and arrives after a fixed latency. Whole transfers, not packets: with two
//! transfers on a wire the one that came first ends earlier and the other at the same time as if they had
//! shared it, so sums and the last arrival are the same, at a hundredth of the events. Clear-to-sends pass by
//! data, as they do in NICs that serve queue pairs packet by packet: behind whole transfers they would wait
//! a hundred times too long.

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

/// One direction of a port.
#[derive(Debug, Clone, Copy)]
struct Wire {
    rate: Rate,
    free: Instant,
}

/// Both directions of all ports of one kind.
#[derive(Debug)]
struct Ports {
    out: Vec<Wire>,
    into: Vec<Wire>,
    moved: Vec<Moved>,
    latency: Span,
}

impl Ports {
    fn new(rates: Vec<Rate>, latency: Span) -> Self {
        let wires: Vec<Wire> =
            rates.into_iter().map(|rate| Wire { rate, free: Instant::ZERO }).collect();
        Self {
            into: wires.clone(),
            moved: vec![Moved::default(); wires.len()],
            out: wires,
            latency,
        }
    }

    fn can(&self, from: u32, to: u32) -> bool {
        let has = |wires: &[Wire], at| wires.get(at as usize).is_some_and(|w| w.rate != Rate::ZERO);
        has(&self.out, from) && has(&self.into, to)
    }

    /// A transfer begins; when its first bit reaches the receiver.
    fn send(&mut self, now: Instant, from: u32, bytes: Bytes) -> Instant {
        let wire = &mut self.out[from as usize];
        let begin = now.max(wire.free);
        wire.free = begin.plus(wire.rate.time_for(bytes));
        self.moved[from as usize].sent += bytes;
        begin.plus(self.latency)
    }

    /// Its first bit is here; when its last one will be.
    fn receive(&mut self, now: Instant, from: u32, to: u32, bytes: Bytes) -> Instant {
        let slower = self.out[from as usize].rate.min(self.into[to as usize].rate);
        let wire = &mut self.into[to as usize];
        wire.free = now.max(wire.free).plus(slower.time_for(bytes));
        self.moved[to as usize].received += bytes;
        wire.free
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Done,
    Arrives { from: u32, to: u32, bytes: u64, nvlink: bool },
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
        events: BinaryHeap::new(),
        order: 0,
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
        most = most.max(executor.events.len() as u64);
        let Some(Reverse((at, _, what, token))) = executor.events.pop() else { break };
        now = at;
        if now.is_never() {
            return Err(IdealError::TooLong);
        }
        match what {
            What::Done => program.done(token, &mut actions),
            What::Arrives { .. } => executor.arrive(now, what, token),
        }
    }
    if !executor.finished {
        return Err(IdealError::Stuck(executor.order));
    }
    Ok(Outcome {
        end: now,
        actions: executor.order,
        nics: executor.nics.moved,
        gpus: executor.gpus.moved,
        clear_to_sends: executor.clear_to_sends,
        most_under_way: most,
    })
}

struct Executor {
    nics: Ports,
    gpus: Ports,
    /// By time, then by order of coming up: one thread, so that is an order, too.
    events: BinaryHeap<Reverse<(Instant, u64, What, Token)>>,
    order: u64,
    clear_to_sends: u64,
    finished: bool,
}

impl Executor {
    fn push(&mut self, at: Instant, what: What, token: Token) {
        self.events.push(Reverse((at, self.order, what, token)));
    }

    fn begin(&mut self, now: Instant, action: Action) -> Result<(), IdealError> {
        if self.finished {
            return Err(IdealError::Early);
        }
        self.order += 1;
        match action {
            Action::Network { token, from: NicId(from), to: NicId(to), traffic, bytes, .. } => {
                if !self.nics.can(from, to) {
                    return Err(IdealError::NoSuchPort);
                }
                if traffic == Traffic::ClearToSend {
                    self.clear_to_sends += 1;
                    let wire = self.nics.out[from as usize].rate.time_for(bytes);
                    self.push(now.plus(wire).plus(self.nics.latency), What::Done, token);
                } else {
                    self.send(now, (from, to), bytes, false, token);
                }
            }
            Action::Nvlink { token, from: GpuId(from), to: GpuId(to), bytes } => {
                if !self.gpus.can(from, to) {
                    return Err(IdealError::NoSuchPort);
                }
                self.send(now, (from, to), bytes, true, token);
            }
            Action::Wait { token, span, .. } => self.push(now.plus(span), What::Done, token),
            Action::Finished => {
                self.finished = true;
                if !self.events.is_empty() {
                    return Err(IdealError::Early);
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, now: Instant, ends: (u32, u32), size: Bytes, nvlink: bool, token: Token) {
        let ports = if nvlink { &mut self.gpus } else { &mut self.nics };
        let at = ports.send(now, ends.0, size);
        let (from, to, bytes) = (ends.0, ends.1, size.get());
        self.push(at, What::Arrives { from, to, bytes, nvlink }, token);
    }

    fn arrive(&mut self, now: Instant, what: What, token: Token) {
        let What::Arrives { from, to, bytes, nvlink } = what else { return };
        let ports = if nvlink { &mut self.gpus } else { &mut self.nics };
        let at = ports.receive(now, from, to, Bytes::new(bytes));
        self.push(at, What::Done, token);
    }
}

#[cfg(test)]
mod tests;
