//! What links and ports did: loads by tier and between neighbours, and where most happened.

use super::Run;
use super::figures::{PairLoad, PortFigures, TierFigures};
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NodeId, PortId};
use xoff_units::Instant;

/// Ports, shares and pairs that are kept, and NICs up to which theirs are.
const PORTS: usize = 40;
const SHARES: usize = 512;
const LOADS: usize = 4_096;
const HOST_LOADS: usize = 1_024;

const NAMES: [&str; 4] = ["nic", "leaf", "spine", "core"];

impl Run<'_> {
    /// Bytes that a port sent.
    fn sent(&self, port: usize) -> u64 {
        self.report.ports[port].iter().map(|class| class.tx_bytes).sum()
    }

    /// The share of the run that a port sent.
    fn used(&self, port: usize) -> f64 {
        let fabric = self.fabric();
        let rate = fabric.cables[fabric.ports[port].cable.index()].rate;
        let bytes = self.sent(port);
        let seconds = (self.report.end - Instant::ZERO).as_s_f64();
        if seconds == 0.0 { 0.0 } else { bytes as f64 * 8.0 / (rate.bps() as f64 * seconds) }
    }

    pub(super) fn tiers(&self) -> Vec<TierFigures> {
        let fabric = self.fabric();
        let mut all: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
        for (index, port) in fabric.ports.iter().enumerate() {
            let to = fabric.ports[port.peer.index()].node;
            all.entry((height(fabric, port.node), height(fabric, to))).or_default().push(index);
        }
        let tier = |((from, to), ports): ((u8, u8), Vec<usize>)| {
            let shares: Vec<f64> = ports.iter().map(|&port| self.used(port)).collect();
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            let busiest = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
            let step = shares.len().div_ceil(SHARES).max(1);
            TierFigures {
                name: format!("{}→{}", NAMES[usize::from(from)], NAMES[usize::from(to)]),
                links: ports.len() as u64,
                bytes: ports.iter().map(|&port| self.sent(port)).sum(),
                used: shares.iter().filter(|share| **share > 0.0).count() as u64,
                mean,
                max: busiest.map_or(0.0, |at| shares[at]),
                gini: gini(&shares),
                busiest: busiest.map_or(String::new(), |at| name(fabric, ports[at])),
                shares: shares.into_iter().step_by(step).collect(),
            }
        };
        all.into_iter().map(tier).collect()
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
                    near: self.is_near(port),
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
        let mut rank = 0;
        all.retain(|port| {
            rank += 1;
            rank <= PORTS || port.near
        });
        all
    }

    /// Whether a port belongs to what the experiment breaks, or leads there.
    fn is_near(&self, port: usize) -> bool {
        let fabric = self.fabric();
        let ends = [fabric.ports[port].node, fabric.ports[fabric.ports[port].peer.index()].node];
        let names = ends.map(|node| node_name(fabric, node));
        let hurt = |name: &String| self.experiment.hurts.contains(name);
        match self.experiment.hurts.as_slice() {
            [] => false,
            // A link: only its own ports.
            [_, _] => names.iter().all(hurt),
            _ => names.iter().any(hurt),
        }
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

fn height(fabric: &Fabric, node: NodeId) -> u8 {
    match fabric.node_switch(node) {
        None => 0,
        Some(switch) => fabric.switches[switch.index()].tier as u8 + 1,
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

/// The Gini coefficient of loads: half the mean difference between two, over the mean.
fn gini(loads: &[f64]) -> f64 {
    let mut sorted = loads.to_vec();
    sorted.sort_by(f64::total_cmp);
    let total: f64 = sorted.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    let count = sorted.len() as f64;
    let weighted: f64 = sorted.iter().zip(1..).map(|(load, rank)| load * f64::from(rank)).sum();
    (2.0 * weighted / (count * total) - (count + 1.0) / count).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gini_is_zero_for_equal_loads_and_near_one_for_one_load() {
        assert!(gini(&[3.0; 10]).abs() < 1e-12);
        assert!((gini(&[0.0, 0.0, 0.0, 8.0]) - 0.75).abs() < 1e-12);
        assert_eq!(gini(&[]), 0.0);
        assert_eq!(gini(&[0.0, 0.0]), 0.0);
    }
}
