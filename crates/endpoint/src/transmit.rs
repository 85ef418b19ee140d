//! The way of a packet out: alarms, turns of the queue pairs, bytes from memory.

use crate::device::{Device, SLACK};
use crate::flight::least_counted;
use crate::memory::Place;
use crate::post::route;
use xoff_transport::{Source, Status};
use xoff_units::{Bytes, Instant};
use xoff_wire::{Header, Opcode};

/// Packets that one queue pair sends before it is another's turn: a run.
const TURN: usize = 16;
/// The same if others wait until there is room at the peer, but no more than what is left of a message: who has two
/// messages ready would get twice as much as who has one. Packets of several queue pairs share a run if they are equally
/// long, so that short turns cost little.
const SHORT_TURN: usize = 4;
/// Turns that are given before the socket is polled again, unless more are waiting: as much as a
/// window holds, because each poll costs a system call.
const TURNS: usize = 4;

impl Device {
    /// Does what is due.
    pub(crate) fn alarms(&mut self, now: Instant) {
        while let Some((due, index)) = self.schedule.next_alarm(now) {
            let Some(entry) = self.pairs.at(index) else { continue };
            // A stale alarm: an earlier one was set since, or the place has another queue pair now.
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
            let mut room = match self.flights.admit(index, entry) {
                Ok(room) => room,
                Err(first) => {
                    first.into_iter().for_each(|index| self.schedule.push_sender(index));
                    continue;
                }
            };
            entry.ringed = false;
            let crowded = self.flights.has_line(entry);
            let mut turn = match entry.turn_left {
                0 if crowded => SHORT_TURN,
                0 => TURN,
                left => left,
            };
            entry.turn_left = 0;
            while turn > 0 && room > 0 && self.outbox.has_room() {
                let most = if crowded { 1 } else { turn };
                let Some((sent, ends)) = self.send_some(now, index, (turn, most), room) else {
                    break;
                };
                turn = if crowded && ends { 0 } else { turn - sent };
                // Without a bound it is enough to count when the turn is over.
                if room == u64::MAX {
                    continue;
                }
                let Some(entry) = self.pairs.at(index) else { break };
                room = self.flights.count(entry);
                // What its peer has no room for it may send first when there is some.
                entry.turn_left = if room == 0 { turn } else { 0 };
            }
            self.settle(now, index);
        }
    }

    /// Puts the next data packets of a queue pair into the outbox: one, and those behind it that
    /// differ from it in their number alone, but no more than `most`, and than `room` for their payload; or if it is a
    /// message, the messages behind it that are alike, but no more than `messages`. Says how many packets there were, and
    /// whether a message ends with the last.
    fn send_some(
        &mut self,
        now: Instant,
        index: u32,
        (most, messages): (usize, usize),
        room: u64,
    ) -> Option<(usize, bool)> {
        let entry = self.pairs.at(index)?;
        let core = entry.core.as_mut()?;
        let header = core.poll_granted(now, SLACK, Bytes::new(room))?;
        let length = header.payload as usize;
        // From the packet's payload on, all that is of the same piece of memory.
        let rest = match core.payload_of(&header) {
            Source::Nothing => Some(Place::NOTHING),
            Source::Work { id, offset } => self
                .posted
                .works
                .get(id)
                .and_then(|work| self.store.locate_rest(&work.local, offset)),
            Source::Region { key, address } => {
                self.store.locate_remote(entry.settings.domain, key, address, length)
            }
        };
        let Some((rest, payload)) = rest.and_then(|rest| Some((rest, rest.piece(0, length)?)))
        else {
            // The memory was given back: ours ends the connection, the peer's read is refused.
            match core.payload_of(&header) {
                Source::Region { .. } => core.withdraw(&header),
                _ => core.fail(Status::LocalProtection),
            }
            return None;
        };
        let found;
        let way = match &entry.route {
            Some(route) => route,
            None => {
                let work = core.address().and_then(|address| self.posted.works.get(address.0));
                let Some(to) = work.and_then(|work| work.to) else { return Some((1, true)) };
                let Ok(route) = route(self.address, to) else { return Some((1, true)) };
                found = route;
                &found
            }
        };
        let (class, runs) = (entry.settings.class, self.socket.segmentation);
        self.outbox.push(way, class, &header, payload, &self.store, runs);
        if matches!(header.opcode, Opcode::WriteOnly | Opcode::SendOnly) {
            let most = messages.saturating_sub(1).min(self.outbox.room(runs));
            return Some((1 + self.send_row(now, index, &header, most, room), true));
        }
        // Packets that may follow it have to fit the outbox, and their payloads this piece of
        // memory.
        let pieces = rest.length().checked_div(length).unwrap_or(0);
        let most = most.min(pieces).saturating_sub(1).min(self.outbox.room(runs));
        let room = Bytes::new(room.saturating_sub(length as u64));
        let more = core.poll_alike_granted(now, SLACK, &header, most as u32, room) as usize;
        self.outbox.push_alike((way, class), &header, rest, more, &self.store, runs);
        // Those alike are of the middle.
        Some((1 + more, more == 0 && header.opcode.position().ends()))
    }

    /// Puts messages into the outbox that follow the one whose only packet was `last`, and are like it: at most `most`, and
    /// as many as there is `room` for, of which that one has its part. Says how many.
    fn send_row(
        &mut self,
        now: Instant,
        index: u32,
        last: &Header,
        most: usize,
        room: u64,
    ) -> usize {
        let Some(entry) = self.pairs.at(index) else { return 0 };
        let (Some(core), Some(route)) = (&mut entry.core, &entry.route) else { return 0 };
        let length = last.payload as usize;
        // One by one, each would be let out while there is room for something.
        let each = least_counted(last.payload.into());
        let most = (most as u64).min(room.saturating_sub(each).div_ceil(each)) as u32;
        let room = Bytes::new(room.saturating_sub(length as u64));
        let count = core.poll_row_granted(now, SLACK, last, most, room);
        if count == 0 {
            return 0;
        }
        let (posted, store) = (&self.posted, &self.store);
        let mut found = 0;
        let rest = core.row(count).map_while(|(id, address)| {
            let place = match length {
                0 => Place::NOTHING,
                _ => store.locate(&posted.works.get(id)?.local, 0, length)?,
            };
            found += 1;
            Some((address, place))
        });
        let (class, runs) = (entry.settings.class, self.socket.segmentation);
        self.outbox.push_row((route, class), last, rest, store, runs);
        if found < count {
            // The memory was given back.
            core.fail(Status::LocalProtection);
        }
        found as usize
    }

    /// Whether the next thing due is a packet that pacing holds back.
    pub(crate) fn next_is_paced(&self) -> bool {
        self.schedule.next_due().is_some_and(|index| {
            let core = self.pairs.peek(index).and_then(|entry| entry.core.as_ref());
            core.is_some_and(|core| !core.next_send().is_never())
        })
    }

    /// When [`Device::progress`] has something to do although nothing arrives; [`Instant::MAX`] if
    /// never, in the past if it has already. By the device's own [clock](Device::now).
    pub fn next_due(&self) -> Instant {
        self.schedule.due()
    }
}
