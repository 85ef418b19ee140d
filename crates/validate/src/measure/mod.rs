//! [`measure`]: runs an experiment and keeps its figures.
//!
//! A [`Measurement`] is all that the judges see of a run. The caller can keep each one, so that an
//! interrupted validation resumes where it stopped.

mod collect;
mod figures;
mod health;
mod jobs;
mod links;
mod times;

pub use figures::{
    CollectiveFigures, Counters, Curve, Depth, FaultFigures, FlowFigure, GroupFigures, JobFigures,
    Measurement, PairLoad, PauseSpan, PortFigures, QueuePairFailure, RateSeries, Series,
    TierFigures, TrainingFigures,
};

use crate::experiment::Experiment;
use std::cell::OnceCell;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{FabricSetup, load_scenario};
use xoff_results::watch::{Pauses, Samples, Seen};
use xoff_results::{Case, StartError, Watcher, settings};
use xoff_sim::Progress;
use xoff_workload::Open;
use xoff_workload::ideal::Paths;

/// Pauses that are kept: the first ones, which show how they spread.
const PAUSES: usize = 2_000;

/// Why an experiment has no measurement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    /// The fabric and the experiment do not fit together.
    #[error("{0}")]
    Setup(String),
    /// It could not be simulated.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The caller stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// A run that the figures are drawn from.
struct Run<'a> {
    case: Case<'a>,
    experiment: &'a Experiment,
    report: &'a xoff_sim::Report,
    seen: Seen,
    pauses: Pauses,
    samples: Samples,
    /// The delays of the fabric, made when a job first needs its ideal time.
    paths: OnceCell<Paths<'a>>,
}

impl<'a> Run<'a> {
    fn fabric(&self) -> &'a Fabric {
        self.case.fabric
    }
}

/// Runs an experiment on the fabric that `fabric` describes, with `change` laid over it. `go_on` is
/// called now and then with the progress so far; false stops the run.
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

/// Runs an experiment whose scenario and fabric are there already, changed perhaps in ways that no
/// file can say.
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
    let seed = seed.wrapping_add(u64::from(experiment.draw));
    let flows = xoff_workload::expand(&scenario.workloads, &setup.fabric, seed, open)
        .map_err(setup_error)?;
    let jobs =
        xoff_workload::programs(&scenario.workloads, &setup.fabric, seed).map_err(setup_error)?;
    let case = Case {
        fabric: &setup.fabric,
        workloads: &scenario.workloads,
        flows: &flows,
        jobs: &jobs,
        faults: &scenario.faults,
    };
    let mut watcher = Watcher::new(case.fabric, go_on).keep_pauses(PAUSES).keep_samples();
    let report = &case.run(&settings(scenario, seed), &mut watcher)?;
    if report.outcome == xoff_sim::Outcome::Interrupted {
        return Err(MeasureError::Interrupted);
    }
    let watched = watcher.finish();
    let (seen, pauses, samples) = (watched.seen, watched.pauses, watched.samples);
    let (samples, paths) = (samples.unwrap_or_default(), OnceCell::new());
    Ok(Run { case, experiment, report, seen, pauses, samples, paths }.measurement())
}
