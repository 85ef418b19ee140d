//! `xoff alerts`: rules for Prometheus and a page for each of them, from a fabric file.

use crate::exit::{Exit, Failure, Level, say};
use crate::output::files::{self, Replace};
use crate::{input, output};
use std::path::PathBuf;
use xoff_diagnose::alerts::{Alert, alerts, rules, runbook};

const EXAMPLES: &str = "Examples:
  xoff alerts examples/pod-256.toml > rules.yml
  xoff alerts examples/pod-256.toml --out alerts --runbooks https://wiki.example.org/xoff
  promtool check rules rules.yml

Rules are over the series of docs/metrics.md; thresholds (rates, Kmax, classes)
are those of the fabric file. Each alert has a page of what it means, what to
look at, what to do and who does it, which it links to.

Exit codes:
  0    fine
  2    bad usage or a bad file
  3    results could not be written";

/// Arguments of `xoff alerts`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The fabric file
    fabric: PathBuf,
    /// The value of the label `fabric` [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Write rules.yml and runbooks/ into this folder, instead of the rules to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where the pages of alerts will be found
    #[arg(long, value_name = "URL", default_value = "runbooks")]
    runbooks: String,
    /// Replace files that are there and differ
    #[arg(long, requires = "out")]
    force: bool,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let setup = input::fabric(&args.fabric)?;
    let stem = args.fabric.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().or(stem).unwrap_or_else(|| "fabric".to_owned());
    let all = alerts(&setup.fabric, &name);
    let text = rules(&all, &args.runbooks);
    let Some(folder) = &args.out else { return output::stdout(&text).map(|()| Exit::Fine) };
    let page = |alert: &Alert| (format!("runbooks/{}.md", alert.name), runbook(alert));
    let pages: Vec<(String, String)> = all.iter().map(page).collect();
    let mut list = vec![("rules.yml", text.as_str())];
    list.extend(pages.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    std::fs::create_dir_all(folder.join("runbooks")).map_err(|error| {
        Failure::write(format!("cannot make `{}`: {error}", folder.join("runbooks").display()))
    })?;
    files::write(folder, &list, Replace::forced(args.force))?;
    let text = format!("wrote {} alerts of fabric `{name}` to {}", all.len(), folder.display());
    say(Level::Note, &text);
    Ok(Exit::Fine)
}
