//! Reading files: a fabric, or a scenario with its fabric and traffic, and everything that is wrong
//! with them at once.

mod places;
pub(crate) mod wall_time;

use crate::exit::Failure;
use crate::memory;
use crate::output::diagnostics::{Finding, Findings, Severity, SourceFile};
use places::Places;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use xoff_fabric::diagnostic::{Diagnostic, Origin, code};
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{FabricSetup, load_fabric, load_scenario};
use xoff_results::Case;
use xoff_sim::Settings;
use xoff_units::Bytes;
use xoff_workload::{Flow, Job, WorkloadError};

/// Larger files are not what they seem; the libraries refuse them too.
const MOST_BYTES: u64 = 64 << 20;

/// The longest flow a queue pair takes: 2^16 messages of 2^30 bytes.
const LONGEST_FLOW: Bytes = Bytes::new(1 << 46);

/// A scenario that can be run.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The scenario file.
    pub(crate) scenario: Scenario,
    /// Its fabric.
    pub(crate) setup: FabricSetup,
    /// Its traffic.
    pub(crate) flows: Vec<Flow>,
    /// Its collectives.
    pub(crate) jobs: Vec<Job>,
    /// The seed it runs with.
    pub(crate) seed: u64,
    /// Every file it was made from.
    pub(crate) inputs: Vec<PathBuf>,
}

impl Scene {
    /// What of it is simulated.
    pub(crate) fn case(&self) -> Case<'_> {
        Case {
            fabric: &self.setup.fabric,
            workloads: &self.scenario.workloads,
            flows: &self.flows,
            jobs: &self.jobs,
            faults: &self.scenario.faults,
        }
    }

    /// How it is simulated.
    pub(crate) fn settings(&self) -> Settings {
        xoff_results::settings(&self.scenario, self.seed)
    }
}

/// What a file turned out to be.
#[derive(Debug)]
pub(crate) enum Content {
    /// A fabric file.
    Fabric(Box<FabricSetup>),
    /// A scenario file.
    Scenario(Box<Scene>),
}

/// A file that was read: what it is, if it can be used, and what was found in it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) is_scenario: bool,
    pub(crate) content: Option<Content>,
    pub(crate) findings: Findings,
}

/// Whether a file is a sweep file. Standard input is none: it can be read only once.
pub(crate) fn is_sweep(path: &Path) -> bool {
    path != Path::new("-") && read_text(path).is_ok_and(|text| xoff_sweep::file::is_one(&text))
}

/// The same of a tune file.
pub(crate) fn is_tune(path: &Path) -> bool {
    path != Path::new("-") && read_text(path).is_ok_and(|text| xoff_tune::file::is_one(&text))
}

/// Reads a fabric or a scenario file, whichever it is; `-` is standard input.
pub(crate) fn any(path: &Path) -> Result<Checked, Failure> {
    let file = read_or_stdin(path)?;
    let places = Places::of(&file.text);
    if places.is_scenario() {
        let (scene, findings) = scene(file, &places, None);
        let content = scene.map(|scene| Content::Scenario(Box::new(scene)));
        return Ok(Checked { is_scenario: true, content, findings });
    }
    let loaded = load_fabric(&file.text);
    let list = loaded.diagnostics.into_iter().map(|found| finding(found, |_| 0)).collect();
    let content = loaded.value.map(|setup| Content::Fabric(Box::new(setup)));
    Ok(Checked { is_scenario: false, content, findings: Findings { files: vec![file], list } })
}

/// Reads a fabric file, or the fabric of a scenario. What is wrong with it is shown.
pub(crate) fn fabric(path: &Path) -> Result<FabricSetup, Failure> {
    let checked = any(path)?;
    checked.findings.show(false);
    match checked.content {
        Some(Content::Fabric(setup)) => {
            memory::suit(setup.fabric.nics.len());
            Ok(*setup)
        }
        Some(Content::Scenario(scene)) => Ok(scene.setup),
        None => Err(Failure::shown()),
    }
}

/// Refuses a scenario where only a fabric will do, and names the fabric of the scenario.
pub(crate) fn refuse_scenario(path: &Path, text: &str, command: &str) -> Result<(), Failure> {
    let places = Places::of(text);
    if !places.is_scenario() {
        return Ok(());
    }
    let cure = match &places.fabric {
        Some((name, _)) => {
            let fabric = path.parent().unwrap_or(Path::new("")).join(name);
            format!("try `xoff {command} {}`", fabric.display())
        }
        None => "name a file with `[cluster]` and `[fabric]`".to_owned(),
    };
    Err(Failure::input(format!(
        "`{}` is a scenario file; `xoff {command}` takes a fabric file: {cure}",
        path.display()
    )))
}

/// Reads a scenario file with its fabric and traffic. What is wrong with them is shown; `quiet`
/// shows errors only.
pub(crate) fn scenario(path: &Path, seed: Option<u64>, quiet: bool) -> Result<Scene, Failure> {
    let file = read(path)?;
    if xoff_sweep::file::is_one(&file.text) {
        let shown = path.display();
        return Err(Failure::input(format!(
            "`{shown}` is a sweep file, of many runs: `xoff sweep {shown}`"
        )));
    }
    if xoff_tune::file::is_one(&file.text) {
        let shown = path.display();
        return Err(Failure::input(format!(
            "`{shown}` is a tune file, of a search: `xoff tune {shown}`"
        )));
    }
    let places = Places::of(&file.text);
    if places.is_fabric() {
        return Err(Failure::input(format!(
            "`{}` is a fabric file; a run needs a scenario: a file with `fabric = \"{}\"` and a \
             [[workload]]",
            path.display(),
            path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
        )));
    }
    let (scene, findings) = scene(file, &places, seed);
    findings.show(quiet);
    scene.ok_or_else(Failure::shown)
}

/// A scenario that is in no file, with paths relative to the current folder.
pub(crate) fn unwritten(name: &str, text: String, quiet: bool) -> Result<Scene, Failure> {
    let places = Places::of(&text);
    let (scene, findings) = scene(SourceFile { path: PathBuf::from(name), text }, &places, None);
    findings.show(quiet);
    let mut scene = scene.ok_or_else(Failure::shown)?;
    scene.inputs.retain(|path| path != Path::new(name));
    Ok(scene)
}

/// The files of a scene, as findings point into them.
const SCENARIO: usize = 0;
const FABRIC: usize = 1;

fn scene(file: SourceFile, places: &Places, seed: Option<u64>) -> (Option<Scene>, Findings) {
    let base = file.path.parent().unwrap_or(Path::new("")).to_owned();
    let fabric = match places.fabric.as_ref().map(|(name, span)| (base.join(name), span)) {
        None => SourceFile { path: PathBuf::new(), text: String::new() },
        Some((path, span)) => match read_text(&path) {
            Ok(text) => SourceFile { path, text },
            Err(message) => return (None, without_fabric(file, message, span.clone())),
        },
    };
    let loaded = load_scenario(&file.text, &fabric.text);
    let place = |origin| if origin == Origin::Scenario { SCENARIO } else { FABRIC };
    let list = loaded.diagnostics.into_iter().map(|found| finding(found, place)).collect();
    let mut inputs = vec![file.path.clone(), fabric.path.clone()];
    let mut findings = Findings { files: vec![file, fabric], list };
    let Some(setup) = loaded.value else { return (None, findings) };
    let (scenario, setup) = (setup.scenario, setup.setup);
    memory::suit(setup.fabric.nics.len());
    let seed = seed.unwrap_or(scenario.seed);
    match expand(&scenario, &setup, seed, &base) {
        Ok((flows, jobs)) => {
            let named = xoff_workload::input_files(&scenario.workloads);
            inputs.extend(named.iter().flat_map(|name| files(base.join(name))));
            (Some(Scene { scenario, setup, flows, jobs, seed, inputs }), findings)
        }
        Err(errors) => {
            findings.list.extend(errors.into_iter().map(|error| traffic(error, places)));
            (None, findings)
        }
    }
}

/// A file, or those of a folder by name.
pub(crate) fn files(path: PathBuf) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(&path) else { return vec![path] };
    let all = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = all.filter(|path| path.is_file()).collect();
    files.sort_unstable();
    files
}

/// The traffic of a scenario whose files lie in `base`.
fn expand(
    scenario: &Scenario,
    setup: &FabricSetup,
    seed: u64,
    base: &Path,
) -> Result<(Vec<Flow>, Vec<Job>), Vec<WorkloadError>> {
    let mut open = xoff_workload::folder(base);
    let flows = xoff_workload::expand(&scenario.workloads, &setup.fabric, seed, &mut open)?;
    let long = flows.iter().filter(|flow| flow.bytes > LONGEST_FLOW);
    let workloads: BTreeSet<u32> = long.map(|flow| flow.workload).collect();
    let too_long = |workload| WorkloadError {
        workload,
        place: xoff_workload::Place::Entry,
        message: format!("a flow is at most {LONGEST_FLOW} long"),
    };
    if !workloads.is_empty() {
        return Err(workloads.into_iter().map(too_long).collect());
    }
    let (workloads, fabric) = (&scenario.workloads, &setup.fabric);
    let jobs = xoff_workload::programs_in(workloads, fabric, seed, Some(base))?;
    Ok((flows, jobs))
}

/// The fabric file cannot be read: says so where it is named, beside the mistakes that the scenario
/// has by itself.
fn without_fabric(file: SourceFile, message: String, span: std::ops::Range<usize>) -> Findings {
    let own = [code::SYNTAX, code::UNKNOWN_KEY, code::MISSING_KEY, code::WRONG_VALUE];
    let found = load_scenario(&file.text, "").diagnostics.into_iter();
    let found = found.filter(|d| d.origin == Origin::Scenario && own.contains(&d.code));
    let mut list: Vec<Finding> = found.map(|d| finding(d, |_| SCENARIO)).collect();
    list.push(Finding {
        severity: Severity::Error,
        code: "xoff::file".to_owned(),
        message,
        help: Some("`fabric` is the path of a fabric file, relative to this file".to_owned()),
        file: SCENARIO,
        span,
    });
    list.sort_by_key(|finding| finding.span.start);
    Findings { files: vec![file], list }
}

fn finding(found: Diagnostic, place: impl Fn(Origin) -> usize) -> Finding {
    let severity = if found.is_error() { Severity::Error } else { Severity::Warning };
    Finding {
        severity,
        code: found.code.to_string(),
        message: found.message,
        help: found.help,
        file: place(found.origin),
        span: found.span,
    }
}

/// A mistake in the traffic, shown at its `[[workload]]`.
fn traffic(error: WorkloadError, places: &Places) -> Finding {
    let span = places.workloads.get(error.workload as usize).cloned().unwrap_or(0..0);
    Finding {
        severity: Severity::Error,
        code: "xoff::traffic".to_owned(),
        message: error.to_string(),
        help: None,
        file: SCENARIO,
        span,
    }
}

fn read(path: &Path) -> Result<SourceFile, Failure> {
    let text = read_text(path).map_err(Failure::input)?;
    Ok(SourceFile { path: path.to_owned(), text })
}

/// Reads a file, or standard input where the path is `-`. Files that it names are then relative to the
/// current folder.
pub(crate) fn read_or_stdin(path: &Path) -> Result<SourceFile, Failure> {
    if path != Path::new("-") {
        return read(path);
    }
    let mut bytes = Vec::new();
    let cannot = |why: String| Failure::input(format!("cannot read {STDIN}: {why}"));
    let input = std::io::stdin().lock().take(MOST_BYTES + 1);
    { input }.read_to_end(&mut bytes).map_err(|error| cannot(error.to_string()))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(cannot("it is larger than 64 MiB".to_owned()));
    }
    let text = utf8(bytes).map_err(cannot)?;
    Ok(SourceFile { path: PathBuf::from(STDIN), text })
}

/// What messages call standard input.
pub(crate) const STDIN: &str = "standard input";

/// The text of a file, or why there is none.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let cannot = |error: std::io::Error| format!("cannot read `{shown}`: {error}");
    let about = fs::metadata(path).map_err(cannot)?;
    if about.is_dir() {
        return Err(format!("cannot read `{shown}`: it is a folder, not a file"));
    }
    if about.len() > MOST_BYTES {
        return Err(format!("cannot read `{shown}`: it is larger than 64 MiB"));
    }
    let bytes = fs::read(path).map_err(cannot)?;
    utf8(bytes).map_err(|why| format!("cannot read `{shown}`: {why}"))
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8 text")
    })
}
