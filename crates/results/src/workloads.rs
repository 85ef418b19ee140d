//! What became of each workload of a scenario, in the unit that it is counted in.

use crate::{Case, serving};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use xoff_fabric::scenario::Workload;
use xoff_sim::{JobResult, JobRun, Report};
use xoff_telemetry::{Distribution, RankEndsSummary, WorkloadSummary};
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::Job;
use xoff_workload::program::RequestId;

/// A row for each workload, in their order.
pub(crate) fn summarise(case: &Case<'_>, report: &Report) -> Vec<WorkloadSummary> {
    let mut tallies: BTreeMap<u32, Tally> = BTreeMap::new();
    for (flow, result) in case.flows.iter().zip(&report.flows) {
        let tally = tallies.entry(flow.workload).or_insert_with(|| Tally::new("flows"));
        let ended = result.end.filter(|_| result.failure.is_none());
        tally.add(JobRun { start: result.start, end: ended }, flow.bytes);
    }
    for (job, result) in case.jobs.iter().zip(&report.jobs) {
        tallies.insert(job.workload, of_job(job, result));
    }
    let job =
        |number: u32| case.jobs.iter().zip(&report.jobs).find(|(job, _)| job.workload == number);
    let row = |(number, workload): (u32, &Workload)| {
        let tally = tallies.remove(&number).unwrap_or_else(|| Tally::new("flows"));
        let row = tally.finish(workload, report.end);
        let serving = job(number).and_then(|(job, result)| serving::summarise(job, result));
        // Those of collectives are beside their sizes.
        let traced = job(number).filter(|(job, _)| job.replay.is_some());
        let rank_ends = traced.and_then(|(_, result)| rank_ends(result));
        WorkloadSummary { serving, rank_ends, ..row }
    };
    (0..).zip(case.workloads).map(row).collect()
}

/// The ends of a trace's ranks, in the replay in which they were furthest apart.
fn rank_ends(result: &JobResult) -> Option<RankEndsSummary> {
    // The first of several, which `max_by_key` would not take.
    let ends = result.ends.iter().min_by_key(|ends| Reverse(ends.apart()))?;
    let ((first_rank, first), (last_rank, last)) = (ends.first, ends.last);
    let [first_us, median_us, last_us] = [first, ends.median, last].map(Span::as_us_f64);
    Some(RankEndsSummary { first_rank, first_us, median_us, last_rank, last_us })
}

fn of_job(job: &Job, result: &JobResult) -> Tally {
    let Some(service) = &job.service else {
        let mut tally = Tally::new("runs");
        result.runs.iter().for_each(|run| tally.add(*run, Bytes::ZERO));
        tally.bytes = result.posted.get();
        return tally;
    };
    let requests = service.has_requests();
    let mut tally = Tally::new(if requests { "requests" } else { "rounds" });
    tally.objective = service.objective;
    let all = if requests { &result.requests } else { &result.runs };
    for (number, run) in (0..).zip(all) {
        tally.add(*run, service.size(RequestId(number)));
    }
    if service.rounds > 1 {
        tally.in_rounds(service.rounds.into());
    }
    tally
}

/// What is counted of a workload.
struct Tally {
    unit: &'static str,
    begun: u64,
    finished: u64,
    bytes: u64,
    times: Vec<u64>,
    first: Option<Instant>,
    last: Instant,
    objective: Option<Span>,
}

impl Tally {
    fn new(unit: &'static str) -> Self {
        Self {
            unit,
            begun: 0,
            finished: 0,
            bytes: 0,
            times: Vec::new(),
            first: None,
            last: Instant::ZERO,
            objective: None,
        }
    }

    fn add(&mut self, run: JobRun, bytes: Bytes) {
        self.begun += 1;
        self.first = Some(self.first.map_or(run.start, |first| first.min(run.start)));
        if let (Some(end), Some(time)) = (run.end, run.time()) {
            self.finished += 1;
            self.bytes = self.bytes.saturating_add(bytes.get());
            self.times.push(time.as_ps());
            self.last = self.last.max(end);
        }
    }

    /// Counts rounds instead of runs, of which each has this many.
    fn in_rounds(&mut self, rounds: u64) {
        self.begun *= rounds;
        self.finished *= rounds;
        self.times.iter_mut().for_each(|time| *time /= rounds);
    }

    fn finish(mut self, workload: &Workload, end: Instant) -> WorkloadSummary {
        let last = if self.finished == self.begun { self.last } else { end };
        let time = last.since(self.first.unwrap_or(last));
        let seconds = time.as_us_f64() / 1e6;
        let over = |number: f64| if seconds > 0.0 { number / seconds } else { 0.0 };
        let within = |objective: Span| {
            let good = self.times.iter().filter(|&&time| time <= objective.as_ps()).count();
            good as f64 / self.begun.max(1) as f64
        };
        WorkloadSummary {
            name: xoff_workload::label(workload).to_owned(),
            kind: workload.kind().to_owned(),
            tenant: workload.common().tenant.clone(),
            transport: workload.common().transport.map(|network| network.name().to_owned()),
            unit: self.unit.to_owned(),
            begun: self.begun,
            finished: self.finished,
            time_us: time.as_us_f64(),
            bytes: self.bytes,
            gbytes_per_second: over(self.bytes as f64 / 1e9),
            per_second: over(self.finished as f64),
            objective_us: self.objective.map(Span::as_us_f64),
            within_objective: self.objective.map(within),
            latency_us: Distribution::of(&mut self.times, Span::from_us(1).as_ps()),
            alone_us: None,
            slowdown: None,
            serving: None,
            rank_ends: None,
        }
    }
}
