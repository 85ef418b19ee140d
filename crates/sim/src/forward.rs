//! A packet arrives at a switch: classify, route, admit, and queue it or pass it straight on.

use crate::buffer::Admission;
use crate::engine::{Engine, MAX_HOPS};
use crate::event::{EventQueue, Kind};
use crate::packet::{Packet, flag};
use crate::port::Slot;
use crate::report::Drop;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet has arrived at a port: all of it, or enough of it to cut through.
    #[inline(never)]
    pub(crate) fn arrive(&mut self, port: u32, index: u32) {
        let here = &self.ports[port as usize];
        if here.is_nic() {
            return self.receive(port, index);
        }
        let switch = here.owner;
        let state = &self.switches[switch as usize];
        let packet = self.flights.get_mut(index);
        packet.hops += 1;
        let class = state.classes[usize::from(packet.dscp & 63)];
        let slot = Slot::new(port, class);
        packet.ingress = slot.0;
        packet.charged = match state.cell {
            0 => packet.size,
            cell => packet.size.div_ceil(cell) * cell,
        };
        let (size, charged) = (u32::from(packet.size), u32::from(packet.charged));
        let out = if (packet.flags & flag::PINNED) as u32 | packet.hops as u32 >> 6 != 0 {
            let packet = *packet;
            match self.pinned(switch, &packet) {
                Ok(out) => out,
                Err(reason) => return self.drop_flight(index, slot, reason),
            }
        } else {
            let (row, dst, entropy) = (packet.row, packet.dst, packet.entropy);
            match self.routing.next(switch, row, dst, entropy, state.mixed_seed) {
                Some(out) => out,
                None => return self.drop_flight(index, slot, Drop::NoRoute),
            }
        };
        if state.cut_through && self.waits_for_its_tail(port, out, index) {
            return;
        }
        let out = Slot::new(out, class);
        let egress = &mut self.ports[out.port() as usize];
        if (egress.stuck | egress.limited) & out.bit() != 0
            && let Some(reason) = self.egress_refuses(out, switch, size)
        {
            return self.drop_flight(index, out, reason);
        }
        let egress = &self.ports[out.port() as usize];
        let idle = egress.busy_until <= self.now
            && egress.wake_at > self.now
            && egress.waiting | egress.to_tell() | egress.paused & out.bit() == 0;

        let shared = &mut self.switches[switch as usize].shared;
        let here = &mut self.ports[port as usize];
        let asked = here.xoff & slot.bit() != 0;
        let lane = here.lane(class);
        let rules = &self.profiles[lane.profile as usize];
        if idle && !asked && lane.ingress.passes(charged, rules, shared) {
            return self.pass(out, index, size);
        }
        match lane.ingress.admit(charged, rules, shared) {
            Admission::Taken => {}
            Admission::TakenAndPause => {
                if !asked {
                    self.ask_pause(slot);
                }
            }
            Admission::Refused => {
                let reason = if rules.lossless { Drop::Headroom } else { Drop::IngressLimit };
                return self.drop_flight(index, slot, reason);
            }
        }
        let port = &mut self.ports[out.port() as usize];
        port.waiting |= out.bit();
        port.lane(class).queue.push(&mut self.chunks, self.flights.get(index));
        self.flights.release(index);
        if port.paused & out.bit() == 0 {
            self.kick(out.port());
        }
    }

    /// Sends a packet on at once: its port is idle, nothing waits, and the buffer has plenty of
    /// room, so that taking it in and letting it go in the same instant would change nothing.
    #[inline(always)]
    fn pass(&mut self, out: Slot, index: u32, size: u32) {
        let packet = self.flights.get_mut(index);
        if packet.flags & flag::INT != 0 {
            let letter = packet.letter;
            self.stamp(out.port(), letter);
        }
        let queue = &mut self.ports[out.port() as usize].lane(out.class()).queue;
        queue.deepest = queue.deepest.max(size);
        self.launch(out, index, size);
    }

    /// Why an egress queue that is stuck or limited does not take a packet, if it does not.
    #[cold]
    fn egress_refuses(&mut self, out: Slot, switch: u32, size: u32) -> Option<Drop> {
        let port = &mut self.ports[out.port() as usize];
        let (stuck, limited) = (port.stuck & out.bit() != 0, port.limited & out.bit() != 0);
        let lane = port.lane(out.class());
        let limit = &self.profiles[lane.profile as usize].egress;
        let free = self.switches[switch as usize].shared.free;
        if limited && u64::from(lane.queue.bytes) + u64::from(size) > limit.given(free) {
            return Some(Drop::EgressLimit);
        }
        (stuck && self.discards(out.port())).then_some(Drop::Watchdog)
    }

    /// Queues a packet at a port and starts it if the port is free.
    pub(crate) fn enqueue(&mut self, out: Slot, packet: &Packet) {
        let port = &mut self.ports[out.port() as usize];
        port.waiting |= out.bit();
        port.lane(out.class()).queue.push(&mut self.chunks, packet);
        if port.paused & out.bit() == 0 {
            self.kick(out.port());
        }
    }

    /// Drops a packet that has just arrived.
    #[cold]
    fn drop_flight(&mut self, index: u32, slot: Slot, reason: Drop) {
        let packet = self.flights.take(index);
        self.drop_packet(&packet, slot, reason);
    }

    /// The port that a packet with a pinned path, or one that has been going round, leaves by.
    #[cold]
    fn pinned(&self, switch: u32, packet: &Packet) -> Result<u32, Drop> {
        if packet.hops >= MAX_HOPS {
            return Err(Drop::Loop);
        }
        let Some(pins) = &self.flows[packet.flow as usize].pins else {
            let seed = self.switches[switch as usize].mixed_seed;
            let next = self.routing.next(switch, packet.row, packet.dst, packet.entropy, seed);
            return next.ok_or(Drop::NoRoute);
        };
        let path = if packet.flags & flag::TO_INITIATOR != 0 { &pins.back } else { &pins.forth };
        path.get(usize::from(packet.hops) - 1).copied().ok_or(Drop::NoRoute)
    }

    /// A cut-through switch with a faster egress would run dry: the packet arrives again when
    /// enough of it is here. Whether that is so.
    #[cold]
    fn waits_for_its_tail(&mut self, port: u32, out: u32, index: u32) -> bool {
        let packet = self.flights.get_mut(index);
        let again = packet.flags & flag::WHOLE != 0;
        packet.flags &= !flag::WHOLE;
        if again {
            return false;
        }
        let egress = &self.ports[out as usize];
        let size = u32::from(packet.size) + self.gap;
        let ingress_byte = self.ports[port as usize].byte_time;
        let (slow, fast) = (ingress_byte.times(size), egress.byte_time.times(size));
        if fast >= slow {
            return false;
        }
        packet.flags |= flag::WHOLE;
        packet.hops -= 1;
        let wait = (slow - fast).saturating_sub(self.head_time(ingress_byte, size));
        self.schedule(self.now + wait, Kind::Arrive, port, index);
        true
    }
}
