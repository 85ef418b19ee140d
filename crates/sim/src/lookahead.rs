//! Prefetching what the next events need.
//!
//! A large fabric does not fit the cache, and the loads of one event wait for each other. So the packet of a
//! delivery that comes soon is prefetched first; the next time, when it is in cache, it says which header and which
//! queue pair to prefetch. So does the state of a NIC that sends soon: see [`NicState::last`]. Wrong guesses cost
//! a load and change nothing.
//!
//! On a fabric of thousands of NICs nearly every load misses, and events are shown three times ([`Showing`]), so that each link of a
//! chain is in cache when the next one is looked up: from the packet to the buffer that it is charged to, from the port
//! to the queue that sends, from the trail to the port by which a packet leaves.
//!
//! [`NicState::last`]: crate::nic::state::NicState::last

use crate::event::{Ahead, Key, Kind, Showing};
use crate::hosts::Hosts;
use crate::id::{PacketId, PlaneId};
use crate::net::Net;
use crate::switch::packet::flag;
use xoff_fabric::model::{ClassId, PortId};

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
        match ahead.showing {
            Showing::Only => self.prefetch_once(ahead, net, hosts),
            Showing::First => {
                for (key, data) in ahead.events() {
                    net.packets.prefetch(PacketId(data));
                    net.ports.prefetch(PortId(key.id()));
                }
            }
            Showing::Second => ahead.events().for_each(|event| follow(event, net, hosts)),
            Showing::Third => ahead.events().for_each(|event| follow_further(event, net, hosts)),
        }
    }

    /// Prefetches what events name, and for one delivery and one NIC of those before what these lead to.
    #[inline(always)]
    fn prefetch_once(&mut self, ahead: Ahead<'_>, net: &Net, hosts: &Hosts) {
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

/// The packet and the port of an event are in cache: what they lead to is prefetched.
#[inline(always)]
fn follow((key, data): (Key, u32), net: &Net, hosts: &Hosts) {
    let Some(port) = net.ports.get(PortId(key.id())) else { return };
    let packet = net.packets.peek(PacketId(data));
    if key.is(Kind::Arrive) {
        let Some(packet) = packet else { return };
        let class = net.switches[port.switch()].classes[usize::from(packet.dscp & 63)];
        port.prefetch_lane(class);
        net.trails.prefetch(packet.to);
    } else if key.is(Kind::Transmit) {
        if port.is_nic() {
            return hosts.nics.prefetch(port.plane());
        }
        let eligible = port.eligible();
        if eligible != 0 {
            port.prefetch_lane(ClassId(eligible.trailing_zeros() as u8));
        }
        if let Some(packet) = packet
            && let Some(ingress) = net.ports.get(packet.ingress.port())
        {
            ingress.prefetch();
            ingress.prefetch_lane(packet.ingress.class());
        }
    } else if key.is(Kind::Deliver) {
        let Some(packet) = packet else { return };
        net.headers.prefetch(PacketId(data));
        hosts.nics.prefetch(PlaneId::first_of(packet.dst));
        if let Some(connection) = hosts.connections.get(packet.to.connection()) {
            let end = &connection.ends[packet.to.end()];
            end.prefetch(packet.flags & flag::TO_INITIATOR != 0);
        }
    }
}

/// What that led to is in cache as well.
#[inline(always)]
fn follow_further((key, data): (Key, u32), net: &Net, hosts: &Hosts) {
    if key.is(Kind::Arrive) {
        if let Some(packet) = net.packets.peek(PacketId(data))
            && let Some(out) = net.trails.next(packet.to, packet.stamp, packet.hops)
            && let Some(out) = net.ports.get(out)
        {
            let Some(port) = net.ports.get(PortId(key.id())) else { return };
            let class = net.switches[port.switch()].classes[usize::from(packet.dscp & 63)];
            out.prefetch();
            out.prefetch_lane(class);
        }
    } else if key.is(Kind::Transmit)
        && let Some(port) = net.ports.get(PortId(key.id()))
        && port.is_nic()
    {
        // On threads that simulate switches alone there are no NICs.
        if let Some(nic) = hosts.nics.get(port.plane())
            && let Some(connection) = hosts.connections.get(nic.last.connection())
        {
            connection.ends[nic.last.end()].prefetch(true);
        }
    }
}
