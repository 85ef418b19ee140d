//! `xoff validate`: a fabric through six phases, to a verdict with evidence and advice.
//!
//! Everything is in one folder: the fabric, each experiment as a scenario file beside what it
//! measured, the verdict and the report. What was measured is written when it is there, so a
//! validation that was interrupted goes on where it was and ends with the same verdict.

mod folder;
mod screen;
mod work;

use super::config::usual_system;
use crate::exit::{Exit, Failure, Level, say};
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::style::Style;
use crate::output::{self, stdout_width};
use folder::Folder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use work::Worker;
use xoff_config::device::Balancing;
use xoff_config::{Device, Files, Intent};
use xoff_fabric::diagnostic::Diagnostic;
use xoff_fabric::model::Switch;
use xoff_fabric::{FabricSetup, load_fabric, load_scenario};
use xoff_report::Verdict;
use xoff_validate::judge::{is_a_rule, judge_broken, judge_devices};
use xoff_validate::page::{Material, page};
use xoff_validate::suite::Choice;
use xoff_validate::validation::{Subject, Validation};
use xoff_validate::{Evidence, Experiment, Measurement, Phase, judge, junit, suite};

const EXAMPLES: &str = "Examples:
  xoff validate examples/pod-256.toml
  xoff validate examples/pod-256.toml --quick
  xoff validate pod.toml --phase synthetic --phase failures --seed 7
  xoff validate pod.toml --what-if --junit validation.xml

The folder holds validation.json, report.html, advised.toml (the fabric with
everything that failing checks advise) and every experiment as a scenario file
that `xoff run` takes. Interrupted, it goes on where it was.";

const CODES: &str = "Exit codes:
  0    the fabric passes (perhaps with warnings)
  1    a check failed
  2    bad usage or a bad file
  3    results could not be written
  130  interrupted; the same command resumes";

/// Arguments of `xoff validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The fabric file
    fabric: PathBuf,
    /// Only this phase, by name or number (several times for several): laboratory, baseline,
    /// synthetic, workload, failures, operations
    #[arg(long, value_name = "PHASE", value_parser = phase)]
    phase: Vec<Phase>,
    /// Smaller experiments, and fewer of them: under a minute for a pod
    #[arg(long)]
    quick: bool,
    /// Seed of every random draw
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The folder of the validation [default: validations/FABRIC-SEED, or FABRIC-SEED-quick]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Configurations of the devices, as `xoff audit` reads them: the laboratory holds them against
    /// the fabric
    #[arg(long, value_name = "DIR")]
    devices: Option<PathBuf>,
    /// Try every change that is advised, and say what it does
    #[arg(long)]
    what_if: bool,
    /// Forget what an earlier validation in the folder has measured
    #[arg(long)]
    fresh: bool,
    /// Experiments at a time [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Write the checks as JUnit XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Print the validation as JSON and nothing else
    #[arg(long)]
    json: bool,
    /// Print errors only
    #[arg(long, short)]
    quiet: bool,
}

fn phase(text: &str) -> Result<Phase, String> {
    let names = Phase::ALL.map(Phase::name).join(", ");
    Phase::named(text).ok_or_else(|| format!("phases are {names}, or 1 to 6"))
}

impl Args {
    fn choice(&self) -> Choice {
        let phases = if self.phase.is_empty() { Phase::ALL.to_vec() } else { self.phase.clone() };
        Choice { phases, quick: self.quick }
    }

    fn folder(&self) -> PathBuf {
        let stem = self.fabric.file_stem().unwrap_or(self.fabric.as_os_str()).to_string_lossy();
        let quick = if self.quick { "-quick" } else { "" };
        let usual = || PathBuf::from("validations").join(format!("{stem}-{}{quick}", self.seed));
        self.out.clone().unwrap_or_else(usual)
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let text = input::read_text(&args.fabric).map_err(Failure::input)?;
    input::refuse_scenario(&args.fabric, &text, "validate")?;
    let loaded = load_fabric(&text);
    let broken = loaded.value.is_none();
    let errors = || loaded.diagnostics.iter().filter(|found| found.is_error());
    if broken && !errors().all(is_a_rule) {
        // Shown in its place, as `xoff check` does.
        input::fabric(&args.fabric)?;
        return Err(Failure::shown());
    }
    let devices = args.devices.as_deref().map(read_devices).transpose()?;
    let interrupt = Interrupt::listen();
    let folder = Folder::open(args.folder(), &text, args.fresh)?;
    let (mut validation, results) = match &loaded.value {
        None => {
            let checks = judge_broken(&loaded.diagnostics, loaded.draft.as_ref());
            (Validation::new(args.subject(&text), checks), Results::default())
        }
        Some(setup) => {
            let (folder, interrupt) = (&folder, &interrupt);
            let devices = devices.as_deref();
            Session { args, text: &text, folder, interrupt, devices }.run(setup)?
        }
    };
    validation.order_changes();
    let report = page(&Material {
        validation: &validation,
        setup: loaded.value.as_ref(),
        measured: &results.measured,
        command: &args.command(),
    });
    folder.write("report.html", &report.html())?;
    conclude(args, &folder, &text, &validation, &loaded.diagnostics)
}

impl Args {
    /// What repeats the validation, without where it is written.
    fn command(&self) -> String {
        let mut words = vec!["xoff validate".to_owned(), self.fabric.display().to_string()];
        words.extend(self.phase.iter().map(|phase| format!("--phase {}", phase.name())));
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.what_if.then(|| "--what-if".to_owned()));
        words.push(format!("--seed {}", self.seed));
        words.join(" ")
    }

    fn subject(&self, text: &str) -> Subject {
        Subject {
            fabric: self.fabric.display().to_string(),
            fabric_sha256: folder::sha256(text),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: self.seed,
            quick: self.quick,
        }
    }
}

/// A validation under way.
struct Session<'a> {
    args: &'a Args,
    text: &'a str,
    folder: &'a Folder,
    interrupt: &'a Interrupt,
    devices: Option<&'a [Device]>,
}

impl Session<'_> {
    fn run(&self, setup: &FabricSetup) -> Result<(Validation, Results), Failure> {
        let unchanged = toml::Table::new();
        let experiments = suite(&setup.fabric, &self.args.choice());
        let measured = self.measure(&experiments, &unchanged)?;
        let mut validation = self.judge(setup, &measured);
        if self.args.what_if {
            self.try_changes(&experiments, &measured, &mut validation)?;
        }
        Ok((validation, measured))
    }

    fn measure(
        &self,
        experiments: &[Experiment],
        change: &toml::Table,
    ) -> Result<Results, Failure> {
        let quiet = self.args.quiet || self.args.json;
        let worker = Worker {
            folder: self.folder,
            fabric: self.text,
            seed: self.args.seed,
            change,
            interrupt: self.interrupt,
            threads: self.args.threads,
            quiet,
        };
        worker.measure(experiments)
    }

    fn judge(&self, setup: &FabricSetup, results: &Results) -> Validation {
        let evidence = Evidence { setup, measured: &results.measured, refused: &results.refused };
        let choice = self.args.choice();
        let mut checks = judge(&evidence, &choice);
        if let Some(devices) = self.devices.filter(|_| choice.has(Phase::Laboratory)) {
            let usual = |switch: &Switch| usual_system(setup, switch);
            let intent = Intent::running(setup, Balancing::Hash, devices, usual);
            let own = judge_devices(&xoff_config::audit(devices, Some(&intent)));
            let after = checks.iter().take_while(|check| check.phase == Phase::Laboratory).count();
            checks.splice(after..after, own);
        }
        Validation::new(self.args.subject(self.text), checks)
    }

    /// Makes the experiments of checks that did not pass again, with each change by itself.
    fn try_changes(
        &self,
        experiments: &[Experiment],
        before: &Results,
        validation: &mut Validation,
    ) -> Result<(), Failure> {
        let mut changes = std::mem::take(&mut validation.changes);
        let unhappy = validation.checks.iter().filter(|check| check.verdict != Verdict::Pass);
        let asked: Vec<&String> = unhappy.flat_map(|check| &check.experiments).collect();
        let again: Vec<Experiment> = experiments
            .iter()
            .filter(|experiment| asked.contains(&&experiment.id))
            .cloned()
            .collect();
        for proposal in changes.iter_mut().filter(|proposal| !proposal.advice.change.is_empty()) {
            let change = &proposal.advice.change;
            let Some(setup) = changed(self.text, change) else { continue };
            let mut after = before.clone();
            let fresh = self.measure(&again, change)?;
            after.measured.extend(fresh.measured);
            after.refused.extend(fresh.refused);
            proposal.effect = Some(validation.effect(&self.judge(&setup, &after)));
        }
        validation.changes = changes;
        Ok(())
    }
}

/// The devices whose configurations lie in a folder.
fn read_devices(folder: &Path) -> Result<Vec<Device>, Failure> {
    let mut files = Files::default();
    super::audit::collect(folder, 0, &mut files)?;
    let devices = xoff_config::audit::read(&files).devices;
    if devices.is_empty() {
        let text = format!("nothing in `{}` looks like a configuration", folder.display());
        return Err(Failure::input(text));
    }
    Ok(devices)
}

/// What experiments measured, and why some were not made.
#[derive(Debug, Clone, Default)]
struct Results {
    measured: BTreeMap<String, Measurement>,
    refused: BTreeMap<String, String>,
}

/// The fabric with keys laid over it.
fn changed(fabric: &str, change: &toml::Table) -> Option<FabricSetup> {
    let mut scenario = toml::Table::new();
    scenario.insert("fabric".into(), "fabric.toml".into());
    scenario.insert("override".into(), toml::Value::Table(change.clone()));
    let text = toml::to_string(&scenario).ok()?;
    Some(load_scenario(&text, fabric).value?.setup)
}

fn conclude(
    args: &Args,
    folder: &Folder,
    text: &str,
    validation: &Validation,
    found: &[Diagnostic],
) -> Result<Exit, Failure> {
    folder.write_json("validation.json", validation)?;
    let remedy = validation.remedy();
    if !remedy.is_empty()
        && let Ok(mut table) = text.parse::<toml::Table>()
    {
        xoff_validate::check::overlay(&mut table, &remedy);
        folder.write("advised.toml", &toml::to_string(&table).unwrap_or_default())?;
    }
    if let Some(path) = &args.junit {
        folder::replace(path, junit(validation).as_bytes())?;
    }
    if args.json {
        output::stdout_json(validation)?;
    } else if !args.quiet {
        for warning in found.iter().filter(|found| !found.is_error()) {
            say(Level::Warning, &warning.message);
        }
        let page = screen::render(validation, folder.path(), stdout_width(), Style::stdout());
        output::stdout(&page)?;
    }
    Ok(if validation.verdict == Verdict::Fail { Exit::BrokeARule } else { Exit::Fine })
}
