//! Credits: a packet is only sent into a switch that has room for it.
//!
//! InfiniBand's links work so (IBTA volume 1, 7.9): the receiver says how much it can still take on each
//! virtual lane, here a class, and the sender stays within that. Nothing is ever dropped for want of buffer,
//! and nothing is paused. The sending port knows how much room is left ([`Credit`](state::Credit)). A class with less
//! than the largest packet left waits, by the mask that pauses use; room comes back when a packet has left
//! the buffer behind the link, after the delay of the cable.
//!
//! Nothing of this is on the way of packets in a fabric without credits: ports with them have
//! [`port_flag::CREDITS`], which is asked for together with lossy links, and their switches seem to have asked
//! for a pause of every class and announced it, so that every packet that leaves a buffer comes by here.
//!
//! Left out: the wire time of flow-control packets (8 bytes now and then), and NICs that cannot take what
//! arrives: a slow host holds its link back by stop and go, as with pauses.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, Slot, Table};
use crate::pause::state::all_classes;
use crate::switch::port::{Wake, port_flag};
use state::{CLASS_BITS, EPOCH_MASK, EPOCH_SHIFT};
use xoff_fabric::model::{ClassId, PortId};

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet goes on the wire: the room for it is taken.
    pub(crate) fn spend_credit(&mut self, slot: Slot, size: u32) {
        let peer = self.net.ports[slot.port()].peer();
        let switch = self.net.ports[peer].switch();
        let charged = self.net.switches[switch].charge(size.min(u32::from(u16::MAX)) as u16);
        let credit = &mut self.net.credits[slot];
        debug_assert!(credit.free >= u32::from(charged), "sent without room");
        credit.free = credit.free.saturating_sub(charged.into());
        if credit.free < credit.full {
            self.wait_for_credit(slot);
        }
    }

    fn wait_for_credit(&mut self, slot: Slot) {
        if self.net.ports[slot.port()].paused & slot.bit() == 0 {
            self.begin_pause(slot);
            self.schedule_deadlock_search();
        }
    }

    /// Room of a switch's ingress is free again: its peer hears of it.
    pub(crate) fn return_credit(&mut self, ingress: Slot, charged: u16) {
        let port = ingress.port();
        let peer = self.net.ports[port].peer();
        let epoch = u32::from(self.net.links[port].epoch) & EPOCH_MASK;
        let data =
            u32::from(ingress.class().0) | u32::from(charged) << CLASS_BITS | epoch << EPOCH_SHIFT;
        // Flow control packets take no time on the wire here: InfiniBand's are 8 bytes among data.
        let at = self.now + self.fabric.cable(port).delay;
        self.schedule(at, Kind::Pause, peer, data);
    }

    /// Room has come back to the port that sends into it.
    pub(crate) fn take_credit(&mut self, port: PortId, data: u32) {
        let link = &self.net.links[port];
        if link.is_down() || u32::from(link.epoch) & EPOCH_MASK != data >> EPOCH_SHIFT {
            return;
        }
        let slot = Slot::new(port, ClassId(data as u8 & 7));
        let credit = &mut self.net.credits[slot];
        credit.free += (data >> CLASS_BITS) & u32::from(u16::MAX);
        debug_assert!(credit.free <= credit.whole, "room out of nowhere");
        if credit.free >= credit.full && self.end_pause(slot) {
            self.wake_soon(port);
        }
    }

    /// The port looks for something to send, but not before everything else that comes back in this
    /// instant has.
    fn wake_soon(&mut self, port: PortId) {
        match self.net.ports[port].plan_wake(self.now) {
            Wake::Known => {}
            Wake::At(at) => self.schedule_transmit(at, port, PacketId::ANY),
            Wake::Now => {
                self.net.ports[port].wake_at = self.now;
                self.schedule_transmit(self.now, port, PacketId::ANY);
            }
        }
    }

    /// Whether what this port sends needs credits.
    pub(crate) fn has_credits(&self, port: PortId) -> bool {
        self.net.ports[port].flags & port_flag::CREDITS != 0
    }

    /// A link came up: both its ends begin anew with what the buffer behind it has left.
    pub(crate) fn renew_credits(&mut self, port: PortId) {
        let peer = self.net.ports[port].peer();
        let mut woken = false;
        for class in all_classes() {
            let slot = Slot::new(port, class);
            let held = self.net.ports[peer].lanes[class.index()].ingress.held();
            let credit = &mut self.net.credits[slot];
            credit.free = credit.whole.saturating_sub(held.min(u64::from(u32::MAX)) as u32);
            if credit.free < credit.full {
                self.wait_for_credit(slot);
            } else {
                woken |= self.end_pause(slot);
            }
        }
        if woken {
            self.wake_soon(port);
        }
    }

    /// What was sent and has not come back is in the buffer, on the cable, or on its way back. At the end
    /// of a run nothing of it may be missing.
    pub(crate) fn assert_credits(&self) {
        if self.net.credits.is_empty() || !self.faults.is_empty() {
            return;
        }
        let mut out: Table<Slot, u64> = vec![0; self.net.credits.len()].into();
        for (port, state) in self.net.ports.enumerate() {
            for (lane, class) in self.net.ports[state.peer()].lanes.iter().zip(all_classes()) {
                out[Slot::new(port, class)] = lane.ingress.held();
            }
        }
        for (key, data) in self.events.pending() {
            let port = PortId(key.id());
            if key.is(Kind::Pause) && self.has_credits(port) {
                let slot = Slot::new(port, ClassId(data as u8 & 7));
                out[slot] += u64::from((data >> CLASS_BITS) & u32::from(u16::MAX));
            } else if key.is(Kind::Arrive) {
                let packet = self.net.packets.get(PacketId(data));
                let here = &self.net.ports[port];
                let state = &self.net.switches[here.switch()];
                let class = state.classes[usize::from(packet.dscp & 63)];
                let charged = state.charge(packet.size);
                out[Slot::new(here.peer(), class)] += u64::from(charged);
            }
        }
        for (slot, credit) in self.net.credits.enumerate() {
            if self.has_credits(slot.port()) {
                let out = out[slot];
                assert_eq!(u64::from(credit.whole - credit.free), out, "credits of {slot:?}");
            }
        }
    }
}
