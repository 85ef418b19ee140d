//! `xoff watch`: a fabric on the terminal.
//!
//! What is shown and how is `xoff_watch`'s; here are the arguments, the sources ([`source`]), the thread that makes views of them
//! ([`worker`]), and the terminal with its keys ([`terminal`]).

mod source;
mod terminal;
mod worker;

use crate::exit::{Exit, Failure};
use crate::input::wall_time;
use crate::output::{self, stdout_width, style::Style};
use serde::Serialize;
use source::Source;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;
use xoff_units::Span;
use xoff_watch::answer;
use xoff_watch::header::Header;
use xoff_watch::model::View;
use xoff_watch::page;

const EXAMPLES: &str = "Examples:
  xoff run examples/storm.toml --counters 20us --out storm
  xoff watch storm
  xoff watch storm --play --speed 10
  xoff watch storm --once --at 300us
  xoff watch http://localhost:9090 --fabric pod.toml
  xoff watch http://localhost:9090 --fabric pod.toml --json | jq '.findings[0]'

A run folder holds counters if the run was made with --counters; it stands at
its end until the space key plays it. A metric store is anything that answers as
Prometheus does, and is asked again and again. `?` shows the keys.

Where standard output is no terminal the page is printed once.

Exit codes:
  0    ended by a key; or, printed once, nothing is wrong
  1    printed once, and something is wrong
  2    bad usage, or counters that cannot be read
  3    results could not be written
  130  interrupted";

/// Arguments of `xoff watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A run folder with counters, or the address of a metric store
    source: PathBuf,
    /// The fabric file as it was planned [default: the one of the run]
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// Show this much time until now, or until where a recording stands [default: 5min of a
    /// metric store, all of a recording]
    #[arg(long, value_name = "TIME")]
    last: Option<String>,
    /// Print the page once, as plain text
    #[arg(long)]
    once: bool,
    /// Print one object as JSON, once
    #[arg(long)]
    json: bool,
    /// Of a recording: play it from its start
    #[arg(long, conflicts_with = "at")]
    play: bool,
    /// Of a recording: play so many steps per second
    #[arg(long, value_name = "STEPS", default_value_t = 5.0)]
    speed: f64,
    /// Of a recording: stand at this time since it began, like 300us [default: its end]
    #[arg(long, value_name = "TIME")]
    at: Option<Span>,
    /// Of a metric store: ask it this often
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = wall_time::some)]
    interval: Duration,
    /// Of a metric store: one value of each series for this time; not shorter than what lies
    /// between two scrapes
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = wall_time::some)]
    step: Duration,
    /// Of a metric store: how long before the start all was well, as what is usual; 0s if that is
    /// not known
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = wall_time::parse)]
    before: Duration,
    /// Of a metric store: only series whose label `fabric` is this
    #[arg(long, value_name = "NAME")]
    fabric_name: Option<String>,
    /// Of a metric store: what its series are called, if not as in docs/metrics.md
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
}

/// The result for machines.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    tool: &'static str,
    version: &'static str,
    #[serde(flatten)]
    view: answer::Answer<'a>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if !(args.speed.is_finite() && args.speed > 0.0) {
        return Err(Failure::input("--speed must be more than 0, like 5 (steps per second)"));
    }
    let source = Source::open(args)?;
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if args.once || args.json || dumb || !std::io::stdout().is_terminal() {
        let (header, view) = source.once()?;
        return print(args, &header, &view);
    }
    terminal::run(source, Style::stdout().is_coloured())
}

fn print(args: &Args, header: &Header, view: &View) -> Result<Exit, Failure> {
    if args.json {
        output::stdout_json(&Answer {
            tool: "xoff",
            version: env!("CARGO_PKG_VERSION"),
            view: answer::Answer::new(header, view),
        })?;
    } else {
        let colour = Style::stdout().is_coloured();
        output::stdout(&page::render(header, view, stdout_width(), colour))?;
    }
    Ok(if view.findings.is_empty() { Exit::Fine } else { Exit::BrokeARule })
}
