//! `xoff alerts`: rules for Prometheus, a page for each of them, their tests, dashboards and a route, from a fabric file.

mod drill;

use crate::exit::{Exit, Failure, Level, say};
use crate::output::files::{self, Contents, Replace};
use crate::{input, output};
use std::path::{Path, PathBuf};
use xoff_diagnose::alerts::dashboard::dashboards;
use xoff_diagnose::alerts::{Alert, Links, Record, alerts, recorded, route, rules, runbook};
use xoff_fabric::model::Fabric;
use xoff_validate::drill::Drill;

const EXAMPLES: &str = "Examples:
  xoff alerts examples/pod-256.toml > rules.yml
  xoff alerts examples/pod-256.toml --out alerts --runbooks https://wiki.example.org/xoff
  xoff alerts examples/pod-256.toml --out alerts --dashboards https://grafana.example.org
  xoff alerts examples/pod-256.toml --out alerts --tests && promtool test rules alerts/rules_test.yml
  xoff alerts pod.toml --drill pause-storm --remote-write http://localhost:9090/api/v1/write

Rules are over the series of docs/metrics.md; thresholds (rates, Kmin, Kmax, classes)
are those of the fabric file. Each alert has a page of what it means, how urgent it is,
what to look at, what to do and who does it, which it links to (docs/alerts.md).

DIR gets rules.yml, alertmanager.yml (an example), runbooks/, dashboards/ (Grafana) and,
with --tests, rules_test.yml: for each alert a fault on this fabric that fires it, as
simulated and scraped every 15 s, and a healthy run that fires none.

Exit codes:
  0    fine
  2    bad usage or a bad file
  3    results could not be written
  130  interrupted";

/// Arguments of `xoff alerts`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The fabric file
    fabric: PathBuf,
    /// The value of the label `fabric` [default: the name of the file]
    #[arg(long)]
    name: Option<String>,
    /// Write all files into this folder, instead of the rules to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Where the pages of alerts will be found
    #[arg(long, value_name = "URL", default_value = "runbooks")]
    runbooks: String,
    /// The address of Grafana: alerts link to its dashboards
    #[arg(long, value_name = "URL")]
    dashboards: Option<String>,
    /// Simulate a fault for each alert, and write rules_test.yml for `promtool test rules`
    #[arg(long, requires = "out")]
    tests: bool,
    /// Simulate this fault only, like `pause-storm`; more than one may be given
    #[arg(long, value_name = "NAME", value_parser = named)]
    drill: Vec<Drill>,
    /// Write the counters of drills to a metric store, so that alerts fire there: the address of
    /// Prometheus' remote write. Of several drills each is a fabric of its own, NAME-DRILL
    #[arg(long, value_name = "URL")]
    remote_write: Option<String>,
    /// Replace files that are there and differ
    #[arg(long, requires = "out")]
    force: bool,
}

/// The drill of a name.
fn named(text: &str) -> Result<Drill, String> {
    Drill::named(text).ok_or_else(|| {
        let names: Vec<&str> = Drill::ALL.into_iter().map(Drill::name).collect();
        format!("there is no such drill; there are {}", names.join(", "))
    })
}

/// A fabric and what is made of it.
struct Subject {
    fabric: Fabric,
    name: String,
    alerts: Vec<Alert>,
    records: Vec<Record>,
    links: Links,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if !args.drill.is_empty() && !args.tests && args.remote_write.is_none() {
        return Err(Failure::input("--drill needs --tests or --remote-write, which say what for"));
    }
    let setup = input::fabric(&args.fabric)?;
    let stem = args.fabric.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = args.name.clone().or(stem).unwrap_or_else(|| "fabric".to_owned());
    let links = Links { runbooks: args.runbooks.clone(), dashboards: args.dashboards.clone() };
    let (alerts, records) = (alerts(&setup.fabric, &name), recorded(&setup.fabric, &name));
    let subject = Subject { fabric: setup.fabric, name, alerts, records, links };
    let mut list = subject.files();
    let replace = Replace::forced(args.force);
    if let Some(folder) = &args.out {
        // Before anything is simulated.
        files::claim(folder, &Contents::Files(&borrowed(&list), replace))?;
    }
    if args.tests || args.remote_write.is_some() {
        let ran = drill::run(&subject, &args.drill, args.remote_write.as_deref(), args.tests)?;
        let Some(tests) = ran else { return Ok(Exit::Interrupted) };
        if args.tests {
            list.push(("rules_test.yml".to_owned(), tests));
        }
    }
    match &args.out {
        Some(folder) => subject.write(folder, &list, replace)?,
        None if args.remote_write.is_some() => {}
        None => output::stdout(&subject.rules())?,
    }
    Ok(Exit::Fine)
}

fn borrowed(list: &[(String, String)]) -> Vec<(&str, &str)> {
    list.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect()
}

impl Subject {
    fn rules(&self) -> String {
        rules(&self.alerts, &self.records, &self.links)
    }

    /// Names and texts of all files but the tests.
    fn files(&self) -> Vec<(String, String)> {
        let mut list =
            vec![("rules.yml".to_owned(), self.rules()), ("alertmanager.yml".to_owned(), route())];
        let page = |alert: &Alert| (format!("runbooks/{}.md", alert.name), runbook(alert));
        list.extend(self.alerts.iter().map(page));
        list.extend(dashboards().iter().map(|board| {
            (format!("dashboards/{}.json", board.name), format!("{:#}\n", board.json()))
        }));
        list
    }

    fn write(
        &self,
        folder: &Path,
        list: &[(String, String)],
        replace: Replace,
    ) -> Result<(), Failure> {
        for part in ["runbooks", "dashboards"] {
            let path = folder.join(part);
            std::fs::create_dir_all(&path).map_err(|error| files::failed(&path, &error))?;
        }
        files::write(folder, &borrowed(list), replace)?;
        let (count, shown) = (self.alerts.len(), folder.display());
        say(Level::Note, &format!("wrote {count} alerts of fabric `{}` to {shown}", self.name));
        Ok(())
    }
}
