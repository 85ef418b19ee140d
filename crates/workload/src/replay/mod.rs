//! Traces on a fabric: [`Replay`] makes a [`Program`] of a [`Trace`].
//!
//! | in the trace | in the program |
//! | --- | --- |
//! | computation | time on its GPU, scaled; from FLOPs where the trace states no time |
//! | a collective | the program of that collective over its group, once every member has come to it |
//! | a send | a transfer that begins when the send is ready, and ends it when the last byte has arrived |
//! | a receive | done when it is ready and its message has arrived |
//! | dependencies | kept: until the other is done, or until it has begun |
//! | streams | computation in one stream of a GPU runs one at a time, in the order in which it is ready |
//!
//! The n-th call of a group by one member meets the n-th call by every other member, and a group runs one
//! collective at a time, as a communicator does. A send and a receive meet by ranks and tag, in their
//! order.
//!
//! [`Replay::new`] checks all of this before anything runs, including that every operation can be
//! reached: a program that was made comes to its end. What cannot be replayed is refused with file, rank
//! and place, or with [`Options::lenient`] left out and counted ([`Replay::left_out`]). A trace can be
//! repeated over several replicas of its ranks ([`Options::replicas`]).
//!
//! What it is not: a model of the software that was traced. Memory accesses take no time unless the trace
//! says how long they took.

mod call;
mod check;
mod frontier;
mod matching;
pub(crate) mod member;
mod plan;
mod run;
#[cfg(test)]
mod tests;

use crate::training::{FlopRate, GPUS, Gpu};
use xoff_units::{Bytes, Rate, Ratio, Span};

pub use call::Choice;
pub use plan::{Amount, Replay};
pub use run::ReplayProgram;

/// How a trace is replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What computing times are multiplied by.
    pub compute_scale: Ratio,
    /// What computes where the trace says how many FLOPs and not how long.
    pub gpu: Gpu,
    /// Leave out what cannot be replayed instead of refusing the trace.
    pub lenient: bool,
    /// How many times the ranks of the trace are there, side by side.
    pub replicas: u32,
    /// Groups, by name, that span all replicas. Those called `data parallel` always do.
    pub spread: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let memory = Rate::from_gbps(8 * 3_350);
        let peak = FlopRate::from_teraflops(989);
        let gpu = Gpu { peak, efficiency: Ratio::new(1, 2), memory };
        Self {
            compute_scale: Ratio::ONE,
            gpu: Gpu::named("h100").map_or(gpu, |preset| preset.gpu),
            lenient: false,
            replicas: 1,
            spread: Vec::new(),
        }
    }
}

impl Options {
    /// Whether a name is that of a preset GPU.
    pub fn knows_gpu(name: &str) -> bool {
        GPUS.iter().any(|preset| preset.name == name)
    }
}

/// Why a trace cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReplayError {
    /// What is wrong, where, and what would help.
    pub message: String,
}

impl ReplayError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// Something that was left out or assumed, how often, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What.
    pub what: String,
    /// How often.
    pub count: u64,
    /// The first of them.
    pub first: String,
}

/// What collectives of one kind, group size and data size took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFigures {
    /// Which collective.
    pub collective: crate::collective::Collective,
    /// Its name: that of the trace, where it is run as another one.
    pub name: &'static str,
    /// How it was done.
    pub algorithm: crate::collective::Algorithm,
    /// Ranks of the group.
    pub ranks: u32,
    /// The size of the larger buffer.
    pub size: Bytes,
    /// How many there were.
    pub count: u64,
    /// How long they took, all together.
    pub total: Span,
    /// How long the longest took.
    pub longest: Span,
    /// From the first rank that came to one until the last did, all together.
    pub apart: Span,
    /// The same of the one whose ranks came furthest apart.
    pub most_apart: Span,
    /// From their beginning until the first rank was done, and until half of them were, all together.
    pub first: Span,
    /// Likewise.
    pub median: Span,
}

/// When the ranks of a replay or a collective were done with all they had to do, since its start. Ranks without operations do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankEnds {
    /// The first that was done; the lowest, if several were.
    pub first: (u32, Span),
    /// When half of them were, the middle one included.
    pub median: Span,
    /// The last, likewise.
    pub last: (u32, Span),
}

impl RankEnds {
    /// Those of some ranks; none if there are none.
    pub(crate) fn new(mut ends: Vec<(u32, Span)>) -> Option<Self> {
        ends.sort_unstable_by_key(|&(rank, end)| (end, rank));
        let (first, median) = (*ends.first()?, ends[(ends.len() - 1) / 2].1);
        let latest = ends.last()?.1;
        let last = *ends.iter().find(|(_, end)| *end == latest)?;
        Some(Self { first, median, last })
    }

    /// How far apart they are.
    pub fn apart(&self) -> Span {
        self.last.1 - self.first.1
    }
}
