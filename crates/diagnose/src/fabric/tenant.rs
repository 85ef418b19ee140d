//! Whose traffic fills what a job shares with others: a class beside the job's, or servers that were quiet before.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene, job};
use std::collections::BTreeMap;
use xoff_fabric::model::{ClassId, NodeId, PortId, ServerId};
use xoff_telemetry::Metric;

/// A NIC that sends so many times what it usually does, and so large a share of its rate, has begun to send.
const SURGE: f64 = 3.0;
const MUCH: f64 = 0.1;
/// A port is shared if either side has at least so much of what it sends,
const SHARED: f64 = 0.1;
/// and full if it sends so much of its rate in its busiest step.
const FULL: f64 = 0.85;

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    if !scene.has_usual() {
        return Vec::new();
    }
    let data = scene.fabric.data_class;
    let others = (0..scene.fabric.classes.len() as u8).map(ClassId).filter(|class| *class != data);
    let mut found: Vec<Finding> =
        others.filter_map(|class| other_class(scene, class, data)).collect();
    if found.is_empty() {
        found.extend(same_class(scene, data));
    }
    found
}

/// Bytes that a port sent in a class, and what it usually sends in as long.
fn bytes(scene: &Scene<'_>, port: PortId, class: ClassId) -> Option<(f64, f64)> {
    let now = scene.sum_of(port, Metric::TxBytes, class)?;
    Some((now, scene.usual_sum_of(port, Metric::TxBytes, class).unwrap_or(0.0)))
}

/// What a port could have sent.
fn capacity(scene: &Scene<'_>, port: PortId) -> f64 {
    scene.fabric.cable(port).rate.bps() as f64 / 8.0 * scene.seconds()
}

fn surges(scene: &Scene<'_>, port: PortId, class: ClassId) -> bool {
    bytes(scene, port, class)
        .is_some_and(|(now, usual)| now > SURGE * usual && now > MUCH * capacity(scene, port))
}

/// Whether a port is full, and a class that surges shares it with the data.
fn is_shared(scene: &Scene<'_>, port: PortId, class: ClassId, data: ClassId) -> bool {
    let of = |class| bytes(scene, port, class).map_or(0.0, |(now, _)| now);
    let (own, theirs) = (of(data), of(class));
    let all = (own + theirs).max(f64::MIN_POSITIVE);
    let full = scene.utilisation(port).unwrap_or_default();
    let full = full.into_iter().fold(0.0, f32::max);
    own / all > SHARED && theirs / all > SHARED && f64::from(full) > FULL
}

/// A class beside the data's that fills ports which both use.
fn other_class(scene: &Scene<'_>, class: ClassId, data: ClassId) -> Option<Finding> {
    let switch_ports = scene.ports().filter(|port| !scene.is_nic(*port));
    let surging: Vec<PortId> = switch_ports.filter(|port| surges(scene, *port, class)).collect();
    let nics = scene.ports().filter(|port| scene.is_nic(*port));
    let senders: Vec<PortId> = nics.filter(|port| surges(scene, *port, class)).collect();
    let sent = |port: &PortId| bytes(scene, *port, class).map_or(0.0, |(now, _)| now);
    let shared = surging.iter().copied().filter(|port| is_shared(scene, *port, class, data));
    let worst = shared.max_by(|a, b| sent(a).total_cmp(&sent(b)))?;
    let receivers: Vec<PortId> = surging
        .iter()
        .copied()
        .filter(|port| scene.leads_to_nic(*port))
        .map(|port| scene.peer(port))
        .collect();
    // Few that many send to, or few that send: these are at the root of it.
    let few_receive = senders.is_empty() || receivers.len() <= senders.len();
    let root = if few_receive && !receivers.is_empty() { &receivers } else { &senders };
    let name = &scene.fabric.classes[class.index()].name;
    let cause = match name.to_lowercase().contains("storage") {
        true => Cause::StorageBurst,
        false => Cause::NoisyTenant,
    };
    let (now, usual) = bytes(scene, worst, class)?;
    let rate = |bytes: f64| bytes / capacity(scene, worst) * 100.0;
    let finding = of_servers(scene, cause, root)?
        .because(format!(
            "class {} ({name}) takes {:.0} % of the rate of {}, usually {:.0} %",
            class.0,
            rate(now),
            scene.fabric.port_name(worst),
            rate(usual)
        ))
        .because(format!("the port is full, and RDMA's class {} uses it, too", data.0))
        .weighing(now);
    Some(finding)
}

/// Servers that have begun to send much in the data's class while a job got slower.
fn same_class(scene: &Scene<'_>, data: ClassId) -> Option<Finding> {
    if job::slower(scene).is_empty() {
        return None;
    }
    let nics: Vec<PortId> = scene.ports().filter(|port| scene.is_nic(*port)).collect();
    let surging: Vec<PortId> =
        nics.iter().copied().filter(|port| surges(scene, *port, data)).collect();
    // If most of them send more, it is the job that does something else.
    if surging.is_empty() || 2 * surging.len() > nics.len() {
        return None;
    }
    let congested = |port: &PortId| {
        let marked = |sum: Option<f64>| sum.unwrap_or(0.0);
        let now = marked(scene.sum(*port, Metric::EcnMarked));
        !scene.is_nic(*port) && now > 1.5 * marked(scene.usual_sum(*port, Metric::EcnMarked))
    };
    let worst = scene.ports().filter(congested).max_by(|a, b| {
        let marked = |port: &PortId| scene.sum(*port, Metric::EcnMarked).unwrap_or(0.0);
        marked(a).total_cmp(&marked(b))
    })?;
    let sum = |of: &dyn Fn((f64, f64)) -> f64| -> f64 {
        surging.iter().filter_map(|port| bytes(scene, *port, data)).map(of).sum()
    };
    let (now, usual) = (sum(&|(now, _)| now), sum(&|(_, usual)| usual));
    let finding = of_servers(scene, Cause::NoisyTenant, &surging)?
        .because(format!(
            "{} NICs send {:.1} GB/s, usually {:.1}",
            surging.len(),
            now / scene.seconds() / 1e9,
            usual / scene.seconds() / 1e9
        ))
        .because(format!("{} marks more than usual", scene.fabric.port_name(worst)))
        .weighing(now);
    Some(finding)
}

/// A finding about the servers of some NICs.
fn of_servers(scene: &Scene<'_>, cause: Cause, nics: &[PortId]) -> Option<Finding> {
    let mut servers: BTreeMap<ServerId, Vec<NodeId>> = BTreeMap::new();
    for port in nics {
        let node = scene.node(*port);
        servers.entry(scene.fabric.nics[node.index()].server).or_default().push(node);
    }
    let first = servers.keys().next()?;
    let name = &scene.fabric.servers[first.index()].name;
    let place = match servers.len() {
        1 => name.clone(),
        2 => {
            let other = servers.keys().nth(1)?;
            format!("{name} and {}", scene.fabric.servers[other.index()].name)
        }
        more => format!("{name} and {} more servers", more - 1),
    };
    let nodes = servers.into_values().flatten().collect();
    Some(Finding::new(cause, place, nodes).sure(Confidence::Likely))
}
