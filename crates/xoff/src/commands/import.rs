//! `xoff import`: converts files of other simulators, and reads what benchmarks measured.

mod measured;

use crate::exit::{CODES, Exit, Failure, Level, say};
use crate::input;
use crate::output::files::{self, Replace};
use crate::output::number::counted;
use clap::{Subcommand, ValueEnum};
pub(super) use measured::collective;
use std::path::{Path, PathBuf};
use xoff_workload::ns3::{self, Files, Imported, Source};

const EXAMPLES: &str = "Examples:
  xoff import ns3 --topology topology.txt --flows flow.txt --out imported
  xoff import ns3 --topology topology.txt --flows flow.txt --paths paths.txt \\
      --congestion hpcc --out imported
  xoff run imported/scenario.toml
  xoff import nccl-tests all_reduce.log";

/// Arguments of `xoff import`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which tool
    #[command(subcommand)]
    from: Tool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// The ns-3 models of the HPCC line: topology.txt and flow.txt
    Ns3(Ns3Args),
    /// Times that nccl-tests, rccl-tests or PARAM measured
    #[command(name = "nccl-tests")]
    NcclTests(measured::Args),
}

/// What senders do about congestion.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Congestion {
    /// Line rate; PFC alone
    None,
    /// DCQCN with the ECN ramp
    Dcqcn,
    /// DCQCN with one ECN threshold, so that nothing is random
    DcqcnStep,
    /// HPCC
    Hpcc,
}

impl From<Congestion> for ns3::Congestion {
    fn from(congestion: Congestion) -> Self {
        match congestion {
            Congestion::None => Self::None,
            Congestion::Dcqcn => Self::Dcqcn,
            Congestion::DcqcnStep => Self::DcqcnStep,
            Congestion::Hpcc => Self::Hpcc,
        }
    }
}

/// Arguments of `xoff import ns3`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
struct Ns3Args {
    /// Nodes, switches and links
    #[arg(long, value_name = "FILE")]
    topology: PathBuf,
    /// Flows
    #[arg(long, value_name = "FILE")]
    flows: PathBuf,
    /// Paths that flows took, to be pinned
    #[arg(long, value_name = "FILE")]
    paths: Option<PathBuf>,
    /// What senders do about congestion
    #[arg(long, value_enum, default_value_t = Congestion::Dcqcn)]
    congestion: Congestion,
    /// Folder for fabric.toml, scenario.toml and flows.csv
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let args = match &args.from {
        Tool::Ns3(args) => args,
        Tool::NcclTests(args) => return measured::execute(args),
    };
    let read = |path: &PathBuf| match input::read_text(path) {
        Ok(text) => Ok(Source { path: path.clone(), text }),
        Err(message) => Err(Failure::input(message)),
    };
    let files = Files {
        topology: read(&args.topology)?,
        flows: read(&args.flows)?,
        paths: args.paths.as_ref().map(read).transpose()?,
        congestion: args.congestion.into(),
    };
    let imported = ns3::import(&files).map_err(|mistakes| {
        mistakes.iter().for_each(|mistake| say(Level::Error, mistake));
        Failure::shown()
    })?;
    write(&args.out, &imported)?;
    if imported.unpinned > 0 {
        let flows = counted(imported.unpinned as u64, "flow", "flows");
        let text = format!("{flows} without a path in the paths file: hashed");
        say(Level::Warning, &text);
    }
    let scenario = args.out.join(ns3::SCENARIO);
    // Mistakes that only show in the resolved fabric are reported now, not at the first run.
    input::scenario(&scenario, None, false)?;
    crate::output::stdout(&format!(
        "{}\n",
        crate::output::printable(&scenario.display().to_string())
    ))?;
    Ok(Exit::Fine)
}

/// Writes the files, and refuses to overwrite one.
fn write(folder: &Path, imported: &Imported) -> Result<(), Failure> {
    let files = [
        (ns3::FABRIC, imported.fabric.as_str()),
        (ns3::FLOWS, imported.flows.as_str()),
        (ns3::SCENARIO, imported.scenario.as_str()),
    ];
    files::write(folder, &files, Replace::Nothing)
}
