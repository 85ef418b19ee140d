//! Collectives and training steps: from the simulator's report to the figures that are compared.

use crate::Case;
use xoff_report::Number;
use xoff_sim::{JobResult, JobRun};
use xoff_telemetry::{
    CollectiveSummary, CriticalSummary, EndsSummary, StepSummary, TransferSummary,
};
use xoff_units::{Instant, Span};
use xoff_workload::collective::{Algorithm, Figures};
use xoff_workload::replay::{CallFigures, RankEnds};
use xoff_workload::training::{StepError, Subject};
use xoff_workload::{Job, Run, TrainingRun};

/// The collectives of a job, size by size, each with its repetitions as far as they began.
pub fn by_size<'a>(
    job: &'a Job,
    result: &'a JobResult,
) -> impl Iterator<Item = (&'a Run, &'a [JobRun])> {
    let mut left = result.runs.as_slice();
    job.runs.iter().map(move |run| {
        let (own, rest) = left.split_at(left.len().min(run.repeat as usize));
        left = rest;
        (run, own)
    })
}

/// A row for each collective and size.
pub(crate) fn summarise(case: &Case<'_>, results: &[JobResult]) -> Vec<CollectiveSummary> {
    let rows = case.jobs.iter().zip(results).flat_map(|(job, result)| {
        let name = case.workload_name(job.workload);
        let traced = of_trace(name, job, result);
        let mut ends = result.ends.as_slice();
        let rows = by_size(job, result).map(move |(run, own)| {
            let (of_run, rest) = ends.split_at(ends.len().min(JobRun::finished(own) as usize));
            ends = rest;
            CollectiveSummary {
                ends_us: mean_ends(of_run),
                ..summary(name, (job, result), run, own)
            }
        });
        rows.chain(traced)
    });
    rows.collect()
}

/// A row for each kind, group size and size of a trace's collectives, over all its replays.
fn of_trace(name: &str, job: &Job, result: &JobResult) -> Vec<CollectiveSummary> {
    let mut rows: Vec<CallFigures> = Vec::new();
    for one in result.calls.iter().flatten() {
        let same = |row: &&mut CallFigures| {
            (row.name, row.ranks, row.size) == (one.name, one.ranks, one.size)
        };
        match rows.iter_mut().find(same) {
            Some(row) => {
                (row.count, row.total) = (row.count + one.count, row.total + one.total);
                row.apart += one.apart;
                (row.first, row.median) = (row.first + one.first, row.median + one.median);
                row.most_apart = row.most_apart.max(one.most_apart);
            }
            None => rows.push(one.clone()),
        }
    }
    let row = |row: CallFigures| {
        let mean = Span::from_ps(row.total.as_ps() / row.count.max(1));
        let each = |all: Span| all.as_us_f64() / row.count.max(1) as f64;
        let figures = Figures::new(row.collective, row.size, row.ranks, mean);
        let count = u32::try_from(row.count).unwrap_or(u32::MAX);
        CollectiveSummary {
            name: format!("{name}: {count} x {}", row.name),
            ranks: row.ranks,
            algorithm: row.algorithm.name().to_owned(),
            size_bytes: row.size.get(),
            finished: count,
            asked: count,
            mean_us: mean.as_us_f64(),
            algbw_gbps: figures.algorithm_bandwidth / 1e9,
            busbw_gbps: figures.bus_bandwidth / 1e9,
            cost: job.settings.cost.name().to_owned(),
            connections: "kept".to_owned(),
            ends_us: Some(EndsSummary {
                first: each(row.first),
                median: each(row.median),
                last: mean.as_us_f64(),
            }),
            apart_us: Some(each(row.apart)),
            most_apart_us: Some(row.most_apart.as_us_f64()),
        }
    };
    rows.into_iter().map(row).collect()
}

/// What replays of traces left out or assumed, and what collectives did not get of the switches, as a reader of the
/// results has to know it.
pub fn left_out(case: &Case<'_>, results: &[JobResult]) -> Vec<String> {
    let mut notes = Vec::new();
    for (job, result) in case.jobs.iter().zip(results) {
        let name = case.workload_name(job.workload);
        notes.extend(
            job.refused.iter().map(|refusal| {
                format!("{name}: it runs by a ring and not in the network: {refusal}")
            }),
        );
        notes.extend(result.fallbacks.iter().map(|fallback| fallen_back(name, result, *fallback)));
        for one in job.replay.iter().flat_map(|run| run.replay.left_out()) {
            let (what, count, first) = (&one.what, one.count, &one.first);
            notes.push(format!("{name}: {what} ({count} times, first at {first})"));
        }
    }
    notes
}

/// What it cost that a switch died in a run.
fn fallen_back(name: &str, result: &JobResult, (number, at): (u32, Instant)) -> String {
    let run = result.runs.get(number as usize - 1);
    let lost = Number::from(run.map_or(Span::ZERO, |run| at - run.start));
    let time = match run.and_then(JobRun::time) {
        Some(time) => format!("{} in all", Number::from(time)),
        None => "it did not finish".to_owned(),
    };
    format!(
        "{name}: run {number} lost a switch that added up for it and began again by a ring after {lost}: {time}; \
         later runs are rings from their start"
    )
}

/// How the repetitions of a size were done: what was asked for, and what took its place.
fn algorithm(run: &Run, own: &[JobRun], result: &JobResult) -> String {
    let name = run.algorithm.name();
    let fell = result.fallbacks.first().map(|&(_, at)| at);
    let after = fell.is_some_and(|at| own.iter().any(|run| run.end.is_none_or(|end| end >= at)));
    match run.algorithm == Algorithm::InNetwork && after {
        true => format!("{name}, then {}", Algorithm::Ring.name()),
        false => name.to_owned(),
    }
}

fn summary(
    name: &str,
    (job, result): (&Job, &JobResult),
    run: &Run,
    own: &[JobRun],
) -> CollectiveSummary {
    let mean = JobRun::mean(own);
    let ranks = job.layout.ranks();
    let figures = Figures::new(run.collective, run.size, ranks, mean);
    CollectiveSummary {
        name: name.to_owned(),
        ranks,
        algorithm: algorithm(run, own, result),
        size_bytes: run.size.get(),
        finished: JobRun::finished(own),
        asked: run.repeat,
        mean_us: mean.as_us_f64(),
        algbw_gbps: figures.algorithm_bandwidth / 1e9,
        busbw_gbps: figures.bus_bandwidth / 1e9,
        cost: job.settings.cost.name().to_owned(),
        connections: if job.keeps_connections { "kept" } else { "fresh" }.to_owned(),
        ends_us: None,
        apart_us: None,
        most_apart_us: None,
    }
}

/// The ends of ranks, on average over repetitions.
fn mean_ends(ends: &[RankEnds]) -> Option<EndsSummary> {
    let mean = |of: fn(&RankEnds) -> Span| {
        ends.iter().map(|ends| of(ends).as_us_f64()).sum::<f64>() / ends.len() as f64
    };
    (!ends.is_empty()).then(|| EndsSummary {
        first: mean(|ends| ends.first.1),
        median: mean(|ends| ends.median),
        last: mean(|ends| ends.last.1),
    })
}

/// What the queue pairs of all jobs counted.
pub(crate) fn transfers(results: &[JobResult]) -> TransferSummary {
    let mut sum = TransferSummary::default();
    for JobResult { counters, .. } in results {
        sum.retransmitted_packets += counters.retransmitted;
        sum.timeouts += counters.timeouts;
        sum.cnps += counters.cnps;
        sum.out_of_sequence += counters.out_of_sequence;
    }
    sum
}

/// A row for each training step.
pub(crate) fn summarise_steps(
    case: &Case<'_>,
    results: &[JobResult],
    critical: impl Fn(&Job, &JobResult) -> Option<CriticalSummary>,
) -> Vec<StepSummary> {
    let row = |(job, result): (&Job, &JobResult)| {
        let name = case.workload_name(job.workload);
        // Building a step's script can fail, but not for a step that has already run.
        let summary = step_summary(name, job.training.as_ref()?, &result.runs).ok()?;
        Some(StepSummary { critical: critical(job, result), ..summary })
    };
    case.jobs.iter().zip(results).filter_map(row).collect()
}

fn step_summary(
    name: &str,
    training: &TrainingRun,
    runs: &[JobRun],
) -> Result<StepSummary, StepError> {
    let mean = JobRun::mean(runs);
    let figures = training.step.figures(mean)?;
    let (compute, bubble) = (training.step.compute()?, training.step.bubble()?);
    Ok(StepSummary {
        name: name.to_owned(),
        ranks: training.step.gpus(),
        finished: JobRun::finished(runs),
        asked: training.repeat,
        mean_us: mean.as_us_f64(),
        compute_us: compute.as_us_f64(),
        bubble_us: bubble.as_us_f64(),
        exposed_us: mean.saturating_sub(compute + bubble).as_us_f64(),
        idle: figures.idle,
        tokens_per_second: figures.tokens_per_second,
        samples: !matches!(training.step.subject(), Subject::Transformer(_)),
        mfu: figures.mfu,
        critical: None,
    })
}

/// Names of the jobs that have runs left to do.
pub(crate) fn unfinished(case: &Case<'_>, results: &[JobResult]) -> Vec<String> {
    let mut open = Vec::new();
    for (job, result) in case.jobs.iter().zip(results) {
        let name = case.workload_name(job.workload);
        let mut left = JobRun::finished(&result.runs);
        let asked = |repeat: u32| (left < repeat).then(|| name.to_owned());
        open.extend(job.training.and_then(|training| asked(training.repeat)));
        open.extend(job.replay.as_ref().and_then(|replay| asked(replay.repeat)));
        open.extend(job.service.as_ref().and_then(|service| asked(service.repeat)));
        for run in &job.runs {
            if left < run.repeat {
                open.push(format!("{name} of {}", run.size));
            }
            left -= left.min(run.repeat);
        }
    }
    open
}
