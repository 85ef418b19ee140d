//! The runs of a comparison: on the cores of this machine, or as jobs on Slurm, one shard each.

use super::folder::Folder;
use crate::clock::Stopwatch;
use crate::digest::Digest;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::interrupt::Interrupt;
use crate::kept::Outcome;
use crate::pool;
use crate::progress::Progress;
use crate::slurm::{self, Work};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use xoff_fabric::load_scenario;
use xoff_validate::compare::{Subject, Variant, fit, variants};
use xoff_validate::measure::measure_with_files;
use xoff_validate::{Experiment, MeasureError, Phase};

/// The names of what is kept of a run. With another word here, what another version kept is run again.
const KEPT_FORMAT: &str = "runs 1";

/// Everything that a comparison is made from, as text: with it any machine that has the folder of the scenario can do
/// any of its runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) scenario: String,
    pub(super) fabric: String,
    /// Where files are that workloads name, from the root.
    pub(super) folder: PathBuf,
    pub(super) seed: u64,
    pub(super) transports: Vec<String>,
    pub(super) load_balancing: Vec<String>,
    pub(super) congestion_control: Vec<String>,
}

/// A comparison that can be run.
pub(super) struct Comparison {
    pub(super) order: Order,
    pub(super) variants: Vec<Variant>,
    experiment: Experiment,
    /// A hash over everything that a run depends on beside its variant.
    key: String,
}

impl Comparison {
    pub(super) fn of(order: Order) -> Result<Self, Failure> {
        let loaded = load_scenario(&order.scenario, &order.fabric).into_result();
        let loaded = loaded.map_err(|found| {
            let errors = found.iter().filter(|diagnostic| diagnostic.is_error());
            Failure::input(errors.map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })?;
        let chosen = [
            (Subject::Transport, order.transports.clone()),
            (Subject::LoadBalancing, order.load_balancing.clone()),
            (Subject::CongestionControl, order.congestion_control.clone()),
        ];
        let mut variants = variants(&chosen).map_err(|error| Failure::input(error.to_string()))?;
        fit(&mut variants, &loaded.setup);
        let mut digest = Digest::new();
        for text in [env!("CARGO_PKG_VERSION"), KEPT_FORMAT, &order.scenario, &order.fabric] {
            digest.text(text);
        }
        digest.text(&order.seed.to_string());
        for name in xoff_workload::input_files(&loaded.scenario.workloads) {
            for path in input::files(order.folder.join(name)) {
                digest.file(&path)?;
            }
        }
        let mut experiment =
            Experiment::new("compare", Phase::Synthetic, "One scenario, several rules");
        experiment.scenario = loaded.scenario;
        Ok(Self { order, variants, experiment, key: digest.finish() })
    }

    /// What the outcome of a run counts for.
    pub(super) fn key(&self, number: usize) -> String {
        let mut digest = Digest::new();
        digest.text(&self.key);
        digest.text(&self.variants[number].change.to_string());
        digest.finish()
    }

    /// Does these runs, as far as the folder does not have them, and gives their outcomes in order; fewer of them if it was
    /// interrupted.
    pub(super) fn run(
        &self,
        numbers: &[usize],
        folder: Option<&Folder>,
        threads: Option<usize>,
        interrupt: &Interrupt,
        progress: &Progress,
    ) -> Result<Vec<Outcome>, Failure> {
        let done = pool::each(numbers, threads, |&number| {
            let outcome = self.one(number, folder, interrupt).transpose();
            progress.one();
            match outcome {
                Some(Ok(outcome)) => ControlFlow::Continue(Some(Ok(outcome))),
                stopped => ControlFlow::Break(stopped),
            }
        });
        done.into_iter().filter_map(|(_, outcome)| outcome).collect()
    }

    /// Does one run; no outcome if it was interrupted.
    fn one(
        &self,
        number: usize,
        folder: Option<&Folder>,
        interrupt: &Interrupt,
    ) -> Result<Option<Outcome>, Failure> {
        let key = self.key(number);
        if let Some(known) = folder.and_then(|folder| folder.recall(number, &key)) {
            return Ok(Some(known));
        }
        let mut open = xoff_workload::folder(&self.order.folder);
        let go_on = &mut |_: &_| !interrupt.requested();
        let Order { fabric, seed, .. } = &self.order;
        let change = &self.variants[number].change;
        let measured =
            measure_with_files(&self.experiment, fabric, *seed, change, &mut open, go_on);
        let outcome = match measured {
            Ok(measurement) => Outcome::Measured(Box::new(measurement)),
            Err(MeasureError::Interrupted) => return Ok(None),
            Err(error) => Outcome::Refused(error.to_string()),
        };
        match folder {
            Some(folder) => folder.keep(number, &key, outcome).map(Some),
            None => Ok(Some(outcome)),
        }
    }
}

/// A comparison as work for Slurm.
pub(super) struct OnSlurm<'a> {
    pub(super) comparison: &'a Comparison,
    pub(super) folder: &'a Folder,
    pub(super) progress: &'a Progress,
}

impl Work for OnSlurm<'_> {
    fn what(&self) -> &'static str {
        "comparison"
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, folder: &Path) -> Vec<String> {
        vec!["compare".to_owned(), folder.display().to_string()]
    }

    fn missing(&self) -> Vec<String> {
        let numbers = 0..self.comparison.variants.len();
        let has =
            |number: &usize| self.folder.recall(*number, &self.comparison.key(*number)).is_some();
        numbers.filter(|number| !has(number)).map(|number| number.to_string()).collect()
    }

    fn done(&self) -> u64 {
        (self.comparison.variants.len() - self.missing().len()) as u64
    }

    fn show(&self, words: &str) {
        self.progress.reach(self.done(), words);
    }

    fn resume(&self) -> &'static str {
        "the same command"
    }
}

/// Does the runs of a job.
pub(super) fn part(path: &Path, part: &str, threads: Option<usize>) -> Result<Exit, Failure> {
    let (folder, comparison) = Folder::of_worker(path)?;
    let numbers = slurm::part(path, part)?;
    let numbers = numbers.iter().filter_map(|number| number.parse().ok());
    let numbers: Vec<usize> =
        numbers.filter(|number| *number < comparison.variants.len()).collect();
    let (interrupt, clock) = (Interrupt::listen(), Stopwatch::start());
    let progress = Progress::new("runs", 0, 0, true);
    let done = comparison.run(&numbers, Some(&folder), threads, &interrupt, &progress)?;
    crate::output::stderr(&format!("{} runs, {:.1} s\n", done.len(), clock.seconds()));
    Ok(if done.len() == numbers.len() { Exit::Fine } else { Exit::Interrupted })
}
