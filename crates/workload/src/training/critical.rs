//! [`CriticalPath`]: what a step's time is made of, along the chain of things that waited for each other.
//!
//! Every rank has a path: what it computed, and what it waited for since the step began. A rank that
//! waits takes over the path of what it waited for: a collective has that of the rank that came to it
//! last (or of the group's collective before it, if that ended later), a hand-over that of its sender. So the parts
//! of a path always add up to the time that has passed, and those of the last rank to the time of the step.

use super::groups::Comm;
use super::volume::Dimension;
use crate::layout::RankId;
use std::collections::VecDeque;
use xoff_units::{Instant, Span};

/// Along the path that ends last: what was computed, and what was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalPath {
    /// The rank that was through last.
    pub last: RankId,
    /// Computing.
    pub compute: Span,
    /// Waiting, by dimension.
    pub waits: [(Dimension, Span); Dimension::ALL.len()],
    /// The longest wait of all, if there was one.
    pub longest: Option<Wait>,
}

impl CriticalPath {
    /// All its parts together: the time of the step.
    pub fn total(&self) -> Span {
        self.waits.iter().fold(self.compute, |all, (_, span)| all + *span)
    }
}

/// One wait of a critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What for.
    pub dimension: Dimension,
    /// How long.
    pub span: Span,
    /// The ranks that took part: of the group, or sender and receiver.
    pub ranks: Vec<RankId>,
    /// The rank that came last, or that sent.
    pub held_by: RankId,
}

/// A path, as far as it has come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Path {
    compute: Span,
    waits: [Span; Dimension::ALL.len()],
    longest: Option<Longest>,
}

#[derive(Debug, Clone, Copy)]
struct Longest {
    span: Span,
    what: Held,
    by: u32,
}

/// What was waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held {
    /// A collective of a group.
    Call(Comm, u32),
    /// A hand-over to a rank.
    HandOver(u32),
}

impl Held {
    fn dimension(self) -> Dimension {
        match self {
            Held::Call(comm, _) => comm.dimension(),
            Held::HandOver(_) => Dimension::Pipeline,
        }
    }
}

impl Path {
    /// The same after a wait for something that a rank held back.
    pub(super) fn after(mut self, span: Span, what: Held, by: u32) -> Self {
        self.waits[what.dimension() as usize] += span;
        if self.longest.is_none_or(|longest| longest.span < span) {
            self.longest = Some(Longest { span, what, by });
        }
        self
    }
}

/// A rank's path, and what is on its way to it.
#[derive(Debug, Clone, Default)]
struct Follower {
    path: Path,
    since: Instant,
    waits: bool,
    incoming: [Path; 2],
    under_way: [VecDeque<(Path, Instant, u32)>; 2],
}

/// The paths of all ranks. Never asked what to do next: it only keeps account.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) now: Instant,
    ranks: Vec<Follower>,
    last: Option<u32>,
}

impl Account {
    pub(super) fn new(ranks: u32) -> Self {
        let ranks = vec![Follower::default(); ranks as usize];
        Self { now: Instant::ZERO, ranks, last: None }
    }

    pub(super) fn path(&self, rank: u32) -> Path {
        self.ranks[rank as usize].path
    }

    pub(super) fn computes(&mut self, rank: u32) {
        self.ranks[rank as usize].since = self.now;
    }

    pub(super) fn computed(&mut self, rank: u32) {
        let follower = &mut self.ranks[rank as usize];
        follower.path.compute += self.now - follower.since;
    }

    pub(super) fn waits(&mut self, rank: u32) {
        self.ranks[rank as usize].waits = true;
    }

    /// A rank goes on. If it waited, its path is that of what it waited for.
    pub(super) fn goes_on(&mut self, rank: u32, after: Path) {
        let follower = &mut self.ranks[rank as usize];
        if std::mem::take(&mut follower.waits) {
            follower.path = after;
        }
    }

    pub(super) fn sends(&mut self, rank: u32, peer: u32, way: usize) {
        let sent = (self.path(rank), self.now, rank);
        self.ranks[peer as usize].under_way[way].push_back(sent);
    }

    pub(super) fn arrives(&mut self, rank: u32, way: usize) {
        let follower = &mut self.ranks[rank as usize];
        if let Some((path, sent, from)) = follower.under_way[way].pop_front() {
            follower.incoming[way] = path.after(self.now - sent, Held::HandOver(rank), from);
        }
    }

    /// A rank takes what has come to it.
    pub(super) fn takes(&mut self, rank: u32, way: usize) {
        let incoming = self.ranks[rank as usize].incoming[way];
        self.goes_on(rank, incoming);
    }

    pub(super) fn through(&mut self, rank: u32) {
        self.last = Some(rank);
    }

    /// The path of the rank that was through last; `members` are the ranks of a group.
    pub(super) fn critical(
        &self,
        members: impl Fn(Comm, u32) -> Vec<RankId>,
    ) -> Option<CriticalPath> {
        let last = self.last?;
        let path = self.path(last);
        let wait = |longest: Longest| Wait {
            dimension: longest.what.dimension(),
            span: longest.span,
            ranks: match longest.what {
                Held::Call(comm, group) => members(comm, group),
                Held::HandOver(to) => vec![RankId(longest.by), RankId(to)],
            },
            held_by: RankId(longest.by),
        };
        Some(CriticalPath {
            last: RankId(last),
            compute: path.compute,
            waits: Dimension::ALL.map(|dimension| (dimension, path.waits[dimension as usize])),
            longest: path.longest.filter(|longest| !longest.span.is_zero()).map(wait),
        })
    }
}
