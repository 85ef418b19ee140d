//! What bounds a training step: its critical path, and the busiest link on it.

use std::collections::BTreeSet;
use xoff_fabric::model::{Fabric, NicId, PortId};
use xoff_fabric::route::Routes;
use xoff_sim::{JobResult, Report, spread};
use xoff_telemetry::{CriticalSummary, DimensionWait, LongestWait};
use xoff_units::Span;
use xoff_workload::layout::Layout;
use xoff_workload::training::Wait;

/// Groups of up to this many ranks have all their paths searched, larger ones only those between
/// neighbours.
const MOST_RANKS: usize = 64;

/// The critical path of the longest of a job's steps.
pub(crate) fn summarise(
    fabric: &Fabric,
    layout: &Layout,
    result: &JobResult,
    report: &Report,
) -> Option<CriticalSummary> {
    let path = result.paths.iter().max_by_key(|path| path.total())?;
    let waits = path.waits.iter().filter(|(_, span)| !span.is_zero());
    let wait = |(dimension, span): &(xoff_workload::training::Dimension, Span)| DimensionWait {
        dimension: dimension.name().to_owned(),
        wait_us: span.as_us_f64(),
    };
    Some(CriticalSummary {
        last_rank: path.last.0,
        compute_us: path.compute.as_us_f64(),
        waits: waits.map(wait).collect(),
        longest: path.longest.as_ref().map(|wait| longest(fabric, layout, wait, report)),
    })
}

fn longest(fabric: &Fabric, layout: &Layout, wait: &Wait, report: &Report) -> LongestWait {
    let nics: Vec<NicId> = wait.ranks.iter().map(|&rank| layout.seat(rank).nic).collect();
    let domains: Vec<u32> = wait.ranks.iter().map(|&rank| layout.seat(rank).domain).collect();
    let mut found = LongestWait {
        dimension: wait.dimension.name().to_owned(),
        wait_us: wait.span.as_us_f64(),
        ranks: wait.ranks.iter().map(|rank| rank.0).collect(),
        held_by: wait.held_by.0,
        ..LongestWait::default()
    };
    if domains.iter().all(|domain| *domain == domains[0]) {
        return found;
    }
    let load = |port: &PortId| {
        let sent: u64 = report.ports[port.index()].iter().map(|class| class.wire_bytes).sum();
        u128::from(sent) * 1_000_000_000 / u128::from(fabric.cable(*port).rate.bps().max(1))
    };
    // Of equally busy links, the first.
    let paths = paths(fabric, &nics);
    let busiest = paths.iter().max_by_key(|port| (load(port), std::cmp::Reverse(port.0)));
    if let Some(&port) = busiest {
        let classes = &report.ports[port.index()];
        found.link = Some(fabric.port_name(port));
        found.link_utilisation = spread::used(fabric, report, port);
        found.link_paused_us = classes.iter().map(|class| class.paused.as_us_f64()).sum();
    }
    found
}

/// All ports that packets between these NICs may leave by.
fn paths(fabric: &Fabric, nics: &[NicId]) -> BTreeSet<PortId> {
    let routes = Routes::towards(fabric, nics);
    let mut ports = BTreeSet::new();
    for (at, &from) in nics.iter().enumerate() {
        let next = [nics[(at + 1) % nics.len()]];
        let to = if nics.len() <= MOST_RANKS { nics } else { &next };
        for &to in to.iter().filter(|&&to| to != from) {
            spread(fabric, &routes, from, to, &mut ports);
        }
    }
    ports
}

/// Adds the ports of all shortest paths from one NIC to another.
fn spread(fabric: &Fabric, routes: &Routes, from: NicId, to: NicId, ports: &mut BTreeSet<PortId>) {
    let mut edge: Vec<PortId> = fabric.node_ports(fabric.nic_node(from)).collect();
    let mut seen = BTreeSet::new();
    while let Some(port) = edge.pop() {
        ports.insert(port);
        let node = fabric.ports[fabric.ports[port.index()].peer.index()].node;
        if let Some(switch) = fabric.node_switch(node)
            && seen.insert(switch)
        {
            edge.extend(routes.candidates(switch, to));
        }
    }
}
