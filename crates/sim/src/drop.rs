//! Packets that are dropped: what becomes of them and where they count.
//!
//! Why a packet is dropped is decided elsewhere: [`crate::forward`] (admission), [`crate::trim`], [`crate::link`],
//! [`crate::watchdog`]. Every drop goes through `drop_packet`.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{PacketId, Slot};
use crate::report::{Drop, TraceKind};

impl<Q: EventQueue> Engine<'_, Q> {
    /// Drops a packet that has been taken from wherever it was.
    #[cold]
    pub(crate) fn drop_packet(&mut self, index: PacketId, slot: Slot, reason: Drop) {
        let packet = self.net.packets.take(index);
        self.accounts.drop(slot, packet.size, reason);
        if let Some(away) = self.net.headers.away(index) {
            self.border.lose(away.home);
        }
        let flow = self.net.headers.flow(index);
        self.trace_packet(TraceKind::Drop(reason), slot, Some(flow), packet.size.into());
    }

    /// Drops a packet that has just arrived.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_arrived(&mut self, slot: Slot, index: PacketId, reason: Drop) {
        if !self.net.credits.is_empty() {
            let switch = self.net.ports[slot.port()].switch();
            let charged = self.net.switches[switch].charge(self.net.packets.get(index).size);
            self.return_credit(slot, charged);
        }
        self.drop_packet(index, slot, reason);
    }

    /// Drops a packet that has nowhere to go. If that is because of a fault, it says so.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_without_way(&mut self, slot: Slot, index: PacketId, reason: Drop) {
        let broken = reason == Drop::NoRoute && self.net.convergence.is_disturbed();
        self.drop_arrived(slot, index, if broken { Drop::LinkDown } else { reason });
    }

    /// A packet whose cable went dead under it. It counts where it was sent.
    #[cold]
    pub(crate) fn lose_arrived(&mut self, slot: Slot, index: PacketId) {
        let sender = self.net.ports[slot.port()].peer();
        self.accounts.health[sender].lost += 1;
        self.drop_packet(index, Slot::new(sender, slot.class()), Drop::LinkDown);
    }

    /// A packet does not reach the other end.
    #[cold]
    pub(crate) fn lose(&mut self, slot: Slot, index: PacketId, reason: Drop) {
        self.trace(TraceKind::Loss, slot);
        self.accounts.health[slot.port()].lost += 1;
        self.drop_packet(index, slot, reason);
    }

    /// Drops everything in a queue of a switch.
    pub(crate) fn flush(&mut self, slot: Slot, reason: Drop) {
        self.net.deadlocks.forget(slot);
        self.flush_voqs(slot, reason);
        while self.net.ports[slot.port()].waiting & slot.bit() != 0 {
            let here = &mut self.net.ports[slot.port()];
            let queue = &mut here.lane(slot.class()).queue;
            let (index, _) = queue.pop(&mut self.net.packets);
            if queue.is_empty() {
                here.waiting &= !slot.bit();
            }
            self.net.balance.see(slot.port(), here);
            let packet = self.net.packets.get(index);
            let (ingress, charged, size) = (packet.ingress, packet.charged, packet.size);
            if ingress == Slot::NONE {
                self.egress_left(slot, size.into());
            } else {
                self.release(ingress, charged);
            }
            self.drop_packet(index, slot, reason);
        }
    }
}
