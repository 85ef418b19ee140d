//! `xoff run`: a scenario from its file to its run folder.

use crate::clock::Stopwatch;
use crate::exit::{CODES, Exit, Failure, Level, say};
use crate::input::{self, Scene};
use crate::interrupt::Interrupt;
use crate::memory;
use crate::output::files::{self, Contents};
use crate::output::number::time;
use crate::output::progress::{Bar, Work};
use crate::output::style::Style;
use crate::output::{self, stdout_width, summary};
use crate::pool;
use clap::ArgGroup;
use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, IsTerminal};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use xoff_collect::labels::Labeller;
use xoff_collect::prometheus::write;
use xoff_collect::store::StoreError;
use xoff_collect::{Written, otlp};
use xoff_fabric::model::{NicId, Tier};
use xoff_fabric::scenario::Fidelity;
use xoff_results::watch::{Pauses, Series, Timescale};
use xoff_results::{Results, Verdict, Watched, Watcher, isolation, page, verify};
use xoff_sim::{Progress, Report, Settings, Threads};
use xoff_telemetry::recording::{Readings, Timestamp};
use xoff_telemetry::{Outcome, RunError, RunFolder, Summary, TenantSummary};
use xoff_units::Span;
use xoff_workload::Flow;

/// Pauses that the page of a run is drawn from: the first ones.
const PAUSES: usize = 20_000;

const EXAMPLES: &str = "Examples:
  xoff run examples/permutation.toml
  xoff run examples/incast.toml --seed 7 --out runs/incast-a
  xoff run examples/permutation.toml --threads 2
  xoff run examples/permutation.toml --json | jq .flows.fct_us
  xoff run examples/tenants-one-class.toml --alone
  xoff run examples/mixtral-64.toml --fidelity flow
  xoff run examples/step-13b-128.toml --fidelity fast
  xoff run examples/all-reduce.toml --fidelity fast --verify
  xoff run examples/storm.toml --counters 50us --out storm && xoff diagnose storm
  xoff run examples/storm.toml --counters 20us --otlp http://localhost:4318/v1/metrics

The run folder holds summary.json, flows.parquet, ports.parquet,
queues.parquet, events.parquet, report.html and copies of the input files. Ctrl-C stops
the run and writes what it has; a second Ctrl-C ends the program at once.";

/// Arguments of `xoff run`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
#[command(group = ArgGroup::new("stores").args(["remote_write", "otlp"]).multiple(true))]
pub(crate) struct Args {
    /// The scenario file
    scenario: PathBuf,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// What is simulated of the traffic, instead of what the scenario says: every packet,
    /// packets where links are crowded and nothing twice (fast), or flows with fair shares of links
    /// (docs/fidelity.md)
    #[arg(long, value_name = "WHAT", value_parser = fidelity)]
    fidelity: Option<Fidelity>,
    /// Simulate every packet, too, and say how far the times and counters of this run are from that
    #[arg(long)]
    verify: bool,
    /// The run folder; an earlier run in it is replaced
    /// [default: runs/SCENARIO-SEED, with a number if that exists]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the summary as JSON and nothing else
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
    /// Write no report.html
    #[arg(long)]
    no_report: bool,
    /// Run every tenant alone, too, and say what they cost each other
    #[arg(long)]
    alone: bool,
    /// Read all counters this often, as a collector of metrics would, into counters.parquet
    /// for `xoff diagnose`
    #[arg(long, value_name = "TIME")]
    counters: Option<Span>,
    /// Write the counters to a metric store, too, as if every device had been scraped until now:
    /// the address of Prometheus' remote write, like http://localhost:9090/api/v1/write
    #[arg(long, value_name = "URL", requires = "counters")]
    remote_write: Option<String>,
    /// Write the counters to a receiver of OTLP, in the same way: a collector of OpenTelemetry,
    /// like http://localhost:4318/v1/metrics, or Prometheus, under /api/v1/otlp/v1/metrics
    #[arg(long, value_name = "URL", requires = "counters")]
    otlp: Option<String>,
    /// From one scrape to the next in the metric store; rates and shares of time stay those
    /// of the run
    #[arg(long, value_name = "TIME", default_value = "15s", requires = "stores")]
    interval: Span,
    /// Simulate on so many threads at most, by default one for each core, which changes no result. Others join when a run turns
    /// out to be long, and as long as that is quicker
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Encode and decode every packet's header on its way, and fail if one changes
    #[arg(long)]
    check_wire: bool,
    /// The command that reproduces the results, where it is not this one
    #[arg(skip)]
    command: Option<String>,
}

impl Args {
    /// Of a run that another command makes. It is named after `subject`.
    pub(crate) fn made_by(
        command: String,
        subject: PathBuf,
        out: Option<PathBuf>,
        json: bool,
    ) -> Self {
        Self {
            scenario: subject,
            seed: None,
            fidelity: None,
            verify: false,
            out,
            json,
            quiet: false,
            no_report: false,
            alone: false,
            counters: None,
            remote_write: None,
            otlp: None,
            interval: Span::from_ms(15_000),
            threads: Some(NonZero::<usize>::MIN),
            check_wire: false,
            command: Some(command),
        }
    }
}

/// A fidelity by its name.
pub(crate) fn fidelity(name: &str) -> Result<Fidelity, String> {
    let known = Fidelity::ALL.into_iter().find(|fidelity| fidelity.name() == name);
    known.ok_or_else(|| format!("use {}", Fidelity::ALL.map(Fidelity::name).join(" or ")))
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let mut scene = input::scenario(&args.scenario, args.seed, args.quiet)?;
    if let Some(fidelity) = args.fidelity {
        scene.scenario.fidelity = fidelity;
    }
    simulate(args, &scene)
}

/// Runs a scene whose files have been read.
pub(crate) fn simulate(args: &Args, scene: &Scene) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen();
    let folder = open_folder(args, scene)?;
    let scrape_period = args.counters.unwrap_or(Span::ZERO);
    let settings = Settings {
        check_wire: args.check_wire,
        scrape_period,
        threads: Threads::up_to(args.threads.map_or_else(pool::cores, NonZero::get)),
        ..scene.settings()
    };
    let mut bar = (!args.quiet && !args.json && std::io::stderr().is_terminal())
        .then(|| Bar::new(work(scene, &settings)));
    let mut go_on = |progress: &Progress| {
        if let Some(bar) = &mut bar {
            bar.update(progress);
        }
        !interrupt.requested()
    };
    let (case, record) = (scene.case(), &scene.scenario.record);
    let mut watcher =
        Watcher::new(case.fabric, &mut go_on).write_to(&folder, case.faults, record.max_events)?;
    if !args.no_report {
        watcher = watcher.keep_series(record.period).keep_pauses(PAUSES);
    }
    if args.counters.is_some() {
        watcher = watcher.keep_counters(Timescale::OF_THE_RUN);
    }
    let clock = Stopwatch::start();
    let ran = case.run(&settings, &mut watcher);
    let wall_seconds = clock.seconds();
    let mut watched = watcher.finish();
    if let Some(bar) = &bar {
        bar.clear();
    }
    let report = ran.map_err(|error| could_not_begin(&folder, scene, &error.to_string()))?;
    if let Some(counters) = &mut watched.counters {
        counters.add_jobs(&case, &report);
    }
    let results = Results { case, report: &report, seen: &watched.seen, wall_seconds };
    let run = Run { args, scene, folder: &folder, results, watched: &watched };
    run.conclude(&settings, &interrupt)
}

/// How a kind of store is written to.
type Send = fn(&str, &Labeller<'_>, &Readings) -> Result<Written, StoreError>;

/// A run that is over, and where it is to be kept.
struct Run<'a> {
    args: &'a Args,
    scene: &'a Scene,
    folder: &'a RunFolder,
    results: Results<'a>,
    watched: &'a Watched,
}

impl Run<'_> {
    /// Writes the results, shows them and says whether the run kept the rules.
    fn conclude(&self, settings: &Settings, interrupt: &Interrupt) -> Result<Exit, Failure> {
        let (results, folder) = (&self.results, self.folder);
        let written = self.watched.errors.iter().map(RunError::to_string);
        let mut errors: Vec<String> = written.collect();
        let interrupted = results.report.outcome == xoff_sim::Outcome::Interrupted;
        let stopped_by_disk = !errors.is_empty() && interrupted;
        let (mut summary, failed) = results.write(folder, self.scene.seed);
        summary.peak_memory_bytes = memory::peak().unwrap_or_default().get();
        if self.args.alone {
            self.isolate(settings, interrupt, &mut summary)?;
        }
        if self.args.verify {
            self.verify(settings, interrupt, &mut summary)?;
        }
        let verdict = Verdict::of(results, &self.scene.scenario.allow);
        errors.extend(failed.iter().map(RunError::to_string));
        errors.extend(self.write_counters().err().map(|error| error.to_string()));
        errors.extend(self.write_remotely().iter().map(StoreError::to_string));
        summary.outcome = verdict.outcome(results.case.fabric, results.report);
        summary.notes.extend(errors.iter().cloned());
        if let Some(series) = &self.watched.series {
            let page = self.page(&summary, &verdict, series, &self.watched.pauses);
            let failed = folder.write_report(&page).err().map(|error| error.to_string());
            summary.notes.extend(failed.clone());
            errors.extend(failed);
        }
        errors.extend(folder.write_summary(&summary).err().map(|error| error.to_string()));
        show(self.args, &summary, folder)?;
        if !self.args.quiet {
            let left_out = xoff_results::jobs::left_out(&results.case, &results.report.jobs);
            left_out.iter().for_each(|note| say(Level::Note, note));
            let asked = self.args.threads.is_some_and(|threads| threads.get() > 1);
            if let (true, Some(reason)) = (asked, results.report.sections.one) {
                say(Level::Note, &format!("simulated on one thread: {reason}"));
            }
        }
        judge(self.args, &verdict, results.report, &errors, stopped_by_disk, folder)
    }

    /// Writes the counters, if they were read.
    fn write_counters(&self) -> Result<(), RunError> {
        let Some(counters) = &self.watched.counters else { return Ok(()) };
        let mut table = self.folder.table()?;
        counters.readings().rows().try_for_each(|row| table.push(&row))?;
        table.finish().map(drop)
    }

    /// Writes the counters to the metric stores that are named: the last scrape is now.
    fn write_remotely(&self) -> Vec<StoreError> {
        let stores: [(&Option<String>, Send); 2] =
            [(&self.args.remote_write, write::send), (&self.args.otlp, otlp::send)];
        let mut stores = stores.iter().filter_map(|(url, send)| Some((url.as_ref()?, send)));
        let Some(counters) = &self.watched.counters else { return Vec::new() };
        let Some(first) = stores.next() else { return Vec::new() };
        let period = self.args.counters.unwrap_or(Span::ZERO);
        let stretch = Timescale::new(Timestamp(0), period, self.args.interval).stretch;
        let length = counters.length().as_ps() as f64 / 1e3 * stretch;
        let start = Timestamp(crate::clock::now().0 - length as i64);
        let readings = counters.stretched(Timescale { start, stretch });
        let fabric = fabric_name(self.scene);
        let labeller = Labeller::new(self.results.case.fabric, &fabric);
        let mut errors = Vec::new();
        for (url, send) in std::iter::once(first).chain(stores) {
            match send(url, &labeller, &readings) {
                Ok(written) if !self.args.quiet && !self.args.json => {
                    let Written { samples, series } = written;
                    let what = format!("{samples} samples of {series} series");
                    say(Level::Note, &format!("wrote {what} of fabric `{fabric}` to {url}"));
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    /// Runs every tenant alone.
    fn isolate(
        &self,
        settings: &Settings,
        interrupt: &Interrupt,
        summary: &mut Summary,
    ) -> Result<(), Failure> {
        let mut go_on = |_: &Progress| !interrupt.requested();
        let (case, rows) = (&self.results.case, &mut summary.workloads);
        let all = isolation::compare(case, settings, &mut go_on, rows)
            .map_err(|error| Failure::input(error.to_string()))?;
        summary.tenants = TenantSummary::of(&summary.workloads);
        summary.notes.extend((!all).then(|| "tenants were not all run alone".to_owned()));
        Ok(())
    }

    /// Simulates every packet, and says how far this run is from that.
    fn verify(
        &self,
        settings: &Settings,
        interrupt: &Interrupt,
        summary: &mut Summary,
    ) -> Result<(), Failure> {
        let results = &self.results;
        if results.report.outcome == xoff_sim::Outcome::Interrupted {
            return Ok(());
        }
        let mut go_on = |_: &Progress| !interrupt.requested();
        summary.verification = verify::compare(&results.case, settings, results.report, &mut go_on)
            .map_err(|error| Failure::input(error.to_string()))?;
        if summary.verification.is_none() {
            summary.notes.push("not verified: interrupted".to_owned());
        }
        Ok(())
    }

    fn page(
        &self,
        summary: &Summary,
        verdict: &Verdict,
        series: &Series,
        pauses: &Pauses,
    ) -> String {
        page(&page::Material {
            results: &self.results,
            summary,
            series,
            pauses,
            verdict,
            title: name(self.args),
            command: command(self.args, self.scene),
        })
    }
}

/// What series of a run call its fabric: the name of its file.
fn fabric_name(scene: &Scene) -> String {
    let path = Path::new(&scene.scenario.fabric);
    path.file_stem().map_or("fabric".into(), |stem| stem.to_string_lossy().into_owned())
}

/// What is printed on standard output.
fn show(args: &Args, summary: &Summary, folder: &RunFolder) -> Result<(), Failure> {
    if args.json {
        return output::stdout_json(summary);
    }
    if args.quiet {
        return Ok(());
    }
    let page =
        summary::render(summary, &name(args), folder.path(), stdout_width(), Style::stdout());
    output::stdout(&page)
}

/// The file name of the scenario.
fn name(args: &Args) -> String {
    let name = args.scenario.file_name().unwrap_or(args.scenario.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The command that reproduces the results.
fn command(args: &Args, scene: &Scene) -> String {
    if let Some(command) = &args.command {
        return command.clone();
    }
    let path = args.scenario.display().to_string();
    let path = quoted(&path);
    let alone = if args.alone { " --alone" } else { "" };
    let fidelity = args.fidelity.map(|fidelity| format!(" --fidelity {}", fidelity.name()));
    format!("xoff run {path} --seed {}{}{alone}", scene.seed, fidelity.unwrap_or_default())
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Says what went wrong, on standard error, and how the program ends.
fn judge(
    args: &Args,
    verdict: &Verdict,
    report: &Report,
    errors: &[String],
    stopped_by_disk: bool,
    folder: &RunFolder,
) -> Result<Exit, Failure> {
    for breach in &verdict.breaches {
        if !breach.allowed {
            say(Level::Error, &breach.message);
        } else if !args.quiet {
            say(Level::Note, &format!("allowed by the scenario: {}", breach.message));
        }
    }
    for error in errors {
        say(Level::Error, error);
    }
    let simulated = time(Span::from_ps(report.end.as_ps()));
    if stopped_by_disk {
        say(Level::Error, &format!("stopped after {simulated} of simulated time for that reason"));
    }
    if !errors.is_empty() {
        return Ok(Exit::CannotWrite);
    }
    if report.outcome == xoff_sim::Outcome::Interrupted {
        let place = folder.path().display();
        let text = format!(
            "interrupted after {simulated} of simulated time; the results until then are in {place}"
        );
        say(Level::Warning, &text);
        return Ok(Exit::Interrupted);
    }
    Ok(if verdict.is_broken() { Exit::BrokeARule } else { Exit::Fine })
}

/// The simulator refused the scenario: the folder's summary records it.
fn could_not_begin(folder: &RunFolder, scene: &Scene, reason: &str) -> Failure {
    let mut summary = Summary::new(scene.seed);
    summary.inputs = folder.inputs().to_vec();
    summary.outcome = Outcome::Failed { reasons: vec![reason.to_owned()] };
    match folder.write_summary(&summary) {
        Ok(()) => Failure::input(reason),
        Err(error) => error.into(),
    }
}

/// What there is to do, for the progress bar: every flow's packets and ACKs over the links of a
/// path up to the top and down again, or over those of one switch if that joins its ends.
fn work(scene: &Scene, settings: &Settings) -> Work {
    let fabric = &scene.setup.fabric;
    let tiers: BTreeSet<Tier> = fabric.switches.iter().map(|switch| switch.tier).collect();
    let neighbour = |nic: NicId| {
        let port = fabric.nics[nic.index()].ports.start as usize;
        fabric.ports.get(port).map(|port| fabric.ports[port.peer.index()].node)
    };
    let hops = |flow: &Flow| {
        let qp = &fabric.nics[flow.source.index()].qp;
        let packets = flow.bytes.get().div_ceil(qp.mtu.get().max(1));
        let acks = packets.div_ceil(u64::from(qp.ack_every.max(1)));
        let near = neighbour(flow.source) == neighbour(flow.destination);
        (packets + acks).saturating_mul(if near { 2 } else { 2 * tiers.len() as u64 })
    };
    let packet_hops = scene.flows.iter().map(hops).fold(0, u64::saturating_add);
    Work { until: settings.until, packet_hops }
}

/// Makes the run folder and copies the input files into it.
fn open_folder(args: &Args, scene: &Scene) -> Result<RunFolder, Failure> {
    let path = match &args.out {
        Some(path) => {
            let own = RunFolder::is_one;
            files::claim(path, &Contents::Results { what: "run", own })?;
            path.clone()
        }
        None => free_folder(Path::new("runs"), &args.scenario, scene.seed)?,
    };
    let mut folder = RunFolder::create(path)?;
    for input in &scene.inputs {
        folder.keep_input(input)?;
    }
    Ok(folder)
}

/// The first of `runs/name-seed`, `runs/name-seed-2`, … that is not there, made here and now so
/// that two runs at the same time do not get the same one.
fn free_folder(runs: &Path, scenario: &Path, seed: u64) -> Result<PathBuf, Failure> {
    let stem = scenario.file_stem().unwrap_or(scenario.as_os_str()).to_string_lossy();
    let name = format!("{stem}-{seed}");
    let failed = |path: &Path, source| RunError::Folder { path: path.to_owned(), source };
    fs::create_dir_all(runs).map_err(|error| failed(runs, error))?;
    let mut path = runs.join(&name);
    for number in 2u64.. {
        match fs::create_dir(&path) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                path = runs.join(format!("{name}-{number}"));
            }
            Err(error) => return Err(failed(&path, error).into()),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_numbered() {
        let runs = tempfile::tempdir().unwrap();
        let free = || free_folder(runs.path(), Path::new("a/incast.toml"), 7).unwrap();
        assert_eq!(free(), runs.path().join("incast-7"));
        assert_eq!(free(), runs.path().join("incast-7-2"));
        assert_eq!(free(), runs.path().join("incast-7-3"));
    }
}
