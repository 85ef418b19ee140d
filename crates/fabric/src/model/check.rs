//! What every fabric promises.
//!
//! How it is wired is the builders' own work: a mistake there is a bug and an assertion. What is set on it comes from
//! files and devices: a mistake there is a [`Flaw`].

use super::{CLASSES, Cable, ClassId, Ecn, Model, PortClass, PortId, Scheduling, Switch};
use std::ops::Range;
use xoff_units::{Bytes, Ratio};

/// A setting that no fabric can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There are [`CLASSES`] traffic classes.
    #[error("there is no traffic class {0}")]
    Class(u8),
    /// Marking is certain before it starts.
    #[error("marking starts at {} (kmin) and is certain at {} (kmax)", .0.kmin, .0.kmax)]
    Marking(Ecn),
    /// Of weight zero.
    #[error("a class of weight 0 never has its turn")]
    Weight,
    /// A share of packets or bits above one.
    #[error("a share above 1")]
    Share,
    /// Headroom and reserved buffer exceed the packet memory.
    #[error("headroom and reserved buffer of `{switch}` take {claimed} of {buffer}")]
    Buffer {
        /// The switch.
        switch: String,
        /// What its ports claim.
        claimed: Bytes,
        /// What it has.
        buffer: Bytes,
    },
    /// Two cables whose ends cannot be swapped.
    #[error("{0}")]
    Swap(&'static str),
}

impl Model {
    /// Panics unless nodes, ports and cables fit each other as the module says.
    pub(super) fn assert_wired(&self) {
        self.assert_ports_in_order();
        self.assert_cables_have_two_ends();
        self.assert_servers_in_order();
        for route in &self.static_routes {
            let owner = self.switches.get(route.at.index());
            let owned = owner.is_some_and(|switch| switch.ports.contains(&route.via.0));
            assert!(owned, "a static route leaves switch {} by a port of another", route.at);
            assert!(route.to.index() < self.nics.len(), "a static route to no NIC: {}", route.to);
        }
    }

    /// NICs, then switches, each with the ports that follow those of the node before it.
    fn assert_ports_in_order(&self) {
        let nics = self.nics.iter().map(|nic| &nic.ports);
        let switches = self.switches.iter().map(|switch| &switch.ports);
        let mut next = 0;
        for (node, ports) in nics.chain(switches).enumerate() {
            assert_eq!(ports.start, next, "ports of node {node} do not follow those before it");
            next = ports.end;
            let Range { start, end } = *ports;
            let own = self.ports.get(start as usize..end as usize);
            let own = own.unwrap_or_else(|| panic!("node {node} has ports that are not there"));
            let belong = own.iter().all(|port| port.node.index() == node);
            assert!(belong, "a port in the range of node {node} belongs to another node");
        }
        assert_eq!(next as usize, self.ports.len(), "a port belongs to no node");
    }

    fn assert_cables_have_two_ends(&self) {
        let mut ends = vec![0u8; self.cables.len()];
        for (index, port) in self.ports.iter().enumerate() {
            let Some(peer) = self.ports.get(port.peer.index()) else {
                panic!("port {index} leads to port {}, which is not there", port.peer)
            };
            assert_eq!(peer.peer, PortId(index as u32), "the peer of port {index} has another");
            assert_eq!(peer.cable, port.cable, "port {index} and its peer are on two cables");
            assert_ne!(peer.node, port.node, "port {index} leads back to its own node");
            let switched = [port.node, peer.node].map(|node| self.node_switch(node).is_some());
            assert!(switched != [false; 2], "port {index} of a NIC leads to a NIC");
            let used = ends.get_mut(port.cable.index());
            *used.unwrap_or_else(|| panic!("port {index} has a cable that is not there")) += 1;
        }
        let unplugged = ends.iter().position(|&ends| ends != 2);
        assert_eq!(unplugged, None, "a cable that does not join two ports");
    }

    fn assert_servers_in_order(&self) {
        let mut next = 0;
        for (index, server) in self.servers.iter().enumerate() {
            assert_eq!(server.nics.start, next, "NICs of server {index} are not the next ones");
            next = server.nics.end;
            let own = self.nics.get(server.nics.start as usize..server.nics.end as usize);
            let own = own.unwrap_or_else(|| panic!("server {index} has NICs that are not there"));
            let belong = own.iter().all(|nic| nic.server.index() == index);
            assert!(belong, "a NIC in the range of server {index} belongs to another server");
        }
        assert_eq!(next as usize, self.nics.len(), "a NIC belongs to no server");
    }

    /// The first setting that no fabric can have.
    pub(crate) fn flaw(&self) -> Result<(), Flaw> {
        let classes = [Some(self.data_class), self.ack_class, self.cnp_class];
        classes.into_iter().flatten().try_for_each(known)?;
        self.tenants.iter().map(|tenant| tenant.class).try_for_each(known)?;
        self.guests.iter().map(|guest| guest.class).try_for_each(known)?;
        self.cables.iter().try_for_each(Cable::flaw)?;
        self.ports.iter().flat_map(|port| &port.classes).try_for_each(PortClass::flaw)?;
        self.switches.iter().try_for_each(|switch| {
            switch.flaw()?;
            self.claims_fit(switch)
        })
    }

    /// Whether headroom and reservations fit the packet memory.
    pub(crate) fn claims_fit(&self, switch: &Switch) -> Result<(), Flaw> {
        let memory = self.packet_memory(switch);
        let claimed = memory.headroom + memory.reserved;
        if claimed > switch.buffer {
            let (switch, buffer) = (switch.name.clone(), switch.buffer);
            return Err(Flaw::Buffer { switch, claimed, buffer });
        }
        Ok(())
    }
}

fn known(class: ClassId) -> Result<(), Flaw> {
    if usize::from(class.0) < CLASSES { Ok(()) } else { Err(Flaw::Class(class.0)) }
}

fn share(share: Ratio) -> Result<(), Flaw> {
    if share <= Ratio::ONE { Ok(()) } else { Err(Flaw::Share) }
}

impl Cable {
    pub(super) fn flaw(&self) -> Result<(), Flaw> {
        share(self.loss)?;
        share(self.bit_error_rate)
    }
}

impl PortClass {
    pub(super) fn flaw(&self) -> Result<(), Flaw> {
        if let Some(ecn) = self.ecn {
            share(ecn.pmax)?;
            if ecn.kmin > ecn.kmax {
                return Err(Flaw::Marking(ecn));
            }
        }
        if self.scheduling == Scheduling::Weighted(0) {
            return Err(Flaw::Weight);
        }
        Ok(())
    }
}

impl Switch {
    pub(super) fn flaw(&self) -> Result<(), Flaw> {
        let trimmed = self.trimming.map(|trimming| trimming.class);
        self.dscp_to_class.into_iter().chain(trimmed).try_for_each(known)
    }
}
