//! Experiments on all cores, each measurement kept as soon as it is there.

use super::folder::{Folder, sha256};
use super::progress::Progress;
use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::kept::Outcome;
use crate::pool;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use xoff_validate::remedy::Results;
use xoff_validate::suite::Cost;
use xoff_validate::{Experiment, MeasureError, measure};

/// The names of what is kept of a measurement. Another version's would be read as absent figures, not
/// as an error: with another word here, what it kept is measured again.
const KEPT_FORMAT: &str = "received";

/// Runs experiments on one fabric.
pub(super) struct Worker<'a> {
    pub(super) folder: &'a Folder,
    /// Text of the fabric file.
    pub(super) fabric: &'a str,
    pub(super) seed: u64,
    /// What tells it from the fabric that is validated, if it is another one.
    pub(super) variant: Option<String>,
    pub(super) interrupt: &'a Interrupt,
    pub(super) threads: Option<usize>,
    pub(super) quiet: bool,
    /// What experiments take, by their names.
    pub(super) costs: &'a BTreeMap<String, Cost>,
}

/// Memory that experiments may take together, by estimate: with what the program itself holds they stay below 2 GB.
const MEMORY: u64 = 1_600_000_000;

/// How work on an experiment ended.
enum Done {
    Known(Outcome),
    /// It was interrupted, or its measurement could not be written.
    Stopped(Option<Failure>),
}

/// What is kept of an experiment on a fabric.
pub(super) struct Place {
    /// The name of its files.
    pub(super) name: String,
    /// What its measurement counts for.
    pub(super) key: String,
    /// Its scenario file.
    text: String,
}

impl Worker<'_> {
    /// Runs all experiments that the folder does not have yet: the longest first, so that no core waits for one at the
    /// end, and those that take much memory not beside each other. Neither changes what is measured.
    pub(super) fn measure(&self, experiments: &[Experiment]) -> Result<Results, Failure> {
        let order = self.longest_first(experiments);
        let weights: Vec<u64> = order.iter().map(|one| self.cost(one).memory).collect();
        let hops = order.iter().map(|one| self.cost(one).hops).sum();
        let progress = Progress::new(hops, self.quiet);
        let all = pool::each_within(&order, self.threads, &weights, MEMORY, |experiment| {
            let outcome = self.one(experiment, &progress);
            match outcome {
                Done::Stopped(_) => ControlFlow::Break(outcome),
                _ => ControlFlow::Continue(outcome),
            }
        });
        progress.finish();
        let all = all.into_iter().map(|(experiment, done)| (*experiment, done)).collect();
        self.collect(experiments.len(), all)
    }

    pub(super) fn longest_first<'a>(&self, experiments: &'a [Experiment]) -> Vec<&'a Experiment> {
        let mut order: Vec<&Experiment> = experiments.iter().collect();
        order.sort_by_key(|one| std::cmp::Reverse(self.cost(one).hops));
        order
    }

    fn cost(&self, experiment: &Experiment) -> Cost {
        self.costs.get(&experiment.id).copied().unwrap_or_default()
    }

    fn collect(&self, of: usize, all: Vec<(&Experiment, Done)>) -> Result<Results, Failure> {
        let mut results = Results::default();
        let mut stopped = false;
        for (experiment, outcome) in all {
            let id = experiment.id.clone();
            match outcome {
                Done::Known(Outcome::Measured(measurement)) => {
                    results.measured.insert(id, *measurement);
                }
                Done::Known(Outcome::Refused(why)) => {
                    results.refused.insert(id, why);
                }
                Done::Stopped(Some(failure)) => return Err(failure),
                Done::Stopped(None) => stopped = true,
            }
        }
        if stopped || self.interrupt.requested() {
            let made = results.measured.len();
            let place = self.folder.path().display();
            let text = format!(
                "interrupted: {made} of {of} experiments are in {place}; the same command resumes"
            );
            say(Level::Warning, &text);
            return Err(Failure::silent(Exit::Interrupted));
        }
        Ok(results)
    }

    /// What is kept of an experiment on this fabric.
    pub(super) fn place(&self, experiment: &Experiment) -> Place {
        let file = match &self.variant {
            None => "../fabric.toml".to_owned(),
            Some(variant) => format!("../{}", variant_file(variant)),
        };
        let text = experiment.text(&file, self.seed, &toml::Table::new());
        let version = env!("CARGO_PKG_VERSION");
        let key = sha256(&format!("{version} {KEPT_FORMAT}\n{text}\n{}", self.fabric));
        let name = match &self.variant {
            None => experiment.id.clone(),
            Some(variant) => format!("{}{WITH}{variant}", experiment.id),
        };
        Place { name, key, text }
    }

    fn one(&self, experiment: &Experiment, progress: &Progress) -> Done {
        let Place { name, key, text } = self.place(experiment);
        if let Some(known) = self.folder.recall(&name, &key) {
            progress.spare(self.cost(experiment).hops);
            return Done::Known(known);
        }
        if self.interrupt.requested() {
            return Done::Stopped(None);
        }
        if let Err(failure) = self.folder.write(&format!("experiments/{name}.toml"), &text) {
            return Done::Stopped(Some(failure));
        }
        let mut part = progress.begin(&experiment.title, self.cost(experiment).hops);
        let go_on = &mut |now: &xoff_sim::Progress| {
            part.reach(now.packet_hops);
            !self.interrupt.requested()
        };
        let measured = measure(experiment, self.fabric, self.seed, &toml::Table::new(), go_on);
        part.end();
        let outcome = match measured {
            Ok(measurement) => Outcome::Measured(Box::new(measurement)),
            Err(MeasureError::Interrupted) => return Done::Stopped(None),
            Err(error) => Outcome::Refused(error.to_string()),
        };
        match self.folder.keep(&name, &key, outcome) {
            Ok(outcome) => Done::Known(outcome),
            Err(failure) => Done::Stopped(Some(failure)),
        }
    }
}

/// What is between the name of an experiment and that of the fabric it is made on, if that is not the validated one.
const WITH: &str = "-with-";

/// The file of a fabric with changes.
pub(super) fn variant_file(variant: &str) -> String {
    format!("fabric{WITH}{variant}.toml")
}

/// The changed fabric that a kept experiment was made on, if it was one.
pub(super) fn variant_of(name: &str, experiment: &str) -> Option<String> {
    name.strip_prefix(experiment)?.strip_prefix(WITH).map(str::to_owned)
}
