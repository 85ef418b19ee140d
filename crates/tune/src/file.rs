//! [`Tune`]: the tune file.
//!
//! ```toml
//! scenario = "ring.toml"            # or several `[[case]]`
//! seeds = 3
//! budget = 600
//! at-most = { paused_us = 500 }
//!
//! [[knob]]
//! key = "fabric.ecn.kmin"
//! from = "20KB"
//! to = "800KB"
//! scale = "log"
//! ```

use crate::faults::Single;
use crate::goal::Bound;
use crate::plan::Options;
use std::ops::Range;
use toml::Value;
use xoff_fabric::suggest;
use xoff_sweep::file::Named;
use xoff_sweep::{Axis, Figure, Item, Problem, Reader};

/// A workload of a tune file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its scenario file.
    pub scenario: Named,
    /// How much it counts.
    pub weight: f64,
    /// What is aimed at, if not what its runs have.
    pub objective: Option<&'static Figure>,
    /// What other figures must keep.
    pub bounds: Vec<Bound>,
}

/// A tune file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Tune {
    /// What it is called; by default the file's name.
    pub name: Option<String>,
    /// The workloads.
    pub entries: Vec<Entry>,
    /// What is changed.
    pub knobs: Vec<Axis>,
    /// Whether the knobs that the fabric has by default are changed, too.
    pub defaults: bool,
    /// Whether those are of a controller that moves thresholds while traffic runs.
    pub online: bool,
    /// Default knobs that are not.
    pub without: Vec<String>,
    /// How much is done.
    pub options: Options,
    /// Single faults that the result has to hold under.
    pub faults: Vec<Single>,
    /// How much a workload with a fault counts, beside the same without.
    pub fault_weight: f64,
}

/// The most of anything that there may be.
pub const MOST_RUNS: u64 = 1_000_000;
const MOST_SEEDS: u64 = 1000;
/// Cases of a tune file, without faults.
pub const MOST_CASES: usize = 32;
/// Knobs that are changed.
pub const MOST_KNOBS: usize = 40;

const KNOWN: [&str; 15] = [
    "name",
    "scenario",
    "case",
    "knob",
    "defaults",
    "online",
    "without",
    "budget",
    "seeds",
    "unseen-seeds",
    "search-seed",
    "objective",
    "at-most",
    "at-least",
    "faults",
];

const CASE: [&str; 5] = ["scenario", "weight", "objective", "at-most", "at-least"];

/// Longer texts are no tune files.
const MOST_TEXT: usize = 1 << 20;

/// Whether a text looks like a tune file: it has a `[[knob]]` or a `[[case]]`, or names a scenario and is no sweep.
pub fn is_one(text: &str) -> bool {
    let (table, _) = toml::de::DeTable::parse_recoverable(text);
    let has = |key: &str| table.get_ref().iter().any(|(name, _)| name.get_ref() == key);
    let other = ["axis", "workload", "cluster"].into_iter().any(has);
    !other && ["knob", "case", "scenario"].into_iter().any(has)
}

impl Tune {
    /// Scenarios by themselves, all alike, with the default knobs.
    pub fn of(scenarios: impl IntoIterator<Item = String>) -> Self {
        let entry = |path| Entry {
            scenario: Named { path, span: 0..0 },
            weight: 1.0,
            objective: None,
            bounds: Vec::new(),
        };
        Self {
            name: None,
            entries: scenarios.into_iter().map(entry).collect(),
            knobs: Vec::new(),
            defaults: true,
            online: false,
            without: Vec::new(),
            options: Options::default(),
            faults: Vec::new(),
            fault_weight: FAULT_WEIGHT,
        }
    }

    /// Reads a tune file; everything that is wrong with it otherwise.
    pub fn parse(text: &str) -> Result<Self, Vec<Problem>> {
        if text.len() > MOST_TEXT {
            let help = "list fewer values, or give `from` and `to`";
            return Err(vec![Problem::limit(0..0, "the file is larger than 1 MiB", help)]);
        }
        let mut problems = Vec::new();
        let mut table = Reader::parse(text, &mut problems);
        let broken = problems.len();
        let tune = Self::read(&mut table, &mut problems);
        // Half a file has keys that only seem to be missing.
        if broken > 0 {
            problems.truncate(broken);
            return Err(problems);
        }
        table.finish(&KNOWN, &mut problems);
        problems.sort_by_key(|problem| problem.span.start);
        if problems.is_empty() { Ok(tune) } else { Err(problems) }
    }

    fn read(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Self {
        let name = table.text("name", "training", problems).map(|(name, _)| name);
        let objective = objective(table, problems);
        let bounds = bounds(table, problems);
        let mut entries = cases(table, problems);
        for entry in &mut entries {
            entry.objective = entry.objective.or(objective);
            let own: Vec<&str> = entry.bounds.iter().map(|bound| bound.figure.name).collect();
            let all = bounds.iter().filter(|bound| !own.contains(&bound.figure.name));
            let all: Vec<Bound> = all.cloned().collect();
            entry.bounds.extend(all);
        }
        let knobs = knobs(table, problems);
        let defaults = flag(table, "defaults", problems).unwrap_or(knobs.is_empty());
        let online = flag(table, "online", problems).unwrap_or(false);
        let (faults, fault_weight) = (faults(table, problems), FAULT_WEIGHT);
        let without = words(table, "without", "[\"headroom\"]", problems);
        let without = without.into_iter().map(|(word, _)| word).collect();
        let options = options(table, problems);
        Self { name, entries, knobs, defaults, online, without, options, faults, fault_weight }
    }
}

/// What a workload with a fault counts beside the same without: faults are rare, and must not ruin what is not.
const FAULT_WEIGHT: f64 = 0.25;

fn options(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Options {
    let default = Options::default();
    let mut number = |name: &str, least: u64, most: u64, default: u64| {
        let Some((number, span)) = table.number(name, most, problems) else { return default };
        if number < least {
            let help = format!("give {least} or more");
            problems.push(Problem::value(span, format!("`{name}` is at least {least}"), help));
        }
        number
    };
    Options {
        budget: number("budget", 1, MOST_RUNS, default.budget),
        seeds: number("seeds", 1, MOST_SEEDS, default.seeds),
        unseen: number("unseen-seeds", 2, MOST_SEEDS, default.unseen),
        search_seed: number("search-seed", 0, i64::MAX as u64, default.search_seed),
    }
}

fn cases(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let one = table.text("scenario", "ring.toml", problems);
    let several = table.tables("case", problems);
    if let (Some((_, span)), [_, ..]) = (&one, &several[..]) {
        let help = "keep `scenario`, or put it into a `[[case]]` of its own";
        problems.push(Problem::value(span.clone(), "`scenario` and `[[case]]` at once", help));
    }
    if let Some(extra) = several.get(MOST_CASES) {
        let help = format!("keep at most {MOST_CASES}");
        problems.push(Problem::limit(extra.span.clone(), "too many cases", help));
    }
    let mut entries = Vec::new();
    if let Some((path, span)) = one {
        let scenario = Named { path, span };
        entries.push(Entry { scenario, weight: 1.0, objective: None, bounds: Vec::new() });
    }
    for mut case in several {
        let place = case.span.clone();
        let scenario = case.text("scenario", "ring.toml", problems);
        let weight = case.take("weight", problems).map(|item| weight(item, problems));
        let (objective, bounds) = (objective(&mut case, problems), bounds(&mut case, problems));
        case.finish(&CASE, problems);
        let Some((path, span)) = scenario else {
            let help = "add `scenario = \"ring.toml\"`, a path relative to this file";
            problems.push(Problem::missing(place, "a case without a scenario", help));
            continue;
        };
        let (scenario, weight) = (Named { path, span }, weight.unwrap_or(1.0));
        entries.push(Entry { scenario, weight, objective, bounds });
    }
    if entries.is_empty() && problems.is_empty() {
        let help = "add `scenario = \"ring.toml\"`, a path relative to this file, or `[[case]]`s";
        problems.push(Problem::missing(0..0, "no scenario is named", help));
    }
    entries
}

fn weight(item: Item, problems: &mut Vec<Problem>) -> f64 {
    match number(&item.value).filter(|weight| weight.is_finite() && *weight > 0.0) {
        Some(weight) => weight,
        None => {
            let message = format!("`weight` is a number above zero, not {}", item.value);
            problems.push(Problem::value(item.span, message, "write `weight = 2`"));
            1.0
        }
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|number| number as f64))
}

fn flag(table: &mut Reader<'_>, name: &str, problems: &mut Vec<Problem>) -> Option<bool> {
    let item = table.take(name, problems)?;
    if item.value.as_bool().is_none() {
        let message = format!("`{name}` is true or false, not {}", item.value);
        problems.push(Problem::value(item.span, message, format!("write `{name} = true`")));
    }
    item.value.as_bool()
}

fn words(
    table: &mut Reader<'_>,
    name: &str,
    example: &str,
    problems: &mut Vec<Problem>,
) -> Vec<(String, Range<usize>)> {
    let Some((items, _)) = table.list(name, example, problems) else { return Vec::new() };
    items.into_iter().map(|item| (xoff_sweep::shown(&item.value), item.span)).collect()
}

fn faults(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Vec<Single> {
    let mut faults = Vec::new();
    for (word, span) in words(table, "faults", "[\"link\", \"spine\"]", problems) {
        match Single::named(&word) {
            Ok(single) if faults.contains(&single) => {
                problems.push(Problem::value(span, format!("`{word}` is there twice"), "keep one"));
            }
            Ok(single) => faults.push(single),
            Err(help) => {
                problems.push(Problem::value(span, format!("there is no fault `{word}`"), help));
            }
        }
    }
    faults
}

/// The figure of this name; what would be right otherwise.
pub fn figure(name: &str) -> Result<&'static Figure, String> {
    Figure::named(name)
        .ok_or_else(|| suggest::help(name, Figure::ALL.iter().map(|figure| figure.name)))
}

fn objective(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Option<&'static Figure> {
    let (name, span) = table.text("objective", "step_us", problems)?;
    figure(&name)
        .map_err(|help| {
            problems.push(Problem::value(span, format!("there is no result `{name}`"), help));
        })
        .ok()
}

/// `at-most` and `at-least`.
fn bounds(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Vec<Bound> {
    let mut bounds = Vec::new();
    for (key, least) in [("at-most", false), ("at-least", true)] {
        let Some(item) = table.take(key, problems) else { continue };
        let Value::Table(own) = &item.value else {
            let help = format!("write `{key} = {{ paused_us = 500 }}`");
            problems.push(Problem::value(item.span, format!("`{key}` is a table"), help));
            continue;
        };
        for (name, value) in own {
            match (figure(name), number(value).filter(|limit| limit.is_finite())) {
                (Ok(figure), Some(limit)) => bounds.push(Bound { figure, limit, least }),
                (Err(help), _) => {
                    let message = format!("there is no result `{name}`");
                    problems.push(Problem::value(item.span.clone(), message, help));
                }
                (_, None) => {
                    let message = format!("`{name}` is a number, not {value}");
                    let help = "in the unit at the end of its name, like `paused_us = 500`";
                    problems.push(Problem::value(item.span.clone(), message, help));
                }
            }
        }
    }
    bounds
}

fn knobs(table: &mut Reader<'_>, problems: &mut Vec<Problem>) -> Vec<Axis> {
    let mut knobs: Vec<Axis> = Vec::new();
    for (at, table) in table.tables("knob", problems).into_iter().enumerate() {
        if at == MOST_KNOBS {
            let help = format!("keep at most {MOST_KNOBS}");
            problems.push(Problem::limit(table.span.clone(), "too many knobs", help));
            break;
        }
        let Some(axis) = Axis::read(table, problems) else { continue };
        let twice = axis.keys.iter().find(|key| knobs.iter().any(|own| own.keys.contains(key)));
        if let Some(key) = twice {
            let message = format!("another knob changes `{key}`, too");
            problems.push(Problem::value(axis.key_span(), message, "keep one of the two"));
        }
        if axis.keys.iter().any(|key| key.is(xoff_sweep::File::Scenario, "seed")) {
            let help = "use `seeds = 3` at the top of the file";
            problems.push(Problem::value(axis.key_span(), "a seed is no knob", help));
        }
        knobs.push(axis);
    }
    knobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &str = "name = 'x'\nbudget = 300\nseeds = 2\nfaults = ['link', 'spine']\nwithout = ['headroom']\n\
        at-most = { paused_us = 500 }\n[[case]]\nscenario = 'a.toml'\nweight = 2\nobjective = 'step_us'\n\
        at-least = { within_objective = 0.99 }\n[[case]]\nscenario = 'b.toml'\nat-most = { paused_us = 9.5 }\n\
        [[knob]]\nkey = 'fabric.ecn.kmin'\nfrom = '1KB'\nto = '1MB'\nscale = 'log'\n";

    #[test]
    fn a_file_is_read() {
        let tune = Tune::parse(WHOLE).unwrap();
        assert_eq!((tune.options.budget, tune.options.seeds, tune.options.unseen), (300, 2, 10));
        assert_eq!((tune.entries.len(), tune.entries[0].weight, tune.defaults), (2, 2.0, false));
        let limits = |at: usize| {
            let bounds = &tune.entries[at].bounds;
            bounds.iter().map(|own| (own.figure.name, own.limit, own.least)).collect::<Vec<_>>()
        };
        assert_eq!(limits(0), [("within_objective", 0.99, true), ("paused_us", 500.0, false)]);
        assert_eq!(limits(1), [("paused_us", 9.5, false)]);
        assert_eq!(tune.faults, [Single::Link, Single::Spine]);
        assert!(is_one(WHOLE) && is_one("scenario = 'a.toml'\n"));
        assert!(!is_one("fabric = 'f'\n[[workload]]\nkind = 'incast'\n"));
        assert!(!is_one("scenario = 's'\n[[axis]]\nkey = 'fabric.x'\n") && !is_one("[cluster]\n"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, word) in [
            ("", "no scenario"),
            ("scenario = 3", "is text"),
            ("scenario = 'a'\n[[case]]\nscenario = 'b'", "at once"),
            ("[[case]]\nweight = 2", "without a scenario"),
            ("[[case]]\nscenario = 'a'\nweight = 0", "above zero"),
            ("scenario = 'a'\nobjective = 'step_ms'", "no result `step_ms`"),
            ("scenario = 'a'\nat-most = 3", "is a table"),
            ("scenario = 'a'\nat-most = { pausd_us = 3 }", "no result `pausd_us`"),
            ("scenario = 'a'\nat-most = { paused_us = '3us' }", "is a number"),
            ("scenario = 'a'\nfaults = ['leave']", "no fault `leave`"),
            ("scenario = 'a'\nseeds = 0", "at least 1"),
            ("scenario = 'a'\nbudgte = 0", "unknown key `budgte`"),
            ("scenario = 'a'\ndefaults = 3", "true or false"),
            ("scenario = 'a'\n[[knob]]\nkey = 'fabric.x'", "without values"),
            ("scenario = 'a'\n[[knob]]\nkey = 'scenario.seed'\nvalues = [1]", "no knob"),
            (
                "scenario = 'a'\n[[knob]]\nkey = 'fabric.x'\nvalues = [1]\n[[knob]]\nkey = 'fabric.x'\nvalues = [2]",
                "another knob",
            ),
            ("scenario = ", "string"),
        ] {
            let problems = Tune::parse(text).unwrap_err();
            let all: Vec<&str> = problems.iter().map(|own| own.message.as_str()).collect();
            assert!(all.iter().any(|message| message.contains(word)), "{text}: {all:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "\\PC*", cut in 0usize..600, place in 0usize..600, with in any::<char>()) {
            let mut changed: String = WHOLE.chars().take(cut).collect();
            changed.insert(place.min(changed.len()), with);
            for text in [text, changed] {
                is_one(&text);
                if let Err(problems) = Tune::parse(&text) {
                    prop_assert!(!problems.is_empty());
                }
            }
        }
    }
}
