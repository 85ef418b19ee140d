//! Ports that are full, and why: many senders, a slow link, equal links that are used unevenly, or too little of them.

use super::finding::{Confidence, Finding};
use super::pause::{self, Root, Tree};
use super::{Cause, Scene, usually};
use xoff_fabric::model::{NodeId, PortId};
use xoff_telemetry::Metric;

/// A port that sends at this share of its rate in a step is full.
const FULL: f64 = 0.85;
/// The share of packets marked from which on a port counts as congested.
const MARKED: f64 = 0.01;
/// A NIC is the target of an incast if it gets so many times what the median one gets, and so many times what it usually does.
const INCAST: f64 = 2.0;
const MORE: f64 = 1.2;
/// Or if so many times as many packets are marked on their way to it, and so large a share.
const PILE: f64 = 4.0;
const MOST: f64 = 0.75;
/// Equal links are used unevenly if the busiest carries so many times their mean.
const UNEVEN: f64 = 1.8;
/// How much more uneven than usual.
const MORE_UNEVEN: f64 = 1.25;

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let trees = pause::trees(scene);
    let median = Median::of(scene);
    let tree = |port: PortId| trees.iter().find(|tree| tree.root == Root::Port(port));
    let mut found: Vec<Finding> = Vec::new();
    for port in scene.ports().filter(|port| !scene.is_nic(*port)) {
        if !is_congested(scene, port, tree(port)) {
            continue;
        }
        let finding = match scene.leads_to_nic(port) {
            true => incast(scene, port, &median),
            false => None,
        };
        found.extend(finding.map(|finding| match tree(port) {
            Some(tree) => pause::spread(scene, finding, tree),
            None => finding,
        }));
    }
    let switches = (0..scene.fabric.switches.len() as u32).map(xoff_fabric::model::SwitchId);
    found.extend(switches.filter_map(|switch| uneven(scene, scene.fabric.switch_node(switch))));
    found
}

/// Whether packets wait at a port, as marks or the pauses of others show.
fn is_congested(scene: &Scene<'_>, port: PortId, tree: Option<&Tree>) -> bool {
    let marked = scene.sum(port, Metric::EcnMarked).unwrap_or(0.0);
    let sent = scene.sum(port, Metric::TxPackets).unwrap_or(0.0);
    tree.is_some() || (sent > 0.0 && marked / sent > MARKED)
}

/// The mean use of a port over the window, if it is known.
fn load(scene: &Scene<'_>, port: PortId) -> Option<f64> {
    let rate = scene.fabric.cable(port).rate.bps() as f64 / 8.0 * scene.seconds();
    Some(scene.sum(port, Metric::TxBytes)? / rate.max(f64::MIN_POSITIVE))
}

fn usual_load(scene: &Scene<'_>, port: PortId) -> Option<f64> {
    let rate = scene.fabric.cable(port).rate.bps() as f64 / 8.0 * scene.seconds();
    Some(scene.usual_sum(port, Metric::TxBytes)? / rate.max(f64::MIN_POSITIVE))
}

/// What the median port that leads to a NIC carries and marks.
struct Median {
    load: f64,
    marks: f64,
}

impl Median {
    fn of(scene: &Scene<'_>) -> Self {
        let ports = scene.ports().filter(|port| !scene.is_nic(*port) && scene.leads_to_nic(*port));
        let ports: Vec<PortId> = ports.collect();
        let median = |of: &dyn Fn(PortId) -> Option<f64>| {
            let mut values: Vec<f64> = ports.iter().filter_map(|port| of(*port)).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        };
        let load = median(&|port| load(scene, port));
        Self { load, marks: median(&|port| scene.sum(port, Metric::EcnMarked)) }
    }
}

/// A port to a NIC that is full and gets much more than others do, or where packets pile up much more.
fn incast(scene: &Scene<'_>, port: PortId, median: &Median) -> Option<Finding> {
    let full = scene.utilisation(port)?.into_iter().map(f64::from).fold(0.0, f64::max);
    if full < FULL {
        return None;
    }
    let own = load(scene, port)?;
    let usual = usual_load(scene, port);
    let others = median.load;
    let gets_more = own > INCAST * others && usual.is_none_or(|usual| own > MORE * usual);
    let marked = scene.sum(port, Metric::EcnMarked).unwrap_or(0.0);
    let usually_marked = scene.usual_sum(port, Metric::EcnMarked);
    let sent = scene.sum(port, Metric::TxPackets).unwrap_or(0.0);
    let piles_up = marked > PILE * median.marks
        && marked > MOST * sent
        && usually_marked.is_none_or(|usual| marked > INCAST * usual);
    if !gets_more && !piles_up {
        return None;
    }
    let nic = scene.peer(port);
    let queue = scene.peak(port, Metric::QueueWatermark).unwrap_or(0.0);
    let usual = usually(scene, format_args!("{:.0}", usually_marked.unwrap_or(0.0)));
    let times = match others > own / 1_000.0 {
        true => format!("it carries {:.1} times what the median NIC gets", own / others),
        false => "the median NIC gets next to nothing".to_owned(),
    };
    let finding = Finding::new(Cause::Incast, scene.device(nic), vec![scene.node(nic)])
        .because(format!(
            "{} is full ({:.0} % of its rate in its busiest step); {times}",
            scene.fabric.port_name(port),
            full * 100.0
        ))
        .because(format!("{marked:.0} of {sent:.0} packets were marked there{usual}"))
        .because(format!("its queue grew to {:.0} KB", queue / 1e3))
        .weighing(marked);
    Some(finding)
}

/// A switch that uses some of its equal links up much more than others.
fn uneven(scene: &Scene<'_>, node: NodeId) -> Option<Finding> {
    let links = uplinks(scene, node).into_iter();
    let known = links.filter_map(|port| Some((port, load(scene, port)?)));
    let (links, loads): (Vec<PortId>, Vec<f64>) = known.unzip();
    let (mean, most) = spread(&loads)?;
    let usual: Option<Vec<f64>> = links.iter().map(|port| usual_load(scene, *port)).collect();
    let usual = usual.and_then(|loads| spread(&loads)).map(|(mean, most)| most / mean);
    let ratio = most / mean;
    if ratio < UNEVEN || usual.is_some_and(|usual| ratio < MORE_UNEVEN * usual) || most < 0.2 {
        return None;
    }
    let busiest = links[loads.iter().position(|load| *load == most)?];
    let idle = loads.iter().filter(|load| **load < 0.1 * mean).count();
    let usually = usual.map_or(String::new(), |usual| format!(", usually {usual:.1}"));
    let finding = Finding::new(Cause::UnevenLinks, scene.fabric.node_name(node), vec![node])
        .because(format!(
            "its busiest link up, {}, carries {ratio:.1} times their mean{usually}; {idle} of {} carry next \
             to nothing",
            scene.fabric.port_name(busiest),
            links.len()
        ))
        .weighing(ratio);
    // A few large flows are spread unevenly by any hash: only what is usual tells.
    Some(if usual.is_some() { finding } else { finding.sure(Confidence::Possible) })
}

/// Mean and greatest of some loads; nothing where there are fewer than two, or no load.
fn spread(loads: &[f64]) -> Option<(f64, f64)> {
    let mean = loads.iter().sum::<f64>() / loads.len().max(1) as f64;
    let most = loads.iter().copied().fold(0.0, f64::max);
    (loads.len() > 1 && mean > 0.0).then_some((mean, most))
}

/// The ports of a switch to the tier above.
fn uplinks(scene: &Scene<'_>, node: NodeId) -> Vec<PortId> {
    let ports = scene.fabric.node_ports(node);
    let up = ports.filter(|port| {
        let there = scene.tier(scene.peer(*port));
        there.is_some() && there > scene.tier(*port)
    });
    up.collect()
}
