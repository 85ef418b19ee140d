//! Switches with virtual output queues: packets wait at their ingress until their egress grants credits.
//!
//! Every pair of ports has a queue per class (`state::Voq`), so that a packet never waits behind one for
//! another port. The buffer is the one of [`crate::switch::buffer`], charged to the ingress: its thresholds pause
//! and drop there. An egress (`state::Outlet`) grants credits to the queues that have packets for it, in
//! turn, as long as what it has granted and not yet sent fits its own small buffer. That buffer holds
//! what the port sends in the time of a credit and of the fabric, a quarter more, and two packets: enough
//! never to run dry, and never exceeded. A packet with credit crosses the cell fabric in a constant time;
//! the fabric's links from and to a port (`state::Gate`) are faster than the port by the speed-up.
//!
//! A shared-buffer switch has nothing of this on its way: ports with virtual output queues have
//! [`port_flag::VOQ`](crate::switch::port::port_flag::VOQ), which keeps packets from passing straight through,
//! and packets behind the fabric are charged to no ingress.
//!
//! Left out: memories of single line cards (a switch has one), cells that are lost or arrive out of order
//! inside the fabric, the move of long queues from on-chip memory to HBM and back, and deadlocks through
//! such switches, which end a run as stalled instead of being found.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, Slot};
use crate::report::Drop;
use crate::switch::packet::flag;
use state::{LONGEST, Voqs};
use xoff_fabric::model::{CLASSES, PortId};

impl<Q: EventQueue> Engine<'_, Q> {
    fn voqs_at(&mut self, port: PortId) -> Option<&mut Voqs> {
        let here = &self.net.ports[port];
        if here.is_nic() {
            return None;
        }
        let switch = here.switch();
        self.net.voqs.get_mut(switch)?.as_deref_mut()
    }

    /// Takes an arrived packet into the buffer, and queues it at its ingress for the port it leaves by.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_into_voq(&mut self, slot: Slot, out: Slot, index: PacketId) {
        let egress = &self.net.ports[out.port()];
        let switch = egress.switch();
        let (stuck, limited) = (egress.stuck & out.bit() != 0, egress.limited & out.bit() != 0);
        let rules = &self.net.profiles[egress.lanes[out.class().index()].profile as usize];
        let state = &self.net.switches[switch];
        let limit = if limited { rules.egress.given(state.shared.free) } else { LONGEST };
        let packet = self.net.packets.get_mut(index);
        packet.ingress = slot;
        packet.charged = state.charge(packet.size);
        packet.flags &= !flag::WHOLE;
        let (size, charged) = (packet.size, packet.charged);
        let Some(voqs) = self.voqs_at(slot.port()) else { return };
        let at = voqs.outlet(out) * voqs.ports + voqs.local(slot.port());
        let length = u64::from(voqs.queues[at].queue.bytes) + u64::from(size);
        if length > limit.min(LONGEST) {
            return self.refuse(slot, out, index, Drop::EgressLimit);
        }
        if stuck && self.discards(out.port()) {
            return self.refuse(slot, out, index, Drop::Watchdog);
        }
        if let Err(reason) = self.admit(slot, u32::from(charged)) {
            return self.drop_arrived(slot, index, reason);
        }
        if let Some(voqs) = self.net.voqs[switch].as_deref_mut() {
            voqs.push(slot.port(), out, &mut self.net.packets, index, size);
        }
        self.grant_credits(out);
    }

    /// Grants credits for a port and class as long as its own buffer has room.
    fn grant_credits(&mut self, out: Slot) {
        let switch = self.net.ports[out.port()].switch();
        while let Some(voqs) = self.net.voqs[switch].as_deref_mut()
            && let Some((index, left)) = voqs.grant(out, &mut self.net.packets)
        {
            let packet = self.net.packets.get_mut(index);
            let (size, flags, charged) = (packet.size, packet.flags, packet.charged);
            let ingress = std::mem::replace(&mut packet.ingress, Slot::NONE);
            let arrival = voqs.cross(self.now, ingress.port(), out.port(), size.into());
            let kmin = self.net.ports[out.port()].lanes[out.class().index()].kmin;
            if left > kmin && flags & flag::ECT != 0 && self.marks(out, left) {
                self.mark(out, index);
            }
            // Ids beyond the NICs are ports of switches: see `Kind::Drain`.
            self.schedule(arrival, Kind::Drain, self.hosts.nics.len() as u32 + out.port().0, index);
            self.release(ingress, charged);
        }
    }

    /// A packet comes out of the fabric at its egress.
    pub(crate) fn leave_fabric(&mut self, port: PortId, index: PacketId) {
        let switch = self.net.ports[port].switch();
        let packet = self.net.packets.get(index);
        let class = self.net.switches[switch].classes[usize::from(packet.dscp & 63)];
        let size = packet.size;
        self.enqueue(Slot::new(port, class), index, size);
    }

    /// A packet joined an egress with virtual output queues without a credit, because the switch made it
    /// itself: it takes room like the others.
    pub(crate) fn egress_joined(&mut self, out: Slot, size: u32) {
        let Some(voqs) = self.voqs_at(out.port()) else { return };
        let at = voqs.outlet(out);
        voqs.outlets[at].granted += size;
    }

    /// A packet of an egress with virtual output queues has left it by the wire, or was dropped: there is
    /// room for another.
    #[cold]
    #[inline(never)]
    pub(crate) fn egress_left(&mut self, out: Slot, size: u32) {
        let Some(voqs) = self.voqs_at(out.port()) else { return };
        let at = voqs.outlet(out);
        let outlet = &mut voqs.outlets[at];
        debug_assert!(outlet.granted >= size, "more left an egress than was granted");
        outlet.granted -= size;
        self.grant_credits(out);
    }

    /// Drops everything that waits at ingresses for a port and class.
    pub(crate) fn flush_voqs(&mut self, out: Slot, reason: Drop) {
        let Some(voqs) = self.voqs_at(out.port()) else { return };
        let at = voqs.outlet(out);
        let queues = at * voqs.ports..(at + 1) * voqs.ports;
        for queue in queues {
            let switch = self.net.ports[out.port()].switch();
            while let Some(voqs) = self.net.voqs[switch].as_deref_mut()
                && !voqs.queues[queue].queue.is_empty()
            {
                let (index, packet) = voqs.queues[queue].queue.pop(&mut self.net.packets);
                let (ingress, charged) = (packet.ingress, packet.charged);
                voqs.outlets[at].waiting -= u64::from(packet.size);
                self.release(ingress, charged);
                self.drop_packet(index, out, reason);
            }
        }
        if let Some(voqs) = self.voqs_at(out.port()) {
            voqs.outlets[at].turns.clear();
        }
    }

    /// Packets that cross a fabric: the port they leave by, and which they are.
    pub(crate) fn in_fabrics(&self) -> impl Iterator<Item = (PortId, PacketId)> {
        let nics = self.hosts.nics.len() as u32;
        let crossing = self.events.pending().filter(|(key, _)| key.is(Kind::Drain));
        crossing.filter_map(move |(key, index)| {
            Some((PortId(key.id().checked_sub(nics)?), PacketId(index)))
        })
    }

    /// What an egress has granted is in the fabric or in its buffer, and what waits for it at ingresses.
    pub(crate) fn assert_voqs(&self) {
        for voqs in self.net.voqs.iter().flatten() {
            let mut granted = vec![0u64; voqs.outlets.len()];
            for port in 0..voqs.ports {
                let state = &self.net.ports[PortId(voqs.first.0 + port as u32)];
                for (class, lane) in state.lanes.iter().enumerate() {
                    granted[port * CLASSES + class] += u64::from(lane.queue.bytes);
                }
            }
            let here = voqs.first..PortId(voqs.first.0 + voqs.ports as u32);
            for (port, index) in self.in_fabrics().filter(|(port, _)| here.contains(port)) {
                let packet = self.net.packets.get(index);
                let state = &self.net.switches[self.net.ports[port].switch()];
                let class = state.classes[usize::from(packet.dscp & 63)];
                granted[voqs.outlet(Slot::new(port, class))] += u64::from(packet.size);
            }
            for (at, outlet) in voqs.outlets.iter().enumerate() {
                assert_eq!(u64::from(outlet.granted), granted[at], "credits of an egress");
                let most = u64::from(outlet.window) + u64::from(u16::MAX);
                assert!(granted[at] <= most, "an egress buffer overflowed");
                let queues = &voqs.queues[at * voqs.ports..(at + 1) * voqs.ports];
                let waiting: u64 = queues.iter().map(|voq| u64::from(voq.queue.bytes)).sum();
                assert_eq!(outlet.waiting, waiting, "what waits for an egress");
                let turns = queues.iter().filter(|voq| !voq.queue.is_empty()).count();
                assert_eq!(outlet.turns.len(), turns, "queues that wait have a turn each");
            }
        }
    }
}
