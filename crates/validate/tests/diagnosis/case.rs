//! [`Case`]: a fabric, its traffic, and what breaks in the middle of it.

use super::broken::{Broken, broken};
use super::fault::Fault;
use super::traffic::{fabric, traffic};
use std::collections::BTreeMap;
use std::fmt;
use xoff_diagnose::fabric::{Diagnosis, Finding, Scene, diagnose};
use xoff_fabric::model::{Fabric, NodeId};
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{ScenarioSetup, load_scenario};
use xoff_results::watch::Timescale;
use xoff_results::{Case as Run, Watcher};
use xoff_sim::Settings;
use xoff_telemetry::Metric;
use xoff_telemetry::recording::{Place, Reading, Readings, Recording, Steps, Timestamp};
use xoff_units::{Instant, Span};
use xoff_workload::stream::Stream;

/// A run takes this long, and its counters are read this often.
const LENGTH: Span = Span::from_us(2_000);
const PERIOD: Span = Span::from_us(100);
/// Steps before something breaks, and in all.
const USUAL: usize = 10;
const STEPS: usize = 20;
/// When readings begin.
const START: Timestamp = Timestamp::from_ms(1_700_000_000_000);
/// What the readings of a period are stretched to.
const INTERVAL: Span = Span::from_ms(15_000);

/// Which counters there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    All,
    HostsOnly,
    SwitchesOnly,
    SomeMissing,
    /// A scrape every 30 seconds.
    Coarse,
    /// Devices whose clocks differ by seconds.
    Skewed,
}

impl Data {
    pub(crate) const ALL: [Data; 6] = [
        Data::All,
        Data::HostsOnly,
        Data::SwitchesOnly,
        Data::SomeMissing,
        Data::Coarse,
        Data::Skewed,
    ];

    pub(crate) fn words(self) -> &'static str {
        match self {
            Data::All => "all counters",
            Data::HostsOnly => "hosts only",
            Data::SwitchesOnly => "switches only",
            Data::SomeMissing => "10 % of series missing",
            Data::Coarse => "a scrape every 30 s",
            Data::Skewed => "clocks up to 3 s apart",
        }
    }
}

/// A fabric, its traffic and what breaks.
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) fault: Fault,
    broken: Broken,
    fabric: String,
    scenario: String,
    planned: ScenarioSetup,
}

/// Draws.
pub(crate) struct Draw(Stream);

impl Draw {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

impl Case {
    /// The case of a seed. Some faults show only where something has to pause: other draws are taken until one does.
    pub(crate) fn new(seed: u64) -> Self {
        const DRAWS: u64 = 24;
        let cases = (0..DRAWS).map(|attempt| Self::draw(seed, attempt));
        let mut cases = cases.filter(Self::shows);
        cases.next().expect("a case that shows")
    }

    fn draw(seed: u64, attempt: u64) -> Self {
        let mut draw = Draw(Stream::new(seed, attempt, "campaign"));
        let fault = Fault::of(seed);
        let fabric = fabric(&mut draw, fault);
        let traffic = traffic(&mut draw, fault);
        let head = format!("fabric = 'f'\nseed = {}\nduration = '2ms'\n", draw.below(1_000));
        let planned = load(&format!("{head}{traffic}"), &fabric);
        let broken = broken(&mut draw, fault, &planned.setup.fabric);
        let scenario = format!("{head}{traffic}{}", broken.text);
        Self { seed, fault, broken, fabric, scenario, planned }
    }

    /// Whether it does any harm: PFC and headroom matter where a packet is lost without them, storage where it takes a tenth
    /// from what a NIC gets otherwise.
    fn shows(&self) -> bool {
        match self.fault {
            Fault::PfcOff | Fault::ShortHeadroom => {
                let dropped = |reading: &&Reading| reading.key.metric == Metric::BufferDrops;
                self.readings().list.iter().filter(dropped).any(|reading| reading.value > 0.0)
            }
            Fault::StorageBurst => {
                let ScenarioSetup { scenario, setup } = &self.planned;
                let fabric = &setup.fabric;
                let without = taken(fabric, &run(scenario, fabric));
                let with = taken(fabric, &self.readings());
                without.iter().any(|(nic, bytes)| with.get(nic).unwrap_or(&0.0) < &(0.9 * bytes))
            }
            _ => true,
        }
    }

    pub(crate) fn is_hit(&self, finding: &Finding) -> bool {
        let Broken { places, nodes, .. } = &self.broken;
        let among = |list: &[NodeId]| !list.is_empty() && list.iter().all(|n| nodes.contains(n));
        self.fault.causes().contains(&finding.cause)
            && (places.contains(&finding.place) || among(&finding.nodes))
    }

    pub(crate) fn diagnose(&self, readings: &Readings, data: Data) -> Diagnosis {
        let fabric = &self.planned.setup.fabric;
        let recording = seen(readings.clone(), data, fabric, self.seed);
        let merged = if data == Data::Coarse { 2 } else { 1 };
        let (usual, all) = (USUAL / merged, STEPS / merged);
        diagnose(&Scene::new(fabric, &recording, usual..all).with_usual(&recording, 0..usual))
    }

    /// Runs it and reads its counters.
    pub(crate) fn readings(&self) -> Readings {
        let ScenarioSetup { scenario, setup } = load(&self.scenario, &self.fabric);
        let fabric = match self.broken.edit {
            None => setup.fabric,
            Some(edit) => edit.apply(setup.fabric),
        };
        run(&scenario, &fabric)
    }
}

/// What every NIC got of the data's class after the usual time, in bytes.
fn taken(fabric: &Fabric, readings: &Readings) -> BTreeMap<String, f64> {
    let begin = START.0 + (INTERVAL.as_ps() / 1_000) as i64 * USUAL as i64;
    let mut bytes: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for reading in &readings.list {
        let Place::Port { port, .. } = readings.places.get(reading.key.place) else { continue };
        let to_nic = fabric.nics.iter().any(|nic| port.ends_with(&format!("→{}", nic.name)));
        let data = reading.key.priority == Some(fabric.data_class.0);
        if to_nic && data && reading.key.metric == Metric::TxBytes {
            let (before, all) = bytes.entry(port.clone()).or_default();
            *all = all.max(reading.value);
            if reading.at.0 <= begin {
                *before = before.max(reading.value);
            }
        }
    }
    bytes.into_iter().map(|(port, (before, all))| (port, all - before)).collect()
}

/// The counters of a run.
fn run(scenario: &Scenario, fabric: &Fabric) -> Readings {
    let seed = scenario.seed;
    let mut open = |_: &str| Err(std::io::Error::other("no files"));
    let flows = xoff_workload::expand(&scenario.workloads, fabric, seed, &mut open);
    let flows = flows.expect("flows");
    let jobs = xoff_workload::programs(&scenario.workloads, fabric, seed).expect("jobs");
    let run = Run {
        fabric,
        workloads: &scenario.workloads,
        flows: &flows,
        jobs: &jobs,
        faults: &scenario.faults,
    };
    let settings = Settings {
        seed,
        until: Some(Instant::ZERO + LENGTH),
        scrape_period: PERIOD,
        ..Settings::default()
    };
    let mut go_on = |_: &xoff_sim::Progress| true;
    let timescale = Timescale::new(START, PERIOD, INTERVAL);
    let mut watcher = Watcher::new(fabric, &mut go_on).keep_counters(timescale);
    let report = run.run(&settings, &mut watcher).expect("a run");
    let mut counters = watcher.finish().counters.expect("counters");
    counters.add_jobs(&run, &report);
    counters.readings().clone()
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, fault, broken, fabric, scenario, .. } = self;
        let Broken { places, nodes, edit, .. } = broken;
        write!(f, "case {seed}: {fault:?} at {places:?} {nodes:?} {edit:?}\n{fabric}\n{scenario}")
    }
}

fn load(scenario: &str, fabric: &str) -> ScenarioSetup {
    load_scenario(scenario, fabric)
        .into_result()
        .unwrap_or_else(|found| panic!("{scenario}\n{fabric}\n{found:#?}"))
}

/// What is known of the readings.
fn seen(mut readings: Readings, data: Data, fabric: &Fabric, seed: u64) -> Recording {
    let mut draw = Draw(Stream::new(seed, 1, "missing"));
    if data == Data::Skewed {
        let nodes = fabric.nics.len() + fabric.switches.len();
        let skews: Vec<i64> = (0..nodes).map(|_| draw.below(6_000) as i64 - 3_000).collect();
        for reading in &mut readings.list {
            if let Place::Port { device, .. } = readings.places.get(reading.key.place) {
                let node = (0..nodes as u32).find(|n| fabric.node_name(NodeId(*n)) == device);
                let skew = skews[node.expect("a device") as usize];
                reading.at = Timestamp(reading.at.0 + skew * 1_000_000);
            }
        }
    }
    let merged = if data == Data::Coarse { 2 } else { 1 };
    let step = Span::from_ps(INTERVAL.as_ps() * merged);
    let recording = readings.record(Steps { start: START, step, count: STEPS / merged as usize });
    let is_nic = |place: &Place| match place {
        Place::Port { device, .. } => fabric.nics.iter().any(|nic| nic.name == *device),
        _ => true,
    };
    recording.filtered(|_, place| match data {
        Data::All | Data::Coarse | Data::Skewed => true,
        Data::HostsOnly => is_nic(place),
        Data::SwitchesOnly => !is_nic(place),
        Data::SomeMissing => draw.below(10) > 0,
    })
}
