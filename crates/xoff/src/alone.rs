//! Tenants alone: the same traffic without that of others, to see what they cost each other.

use crate::exit::Failure;
use crate::input::Scene;
use crate::interrupt::Interrupt;
use crate::{jobs, workloads};
use std::collections::BTreeMap;
use xoff_sim::{Observer, Progress, Settings};
use xoff_telemetry::WorkloadSummary;
use xoff_workload::{Flow, Job};

/// Runs every tenant alone and adds to `rows` what its workloads took then. A workload that belongs
/// to nobody is a tenant of its own. False if somebody stopped it.
pub(crate) fn compare(
    scene: &Scene,
    settings: &Settings,
    interrupt: &Interrupt,
    rows: &mut [WorkloadSummary],
) -> Result<bool, Failure> {
    let tenants = tenants(scene);
    for own in tenants.values() {
        let mine = |workload: u32| own.contains(&workload);
        let flows = scene.flows.iter().filter(|flow| mine(flow.workload));
        let flows: Vec<Flow> = flows.cloned().collect();
        let jobs: Vec<Job> = scene.jobs.iter().filter(|job| mine(job.workload)).cloned().collect();
        let programs = jobs::for_the_simulator(&jobs).map_err(|e| Failure::input(e.to_string()))?;
        let (fabric, faults) = (&scene.setup.fabric, &scene.scenario.faults);
        let mut watch = Watch { interrupt: interrupt.clone() };
        let ran = xoff_sim::run_jobs(fabric, &flows, programs, faults, settings, &mut watch);
        let report = ran.map_err(|error| Failure::input(error.to_string()))?;
        if report.outcome == xoff_sim::Outcome::Interrupted {
            return Ok(false);
        }
        let alone = workloads::summarise(&scene.scenario.workloads, &flows, &jobs, &report);
        for &workload in own {
            let (Some(row), Some(other)) =
                (rows.get_mut(workload as usize), alone.get(workload as usize))
            else {
                continue;
            };
            row.alone_us = other.latency_us.map(|times| times.mean);
            let together = row.latency_us.map(|times| times.mean);
            row.slowdown = match (together, row.alone_us) {
                (Some(together), Some(alone)) if alone > 0.0 => Some(together / alone),
                _ => None,
            };
        }
    }
    Ok(true)
}

/// The workloads of each tenant.
fn tenants(scene: &Scene) -> BTreeMap<(Option<String>, u32), Vec<u32>> {
    let mut tenants: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for (number, workload) in (0..).zip(&scene.scenario.workloads) {
        let tenant = workload.common().tenant.clone();
        let key = if tenant.is_some() { (tenant, 0) } else { (None, number) };
        tenants.entry(key).or_default().push(number);
    }
    tenants
}

/// Stops when somebody asks.
struct Watch {
    interrupt: Interrupt,
}

impl Observer for Watch {
    fn progress(&mut self, _: &Progress) -> bool {
        !self.interrupt.requested()
    }
}
