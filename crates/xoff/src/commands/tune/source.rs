//! The files of a tuning: its own, the scenarios and their fabrics, read and checked before anything is searched.

use super::arguments::{Args, Wanted};
use crate::clock::Stopwatch;
use crate::commands::sweep::work::{in_point, quiet_crashes};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::output::diagnostics::{Finding, Findings};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use xoff_fabric::model::{Fabric, NodeId};
use xoff_fabric::{FabricSetup, suggest};
use xoff_sweep::base::Loaded;
use xoff_sweep::{Axis, Base, Figure, Point, Row, Setting};
use xoff_tune::choose::{self, Chosen};
use xoff_tune::faults::Single;
use xoff_tune::file::{Entry, MOST_KNOBS};
use xoff_tune::{Case, Goal, Knob, Plan, Tune};

/// The names of what folders keep. With another word here, what another version kept is run again.
const KEPT_FORMAT: &str = "tune 1";

/// A scenario as it was read.
#[derive(Debug, Clone)]
pub(super) struct Read {
    /// The scenario file.
    pub(super) path: PathBuf,
    /// Its text.
    pub(super) scenario: String,
    /// What it calls its fabric.
    pub(super) fabric_path: String,
    /// The text of the fabric.
    pub(super) fabric: String,
    /// Where files are that workloads name.
    pub(super) folder: PathBuf,
}

/// A workload that can be run, perhaps with something broken.
#[derive(Debug)]
pub(super) struct Workload {
    pub(super) base: Base,
    /// What it is made from, by number.
    pub(super) file: usize,
}

/// A tuning that can be run.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) files: Vec<Read>,
    pub(super) cases: Vec<Workload>,
    pub(super) plan: Plan,
    /// Runs that are made at most.
    pub(super) budget: u64,
    /// What tells it from all other tunings: a hash over version, files and plan.
    pub(super) key: String,
    pub(super) notes: Vec<String>,
    /// Seconds that a run of each case takes, as far as it is known.
    pub(super) seconds: f64,
}

/// Reads the files and runs the present setting once on each workload, to see what there is to aim at. What is wrong with
/// any of them is shown at its place.
pub(super) fn open(args: &Args, interrupt: &Interrupt) -> Result<Source, Failure> {
    let (mut tune, own, name) = tune_of(&args.files)?;
    let beside = own.as_ref().and_then(|path| path.parent()).map(Path::to_owned);
    let wanted = args.apply(&mut tune)?;
    let files = read(&tune, beside.as_deref(), args.json)?;
    let loaded = load(&files)?;
    let (mut knobs, mut notes) = knobs(&tune, wanted, &loaded)?;
    let workloads = workloads(&tune, &files, &loaded)?;
    check_knobs(&workloads, &mut knobs, &mut notes)?;
    let clock = Stopwatch::start();
    let mut cases = Vec::new();
    for (workload, name, weight) in &workloads {
        let entry = &tune.entries[workload.file];
        let goal = goal(entry, &workload.base, name, interrupt, &mut notes)?;
        let first_seed = workload.base.seed();
        cases.push(Case { name: name.clone(), weight: *weight, goal, first_seed });
    }
    let seconds = clock.seconds() / cases.len() as f64;
    let least = Plan::least_budget(cases.len() as u64, knobs.len() as u64, &tune.options);
    if tune.options.budget < least && args.random.is_none() {
        return Err(Failure::input(format!(
            "a budget of {} runs is too small for {} knobs on {} workloads with {} seeds: give --budget {least} or \
             more, or fewer of them",
            tune.options.budget,
            knobs.len(),
            cases.len(),
            tune.options.seeds
        )));
    }
    let plan = Plan::new(cases, knobs, tune.options);
    let random =
        args.random.map(|count| (count + 1) * tune.options.seeds * plan.cases.len() as u64);
    let budget = random.unwrap_or(tune.options.budget);
    let cases: Vec<Workload> = workloads.into_iter().map(|(own, ..)| own).collect();
    let key = key(&files, &cases, &plan, args.random)?;
    Ok(Source { name, files, cases, plan, budget, key, notes, seconds })
}

/// Reads a tune file and everything that it names, for `xoff check`: what is in it, in a line.
pub(super) fn check(path: &Path) -> Result<(Option<String>, Findings), Failure> {
    let file = input::read_or_stdin(path)?;
    let parsed = Tune::parse(&file.text);
    let mut findings = Findings { files: vec![file], list: Vec::new() };
    let tune = match parsed {
        Ok(tune) => tune,
        Err(problems) => {
            findings.list = problems.into_iter().map(Finding::from).collect();
            return Ok((None, findings));
        }
    };
    let files = read(&tune, path.parent(), true)?;
    let loaded = load(&files)?;
    let (mut knobs, mut notes) = knobs(&tune, Vec::new(), &loaded)?;
    let workloads = workloads(&tune, &files, &loaded)?;
    check_knobs(&workloads, &mut knobs, &mut notes)?;
    let names: Vec<&str> = knobs.iter().map(Knob::name).collect();
    let outline = format!(
        "{} workloads, {} knobs ({}), at most {} runs",
        workloads.len(),
        knobs.len(),
        names.join(", "),
        tune.options.budget
    );
    Ok((Some(outline), findings))
}

/// The tune file, or scenarios by themselves: what it says, its path, and what it is called.
fn tune_of(files: &[PathBuf]) -> Result<(Tune, Option<PathBuf>, String), Failure> {
    let stem = |path: &Path| {
        path.file_stem().map_or("tune".to_owned(), |stem| stem.to_string_lossy().into_owned())
    };
    let first = &files[0];
    let text = |path: &Path| input::read_text(path).map_err(Failure::input);
    for path in files {
        let own = text(path)?;
        if xoff_sweep::file::is_one(&own) {
            let shown = path.display();
            return Err(Failure::input(format!(
                "`{shown}` is a sweep file: `xoff sweep {shown}`; `xoff tune` takes scenarios, or a tune file"
            )));
        }
        if xoff_tune::file::is_one(&own) && files.len() > 1 {
            return Err(Failure::input(format!(
                "`{}` is a tune file, and goes alone; name the scenarios in it, each in a `[[case]]`",
                path.display()
            )));
        }
    }
    let own = input::read_or_stdin(first)?;
    if !xoff_tune::file::is_one(&own.text) {
        let all = files.iter().map(|path| path.display().to_string());
        return Ok((Tune::of(all), None, stem(first)));
    }
    match Tune::parse(&own.text) {
        Ok(tune) => {
            let name = tune.name.clone().unwrap_or_else(|| stem(first));
            Ok((tune, Some(first.clone()), name))
        }
        Err(problems) => {
            let list = problems.into_iter().map(Finding::from).collect();
            Findings { files: vec![own], list }.show(false);
            Err(Failure::shown())
        }
    }
}

/// Reads the scenarios with their fabrics. Mistakes in them are shown where they are.
fn read(tune: &Tune, beside: Option<&Path>, quiet: bool) -> Result<Vec<Read>, Failure> {
    let mut files = Vec::new();
    for entry in &tune.entries {
        let path = beside.map_or(PathBuf::new(), Path::to_owned).join(&entry.scenario.path);
        // Shows what is wrong, and refuses fabric files.
        let scene = input::scenario(&path, None, quiet)?;
        let scenario = input::read_text(&path).map_err(Failure::input)?;
        let fabric = scene.inputs.get(1).cloned().unwrap_or_default();
        let table: toml::Table = scenario
            .parse()
            .map_err(|error: toml::de::Error| Failure::input(error.message().to_owned()))?;
        let named = table.get("fabric").and_then(toml::Value::as_str).unwrap_or_default();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        files.push(Read {
            scenario,
            fabric_path: named.to_owned(),
            fabric: input::read_text(&fabric).map_err(Failure::input)?,
            folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
            path,
        });
    }
    Ok(files)
}

fn base(file: &Read, scenario: &str) -> Result<Base, Failure> {
    let fabrics = [(file.fabric_path.clone(), file.fabric.clone())];
    Base::new(scenario, fabrics, &file.folder)
        .map_err(|why| Failure::input(format!("`{}`: {why}", file.path.display())))
}

/// The scenarios as they are.
fn load(files: &[Read]) -> Result<Vec<Loaded>, Failure> {
    let mut all = Vec::new();
    for file in files {
        let base = base(file, &file.scenario)?;
        let refused = |why: String| Failure::input(format!("`{}`: {why}", file.path.display()));
        let texts = base.change(&[], base.seed()).map_err(refused)?;
        let loaded = base.load(&texts, base.seed()).map_err(|why| refused(why.message))?;
        memory::suit(loaded.setup.fabric.nics.len());
        all.push(loaded);
    }
    Ok(all)
}

/// The workloads, each with its name and weight: the scenarios, and each of them with each fault.
fn workloads(
    tune: &Tune,
    files: &[Read],
    loaded: &[Loaded],
) -> Result<Vec<(Workload, String, f64)>, Failure> {
    let mut all = Vec::new();
    for (at, (file, entry)) in files.iter().zip(&tune.entries).enumerate() {
        let name = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let own = Workload { base: base(file, &file.scenario)?, file: at };
        all.push((own, name.clone(), entry.weight));
        for single in &tune.faults {
            let uplink = uplink(&loaded[at].setup.fabric).ok_or_else(|| {
                let path = file.path.display();
                Failure::input(format!(
                    "`{path}`: the fabric has no links between switches that could break; leave --faults out"
                ))
            })?;
            let text = single.with(&file.scenario, uplink).map_err(Failure::input)?;
            let base = base(file, &text)?;
            fits(&base, &file.path, *single)?;
            let name = format!("{name} + {}", single.word());
            all.push((Workload { base, file: at }, name, entry.weight * tune.fault_weight));
        }
    }
    Ok(all)
}

fn fits(base: &Base, path: &Path, single: Single) -> Result<(), Failure> {
    let texts = base.change(&[], base.seed());
    let loaded = texts.and_then(|texts| base.load(&texts, base.seed()).map_err(|why| why.message));
    loaded.map(drop).map_err(|why| {
        Failure::input(format!("`{}` with the fault `{}`: {why}", path.display(), single.word()))
    })
}

/// The slowest link between switches.
fn uplink(fabric: &Fabric) -> Option<u64> {
    let is_switch = |node: NodeId| node.0 as usize >= fabric.nics.len();
    let between = fabric.ports.iter().filter(|port| {
        let peer = &fabric.ports[port.peer.0 as usize];
        is_switch(port.node) && is_switch(peer.node)
    });
    between.map(|port| fabric.cables[port.cable.0 as usize].rate.bps()).min()
}

/// The knobs: those that are named, and those that the fabric has by default.
fn knobs(
    tune: &Tune,
    wanted: Vec<Wanted>,
    loaded: &[Loaded],
) -> Result<(Vec<Knob>, Vec<String>), Failure> {
    let setup: &FabricSetup = &loaded[0].setup;
    let scenarios: Vec<_> = loaded.iter().map(|loaded| &loaded.scenario).collect();
    let Chosen { knobs: chosen, notes } = match tune.online {
        true => choose::online(setup),
        false => choose::knobs(setup, &scenarios),
    };
    let file = choose::file(setup);
    let is = |knob: &Knob, word: &str| {
        knob.name() == word || knob.axis.keys.iter().any(|key| key.to_string() == word)
    };
    let names = || {
        let all = chosen.iter().flat_map(|knob| {
            let keys = knob.axis.keys.iter().map(ToString::to_string);
            keys.chain([knob.name().to_owned()]).collect::<Vec<_>>()
        });
        all.collect::<Vec<String>>()
    };
    let unknown = |what: &str, word: &str| {
        let names = names();
        let help = suggest::help(word, names.iter().map(String::as_str));
        Failure::input(format!("{what} {word}: no default knob has this name or key: {help}"))
    };
    let mut knobs: Vec<Knob> =
        tune.knobs.iter().map(|axis: &Axis| Knob::of(axis.clone(), &file)).collect();
    for wanted in wanted {
        match wanted {
            Wanted::Axis(axis) => knobs.push(Knob::of(*axis, &file)),
            Wanted::Named(word) => {
                let found = chosen.iter().find(|knob| is(knob, &word));
                knobs.push(found.cloned().ok_or_else(|| unknown("--knob", &word))?);
            }
        }
    }
    for (at, knob) in knobs.iter().enumerate() {
        let twice = |key| knobs[..at].iter().any(|own| own.axis.keys.contains(key));
        if let Some(key) = knob.axis.keys.iter().find(|key| twice(*key)) {
            return Err(Failure::input(format!("two knobs change `{key}`; keep one of them")));
        }
    }
    for word in &tune.without {
        if !chosen.iter().any(|knob| is(knob, word)) {
            return Err(unknown("--without", word));
        }
    }
    if tune.defaults {
        let taken = |knob: &Knob| {
            let same = |own: &Knob| own.axis.keys.iter().any(|key| knob.axis.keys.contains(key));
            knobs.iter().any(same) || tune.without.iter().any(|word| is(knob, word))
        };
        let more: Vec<Knob> = chosen.iter().filter(|knob| !taken(knob)).cloned().collect();
        knobs.extend(more);
    }
    if knobs.is_empty() || knobs.len() > MOST_KNOBS {
        let why = match knobs.len() {
            0 if tune.online => {
                "senders of this fabric do not act on marks: there are no thresholds to move"
                    .to_owned()
            }
            0 => "this fabric has nothing to turn by default; name keys with --knob".to_owned(),
            count => format!("{count} knobs are too many; keep at most {MOST_KNOBS}"),
        };
        return Err(Failure::input(why));
    }
    Ok((knobs, if tune.defaults { notes } else { Vec::new() }))
}

/// Places of the other knobs at which a refused value is tried again.
const PLACES: [f64; 4] = [0.0, 0.34, 0.67, 0.999];

/// Refuses knobs whose keys or values no file could have. Default ones, which nobody named, are left out instead, and a
/// note says so.
fn check_knobs(
    workloads: &[(Workload, String, f64)],
    knobs: &mut Vec<Knob>,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut at = 0;
    while at < knobs.len() {
        match refusal(workloads, knobs, at) {
            None => at += 1,
            Some(why) if knobs[at].words.is_empty() => return Err(Failure::input(why)),
            Some(why) => {
                notes.push(format!("left out: {why}"));
                knobs.remove(at);
            }
        }
    }
    if knobs.is_empty() {
        return Err(Failure::input("no knob is left; name keys with --knob"));
    }
    Ok(())
}

/// Why a knob cannot be turned, if so: a value that is refused alone, and beside others as well.
fn refusal(workloads: &[(Workload, String, f64)], knobs: &[Knob], at: usize) -> Option<String> {
    let knob = &knobs[at];
    for (_, settings) in knob.axis.written().iter().take(64) {
        for (workload, name, _) in workloads {
            let base = &workload.base;
            let Err(why) = attempt(base, settings) else { continue };
            let elsewhere = |place: &f64| {
                let others = knobs.iter().enumerate().filter(|(other, _)| *other != at);
                let mut all: Vec<Setting<'_>> =
                    others.flat_map(|(_, other)| other.axis.at(*place)).collect();
                all.extend(settings.iter().cloned());
                attempt(base, &all).is_ok()
            };
            if knobs.len() > 1 && PLACES.iter().any(elsewhere) {
                continue;
            }
            let word =
                |own: &Setting<'_>| format!("`{} = {}`", own.key, xoff_sweep::shown(&own.value));
            let words: Vec<String> = settings.iter().map(word).collect();
            let (knob, words) = (knob.name(), words.join(" with "));
            return Some(format!("knob {knob}: {words} is refused on {name}: {why}"));
        }
    }
    None
}

fn attempt(base: &Base, settings: &[Setting<'_>]) -> Result<(), String> {
    let texts = base.change(settings, base.seed())?;
    let found = xoff_fabric::load_scenario(&texts.scenario, &texts.fabric).diagnostics;
    let error = found.into_iter().find(|found| found.is_error());
    error.map_or(Ok(()), |error| match error.help {
        Some(help) => Err(format!("{}; {help}", error.message)),
        None => Err(error.message),
    })
}

/// What is aimed at on a workload.
fn goal(
    entry: &Entry,
    base: &Base,
    name: &str,
    interrupt: &Interrupt,
    notes: &mut Vec<String>,
) -> Result<Goal, Failure> {
    let row = present(base, interrupt)?;
    let figure: &'static Figure = match entry.objective {
        Some(figure) => figure,
        None => Goal::by_default(&row).ok_or_else(|| {
            Failure::input(format!(
                "{name}: the present setting gives nothing to aim at ({}): {}",
                row.outcome,
                row.reason.clone().unwrap_or_default()
            ))
        })?,
    };
    if row.figure(figure).is_none() && row.is_fine() {
        return Err(Failure::input(format!(
            "{name}: its runs have no `{}`; choose another --objective",
            figure.name
        )));
    }
    let missing = entry.bounds.iter().find(|bound| row.figure(bound.figure).is_none());
    if let Some(bound) = missing.filter(|_| row.is_fine()) {
        return Err(Failure::input(format!(
            "{name}: its runs have no `{}`, and so cannot keep a bound on it",
            bound.figure.name
        )));
    }
    if !row.is_fine() {
        let why = row.reason.clone().unwrap_or_default();
        notes
            .push(format!("{name}: the present setting does not go well ({}): {why}", row.outcome));
    }
    Ok(Goal { figure, bounds: entry.bounds.clone() })
}

fn present(base: &Base, interrupt: &Interrupt) -> Result<Row, Failure> {
    quiet_crashes();
    let point = Point { number: 0, setting: 0, seed: base.seed(), settings: Vec::new() };
    let go_on = &mut |_: &xoff_sim::Progress| !interrupt.requested();
    in_point(|| base.run_point(&point, go_on)).ok_or_else(|| Failure::silent(Exit::Interrupted))
}

/// A hash over everything that results depend on.
fn key(
    files: &[Read],
    cases: &[Workload],
    plan: &Plan,
    random: Option<u64>,
) -> Result<String, Failure> {
    let mut hash = Sha256::new();
    let mut add = |text: &[u8]| {
        // With its length, so that no two lists of texts are the same.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    add(env!("CARGO_PKG_VERSION").as_bytes());
    add(KEPT_FORMAT.as_bytes());
    add(format!("{:?} {:?} {random:?}", plan.knobs, plan.options).as_bytes());
    for case in &plan.cases {
        let bounds: Vec<String> = case.goal.bounds.iter().map(|own| own.words()).collect();
        let (name, figure) = (&case.name, case.goal.figure.name);
        let text = format!("{name} {} {} {figure} {bounds:?}", case.weight, case.first_seed);
        add(text.as_bytes());
    }
    for file in files {
        add(file.scenario.as_bytes());
        add(file.fabric.as_bytes());
    }
    for case in cases {
        for name in case.base.input_files() {
            for path in input::files(case.base.folder().join(&name)) {
                let text = fs::read(&path).map_err(|error| {
                    Failure::input(format!("cannot read `{}`: {error}", path.display()))
                })?;
                add(&text);
            }
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
