//! [`Cast`]: the few NICs and switches of a fabric that a drill is about.

use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{Fabric, NicId, NodeId, PortId};
use xoff_units::Rate;

/// NICs below each leaf.
const FEW: usize = 4;

/// The NICs that send, those of one leaf after those of the other.
#[derive(Debug, Clone)]
pub(super) struct Cast {
    pub(super) nics: Vec<NicId>,
    /// How many are below each leaf.
    pub(super) per_leaf: usize,
    /// One or two.
    pub(super) leaves: Vec<NodeId>,
}

impl Cast {
    /// A few NICs below two leaves that reach each other, or below one. Nothing where there are fewer than three.
    pub(super) fn few(fabric: &Fabric) -> Option<Self> {
        Self::of(fabric, FEW)
    }

    /// So many below each leaf, if there are.
    pub(super) fn of(fabric: &Fabric, most: usize) -> Option<Self> {
        let groups = below(fabric);
        let (first, own) = groups.iter().find(|(_, nics)| nics.len() >= most).or_else(|| {
            groups.iter().max_by_key(|(leaf, nics)| (nics.len(), std::cmp::Reverse(**leaf)))
        })?;
        let reached = reached(fabric, *first);
        let others = groups.iter().filter(|(leaf, _)| *leaf != first && reached.contains(leaf));
        let other =
            others.max_by_key(|(leaf, nics)| (nics.len().min(most), std::cmp::Reverse(**leaf)));
        let cast = match other {
            Some((leaf, nics)) => {
                let count = own.len().min(nics.len()).min(most);
                let nics = own[..count].iter().chain(&nics[..count]).copied().collect();
                Self { nics, per_leaf: count, leaves: vec![*first, *leaf] }
            }
            None => {
                let count = own.len().min(2 * most);
                Self { nics: own[..count].to_vec(), per_leaf: count, leaves: vec![*first] }
            }
        };
        (cast.nics.len() > 2).then_some(cast)
    }

    /// Where what the NIC at `from` sends in a round goes: in every round each NIC has another destination, and each is the
    /// destination of one.
    pub(super) fn destination(&self, from: usize, round: usize) -> NicId {
        let (count, all) = (self.per_leaf, self.nics.len());
        match self.leaves.len() {
            1 => self.nics[(from + 1 + round % (all - 1)) % all],
            _ => self.nics[(from / count + 1) % 2 * count + (from + round) % count],
        }
    }

    /// The NIC that faults are about.
    pub(super) fn victim(&self) -> NicId {
        self.nics[0]
    }

    /// A NIC below the same leaf.
    pub(super) fn neighbour(&self) -> NicId {
        self.nics[1]
    }

    /// A link up of the first leaf.
    pub(super) fn uplink(&self, fabric: &Fabric) -> Option<PortId> {
        let leaf = self.leaves[0];
        let tier = |node: NodeId| Some(fabric.switches[fabric.node_switch(node)?.index()].tier);
        fabric.node_ports(leaf).find(|port| tier(far(fabric, *port)) > tier(leaf))
    }

    /// Whether a port is one that the drill is about: of its NICs, to them, or between its leaves and other switches, or of the
    /// switch above them that dies.
    pub(super) fn keeps(&self, fabric: &Fabric, port: PortId) -> bool {
        let above = self.uplink(fabric).map(|port| far(fabric, port));
        let nodes = [fabric.ports[port.index()].node, far(fabric, port)];
        let is_switch = |node: NodeId| fabric.node_switch(node).is_some();
        let is_own = |node: NodeId| self.leaves.contains(&node) || above == Some(node);
        let is_cast = |node: NodeId| self.nics.iter().any(|nic| fabric.nic_node(*nic) == node);
        nodes.into_iter().any(is_cast)
            || nodes.into_iter().all(is_switch) && nodes.into_iter().any(is_own)
    }
}

/// The device at the other end of a port's link.
pub(super) fn far(fabric: &Fabric, port: PortId) -> NodeId {
    fabric.ports[fabric.ports[port.index()].peer.index()].node
}

/// The ports of a NIC.
pub(super) fn ports(fabric: &Fabric, nic: NicId) -> Vec<PortId> {
    fabric.nics[nic.index()].ports.clone().map(PortId).collect()
}

/// The ports that lead to a NIC.
pub(super) fn ports_to(fabric: &Fabric, nic: NicId) -> Vec<PortId> {
    ports(fabric, nic).into_iter().map(|port| fabric.ports[port.index()].peer).collect()
}

/// The rate of a NIC's first port.
pub(super) fn rate(fabric: &Fabric, nic: NicId) -> Rate {
    fabric.cable(PortId(fabric.nics[nic.index()].ports.start)).rate
}

/// NICs of servers by the switch that their first port leads to.
fn below(fabric: &Fabric) -> BTreeMap<NodeId, Vec<NicId>> {
    let mut groups: BTreeMap<NodeId, Vec<NicId>> = BTreeMap::new();
    for (nic, number) in fabric.nics.iter().zip(0..) {
        if nic.aggregates.is_none() && !nic.ports.is_empty() {
            let leaf = far(fabric, PortId(nic.ports.start));
            groups.entry(leaf).or_default().push(NicId(number));
        }
    }
    groups
}

/// The switches that a switch reaches by switches.
fn reached(fabric: &Fabric, from: NodeId) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for port in fabric.node_ports(node) {
            let there = far(fabric, port);
            if fabric.node_switch(there).is_some() && seen.insert(there) {
                open.push(there);
            }
        }
    }
    seen
}
