//! The arguments of `xoff tune`, and what they change about a tune file.

use crate::commands::run::quoted;
use crate::exit::{CODES, Failure};
use crate::pool;
use std::path::PathBuf;
use toml::Value;
use xoff_sweep::{Axis, Key};
use xoff_tune::faults::Single;
use xoff_tune::file::{MOST_KNOBS, figure};
use xoff_tune::{Bound, Tune};

const EXAMPLES: &str = "Examples:
  xoff tune examples/tune-mix.toml --dry-run
  xoff tune examples/tune-mix.toml
  xoff tune examples/permutation.toml --budget 300
  xoff tune examples/incast.toml --knob fabric.ecn.kmin --knob 'fabric.ecn.kmax=100KB..5MB:log'
  xoff tune examples/permutation.toml examples/incast.toml --at-most paused_us=500
  xoff tune examples/tune-mix.toml --faults link,spine --resume
  xoff tune examples/adaptive.toml --online
  xoff tune examples/tune-mix.toml --json | jq .answer.values

A scenario names its fabric; a tune file names several scenarios with weights,
bounds and knobs (docs/tune.md). The folder gets advised.toml, tune.html, and
tune.parquet with a row for every run. No value is advised with which a run
lost a packet of a lossless class. Ctrl-C keeps what was run; --resume goes on.
The result is the same on any number of threads.";

/// Arguments of `xoff tune`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// A tune file, or scenarios that count alike
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// A knob: KEY=LOW..HIGH, KEY=LOW..HIGH:log, KEY=A,B,C, or KEY alone where its values are
    /// known; instead of the default ones
    #[arg(long, value_name = "KNOB")]
    knob: Vec<String>,
    /// Train a controller that moves ECN thresholds while traffic runs: the default knobs are its
    /// constants and the thresholds that it starts from
    #[arg(long)]
    online: bool,
    /// Keep the default knobs beside those of --knob or the file
    #[arg(long)]
    defaults: bool,
    /// Leave a default knob out, by its name or key
    #[arg(long, value_name = "KNOB")]
    without: Vec<String>,
    /// The result to make as small as possible, or as large where more is better [default: the
    /// time of the step, the collective or the p99 of flows, whichever runs have]
    #[arg(long, value_name = "RESULT")]
    objective: Option<String>,
    /// A bound that every run keeps, like paused_us=500
    #[arg(long, value_name = "RESULT=NUMBER")]
    at_most: Vec<String>,
    /// The same from below, like within_objective=0.99
    #[arg(long, value_name = "RESULT=NUMBER")]
    at_least: Vec<String>,
    /// Single faults that the values have to hold under: link, spine, slow-link
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    faults: Vec<String>,
    /// Runs, all together [default: 600]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    budget: Option<u64>,
    /// Seeds of the search [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Of the draws of the search itself [default: 1]
    #[arg(long, value_name = "N")]
    search_seed: Option<u64>,
    /// Draw so many settings at random instead of searching, for comparison
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) random: Option<u64>,
    /// The folder of the results [default: tunes/NAME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Go on with what is in the folder
    #[arg(long, conflicts_with = "fresh")]
    pub(super) resume: bool,
    /// Forget what is in the folder, and begin again
    #[arg(long)]
    pub(super) fresh: bool,
    /// Runs at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = pool::threads)]
    pub(super) threads: Option<usize>,
    /// Say what would be tuned and how long it takes; run the present setting only
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// A knob that a user named: with its values, or by its key alone.
pub(super) enum Wanted {
    /// With its values.
    Axis(Box<Axis>),
    /// By its key or name: the values are those of the default knob.
    Named(String),
}

impl Args {
    /// Changes what a file, or a list of scenarios, says. Returns the knobs that are named here.
    pub(super) fn apply(&self, tune: &mut Tune) -> Result<Vec<Wanted>, Failure> {
        if let Some(name) = &self.objective {
            let own = figure(name).map_err(|help| no_result(name, &help))?;
            tune.entries.iter_mut().for_each(|entry| entry.objective = Some(own));
        }
        for (texts, least) in [(&self.at_most, false), (&self.at_least, true)] {
            for text in texts {
                let bound = bound(text, least)?;
                for entry in &mut tune.entries {
                    entry.bounds.retain(|own| own.figure.name != bound.figure.name);
                    entry.bounds.push(bound.clone());
                }
            }
        }
        for word in &self.faults {
            let single = Single::named(word)
                .map_err(|help| Failure::input(format!("there is no fault `{word}`: {help}")))?;
            if !tune.faults.contains(&single) {
                tune.faults.push(single);
            }
        }
        tune.options.budget = self.budget.unwrap_or(tune.options.budget);
        tune.options.seeds = self.seeds.unwrap_or(tune.options.seeds);
        tune.options.search_seed = self.search_seed.unwrap_or(tune.options.search_seed);
        tune.without.extend(self.without.iter().cloned());
        if !self.knob.is_empty() {
            tune.defaults = false;
        }
        tune.defaults |= self.defaults;
        tune.online |= self.online;
        if self.knob.len() > MOST_KNOBS {
            return Err(Failure::input(format!("at most {MOST_KNOBS} knobs can be given")));
        }
        self.knob.iter().map(|text| knob(text)).collect()
    }

    /// The arguments that decide what is found, as words of a command.
    pub(super) fn own_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let lists = [
            ("--knob", &self.knob),
            ("--without", &self.without),
            ("--at-most", &self.at_most),
            ("--at-least", &self.at_least),
        ];
        for (name, values) in lists {
            words.extend(values.iter().map(|value| format!("{name} {}", quoted(value))));
        }
        words.extend(self.defaults.then(|| "--defaults".to_owned()));
        words.extend(self.online.then(|| "--online".to_owned()));
        words.extend(self.objective.iter().map(|own| format!("--objective {}", quoted(own))));
        if !self.faults.is_empty() {
            words.push(format!("--faults {}", quoted(&self.faults.join(","))));
        }
        let numbers = [
            ("--budget", self.budget),
            ("--seeds", self.seeds),
            ("--search-seed", self.search_seed),
            ("--random", self.random),
        ];
        for (name, number) in numbers {
            words.extend(number.map(|number| format!("{name} {number}")));
        }
        words
    }
}

fn no_result(name: &str, help: &str) -> Failure {
    Failure::input(format!("there is no result `{name}`: {help}"))
}

fn bound(text: &str, least: bool) -> Result<Bound, Failure> {
    let wrong = || {
        Failure::input(format!(
            "`{text}` is no bound: write a result and a number, `paused_us=500`"
        ))
    };
    let (name, limit) = text.split_once('=').ok_or_else(wrong)?;
    let limit: f64 = limit.trim().parse().map_err(|_| wrong())?;
    let figure = figure(name.trim()).map_err(|help| no_result(name.trim(), &help))?;
    if !limit.is_finite() {
        return Err(wrong());
    }
    Ok(Bound { figure, limit, least })
}

/// A value as a file would have it; what is no TOML is text.
fn value(text: &str) -> Value {
    let text = text.trim();
    let parsed = format!("v = {text}").parse::<toml::Table>().ok();
    let parsed = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("v"));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn knob(text: &str) -> Result<Wanted, Failure> {
    let wrong = |why: &str| Failure::input(format!("--knob {text}: {why}"));
    let Some((key, values)) = text.split_once('=') else {
        return Ok(Wanted::Named(text.trim().to_owned()));
    };
    let key = Key::parse(key.trim()).map_err(|why| wrong(&why))?;
    if key.is(xoff_sweep::File::Scenario, "seed") {
        return Err(wrong("a seed is no knob; use --seeds"));
    }
    if let Some((low, high)) = values.split_once("..") {
        let (high, log) = match high.rsplit_once(':') {
            Some((high, "log")) => (high, true),
            Some((high, "linear")) => (high, false),
            Some((_, scale)) => return Err(wrong(&format!("`{scale}` is no scale; use `log`"))),
            None => (high, false),
        };
        let axis = Axis::between(key, value(low), value(high), log)
            .map_err(|(why, help)| wrong(&format!("{why}; {help}")))?;
        return Ok(Wanted::Axis(Box::new(axis)));
    }
    let mut all: Vec<Value> = Vec::new();
    for text in values.split(',') {
        let one = value(text);
        if text.trim().is_empty() {
            return Err(wrong("a value is missing; write KEY=A,B,C or KEY=LOW..HIGH"));
        }
        if all.contains(&one) {
            return Err(wrong(&format!("`{}` is there twice", text.trim())));
        }
        all.push(one);
    }
    Ok(Wanted::Axis(Box::new(Axis::one_of(key, all))))
}
