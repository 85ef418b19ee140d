//! A scenario from `examples/`, run with everything recorded that the tests look at.

use std::path::{Path, PathBuf};
use xoff_fabric::load_scenario;
use xoff_fabric::model::{Fabric, PortId};
use xoff_fabric::scenario::Scenario;
use xoff_sim::spread::{Spread, spread};
use xoff_sim::{ClassResult, FlowResult, Observer, Outcome, Report, Settings, Trace, TraceKind};
use xoff_units::{Instant, Span};
use xoff_workload::Flow;

/// The folder of examples.
pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// A scenario that can be run.
pub(crate) struct Scene {
    pub(crate) fabric: Fabric,
    pub(crate) scenario: Scenario,
    pub(crate) flows: Vec<Flow>,
    /// Its collectives.
    pub(crate) jobs: Vec<xoff_workload::Job>,
}

/// What came of a run.
pub(crate) struct Run<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) report: Report,
    pub(crate) watch: Watch,
}

/// Keeps what the engine tells while it runs.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) traces: Vec<Trace>,
}

impl Observer for Watch {
    fn trace(&mut self, trace: &Trace) {
        self.traces.push(*trace);
    }
}

impl Scene {
    /// Reads an example.
    pub(crate) fn load(name: &str) -> Self {
        Self::edited(name, |text| text)
    }

    /// Reads an example after a change to its text.
    pub(crate) fn edited(name: &str, edit: impl FnOnce(String) -> String) -> Self {
        let read = |name: &str| match std::fs::read_to_string(examples().join(name)) {
            Ok(text) => text,
            Err(error) => panic!("{name}: {error}"),
        };
        let before = read(name);
        let text = edit(before.clone());
        let named = before.lines().find_map(|line| line.strip_prefix("fabric = \""));
        let fabric = read(named.expect("a fabric").trim_end_matches('"'));
        Self::of(name, &text, &fabric)
    }

    /// Reads a scenario and a fabric that are no files.
    pub(crate) fn of(name: &str, scenario: &str, fabric: &str) -> Self {
        let loaded = load_scenario(scenario, fabric);
        let Some(setup) = loaded.value else { panic!("{name}: {:#?}", loaded.diagnostics) };
        let (scenario, fabric) = (setup.scenario, setup.setup.fabric);
        let mut open = |file: &str| -> std::io::Result<Box<dyn std::io::BufRead>> {
            panic!("{name} names {file}")
        };
        let flows = xoff_workload::expand(&scenario.workloads, &fabric, scenario.seed, &mut open);
        let jobs = xoff_workload::programs(&scenario.workloads, &fabric, scenario.seed);
        let (flows, jobs) = (flows.expect("sound traffic"), jobs.expect("sound collectives"));
        Self { flows, jobs, scenario, fabric }
    }

    /// Runs it with its own seed.
    pub(crate) fn run(&self) -> Run<'_> {
        self.run_seeded(self.scenario.seed)
    }

    /// Runs it with another seed. What the scenario does not allow must not happen.
    pub(crate) fn run_seeded(&self, seed: u64) -> Run<'_> {
        let run = self.run_until(seed, self.scenario.duration);
        run.keeps_its_rules();
        run
    }

    /// Mean rates of the data class out of some ports between two times, in Gb/s on the wire:
    /// preamble and gap of the data packets count, so that a full 40G port shows 40. A run that is
    /// cut short has sent what a longer one had sent by then, so two of them give the rates.
    pub(crate) fn gbps<const N: usize>(
        &self,
        seed: u64,
        ports: [&str; N],
        (from, to): (Span, Span),
    ) -> [f64; N] {
        let runs = [from, to].map(|end| self.run_until(seed, Some(end)));
        let qp = &self.fabric.nics[0].qp;
        let packet = (qp.mtu + qp.framing.header).get() as f64;
        let wire = (packet + qp.framing.gap.get() as f64) / packet;
        ports.map(|port| {
            let [before, after] = [0, 1].map(|run: usize| runs[run].data(port).tx_bytes);
            (after - before) as f64 * wire * 8.0 / (to - from).as_s_f64() / 1e9
        })
    }

    /// Runs it up to a time.
    pub(crate) fn run_until(&self, seed: u64, until: Option<Span>) -> Run<'_> {
        let until = until.map(|span| Instant::ZERO + span);
        let settings = Settings { seed, until, check_wire: true, ..Settings::default() };
        let mut watch = Watch::default();
        let faults = &self.scenario.faults;
        let (fabric, flows) = (&self.fabric, &self.flows);
        let ran = xoff_sim::run_jobs(fabric, flows, self.jobs(), faults, &settings, &mut watch);
        Run { scene: self, report: ran.expect("a run"), watch }
    }

    /// Its collectives as the simulator runs them.
    fn jobs(&self) -> Vec<xoff_sim::Job> {
        let job = |job| xoff_sim::Job::of(job).expect("a program");
        self.jobs.iter().map(job).collect()
    }

    /// The port of this name, like `leaf-a→spine`.
    pub(crate) fn port(&self, name: &str) -> PortId {
        let mut ports = (0..self.fabric.ports.len() as u32).map(PortId);
        ports.find(|&port| self.fabric.port_name(port) == name).unwrap_or_else(|| panic!("{name}"))
    }
}

impl Run<'_> {
    /// The command would end with success.
    fn keeps_its_rules(&self) {
        let (allow, report) = (&self.scene.scenario.allow, &self.report);
        let lossless = std::array::from_fn(|class| self.scene.fabric.classes[class].lossless);
        let drops = report.lossless_drops(&lossless);
        assert!(allow.lossless_drops || drops == 0, "{drops} lossless drops");
        assert!(allow.deadlock || report.deadlocks.is_empty(), "{:?}", report.deadlocks);
        let open = report.flows.iter().filter(|flow| flow.end.is_none()).count();
        assert!(allow.unfinished || open == 0, "{open} flows are unfinished");
        let programs = |job: &xoff_workload::Job| job.programs().expect("programs");
        let asked = self.scene.jobs.iter().flat_map(programs).map(|turn| turn.repeat);
        let runs = report.jobs.iter().flat_map(|job| &job.runs);
        let ended = runs.filter(|run| run.end.is_some()).count() as u32;
        let open = open as u32 + asked.sum::<u32>() - ended;
        assert!(allow.unfinished || open == 0, "{open} flows and collectives are unfinished");
        if open == 0 {
            assert_eq!(report.outcome, Outcome::Completed);
        }
    }

    /// The flow from one NIC to another.
    pub(crate) fn flow(&self, source: &str, destination: &str) -> &FlowResult {
        let name = |nic: xoff_fabric::model::NicId| &self.scene.fabric.nics[nic.index()].name;
        let is = |flow: &Flow| name(flow.source) == source && name(flow.destination) == destination;
        let index = self.scene.flows.iter().position(is);
        &self.report.flows[index.unwrap_or_else(|| panic!("{source} to {destination}"))]
    }

    /// A finished flow's completion time.
    pub(crate) fn completion(&self, source: &str, destination: &str) -> Span {
        let flow = self.flow(source, destination).completion();
        flow.unwrap_or_else(|| panic!("{source} to {destination} is unfinished"))
    }

    /// The last completion.
    pub(crate) fn last_end(&self) -> Instant {
        self.report.flows.iter().filter_map(|flow| flow.end).max().expect("a finished flow")
    }

    /// What the data class did at a port.
    pub(crate) fn data(&self, port: &str) -> &ClassResult {
        let class = self.scene.fabric.data_class;
        &self.report.ports[self.scene.port(port).index()][usize::from(class.0)]
    }

    /// How evenly the links between two tiers were used, like `leaf→spine`.
    pub(crate) fn links(&self, between: &str) -> Spread {
        let all = spread(&self.scene.fabric, &self.report);
        let found = all.into_iter().find(|group| group.name() == between);
        found.unwrap_or_else(|| panic!("no links {between}"))
    }

    /// Traces of a kind, in order.
    pub(crate) fn traces(&self, is: impl Fn(TraceKind) -> bool) -> Vec<Trace> {
        self.watch.traces.iter().filter(|trace| is(trace.kind)).copied().collect()
    }
}

/// Fails unless `value` is within `tolerance` (a share) of `expected`.
#[track_caller]
pub(crate) fn near(what: &str, value: f64, expected: f64, tolerance: f64) {
    println!("{what}: {value:.3}, expected {expected:.3} within {:.1} %", tolerance * 100.0);
    let off = (value / expected - 1.0).abs();
    assert!(off <= tolerance, "{what} is {value}, and {expected} was expected");
}
