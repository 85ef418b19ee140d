//! [`Demand`]: what a program will send over each queue pair, known before it runs.

use super::{Program, Queue};
use xoff_fabric::model::NicId;
use xoff_units::Bytes;

/// What a program sends over one queue pair in one direction, without clear-to-sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// The NIC that sends.
    pub from: NicId,
    /// The NIC that receives.
    pub to: NicId,
    /// The queue pair between them.
    pub queue: Queue,
    /// How much, within a piece per queue pair.
    pub bytes: Bytes,
}

impl Program {
    /// What it will send over the network, as far as that is known before it runs: everything of
    /// collectives, nothing of graphs, training steps, traces and services. By NICs and queue.
    pub fn demands(&self) -> Vec<Demand> {
        let mut demands = match self {
            Program::Machine(machine) => machine.demands(),
            Program::Exchange(exchange) => exchange.demands(),
            Program::Direct(direct) => direct.demands(),
            Program::Aggregate(aggregate) => aggregate.demands(),
            Program::Pat(pat) => pat.demands(),
            Program::Graph(_)
            | Program::Step(_)
            | Program::Replay(_)
            | Program::Blocks(_)
            | Program::Requests(_)
            | Program::Serving(_) => Vec::new(),
        };
        demands.sort_unstable_by_key(|demand| (demand.from, demand.to, demand.queue));
        demands.dedup_by(|next, kept| {
            let same = (next.from, next.to, next.queue) == (kept.from, kept.to, kept.queue);
            if same {
                kept.bytes += next.bytes;
            }
            same
        });
        demands
    }
}
