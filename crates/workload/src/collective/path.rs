//! [`Path`]: the order in which a channel passes through the ranks, and by which NICs.
//!
//! A channel belongs to a rail. It enters each server at the GPU that owns the NIC of that rail, goes
//! through the others by NVLink, and leaves by the same NIC: the last GPU hands its data to the GPU
//! that owns the NIC (PXN), so that a channel never changes its rail.

use super::link::Way;
use crate::layout::{Layout, RankId};

/// One server on the path of a channel.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    /// The rank whose NIC the channel uses here.
    pub(crate) port: RankId,
    /// All ranks, in the order in which they are passed.
    pub(crate) ranks: Vec<RankId>,
}

/// The way of a channel through all servers.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) stops: Vec<Stop>,
}

impl Path {
    /// The path of a channel; it begins at `root` if there is one.
    pub(crate) fn new(layout: &Layout, channel: u32, root: Option<RankId>) -> Self {
        let stop = |ranks: &Vec<RankId>| {
            let port = port(layout, ranks, channel);
            let first = root.filter(|rank| ranks.contains(rank)).unwrap_or(port);
            let at = ranks.iter().position(|&rank| rank == first).unwrap_or(0);
            let mut ranks = ranks.clone();
            ranks.rotate_left(at);
            Stop { port, ranks }
        };
        let mut stops: Vec<Stop> = layout.domains().iter().map(stop).collect();
        if let Some(root) = root {
            stops.rotate_left(layout.seat(root).domain as usize);
        }
        Self { stops }
    }

    /// All ranks in their order, each with the number of its stop.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = (usize, RankId)> + '_ {
        self.stops.iter().enumerate().flat_map(|(i, stop)| stop.ranks.iter().map(move |&r| (i, r)))
    }

    /// How a piece gets from a rank to another, by the NICs of their stops.
    pub(crate) fn way(
        &self,
        layout: &Layout,
        (from, sender): (usize, RankId),
        (to, receiver): (usize, RankId),
        queue: u32,
    ) -> Way {
        let gpu = |rank| layout.seat(rank).gpu;
        let nic = |rank| layout.seat(rank).nic;
        if from == to {
            return Way::Nvlink { from: gpu(sender), to: gpu(receiver) };
        }
        let (out, into) = (self.stops[from].port, self.stops[to].port);
        let relay = (nic(out) != nic(sender)).then(|| (gpu(sender), gpu(out)));
        Way::Network { from: nic(out), to: nic(into), queue, relay }
    }
}

/// The rank whose NIC a channel uses in a server: one on the channel's rail, taking turns where
/// several share it, or any other where a job has no rank on that rail.
fn port(layout: &Layout, ranks: &[RankId], channel: u32) -> RankId {
    let rails = layout.rails();
    let on_rail = || ranks.iter().filter(|&&r| layout.seat(r).rail == channel % rails);
    match on_rail().count() {
        0 => ranks[channel as usize % ranks.len()],
        count => on_rail().nth((channel / rails) as usize % count).copied().unwrap_or(ranks[0]),
    }
}
