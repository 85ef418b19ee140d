//! [`spread`]: how evenly a run used the links between two tiers.
//!
//! Links in one direction between the same two tiers are a group: `nic→leaf`, `leaf→spine`, `spine→leaf` and so on. [`Spread::at_worst`]
//! shows whether a group is uneven because of the traffic or because of how switches chose: a switch's own links
//! to a tier are equal choices mostly.

use crate::report::Report;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NodeId, PortId};
use xoff_units::Instant;

/// What the links from one tier to another did.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Where they begin: `nic`, or the name of a switch's tier.
    pub from: &'static str,
    /// Where they end.
    pub to: &'static str,
    /// The links, and the share of the run for which each sent.
    pub links: Vec<(PortId, f64)>,
    /// What they sent together.
    pub bytes: u64,
    /// Mean share of the run for which a link sent.
    pub mean: f64,
    /// The link that sent for the largest share, and that share.
    pub busiest: Option<(PortId, f64)>,
    /// How unequal they are (Gini coefficient): 0 equal, towards 1 all on one.
    pub gini: f64,
    /// The fullest of a node's links over the mean of that node's, at the node where that is
    /// largest. Nodes that sent less than a tenth of what their like did in the mean do not count.
    pub at_worst: f64,
}

impl Spread {
    /// Like `leaf→spine`.
    pub fn name(&self) -> String {
        format!("{}→{}", self.from, self.to)
    }

    /// How many links carried anything.
    pub fn used(&self) -> usize {
        self.links.iter().filter(|(_, share)| *share > 0.0).count()
    }

    /// The fullest link over the mean of all; 1 where nothing was sent.
    pub fn max_over_mean(&self) -> f64 {
        let max = self.busiest.map_or(0.0, |(_, share)| share);
        if self.mean > 0.0 { max / self.mean } else { 1.0 }
    }
}

/// The spread of all links, from the bottom up.
pub fn spread(fabric: &Fabric, report: &Report) -> Vec<Spread> {
    let mut all: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
    for (index, port) in fabric.ports.iter().enumerate() {
        let to = fabric.ports[port.peer.index()].node;
        all.entry((height(fabric, port.node), height(fabric, to))).or_default().push(index);
    }
    all.into_values().map(|ports| group(fabric, report, &ports)).collect()
}

/// Bytes that a port sent, of all classes.
pub fn sent(report: &Report, port: PortId) -> u64 {
    report.ports[port.index()].iter().map(|class| class.tx_bytes).sum()
}

/// The share of the run for which a port sent packets, with their preambles and gaps.
pub fn used(fabric: &Fabric, report: &Report, port: PortId) -> f64 {
    let rate = fabric.cable(port).rate;
    let seconds = report.end.since(Instant::ZERO).as_s_f64();
    let bytes: u64 = report.ports[port.index()].iter().map(|class| class.wire_bytes).sum();
    match seconds > 0.0 {
        true => bytes as f64 * 8.0 / (rate.bps() as f64 * seconds),
        false => 0.0,
    }
}

/// How far above the hosts a node stands: 0 for a NIC.
pub fn height(fabric: &Fabric, node: NodeId) -> u8 {
    match fabric.node_switch(node) {
        None => 0,
        Some(switch) => fabric.switches[switch.index()].tier as u8 + 1,
    }
}

fn tier(fabric: &Fabric, node: NodeId) -> &'static str {
    match fabric.node_switch(node) {
        None => "nic",
        Some(switch) => fabric.switches[switch.index()].tier.name(),
    }
}

/// The spread of links between two tiers; there is at least one.
fn group(fabric: &Fabric, report: &Report, ports: &[usize]) -> Spread {
    let id = |index: usize| PortId(index as u32);
    let links: Vec<(PortId, f64)> =
        ports.iter().map(|&port| (id(port), used(fabric, report, id(port)))).collect();
    let shares: Vec<f64> = links.iter().map(|(_, share)| *share).collect();
    let mut by_node: BTreeMap<NodeId, Vec<f64>> = BTreeMap::new();
    for (port, share) in &links {
        by_node.entry(fabric.ports[port.index()].node).or_default().push(*share);
    }
    let first = &fabric.ports[ports[0]];
    Spread {
        from: tier(fabric, first.node),
        to: tier(fabric, fabric.ports[first.peer.index()].node),
        bytes: ports.iter().map(|&port| sent(report, id(port))).sum(),
        mean: mean(&shares),
        // Of equal ones the last.
        busiest: links.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1)),
        gini: gini(&shares),
        at_worst: at_worst(by_node.values()),
        links,
    }
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len().max(1) as f64
}

/// The fullest link of a node over the mean of its links, at the worst node that counts.
fn at_worst<'a>(nodes: impl Iterator<Item = &'a Vec<f64>>) -> f64 {
    let nodes: Vec<(f64, f64)> =
        nodes.map(|shares| (shares.iter().copied().fold(0.0, f64::max), mean(shares))).collect();
    let usual = nodes.iter().map(|(_, mean)| mean).sum::<f64>() / nodes.len().max(1) as f64;
    let counts = nodes.iter().filter(|(_, mean)| *mean > 0.0 && *mean * 10.0 >= usual);
    counts.map(|(max, mean)| max / mean).fold(1.0, f64::max)
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

    #[test]
    fn the_worst_node_is_one_that_sent() {
        let nodes = [vec![0.5, 0.5], vec![0.9, 0.3], vec![0.001, 0.0], vec![0.0, 0.0]];
        assert!((at_worst(nodes.iter()) - 1.5).abs() < 1e-12);
        assert_eq!(at_worst([].iter()), 1.0);
        assert_eq!(at_worst([vec![0.0]].iter()), 1.0);
    }
}
