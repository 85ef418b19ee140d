//! [`Verdict`]: whether a run kept the rules. No lossless drop, no deadlock, every flow and job
//! finished, requests within their objective, unless its scenario allows otherwise.

use crate::watch::Seen;
use crate::{Results, jobs, serving};
use xoff_fabric::model::{CLASSES, Fabric, NicId};
use xoff_fabric::scenario::Allow;
use xoff_report::Number;
use xoff_sim::{Cycle, Drop, Failure, FlowResult, Report, TraceKind};
use xoff_telemetry::Outcome;
use xoff_transport::Status;

/// A rule that a run broke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// What happened, and where.
    pub message: String,
    /// Whether the scenario allows it.
    pub allowed: bool,
}

/// Every rule that a run broke.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// One for each.
    pub breaches: Vec<Breach>,
}

/// Flows that are named in a message; the table has them all.
const NAMED_FLOWS: usize = 3;

impl Verdict {
    /// Judges a run.
    pub fn of(results: &Results<'_>, allow: &Allow) -> Self {
        let (case, report) = (&results.case, results.report);
        let drops = lossless_drops(case.fabric, report, results.seen);
        let deadlocks = report.deadlocks.iter().map(|cycle| deadlock(case.fabric, cycle));
        let breach = |allowed| move |message| Breach { message, allowed };
        let all = drops.into_iter().map(breach(allow.lossless_drops));
        let all = all.chain(deadlocks.map(breach(allow.deadlock)));
        let flows = flows(results).into_iter().chain(ended_jobs(results)).chain(open_jobs(results));
        let all = all.chain(flows.map(breach(allow.unfinished)));
        Self { breaches: all.chain(missed(results).map(breach(allow.objective))).collect() }
    }

    /// Whether the run broke a rule that the scenario does not relax.
    pub fn is_broken(&self) -> bool {
        self.breaches.iter().any(|breach| !breach.allowed)
    }

    /// What the summary says about the end of the run.
    pub fn outcome(&self, fabric: &Fabric, report: &Report) -> Outcome {
        let forbidden = self.breaches.iter().filter(|breach| !breach.allowed);
        let reasons: Vec<String> = forbidden.map(|breach| breach.message.clone()).collect();
        match report.outcome {
            xoff_sim::Outcome::Interrupted => Outcome::Interrupted,
            xoff_sim::Outcome::Deadlock => {
                let cycle = report.deadlocks.last().map(|cycle| ring(fabric, cycle));
                Outcome::Deadlock { cycle: cycle.unwrap_or_default() }
            }
            _ if !reasons.is_empty() => Outcome::Failed { reasons },
            xoff_sim::Outcome::TimeUp => Outcome::DurationReached,
            xoff_sim::Outcome::Stalled => {
                Outcome::Failed { reasons: vec!["the run stalled with traffic left".to_owned()] }
            }
            xoff_sim::Outcome::Completed => Outcome::Completed,
        }
    }
}

/// An interrupted run is known to be unfinished.
fn is_interrupted(report: &Report) -> bool {
    report.outcome == xoff_sim::Outcome::Interrupted
}

/// Flows that did not finish, and those that failed.
fn flows(results: &Results<'_>) -> Vec<String> {
    let report = results.report;
    let stopped = is_interrupted(report);
    let open = |flow: &FlowResult| flow.end.is_none() && flow.failure.is_none() && !stopped;
    let unfinished = flows_that("did not finish", results, &open);
    let failed = flows_that("failed", results, &|flow| flow.failure.is_some());
    let first = report.flows.iter().filter_map(|flow| flow.failure).min_by_key(|f| f.at);
    let failed = failed.map(|text| match first {
        Some(failure) => format!("{text}; first {}", failure_text(results.case.fabric, &failure)),
        None => text,
    });
    unfinished.into_iter().chain(failed).collect()
}

/// Jobs that a failed queue pair ended.
fn ended_jobs(results: &Results<'_>) -> Vec<String> {
    let case = &results.case;
    let ended = case.jobs.iter().zip(&results.report.jobs).filter_map(|(job, result)| {
        let failure = failure_text(case.fabric, result.failure.as_ref()?);
        Some(format!("{} ended: {failure}", case.workload_name(job.workload)))
    });
    ended.collect()
}

/// Jobs whose requests missed their objective. Of an interrupted run nothing is said.
fn missed(results: &Results<'_>) -> impl Iterator<Item = String> {
    let case = results.case;
    let jobs = case.jobs.iter().zip(&results.report.jobs);
    let judged = !is_interrupted(results.report);
    jobs.filter(move |_| judged).filter_map(move |(job, result)| {
        serving::missed(case.workload_name(job.workload), job, result)
    })
}

/// Jobs with runs left to do.
fn open_jobs(results: &Results<'_>) -> Option<String> {
    let open = jobs::unfinished(&results.case, &results.report.jobs);
    let said = !open.is_empty() && !is_interrupted(results.report);
    said.then(|| format!("jobs did not finish ({})", open.join(", ")))
}

fn lossless_drops(fabric: &Fabric, report: &Report, seen: &Seen) -> Option<String> {
    let lossless: [bool; CLASSES] = std::array::from_fn(|class| fabric.classes[class].lossless);
    let packets = report.lossless_drops(&lossless);
    if packets == 0 {
        return None;
    }
    let mut places = Vec::new();
    for (class, reasons) in report.dropped.iter().enumerate().filter(|(class, _)| lossless[*class])
    {
        let reasons =
            Drop::ALL.iter().filter(|reason| reason.breaks_lossless()).filter_map(|&reason| {
                let dropped = reasons[reason as usize];
                (dropped > 0).then(|| format!("{} {}", Number::count(dropped), reason.name()))
            });
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        if !reasons.is_empty() {
            places.push(format!("class {class} ({}): {reasons}", fabric.classes[class].name));
        }
    }
    let first = seen.first_lossless_drop.map_or(String::new(), |trace| {
        let reason = match trace.kind {
            TraceKind::Drop(reason) => reason.name(),
            _ => "",
        };
        let at = Number::from(trace.at);
        format!("; first at {} after {at} ({reason})", fabric.port_name(trace.port))
    });
    let word = if packets == 1 { "packet" } else { "packets" };
    Some(format!(
        "lossless drop: {} {word} of lossless classes dropped, {}{first}",
        Number::count(packets),
        places.join("; ")
    ))
}

fn deadlock(fabric: &Fabric, cycle: &Cycle) -> String {
    let queues: Vec<String> =
        ring(fabric, cycle).iter().map(|queue| format!("\n  {queue}")).collect();
    let at = Number::from(cycle.at);
    format!(
        "deadlock after {at}: these paused queues wait for each other in a ring:{}",
        queues.concat()
    )
}

/// Which queue pair failed, why and when.
fn failure_text(fabric: &Fabric, failure: &Failure) -> String {
    let name = |nic: NicId| fabric.nics[nic.index()].name.as_str();
    let at = Number::from(failure.at);
    let why = match failure.status {
        Status::RetryExceeded => format!(
            "exceeded its retries (status 12) after {} without an answer",
            Number::from(failure.after)
        ),
        Status::RnrRetryExceeded => {
            "exceeded its retries of a receiver that was not ready (status 13)".to_owned()
        }
        other => format!("failed ({other:?})"),
    };
    format!(
        "queue pair {} of {} to {} {why}, at {at}",
        failure.queue_pair,
        name(failure.from),
        name(failure.to)
    )
}

/// The names of a deadlock's queues.
fn ring(fabric: &Fabric, cycle: &Cycle) -> Vec<String> {
    let name = |(port, class): &(_, u8)| format!("{} class {class}", fabric.port_name(*port));
    cycle.queues.iter().map(name).collect()
}

fn flows_that(
    what: &str,
    results: &Results<'_>,
    is: &dyn Fn(&FlowResult) -> bool,
) -> Option<String> {
    let all = &results.report.flows;
    let found = || all.iter().enumerate().filter(|(_, flow)| is(flow)).map(|(at, _)| at);
    let number = found().count();
    if number == 0 {
        return None;
    }
    let name = |flow| results.case.flow_name(flow);
    let named: Vec<String> = found().take(NAMED_FLOWS).map(name).collect();
    let more = if number > NAMED_FLOWS { ", …" } else { "" };
    let (number, of) = (Number::count(number as u64), Number::count(all.len() as u64));
    Some(format!("{number} of {of} flows {what} ({}{more})", named.join(", ")))
}
