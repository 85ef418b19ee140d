//! `xoff`: the command line over the library crates. Arguments, progress, tables and exit codes.
//!
//! One module per command in [`commands`]; what they print is made in [`output`]. Nothing here
//! decides what a fabric does: that is in the libraries, and this binary could be replaced by a
//! script without changing a result. Read [`commands::run`] first.

mod clock;
mod commands;
mod digest;
mod exit;
mod input;
mod interrupt;
mod kept;
mod memory;
mod output;
mod pool;
mod progress;
mod slurm;

use clap::Parser;
use std::process::ExitCode;

/// A large fabric's state is tens of megabytes that are read in no order. This allocator asks for
/// huge pages by itself, which spares a sixth of the run time (`docs/benchmarks.md`); [`memory`]
/// says when it gets them. Its second line, because the third gives every size of block four
/// megabytes of its own: a third more memory at the same speed.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    memory::begin_with_small_pages();
    let outcome = commands::Cli::parse().command.execute();
    match outcome {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.show();
            failure.exit.into()
        }
    }
}
