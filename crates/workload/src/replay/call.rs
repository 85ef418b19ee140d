//! From a collective of a trace to a program of its own.

use crate::collective::{self, Algorithm, Collective, CollectiveError, Settings, tuner};
use crate::layout::{Layout, RankId};
use crate::program::{GraphBuilder, NodeId, Program, Queue, Work};
use xoff_units::Bytes;

/// What a group does together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// As it is.
    Plain(Collective),
    /// Everybody's data is summed along a chain that ends at the root.
    Reduce(RankId),
    /// The root sends each its share.
    Scatter(RankId),
    /// An AllReduce of four bytes, as PyTorch does it.
    Barrier,
}

/// Which algorithm a collective takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// What NCCL's tuner would.
    #[default]
    Auto,
    /// This one, for the collectives that have it.
    Always(Algorithm),
}

impl What {
    /// The collective whose figures are shown.
    pub(super) const fn shown(self) -> Collective {
        match self {
            What::Plain(collective) => collective,
            What::Reduce(root) => Collective::Broadcast { root },
            What::Scatter(root) => Collective::Gather { root },
            What::Barrier => Collective::AllReduce,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            What::Plain(collective) => collective.name(),
            What::Reduce(_) => "reduce",
            What::Scatter(_) => "scatter",
            What::Barrier => "barrier",
        }
    }

    /// How it is done; none where there is but one way.
    pub(super) fn algorithm(self, size: Bytes, layout: &Layout, by: Choice) -> Option<Algorithm> {
        let plain = match self {
            What::Plain(collective) => collective,
            What::Barrier => Collective::AllReduce,
            What::Reduce(_) | What::Scatter(_) => return None,
        };
        if let Choice::Always(algorithm) = by
            && Algorithm::of(plain).contains(&algorithm)
        {
            return Some(algorithm);
        }
        let tuned = tuner::choose(plain, size, layout).filter(|_| by == Choice::Auto);
        Some(tuned.map_or(Algorithm::of(plain)[0], |choice| choice.algorithm))
    }

    /// The program over the ranks of a layout.
    pub(super) fn program(
        self,
        size: Bytes,
        layout: &Layout,
        settings: &Settings,
        by: Choice,
    ) -> Result<Program, CollectiveError> {
        let algorithm = self.algorithm(size, layout, by);
        match (self, algorithm) {
            (What::Reduce(root), _) => reduce(size, root, layout, settings),
            (What::Scatter(root), _) => scatter(size, root, layout),
            (_, algorithm) => {
                let plain = self.shown();
                let algorithm = algorithm.unwrap_or(Algorithm::of(plain)[0]);
                collective::program(plain, algorithm, size, layout, settings)
            }
        }
    }
}

/// A transfer between two ranks.
fn transfer(layout: &Layout, from: RankId, to: RankId, queue: u32, bytes: Bytes) -> Work {
    let (own, other) = (layout.seat(from), layout.seat(to));
    if own.domain == other.domain {
        return Work::Nvlink { from: own.gpu, to: other.gpu, bytes };
    }
    Work::Network { from: own.nic, to: other.nic, queue: Queue(queue), bytes }
}

fn built(graph: GraphBuilder, size: Bytes) -> Result<Program, CollectiveError> {
    graph.build().map(Program::Graph).map_err(|_| CollectiveError::TooLarge(size))
}

fn check(root: RankId, layout: &Layout) -> Result<(), CollectiveError> {
    let ranks = layout.ranks();
    if root.0 < ranks { Ok(()) } else { Err(CollectiveError::NoRoot { root: root.0, ranks }) }
}

/// Most pieces of a chain: more would make no difference to its time.
const MOST_PIECES: u64 = 64;

/// A chain through all ranks, server by server, that ends at the root: piece by piece, each rank passes on
/// what it got and its own.
fn reduce(
    size: Bytes,
    root: RankId,
    layout: &Layout,
    settings: &Settings,
) -> Result<Program, CollectiveError> {
    check(root, layout)?;
    let own = layout.seat(root).domain;
    let domains = layout.domains().iter().zip(0..);
    let (near, far): (Vec<_>, Vec<_>) = domains.partition(|(_, number)| *number == own);
    let all = far.into_iter().chain(near).flat_map(|(ranks, _)| ranks.iter().copied());
    let mut chain: Vec<RankId> = all.filter(|rank| *rank != root).collect();
    chain.push(root);
    let pieces = size.get().div_ceil(settings.step.get().max(1)).clamp(1, MOST_PIECES);
    let mut graph = GraphBuilder::new();
    // The transfers of the piece before, hop by hop: a rank sends one piece after the other.
    let mut before: Vec<NodeId> = Vec::new();
    for piece in 0..pieces {
        let share = size.get() / pieces + u64::from(piece < size.get() % pieces);
        let mut last: Option<NodeId> = None;
        let mut row = Vec::with_capacity(chain.len());
        for (hop, pair) in chain.windows(2).enumerate() {
            let work = transfer(layout, pair[0], pair[1], pair[0].0, Bytes::new(share));
            let waits: Vec<NodeId> = last.into_iter().chain(before.get(hop).copied()).collect();
            last = Some(graph.after(work, &waits));
            row.extend(last);
        }
        before = row;
    }
    built(graph, size)
}

/// One transfer from the root to every other rank; the root keeps its own share.
fn scatter(size: Bytes, root: RankId, layout: &Layout) -> Result<Program, CollectiveError> {
    check(root, layout)?;
    let ranks = u64::from(layout.ranks());
    let mut graph = GraphBuilder::new();
    for rank in (0..layout.ranks()).map(RankId).filter(|rank| *rank != root) {
        let share = size.get() / ranks + u64::from(u64::from(rank.0) < size.get() % ranks);
        graph.node(transfer(layout, root, rank, rank.0, Bytes::new(share)));
    }
    built(graph, size)
}
