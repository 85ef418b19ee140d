//! The search for deadlocks by its definition: every packet of every paused queue, at every look.
//!
//! Runs on the plain event queue use it, so that tests hold the fast search against it.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::Slot;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::PortId;

/// Bytes that each blocked queue holds of each ingress behind it.
type Held = BTreeMap<Slot, BTreeMap<Slot, u64>>;

/// What blocked queues hold of an ingress, and which queues these are.
type Stuck = BTreeMap<Slot, (u64, BTreeSet<Slot>)>;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A ring among the queues that cannot move again, if there are any.
    pub(super) fn plain_ring(&self) -> Option<Vec<(PortId, u8)>> {
        let blocked = self.plainly_blocked();
        let mut at = *blocked.keys().next()?;
        let mut order: Vec<Slot> = Vec::new();
        loop {
            if let Some(start) = order.iter().position(|&slot| slot == at) {
                let ring = order[start..].iter();
                return Some(ring.map(|slot| (slot.port(), slot.class().0)).collect());
            }
            order.push(at);
            at = *blocked.get(&at)?.iter().find(|next| blocked.contains_key(next))?;
        }
    }

    /// The queues that cannot move again whatever the others do, each with those that it waits for.
    fn plainly_blocked(&self) -> BTreeMap<Slot, BTreeSet<Slot>> {
        let mut blocked: BTreeSet<Slot> = self.long_paused().collect();
        let held: Held = blocked.iter().map(|&slot| (slot, self.held_by(slot))).collect();
        loop {
            let mut stuck = Stuck::new();
            for &slot in &blocked {
                for (&ingress, &bytes) in &held[&slot] {
                    let entry = stuck.entry(ingress).or_default();
                    entry.0 += bytes;
                    entry.1.insert(slot);
                }
            }
            let before = blocked.len();
            blocked.retain(|&slot| {
                let ingress = self.ingress_behind(slot);
                let bytes = stuck.get(&ingress).map_or(0, |entry| entry.0);
                bytes > 0 && !self.would_resume(ingress, bytes, self.free_beside(ingress, &stuck))
            });
            if blocked.len() == before {
                let behind = |slot: Slot| {
                    let ingress = self.ingress_behind(slot);
                    stuck.get(&ingress).map(|entry| entry.1.clone()).unwrap_or_default()
                };
                return blocked.iter().map(|&slot| (slot, behind(slot))).collect();
            }
        }
    }

    /// Bytes in a queue by the ingress they are charged to.
    fn held_by(&self, slot: Slot) -> BTreeMap<Slot, u64> {
        let mut held = BTreeMap::new();
        let queue = self.net.ports[slot.port()].lanes[slot.class().index()].queue;
        for packet in queue.iter(&self.net.packets) {
            if packet.ingress != Slot::NONE {
                *held.entry(packet.ingress).or_default() += u64::from(packet.charged);
            }
        }
        held
    }

    /// Shared buffer that the switch of an ingress has free when it holds nothing but what is stuck.
    fn free_beside(&self, ingress: Slot, stuck: &Stuck) -> u64 {
        let switch = self.net.ports[ingress.port()].switch();
        let mut free = self.net.switches[switch].shared_total;
        for (&other, &(bytes, _)) in stuck {
            let port = &self.net.ports[other.port()];
            if !port.is_nic() && port.switch() == switch {
                free = free.saturating_sub(self.reduced_to(other, bytes).1);
            }
        }
        free
    }
}
