//! [`Case`]: what is simulated.

use xoff_fabric::model::{Fabric, NicId};
use xoff_fabric::scenario::{Fault, Fidelity, Scenario, Workload};
use xoff_sim::{Observer, Report, Settings, SimError};
use xoff_units::{Instant, Span};
use xoff_workload::{Flow, Job, WorkloadError};

/// A fabric, the traffic on it and the faults of its scenario.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    /// The scenario's workloads, which flows and jobs refer to by number.
    pub workloads: &'a [Workload],
    /// The flows of all workloads.
    pub flows: &'a [Flow],
    /// Collectives, training steps and services.
    pub jobs: &'a [Job],
    /// What breaks, and when.
    pub faults: &'a [Fault],
}

/// Why a case could not be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// A job has no program.
    #[error(transparent)]
    Job(#[from] WorkloadError),
    /// The simulator refused the case.
    #[error(transparent)]
    Sim(#[from] SimError),
}

/// How a scenario is run: its own end and its sampling period, with this seed.
pub fn settings(scenario: &Scenario, seed: u64) -> Settings {
    // Flows have no queues to sample.
    let sample_period = match scenario.fidelity {
        // `fast` may turn out to be packets.
        Fidelity::Packet | Fidelity::Fast => scenario.record.period,
        Fidelity::Flow => Span::ZERO,
    };
    Settings {
        seed,
        until: scenario.duration.map(|duration| Instant::ZERO + duration),
        sample_period,
        fidelity: scenario.fidelity,
        ..Settings::default()
    }
}

impl<'a> Case<'a> {
    /// Simulates it.
    pub fn run(
        &self,
        settings: &Settings,
        observer: &mut dyn Observer,
    ) -> Result<Report, StartError> {
        let program = |job: &Job| {
            xoff_sim::Job::of(job).map_err(|error| WorkloadError {
                workload: job.workload,
                place: xoff_workload::Place::Entry,
                message: error.to_string(),
            })
        };
        let programs = self.jobs.iter().map(program).collect::<Result<Vec<_>, _>>()?;
        Ok(xoff_sim::run_jobs(self.fabric, self.flows, programs, self.faults, settings, observer)?)
    }

    /// The name of a workload; empty if there is none of this number.
    pub fn workload_name(&self, number: u32) -> &'a str {
        self.workloads.get(number as usize).map_or("", xoff_workload::label)
    }

    /// A flow as messages name it: its number and its ends.
    pub(crate) fn flow_name(&self, number: usize) -> String {
        let name = |nic: NicId| &self.fabric.nics[nic.index()].name;
        match self.flows.get(number) {
            Some(flow) => format!("{number}: {}→{}", name(flow.source), name(flow.destination)),
            None => number.to_string(),
        }
    }
}
