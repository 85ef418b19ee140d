//! Pauses at the ports that obey them.

use crate::id::{Slot, Table};
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

/// All pauses of a run, by the port and class that obeys them.
pub(crate) struct Pauses {
    states: Table<Slot, PauseState>,
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

    /// The last pause of a queue.
    pub(crate) fn last(&self, slot: Slot) -> &PauseState {
        &self.states[slot]
    }

    pub(super) fn last_mut(&mut self, slot: Slot) -> &mut PauseState {
        &mut self.states[slot]
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
