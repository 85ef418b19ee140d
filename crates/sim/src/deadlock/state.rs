//! What the search for deadlocks remembers between two times.

use crate::id::{PacketId, Slot, Table};
use crate::report::Cycle;
use std::collections::BTreeMap;
use xoff_fabric::model::{NicId, PortId, SwitchId};
use xoff_units::Instant;

/// What is known of deadlocks.
pub(crate) struct Deadlocks {
    /// When they are looked for next, if they are.
    pub(super) due: Option<Instant>,
    /// What had moved at the last search, and how many searches in a row have found the same.
    pub(super) moved: u64,
    pub(super) quiet: u32,
    pub(super) search: Search,
    pub(super) found: Vec<Cycle>,
    /// A pause has begun of late.
    pub(crate) stirred: bool,
}

impl Deadlocks {
    /// None are known. The search is `plain`, or relies on routes if all packets are `routed` and routes do not
    /// change.
    pub(crate) fn new(plain: bool, routed: bool) -> Self {
        let search = Search { plain, routed, ..Search::default() };
        Self { due: None, moved: 0, quiet: 0, search, found: Vec::new(), stirred: false }
    }

    /// A pause has begun: what was found before may no longer hold.
    pub(crate) fn stir(&mut self) {
        self.quiet = 0;
        self.stirred = true;
    }

    /// What was read of queues no longer holds.
    pub(crate) fn forget_all(&mut self) {
        self.search.contents.clear();
    }

    /// Whether a search for them is scheduled.
    pub(crate) fn search_is_scheduled(&self) -> bool {
        self.due.is_some()
    }

    /// A queue has been emptied though it may be paused.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.search.contents.remove(&slot);
    }

    /// Those that were found, in order.
    pub(crate) fn found(self) -> Vec<Cycle> {
        self.found
    }
}

/// What the search keeps from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// By the definition, without shortcuts.
    pub(super) plain: bool,
    /// Every packet takes a turn that the present routes have.
    pub(super) routed: bool,
    pub(super) turns: Turns,
    /// What was read of each paused queue.
    pub(super) contents: BTreeMap<Slot, Content>,
    /// The queues that may be blocked, in order.
    pub(super) waiters: Vec<Waiter>,
    /// Bytes of each ingress that blocked queues hold, and the ingresses where that is not zero.
    pub(super) stuck: Table<Slot, u64>,
    pub(super) touched: Vec<Slot>,
    /// Shared buffer of each switch that these bytes take.
    pub(super) taken: Table<SwitchId, u64>,
}

/// A paused queue of a switch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiter {
    pub(super) slot: Slot,
    /// The port it sends to, and the first port of that port's switch.
    pub(super) peer: PortId,
    pub(super) first_port: u32,
    /// The waiters at that switch: places in the list.
    pub(super) behind: (usize, usize),
    /// The first of them that it may wait for: none before has to be looked at again.
    pub(super) next: usize,
    pub(super) stands: bool,
}

/// What is known of the packets in a paused queue.
#[derive(Debug)]
pub(super) struct Content {
    /// The pause during which it was read.
    pub(super) began: Instant,
    /// The last packet that was read.
    pub(super) last: Option<PacketId>,
    /// Bytes by the ingress they are charged to.
    pub(super) held: BTreeMap<Slot, u64>,
}

impl Search {
    /// Drops queues that have nothing to wait for, until all that are left have.
    pub(super) fn prune(&mut self, by_turns: bool) {
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

/// The turns of those ports that were asked for.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// One NIC of each set that all switches route alike.
    pub(super) destinations: Vec<NicId>,
    /// By the port that packets come in by: a bit per port of its switch.
    pub(super) known: BTreeMap<PortId, Box<[u64]>>,
}

impl Turns {
    /// Whether packets that come in by `port` can leave by the nth port of its switch. The turns of `port`
    /// must have been [learnt](crate::engine::Engine::learn_turns).
    pub(super) fn allow(&self, port: PortId, nth: u32) -> bool {
        let words = self.known.get(&port).map_or(&[][..], |words| words);
        words.get(nth as usize / 64).is_none_or(|word| word >> (nth % 64) & 1 != 0)
    }
}
