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
/// Where the queue is known it must have grown to so many times Kmax, and a smaller share will do.
const MANY: f64 = 0.5;
const LONG: f64 = 6.0;
/// Links up are full if they are for this share of the time: senders that slow down leave gaps.
const OFTEN: f64 = 0.3;
/// Or a port that is paused for this share of a step.
const HELD: f64 = 0.1;
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
    for node in switches.map(|switch| scene.fabric.switch_node(switch)) {
        found.extend(narrow(scene, node));
        found.extend(uneven(scene, node));
    }
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
    let queue = scene.peak(port, Metric::QueueWatermark);
    let share = match queue.zip(kmax(scene, port)) {
        Some((queue, kmax)) if queue > LONG * kmax => MANY,
        Some(_) => f64::INFINITY,
        None => MOST,
    };
    let queue = queue.unwrap_or(0.0);
    let piles_up = marked > PILE * median.marks
        && marked > share * sent
        && usually_marked.is_none_or(|usual| marked > INCAST * usual);
    if !gets_more && !piles_up {
        return None;
    }
    let nic = scene.peer(port);
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

/// Where all packets of RDMA are to be marked, by the plan.
fn kmax(scene: &Scene<'_>, port: PortId) -> Option<f64> {
    let class = scene.fabric.data_class;
    let ecn = scene.fabric.ports[port.index()].classes[class.index()].ecn?;
    Some(ecn.kmax.get() as f64)
}

/// A switch with less rate up than down whose links up are all full.
fn narrow(scene: &Scene<'_>, node: NodeId) -> Option<Finding> {
    let up = uplinks(scene, node);
    let rate = |ports: &[PortId]| -> f64 {
        ports.iter().map(|port| scene.fabric.cable(*port).rate.bps() as f64).sum()
    };
    let down: Vec<PortId> =
        scene.fabric.node_ports(node).filter(|port| !up.contains(port)).collect();
    let ratio = rate(&down) / rate(&up);
    if up.is_empty() || ratio <= 1.01 {
        return None;
    }
    let mean = |of: &dyn Fn(PortId) -> Option<f64>| -> Option<f64> {
        let all: Option<Vec<f64>> = up.iter().map(|port| of(*port)).collect();
        all.map(|all| all.iter().sum::<f64>() / up.len() as f64)
    };
    let (now, usual) = (mean(&|port| load(scene, port))?, mean(&|port| usual_load(scene, port)));
    let steps: Vec<f32> = up.iter().filter_map(|port| scene.utilisation(*port)).flatten().collect();
    let full = steps.iter().filter(|load| f64::from(**load) > FULL).count() as f64;
    let full = full / steps.len().max(1) as f64;
    let congested = up.iter().filter(|port| is_congested(scene, **port, None)).count();
    if full < OFTEN || 2 * congested <= up.len() {
        return None;
    }
    // What was so when all was well is not what is wrong now.
    if usual.is_some_and(|usual| now < MORE * usual) {
        return None;
    }
    let words = usual.map_or(String::new(), |usual| format!(", usually {:.0} %", usual * 100.0));
    let finding = Finding::new(Cause::Oversubscribed, scene.fabric.node_name(node), vec![node])
        .because(format!(
            "its {} links up are full for {:.0} % of the time, and {congested} of them mark; their mean load is \
             {:.0} %{words}",
            up.len(),
            full * 100.0,
            now * 100.0
        ))
        .because(format!("{ratio:.1} times their rate comes from below, by the plan"))
        .weighing(full);
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
    // Where nothing waits, nobody suffers from it.
    let flows =
        scene.sum(busiest, Metric::EcnMarked).is_some() && !is_congested(scene, busiest, None);
    if flows && scene.paused(busiest).is_none_or(|share| share < HELD) {
        return None;
    }
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
