//! [`Estimator`]: what an experiment takes to simulate, known before it runs.
//!
//! The measure is packets sent over links (packet-hops), because simulating one takes about as long wherever it happens.
//! Traffic that is listed or that a collective announces is counted way by way; what a load sends within its time is
//! bounded by the rates of its NICs. Retransmissions and pauses are not foreseen: an estimate serves to order
//! experiments, to foretell when they are done and to fit them into a budget, never to judge.

use super::failures::leaf_of;
use crate::experiment::Experiment;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, NicId, SwitchId};
use xoff_fabric::route::Routes;
use xoff_fabric::scenario::{Fidelity, Permutation, Workload};
use xoff_units::{Bytes, Span};
use xoff_workload::layout::{Layout, RankId};
use xoff_workload::program::{Demand, RequestId};
use xoff_workload::training::Dimension;
use xoff_workload::{Job, TrainingRun, expand, programs};

/// What an experiment takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Packets sent over links, each over each link.
    pub hops: u64,
    /// Bytes of memory while it runs.
    pub memory: u64,
}

/// Bytes that go from one NIC to another.
#[derive(Debug, Clone, Copy)]
struct Load {
    from: NicId,
    to: NicId,
    bytes: u64,
    /// Bytes of one message: each has a last packet that may be short, and an acknowledgement.
    message: u64,
}

/// Bytes for each NIC with its part of the switches and of what is under way, and for each end of a queue pair: measured
/// at 8,192 GPUs.
const OF_A_NIC: u64 = 50_000;
const OF_AN_END: u64 = 1_100;
/// The same of a queue pair that carries a job's messages, with those that are under way: measured with the AllToAll of
/// 1,024 GPUs.
const OF_A_JOBS_END: u64 = 3_600;
/// Ends of queue pairs that a rank has in a training step or a service.
const OF_A_STEP: u64 = 16;

/// Traffic as flows takes less than this part of the time that its packets take.
const OF_FLOWS: u64 = 50;

/// The draw of random traffic that estimates are made with: another one differs by little.
const SEED: u64 = 1;

/// Estimates what experiments on a fabric take.
#[derive(Debug)]
pub struct Estimator<'a> {
    fabric: &'a Fabric,
    /// Routes to one NIC of each leaf.
    routes: Routes,
    /// That NIC.
    stands_for: BTreeMap<SwitchId, NicId>,
    /// Links between NICs of two leaves, as far as they were asked for.
    links: BTreeMap<(SwitchId, SwitchId), u64>,
}

impl<'a> Estimator<'a> {
    /// For a fabric.
    pub fn new(fabric: &'a Fabric) -> Self {
        let mut stands_for = BTreeMap::new();
        for nic in (0..fabric.nics.len() as u32).map(NicId) {
            if let Some(leaf) = leaf_of(fabric, nic) {
                stands_for.entry(leaf).or_insert(nic);
            }
        }
        let destinations: Vec<NicId> = stands_for.values().copied().collect();
        let routes = Routes::towards(fabric, &destinations);
        Self { fabric, routes, stands_for, links: BTreeMap::new() }
    }

    /// What an experiment takes. One that cannot be run takes nothing: it is refused at once.
    pub fn cost(&mut self, experiment: &Experiment) -> Cost {
        let time = experiment.scenario.duration.unwrap_or(Span::from_ms(1_000_000));
        let mut cost = Cost { hops: 0, memory: self.fabric.nics.len() as u64 * OF_A_NIC };
        for workload in &experiment.scenario.workloads {
            // A tenant's traffic is simulated again alone.
            let times = if workload.common().tenant.is_some() { 2.0 } else { 1.0 };
            let (hops, memory) = self.of(workload, time);
            cost.hops = cost.hops.saturating_add((times * hops).round() as u64);
            cost.memory = cost.memory.saturating_add(memory);
        }
        if experiment.scenario.fidelity == Fidelity::Flow {
            cost.hops /= OF_FLOWS;
        }
        cost
    }

    /// Packet-hops of a workload, and bytes of memory for its queue pairs.
    fn of(&mut self, workload: &Workload, time: Span) -> (f64, u64) {
        match workload {
            Workload::Permutation(load) => {
                // One destination and one queue pair stand for all: what NICs can send bounds them together.
                let all = load.size.get().saturating_mul(load.destinations.into());
                let one = Permutation {
                    size: Bytes::new(all),
                    destinations: 1,
                    queue_pairs: 1,
                    ..load.clone()
                };
                let message = load.size.get() / u64::from(load.queue_pairs.max(1));
                let mut loads = self.flows(&Workload::Permutation(one));
                loads.iter_mut().for_each(|load| load.message = message);
                let pairs = u64::from(load.destinations) * u64::from(load.queue_pairs);
                (self.within(&loads, time), 2 * pairs * loads.len() as u64 * OF_AN_END)
            }
            Workload::NvmeOf(_) | Workload::KvCache(_) => {
                let ends = OF_A_STEP * self.fabric.nics.len() as u64;
                (self.service(workload, time), ends * OF_A_JOBS_END)
            }
            _ => {
                let mut loads = self.flows(workload);
                let jobs = programs(std::slice::from_ref(workload), self.fabric, SEED);
                let jobs = jobs.unwrap_or_default();
                let steps: f64 = jobs.iter().map(|job| self.step(job)).sum();
                let ranks: u64 = jobs.iter().map(|job| u64::from(job.layout.ranks())).sum();
                let listed = 2 * loads.len() as u64;
                let training = jobs.iter().any(|job| job.training.is_some());
                let mut ends = if training { OF_A_STEP * ranks } else { 0 };
                for job in &jobs {
                    let own = collectives(job);
                    ends += ends_of(&own);
                    loads.extend(own);
                }
                let memory = listed * OF_AN_END + ends * OF_A_JOBS_END;
                (steps + self.within(&loads, time), memory)
            }
        }
    }

    /// The flows of a workload that is a list of them.
    fn flows(&self, workload: &Workload) -> Vec<Load> {
        let mut no_files = |_: &str| Err(std::io::Error::other("experiments have no files"));
        let flows = expand(std::slice::from_ref(workload), self.fabric, SEED, &mut no_files);
        let load = |flow: xoff_workload::Flow| {
            let bytes = flow.bytes.get();
            Load { from: flow.source, to: flow.destination, bytes, message: bytes }
        };
        flows.unwrap_or_default().into_iter().map(load).collect()
    }

    /// Packets over links of what NICs can send and receive of loads in a time.
    fn within(&mut self, loads: &[Load], time: Span) -> f64 {
        let (mut sent, mut got) = (BTreeMap::new(), BTreeMap::new());
        for load in loads {
            *sent.entry(load.from).or_insert(0.0) += load.bytes as f64;
            *got.entry(load.to).or_insert(0.0) += load.bytes as f64;
        }
        let mut hops = 0.0;
        for load in loads {
            let room = |nic: NicId, asked: f64| self.room(nic, time) / asked.max(1.0);
            let share = room(load.from, sent[&load.from]).min(room(load.to, got[&load.to]));
            hops += share.min(1.0) * self.packets(load) * self.links(load.from, load.to) as f64;
        }
        hops
    }

    /// Bytes that a NIC can send in a time.
    fn room(&self, nic: NicId, time: Span) -> f64 {
        let rate = self.fabric.nic_rate(&self.fabric.nics[nic.index()]);
        rate.bps() as f64 / 8.0 * time.as_s_f64()
    }

    /// Packets of a load, acknowledgements included.
    fn packets(&self, load: &Load) -> f64 {
        let qp = &self.fabric.nics[load.from.index()].qp;
        let message = load.message.clamp(1, load.bytes.max(1));
        let messages = load.bytes as f64 / message as f64;
        let data = message.div_ceil(qp.mtu.get().max(1));
        messages * (data + data.div_ceil(u64::from(qp.ack_every.max(1)))) as f64
    }

    /// Links from one NIC to another.
    fn links(&mut self, from: NicId, to: NicId) -> u64 {
        let (Some(here), Some(there)) = (leaf_of(self.fabric, from), leaf_of(self.fabric, to))
        else {
            return 1;
        };
        if here == there {
            return 2;
        }
        let (fabric, routes, stands_for) = (self.fabric, &self.routes, &self.stands_for);
        *self.links.entry((here, there)).or_insert_with(|| {
            let path = routes.shortest_path(fabric, stands_for[&here], stands_for[&there]);
            path.map_or(0, |path| path.len() as u64)
        })
    }

    /// What a training step sends between servers. Tensor parallelism stays inside them.
    fn step(&mut self, job: &Job) -> f64 {
        let Some(TrainingRun { step, repeat }) = &job.training else { return 0.0 };
        let outside = [Dimension::Context, Dimension::Pipeline, Dimension::Expert, Dimension::Data];
        let Ok(volumes) = step.volumes(0) else { return 0.0 };
        let bytes: u64 = outside.iter().map(|&dimension| volumes.along(dimension).get()).sum();
        let inside = step.parallelism().tensor.max(1);
        let links = self.mean_links(&job.layout, inside);
        let all = bytes as f64 * f64::from(step.gpus()) * f64::from(*repeat);
        self.mean_packets(all) * links
    }

    /// Links from a rank to others so many or a multiple of that further on, on average.
    fn mean_links(&mut self, layout: &Layout, step: u32) -> f64 {
        let ranks = layout.ranks();
        let pairs = (0..SAMPLED.min(ranks)).map(|sample| {
            let from =
                (u64::from(sample) * u64::from(ranks) / u64::from(SAMPLED.min(ranks))) as u32;
            (from, (from + step * (1 + sample % 7)) % ranks)
        });
        let pairs: Vec<(NicId, NicId)> = pairs
            .map(|(from, to)| (layout.seat(RankId(from)).nic, layout.seat(RankId(to)).nic))
            .filter(|(from, to)| from != to)
            .collect();
        let sum: u64 = pairs.iter().map(|&(from, to)| self.links(from, to)).sum();
        sum as f64 / pairs.len().max(1) as f64
    }

    /// Packets of bytes in large messages.
    fn mean_packets(&self, bytes: f64) -> f64 {
        let qp = self.fabric.nics.first().map(|nic| &nic.qp);
        let (mtu, acks) = qp.map_or((4_096, 16), |qp| (qp.mtu.get(), qp.ack_every));
        bytes / mtu.max(1) as f64 * (1.0 + 1.0 / f64::from(acks.max(1)))
    }

    /// What disks and caches move.
    fn service(&mut self, workload: &Workload, time: Span) -> f64 {
        let Ok(jobs) = programs(std::slice::from_ref(workload), self.fabric, SEED) else {
            return 0.0;
        };
        let last = self.fabric.nics.len().saturating_sub(1) as u32;
        let links = self.links(NicId(0), NicId(last)) as f64;
        let Some(service) = jobs.first().and_then(|job| job.service.as_ref()) else { return 0.0 };
        let bytes = match workload {
            Workload::KvCache(entry) => {
                let size = |request| service.size(RequestId(request)).get() as f64;
                (0..entry.requests).map(size).sum()
            }
            // As much as the NICs of the disks send in the time, or all operations.
            Workload::NvmeOf(entry) => {
                let time = entry.duration.unwrap_or(time).min(time);
                let nics = self.fabric.nics.len() as f64;
                let most = self.room(NicId(last), time) * nics / 2.0;
                let operations = entry.operations.map_or(f64::INFINITY, f64::from);
                most.min(operations * nics * entry.block.get() as f64)
            }
            _ => 0.0,
        };
        self.mean_packets(bytes) * links
    }
}

/// Pairs of ranks that stand for all.
const SAMPLED: u32 = 64;

/// Ends of the queue pairs that loads go by: both directions share one.
fn ends_of(loads: &[Load]) -> u64 {
    let both = |load: &Load| (load.from.min(load.to), load.from.max(load.to));
    let mut ways: Vec<(NicId, NicId)> = loads.iter().map(both).collect();
    ways.sort_unstable();
    let lone = ways.chunk_by(|a, b| a == b).map(|same| same.len().div_ceil(2) as u64);
    2 * lone.sum::<u64>()
}

/// What the collectives of a job send from NIC to NIC.
fn collectives(job: &Job) -> Vec<Load> {
    let mut loads = Vec::new();
    for run in &job.runs {
        let Ok(program) = job.program(run) else { continue };
        let load = |demand: Demand| {
            let bytes = demand.bytes.get().saturating_mul(run.repeat.into());
            Load { from: demand.from, to: demand.to, bytes, message: bytes }
        };
        loads.extend(program.demands().into_iter().map(load));
    }
    loads
}
