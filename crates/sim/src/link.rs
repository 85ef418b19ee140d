//! The state of links: up or down, as fast as they should be or not, and what they lose.
//!
//! A link has no cost while nothing is wrong with it: one that is down or loses packets has
//! [`port_flag::LOSSY`] at both its ports, which the hot path asks for anyway. Going down takes what is on
//! the cable; what is sent into a dead link is lost until the switch knows better (see
//! [`crate::convergence`]). As on real ports, pauses end on both sides when the link does, and are asked
//! for anew when it is back.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Key, Kind};
use crate::id::{PacketId, Slot};
use crate::pause::state::{all_classes, classes};
use crate::report::Drop;
use crate::switch::packet::{NOBODY, flag};
use crate::switch::port::port_flag;
use state::{Degradation, Link};
use std::collections::BTreeSet;
use xoff_fabric::model::{CableId, PortId, SwitchId};
use xoff_units::ByteTime;

impl<Q: EventQueue> Engine<'_, Q> {
    /// What becomes of a packet on a link that is not perfect: why it is lost, if it is.
    #[cold]
    pub(crate) fn fate(&mut self, port: PortId, size: u32) -> Option<Drop> {
        let link = &self.net.links[port];
        if link.is_down() {
            return Some(Drop::LinkDown);
        }
        let bits = (u64::from(size) + u64::from(self.net.gap)) * 8;
        // 1 - (1 - e)^n is n x e for every rate at which a link is of any use.
        let threshold = link.bit_errors.saturating_mul(bits).saturating_add(link.loss);
        (self.net.links.draw(port) < threshold).then_some(Drop::Wire)
    }

    /// A fault takes cables down. Those that were up until now.
    pub(crate) fn cut(&mut self, cables: &[CableId], silent: bool) -> Vec<CableId> {
        let mut changed = Vec::new();
        let mut ports = BTreeSet::new();
        for &cable in cables {
            let ends = self.faults.cable_ports(self.fabric, cable);
            // Several faults may hold one cable down: only the first one changes anything.
            let was_up = !self.net.links[ends[0]].is_down();
            for port in ends {
                let link = &mut self.net.links[port];
                link.down += 1;
                link.carrier &= silent;
                if was_up {
                    self.accounts.health[port].link_downs += u64::from(!silent);
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
            let ends = self.faults.cable_ports(self.fabric, cable);
            for port in ends {
                self.net.links[port].down -= 1;
            }
            if self.net.links[ends[0]].is_down() {
                continue;
            }
            changed.push(cable);
            for port in ends {
                self.net.links[port].carrier = true;
                self.turn_over(port);
            }
            for port in ends {
                if self.has_credits(port) {
                    self.renew_credits(port);
                }
                if !self.net.credits.is_empty() {
                    continue;
                }
                // The peer forgot its pauses when the link died: they are announced again.
                let here = &mut self.net.ports[port];
                here.announced = 0;
                if here.unannounced() != 0 {
                    self.kick(port);
                }
            }
        }
        changed
    }

    /// The link at a port went down or came up: frames that were on it count no more.
    fn turn_over(&mut self, port: PortId) {
        let link = &mut self.net.links[port];
        link.epoch = link.epoch.wrapping_add(1);
        self.set_lossy(port);
    }

    fn set_lossy(&mut self, port: PortId) {
        let flags = &mut self.net.ports[port].flags;
        *flags &= !port_flag::LOSSY;
        if self.net.links[port].is_lossy() {
            *flags |= port_flag::LOSSY;
        }
    }

    /// Marks what is on its way to these ports as lost. It is dropped when it would have arrived.
    fn lose_what_flies_to(&mut self, ports: &BTreeSet<PortId>) {
        let arrives = |key: Key| key.is(Kind::Arrive) || key.is(Kind::Deliver);
        for (key, index) in self.events.pending() {
            if arrives(key) && ports.contains(&PortId(key.id())) {
                let packet = self.net.packets.get_mut(PacketId(index));
                packet.flags |= flag::LOST;
                // No NIC takes it for its own, and so each sees the flag.
                packet.dst = NOBODY;
            }
        }
    }

    /// The peer is gone, and will not resume what it paused.
    fn end_pauses(&mut self, port: PortId) {
        let mut resumed = false;
        let credits = self.has_credits(port);
        for class in all_classes() {
            self.net.pauses.fall_silent(Slot::new(port, class), self.now);
        }
        for class in classes(self.net.ports[port].paused) {
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
            let voqs = self.net.ports[port].flags & port_flag::VOQ != 0;
            let held = if voqs { u8::MAX } else { self.net.ports[port].waiting };
            for class in classes(held) {
                self.flush(Slot::new(port, class), Drop::NodeDown);
            }
        }
    }

    /// A fault makes links worse, or stops to.
    pub(crate) fn degrade(&mut self, degradation: Degradation, begins: bool) {
        let cables = degradation.cables.clone();
        if begins {
            self.faults.degraded.push(degradation);
        } else {
            self.faults.degraded.retain(|other| other.number != degradation.number);
        }
        for &cable in cables.iter() {
            let mut worst = Link::new(&self.fabric.cables[cable.index()]);
            for Degradation { to, .. } in
                self.faults.degraded.iter().filter(|other| other.cables.contains(&cable))
            {
                worst.rate = to.rate.unwrap_or(worst.rate).min(worst.rate);
                worst.bit_errors = worst.bit_errors.max(to.bit_error_rate.as_threshold());
                worst.loss = worst.loss.max(to.loss.as_threshold());
            }
            for port in self.faults.cable_ports(self.fabric, cable) {
                let Link { rate, bit_errors, loss, .. } = worst;
                let link = &mut self.net.links[port];
                *link = Link { rate, bit_errors, loss, ..*link };
                self.net.ports[port].byte_time = ByteTime::of(rate);
                self.set_lossy(port);
            }
        }
    }
}
