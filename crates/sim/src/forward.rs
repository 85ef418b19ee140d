//! A packet arrives at a switch: classify, route, admit, and queue it or pass it straight on.

use crate::buffer::Admission;
use crate::engine::{Engine, MAX_HOPS};
use crate::event::{EventQueue, Kind};
use crate::packet::{Packet, flag};
use crate::port::{Slot, port_flag};
use crate::report::Drop;
use xoff_fabric::rules::hash;

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
        let packet = *packet;
        let class = state.classes[usize::from(packet.dscp & 63)];
        let out = match self.route(switch, state.seed, &packet) {
            Some(out) if packet.hops < MAX_HOPS => out,
            route => {
                let reason = if route.is_some() { Drop::Loop } else { Drop::NoRoute };
                return self.drop_flight(index, Slot::new(port, class), reason);
            }
        };
        if state.cut_through && self.waits_for_its_tail(port, out, index) {
            return;
        }
        self.admit(Slot::new(port, class), Slot::new(out, class), switch, index);
    }

    /// Takes a packet into the buffer and towards its egress port.
    #[inline(always)]
    fn admit(&mut self, slot: Slot, out: Slot, switch: u32, index: u32) {
        if self.ports[out.port() as usize].stuck & out.bit() != 0 && self.discards(out.port()) {
            return self.drop_flight(index, out, Drop::Watchdog);
        }
        let state = &mut self.switches[switch as usize];
        let packet = self.flights.get_mut(index);
        packet.charged = match state.cell {
            0 => packet.size,
            cell => packet.size.div_ceil(cell) * cell,
        };
        packet.ingress = slot.0;
        let (size, charged) = (u32::from(packet.size), u32::from(packet.charged));

        let egress = &mut self.ports[out.port() as usize];
        let idle = egress.busy_until <= self.now
            && egress.wake_at > self.now
            && egress.waiting | egress.to_tell() | egress.paused & out.bit() == 0;
        let egress = egress.lane(out.class());
        let rules = &self.profiles[egress.profile as usize];
        if rules.egress_limited {
            let limit = rules.egress.given(state.shared.free);
            if u64::from(egress.queue.bytes) + u64::from(size) > limit {
                return self.drop_flight(index, out, Drop::EgressLimit);
            }
        }

        let ingress = &mut self.ports[slot.port() as usize];
        let asked = ingress.xoff & slot.bit() != 0;
        let lane = ingress.lane(slot.class());
        let rules = &self.profiles[lane.profile as usize];
        if idle && !asked && lane.ingress.passes(charged, rules, &state.shared) {
            return self.pass(out, index, size);
        }
        match lane.ingress.admit(charged, rules, &mut state.shared) {
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
        let packet = self.flights.take(index);
        self.enqueue(out, packet);
    }

    /// Sends a packet on at once: its port is idle, nothing waits, and the buffer has plenty of
    /// room, so that taking it in and letting it go in the same instant would change nothing.
    #[inline(always)]
    fn pass(&mut self, out: Slot, index: u32, size: u32) {
        let port = &mut self.ports[out.port() as usize];
        let queue = &mut port.lane(out.class()).queue;
        queue.deepest = queue.deepest.max(size);
        let packet = *self.flights.get_mut(index);
        if packet.flags & flag::INT != 0 {
            self.stamp(out.port(), packet.letter);
        }
        self.launch(out, index, size);
    }

    /// Queues a packet at a port and starts it if the port is free.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, out: Slot, packet: Packet) {
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

    /// The port a packet leaves by. This is where other load balancing than ECMP will go.
    #[inline(always)]
    fn route(&self, switch: u32, seed: u32, packet: &Packet) -> Option<u32> {
        if packet.flags & flag::PINNED != 0 {
            return self.pinned(packet);
        }
        let choices = self.candidates(switch, packet.dst);
        match choices {
            [] => None,
            [only] => Some(only.0),
            _ => Some(choices[hash::pick(packet.entropy, seed, choices.len())].0),
        }
    }

    /// The next port of a pinned path.
    #[cold]
    fn pinned(&self, packet: &Packet) -> Option<u32> {
        let pins = self.flows[packet.flow as usize].pins.as_ref()?;
        let path = if packet.flags & flag::TO_INITIATOR != 0 { &pins.back } else { &pins.forth };
        path.get(usize::from(packet.hops) - 1).copied()
    }

    /// A cut-through switch with a faster egress would run dry: the packet arrives again when
    /// enough of it is here. Whether that is so.
    #[cold]
    fn waits_for_its_tail(&mut self, port: u32, out: u32, index: u32) -> bool {
        let packet = self.flights.get_mut(index);
        let again = packet.flags & flag::WHOLE != 0;
        packet.flags &= !flag::WHOLE;
        let egress = &self.ports[out as usize];
        // A NIC takes packets whole in any case.
        if again || egress.flags & port_flag::NIC != 0 {
            return false;
        }
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
