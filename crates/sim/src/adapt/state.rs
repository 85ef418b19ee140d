//! Queues whose thresholds move, and what was last read of them.

use super::controller::Memory;
use crate::id::Slot;
use crate::report::Adaptation as Figures;
use xoff_fabric::model::{CLASSES, ClassId, Fabric, PortId, SwitchId};
use xoff_fabric::rules::adaptive::{Bounds, Level};
use xoff_units::Instant;

/// The controllers of all switches.
#[derive(Debug, Default)]
pub(crate) struct Adaptation {
    /// Queues that mark, switch by switch; empty where thresholds are static.
    pub(crate) queues: Vec<Watched>,
    /// The first queue of every switch, and the end of the last one's.
    first: Vec<usize>,
    pub(crate) bounds: Option<Bounds>,
    /// When counters were last read.
    pub(crate) read: Instant,
    pub(crate) figures: Figures,
}

/// One class at one port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) slot: Slot,
    /// In force.
    pub(crate) level: Level,
    /// What was decided at the last reading.
    pub(crate) next: Level,
    pub(crate) memory: Memory,
    /// Counters at the last reading.
    pub(crate) wire_bytes: u64,
    pub(crate) packets: u64,
    pub(crate) marked: u64,
    pub(crate) pauses: u64,
}

impl Adaptation {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        let Some(adaptive) = &fabric.adaptive else { return Self::default() };
        let (mut queues, mut first) = (Vec::new(), vec![0]);
        for switch in &fabric.switches {
            for port in switch.ports.clone() {
                let classes = &fabric.ports[port as usize].classes;
                let marks = (0..CLASSES).filter(|&class| classes[class].ecn.is_some());
                queues.extend(
                    marks.map(|class| Watched::new(Slot::new(PortId(port), ClassId(class as u8)))),
                );
            }
            first.push(queues.len());
        }
        Self { queues, first, bounds: Some(Bounds::new(adaptive)), ..Self::default() }
    }

    /// The places of a switch's queues.
    pub(crate) fn of_switch(&self, switch: SwitchId) -> std::ops::Range<usize> {
        self.first[switch.index()]..self.first[switch.index() + 1]
    }

    /// The level in force at a port and class.
    pub(crate) fn level(&self, slot: Slot) -> Option<Level> {
        // Ports of a switch come one after the other, and so do switches.
        let found = self.queues.binary_search_by_key(&slot.0, |queue| queue.slot.0);
        found.ok().map(|index| self.queues[index].level)
    }
}

impl Watched {
    fn new(slot: Slot) -> Self {
        Self {
            slot,
            level: Level::default(),
            next: Level::default(),
            memory: Memory::default(),
            wire_bytes: 0,
            packets: 0,
            marked: 0,
            pauses: 0,
        }
    }
}
