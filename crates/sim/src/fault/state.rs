//! The faults of a run: those to come, and what is in force.

use crate::fault::change::{ActiveSetting, TimedFault};
use crate::link::state::{Degradation, cable_ends};
use std::collections::BTreeSet;
use xoff_fabric::model::{CableId, Fabric, PortId, SwitchId};

/// What breaks, what is broken, and what is heard of it.
pub(crate) struct Faults {
    /// All changes, also those that have happened.
    pub(super) changes: Vec<TimedFault>,
    /// Of these, how many have not happened.
    pub(super) left: usize,
    /// The first port of each cable, where anything breaks.
    cable_ends: Vec<PortId>,
    pub(crate) degraded: Vec<Degradation>,
    /// Switches that are drained, and their cables: others take these to be dead, though they are not.
    pub(crate) drained: BTreeSet<SwitchId>,
    pub(crate) drained_cables: BTreeSet<CableId>,
    pub(crate) settings: Vec<ActiveSetting>,
}

impl Faults {
    pub(crate) fn new(fabric: &Fabric, changes: Vec<TimedFault>) -> Self {
        let cable_ends = if changes.is_empty() { Vec::new() } else { cable_ends(fabric) };
        let left = changes.len();
        Self {
            changes,
            left,
            cable_ends,
            degraded: Vec::new(),
            drained: BTreeSet::new(),
            drained_cables: BTreeSet::new(),
            settings: Vec::new(),
        }
    }

    /// Whether the scenario has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether a change is still to come.
    pub(crate) fn are_to_come(&self) -> bool {
        self.left > 0
    }

    /// The two ports of a cable, lower number first.
    pub(crate) fn cable_ports(&self, fabric: &Fabric, cable: CableId) -> [PortId; 2] {
        let port = self.cable_ends[cable.index()];
        [port, fabric.ports[port.index()].peer]
    }
}
