//! A packet arrives at a switch: classify, route, admit, and queue it or pass it straight on.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, Slot};
use crate::report::Drop;
use crate::switch::buffer::Admission;
use crate::switch::packet::{MAX_HOPS, Packet, flag};
use crate::switch::port::{Wake, bit, head_time, port_flag};
use xoff_fabric::model::{PortId, SwitchId};

/// Packets with any of these do not take the short way through a switch.
const SPECIAL: u8 = flag::PINNED | flag::INT | flag::WHOLE | flag::LOST;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet has arrived at a port: all of it, or enough of it to cut through.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, port: PortId, index: PacketId) {
        let switch = self.ports[port].switch();
        let state = &self.switches[switch];
        let packet = self.packets.get_mut(index);
        let passed = packet.hops;
        packet.hops += 1;
        let class = state.classes[usize::from(packet.dscp & 63)];
        let slot = Slot::new(port, class);
        if packet.flags & SPECIAL != 0 {
            return self.arrive_specially(slot, index);
        }
        let size = u32::from(packet.size);
        let known = self.trails.next(packet.to, packet.stamp, passed);
        let Some(out) = known.or_else(|| self.look_up(switch, index)) else {
            return self.arrive_specially(slot, index);
        };
        let state = &self.switches[switch];
        // Mostly the way out is idle and the buffer has plenty of room: taking the packet in and
        // letting it go in the same instant would change nothing, so it passes.
        if !Q::BY_TURN
            && let Some([here, egress]) = self.ports.get_two_mut(port, out)
            && egress.is_idle(self.now, class)
            && (egress.byte_time >= here.byte_time || !state.cut_through)
            && here.xoff & bit(class) == 0
            && here.lane(class).ingress.passes(state.charge(size as u16).into(), &state.shared)
        {
            let queue = &mut egress.lane(class).queue;
            queue.deepest = queue.deepest.max(size);
            let arrival = egress.take_wire(self.now, class, size, self.gap);
            let key = egress.arrival;
            return self.schedule_arrival(arrival, key, index);
        }
        self.take_in(slot, out, index);
    }

    /// The same for a packet whose way is pinned or not hashed, which has been going round, which
    /// waited for its tail, which collects telemetry, or whose cable went dead.
    #[inline(never)]
    fn arrive_specially(&mut self, slot: Slot, index: PacketId) {
        let switch = self.ports[slot.port()].switch();
        let packet = *self.packets.get(index);
        if packet.flags & flag::LOST != 0 {
            return self.lose_arrived(slot, index);
        }
        match self.way(switch, index, &packet, slot.class()) {
            Ok(out) => self.take_in(slot, out, index),
            Err(Drop::NoRoute) => self.drop_unrouted(slot, index),
            Err(reason) => self.drop_arrived(slot, index, reason),
        }
    }

    /// Takes an arrived packet into the buffer, and queues it at the port it leaves by.
    #[inline(never)]
    pub(crate) fn take_in(&mut self, slot: Slot, out: PortId, index: PacketId) {
        let out = Slot::new(out, slot.class());
        let egress = &self.ports[out.port()];
        if egress.flags & port_flag::VOQ != 0 {
            return self.take_into_voq(slot, out, index);
        }
        let (egress_byte, special) = (egress.byte_time, egress.stuck | egress.limited);
        let here = &mut self.ports[slot.port()];
        let state = &mut self.switches[here.switch()];
        let packet = self.packets.get_mut(index);
        packet.ingress = slot;
        packet.charged = state.charge(packet.size);
        let (size, charged) = (u32::from(packet.size), u32::from(packet.charged));
        let again = packet.flags & flag::WHOLE != 0;
        packet.flags &= !flag::WHOLE;
        if egress_byte < here.byte_time
            && !again
            && state.cut_through
            && self.waits_for_its_tail(slot.port(), out.port(), index)
        {
            return;
        }
        if special & out.bit() != 0
            && let Some(reason) = self.egress_refuses(out, size)
        {
            return self.refuse(slot, out, index, reason);
        }
        let here = &mut self.ports[slot.port()];
        let state = &mut self.switches[here.switch()];
        let ingress = &mut here.lane(slot.class()).ingress;
        if ingress.passes(charged, &state.shared) {
            ingress.take_in(charged, &mut state.shared);
        } else if let Err(reason) = self.admit(slot, charged) {
            return self.drop_arrived(slot, index, reason);
        }
        if special & out.bit() != 0 {
            self.mark_at_enqueue(out, index);
        }
        let port = &mut self.ports[out.port()];
        port.waiting |= out.bit();
        port.lane(out.class()).queue.push(&mut self.packets, index, size as u16);
        if port.paused & out.bit() != 0 {
            return;
        }
        match port.wish_to_wake(self.now) {
            Wake::Known => {}
            Wake::At(at) => self.schedule_transmit(at, out.port(), index),
            Wake::Now => self.transmit_now(out.port()),
        }
    }

    /// Takes so many bytes into the buffer of a port that is near a limit, and pauses the peer if that
    /// is due. Why not, if it does not.
    #[inline(never)]
    pub(crate) fn admit(&mut self, slot: Slot, charged: u32) -> Result<(), Drop> {
        let here = &mut self.ports[slot.port()];
        let state = &mut self.switches[here.switch()];
        let asked = here.xoff & slot.bit() != 0;
        let lane = here.lane(slot.class());
        let rules = &self.profiles[lane.profile as usize];
        match lane.ingress.admit(charged, rules, &mut state.shared) {
            Admission::Taken => {}
            Admission::TakenAndPause if asked => {}
            Admission::TakenAndPause => self.ask_pause(slot),
            Admission::Refused if rules.lossless => return Err(Drop::Headroom),
            Admission::Refused => return Err(Drop::IngressLimit),
        }
        Ok(())
    }

    /// Why an egress queue that is stuck or limited does not take a packet, if it does not.
    #[cold]
    fn egress_refuses(&mut self, out: Slot, size: u32) -> Option<Drop> {
        let port = &mut self.ports[out.port()];
        let switch = port.switch();
        let (stuck, limited) = (port.stuck & out.bit() != 0, port.limited & out.bit() != 0);
        let lane = port.lane(out.class());
        let limit = &self.profiles[lane.profile as usize].egress;
        let free = self.switches[switch].shared.free;
        if limited && u64::from(lane.queue.bytes) + u64::from(size) > limit.given(free) {
            return Some(Drop::EgressLimit);
        }
        (stuck && self.discards(out.port())).then_some(Drop::Watchdog)
    }

    /// Queues a packet of `size` bytes at a port and starts it if the port is free.
    pub(crate) fn enqueue(&mut self, out: Slot, index: PacketId, size: u16) {
        let port = &mut self.ports[out.port()];
        port.waiting |= out.bit();
        port.lane(out.class()).queue.push(&mut self.packets, index, size);
        if port.paused & out.bit() == 0 {
            self.kick(out.port());
        }
    }

    /// Drops a packet that has just arrived.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_arrived(&mut self, slot: Slot, index: PacketId, reason: Drop) {
        if !self.credits.is_empty() {
            let switch = self.ports[slot.port()].switch();
            let charged = self.switches[switch].charge(self.packets.get(index).size);
            self.return_credit(slot, charged);
        }
        self.drop_packet(index, slot, reason);
    }

    /// Drops a packet that has nowhere to go. If that is because of a fault, it says so.
    #[cold]
    #[inline(never)]
    fn drop_unrouted(&mut self, slot: Slot, index: PacketId) {
        let broken = self.convergence.is_disturbed();
        self.drop_arrived(slot, index, if broken { Drop::LinkDown } else { Drop::NoRoute });
    }

    /// The port by which a packet leaves a switch, if there is one.
    fn way(
        &mut self,
        switch: SwitchId,
        index: PacketId,
        packet: &Packet,
        class: u8,
    ) -> Result<PortId, Drop> {
        if packet.hops >= MAX_HOPS {
            return Err(Drop::Loop);
        }
        let flow = self.headers.get(index).flow;
        let pins = match self.flows.get(flow).and_then(|flow| flow.pins.as_ref()) {
            Some(pins) if packet.flags & flag::PINNED != 0 => pins,
            _ => {
                let seed = self.switches[switch].hash_seed;
                let hash = self.hashing.at(switch, packet.entropy);
                let next = self.routing.next(switch, packet.dst, hash, seed);
                let next = next.or_else(|| self.balance(switch, packet, hash, class));
                return next.ok_or(Drop::NoRoute);
            }
        };
        let path = if packet.flags & flag::TO_INITIATOR != 0 { &pins.back } else { &pins.forth };
        path.get(usize::from(packet.hops) - 1).copied().ok_or(Drop::NoRoute)
    }

    /// The port by which a packet leaves a switch that hashes. Those that follow find it in its trail.
    #[inline(never)]
    fn look_up(&mut self, switch: SwitchId, index: PacketId) -> Option<PortId> {
        let packet = self.packets.get(index);
        if packet.hops >= MAX_HOPS {
            return None;
        }
        let seed = self.switches[switch].hash_seed;
        let hash = self.hashing.at(switch, packet.entropy);
        let out = self.routing.next(switch, packet.dst, hash, seed)?;
        self.trails.leave(packet.to, packet.stamp, packet.hops - 1, out);
        Some(out)
    }

    /// A cut-through switch with a faster egress would run dry: the packet arrives again when
    /// enough of it is here. Whether that is so.
    fn waits_for_its_tail(&mut self, port: PortId, out: PortId, index: PacketId) -> bool {
        let packet = self.packets.get_mut(index);
        let egress = &self.ports[out];
        let size = u32::from(packet.size) + self.gap;
        let ingress_byte = self.ports[port].byte_time;
        let (slow, fast) = (ingress_byte.times(size), egress.byte_time.times(size));
        if fast >= slow {
            return false;
        }
        packet.flags |= flag::WHOLE;
        packet.hops -= 1;
        let wait = (slow - fast).saturating_sub(head_time(ingress_byte, size, self.gap));
        self.schedule(self.now + wait, Kind::Arrive, port, index);
        true
    }
}
