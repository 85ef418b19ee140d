//! [`suite`]: the experiments that a fabric is put through.
//!
//! They are the same at every size: loads last for a given time, collectives move given sizes, and where all NICs take
//! part, all do.

mod baseline;
pub mod budget;
mod contention;
mod cost;
mod failures;
mod layout;
mod load;
mod neighbours;
mod scale;
mod workload;

use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::NodeRef;

pub(crate) use baseline::{LONG, SHORT};
pub use baseline::{Pair, Relation, pairs};
pub use budget::{Curtailment, Plan, within};
pub(crate) use contention::{CLASS_SHARES, CROWD, CROWDED, INCASTS, VICTIMS};
pub use cost::{Cost, Estimator};
#[cfg(test)]
pub(crate) use failures::JOB;
pub(crate) use failures::{ACROSS, hosts, is_dual_homed, peer, uplinks};
pub use failures::{ALL_SPINES, DEAD_SPINE, UNDISTURBED, Victims, failures as failures_of};
pub(crate) use load::{ALL_TO_ALL, ALONG_RAILS, PERMUTATION};
pub(crate) use neighbours::{
    CACHES, CHECKPOINT, DECODING, SERVING, STORAGE, TENANTS, TRAINING, time_of_a_cache,
    time_to_write,
};
pub(crate) use scale::Scale;
pub use workload::TRAINING_STEP;

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
    let (mut all, scale) = (Vec::new(), Scale::of(choice, fabric.nics.len()));
    if choice.has(Phase::Baseline) {
        all.extend(baseline::experiments(fabric));
    }
    if choice.has(Phase::Synthetic) && fabric.nics.len() > 1 {
        all.extend(load::experiments(fabric, scale));
        all.extend(contention::experiments(fabric, scale, choice.quick));
    }
    if choice.has(Phase::Workload) {
        all.extend(workload::experiments(fabric, scale));
        all.extend(neighbours::experiments(fabric, choice.quick));
    }
    if choice.has(Phase::Failures) || choice.has(Phase::Operations) {
        all.extend(failures::experiments(fabric, choice.quick));
    }
    all
}

/// A NIC by its name.
fn nic(fabric: &Fabric, index: usize) -> NodeRef {
    NodeRef::Name(fabric.nics[index].name.clone())
}
