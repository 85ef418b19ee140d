//! Routes as the hot path wants them: one load for the group of equal ports, one for the port.
//!
//! Built from [`Views`], which knows how to find them. A switch looks up the row of the destination plus
//! its own number.

use crate::id::{FlowHash, HashSeed};
use xoff_fabric::model::{Fabric, Nic, NicId, PortId, SwitchId};
use xoff_fabric::route::Views;
use xoff_fabric::rules::hash;

/// Where a group of equal ports starts and how many there are, in one word so that the table of a
/// large fabric stays in cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Group(u32);

impl Group {
    /// "Its own port", not a list.
    const DIRECT: Self = Self(u32::MAX);
    const COUNT_BITS: u32 = 10;
    const COUNT_MASK: u32 = (1 << Self::COUNT_BITS) - 1;

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
        (self.0 & Self::COUNT_MASK) as usize
    }
}

/// Next hops for every switch and row. NICs that every switch routes alike share a row, except at
/// the switch they hang on, where the port is their own.
pub(crate) struct Routing {
    /// By row, then switch.
    groups: Vec<Group>,
    switches: usize,
    ports: Vec<PortId>,
    /// By row, then switch, where a switch balances: its groups with more than one port, which are
    /// empty in `groups` so that [`Routing::next`] finds nothing. Empty if no switch balances.
    balanced: Vec<Group>,
    balances: Vec<bool>,
    /// Row of each NIC, times the number of switches.
    rows: Vec<u32>,
    /// The switch port each NIC hangs on, if it is one.
    direct: Vec<PortId>,
    /// Routes that a row cannot express: static ones, NICs on several switches.
    exact: Option<Views>,
    /// Rows were never worked out.
    only_exact: bool,
}

impl Routing {
    pub(crate) fn new(fabric: &Fabric, routes: Views) -> Self {
        let simple = fabric.static_routes.is_empty()
            && fabric.nics.iter().all(|nic| nic.ports.len() == 1)
            && fabric.nics.iter().all(|nic| attachment(fabric, nic).is_some());
        let mut routing = Self {
            groups: Vec::new(),
            switches: fabric.switches.len(),
            ports: Vec::new(),
            balanced: Vec::new(),
            balances: fabric.switches.iter().map(|s| !s.balancing.hashes()).collect(),
            rows: vec![0; fabric.nics.len()],
            direct: vec![PortId(0); fabric.nics.len()],
            exact: None,
            only_exact: false,
        };
        routing.only_exact = !routing.set(fabric, routes, simple);
        routing
    }

    /// Other routes on the same fabric.
    pub(crate) fn again(&self, fabric: &Fabric, routes: Views) -> Self {
        let mut routing = Self {
            groups: Vec::new(),
            switches: self.switches,
            ports: Vec::new(),
            balanced: Vec::new(),
            balances: self.balances.clone(),
            rows: self.rows.clone(),
            direct: self.direct.clone(),
            exact: None,
            only_exact: self.only_exact,
        };
        let simple = !self.only_exact && !routes.tells_nics_apart();
        routing.set(fabric, routes, simple);
        routing
    }

    /// Takes over routes, in tables if they are simple and fit; whether they are and did.
    fn set(&mut self, fabric: &Fabric, routes: Views, simple: bool) -> bool {
        if !simple || self.fill(fabric, &routes).is_none() {
            self.groups.clear();
            self.exact = Some(routes);
            return false;
        }
        if self.balances.contains(&true) {
            self.set_balanced_apart();
        }
        true
    }

    /// Fills the tables; nothing if the numbers do not fit.
    fn fill(&mut self, fabric: &Fabric, routes: &Views) -> Option<()> {
        let switches = fabric.switches.len();
        let mut row_of: Vec<Option<u32>> = vec![None; switches];
        for (nic, state) in fabric.nics.iter().enumerate() {
            let at = fabric.ports[state.ports.start as usize].peer;
            let switch = attachment(fabric, state)?;
            self.direct[nic] = at;
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

    /// Leaves nothing to find where a switch balances.
    fn set_balanced_apart(&mut self) {
        self.balanced = self.groups.clone();
        for (at, group) in self.groups.iter_mut().enumerate() {
            let choice = *group != Group::DIRECT && group.count() > 1;
            if choice && self.balances[at % self.switches] {
                *group = Group(group.0 & !Group::COUNT_MASK);
            }
        }
    }

    fn add_group(
        &mut self,
        routes: &Views,
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
        let same =
            known.into_iter().find(|&group| group != Group::DIRECT && self.list(group) == choices);
        let group = match same {
            Some(group) => group,
            None => {
                let start = self.ports.len();
                self.ports.extend(choices);
                Group::new(start, choices.len())?
            }
        };
        self.groups.push(group);
        Some(())
    }

    fn list(&self, group: Group) -> &[PortId] {
        self.ports.get(group.start()..group.start() + group.count()).unwrap_or(&[])
    }

    /// All ports by which a packet may leave a switch that balances for `dst`.
    pub(crate) fn choices(&self, switch: SwitchId, dst: NicId) -> &[PortId] {
        let row = self.row(dst);
        let groups = if self.balanced.is_empty() { &self.groups } else { &self.balanced };
        match groups.get((row + switch.0) as usize) {
            Some(&Group::DIRECT) => self.direct.get(dst.index()..=dst.index()).unwrap_or(&[]),
            Some(&group) => self.list(group),
            None => self.exact.as_ref().map_or(&[], |exact| exact.candidates(switch, dst)),
        }
    }

    /// What NICs have in common that all switches route alike, but for the one they hang on; nothing where
    /// each NIC has routes of its own.
    pub(crate) fn shared_row(&self, nic: NicId) -> Option<u32> {
        (!self.groups.is_empty()).then(|| self.row(nic))
    }

    #[inline(always)]
    fn row(&self, nic: NicId) -> u32 {
        self.rows[nic.index()]
    }

    /// The port by which a packet leaves `switch` for `dst`; nothing if there is none, or if
    /// the switch chooses for itself.
    #[inline(always)]
    pub(crate) fn next(
        &self,
        switch: SwitchId,
        dst: NicId,
        flow: FlowHash,
        seed: HashSeed,
    ) -> Option<PortId> {
        let Some(&group) = self.groups.get((self.row(dst) + switch.0) as usize) else {
            return self.next_exact(switch, dst, flow, seed);
        };
        if group == Group::DIRECT {
            return self.direct.get(dst.index()).copied();
        }
        let pick = hash::pick_mixed(flow.0, seed.0, group.count());
        if group.count() == 0 {
            return None;
        }
        self.ports.get(group.start() + pick).copied()
    }

    #[cold]
    fn next_exact(
        &self,
        switch: SwitchId,
        dst: NicId,
        flow: FlowHash,
        seed: HashSeed,
    ) -> Option<PortId> {
        let choices = self.exact.as_ref()?.candidates(switch, dst);
        if self.balances[switch.index()] && choices.len() > 1 {
            return None;
        }
        choices.get(hash::pick_mixed(flow.0, seed.0, choices.len())).copied()
    }
}

/// The switch at the other end of a NIC's first port.
fn attachment(fabric: &Fabric, nic: &Nic) -> Option<SwitchId> {
    let peer = fabric.ports[nic.ports.start as usize].peer;
    fabric.node_switch(fabric.ports[peer.index()].node)
}
