//! Turns: by which ports packets can leave a switch that came in by a given one.
//!
//! Routes decide that, so as long as none changes a turn that no route takes is never taken. In a
//! fabric that sends packets up and then down, no ring of such turns exists, and no packet has to be
//! looked at to know that nothing is deadlocked.

use super::state::Turns;
use crate::engine::Engine;
use crate::event::EventQueue;
use std::collections::BTreeSet;
use xoff_fabric::model::{NicId, PortId};

impl<Q: EventQueue> Engine<'_, Q> {
    /// Works out the turns of packets that come in by a port of a switch from another switch.
    pub(super) fn learn_turns(&self, turns: &mut Turns, port: PortId) {
        if turns.known.contains_key(&port) {
            return;
        }
        if turns.destinations.is_empty() {
            turns.destinations = self.distinct_destinations();
        }
        let here = &self.net.ports[port];
        let (switch, sender) = (here.switch(), here.peer());
        let before = self.net.ports[sender].switch();
        let own = self.fabric.switches[switch.index()].ports.clone();
        let mut words = vec![0u64; own.len().div_ceil(64)];
        for &dst in &turns.destinations {
            if !self.net.routing.choices(before, dst).contains(&sender) {
                continue;
            }
            for out in self.net.routing.choices(switch, dst) {
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
        all.filter(|&nic| self.net.routing.shared_row(nic).is_none_or(|row| seen.insert(row)))
            .collect()
    }
}
