//! Whether a run kept the rules: no lossless drop, no deadlock, every flow finished, unless its
//! scenario allows otherwise.

use crate::output::number::{count, time};
use crate::recorder::Seen;
use xoff_fabric::model::{CLASSES, Fabric, NicId};
use xoff_fabric::scenario::Allow;
use xoff_sim::{Cycle, Drop, Failure, FlowResult, Report, TraceKind};
use xoff_telemetry::Outcome;
use xoff_transport::Status;
use xoff_units::Span;

/// Something that a run should not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    /// What happened, and where.
    pub(crate) message: String,
    /// Whether the scenario allows it.
    pub(crate) allowed: bool,
}

/// Everything a run should not have done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) breaches: Vec<Breach>,
}

/// Flows that are named in a message; the table has them all.
const NAMED_FLOWS: usize = 3;

impl Verdict {
    /// Judges a run. `flow_name` and `job_name` name a flow and a job by their number.
    pub(crate) fn of(
        fabric: &Fabric,
        report: &Report,
        seen: &Seen,
        allow: &Allow,
        flow_name: &dyn Fn(usize) -> String,
        job_name: &dyn Fn(usize) -> String,
        open_jobs: &[String],
    ) -> Self {
        let drops = lossless_drops(fabric, report, seen);
        let deadlocks = report.deadlocks.iter().map(|cycle| deadlock(fabric, cycle));
        // Somebody who stops a run knows that it is not finished.
        let stopped = report.outcome == xoff_sim::Outcome::Interrupted;
        let open = |flow: &FlowResult| flow.end.is_none() && flow.failure.is_none() && !stopped;
        let unfinished = flows("did not finish", report, &open, flow_name);
        let failed = flows("failed", report, &|flow| flow.failure.is_some(), flow_name);
        let first = report.flows.iter().filter_map(|flow| flow.failure).min_by_key(|f| f.at);
        let failed = failed.map(|text| match first {
            Some(failure) => format!("{text}; first {}", failure_text(fabric, &failure)),
            None => text,
        });
        let breach = |allowed| move |message| Breach { message, allowed };
        let all = drops.into_iter().map(breach(allow.lossless_drops));
        let all = all.chain(deadlocks.map(breach(allow.deadlock)));
        let jobs = (!open_jobs.is_empty() && !stopped)
            .then(|| format!("jobs did not finish ({})", open_jobs.join(", ")));
        let ended = report.jobs.iter().enumerate().filter_map(|(index, job)| {
            let failure = job.failure.as_ref()?;
            Some(format!("{} ended: {}", job_name(index), failure_text(fabric, failure)))
        });
        let flows = unfinished.into_iter().chain(failed).chain(ended).chain(jobs);
        let flows = flows.map(breach(allow.unfinished));
        Self { breaches: all.chain(flows).collect() }
    }

    /// Whether something happened that the scenario does not allow.
    pub(crate) fn is_broken(&self) -> bool {
        self.breaches.iter().any(|breach| !breach.allowed)
    }

    /// What the summary says about the end of the run.
    pub(crate) fn outcome(&self, fabric: &Fabric, report: &Report) -> Outcome {
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
                Outcome::Failed { reasons: vec!["nothing moved any more".to_owned()] }
            }
            xoff_sim::Outcome::Completed => Outcome::Completed,
        }
    }
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
                (dropped > 0).then(|| format!("{} {}", count(dropped), reason.name()))
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
        let at = time(Span::from_ps(trace.at.as_ps()));
        format!("; first at {} after {at} ({reason})", fabric.port_name(trace.port))
    });
    let word = if packets == 1 { "packet" } else { "packets" };
    Some(format!(
        "lossless drop: {} {word} of lossless classes dropped, {}{first}",
        count(packets),
        places.join("; ")
    ))
}

fn deadlock(fabric: &Fabric, cycle: &Cycle) -> String {
    let queues: Vec<String> =
        ring(fabric, cycle).iter().map(|queue| format!("\n  {queue}")).collect();
    let at = time(Span::from_ps(cycle.at.as_ps()));
    format!(
        "deadlock after {at}: these paused queues wait for each other in a ring:{}",
        queues.concat()
    )
}

/// Which queue pair failed, why and when.
fn failure_text(fabric: &Fabric, failure: &Failure) -> String {
    let name = |nic: NicId| fabric.nics[nic.index()].name.as_str();
    let at = time(Span::from_ps(failure.at.as_ps()));
    let why = match failure.status {
        Status::RetryExceeded => format!(
            "exceeded its retries (status 12) after {} without an answer",
            time(failure.after)
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

/// The queues of a deadlock as people name them.
fn ring(fabric: &Fabric, cycle: &Cycle) -> Vec<String> {
    let name = |(port, class): &(_, u8)| format!("{} class {class}", fabric.port_name(*port));
    cycle.queues.iter().map(name).collect()
}

fn flows(
    what: &str,
    report: &Report,
    is: &dyn Fn(&FlowResult) -> bool,
    flow_name: &dyn Fn(usize) -> String,
) -> Option<String> {
    let found = || report.flows.iter().enumerate().filter(|(_, flow)| is(flow)).map(|(at, _)| at);
    let number = found().count();
    if number == 0 {
        return None;
    }
    let named: Vec<String> = found().take(NAMED_FLOWS).map(flow_name).collect();
    let more = if number > NAMED_FLOWS { ", …" } else { "" };
    let of = count(report.flows.len() as u64);
    Some(format!("{} of {of} flows {what} ({}{more})", count(number as u64), named.join(", ")))
}
