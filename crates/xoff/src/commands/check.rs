//! `xoff check`: what is wrong with a file, and what follows from it.

use crate::exit::{CODES, Exit, Failure};
use crate::input::{self, Checked, Content, STDIN, Scene};
use crate::output::diagnostics::{Entry, Findings};
use crate::output::number::{bytes, counted};
use crate::output::style::Style;
use crate::output::{self, stdout_width};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xoff_fabric::derived::Derived;
use xoff_units::{Bytes, Instant};

const EXAMPLES: &str = "Examples:
  xoff check examples/pod-256.toml
  xoff check examples/incast.toml --json
  xoff check examples/sweep-ecn.toml
  xoff check examples/tune-mix.toml
  xoff plan 1024 --out pod && sed s/gpus.*/gpus=512/ pod/fabric.toml | xoff check -

What a file is, is seen from what is in it. A scenario is checked together
with its fabric and the files it names, a sweep or a tune file with its scenarios.";

/// Arguments of `xoff check`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// A fabric, scenario, sweep or tune file, `-` for standard input (a fabric or a scenario)
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result for machines.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    file: &'a Path,
    kind: &'static str,
    usable: bool,
    diagnostics: Vec<Entry<'a>>,
    derived: Option<Derived>,
    traffic: Option<Traffic>,
}

/// The traffic of a scenario.
#[derive(Debug, Clone, Copy, Serialize)]
struct Traffic {
    flows: u64,
    bytes: u64,
    last_start_ps: u64,
}

impl Traffic {
    fn of(scene: &Scene) -> Self {
        let bytes: Bytes = scene.flows.iter().map(|flow| flow.bytes).sum();
        let last = scene.flows.iter().map(|flow| flow.start).max().unwrap_or(Instant::ZERO);
        let flows = scene.flows.len() as u64;
        Self { flows, bytes: bytes.get(), last_start_ps: last.as_ps() }
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if input::is_sweep(&args.file) {
        let (outline, findings) = super::sweep::check(&args.file)?;
        return many(args, "sweep", outline, &findings);
    }
    if input::is_tune(&args.file) {
        let (outline, findings) = super::tune::check(&args.file)?;
        return many(args, "tune", outline, &findings);
    }
    let checked = input::any(&args.file)?;
    let (derived, traffic) = match &checked.content {
        Some(Content::Fabric(setup)) => (Some(Derived::of(setup)), None),
        Some(Content::Scenario(scene)) => {
            (Some(Derived::of(&scene.setup)), Some(Traffic::of(scene)))
        }
        None => (None, None),
    };
    let usable = derived.is_some();
    if args.json {
        output::stdout_json(&Answer {
            file: &args.file,
            kind: kind(&checked),
            usable,
            diagnostics: checked.findings.entries(),
            derived,
            traffic,
        })?;
    } else {
        checked.findings.show(false);
        if let Some(derived) = derived {
            output::stdout(&page(args, &checked, &derived, traffic))?;
        }
    }
    Ok(if usable { Exit::Fine } else { Exit::BadInput })
}

/// The same for a file of many runs.
fn many(
    args: &Args,
    kind: &'static str,
    outline: Option<String>,
    findings: &Findings,
) -> Result<Exit, Failure> {
    let usable = outline.is_some();
    if args.json {
        output::stdout_json(&Answer {
            file: &args.file,
            kind,
            usable,
            diagnostics: findings.entries(),
            derived: None,
            traffic: None,
        })?;
    } else {
        findings.show(false);
        if let Some(outline) = outline {
            let name = output::printable(&args.file.display().to_string());
            let style = Style::stdout();
            let outline = output::printable(&outline);
            output::stdout(&format!("{}  {kind}\n{outline}\n", style.bold(&name)))?;
        }
    }
    Ok(if usable { Exit::Fine } else { Exit::BadInput })
}

const fn kind(checked: &Checked) -> &'static str {
    if checked.is_scenario { "scenario" } else { "fabric" }
}

fn page(args: &Args, checked: &Checked, derived: &Derived, traffic: Option<Traffic>) -> String {
    let style = Style::stdout();
    let name = if args.file == Path::new("-") { STDIN } else { &args.file.display().to_string() };
    let name = output::printable(name);
    let mut text = format!("{}  {}\n", style.bold(&name), kind(checked));
    if let Some(traffic) = traffic {
        let moved = bytes(Bytes::new(traffic.bytes));
        text += &format!("{}, {moved} in all\n", counted(traffic.flows, "flow", "flows"));
    }
    text + &output::derived::render(derived, stdout_width(), style)
}
