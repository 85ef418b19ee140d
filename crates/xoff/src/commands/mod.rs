//! The commands, one module each.

pub(crate) mod alerts;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod catalogue;
pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod diagnose;
pub(crate) mod exporter;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod perf;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod validate;
pub(crate) mod watch;

use crate::exit::{CODES, Exit, Failure};
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "Examples:
  xoff validate examples/pod-256.toml
  xoff plan 1024 --out pod
  xoff check examples/pod-256.toml
  xoff run examples/permutation.toml
  xoff catalogue silicon
  xoff inspect slow.pcap
  xoff config examples/pod-256.toml --out devices
  xoff collect inventory.toml --out running
  xoff audit devices --fabric examples/pod-256.toml";

/// Design, run and explain RoCEv2 lossless Ethernet for GPU clusters.
///
/// A fabric file describes the network, a scenario file what happens on it. `xoff run` simulates a
/// scenario packet by packet and writes a run folder.
#[derive(Debug, Parser)]
#[command(name = "xoff", version, after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put a fabric through six phases: a verdict, evidence, and what to change
    Validate(validate::Args),
    /// Plan a fabric for N GPUs: parts, cables, racks, cost, alternatives
    Plan(plan::Args),
    /// Simulate a scenario and write its results to a run folder
    Run(run::Args),
    /// Run a scenario under several rules of load balancing or congestion control
    Compare(compare::Args),
    /// Run a scenario with many values of keys of its files: one table of what each gave
    Sweep(sweep::Args),
    /// Search the values of ECN, PFC, congestion control and balancing that suit a workload
    Tune(tune::Args),
    /// Check a fabric, scenario or sweep file and show what follows from it
    Check(check::Args),
    /// Print the JSON schema of the fabric or the scenario file
    Schema(schema::Args),
    /// List the switch silicon, NICs and media that files can name
    Catalogue(catalogue::Args),
    /// Turn files of another simulator into a fabric and a scenario
    Import(import::Args),
    /// Fit the costs of collectives to what nccl-tests measured
    Calibrate(calibrate::Args),
    /// Say what is in a RoCE capture: queue pairs, operations, troubles
    Inspect(inspect::Args),
    /// Say what is in a trace of a workload: operations, groups, what is not understood
    Trace(trace::Args),
    /// Write the RoCE configuration of every switch and host of a fabric
    Config(config::Args),
    /// Fetch running configurations and host states by ssh into a folder that audit reads
    Collect(collect::Args),
    /// Check device configurations: each, along every cable, and end to end
    Audit(audit::Args),
    /// Find the cause of what is wrong with a fabric, and its place, from counters
    Diagnose(diagnose::Args),
    /// Watch a fabric on the terminal: its map, hot links, pauses that spread, what is wrong
    Watch(watch::Args),
    /// Write alerting rules for Prometheus, and what to do for each, from a fabric file
    Alerts(alerts::Args),
    /// Export counters of NICs and switches for Prometheus to scrape
    Exporter(exporter::Args),
    /// Measure a network with real packets, against another xoff or a stock perftest tool
    Perf(perf::Args),
    /// Measure the simulator's speed
    Bench(bench::Args),
    /// Print a script that completes xoff's commands and options in a shell
    Completions(completions::Args),
    /// Print or write the manual pages
    Man(man::Args),
}

impl Command {
    /// Does it.
    pub(crate) fn execute(&self) -> Result<Exit, Failure> {
        match self {
            Command::Validate(args) => validate::execute(args),
            Command::Plan(args) => plan::execute(args),
            Command::Run(args) => run::execute(args),
            Command::Compare(args) => compare::execute(args),
            Command::Sweep(args) => sweep::execute(args),
            Command::Tune(args) => tune::execute(args),
            Command::Check(args) => check::execute(args),
            Command::Schema(args) => schema::execute(args),
            Command::Catalogue(args) => catalogue::execute(args),
            Command::Import(args) => import::execute(args),
            Command::Calibrate(args) => calibrate::execute(args),
            Command::Inspect(args) => inspect::execute(args),
            Command::Trace(args) => trace::execute(args),
            Command::Config(args) => config::execute(args),
            Command::Collect(args) => collect::execute(args),
            Command::Audit(args) => audit::execute(args),
            Command::Diagnose(args) => diagnose::execute(args),
            Command::Watch(args) => watch::execute(args),
            Command::Alerts(args) => alerts::execute(args),
            Command::Exporter(args) => exporter::execute(args),
            Command::Perf(args) => perf::execute(args),
            Command::Bench(args) => bench::execute(args),
            Command::Completions(args) => completions::execute(args),
            Command::Man(args) => man::execute(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
