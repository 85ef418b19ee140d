//! What an [`Aggregate`] moves over every queue pair, NIC and NVLink.

use super::super::traffic::Loads;
use super::parts::Cut;
use super::{Aggregate, Near};
use crate::program::{Demand, Queue};
use xoff_units::Bytes;

impl Aggregate {
    /// What goes over each of its queue pairs.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let both = self.edges.iter().flat_map(|edge| {
            let column = self.nodes[edge.child as usize].column;
            let nic = |node: u32| self.nodes[node as usize].nic;
            let bytes = self.cuts[column as usize].bytes();
            let (child, parent, queue) = (nic(edge.child), nic(edge.parent), Queue(column));
            [(child, parent), (parent, child)].map(|(from, to)| Demand { from, to, queue, bytes })
        });
        both.collect()
    }

    /// What goes over every NIC and NVLink.
    pub(in super::super) fn loads(&self) -> Loads {
        let mut loads = Loads::default();
        for demand in self.demands() {
            loads.nics.entry(demand.from).or_default().sent += demand.bytes;
            loads.nics.entry(demand.to).or_default().received += demand.bytes;
        }
        if self.width > 1 {
            let width = self.width as usize;
            for (rank, &gpu) in self.gpus.iter().enumerate() {
                let own = self.cuts.iter().skip(rank % width).step_by(width).map(Cut::bytes).sum();
                let all: Bytes = self.cuts.iter().map(Cut::bytes).sum();
                let others = Bytes::new(Bytes::get(own) * u64::from(self.width - 1));
                let moved = match self.near {
                    Near::Direct => all.saturating_sub(own) + others,
                    Near::Switched { .. } => all + own,
                };
                let load = loads.gpus.entry(gpu).or_default();
                (load.sent, load.received) = (moved, moved);
            }
        }
        loads
    }
}
