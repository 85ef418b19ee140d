//! The virtual output queues of a switch, its egresses and its cell fabric.

use crate::id::{PacketId, Slot, Table};
use crate::switch::packet::{Packet, Packets, Queue};
use std::collections::VecDeque;
use xoff_fabric::model::{CLASSES, Fabric, PortId, Switch, SwitchId};
use xoff_fabric::rules::packet;
use xoff_units::{ByteTime, Bytes, Instant, Rate, Span};

/// Bytes of one credit.
pub(super) const CREDIT: i32 = 4096;

/// No queue gets longer, whatever the thresholds say: lengths are counted in 32 bits.
pub(super) const LONGEST: u64 = 1 << 31;

/// What waits at one ingress for one egress and class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Voq {
    pub(super) queue: Queue,
    /// Credit left, or overdrawn by the last packet.
    pub(super) balance: i32,
}

/// One class of an egress port.
#[derive(Debug, Clone)]
pub(super) struct Outlet {
    /// Ingresses with something for it, counted within the switch, in the order of their turns.
    pub(super) turns: VecDeque<u16>,
    /// Bytes that were granted and have not left by the wire.
    pub(super) granted: u32,
    /// It grants while less than this is granted.
    pub(super) window: u32,
    /// Bytes that wait for it at all ingresses, and the most there ever were.
    pub(super) waiting: u64,
    pub(super) deepest: u64,
}

/// The fabric's links of one port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gate {
    pub(super) byte_time: ByteTime,
    /// The link into the fabric is taken until then.
    pub(super) in_free: Instant,
    /// The link out of the fabric is taken until then.
    pub(super) out_free: Instant,
}

/// The virtual output queues of one switch.
#[derive(Debug, Clone)]
pub(crate) struct Voqs {
    pub(super) first: PortId,
    pub(super) ports: usize,
    /// By egress and class, then ingress.
    pub(super) queues: Vec<Voq>,
    /// By egress and class.
    pub(super) outlets: Vec<Outlet>,
    pub(super) gates: Vec<Gate>,
    /// From a grant to the egress.
    pub(super) transit: Span,
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
    pub(super) fn new(fabric: &Fabric, switch: &Switch) -> Option<Self> {
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

    pub(super) fn local(&self, port: PortId) -> usize {
        (port.0 - self.first.0) as usize
    }

    pub(super) fn outlet(&self, out: Slot) -> usize {
        self.local(out.port()) * CLASSES + out.class().index()
    }

    /// Queues a packet of `ingress` for `out`.
    pub(super) fn push(
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
    pub(super) fn grant(&mut self, out: Slot, packets: &mut Packets) -> Option<(PacketId, u32)> {
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
    pub(super) fn cross(&mut self, now: Instant, from: PortId, to: PortId, size: u32) -> Instant {
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

    /// The most that waits is what waits now.
    pub(crate) fn restart_watermarks(&mut self) {
        self.outlets.iter_mut().for_each(|outlet| outlet.deepest = outlet.waiting);
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
pub(super) fn window(rate: Rate, loop_time: Span, largest: Bytes) -> u32 {
    let bytes = rate.bytes_in(loop_time).get();
    (bytes + bytes / 4 + 2 * largest.get()).min(u64::from(u32::MAX >> 2)) as u32
}
