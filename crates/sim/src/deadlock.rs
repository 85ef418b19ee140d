//! Pause deadlocks: queues that wait for each other in a ring and never move again.
//!
//! A paused queue is *blocked* while the buffer behind it (the peer's ingress of that class) cannot
//! fall to its resume point even if everything that can still move has moved. That is a fixed point:
//! start with all paused queues as blocked, and strike out those whose buffer would empty if only
//! the blocked ones stood still, until none is left to strike out. What remains will not move by
//! itself, and among it there is a ring, which is reported. Nobody has to wait for a time-out.

use crate::buffer::{Ingress, Shared};
use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::packet::NO_INGRESS;
use crate::port::Slot;
use crate::report::{Outcome, TraceKind};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::PortId;
use xoff_units::{Instant, Span};

/// A ring of queues: each waits for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// When it was found.
    pub at: Instant,
    /// Port and class of each queue.
    pub queues: Vec<(PortId, u8)>,
}

/// A queue must have been paused this long before it is worth a look.
const PATIENCE: Span = Span::from_us(20);

/// Bytes that each blocked queue holds of each ingress behind it.
type Held = BTreeMap<u32, BTreeMap<u32, u64>>;

impl<Q: EventQueue> Engine<'_, Q> {
    pub(crate) fn look_for_deadlock_later(&mut self) {
        if !self.deadlock_pending {
            self.deadlock_pending = true;
            self.schedule(self.now + PATIENCE, Kind::Deadlock, 0, 0);
        }
    }

    /// Looks for queues that wait for each other.
    pub(crate) fn look_for_deadlock(&mut self) {
        self.deadlock_pending = false;
        if self.paused_queues == 0 {
            return;
        }
        // When nothing else is left to happen, nothing will unblock anything any more.
        if !self.only_looks_are_left(!self.sample_period.is_zero()) {
            self.look_for_deadlock_later();
        }
        let blocked = self.blocked();
        let Some(queues) = self.ring(&blocked) else { return };
        let known: BTreeSet<u32> =
            self.deadlocks.iter().flat_map(|cycle| &cycle.queues).map(slot_of).collect();
        if queues.iter().all(|queue| known.contains(&slot_of(queue))) {
            return;
        }
        for &(port, class) in &queues {
            self.trace(TraceKind::Deadlock, Slot::new(port.0, class));
        }
        let breakable = queues.iter().any(|&(port, _)| self.watchdog_action(port.0).is_some());
        self.deadlocks.push(Cycle { at: self.now, queues });
        if !breakable {
            self.stop(Outcome::Deadlock);
        }
    }

    /// Paused queues towards switches, long enough to be worth a look.
    fn candidates_for_deadlock(&self) -> BTreeSet<u32> {
        let mut slots = BTreeSet::new();
        for (port, state) in self.ports.iter().enumerate() {
            let to_switch = !self.ports[state.peer() as usize].is_nic();
            for class in 0..8u32 {
                let slot = (port as u32) << 3 | class;
                let paused = state.paused & 1 << class != 0;
                if paused && to_switch && self.pauses[slot as usize].began + PATIENCE <= self.now {
                    slots.insert(slot);
                }
            }
        }
        slots
    }

    /// The queues that cannot move again whatever the others do.
    fn blocked(&self) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut blocked = self.candidates_for_deadlock();
        let held: Held = blocked.iter().map(|&slot| (slot, self.held_by(slot))).collect();
        loop {
            let mut waits_for: BTreeMap<u32, (u64, BTreeSet<u32>)> = BTreeMap::new();
            for &slot in &blocked {
                for (&ingress, &bytes) in &held[&slot] {
                    let entry = waits_for.entry(ingress).or_default();
                    entry.0 += bytes;
                    entry.1.insert(slot);
                }
            }
            let stands = |slot: &u32| {
                let ingress = self.ports[(slot >> 3) as usize].peer() << 3 | (slot & 7);
                let stuck = waits_for.get(&ingress).map_or(0, |entry| entry.0);
                stuck > 0 && !self.would_resume(ingress, stuck, &waits_for)
            };
            let before = blocked.len();
            blocked.retain(stands);
            if blocked.len() == before {
                let behind = |slot: &u32| {
                    let ingress = self.ports[(slot >> 3) as usize].peer() << 3 | (slot & 7);
                    waits_for.get(&ingress).map(|entry| entry.1.clone()).unwrap_or_default()
                };
                return blocked.iter().map(|slot| (*slot, behind(slot))).collect();
            }
        }
    }

    /// Bytes in a queue by the ingress they are charged to.
    fn held_by(&self, slot: u32) -> BTreeMap<u32, u64> {
        let mut held = BTreeMap::new();
        let queue = self.ports[(slot >> 3) as usize].lanes[(slot & 7) as usize].queue;
        for packet in queue.iter(&self.packets) {
            if packet.ingress != NO_INGRESS {
                *held.entry(packet.ingress).or_default() += u64::from(packet.charged);
            }
        }
        held
    }

    /// Whether an ingress that holds only `stuck` bytes would let its peer go on, if its switch held
    /// nothing else but what stands in blocked queues.
    fn would_resume(
        &self,
        slot: u32,
        stuck: u64,
        waits_for: &BTreeMap<u32, (u64, BTreeSet<u32>)>,
    ) -> bool {
        if !self.credits.is_empty() {
            let sender = self.ports[(slot >> 3) as usize].peer() << 3 | (slot & 7);
            return self.credits[sender as usize].would_go_on(stuck);
        }
        let owner = self.ports[(slot >> 3) as usize].owner;
        let lane = &self.ports[(slot >> 3) as usize].lanes[(slot & 7) as usize];
        let switch = &self.switches[owner as usize];
        let mut shared = switch.shared;
        shared.free = switch.shared_total;
        for (&other, &(bytes, _)) in waits_for {
            let port = &self.ports[(other >> 3) as usize];
            if !port.is_nic() && port.owner == owner {
                shared.free = shared.free.saturating_sub(self.reduced_to(other, bytes).1);
            }
        }
        let (ingress, _) = self.reduced_to(slot, stuck);
        ingress.may_resume(&self.profiles[lane.profile as usize], &shared)
    }

    /// An ingress after everything but `stuck` bytes has left it, and what it then has of the shared
    /// buffer.
    fn reduced_to(&self, slot: u32, stuck: u64) -> (Ingress, u64) {
        let lane = &self.ports[(slot >> 3) as usize].lanes[(slot & 7) as usize];
        let mut scratch = Shared { free: 0, headroom_free: 0, calm: 0 };
        let mut ingress = lane.ingress;
        let gone = ingress.held().saturating_sub(stuck);
        ingress.release(gone.min(u64::from(u32::MAX)) as u32, &mut scratch);
        let (mut rest, before) = (ingress, scratch.free);
        rest.release(rest.held().min(u64::from(u32::MAX)) as u32, &mut scratch);
        (ingress, scratch.free - before)
    }

    /// A ring among blocked queues: each one's buffer is held by the next.
    fn ring(&self, blocked: &BTreeMap<u32, BTreeSet<u32>>) -> Option<Vec<(PortId, u8)>> {
        let mut at = *blocked.keys().next()?;
        let mut order: Vec<u32> = Vec::new();
        loop {
            if let Some(start) = order.iter().position(|&slot| slot == at) {
                let ring = order[start..].iter();
                return Some(ring.map(|&slot| (PortId(slot >> 3), (slot & 7) as u8)).collect());
            }
            order.push(at);
            at = *blocked.get(&at)?.iter().find(|next| blocked.contains_key(next))?;
        }
    }
}

fn slot_of(queue: &(PortId, u8)) -> u32 {
    queue.0.0 << 3 | u32::from(queue.1)
}
