//! [`judge`]: from what a file says and what experiments measured to checks with verdicts and
//! advice.
//!
//! Judges run nothing: the same evidence gives the same checks, whenever it was gathered.

mod advice;
mod answers;
mod baseline;
mod broken;
mod cabling;
mod contention;
mod devices;
mod failures;
mod laboratory;
mod load;
mod operations;
mod pause;
mod ranks;
mod redundancy;
mod settings;
mod tenants;
mod tiers;
mod transport;
mod words;
mod workload;

use crate::advice::Advice;
use crate::check::Check;
use crate::measure::Measurement;
use crate::phase::Phase;
use crate::suite::Choice;
use std::collections::BTreeMap;
use xoff_fabric::derived::Derived;
use xoff_fabric::{FabricSetup, Network};

pub use answers::answers;
pub use broken::{is_a_rule, judge_broken};
pub use devices::judge_devices;
pub use failures::{FailureCost, failure_costs};
pub use operations::{Hit, hit, interval};
pub use redundancy::predicted_left;

/// What judges decide on.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The fabric.
    pub setup: &'a FabricSetup,
    /// The text of its file.
    pub text: &'a str,
    /// What the experiments measured, by their names.
    pub measured: &'a BTreeMap<String, Measurement>,
    /// Experiments that could not be run, and why.
    pub refused: &'a BTreeMap<String, String>,
}

impl Evidence<'_> {
    /// Whether pauses are what keeps the fabric from losing packets. InfiniBand has credits, and the other networks
    /// mean to lose some.
    fn pauses(&self) -> bool {
        let file: Option<toml::Table> = self.text.parse().ok();
        let transport = file.as_ref().and_then(|file| file.get("transport")?.as_table());
        let kind = transport.and_then(|table| table.get("kind")?.as_str());
        ["roce", "roce-v1"].iter().any(|roce| Network::same_kind(kind, Some(roce)))
    }

    fn get(&self, experiment: &str) -> Option<&Measurement> {
        self.measured.get(experiment)
    }
}

/// The checks of the phases that were chosen, in their order.
pub fn judge(evidence: &Evidence<'_>, choice: &Choice) -> Vec<Check> {
    let derived = Derived::of(evidence.setup);
    let mut checks = Vec::new();
    for phase in Phase::ALL.into_iter().filter(|&phase| choice.has(phase)) {
        match phase {
            Phase::Laboratory => {
                checks.extend(laboratory::checks(evidence, &derived));
                checks.extend(pause::checks(evidence, &derived));
                checks.extend(tiers::checks(evidence));
                checks.extend(settings::checks(evidence, &derived));
                checks.extend(transport::checks(evidence, &derived));
                checks.extend(ranks::check(&evidence.setup.fabric));
            }
            Phase::Baseline => checks.extend(baseline::checks(evidence)),
            Phase::Synthetic => {
                checks.extend(load::checks(evidence, &derived));
                checks.extend(contention::checks(evidence, &derived));
            }
            Phase::Workload => {
                checks.extend(workload::checks(evidence, &derived));
                checks.extend(tenants::checks(evidence, &derived));
            }
            Phase::Failures => checks.extend(failures::checks(evidence)),
            Phase::Operations => checks.extend(operations::checks(evidence)),
        }
    }
    checks.extend(refused(evidence));
    for check in &mut checks {
        possible(evidence, check);
    }
    checks
}

/// Leaves out of a check's advice what is in force already, and what the file cannot have.
fn possible(evidence: &Evidence<'_>, check: &mut Check) {
    check.candidates.retain(|advice| advice.is_words() || advice.changes(evidence.text));
    // What can be tried comes before what can only be said.
    check.candidates.sort_by_key(Advice::is_words);
    check.advice = check.candidates.first().cloned();
}

/// An experiment that cannot be run is a failure of the fabric or of the file.
fn refused(evidence: &Evidence<'_>) -> Option<Check> {
    if evidence.refused.is_empty() {
        return None;
    }
    let why = evidence.refused.iter().map(|(experiment, why)| format!("{experiment}: {why}"));
    let check = Check::new(Phase::Laboratory, "experiments", "Every experiment can be run")
        .done("built every experiment on this fabric")
        .seen(why.collect::<Vec<_>>().join("; "), "none is refused")
        .from(evidence.refused.keys().cloned());
    Some(check.verdict(xoff_report::Verdict::Fail))
}
