//! The files of a sweep: its own, the scenario and the fabrics, read and checked before anything runs.

use crate::digest::Digest;
use crate::exit::Failure;
use crate::input;
use crate::memory;
use crate::output::diagnostics::{Finding, Findings};
use crate::output::files::whole;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use xoff_sweep::file::{Start, Sweep};
use xoff_sweep::{Base, Plan, Problem};

/// The names of what shards keep. With another word here, what another version kept is run again.
const KEPT_FORMAT: &str = "rows 1";

/// Everything that a sweep is made from, as text: with it any machine that has the folder of the
/// scenario can run any point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Inputs {
    /// What the sweep is called.
    pub(super) name: String,
    /// The sweep file, as it was named.
    pub(super) file: PathBuf,
    /// Its text.
    pub(super) sweep: String,
    /// The text of the scenario.
    pub(super) scenario: String,
    /// Every fabric file, by the path that the scenario names it by.
    pub(super) fabrics: Vec<(String, String)>,
    /// Where files are that workloads name, from the root.
    pub(super) folder: PathBuf,
}

/// A sweep that can be run.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) inputs: Inputs,
    pub(super) plan: Plan,
    pub(super) base: Base,
    /// What tells it from all other sweeps: a hash over version and files.
    pub(super) key: String,
}

impl Source {
    /// Of texts that were read before.
    pub(super) fn of(inputs: Inputs) -> Result<Self, Failure> {
        let broken = |what: String| Failure::input(format!("`{}`: {what}", inputs.file.display()));
        let sweep = Sweep::parse(&inputs.sweep)
            .map_err(|found| broken(found.first().map_or(String::new(), |p| p.message.clone())))?;
        let base = Base::new(&inputs.scenario, inputs.fabrics.clone(), &inputs.folder);
        let base = base.map_err(broken)?;
        let plan = Plan::new(sweep, base.seed());
        let key = key(&inputs, &base)?;
        Ok(Self { inputs, plan, base, key })
    }
}

/// Reads a sweep file and what it names. What is wrong with any of them is shown at its place.
pub(super) fn open(path: &Path, quiet: bool) -> Result<Source, Failure> {
    let (checked, findings) = check(path, quiet)?;
    findings.show(quiet);
    checked.ok_or_else(Failure::shown)
}

/// The same without showing it.
pub(super) fn check(path: &Path, quiet: bool) -> Result<(Option<Source>, Findings), Failure> {
    let file = input::read_or_stdin(path)?;
    let mut findings = Findings { files: vec![file], list: Vec::new() };
    let text = findings.files[0].text.clone();
    let report = |findings: &mut Findings, problems: Vec<Problem>| {
        findings.list.extend(problems.into_iter().map(Finding::from));
    };
    let sweep = match Sweep::parse(&text) {
        Ok(sweep) => sweep,
        Err(problems) => {
            report(&mut findings, problems);
            return Ok((None, findings));
        }
    };
    let inputs = match gather(path, text, &sweep, quiet) {
        Ok(inputs) => inputs,
        Err(Trouble::Own(problem)) => {
            report(&mut findings, vec![problem]);
            return Ok((None, findings));
        }
        Err(Trouble::Shown(failure)) => return Err(failure),
    };
    let source = Source::of(inputs)?;
    let (texts, seed) = (source.base.change(&[], source.base.seed()), source.base.seed());
    let loaded = texts.and_then(|texts| source.base.load(&texts, seed).map_err(|why| why.message));
    match loaded {
        Ok(loaded) => memory::suit(loaded.setup.fabric.nics.len()),
        Err(message) => {
            let message = format!("the scenario and the fabric do not fit together: {message}");
            report(&mut findings, vec![own(0..0, message, "change one of the two files")]);
            return Ok((None, findings));
        }
    }
    report(&mut findings, xoff_sweep::check::check(&source.plan, &source.base));
    let source = findings.list.is_empty().then_some(source);
    Ok((source, findings))
}

/// Why the files cannot be gathered.
enum Trouble {
    /// Something in the sweep file.
    Own(Problem),
    /// Something that has been shown already.
    Shown(Failure),
}

fn own(span: Range<usize>, message: impl Into<String>, help: &str) -> Problem {
    let (message, help) = (message.into(), Some(help.to_owned()));
    Problem { span, code: "xoff::file", message, help }
}

fn gather(path: &Path, text: String, sweep: &Sweep, quiet: bool) -> Result<Inputs, Trouble> {
    const RELATIVE: &str = "paths are relative to this file";
    let beside = path.parent().unwrap_or(Path::new("")).to_owned();
    let unreadable = |span: &Range<usize>| {
        let span = span.clone();
        move |message: String| Trouble::Own(own(span, message, RELATIVE))
    };
    let (mut scenario, folder, instead) = match &sweep.start {
        Start::Scenario { scenario, fabric } => {
            let place = beside.join(&scenario.path);
            let text = input::read_text(&place).map_err(unreadable(&scenario.span))?;
            if fabric.is_none() {
                input::scenario(&place, None, quiet).map_err(Trouble::Shown)?;
            }
            let folder = place.parent().unwrap_or(Path::new("")).to_owned();
            (text, folder, fabric.as_ref())
        }
        Start::Fabric { fabric, scenario } => {
            let text = toml::to_string(scenario).map_err(|error| {
                Trouble::Own(own(fabric.span.clone(), error.to_string(), RELATIVE))
            })?;
            (text, beside.clone(), None)
        }
    };
    let mut table: toml::Table = scenario.parse().map_err(|error: toml::de::Error| {
        Trouble::Shown(Failure::input(format!("the scenario is no TOML: {}", error.message())))
    })?;
    if let Some(fabric) = instead {
        // From the folder of the scenario, where its own fabric is looked for.
        let place = whole(&beside.join(&fabric.path));
        table.insert("fabric".to_owned(), place.display().to_string().into());
        scenario = toml::to_string(&table)
            .map_err(|error| Trouble::Own(own(fabric.span.clone(), error.to_string(), RELATIVE)))?;
    }
    let mut names: Vec<(String, Range<usize>)> = Vec::new();
    let named = table.get("fabric").and_then(toml::Value::as_str).unwrap_or_default();
    let span = match &sweep.start {
        Start::Scenario { fabric: Some(fabric), .. } | Start::Fabric { fabric, .. } => &fabric.span,
        Start::Scenario { scenario, .. } => &scenario.span,
    };
    names.push((named.to_owned(), span.clone()));
    for (value, span) in xoff_sweep::check::fabrics(sweep) {
        if !names.iter().any(|(name, _)| *name == value) {
            names.push((value, span));
        }
    }
    let mut fabrics = Vec::new();
    for (name, span) in names {
        let text = input::read_text(&folder.join(&name)).map_err(unreadable(&span))?;
        fabrics.push((name, text));
    }
    let name = match &sweep.name {
        Some(name) => name.clone(),
        None => path.file_stem().map_or("sweep".into(), |stem| stem.to_string_lossy().into_owned()),
    };
    let folder = whole(if folder.as_os_str().is_empty() { Path::new(".") } else { &folder });
    Ok(Inputs { name, file: path.to_owned(), sweep: text, scenario, fabrics, folder })
}

/// A hash over everything that results depend on.
fn key(inputs: &Inputs, base: &Base) -> Result<String, Failure> {
    let mut digest = Digest::new();
    digest.text(env!("CARGO_PKG_VERSION"));
    digest.text(KEPT_FORMAT);
    digest.text(&inputs.sweep);
    digest.text(&inputs.scenario);
    inputs.fabrics.iter().for_each(|(_, text)| digest.text(text));
    for name in base.input_files() {
        for path in input::files(base.folder().join(&name)) {
            digest.file(&path)?;
        }
    }
    Ok(digest.finish())
}
