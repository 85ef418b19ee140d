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
use xoff_units::{Instant, Span};

/// A queue must have been paused this long before it is worth a look.
const PATIENCE: Span = Span::from_us(20);
/// Where nothing has moved between so many searches, another finds what the last one did: they become rarer,
/// up to this interval, until a pause begins.
const QUIET: u32 = 3;
const RARELY: Span = Span::from_ms(20);

impl<Q: EventQueue> Engine<'_, Q> {
    /// A pause has begun: it may close a ring.
    pub(crate) fn schedule_deadlock_search(&mut self) {
        self.net.deadlocks.stir();
        self.search_after(PATIENCE);
    }

    /// Schedules a search, unless there is one before. One that comes later is stale then.
    fn search_after(&mut self, wait: Span) {
        let at = self.now + wait;
        if !self.border.takes_search(at) {
            self.search_at(at);
        }
    }

    /// The same for a search at this instant.
    pub(crate) fn search_at(&mut self, at: Instant) {
        if self.net.deadlocks.due.is_none_or(|due| due > at) {
            self.net.deadlocks.due = Some(at);
            self.schedule(at, Kind::Deadlock, 0, 0);
        }
    }

    /// How long to wait for the next search: longer and longer while no packet moves.
    fn search_interval(&mut self) -> Span {
        let moved =
            self.net.headers.written + self.accounts.totals.delivered + self.accounts.dropped();
        let deadlocks = &mut self.net.deadlocks;
        let quiet = std::mem::replace(&mut deadlocks.moved, moved) == moved;
        deadlocks.quiet = if quiet { deadlocks.quiet + 1 } else { 0 };
        let doublings = deadlocks.quiet.saturating_sub(QUIET).min(10);
        RARELY.min(PATIENCE * (1 << doublings))
    }

    /// Looks for queues that wait for each other.
    pub(crate) fn search_for_deadlock(&mut self) {
        if self.net.deadlocks.due != Some(self.now) {
            return;
        }
        self.net.deadlocks.due = None;
        if self.net.pauses.paused().is_empty() {
            return;
        }
        let interval = self.search_interval();
        // When nothing else is left to happen, nothing will unblock anything any more.
        if !self.only_observation_is_left(None) {
            self.search_after(interval);
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
