//! Pauses at the ports that obey them.

use crate::id::{Slot, Table};
use crate::switch::port::Port;
use xoff_fabric::model::{CLASSES, ClassId, Fabric, PortId};
use xoff_units::{Instant, Span};

/// A class's pause at the port that obeys it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PauseState {
    /// It runs out then.
    pub(crate) until: Instant,
    /// It began then.
    pub(crate) began: Instant,
    /// The last pause frame for the class came then.
    pub(crate) last_heard: Instant,
    /// Paused so far, without the present pause.
    pub(crate) total: Span,
    /// A watchdog event is pending.
    pub(crate) watched: bool,
    /// Where it stands among the paused ones, if it is.
    place: u32,
}

impl PauseState {
    const NONE: Self = Self {
        until: Instant::ZERO,
        began: Instant::ZERO,
        last_heard: Instant::ZERO,
        total: Span::ZERO,
        watched: false,
        place: 0,
    };
}

/// Pause frames that the last one of a port stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skipped {
    /// How many of each class.
    pub(crate) frames: u64,
    /// The classes that they pause.
    pub(crate) classes: u8,
    /// Those of them that the peer obeys.
    pub(crate) obeyed: u8,
}

/// What a port last asked of its peer, and how long that has stood.
///
/// A pause that stands for seconds would cost a refresh every few dozen microseconds at every port that holds
/// one, though nothing changes. From [`STANDING`] on, one refresh therefore stands for all that the port
/// would send until the next: it lasts as long, and is counted as that many frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    /// The same classes have been held since then.
    since: Instant,
    /// The last frame was sent then.
    last: Instant,
    /// From that frame to the next refresh.
    pub(super) interval: Span,
}

/// A pause that has stood for so long is refreshed by frames that stand for many.
const STANDING: Span = Span::from_ms(10);
/// None stands for a longer time: watchdogs restore a queue when no pause frame came for some 100 ms.
const LONGEST_INTERVAL: Span = Span::from_ms(20);
/// A frame stands for so many at most, which is as many as it has bits to tell of.
pub(super) const MOST_FRAMES: u32 = 0xfff;

impl Hold {
    const NONE: Self = Self { since: Instant::ZERO, last: Instant::ZERO, interval: Span::ZERO };

    /// A frame is sent; `changed` if it asks for something new. `half` is the time between two frames of
    /// a real port. For how many of those this one stands at most, which it tells its receiver.
    pub(super) fn send(&mut self, now: Instant, changed: bool, half: Span) -> u32 {
        if changed {
            self.since = now;
        }
        self.last = now;
        let age = now - self.since;
        let longest = Span::from_ps(age.as_ps() / 8).min(LONGEST_INTERVAL);
        let most = half * u64::from(MOST_FRAMES);
        self.interval = if age < STANDING { half } else { longest.min(most).max(half) };
        self.interval.as_ps().div_ceil(half.as_ps().max(1)).clamp(1, MOST_FRAMES.into()) as u32
    }

    /// Frames of a real port between the last one and now that were not simulated.
    pub(super) fn skipped(&self, now: Instant, half: Span) -> u64 {
        if self.interval <= half || half.is_zero() {
            return 0;
        }
        ((now - self.last).as_ps() / half.as_ps()).saturating_sub(1)
    }
}

/// All pauses of a run, by the port and class that obeys them.
#[derive(Clone)]
pub(crate) struct Pauses {
    states: Table<Slot, PauseState>,
    /// By the port that asks.
    pub(super) holds: Table<PortId, Hold>,
    /// The queues that are paused, in no order.
    paused: Vec<Slot>,
    /// From the end of a pause frame to its effect at the peer, by sending port.
    pub(super) flight: Table<PortId, Span>,
    pub(super) frame_bytes: u32,
    pub(super) quanta: Option<u16>,
}

impl Pauses {
    pub(crate) fn new(fabric: &Fabric, flight: Table<PortId, Span>) -> Self {
        Self {
            states: vec![PauseState::NONE; flight.len() * CLASSES].into(),
            holds: vec![Hold::NONE; flight.len()].into(),
            paused: Vec::new(),
            flight,
            // A frame without length would make two pauses of one port indistinguishable in time.
            frame_bytes: fabric.pause.frame.get().max(1) as u32,
            quanta: fabric.pause.quanta,
        }
    }

    /// The queues that are paused, in no order.
    pub(crate) fn paused(&self) -> &[Slot] {
        &self.paused
    }

    /// Queues that can be paused, paused or not.
    pub(crate) fn slots(&self) -> usize {
        self.states.len()
    }

    /// Bytes of a pause frame on the wire.
    pub(crate) fn frame_bytes(&self) -> u32 {
        self.frame_bytes
    }

    /// From the end of a port's pause frame to its effect at the peer.
    pub(crate) fn flight(&self, port: PortId) -> Span {
        self.flight[port]
    }

    /// Takes over what is known of a port, but for the list of paused queues.
    pub(crate) fn copy_port(&mut self, from: &Self, port: PortId) {
        self.holds[port] = from.holds[port];
        for class in all_classes() {
            let slot = Slot::new(port, class);
            self.states[slot] = from.states[slot];
        }
    }

    /// Lists the paused queues of these ports anew, and no others.
    pub(crate) fn list(&mut self, ports: &Table<PortId, Port>, own: impl Iterator<Item = PortId>) {
        self.paused.clear();
        for port in own {
            for class in classes(ports[port].paused) {
                let slot = Slot::new(port, class);
                self.states[slot].place = self.paused.len() as u32;
                self.paused.push(slot);
            }
        }
    }

    /// The last pause of a queue.
    pub(crate) fn last(&self, slot: Slot) -> &PauseState {
        &self.states[slot]
    }

    pub(super) fn last_mut(&mut self, slot: Slot) -> &mut PauseState {
        &mut self.states[slot]
    }

    /// No pause frame for a queue comes any more: none was heard after now.
    pub(crate) fn fall_silent(&mut self, slot: Slot, now: Instant) {
        let state = &mut self.states[slot];
        state.last_heard = state.last_heard.min(now);
    }

    /// A watchdog event for a queue is pending, or no longer is.
    pub(crate) fn set_watched(&mut self, slot: Slot, watched: bool) {
        self.states[slot].watched = watched;
    }

    /// A queue that is not paused is paused.
    pub(super) fn begin(&mut self, slot: Slot, now: Instant) {
        let state = &mut self.states[slot];
        state.began = now;
        state.place = self.paused.len() as u32;
        self.paused.push(slot);
    }

    /// A queue that is paused goes on.
    pub(super) fn end(&mut self, slot: Slot, now: Instant) {
        let state = &mut self.states[slot];
        state.total += now - state.began;
        let place = state.place as usize;
        let ended = self.paused.swap_remove(place);
        assert_eq!(ended, slot, "a pause ended that had not begun");
        if let Some(&moved) = self.paused.get(place) {
            self.states[moved].place = place as u32;
        }
    }
}

/// All classes.
pub(crate) fn all_classes() -> impl Iterator<Item = ClassId> {
    (0..CLASSES as u8).map(ClassId)
}

/// The classes in a mask.
pub(crate) fn classes(mask: u8) -> impl Iterator<Item = ClassId> {
    all_classes().filter(move |class| mask & class.bit() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that were not simulated count: a pause of 60 s has as many as a real port would send,
    /// whatever stands for them.
    #[test]
    fn a_standing_pause_counts_every_frame_and_simulates_few() {
        let half = Span::from_us(42);
        let (mut hold, mut now) = (Hold::NONE, Instant::ZERO + Span::from_ms(3));
        let (mut counted, mut simulated) = (0, 0);
        hold.send(now, true, half);
        let end = now + Span::from_ms(60_000);
        while now + hold.interval <= end {
            now += hold.interval;
            counted += 1 + hold.skipped(now, half);
            simulated += 1;
            hold.send(now, false, half);
        }
        counted += hold.skipped(end, half);
        let real = Span::from_ms(60_000).as_ps() / half.as_ps();
        assert!(counted <= real && counted + 4_000 > real, "{counted} of {real}");
        assert!(simulated < 4_000, "{simulated} frames were simulated");
        // What changes starts again with the real interval.
        hold.send(end, true, half);
        assert_eq!((hold.interval, hold.skipped(end + Span::from_ms(1), half)), (half, 0));
    }
}
