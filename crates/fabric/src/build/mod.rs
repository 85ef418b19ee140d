//! From a fabric file to a [`Fabric`]: every builder says what is plugged into what, one assembler
//! gives ports their numbers and rules.

mod aggregation;
mod assemble;
mod buffers;
mod cables;
mod classes;
mod collectives;
mod credits;
mod custom;
mod devices;
mod distance;
mod fat_tree;
mod fit;
mod hosts;
mod labels;
mod leaf_spine;
mod oversubscription;
mod places;
mod rail;
mod routes;
mod single;
mod switches;
mod tenants;
mod terms;
mod three_tier;
mod timeouts;
mod wiring;

pub(crate) use assemble::{cores, queue_pairs, receive};
pub use fit::infiniband_silicon;
pub(crate) use fit::{PortUse, ports_needed};

use crate::catalogue::Catalogue;
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{FabricFile, Homing, Kind, TransportSection};
use crate::model::{Fabric, Port, Tier};
use crate::network::Network;
use std::collections::BTreeMap;
use terms::Terms;
use wiring::{End, Stop, Wiring};

/// Builds the fabric that `file` describes; `transports` are those of NICs other than the cluster's, by
/// model. What is wrong goes into the report; `None` if that
/// leaves nothing to build.
pub(crate) fn build(
    file: &FabricFile,
    catalogue: &Catalogue,
    transports: &BTreeMap<String, TransportSection>,
    report: &mut Report<'_>,
) -> Option<Fabric> {
    check_homing(file, report);
    let terms = Terms::settle(file, catalogue, transports, report)?;
    let mut wiring = match wire(&terms, report) {
        Ok(wiring) => wiring,
        Err(Stop::Reported) => return None,
        Err(Stop::TooLarge(what)) => {
            report.error(
                code::LIMIT,
                keys!["fabric", "kind"],
                format!("this fabric has more than {what}"),
                "build a smaller part of it, or fewer parallel links",
            );
            return None;
        }
    };
    assert_numbered(&wiring);
    fit::check(&wiring, report);
    oversubscription::check(&terms, &wiring, report);
    devices::apply(&mut wiring, file, report);
    let classes = classes::settle(file, report);
    let mut model = assemble::assemble(&terms, wiring, classes, report);
    hosts::settle(&mut model, file, report);
    routes::resolve(&mut model, file, report);
    let fabric = Fabric::new(model);
    routes::check_size(&fabric, report);
    check_domain(file, &fabric, report);
    timeouts::check(&fabric, report);
    Some(fabric)
}

/// What builders promise of a wiring, whatever the file says.
fn assert_numbered(wiring: &Wiring) {
    let known = |end: &End| match *end {
        End::Nic(nic) => (nic as usize) < wiring.nics.len(),
        End::Switch(switch) => (switch as usize) < wiring.switches.len(),
    };
    for link in &wiring.links {
        assert!(link.ends.iter().all(known), "a link to a node that is not there");
        assert_ne!(link.ends[0], link.ends[1], "a link from a node to itself");
        assert!(link.cable < wiring.cables.len(), "a link with a cable that is not there");
    }
    let tiers: Vec<Tier> = (0..wiring.switches.len()).map(|at| wiring.tier(at as u32)).collect();
    assert!(tiers.is_sorted(), "switches are not numbered tier by tier");
}

/// RoCEv1 has no IP header: its packets do not pass a router, and switches route between each other.
fn check_domain(file: &FabricFile, fabric: &Fabric, report: &mut Report<'_>) {
    let routed = |port: &&Port| {
        let ends = [port.node, fabric.ports[port.peer.index()].node];
        ends.iter().all(|&node| fabric.node_switch(node).is_some())
    };
    if file.transport.kind != Network::RoceV1 {
        return;
    }
    if let Some(port) = fabric.ports.iter().find(routed) {
        let peer = &fabric.ports[port.peer.index()];
        let (one, other) = (fabric.node_name(port.node), fabric.node_name(peer.node));
        report.error(
            code::TOPOLOGY,
            keys!["transport", "kind"],
            format!(
                "RoCEv1 stays within one broadcast domain, and between `{one}` and `{other}` packets \
                 are routed"
            ),
            "use `roce` (RoCEv2), which has an IP header to route by, or `[fabric] kind = \"single\"`",
        );
    }
}

/// Only where leaves are in rows of their own can a NIC be on two of them.
fn check_homing(file: &FabricFile, report: &mut Report<'_>) {
    let layout = &file.fabric;
    if layout.homing != Homing::Single && !matches!(layout.kind, Kind::LeafSpine | Kind::Rail) {
        let help = match layout.kind {
            Kind::Custom => "list two links for each NIC instead",
            _ => "use kind `leaf-spine` or `rail`, or list the links with kind `custom`",
        };
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "homing"],
            "only kinds `leaf-spine` and `rail` have pairs of leaves",
            help,
        );
    }
}

fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    match terms.file.fabric.kind {
        Kind::Single => single::wire(terms, report),
        Kind::LeafSpine => leaf_spine::wire(terms, report),
        Kind::Rail => rail::wire(terms, report),
        Kind::FatTree => fat_tree::wire(terms, report),
        Kind::ThreeTier => three_tier::wire(terms, report),
        Kind::Custom => custom::wire(terms, report),
    }
}

#[cfg(test)]
mod tests;
