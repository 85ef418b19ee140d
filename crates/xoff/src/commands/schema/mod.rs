//! `xoff schema`: the JSON schemas, for editors, and the same as a page to read.

mod reference;

use crate::exit::{Exit, Failure};
use crate::output;
use clap::ValueEnum;

const EXAMPLES: &str = "Examples:
  xoff schema fabric > fabric.schema.json
  xoff schema scenario > scenario.schema.json
  xoff schema fabric --markdown > fabric-file.md

An editor with a TOML language server completes a file that starts with
  #:schema ./schema/fabric.schema.json";

/// Arguments of `xoff schema`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which file's schema
    file: File,
    /// Print a reference of every key as Markdown instead
    #[arg(long)]
    markdown: bool,
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
    if args.markdown {
        output::stdout(&reference::page(&schema, args.file))?;
    } else {
        output::stdout_json(&schema)?;
    }
    Ok(Exit::Fine)
}
