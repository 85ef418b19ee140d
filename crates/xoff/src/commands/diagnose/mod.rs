//! `xoff diagnose`: from counters to the cause and its place.

mod devices;
mod page;
pub(crate) mod store;
mod window;

use crate::exit::{Exit, Failure};
use crate::input::wall_time;
use crate::output::{self, stdout_width, style::Style};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use window::Window;
use xoff_diagnose::fabric::{Diagnosis, Missing, Scene, configured, diagnose};
use xoff_fabric::{FabricSetup, load_planned};
use xoff_telemetry::recording::{Place, Reading, Readings, Recording, Steps, Timestamp};
use xoff_telemetry::{Row, RunFolder};
use xoff_units::Span;

const EXAMPLES: &str = "Examples:
  xoff run examples/storm.toml --counters 20us --out storm
  xoff diagnose storm
  xoff diagnose storm --usual 0us..50us --window 50us..
  xoff diagnose slow-run --usual good-run --json | jq '.findings[0]'
  xoff diagnose http://localhost:9090 --fabric pod.toml --last 10min --before 1h
  xoff diagnose http://localhost:9090 --fabric pod.toml --names names.toml
  xoff diagnose http://localhost:9090 --fabric pod.toml --devices running-configs
  xoff diagnose http://localhost:9090 --fabric pod.toml \\
    --nccl-tests before.log --nccl-tests after.log

A run folder holds counters if the run was made with --counters. What is usual
is part of the same run, or another run; of a metric store it is the time
before. Without it, causes that show only by comparison (other routes, more
marks than before) cannot be found.

A metric store is anything that answers as Prometheus does, and holds the series
of docs/metrics.md: its names and labels. A names file says what they are called
elsewhere (docs/diagnose.md): `sources = [\"node-exporter\"]` and which device is
which is often enough.

Exit codes:
  0    nothing is wrong
  1    something is
  2    bad usage, or counters that cannot be read
  3    results could not be written";

/// Arguments of `xoff diagnose`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A run folder with counters, or the address of a metric store
    source: PathBuf,
    /// The fabric file as it was planned [default: the one of the run]
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// The part to diagnose, like 1ms..2ms [default: all of it, or all after --usual]
    #[arg(long, value_name = "FROM..TO")]
    window: Option<Window>,
    /// A part in which nothing was wrong, or a run folder
    #[arg(long, value_name = "FROM..TO|DIR")]
    usual: Option<String>,
    /// Of a metric store: the time until now that is to be diagnosed
    #[arg(long, value_name = "TIME", default_value = "15min", value_parser = wall_time::parse)]
    last: Duration,
    /// Of a metric store: how long before that all was well; 0s if it was not
    #[arg(long, value_name = "TIME", default_value = "45min", value_parser = wall_time::parse)]
    before: Duration,
    /// Of a metric store: one value of each series for this time
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = wall_time::parse)]
    step: Duration,
    /// Of a metric store: only series whose label `fabric` is this
    #[arg(long, value_name = "NAME")]
    fabric_name: Option<String>,
    /// Of a metric store: what its series are called, if not as in docs/metrics.md
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Of a metric store: step times that a job logged, a table or Megatron-LM's lines
    #[arg(long, value_name = "FILE")]
    steps: Option<PathBuf>,
    /// Configurations of the devices, as `xoff audit` reads them: they are held against what the counters show
    #[arg(long, value_name = "DIR")]
    devices: Option<PathBuf>,
    /// Of a metric store: what nccl-tests, rccl-tests or PARAM printed; of several files of one
    /// test the last is about now, the others about what is usual
    #[arg(long, value_name = "FILE")]
    nccl_tests: Vec<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    /// Show all findings, and what was ruled out
    #[arg(long)]
    all: bool,
}

/// The result for machines.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    tool: &'static str,
    version: &'static str,
    source: &'a Path,
    findings: Vec<AnswerFinding<'a>>,
    ruled_out: Vec<&'static str>,
    missing: Vec<&'a str>,
    /// What was measured of collectives.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    measured: &'a [String],
}

#[derive(Debug, Serialize)]
struct AnswerFinding<'a> {
    cause: &'static str,
    place: &'a str,
    confidence: &'static str,
    text: &'static str,
    evidence: &'a [String],
    /// The place of the finding that may have brought it about.
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<&'a str>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let source = args.source.to_string_lossy();
    let (mut diagnosis, setup) =
        match source.starts_with("http://") || source.starts_with("https://") {
            true => store::diagnose(args, &source)?,
            false => of_folder(args)?,
        };
    if let Some(folder) = &args.devices {
        configured::compare(&mut diagnosis, &setup.fabric, &devices::configured(folder, &setup)?);
    }
    show(args, &diagnosis)?;
    Ok(if diagnosis.findings.is_empty() { Exit::Fine } else { Exit::BrokeARule })
}

/// A diagnosis of a run's counters, and the fabric as it was planned.
fn of_folder(args: &Args) -> Result<(Diagnosis, Box<FabricSetup>), Failure> {
    if args.names.is_some() || args.steps.is_some() || !args.nccl_tests.is_empty() {
        return Err(Failure::input(
            "--names, --steps and --nccl-tests are for metric stores; a run knows its own names and times",
        ));
    }
    let (recording, unread) = recording(&args.source)?;
    let setup = fabric(&args.source, args.fabric.as_deref())?.0;
    let other = match &args.usual {
        Some(text) if Path::new(text).is_dir() => Some(self::recording(Path::new(text))?.0),
        _ => None,
    };
    let usual = match (&args.usual, &other) {
        (Some(text), None) => Some(text.parse::<Window>().map_err(Failure::input)?),
        _ => None,
    };
    let steps = recording.steps();
    let usual_steps =
        usual.map(|window| window.steps(steps)).transpose().map_err(Failure::input)?;
    let window = match (args.window, &usual_steps) {
        (Some(window), _) => window.steps(steps).map_err(Failure::input)?,
        (None, Some(usual)) => usual.end..steps.count,
        (None, None) => 0..steps.count,
    };
    if steps.count == 0 {
        return Err(Failure::input(format!(
            "`{}` ended before its counters were read a second time, so that nothing is known; make the run with a \
             shorter period, like --counters 1us",
            args.source.display()
        )));
    }
    refuse_empty(&window)?;
    let mut scene = Scene::new(&setup.fabric, &recording, window);
    if let Some(other) = &other {
        scene = scene.with_usual(other, 0..other.steps().count);
    } else if let Some(usual) = usual_steps {
        scene = scene.with_usual(&recording, usual);
    }
    let mut diagnosis = diagnose(&scene);
    if unread > 0 {
        let what = format!("{unread} rows are of metrics that this version does not know");
        diagnosis.missing.push(Missing { what });
    }
    drop(scene);
    Ok((diagnosis, setup))
}

fn refuse_empty(window: &Range<usize>) -> Result<(), Failure> {
    if window.is_empty() {
        return Err(Failure::input(
            "no counters are left to diagnose: leave out --window, or let --usual end earlier",
        ));
    }
    Ok(())
}

/// The counters of a run, a step for each time they were read; and how many rows were not understood.
pub(crate) fn recording(folder: &Path) -> Result<(Recording, u64), Failure> {
    let path = folder.join(xoff_telemetry::CounterRow::TABLE).with_extension("parquet");
    if !path.exists() {
        return Err(Failure::input(format!(
            "`{}` has no counters; make the run with `xoff run SCENARIO --counters 100us`",
            folder.display()
        )));
    }
    let (readings, unknown) = Readings::read(&path)
        .map_err(|error| Failure::input(format!("cannot read `{}`: {error}", path.display())))?;
    Ok((readings.record(steps(&readings)), unknown))
}

/// A step for each time that the counters of devices were read.
fn steps(readings: &Readings) -> Steps {
    let of_device =
        |reading: &&Reading| matches!(readings.places.get(reading.key.place), Place::Port { .. });
    let times: BTreeSet<Timestamp> =
        readings.list.iter().filter(of_device).map(|reading| reading.at).collect();
    let start = times.first().copied().unwrap_or(Timestamp(0));
    let last = times.last().copied().unwrap_or(start);
    let count = times.len().saturating_sub(1);
    let ns = (last.0 - start.0) / count.max(1) as i64;
    Steps { start, step: Span::from_ns(ns.unsigned_abs()), count }
}

/// The fabric as it was planned, and its name: by the file that is named, or with the settings of the run's scenario and without its
/// faults.
pub(crate) fn fabric(
    source: &Path,
    named: Option<&Path>,
) -> Result<(Box<FabricSetup>, String), Failure> {
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(path) = named {
        return Ok((Box::new(crate::input::fabric(path)?), stem(path)));
    }
    let summary = RunFolder::read_summary(source).map_err(|error| {
        Failure::input(format!("`{}` is no run folder: {error}", source.display()))
    })?;
    // A run keeps its scenario first, then the fabric file that it names, if it names one.
    let mut copies = summary.inputs.iter().map(|input| source.join(&input.copy));
    let mut copy = || {
        let path = copies.next().unwrap_or_default();
        (std::fs::read_to_string(&path).unwrap_or_default(), stem(&path))
    };
    let ((scenario, own), (fabric, name)) = (copy(), copy());
    let planned = load_planned(&scenario, &fabric).into_result().map(|planned| (planned, name));
    let planned = planned
        .or_else(|_| load_planned(&scenario, "").into_result().map(|planned| (planned, own)));
    planned.map(|(planned, name)| (Box::new(planned.setup), name)).map_err(|_| {
        Failure::input(format!(
            "there is no fabric file in `{}`; name it with --fabric",
            source.display()
        ))
    })
}

fn show(args: &Args, diagnosis: &Diagnosis) -> Result<(), Failure> {
    if args.json {
        return output::stdout_json(&answer(args, diagnosis));
    }
    output::stdout(&page::render(diagnosis, args.all, stdout_width(), Style::stdout()))
}

fn answer<'a>(args: &'a Args, diagnosis: &'a Diagnosis) -> Answer<'a> {
    let findings = diagnosis.findings.iter().map(|finding| AnswerFinding {
        cause: finding.cause.name(),
        place: &finding.place,
        confidence: finding.confidence.words(),
        text: finding.cause.words(),
        evidence: &finding.evidence,
        follows: finding.follows.as_deref(),
    });
    Answer {
        tool: "xoff",
        version: env!("CARGO_PKG_VERSION"),
        source: &args.source,
        findings: findings.collect(),
        ruled_out: diagnosis.ruled_out.iter().map(|cause| cause.name()).collect(),
        missing: diagnosis.missing.iter().map(|missing| missing.what.as_str()).collect(),
        measured: &diagnosis.measured,
    }
}
