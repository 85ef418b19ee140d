//! Turns: by which ports packets can leave a switch that came in by a given one.
//!
//! Routes decide that, so as long as none changes a turn that no route takes is never taken. In a
//! fabric that sends packets up and then down, no ring of such turns exists, and no packet has to be
//! looked at to know that nothing is deadlocked.

use crate::engine::Engine;
use crate::event::EventQueue;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::{NicId, PortId};

/// The turns of those ports that were asked for.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// One NIC of each set that all switches route alike.
    destinations: Vec<NicId>,
    /// By the port that packets come in by: a bit per port of its switch.
    known: BTreeMap<PortId, Box<[u64]>>,
}

impl Turns {
    /// Whether packets that come in by `port` can leave by the nth port of its switch. The turns of `port`
    /// must have been [learnt](Engine::learn_turns).
    pub(super) fn allow(&self, port: PortId, nth: u32) -> bool {
        let words = self.known.get(&port).map_or(&[][..], |words| words);
        words.get(nth as usize / 64).is_none_or(|word| word >> (nth % 64) & 1 != 0)
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Works out the turns of packets that come in by a port of a switch from another switch.
    pub(super) fn learn_turns(&self, turns: &mut Turns, port: PortId) {
        if turns.known.contains_key(&port) {
            return;
        }
        if turns.destinations.is_empty() {
            turns.destinations = self.distinct_destinations();
        }
        let here = &self.ports[port];
        let (switch, sender) = (here.switch(), here.peer());
        let before = self.ports[sender].switch();
        let own = self.fabric.switches[switch.index()].ports.clone();
        let mut words = vec![0u64; own.len().div_ceil(64)];
        for &dst in &turns.destinations {
            if !self.routing.choices(before, dst).contains(&sender) {
                continue;
            }
            for out in self.routing.choices(switch, dst) {
                let place = (out.0 - own.start) as usize;
                words[place / 64] |= 1 << (place % 64);
            }
        }
        turns.known.insert(port, words.into());
    }

    /// NICs that stand for all.
    fn distinct_destinations(&self) -> Vec<NicId> {
        let mut seen = BTreeSet::new();
        let all = (0..self.fabric.nics.len() as u32).map(NicId);
        all.filter(|&nic| self.routing.shared_row(nic).is_none_or(|row| seen.insert(row))).collect()
    }
}
