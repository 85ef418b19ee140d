//! What a fabric has twice, and so what a failure must leave.

use crate::suite::{Victims, hosts, is_dual_homed, peer, uplinks};
use std::collections::BTreeSet;
use xoff_fabric::model::{Fabric, NodeId, PortId};

/// The share of what crosses a leaf's links up that must be left when the victims' spine is gone: what is left of
/// the links, over what its hosts send. Hosts send with the rate of their ports at that leaf, all of it to other
/// leaves; what an oversubscribed leaf cannot carry with all spines is not missing without one. None without a
/// spine.
pub fn predicted_left(fabric: &Fabric) -> Option<f64> {
    left_of(fabric, &Victims::of(fabric)?)
}

pub(super) fn left_of(fabric: &Fabric, victims: &Victims) -> Option<f64> {
    let spine = fabric.switch_node(victims.spine?);
    let rate = |port: &PortId| fabric.cable(*port).rate.bps() as f64;
    let ups = uplinks(fabric, victims.leaf);
    let up: f64 = ups.iter().map(rate).sum();
    let gone: f64 = ups.iter().filter(|port| peer(fabric, **port) == spine).map(rate).sum();
    let below: Vec<NodeId> =
        hosts(fabric, victims.leaf).into_iter().map(|nic| fabric.nic_node(nic)).collect();
    let ports = fabric.switches[victims.leaf.index()].ports.clone().map(PortId);
    let down: f64 =
        ports.filter(|port| below.contains(&peer(fabric, *port))).map(|p| rate(&p)).sum();
    (down > 0.0 && up > 0.0).then(|| ((up - gone) / down).min(1.0) / (up / down).min(1.0))
}

/// Why a job cannot outlive a failure in this design, whatever its settings are; nothing if it must.
pub(super) fn single_point(fabric: &Fabric, victims: &Victims, failure: &str) -> Option<String> {
    let leaf = &fabric.switches[victims.leaf.index()].name;
    let nic = &fabric.nics[victims.nic.index()];
    let single = !is_dual_homed(fabric, victims.nic);
    if let Some(words) = apart(fabric, victims).filter(|_| ["leaf", "nic"].contains(&failure)) {
        return Some(words);
    }
    match failure {
        "server" => {
            Some("its ranks are gone: a job of any fabric restarts from its checkpoint".into())
        }
        "leaf" if single => {
            Some(format!("servers have one way to {leaf}, and lose the network with it"))
        }
        "nic" if nic.ports.len() == 1 => Some(format!("{} has one port", nic.name)),
        "spine" | "reset" | "upgrade" | "step" => {
            let only = left_of(fabric, victims).is_some_and(|left| left <= 0.0);
            let spine = &fabric.switches[victims.spine?.index()].name;
            only.then(|| format!("{spine} is the only switch above {leaf}: everything between leaves stops with it"))
        }
        "link" | "silent" | "flap" => {
            (uplinks(fabric, victims.leaf).len() == 1).then(|| format!("{leaf} has one link up"))
        }
        _ => None,
    }
}

/// Whether the ports of the victims' NIC are in planes that share no switch. Routes of one plane end where the other
/// end's port in it is dead, and the NICs that send by it see their own link up: nothing moves their queue pairs to the
/// other plane.
pub(super) fn apart(fabric: &Fabric, victims: &Victims) -> Option<String> {
    let nic = &fabric.nics[victims.nic.index()];
    let leaves: BTreeSet<NodeId> =
        nic.ports.clone().map(|port| peer(fabric, PortId(port))).collect();
    let (first, last) = (*leaves.first()?, *leaves.last()?);
    (first != last && !reached(fabric, first).contains(&last)).then(|| {
        format!(
            "the ports of {} are in planes that share no switch, and a NIC at the other end does not learn which \
             of them is dead",
            nic.name
        )
    })
}

/// The switches that a packet reaches from one of them without passing a NIC.
fn reached(fabric: &Fabric, from: NodeId) -> BTreeSet<NodeId> {
    let (mut known, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(node) = open.pop() {
        let Some(switch) = fabric.node_switch(node) else { continue };
        for port in fabric.switches[switch.index()].ports.clone() {
            let next = peer(fabric, PortId(port));
            if fabric.node_switch(next).is_some() && known.insert(next) {
                open.push(next);
            }
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two leaves under one spine, or each under a spine of its own; every NIC is on both leaves.
    fn planes(spines: [&str; 2]) -> Fabric {
        let nics = (0..4).map(|nic| format!("{{ name = 'n{nic}', kind = 'nic' }}, "));
        let switches = ["leaf0", "leaf1", "spine0", "spine1"];
        let switches = switches.map(|name| {
            let tier = name.trim_end_matches(char::is_numeric);
            format!("{{ name = '{name}', kind = 'switch', tier = '{tier}' }}, ")
        });
        let hosts = (0..4).flat_map(|nic| {
            [0, 1].map(|leaf| format!("{{ ends = 'n{nic} leaf{leaf}', rate = '200Gbps' }}, "))
        });
        let up = [0, 1].map(|leaf| format!("{{ ends = 'leaf{leaf} {}' }}, ", spines[leaf]));
        let other = if spines[0] == spines[1] { "{ ends = 'leaf0 spine1' }" } else { "" };
        let text = format!(
            "node = [{}{}]\nlink = [{}{}{other}]\n[cluster]\nnic = 'connectx-7'\n\
             [fabric]\nkind = 'custom'\nleaf = 'tomahawk-5'\n",
            nics.collect::<String>(),
            switches.concat(),
            hosts.collect::<String>(),
            up.concat(),
        );
        Fabric::from_toml(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    #[test]
    fn planes_that_share_no_switch_are_a_single_point() {
        let fabric = planes(["spine0", "spine1"]);
        let victims = Victims::of(&fabric).unwrap();
        for failure in ["leaf", "nic"] {
            let why = single_point(&fabric, &victims, failure).unwrap();
            assert!(why.contains("planes that share no switch"), "{why}");
        }
        let fabric = planes(["spine0", "spine0"]);
        let victims = Victims::of(&fabric).unwrap();
        for failure in ["leaf", "nic"] {
            assert_eq!(single_point(&fabric, &victims, failure), None);
        }
    }
}
