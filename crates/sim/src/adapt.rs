//! Thresholds that move while traffic runs: an agent on every switch reads its counters each interval and sets what its
//! controller decides, which is in force when the agent is through with all ports.
//!
//! [`controller`] is the decision alone; this is when it sees what, and when that counts.

pub(crate) mod controller;
pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::Slot;
use crate::observe::Look;
use crate::report::Adaptation as Figures;
use controller::{Reading, decide};
use xoff_fabric::model::{Ecn, Fabric, SwitchId};
use xoff_units::Span;

impl<Q: EventQueue> Engine<'_, Q> {
    /// The time of a reading has come, on all switches.
    pub(crate) fn adapt(&mut self) {
        let fabric = self.fabric;
        let (Some(adaptive), Some(bounds)) = (&fabric.adaptive, self.net.adaptation.bounds) else {
            return;
        };
        let interval = self.now.since(self.net.adaptation.read);
        self.net.adaptation.read = self.now;
        for switch in 0..fabric.switches.len() as u32 {
            let queues = self.net.adaptation.of_switch(SwitchId(switch));
            let reaction = adaptive.cost.as_ps() * queues.len() as u64 + adaptive.delay.as_ps();
            let mut moves = false;
            for index in queues {
                let reading = self.read_queue(index, interval);
                let queue = &mut self.net.adaptation.queues[index];
                let Some(ecn) = static_thresholds(fabric, queue.slot) else { continue };
                let now = (queue.level, queue.level.applied(ecn));
                queue.next = decide(&adaptive.policy, bounds, now, reading, &mut queue.memory);
                moves |= queue.next != queue.level;
            }
            if moves {
                let at = self.now + Span::from_ps(reaction);
                self.schedule(at, Kind::Sample, Look::Adapt as u32 + 1 + switch, 0);
            }
        }
        self.look_again(Look::Adapt);
    }

    /// What is seen of a queue, and remembered for the next reading.
    fn read_queue(&mut self, index: usize, interval: Span) -> Reading {
        let slot = self.net.adaptation.queues[index].slot;
        let (port, class) = (slot.port(), slot.class());
        let rate = self.net.links[port].rate;
        let full = rate.bytes_in(interval).get().max(1);
        let paused = self.net.ports[port].paused & slot.bit() != 0;
        let lane = &self.net.ports[port].lanes[class.index()];
        let (wire_bytes, packets) = (lane.wire_bytes(self.net.gap), lane.tx_packets);
        let length = u64::from(lane.queue.bytes);
        let counts = self.accounts.classes[slot];
        let queue = &mut self.net.adaptation.queues[index];
        let sent = packets - queue.packets;
        let reading = Reading {
            utilisation: ((wire_bytes - queue.wire_bytes) * 1000 / full) as u32,
            marked: ((counts.marked - queue.marked) * 1000).div_ceil(sent.max(1)) as u32,
            queue: length,
            paused: paused || counts.pauses_received != queue.pauses,
        };
        (queue.wire_bytes, queue.packets) = (wire_bytes, packets);
        (queue.marked, queue.pauses) = (counts.marked, counts.pauses_received);
        reading
    }

    /// The agent of a switch is through: its new thresholds are in force.
    pub(crate) fn set_thresholds(&mut self, switch: SwitchId) {
        for index in self.net.adaptation.of_switch(switch) {
            let queue = &mut self.net.adaptation.queues[index];
            if queue.next == queue.level {
                continue;
            }
            queue.level = queue.next;
            let (slot, level) = (queue.slot, queue.level);
            if let Some(ecn) = static_thresholds(self.fabric, slot) {
                self.net.adaptation.figures.note(level.applied(ecn).kmin);
            }
            self.set_rules(slot);
        }
    }

    /// What became of thresholds that move, if they do.
    pub(crate) fn adaptation(&self) -> Option<Figures> {
        self.fabric.adaptive.map(|_| self.net.adaptation.figures)
    }
}

/// What the file says of a queue.
fn static_thresholds(fabric: &Fabric, slot: Slot) -> Option<Ecn> {
    fabric.ports[slot.port().index()].classes[slot.class().index()].ecn
}
