//! The fabric drawn, with the load that it carried.

use crate::measure::Measurement;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, PortId};
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
    let link = |pair: &crate::measure::PairLoad| {
        let state = if pair.load > HOT { LinkState::Hot } else { LinkState::Up };
        let (from, to) = (*places.get(pair.from.as_str())?, *places.get(pair.to.as_str())?);
        Some(Link { from, to, load: pair.load, state })
    };
    let links: Vec<Link> = loads.iter().filter_map(link).collect();
    if links.is_empty() {
        return None;
    }
    let words = load.map_or(String::new(), |measured| {
        format!(
            "Every link with the share of the time that its busiest cable sent, in the experiment `{}`.",
            measured.experiment
        )
    });
    let plot = Plot::Topology(Topology { tiers, links });
    Some(Figure::new("topology", "The fabric and where it is hot", plot).caption(words))
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
