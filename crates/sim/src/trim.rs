//! Trimming: a packet that a queue has no room for loses its payload, and its header goes on.
//!
//! What is left goes to the same port in a class of its own, usually one that is served first, and keeps that
//! class on the rest of its way by its DSCP. Its receiver sees at once what is missing and asks for just
//! that: no timeout, no guess. A header for which there is no room either is dropped.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{PacketId, Slot};
use crate::report::Drop;
use crate::switch::packet::flag;

impl<Q: EventQueue> Engine<'_, Q> {
    /// The egress queue `out` does not take a packet that arrived at `slot`: it is trimmed or dropped.
    #[cold]
    pub(crate) fn refuse(&mut self, slot: Slot, out: Slot, index: PacketId, reason: Drop) {
        if reason == Drop::EgressLimit && self.trim(slot, index) {
            let class = self.class_of(self.net.packets.get(index).dscp);
            return self.take_in(Slot::new(slot.port(), class), out.port(), index);
        }
        if !self.net.credits.is_empty() {
            return self.drop_arrived(slot, index, reason);
        }
        self.drop_packet(index, out, reason);
    }

    /// Cuts a packet down to its header, if the switch does so and there is something to cut.
    fn trim(&mut self, slot: Slot, index: PacketId) -> bool {
        let switch = self.net.ports[slot.port()].switch();
        let Some(trimming) = self.net.switches[switch].trimming else { return false };
        let size = trimming.size.get().min(u64::from(u16::MAX)) as u16;
        let packet = self.net.packets.get_mut(index);
        let cut = packet.size > size && packet.flags & flag::TRIMMED == 0;
        // Only data says, by being able to bear a mark, that its receiver understands what is left of it.
        if !cut || packet.flags & flag::ECT == 0 {
            return false;
        }
        packet.size = size;
        packet.ingress = Slot::NONE;
        packet.flags |= flag::TRIMMED | flag::CE;
        packet.dscp = self.fabric.classes[usize::from(trimming.class.0)].dscp;
        self.accounts.totals.trimmed += 1;
        true
    }
}
