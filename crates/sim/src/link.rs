//! The state of links: up or down, as fast as they should be or not, and what they lose.
//!
//! A link has no cost while nothing is wrong with it: one that is down or loses packets has
//! [`port_flag::LOSSY`] at both its ports, which the hot path asks for anyway. Going down takes what is on
//! the cable; what is sent into a dead link is lost until the switch knows better (see
//! [`crate::convergence`]). As on real ports, pauses end on both sides when the link does, and are asked
//! for anew when it is back.

use crate::engine::Engine;
use crate::event::{EventQueue, Key, Kind};
use crate::id::PacketId;
use crate::packet::{NOBODY, flag};
use crate::pause::classes;
use crate::port::{Slot, port_flag};
use crate::report::Drop;
use std::collections::BTreeSet;
use std::sync::Arc;
use xoff_fabric::model::{Cable, CableId, Fabric, PortId, SwitchId};
use xoff_fabric::scenario::Degraded;
use xoff_units::{ByteTime, Rate};

/// The link at a port. Both its ends have the same.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// Faults that hold it down.
    down: u32,
    /// Counts the times it went down or came up.
    pub(crate) epoch: u16,
    /// Classes whose pause frames are not obeyed here.
    pub(crate) deaf: u8,
    /// The rate at which it runs.
    pub(crate) rate: Rate,
    /// Probability of a bit error and of a loss, in 2^-64.
    bit_errors: u64,
    loss: u64,
}

impl Link {
    pub(crate) fn new(cable: &Cable) -> Self {
        Self {
            down: 0,
            epoch: 0,
            deaf: 0,
            rate: cable.rate,
            bit_errors: cable.bit_error_rate.as_threshold(),
            loss: cable.loss.as_threshold(),
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down > 0
    }

    /// Whether packets can get lost on it.
    fn is_lossy(&self) -> bool {
        self.is_down() || self.bit_errors > 0 || self.loss > 0
    }
}

/// The first port of each cable.
pub(crate) fn cable_ends(fabric: &Fabric) -> Vec<PortId> {
    let mut ends = vec![PortId(0); fabric.cables.len()];
    for (port, state) in fabric.ports.iter().enumerate().rev() {
        ends[state.cable.index()] = PortId(port as u32);
    }
    ends
}

/// Links that a fault makes worse.
#[derive(Debug, Clone)]
pub(crate) struct Degradation {
    /// The fault.
    pub(crate) number: u32,
    pub(crate) cables: Arc<[CableId]>,
    pub(crate) to: Degraded,
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// What becomes of a packet on a link that is not perfect: why it is lost, if it is.
    #[cold]
    pub(crate) fn fate(&mut self, port: PortId, size: u32) -> Option<Drop> {
        let link = &self.links[port];
        if link.is_down() {
            return Some(Drop::LinkDown);
        }
        let bits = (u64::from(size) + u64::from(self.gap)) * 8;
        // 1 - (1 - e)^n is n x e for every rate at which a link is of any use.
        let threshold = link.bit_errors.saturating_mul(bits).saturating_add(link.loss);
        (self.loss_streams[port].next_u64() < threshold).then_some(Drop::Wire)
    }

    /// The two ports of a cable, lower number first.
    pub(crate) fn cable_ports(&self, cable: CableId) -> [PortId; 2] {
        let port = self.cable_ends[cable.index()];
        [port, self.fabric.ports[port.index()].peer]
    }

    /// A fault takes cables down. Those that were up until now.
    pub(crate) fn cut(&mut self, cables: &[CableId]) -> Vec<CableId> {
        let mut changed = Vec::new();
        let mut ports = BTreeSet::new();
        for &cable in cables {
            let ends = self.cable_ports(cable);
            let was_up = !self.links[ends[0]].is_down();
            for port in ends {
                self.links[port].down += 1;
                if was_up {
                    self.turn_over(port);
                    ports.insert(port);
                }
            }
            if was_up {
                changed.push(cable);
            }
        }
        self.lose_what_flies_to(&ports);
        for port in ports {
            self.end_pauses(port);
        }
        changed
    }

    /// A fault lets cables up again. Those that nothing else holds down.
    pub(crate) fn restore(&mut self, cables: &[CableId]) -> Vec<CableId> {
        let mut changed = Vec::new();
        for &cable in cables {
            let ends = self.cable_ports(cable);
            for port in ends {
                self.links[port].down -= 1;
            }
            if self.links[ends[0]].is_down() {
                continue;
            }
            changed.push(cable);
            for port in ends {
                self.turn_over(port);
            }
            for port in ends {
                if self.has_credits(port) {
                    self.renew_credits(port);
                }
                if !self.credits.is_empty() {
                    continue;
                }
                // What the peer was told before is forgotten: it hears of pauses again.
                let here = &mut self.ports[port];
                here.told = 0;
                if here.to_tell() != 0 {
                    self.kick(port);
                }
            }
        }
        changed
    }

    /// The link at a port went down or came up: frames that were on it count no more.
    fn turn_over(&mut self, port: PortId) {
        let link = &mut self.links[port];
        link.epoch = link.epoch.wrapping_add(1);
        self.set_lossy(port);
    }

    fn set_lossy(&mut self, port: PortId) {
        let flags = &mut self.ports[port].flags;
        *flags &= !port_flag::LOSSY;
        if self.links[port].is_lossy() {
            *flags |= port_flag::LOSSY;
        }
    }

    /// Marks what is on its way to these ports as lost. It is dropped when it would have arrived.
    fn lose_what_flies_to(&mut self, ports: &BTreeSet<PortId>) {
        let arrives = |key: Key| key.is(Kind::Arrive) || key.is(Kind::Deliver);
        for (key, index) in self.events.pending() {
            if arrives(key) && ports.contains(&PortId(key.id())) {
                let packet = self.packets.get_mut(PacketId(index));
                packet.flags |= flag::LOST;
                // No NIC takes it for its own, and so each sees the flag.
                packet.dst = NOBODY;
            }
        }
    }

    /// A packet whose cable went dead under it. It counts where it was sent.
    #[cold]
    pub(crate) fn lose_arrived(&mut self, slot: Slot, index: PacketId) {
        let sender = self.ports[slot.port()].peer();
        self.drop_packet(index, Slot::new(sender, slot.class()), Drop::LinkDown);
    }

    /// The peer is gone: nobody will say when to go on.
    fn end_pauses(&mut self, port: PortId) {
        let mut resumed = false;
        let credits = self.has_credits(port);
        for class in classes(self.ports[port].paused) {
            let slot = Slot::new(port, class);
            resumed |= if credits { self.end_pause(slot) } else { self.resume_class(slot) };
        }
        if resumed {
            self.kick(port);
        }
    }

    /// Everything in the buffer of a switch is lost.
    pub(crate) fn empty_switch(&mut self, switch: SwitchId) {
        for port in self.fabric.switches[switch.index()].ports.clone().map(PortId) {
            let voqs = self.ports[port].flags & port_flag::VOQ != 0;
            let held = if voqs { u8::MAX } else { self.ports[port].waiting };
            for class in classes(held) {
                self.flush(Slot::new(port, class), Drop::NodeDown);
            }
        }
    }

    /// A fault makes links worse, or stops to.
    pub(crate) fn degrade(&mut self, degradation: Degradation, begins: bool) {
        let cables = degradation.cables.clone();
        if begins {
            self.degraded.push(degradation);
        } else {
            self.degraded.retain(|other| other.number != degradation.number);
        }
        for &cable in cables.iter() {
            let mut worst = Link::new(&self.fabric.cables[cable.index()]);
            for Degradation { to, .. } in
                self.degraded.iter().filter(|other| other.cables.contains(&cable))
            {
                worst.rate = to.rate.unwrap_or(worst.rate).min(worst.rate);
                worst.bit_errors = worst.bit_errors.max(to.bit_error_rate.as_threshold());
                worst.loss = worst.loss.max(to.loss.as_threshold());
            }
            for port in self.cable_ports(cable) {
                let Link { rate, bit_errors, loss, .. } = worst;
                let link = &mut self.links[port];
                *link = Link { rate, bit_errors, loss, ..*link };
                self.ports[port].byte_time = ByteTime::of(rate);
                self.set_lossy(port);
            }
        }
    }
}
