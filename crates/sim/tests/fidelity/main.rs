//! The same scenarios at every fidelity, and how far their times are from those of packets.
//!
//! `cargo test --release -p xoff-sim --test fidelity -- --ignored --nocapture` prints the tables of `docs/fidelity.md`.
#![allow(clippy::print_stdout, reason = "the tables are for readers")]
#![allow(clippy::disallowed_methods, reason = "the tables say how long each took")]

mod fast;
mod flow;
mod rows;
mod table;

use rows::Row;
use std::time::Instant as Clock;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::Fidelity;
use xoff_sim::{Job, Outcome, Report, Settings, Silent};

/// Runs a scenario to its end.
fn run(row: &Row, fidelity: Fidelity, seed: u64) -> (Report, Fabric, f64) {
    let settings = Settings { seed, ..Settings::default() };
    let (report, fabric, wall) = run_with(row, fidelity, settings);
    assert_eq!(report.outcome, Outcome::Completed, "{}", row.0);
    (report, fabric, wall)
}

fn run_with(row: &Row, fidelity: Fidelity, settings: Settings) -> (Report, Fabric, f64) {
    let seed = settings.seed;
    let (name, fabric, workloads) = row;
    let text = format!("fabric = 'f.toml'\n{workloads}");
    let setup = xoff_fabric::load_scenario(&text, fabric).into_result();
    let setup = setup.unwrap_or_else(|wrong| panic!("{name}: {wrong:?}"));
    let fabric = setup.setup.fabric;
    let workloads = &setup.scenario.workloads;
    let mut none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
    let flows = xoff_workload::expand(workloads, &fabric, seed, &mut none).expect("flows");
    let jobs = xoff_workload::programs(workloads, &fabric, seed).expect("jobs");
    let jobs = jobs.iter().map(|job| Job::of(job).expect("programs")).collect();
    let settings = Settings { fidelity, ..settings };
    let faults = &setup.scenario.faults;
    let clock = Clock::now();
    let report = xoff_sim::run_jobs(&fabric, &flows, jobs, faults, &settings, &mut Silent);
    let report = report.unwrap_or_else(|error| panic!("{name}: {error}"));
    (report, fabric, clock.elapsed().as_secs_f64())
}

/// Times of all runs and flows, in microseconds.
fn times(report: &Report) -> Vec<f64> {
    let runs = report.jobs.iter().flat_map(|job| &job.runs).filter_map(|run| run.time());
    let flows = report.flows.iter().filter_map(|flow| flow.completion());
    runs.chain(flows).map(|time| time.as_us_f64()).collect()
}

/// How far the times of flows are from those of packets: in the mean, without and with their sign.
fn errors(packet: &Report, flow: &Report) -> (f64, f64) {
    let (meant, found) = (times(packet), times(flow));
    assert_eq!(meant.len(), found.len());
    let errors = meant.iter().zip(&found).map(|(meant, found)| found / meant - 1.0);
    let count = meant.len() as f64;
    (errors.clone().map(f64::abs).sum::<f64>() / count, errors.sum::<f64>() / count)
}
