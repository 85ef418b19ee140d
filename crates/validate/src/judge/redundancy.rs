//! What a fabric has twice, and so what a failure must leave.

use crate::suite::{Victims, hosts, is_dual_homed, peer, uplinks};
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
