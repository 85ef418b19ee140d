//! Owners of traffic side by side, and each of them alone with the same paths and draws.

use super::Run;
use super::figures::{OwnerFigures, OwnerTimes};
use std::collections::BTreeSet;
use xoff_results::{Case, StartError, Watcher};
use xoff_sim::{JobRun, Progress, Report, Settings};
use xoff_telemetry::{Distribution, nearest_rank};
use xoff_units::{Instant, Span};
use xoff_workload::{Flow, Job};

/// What each owner's traffic took when it ran alone, by the number of its workload.
pub(super) type Alone = Vec<(u32, OwnerTimes)>;

/// Simulates each tenant of a case alone; nothing where there are no two. `None` if `go_on` stopped it.
pub(super) fn alone(
    case: &Case<'_>,
    settings: &Settings,
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
) -> Result<Option<Alone>, StartError> {
    let tenant = |number: u32| case.workloads[number as usize].common().tenant.as_deref();
    let numbers = 0..case.workloads.len() as u32;
    let tenants: BTreeSet<&str> = numbers.clone().filter_map(tenant).collect();
    let mut all = Vec::new();
    if tenants.len() < 2 {
        return Ok(Some(all));
    }
    for name in tenants {
        let mine = |number: u32| tenant(number) == Some(name);
        let flows: Vec<Flow> =
            case.flows.iter().filter(|flow| mine(flow.workload)).cloned().collect();
        let jobs: Vec<Job> = case.jobs.iter().filter(|job| mine(job.workload)).cloned().collect();
        let own = Case { flows: &flows, jobs: &jobs, ..*case };
        let report = own.run(settings, &mut Watcher::new(case.fabric, go_on))?;
        if report.outcome == xoff_sim::Outcome::Interrupted {
            return Ok(None);
        }
        let of = |number: u32| Some((number, times(&own, &report, number)?));
        all.extend(numbers.clone().filter(|&number| mine(number)).filter_map(of));
    }
    Ok(Some(all))
}

impl Run<'_> {
    pub(super) fn owners(&self) -> Vec<OwnerFigures> {
        let of = |(number, alone): &(u32, OwnerTimes)| {
            let together = times(&self.case, self.report, *number)?;
            let name = self.case.workload_name(*number).to_owned();
            Some(OwnerFigures { name, together, alone: alone.clone() })
        };
        self.alone.iter().filter_map(of).collect()
    }
}

/// What the flows, requests or runs of a workload took.
fn times(case: &Case<'_>, report: &Report, workload: u32) -> Option<OwnerTimes> {
    let mut all: Vec<JobRun> = Vec::new();
    for (flow, result) in case.flows.iter().zip(&report.flows) {
        if flow.workload == workload {
            let end = result.end.filter(|_| result.failure.is_none());
            all.push(JobRun { start: result.start, end });
        }
    }
    for (job, result) in case.jobs.iter().zip(&report.jobs) {
        if job.workload == workload {
            let requests = job.service.as_ref().is_some_and(|service| service.has_requests());
            all.extend(if requests { &result.requests } else { &result.runs });
        }
    }
    let first = all.iter().map(|run| run.start).min()?;
    let last = all.iter().filter_map(|run| run.end).max().unwrap_or(Instant::ZERO);
    let mut took: Vec<u64> = all.iter().filter_map(JobRun::time).map(Span::as_ps).collect();
    let unit = Span::from_us(1).as_ps();
    let each_us = Distribution::of(&mut took, unit).unwrap_or_default();
    Some(OwnerTimes {
        begun: all.len() as u64,
        finished: took.len() as u64,
        whole_us: last.since(first).as_us_f64(),
        each_us,
        // Sorted by the line above.
        p95_us: nearest_rank(&took, 95).map_or(0.0, |time| time as f64 / unit as f64),
    })
}
