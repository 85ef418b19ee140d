//! The fast search: which paused queues can be blocked at all, then which of these are.
//!
//! A queue towards a switch waits for queues of that switch, of the same class, that hold bytes of the ingress
//! behind it. The search first drops queues that can have no such queue to wait for, by pauses alone and
//! then by the [turns](super::turns) that routes take, until nothing changes. Mostly nothing is left then. Of
//! what is left it reads the packets; a paused queue only grows, so each packet is read once per pause.

use super::turns::Turns;
use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{PacketId, Table};
use crate::port::Slot;
use std::collections::BTreeMap;
use xoff_fabric::model::{PortId, SwitchId};
use xoff_units::Instant;

/// What the search keeps from one look to the next.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// By the definition, without shortcuts.
    pub(super) plain: bool,
    /// Every packet takes a turn that the present routes have.
    routed: bool,
    turns: Turns,
    /// What was read of each paused queue.
    contents: BTreeMap<Slot, Content>,
    /// The queues that may be blocked, in order.
    waiters: Vec<Waiter>,
    /// Bytes of each ingress that blocked queues hold, and the ingresses where that is not zero.
    stuck: Table<Slot, u64>,
    touched: Vec<Slot>,
    /// Shared buffer of each switch that these bytes take.
    taken: Table<SwitchId, u64>,
}

/// A paused queue of a switch.
#[derive(Debug, Clone, Copy)]
struct Waiter {
    slot: Slot,
    /// The port it sends to, and the first port of that port's switch.
    peer: PortId,
    first_port: u32,
    /// The waiters at that switch: places in the list.
    behind: (usize, usize),
    /// The first of them that it may wait for: none before has to be looked at again.
    next: usize,
    stands: bool,
}

/// What is known of the packets in a paused queue.
#[derive(Debug)]
struct Content {
    /// The pause during which it was read.
    began: Instant,
    /// The last packet that was read.
    last: Option<PacketId>,
    /// Bytes by the ingress they are charged to.
    held: BTreeMap<Slot, u64>,
}

impl Search {
    /// A search that is `plain`, or relies on routes if all packets are `routed` and routes do not change.
    pub(crate) fn new(plain: bool, routed: bool) -> Self {
        Self { plain, routed, ..Self::default() }
    }

    /// A queue has been emptied though it may be paused.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.contents.remove(&slot);
    }

    /// Drops queues that have nothing to wait for, until all that are left have.
    fn prune(&mut self, by_turns: bool) {
        let (waiters, turns) = (&mut self.waiters, &self.turns);
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for at in 0..waiters.len() {
                let Waiter { slot, peer, first_port, behind, next, stands } = waiters[at];
                if !stands {
                    continue;
                }
                let may_wait_for = |other: &Waiter| {
                    let same = other.stands && other.slot.class() == slot.class();
                    same && (!by_turns || turns.allow(peer, other.slot.port().0 - first_port))
                };
                let found = waiters[next..behind.1].iter().position(may_wait_for);
                waiters[at].next = found.map_or(behind.1, |place| next + place);
                waiters[at].stands = found.is_some();
                changed |= found.is_none();
            }
        }
        waiters.retain(|waiter| waiter.stands);
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// A ring among the queues that cannot move again, if there are any.
    pub(super) fn ring(&mut self) -> Option<Vec<(PortId, u8)>> {
        let mut search = std::mem::take(&mut self.search);
        let found = self.may_be_blocked(&mut search) && {
            self.read_queues(&mut search);
            self.blocked(&mut search)
        };
        let ring = found.then(|| self.ring_among(&search)).flatten();
        self.search = search;
        ring
    }

    /// Narrows the paused queues down to those that may be blocked; whether any may.
    fn may_be_blocked(&self, search: &mut Search) -> bool {
        let waiter = |slot: Slot| {
            let peer = self.ports[slot.port()].peer();
            let switch = self.ports[peer].switch();
            let first_port = self.fabric.switches[switch.index()].ports.start;
            Waiter { slot, peer, first_port, behind: (0, 0), next: 0, stands: true }
        };
        let of_switches = |slot: &Slot| !self.ports[slot.port()].is_nic();
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
            let switch = self.ports[waiters[at].peer].switch();
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
            let began = self.pauses[slot].began;
            let fresh = || Content { began, last: None, held: BTreeMap::new() };
            let content = search.contents.entry(slot).or_insert_with(fresh);
            if content.began != began {
                *content = fresh();
            }
            let queue = &self.ports[slot.port()].lanes[usize::from(slot.class())].queue;
            for (index, packet) in queue.after(content.last, &self.packets) {
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
        let switch = self.ports[ingress.port()].switch();
        let free = self.switches[switch].shared_total.saturating_sub(taken[switch]);
        bytes > 0 && !self.would_resume(ingress, bytes, free)
    }

    /// Adds up what the queues hold of each ingress, and what that takes of each switch's shared buffer.
    fn add_up(&self, search: &mut Search) {
        let Search { waiters, contents, stuck, touched, taken, .. } = search;
        stuck.resize(self.pauses.len(), 0);
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
        *taken = vec![0; self.switches.len()].into();
        for &ingress in touched.iter() {
            let switch = self.ports[ingress.port()].switch();
            taken[switch] += self.reduced_to(ingress, stuck[ingress]).1;
        }
    }

    /// A ring among blocked queues, of which there are some: each one's ingress is held by the next. It is
    /// the one that the lowest of them leads to, which may be a NIC's.
    fn ring_among(&self, search: &Search) -> Option<Vec<(PortId, u8)>> {
        let nics = self.long_paused().filter(|slot| self.ports[slot.port()].is_nic());
        let blocked = nics.filter(|&slot| self.stays(slot, &search.stuck, &search.taken));
        let mut at = blocked.chain(search.waiters.iter().map(|waiter| waiter.slot)).min()?;
        let mut order: Vec<Slot> = Vec::new();
        loop {
            if let Some(start) = order.iter().position(|&slot| slot == at) {
                let ring = order[start..].iter();
                return Some(ring.map(|slot| (slot.port(), slot.class())).collect());
            }
            order.push(at);
            let ingress = self.ingress_behind(at);
            let holds = |slot: &Slot| search.contents[slot].held.contains_key(&ingress);
            at = search.waiters.iter().map(|waiter| waiter.slot).find(holds)?;
        }
    }
}
