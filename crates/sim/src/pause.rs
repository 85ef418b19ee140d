//! Priority flow control: asking the peer to stop, and stopping when asked.
//!
//! A port holds the classes it wants paused ([`Port::xoff`]) and those that it last announced to the peer
//! ([`Port::announced`]); a pause frame carries the difference, so that changes that cancel out while the
//! wire is busy cost nothing. The event that takes effect at the peer carries both masks, the epoch of
//! the link, and when the next frame comes: the peer is told everything, and looks at nothing of this port.
//!
//! [`Port::xoff`]: crate::switch::port::Port::xoff
//! [`Port::announced`]: crate::switch::port::Port::announced

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key, Kind};
use crate::id::{PacketId, Slot};
use crate::report::TraceKind;
use crate::switch::port::port_flag;
use state::{MOST_FRAMES, Skipped, classes};
use xoff_fabric::model::PortId;
use xoff_fabric::rules::pause::quanta_time;
use xoff_units::Span;

/// What a pause frame says, as its event carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    /// The classes that it speaks of, and those of them that it pauses.
    tell: u8,
    xoff: u8,
    /// So many frames of a real port it stands for: the next one comes after as many intervals at most.
    frames: u32,
    /// Of the link when it was sent.
    epoch: u16,
}

impl Frame {
    /// An epoch, as far as frames carry it.
    const EPOCH: u16 = 0xf;

    fn word(self) -> u32 {
        debug_assert!((1..=MOST_FRAMES).contains(&self.frames));
        let epoch = u32::from(self.epoch & Self::EPOCH);
        u32::from(self.tell) | u32::from(self.xoff) << 8 | self.frames << 16 | epoch << 28
    }

    fn of(word: u32) -> Self {
        let [tell, xoff, ..] = word.to_le_bytes();
        Self { tell, xoff, frames: word >> 16 & MOST_FRAMES, epoch: (word >> 28) as u16 }
    }
}

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
        let frames = self.net.pauses.holds[port].send(self.now, xoff != here.announced, half);
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
        let frame = Frame { tell, xoff, frames, epoch: self.net.links[port].epoch };
        let event = Event { at: effect, key: Key::new(Kind::Pause, peer.0), data: frame.word() };
        if self.net.ports[port].flags & port_flag::BORDER != 0 {
            self.border.pause(event);
        } else {
            self.events.push(event);
        }
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
        let (link, frame) = (&self.net.links[port], Frame::of(data));
        if link.is_down() || link.epoch & Frame::EPOCH != frame.epoch {
            return;
        }
        let (tell, xoff) = (frame.tell & !link.deaf, frame.xoff);
        let mut resumed = false;
        for class in classes(tell) {
            let slot = Slot::new(port, class);
            if xoff & slot.bit() != 0 {
                self.accounts.classes[slot].pauses_received += 1;
                // A frame that stands for many lasts until the next one, and is heard as long.
                let half = self.refresh_interval(port);
                let more = half * u64::from(frame.frames - 1);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_say_what_was_meant() {
        for (tell, xoff, frames, epoch) in [(8, 8, 1, 0), (0xff, 0x11, 0xfff, 0xf), (1, 0, 3, 7)] {
            let frame = Frame { tell, xoff, frames, epoch };
            assert_eq!(Frame::of(frame.word()), frame);
        }
        let late = Frame { tell: 8, xoff: 0, frames: 1, epoch: 0x1002 };
        assert_eq!(Frame::of(late.word()).epoch, 2, "only the low bits travel");
    }
}
