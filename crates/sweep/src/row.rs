//! [`Row`]: what one point gave, as [`Figure`]s of its run's summary.

use serde::{Deserialize, Serialize};
use xoff_report::Unit;
use xoff_telemetry::{Outcome, Summary};

/// One number of a run, with the name of its column. A run that has none leaves it empty.
#[derive(Debug)]
pub struct Figure {
    /// Its column.
    pub name: &'static str,
    /// What it is, in words.
    pub words: &'static str,
    /// Whether it is always a whole number.
    pub whole: bool,
    /// What it counts on pages, and how many of that unit one is.
    pub unit: (Unit, f64),
    /// Whether more of it is better.
    pub more: bool,
    of: fn(&Summary) -> Option<f64>,
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

const fn time(name: &'static str, words: &'static str, of: fn(&Summary) -> Option<f64>) -> Figure {
    Figure { name, words, whole: false, unit: (Unit::Seconds, 1e-6), more: false, of }
}

const fn count(name: &'static str, words: &'static str, of: fn(&Summary) -> Option<f64>) -> Figure {
    Figure { name, words, whole: true, unit: (Unit::Count, 1.0), more: false, of }
}

const fn more(
    name: &'static str,
    words: &'static str,
    unit: (Unit, f64),
    of: fn(&Summary) -> Option<f64>,
) -> Figure {
    Figure { name, words, whole: false, unit, more: true, of }
}

fn of_tiers(summary: &Summary, of: fn(&xoff_telemetry::TierSummary) -> u64) -> Option<f64> {
    // In integers: a sum of no floating numbers is minus zero.
    Some(summary.tiers.iter().map(of).sum::<u64>() as f64)
}

fn dropped(summary: &Summary, lossless: bool) -> Option<f64> {
    let own = summary.drops.iter().filter(|drops| drops.lossless == lossless);
    Some(own.map(|drops| drops.packets).sum::<u64>() as f64)
}

/// The slowest training job.
fn step(summary: &Summary) -> Option<&xoff_telemetry::StepSummary> {
    let done = summary.steps.iter().filter(|step| step.finished > 0);
    done.max_by(|a, b| a.mean_us.total_cmp(&b.mean_us))
}

/// The last size of the last collective, the largest of a range.
fn collective(summary: &Summary) -> Option<&xoff_telemetry::CollectiveSummary> {
    summary.collectives.iter().rfind(|collective| collective.finished > 0)
}

impl Figure {
    /// All of them, in the order of the columns.
    pub const ALL: &'static [Figure] = &[
        time("simulated_us", "simulated time", |s| Some(s.simulated_ps as f64 / 1e6)),
        count("flows", "flows", |s| Some(s.flows.count as f64)),
        count("flows_finished", "flows that finished", |s| Some(s.flows.finished as f64)),
        time("fct_mean_us", "mean completion time of flows", |s| Some(s.flows.fct_us?.mean)),
        time("fct_p50_us", "median completion time of flows", |s| Some(s.flows.fct_us?.p50)),
        time("fct_p99_us", "p99 completion time of flows", |s| Some(s.flows.fct_us?.p99)),
        time("fct_max_us", "longest completion time of flows", |s| Some(s.flows.fct_us?.max)),
        Figure {
            unit: (Unit::Plain, 1.0),
            ..time("slowdown_mean", "mean slowdown of flows", |s| Some(s.flows.slowdown?.mean))
        },
        Figure {
            unit: (Unit::Plain, 1.0),
            ..time("slowdown_p99", "p99 slowdown of flows", |s| Some(s.flows.slowdown?.p99))
        },
        Figure {
            more: true,
            unit: (Unit::Bytes, 1.0),
            ..count("delivered_bytes", "delivered by flows", |s| {
                Some(s.flows.delivered_bytes as f64)
            })
        },
        Figure {
            whole: true,
            ..more("goodput_bps", "goodput of flows", (Unit::BitsPerSecond, 1.0), |s| {
                (s.flows.count > 0).then_some(s.flows.goodput_bps as f64)
            })
        },
        time("collective_us", "time of the collective", |s| Some(collective(s)?.mean_us)),
        more("busbw_gbps", "bus bandwidth", (Unit::BytesPerSecond, 1e9), |s| {
            Some(collective(s)?.busbw_gbps)
        }),
        time("step_us", "time of a training step", |s| Some(step(s)?.mean_us)),
        time("step_exposed_us", "waiting of a training step", |s| Some(step(s)?.exposed_us)),
        more("tokens_per_second", "tokens per second", (Unit::Large, 1.0), |s| {
            Some(step(s)?.tokens_per_second)
        }),
        more("mfu", "model FLOPs utilisation", (Unit::Share, 1.0), |s| Some(step(s)?.mfu)),
        time("latency_p99_us", "worst p99 latency of a workload", |s| {
            let p99 = s.workloads.iter().filter_map(|own| Some(own.latency_us?.p99));
            p99.into_iter().reduce(f64::max)
        }),
        more("within_objective", "least share within the objective", (Unit::Share, 1.0), |s| {
            let shares = s.workloads.iter().filter_map(|own| own.within_objective);
            shares.into_iter().reduce(f64::min)
        }),
        count("pauses", "pause frames", |s| of_tiers(s, |tier| tier.pause_frames_sent)),
        time("paused_us", "time paused, all ports and classes", |s| {
            of_tiers(s, |tier| tier.paused_ps).map(|ps| ps / 1e6)
        }),
        count("marks", "ECN marks", |s| of_tiers(s, |tier| tier.ecn_marked)),
        count("cnps", "congestion notifications", |s| Some(s.cnps_sent as f64)),
        count("lossless_drops", "drops of lossless classes", |s| dropped(s, true)),
        count("lossy_drops", "drops of other classes", |s| dropped(s, false)),
        count("retransmitted_packets", "packets sent again", |s| {
            Some((s.flows.retransmitted_packets + s.transfers.retransmitted_packets) as f64)
        }),
        count("timeouts", "timeouts", |s| Some((s.flows.timeouts + s.transfers.timeouts) as f64)),
        count("out_of_sequence", "packets out of sequence", |s| {
            Some((s.flows.out_of_sequence + s.transfers.out_of_sequence) as f64)
        }),
        Figure {
            unit: (Unit::Bytes, 1.0),
            ..count("deepest_queue_bytes", "deepest queue", |s| {
                Some(s.deepest_queues.first().map_or(0.0, |queue| queue.max_bytes as f64))
            })
        },
        more("busiest_link", "utilisation of the busiest link", (Unit::Share, 1.0), |s| {
            Some(s.busiest_links.first()?.utilisation)
        }),
        count("events", "simulator events", |s| Some(s.events as f64)),
        count("packet_hops", "packet hops", |s| Some(s.packet_hops as f64)),
    ];

    /// The figure of a column.
    pub fn named(name: &str) -> Option<&'static Figure> {
        Self::ALL.iter().find(|figure| figure.name == name)
    }

    /// Its place among all.
    pub fn place(&self) -> usize {
        Self::ALL.iter().position(|figure| figure.name == self.name).unwrap_or_default()
    }
}

/// What one point gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The number of the point.
    pub point: u64,
    /// How it ended, as in `summary.json`; `refused` if its files are, `crashed` if the simulator failed.
    pub outcome: String,
    /// Why, if it did not go well.
    pub reason: Option<String>,
    /// The digest of the results.
    pub result_hash: Option<String>,
    /// What was measured, in the order of [`Figure::ALL`].
    pub figures: Vec<Option<f64>>,
}

/// Longer reasons are cut: a deadlock of a large fabric has thousands of queues.
const LONGEST_REASON: usize = 500;

impl Row {
    /// A point without a run.
    pub fn without_run(point: u64, outcome: &str, reason: String) -> Self {
        let figures = vec![None; Figure::ALL.len()];
        let reason = Some(cut(reason));
        Self { point, outcome: outcome.to_owned(), reason, result_hash: None, figures }
    }

    /// Of a run.
    pub fn of(point: u64, summary: &Summary) -> Self {
        let (outcome, reason) = ending(&summary.outcome);
        let finite = |figure: &Figure| (figure.of)(summary).filter(|value| value.is_finite());
        Self {
            point,
            outcome: outcome.to_owned(),
            reason: reason.map(cut),
            result_hash: Some(summary.result_hash.clone()),
            figures: Figure::ALL.iter().map(finite).collect(),
        }
    }

    /// Whether all went as the scenario allows.
    pub fn is_fine(&self) -> bool {
        ["completed", "duration-reached"].contains(&self.outcome.as_str())
    }

    /// One of its figures.
    pub fn figure(&self, figure: &Figure) -> Option<f64> {
        self.figures.get(figure.place()).copied().flatten()
    }
}

fn cut(reason: String) -> String {
    match reason.char_indices().nth(LONGEST_REASON) {
        Some((at, _)) => format!("{}…", &reason[..at]),
        None => reason,
    }
}

fn ending(outcome: &Outcome) -> (&'static str, Option<String>) {
    match outcome {
        Outcome::Completed => ("completed", None),
        Outcome::DurationReached => ("duration-reached", None),
        Outcome::Deadlock { cycle } => ("deadlock", Some(cycle.join(", "))),
        Outcome::Stalled => ("stalled", Some("the run stalled with traffic left".to_owned())),
        Outcome::Failed { reasons } => ("failed", Some(reasons.join("; "))),
        _ => ("interrupted", None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_names_of_their_own() {
        let mut names: Vec<&str> = Figure::ALL.iter().map(|figure| figure.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Figure::ALL.len());
        for (at, figure) in Figure::ALL.iter().enumerate() {
            assert_eq!(Figure::named(figure.name).map(Figure::place), Some(at));
        }
    }

    #[test]
    fn no_drops_are_not_minus_none() {
        let summary = Summary::default();
        let counted = [dropped(&summary, true), of_tiers(&summary, |tier| tier.ecn_marked)];
        assert!(counted.iter().all(|own| own.is_some_and(f64::is_sign_positive)), "{counted:?}");
    }

    #[test]
    fn long_reasons_are_cut() {
        let row = Row::without_run(1, "refused", "é".repeat(10_000));
        assert_eq!(row.reason.unwrap().chars().count(), LONGEST_REASON + 1);
    }
}
