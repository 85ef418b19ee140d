//! The experiments of a validation as work for Slurm: one shard each. Every set of experiments that is needed at once, those of the fabric
//! and those of each trial of a change, is an array.

use super::folder::Folder;
use super::work::{Worker, variant_file, variant_of};
use super::{Args, by_name};
use crate::clock::Stopwatch;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::slurm::{self, Work};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use xoff_validate::Experiment;
use xoff_validate::suite::Plan;

/// Experiments on one fabric.
struct Stage<'a> {
    folder: &'a Folder,
    args: &'a Args,
    /// The names of what is kept of them, and what it counts for, those that take longest first.
    shards: Vec<(String, String)>,
    /// What the folder was seen to have: it is read once.
    known: RefCell<BTreeSet<String>>,
    progress: Progress,
}

/// Has experiments made on Slurm. Returns whether all of them were: not if it was interrupted.
pub(super) fn run(
    worker: &Worker<'_>,
    experiments: &[Experiment],
    args: &Args,
) -> Result<bool, Failure> {
    let places = worker.longest_first(experiments).into_iter().map(|one| worker.place(one));
    let shards: Vec<_> = places.map(|place| (place.name, place.key)).collect();
    let progress = Progress::new("experiments", shards.len() as u64, 0, worker.quiet);
    let known = RefCell::default();
    let stage = Stage { folder: worker.folder, args, shards, known, progress };
    let all = slurm::run(&stage, &args.slurm, worker.interrupt, worker.quiet);
    stage.progress.finish();
    all
}

impl Work for Stage<'_> {
    fn what(&self) -> &'static str {
        "validation"
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, folder: &Path) -> Vec<String> {
        let words = ["validate".to_owned(), folder.join("fabric.toml").display().to_string()];
        let out = ["--out".to_owned(), folder.display().to_string()];
        words.into_iter().chain(self.args.suite()).chain(out).collect()
    }

    fn missing(&self) -> Vec<String> {
        let mut known = self.known.borrow_mut();
        let mut missing = Vec::new();
        for (name, key) in &self.shards {
            if known.contains(name) {
                continue;
            }
            if self.folder.recall(name, key).is_some() {
                known.insert(name.clone());
            } else {
                missing.push(name.clone());
            }
        }
        missing
    }

    fn done(&self) -> u64 {
        self.missing();
        self.known.borrow().len() as u64
    }

    fn show(&self, words: &str) {
        self.progress.reach(self.known.borrow().len() as u64, words);
    }

    fn resume(&self) -> &'static str {
        "the same command"
    }
}

/// Makes the experiments of a job.
pub(super) fn work(args: &Args, part: &str) -> Result<Exit, Failure> {
    let path = args.out.as_deref().ok_or_else(|| Failure::input("--worker needs --out"))?;
    let folder = Folder::of_worker(path)?;
    let names = slurm::part(path, part)?;
    let text = input::read_text(&args.fabric).map_err(Failure::input)?;
    let setup = input::fabric(&args.fabric)?;
    let Plan { experiments: all, costs, .. } = args.plan(&setup.fabric);
    let costs = by_name(&all, costs);
    let clock = Stopwatch::start();
    // All experiments of a list are made on one fabric.
    let variant = names.first().and_then(|name| {
        let longest = all.iter().filter(|one| name.starts_with(&one.id));
        longest.filter_map(|one| variant_of(name, &one.id)).next()
    });
    let changed = match &variant {
        None => text,
        Some(variant) => {
            input::read_text(&path.join(variant_file(variant))).map_err(Failure::input)?
        }
    };
    let interrupt = Interrupt::listen();
    let worker = Worker {
        folder: &folder,
        fabric: &changed,
        seed: args.seed,
        variant,
        interrupt: &interrupt,
        threads: args.threads,
        quiet: true,
        costs: &costs,
    };
    let own = |one: &&Experiment| names.contains(&worker.place(one).name);
    let experiments: Vec<Experiment> = all.iter().filter(own).cloned().collect();
    if experiments.len() != names.len() {
        return Err(Failure::input(format!(
            "`{}` has experiments that this version of xoff does not have",
            path.display()
        )));
    }
    worker.measure(&experiments)?;
    crate::output::stderr(&format!("{} experiments, {:.1} s\n", names.len(), clock.seconds()));
    Ok(Exit::Fine)
}
