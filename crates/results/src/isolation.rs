//! Tenant isolation: each tenant's traffic simulated alone, beside the run with all of them.

use crate::{Case, StartError, Watcher, workloads};
use std::collections::BTreeMap;
use xoff_sim::{Progress, Settings};
use xoff_telemetry::WorkloadSummary;
use xoff_workload::{Flow, Job};

/// Simulates every tenant alone and adds to `rows`, the workloads of the run with all of them, what
/// each took then. A workload without a tenant counts as one. False if `go_on` stopped it.
pub fn compare(
    case: &Case<'_>,
    settings: &Settings,
    go_on: &mut (dyn FnMut(&Progress) -> bool + Send),
    rows: &mut [WorkloadSummary],
) -> Result<bool, StartError> {
    for own in tenants(case).values() {
        let mine = |workload: u32| own.contains(&workload);
        let flows: Vec<Flow> =
            case.flows.iter().filter(|flow| mine(flow.workload)).cloned().collect();
        let jobs: Vec<Job> = case.jobs.iter().filter(|job| mine(job.workload)).cloned().collect();
        let alone = Case { flows: &flows, jobs: &jobs, ..*case };
        let report = alone.run(settings, &mut Watcher::new(case.fabric, go_on))?;
        if report.outcome == xoff_sim::Outcome::Interrupted {
            return Ok(false);
        }
        let alone = workloads::summarise(&alone, &report);
        for &workload in own {
            let at = workload as usize;
            if let (Some(row), Some(other)) = (rows.get_mut(at), alone.get(at)) {
                put_beside(row, other);
            }
        }
    }
    Ok(true)
}

fn put_beside(row: &mut WorkloadSummary, alone: &WorkloadSummary) {
    row.alone_us = alone.latency_us.map(|times| times.mean);
    let together = row.latency_us.map(|times| times.mean);
    row.slowdown = match (together, row.alone_us) {
        (Some(together), Some(alone)) if alone > 0.0 => Some(together / alone),
        _ => None,
    };
}

/// The workloads of each tenant.
fn tenants(case: &Case<'_>) -> BTreeMap<(Option<String>, u32), Vec<u32>> {
    let mut tenants: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (number, workload) in (0..).zip(case.workloads) {
        let tenant = workload.common().tenant.clone();
        let key = if tenant.is_some() { (tenant, 0) } else { (None, number) };
        tenants.entry(key).or_default().push(number);
    }
    tenants
}
