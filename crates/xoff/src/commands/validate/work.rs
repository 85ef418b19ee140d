//! Experiments on all cores, each measurement kept as soon as it is there.

use super::folder::{Folder, sha256};
use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::pool;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::time::Duration;
use xoff_validate::remedy::Results;
use xoff_validate::{Experiment, MeasureError, Measurement, measure};

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
}

/// How an experiment ended.
enum Done {
    Measured(Box<Measurement>),
    Refused(String),
    /// It was interrupted, or its measurement could not be written.
    Stopped(Option<Failure>),
}

impl Worker<'_> {
    /// Runs all experiments that the folder does not have yet.
    pub(super) fn measure(&self, experiments: &[Experiment]) -> Result<Results, Failure> {
        let bar = (!self.quiet && std::io::stderr().is_terminal()).then(|| bar(experiments.len()));
        let all = pool::each(experiments, self.threads, |experiment| {
            if let Some(bar) = &bar {
                bar.set_message(experiment.title.clone());
            }
            let outcome = self.one(experiment);
            if let Some(bar) = &bar {
                bar.inc(1);
            }
            match outcome {
                Done::Stopped(_) => ControlFlow::Break(outcome),
                _ => ControlFlow::Continue(outcome),
            }
        });
        if let Some(bar) = &bar {
            bar.finish_and_clear();
        }
        self.collect(experiments.len(), all)
    }

    fn collect(&self, of: usize, all: Vec<(&Experiment, Done)>) -> Result<Results, Failure> {
        let mut results = Results::default();
        let mut stopped = false;
        for (experiment, outcome) in all {
            let id = experiment.id.clone();
            match outcome {
                Done::Measured(measurement) => {
                    results.measured.insert(id, *measurement);
                }
                Done::Refused(why) => {
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

    fn one(&self, experiment: &Experiment) -> Done {
        let unchanged = toml::Table::new();
        let file = match &self.variant {
            None => "../fabric.toml".to_owned(),
            Some(variant) => format!("../fabric-with-{variant}.toml"),
        };
        let text = experiment.text(&file, self.seed, &unchanged);
        let version = env!("CARGO_PKG_VERSION");
        let key = sha256(&format!("{version} {KEPT_FORMAT}\n{text}\n{}", self.fabric));
        let name = match &self.variant {
            None => experiment.id.clone(),
            Some(variant) => format!("{}-with-{variant}", experiment.id),
        };
        if let Some(known) = self.folder.recall(&name, &key) {
            return Done::Measured(Box::new(known));
        }
        if self.interrupt.requested() {
            return Done::Stopped(None);
        }
        if let Err(failure) = self.folder.write(&format!("experiments/{name}.toml"), &text) {
            return Done::Stopped(Some(failure));
        }
        let go_on = &mut |_: &_| !self.interrupt.requested();
        match measure(experiment, self.fabric, self.seed, &unchanged, go_on) {
            Ok(measurement) => match self.folder.keep(&name, key, measurement) {
                Ok(measurement) => Done::Measured(Box::new(measurement)),
                Err(failure) => Done::Stopped(Some(failure)),
            },
            Err(MeasureError::Interrupted) => Done::Stopped(None),
            Err(error) => Done::Refused(error.to_string()),
        }
    }
}

fn bar(experiments: usize) -> ProgressBar {
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some(experiments as u64), target);
    // The template is ours and valid; without it the bar only looks plainer.
    if let Ok(style) =
        ProgressStyle::with_template("{bar:20} {pos}/{len}  {wide_msg} {elapsed}, about {eta} left")
    {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
