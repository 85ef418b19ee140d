//! Routes as the hot path wants them: one load for the group of equal ports, one for the port.
//!
//! Built from [`Routes`], which knows how to find them. A packet carries the number of its
//! destination's row, so that a switch looks up `row + its own number`.

use xoff_fabric::model::{Fabric, NicId, PortId, SwitchId};
use xoff_fabric::route::Routes;
use xoff_fabric::rules::hash;

/// Where a group of equal ports starts and how many there are, in one word so that the table of a
/// large fabric stays in cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group(u32);

impl Group {
    /// "Its own port", not a list.
    const DIRECT: Self = Self(u32::MAX);
    const COUNT_BITS: u32 = 10;

    /// A group, if its numbers fit.
    fn new(start: usize, count: usize) -> Option<Self> {
        let fits = count < 1 << Self::COUNT_BITS && start < (1 << (32 - Self::COUNT_BITS)) - 1;
        fits.then_some(Self((start as u32) << Self::COUNT_BITS | count as u32))
    }

    #[inline(always)]
    const fn start(self) -> usize {
        (self.0 >> Self::COUNT_BITS) as usize
    }

    #[inline(always)]
    const fn count(self) -> usize {
        (self.0 & ((1 << Self::COUNT_BITS) - 1)) as usize
    }
}

/// Next hops for every switch and row. NICs that every switch routes alike share a row, except at
/// the switch they hang on, where the port is their own.
pub(crate) struct Routing {
    /// By row, then switch.
    groups: Vec<Group>,
    switches: usize,
    ports: Vec<u32>,
    /// Row of each NIC, times the number of switches.
    rows: Vec<u32>,
    /// The switch port each NIC hangs on, if it is one.
    direct: Vec<u32>,
    /// Routes that a row cannot express: static ones, NICs on several switches.
    exact: Option<Routes>,
}

impl Routing {
    pub(crate) fn new(fabric: &Fabric, routes: Routes) -> Self {
        let simple = fabric.static_routes.is_empty()
            && fabric.nics.iter().all(|nic| nic.ports.len() == 1)
            && fabric.nics.iter().all(|nic| attachment(fabric, nic.ports.start).is_some());
        let mut routing = Self {
            groups: Vec::new(),
            switches: fabric.switches.len(),
            ports: Vec::new(),
            rows: vec![0; fabric.nics.len()],
            direct: vec![0; fabric.nics.len()],
            exact: None,
        };
        if !simple || routing.fill(fabric, &routes).is_none() {
            routing.groups.clear();
            routing.exact = Some(routes);
        }
        routing
    }

    /// Fills the tables; nothing if the numbers do not fit.
    fn fill(&mut self, fabric: &Fabric, routes: &Routes) -> Option<()> {
        let switches = fabric.switches.len();
        let mut row_of: Vec<Option<u32>> = vec![None; switches];
        for (nic, state) in fabric.nics.iter().enumerate() {
            let at = fabric.ports[state.ports.start as usize].peer;
            let switch = attachment(fabric, state.ports.start)?;
            self.direct[nic] = at.0;
            if row_of[switch.index()].is_none() {
                row_of[switch.index()] = Some(self.groups.len() as u32);
                for from in 0..switches as u32 {
                    self.add_group(routes, SwitchId(from), switch, NicId(nic as u32))?;
                }
            }
            self.rows[nic] = row_of[switch.index()]?;
        }
        Some(())
    }

    fn add_group(
        &mut self,
        routes: &Routes,
        from: SwitchId,
        to: SwitchId,
        nic: NicId,
    ) -> Option<()> {
        if from == to {
            self.groups.push(Group::DIRECT);
            return Some(());
        }
        let choices = routes.candidates(from, nic);
        // The group before, or this switch's group in the row before, is mostly the same list.
        let before = [1, self.switches].map(|back| self.groups.len().checked_sub(back));
        let known = before.into_iter().flatten().map(|at| self.groups[at]);
        let same = known.into_iter().find(|&group| {
            group != Group::DIRECT && self.list(group).is_some_and(|list| list.eq(ids(choices)))
        });
        let group = match same {
            Some(group) => group,
            None => {
                let start = self.ports.len();
                self.ports.extend(ids(choices));
                Group::new(start, choices.len())?
            }
        };
        self.groups.push(group);
        Some(())
    }

    fn list(&self, group: Group) -> Option<impl Iterator<Item = u32> + '_> {
        let ports = self.ports.get(group.start()..group.start() + group.count())?;
        Some(ports.iter().copied())
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
        let Some(&group) = self.groups.get((row + switch) as usize) else {
            return self.next_exact(switch, dst, entropy, seed);
        };
        if group == Group::DIRECT {
            return self.direct.get(dst as usize).copied();
        }
        let pick = hash::pick_mixed(entropy, seed, group.count());
        if group.count() == 0 { None } else { self.ports.get(group.start() + pick).copied() }
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
