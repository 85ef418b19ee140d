//! [`Results`]: from the simulator's report to the tables and the summary of the run folder.

use crate::watch::Seen;
use crate::{Case, critical, jobs, workloads};
use xoff_fabric::model::PortId;
use xoff_fabric::scenario::Fidelity;
use xoff_sim::spread::{self, Spread};
use xoff_sim::{ClassResult, Drop, JobResult, Report};
use xoff_telemetry::{
    AdaptationSummary, ClassNumber, DropSummary, FlowNumber, FlowRow, FlowTally, LinkSpread, Name,
    PortCounters, PortReport, PortTally, RunError, RunFolder, ShortcutsSummary, Summary,
    TenantSummary, WorkloadNumber,
};
use xoff_units::{Bytes, Instant, Span};
use xoff_workload::Job;

/// What a reader of the results must know about the model.
const NOTES: [&str; 4] = [
    "PCIe and host memory take no time, NVLink only its rate; a queue pair uses one port of its NIC",
    "routes change only by faults; `switch.balancing` says which of several equal ports is taken",
    "bit errors and loss take whole packets; pause frames are lost on dead links only",
    "a flow is one message on a queue pair of its own; a collective keeps its queue pairs",
];

/// What it leaves out beside these where traffic is flows.
const NOTES_ON_FLOWS: [&str; 2] = [
    "fidelity `flow`: links are shared fairly at once; queues, pauses, marks, losses and timeouts are not simulated, and their counters are zero",
    "fidelity `flow`: a collective is one load, and its queue pairs slow down together; classes share links as equals",
];

/// What is not exact where only what crowds links is simulated by packets.
const NOTES_ON_FAST: [&str; 2] = [
    "fidelity `fast`: what crowds no link takes the time that it takes on a network without queues, acknowledgements and clear-to-sends of it are not counted",
    "fidelity `fast`: rates that congestion control has cut are forgotten when all that crowds a link together is over",
];

/// What was not simulated, where that was wanted.
fn shortcuts(report: &Report) -> Option<ShortcutsSummary> {
    if let Some(reason) = report.instead_of_fast {
        return Some(ShortcutsSummary { instead: Some(reason.to_string()), ..Default::default() });
    }
    let own = report.shortcuts?;
    Some(ShortcutsSummary {
        instead: None,
        plain: own.plain,
        simulated: own.simulated,
        remembered: own.remembered,
        hops_simulated: own.hops_simulated,
    })
}

/// A run that is over.
#[derive(Clone, Copy)]
pub struct Results<'a> {
    /// What was simulated.
    pub case: Case<'a>,
    /// What the simulator says of it.
    pub report: &'a Report,
    /// What was seen while it ran.
    pub seen: &'a Seen,
    /// How long it took.
    pub wall_seconds: f64,
}

impl Results<'_> {
    /// Simulated time.
    pub(crate) fn elapsed(&self) -> Span {
        self.report.end.since(Instant::ZERO)
    }

    /// Writes flows and ports, and fills in the summary except for its outcome and what only the
    /// process knows, its memory. The second value holds what could not be written; the summary is
    /// complete all the same.
    pub fn write(&self, folder: &RunFolder, seed: u64) -> (Summary, Vec<RunError>) {
        self.sum_up(Some(folder), seed)
    }

    /// The same summary without any tables, of a run that leaves nothing else.
    pub fn summary(&self, seed: u64) -> Summary {
        self.sum_up(None, seed).0
    }

    fn sum_up(&self, folder: Option<&RunFolder>, seed: u64) -> (Summary, Vec<RunError>) {
        let mut summary = Summary::new(seed);
        let mut errors = Vec::new();
        let report = self.report;
        summary.inputs = folder.map_or(Vec::new(), |folder| folder.inputs().to_vec());
        summary.result_hash = format!("{:016x}", report.hash);
        summary.simulated_ps = report.end.as_ps();
        summary.wall_seconds = self.wall_seconds;
        summary.events = report.events;
        summary.packet_hops = report.packet_hops;
        summary.packet_hops_per_second = report.packet_hops as f64 / self.wall_seconds.max(1e-9);
        summary.cnps_sent = report.cnps;
        summary.adaptation = report.adaptation.map(|own| {
            let (lowest, highest) = own.kmin.unwrap_or_default();
            AdaptationSummary {
                changes: own.changes,
                lowest_kmin_bytes: lowest.get(),
                highest_kmin_bytes: highest.get(),
            }
        });
        summary.shortcuts = shortcuts(report);
        summary.events_left_out = self.seen.events_left_out;
        summary.fidelity = report.fidelity.name().to_owned();
        summary.notes = NOTES.map(str::to_owned).to_vec();
        match report.fidelity {
            Fidelity::Packet => {}
            Fidelity::Fast => summary.notes.extend(NOTES_ON_FAST.map(str::to_owned)),
            Fidelity::Flow => summary.notes.extend(NOTES_ON_FLOWS.map(str::to_owned)),
        }
        summary.notes.extend(jobs::left_out(&self.case, &report.jobs));
        summary.collectives = jobs::summarise(&self.case, &report.jobs);
        let critical = |job: &Job, result: &JobResult| {
            critical::summarise(self.case.fabric, &job.layout, result, report)
        };
        summary.steps = jobs::summarise_steps(&self.case, &report.jobs, critical);
        summary.workloads = workloads::summarise(&self.case, report);
        summary.tenants = TenantSummary::of(&summary.workloads);
        self.write_flows(folder, &mut summary, &mut errors);
        self.write_ports(folder, &mut summary, &mut errors);
        self.add_drops(&mut summary);
        summary.transfers = jobs::transfers(&report.jobs);
        summary.links =
            spread::spread(self.case.fabric, report).iter().map(|s| self.links(s)).collect();
        (summary, errors)
    }

    fn write_flows(
        &self,
        folder: Option<&RunFolder>,
        summary: &mut Summary,
        errors: &mut Vec<RunError>,
    ) {
        let nics: Vec<Name> =
            self.case.fabric.nics.iter().map(|nic| nic.name.as_str().into()).collect();
        let workloads = self.case.workloads.iter().map(|w| Name::from(xoff_workload::label(w)));
        let workloads: Vec<Name> = workloads.collect();
        let mut tally = FlowTally::default();
        let rows = self.case.flows.iter().zip(&self.report.flows).enumerate();
        let rows = rows.map(|(id, (flow, result))| FlowRow {
            id: FlowNumber(id as u64),
            workload: WorkloadNumber(flow.workload),
            name: workloads.get(flow.workload as usize).cloned().unwrap_or_else(|| "".into()),
            source: nics[flow.source.index()].clone(),
            destination: nics[flow.destination.index()].clone(),
            size: flow.bytes,
            delivered: Bytes::new(result.counters.delivered),
            class: ClassNumber(flow.class.0),
            start: result.start,
            end: result.end,
            until: self.report.end,
            ideal: result.ideal,
            retransmitted_packets: result.counters.retransmitted,
            timeouts: result.counters.timeouts,
            cnps: result.counters.cnps,
            out_of_sequence: result.counters.out_of_sequence,
        });
        let mut table = folder.map(RunFolder::table::<FlowRow>);
        for row in rows {
            tally.add(&row);
            if let Some(Ok(open)) = &mut table
                && let Err(error) = open.push(&row)
            {
                table = Some(Err(error));
            }
        }
        errors.extend(table.and_then(|table| table.and_then(|table| table.finish()).err()));
        summary.flows = tally.finish(self.report.end);
    }

    fn write_ports(
        &self,
        folder: Option<&RunFolder>,
        summary: &mut Summary,
        errors: &mut Vec<RunError>,
    ) {
        let elapsed = self.elapsed();
        let reports: Vec<PortReport> =
            (0..self.case.fabric.ports.len()).map(|p| self.port(p)).collect();
        let mut tally = PortTally::new(elapsed);
        let mut table = folder.map(RunFolder::table);
        for port in &reports {
            tally.add(port);
            for row in port.rows(elapsed) {
                if let Some(Ok(open)) = &mut table
                    && let Err(error) = open.push(&row)
                {
                    table = Some(Err(error));
                }
            }
        }
        errors.extend(table.and_then(|table| table.and_then(|table| table.finish()).err()));
        tally.finish(summary);
    }

    fn port(&self, index: usize) -> PortReport {
        let (fabric, id) = (self.case.fabric, PortId(index as u32));
        let port = &fabric.ports[index];
        let peer = fabric.ports[port.peer.index()].node;
        let classes = self.report.ports[index].iter().enumerate();
        let busy = classes.filter(|(_, class)| !class.is_idle());
        PortReport {
            port: fabric.port_name(id).into(),
            node: fabric.node_name(port.node).into(),
            peer: fabric.node_name(peer).into(),
            tier: fabric.tier_name(port.node).into(),
            rate: fabric.cable(id).rate,
            classes: busy.map(|(at, class)| (ClassNumber(at as u8), counters(class))).collect(),
        }
    }

    fn links(&self, spread: &Spread) -> LinkSpread {
        let (busiest, max) = spread.busiest.unzip();
        LinkSpread {
            between: spread.name(),
            links: spread.links.len() as u64,
            used: spread.used() as u64,
            tx_bytes: spread.bytes,
            mean: spread.mean,
            max: max.unwrap_or_default(),
            max_over_mean: spread.max_over_mean(),
            gini: spread.gini,
            at_worst: spread.at_worst,
            busiest: busiest.map_or(String::new(), |port| self.case.fabric.port_name(port)),
        }
    }

    fn add_drops(&self, summary: &mut Summary) {
        for (class, reasons) in self.report.dropped.iter().enumerate() {
            for reason in Drop::ALL {
                let packets = reasons[reason as usize];
                if packets > 0 {
                    summary.drops.push(DropSummary {
                        class: class as u8,
                        lossless: self.case.fabric.classes[class].lossless,
                        reason: reason.name().to_owned(),
                        packets,
                        bytes: self.seen.dropped[class][reason as usize],
                    });
                }
            }
        }
    }
}

fn counters(class: &ClassResult) -> PortCounters {
    PortCounters {
        tx_packets: class.tx_packets,
        tx: Bytes::new(class.tx_bytes),
        wire: Bytes::new(class.wire_bytes),
        pauses_sent: class.xoff_sent,
        resumes_sent: class.xon_sent,
        pauses_received: class.pauses_received,
        paused: class.paused,
        ecn_marked: class.marked,
        dropped_packets: class.dropped_packets,
        dropped: Bytes::new(class.dropped_bytes),
        deepest_queue: class.deepest_queue,
    }
}
