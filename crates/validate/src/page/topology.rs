//! The fabric drawn, with the load that it carried.

use crate::measure::Measurement;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{Fabric, NodeId, Port, PortId};
use xoff_report::{Figure, Link, LinkState, Node, NodeRef, Plot, Tier, Topology};

/// Links busier than this are hot spots.
const HOT: f64 = 0.9;

pub(super) fn figure(fabric: &Fabric, load: Option<&Measurement>) -> Option<Figure> {
    let mut places: BTreeMap<&str, NodeRef> = BTreeMap::new();
    let mut tiers = vec![Tier { name: "servers".into(), nodes: Vec::new() }];
    for server in &fabric.servers {
        places.insert(&server.name, NodeRef { tier: 0, node: tiers[0].nodes.len() });
        tiers[0].nodes.push(Node { name: server.name.clone(), rail: None, down: false });
    }
    for (name, tier) in [
        ("leaves", xoff_fabric::model::Tier::Leaf),
        ("spines", xoff_fabric::model::Tier::Spine),
        ("cores", xoff_fabric::model::Tier::Core),
    ] {
        let own: Vec<_> = fabric.switches.iter().filter(|switch| switch.tier == tier).collect();
        if own.is_empty() {
            continue;
        }
        let at = tiers.len();
        let mut nodes = Vec::new();
        for switch in own {
            places.insert(&switch.name, NodeRef { tier: at, node: nodes.len() });
            let rail = rail(fabric, switch.ports.clone().map(PortId));
            nodes.push(Node { name: switch.name.clone(), rail, down: false });
        }
        tiers.push(Tier { name: name.into(), nodes });
    }
    let loads = load.map_or(&[][..], |measured| measured.loads.as_slice());
    let known = loads.iter().filter_map(|pair| {
        let (from, to) = (*places.get(pair.from.as_str())?, *places.get(pair.to.as_str())?);
        Some(((from, to), pair.load))
    });
    let known: BTreeMap<(NodeRef, NodeRef), f64> = known.collect();
    if known.is_empty() {
        return None;
    }
    // Of a large fabric some loads are not kept: its links are drawn all the same.
    let link = |(from, to): (NodeRef, NodeRef)| match known.get(&(from, to)) {
        Some(&load) if load > HOT => Link { from, to, load, state: LinkState::Hot },
        Some(&load) => Link { from, to, load, state: LinkState::Up },
        None => Link { from, to, load: 0.0, state: LinkState::Unmeasured },
    };
    let links: Vec<Link> = neighbours(fabric, &places).into_iter().map(link).collect();
    let words = load.map_or(String::new(), |measured| {
        format!(
            "Every link with the share of the time that its busiest cable sent, in the experiment `{}`.",
            measured.experiment
        )
    });
    let plot = Plot::Topology(Topology { tiers, links });
    Some(Figure::new("topology", "The fabric and where it is hot", plot).caption(words))
}

/// Every pair of neighbours, the lower first; all NICs of a server stand for it.
fn neighbours(fabric: &Fabric, places: &BTreeMap<&str, NodeRef>) -> BTreeSet<(NodeRef, NodeRef)> {
    let place = |node: NodeId| match fabric.node_switch(node) {
        Some(switch) => places.get(fabric.switches[switch.index()].name.as_str()).copied(),
        None => {
            let server = fabric.nics[node.index()].server;
            places.get(fabric.servers[server.index()].name.as_str()).copied()
        }
    };
    let pair = |port: &Port| {
        let (here, there) = (place(port.node)?, place(fabric.ports[port.peer.index()].node)?);
        Some((here.min(there), here.max(there)))
    };
    fabric.ports.iter().filter_map(pair).collect()
}

/// The rail of a leaf whose NICs all have the same number in their servers.
fn rail(fabric: &Fabric, ports: impl Iterator<Item = PortId>) -> Option<u32> {
    let mut rail = None;
    for port in ports {
        let node = fabric.ports[fabric.ports[port.index()].peer.index()].node;
        if fabric.node_switch(node).is_some() {
            continue;
        }
        let server = &fabric.servers[fabric.nics[node.index()].server.index()];
        let own = node.0 - server.nics.start;
        if server.nics.len() < 2 || rail.is_some_and(|rail| rail != own) {
            return None;
        }
        rail = Some(own);
    }
    rail
}
