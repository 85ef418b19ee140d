//! From a run to its [`Measurement`].

use super::figures::{
    CollectiveFigures, Counters, Distribution, FlowFigure, GroupFigures, Measurement, PairLoad,
    PauseSpan, PortFigures, RateSeries, Series, TierFigures,
};
use super::{Run, watch};
use std::collections::BTreeMap;
use xoff_fabric::derived::Derived;
use xoff_fabric::model::{Fabric, NodeId, PortId};
use xoff_sim::{Drop, FlowResult, Outcome};
use xoff_units::{Bytes, Instant, Ratio, Span};
use xoff_workload::Job;
use xoff_workload::collective::{Figures, Network};
use xoff_workload::ideal;

/// Experiments with more flows keep no single ones.
const SINGLE_FLOWS: usize = 64;
/// Ports, queues and shares that are kept.
const PORTS: usize = 40;
const SERIES: usize = 4;
const RATES: usize = 8;
const SHARES: usize = 512;
const LOADS: usize = 4_096;
const HOST_LOADS: usize = 1_024;
const POINTS: usize = 2_000;

impl Run<'_> {
    pub(super) fn measurement(mut self) -> Measurement {
        let report = self.report;
        self.seen.close(report.end);
        let fabric = &self.setup.fabric;
        let first_drop = self.seen.first_lossless_drop;
        let first_lossless_drop = first_drop.map(|drop| (us(drop.at), fabric.port_name(drop.port)));
        let rings = report.deadlocks.iter().flat_map(|cycle| &cycle.queues);
        Measurement {
            experiment: self.experiment.id.clone(),
            hash: format!("{:016x}", report.hash),
            outcome: outcome(report.outcome).to_owned(),
            end_us: us(report.end),
            packet_hops: report.packet_hops,
            groups: self.groups(),
            flows: self.single_flows(),
            collectives: self.collectives(),
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
        }
    }

    fn fabric(&self) -> &Fabric {
        &self.setup.fabric
    }

    fn groups(&self) -> Vec<GroupFigures> {
        let mut all: BTreeMap<u32, Vec<&FlowResult>> = BTreeMap::new();
        for (flow, result) in self.flows.iter().zip(&self.report.flows) {
            all.entry(flow.workload).or_default().push(result);
        }
        let workloads = &self.experiment.scenario.workloads;
        let group = |(workload, flows): (u32, Vec<&FlowResult>)| {
            let name = workloads.get(workload as usize).map_or("", xoff_workload::label);
            group(name, &flows)
        };
        all.into_iter().map(group).collect()
    }

    fn single_flows(&self) -> Vec<FlowFigure> {
        if self.flows.len() > SINGLE_FLOWS {
            return Vec::new();
        }
        let name = |nic: xoff_fabric::model::NicId| self.fabric().nics[nic.index()].name.clone();
        let figure = |(flow, result): (&xoff_workload::Flow, &FlowResult)| FlowFigure {
            from: name(flow.source),
            to: name(flow.destination),
            bytes: flow.bytes.get(),
            completion_us: result.completion().map(Span::as_us_f64),
            ideal_us: result.ideal.as_us_f64(),
        };
        self.flows.iter().zip(&self.report.flows).map(figure).collect()
    }

    fn collectives(&self) -> Vec<CollectiveFigures> {
        let mut rows = Vec::new();
        for (job, result) in self.jobs.iter().zip(&self.report.jobs) {
            let workloads = &self.experiment.scenario.workloads;
            let name = workloads.get(job.workload as usize).map_or("", xoff_workload::label);
            let mut left = result.runs.iter();
            for run in &job.runs {
                let own: Vec<_> = left.by_ref().take(run.repeat as usize).collect();
                let times: Vec<Span> = own.iter().filter_map(|run| run.time()).collect();
                let total: u64 = times.iter().map(|time| time.as_ps()).sum();
                let mean = Span::from_ps(total / times.len().max(1) as u64);
                let ranks = job.layout.ranks();
                let figures = |time| Figures::new(run.collective, run.size, ranks, time);
                let ideal = self.ideal(job, run);
                rows.push(CollectiveFigures {
                    name: name.to_owned(),
                    algorithm: format!("{:?}", run.algorithm).to_lowercase(),
                    ranks,
                    bytes: run.size.get(),
                    finished: times.len() == run.repeat as usize,
                    time_us: mean.as_us_f64(),
                    busbw: figures(mean).bus_bandwidth,
                    ideal_us: ideal.as_us_f64(),
                    ideal_busbw: figures(ideal).bus_bandwidth,
                });
            }
        }
        rows
    }

    /// The same program on a network that has nothing but its rates, headers and the delay of its shortest way.
    fn ideal(&self, job: &Job, run: &xoff_workload::Run) -> Span {
        let fabric = self.fabric();
        let Some(qp) = fabric.nics.first().map(|nic| &nic.qp) else { return Span::ZERO };
        let mtu = qp.mtu.get();
        let nearest = Derived::of(self.setup).paths.iter().map(|path| path.base_rtt).min();
        let network = Network {
            latency: Span::from_ps(nearest.unwrap_or_default().as_ps() / 2),
            nic_share: Ratio::new(mtu, mtu + OVERHEAD),
            ..Network::default()
        };
        let Ok(mut program) = job.program(run) else { return Span::ZERO };
        let outcome = ideal::run(&mut program, fabric, &network);
        outcome.map_or(Span::ZERO, |outcome| outcome.end - Instant::ZERO)
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
            out_of_sequence: all.iter().map(|counters| counters.out_of_sequence).sum(),
            timeouts: all.iter().map(|counters| counters.timeouts).sum(),
            watchdog: self.seen.watchdog,
        }
    }

    /// Bytes that a port sent.
    fn sent(&self, port: usize) -> u64 {
        self.report.ports[port].iter().map(|class| class.tx_bytes).sum()
    }

    /// The share of the run that a port sent.
    fn used(&self, port: usize) -> f64 {
        let fabric = self.fabric();
        let rate = fabric.cables[fabric.ports[port].cable.index()].rate;
        let bytes = self.sent(port);
        let seconds = (self.report.end - Instant::ZERO).as_s_f64();
        if seconds == 0.0 { 0.0 } else { bytes as f64 * 8.0 / (rate.bps() as f64 * seconds) }
    }

    fn tiers(&self) -> Vec<TierFigures> {
        let fabric = self.fabric();
        let mut all: BTreeMap<(u8, u8), Vec<usize>> = BTreeMap::new();
        for (index, port) in fabric.ports.iter().enumerate() {
            let to = fabric.ports[port.peer.index()].node;
            all.entry((height(fabric, port.node), height(fabric, to))).or_default().push(index);
        }
        let tier = |((from, to), ports): ((u8, u8), Vec<usize>)| {
            let shares: Vec<f64> = ports.iter().map(|&port| self.used(port)).collect();
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            let busiest = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b]));
            let step = shares.len().div_ceil(SHARES).max(1);
            TierFigures {
                name: format!("{}→{}", NAMES[usize::from(from)], NAMES[usize::from(to)]),
                links: ports.len() as u64,
                bytes: ports.iter().map(|&port| self.sent(port)).sum(),
                used: shares.iter().filter(|share| **share > 0.0).count() as u64,
                mean,
                max: busiest.map_or(0.0, |at| shares[at]),
                gini: gini(&shares),
                busiest: busiest.map_or(String::new(), |at| name(fabric, ports[at])),
                shares: shares.into_iter().step_by(step).collect(),
            }
        };
        all.into_iter().map(tier).collect()
    }

    /// The ports where most happened: drops, then pauses, then queues.
    fn ports(&self) -> Vec<PortFigures> {
        let fabric = self.fabric();
        let mut all: Vec<PortFigures> = (0..fabric.ports.len())
            .map(|port| {
                let classes = &self.report.ports[port];
                let sum = |of: fn(&xoff_sim::ClassResult) -> u64| classes.iter().map(of).sum();
                let deepest = classes.iter().map(|class| class.deepest_queue.get()).max();
                PortFigures {
                    name: name(fabric, port),
                    near: self.is_near(port),
                    xoff_sent: sum(|class| class.xoff_sent),
                    pauses_received: sum(|class| class.pauses_received),
                    paused_us: classes.iter().map(|class| class.paused.as_us_f64()).sum(),
                    marked: sum(|class| class.marked),
                    dropped: sum(|class| class.dropped_packets),
                    deepest_bytes: deepest.unwrap_or_default(),
                    used: self.used(port),
                }
            })
            .collect();
        let weight = |port: &PortFigures| {
            (port.dropped, port.xoff_sent, port.pauses_received, port.marked, port.deepest_bytes)
        };
        all.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.name.cmp(&b.name)));
        all.retain(|port| weight(port) != (0, 0, 0, 0, 0));
        let mut rank = 0;
        all.retain(|port| {
            rank += 1;
            rank <= PORTS || port.near
        });
        all
    }

    /// Whether a port belongs to what the experiment breaks, or leads there.
    fn is_near(&self, port: usize) -> bool {
        let fabric = self.fabric();
        let ends = [fabric.ports[port].node, fabric.ports[fabric.ports[port].peer.index()].node];
        let names = ends.map(|node| node_name(fabric, node));
        let hurt = |name: &String| self.experiment.hurts.contains(name);
        match self.experiment.hurts.as_slice() {
            [] => false,
            // A link: only its own ports.
            [_, _] => names.iter().all(hurt),
            _ => names.iter().any(hurt),
        }
    }

    /// Load between neighbours; of large fabrics only between switches.
    fn loads(&self) -> Vec<PairLoad> {
        let fabric = self.fabric();
        let mut all: BTreeMap<(NodeId, NodeId), f64> = BTreeMap::new();
        for (index, port) in fabric.ports.iter().enumerate() {
            let (here, there) = (port.node, fabric.ports[port.peer.index()].node);
            let (low, high) = if height(fabric, here) <= height(fabric, there) {
                (here, there)
            } else {
                (there, here)
            };
            if height(fabric, low) == 0 && fabric.nics.len() > HOST_LOADS {
                continue;
            }
            let low = match fabric.node_switch(low) {
                // All NICs of a server stand for it.
                None => NodeId(fabric.servers[fabric.nics[low.index()].server.index()].nics.start),
                Some(_) => low,
            };
            let load = all.entry((low, high)).or_default();
            *load = self.used(index).max(*load);
        }
        let name = |node: NodeId| match fabric.node_switch(node) {
            None => fabric.servers[fabric.nics[node.index()].server.index()].name.clone(),
            Some(_) => node_name(fabric, node),
        };
        let pair = |((from, to), load)| PairLoad { from: name(from), to: name(to), load };
        all.into_iter().take(LOADS).map(pair).collect()
    }

    fn series(&self) -> Vec<Series> {
        let fabric = self.fabric();
        let mut queues: Vec<(u32, watch::Queue)> = self
            .seen
            .depths
            .iter()
            .map(|(queue, points)| (points.iter().map(|point| point.1).max().unwrap_or(0), *queue))
            .collect();
        queues.sort_by_key(|&(deepest, queue)| (std::cmp::Reverse(deepest), queue));
        queues.truncate(SERIES);
        let series = |&(_, queue): &(u32, watch::Queue)| {
            let points = &self.seen.depths[&queue];
            let ecn = fabric.ports[queue.0.index()].classes[usize::from(queue.1)].ecn;
            // Of a long series every window keeps its deepest point.
            let window = points.len().div_ceil(POINTS).max(1);
            let deepest = |points: &[(Instant, u32)]| points.iter().max_by_key(|p| p.1).copied();
            let kept = points.chunks(window).filter_map(deepest);
            Series {
                port: fabric.port_name(queue.0),
                class: queue.1,
                kmin: ecn.map(|ecn| ecn.kmin.get()),
                kmax: ecn.map(|ecn| ecn.kmax.get()),
                points: kept.map(|(at, depth)| (us(at), u64::from(depth))).collect(),
            }
        };
        queues.iter().map(series).collect()
    }

    /// The NICs that sent most, in the order of their names.
    fn rates(&self) -> Vec<RateSeries> {
        let fabric = self.fabric();
        let most = |points: &Vec<(Instant, u64)>| points.last().map_or(0, |point| point.1);
        let mut all: Vec<_> = self.seen.sent.iter().collect();
        all.sort_by_key(|(queue, points)| (std::cmp::Reverse(most(points)), **queue));
        all.truncate(RATES);
        all.sort_by_key(|(queue, _)| **queue);
        let series = |(queue, points): (&watch::Queue, &Vec<(Instant, u64)>)| {
            let step = points.len().div_ceil(POINTS / 4).max(1);
            let kept: Vec<_> = points.iter().step_by(step).collect();
            let rate = |pair: &[&(Instant, u64)]| {
                let seconds = (pair[1].0 - pair[0].0).as_s_f64();
                (us(pair[1].0), (pair[1].1 - pair[0].1) as f64 * 8.0 / seconds)
            };
            let node = fabric.ports[queue.0.index()].node;
            RateSeries { nic: node_name(fabric, node), points: kept.windows(2).map(rate).collect() }
        };
        all.into_iter().map(series).collect()
    }

    fn pauses(&self) -> Vec<PauseSpan> {
        let span = |&((port, class), from, to): &(watch::Queue, Instant, Instant)| PauseSpan {
            port: self.fabric().port_name(port),
            class,
            from_us: us(from),
            to_us: us(to),
        };
        let mut all: Vec<PauseSpan> = self.seen.pauses.iter().map(span).collect();
        all.sort_by(|a, b| a.from_us.total_cmp(&b.from_us).then_with(|| a.port.cmp(&b.port)));
        all
    }
}

/// Bytes on the wire around the payload of a full RoCEv2 packet: Ethernet with preamble and gap, IPv4,
/// UDP, BTH and ICRC.
const OVERHEAD: u64 = 38 + 20 + 8 + 12 + 4;

const NAMES: [&str; 4] = ["nic", "leaf", "spine", "core"];

fn height(fabric: &Fabric, node: NodeId) -> u8 {
    match fabric.node_switch(node) {
        None => 0,
        Some(switch) => fabric.switches[switch.index()].tier as u8 + 1,
    }
}

fn name(fabric: &Fabric, port: usize) -> String {
    fabric.port_name(PortId(port as u32))
}

fn node_name(fabric: &Fabric, node: NodeId) -> String {
    match fabric.node_switch(node) {
        None => fabric.nics[node.index()].name.clone(),
        Some(switch) => fabric.switches[switch.index()].name.clone(),
    }
}

fn group(name: &str, flows: &[&FlowResult]) -> GroupFigures {
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
        failed: flows.iter().filter(|flow| flow.failed).count() as u64,
        bytes_per_flow: all.get() as f64 / flows.len().max(1) as f64,
        goodput_bps,
        share_of_ideal: inverse / flows.len().max(1) as f64,
        completion: Distribution::of(done().map(|(_, time)| time.as_us_f64()).collect()),
        slowdown: Distribution::of(slowdowns),
    }
}

/// The Gini coefficient of loads: half the mean difference between two, over the mean.
fn gini(loads: &[f64]) -> f64 {
    let mut sorted = loads.to_vec();
    sorted.sort_by(f64::total_cmp);
    let total: f64 = sorted.iter().sum();
    if total <= 0.0 {
        return 0.0;
    }
    let count = sorted.len() as f64;
    let weighted: f64 = sorted.iter().zip(1..).map(|(load, rank)| load * f64::from(rank)).sum();
    (2.0 * weighted / (count * total) - (count + 1.0) / count).max(0.0)
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

fn us(at: Instant) -> f64 {
    (at - Instant::ZERO).as_us_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gini_is_zero_for_equal_loads_and_near_one_for_one_load() {
        assert!(gini(&[3.0; 10]).abs() < 1e-12);
        assert!((gini(&[0.0, 0.0, 0.0, 8.0]) - 0.75).abs() < 1e-12);
        assert_eq!(gini(&[]), 0.0);
        assert_eq!(gini(&[0.0, 0.0]), 0.0);
    }
}
