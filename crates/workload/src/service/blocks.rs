//! [`Blocks`]: operations against remote disks, as NVMe over RDMA does them.
//!
//! A read: a command to the target, the disk's time, the data and the response back. A write: a command,
//! the target's request for the data, the data, the disk's time, the response. The request for data is
//! a small message and the data a write, where NVMe has an RDMA read: bytes and turns are the same, but the
//! data is acknowledged.

use crate::layout::GpuId;
use crate::program::{Action, Queue, RequestId, Token, Traffic};
use crate::stream::Stream;
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Ratio, Span};

/// A command capsule without data, a response capsule (NVMe over Fabrics, sections 2.1 and 2.2).
const COMMAND: Bytes = Bytes::new(64);
const RESPONSE: Bytes = Bytes::new(16);
/// What a target asks for data with: an address, a key and a length.
const FETCH: Bytes = Bytes::new(16);

/// Most operations that a program begins: what is kept of each must be bounded.
const MOST_OPERATIONS: u32 = 1 << 24;

/// What a token says is done.
mod kind {
    pub(super) const COMMANDED: u8 = 0;
    pub(super) const FETCHED: u8 = 1;
    pub(super) const WRITTEN: u8 = 2;
    pub(super) const STORED: u8 = 3;
    pub(super) const READ: u8 = 4;
    pub(super) const ANSWERED: u8 = 5;
    pub(super) const TIME_UP: u8 = 6;
}

/// How a disk is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// Bytes of an operation; not zero.
    pub block: Bytes,
    /// What the disk takes for one.
    pub latency: Span,
    /// The share of operations that read.
    pub reads: Ratio,
}

/// When operations stop to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After so many of each initiator.
    After(u32),
    /// When this time has passed.
    When(Span),
}

/// Which clients use which disks, and how.
#[derive(Debug, Clone)]
pub struct BlocksSettings {
    /// NICs that begin operations.
    pub initiators: Vec<NicId>,
    /// NICs of the targets; an initiator's places go to them in turn.
    pub targets: Vec<NicId>,
    /// Operations that each initiator keeps under way.
    pub depth: u32,
    /// The disks.
    pub disk: Disk,
    /// When it ends.
    pub end: End,
    /// Seed of which operations read.
    pub seed: u64,
}

/// A place in a queue: one operation at a time.
#[derive(Debug, Clone, Copy)]
struct Place {
    initiator: u32,
    target: NicId,
    reads: bool,
    request: RequestId,
}

/// An initiator: what it has still to begin, and what decides which operations read.
#[derive(Debug, Clone)]
struct Initiator {
    nic: NicId,
    left: u32,
    draws: Stream,
}

/// Operations against remote disks, so many under way at a time.
#[derive(Debug, Clone)]
pub struct Blocks {
    initiators: Vec<Initiator>,
    places: Vec<Place>,
    disk: Disk,
    /// An operation reads if a draw is below this.
    reads_below: u64,
    end: End,
    begun: u32,
    /// Places that are at work, and the clock if it runs.
    active: usize,
    stopped: bool,
}

impl Blocks {
    /// A program; what is asked for has been checked.
    pub fn new(settings: &BlocksSettings) -> Self {
        let left = match settings.end {
            End::After(count) => count,
            End::When(_) => u32::MAX,
        };
        let initiator = |(number, &nic): (u64, &NicId)| Initiator {
            nic,
            left,
            draws: Stream::new(settings.seed, number, "block-reads"),
        };
        let initiators: Vec<Initiator> = (0..).zip(&settings.initiators).map(initiator).collect();
        let mut places = Vec::new();
        for initiator in 0..initiators.len() as u32 {
            for place in 0..settings.depth {
                let turn = (u64::from(initiator) + u64::from(place)) as usize;
                let target = settings.targets[turn % settings.targets.len()];
                places.push(Place { initiator, target, reads: true, request: RequestId(0) });
            }
        }
        let share = settings.disk.reads;
        let below = (u128::from(share.numerator()) << 64) / u128::from(share.denominator());
        Self {
            initiators,
            places,
            disk: settings.disk,
            reads_below: u64::try_from(below).unwrap_or(u64::MAX),
            end: settings.end,
            begun: 0,
            active: 0,
            stopped: false,
        }
    }

    pub(crate) fn start(&mut self, out: &mut Vec<Action>) {
        self.active = self.places.len();
        if let End::When(span) = self.end {
            self.active += 1;
            let token = Token::new(kind::TIME_UP, 0, 0);
            out.push(Action::Wait { token, gpu: GpuId(0), span });
        }
        for place in 0..self.places.len() as u32 {
            self.begin(place, out);
        }
    }

    pub(crate) fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        let place = token.index() as u32;
        if token.kind() == kind::TIME_UP {
            self.stopped = true;
            return self.rest(out);
        }
        let Some(&at) = self.places.get(place as usize) else {
            debug_assert!(false, "a token of another program");
            return;
        };
        match token.kind() {
            kind::COMMANDED if at.reads => self.store(place, out),
            kind::COMMANDED => out.push(self.back(kind::FETCHED, place, FETCH)),
            kind::FETCHED => out.push(self.forth(kind::WRITTEN, place, self.disk.block)),
            kind::WRITTEN => self.store(place, out),
            kind::STORED => self.answer(place, out),
            kind::READ => {}
            _ => {
                out.push(Action::Ends { request: at.request });
                self.begin(place, out);
            }
        }
    }

    /// The next operation of a place, if there is one to begin.
    fn begin(&mut self, place: u32, out: &mut Vec<Action>) {
        let at = &mut self.places[place as usize];
        let initiator = &mut self.initiators[at.initiator as usize];
        if self.stopped || initiator.left == 0 || self.begun == MOST_OPERATIONS {
            return self.rest(out);
        }
        initiator.left -= 1;
        at.reads = initiator.draws.chance(self.reads_below);
        at.request = RequestId(self.begun);
        self.begun += 1;
        out.push(Action::Begins { request: at.request });
        out.push(self.forth(kind::COMMANDED, place, COMMAND));
    }

    /// Something has nothing left to do.
    fn rest(&mut self, out: &mut Vec<Action>) {
        self.active -= 1;
        if self.active == 0 {
            out.push(Action::Finished);
        }
    }

    /// The disk takes its time.
    fn store(&mut self, place: u32, out: &mut Vec<Action>) {
        if self.disk.latency.is_zero() {
            return self.answer(place, out);
        }
        let token = Token::new(kind::STORED, 0, place);
        out.push(Action::Wait { token, gpu: GpuId(0), span: self.disk.latency });
    }

    /// The target answers: what was read, and the response behind it on the same queue.
    fn answer(&mut self, place: u32, out: &mut Vec<Action>) {
        if self.places[place as usize].reads {
            out.push(self.back(kind::READ, place, self.disk.block));
        }
        out.push(self.back(kind::ANSWERED, place, RESPONSE));
    }

    fn forth(&self, kind: u8, place: u32, bytes: Bytes) -> Action {
        let at = &self.places[place as usize];
        let from = self.initiators[at.initiator as usize].nic;
        transfer(Token::new(kind, 0, place), from, at.target, bytes)
    }

    fn back(&self, kind: u8, place: u32, bytes: Bytes) -> Action {
        let at = &self.places[place as usize];
        let to = self.initiators[at.initiator as usize].nic;
        transfer(Token::new(kind, 0, place), at.target, to, bytes)
    }
}

fn transfer(token: Token, from: NicId, to: NicId, bytes: Bytes) -> Action {
    Action::Network { token, from, to, queue: Queue(0), traffic: Traffic::Data, bytes }
}
