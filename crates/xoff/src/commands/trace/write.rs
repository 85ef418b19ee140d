//! `xoff trace SCENARIO --write`: a workload as a trace for other tools.

use super::Args;
use crate::exit::{Exit, Failure};
use crate::input;
use crate::output;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;
use xoff_workload::trace::write::{self, WriteError};

/// The formats that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Target {
    Chakra,
    Goal,
}

pub(super) fn execute(args: &Args, target: Target) -> Result<Exit, Failure> {
    let scene = input::scenario(&args.path, None, false)?;
    let [job] = scene.jobs.as_slice() else {
        let count = scene.jobs.len();
        let text =
            format!("{count} collectives and training steps in it; a trace is written of one");
        return Err(Failure::input(format!("`{}`: {text}", args.path.display())));
    };
    let trace = job.trace().map_err(Failure::input)?;
    let stem = args.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let folder = args.out.clone().unwrap_or_else(|| format!("{stem}-{}", name(target)).into());
    let written = match target {
        Target::Chakra => write::chakra(&trace, &stem, &mut within(&folder)),
        Target::Goal => write::goal(&trace, &job.layout, &stem, &mut within(&folder)),
    };
    let written = written.map_err(|error| {
        let mut failure = Failure::input(format!("`{}`: {error}", folder.display()));
        if matches!(error, WriteError::Disk(_)) {
            failure.exit = Exit::CannotWrite;
        }
        failure
    })?;
    let (files, operations) = (written.files, written.operations);
    let ranks = trace.ranks;
    output::stdout(&format!(
        "{operations} operations of {ranks} ranks in {files} files: {}\n",
        folder.display()
    ))?;
    Ok(Exit::Fine)
}

const fn name(target: Target) -> &'static str {
    match target {
        Target::Chakra => "chakra",
        Target::Goal => "goal",
    }
}

/// Makes files in a folder, which is made first.
fn within(folder: &Path) -> impl FnMut(&str) -> io::Result<Box<dyn io::Write>> + '_ {
    move |name| {
        fs::create_dir_all(folder)?;
        Ok(Box::new(BufWriter::new(File::create(folder.join(name))?)))
    }
}
