//! The fabric with the load of its links, and the busiest places.

use super::Material;
use xoff_fabric::model::{Fabric, NodeId, PortId, Tier as Height};
use xoff_report::{
    Cell, Column, Figure, Link, LinkState, Node, NodeRef, Number, Plot, Section, Table, Tier,
    Topology, Unit,
};
use xoff_sim::spread;
use xoff_units::Bytes;

/// A link that was paused for this share of the run or longer is a hot spot.
const HOT: f64 = 0.1;

pub(super) fn section(material: &Material<'_>) -> Section {
    let mut section = Section::new("fabric", "The fabric");
    let caption = "Colours are the busier direction of each link over the whole run. A hot spot was \
                   paused a tenth of the run or longer.";
    let drawn = Plot::Topology(topology(material));
    section
        .blocks
        .push(Figure::new("topology", "The fabric under this load", drawn).caption(caption).into());
    section.blocks.push(busiest(material).into());
    section.blocks.push(deepest(material).into());
    section
}

fn busiest(material: &Material<'_>) -> Table {
    let columns = [
        Column::text("port"),
        Column::number("sent", Unit::Bytes),
        Column::number("utilisation", Unit::Share),
    ];
    let mut table = Table::new("busiest-links", "Busiest and idlest links", columns);
    let summary = material.summary;
    for link in summary.busiest_links.iter().chain(&summary.idlest_links) {
        let sent = Number::from(Bytes::new(link.tx_bytes));
        table.push([
            Cell::from(link.port.as_str()),
            sent.into(),
            Number::share(link.utilisation).into(),
        ]);
    }
    table
}

fn deepest(material: &Material<'_>) -> Table {
    let columns = [
        Column::text("queue"),
        Column::number("class", Unit::Count),
        Column::number("deepest", Unit::Bytes),
    ];
    let mut table = Table::new("deepest-queues", "Deepest queues", columns);
    for queue in &material.summary.deepest_queues {
        let depth = Number::from(Bytes::new(queue.max_bytes));
        let class = Number::count(queue.class.into());
        table.push([Cell::from(queue.port.as_str()), class.into(), depth.into()]);
    }
    table
}

fn topology(material: &Material<'_>) -> Topology {
    let fabric = material.results.case.fabric;
    let places = places(fabric);
    let nics = fabric.nics.iter().zip(0u32..).map(|(nic, at)| Node {
        name: nic.name.clone(),
        rail: rail(fabric, at),
        down: false,
    });
    let mut tiers = vec![Tier { name: "NICs".to_owned(), nodes: nics.collect() }];
    for height in heights(fabric) {
        let switches = fabric.switches.iter().filter(|switch| switch.tier == height);
        let node = |switch: &xoff_fabric::model::Switch| Node {
            name: switch.name.clone(),
            rail: common_rail(fabric, switch),
            down: false,
        };
        let name = match height {
            Height::Leaf => "leaves",
            Height::Spine => "spines",
            Height::Core => "cores",
        };
        tiers.push(Tier { name: name.to_owned(), nodes: switches.map(node).collect() });
    }
    let ports = (0..fabric.ports.len() as u32).map(PortId);
    // Each cable once.
    let ports = ports.filter(|port| fabric.ports[port.index()].peer > *port);
    let link = |port: PortId| {
        let peer = fabric.ports[port.index()].peer;
        let hot = paused(material, port).max(paused(material, peer)) >= HOT;
        Link {
            from: places[fabric.ports[port.index()].node.index()],
            to: places[fabric.ports[peer.index()].node.index()],
            load: load(material, port).max(load(material, peer)),
            state: if hot { LinkState::Hot } else { LinkState::Up },
        }
    };
    Topology { links: ports.map(link).collect(), tiers }
}

/// The tiers of switches that there are.
fn heights(fabric: &Fabric) -> Vec<Height> {
    let all = [Height::Leaf, Height::Spine, Height::Core];
    all.into_iter().filter(|h| fabric.switches.iter().any(|s| s.tier == *h)).collect()
}

/// Where each node is drawn.
fn places(fabric: &Fabric) -> Vec<NodeRef> {
    let heights = heights(fabric);
    let mut next = vec![0; heights.len()];
    let mut places: Vec<NodeRef> =
        (0..fabric.nics.len()).map(|node| NodeRef { tier: 0, node }).collect();
    for switch in &fabric.switches {
        let tier = heights.iter().position(|h| *h == switch.tier).unwrap_or_default();
        places.push(NodeRef { tier: tier + 1, node: next[tier] });
        next[tier] += 1;
    }
    places
}

/// The number of a NIC in its server, if servers have several.
fn rail(fabric: &Fabric, nic: u32) -> Option<u32> {
    let server = &fabric.servers[fabric.nics[nic as usize].server.index()];
    (server.nics.len() > 1).then(|| nic - server.nics.start)
}

/// The rail of a switch whose hosts are all of one.
fn common_rail(fabric: &Fabric, switch: &xoff_fabric::model::Switch) -> Option<u32> {
    let peer = |port: u32| fabric.ports[fabric.ports[port as usize].peer.index()].node;
    let hosts = switch.ports.clone().map(peer).filter(|node| fabric.node_switch(*node).is_none());
    let mut rails = hosts.map(|node: NodeId| rail(fabric, node.0));
    let first = rails.next()??;
    rails.all(|rail| rail == Some(first)).then_some(first)
}

/// The share of the run for which a port sent packets, with their preambles and gaps.
fn load(material: &Material<'_>, port: PortId) -> f64 {
    spread::used(material.results.case.fabric, material.results.report, port)
}

/// The share of the run for which the longest paused class of a port was paused.
fn paused(material: &Material<'_>, port: PortId) -> f64 {
    let classes = &material.results.report.ports[port.index()];
    let longest = classes.iter().map(|class| class.paused.as_ps()).max().unwrap_or(0);
    longest as f64 / material.elapsed().as_ps().max(1) as f64
}
