//! Pause deadlocks: queues that wait for each other in a ring and never move again.
//!
//! A paused queue is *blocked* while the buffer behind it (the peer's ingress of that class) cannot
//! fall to its resume point even if everything that can still move has moved. That is a fixed point:
//! start with all paused queues as blocked, and strike out those whose buffer would empty if only
//! the blocked ones stood still, until none is left to strike out. What remains will not move by
//! itself, and among it there is a ring, which is reported. No timeout is needed.

mod plain;
mod search;
pub(crate) mod state;
mod turns;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::Slot;
use crate::report::{Cycle, Outcome, TraceKind};
use crate::switch::buffer::{Ingress, Shared};
use std::collections::BTreeSet;
use xoff_fabric::model::{ClassId, PortId};
use xoff_units::Span;

/// A queue must have been paused this long before it is worth a look.
const PATIENCE: Span = Span::from_us(20);

impl<Q: EventQueue> Engine<'_, Q> {
    pub(crate) fn schedule_deadlock_search(&mut self) {
        if !self.net.deadlocks.pending {
            self.net.deadlocks.pending = true;
            self.schedule(self.now + PATIENCE, Kind::Deadlock, 0, 0);
        }
    }

    /// Looks for queues that wait for each other.
    pub(crate) fn search_for_deadlock(&mut self) {
        self.net.deadlocks.pending = false;
        if self.net.pauses.paused().is_empty() {
            return;
        }
        // When nothing else is left to happen, nothing will unblock anything any more.
        if !self.only_observation_is_left(!self.observation.sample_period.is_zero()) {
            self.schedule_deadlock_search();
        }
        let ring = if self.net.deadlocks.search.plain { self.plain_ring() } else { self.ring() };
        let Some(queues) = ring else { return };
        let known: BTreeSet<Slot> =
            self.net.deadlocks.found.iter().flat_map(|cycle| &cycle.queues).map(slot_of).collect();
        if queues.iter().all(|queue| known.contains(&slot_of(queue))) {
            return;
        }
        for queue in &queues {
            self.trace(TraceKind::Deadlock, slot_of(queue));
        }
        let breakable = queues.iter().any(|&(port, _)| self.watchdog_action(port).is_some());
        self.net.deadlocks.found.push(Cycle { at: self.now, queues });
        if !breakable {
            self.stop(Outcome::Deadlock);
        }
    }

    /// Queues towards switches that have been paused long enough to be worth a look, in no order.
    fn long_paused(&self) -> impl Iterator<Item = Slot> {
        self.net.pauses.paused().iter().copied().filter(|slot| {
            let peer = self.net.ports[slot.port()].peer();
            !self.net.ports[peer].is_nic()
                && self.net.pauses.last(*slot).began + PATIENCE <= self.now
        })
    }

    /// The ingress that a queue sends to.
    fn ingress_behind(&self, slot: Slot) -> Slot {
        Slot::new(self.net.ports[slot.port()].peer(), slot.class())
    }

    /// Whether an ingress that holds only `stuck` bytes would let its peer go on, if its switch had so
    /// much shared buffer free.
    fn would_resume(&self, slot: Slot, stuck: u64, free: u64) -> bool {
        if !self.net.credits.is_empty() {
            let sender = self.ingress_behind(slot);
            return self.net.credits[sender].would_go_on(stuck);
        }
        let here = &self.net.ports[slot.port()];
        let lane = &here.lanes[slot.class().index()];
        let shared = Shared { free, ..self.net.switches[here.switch()].shared };
        let (ingress, _) = self.reduced_to(slot, stuck);
        ingress.may_resume(&self.net.profiles[lane.profile as usize], &shared)
    }

    /// An ingress after everything but `stuck` bytes has left it, and what it then has of the shared
    /// buffer.
    fn reduced_to(&self, slot: Slot, stuck: u64) -> (Ingress, u64) {
        let lane = &self.net.ports[slot.port()].lanes[slot.class().index()];
        let mut scratch = Shared { free: 0, headroom_free: 0, calm: 0 };
        let mut ingress = lane.ingress;
        let gone = ingress.held().saturating_sub(stuck);
        ingress.release(gone.min(u64::from(u32::MAX)) as u32, &mut scratch);
        let (mut rest, before) = (ingress, scratch.free);
        rest.release(rest.held().min(u64::from(u32::MAX)) as u32, &mut scratch);
        (ingress, scratch.free - before)
    }
}

fn slot_of(&(port, class): &(PortId, u8)) -> Slot {
    Slot::new(port, ClassId(class))
}
