//! `xoff compare`: one scenario under several rules, side by side.

mod folder;
mod screen;
mod work;

use crate::exit::{CODES, Exit, Failure, Level, say};
use crate::input;
use crate::interrupt::Interrupt;
use crate::kept::Outcome;
use crate::output::files::whole;
use crate::output::style::Style;
use crate::output::{self, printable};
use crate::pool;
use crate::progress::Progress;
use crate::slurm;
use folder::Folder;
use serde::Serialize;
use std::path::{Path, PathBuf};
use work::{Comparison, OnSlurm, Order};
use xoff_validate::Measurement;
use xoff_validate::compare::{Subject, Variant};
use xoff_validate::page::comparison::{Candidate, Material, comparison};

const EXAMPLES: &str = "Examples:
  xoff compare examples/permutation.toml --load-balancing ecmp,dlb,spray
  xoff compare examples/incast.toml --congestion-control none,dcqcn,hpcc,swift
  xoff compare examples/all-reduce.toml --load-balancing ecmp,dlb-packet --json
  xoff compare examples/incast.toml --congestion-control none,dcqcn --out comparison
  xoff compare examples/rivals-permutation.toml --transports roce,roce-tuned,infiniband,uet,tcp,iwarp
  xoff compare examples/incast.toml --congestion-control dcqcn,hpcc --out shared/incast --slurm

Transports: roce (as shipped), roce-tuned, infiniband, uet, tcp, iwarp, roce-v1 (what each
models, and what tuned means: docs/rivals.md).
Load balancing: ecmp, ecmp-qp, flowlet, dlb, dlb-packet, glb, glb-packet, spray, recycle,
paths, pinned, engineered.
Congestion control: none, dcqcn, hpcc, timely, swift, dctcp, cubic, nscc.
Given several, every combination is run. Ratios are to the first.";

/// Arguments of `xoff compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The scenario file
    scenario: PathBuf,
    /// Networks that carry the traffic
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    transports: Vec<String>,
    /// Ways to choose among equal ports
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    load_balancing: Vec<String>,
    /// Ways to react to congestion
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    congestion_control: Vec<String>,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Runs at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = pool::threads)]
    threads: Option<usize>,
    /// A folder for the page, report.html, and all figures, comparison.json; an earlier comparison
    /// in it is replaced, and one that was interrupted gone on with
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Forget the runs that the folder has
    #[arg(long, requires = "out")]
    fresh: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    slurm: slurm::Options,
}

/// One variant's result.
#[derive(Debug, Serialize)]
struct Row {
    variant: String,
    change: toml::Table,
    /// What it changes of the fabric itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measurement>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if let Some(part) = &args.slurm.worker {
        return work::part(&args.scenario, part, args.threads);
    }
    if args.chosen().all(|(_, _, names)| names.is_empty()) {
        return Err(Failure::input(
            "name what to compare: --transports, --load-balancing or --congestion-control",
        ));
    }
    if args.slurm.slurm && args.out.is_none() {
        return Err(Failure::input("--slurm needs --out, a folder that the nodes see, too"));
    }
    let order = args.order()?;
    let seed = order.seed;
    let comparison = Comparison::of(order)?;
    let interrupt = Interrupt::listen();
    let folder = args.out.as_deref();
    let folder = folder.map(|path| Folder::open(path, &comparison, args.fresh)).transpose()?;
    let rows = rows(args, &comparison, folder.as_ref(), &interrupt)?;
    if let Some(folder) = &folder {
        folder.conclude(&rows, &report(args, seed, &rows, &comparison.variants))?;
    }
    if args.json {
        output::stdout_json(&rows)?;
    } else {
        let name = args.scenario.display().to_string();
        output::stdout(&screen::page(&name, seed, &rows))?;
        if let Some(path) = &args.out {
            let place = path.join(folder::PAGE).display().to_string();
            output::stdout(&format!(
                "\n{}  {}\n",
                Style::stdout().dim("report"),
                printable(&place)
            ))?;
        }
    }
    let broken = rows.iter().any(|row| row.measured.as_ref().is_none_or(|m| !m.is_complete()));
    Ok(if broken { Exit::BrokeARule } else { Exit::Fine })
}

/// Runs what the folder does not have, here or on Slurm.
fn rows(
    args: &Args,
    comparison: &Comparison,
    folder: Option<&Folder>,
    interrupt: &Interrupt,
) -> Result<Vec<Row>, Failure> {
    let all = comparison.variants.len();
    let progress = Progress::new("runs", all as u64, 0, args.json);
    if let Some(folder) = folder.filter(|_| args.slurm.slurm) {
        let work = OnSlurm { comparison, folder, progress: &progress };
        // What an interruption has left is counted below, where nothing begins any more.
        slurm::run(&work, &args.slurm, interrupt, args.json)?;
    }
    let wanted: Vec<usize> = (0..all).collect();
    let outcomes = comparison.run(&wanted, folder, args.threads, interrupt, &progress);
    progress.finish();
    let outcomes = outcomes?;
    if outcomes.len() < all {
        if let Some(folder) = folder {
            let (made, place) = (outcomes.len(), folder.path().display());
            let text = format!(
                "interrupted: {made} of {all} runs are in {place}; the same command resumes"
            );
            say(Level::Warning, &text);
        }
        return Err(Failure::silent(Exit::Interrupted));
    }
    let row = |(variant, outcome): (&Variant, Outcome)| {
        let Variant { name, change, note } = variant.clone();
        let row = Row { variant: name, change, note, refused: None, measured: None };
        match outcome {
            Outcome::Measured(measured) => Row { measured: Some(*measured), ..row },
            Outcome::Refused(why) => Row { refused: Some(why), ..row },
        }
    };
    Ok(comparison.variants.iter().zip(outcomes).map(row).collect())
}

/// The comparison as a page.
fn report(args: &Args, seed: u64, rows: &[Row], variants: &[Variant]) -> String {
    let candidates = variants.iter().zip(rows).map(|(variant, row)| Candidate {
        variant,
        outcome: match &row.measured {
            Some(measured) => Ok(measured),
            None => Err(row.refused.as_deref().unwrap_or_default()),
        },
    });
    let name = args.scenario.file_name().unwrap_or(args.scenario.as_os_str());
    let (scenario, command) = (name.to_string_lossy(), args.command(seed));
    let material = Material {
        scenario: &scenario,
        candidates: candidates.collect(),
        seed,
        command: &command,
        version: env!("CARGO_PKG_VERSION"),
    };
    comparison(&material).html()
}

impl Args {
    /// What is varied, by the option that says so.
    fn chosen(&self) -> impl Iterator<Item = (&'static str, Subject, &Vec<String>)> {
        [
            ("--transports", Subject::Transport, &self.transports),
            ("--load-balancing", Subject::LoadBalancing, &self.load_balancing),
            ("--congestion-control", Subject::CongestionControl, &self.congestion_control),
        ]
        .into_iter()
    }

    /// Reads the files. What is wrong with them is shown.
    fn order(&self) -> Result<Order, Failure> {
        let scene = input::scenario(&self.scenario, self.seed, self.json)?;
        let text = |place: usize| match scene.inputs.get(place) {
            Some(path) => input::read_text(path).map_err(Failure::input),
            None => Ok(String::new()),
        };
        let folder = self.scenario.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Order {
            scenario: text(0)?,
            fabric: text(1)?,
            folder: whole(folder.unwrap_or(Path::new("."))),
            seed: scene.seed,
            transports: self.transports.clone(),
            load_balancing: self.load_balancing.clone(),
            congestion_control: self.congestion_control.clone(),
        })
    }

    /// The command that repeats the comparison, wherever it is written.
    fn command(&self, seed: u64) -> String {
        let mut words = vec!["xoff compare".to_owned(), self.scenario.display().to_string()];
        for (flag, _, names) in self.chosen() {
            words.extend((!names.is_empty()).then(|| format!("{flag} {}", names.join(","))));
        }
        words.push(format!("--seed {seed}"));
        words.join(" ")
    }
}
