//! [`Goal`]: what is aimed at on one workload, and what must not happen on the way.

use xoff_sweep::numeric::ln;
use xoff_sweep::{Figure, Row};

/// Figures that are aimed at where nobody says which: the first that the runs have.
const TIMES: [&str; 5] =
    ["step_us", "collective_us", "fct_p99_us", "latency_p99_us", "simulated_us"];

/// Figures of finished flows alone: a setting that leaves flows unfinished must not look better for it.
const OF_FINISHED: [&str; 6] =
    ["fct_mean_us", "fct_p50_us", "fct_p99_us", "fct_max_us", "slowdown_mean", "slowdown_p99"];

/// What is aimed at.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// The figure that is made as small as it gets, or as large if more of it is better.
    pub figure: &'static Figure,
    /// What other figures must keep.
    pub bounds: Vec<Bound>,
}

/// A bound that a figure of every run must keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The figure.
    pub figure: &'static Figure,
    /// The limit.
    pub limit: f64,
    /// Whether the figure must be at least that, and not at most.
    pub least: bool,
}

/// What a run says about its setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// The logarithm of the figure, turned such that less is better; none if the run has none.
    pub value: Option<f64>,
    /// How much it does what it must not; zero if it does not.
    pub violation: f64,
}

/// Violations by kind, far enough apart that the worse kind is always worse.
const REFUSED: f64 = 1000.0;
const NOT_WELL: f64 = 100.0;
const DROPS: f64 = 10.0;

impl Goal {
    /// The goal on a workload whose present setting gave this row: a figure that it has, and no bounds.
    pub fn by_default(row: &Row) -> Option<&'static Figure> {
        let has = |figure: &&'static Figure| row.figure(figure).is_some_and(|value| value > 0.0);
        TIMES.iter().filter_map(|name| Figure::named(name)).find(has)
    }

    /// What a run says.
    pub fn judge(&self, row: &Row) -> Judged {
        let value = self.value(row);
        Judged { value, violation: self.violation(row, value) }
    }

    fn value(&self, row: &Row) -> Option<f64> {
        let figure = row.figure(self.figure).filter(|value| *value > 0.0)?;
        let value = if self.figure.more { -ln(figure) } else { ln(figure) };
        Some(match OF_FINISHED.contains(&self.figure.name) {
            true => value + ln(1.0 / finished(row).clamp(1e-9, 1.0)),
            false => value,
        })
    }

    fn violation(&self, row: &Row, value: Option<f64>) -> f64 {
        if ["refused", "crashed"].contains(&row.outcome.as_str()) {
            return REFUSED;
        }
        let mut sum = 0.0;
        let drops = named(row, "lossless_drops").unwrap_or_default();
        if drops > 0.0 {
            sum += DROPS + ln(1.0 + drops);
        }
        if !row.is_fine() {
            sum += NOT_WELL * (2.0 - finished(row));
        }
        if value.is_none() {
            sum += NOT_WELL;
        }
        sum + self.bounds.iter().map(|bound| bound.violation(row)).sum::<f64>()
    }
}

impl Bound {
    /// How far a run is beyond it, from 0 to less than what a drop counts.
    fn violation(&self, row: &Row) -> f64 {
        // A run without the figure has not kept it: nobody knows.
        let Some(value) = row.figure(self.figure) else { return DROPS / 2.0 };
        let beyond = if self.least { self.limit - value } else { value - self.limit };
        if beyond <= 0.0 {
            return 0.0;
        }
        let scale = self.limit.abs().max(1e-6);
        // Never quite zero, never more than half of a drop.
        (1e-9 + ln(1.0 + beyond / scale)).min(DROPS / 2.0)
    }

    /// In words.
    pub fn words(&self) -> String {
        let word = if self.least { "at least" } else { "at most" };
        format!("{} {word} {}", self.figure.name, self.limit)
    }
}

fn named(row: &Row, name: &str) -> Option<f64> {
    Figure::named(name).and_then(|figure| row.figure(figure))
}

/// The share of flows that finished; all of none.
fn finished(row: &Row) -> f64 {
    match (named(row, "flows"), named(row, "flows_finished")) {
        (Some(flows), Some(finished)) if flows > 0.0 => finished / flows,
        _ => 1.0,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(outcome: &str, figures: &[(&str, f64)]) -> Row {
        let mut row = Row::without_run(0, outcome, String::new());
        for (name, value) in figures {
            row.figures[Figure::named(name).unwrap().place()] = Some(*value);
        }
        row
    }

    fn goal(name: &str) -> Goal {
        Goal { figure: Figure::named(name).unwrap(), bounds: Vec::new() }
    }

    #[test]
    fn less_time_and_more_bandwidth_are_better() {
        let time = goal("collective_us");
        let of = |value: f64| time.judge(&row("completed", &[("collective_us", value)]));
        assert!(of(100.0).value < of(200.0).value && of(100.0).violation == 0.0);
        let bandwidth = goal("busbw_gbps");
        let of = |value: f64| bandwidth.judge(&row("completed", &[("busbw_gbps", value)])).value;
        assert!(of(200.0) < of(100.0));
    }

    #[test]
    fn worse_kinds_of_failure_are_always_worse() {
        let mut goal = goal("fct_p99_us");
        let paused = Figure::named("paused_us").unwrap();
        goal.bounds.push(Bound { figure: paused, limit: 100.0, least: false });
        let of = |outcome: &str, figures: &[(&str, f64)]| {
            let mut all = vec![("fct_p99_us", 5.0), ("paused_us", 0.0), ("flows", 8.0)];
            all.push(("flows_finished", 8.0));
            all.extend_from_slice(figures);
            goal.judge(&row(outcome, &all)).violation
        };
        let order = [
            of("completed", &[]),
            of("completed", &[("paused_us", 101.0)]),
            of("completed", &[("paused_us", 500.0)]),
            of("completed", &[("paused_us", 1e12)]),
            of("completed", &[("lossless_drops", 1.0)]),
            of("completed", &[("lossless_drops", 500.0)]),
            of("failed", &[("lossless_drops", 1.0)]),
            of("failed", &[("lossless_drops", 1.0), ("flows_finished", 4.0)]),
            of("refused", &[]),
        ];
        assert_eq!(order[0], 0.0);
        assert!(order.windows(2).all(|two| two[0] < two[1]), "{order:?}");
    }

    #[test]
    fn unfinished_flows_make_no_better_time() {
        let goal = goal("fct_p99_us");
        let of = |p99: f64, finished: f64| {
            let figures = [("fct_p99_us", p99), ("flows", 10.0), ("flows_finished", finished)];
            goal.judge(&row("duration-reached", &figures)).value.unwrap()
        };
        assert!(of(100.0, 10.0) < of(60.0, 5.0));
    }

    #[test]
    fn a_bound_on_what_no_run_has_is_not_kept() {
        let within = Figure::named("within_objective").unwrap();
        let bound = Bound { figure: within, limit: 0.99, least: true };
        assert!(bound.violation(&row("completed", &[])) > 0.0);
        assert_eq!(bound.violation(&row("completed", &[("within_objective", 1.0)])), 0.0);
        assert!(bound.violation(&row("completed", &[("within_objective", 0.5)])) > 0.0);
    }
}
