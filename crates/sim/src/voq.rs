//! Switches with virtual output queues: packets wait at their ingress until their egress grants credits.
//!
//! Every pair of ports has a queue per class ([`Voq`]), so that a packet never waits behind one for
//! another port. The buffer is the one of [`crate::buffer`], charged to the ingress: its thresholds pause
//! and drop there. An egress ([`Outlet`]) grants credits to the queues that have packets for it, in
//! turn, as long as what it has granted and not yet sent fits its own small buffer. That buffer holds
//! what the port sends in the time of a credit and of the fabric, a quarter more, and two packets: enough
//! never to run dry, and never exceeded. A packet with credit crosses the cell fabric in a constant time;
//! the fabric's links from and to a port ([`Gate`]) are faster than the port by the speed-up.
//!
//! A shared-buffer switch has nothing of this on its way: ports with virtual output queues have
//! [`port_flag::VOQ`](crate::port::port_flag::VOQ), which keeps packets from passing straight through,
//! and packets behind the fabric are charged to no ingress.
//!
//! Left out: memories of single line cards (a switch has one), cells that are lost or arrive out of order
//! inside the fabric, the move of long queues from on-chip memory to HBM and back, and deadlocks through
//! such switches, which end a run as stalled instead of being found.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, Table};
use crate::packet::{Packet, Packets, Queue, flag};
use crate::port::Slot;
use crate::report::Drop;
use std::collections::VecDeque;
use xoff_fabric::model::{CLASSES, Fabric, PortId, Switch, SwitchId};
use xoff_fabric::rules::packet;
use xoff_units::{ByteTime, Bytes, Instant, Rate, Span};

/// Bytes of one credit.
const CREDIT: i32 = 4096;

/// No queue gets longer, whatever the thresholds say: lengths are counted in 32 bits.
const LONGEST: u64 = 1 << 31;

/// What waits at one ingress for one egress and class.
#[derive(Debug, Clone, Copy, Default)]
struct Voq {
    queue: Queue,
    /// Credit left, or overdrawn by the last packet.
    balance: i32,
}

/// One class of an egress port.
#[derive(Debug, Clone)]
struct Outlet {
    /// Ingresses with something for it, counted within the switch, in the order of their turns.
    turns: VecDeque<u16>,
    /// Bytes that were granted and have not left by the wire.
    granted: u32,
    /// It grants while less than this is granted.
    window: u32,
    /// Bytes that wait for it at all ingresses, and the most there ever were.
    waiting: u64,
    deepest: u64,
}

/// The fabric's links of one port.
#[derive(Debug, Clone, Copy)]
struct Gate {
    byte_time: ByteTime,
    /// The link into the fabric is taken until then,
    in_free: Instant,
    /// and the one out of it.
    out_free: Instant,
}

/// The virtual output queues of one switch.
#[derive(Debug, Clone)]
pub(crate) struct Voqs {
    first: PortId,
    ports: usize,
    /// By egress and class, then ingress.
    queues: Vec<Voq>,
    /// By egress and class.
    outlets: Vec<Outlet>,
    gates: Vec<Gate>,
    /// From a grant to the egress.
    transit: Span,
}

/// The virtual output queues of all switches; nothing at all if none has them.
pub(crate) fn initial(fabric: &Fabric) -> Table<SwitchId, Option<Box<Voqs>>> {
    if fabric.switches.iter().all(|switch| switch.voq.is_none()) {
        return Table::new();
    }
    fabric.switches.iter().map(|switch| Voqs::new(fabric, switch).map(Box::new)).collect()
}

/// Whether a port belongs to a switch with virtual output queues.
pub(crate) fn governs(fabric: &Fabric, port: PortId) -> bool {
    let switch = fabric.node_switch(fabric.ports[port.index()].node);
    switch.is_some_and(|switch| fabric.switches[switch.index()].voq.is_some())
}

impl Voqs {
    fn new(fabric: &Fabric, switch: &Switch) -> Option<Self> {
        let voq = switch.voq?;
        let ports = switch.ports.len();
        let largest = fabric.nics.iter().map(|nic| packet::largest(&nic.qp)).max();
        let rate = |port: PortId| fabric.cable(port).rate;
        let outlet = |port: PortId| Outlet {
            turns: VecDeque::with_capacity(ports),
            granted: 0,
            window: window(rate(port), switch.transit(), largest.unwrap_or_default()),
            waiting: 0,
            deepest: 0,
        };
        let gate = |port: PortId| Gate {
            byte_time: ByteTime::of(Rate::from_bps(voq.speed_up.of(rate(port).bps()))),
            in_free: Instant::ZERO,
            out_free: Instant::ZERO,
        };
        let each = |port: PortId| std::iter::repeat_n(outlet(port), CLASSES);
        Some(Self {
            first: PortId(switch.ports.start),
            ports,
            queues: vec![Voq::default(); ports * CLASSES * ports],
            outlets: switch.ports.clone().map(PortId).flat_map(each).collect(),
            gates: switch.ports.clone().map(PortId).map(gate).collect(),
            transit: switch.transit(),
        })
    }

    fn local(&self, port: PortId) -> usize {
        (port.0 - self.first.0) as usize
    }

    fn outlet(&self, out: Slot) -> usize {
        self.local(out.port()) * CLASSES + usize::from(out.class())
    }

    /// Queues a packet of `ingress` for `out`.
    fn push(
        &mut self,
        ingress: PortId,
        out: Slot,
        packets: &mut Packets,
        index: PacketId,
        size: u16,
    ) {
        let (from, at) = (self.local(ingress), self.outlet(out));
        let voq = &mut self.queues[at * self.ports + from];
        let outlet = &mut self.outlets[at];
        if voq.queue.is_empty() {
            outlet.turns.push_back(from as u16);
        }
        voq.queue.push(packets, index, size);
        outlet.waiting += u64::from(size);
        outlet.deepest = outlet.deepest.max(outlet.waiting);
    }

    /// The next packet that `out` grants: the packet, and what is left in its queue.
    fn grant(&mut self, out: Slot, packets: &mut Packets) -> Option<(PacketId, u32)> {
        let at = self.outlet(out);
        let outlet = &mut self.outlets[at];
        if outlet.granted >= outlet.window {
            return None;
        }
        let from = *outlet.turns.front()?;
        let voq = &mut self.queues[at * self.ports + usize::from(from)];
        if voq.balance <= 0 {
            voq.balance += CREDIT;
        }
        let (index, packet) = voq.queue.pop(packets);
        let size = u32::from(packet.size);
        voq.balance -= size as i32;
        outlet.granted += size;
        outlet.waiting -= u64::from(size);
        if voq.queue.is_empty() {
            // Credit is not kept for later; what was overdrawn is owed.
            voq.balance = voq.balance.min(0);
            outlet.turns.pop_front();
        } else if voq.balance <= 0 {
            outlet.turns.rotate_left(1);
        }
        Some((index, voq.queue.bytes))
    }

    /// When a packet with credit reaches its egress. No two reach one egress in the same instant.
    fn cross(&mut self, now: Instant, from: PortId, to: PortId, size: u32) -> Instant {
        let (from, to) = (self.local(from), self.local(to));
        let gate = &mut self.gates[from];
        let sent = gate.in_free.max(now);
        gate.in_free = sent + gate.byte_time.times(size);
        let gate = &mut self.gates[to];
        let arrival = (sent + self.transit).max(gate.out_free);
        gate.out_free = arrival + gate.byte_time.times(size.max(1));
        arrival
    }

    /// Bytes that wait at all ingresses for a port and class.
    pub(crate) fn waiting(&self, out: Slot) -> u64 {
        self.outlets[self.outlet(out)].waiting
    }

    /// The most there ever were.
    pub(crate) fn deepest(&self, out: Slot) -> u64 {
        self.outlets[self.outlet(out)].deepest
    }

    /// Every packet that waits at an ingress.
    pub(crate) fn packets<'a>(&'a self, all: &'a Packets) -> impl Iterator<Item = &'a Packet> {
        self.queues.iter().flat_map(|voq| voq.queue.iter(all))
    }
}

/// What an egress may have granted at a time.
fn window(rate: Rate, loop_time: Span, largest: Bytes) -> u32 {
    let bytes = rate.bytes_in(loop_time).get();
    (bytes + bytes / 4 + 2 * largest.get()).min(u64::from(u32::MAX >> 2)) as u32
}

impl<Q: EventQueue> Engine<'_, Q> {
    fn voqs_at(&mut self, port: PortId) -> Option<&mut Voqs> {
        let here = &self.ports[port];
        if here.is_nic() {
            return None;
        }
        let switch = here.switch();
        self.voqs.get_mut(switch)?.as_deref_mut()
    }

    /// Takes an arrived packet into the buffer, and queues it at its ingress for the port it leaves by.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_into_voq(&mut self, slot: Slot, out: Slot, index: PacketId) {
        let egress = &self.ports[out.port()];
        let switch = egress.switch();
        let (stuck, limited) = (egress.stuck & out.bit() != 0, egress.limited & out.bit() != 0);
        let rules = &self.profiles[egress.lanes[usize::from(out.class())].profile as usize];
        let state = &self.switches[switch];
        let limit = if limited { rules.egress.given(state.shared.free) } else { LONGEST };
        let packet = self.packets.get_mut(index);
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
        if let Some(voqs) = self.voqs[switch].as_deref_mut() {
            voqs.push(slot.port(), out, &mut self.packets, index, size);
        }
        self.grant_credits(out);
    }

    /// Grants credits for a port and class as long as its own buffer has room.
    fn grant_credits(&mut self, out: Slot) {
        let switch = self.ports[out.port()].switch();
        while let Some(voqs) = self.voqs[switch].as_deref_mut()
            && let Some((index, left)) = voqs.grant(out, &mut self.packets)
        {
            let packet = self.packets.get_mut(index);
            let (size, flags, charged) = (packet.size, packet.flags, packet.charged);
            let ingress = std::mem::replace(&mut packet.ingress, Slot::NONE);
            let arrival = voqs.cross(self.now, ingress.port(), out.port(), size.into());
            let kmin = self.ports[out.port()].lanes[usize::from(out.class())].kmin;
            if left > kmin && flags & flag::ECT != 0 && self.marks(out, left) {
                self.mark(out, index);
            }
            // Ids beyond the NICs are ports of switches: see `Kind::Drain`.
            self.schedule(arrival, Kind::Drain, self.nics.len() as u32 + out.port().0, index);
            self.release(ingress, charged);
        }
    }

    /// A packet comes out of the fabric at its egress.
    pub(crate) fn leave_fabric(&mut self, port: PortId, index: PacketId) {
        let switch = self.ports[port].switch();
        let packet = self.packets.get(index);
        let class = self.switches[switch].classes[usize::from(packet.dscp & 63)];
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
            let switch = self.ports[out.port()].switch();
            while let Some(voqs) = self.voqs[switch].as_deref_mut()
                && !voqs.queues[queue].queue.is_empty()
            {
                let (index, packet) = voqs.queues[queue].queue.pop(&mut self.packets);
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
        let nics = self.nics.len() as u32;
        let crossing = self.events.pending().filter(|(key, _)| key.is(Kind::Drain));
        crossing.filter_map(move |(key, index)| {
            Some((PortId(key.id().checked_sub(nics)?), PacketId(index)))
        })
    }

    /// What an egress has granted is in the fabric or in its buffer, and what waits for it at ingresses.
    pub(crate) fn assert_voqs(&self) {
        for voqs in self.voqs.iter().flatten() {
            let mut granted = vec![0u64; voqs.outlets.len()];
            for port in 0..voqs.ports {
                let state = &self.ports[PortId(voqs.first.0 + port as u32)];
                for (class, lane) in state.lanes.iter().enumerate() {
                    granted[port * CLASSES + class] += u64::from(lane.queue.bytes);
                }
            }
            let here = voqs.first..PortId(voqs.first.0 + voqs.ports as u32);
            for (port, index) in self.in_fabrics().filter(|(port, _)| here.contains(port)) {
                let packet = self.packets.get(index);
                let state = &self.switches[self.ports[port].switch()];
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
