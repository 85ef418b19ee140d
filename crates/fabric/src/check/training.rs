//! Training steps against their fabric: numbers that cannot be, and GPUs that are not there. What a
//! model divides by is checked where the step is made.

use super::collective::{MOST_QPS, gpus};
use crate::diagnostic::code;
use crate::document::{Report, Step};
use crate::model::Fabric;
use crate::scenario::{Operation, PlacementSetting, TrainingStep};
use xoff_units::Ratio;

/// Checks what is particular to training steps.
pub(super) fn check(index: usize, entry: &TrainingStep, fabric: &Fabric, report: &mut Report<'_>) {
    let mut wrong = |key: &'static str, message: String, help: &str| {
        let path = [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        report.error(code::IMPOSSIBLE, &path, message, help);
    };
    for (key, value) in [
        ("layers", entry.layers),
        ("expert-servers", entry.expert_servers),
        ("sequence", entry.sequence),
        ("micro-batch", entry.micro_batch),
        ("micro-batches", entry.micro_batches),
        ("tp", entry.tp),
        ("cp", entry.cp),
        ("pp", entry.pp),
        ("virtual-stages", entry.virtual_stages),
        ("dp", entry.dp),
        ("ep", entry.ep),
        ("peak-tflops", entry.peak_tflops),
        ("repeat", entry.repeat),
    ] {
        if value == Some(0) {
            wrong(key, format!("`{key}` is 0"), "give 1 or more");
        }
    }
    if let Some(qps) = entry.qps.filter(|&qps| qps == 0 || qps > MOST_QPS) {
        let help = format!("give 1 or more, at most {MOST_QPS}");
        wrong("qps", format!("`qps` is {qps}"), &help);
    }
    if let Some(zero) = entry.zero.filter(|&zero| zero > 3) {
        wrong("zero", format!("there is no ZeRO stage {zero}"), "stages go from 0 to 3");
    }
    if let Some(share) = entry.efficiency.filter(|&s| s.is_zero() || s > Ratio::ONE) {
        let help = "it is a share of the peak, above 0 and at most 1";
        wrong("efficiency", format!("an efficiency of {share}"), help);
    }
    if entry.common.operation != Operation::Write {
        wrong("operation", "training steps write".into(), "leave `operation` out");
    }
    let there = match &entry.placement {
        PlacementSetting::Gpus(list) => list.len() as u64,
        PlacementSetting::Rule(_) => gpus(fabric),
    };
    let others = [("tp", entry.tp), ("cp", entry.cp), ("pp", entry.pp)];
    let rest = others.iter().fold(1u64, |all, (_, n)| all.saturating_mul(n.unwrap_or(1).into()));
    let wanted = rest.saturating_mul(u64::from(entry.dp.unwrap_or(1)));
    if wanted > there {
        let set = others.iter().rev().find(|(_, number)| number.is_some_and(|n| n > 1));
        let key = if entry.dp.is_some() { "dp" } else { set.map_or("model", |(key, _)| *key) };
        let help = "tp x cp x pp x dp is the number of GPUs";
        wrong(key, format!("{wanted} GPUs are wanted, and there are {there}"), help);
    } else if entry.dp.is_none() && rest > 0 && !there.is_multiple_of(rest) {
        let help = "give `dp` to leave GPUs unused";
        wrong("model", format!("{there} GPUs are no multiple of tp x cp x pp = {rest}"), help);
    }
    super::collective::cost(index, &entry.cost, report);
}
