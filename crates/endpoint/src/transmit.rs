//! The way of a packet out: alarms, whose turn it is, bytes from memory.

use crate::device::{Device, SLACK};
use crate::memory::Place;
use crate::post::route;
use xoff_transport::{Source, Status};
use xoff_units::Instant;

/// Packets that one queue pair sends before it is another's turn: a run.
const TURN: usize = 16;
/// Turns that are given before arrivals are looked at again, unless more are waiting: as much as a
/// window holds, because each look costs a call.
const TURNS: usize = 4;

impl Device {
    /// Does what is due.
    pub(crate) fn alarms(&mut self, now: Instant) {
        while let Some((due, index)) = self.schedule.next_alarm(now) {
            let Some(entry) = self.pairs.at(index) else { continue };
            if entry.alarm != due {
                continue;
            }
            entry.alarm = Instant::MAX;
            if let Some(core) = &mut entry.core {
                core.handle_deadline(now);
            }
            self.settle(now, index);
        }
    }

    /// Lets queue pairs send, each in turn, until all have had theirs or there is no more room.
    pub(crate) fn transmit(&mut self, now: Instant) {
        for _ in 0..self.schedule.senders().max(TURNS) {
            if !self.outbox.has_room() {
                self.flush();
                if !self.outbox.has_room() {
                    return;
                }
            }
            let Some(index) = self.schedule.next_sender() else { return };
            let Some(entry) = self.pairs.at(index) else { continue };
            entry.ringed = false;
            let mut turn = TURN;
            while turn > 0 && self.outbox.has_room() && self.send_one(now, index) {
                turn -= 1;
            }
            self.settle(now, index);
        }
    }

    /// Puts the next data packet of a queue pair into the outbox. Says whether there was one.
    fn send_one(&mut self, now: Instant, index: u32) -> bool {
        let Some(entry) = self.pairs.at(index) else { return false };
        let Some(core) = &mut entry.core else { return false };
        let Some(header) = core.poll_transmit_within(now, SLACK) else { return false };
        let length = header.payload as usize;
        let payload = match core.payload_of(&header) {
            Source::Nothing => Some(Place::NOTHING),
            Source::Work { id, offset } => self
                .posted
                .works
                .get(id)
                .and_then(|work| self.store.locate(&work.local, offset, length)),
            Source::Region { key, address } => {
                self.store.locate_remote(entry.settings.domain, key, address, length)
            }
        };
        let Some(payload) = payload else {
            // The memory was given back: ours ends the connection, the peer's read is refused.
            match core.payload_of(&header) {
                Source::Region { .. } => core.withdraw(&header),
                _ => core.fail(Status::LocalProtection),
            }
            return false;
        };
        let found;
        let way = match &entry.route {
            Some(route) => route,
            None => {
                let work = core.address().and_then(|address| self.posted.works.get(address.0));
                let Some(to) = work.and_then(|work| work.to) else { return true };
                let Ok(route) = route(self.address, to) else { return true };
                found = route;
                &found
            }
        };
        let (class, runs) = (entry.settings.class, self.socket.segmentation);
        self.outbox.push(way, class, &header, payload, &self.store, runs);
        true
    }

    /// Whether the next thing due is a packet that pacing holds back.
    pub(crate) fn next_is_paced(&self) -> bool {
        self.schedule.next_due().is_some_and(|index| {
            let core = self.pairs.peek(index).and_then(|entry| entry.core.as_ref());
            core.is_some_and(|core| !core.next_send().is_never())
        })
    }

    /// When [`Device::progress`] has something to do although nothing arrives; [`Instant::MAX`] if
    /// never, in the past if at once. By the device's own [clock](Device::now).
    pub fn next_due(&self) -> Instant {
        self.schedule.due()
    }
}
