//! `xoff validate`: a fabric through six phases, to a verdict with evidence and advice.
//!
//! Everything is in one folder: the fabric, each experiment as a scenario file beside what it
//! measured, the verdict and the report. What was measured is written when it is there, so a
//! validation that was interrupted goes on where it was and ends with the same verdict.

mod folder;
mod jobs;
mod progress;
mod screen;
mod work;

use super::audit::{intent_of, read_folder};
use crate::exit::{Exit, Failure, Level, say};
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::files;
use crate::output::style::Style;
use crate::output::{self, stdout_width};
use crate::pool;
use crate::slurm;
use folder::Folder;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use work::{Worker, variant_file};
use xoff_config::Device;
use xoff_config::device::Balancing;
use xoff_fabric::diagnostic::Diagnostic;
use xoff_fabric::model::Fabric;
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_report::Verdict;
use xoff_validate::judge::{answers, is_a_rule, judge_broken, judge_devices};
use xoff_validate::page::{Material, page};
use xoff_validate::remedy::{Advised, Bench, Results, cure, seek};
use xoff_validate::suite::{Choice, Cost, Curtailment, Plan, within};
use xoff_validate::validation::{Subject, Validation};
use xoff_validate::{Evidence, Experiment, Phase, judge, junit};

const EXAMPLES: &str = "Examples:
  xoff validate examples/pod-256.toml
  xoff validate examples/pod-256.toml --quick
  xoff validate pod.toml --phase synthetic --phase failures --seed 7
  xoff validate pod.toml --what-if --junit validation.xml
  xoff validate p8192/fabric.toml --budget 10min
  xoff validate p8192/fabric.toml --slurm --partition cpu --sbatch --mem=2G
  xoff config --diff pod.toml validations/pod-1/advised.toml

What might help is tried before it is advised. The folder holds validation.json,
report.html, advised.toml (the fabric with everything that is advised, comments
kept) and every experiment as a scenario file that `xoff run` takes.
Interrupted, it goes on where it was.";

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
    /// Leave out and make smaller what does not fit into this time on two cores, by estimate: 90s, 10min, 1h. What
    /// was left out is said; the same budget always leaves out the same
    #[arg(long, value_name = "TIME", value_parser = crate::input::wall_time::some)]
    budget: Option<Duration>,
    /// Seed of every random draw
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The folder of the validation [default: validations/FABRIC-SEED, or FABRIC-SEED-quick, FABRIC-SEED-budget; with a
    /// number behind it if a file of the same name elsewhere has that]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Configurations of the devices, as `xoff audit` reads them: the laboratory holds them against
    /// the fabric
    #[arg(long, value_name = "DIR")]
    devices: Option<PathBuf>,
    /// Try everything that might help, and not only the likeliest few
    #[arg(long, conflicts_with = "no_what_if")]
    what_if: bool,
    /// Try nothing: advise what might help, without saying what it gains
    #[arg(long)]
    no_what_if: bool,
    /// Forget what an earlier validation in the folder has measured, be it of another fabric
    #[arg(long)]
    fresh: bool,
    /// Experiments at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = pool::threads)]
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
    #[command(flatten)]
    slurm: slurm::Options,
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

    /// Where it goes. Of fabrics whose files have the same name each has a folder of its own.
    fn folder(&self, text: &str) -> PathBuf {
        if let Some(out) = &self.out {
            return out.clone();
        }
        let stem = self.fabric.file_stem().unwrap_or(self.fabric.as_os_str()).to_string_lossy();
        let quick = if self.quick { "-quick" } else { "" };
        let budget = if self.budget.is_some() { "-budget" } else { "" };
        let name = format!("{stem}-{}{quick}{budget}", self.seed);
        let numbered = |number: u32| match number {
            1 => PathBuf::from("validations").join(&name),
            _ => PathBuf::from("validations").join(format!("{name}-{number}")),
        };
        let taken = |number: &u32| {
            let other = folder::of_another(&numbered(*number), &self.fabric, text)?;
            Some((numbered(*number), other))
        };
        let free = (1..).find(|number| taken(number).is_none()).unwrap_or(1);
        if let Some((folder, other)) = taken(&1).filter(|_| !self.quiet && !self.json) {
            let folder = folder.display();
            say(
                Level::Note,
                &format!("`{folder}` has the validation of another fabric, `{other}`: it stays"),
            );
        }
        numbered(free)
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if let Some(part) = &args.slurm.worker {
        return jobs::work(args, part);
    }
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
    let devices = args.devices.as_deref().map(read_folder).transpose()?.map(|(_, devices)| devices);
    if let Some(path) = &args.junit {
        files::may_write_one(path, is_junit)?;
    }
    let interrupt = Interrupt::listen();
    let folder = Folder::open(args.folder(&text), &args.fabric, &text, args.fresh)?;
    let (validation, results, advised) = match &loaded.value {
        None => {
            let checks = judge_broken(&loaded.diagnostics, loaded.draft.as_ref());
            let validation = Validation::new(args.subject(&text), checks, &BTreeMap::new());
            let advised = cure(&validation, &text);
            (validation, Results::default(), advised)
        }
        Some(setup) => {
            let (folder, interrupt) = (&folder, &interrupt);
            let devices = devices.as_deref();
            let Plan { experiments, costs, curtailment } = args.plan(&setup.fabric);
            let costs = by_name(&experiments, costs);
            Session { args, text: &text, folder, interrupt, devices, costs, curtailment }
                .run(setup, &experiments)?
        }
    };
    let report = page(&Material {
        validation: &validation,
        setup: loaded.value.as_ref(),
        measured: &results.measured,
        command: &args.command(),
    });
    folder.write("report.html", &report.html())?;
    conclude(args, &folder, &validation, advised.as_ref(), &loaded.diagnostics)
}

impl Args {
    /// What repeats the validation, without where it is written.
    fn command(&self) -> String {
        let mut words = vec!["xoff validate".to_owned(), self.fabric.display().to_string()];
        words.extend(self.chosen());
        words.extend(self.what_if.then(|| "--what-if".to_owned()));
        words.extend(self.no_what_if.then(|| "--no-what-if".to_owned()));
        words.push(format!("--seed {}", self.seed));
        words.join(" ")
    }

    /// The arguments that choose experiments.
    fn chosen(&self) -> Vec<String> {
        let phases = self.phase.iter().flat_map(|phase| ["--phase", phase.name()]);
        let mut words: Vec<String> = phases.map(str::to_owned).collect();
        words.extend(self.quick.then(|| "--quick".to_owned()));
        let budget = self.budget.map(|time| format!("{}s", time.as_secs_f64()));
        words.extend(budget.into_iter().flat_map(|time| ["--budget".to_owned(), time]));
        words
    }

    /// The same with the seed.
    fn suite(&self) -> impl Iterator<Item = String> {
        self.chosen().into_iter().chain(["--seed".to_owned(), self.seed.to_string()])
    }

    /// The experiments of a fabric.
    fn plan(&self, fabric: &Fabric) -> Plan {
        within(fabric, &self.choice(), self.budget)
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

/// What experiments take, by their names.
fn by_name(experiments: &[Experiment], costs: Vec<Cost>) -> BTreeMap<String, Cost> {
    experiments.iter().map(|one| one.id.clone()).zip(costs).collect()
}

/// A validation under way.
struct Session<'a> {
    args: &'a Args,
    text: &'a str,
    folder: &'a Folder,
    interrupt: &'a Interrupt,
    devices: Option<&'a [Device]>,
    /// What experiments take, by their names.
    costs: BTreeMap<String, Cost>,
    /// What a budget took away.
    curtailment: Option<Curtailment>,
}

/// Candidates that are tried unless all are asked for.
const FEW: usize = 6;

impl Session<'_> {
    fn run(
        &self,
        setup: &FabricSetup,
        experiments: &[Experiment],
    ) -> Result<(Validation, Results, Option<Advised>), Failure> {
        let measured = self.measure(self.text, experiments)?;
        let mut validation = self.assess(setup, self.text, &measured);
        if self.args.no_what_if {
            return Ok((validation, measured, None));
        }
        let mut bench = Bench {
            run: &mut |text, experiments| self.measure(text, experiments),
            assess: &|setup, text, results| self.assess(setup, text, results),
            most: if self.args.what_if { usize::MAX } else { FEW },
            hops: self.curtailment.as_ref().map_or(u64::MAX, Curtailment::hops_left),
            confirms: true,
        };
        let advised = seek(&mut validation, self.text, experiments, &measured, &mut bench)?;
        Ok((validation, measured, advised))
    }

    /// Runs experiments on a fabric: the one that is validated, or one with changes.
    fn measure(&self, fabric: &str, experiments: &[Experiment]) -> Result<Results, Failure> {
        let quiet = self.args.quiet || self.args.json;
        let variant = (fabric != self.text).then(|| folder::sha256(fabric)[..8].to_owned());
        if let Some(variant) = &variant {
            self.folder.write(&variant_file(variant), fabric)?;
        }
        let worker = Worker {
            folder: self.folder,
            fabric,
            variant,
            seed: self.args.seed,
            interrupt: self.interrupt,
            threads: self.args.threads,
            quiet,
            costs: &self.costs,
        };
        if self.args.slurm.slurm {
            // What an interruption has left is counted below, where nothing begins any more.
            jobs::run(&worker, experiments, self.args)?;
        }
        worker.measure(experiments)
    }

    fn assess(&self, setup: &FabricSetup, text: &str, results: &Results) -> Validation {
        let evidence =
            Evidence { setup, text, measured: &results.measured, refused: &results.refused };
        let choice = self.args.choice();
        let mut checks = judge(&evidence, &choice);
        if let Some(devices) = self.devices.filter(|_| choice.has(Phase::Laboratory)) {
            let intent = intent_of(setup, Balancing::Hash, devices);
            let own = judge_devices(&xoff_config::audit(devices, Some(&intent)));
            let after = checks.iter().take_while(|check| check.phase == Phase::Laboratory).count();
            checks.splice(after..after, own);
        }
        let answers = answers(&evidence, &checks);
        let mut validation = Validation::new(self.args.subject(self.text), checks, &answers);
        validation.curtailment.clone_from(&self.curtailment);
        validation
    }
}

/// Whether a file is JUnit XML: an earlier one is replaced.
fn is_junit(there: &str) -> bool {
    there.is_empty() || there.contains("<testsuite")
}

/// The devices whose configurations lie in a folder.
fn conclude(
    args: &Args,
    folder: &Folder,
    validation: &Validation,
    advised: Option<&Advised>,
    found: &[Diagnostic],
) -> Result<Exit, Failure> {
    folder.write_json("validation.json", validation)?;
    match advised {
        Some(advised) => folder.write("advised.toml", &advised.text)?,
        None => folder.forget("advised.toml")?,
    }
    if let Some(path) = &args.junit {
        files::write_one(path, &junit(validation), is_junit)?;
    }
    if args.json {
        output::stdout_json(validation)?;
    } else if !args.quiet {
        for warning in found.iter().filter(|found| !found.is_error()) {
            say(Level::Warning, &warning.message);
        }
        let page =
            screen::render(validation, advised, folder.path(), stdout_width(), Style::stdout());
        output::stdout(&page)?;
    }
    Ok(if validation.verdict == Verdict::Fail { Exit::BrokeARule } else { Exit::Fine })
}
