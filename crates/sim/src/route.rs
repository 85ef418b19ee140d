//! By which port a packet leaves a switch.
//!
//! Where switches hash, the first packet of a flow looks its port up in the
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
        if packet.flags & flag::PINNED == 0 {
            return self.look_up(switch, index, class);
        }
        let flow = self.net.headers.flow(index);
        let pins = self.hosts.flows.get(flow).and_then(|flow| flow.pins.as_ref());
        let Some(pins) = pins else { return self.look_up(switch, index, class) };
        if packet.hops >= MAX_HOPS {
            return Err(Drop::Loop);
        }
        let path = if packet.flags & flag::TO_INITIATOR != 0 { &pins.back } else { &pins.forth };
        path.get(usize::from(packet.hops) - 1).copied().ok_or(Drop::NoRoute)
    }

    /// The port by which a packet without a pinned way leaves a switch. Where the switch hashes, those that follow find it
    /// in their trail.
    #[inline(never)]
    pub(crate) fn look_up(
        &mut self,
        switch: SwitchId,
        index: PacketId,
        class: ClassId,
    ) -> Result<PortId, Drop> {
        let packet = self.net.packets.get(index);
        if packet.hops >= MAX_HOPS {
            return Err(Drop::Loop);
        }
        let seed = self.net.switches[switch].hash_seed;
        let hash = self.net.hashing.at(switch, packet.entropy);
        if let Some(out) = self.net.routing.next(switch, packet.dst, hash, seed) {
            self.net.trails.leave(packet.to, packet.stamp, packet.hops - 1, out);
            return Ok(out);
        }
        let packet = *packet;
        self.balance(switch, &packet, hash, class).ok_or(Drop::NoRoute)
    }
}
