//! Routes around links that do not work.
//!
//! A switch that has lost its last link towards a destination does not send packets back to where
//! they may have come from: in a fabric of tiers such a way down and up again would carry packets in
//! circles while others have not yet heard of the loss, and routing there forbids it. So the ways that
//! are left of the shortest ones are used alone, as long as they join every pair of NICs that can still
//! be joined. Only where they do not (a ring, a line with a second cable the long way round) are
//! shortest paths searched anew in what is left.

use super::{Found, Graph, Routes};
use crate::model::{CableId, Fabric, PortId, SwitchId};
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
        let works = |port: PortId| !dead.contains(&fabric.ports[port.index()].cable);
        routes.overrides.retain(|(_, port)| works(*port));
        routes.assert_next_hops(fabric);
        routes
    }
}

impl Routes {
    /// The same routes without what uses the `dead` cables: no other way is looked for. This is what a
    /// switch does by itself as soon as its own links are down. A NIC that is attached by these cables alone
    /// stays where it was.
    pub fn without(&self, fabric: &Fabric, dead: &BTreeSet<CableId>) -> Self {
        let works = |port: &PortId| !dead.contains(&fabric.ports[port.index()].cable);
        let mut routes = Self {
            attachment: self.attachment.clone(),
            attachments: self.attachments,
            table: self.table.clone(),
            starts: vec![0],
            ports: Vec::with_capacity(self.ports.len()),
            direct_starts: vec![0],
            direct: Vec::with_capacity(self.direct.len()),
            direct_at: Vec::with_capacity(self.direct.len()),
            overrides: self.overrides.iter().filter(|(_, port)| works(port)).copied().collect(),
        };
        for group in 0..self.starts.len() as u32 - 1 {
            routes.ports.extend(self.group(group).iter().filter(|port| works(port)));
            routes.starts.push(routes.ports.len() as u32);
        }
        for nic in self.direct_starts.windows(2) {
            let all = nic[0] as usize..nic[1] as usize;
            let any_works = self.direct[all.clone()].iter().any(works);
            let left = all.filter(|&at| !any_works || works(&self.direct[at]));
            for at in left {
                routes.direct.push(self.direct[at]);
                routes.direct_at.push(self.direct_at[at]);
            }
            routes.direct_starts.push(routes.direct.len() as u32);
        }
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
