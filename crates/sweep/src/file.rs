//! [`Sweep`]: the sweep file.
//!
//! ```toml
//! scenario = "incast.toml"
//! seeds = 3
//!
//! [[axis]]
//! key = "fabric.ecn.kmin"
//! from = "50KB"
//! to = "800KB"
//! steps = 5
//! scale = "log"
//!
//! [[axis]]
//! key = "scenario.workload[0].senders"
//! values = [4, 8, 16]
//! ```

use crate::axis::Axis;
use crate::key::File;
use crate::problem::Problem;
use crate::read::Reader;
use crate::row::Figure;
use crate::sample::Sample;
use crate::sobol;
use std::ops::Range;
use toml::Table;
use xoff_fabric::suggest;

/// A path in the sweep file, relative to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The path.
    pub path: String,
    /// Where it stands in the file.
    pub span: Range<usize>,
}

/// What runs begin with.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// A scenario file, perhaps on another fabric than its own.
    Scenario {
        /// The scenario file.
        scenario: Named,
        /// The fabric file instead of the scenario's.
        fabric: Option<Named>,
    },
    /// A fabric file, and traffic that the sweep file says itself.
    Fabric {
        /// The fabric file.
        fabric: Named,
        /// Keys of a scenario.
        scenario: Table,
    },
}

/// The seeds of every setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seeds {
    /// So many, from the scenario's own on.
    Count(u64),
    /// These.
    List(Vec<u64>),
}

/// A sweep file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// What it is called; by default the file's name.
    pub name: Option<String>,
    /// What runs begin with.
    pub start: Start,
    /// What changes.
    pub axes: Vec<Axis>,
    /// The seeds of every setting.
    pub seeds: Seeds,
    /// Which combinations are run.
    pub sample: Sample,
    /// The results that pages show: the first over every axis, the first two against each other.
    pub results: Vec<&'static Figure>,
}

/// Runs of a sweep.
pub const MOST_POINTS: u64 = 1_000_000;

/// Axes of a sweep.
const MOST_AXES: usize = 64;

/// Keys of a scenario that a sweep file may say itself.
const SCENARIO: [&str; 4] = ["workload", "fault", "duration", "allow"];

const KNOWN: [&str; 13] = [
    "name",
    "scenario",
    "fabric",
    "axis",
    "seeds",
    "sample",
    "points",
    "sample-seed",
    "results",
    "workload",
    "fault",
    "duration",
    "allow",
];

/// Longer texts are no sweep files.
const MOST_TEXT: usize = 16 << 20;

/// Whether a text looks like a sweep file: it has an `[[axis]]`, and no fabric.
pub fn is_one(text: &str) -> bool {
    let (table, _) = toml::de::DeTable::parse_recoverable(text);
    let has = |key: &str| table.get_ref().iter().any(|(name, _)| name.get_ref() == key);
    has("axis") && !has("cluster")
}

impl Sweep {
    /// Reads a sweep file; everything that is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        if text.len() > MOST_TEXT {
            let help = "list fewer values, or give `from`, `to` and `steps`";
            return Err(vec![Problem::limit(0..0, "the file is larger than 16 MiB", help)]);
        }
        let mut table = Reader::parse(text, &mut problems);
        let broken = problems.len();
        let sweep = Self::read(&mut table, &mut problems);
        // Half a file has keys that only seem to be missing.
        if broken > 0 {
            problems.truncate(broken);
            return Err(problems);
        }
        table.finish(&KNOWN, &mut problems);
        problems.sort_by_key(|problem| problem.span.start);
        match sweep {
            Some(sweep) if problems.is_empty() => Ok(sweep),
            _ => Err(problems),
        }
    }

    fn read(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let name = table.text("name", "ecn", problems).map(|(name, _)| name);
        let start = start(table, problems);
        let seeds = seeds(table, problems);
        let tables = table.tables("axis", problems);
        let count = tables.len();
        if let Some(extra) = tables.get(MOST_AXES) {
            let message = format!("{count} axes are too many");
            let help = format!("keep at most {MOST_AXES}");
            problems.push(Problem::limit(extra.span.clone(), message, help));
        }
        let axes: Vec<Axis> = tables
            .into_iter()
            .take(MOST_AXES)
            .filter_map(|table| Axis::read(table, problems))
            .collect();
        conflicts(&axes, problems);
        let sample = sample(table, &axes, problems);
        let results = results(table, problems);
        if count == 0 && matches!(seeds, Seeds::Count(1)) && problems.is_empty() {
            let help =
                "add `[[axis]]` with `key = \"fabric.ecn.kmin\"` and `values = [...]`, or `seeds`";
            problems.push(Problem::missing(0..0, "nothing changes: no axis and no seeds", help));
        }
        let sweep = Self { name, start: start?, axes, seeds, sample: sample?, results };
        let points =
            sweep.settings().and_then(|settings| settings.checked_mul(sweep.seeds.count()));
        if points.is_none_or(|points| points > MOST_POINTS) {
            let message = match points {
                Some(points) => format!("{points} points are too many"),
                None => "these are more points than can be counted".to_owned(),
            };
            let help = format!(
                "at most {MOST_POINTS} are run: list fewer values, or use \
                 `sample = \"latin-hypercube\"` with `points = 1000`"
            );
            problems.push(Problem::limit(0..0, message, help));
        }
        Some(sweep)
    }

    /// How many combinations of values are run; none if they cannot be counted.
    pub fn settings(&self) -> Option<u64> {
        match self.sample {
            Sample::Grid => {
                let levels = self.axes.iter().map(|axis| axis.levels().unwrap_or(1) as u64);
                levels.into_iter().try_fold(1u64, u64::checked_mul)
            }
            Sample::LatinHypercube { points, .. } | Sample::Sobol { points, .. } => Some(points),
        }
    }
}

impl Seeds {
    /// How many there are.
    pub fn count(&self) -> u64 {
        match self {
            Seeds::Count(count) => *count,
            Seeds::List(list) => list.len() as u64,
        }
    }

    /// One of them; `first` is the scenario's.
    pub fn seed(&self, at: u64, first: u64) -> u64 {
        match self {
            Seeds::Count(_) => first.wrapping_add(at),
            Seeds::List(list) => list[at as usize],
        }
    }
}

fn start(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Option<Start> {
    let named =
        |found: Option<(String, Range<usize>)>| found.map(|(path, span)| Named { path, span });
    let scenario = named(table.text("scenario", "incast.toml", problems));
    let fabric = named(table.text("fabric", "pod.toml", problems));
    let mut own = Table::new();
    let mut first = None;
    for key in SCENARIO {
        if let Some(item) = table.take(key, problems) {
            first.get_or_insert((key, item.span));
            own.insert(key.to_owned(), item.value);
        }
    }
    match (scenario, fabric, first) {
        (Some(_), _, Some((key, span))) => {
            let message = format!("`{key}` belongs into the scenario file that is named");
            let help = "change the scenario, or take `scenario` out and name a `fabric`";
            problems.push(Problem::value(span, message, help));
            None
        }
        (Some(scenario), fabric, None) => Some(Start::Scenario { scenario, fabric }),
        (None, Some(mut fabric), first) => {
            if first.is_none_or(|(key, _)| key != "workload") {
                let help = "name a `scenario = \"incast.toml\"` instead, or add a `[[workload]]`";
                let span = std::mem::take(&mut fabric.span);
                problems.push(Problem::missing(span, "a fabric without traffic", help));
                return None;
            }
            own.insert("fabric".to_owned(), fabric.path.clone().into());
            Some(Start::Fabric { fabric, scenario: own })
        }
        (None, None, _) => {
            let help = "add `scenario = \"incast.toml\"`, a path relative to this file";
            problems.push(Problem::missing(0..0, "no scenario is named", help));
            None
        }
    }
}

fn seeds(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Seeds {
    const EXAMPLE: &str = "write `seeds = 3`, or a list: `seeds = [1, 7, 42]`";
    let Some(item) = table.take("seeds", problems) else { return Seeds::Count(1) };
    let number = |value: &toml::Value| u64::try_from(value.as_integer()?).ok();
    match &item.value {
        toml::Value::Array(list) if !list.is_empty() => {
            let seeds: Option<Vec<u64>> = list.iter().map(number).collect();
            let mut sorted = seeds.clone().unwrap_or_default();
            sorted.sort_unstable();
            if sorted.windows(2).any(|two| two[0] == two[1]) {
                problems.push(Problem::value(item.span, "a seed is there twice", "keep one"));
                return Seeds::Count(1);
            }
            if let Some(seeds) = seeds {
                return Seeds::List(seeds);
            }
        }
        value => {
            if let Some(count) = number(value).filter(|count| (1..=MOST_POINTS).contains(count)) {
                return Seeds::Count(count);
            }
        }
    }
    let message = format!("`seeds` is a number of seeds or a list of them, not {}", item.value);
    problems.push(Problem::value(item.span, message, EXAMPLE));
    Seeds::Count(1)
}

fn sample(table: &mut Reader<'_>, axes: &[Axis], problems: &mut Vec<Problem>) -> Option<Sample> {
    let word = table.text("sample", "latin-hypercube", problems);
    let points = table.number("points", MOST_POINTS, problems);
    let seed = table.number("sample-seed", i64::MAX as u64, problems);
    let (word, span) = word.unwrap_or(("grid".to_owned(), 0..0));
    if word == "grid" {
        for (name, given) in [("points", &points), ("sample-seed", &seed)] {
            if let Some((_, span)) = given {
                let message =
                    format!("a grid has no `{name}`: its axes say which points there are");
                let help = format!("take `{name}` out, or use `sample = \"sobol\"`");
                problems.push(Problem::value(span.clone(), message, help));
            }
        }
        for axis in axes.iter().filter(|axis| axis.levels().is_none()) {
            let message = format!("a grid needs to know the values of `{}`", axis.name);
            let help = "add `steps = 5`, or use `sample = \"latin-hypercube\"` with `points`";
            problems.push(Problem::missing(axis.key_span.clone(), message, help));
        }
        return Some(Sample::Grid);
    }
    if !["latin-hypercube", "sobol"].contains(&word.as_str()) {
        let help = suggest::help(&word, ["grid", "latin-hypercube", "sobol"]);
        problems.push(Problem::value(span, format!("`{word}` is no sample"), help));
        return None;
    }
    let Some((points, at)) = points else {
        let help = "add `points = 200`";
        problems.push(Problem::missing(
            span,
            format!("a sample by `{word}` has a number of points"),
            help,
        ));
        return None;
    };
    if points == 0 {
        problems.push(Problem::value(at, "no points", "give 1 or more"));
        return None;
    }
    let seed = seed.map(|(seed, _)| seed);
    if word == "latin-hypercube" {
        return Some(Sample::LatinHypercube { points, seed: seed.unwrap_or(1) });
    }
    if let Some(axis) = axes.get(sobol::MOST_DIMENSIONS) {
        let message = format!("Sobol's sequence has at most {} axes here", sobol::MOST_DIMENSIONS);
        let help = "use `sample = \"latin-hypercube\"`";
        problems.push(Problem::limit(axis.key_span.clone(), message, help));
    }
    Some(Sample::Sobol { points, seed })
}

/// Two axes that change the same key, and keys that are not an axis's to change.
fn conflicts(axes: &[Axis], problems: &mut Vec<Problem>) {
    for (at, axis) in axes.iter().enumerate() {
        let span = axis.key_span.clone();
        for key in &axis.keys {
            if axes[..at].iter().any(|before| before.keys.contains(key)) {
                let message = format!("another axis changes `{key}`, too");
                problems.push(Problem::value(span.clone(), message, "keep one of the two axes"));
            }
            if key.is(File::Scenario, "seed") {
                let help = "use `seeds = 3` or `seeds = [1, 7, 42]` at the top of the file";
                problems.push(Problem::value(span.clone(), "a seed is no axis", help));
            }
        }
        if axes[..at].iter().any(|before| before.name == axis.name) {
            let message = format!("another axis is called `{}`, too", axis.name);
            problems.push(Problem::value(span, message, "give one of them another `name`"));
        }
    }
}

fn results(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Vec<&'static Figure> {
    let Some((items, span)) = table.list("results", "[\"fct_p99_us\", \"pauses\"]", problems)
    else {
        return Vec::new();
    };
    if items.is_empty() {
        let help = "name one or two, or take `results` out";
        problems.push(Problem::value(span, "`results` is empty", help));
    }
    let mut results: Vec<&'static Figure> = Vec::new();
    for item in items {
        let name = crate::value::shown(&item.value);
        match Figure::named(&name) {
            Some(figure) if results.iter().any(|own| own.name == figure.name) => {
                let message = format!("`{name}` is there twice");
                problems.push(Problem::value(item.span, message, "keep one"));
            }
            Some(figure) => results.push(figure),
            None => {
                let help = suggest::help(&name, Figure::ALL.iter().map(|figure| figure.name));
                problems.push(Problem::value(
                    item.span,
                    format!("there is no result `{name}`"),
                    help,
                ));
            }
        }
    }
    results
}
