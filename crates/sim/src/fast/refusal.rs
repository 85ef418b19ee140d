//! What is simulated packet by packet throughout, though `fast` was asked for.

use crate::fluid::refusal::{self, Refusal};
use crate::job::state::Job;
use crate::{Settings, Traffic};
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Fault;
use xoff_workload::program::Program;

/// Why a run cannot be `fast`, if it cannot.
pub(crate) fn reason(
    fabric: &Fabric,
    traffic: &Traffic<'_>,
    faults: &[Fault],
    settings: &Settings,
) -> Option<Refusal> {
    let known = |job: &Job| {
        let programs = job.programs.iter().map(|turn| &turn.program);
        programs.into_iter().all(|p| p.is_collective() || matches!(p, Program::Step(_)))
    };
    if !traffic.flows.is_empty() || !traffic.jobs.iter().all(known) {
        return Some(Refusal::Traffic);
    }
    if fabric.adaptive.is_some() {
        return Some(Refusal::Adaptive);
    }
    refusal::check(fabric, traffic.flows, &traffic.jobs, faults, settings).err()
}
