//! `xoff schema`: the JSON schemas, for editors.

use crate::exit::{Exit, Failure};
use crate::output;
use clap::ValueEnum;

const EXAMPLES: &str = "Examples:
  xoff schema fabric > fabric.schema.json
  xoff schema scenario > scenario.schema.json

An editor with a TOML language server completes a file that starts with
  #:schema ./schema/fabric.schema.json";

/// Arguments of `xoff schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which file's schema
    file: File,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum File {
    /// The fabric file
    Fabric,
    /// The scenario file
    Scenario,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let schema = match args.file {
        File::Fabric => xoff_fabric::schema::fabric(),
        File::Scenario => xoff_fabric::schema::scenario(),
    };
    output::stdout_json(&schema)?;
    Ok(Exit::Fine)
}
