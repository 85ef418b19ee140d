//! The fast search: which paused queues can be blocked at all, then which of these are.
//!
//! A queue towards a switch waits for queues of that switch, of the same class, that hold bytes of the ingress
//! behind it. The search first drops queues that can have no such queue to wait for, by pauses alone and
//! then by the [turns](super::turns) that routes take, until nothing changes. Mostly nothing is left then. Of
//! what is left it reads the packets; a paused queue only grows, so each packet is read once per pause.

use super::state::{Content, Search, Waiter};
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{Slot, Table};
use std::collections::BTreeMap;
use xoff_fabric::model::{PortId, SwitchId};

impl<Q: EventQueue> Engine<'_, Q> {
    /// A ring among the queues that cannot move again, if there are any.
    pub(super) fn ring(&mut self) -> Option<Vec<(PortId, u8)>> {
        let mut search = std::mem::take(&mut self.net.deadlocks.search);
        let found = self.may_be_blocked(&mut search) && {
            self.read_queues(&mut search);
            self.blocked(&mut search)
        };
        let ring = found.then(|| self.ring_among(&search)).flatten();
        self.net.deadlocks.search = search;
        ring
    }

    /// Narrows the paused queues down to those that may be blocked; whether any may.
    fn may_be_blocked(&self, search: &mut Search) -> bool {
        let waiter = |slot: Slot| {
            let peer = self.net.ports[slot.port()].peer();
            let switch = self.net.ports[peer].switch();
            let first_port = self.fabric.switches[switch.index()].ports.start;
            Waiter { slot, peer, first_port, behind: (0, 0), next: 0, stands: true }
        };
        let of_switches = |slot: &Slot| !self.net.ports[slot.port()].is_nic();
        search.waiters.clear();
        search.waiters.extend(self.long_paused().filter(of_switches).map(waiter));
        search.waiters.sort_unstable_by_key(|waiter| waiter.slot);
        self.link_waiters(&mut search.waiters);
        search.prune(false);
        if search.routed && !search.waiters.is_empty() {
            for waiter in &search.waiters {
                self.learn_turns(&mut search.turns, waiter.peer);
            }
            self.link_waiters(&mut search.waiters);
            search.prune(true);
        }
        !search.waiters.is_empty()
    }

    /// Finds the waiters behind each: ports of a switch are numbered in a row.
    fn link_waiters(&self, waiters: &mut [Waiter]) {
        for at in 0..waiters.len() {
            let switch = self.net.ports[waiters[at].peer].switch();
            let ports = self.fabric.switches[switch.index()].ports.clone();
            let place = |port: u32| waiters.partition_point(|waiter| waiter.slot.port().0 < port);
            let behind = (place(ports.start), place(ports.end));
            (waiters[at].behind, waiters[at].next) = (behind, behind.0);
        }
    }

    /// Reads the packets of the queues that are left, as far as that was not done before.
    fn read_queues(&self, search: &mut Search) {
        for waiter in &search.waiters {
            let slot = waiter.slot;
            let began = self.net.pauses.last(slot).began;
            let fresh = || Content { began, last: None, held: BTreeMap::new() };
            let content = search.contents.entry(slot).or_insert_with(fresh);
            if content.began != began {
                *content = fresh();
            }
            let queue = &self.net.ports[slot.port()].lanes[slot.class().index()].queue;
            for (index, packet) in queue.after(content.last, &self.net.packets) {
                content.last = Some(index);
                if packet.ingress != Slot::NONE {
                    *content.held.entry(packet.ingress).or_default() += u64::from(packet.charged);
                }
            }
        }
    }

    /// Drops the queues whose ingress would empty if only the others stood still, until none is left to
    /// drop; whether any queue stays.
    fn blocked(&self, search: &mut Search) -> bool {
        loop {
            self.add_up(search);
            let Search { waiters, stuck, taken, .. } = search;
            let before = waiters.len();
            waiters.retain(|waiter| self.stays(waiter.slot, stuck, taken));
            if waiters.len() == before {
                return before > 0;
            }
        }
    }

    /// Whether the ingress behind a queue cannot let it go on.
    fn stays(&self, slot: Slot, stuck: &Table<Slot, u64>, taken: &Table<SwitchId, u64>) -> bool {
        let ingress = self.ingress_behind(slot);
        let bytes = stuck[ingress];
        let switch = self.net.ports[ingress.port()].switch();
        let free = self.net.switches[switch].shared_total.saturating_sub(taken[switch]);
        bytes > 0 && !self.would_resume(ingress, bytes, free)
    }

    /// Adds up what the queues hold of each ingress, and what that takes of each switch's shared buffer.
    fn add_up(&self, search: &mut Search) {
        let Search { waiters, contents, stuck, touched, taken, .. } = search;
        stuck.resize(self.net.pauses.slots(), 0);
        for ingress in touched.drain(..) {
            stuck[ingress] = 0;
        }
        for (&ingress, &bytes) in
            waiters.iter().filter_map(|waiter| contents.get(&waiter.slot)).flat_map(|c| &c.held)
        {
            if stuck[ingress] == 0 {
                touched.push(ingress);
            }
            stuck[ingress] += bytes;
        }
        taken.clear();
        taken.resize(self.net.switches.len(), 0);
        for &ingress in touched.iter() {
            let switch = self.net.ports[ingress.port()].switch();
            taken[switch] += self.reduced_to(ingress, stuck[ingress]).1;
        }
    }

    /// A ring among blocked queues, of which there are some: each one's ingress is held by the next. It is
    /// the one that the lowest of them leads to, which may be a NIC's.
    fn ring_among(&self, search: &Search) -> Option<Vec<(PortId, u8)>> {
        let nics = self.long_paused().filter(|slot| self.net.ports[slot.port()].is_nic());
        let blocked = nics.filter(|&slot| self.stays(slot, &search.stuck, &search.taken));
        let mut at = blocked.chain(search.waiters.iter().map(|waiter| waiter.slot)).min()?;
        let mut order: Vec<Slot> = Vec::new();
        loop {
            if let Some(start) = order.iter().position(|&slot| slot == at) {
                let ring = order[start..].iter();
                return Some(ring.map(|slot| (slot.port(), slot.class().0)).collect());
            }
            order.push(at);
            let ingress = self.ingress_behind(at);
            let holds = |slot: &Slot| search.contents[slot].held.contains_key(&ingress);
            at = search.waiters.iter().map(|waiter| waiter.slot).find(holds)?;
        }
    }
}
