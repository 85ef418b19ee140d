//! What is down: switches, servers, links.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{NodeId, PortId, ServerId};
use xoff_telemetry::Metric;

/// A cable that is or was down.
struct Down {
    /// How often it went down in the window.
    times: f64,
    /// Whether it still is.
    still: bool,
    ends: [NodeId; 2],
}

impl Down {
    fn evidence(&self) -> String {
        let still = if self.still { "is down" } else { "is up again" };
        format!("link-down events: {}, {still}", self.times)
    }
}

/// Devices all of whose cables went down, then servers, then what is left of single cables. What a device explains
/// needs no further cause.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let mut down = down(scene);
    let mut found = Vec::new();
    while let Some((node, cables)) = dead_switch(scene, &down) {
        let all = scene.fabric.node_ports(node).count();
        let still = down.values().any(|cable| cable.ends.contains(&node) && cable.still);
        down.retain(|_, cable| !cable.ends.contains(&node));
        let name = scene.fabric.node_name(node);
        let mut finding = Finding::new(Cause::SwitchDown, name, vec![node])
            .because(match cables == all {
                true => format!("all its {cables} links went down"),
                false => format!("all {cables} of its {all} links that are watched went down"),
            })
            .because(if still { "they are down" } else { "they are up again" })
            .sure(if cables == all { Confidence::Certain } else { Confidence::Likely })
            .weighing(cables as f64);
        if !scene.is_watched(node) {
            finding = finding.because("it has no counters");
        }
        found.push(finding);
    }
    while let Some((server, cables)) = dead_server(scene, &down) {
        down.retain(|_, cable| server_of(scene, cable) != Some(server));
        let nodes = scene.fabric.nics.iter().zip(0..).filter(|(nic, _)| nic.server == server);
        let nodes = nodes.map(|(_, node)| NodeId(node)).collect();
        let name = scene.fabric.servers[server.index()].name.as_str();
        let finding = Finding::new(Cause::ServerDown, name, nodes)
            .because(format!("all its {cables} links went down"))
            .sure(Confidence::Certain)
            .weighing(cables as f64);
        found.push(finding);
    }
    found.extend(down.into_iter().map(|(port, state)| {
        let flaps = state.times > 1.5;
        let cause = if flaps { Cause::LinkFlaps } else { Cause::LinkDown };
        Finding::on(cause, scene, port)
            .because(state.evidence())
            .sure(Confidence::Certain)
            .weighing(state.times.max(1.0))
    }));
    found
}

/// Cables that went down or are down, by the lower of their ports.
fn down(scene: &Scene<'_>) -> BTreeMap<PortId, Down> {
    let mut down: BTreeMap<PortId, Down> = BTreeMap::new();
    for port in scene.ports() {
        let times = scene.sum(port, Metric::LinkDowns).unwrap_or(0.0).round();
        let still = scene.last(port, Metric::Up).is_some_and(|up| up < 0.5);
        if times < 0.5 && !still {
            continue;
        }
        let ends = [scene.node(port), scene.node(scene.peer(port))];
        let entry = down.entry(scene.cable(port)).or_insert(Down { times: 0.0, still, ends });
        entry.times = entry.times.max(times);
        entry.still |= still;
    }
    down
}

/// The switch with most cables all of which are down, as far as they are watched; at least two, or it is as well a link. Where
/// some are not watched, those that are must lead to several servers, or it is as well the server.
fn dead_switch(scene: &Scene<'_>, down: &BTreeMap<PortId, Down>) -> Option<(NodeId, usize)> {
    let mut ends: BTreeMap<NodeId, usize> = BTreeMap::new();
    for end in down.values().flat_map(|cable| cable.ends) {
        *ends.entry(end).or_default() += 1;
    }
    let whole = ends.into_iter().filter(|(node, count)| {
        let ports = || scene.fabric.node_ports(*node);
        let watched = ports().filter(|port| is_watched(scene, *port)).count();
        let servers: BTreeSet<ServerId> =
            ports().filter_map(|port| server_at(scene, port)).collect();
        let is_switch = scene.fabric.node_switch(*node).is_some();
        let enough = watched == ports().count() || servers.len() > 1;
        is_switch && *count > 1 && *count == watched && enough
    });
    whole.max_by_key(|(_, count)| *count)
}

/// Whether it is known of either end of a cable whether it went down.
fn is_watched(scene: &Scene<'_>, port: PortId) -> bool {
    let ends = [port, scene.peer(port)];
    let known = |port: &PortId| {
        [Metric::LinkDowns, Metric::Up].iter().any(|metric| scene.sum(*port, *metric).is_some())
    };
    ends.iter().any(known)
}

/// The server that a switch's port leads to.
fn server_at(scene: &Scene<'_>, port: PortId) -> Option<ServerId> {
    scene.fabric.nics.get(scene.node(scene.peer(port)).index()).map(|nic| nic.server)
}

/// A server all of whose cables are down; at least two.
fn dead_server(scene: &Scene<'_>, down: &BTreeMap<PortId, Down>) -> Option<(ServerId, usize)> {
    let mut servers: BTreeMap<ServerId, usize> = BTreeMap::new();
    for server in down.values().filter_map(|cable| server_of(scene, cable)) {
        *servers.entry(server).or_default() += 1;
    }
    let cables = |server: ServerId| -> usize {
        let nics = scene.fabric.nics.iter().filter(|nic| nic.server == server);
        nics.map(|nic| nic.ports.len()).sum()
    };
    servers.into_iter().find(|(server, count)| *count > 1 && *count == cables(*server))
}

fn server_of(scene: &Scene<'_>, cable: &Down) -> Option<ServerId> {
    let nics = &scene.fabric.nics;
    cable.ends.iter().find_map(|end| nics.get(end.index()).map(|nic| nic.server))
}
