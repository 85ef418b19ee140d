//! `xoff sweep`: many runs of one scenario, one table of what they gave.

mod folder;
mod screen;
mod source;
pub(super) mod work;

use crate::clock::Stopwatch;
use crate::commands::run::{self, quoted};
use crate::exit::{CODES, Exit, Failure};
use crate::input::Scene;
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::diagnostics::Findings;
use crate::output::files::Earlier;
use crate::pool;
use crate::progress::Progress;
use crate::slurm;
use folder::Folder;
use source::Source;
use std::fs;
use std::path::{Path, PathBuf};
use work::OnSlurm;
use xoff_sweep::page::{Material, page};

const EXAMPLES: &str = "Examples:
  xoff sweep examples/sweep-ecn.toml --dry-run
  xoff sweep examples/sweep-ecn.toml
  xoff sweep examples/sweep-ecn.toml --resume
  xoff sweep examples/sweep-ecn.toml --point 17
  xoff sweep examples/sweep-ecn.toml --slurm --partition cpu --time 30:00
  xoff sweep examples/sweep-ecn.toml --json | jq .best

The folder gets sweep.parquet, one row per point with inputs and results, and sweep.html.
Ctrl-C stops after the points under way; --resume goes on, and so it does after a kill.
The table is the same, byte for byte, whatever ran it.";

/// Arguments of `xoff sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The sweep file
    file: PathBuf,
    /// The folder of the sweep [default: sweeps/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the sweep in the folder
    #[arg(long, conflicts_with = "fresh")]
    resume: bool,
    /// Forget what is in the folder, and begin again
    #[arg(long)]
    fresh: bool,
    /// Runs at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = pool::threads)]
    threads: Option<usize>,
    /// Say what would be run and how long it takes; run the first point only
    #[arg(long)]
    dry_run: bool,
    /// Run one point as `xoff run` does, with a run folder of its own
    #[arg(long, value_name = "N", conflicts_with_all = ["dry_run", "resume", "fresh", "slurm"])]
    point: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    slurm: slurm::Options,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if let Some(part) = &args.slurm.worker {
        return worker(args, part);
    }
    let source = source::open(&args.file, args.json)?;
    if let Some(number) = args.point {
        return point(args, &source, number);
    }
    if args.dry_run {
        return screen::dry_run(args.json, &source, threads(args));
    }
    let path =
        args.out.clone().unwrap_or_else(|| Path::new("sweeps").join(plain(&source.inputs.name)));
    let earlier = Earlier::of(args.resume, args.fresh);
    let interrupt = Interrupt::listen();
    let folder = Folder::open(&path, &source, earlier)?;
    let progress = Progress::new("points", source.plan.points(), folder.points(), args.json);
    let all = if args.slurm.slurm {
        let work = OnSlurm { folder: &folder, progress: &progress };
        slurm::run(&work, &args.slurm, &interrupt, args.json)
    } else {
        let missing = folder.missing();
        work::run(&folder, &source, &missing, args.threads, &interrupt, &progress)
    };
    progress.finish();
    if !all? {
        return Err(folder.interrupted(&source, &args.command(Some("--resume"))));
    }
    conclude(args, &folder, &source)
}

/// Makes the table and the page, and says what they show.
fn conclude(args: &Args, folder: &Folder, source: &Source) -> Result<Exit, Failure> {
    let gathered = folder.merge(source)?;
    let command = args.command(None);
    let point_command = format!("xoff sweep {} --point", quoted(&args.file.display().to_string()));
    let material = Material {
        name: &source.inputs.name,
        gathered: &gathered,
        command: &command,
        point_command: &point_command,
        key: &source.key,
        version: env!("CARGO_PKG_VERSION"),
    };
    folder.write(folder::PAGE, page(&material).html().as_bytes())?;
    let summary = screen::Summary::of(source, &gathered, folder, &point_command);
    folder.write(folder::SUMMARY, output::json(&summary)?.as_bytes())?;
    summary.show(args.json)?;
    let none_fine = gathered.failed() == gathered.points;
    Ok(if none_fine { Exit::BrokeARule } else { Exit::Fine })
}

fn threads(args: &Args) -> usize {
    args.threads.unwrap_or_else(pool::cores)
}

/// A name as that of a folder.
fn plain(name: &str) -> String {
    let word = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(word).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "sweep".to_owned() } else { name.to_owned() }
}

/// Runs one point as an ordinary run.
fn point(args: &Args, source: &Source, number: u64) -> Result<Exit, Failure> {
    let points = source.plan.points();
    let point = source.plan.point(number).ok_or_else(|| {
        Failure::input(format!(
            "there is no point {number}: the {points} points are 0 to {}",
            points - 1
        ))
    })?;
    let texts = source.base.change(&point.settings, point.seed).map_err(Failure::input)?;
    let loaded = source.base.load(&texts, point.seed).map_err(|why| {
        Failure::input(format!("point {number} ({}) is refused: {}", point.words(), why.message))
    })?;
    let name = format!("{}-point-{number}.toml", plain(&source.inputs.name));
    // The files of the point are in no place of the user's; the run folder gets copies.
    let beside = tempfile::tempdir().map_err(|error| Failure::write(error.to_string()))?;
    let fabric = Path::new(&texts.fabric_path).file_name().map(PathBuf::from);
    let fabric = fabric.unwrap_or_else(|| PathBuf::from("fabric.toml"));
    let scenario = renamed(&texts.scenario, &fabric);
    let mut inputs = vec![beside.path().join(&name), beside.path().join(&fabric)];
    for (path, text) in inputs.iter().zip([&scenario, &texts.fabric]) {
        fs::write(path, text).map_err(|error| crate::output::files::failed(path, &error))?;
    }
    let named = xoff_workload::input_files(&loaded.scenario.workloads);
    let folder = source.base.folder();
    inputs.extend(named.iter().flat_map(|name| crate::input::files(folder.join(name))));
    let command = args.command(Some(&format!("--point {number}")));
    let run = run::Args::made_by(command, PathBuf::from(name), args.out.clone(), args.json);
    let (flows, jobs) = (loaded.flows, loaded.jobs);
    let (scenario, setup) = (loaded.scenario, loaded.setup);
    run::simulate(&run, &Scene { scenario, setup, flows, jobs, seed: point.seed, inputs })
}

/// A scenario whose fabric lies beside it.
fn renamed(scenario: &str, fabric: &Path) -> String {
    let Ok(mut table) = scenario.parse::<toml::Table>() else { return scenario.to_owned() };
    table.insert("fabric".to_owned(), fabric.display().to_string().into());
    toml::to_string(&table).unwrap_or_else(|_| scenario.to_owned())
}

/// Runs the part of a job.
fn worker(args: &Args, part: &str) -> Result<Exit, Failure> {
    let (folder, source) = Folder::of_worker(&args.file)?;
    let interrupt = Interrupt::listen();
    let shards = slurm::part(folder.path(), part)?;
    let missing = folder.missing();
    let shards = shards.iter().filter_map(|shard| shard.parse().ok());
    let shards: Vec<u64> = shards.filter(|shard| missing.binary_search(shard).is_ok()).collect();
    let clock = Stopwatch::start();
    let progress = Progress::new("points", source.plan.points(), 0, true);
    let all = work::run(&folder, &source, &shards, Some(threads(args)), &interrupt, &progress)?;
    crate::output::stderr(&format!("{} shards, {:.1} s\n", shards.len(), clock.seconds()));
    Ok(if all { Exit::Fine } else { Exit::Interrupted })
}

/// Reads a sweep file for `xoff check`.
pub(crate) fn check(path: &Path) -> Result<(Option<String>, Findings), Failure> {
    let (source, findings) = source::check(path, true)?;
    Ok((source.map(|source| screen::outline(&source)), findings))
}

impl Args {
    /// The command that repeats the sweep, with one more argument.
    fn command(&self, more: Option<&str>) -> String {
        let mut words = vec!["xoff sweep".to_owned(), quoted(&self.file.display().to_string())];
        words.extend(more.map(str::to_owned));
        if let Some(out) = &self.out {
            words.push(format!("--out {}", quoted(&out.display().to_string())));
        }
        if more == Some("--resume") {
            words.extend(self.slurm.slurm.then(|| "--slurm".to_owned()));
        }
        words.join(" ")
    }
}
