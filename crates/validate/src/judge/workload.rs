//! Collectives and a training step against an ideal network.

use super::words::percent;
use super::{Evidence, advice};
use crate::check::{Advice, Check};
use crate::measure::Measurement;
use crate::phase::Phase;
use xoff_fabric::model::Balancing;
use xoff_report::Verdict;
use xoff_units::Bytes;

/// The largest size of a collective gets this share of an ideal network's bandwidth, or more.
const GOOD: f64 = 0.8;
const FAIR: f64 = 0.3;

/// A training step takes at most this many times as long as on an ideal network. Computation hides
/// much of what collectives lose, so this is stricter.
const LITTLE_LONGER: f64 = 1.1;
const LONGER: f64 = 2.0;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let names = [
        ("all-reduce", "AllReduce"),
        ("all-gather", "AllGather"),
        ("reduce-scatter", "ReduceScatter"),
        ("all-to-all-collective", "AllToAll"),
    ];
    let found = names.iter().filter_map(|(id, name)| Some((*id, *name, evidence.get(id)?)));
    let collectives =
        found.filter_map(|(id, name, measured)| collective(evidence, id, name, measured));
    collectives.chain(step(evidence)).collect()
}

fn collective(
    evidence: &Evidence<'_>,
    id: &str,
    name: &str,
    measured: &Measurement,
) -> Option<Check> {
    let last = measured.collectives.last()?;
    let finished = measured.collectives.iter().all(|row| row.finished);
    let share =
        if finished && last.ideal_busbw > 0.0 { last.busbw / last.ideal_busbw } else { 0.0 };
    let verdict = match share {
        _ if !finished => Verdict::Fail,
        _ if share >= GOOD => Verdict::Pass,
        _ if share >= FAIR => Verdict::Warn,
        _ => Verdict::Fail,
    };
    let seen = if finished {
        format!(
            "{:.0} GB/s busbw at {} over {} GPUs ({} of ideal, {})",
            last.busbw / 1e9,
            Bytes::new(last.bytes),
            last.ranks,
            percent(share),
            last.algorithm,
        )
    } else {
        format!("did not finish ({})", measured.outcome)
    };
    let check = Check::new(Phase::Workload, id, format!("{name} comes close to an ideal network"))
        .done(format!("ran {name} packet by packet, and the same program on an ideal network"))
        .seen(seen, format!("{} of ideal or more at the largest size", percent(GOOD)))
        .verdict(verdict)
        .from([id]);
    Some(check.advise(Some(spread(evidence))))
}

/// How much longer a training step takes than on an ideal network.
fn step(evidence: &Evidence<'_>) -> Option<Check> {
    let measured = evidence.get("training-step")?;
    let step = measured.steps.first()?;
    let longer = step.time_us / step.ideal_us.max(f64::MIN_POSITIVE);
    let verdict = match longer {
        _ if !step.finished => Verdict::Fail,
        _ if longer <= LITTLE_LONGER => Verdict::Pass,
        _ if longer <= LONGER => Verdict::Warn,
        _ => Verdict::Fail,
    };
    let seen = if step.finished {
        format!(
            "{:.2} ms per step on {} GPUs, idle {} of the time; on an ideal network {:.2} ms, \
             idle {}",
            step.time_us / 1e3,
            step.ranks,
            percent(step.idle),
            step.ideal_us / 1e3,
            percent(step.ideal_idle),
        )
    } else {
        format!("did not finish ({})", measured.outcome)
    };
    let title = "The fabric does not hold a training step back";
    let check = Check::new(Phase::Workload, "training-step", title)
        .done("ran a step of a mixture-of-experts model packet by packet, and on an ideal network")
        .seen(seen, format!("at most {LITTLE_LONGER} times the step of an ideal network"))
        .verdict(verdict)
        .from(["training-step"]);
    Some(check.advise(Some(spread(evidence))))
}

/// What helps where links are unevenly used.
fn spread(evidence: &Evidence<'_>) -> Advice {
    let hashed = evidence.setup.fabric.switches.iter().any(|s| s.balancing == Balancing::Hash);
    if hashed {
        advice::balance()
    } else {
        Advice::words("check the busiest links of this run: the fabric may lack bandwidth for it")
    }
}
