//! [`measure`]: runs an experiment and keeps its figures.
//!
//! A [`Measurement`] is all that the judges see of a run. The caller can keep each one, so that an
//! interrupted validation resumes where it stopped.

mod collect;
mod figures;
mod health;
mod jobs;
mod links;
mod owners;
mod times;

pub use figures::{
    CollectiveFigures, Counters, Curve, Depth, FaultFigures, FlowFigure, GroupFigures, JobFigures,
    Measurement, OwnerFigures, OwnerTimes, PairLoad, PauseSpan, PortFigures, QueuePairFailure,
    RateSeries, Series, TierFigures, TrainingFigures,
};

use crate::experiment::Experiment;
use std::cell::OnceCell;
use xoff_fabric::goals::Goals;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{FabricSetup, load_scenario};
use xoff_results::watch::{Pauses, Samples, Seen};
use xoff_results::{Case, StartError, Watched, Watcher, settings};
use xoff_sim::Progress;
use xoff_units::Instant;
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
    /// What owners of traffic took when each was alone.
    alone: owners::Alone,
    /// The delays of the fabric, made when a job first needs its ideal time.
    paths: OnceCell<Paths<'a>>,
    /// What had arrived before rates began to count.
    before: Before,
}

/// What the flows of a run had delivered at a time.
#[derive(Debug, Default)]
struct Before {
    at: Instant,
    /// By flow; nothing where rates count from the beginning.
    delivered: Vec<u64>,
}

impl<'a> Run<'a> {
    fn new(
        case: Case<'a>,
        experiment: &'a Experiment,
        report: &'a xoff_sim::Report,
        watched: Watched,
        before: Before,
    ) -> Self {
        let (seen, pauses) = (watched.seen, watched.pauses);
        let (samples, paths) = (watched.samples.unwrap_or_default(), OnceCell::new());
        let alone = owners::Alone::default();
        Self { case, experiment, report, seen, pauses, samples, alone, paths, before }
    }

    /// Whether receivers of a load get less than some goal asks for.
    fn is_short_of(&self, goals: &Goals) -> bool {
        let asked = goals.permutation.pass.max(goals.all_to_all.pass);
        let workloads = 0..self.case.workloads.len() as u32;
        let mut received = workloads.map(|workload| self.received(workload).of.mean);
        received.any(|share| share < asked * goals.intended_share())
    }

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
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
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
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
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
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
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
    let mut settings = settings(scenario, seed);
    let (report, watched) = simulate(&case, &settings, go_on)?;
    let Some(alone) = owners::alone(&case, &settings, go_on)? else {
        return Err(MeasureError::Interrupted);
    };
    let run = Run { alone, ..Run::new(case, experiment, &report, watched, Before::default()) };
    let Some(until) = experiment.settles.filter(|_| run.is_short_of(&setup.goals)) else {
        return Ok(run.measurement());
    };
    // The same run for longer: what is different at its end came after this one.
    let delivered = report.flows.iter().map(|flow| flow.counters.delivered).collect();
    let before = Before { at: report.end, delivered };
    settings.until = Some(Instant::ZERO + until);
    let (report, watched) = simulate(&case, &settings, go_on)?;
    Ok(Run::new(case, experiment, &report, watched, before).measurement())
}

/// Runs a case, watched.
fn simulate(
    case: &Case<'_>,
    settings: &xoff_sim::Settings,
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
) -> Result<(xoff_sim::Report, Watched), MeasureError> {
    let mut watcher = Watcher::new(case.fabric, go_on).keep_pauses(PAUSES).keep_samples();
    let report = case.run(settings, &mut watcher)?;
    match report.outcome {
        xoff_sim::Outcome::Interrupted => Err(MeasureError::Interrupted),
        _ => Ok((report, watcher.finish())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::Phase;
    use crate::suite::{Choice, PERMUTATION, suite};

    /// What the NICs of a fabric receive in its permutation, and how long that took.
    fn permutation(fabric: &str) -> (f64, f64) {
        let choice = Choice { phases: vec![Phase::Synthetic], quick: true };
        let all = suite(&Fabric::from_toml(fabric).unwrap(), &choice);
        let load = all.iter().find(|experiment| experiment.id == PERMUTATION).unwrap();
        let measured = measure(load, fabric, 1, &toml::Table::new(), &mut |_| true).unwrap();
        (measured.group(PERMUTATION).unwrap().received.of.mean, measured.end_us)
    }

    /// In its first 500 us DCQCN leaves a design of 2:1 at 42 % of what it has, afterwards at 80 %.
    #[test]
    fn a_load_counts_when_it_has_settled() {
        let fabric = |more: &str| {
            format!(
                "[cluster]\ngpus = 32\nnic = 'connectx-7'\n\
                 [fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n{more}\
                 [switch.balancing]\nkind = 'dlb'\nper = 'packet'\n\
                 [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n"
            )
        };
        let (share, end) = permutation(&fabric(""));
        assert!(share > 0.8 && end == 500.0, "{share} in {end} us");
        let goals = "oversubscription = '2:1'\n[goals]\noversubscription = '2:1'\n";
        let (share, end) = permutation(&fabric(goals));
        assert!((0.33..0.5).contains(&share) && end == 1_500.0, "{share} in {end} us");
    }
}
