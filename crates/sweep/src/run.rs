//! Running one point: from its number to its [`Row`].

use crate::base::{Base, Loaded};
use crate::plan::{Plan, Point};
use crate::row::Row;
use std::panic::{AssertUnwindSafe, catch_unwind};
use xoff_results::{Case, Results, Verdict, Watcher, settings};
use xoff_sim::Progress;
use xoff_telemetry::Summary;

/// Called now and then while a point runs; false stops it.
pub type GoOn<'a> = &'a mut (dyn FnMut(&Progress) -> bool + Send);

impl Base {
    /// Runs a point of a plan; none if the caller stopped it. Files that are refused, a run that breaks
    /// the rules, and even a fault of the simulator are rows that say so.
    pub fn run(&self, plan: &Plan, number: u64, go_on: GoOn<'_>) -> Option<Row> {
        self.run_point(&plan.point(number)?, go_on)
    }

    /// The same for a point of no plan.
    pub fn run_point(&self, point: &Point<'_>, go_on: GoOn<'_>) -> Option<Row> {
        // Nothing that a point leaves behind is used after a panic: every point begins anew.
        match catch_unwind(AssertUnwindSafe(|| self.attempt(point, go_on))) {
            Ok(row) => row,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = text.unwrap_or("without a message").to_owned();
                Some(Row::without_run(point.number, "crashed", text))
            }
        }
    }

    fn attempt(&self, point: &Point<'_>, go_on: GoOn<'_>) -> Option<Row> {
        let refused = |message: String| Row::without_run(point.number, "refused", message);
        let texts = match self.change(&point.settings, point.seed) {
            Ok(texts) => texts,
            Err(message) => return Some(refused(message)),
        };
        let loaded = match self.load(&texts, point.seed) {
            Ok(loaded) => loaded,
            Err(why) => return Some(refused(why.message)),
        };
        match summary(&loaded, point.seed, go_on) {
            Ok(Some(summary)) => Some(Row::of(point.number, &summary)),
            Ok(None) => None,
            Err(message) => Some(refused(message)),
        }
    }
}

/// Simulates a point and sums it up; none if the caller stopped it, and an error if the simulator
/// refuses it.
pub fn summary(loaded: &Loaded, seed: u64, go_on: GoOn<'_>) -> Result<Option<Summary>, String> {
    let case = Case {
        fabric: &loaded.setup.fabric,
        workloads: &loaded.scenario.workloads,
        flows: &loaded.flows,
        jobs: &loaded.jobs,
        faults: &loaded.scenario.faults,
    };
    let mut watcher = Watcher::new(case.fabric, go_on);
    let report = case.run(&settings(&loaded.scenario, seed), &mut watcher);
    let report = report.map_err(|error| error.to_string())?;
    if report.outcome == xoff_sim::Outcome::Interrupted {
        return Ok(None);
    }
    let watched = watcher.finish();
    // How long it took would make two tables of the same sweep differ.
    let results = Results { case, report: &report, seen: &watched.seen, wall_seconds: 0.0 };
    let mut summary = results.summary(seed);
    let verdict = Verdict::of(&results, &loaded.scenario.allow);
    summary.outcome = verdict.outcome(case.fabric, &report);
    Ok(Some(summary))
}
