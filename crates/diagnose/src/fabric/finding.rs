//! [`Finding`]: a cause with its place and its evidence, and how findings are ranked.

use super::scene::{Scene, is_expected};
use super::{Cause, Unknown, group, job};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use xoff_fabric::model::{NodeId, PortId};
use xoff_telemetry::Metric;

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Other causes would look alike.
    Possible,
    /// The counters fit, and little else does.
    Likely,
    /// A counter says just this.
    Certain,
}

impl Confidence {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Confidence::Possible => "possible",
            Confidence::Likely => "likely",
            Confidence::Certain => "certain",
        }
    }
}

/// A cause with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What.
    pub cause: Cause,
    /// Where: a switch, a server, a NIC, a port or a cable like `leaf0→spine1#2`.
    pub place: String,
    /// How sure.
    pub confidence: Confidence,
    /// The counters that say so, from the cause to what suffers from it.
    pub evidence: Vec<String>,
    /// How much of it there is, to order findings of one cause.
    pub weight: f64,
    /// The devices that it is about: other findings about them may need no cause of their own.
    pub nodes: Vec<NodeId>,
    /// The place of a finding about another device that may have brought this one about.
    pub follows: Option<String>,
}

impl Finding {
    pub(super) fn new(cause: Cause, place: impl Into<String>, nodes: Vec<NodeId>) -> Self {
        Self {
            cause,
            place: place.into(),
            confidence: Confidence::Likely,
            evidence: Vec::new(),
            weight: 0.0,
            nodes,
            follows: None,
        }
    }

    /// At one port.
    pub(super) fn at(cause: Cause, scene: &Scene<'_>, port: PortId) -> Self {
        Self::new(cause, scene.fabric.port_name(port), vec![scene.node(port)])
    }

    /// At a cable.
    pub(super) fn on(cause: Cause, scene: &Scene<'_>, port: PortId) -> Self {
        let ends = vec![scene.node(port), scene.node(scene.peer(port))];
        Self::new(cause, scene.cable_name(port), ends)
    }

    pub(super) fn because(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    pub(super) const fn sure(mut self, confidence: Confidence) -> Self {
        self.confidence = confidence;
        self
    }

    pub(super) const fn weighing(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }
}

/// Counters that a diagnosis would have needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// Which, in words.
    pub what: String,
}

/// What counters say.
#[derive(Debug, Clone, Default)]
pub struct Diagnosis {
    /// What may be wrong, the likeliest first. Nothing is an answer.
    pub findings: Vec<Finding>,
    /// What the counters would show and do not.
    pub ruled_out: Vec<Cause>,
    /// What is not known.
    pub missing: Vec<Missing>,
    /// What was measured of collectives, slow or not, in sentences.
    pub measured: Vec<String>,
}

/// What a cause of this kind brings about: findings that need no cause of their own.
fn explains(cause: Cause, other: Cause) -> bool {
    use Cause::{
        BadOptic, BlackHole, CongestionControlOff, Deadlock, Discards, EcnOff, EcnTooEarly,
        HeadroomTooSmall, Incast, LinkDown, LinkFlaps, Miscabled, MtuTooSmall, NoisyTenant,
        NotificationOff, Oversubscribed, PauseStorm, PfcOff, Routes, ServerDown, SlowLink,
        SlowReceiver, StorageBurst, SwitchDown, Timeouts, UnevenLinks, WrongClass,
    };
    match cause {
        SwitchDown | LinkFlaps | LinkDown | ServerDown => matches!(
            other,
            BlackHole
                | Timeouts
                | UnevenLinks
                | Routes
                | Oversubscribed
                | Incast
                | Discards
                | BadOptic
        ),
        BlackHole => matches!(other, Timeouts | UnevenLinks | Routes | Oversubscribed | Incast),
        BadOptic => matches!(other, Timeouts | UnevenLinks),
        SlowLink => matches!(other, UnevenLinks | Incast | Oversubscribed | Timeouts | Routes),
        Miscabled => matches!(other, UnevenLinks | Incast | Oversubscribed | Routes),
        PauseStorm | SlowReceiver | Deadlock => matches!(
            other,
            Incast | UnevenLinks | Oversubscribed | Timeouts | EcnOff | Discards | Routes
        ),
        MtuTooSmall => matches!(other, BlackHole | Timeouts | Discards),
        PfcOff | HeadroomTooSmall => matches!(other, Discards | Timeouts | UnevenLinks),
        WrongClass => matches!(other, Discards | Timeouts | Incast | NoisyTenant | StorageBurst),
        EcnOff | EcnTooEarly | CongestionControlOff | NotificationOff => {
            matches!(other, Incast | UnevenLinks | Oversubscribed)
        }
        Routes => matches!(other, UnevenLinks | Oversubscribed),
        NoisyTenant | StorageBurst => {
            matches!(other, Incast | UnevenLinks | Oversubscribed | Discards | Routes | Timeouts)
        }
        _ => false,
    }
}

/// Whether a counter of the place itself says so: nothing that is wrong elsewhere brings that about.
const fn is_of_its_place(cause: Cause) -> bool {
    matches!(cause, Cause::BadOptic | Cause::BlackHole | Cause::Discards)
}

/// Leaves out what another finding about the same device explains. What one about another device may explain stays, as
/// possible: in a large fabric something is always down, and must not hide what else is wrong.
fn settle(found: &mut Vec<Finding>) {
    let sure = found.iter().filter(|finding| finding.confidence >= Confidence::Likely);
    let sure: Vec<Finding> = sure.cloned().collect();
    let explaining = |finding: &Finding| -> Vec<&Finding> {
        sure.iter().filter(|other| explains(other.cause, finding.cause)).collect()
    };
    found.retain(|finding| {
        let near = |other: &&Finding| other.nodes.iter().any(|node| finding.nodes.contains(node));
        !explaining(finding).iter().any(near)
    });
    for finding in found.iter_mut().filter(|finding| !is_of_its_place(finding.cause)) {
        if let Some(other) = explaining(finding).first() {
            finding.confidence = Confidence::Possible;
            finding.follows = Some(other.place.clone());
        }
    }
}

/// Orders findings, the likeliest first.
pub(super) fn order(found: &mut [Finding]) {
    found.sort_by(|a, b| {
        let key = |finding: &Finding| (Reverse(finding.confidence), finding.cause);
        let order = key(a).cmp(&key(b)).then_with(|| b.weight.total_cmp(&a.weight));
        order.then_with(|| a.place.cmp(&b.place))
    });
}

/// What is left of what was found, in order, and what is not known.
pub(super) fn rank(scene: &Scene<'_>, mut found: Vec<Finding>) -> Diagnosis {
    settle(&mut found);
    found = group::grouped(scene, found);
    order(&mut found);
    if let Some(first) = found.first_mut()
        && first.cause != Cause::Straggler
    {
        let slower = job::slower(scene).into_iter().chain(job::slow(scene));
        first.evidence.extend(slower.map(|(_, words)| words));
    }
    let seen: BTreeSet<Cause> = found.iter().map(|finding| finding.cause).collect();
    let ruled_out = TELLING
        .iter()
        .filter(|(cause, metrics)| {
            !seen.contains(cause) && metrics.iter().all(|m| known(scene, *m))
        })
        .map(|(cause, _)| *cause);
    Diagnosis {
        ruled_out: ruled_out.collect(),
        missing: missing(scene),
        measured: job::measured(scene),
        findings: found,
    }
}

/// The counters that show a cause.
const TELLING: &[(Cause, &[Metric])] = &[
    (Cause::LinkDown, &[Metric::LinkDowns]),
    (Cause::BadOptic, &[Metric::CrcErrors]),
    (Cause::BlackHole, &[Metric::TxPackets, Metric::RxPackets]),
    (Cause::SlowLink, &[Metric::Speed]),
    (Cause::PauseStorm, &[Metric::PausedTime]),
    (Cause::SlowReceiver, &[Metric::PfcReceived]),
    (Cause::HeadroomTooSmall, &[Metric::BufferDrops, Metric::PfcSent]),
    (Cause::MtuTooSmall, &[Metric::MtuDrops]),
    (Cause::EcnOff, &[Metric::EcnMarked, Metric::QueueWatermark]),
    (Cause::CongestionControlOff, &[Metric::CnpIgnored]),
    (Cause::NotificationOff, &[Metric::EcnReceived, Metric::CnpSent]),
    (Cause::UnevenLinks, &[Metric::TxBytes]),
];

/// Whether a metric is known of any port.
fn known(scene: &Scene<'_>, metric: Metric) -> bool {
    scene.ports().any(|port| scene.series(port, metric).is_some())
}

fn missing(scene: &Scene<'_>) -> Vec<Missing> {
    let mut missing = Vec::new();
    let Unknown { series, example } = scene.unknown();
    if *series > 0 {
        let what =
            format!("{series} series belong to no port or GPU of the fabric, like {example}");
        missing.push(Missing { what });
    }
    for (nic, word) in [(true, "NIC"), (false, "switch")] {
        let nodes: BTreeSet<NodeId> = scene
            .ports()
            .filter(|port| scene.is_nic(*port) == nic)
            .map(|p| scene.node(p))
            .collect();
        let silent: Vec<NodeId> =
            nodes.iter().copied().filter(|node| !scene.is_watched(*node)).collect();
        if let Some(first) = silent.first() {
            let name = scene.fabric.node_name(*first);
            let what = if silent.len() == nodes.len() {
                format!("there are no counters of any {word}")
            } else {
                format!("there are no counters of {} {word}(s), like {name}", silent.len())
            };
            missing.push(Missing { what });
        }
    }
    let absent: Vec<&str> = TELLING
        .iter()
        .flat_map(|(_, metrics)| *metrics)
        // Many switches do not say for which reason they drop.
        .filter(|metric| **metric != Metric::MtuDrops)
        .filter(|metric| is_expected(**metric, true) && !known(scene, **metric))
        .map(|metric| metric.name())
        .collect::<BTreeSet<&str>>()
        .into_iter()
        .collect();
    if !absent.is_empty() {
        missing.push(Missing { what: format!("no device has {}", absent.join(", ")) });
    }
    if !scene.has_usual() {
        let what = "it is not known what is usual: a window in which all was well would help";
        missing.push(Missing { what: what.to_owned() });
    }
    missing
}
