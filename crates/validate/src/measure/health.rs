//! Counters of ports as an operator scrapes them, what became of jobs, and what was broken.

use super::Run;
use super::collect::us;
use super::figures::{FaultFigures, JobFigures, QueuePairFailure};
use crate::blind::PortCounters;
use xoff_fabric::model::PortId;
use xoff_sim::{ClassResult, Drop, JobResult, JobRun};
use xoff_transport::Status;
use xoff_units::Instant;

/// Ports whose counters are kept, of fabrics where more have any.
const PORTS: usize = 20_000;

impl Run<'_> {
    /// The counters of all ports where anything happened.
    pub(super) fn counters(&self) -> Vec<PortCounters> {
        let ports = (0..self.fabric().ports.len() as u32).map(PortId);
        let all = ports.map(|port| self.port_counters(port));
        all.filter(|port| !port.is_idle()).take(PORTS).collect()
    }

    fn port_counters(&self, port: PortId) -> PortCounters {
        let (fabric, report) = (self.fabric(), self.report);
        let here = &fabric.ports[port.index()];
        let there = fabric.ports[here.peer.index()].node;
        let own = |of: fn(&ClassResult) -> u64| report.ports[port.index()].iter().map(of).sum();
        let sent = |port: PortId| -> u64 {
            report.ports[port.index()].iter().map(|class| class.tx_packets).sum()
        };
        let (health, other) = (&report.health[port.index()], &report.health[here.peer.index()]);
        let paused = report.ports[port.index()].iter().map(|class| class.paused.as_us_f64());
        PortCounters {
            port: fabric.port_name(port),
            device: fabric.node_name(here.node).to_owned(),
            neighbour: fabric.node_name(there).to_owned(),
            nic: fabric.node_switch(here.node).is_none(),
            to_nic: fabric.node_switch(there).is_none(),
            link_downs: health.link_downs,
            // What is damaged on the way counts where it arrives.
            crc_errors: other.drops(Drop::Wire),
            tx_packets: sent(port),
            rx_packets: sent(here.peer).saturating_sub(other.lost - other.drops(Drop::Wire)),
            discards: health.drops(Drop::Headroom)
                + health.drops(Drop::IngressLimit)
                + health.drops(Drop::EgressLimit)
                + health.drops(Drop::HostBuffer),
            no_route: health.drops(Drop::NoRoute),
            watchdog_drops: health.drops(Drop::Watchdog),
            watchdog: health.watchdog,
            pfc_rx: own(|class| class.pauses_received),
            pfc_tx: own(|class| class.xoff_sent),
            paused_us: paused.sum(),
            ecn_marked: own(|class| class.marked),
            timeouts: health.timeouts,
            retransmitted: health.retransmitted,
            out_of_sequence: health.out_of_sequence,
            failures: health.failures,
        }
    }

    /// Jobs with the times of their repetitions, and why they ended.
    pub(super) fn jobs(&self) -> Vec<JobFigures> {
        let all = self.case.jobs.iter().zip(&self.report.jobs);
        let figures = |(job, result): (&xoff_workload::Job, &JobResult)| JobFigures {
            name: self.case.workload_name(job.workload).to_owned(),
            runs: result.runs.iter().map(run).collect(),
            asked: job.runs.iter().map(|run| run.repeat).sum::<u32>()
                + job.training.as_ref().map_or(0, |training| training.repeat),
            failure: self.failure(result),
        };
        all.map(figures).collect()
    }

    fn failure(&self, result: &JobResult) -> Option<QueuePairFailure> {
        let failure = result.failure?;
        let name = |nic: xoff_fabric::model::NicId| self.fabric().nics[nic.index()].name.clone();
        Some(QueuePairFailure {
            at_us: us(failure.at),
            after_us: failure.after.as_us_f64(),
            reason: status(failure.status).to_owned(),
            from: name(failure.from),
            to: name(failure.to),
            queue_pair: failure.queue_pair,
        })
    }

    /// What was broken, and when.
    pub(super) fn fault(&self) -> Option<FaultFigures> {
        let windows = self.experiment.scenario.faults.iter().map(|fault| fault.window());
        let (begin, end) = windows.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
        Some(FaultFigures {
            places: self.experiment.hurts.clone(),
            begin_us: begin.as_us_f64(),
            end_us: end.map(|end| end.as_us_f64()),
        })
    }
}

fn run(run: &JobRun) -> (f64, Option<f64>) {
    let time = |at: Instant| us(at);
    (time(run.start), run.end.map(time))
}

/// How a queue pair ended, in the words of verbs.
const fn status(status: Status) -> &'static str {
    match status {
        Status::RetryExceeded => "retry exceeded",
        Status::RnrRetryExceeded => "receiver-not-ready retry exceeded",
        _ => "queue pair error",
    }
}
