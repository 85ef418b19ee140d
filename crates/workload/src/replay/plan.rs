//! [`Replay`]: a trace with everything decided that does not depend on where its ranks are.

mod build;
mod links;

use super::call::{Choice, What};
use super::check;
use super::run::ReplayProgram;
use super::{LeftOut, Options, ReplayError};
use crate::collective::Settings;
use crate::layout::Layout;
use crate::program::Program;
use crate::trace::Trace;
use build::Planner;
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_units::{Bytes, Span};

/// What a node of the plan does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Nothing,
    /// Time, in a queue of its GPU or, at [`NO_QUEUE`], beside everything else.
    Compute {
        span: Span,
        queue: u32,
    },
    Send(u32),
    Receive(u32),
    Call(u32),
}

/// The queue of what does not occupy its GPU.
pub(super) const NO_QUEUE: u32 = u32::MAX;

/// Of a follower: the bit that says that it waits for the start only, and the bits of its number.
pub(super) const AT_START: u32 = 1 << 31;
pub(super) const NODE: u32 = AT_START - 1;

/// A collective of one communicator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) comm: u32,
    pub(super) what: What,
    pub(super) size: Bytes,
}

/// A message from rank to rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: Bytes,
    pub(super) send: u32,
    pub(super) receive: u32,
    /// Whether it is the clear-to-send of a collective that was written as messages.
    pub(super) clears: bool,
    /// The channel of such a collective: each has queue pairs of its own. 0 for all other messages.
    pub(super) channel: u8,
}

/// A trace ready to be placed: [`Replay::program`] makes a program of it. Some 32 bytes per operation
/// and 4 per dependency, shared by all repetitions.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    pub(super) tasks: Vec<Task>,
    /// The first node of every rank, and one more.
    pub(super) starts: Vec<u32>,
    /// Where a node's followers begin, and one more.
    pub(super) first: Vec<u32>,
    pub(super) followers: Vec<u32>,
    /// What a node waits for.
    pub(super) waits: Vec<u32>,
    pub(super) calls: Vec<Call>,
    /// Where a call's nodes begin, and one more.
    pub(super) call_first: Vec<u32>,
    pub(super) call_nodes: Vec<u32>,
    pub(super) messages: Vec<Sent>,
    /// Members of every communicator.
    pub(super) comms: Vec<Vec<u32>>,
    pub(super) queues: u32,
    left_out: Vec<LeftOut>,
}

/// How much a replay does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Collectives, each counted once however many ranks take part.
    pub collectives: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes of all messages.
    pub message_bytes: Bytes,
    /// Computing of all ranks together.
    pub compute: Span,
    /// Operations of all ranks, with those that do nothing.
    pub operations: u64,
}

impl Replay {
    /// Plans a trace. Refused with file, rank and place if something cannot be replayed, unless that is
    /// to be left out.
    pub fn new(trace: &Trace, options: &Options) -> Result<Self, ReplayError> {
        let mut planner = Planner::new(trace, options)?;
        planner.nodes()?;
        planner.match_messages()?;
        planner.complete_calls()?;
        let plan = planner.finish()?;
        match check::order(&plan) {
            Ok(()) => Ok(plan),
            Err(stuck) => Err(build::stuck(trace, options, &plan, &stuck.0)),
        }
    }

    /// Ranks of the job, those of all replicas.
    pub fn ranks(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// What was left out or assumed.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// How much there is to do.
    pub fn amount(&self) -> Amount {
        let compute = |task: &Task| match task {
            Task::Compute { span, .. } => *span,
            _ => Span::ZERO,
        };
        Amount {
            collectives: self.calls.len() as u64,
            messages: self.messages.len() as u64,
            message_bytes: self.messages.iter().fold(Bytes::ZERO, |sum, one| sum + one.bytes),
            compute: self.tasks.iter().map(compute).fold(Span::ZERO, |sum, span| sum + span),
            operations: self.tasks.len() as u64,
        }
    }

    /// The program on the GPUs of a layout.
    pub fn program(
        self: &Arc<Self>,
        layout: &Layout,
        settings: &Settings,
        choice: Choice,
    ) -> Result<Program, ReplayError> {
        if layout.ranks() != self.ranks() {
            let (there, own) = (layout.ranks(), self.ranks());
            return Err(ReplayError::new(format!("{own} ranks of a trace on {there} GPUs")));
        }
        let program = ReplayProgram::new(Arc::clone(self), layout, *settings, choice);
        let mut known = BTreeSet::new();
        for (number, call) in self.calls.iter().enumerate() {
            let size = self.comms[call.comm as usize].len();
            if known.insert((call.what.name(), call.size, size)) {
                program.collective(number as u32).map_err(|error| {
                    let (name, size) = (call.what.name(), call.size);
                    ReplayError::new(format!("{name} of {size}: {error}"))
                })?;
            }
        }
        Ok(Program::Replay(Box::new(program)))
    }

    pub(super) fn followers(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.followers[self.first[node] as usize..self.first[node + 1] as usize]
    }

    pub(super) fn call_nodes(&self, call: u32) -> &[u32] {
        let call = call as usize;
        &self.call_nodes[self.call_first[call] as usize..self.call_first[call + 1] as usize]
    }

    /// The node by which a rank takes part in a call, if it is in the trace.
    pub(super) fn call_node(&self, call: u32, rank: u32) -> Option<u32> {
        let nodes = self.call_nodes(call);
        // Nodes are counted rank by rank.
        let after = nodes.partition_point(|&node| node < self.starts[rank as usize]);
        nodes.get(after).copied().filter(|&node| node < self.starts[rank as usize + 1])
    }

    /// The rank that a node belongs to.
    pub(super) fn rank(&self, node: u32) -> u32 {
        self.starts.partition_point(|first| *first <= node) as u32 - 1
    }
}
