//! From a run to its [`Measurement`].

use super::Run;
use super::figures::{Counters, Curve, FlowFigure, GroupFigures, Measurement};
use crate::phase::Phase;
use std::collections::BTreeMap;
use xoff_fabric::model::{Nic, NicId};
use xoff_sim::{Drop, FlowResult, Outcome};
use xoff_units::{Bytes, Instant, Span};

/// Experiments with more flows keep no single ones.
const SINGLE_FLOWS: usize = 64;

impl Run<'_> {
    pub(super) fn measurement(&self) -> Measurement {
        let (report, fabric) = (self.report, self.fabric());
        let first_lossless_drop =
            self.seen.first_lossless_drop.map(|drop| (us(drop.at), fabric.port_name(drop.port)));
        let rings = report.deadlocks.iter().flat_map(|cycle| &cycle.queues);
        Measurement {
            experiment: self.experiment.id.clone(),
            title: self.experiment.title.clone(),
            fidelity: report.fidelity,
            hash: format!("{:016x}", report.hash),
            outcome: outcome(report.outcome).to_owned(),
            end_us: us(report.end),
            packet_hops: report.packet_hops,
            groups: self.groups(),
            flows: self.single_flows(),
            collectives: self.collectives(),
            steps: self.steps(),
            owners: self.owners(),
            totals: self.totals(),
            tiers: self.tiers(),
            ports: self.ports(),
            loads: self.loads(),
            series: self.series(),
            rates: self.rates(),
            pauses: self.pauses(),
            first_pause_us: self.seen.first_pause.map(us),
            first_lossless_drop,
            deadlock: rings.map(|(port, _)| fabric.port_name(*port)).collect(),
            cores: self.cores(),
            jobs: self.jobs(),
            counters: if self.experiment.phase == Phase::Failures {
                self.counters()
            } else {
                Vec::new()
            },
            fault: self.fault(),
        }
    }

    fn groups(&self) -> Vec<GroupFigures> {
        let mut all: BTreeMap<u32, Vec<&FlowResult>> = BTreeMap::new();
        for (flow, result) in self.case.flows.iter().zip(&self.report.flows) {
            all.entry(flow.workload).or_default().push(result);
        }
        let group = |(workload, flows): (u32, Vec<&FlowResult>)| {
            let received = self.received(workload);
            group(self.case.workload_name(workload), &flows, received)
        };
        all.into_iter().map(group).collect()
    }

    /// What each destination of a workload's flows got, over what its NIC could take in the time that counts.
    pub(super) fn received(&self, workload: u32) -> Curve {
        let mut bytes: BTreeMap<NicId, u64> = BTreeMap::new();
        let before = self.before.delivered.iter().copied().chain(std::iter::repeat(0));
        let own = self.case.flows.iter().zip(&self.report.flows).zip(before);
        for ((flow, result), before) in own.filter(|((flow, _), _)| flow.workload == workload) {
            *bytes.entry(flow.destination).or_default() += result.counters.delivered - before;
        }
        let seconds = (self.report.end - self.before.at).as_s_f64();
        let share = |(nic, bytes): (NicId, u64)| {
            let rate = self.fabric().nic_rate(&self.fabric().nics[nic.index()]);
            bytes as f64 * 8.0 / (seconds * rate.bps() as f64).max(f64::MIN_POSITIVE)
        };
        Curve::new(bytes.into_iter().map(share).collect())
    }

    fn single_flows(&self) -> Vec<FlowFigure> {
        if self.case.flows.len() > SINGLE_FLOWS {
            return Vec::new();
        }
        let name = |nic: NicId| self.fabric().nics[nic.index()].name.clone();
        let figure = |(flow, result): (&xoff_workload::Flow, &FlowResult)| FlowFigure {
            from: name(flow.source),
            to: name(flow.destination),
            bytes: flow.bytes.get(),
            completion_us: result.completion().map(Span::as_us_f64),
            ideal_us: result.ideal.as_us_f64(),
        };
        self.case.flows.iter().zip(&self.report.flows).map(figure).collect()
    }

    /// Cores that the transport kept busy at the server with most to do: the bytes that passed its
    /// NICs, either way, over what a core moves in the time that the run took.
    fn cores(&self) -> f64 {
        let (fabric, ports) = (self.fabric(), &self.report.ports);
        let sent = |port: usize| ports[port].iter().map(|class| class.tx_bytes).sum::<u64>();
        let seconds = (self.report.end - Instant::ZERO).as_s_f64();
        let of_nic = |nic: &Nic| {
            let cpu = nic.cpu?;
            let both = |port: u32| {
                let peer = fabric.ports[port as usize].peer;
                sent(port as usize) + sent(peer.index())
            };
            let bytes: u64 = nic.ports.clone().map(both).sum();
            Some(bytes as f64 * 8.0 / cpu.core_rate.bps().max(1) as f64)
        };
        let busy = |server: &xoff_fabric::model::Server| -> f64 {
            let nics = &fabric.nics[server.nics.start as usize..server.nics.end as usize];
            nics.iter().filter_map(of_nic).sum()
        };
        let most = fabric.servers.iter().map(busy).fold(0.0, f64::max);
        if seconds > 0.0 { most / seconds } else { 0.0 }
    }

    fn totals(&self) -> Counters {
        let report = self.report;
        let classes = &self.fabric().classes;
        let lossless = std::array::from_fn(|class| classes[class].lossless);
        let (mut lossy, mut wire, mut fault) = (0, 0, 0);
        for (class, reasons) in report.dropped.iter().enumerate() {
            for (reason, &number) in Drop::ALL.into_iter().zip(reasons) {
                match reason {
                    Drop::Wire => wire += number,
                    Drop::LinkDown | Drop::NodeDown => fault += number,
                    _ if !lossless[class] => lossy += number,
                    _ => {}
                }
            }
        }
        let flows = report.flows.iter().map(|flow| &flow.counters);
        let all: Vec<_> = flows.chain(report.jobs.iter().map(|job| &job.counters)).collect();
        let paused = report.ports.iter().flatten().map(|class| class.paused.as_us_f64());
        Counters {
            xoff: report.xoff_frames(),
            paused_us: paused.sum(),
            marks: report.marks(),
            cnps: report.cnps,
            lossless_drops: report.lossless_drops(&lossless),
            lossy_drops: lossy,
            wire_drops: wire,
            fault_drops: fault,
            retransmitted: all.iter().map(|counters| counters.retransmitted).sum(),
            trimmed: report.trimmed,
            out_of_sequence: all.iter().map(|counters| counters.out_of_sequence).sum(),
            timeouts: all.iter().map(|counters| counters.timeouts).sum(),
            watchdog: self.seen.watchdog,
        }
    }
}

fn group(name: &str, flows: &[&FlowResult], received: Curve) -> GroupFigures {
    let done = || flows.iter().filter_map(|flow| Some((flow, flow.completion()?)));
    let slowdown =
        |(flow, time): (&&FlowResult, Span)| time.as_ps() as f64 / flow.ideal.as_ps().max(1) as f64;
    let slowdowns: Vec<f64> = done().map(|(flow, time)| slowdown((flow, time))).collect();
    let first = flows.iter().map(|flow| flow.start).min().unwrap_or(Instant::ZERO);
    let last = flows.iter().filter_map(|flow| flow.end).max().unwrap_or(first);
    let bytes: Bytes = done().map(|(flow, _)| flow.bytes).sum();
    let all: Bytes = flows.iter().map(|flow| flow.bytes).sum();
    let seconds = (last - first).as_s_f64();
    let goodput_bps = if seconds > 0.0 { bytes.get() as f64 * 8.0 / seconds } else { 0.0 };
    let inverse: f64 = slowdowns.iter().map(|slowdown| 1.0 / slowdown.max(1.0)).sum();
    GroupFigures {
        name: name.to_owned(),
        flows: flows.len() as u64,
        finished: slowdowns.len() as u64,
        failed: flows.iter().filter(|flow| flow.failure.is_some()).count() as u64,
        bytes_per_flow: all.get() as f64 / flows.len().max(1) as f64,
        goodput_bps,
        share_of_ideal: inverse / flows.len().max(1) as f64,
        received,
        completion: Curve::new(done().map(|(_, time)| time.as_us_f64()).collect()),
        slowdown: Curve::new(slowdowns),
    }
}

const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::TimeUp => "time-up",
        Outcome::Deadlock => "deadlock",
        Outcome::Stalled => "stalled",
        Outcome::Interrupted => "interrupted",
    }
}

pub(super) fn us(at: Instant) -> f64 {
    (at - Instant::ZERO).as_us_f64()
}
