//! [`measure`]: an experiment is run, and what matters of it is kept.
//!
//! A [`Measurement`] is all that the judges see of a run. It is written down as soon as it is there, so
//! that a validation that was interrupted goes on where it was.

mod collect;
mod figures;
mod jobs;
mod links;
mod times;
mod watch;

pub use figures::{
    CollectiveFigures, Counters, Depth, Distribution, FlowFigure, GroupFigures, Measurement,
    PairLoad, PauseSpan, PortFigures, RateSeries, Series, TierFigures, TrainingFigures,
};

use crate::experiment::Experiment;
use std::cell::OnceCell;
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{FabricSetup, load_scenario};
use xoff_sim::{Observer, Progress, Settings, SimError};
use xoff_units::Instant;
use xoff_workload::ideal::Paths;
use xoff_workload::{Flow, Job, Open};

/// Why an experiment was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The fabric and the experiment do not fit together.
    #[error("{0}")]
    Setup(String),
    /// The simulator refused it.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// Somebody wanted to stop.
    #[error("interrupted")]
    Interrupted,
}

/// A run as the judges' figures are drawn from it.
struct Run<'a> {
    setup: &'a FabricSetup,
    experiment: &'a Experiment,
    flows: &'a [Flow],
    jobs: &'a [Job],
    report: &'a xoff_sim::Report,
    seen: watch::Seen,
    /// The fabric without anything that could be busy, where a job asks for it.
    paths: OnceCell<Paths<'a>>,
}

/// Runs an experiment on the fabric that `fabric` describes, with `change` laid over it. `go_on` is asked
/// now and then with the share that is done, as far as that is known; false stops the run.
pub fn measure(
    experiment: &Experiment,
    fabric: &str,
    seed: u64,
    change: &toml::Table,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Measurement, MeasureError> {
    let mut no_files = |_: &str| Err(std::io::Error::other("experiments have no files"));
    measure_with_files(experiment, fabric, seed, change, &mut no_files, go_on)
}

/// The same for a scenario that names files, which `open` opens.
pub fn measure_with_files(
    experiment: &Experiment,
    fabric: &str,
    seed: u64,
    change: &toml::Table,
    open: Open<'_>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Measurement, MeasureError> {
    let text = experiment.text("fabric.toml", seed, change);
    let loaded = load_scenario(&text, fabric).into_result().map_err(|found| {
        let errors = found.iter().filter(|diagnostic| diagnostic.is_error());
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        MeasureError::Setup(errors.join("; "))
    })?;
    measure_on(experiment, &loaded.scenario, &loaded.setup, seed, open, go_on)
}

/// Runs an experiment whose scenario and fabric are there already, changed perhaps in ways that no file
/// can say.
pub fn measure_on(
    experiment: &Experiment,
    scenario: &Scenario,
    setup: &FabricSetup,
    seed: u64,
    open: Open<'_>,
    go_on: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Measurement, MeasureError> {
    let setup_error = |errors: Vec<xoff_workload::WorkloadError>| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        MeasureError::Setup(errors.join("; "))
    };
    let flows = xoff_workload::expand(&scenario.workloads, &setup.fabric, seed, open)
        .map_err(setup_error)?;
    let jobs =
        xoff_workload::programs(&scenario.workloads, &setup.fabric, seed).map_err(setup_error)?;
    let programs: Result<Vec<_>, _> = jobs.iter().map(xoff_sim::Job::of).collect();
    let programs = programs.map_err(|error| MeasureError::Setup(error.to_string()))?;
    let settings = Settings {
        seed,
        until: scenario.duration.map(|duration| Instant::ZERO + duration),
        sample_period: scenario.record.period,
        ..Settings::default()
    };
    let mut watcher = Watcher { seen: watch::Seen::new(&setup.fabric), go_on };
    let faults = &scenario.faults;
    let report =
        xoff_sim::run_jobs(&setup.fabric, &flows, programs, faults, &settings, &mut watcher)?;
    if report.outcome == xoff_sim::Outcome::Interrupted {
        return Err(MeasureError::Interrupted);
    }
    let seen = watcher.seen;
    let (flows, jobs, report) = (&flows, &jobs, &report);
    let run = Run { setup, experiment, flows, jobs, report, seen, paths: OnceCell::new() };
    Ok(run.measurement())
}

struct Watcher<'a> {
    seen: watch::Seen,
    go_on: &'a mut dyn FnMut(&Progress) -> bool,
}

impl Observer for Watcher<'_> {
    fn trace(&mut self, trace: &xoff_sim::Trace) {
        self.seen.trace(trace);
    }

    fn sample(&mut self, sample: &xoff_sim::Sample) {
        self.seen.sample(sample);
    }

    fn sent(&mut self, sent: &xoff_sim::Sent) {
        self.seen.sent(sent);
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        (self.go_on)(progress)
    }
}
