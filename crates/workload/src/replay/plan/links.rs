//! Which operations are whose, and which nodes wait for which.

use super::super::ReplayError;
use super::super::member::Scale;
use super::{AT_START, Replay};
use crate::trace::{Edge, OperationId, Rank, Trace, Who};

/// The operations of every rank of a trace, in their order.
pub(super) struct Order {
    /// Operations sorted by rank; none if every rank does all of them.
    sorted: Option<Vec<u32>>,
    /// Where a rank begins in that, and one more.
    first: Vec<u32>,
    /// The place of every operation among those of its rank.
    local: Vec<u32>,
    all: u32,
    ranks: u32,
    /// Whether every operation has a node before it, for the time between calls.
    pub(super) gaps: bool,
}

impl Order {
    pub(super) fn new(trace: &Trace) -> Result<Self, ReplayError> {
        let all = trace.operations.len() as u32;
        let mut order = Self {
            sorted: None,
            first: Vec::new(),
            local: Vec::new(),
            all,
            ranks: trace.ranks,
            gaps: Self::has_gaps(trace),
        };
        let shared = trace.operations.iter().filter(|o| o.who == Who::Every).count();
        if shared == trace.operations.len() {
            return Ok(order);
        }
        if shared > 0 {
            return Err(ReplayError::new("operations of single ranks and of all in one trace"));
        }
        let rank = |who: Who| match who {
            Who::One(Rank(rank)) => rank as usize,
            Who::Every => 0,
        };
        order.first = vec![0; trace.ranks as usize + 1];
        trace.operations.iter().for_each(|one| order.first[rank(one.who) + 1] += 1);
        (0..trace.ranks as usize).for_each(|at| order.first[at + 1] += order.first[at]);
        let mut next = order.first.clone();
        let mut sorted = vec![0; all as usize];
        order.local = vec![0; all as usize];
        for (number, one) in (0..).zip(&trace.operations) {
            let at = &mut next[rank(one.who)];
            sorted[*at as usize] = number;
            order.local[number as usize] = *at - order.first[rank(one.who)];
            *at += 1;
        }
        order.sorted = Some(sorted);
        Ok(order)
    }

    /// Operations of a rank.
    pub(super) fn count(&self, rank: u32) -> u32 {
        match &self.sorted {
            None => self.all,
            Some(_) => self.first[rank as usize + 1] - self.first[rank as usize],
        }
    }

    /// Ranks that have any.
    pub(super) fn present(&self) -> u32 {
        (0..self.ranks).filter(|rank| self.count(*rank) > 0).count() as u32
    }

    /// Nodes of one replica.
    pub(super) fn nodes(&self) -> u64 {
        let own = match &self.sorted {
            None => u64::from(self.all) * u64::from(self.ranks),
            Some(sorted) => sorted.len() as u64,
        };
        own * u64::from(self.per())
    }

    /// Nodes of an operation.
    fn per(&self) -> u32 {
        1 + u32::from(self.gaps)
    }

    /// The `at`th operation of a rank.
    pub(super) fn operation(&self, rank: u32, at: u32) -> OperationId {
        OperationId(match &self.sorted {
            None => at,
            Some(sorted) => sorted[(self.first[rank as usize] + at) as usize],
        })
    }

    /// The operation that a node stands for.
    pub(super) fn of_node(&self, starts: &[u32], node: u32, ranks: u32) -> OperationId {
        let rank = starts.partition_point(|first| *first <= node) - 1;
        self.operation(rank as u32 % ranks, (node - starts[rank]) / self.per())
    }

    fn local(&self, id: OperationId) -> u32 {
        if self.sorted.is_some() { self.local[id.0 as usize] } else { id.0 }
    }
}

/// Fills in who waits for whom.
pub(super) fn links(trace: &Trace, order: &Order, scale: Scale, plan: &mut Replay) {
    let count = plan.tasks.len();
    plan.waits = vec![0; count];
    plan.first = vec![0; count + 1];
    let starts = std::mem::take(&mut plan.starts);
    each(trace, order, scale, &starts, |before, node, _| {
        plan.first[before as usize + 1] += 1;
        plan.waits[node as usize] += 1;
    });
    (0..count).for_each(|at| plan.first[at + 1] += plan.first[at]);
    let mut next = plan.first.clone();
    plan.followers = vec![0; plan.first[count] as usize];
    each(trace, order, scale, &starts, |before, node, start| {
        let place = &mut next[before as usize];
        plan.followers[*place as usize] = node | if start { AT_START } else { 0 };
        *place += 1;
    });
    plan.starts = starts;
}

/// Every dependency: what is waited for, the node that waits, and whether only for its start.
fn each(
    trace: &Trace,
    order: &Order,
    scale: Scale,
    starts: &[u32],
    mut found: impl FnMut(u32, u32, bool),
) {
    let per = order.per();
    for (rank, &start) in (0..scale.ranks * scale.replicas).zip(starts) {
        let own = rank % scale.ranks;
        for at in 0..order.count(own) {
            // The first node of an operation waits; its last is what others wait for.
            let node = start + at * per;
            if order.gaps {
                found(node, node + 1, false);
            }
            for need in trace.needs(order.operation(own, at)) {
                let before = start + order.local(need.on) * per + per - 1;
                found(before, node, need.edge == Edge::Start);
            }
        }
    }
}
