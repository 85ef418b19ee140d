//! `xoff import`: files of other simulators become ours.

use crate::exit::{CODES, Exit, Failure, Level, say};
use crate::import::{self, Congestion, Imported, Ns3};
use crate::input;
use clap::Subcommand;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "Examples:
  xoff import ns3 --topology topology.txt --flows flow.txt --out imported
  xoff import ns3 --topology topology.txt --flows flow.txt --paths paths.txt \\
      --congestion hpcc --out imported
  xoff run imported/scenario.toml";

/// Arguments of `xoff import`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which simulator
    #[command(subcommand)]
    from: From,
}

#[derive(Debug, Subcommand)]
enum From {
    /// The ns-3 models of the HPCC line: topology.txt and flow.txt
    Ns3(Ns3Args),
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
    let From::Ns3(args) = &args.from;
    let read = |path: &PathBuf| match input::read_text(path) {
        Ok(text) => Ok((path.clone(), text)),
        Err(message) => Err(Failure::input(message)),
    };
    let files = Ns3 {
        topology: read(&args.topology)?,
        flows: read(&args.flows)?,
        paths: args.paths.as_ref().map(read).transpose()?,
        congestion: args.congestion,
    };
    let imported = import::ns3(&files).map_err(|mistakes| {
        mistakes.iter().for_each(|mistake| say(Level::Error, mistake));
        Failure::shown()
    })?;
    write(&args.out, &imported)?;
    if imported.unpinned > 0 {
        let text =
            format!("{} flows have no path in the paths file and are hashed", imported.unpinned);
        say(Level::Warning, &text);
    }
    let scenario = args.out.join(import::SCENARIO);
    // What these files cannot say in ours is said here, not at the first run.
    input::scenario(&scenario, None, false)?;
    crate::output::stdout(&format!(
        "{}\n",
        crate::output::printable(&scenario.display().to_string())
    ))?;
    Ok(Exit::Fine)
}

/// Writes the files; one that is there already is somebody's work.
fn write(folder: &Path, imported: &Imported) -> Result<(), Failure> {
    let failed = |path: &Path, error: io::Error| {
        let path = path.display();
        Failure::write(match error.kind() {
            ErrorKind::AlreadyExists => {
                format!("`{path}` is already there; choose another folder with --out")
            }
            _ => format!("cannot write `{path}`: {error}; choose another folder with --out"),
        })
    };
    fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    let files = [
        (import::FABRIC, &imported.fabric),
        (import::FLOWS, &imported.flows),
        (import::SCENARIO, &imported.scenario),
    ];
    let path = |name: &str| folder.join(name);
    if let Some((name, _)) = files.iter().find(|(name, _)| path(name).exists()) {
        return Err(failed(&path(name), ErrorKind::AlreadyExists.into()));
    }
    for (name, text) in files {
        let path = path(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(())
}
