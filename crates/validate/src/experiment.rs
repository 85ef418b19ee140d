//! [`Experiment`]: a scenario that answers a question.

use crate::check::overlay;
use crate::phase::Phase;
use xoff_fabric::scenario::{Allow, Fault, Fidelity, Record, Scenario, Workload};
use xoff_units::Span;

/// A scenario that is run to answer a question. Its text is an ordinary scenario file, so that a
/// user can repeat it with `xoff run`.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Its name, and that of its files.
    pub id: String,
    /// The phase it belongs to.
    pub phase: Phase,
    /// What it does, in words.
    pub title: String,
    /// What is run.
    pub scenario: Scenario,
    /// Nodes that it breaks.
    pub hurts: Vec<String>,
    /// Which draw of what is random: added to the seed.
    pub draw: u32,
    /// A load that does not reach its goal in its duration goes on until this time, and what it gets after that
    /// duration counts: by then congestion control has settled.
    pub settles: Option<Span>,
}

impl Experiment {
    /// Traffic on the fabric as it is. No rule is enforced while it runs: the judges decide.
    pub fn new(id: impl Into<String>, phase: Phase, title: impl Into<String>) -> Self {
        let scenario = Scenario {
            fidelity: Fidelity::Packet,
            fabric: String::new(),
            seed: 1,
            duration: Some(LONGEST),
            workloads: Vec::new(),
            faults: Vec::new(),
            allow: Allow {
                lossless_drops: true,
                deadlock: true,
                unfinished: true,
                objective: true,
            },
            record: Record { period: Span::ZERO, ..Record::default() },
            overrides: toml::Table::new(),
        };
        let (id, title, hurts) = (id.into(), title.into(), Vec::new());
        Self { id, phase, title, scenario, hurts, draw: 0, settles: None }
    }

    /// With this traffic, too.
    pub fn with(mut self, workload: Workload) -> Self {
        self.scenario.workloads.push(workload);
        self
    }

    /// With something that breaks.
    pub fn breaking(mut self, fault: Fault) -> Self {
        self.scenario.faults.push(fault);
        self
    }

    /// Saying which nodes that hurts.
    pub fn hurting<'a>(mut self, nodes: impl IntoIterator<Item = &'a str>) -> Self {
        self.hurts.extend(nodes.into_iter().map(str::to_owned));
        self
    }

    /// As another draw of what is random: the first keeps its name, the next ones are numbered from 2.
    pub fn drawn(mut self, draw: u32) -> Self {
        if draw > 0 {
            self.id = draw_id(&self.id, draw);
        }
        self.draw = draw;
        self
    }

    /// With settings of the fabric file changed.
    pub fn but(mut self, keys: &str) -> Self {
        let change: Result<toml::Table, _> = keys.parse();
        debug_assert!(change.is_ok(), "{keys}");
        overlay(&mut self.scenario.overrides, &change.unwrap_or_default());
        self
    }

    /// With queues sampled this often.
    pub fn sampled(mut self, period: Span) -> Self {
        self.scenario.record.period = period;
        self
    }

    /// As flows instead of packets.
    pub fn as_flows(mut self) -> Self {
        self.scenario.fidelity = Fidelity::Flow;
        self
    }

    /// With so much time at most.
    pub fn within(mut self, duration: Span) -> Self {
        self.scenario.duration = Some(duration);
        self
    }

    /// Going on until this time where it does not reach its goal before.
    pub fn settling(mut self, until: Span) -> Self {
        self.settles = Some(until);
        self
    }

    /// The scenario file of the experiment, on the fabric file at `fabric`.
    pub fn text(&self, fabric: &str, seed: u64, change: &toml::Table) -> String {
        let mut scenario = self.scenario.clone();
        scenario.fabric = fabric.to_owned();
        scenario.seed = seed.wrapping_add(u64::from(self.draw));
        overlay(&mut scenario.overrides, change);
        let body = toml::to_string(&scenario).unwrap_or_default();
        let settles = self.settles.map_or(String::new(), |until| {
            format!("# It goes on until {until} if it does not reach its goal; then the time after its duration counts.\n")
        });
        format!("# {}\n{settles}\n{body}", self.title)
    }
}

/// The name of a draw of an experiment, counted from 0.
pub(crate) fn draw_id(id: &str, draw: u32) -> String {
    if draw == 0 { id.to_owned() } else { format!("{id}-{}", draw + 1) }
}

/// No experiment without a failure takes longer in simulated time. One that is not done by then is
/// stuck.
pub(crate) const LONGEST: Span = Span::from_ms(50);
