//! [`Scene`]: counters on the ports of a fabric.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use xoff_fabric::model::{ClassId, Fabric, NodeId, PortId, ServerId, Tier};
use xoff_telemetry::Metric;
use xoff_telemetry::metric::Kind;
use xoff_telemetry::recording::{Place, Recording};

/// What counters did, on the ports of a fabric as it was meant to be built.
#[derive(Debug)]
pub struct Scene<'a> {
    /// The fabric.
    pub fabric: &'a Fabric,
    now: Window,
    usual: Option<Window>,
    /// Whether all devices were read at the same instants.
    at_once: bool,
    /// By job: the bus bandwidth that its collectives have on the fabric at rest, in bytes per second.
    at_rest: BTreeMap<String, f64>,
}

/// Series of places that the fabric does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unknown {
    /// How many series.
    pub series: usize,
    /// One of the places.
    pub example: String,
}

impl Unknown {
    fn add(&mut self, place: impl FnOnce() -> String) {
        self.series += 1;
        if self.example.is_empty() {
            self.example = place();
        }
    }
}

/// A GPU of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gpu {
    /// The server.
    pub server: ServerId,
    /// Its number there.
    pub number: u32,
}

/// The series of a port: by metric and priority, values by step.
type PortSeries = BTreeMap<(Metric, Option<u8>), Vec<f32>>;

/// What counters did in some steps of a recording, by port.
#[derive(Debug, Default)]
struct Window {
    /// How long a step is, in seconds.
    step: f64,
    steps: usize,
    ports: Vec<PortSeries>,
    /// By job: what it reports of itself.
    jobs: BTreeMap<String, BTreeMap<Metric, Vec<f32>>>,
    gpus: BTreeMap<Gpu, BTreeMap<Metric, Vec<f32>>>,
    /// Ends of cables that the plan does not have.
    strays: BTreeSet<[NodeId; 2]>,
    unknown: Unknown,
}

impl<'a> Scene<'a> {
    /// What these steps of a recording say.
    pub fn new(fabric: &'a Fabric, recording: &Recording, steps: Range<usize>) -> Self {
        let now = Window::new(fabric, recording, steps);
        Self { fabric, now, usual: None, at_once: false, at_rest: BTreeMap::new() }
    }

    /// All counters were read at the same instants, as only a simulation can.
    pub fn read_at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Whether all counters were read at the same instants.
    pub fn is_read_at_once(&self) -> bool {
        self.at_once
    }

    /// With steps in which nothing was wrong, of the same recording or another one.
    pub fn with_usual(mut self, recording: &Recording, steps: Range<usize>) -> Self {
        let usual = Window::new(self.fabric, recording, steps);
        self.usual = (usual.steps > 0).then_some(usual);
        self
    }

    /// With the bus bandwidth that collectives of jobs have on the fabric at rest, in bytes per second.
    pub fn with_at_rest(mut self, jobs: impl IntoIterator<Item = (String, f64)>) -> Self {
        self.at_rest.extend(jobs);
        self
    }

    /// Series of places that the fabric does not have.
    pub fn unknown(&self) -> &Unknown {
        &self.now.unknown
    }

    /// Whether it is known what is usual.
    pub fn has_usual(&self) -> bool {
        self.usual.is_some()
    }

    /// How long the window is, in seconds.
    pub fn seconds(&self) -> f64 {
        self.now.seconds()
    }

    /// All ports.
    pub fn ports(&self) -> impl Iterator<Item = PortId> + use<> {
        (0..self.fabric.ports.len() as u32).map(PortId)
    }

    /// The port at the other end.
    pub fn peer(&self, port: PortId) -> PortId {
        self.fabric.ports[port.index()].peer
    }

    /// The device of a port.
    pub fn node(&self, port: PortId) -> NodeId {
        self.fabric.ports[port.index()].node
    }

    /// Whether a port is a NIC's.
    pub fn is_nic(&self, port: PortId) -> bool {
        self.fabric.node_switch(self.node(port)).is_none()
    }

    /// Whether a switch's port leads to a NIC.
    pub fn leads_to_nic(&self, port: PortId) -> bool {
        self.is_nic(self.peer(port))
    }

    /// The device of a port, by name.
    pub fn device(&self, port: PortId) -> &'a str {
        self.fabric.node_name(self.node(port))
    }

    /// The tier of a switch's port; `None` for a NIC's.
    pub fn tier(&self, port: PortId) -> Option<Tier> {
        let switch = self.fabric.node_switch(self.node(port))?;
        Some(self.fabric.switches[switch.index()].tier)
    }

    /// A cable, by the port of its two whose number is lower.
    pub fn cable(&self, port: PortId) -> PortId {
        port.min(self.peer(port))
    }

    /// How a cable is called.
    pub fn cable_name(&self, port: PortId) -> String {
        let (here, there) = (self.fabric.port_name(port), self.fabric.port_name(self.peer(port)));
        here.min(there)
    }

    /// Whether a device has any counters.
    pub fn is_watched(&self, node: NodeId) -> bool {
        self.fabric.node_ports(node).any(|port| self.is_heard(port))
    }

    /// Whether a port has any counters.
    pub fn is_heard(&self, port: PortId) -> bool {
        !self.now.ports[port.index()].is_empty()
    }

    /// The devices at the ends of cables that are there and not in the plan.
    pub fn strays(&self) -> impl Iterator<Item = [NodeId; 2]> {
        self.now.strays.iter().copied()
    }

    /// A series of a port, its priorities together, step by step.
    pub fn series(&self, port: PortId, metric: Metric) -> Option<Vec<f32>> {
        self.now.series(port, metric)
    }

    /// A series of one priority, step by step.
    pub fn series_of(&self, port: PortId, metric: Metric, class: ClassId) -> Option<&[f32]> {
        self.now.ports[port.index()].get(&(metric, Some(class.0))).map(Vec::as_slice)
    }

    /// What adds up over the window, of one priority.
    pub fn sum_of(&self, port: PortId, metric: Metric, class: ClassId) -> Option<f64> {
        Some(sum(metric, self.series_of(port, metric, class)?))
    }

    /// The same of a time as long in which nothing was wrong.
    pub fn usual_sum_of(&self, port: PortId, metric: Metric, class: ClassId) -> Option<f64> {
        let usual = self.usual.as_ref()?;
        let series = usual.ports[port.index()].get(&(metric, Some(class.0)))?;
        Some(sum(metric, series) * self.seconds() / usual.seconds().max(f64::MIN_POSITIVE))
    }

    /// What adds up over the window.
    pub fn sum(&self, port: PortId, metric: Metric) -> Option<f64> {
        Some(sum(metric, &self.now.series(port, metric)?))
    }

    /// The same of a time as long in which nothing was wrong.
    pub fn usual_sum(&self, port: PortId, metric: Metric) -> Option<f64> {
        let usual = self.usual.as_ref()?;
        let scale = self.seconds() / usual.seconds().max(f64::MIN_POSITIVE);
        Some(sum(metric, &usual.series(port, metric)?) * scale)
    }

    /// The greatest value of a step.
    pub fn peak(&self, port: PortId, metric: Metric) -> Option<f64> {
        peak(&self.now.series(port, metric)?)
    }

    /// The same of a time in which nothing was wrong.
    pub fn usual_peak(&self, port: PortId, metric: Metric) -> Option<f64> {
        peak(&self.usual.as_ref()?.series(port, metric)?)
    }

    /// The last value that is known.
    pub fn last(&self, port: PortId, metric: Metric) -> Option<f64> {
        let series = self.now.series(port, metric)?;
        series.into_iter().rev().find(|value| !value.is_nan()).map(f64::from)
    }

    /// The share of time, in the worst step, for which a port was paused: by its own count, or by that of the
    /// peer that paused it.
    pub fn paused(&self, port: PortId) -> Option<f64> {
        let own = self.peak(port, Metric::PausedTime);
        let told = self.peak(self.peer(port), Metric::PausingTime);
        Some((own.or(told)? / self.now.step).min(1.0))
    }

    /// The same where nothing was wrong.
    pub fn usually_paused(&self, port: PortId) -> Option<f64> {
        let usual = self.usual.as_ref()?;
        let own = usual.series(port, Metric::PausedTime).and_then(|series| peak(&series));
        Some((own? / usual.step).min(1.0))
    }

    /// The share of its rate that a port sent, by step.
    pub fn utilisation(&self, port: PortId) -> Option<Vec<f32>> {
        let rate = self.fabric.cable(port).rate.bps() as f64 / 8.0 * self.now.step;
        let bytes = self.now.series(port, Metric::TxBytes)?;
        Some(bytes.into_iter().map(|bytes| (f64::from(bytes) / rate) as f32).collect())
    }

    /// Packets that arrived at a port, by its own count or by that of the peer that sent them.
    pub fn received(&self, port: PortId) -> Option<f64> {
        let own = self.sum(port, Metric::RxPackets);
        own.or_else(|| self.sum(self.peer(port), Metric::TxPackets))
    }

    /// How many times as long as usual the steps or collectives of each job take, where both are known; and which of them.
    pub fn slowdowns(&self) -> Vec<(&str, Metric, f64)> {
        let Some(usual) = &self.usual else { return Vec::new() };
        let ratio = |job: &str, metric: Metric| {
            let mean = |window: &Window| mean(window.jobs.get(job)?.get(&metric)?);
            Some((metric, mean(&self.now)? / mean(usual)?.max(f64::MIN_POSITIVE)))
        };
        let slowdown =
            |job: &str| ratio(job, Metric::StepTime).or_else(|| ratio(job, Metric::CollectiveTime));
        let jobs = self.now.jobs.keys().filter_map(|job| Some((job, slowdown(job)?)));
        jobs.map(|(job, (metric, ratio))| (job.as_str(), metric, ratio)).collect()
    }

    /// The bus bandwidth of each job's collectives, in bytes per second, where it is known what it is on the fabric at rest;
    /// and that.
    pub fn bandwidths(&self) -> Vec<(&str, f64, f64)> {
        let mean = |job: &str| mean(self.now.jobs.get(job)?.get(&Metric::BusBandwidth)?);
        let all = self.at_rest.iter();
        all.filter_map(|(job, at_rest)| Some((job.as_str(), mean(job)?, *at_rest))).collect()
    }

    /// All GPUs that say anything.
    pub fn gpus(&self) -> impl Iterator<Item = Gpu> {
        self.now.gpus.keys().copied()
    }

    /// The mean of a GPU's gauge, and what it usually is.
    pub fn mean_of_gpu(&self, gpu: Gpu, metric: Metric) -> Option<(f64, f64)> {
        let mean = |window: &Window| mean(window.gpus.get(&gpu)?.get(&metric)?);
        Some((mean(&self.now)?, mean(self.usual.as_ref()?)?))
    }

    /// How much a GPU's counter has grown, and how much it usually grows in a time as long.
    pub fn sum_of_gpu(&self, gpu: Gpu, metric: Metric) -> Option<(f64, Option<f64>)> {
        let sum = |window: &Window| {
            let series = window.gpus.get(&gpu)?.get(&metric)?;
            Some(sum(metric, series) * self.seconds() / window.seconds().max(f64::MIN_POSITIVE))
        };
        Some((sum(&self.now)?, self.usual.as_ref().and_then(sum)))
    }

    /// A metric of all ports together, and how much of it is usual.
    pub fn total(&self, metric: Metric) -> (f64, f64) {
        let now = self.ports().filter_map(|port| self.sum(port, metric)).sum();
        (now, self.ports().filter_map(|port| self.usual_sum(port, metric)).sum())
    }

    /// How long a step is, in seconds.
    pub fn step(&self) -> f64 {
        self.now.step
    }
}

impl Window {
    fn new(fabric: &Fabric, recording: &Recording, steps: Range<usize>) -> Self {
        let steps = steps.start..steps.end.min(recording.steps().count);
        let names = Names::of(fabric);
        let mut window = Self {
            step: recording.steps().seconds().max(f64::MIN_POSITIVE),
            steps: steps.len(),
            ports: vec![BTreeMap::new(); fabric.ports.len()],
            jobs: BTreeMap::new(),
            gpus: BTreeMap::new(),
            strays: BTreeSet::new(),
            unknown: Unknown::default(),
        };
        let mut ranks: BTreeMap<(String, Metric), Vec<Vec<f32>>> = BTreeMap::new();
        // A place has dozens of series, and is looked up once.
        let found = |place: &Place| match place {
            Place::Port { device, port } => names.find(device, port),
            Place::Rank { .. } | Place::Job { .. } | Place::Gpu { .. } => None,
        };
        let ports: Vec<Option<PortId>> = recording.places().all().iter().map(found).collect();
        for (key, values) in recording.series() {
            let (device, port) = match recording.places().get(key.place) {
                Place::Port { device, port } => (device, port),
                Place::Job { job } => {
                    let values = values[steps.clone()].to_vec();
                    window.jobs.entry(job.clone()).or_default().insert(key.metric, values);
                    continue;
                }
                Place::Rank { job, .. } => {
                    let ranks = ranks.entry((job.clone(), key.metric)).or_default();
                    ranks.push(values[steps.clone()].to_vec());
                    continue;
                }
                Place::Gpu { host, gpu } => {
                    let Some(server) = names.servers.get(host).copied() else {
                        window.unknown.add(|| format!("GPU {gpu} of {host}"));
                        continue;
                    };
                    let values = values[steps.clone()].to_vec();
                    let gpu = window.gpus.entry(Gpu { server, number: *gpu }).or_default();
                    gpu.insert(key.metric, values);
                    continue;
                }
            };
            match ports[key.place.0 as usize] {
                Some(found) => {
                    let values = values[steps.clone()].to_vec();
                    window.ports[found.index()].insert((key.metric, key.priority), values);
                }
                None => {
                    window.strays.extend(names.stray(device, port));
                    window.unknown.add(|| format!("{device} {port}"));
                }
            }
        }
        // A job that does not report itself is what its ranks report on average.
        for ((job, metric), ranks) in ranks {
            let job = window.jobs.entry(job).or_default();
            job.entry(metric).or_insert_with(|| mean_of(&ranks));
        }
        window
    }

    fn seconds(&self) -> f64 {
        self.step * self.steps as f64
    }

    /// Of what adds up, the sum over priorities; of all else, the greatest. Where a source has both, priorities count
    /// and their sum does not.
    fn series(&self, port: PortId, metric: Metric) -> Option<Vec<f32>> {
        let map = &self.ports[port.index()];
        let mut all = map.range((metric, None)..=(metric, Some(u8::MAX)));
        let (first, values) = all.next()?;
        let mut rest = all.peekable();
        let (mut merged, rest) = match (first.1, rest.peek()) {
            (None, Some(_)) => (vec![f32::NAN; self.steps], rest),
            _ => (values.clone(), rest),
        };
        let adds_up = metric.facts().kind.is_cumulative();
        for (_, values) in rest {
            for (cell, value) in merged.iter_mut().zip(values) {
                *cell = match (cell.is_nan(), value.is_nan()) {
                    (true, _) => *value,
                    (false, true) => *cell,
                    _ if adds_up => *cell + value,
                    _ => cell.max(*value),
                };
            }
        }
        Some(merged)
    }
}

/// The sum of what is known; missing steps count as the mean of the others, but events that nobody saw are none.
fn sum(metric: Metric, series: &[f32]) -> f64 {
    let known: Vec<f64> = series.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).collect();
    let total: f64 = known.iter().sum();
    if metric.facts().kind == Kind::Events {
        return total;
    }
    if known.is_empty() { 0.0 } else { total * series.len() as f64 / known.len() as f64 }
}

/// The mean of several series, step by step, of those that are known.
fn mean_of(all: &[Vec<f32>]) -> Vec<f32> {
    let steps = all.first().map_or(0, Vec::len);
    let of = |step: usize| {
        let known: Vec<f32> =
            all.iter().map(|series| series[step]).filter(|v| !v.is_nan()).collect();
        if known.is_empty() { f32::NAN } else { known.iter().sum::<f32>() / known.len() as f32 }
    };
    (0..steps).map(of).collect()
}

/// The mean of what is known.
fn mean(series: &[f32]) -> Option<f64> {
    let known: Vec<f64> = series.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

fn peak(series: &[f32]) -> Option<f64> {
    let known = series.iter().filter(|value| !value.is_nan()).map(|value| f64::from(*value));
    known.reduce(f64::max)
}

/// Ports by the names that sources have for them.
struct Names {
    /// By device and port.
    ports: BTreeMap<(String, String), PortId>,
    nodes: BTreeMap<String, NodeId>,
    servers: BTreeMap<String, ServerId>,
}

impl Names {
    /// A port is called as xoff calls it, or by the device that it leads to; the port of a NIC needs no name.
    fn of(fabric: &Fabric) -> Self {
        let mut ports = BTreeMap::new();
        for port in (0..fabric.ports.len() as u32).map(PortId) {
            let here = &fabric.ports[port.index()];
            let device = fabric.node_name(here.node).to_owned();
            let peer = fabric.node_name(fabric.ports[here.peer.index()].node).to_owned();
            if fabric.node_switch(here.node).is_none() {
                ports.entry((device.clone(), String::new())).or_insert(port);
            }
            ports.entry((device.clone(), peer)).or_insert(port);
            ports.insert((device, fabric.port_name(port)), port);
        }
        let count = (fabric.nics.len() + fabric.switches.len()) as u32;
        let nodes = (0..count).map(NodeId).map(|node| (fabric.node_name(node).to_owned(), node));
        let servers = fabric.servers.iter().zip(0..);
        let servers = servers.map(|(server, number)| (server.name.clone(), ServerId(number)));
        Self { ports, nodes: nodes.collect(), servers: servers.collect() }
    }

    /// The two ends of a cable that is not planned, of a port that is called by the device it leads to.
    fn stray(&self, device: &str, port: &str) -> Option<[NodeId; 2]> {
        let own = port.strip_prefix(device).and_then(|rest| rest.strip_prefix('→'));
        let peer = own.unwrap_or(port);
        let peer = peer.split_once('#').map_or(peer, |(peer, _)| peer);
        let (here, there) = (*self.nodes.get(device)?, *self.nodes.get(peer)?);
        Some(if here < there { [here, there] } else { [there, here] })
    }

    fn find(&self, device: &str, port: &str) -> Option<PortId> {
        self.ports.get(&(device.to_owned(), port.to_owned())).copied()
    }
}

/// Whether a metric is read at this kind of port at all.
pub(super) fn is_expected(metric: Metric, nic: bool) -> bool {
    use xoff_telemetry::metric::Scope;
    let facts = metric.facts();
    match facts.scope {
        Scope::Nic => nic,
        Scope::Rank | Scope::Job | Scope::Gpu => false,
        Scope::Port | Scope::Priority => nic || facts.kind != Kind::Gauge || metric == Metric::Up,
    }
}
