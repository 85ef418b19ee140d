//! Collectives against an ideal network.

use super::words::percent;
use super::{Evidence, advice};
use crate::check::{Advice, Check};
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::report::Verdict;
use xoff_fabric::model::Balancing;
use xoff_units::Bytes;

/// The largest size of a collective gets this share of an ideal network's bandwidth, or more.
const GOOD: f64 = 0.8;
const FAIR: f64 = 0.3;

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    let names = [
        ("all-reduce", "AllReduce"),
        ("all-gather", "AllGather"),
        ("reduce-scatter", "ReduceScatter"),
        ("all-to-all-collective", "AllToAll"),
    ];
    let found = names.iter().filter_map(|(id, name)| Some((*id, *name, evidence.get(id)?)));
    found.filter_map(|(id, name, measured)| collective(evidence, id, name, measured)).collect()
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
    let hashed = evidence.setup.fabric.switches.iter().any(|s| s.balancing == Balancing::Hash);
    let advice = if hashed {
        advice::balance()
    } else {
        Advice::words("look at the busiest links of this run; the fabric may be too narrow for it")
    };
    let check = Check::new(Phase::Workload, id, format!("{name} gets what the NICs could carry"))
        .done(format!("ran {name} packet by packet, and the same program on an ideal network"))
        .seen(seen, format!("{} of ideal or more at the largest size", percent(GOOD)))
        .verdict(verdict)
        .from([id]);
    Some(check.advise(Some(advice)))
}
