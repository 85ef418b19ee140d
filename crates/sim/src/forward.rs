//! A packet arrives at a switch: classify, route, admit, and queue it or pass it straight on.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, Slot};
use crate::report::Drop;
use crate::switch::buffer::Admission;
use crate::switch::packet::flag;
use crate::switch::port::{Wake, head_time, port_flag};
use xoff_fabric::model::PortId;

/// Packets with any of these do not take the short way through a switch.
const SPECIAL: u8 = flag::PINNED | flag::INT | flag::WHOLE | flag::LOST;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet has arrived at a port: all of it, or enough of it to cut through.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, port: PortId, index: PacketId) {
        let switch = self.net.ports[port].switch();
        let state = &self.net.switches[switch];
        let packet = self.net.packets.get_mut(index);
        let passed = packet.hops;
        packet.hops += 1;
        let class = state.classes[usize::from(packet.dscp & 63)];
        let slot = Slot::new(port, class);
        if packet.flags & SPECIAL != 0 {
            return self.arrive_specially(slot, index);
        }
        let size = u32::from(packet.size);
        let known = self.net.trails.next(packet.to, packet.stamp, passed);
        let out = match known.map_or_else(|| self.look_up(switch, index, class), Ok) {
            Ok(out) => out,
            Err(reason) => return self.drop_without_way(slot, index, reason),
        };
        let state = &self.net.switches[switch];
        // Mostly the way out is idle and the buffer has plenty of room: taking the packet in and
        // letting it go in the same instant would change nothing, so it passes.
        if !Q::BY_TURN
            && let Some([here, egress]) = self.net.ports.get_two_mut(port, out)
            && egress.is_idle(self.now, class)
            && (egress.byte_time >= here.byte_time || !state.cut_through)
            && here.xoff & class.bit() == 0
            && here.lane(class).ingress.passes(state.charge(size as u16).into(), &state.shared)
        {
            let queue = &mut egress.lane(class).queue;
            queue.deepest = queue.deepest.max(size);
            let arrival = egress.take_wire(self.now, class, size, self.net.gap);
            let (key, flags) = (egress.arrival, egress.flags);
            return self.schedule_arrival(arrival, key, flags, index);
        }
        self.take_in(slot, out, index);
    }

    /// The same for a packet whose way is pinned, which waited for its tail, which collects telemetry, or whose cable went
    /// dead.
    #[inline(never)]
    fn arrive_specially(&mut self, slot: Slot, index: PacketId) {
        let switch = self.net.ports[slot.port()].switch();
        let packet = *self.net.packets.get(index);
        if packet.flags & flag::LOST != 0 {
            return self.lose_arrived(slot, index);
        }
        match self.way(switch, index, &packet, slot.class()) {
            Ok(out) => self.take_in(slot, out, index),
            Err(reason) => self.drop_without_way(slot, index, reason),
        }
    }

    /// Takes an arrived packet into the buffer, and queues it at the port it leaves by.
    #[inline(never)]
    pub(crate) fn take_in(&mut self, slot: Slot, out: PortId, index: PacketId) {
        let out = Slot::new(out, slot.class());
        let egress = &self.net.ports[out.port()];
        if egress.flags & port_flag::VOQ != 0 {
            return self.take_into_voq(slot, out, index);
        }
        let (egress_byte, special) = (egress.byte_time, egress.stuck | egress.limited);
        let here = &mut self.net.ports[slot.port()];
        let state = &mut self.net.switches[here.switch()];
        let packet = self.net.packets.get_mut(index);
        packet.ingress = slot;
        packet.charged = state.charge(packet.size);
        let (size, charged) = (u32::from(packet.size), u32::from(packet.charged));
        let again = packet.flags & flag::WHOLE != 0;
        packet.flags &= !flag::WHOLE;
        // Only a faster egress can run dry in the middle of a packet.
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
        let here = &mut self.net.ports[slot.port()];
        let state = &mut self.net.switches[here.switch()];
        let ingress = &mut here.lane(slot.class()).ingress;
        if ingress.passes(charged, &state.shared) {
            ingress.take_in(charged, &mut state.shared);
        } else if let Err(reason) = self.admit(slot, charged) {
            return self.drop_arrived(slot, index, reason);
        }
        if special & out.bit() != 0 {
            self.mark_at_enqueue(out, index);
        }
        let port = &mut self.net.ports[out.port()];
        port.waiting |= out.bit();
        port.lane(out.class()).queue.push(&mut self.net.packets, index, size as u16);
        self.net.balance.see(out.port(), port);
        if port.paused & out.bit() != 0 {
            return;
        }
        match port.plan_wake(self.now) {
            Wake::Known => {}
            Wake::At(at) => self.schedule_transmit(at, out.port(), index),
            Wake::Now => self.transmit_now(out.port()),
        }
    }

    /// Takes so many bytes into the buffer of a port that is near a limit, and pauses the peer if that
    /// is due. Why not, if it does not.
    #[inline(never)]
    pub(crate) fn admit(&mut self, slot: Slot, charged: u32) -> Result<(), Drop> {
        let here = &mut self.net.ports[slot.port()];
        let state = &mut self.net.switches[here.switch()];
        let asked = here.xoff & slot.bit() != 0;
        let lane = here.lane(slot.class());
        let rules = &self.net.profiles[lane.profile as usize];
        match lane.ingress.admit(charged, rules, &mut state.shared) {
            Admission::Taken => {}
            // The peer knows already: what comes now was on the cable.
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
        let port = &mut self.net.ports[out.port()];
        let switch = port.switch();
        let (stuck, limited) = (port.stuck & out.bit() != 0, port.limited & out.bit() != 0);
        let lane = port.lane(out.class());
        let limit = &self.net.profiles[lane.profile as usize].egress;
        let free = self.net.switches[switch].shared.free;
        if limited && u64::from(lane.queue.bytes) + u64::from(size) > limit.given(free) {
            return Some(Drop::EgressLimit);
        }
        (stuck && self.discards(out.port())).then_some(Drop::Watchdog)
    }

    /// Queues a packet of `size` bytes at a port and starts it if the port is free.
    pub(crate) fn enqueue(&mut self, out: Slot, index: PacketId, size: u16) {
        let port = &mut self.net.ports[out.port()];
        port.waiting |= out.bit();
        port.lane(out.class()).queue.push(&mut self.net.packets, index, size);
        self.net.balance.see(out.port(), port);
        if port.paused & out.bit() == 0 {
            self.kick(out.port());
        }
    }

    /// A cut-through switch with a faster egress would run dry: the packet arrives again when
    /// enough of it is here. Whether that is so.
    fn waits_for_its_tail(&mut self, port: PortId, out: PortId, index: PacketId) -> bool {
        let packet = self.net.packets.get_mut(index);
        let egress = &self.net.ports[out];
        let size = u32::from(packet.size) + self.net.gap;
        let ingress_byte = self.net.ports[port].byte_time;
        let (slow, fast) = (ingress_byte.times(size), egress.byte_time.times(size));
        if fast >= slow {
            return false;
        }
        packet.flags |= flag::WHOLE;
        packet.hops -= 1;
        let wait = (slow - fast).saturating_sub(head_time(ingress_byte, size, self.net.gap));
        self.schedule(self.now + wait, Kind::Arrive, port, index);
        true
    }
}
