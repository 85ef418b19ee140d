//! Routes around links that do not work.
//!
//! A switch that has lost its last link towards a destination does not send packets back to where
//! they may have come from: in a fabric of tiers such a way down and up again would carry packets in
//! circles while others have not yet heard of the loss, and routing there forbids it. So the ways that
//! are left of the shortest ones are used alone, as long as they join every pair of NICs that can still
//! be joined. Only where they do not (a ring, a line with a second cable the long way round) are
//! shortest paths searched anew in what is left.

use super::{Found, Graph, Routes};
use crate::model::{CableId, Fabric, SwitchId};
use std::collections::BTreeSet;

impl Routes {
    /// The routes of `fabric` when the `dead` cables carry nothing. A NIC all of whose cables are dead
    /// stays where it was: packets for it go there and are lost.
    pub fn around(fabric: &Fabric, dead: &BTreeSet<CableId>) -> Self {
        let mut routes = Self::with_direct(fabric, dead);
        let targets = routes.attach(fabric);
        let search = Search {
            whole: Graph::of(fabric, &BTreeSet::new()),
            left: Graph::of(fabric, dead),
            hosts: hosts(fabric),
        };
        let mut whole = Found::of(fabric.switches.len());
        routes.fill(&search.left, &targets, |attached, found| {
            search.run(attached, &mut whole, found);
        });
        routes.set_overrides(fabric);
        let works = |port: crate::model::PortId| !dead.contains(&fabric.ports[port.index()].cable);
        routes.overrides.retain(|(_, port)| works(*port));
        routes
    }
}

/// The switches that have NICs.
fn hosts(fabric: &Fabric) -> Vec<u32> {
    let ports = fabric.nics.iter().flat_map(|nic| nic.ports.clone());
    let peers = ports.map(|port| fabric.ports[port as usize].peer);
    let switches = peers.filter_map(|peer| fabric.node_switch(fabric.ports[peer.index()].node));
    let switches: BTreeSet<u32> = switches.map(|switch| switch.0).collect();
    switches.into_iter().collect()
}

struct Search {
    whole: Graph,
    left: Graph,
    /// Switches that must be joined if they can be.
    hosts: Vec<u32>,
}

impl Search {
    fn run(&self, targets: &[SwitchId], whole: &mut Found, found: &mut Found) {
        self.whole.search(targets, whole);
        let distance = &whole.distance;
        let shorter =
            |from: u32, to: u32| distance[to as usize].saturating_add(1) == distance[from as usize];
        self.left.search_over(targets, found, shorter);
        let missing = |found: &Found| {
            self.hosts.iter().filter(|h| found.distance[**h as usize] == u32::MAX).count()
        };
        let lost = missing(found);
        if lost > 0 {
            self.left.search(targets, found);
            if missing(found) == lost {
                self.left.search_over(targets, found, shorter);
            }
        }
    }
}
