//! `xoff trace`: what a person wants to know of a workload's trace.

mod answer;
mod page;
mod replay;
mod write;

use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::reading::Bar;
use crate::output::{self, printable, stdout_width, style::Style};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use xoff_workload::trace::{self, Format, NoteKind, Options, Trace, TraceError};

const EXAMPLES: &str = "Examples:
  xoff trace llama.et/
  xoff trace profile.json.gz --json | jq '.kinds'
  xoff trace schedule.goal --strict
  zcat train.log.gz | xoff trace - --format nccl
  xoff trace llama.et/ --replay examples/rail-64.toml
  xoff trace schedule.goal --replay examples/rail-64.toml --replicas 4
  xoff trace llama65b.csv --replay examples/pod-256.toml --fidelity flow
  xoff trace examples/mixtral-64.toml --write chakra --out mixtral.et

Reads Chakra execution traces (a folder of .et files, with their process
groups as JSON beside them), GOAL schedules, workloads of SimAI and AICB, JSON
of the PyTorch profiler, and NCCL logs (NCCL_DEBUG=INFO, with
NCCL_DEBUG_SUBSYS=INIT,COLL); gzipped or not, recognised by content. A folder
holds a file per rank, or per host.

Sizes are those that the trace states. Notes say what was not understood,
assumed or skipped, how often, and where first.

--replay runs the trace on a fabric, as a scenario with a workload of kind
`trace` does: computing takes its time, messages and collectives are packets,
and dependencies are kept. Results go to a run folder, as with `xoff run`.

--write is the other way round: the only collective or training step of a
scenario as Chakra files or a GOAL schedule, which has collectives as messages.

Exit codes:
  0    fine
  1    with --strict: something was not understood; with --replay: the run broke
       a rule, as with `xoff run`
  2    bad usage, or no trace that can be read
  3    results could not be written
  130  interrupted";

/// Arguments of `xoff trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The trace: a file, or a folder with one per rank; `-` for standard input
    path: PathBuf,
    /// Print everything found as JSON
    #[arg(long)]
    json: bool,
    /// Show all groups, ranks, connections and notes, however many
    #[arg(long)]
    all: bool,
    /// What it is, where its beginning does not tell: chakra, goal, simai, kineto or nccl
    #[arg(long)]
    format: Option<Format>,
    /// End with code 1 if anything was not understood
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    replay: replay::ReplayArgs,
    /// Write the workload of a scenario, given as PATH, as a trace of this format
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["replay", "format", "strict", "json"])]
    write: Option<write::Target>,
    /// With --replay the run folder [default: runs/TRACE-SEED, with a number if that
    /// exists], with --write the folder of the trace [default: SCENARIO-FORMAT]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Args {
    fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    /// The trace as messages name it.
    fn name(&self) -> String {
        if self.is_stdin() { "standard input".to_owned() } else { self.path.display().to_string() }
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if args.replay.is_wanted() {
        return replay::execute(args);
    }
    if let Some(target) = args.write {
        return write::execute(args, target);
    }
    if args.out.is_some() {
        return Err(Failure::input("`--out` is for --replay and --write"));
    }
    let trace = read(args).map_err(|error| {
        let mut failure = Failure::input(error.to_string());
        if error.interrupted {
            failure.exit = Exit::Interrupted;
        }
        failure
    })?;
    show(args, &trace)?;
    let lost = trace.notes.iter().any(|note| note.kind == NoteKind::Unknown);
    let strict = args.strict && (lost || trace.further_notes > 0);
    Ok(if strict { Exit::BrokeARule } else { Exit::Fine })
}

fn read(args: &Args) -> Result<Trace, TraceError> {
    let interrupt = Interrupt::listen();
    let mut bar = (!args.json && std::io::stderr().is_terminal()).then(|| Bar::new(size(args)));
    let mut watcher = |bytes| {
        if let Some(bar) = &mut bar {
            bar.update(bytes, None);
        }
        !interrupt.requested()
    };
    let options =
        Options { format: args.format, watcher: Some(&mut watcher), ..Options::default() };
    let trace = if args.is_stdin() {
        trace::read_stream("standard input", std::io::stdin().lock(), options)
    } else {
        trace::read(&args.path, options)
    };
    if let Some(bar) = bar {
        bar.clear();
    }
    trace
}

/// How much there is to read: a pipe does not say, a folder is the sum of its files.
fn size(args: &Args) -> Option<u64> {
    let metadata = fs::metadata(&args.path).ok().filter(|_| !args.is_stdin())?;
    if !metadata.is_dir() {
        return metadata.is_file().then_some(metadata.len());
    }
    let files = fs::read_dir(&args.path).ok()?.filter_map(|entry| entry.ok()?.metadata().ok());
    Some(files.filter(fs::Metadata::is_file).map(|file| file.len()).sum())
}

fn show(args: &Args, trace: &Trace) -> Result<(), Failure> {
    if args.json {
        return output::stdout_json(&answer::Answer::new(&args.path, trace));
    }
    let name = match args.path.file_name() {
        Some(name) if !args.is_stdin() => name.to_string_lossy().into_owned(),
        _ => args.name(),
    };
    let limit = if args.all { usize::MAX } else { page::MOST };
    let title = printable(&name);
    output::stdout(&page::render(trace, &title, limit, stdout_width(), Style::stdout()))
}
