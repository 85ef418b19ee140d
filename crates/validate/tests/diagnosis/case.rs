//! [`Case`]: a fabric, its traffic, and what breaks in the middle of it.

use std::fmt;
use xoff_diagnose::fabric::{Cause, Diagnosis, Finding, Scene, diagnose};
use xoff_fabric::model::{Fabric, NicId, NodeId, PortId, SwitchId};
use xoff_fabric::scenario::Scenario;
use xoff_fabric::{ScenarioSetup, load_scenario};
use xoff_results::watch::Timescale;
use xoff_results::{Case as Run, Watcher};
use xoff_sim::Settings;
use xoff_telemetry::recording::{Place, Readings, Recording, Steps, Timestamp};
use xoff_transport::config::Congestion;
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

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Nothing,
    PauseStorm,
    SlowReceiver,
    LinkDown,
    HostLinkDown,
    Flap,
    SlowLink,
    BitErrors,
    BlackHole,
    SpineDown,
    LeafDown,
    ServerDown,
    RouteChange,
    PfcOff,
    EcnOff,
    EcnEarly,
    NoCongestionControl,
    Incast,
    LateRanks,
}

impl Fault {
    const ALL: [Fault; 19] = [
        Fault::Nothing,
        Fault::PauseStorm,
        Fault::SlowReceiver,
        Fault::LinkDown,
        Fault::HostLinkDown,
        Fault::Flap,
        Fault::SlowLink,
        Fault::BitErrors,
        Fault::BlackHole,
        Fault::SpineDown,
        Fault::LeafDown,
        Fault::ServerDown,
        Fault::RouteChange,
        Fault::PfcOff,
        Fault::EcnOff,
        Fault::EcnEarly,
        Fault::NoCongestionControl,
        Fault::Incast,
        Fault::LateRanks,
    ];

    pub(crate) fn is_fault(self) -> bool {
        self != Fault::Nothing
    }

    /// The answers that are right.
    pub(crate) fn causes(self) -> &'static [Cause] {
        match self {
            Fault::Nothing => &[],
            Fault::PauseStorm => &[Cause::PauseStorm],
            Fault::SlowReceiver => &[Cause::SlowReceiver],
            Fault::LinkDown | Fault::HostLinkDown => &[Cause::LinkDown],
            Fault::Flap => &[Cause::LinkFlaps],
            Fault::SlowLink => &[Cause::SlowLink],
            Fault::BitErrors => &[Cause::BadOptic],
            Fault::BlackHole => &[Cause::BlackHole],
            Fault::SpineDown | Fault::LeafDown => &[Cause::SwitchDown],
            Fault::ServerDown => &[Cause::ServerDown, Cause::LinkDown],
            Fault::RouteChange => &[Cause::Routes, Cause::UnevenLinks],
            Fault::PfcOff => &[Cause::PfcOff],
            Fault::EcnOff => &[Cause::EcnOff],
            Fault::EcnEarly => &[Cause::EcnTooEarly],
            Fault::NoCongestionControl => &[Cause::CongestionControlOff],
            Fault::Incast => &[Cause::Incast],
            Fault::LateRanks => &[Cause::Straggler],
        }
    }
}

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
    /// What was broken: every name that is right.
    places: Vec<String>,
    fabric: String,
    scenario: String,
    planned: ScenarioSetup,
    /// The NIC without congestion control.
    careless: Option<NicId>,
}

/// Draws.
struct Draw(Stream);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

impl Case {
    pub(crate) fn new(seed: u64) -> Self {
        let mut draw = Draw(Stream::new(seed, 0, "campaign"));
        let fault = Fault::ALL[(seed / 2) as usize % Fault::ALL.len()];
        let fabric = fabric(&mut draw);
        let traffic = traffic(&mut draw, fault);
        let head = format!("fabric = 'f'\nseed = {}\nduration = '2ms'\n", draw.below(1_000));
        let setup = load(&format!("{head}{traffic}"), &fabric);
        let (mut text, mut places) = broken(&mut draw, fault, &setup.setup.fabric);
        if fault == Fault::PfcOff {
            // A port that never had to pause shows nothing: one that did is taken.
            let sound = hash(&format!("{head}{traffic}"), &fabric);
            for _ in 0..8 {
                if hash(&format!("{head}{traffic}{text}"), &fabric) != sound {
                    break;
                }
                (text, places) = broken(&mut draw, fault, &setup.setup.fabric);
            }
        }
        let scenario = format!("{head}{traffic}{text}");
        let careless = (fault == Fault::NoCongestionControl).then(|| nic_of(&setup, &places[0]));
        Self { seed, fault, places, fabric, scenario, planned: setup, careless }
    }

    pub(crate) fn is_hit(&self, finding: &Finding) -> bool {
        self.fault.causes().contains(&finding.cause) && self.places.contains(&finding.place)
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
        let fabric = match self.careless {
            None => setup.fabric,
            Some(nic) => {
                let mut overlay = setup.fabric.into_overlay();
                overlay.nic(nic, |nic| nic.qp.congestion = Congestion::None);
                overlay.finish()
            }
        };
        run(&scenario, &fabric).1
    }
}

/// What a run gave: its hash, and its counters.
fn run(scenario: &Scenario, fabric: &Fabric) -> (u64, Readings) {
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
    (report.hash, counters.readings().clone())
}

/// The hash of what a scenario gives.
fn hash(scenario: &str, fabric: &str) -> u64 {
    let ScenarioSetup { scenario, setup } = load(scenario, fabric);
    run(&scenario, &setup.fabric).0
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, fault, places, fabric, scenario, .. } = self;
        write!(f, "case {seed}: {fault:?} at {places:?}\n{fabric}\n{scenario}")
    }
}

fn load(scenario: &str, fabric: &str) -> ScenarioSetup {
    load_scenario(scenario, fabric)
        .into_result()
        .unwrap_or_else(|found| panic!("{scenario}\n{fabric}\n{found:#?}"))
}

fn nic_of(setup: &ScenarioSetup, name: &str) -> NicId {
    let nics = &setup.setup.fabric.nics;
    NicId(nics.iter().position(|nic| nic.name == name).expect("a NIC") as u32)
}

/// A sound fabric.
fn fabric(draw: &mut Draw) -> String {
    let balancing = draw.one(&[
        "",
        "[switch.balancing]\nkind = 'dlb'\nper = 'packet'\n[transport]\nrecovery = 'selective-repeat'\n\
         reorder-window = 256\n",
        "[switch.balancing]\nkind = 'spray'\n[transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n",
    ]);
    let shape = draw.one(&[
        "[cluster]\ngpus = 32\ngpus-per-server = 4\nnic = 'generic-200g'\n[fabric]\nkind = 'leaf-spine'\nleaves = 4\n\
         spines = 4\nleaf = 'tomahawk-4'\n[links.leaf-spine]\nrate = '400Gbps'\n",
        "[cluster]\nhosts = 24\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'trident-4'\nleaves = 3\n\
         spines = 4\n[links.leaf-spine]\nrate = '200Gbps'\n",
        "[cluster]\ngpus = 32\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n",
        "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = 'fat-tree'\nk = 4\nleaf = 'ideal'\n",
    ]);
    format!("{shape}[switch.watchdog]\nenabled = true\n{balancing}")
}

/// What is sent all the time.
fn traffic(draw: &mut Draw, fault: Fault) -> String {
    if fault == Fault::LateRanks {
        let size = draw.one(&["256KiB", "1MiB"]);
        let late = draw.one(&["100us", "200us"]);
        let job = format!("[[workload]]\nkind = 'all-reduce'\nname = 'train'\nsize = '{size}'\n");
        return format!("{job}repeat = 3\n{job}repeat = 2\nstart = '1ms'\nlate = '{late}'\n");
    }
    let (size, others) = draw.one(&[("16MB", 1), ("8MB", 2), ("4MB", 4)]);
    let usual = format!(
        "[[workload]]\nkind = 'permutation'\nsize = '{size}'\ndestinations = {others}\nqueue-pairs = 4\n"
    );
    // A second wave begins when the first is nearly done.
    let again = format!("{usual}start = '1ms'\n");
    let crowd = match fault {
        Fault::PfcOff => {
            "[[workload]]\nkind = 'incast'\nsize = '16MB'\nstart = '1ms'\ntarget = 3\n\
             [[workload]]\nkind = 'incast'\nsize = '1MB'\ntarget = 3\n"
        }
        Fault::EcnOff | Fault::EcnEarly | Fault::NoCongestionControl => {
            "[[workload]]\nkind = 'incast'\nsize = '1MB'\nstart = '1ms'\ntarget = 3\n\
             [[workload]]\nkind = 'incast'\nsize = '1MB'\ntarget = 3\n"
        }
        _ => "",
    };
    // Without congestion control queues grow until something has to stop them.
    let unruly = match fault {
        Fault::PfcOff => "[override.transport]\ncongestion = { kind = 'none' }\n",
        _ => "",
    };
    format!("{usual}{again}{crowd}{unruly}")
}

/// What breaks, as the scenario says it, and the names of its place.
fn broken(draw: &mut Draw, fault: Fault, fabric: &Fabric) -> (String, Vec<String>) {
    let at = "at = '1ms'\n";
    let nic = |draw: &mut Draw| fabric.nics[draw.below(fabric.nics.len())].name.clone();
    let (uplink, host) =
        (|draw: &mut Draw| cable(draw, fabric, false), |draw: &mut Draw| cable(draw, fabric, true));
    let link = |port: PortId, kind: &str, more: &str| {
        let (ends, places) = ends(fabric, port);
        (format!("[[fault]]\nkind = '{kind}'\nlink = '{ends}'\n{at}{more}"), places)
    };
    match fault {
        Fault::Nothing => (String::new(), Vec::new()),
        Fault::LateRanks => (String::new(), vec!["train".to_owned()]),
        Fault::PauseStorm => {
            let nic = nic(draw);
            (format!("[[fault]]\nkind = 'pause-storm'\nnic = '{nic}'\n{at}"), vec![nic])
        }
        Fault::SlowReceiver => {
            let (nic, rate) = (nic(draw), draw.one(&[10, 25, 40]));
            let text = format!(
                "[[fault]]\nkind = 'slow-receiver'\nnic = '{nic}'\nrate = '{rate}Gbps'\n{at}"
            );
            (text, vec![nic])
        }
        Fault::LinkDown => link(uplink(draw), "link-down", ""),
        Fault::HostLinkDown => link(host(draw), "link-down", ""),
        Fault::Flap => {
            let more = "period = '200us'\ntimes = 4\n";
            link(uplink(draw), "link-flap", more)
        }
        Fault::SlowLink => {
            let rate = draw.one(&["25Gbps", "50Gbps"]);
            link(uplink(draw), "link-degraded", &format!("rate = '{rate}'\n"))
        }
        Fault::BitErrors => {
            let loss = draw.one(&["0.01", "0.001"]);
            link(uplink(draw), "link-degraded", &format!("loss = {loss}\n"))
        }
        Fault::BlackHole => link(uplink(draw), "link-down", "silent = true\n"),
        Fault::SpineDown => switch_down(draw, fabric, "spine"),
        Fault::LeafDown => switch_down(draw, fabric, "leaf"),
        Fault::ServerDown => {
            let server = draw.below(fabric.servers.len());
            let name = fabric.servers[server].name.clone();
            let text = format!("[[fault]]\nkind = 'server-down'\nserver = '{name}'\n{at}");
            let nics = fabric.nics.iter().filter(|nic| nic.server.index() == server);
            let mut places = vec![name];
            places.extend(nics.flat_map(|nic| ends(fabric, PortId(nic.ports.start)).1));
            (text, places)
        }
        Fault::RouteChange => {
            let port = uplink(draw);
            let here = &fabric.ports[port.index()];
            let leaf = fabric.node_name(here.node).to_owned();
            let via = fabric.node_name(fabric.ports[here.peer.index()].node);
            let text =
                format!("[[fault]]\nkind = 'route-change'\nswitch = '{leaf}'\nvia = '{via}'\n{at}");
            (text, vec![leaf])
        }
        Fault::PfcOff => {
            let target = fabric.ports[fabric.nics[3].ports.start as usize].peer;
            let leaf = fabric.ports[target.index()].node;
            let ports: Vec<PortId> =
                fabric.node_ports(leaf).filter(|port| *port != target).collect();
            let port = draw.one(&ports);
            let (ends, _) = ends(fabric, port);
            let text = format!("[[fault]]\nkind = 'setting'\nport = '{ends}'\npfc = false\n{at}");
            (text, vec![fabric.port_name(port)])
        }
        Fault::EcnOff | Fault::EcnEarly => {
            let target = fabric.ports[fabric.nics[3].ports.start as usize].peer;
            let leaf = fabric.node_name(fabric.ports[target.index()].node).to_owned();
            let values = match fault {
                Fault::EcnOff => "kmin = '1GB'\nkmax = '2GB'\n",
                _ => "kmin = '1KB'\nkmax = '2KB'\n",
            };
            let text = format!("[[fault]]\nkind = 'setting'\nswitch = '{leaf}'\n{values}{at}");
            (text, vec![leaf, fabric.port_name(target)])
        }
        Fault::NoCongestionControl => (String::new(), vec![nic(draw)]),
        Fault::Incast => {
            let (nic, senders) = (draw.below(fabric.nics.len()), draw.one(&[6, 10, 14]));
            let text = format!(
                "[[workload]]\nkind = 'incast'\nsize = '4MB'\nsenders = {senders}\ntarget = {nic}\nstart = '1ms'\n"
            );
            (text, vec![fabric.nics[nic].name.clone()])
        }
    }
}

fn switch_down(draw: &mut Draw, fabric: &Fabric, tier: &str) -> (String, Vec<String>) {
    let all: Vec<&str> = fabric
        .switches
        .iter()
        .filter(|switch| switch.tier.name() == tier && switch.ports.len() > 1)
        .map(|switch| switch.name.as_str())
        .collect();
    let name = draw.one(&all);
    let text = format!("[[fault]]\nkind = 'switch-down'\nswitch = '{name}'\nat = '1ms'\n");
    (text, vec![name.to_owned()])
}

/// A port up to the tier above, or of a NIC.
fn cable(draw: &mut Draw, fabric: &Fabric, host: bool) -> PortId {
    let tier =
        |node: NodeId| fabric.node_switch(node).map(|s: SwitchId| fabric.switches[s.index()].tier);
    let ports = (0..fabric.ports.len() as u32).map(PortId).filter(|port| {
        let here = &fabric.ports[port.index()];
        let there = fabric.ports[here.peer.index()].node;
        match tier(here.node) {
            None => host,
            Some(tier_here) => !host && tier(there) > Some(tier_here),
        }
    });
    let ports: Vec<PortId> = ports.collect();
    draw.one(&ports)
}

/// A cable as scenarios name it, and as findings do.
fn ends(fabric: &Fabric, port: PortId) -> (String, Vec<String>) {
    let name = fabric.port_name(port);
    let reverse = fabric.port_name(fabric.ports[port.index()].peer);
    (name.replacen('→', " ", 1), vec![name, reverse])
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
