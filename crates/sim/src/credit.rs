//! Credits: a packet is only sent into a switch that has room for it.
//!
//! InfiniBand's links work so (IBTA volume 1, 7.9): the receiver says how much it can still take on each
//! virtual lane, here a class, and the sender stays within that. Nothing is ever dropped for want of buffer,
//! and nothing is paused. The sending port knows how much room is left ([`Credit::free`]). A class with less
//! than the largest packet left waits, by the mask that pauses use; room comes back when a packet has left
//! the buffer behind the link, after the delay of the cable.
//!
//! Nothing of this is on the way of packets in a fabric without credits: ports with them have
//! [`port_flag::CREDITS`], which is asked for together with lossy links, and their switches seem to have asked
//! for a pause of every class and told so, so that every packet that leaves a buffer comes by here.
//!
//! Left out: the wire time of flow-control packets (8 bytes now and then), and NICs that cannot take what
//! arrives: a slow host holds its link back by stop and go, as with pauses.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::packet::ANY;
use crate::port::{Slot, Wake, port_flag};
use xoff_fabric::model::{CLASSES, Fabric, PortId};
use xoff_fabric::rules::packet;

/// What one class of one port may send.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Credit {
    /// Bytes of buffer behind the link when nothing is in it.
    whole: u32,
    /// Of these, what nothing was sent for.
    free: u32,
    /// The class waits while less than this is free.
    full: u32,
}

impl Credit {
    /// Whether a class whose buffer holds only `stuck` bytes would go on.
    pub(crate) fn would_go_on(self, stuck: u64) -> bool {
        u64::from(self.whole) >= stuck.saturating_add(self.full.into())
    }
}

/// The credits of all ports and classes at the beginning; nothing where links have none.
pub(crate) fn initial(fabric: &Fabric) -> Vec<Credit> {
    if !fabric.credits {
        return Vec::new();
    }
    let largest = fabric.nics.iter().map(|nic| packet::largest(&nic.qp).get()).max().unwrap_or(0);
    let mut credits = vec![Credit::default(); fabric.ports.len() * CLASSES];
    for (port, state) in fabric.ports.iter().enumerate() {
        let peer = &fabric.ports[state.peer.index()];
        let Some(switch) = fabric.node_switch(peer.node) else { continue };
        let cell = fabric.switches[switch.index()].cell.get().clamp(1, 4096);
        let full = (largest.div_ceil(cell) * cell).min(u64::from(u32::MAX)) as u32;
        for (class, rules) in peer.classes.iter().enumerate() {
            let whole = rules.reserved.get().min(u64::from(u32::MAX >> 1)) as u32;
            credits[port * CLASSES + class] = Credit { whole, free: whole, full };
        }
    }
    credits
}

/// Whether packets sent by this port need credits: those to switches do.
pub(crate) fn governs(fabric: &Fabric, port: PortId) -> bool {
    let peer = fabric.ports[port.index()].peer;
    fabric.credits && fabric.node_switch(fabric.ports[peer.index()].node).is_some()
}

/// Class, bytes and epoch of the link, as an event carries them.
const CLASS_BITS: u32 = 3;
const EPOCH_SHIFT: u32 = CLASS_BITS + 16;
const EPOCH_MASK: u32 = u32::MAX >> EPOCH_SHIFT;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet goes on the wire: the room for it is taken.
    pub(crate) fn spend_credit(&mut self, slot: Slot, size: u32) {
        let peer = self.ports[slot.port() as usize].peer();
        let switch = self.ports[peer as usize].owner;
        let charged = self.switches[switch as usize].charge(size.min(u32::from(u16::MAX)) as u16);
        let credit = &mut self.credits[slot.index()];
        debug_assert!(credit.free >= u32::from(charged), "sent without room");
        credit.free = credit.free.saturating_sub(charged.into());
        if credit.free < credit.full {
            self.wait_for_credit(slot);
        }
    }

    fn wait_for_credit(&mut self, slot: Slot) {
        if self.ports[slot.port() as usize].paused & slot.bit() == 0 {
            self.begin_pause(slot);
            self.look_for_deadlock_later();
        }
    }

    /// Room of a switch's ingress is free again: its peer hears of it.
    pub(crate) fn return_credit(&mut self, ingress: Slot, charged: u16) {
        let port = ingress.port();
        let peer = self.ports[port as usize].peer();
        let epoch = u32::from(self.links[port as usize].epoch) & EPOCH_MASK;
        let data =
            u32::from(ingress.class()) | u32::from(charged) << CLASS_BITS | epoch << EPOCH_SHIFT;
        let at = self.now + self.fabric.cable(PortId(port)).delay;
        self.schedule(at, Kind::Pause, peer, data);
    }

    /// Room has come back to the port that sends into it.
    pub(crate) fn take_credit(&mut self, port: u32, data: u32) {
        let link = &self.links[port as usize];
        if link.is_down() || u32::from(link.epoch) & EPOCH_MASK != data >> EPOCH_SHIFT {
            return;
        }
        let slot = Slot::new(port, data as u8 & 7);
        let credit = &mut self.credits[slot.index()];
        credit.free += (data >> CLASS_BITS) & u32::from(u16::MAX);
        debug_assert!(credit.free <= credit.whole, "room out of nowhere");
        if credit.free >= credit.full && self.end_pause(slot) {
            self.wake_soon(port);
        }
    }

    /// The port looks for something to send, but not before everything else that comes back in this
    /// instant has.
    fn wake_soon(&mut self, port: u32) {
        match self.ports[port as usize].wish_to_wake(self.now) {
            Wake::Known => {}
            Wake::At(at) => self.schedule_transmit(at, port, ANY),
            Wake::Now => {
                self.ports[port as usize].wake_at = self.now;
                self.schedule_transmit(self.now, port, ANY);
            }
        }
    }

    /// Whether what this port sends needs credits.
    pub(crate) fn has_credits(&self, port: u32) -> bool {
        self.ports[port as usize].flags & port_flag::CREDITS != 0
    }

    /// A link came up: both its ends begin anew with what the buffer behind it has left.
    pub(crate) fn renew_credits(&mut self, port: u32) {
        let peer = self.ports[port as usize].peer() as usize;
        let mut woken = false;
        for class in 0..CLASSES as u8 {
            let slot = Slot::new(port, class);
            let held = self.ports[peer].lanes[usize::from(class)].ingress.held();
            let credit = &mut self.credits[slot.index()];
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
        if self.credits.is_empty() || !self.faults.is_empty() {
            return;
        }
        let mut out = vec![0u64; self.credits.len()];
        for (port, state) in self.ports.iter().enumerate() {
            for class in 0..CLASSES {
                let peer = state.peer() as usize;
                out[port * CLASSES + class] = self.ports[peer].lanes[class].ingress.held();
            }
        }
        for (key, data) in self.events.pending() {
            if key.is(Kind::Pause) && self.has_credits(key.id()) {
                let slot = Slot::new(key.id(), data as u8 & 7);
                out[slot.index()] += u64::from((data >> CLASS_BITS) & u32::from(u16::MAX));
            } else if key.is(Kind::Arrive) {
                let packet = self.packets.get(data);
                let here = &self.ports[key.id() as usize];
                let state = &self.switches[here.owner as usize];
                let class = state.classes[usize::from(packet.dscp & 63)];
                let charged = state.charge(packet.size);
                out[Slot::new(here.peer(), class).index()] += u64::from(charged);
            }
        }
        for (slot, (credit, out)) in self.credits.iter().zip(out).enumerate() {
            if self.has_credits(slot as u32 / CLASSES as u32) {
                assert_eq!(u64::from(credit.whole - credit.free), out, "credits of slot {slot}");
            }
        }
    }
}
