//! [`Program`]: traffic that unrolls while it runs, as a collective or a training step does.
//!
//! The contract is sans-IO. The runner of a program (the packet simulator, or [`crate::ideal`]) calls
//! [`Program::start`] once, carries out every [`Action`] that the program pushes into the caller's
//! buffer, and calls [`Program::done`] with the action's [`Token`] as each completes, in any order
//! that time brings. A program never asks the time: delays are actions, too.
//!
//! - A transfer is done when its last byte has arrived at the receiver. Transfers of one queue
//!   between two NICs arrive in the order in which they were pushed; others may overtake.
//! - A wait is done when its time has passed.
//! - [`Action::Finished`] comes exactly once, last, and with nothing of the program under way.
//! - A runner that does not need single transfers calls [`Program::hand_out_calls`] before the start: collectives of a
//!   training step or a trace whose ranks depend on each other throughout are then one [`Action::Call`] each, whose transfers [`Program::callee`] tells.
//!
//! The same calls in the same order give the same actions. A running collective allocates nothing,
//! and holds memory in proportion to ranks and channels, never to transfers: a ring AllReduce of
//! 1 GiB over 1,024 GPUs has seventeen million of them.
//!
//! What it is not: a program knows neither packets nor classes nor routes. Read [`Action`] first.

mod demand;
mod graph;

use crate::collective::{Aggregate, Collective, Direct, Exchange, Machine, Pat};
use crate::layout::GpuId;
use crate::replay::{CallFigures, RankEnds, ReplayProgram};
use crate::service::{Blocks, Requests, Served, Serving};
use crate::training::{CriticalPath, StepProgram};
use xoff_fabric::model::NicId;
use xoff_units::{Bytes, Instant, Span};

pub use demand::Demand;
pub use graph::{Graph, GraphBuilder, GraphError, NodeId, Work};

/// What a program asks for, and what comes back when that is done. Opaque to the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(u64);

impl Token {
    /// A token out of what kind of thing is done, its slot, and the index of what it is done to.
    pub(crate) const fn new(kind: u8, slot: u8, index: u32) -> Self {
        Self((kind as u64) << 40 | (slot as u64) << 32 | index as u64)
    }

    pub(crate) const fn kind(self) -> u8 {
        (self.0 >> 40) as u8
    }

    pub(crate) const fn slot(self) -> u8 {
        (self.0 >> 32) as u8
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as u32 as usize
    }

    /// All of it.
    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    /// Which of the programs within a program it belongs to; 0 is the outer one, or the only one.
    pub(crate) const fn lane(self) -> u32 {
        (self.0 >> 48) as u32
    }

    /// The same in another lane, at most 65,535.
    pub(crate) const fn in_lane(self, lane: u32) -> Self {
        Self(self.0 & ((1 << 48) - 1) | (lane as u64) << 48)
    }
}

/// Which of the queue pairs between two NICs a transfer goes by. A queue pair is named by its two
/// NICs and this number, whichever of the two sends: a clear-to-send goes the other way on the
/// queue pair of the data it calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Queue(pub u32);

/// What a transfer over the network is for. Networks may treat the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// Payload.
    Data,
    /// A receiver's "my buffer is free": small, and its delay is the sender's delay.
    ClearToSend,
}

/// What a program asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Bytes from NIC to NIC over the network.
    Network {
        /// Comes back when the last byte has arrived.
        token: Token,
        /// The NIC that sends.
        from: NicId,
        /// The NIC that receives.
        to: NicId,
        /// The queue pair between them.
        queue: Queue,
        /// What it is for.
        traffic: Traffic,
        /// How much; never zero.
        bytes: Bytes,
    },
    /// Bytes from GPU to GPU inside a server.
    Nvlink {
        /// Comes back when the last byte has arrived.
        token: Token,
        /// The GPU that sends.
        from: GpuId,
        /// The GPU that receives, in the same server.
        to: GpuId,
        /// How much; never zero.
        bytes: Bytes,
    },
    /// Time that passes on a GPU: compute, or the overhead of a launch or of a step.
    Wait {
        /// Comes back when the time has passed.
        token: Token,
        /// Where it passes. Waits of one GPU may overlap: they are not a queue.
        gpu: GpuId,
        /// How long; never zero.
        span: Span,
    },
    /// A whole collective, of a program that hands them out ([`Program::hand_out_calls`]).
    Call {
        /// Comes back when all of its ranks are done.
        token: Token,
        /// Which: the same call of the same group does the same.
        call: CallId,
    },
    /// Something begins whose time is asked for. Nothing comes back.
    Begins {
        /// What; requests count from 0, in the order in which they begin.
        request: RequestId,
    },
    /// A request that has begun is over. Nothing comes back.
    Ends {
        /// Which.
        request: RequestId,
    },
    /// All is done.
    Finished,
}

/// Which collectives a program hands out whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Those whose ranks depend on each other throughout.
    InStep,
    /// All of a training step. Of a trace, whose ranks leave a collective one by one, those in step.
    All,
}

/// A collective within a program. Two with the same id send the same over the same queue pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallId {
    /// Groups that share queue pairs where they have the same NICs: the kind of a group, or a communicator.
    pub space: u32,
    /// The group, among those of its space.
    pub group: u32,
    /// What its ranks do.
    pub collective: Collective,
    /// With how much.
    pub size: Bytes,
}

/// A request of a program: something whose time is asked for, as that of a block or a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The id as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A program of any kind.
#[derive(Debug, Clone)]
pub enum Program {
    /// Workers that pass pieces along fixed connections: ring, tree and rail collectives.
    Machine(Machine),
    /// Every rank sends to some or all others: all-to-all and point-to-point.
    Exchange(Exchange),
    /// Every rank writes to all others at once.
    Direct(Direct),
    /// Sums that switches make.
    Aggregate(Aggregate),
    /// Parallel aggregated trees.
    Pat(Pat),
    /// A list of nodes with dependencies.
    Graph(Graph),
    /// A training step: computing, and collectives that are programs of their own.
    Step(Box<StepProgram>),
    /// A trace: computing, messages, and collectives that are programs of their own.
    Replay(Box<ReplayProgram>),
    /// So many operations under way at a time.
    Blocks(Box<Blocks>),
    /// Requests that come when they come.
    Requests(Box<Requests>),
    /// Requests from their arrival to their last token.
    Serving(Box<Serving>),
}

impl Program {
    /// Begins. To be called once, before anything is done.
    pub fn start(&mut self, out: &mut Vec<Action>) {
        match self {
            Program::Machine(machine) => machine.start(out),
            Program::Exchange(exchange) => exchange.start(out),
            Program::Direct(direct) => direct.start(out),
            Program::Aggregate(aggregate) => aggregate.start(out),
            Program::Pat(pat) => pat.start(out),
            Program::Graph(graph) => graph.start(out),
            Program::Step(step) => step.start(out),
            Program::Replay(replay) => replay.start(out),
            Program::Blocks(blocks) => blocks.start(out),
            Program::Requests(requests) => requests.start(out),
            Program::Serving(serving) => serving.start(out),
        }
    }

    /// From now on these collectives within the program are one action each ([`Action::Call`]). To be called before the start; for
    /// programs without collectives in them it changes nothing.
    pub fn hand_out_calls(&mut self, calls: Calls) {
        match self {
            Program::Step(step) => step.hand_out_calls(calls),
            Program::Replay(replay) => replay.hand_out_calls(),
            _ => {}
        }
    }

    /// The program of a collective that was handed out under this token and is not done.
    pub fn callee(&self, token: Token) -> Option<Program> {
        match self {
            Program::Step(step) => step.callee(token),
            Program::Replay(replay) => replay.callee(token),
            _ => None,
        }
    }

    /// Whether it is one collective, of which [`Program::demands`] and [`Program::loads`] know everything.
    pub fn is_collective(&self) -> bool {
        matches!(
            self,
            Program::Machine(_)
                | Program::Exchange(_)
                | Program::Direct(_)
                | Program::Aggregate(_)
                | Program::Pat(_)
        )
    }

    /// Whether its ranks depend on each other throughout, so that all of its queue pairs slow down together.
    pub fn is_in_step(&self) -> bool {
        matches!(self, Program::Machine(_) | Program::Aggregate(_))
    }

    /// Tells collectives apart that move the same bytes in other ways; zero for programs that are none.
    pub fn fingerprint(&self) -> u64 {
        match self {
            Program::Machine(machine) => machine.fingerprint(),
            Program::Exchange(_) => 1,
            Program::Direct(_) => 2,
            Program::Aggregate(_) => 3,
            Program::Pat(_) => 4,
            _ => 0,
        }
    }

    /// Says what time it is, before anything else is said that happens then. No program acts on it: it
    /// is for accounts of where time went ([`Program::critical_path`], [`Program::ends`]), which are empty without it.
    pub fn at(&mut self, now: Instant) {
        match self {
            Program::Step(step) => step.at(now),
            Program::Replay(replay) => replay.at(now),
            Program::Serving(serving) => serving.at(now),
            Program::Machine(machine) => machine.ends.set_now(now),
            Program::Exchange(exchange) => exchange.ends.set_now(now),
            Program::Direct(direct) => direct.ends.set_now(now),
            Program::Aggregate(aggregate) => aggregate.ends.set_now(now),
            Program::Pat(pat) => pat.ends.set_now(now),
            Program::Graph(_) | Program::Blocks(_) | Program::Requests(_) => {}
        }
    }

    /// What its time was made of, if it is a training step that has ended.
    pub fn critical_path(&self) -> Option<CriticalPath> {
        match self {
            Program::Step(step) => step.critical_path(),
            _ => None,
        }
    }

    /// What its collectives took, if it is a trace.
    pub fn calls(&self) -> Vec<CallFigures> {
        match self {
            Program::Replay(replay) => replay.figures(),
            _ => Vec::new(),
        }
    }

    /// When its ranks were done, if it is a trace or a collective that is done.
    pub fn ends(&self) -> Option<RankEnds> {
        match self {
            Program::Replay(replay) => replay.ends(),
            Program::Machine(machine) => machine.ends.all(),
            Program::Exchange(exchange) => exchange.ends.all(),
            Program::Direct(direct) => direct.ends(),
            Program::Aggregate(aggregate) => aggregate.ends.all(),
            Program::Pat(pat) => pat.ends.all(),
            _ => None,
        }
    }

    /// A rank of a collective that is done while others may not be, each once. Kernels of pairs that write at once, sums of switches
    /// and PAT do not say: all of their ranks are done in the end.
    pub(crate) fn next_gone(&mut self) -> Option<u32> {
        match self {
            Program::Machine(machine) => machine.ends.next_gone(),
            Program::Exchange(exchange) => exchange.ends.next_gone(),
            _ => None,
        }
    }

    /// What its requests took to their first token and for each other one, if it serves any.
    pub fn served(&self) -> &[Served] {
        match self {
            Program::Serving(serving) => serving.served(),
            _ => &[],
        }
    }

    /// Says that what carries this token is done, and takes what follows from it. A token that the
    /// program did not hand out, or that comes back twice, is a mistake of the caller: the program
    /// may then never finish, but does not panic in release builds.
    pub fn done(&mut self, token: Token, out: &mut Vec<Action>) {
        match self {
            Program::Machine(machine) => machine.done(token, out),
            Program::Exchange(exchange) => exchange.done(token, out),
            Program::Direct(direct) => direct.done(token, out),
            Program::Aggregate(aggregate) => aggregate.done(token, out),
            Program::Pat(pat) => pat.done(token, out),
            Program::Graph(graph) => graph.done(token, out),
            Program::Step(step) => step.done(token, out),
            Program::Replay(replay) => replay.done(token, out),
            Program::Blocks(blocks) => blocks.done(token, out),
            Program::Requests(requests) => requests.done(token, out),
            Program::Serving(serving) => serving.done(token, out),
        }
    }
}
