//! Collectives and a training step against an ideal network.

use super::Evidence;
use super::load::candidates;
use super::words::{percent, time};
use crate::check::Check;
use crate::measure::{CollectiveFigures, Measurement, TrainingFigures};
use crate::phase::Phase;
use xoff_fabric::derived::Derived;
use xoff_report::Verdict;
use xoff_units::Bytes;

/// The collectives, by their experiments.
pub(super) const COLLECTIVES: [(&str, &str); 4] = [
    ("all-reduce", "AllReduce"),
    ("all-gather", "AllGather"),
    ("reduce-scatter", "ReduceScatter"),
    ("all-to-all-collective", "AllToAll"),
];

pub(super) fn checks(evidence: &Evidence<'_>, derived: &Derived) -> Vec<Check> {
    let found = COLLECTIVES.iter().filter_map(|(id, name)| Some((*id, *name, evidence.get(id)?)));
    let collectives =
        found.filter_map(|(id, name, measured)| collective(evidence, derived, id, name, measured));
    collectives.chain(step(evidence, derived)).collect()
}

/// The job in the middle of all that ran at once, and the slowest, by a figure that is larger the worse it is.
fn middle_and_last<T>(rows: &[T], figure: fn(&T) -> f64) -> Option<(&T, &T)> {
    let mut order: Vec<&T> = rows.iter().collect();
    order.sort_by(|a, b| figure(a).total_cmp(&figure(b)));
    Some((order.get(order.len() / 2)?, order.last()?))
}

/// The job in the middle.
pub(super) fn median<T>(rows: &[T], figure: fn(&T) -> f64) -> Option<&T> {
    middle_and_last(rows, figure).map(|(middle, _)| middle)
}

/// The share of the ideal bus bandwidth.
pub(super) fn share(row: &CollectiveFigures) -> f64 {
    if row.finished && row.ideal_busbw > 0.0 { row.busbw / row.ideal_busbw } else { 0.0 }
}

/// How many times as long as on an ideal network.
pub(super) fn longer(step: &TrainingFigures) -> f64 {
    match step.finished {
        true => step.time_us / step.ideal_us.max(f64::MIN_POSITIVE),
        false => f64::INFINITY,
    }
}

/// What traffic from rank to rank across all rails may lack of the goal: senders meet at receivers by chance, which
/// jobs avoid by changing rails inside servers.
const BY_CHANCE: f64 = 0.6;

/// The part of the goal that a collective is held against: less where traffic crosses rails, and what a design that
/// means to be oversubscribed leaves of that.
fn crossing(evidence: &Evidence<'_>, row: &CollectiveFigures) -> f64 {
    match row.algorithm.as_str() {
        "pairwise" => BY_CHANCE * evidence.setup.goals.intended_share(),
        _ => 1.0,
    }
}

fn jobs(number: usize) -> String {
    if number == 1 { String::new() } else { format!(", median of {number} jobs at once") }
}

fn collective(
    evidence: &Evidence<'_>,
    derived: &Derived,
    id: &str,
    name: &str,
    measured: &Measurement,
) -> Option<Check> {
    let (row, slowest) = middle_and_last(&measured.collectives, |row| 1.0 - share(row))?;
    let finished = measured.collectives.iter().all(|row| row.finished);
    let goal = &evidence.setup.goals.collective;
    let seen = match finished {
        true => format!(
            "{:.0} GB/s busbw at {} over {} GPUs, {} of ideal ({}{}), the slowest {}",
            row.busbw / 1e9,
            Bytes::new(row.bytes),
            row.ranks,
            percent(share(row)),
            row.algorithm,
            jobs(measured.collectives.len()),
            percent(share(slowest)),
        ),
        false => format!("did not finish ({})", measured.outcome),
    };
    let crossing = crossing(evidence, row);
    let best = if finished { Verdict::Pass } else { Verdict::Fail };
    let check = Check::new(Phase::Workload, id, format!("{name} comes close to an ideal network"))
        .done(format!("{}, {}, and the same on an ideal network", measured.title, measured.way()))
        .seen(seen, format!("{} of the ideal bus bandwidth or more", percent(goal.pass * crossing)))
        .held_against(share(row) / crossing, goal)
        .at_best(best)
        .headline()
        .from([id]);
    Some(check.consider(candidates(evidence, derived, measured)))
}

/// Traffic of a step may take this many times as long as on an ideal network: the share of the goal for collectives, and
/// experts that meet by chance.
const STRETCH: f64 = 1.5;

/// How many times the goal a step may take: more if GPUs wait for the network most of the time even on an ideal one, or
/// the design means to be oversubscribed.
fn leeway(evidence: &Evidence<'_>, step: &TrainingFigures) -> f64 {
    let wait = step.ideal_idle.clamp(0.0, 1.0);
    let stretch = STRETCH / evidence.setup.goals.intended_share();
    (((1.0 - wait) + wait * stretch) / USUAL_STEP).max(1.0)
}

/// The limit of a step, and why it is not the goal's.
fn allowed(evidence: &Evidence<'_>, step: &TrainingFigures, goal: f64, leeway: f64) -> String {
    let limit = format!("at most {:.2} times the step of an ideal network", goal * leeway);
    if leeway <= 1.0 {
        return limit;
    }
    let wait = percent(step.ideal_idle.clamp(0.0, 1.0));
    let meant = match evidence.setup.goals.intended_share() < 1.0 {
        true => ", and the design means to be oversubscribed",
        false => "",
    };
    format!(
        "{limit}: {goal:.2} by the goal, and more because GPUs wait {wait} of an ideal step for the network{meant}"
    )
}

/// What a step takes over its ideal, where GPUs compute and wait for as long.
const USUAL_STEP: f64 = 1.3;

/// How much longer a training step takes than on an ideal network.
fn step(evidence: &Evidence<'_>, derived: &Derived) -> Option<Check> {
    let measured = evidence.get("training-step")?;
    let (step, slowest) = middle_and_last(&measured.steps, longer)?;
    let finished = measured.steps.iter().all(|step| step.finished);
    let goal = &evidence.setup.goals.step;
    let seen = match finished {
        true => format!(
            "{} per step on {} GPUs{}, {:.2} times that of an ideal network ({}), the slowest {:.2} \
             times; GPUs wait {} of the time, {} on an ideal network",
            time(step.time_us),
            step.ranks,
            jobs(measured.steps.len()),
            longer(step),
            time(step.ideal_us),
            longer(slowest),
            percent(step.idle),
            percent(step.ideal_idle),
        ),
        false => format!("did not finish ({})", measured.outcome),
    };
    let leeway = leeway(evidence, step);
    let title = "The fabric does not hold a training step back";
    let check = Check::new(Phase::Workload, "training-step", title)
        .done(format!("{}, {}, and on an ideal network", measured.title, measured.way()))
        .seen(seen, allowed(evidence, step, goal.pass, leeway))
        .held_against((longer(step) / leeway).max(1.0), goal)
        .at_best(if finished { Verdict::Pass } else { Verdict::Fail })
        .headline()
        .from(["training-step"]);
    Some(check.consider(candidates(evidence, derived, measured)))
}
