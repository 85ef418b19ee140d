//! Links in each direction, by how hot they are.

use super::first_of_each;
use crate::clean;
use xoff_diagnose::fabric::Scene;
use xoff_fabric::model::PortId;
use xoff_telemetry::Metric;
use xoff_units::Rate;

/// Links that are kept for each order.
const MOST: usize = 100;

/// What is lost at a port, whatever the reason.
const DROPS: [Metric; 4] =
    [Metric::BufferDrops, Metric::RouteDrops, Metric::MtuDrops, Metric::WatchdogDrops];

/// What the counters of a port say. What no series says is missing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Measure {
    /// Whether the link is up at the end of the window.
    pub(super) up: Option<bool>,
    pub(super) mean: Option<f64>,
    pub(super) peak: Option<f64>,
    pub(super) paused: Option<f64>,
    pub(super) marks: Option<f64>,
    pub(super) drops: Option<f64>,
    pub(super) damaged: Option<f64>,
}

/// A link in one direction.
#[derive(Debug, Clone)]
pub struct Link {
    /// From where to where, like `leaf0→spine1`.
    pub name: String,
    /// Its planned rate.
    pub rate: Rate,
    /// Whether it is up at the end of the window.
    pub up: Option<bool>,
    /// The share of its rate that was sent.
    pub mean: Option<f64>,
    /// The same in its busiest step.
    pub peak: Option<f64>,
    /// The share of its worst step for which it was paused.
    pub paused: Option<f64>,
    /// Packets marked, per second.
    pub marks: Option<f64>,
    /// Packets dropped in the window.
    pub drops: Option<f64>,
    /// Packets that its sending end received damaged in the window.
    pub damaged: Option<f64>,
    /// The share of its rate that was sent, step by step; `NaN` where that is not known.
    pub trend: Vec<f32>,
}

/// By what links are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkOrder {
    /// What is down, then what drops, is paused or is full.
    #[default]
    Heat,
    /// The share of the rate, in the busiest step.
    Utilisation,
    /// The share of time paused.
    Paused,
    /// Marks.
    Marks,
    /// Drops.
    Drops,
}

impl LinkOrder {
    /// All of them, in the order of the key that changes them.
    pub const ALL: [LinkOrder; 5] = [
        LinkOrder::Heat,
        LinkOrder::Utilisation,
        LinkOrder::Paused,
        LinkOrder::Marks,
        LinkOrder::Drops,
    ];

    /// In a word.
    pub const fn word(self) -> &'static str {
        match self {
            LinkOrder::Heat => "heat",
            LinkOrder::Utilisation => "peak",
            LinkOrder::Paused => "paused",
            LinkOrder::Marks => "marks",
            LinkOrder::Drops => "drops",
        }
    }

    fn value(self, measure: &Measure) -> f64 {
        // What is not known comes last.
        let known = |value: Option<f64>| value.unwrap_or(-1.0);
        match self {
            LinkOrder::Utilisation => known(measure.peak),
            LinkOrder::Paused => known(measure.paused),
            LinkOrder::Marks => known(measure.marks),
            LinkOrder::Drops => known(measure.drops),
            LinkOrder::Heat => {
                let down = if measure.up == Some(false) { 8.0 } else { 0.0 };
                let drops = if measure.drops.unwrap_or(0.0) > 0.5 { 4.0 } else { 0.0 };
                let watched = if measure.is_watched() { 0.0 } else { -1.0 };
                // A pause of a tenth of a percent is normal, and must not hide a full link.
                let paused = measure.paused.filter(|share| *share > 0.02).map_or(0.0, |s| 1.0 + s);
                watched + down + drops + paused + measure.peak.unwrap_or(0.0)
            }
        }
    }

    /// The links in this order.
    pub fn sort(self, links: &[Link]) -> Vec<&Link> {
        let mut sorted: Vec<(f64, &Link)> =
            links.iter().map(|link| (self.value(&link.measure()), link)).collect();
        sorted.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        sorted.into_iter().map(|(_, link)| link).collect()
    }
}

impl Measure {
    pub(super) fn is_watched(&self) -> bool {
        self.up.is_some() || self.mean.is_some() || self.paused.is_some() || self.drops.is_some()
    }
}

impl Link {
    fn measure(&self) -> Measure {
        Measure {
            up: self.up,
            mean: self.mean,
            peak: self.peak,
            paused: self.paused,
            marks: self.marks,
            drops: self.drops,
            damaged: self.damaged,
        }
    }
}

/// What the counters say of every port.
pub(super) fn measures(scene: &Scene<'_>) -> Vec<Measure> {
    scene.ports().map(|port| measure(scene, port)).collect()
}

fn measure(scene: &Scene<'_>, port: PortId) -> Measure {
    let used = scene.utilisation(port).unwrap_or_default();
    let known: Vec<f64> = used.iter().filter(|v| !v.is_nan()).map(|v| f64::from(*v)).collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    let drops = DROPS.iter().filter_map(|metric| scene.sum(port, *metric)).reduce(|a, b| a + b);
    let seconds = scene.seconds().max(f64::MIN_POSITIVE);
    Measure {
        up: up(scene, port),
        mean: (!known.is_empty()).then_some(mean),
        peak: known.iter().copied().reduce(f64::max),
        paused: scene.paused(port),
        marks: scene.sum(port, Metric::EcnMarked).map(|marks| marks / seconds),
        drops,
        damaged: scene.sum(port, Metric::CrcErrors),
    }
}

/// A link is down if either end says so.
fn up(scene: &Scene<'_>, port: PortId) -> Option<bool> {
    let at = |port| scene.last(port, Metric::Up).map(|up| up >= 0.5);
    match (at(port), at(scene.peer(port))) {
        (Some(here), Some(there)) => Some(here && there),
        (here, there) => here.or(there),
    }
}

/// How many links have counters, of how many.
pub(super) fn watched(measures: &[Measure]) -> (usize, usize) {
    (measures.iter().filter(|measure| measure.is_watched()).count(), measures.len())
}

/// The first links of every order.
pub(super) fn hottest(scene: &Scene<'_>, measures: &[Measure]) -> Vec<Link> {
    let value = |order: LinkOrder| move |measure: &Measure| order.value(measure);
    let values = LinkOrder::ALL.map(value);
    let orders: Vec<&dyn Fn(&Measure) -> f64> = values.iter().map(|f| f as _).collect();
    let chosen = first_of_each(measures, MOST, &orders).into_iter();
    let link = |number: usize| {
        let (port, measure) = (PortId(number as u32), &measures[number]);
        Link {
            name: clean(&scene.fabric.port_name(port)),
            rate: scene.fabric.cable(port).rate,
            up: measure.up,
            mean: measure.mean,
            peak: measure.peak,
            paused: measure.paused,
            marks: measure.marks,
            drops: measure.drops,
            damaged: measure.damaged,
            trend: scene.utilisation(port).unwrap_or_default(),
        }
    };
    chosen.filter(|number| measures[*number].is_watched()).map(link).collect()
}
