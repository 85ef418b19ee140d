//! Cables in other ports than the plan says: a port is called by the device at its other end, as LLDP tells, and the plan has no
//! such cable.

use super::finding::{Confidence, Finding};
use super::{Cause, Scene};
use std::collections::BTreeSet;
use xoff_fabric::model::NodeId;

pub(super) fn findings(scene: &Scene<'_>) -> Vec<Finding> {
    let found = scene.strays().map(|ends| {
        let [here, there] = ends.map(|node| scene.fabric.node_name(node));
        let unheard = ends.map(|node| unheard(scene, node));
        let mut finding = Finding::new(Cause::Miscabled, format!("{here}→{there}"), ends.to_vec())
            .because(format!("{here} is connected to {there}; the plan has no such cable"))
            .sure(Confidence::Certain)
            .weighing(1.0);
        for (node, names) in [here, there].iter().zip(unheard) {
            if !names.is_empty() {
                let names = names.into_iter().collect::<Vec<_>>().join(", ");
                finding = finding.because(format!("planned for {node} and not heard of: {names}"));
            }
        }
        finding
    });
    found.collect()
}

/// Planned ports of a device that has counters, but not of them.
fn unheard(scene: &Scene<'_>, node: NodeId) -> BTreeSet<String> {
    const SHOWN: usize = 4;
    let ports = scene.fabric.node_ports(node).filter(|port| !scene.is_heard(*port));
    ports.map(|port| scene.fabric.port_name(port)).take(SHOWN).collect()
}
