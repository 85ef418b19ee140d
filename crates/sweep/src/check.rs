//! What is wrong with a sweep before anything is run: keys that files do not have, values that they
//! refuse, columns of the same name.
//!
//! A value may be refused only beside others (`kmin` above `kmax`): a value is wrong if it is refused
//! with everything else as it is, and with the other axes at several places of theirs, too. What is
//! refused at some points only is for the table to say.

use crate::axis::{Axis, Setting};
use crate::base::Base;
use crate::file::Sweep;
use crate::key::{File, Key};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::table;
use crate::value::{Measure, shown};
use std::ops::Range;
use xoff_fabric::diagnostic::code;
use xoff_fabric::load_scenario;

/// Values of an axis that are tried, evenly over it.
const TRIED: usize = 64;

/// Places of the other axes at which a refused value is tried again.
const PLACES: [f64; 4] = [0.0, 0.34, 0.67, 0.999];

/// Everything that is wrong.
pub fn check(plan: &Plan, base: &Base) -> Vec<Problem> {
    let mut problems = columns(plan);
    for (at, axis) in plan.axes().iter().enumerate() {
        check_axis(plan, base, at, axis, &mut problems);
    }
    problems.sort_by_key(|problem| problem.span.start);
    problems
}

fn check_axis(plan: &Plan, base: &Base, at: usize, axis: &Axis, problems: &mut Vec<Problem>) {
    let mut wrong = 0;
    for (span, settings) in tried(axis) {
        let Err(refused) = attempt(base, &settings) else { continue };
        let elsewhere = |place: &f64| {
            let others = plan.axes().iter().enumerate().filter(|(other, _)| *other != at);
            let mut all: Vec<Setting<'_>> =
                others.flat_map(|(_, other)| other.at(*place)).collect();
            all.extend(settings.iter().cloned());
            attempt(base, &all).is_ok()
        };
        if plan.axes().len() > 1 && PLACES.iter().any(elsewhere) {
            continue;
        }
        let of_key = refused.of_key;
        problems.push(problem(axis, span, &settings, refused));
        wrong += 1;
        // One wrong key, or a list of values that are all wrong in the same way, is one mistake.
        if of_key || wrong == 3 {
            break;
        }
    }
}

/// Some values of an axis: evenly, and the first that measures something else than the others.
fn tried(axis: &Axis) -> Vec<(Range<usize>, Vec<Setting<'_>>)> {
    let all = axis.written();
    let step = all.len().div_ceil(TRIED).max(1);
    let kind = |settings: &[Setting<'_>]| -> Vec<Measure> {
        settings.iter().map(|setting| Measure::of([&setting.value])).collect()
    };
    let first = all.first().map(|(_, settings)| kind(settings));
    let odd = all.iter().position(|(_, settings)| Some(kind(settings)) != first);
    let last = all.len().saturating_sub(1);
    let wanted = |at: &usize| at.is_multiple_of(step) || *at == last || Some(*at) == odd;
    all.into_iter().enumerate().filter(|(at, _)| wanted(at)).map(|(_, one)| one).collect()
}

/// Why settings are refused.
struct Refusal {
    message: String,
    help: Option<String>,
    /// Whether it is the key that is wrong, and not its value.
    of_key: bool,
}

fn attempt(base: &Base, settings: &[Setting<'_>]) -> Result<(), Refusal> {
    let seed = base.seed();
    let texts = base.change(settings, seed).map_err(|message| Refusal {
        message,
        help: Some("look at the files that the sweep begins with".to_owned()),
        of_key: true,
    })?;
    if base.names_files() {
        // The traffic is read from files, which takes as long as they are.
        let found = load_scenario(&texts.scenario, &texts.fabric).diagnostics;
        let error = found.into_iter().find(|found| found.is_error());
        return error.map_or(Ok(()), |error| {
            let of_key = error.code == code::UNKNOWN_KEY;
            Err(Refusal { message: error.message, help: error.help, of_key })
        });
    }
    let refused = base.load(&texts, seed).map(drop);
    refused.map_err(|why| Refusal { message: why.message, help: why.help, of_key: why.unknown_key })
}

fn problem(axis: &Axis, span: Range<usize>, settings: &[Setting<'_>], refused: Refusal) -> Problem {
    if refused.of_key {
        let help = refused.help.unwrap_or_default();
        let keys: Vec<String> = axis.keys.iter().map(|key| format!("`{key}`")).collect();
        let message = format!("{}: {}", keys.join(" and "), refused.message);
        return Problem::unknown(axis.key_span.clone(), message, help);
    }
    let each = settings.iter();
    let words: Vec<String> =
        each.map(|setting| format!("`{} = {}`", setting.key, shown(&setting.value))).collect();
    let message = format!("{} is refused: {}", words.join(" with "), refused.message);
    let help = refused.help.unwrap_or_else(|| "take the value out, or change the file".to_owned());
    Problem::value(span, message, help)
}

/// The fabric files that axes name, and where: each must be read before anything runs.
pub fn fabrics(sweep: &Sweep) -> Vec<(String, Range<usize>)> {
    let own = |key: &Key| key.is(File::Scenario, "fabric");
    let axes = sweep.axes.iter().filter(|axis| axis.keys.iter().any(own));
    let values = axes.flat_map(|axis| axis.written());
    let each = values.flat_map(|(span, settings)| {
        let named = settings.into_iter().filter(|setting| own(setting.key));
        named.map(|setting| (shown(&setting.value), span.clone())).collect::<Vec<_>>()
    });
    each.collect()
}

/// Columns of the same name.
fn columns(plan: &Plan) -> Vec<Problem> {
    let taken = table::fixed_columns();
    let mut seen: Vec<String> = Vec::new();
    let mut problems = Vec::new();
    for axis in plan.axes() {
        for name in table::axis_columns(axis) {
            if taken.contains(&name.as_str()) || seen.contains(&name) {
                let message = format!("the table has another column `{name}`");
                let help = "give the axis another `name`";
                problems.push(Problem::value(axis.key_span.clone(), message, help));
            }
            seen.push(name);
        }
    }
    problems
}
