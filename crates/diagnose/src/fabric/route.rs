//! Switches that send by other links than usual, though no link of theirs went down.

use super::finding::Finding;
use super::{Cause, Scene};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{NodeId, PortId};
use xoff_telemetry::Metric;

/// A switch that sends so much more of its packets to other neighbours than usual, beyond what it gets from others, has other
/// routes.
const MOVED: f64 = 0.25;
/// Fewer packets say nothing about how a switch spreads them.
const ENOUGH: f64 = 1_000.0;
/// Where a neighbour usually gets less than this of its fair share, so few flows are spread that other flows alone would
/// explain a difference.
const FAIR: f64 = 0.25;
/// A neighbour that gets less than this share of a step's packets is left out,
const NONE: f64 = 0.01;
/// and it is if so in this share of the steps: other flows may by chance take other links, but hardly leave out one that
/// the same hash used before.
const LEFT_OUT: f64 = 0.25;
/// So few steps say nothing about when a neighbour was left out.
const FEW_STEPS: usize = 3;

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    if !scene.has_usual() {
        return Vec::new();
    }
    let disturbed: BTreeSet<NodeId> = scene
        .ports()
        .filter(|port| scene.sum(*port, Metric::LinkDowns).unwrap_or(0.0) > 0.5)
        .flat_map(|port| [scene.node(port), scene.node(scene.peer(port))])
        .collect();
    let switches = (0..scene.fabric.switches.len() as u32).map(xoff_fabric::model::SwitchId);
    let nodes = switches.map(|switch| scene.fabric.switch_node(switch));
    nodes.filter(|node| !disturbed.contains(node)).filter_map(|node| moved(scene, node)).collect()
}

/// Packets by the neighbour that they went to or came from.
#[derive(Default)]
struct Shares {
    total: f64,
    by: BTreeMap<NodeId, f64>,
}

impl Shares {
    fn of(scene: &Scene<'_>, node: NodeId, packets: impl Fn(PortId) -> Option<f64>) -> Self {
        let mut shares = Self::default();
        let ports = scene.fabric.node_ports(node).filter(|port| !scene.leads_to_nic(*port));
        for port in ports {
            let count = packets(port).unwrap_or(0.0);
            shares.total += count;
            *shares.by.entry(scene.node(scene.peer(port))).or_default() += count;
        }
        shares
    }

    fn share(&self, node: NodeId) -> f64 {
        self.by.get(&node).copied().unwrap_or(0.0) / self.total.max(1.0)
    }

    /// Whether every neighbour gets some of its fair share.
    fn is_spread(&self) -> bool {
        let fair = 1.0 / self.by.len().max(1) as f64;
        self.by.keys().all(|node| self.share(*node) > FAIR * fair)
    }

    /// The share of packets that go to other neighbours: 0 for the same, 1 for quite different ones.
    fn distance(&self, other: &Self) -> f64 {
        let all: BTreeSet<NodeId> = self.by.keys().chain(other.by.keys()).copied().collect();
        all.into_iter().map(|node| (self.share(node) - other.share(node)).max(0.0)).sum()
    }
}

/// Whether a switch sends nothing to a neighbour for some time, although it sends to others.
fn leaves_out(scene: &Scene<'_>, node: NodeId) -> bool {
    let mut by: BTreeMap<NodeId, Vec<f32>> = BTreeMap::new();
    for port in scene.fabric.node_ports(node).filter(|port| !scene.leads_to_nic(*port)) {
        let Some(series) = scene.series(port, Metric::TxPackets) else { continue };
        let sum = by.entry(scene.node(scene.peer(port))).or_insert_with(|| vec![0.0; series.len()]);
        sum.iter_mut().zip(series).for_each(|(sum, count)| *sum += count);
    }
    let steps = by.values().map(Vec::len).max().unwrap_or(0);
    if steps < FEW_STEPS {
        return true;
    }
    let total = |step: usize| -> f64 { by.values().map(|series| f64::from(series[step])).sum() };
    // A step with a gap has no total.
    let busy: Vec<usize> =
        (0..steps).filter(|step| total(*step) * steps as f64 >= ENOUGH / 2.0).collect();
    let left_out = |series: &Vec<f32>| {
        let none = busy.iter().filter(|step| f64::from(series[**step]) < NONE * total(**step));
        none.count() as f64 >= (LEFT_OUT * busy.len() as f64).max(2.0)
    };
    by.values().any(left_out)
}

/// A switch that sends to other neighbours, and gets from the same ones: what only passes on what others do differently
/// is no cause.
fn moved(scene: &Scene<'_>, node: NodeId) -> Option<Finding> {
    let sent = Shares::of(scene, node, |port| scene.sum(port, Metric::TxPackets));
    let usual = Shares::of(scene, node, |port| scene.usual_sum(port, Metric::TxPackets));
    if sent.total < ENOUGH || usual.total < ENOUGH || !usual.is_spread() {
        return None;
    }
    let taken = Shares::of(scene, node, |port| scene.sum(scene.peer(port), Metric::TxPackets));
    let took = Shares::of(scene, node, |port| scene.usual_sum(scene.peer(port), Metric::TxPackets));
    let moved = sent.distance(&usual) - taken.distance(&took);
    if moved < MOVED {
        return None;
    }
    if !leaves_out(scene, node) {
        return None;
    }
    let most = sent.by.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(node, _)| *node)?;
    let name = scene.fabric.node_name(node);
    let finding = Finding::new(Cause::Routes, name, vec![node])
        .because(format!(
            "{:.0} % of what {name} sends to other switches goes to {}, usually {:.0} %",
            sent.share(most) * 100.0,
            scene.fabric.node_name(most),
            usual.share(most) * 100.0
        ))
        .weighing(moved);
    Some(finding)
}
