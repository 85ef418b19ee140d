//! Prefetching what the next events need.
//!
//! A large fabric does not fit the cache, and the loads of one event wait for each other. So the packet of a
//! delivery that comes soon is prefetched first; the next time, when it is in cache, it says which header and which
//! queue pair to prefetch. So does the state of a NIC that sends soon: see [`NicState::last`]. Wrong guesses cost
//! a load and change nothing.
//!
//! [`NicState::last`]: crate::nic::state::NicState::last

use crate::event::{Ahead, Key, Kind};
use crate::hosts::Hosts;
use crate::id::{PacketId, PlaneId};
use crate::net::Net;
use crate::switch::packet::flag;
use xoff_fabric::model::PortId;

/// What was prefetched last, and leads to more.
pub(crate) struct Lookahead {
    /// A packet that will be delivered soon.
    packet: PacketId,
    /// A NIC that will send soon, as far as its port's number tells.
    sender: PlaneId,
}

impl Lookahead {
    pub(crate) const fn new() -> Self {
        Self { packet: PacketId::NONE, sender: PlaneId::NONE }
    }

    /// Prefetches for events that come soon.
    #[inline(always)]
    pub(crate) fn prefetch(&mut self, ahead: Ahead<'_>, net: &Net, hosts: &Hosts) {
        if let Some(packet) = net.packets.peek(self.packet) {
            net.headers.prefetch(self.packet);
            hosts.nics.prefetch(PlaneId::first_of(packet.dst));
            if let Some(connection) = hosts.connections.get(packet.to.connection()) {
                let end = &connection.ends[packet.to.end()];
                end.prefetch(packet.flags & flag::TO_INITIATOR != 0);
            }
        }
        if let Some(nic) = hosts.nics.get(self.sender)
            && let Some(connection) = hosts.connections.get(nic.last.connection())
        {
            connection.ends[nic.last.end()].prefetch(true);
        }
        let (mut packet, mut sender) = (PacketId::NONE, PlaneId::NONE);
        // Ports of NICs come first, and a NIC with one port has its number; for others this is a guess.
        let nics = hosts.nics.len() as u32;
        for (key, data) in ahead.events() {
            net.packets.prefetch(PacketId(data));
            net.ports.prefetch(PortId(key.id()));
            packet = if key < Key::new(Kind::Arrive, 0) { PacketId(data) } else { packet };
            let transmits = key.0.wrapping_sub(Key::new(Kind::Transmit, 0).0);
            sender = if transmits < nics { PlaneId(transmits) } else { sender };
        }
        (self.packet, self.sender) = (packet, sender);
    }
}
