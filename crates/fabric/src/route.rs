//! Shortest-path routes with all equal paths, in tables small enough for large fabrics.
//!
//! Where a packet goes next depends on the switch it is at and on the switch(es) its destination is
//! attached to, not on the destination itself. So one breadth-first search per *attachment* fills
//! one row of group numbers; a group is a list of equal-cost ports, stored once per switch.

mod around;
mod views;

pub use views::{Forced, Views};

use crate::model::{CableId, Fabric, NicId, NodeId, PortId, SwitchId};
use std::collections::{BTreeMap, BTreeSet};

/// Next hops for every switch and destination.
#[derive(Debug, Clone)]
pub struct Routes {
    /// Attachment of each NIC.
    attachment: Vec<u32>,
    attachments: usize,
    /// Group for (switch, attachment), row by row.
    table: Vec<u32>,
    /// Where each group starts in `ports`; one more at the end.
    starts: Vec<u32>,
    ports: Vec<PortId>,
    /// First port of `direct` for each NIC, and one more at the end.
    direct_starts: Vec<u32>,
    /// Switch ports that lead straight to a NIC, NIC by NIC.
    direct: Vec<PortId>,
    /// Switch of each port in `direct`, for NICs on several switches.
    direct_at: Vec<SwitchId>,
    /// Routes that override all this, sorted.
    overrides: Vec<((SwitchId, NicId), PortId)>,
}

/// No port leads there.
const UNREACHABLE: u32 = 0;
/// The destination is attached to this switch.
const HERE: u32 = u32::MAX;

impl Routes {
    /// The routes of `fabric`, its static ones included.
    pub fn new(fabric: &Fabric) -> Self {
        let mut routes = Self::with_direct(fabric, &BTreeSet::new());
        let targets = routes.attach(fabric);
        let graph = Graph::of(fabric, &BTreeSet::new());
        routes.fill(&graph, &targets, |attached, found| graph.search(attached, found));
        routes.set_overrides(fabric);
        routes.assert_next_hops(fabric);
        routes
    }

    /// The routes to a few NICs only, which takes a fraction of the time; no other can be reached.
    pub fn towards(fabric: &Fabric, destinations: &[NicId]) -> Self {
        let mut routes = Self::with_direct(fabric, &BTreeSet::new());
        let targets = routes.attach(fabric);
        let mut columns: Vec<Option<u32>> = vec![None; targets.len()];
        let mut kept = Vec::new();
        for nic in destinations {
            let attachment = routes.attachment[nic.index()] as usize;
            columns[attachment].get_or_insert_with(|| {
                kept.push(targets[attachment].clone());
                kept.len() as u32 - 1
            });
        }
        // All others share a column that nothing leads to.
        let nowhere = kept.len() as u32;
        kept.push(Vec::new());
        for attachment in &mut routes.attachment {
            *attachment = columns[*attachment as usize].unwrap_or(nowhere);
        }
        routes.attachments = kept.len();
        let graph = Graph::of(fabric, &BTreeSet::new());
        routes.fill(&graph, &kept, |attached, found| graph.search(attached, found));
        routes.set_overrides(fabric);
        routes.assert_next_hops(fabric);
        routes
    }

    /// Panics unless every next hop is a port of a switch, every group has ports of one switch only, and
    /// what leads straight to a NIC ends there. The table itself, which can be large, is not walked.
    fn assert_next_hops(&self, fabric: &Fabric) {
        let switch = |port: PortId| fabric.node_switch(fabric.ports[port.index()].node);
        for group in 0..self.starts.len() as u32 - 1 {
            let mut ports = self.group(group).iter();
            let Some(&first) = ports.next() else { continue };
            let owner = switch(first);
            assert!(owner.is_some(), "a next hop is port {first}, which is a NIC's");
            let alike = ports.all(|&port| switch(port) == owner);
            assert!(alike, "equal-cost ports beside port {first} belong to another switch");
        }
        for nic in 0..self.direct_starts.len() - 1 {
            let own = self.direct_starts[nic] as usize..self.direct_starts[nic + 1] as usize;
            for at in own {
                let port = self.direct[at];
                assert_eq!(switch(port), Some(self.direct_at[at]), "port {port} is elsewhere");
                let end = fabric.ports[fabric.ports[port.index()].peer.index()].node;
                assert_eq!(end.index(), nic, "port {port} does not lead to NIC {nic}");
            }
        }
        for ((at, _), via) in &self.overrides {
            assert_eq!(switch(*via), Some(*at), "a static route by a port of another switch");
        }
    }

    fn set_overrides(&mut self, fabric: &Fabric) {
        self.overrides =
            fabric.static_routes.iter().map(|route| ((route.at, route.to), route.via)).collect();
        // Of several routes for the same pair the last one written counts.
        self.overrides.reverse();
        self.overrides.sort_by_key(|(pair, _)| *pair);
        self.overrides.dedup_by_key(|(pair, _)| *pair);
    }

    /// Entries of the table that the routes of `fabric` take.
    pub(crate) fn table_size(fabric: &Fabric) -> u64 {
        let routes = &mut Self::with_direct(fabric, &BTreeSet::new());
        let attachments = routes.attach(fabric).len() as u64;
        attachments * fabric.switches.len() as u64
    }

    /// Equal-cost egress ports at `switch` for packets to `destination`, in port order; empty if
    /// there is no way.
    #[inline]
    pub fn candidates(&self, switch: SwitchId, destination: NicId) -> &[PortId] {
        if !self.overrides.is_empty()
            && let Some(port) = self.overridden(switch, destination)
        {
            return std::slice::from_ref(port);
        }
        let attachment = self.attachment[destination.index()] as usize;
        let group = self.table[switch.index() * self.attachments + attachment];
        if group == HERE {
            return self.direct(switch, destination);
        }
        self.group(group)
    }

    #[inline]
    fn group(&self, group: u32) -> &[PortId] {
        let start = self.starts[group as usize] as usize;
        &self.ports[start..self.starts[group as usize + 1] as usize]
    }

    #[cold]
    fn overridden(&self, switch: SwitchId, destination: NicId) -> Option<&PortId> {
        let pair = (switch, destination);
        let at = self.overrides.binary_search_by_key(&pair, |(pair, _)| *pair).ok()?;
        Some(&self.overrides[at].1)
    }

    #[inline]
    fn direct(&self, switch: SwitchId, destination: NicId) -> &[PortId] {
        let start = self.direct_starts[destination.index()] as usize;
        let end = self.direct_starts[destination.index() + 1] as usize;
        // The ports on one switch stand together. None of them may be on this one, where a cable of
        // the NIC is dead.
        let at = &self.direct_at[start..end];
        let first = start + at.partition_point(|s| *s < switch);
        let last = start + at.partition_point(|s| *s <= switch);
        &self.direct[first..last]
    }

    /// The ports that lead to NICs, those of `dead` cables left out where a NIC has others.
    fn with_direct(fabric: &Fabric, dead: &BTreeSet<CableId>) -> Self {
        let mut direct_starts = vec![0];
        let (mut direct, mut direct_at) = (Vec::new(), Vec::new());
        for nic in &fabric.nics {
            let works = |port: &u32| !dead.contains(&fabric.ports[*port as usize].cable);
            let any_works = nic.ports.clone().any(|port| works(&port));
            let ports = nic.ports.clone().filter(|port| !any_works || works(port));
            let ports = ports.map(|port| fabric.ports[port as usize].peer);
            let mut here: Vec<(SwitchId, PortId)> = ports
                .filter_map(|p| Some((fabric.node_switch(fabric.ports[p.index()].node)?, p)))
                .collect();
            here.sort_unstable();
            direct_at.extend(here.iter().map(|(switch, _)| *switch));
            direct.extend(here.iter().map(|(_, port)| *port));
            direct_starts.push(direct.len() as u32);
        }
        Self {
            attachment: Vec::new(),
            attachments: 0,
            table: Vec::new(),
            starts: vec![0, 0],
            ports: Vec::new(),
            direct_starts,
            direct,
            direct_at,
            overrides: Vec::new(),
        }
    }

    /// Numbers the distinct sets of switches that NICs are attached to.
    fn attach(&mut self, fabric: &Fabric) -> Vec<Vec<SwitchId>> {
        let mut known: BTreeMap<Vec<SwitchId>, u32> = BTreeMap::new();
        let mut targets = Vec::new();
        for nic in 0..fabric.nics.len() {
            let range = self.direct_starts[nic] as usize..self.direct_starts[nic + 1] as usize;
            let mut switches = self.direct_at[range].to_vec();
            switches.dedup();
            let number = *known.entry(switches).or_insert_with_key(|switches| {
                targets.push(switches.clone());
                targets.len() as u32 - 1
            });
            self.attachment.push(number);
        }
        self.attachments = targets.len();
        targets
    }

    /// One search per attachment.
    fn fill(
        &mut self,
        graph: &Graph,
        targets: &[Vec<SwitchId>],
        mut search: impl FnMut(&[SwitchId], &mut Found),
    ) {
        let switches = graph.starts.len() - 1;
        self.table = vec![UNREACHABLE; switches * targets.len()];
        let mut groups = Groups::of(switches);
        let mut found = Found::of(switches);
        let mut hops: Vec<PortId> = Vec::new();
        for (target, attached) in targets.iter().enumerate() {
            search(attached, &mut found);
            for &switch in &found.order {
                let slot = switch as usize * targets.len() + target;
                if found.distance[switch as usize] == 0 {
                    self.table[slot] = HERE;
                    continue;
                }
                graph.closer(switch, &found.distance, &mut hops);
                assert!(!hops.is_empty(), "switch {switch} was reached, and no port leads closer");
                let group = groups.number(switch as usize, &hops, self);
                self.table[slot] = group;
            }
        }
    }

    /// The ports of one shortest path from `source` to `destination`, the first choice at every
    /// switch; `None` if there is none (or if static routes run in a circle).
    pub fn shortest_path(
        &self,
        fabric: &Fabric,
        source: NicId,
        destination: NicId,
    ) -> Option<Vec<PortId>> {
        if source == destination {
            return Some(Vec::new());
        }
        let ports = fabric.nics.get(source.index())?.ports.clone();
        let all = ports.map(|port| self.path_from(fabric, PortId(port), destination));
        all.flatten().min_by_key(Vec::len)
    }

    fn path_from(&self, fabric: &Fabric, first: PortId, destination: NicId) -> Option<Vec<PortId>> {
        let mut path = vec![first];
        let goal = fabric.nic_node(destination);
        loop {
            let last = fabric.ports[path[path.len() - 1].index()].peer;
            let node: NodeId = fabric.ports[last.index()].node;
            if node == goal {
                return Some(path);
            }
            if path.len() > fabric.switches.len() {
                return None;
            }
            let switch = fabric.node_switch(node)?;
            path.push(*self.candidates(switch, destination).first()?);
        }
    }

    /// How many shortest paths lead from `source` to `destination`.
    pub(crate) fn path_choices(&self, fabric: &Fabric, source: NicId, destination: NicId) -> u64 {
        if source == destination {
            return 1;
        }
        // Paths to each switch, switch by switch away from the source.
        let mut paths: BTreeMap<SwitchId, u64> = BTreeMap::new();
        for port in fabric.node_ports(fabric.nic_node(source)) {
            let peer = fabric.ports[port.index()].peer;
            if let Some(switch) = fabric.node_switch(fabric.ports[peer.index()].node) {
                *paths.entry(switch).or_default() += 1;
            }
        }
        let goal = fabric.nic_node(destination);
        let mut arrived: u64 = 0;
        for _ in 0..=fabric.switches.len() {
            let mut next: BTreeMap<SwitchId, u64> = BTreeMap::new();
            for (switch, count) in std::mem::take(&mut paths) {
                for port in self.candidates(switch, destination) {
                    let peer = fabric.ports[port.index()].peer;
                    let node = fabric.ports[peer.index()].node;
                    match fabric.node_switch(node) {
                        None if node == goal => arrived = arrived.saturating_add(count),
                        None => {}
                        Some(switch) => {
                            let there = next.entry(switch).or_default();
                            *there = there.saturating_add(count);
                        }
                    }
                }
            }
            if arrived > 0 || next.is_empty() {
                break;
            }
            paths = next;
        }
        arrived
    }
}

/// Links of the shortest way from a NIC to every other, static routes aside; `None` if there is no way.
pub(crate) fn distances(fabric: &Fabric, from: NicId) -> impl Fn(NicId) -> Option<usize> + use<> {
    let all_work = BTreeSet::new();
    let direct = Routes::with_direct(fabric, &all_work);
    let mut found = Found::of(fabric.switches.len());
    let attached = move |nic: NicId| {
        let all = direct.direct_starts[nic.index()]..direct.direct_starts[nic.index() + 1];
        direct.direct_at[all.start as usize..all.end as usize].to_vec()
    };
    Graph::of(fabric, &all_work).search(&attached(from), &mut found);
    let peers =
        fabric.node_ports(fabric.nic_node(from)).map(|port| fabric.ports[port.index()].peer);
    // Cables from NIC to NIC pass no switch.
    let beside: Vec<NodeId> = peers.map(|peer| fabric.ports[peer.index()].node).collect();
    move |to| {
        if beside.contains(&NodeId(to.0)) {
            return Some(1);
        }
        let nearest = attached(to).iter().map(|switch| found.distance[switch.index()]).min()?;
        (nearest != u32::MAX).then(|| nearest as usize + 2)
    }
}

/// Groups that are already stored, switch by switch.
struct Groups {
    known: Vec<BTreeMap<Vec<PortId>, u32>>,
    /// The group last used: most destinations of a switch are reached over all its uplinks.
    recent: Vec<u32>,
}

impl Groups {
    fn of(switches: usize) -> Self {
        Self { known: vec![BTreeMap::new(); switches], recent: vec![UNREACHABLE; switches] }
    }

    /// The number of the group with these ports, stored in `routes` if it is new.
    ///
    /// A group belongs to the switch whose ports are in it: packets of another would leave by ports
    /// that it does not have.
    fn number(&mut self, switch: usize, hops: &[PortId], routes: &mut Routes) -> u32 {
        let recent = self.recent[switch];
        if routes.group(recent) == hops {
            return recent;
        }
        let known = &mut self.known[switch];
        let group = match known.get(hops) {
            Some(group) => *group,
            None => {
                routes.ports.extend_from_slice(hops);
                let end = u32::try_from(routes.ports.len()).expect("routes of 4 billion ports");
                routes.starts.push(end);
                let group = routes.starts.len() as u32 - 2;
                known.insert(hops.to_vec(), group);
                group
            }
        };
        self.recent[switch] = group;
        group
    }
}

/// What a search found.
struct Found {
    /// Links to the nearest target, by switch; the largest number where there is no way.
    distance: Vec<u32>,
    /// The switches reached, in order of distance.
    order: Vec<u32>,
}

impl Found {
    fn of(switches: usize) -> Self {
        Self { distance: vec![u32::MAX; switches], order: Vec::with_capacity(switches) }
    }

    /// Forgets everything but the targets.
    fn start(&mut self, targets: &[SwitchId]) {
        self.distance.fill(u32::MAX);
        self.order.clear();
        for target in targets {
            self.distance[target.index()] = 0;
            self.order.push(target.0);
        }
    }
}

/// Links between switches, in flat lists.
struct Graph {
    starts: Vec<u32>,
    /// (port here, switch there), in port order.
    edges: Vec<(PortId, u32)>,
}

impl Graph {
    /// The links of `fabric` but the `dead` ones.
    fn of(fabric: &Fabric, dead: &BTreeSet<CableId>) -> Self {
        let mut graph = Graph { starts: vec![0], edges: Vec::new() };
        for switch in &fabric.switches {
            for id in switch.ports.clone() {
                let port = &fabric.ports[id as usize];
                let other = fabric.node_switch(fabric.ports[port.peer.index()].node);
                if let Some(other) = other.filter(|_| !dead.contains(&port.cable)) {
                    graph.edges.push((PortId(id), other.0));
                }
            }
            graph.starts.push(graph.edges.len() as u32);
        }
        graph
    }

    fn edges(&self, switch: u32) -> &[(PortId, u32)] {
        let switch = switch as usize;
        &self.edges[self.starts[switch] as usize..self.starts[switch + 1] as usize]
    }

    /// Distances to the nearest of `targets`.
    fn search(&self, targets: &[SwitchId], found: &mut Found) {
        self.search_over(targets, found, |_, _| true);
    }

    /// The same over those links (from a switch to one nearer to the targets) that are `usable`.
    fn search_over(
        &self,
        targets: &[SwitchId],
        found: &mut Found,
        usable: impl Fn(u32, u32) -> bool,
    ) {
        found.start(targets);
        let mut next = 0;
        while let Some(&switch) = found.order.get(next) {
            next += 1;
            for &(_, other) in self.edges(switch) {
                if found.distance[other as usize] == u32::MAX && usable(other, switch) {
                    found.distance[other as usize] = found.distance[switch as usize] + 1;
                    found.order.push(other);
                }
            }
        }
    }

    /// The ports of `switch` that lead one step closer.
    fn closer(&self, switch: u32, distance: &[u32], hops: &mut Vec<PortId>) {
        let here = distance[switch as usize];
        hops.clear();
        let nearer = |other: u32| distance[other as usize].saturating_add(1) == here;
        let closer = self.edges(switch).iter().filter(|(_, other)| nearer(*other));
        hops.extend(closer.map(|(port, _)| *port));
    }
}

#[cfg(test)]
mod tests;
