//! By which port a packet leaves a switch.
//!
//! Where switches hash and ways do not change, the first packet of a flow looks its port up in the
//! [routes](crate::switch::routing) and leaves it in the flow's [trail](crate::switch::trail) for those that follow.
//! Pinned flows have their ports from the scenario; where a switch chooses among equal ports by itself, see
//! [`crate::balance`].

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::PacketId;
use crate::report::Drop;
use crate::switch::packet::{MAX_HOPS, Packet, flag};
use xoff_fabric::model::{ClassId, PortId, SwitchId};

impl<Q: EventQueue> Engine<'_, Q> {
    /// The port by which a packet leaves a switch, if there is one.
    pub(crate) fn way(
        &mut self,
        switch: SwitchId,
        index: PacketId,
        packet: &Packet,
        class: ClassId,
    ) -> Result<PortId, Drop> {
        if packet.hops >= MAX_HOPS {
            return Err(Drop::Loop);
        }
        let flow = self.net.headers.flow(index);
        let pins = match self.hosts.flows.get(flow).and_then(|flow| flow.pins.as_ref()) {
            Some(pins) if packet.flags & flag::PINNED != 0 => pins,
            _ => {
                let seed = self.net.switches[switch].hash_seed;
                let hash = self.net.hashing.at(switch, packet.entropy);
                let next = self.net.routing.next(switch, packet.dst, hash, seed);
                let next = next.or_else(|| self.balance(switch, packet, hash, class));
                return next.ok_or(Drop::NoRoute);
            }
        };
        let path = if packet.flags & flag::TO_INITIATOR != 0 { &pins.back } else { &pins.forth };
        path.get(usize::from(packet.hops) - 1).copied().ok_or(Drop::NoRoute)
    }

    /// The port by which a packet leaves a switch that hashes. Those that follow find it in its trail.
    #[inline(never)]
    pub(crate) fn look_up(&mut self, switch: SwitchId, index: PacketId) -> Option<PortId> {
        let packet = self.net.packets.get(index);
        if packet.hops >= MAX_HOPS {
            return None;
        }
        let seed = self.net.switches[switch].hash_seed;
        let hash = self.net.hashing.at(switch, packet.entropy);
        let out = self.net.routing.next(switch, packet.dst, hash, seed)?;
        self.net.trails.leave(packet.to, packet.stamp, packet.hops - 1, out);
        Some(out)
    }
}
