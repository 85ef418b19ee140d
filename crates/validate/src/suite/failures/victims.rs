//! What breaks, and which ranks are on its way.

use std::collections::BTreeSet;
use xoff_fabric::model::{Fabric, NicId, NodeId, PortId, SwitchId};
use xoff_units::Rate;

/// What breaks: a NIC, its leaf, a link from there up, and the switch at its other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Victims {
    /// The NIC.
    pub nic: NicId,
    /// Its leaf.
    pub leaf: SwitchId,
    /// The leaf's port of a link up, if there is one.
    pub uplink: Option<PortId>,
    /// The switch at the other end of that.
    pub spine: Option<SwitchId>,
}

impl Victims {
    /// The victims of a validation: at the first NIC.
    pub fn of(fabric: &Fabric) -> Option<Self> {
        Self::picked(fabric, 0)
    }

    /// Other victims for other numbers; none where the NIC has no switch.
    pub fn picked(fabric: &Fabric, pick: usize) -> Option<Self> {
        let nic = NicId(pick.checked_rem(fabric.nics.len())? as u32);
        let leaf = leaf_of(fabric, nic)?;
        let ups = uplinks(fabric, leaf);
        let uplink = pick.checked_rem(ups.len()).map(|at| ups[at]);
        let spine = uplink.and_then(|port| fabric.node_switch(peer(fabric, port)));
        Some(Self { nic, leaf, uplink, spine })
    }

    /// The name of the link up as tables have it, like `leaf0→spine1#2`.
    pub fn uplink_name(&self, fabric: &Fabric) -> Option<String> {
        self.uplink.map(|port| fabric.port_name(port))
    }
}

/// The node at the other end of a port's cable.
pub(crate) fn peer(fabric: &Fabric, port: PortId) -> NodeId {
    fabric.ports[fabric.ports[port.index()].peer.index()].node
}

/// The switch at the first port of a NIC.
pub(crate) fn leaf_of(fabric: &Fabric, nic: NicId) -> Option<SwitchId> {
    let first = PortId(fabric.nics[nic.index()].ports.clone().next()?);
    fabric.node_switch(peer(fabric, first))
}

/// The ports of a switch that lead to a higher tier.
pub(crate) fn uplinks(fabric: &Fabric, switch: SwitchId) -> Vec<PortId> {
    let tier = fabric.switches[switch.index()].tier;
    let above = |port: &PortId| {
        let switch = fabric.node_switch(peer(fabric, *port));
        switch.is_some_and(|switch| fabric.switches[switch.index()].tier > tier)
    };
    fabric.switches[switch.index()].ports.clone().map(PortId).filter(above).collect()
}

/// The NICs at a switch.
pub(crate) fn hosts(fabric: &Fabric, switch: SwitchId) -> Vec<NicId> {
    let ports = fabric.switches[switch.index()].ports.clone().map(PortId);
    let nodes: BTreeSet<NodeId> = ports.map(|port| peer(fabric, port)).collect();
    nodes
        .into_iter()
        .filter(|node| fabric.node_switch(*node).is_none())
        .map(|n| NicId(n.0))
        .collect()
}

/// The rate of a NIC: of all its ports together.
pub(crate) fn rate(fabric: &Fabric, nic: NicId) -> Rate {
    let ports = fabric.nics[nic.index()].ports.clone().map(PortId);
    Rate::from_bps(ports.map(|port| fabric.cable(port).rate.bps()).sum())
}

/// Whether a NIC has a port at another switch, too.
pub(crate) fn is_dual_homed(fabric: &Fabric, nic: NicId) -> bool {
    let ports = fabric.nics[nic.index()].ports.clone().map(PortId);
    ports.map(|port| peer(fabric, port)).collect::<BTreeSet<_>>().len() > 1
}

/// A rank of a job: its NIC, and its GPU counted through the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rank {
    pub(crate) nic: NicId,
    pub(crate) gpu: u32,
}

/// A ring of at most so many ranks, each in a server of its own, that goes in and out of the victim's leaf:
/// every second rank is there, as far as there are servers, the others are anywhere else. It begins at
/// the victim's NIC.
pub(crate) fn ring(fabric: &Fabric, victims: &Victims, most: usize) -> Vec<Rank> {
    let seats = seats(fabric);
    let inside = |seat: &Rank| leaf_of(fabric, seat.nic) == Some(victims.leaf);
    let own = fabric.nics[victims.nic.index()].server.index();
    let one_of = |server: usize, here: bool| {
        let fits = seats[server].iter().filter(|seat| inside(seat) == here);
        let fits: Vec<Rank> = fits.copied().collect();
        let victim = fits.iter().find(|seat| seat.nic == victims.nic && here);
        victim.or_else(|| fits.get(server.checked_rem(fits.len())?)).copied()
    };
    let there: Vec<usize> = (0..seats.len()).collect();
    let mut on: Vec<usize> = there.iter().copied().filter(|&s| one_of(s, true).is_some()).collect();
    // The victim's own server comes first.
    if let Some(at) = on.iter().position(|&server| server == own) {
        on.rotate_left(at);
    }
    // Where every server has a NIC at the leaf, as with rails, half of them take another one.
    let elsewhere = there.iter().any(|&server| one_of(server, false).is_some());
    let servers = if elsewhere { most.min(there.len()).div_ceil(2) } else { most };
    let on = spread(&on, servers.max(1));
    let off: Vec<usize> = there
        .iter()
        .copied()
        .filter(|server| !on.contains(server) && one_of(*server, false).is_some())
        .collect();
    let leaf = |server: usize| one_of(server, false).and_then(|rank| leaf_of(fabric, rank.nic));
    let off = in_turn(&spread(&off, most.saturating_sub(on.len())), leaf);
    let longest = on.len().max(off.len());
    let turn = |at: usize| {
        let here = on.get(at).and_then(|&server| one_of(server, true));
        let there = off.get(at).and_then(|&server| one_of(server, false));
        [here, there]
    };
    (0..longest).flat_map(turn).flatten().collect()
}

/// The seats of each server: GPUs with a NIC, one for each NIC.
fn seats(fabric: &Fabric) -> Vec<Vec<Rank>> {
    let mut first = 0;
    let of_server = |server: &xoff_fabric::model::Server| {
        let nics = server.nics.len() as u32;
        let count = if server.gpus == 0 { nics } else { server.gpus };
        // Neighbouring GPUs share a NIC where there are fewer NICs, as in `xoff_workload::layout`.
        let nic_of = |gpu: u32| (u64::from(gpu) * u64::from(nics) / u64::from(count)) as u32;
        let mut seats: Vec<Rank> = Vec::new();
        for gpu in (0..count).filter(|_| nics > 0) {
            let nic = NicId(server.nics.start + nic_of(gpu));
            if seats.last().is_none_or(|last| last.nic != nic) {
                seats.push(Rank { nic, gpu: first + gpu });
            }
        }
        first += count;
        seats
    };
    fabric.servers.iter().map(of_server).collect()
}

/// At most so many of a list, evenly spread, the first one among them.
fn spread(list: &[usize], most: usize) -> Vec<usize> {
    if list.len() <= most {
        return list.to_vec();
    }
    (0..most).map(|at| list[at * list.len() / most]).collect()
}

/// The servers in such an order that those of one leaf do not follow each other, as far as that can be.
fn in_turn(servers: &[usize], leaf: impl Fn(usize) -> Option<SwitchId>) -> Vec<usize> {
    let place = |at: usize| {
        let own = leaf(servers[at]);
        (servers[..at].iter().filter(|&&other| leaf(other) == own).count(), own)
    };
    let mut order: Vec<usize> = (0..servers.len()).collect();
    order.sort_by_key(|&at| place(at));
    order.into_iter().map(|at| servers[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(text: &str) -> Fabric {
        Fabric::from_toml(text).unwrap()
    }

    /// Every hop of the ring leaves its leaf, whatever the fabric, and the victim is on it.
    #[test]
    fn the_ring_crosses_the_victims_leaf() {
        let rail = "[cluster]\ngpus = 64\n[fabric]\nkind = 'rail'\n";
        let plain = "[cluster]\ngpus = 64\n[fabric]\nkind = 'leaf-spine'\nleaves = 4\nspines = 2\n";
        for text in [rail, plain] {
            let fabric = fabric(text);
            for pick in [0, 7, 23] {
                let victims = Victims::picked(&fabric, pick).unwrap();
                let ring = ring(&fabric, &victims, 16);
                assert!(ring.iter().any(|rank| rank.nic == victims.nic), "{text}: {ring:?}");
                let leaf = |rank: &Rank| leaf_of(&fabric, rank.nic);
                let out = ring.iter().zip(ring.iter().cycle().skip(1));
                let out = out.filter(|(a, b)| leaf(a) != leaf(b)).count();
                assert_eq!(out, ring.len(), "{text}, {pick}: {ring:?}");
                let servers: BTreeSet<_> =
                    ring.iter().map(|rank| fabric.nics[rank.nic.index()].server).collect();
                assert_eq!(servers.len(), ring.len(), "a rank per server");
            }
        }
    }
}
