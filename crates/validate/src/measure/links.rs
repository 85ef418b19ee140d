//! What links and ports did: loads by tier and between neighbours, and where most happened.

use super::Run;
use super::figures::{PairLoad, PortFigures, TierFigures};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NodeId, PortId};
use xoff_sim::spread::{self, Spread, height};

/// Ports, shares and pairs that are kept, and NICs up to which theirs are.
const PORTS: usize = 40;
const SHARES: usize = 512;
const LOADS: usize = 4_096;
const HOST_LOADS: usize = 1_024;

impl Run<'_> {
    pub(super) fn tiers(&self) -> Vec<TierFigures> {
        let fabric = self.fabric();
        let tier = |group: Spread| {
            let step = group.links.len().div_ceil(SHARES).max(1);
            let (busiest, max) = group.busiest.unzip();
            TierFigures {
                name: group.name(),
                links: group.links.len() as u64,
                bytes: group.bytes,
                used: group.used() as u64,
                mean: group.mean,
                max: max.unwrap_or_default(),
                gini: group.gini,
                busiest: busiest.map_or(String::new(), |port| fabric.port_name(port)),
                shares: group.links.iter().map(|(_, share)| *share).step_by(step).collect(),
            }
        };
        spread::spread(fabric, self.report).into_iter().map(tier).collect()
    }

    /// The share of the run for which a port sent.
    fn used(&self, port: usize) -> f64 {
        spread::used(self.fabric(), self.report, PortId(port as u32))
    }

    /// The ports where most happened: drops, then pauses, then queues.
    pub(super) fn ports(&self) -> Vec<PortFigures> {
        let fabric = self.fabric();
        let mut all: Vec<PortFigures> = (0..fabric.ports.len())
            .map(|port| {
                let classes = &self.report.ports[port];
                let sum = |of: fn(&xoff_sim::ClassResult) -> u64| classes.iter().map(of).sum();
                let deepest = classes.iter().map(|class| class.deepest_queue.get()).max();
                PortFigures {
                    name: name(fabric, port),
                    xoff_sent: sum(|class| class.xoff_sent),
                    pauses_received: sum(|class| class.pauses_received),
                    paused_us: classes.iter().map(|class| class.paused.as_us_f64()).sum(),
                    marked: sum(|class| class.marked),
                    dropped: sum(|class| class.dropped_packets),
                    deepest_bytes: deepest.unwrap_or_default(),
                    used: self.used(port),
                }
            })
            .collect();
        let weight = |port: &PortFigures| {
            (port.dropped, port.xoff_sent, port.pauses_received, port.marked, port.deepest_bytes)
        };
        all.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.name.cmp(&b.name)));
        all.retain(|port| weight(port) != (0, 0, 0, 0, 0));
        all.truncate(PORTS);
        all
    }

    /// Load between neighbours; of large fabrics only between switches.
    pub(super) fn loads(&self) -> Vec<PairLoad> {
        let fabric = self.fabric();
        let mut all: BTreeMap<(NodeId, NodeId), f64> = BTreeMap::new();
        for (index, port) in fabric.ports.iter().enumerate() {
            let (here, there) = (port.node, fabric.ports[port.peer.index()].node);
            let (low, high) = if height(fabric, here) <= height(fabric, there) {
                (here, there)
            } else {
                (there, here)
            };
            if height(fabric, low) == 0 && fabric.nics.len() > HOST_LOADS {
                continue;
            }
            let low = match fabric.node_switch(low) {
                // All NICs of a server stand for it.
                None => NodeId(fabric.servers[fabric.nics[low.index()].server.index()].nics.start),
                Some(_) => low,
            };
            let load = all.entry((low, high)).or_default();
            *load = self.used(index).max(*load);
        }
        let name = |node: NodeId| match fabric.node_switch(node) {
            None => fabric.servers[fabric.nics[node.index()].server.index()].name.clone(),
            Some(_) => node_name(fabric, node),
        };
        let pair = |((from, to), load)| PairLoad { from: name(from), to: name(to), load };
        all.into_iter().take(LOADS).map(pair).collect()
    }
}

fn name(fabric: &Fabric, port: usize) -> String {
    fabric.port_name(PortId(port as u32))
}

pub(super) fn node_name(fabric: &Fabric, node: NodeId) -> String {
    match fabric.node_switch(node) {
        None => fabric.nics[node.index()].name.clone(),
        Some(switch) => fabric.switches[switch.index()].name.clone(),
    }
}
