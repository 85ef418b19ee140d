//! [`suite`]: the experiments that a fabric is put through.
//!
//! They grow with the fabric up to a limit, beyond which more NICs cost time and show nothing new.

mod baseline;
mod failures;
mod synthetic;
mod workload;

use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::NodeRef;

pub(crate) use baseline::{LONG, SHORT};
pub use baseline::{Pair, Relation, pairs};
pub(crate) use failures::{BEGIN, OUTAGE};
pub use failures::{DEAD_SPINE, UNDISTURBED, Victims};
pub use synthetic::INCASTS;

/// Which experiments to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Only these phases.
    pub phases: Vec<Phase>,
    /// Smaller sizes and fewer of them.
    pub quick: bool,
}

impl Default for Choice {
    fn default() -> Self {
        Self { phases: Phase::ALL.to_vec(), quick: false }
    }
}

impl Choice {
    /// Whether a phase is chosen.
    pub fn has(&self, phase: Phase) -> bool {
        self.phases.contains(&phase)
    }
}

/// The experiments for a fabric, phase by phase.
pub fn suite(fabric: &Fabric, choice: &Choice) -> Vec<Experiment> {
    let mut all = Vec::new();
    if choice.has(Phase::Baseline) {
        all.extend(baseline::experiments(fabric));
    }
    if choice.has(Phase::Synthetic) {
        all.extend(synthetic::experiments(fabric, choice.quick));
    }
    if choice.has(Phase::Workload) {
        all.extend(workload::experiments(fabric, choice.quick));
    }
    if choice.has(Phase::Failures) || choice.has(Phase::Operations) {
        all.extend(failures::experiments(fabric, choice.quick));
        if !choice.has(Phase::Synthetic) {
            // The reference for the cost of a dead spine.
            all.push(synthetic::everybody(fabric, choice.quick));
        }
    }
    all
}

/// A NIC by its name.
fn nic(fabric: &Fabric, index: usize) -> NodeRef {
    NodeRef::Name(fabric.nics[index].name.clone())
}
