//! Priority flow control: asking the peer to stop, and stopping when asked.
//!
//! A port holds the classes it wants paused ([`Port::xoff`]) and those that it last announced to the peer
//! ([`Port::announced`]); a pause frame carries the difference, so that changes that cancel out while the
//! wire is busy cost nothing. The event that takes effect at the peer carries both masks, and the epoch of
//! the link.
//!
//! [`Port::xoff`]: crate::switch::port::Port::xoff
//! [`Port::announced`]: crate::switch::port::Port::announced

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, Slot};
use crate::report::TraceKind;
use crate::switch::port::port_flag;
use state::{Skipped, classes};
use xoff_fabric::model::PortId;
use xoff_fabric::rules::pause::quanta_time;
use xoff_units::Span;

impl<Q: EventQueue> Engine<'_, Q> {
    /// The class's buffer is full: the peer must stop.
    pub(crate) fn ask_pause(&mut self, slot: Slot) {
        self.net.ports[slot.port()].xoff |= slot.bit();
        self.trace_occupancy(TraceKind::Xoff, slot);
        self.kick(slot.port());
    }

    /// Reports a pause to the observer, with what the ingress holds.
    fn trace_occupancy(&mut self, kind: TraceKind, slot: Slot) {
        let held = self.net.ports[slot.port()].lanes[slot.class().index()].ingress.held();
        self.trace_packet(kind, slot, None, held.try_into().unwrap_or(u32::MAX));
    }

    /// There is room again: the peer may go on.
    pub(crate) fn ask_resume(&mut self, slot: Slot) {
        self.net.ports[slot.port()].xoff &= !slot.bit();
        self.trace_occupancy(TraceKind::Xon, slot);
        self.kick(slot.port());
    }

    /// Sends one pause frame with everything the peer does not know yet.
    pub(crate) fn send_pause_frame(&mut self, port: PortId) {
        self.count_skipped_frames(port);
        let half = self.refresh_interval(port);
        let here = &mut self.net.ports[port];
        let (tell, xoff) = (here.unannounced(), here.xoff);
        self.net.pauses.holds[port].send(self.now, xoff != here.announced, half);
        here.announced = xoff;
        here.refresh = 0;
        here.busy_until = self.now + here.byte_time.times(self.net.pauses.frame_bytes);
        let end = here.busy_until;
        let peer = here.peer();
        if Q::BY_TURN {
            self.net.turns[port] = self.events.take_turn();
        }
        for class in classes(tell) {
            let count = &mut self.accounts.classes[Slot::new(port, class)];
            if xoff & class.bit() != 0 {
                count.xoff_sent += 1;
            } else {
                count.xon_sent += 1;
            }
        }
        let effect = end + self.net.pauses.flight[port];
        // A frame on a link that goes down or comes up meanwhile has no effect: the epoch tells them apart,
        // since the event itself cannot be cancelled.
        let epoch = u32::from(self.net.links[port].epoch);
        let data = u32::from(tell) | u32::from(xoff) << 8 | epoch << 16;
        self.schedule(effect, Kind::Pause, peer, data);
        if xoff != 0 {
            self.schedule_refresh(port);
        }
        self.schedule_next(port);
    }

    /// Whatever waits behind a pause frame gets its turn when the wire is free.
    fn schedule_next(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        if here.is_nic() {
            return self.schedule_next_nic(port);
        }
        if here.eligible() != 0 || here.unannounced() != 0 {
            let at = here.busy_until;
            here.wake_at = at;
            self.schedule_transmit(at, port, PacketId::ANY);
        }
    }

    /// How long the pauses of this port's peer last.
    fn pause_time(&self, port: PortId) -> Span {
        let rate = self.net.links[port].rate;
        self.net.pauses.quanta.map_or(Span::MAX, |quanta| quanta_time(quanta, rate))
    }

    /// From one refresh to the next. Half-way, as real ports do: one lost frame is then no harm.
    fn refresh_interval(&self, port: PortId) -> Span {
        Span::from_ps(self.pause_time(port).as_ps() / 2)
    }

    /// Counts the frames that the last one of a port stood for, as far as they are over.
    fn count_skipped_frames(&mut self, port: PortId) {
        let Some(skipped) = self.skipped_frames(port) else { return };
        for class in classes(skipped.classes) {
            self.accounts.classes[Slot::new(port, class)].xoff_sent += skipped.frames;
            if skipped.obeyed & class.bit() != 0 {
                let peer = self.net.ports[port].peer();
                self.accounts.classes[Slot::new(peer, class)].pauses_received += skipped.frames;
            }
        }
    }

    /// The frames that the last one of a port stands for, as far as they are over.
    pub(crate) fn skipped_frames(&self, port: PortId) -> Option<Skipped> {
        let frames = self.net.pauses.holds[port].skipped(self.now, self.refresh_interval(port));
        if frames == 0 || self.net.links[port].is_down() {
            return None;
        }
        let (classes, peer) = (self.net.ports[port].announced, self.net.ports[port].peer());
        Some(Skipped { frames, classes, obeyed: classes & !self.net.links[peer].deaf })
    }

    fn schedule_refresh(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        if self.net.pauses.quanta.is_none() || here.flags & port_flag::REFRESH_PENDING != 0 {
            return;
        }
        here.flags |= port_flag::REFRESH_PENDING;
        let at = self.now + self.net.pauses.holds[port].interval;
        self.schedule(at, Kind::PauseRefresh, port, 0);
    }

    /// Announces the pauses again before they run out at the peer.
    pub(crate) fn refresh_pauses(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        here.flags &= !port_flag::REFRESH_PENDING;
        if here.xoff == 0 {
            return;
        }
        here.refresh = here.xoff;
        self.schedule_refresh(port);
        self.kick(port);
    }

    /// A pause frame takes effect here, or room comes back to a port with credits.
    pub(crate) fn obey_pause(&mut self, port: PortId, data: u32) {
        if self.has_credits(port) {
            return self.take_credit(port, data);
        }
        let link = &self.net.links[port];
        if link.is_down() || u32::from(link.epoch) != data >> 16 {
            return;
        }
        let (tell, xoff) = (data as u8 & !link.deaf, (data >> 8) as u8);
        let mut resumed = false;
        for class in classes(tell) {
            let slot = Slot::new(port, class);
            if xoff & slot.bit() != 0 {
                self.accounts.classes[slot].pauses_received += 1;
                // A frame that stands for many lasts until the next one, and is heard as long.
                let half = self.refresh_interval(port);
                let more = self.net.pauses.holds[self.net.ports[port].peer()].interval;
                let more = more.saturating_sub(half);
                let lasts = self.pause_time(port);
                let state = self.net.pauses.last_mut(slot);
                state.last_heard = self.now + more;
                state.until = self.now + lasts + more * 2;
                self.pause_class(slot);
            } else {
                self.net.pauses.fall_silent(slot, self.now);
                resumed |= self.resume_class(slot);
            }
        }
        self.schedule_expiry(port);
        if resumed {
            self.kick(port);
        }
    }

    fn pause_class(&mut self, slot: Slot) {
        let here = &self.net.ports[slot.port()];
        if (here.paused | here.stuck) & slot.bit() != 0 {
            return;
        }
        self.begin_pause(slot);
        self.trace(TraceKind::PauseStart, slot);
        self.watch_later(slot);
        self.schedule_deadlock_search();
    }

    /// Ends a class's pause; whether there was one.
    pub(crate) fn resume_class(&mut self, slot: Slot) -> bool {
        let paused = self.end_pause(slot);
        if paused {
            self.trace(TraceKind::PauseEnd, slot);
        }
        paused
    }

    /// Stops a class that was not stopped.
    pub(crate) fn begin_pause(&mut self, slot: Slot) {
        let here = &mut self.net.ports[slot.port()];
        here.paused |= slot.bit();
        self.net.balance.see(slot.port(), here);
        self.net.pauses.begin(slot, self.now);
    }

    /// Lets a class go on; whether it was stopped.
    pub(crate) fn end_pause(&mut self, slot: Slot) -> bool {
        let here = &mut self.net.ports[slot.port()];
        if here.paused & slot.bit() == 0 {
            return false;
        }
        here.paused &= !slot.bit();
        self.net.balance.see(slot.port(), here);
        self.net.pauses.end(slot, self.now);
        true
    }

    fn schedule_expiry(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        if self.net.pauses.quanta.is_none()
            || here.paused == 0
            || here.flags & port_flag::EXPIRY_PENDING != 0
        {
            return;
        }
        here.flags |= port_flag::EXPIRY_PENDING;
        let paused = here.paused;
        let first =
            classes(paused).map(|class| self.net.pauses.last(Slot::new(port, class)).until).min();
        if let Some(at) = first {
            self.schedule(at, Kind::PauseExpiry, port, 0);
        }
    }

    /// Ends the pauses whose time is up.
    pub(crate) fn expire_pauses(&mut self, port: PortId) {
        self.net.ports[port].flags &= !port_flag::EXPIRY_PENDING;
        let mut resumed = false;
        for class in classes(self.net.ports[port].paused) {
            let slot = Slot::new(port, class);
            if self.net.pauses.last(slot).until <= self.now {
                resumed |= self.resume_class(slot);
            }
        }
        self.schedule_expiry(port);
        if resumed {
            self.kick(port);
        }
    }
}
