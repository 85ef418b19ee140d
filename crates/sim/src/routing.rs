//! Routes as the hot path wants them: one load for the group of equal ports, one for the port.
//!
//! Built from [`Routes`], which knows how to find them. A packet carries the number of its
//! destination's row, so that a switch looks up `row + its own number`.

use xoff_fabric::model::{Fabric, NicId, PortId, SwitchId};
use xoff_fabric::route::Routes;
use xoff_fabric::rules::hash;

/// Where a group of equal ports starts and how many there are.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    start: u32,
    count: u32,
}

/// Next hops for every switch and row. NICs that every switch routes alike share a row, except at
/// the switch they hang on, where the port is their own.
pub(crate) struct Routing {
    /// By row, then switch.
    groups: Vec<Group>,
    ports: Vec<u32>,
    /// Row of each NIC, times the number of switches.
    rows: Vec<u32>,
    /// The switch port each NIC hangs on, if it is one.
    direct: Vec<u32>,
    /// Routes that a row cannot express: static ones, NICs on several switches.
    exact: Option<Routes>,
}

/// The group stands for "its own port", not for a list.
const DIRECT: u32 = u32::MAX;

impl Routing {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let routes = Routes::new(fabric);
        let simple = fabric.static_routes.is_empty()
            && fabric.nics.iter().all(|nic| nic.ports.len() == 1)
            && fabric.nics.iter().all(|nic| attachment(fabric, nic.ports.start).is_some());
        let mut routing = Self {
            groups: Vec::new(),
            ports: Vec::new(),
            rows: vec![0; fabric.nics.len()],
            direct: vec![0; fabric.nics.len()],
            exact: None,
        };
        if simple {
            routing.fill(fabric, &routes);
        } else {
            routing.exact = Some(routes);
        }
        routing
    }

    fn fill(&mut self, fabric: &Fabric, routes: &Routes) {
        let switches = fabric.switches.len();
        let mut row_of = vec![None; switches];
        for (nic, state) in fabric.nics.iter().enumerate() {
            let at = fabric.ports[state.ports.start as usize].peer;
            let Some(switch) = attachment(fabric, state.ports.start) else { continue };
            self.direct[nic] = at.0;
            let row = *row_of[switch.index()].get_or_insert_with(|| {
                let row = self.groups.len() as u32;
                for from in 0..switches as u32 {
                    self.add_group(routes, SwitchId(from), switch, NicId(nic as u32));
                }
                row
            });
            self.rows[nic] = row;
        }
    }

    fn add_group(&mut self, routes: &Routes, from: SwitchId, to: SwitchId, nic: NicId) {
        if from == to {
            return self.groups.push(Group { start: DIRECT, count: 1 });
        }
        let choices = routes.candidates(from, nic);
        // Neighbouring groups of one switch are mostly the same list.
        let last = self.groups.len().checked_sub(1).map(|last| self.groups[last]);
        let same = last.filter(|group| group.start != DIRECT && self.list(*group).eq(ids(choices)));
        let start = same.map_or(self.ports.len() as u32, |group| group.start);
        if same.is_none() {
            self.ports.extend(ids(choices));
        }
        self.groups.push(Group { start, count: choices.len() as u32 });
    }

    fn list(&self, group: Group) -> impl Iterator<Item = u32> + '_ {
        self.ports[group.start as usize..][..group.count as usize].iter().copied()
    }

    /// What a packet for this NIC carries.
    pub(crate) fn row(&self, nic: u32) -> u32 {
        self.rows[nic as usize]
    }

    /// The port by which a packet leaves `switch` for `dst`, whose row is `row`.
    #[inline(always)]
    pub(crate) fn next(
        &self,
        switch: u32,
        row: u32,
        dst: u32,
        entropy: u32,
        seed: u32,
    ) -> Option<u32> {
        let Some(group) = self.groups.get((row + switch) as usize) else {
            return self.next_exact(switch, dst, entropy, seed);
        };
        if group.start == DIRECT {
            return self.direct.get(dst as usize).copied();
        }
        let pick = hash::pick_mixed(entropy, seed, group.count as usize) as u32;
        if group.count == 0 { None } else { self.ports.get((group.start + pick) as usize).copied() }
    }

    #[cold]
    fn next_exact(&self, switch: u32, dst: u32, entropy: u32, seed: u32) -> Option<u32> {
        let choices = self.exact.as_ref()?.candidates(SwitchId(switch), NicId(dst));
        choices.get(hash::pick_mixed(entropy, seed, choices.len())).map(|port| port.0)
    }
}

fn ids(ports: &[PortId]) -> impl Iterator<Item = u32> + '_ {
    ports.iter().map(|port| port.0)
}

/// The switch at the other end of a NIC's port.
fn attachment(fabric: &Fabric, port: u32) -> Option<SwitchId> {
    let peer = fabric.ports[port as usize].peer;
    fabric.node_switch(fabric.ports[peer.index()].node)
}
