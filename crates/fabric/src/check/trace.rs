//! Traces against their fabric: numbers that cannot be. What is in the trace is checked where it is read.

use super::collective::{MOST_QPS, cost};
use crate::diagnostic::code;
use crate::document::{Report, Step};
use crate::scenario::{AlgorithmSetting, Operation, TraceReplay};
use xoff_units::Ratio;

/// The largest factor of computing times: far beyond any use, and no product of it overflows unseen.
const MOST_SCALE: u64 = 1_000_000;

/// Checks what is particular to traces.
pub(super) fn check(index: usize, entry: &TraceReplay, report: &mut Report<'_>) {
    let mut wrong = |key: &'static str, message: String, help: &str| {
        let path = [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        report.error(code::IMPOSSIBLE, &path, message, help);
    };
    if entry.path.trim().is_empty() {
        wrong("path", "no trace is named".into(), "give a file, or a folder with one per rank");
    }
    for (key, value) in [("replicas", entry.replicas), ("repeat", entry.repeat)] {
        if value == Some(0) {
            wrong(key, format!("`{key}` is 0"), "give 1 or more");
        }
    }
    if let Some(qps) = entry.qps.filter(|&qps| qps == 0 || qps > MOST_QPS) {
        let help = format!("give 1 or more, at most {MOST_QPS}");
        wrong("qps", format!("`qps` is {qps}"), &help);
    }
    if let Some(scale) = entry.compute_scale.filter(|&scale| scale > Ratio::new(MOST_SCALE, 1)) {
        let help = "0 leaves computing out, 1 keeps it, 0.5 is a GPU twice as fast";
        wrong("compute-scale", format!("computing times {scale} as long"), help);
    }
    if matches!(
        entry.algorithm,
        AlgorithmSetting::Nvls | AlgorithmSetting::NvlsTree | AlgorithmSetting::InNetwork
    ) {
        let message = "switches do not add up for the communicators of a trace".into();
        wrong("algorithm", message, "choose another, or leave `algorithm` out");
    }
    if entry.common.operation != Operation::Write {
        wrong("operation", "traces write".into(), "leave `operation` out");
    }
    cost(index, &entry.cost, report);
}
