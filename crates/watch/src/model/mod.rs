//! What is shown, for a window of time: a pure function of a recording, a fabric and its diagnosis.
//!
//! All figures are of the window: means over it, or its worst step where a figure says so. What no series says is `None`,
//! never zero.

mod finding;
mod link;
mod map;
mod nic;
mod onset;
mod pauses;

pub use finding::Active;
pub use link::{Link, LinkOrder};
pub use map::{Cell, Row, State};
pub use nic::{NicOrder, Offender};
pub use onset::Since;
pub use pauses::{Branch, PauseTree};

use crate::clean;
use onset::Onsets;
use std::ops::Range;
use xoff_diagnose::fabric::{Scene, diagnose};
use xoff_fabric::model::Fabric;
use xoff_telemetry::recording::{Recording, Timestamp};

/// The part of a recording that a view is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Where it begins.
    pub from: Timestamp,
    /// Where it ends.
    pub to: Timestamp,
    /// The end of its newest step that has any value.
    pub newest: Option<Timestamp>,
    /// Its steps.
    pub steps: usize,
    /// How long each is, in seconds.
    pub step: f64,
}

/// What is shown.
#[derive(Debug, Clone)]
pub struct View {
    /// The part of the recording that it is about.
    pub window: Window,
    /// NICs of the fabric.
    pub nics: usize,
    /// Switches of the fabric.
    pub switches: usize,
    /// Series that the window has.
    pub series: usize,
    /// The devices, a row for each tier and each rail, from the top down.
    pub map: Vec<Row>,
    /// Links in each direction: the first of every order, in no order.
    pub links: Vec<Link>,
    /// Links in each direction that have counters, of how many.
    pub links_watched: (usize, usize),
    /// How pauses spread, the worst root first.
    pub pauses: Vec<PauseTree>,
    /// Whether any port says for how long it was paused.
    pub pauses_known: bool,
    /// NICs that pause, send again or time out: the first of every order, in no order.
    pub offenders: Vec<Offender>,
    /// NICs that have counters, of how many.
    pub nics_watched: (usize, usize),
    /// What is wrong, the likeliest first.
    pub findings: Vec<Active>,
    /// Causes that the counters rule out, by name.
    pub ruled_out: Vec<&'static str>,
    /// What is not known.
    pub missing: Vec<String>,
}

/// What a view is made of.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The fabric as it was planned.
    pub fabric: &'a Fabric,
    /// What its counters did.
    pub recording: &'a Recording,
    /// Another recording, of a time in which nothing was wrong.
    pub usual: Option<&'a Recording>,
}

impl<'a> Subject<'a> {
    fn scene(&self, steps: Range<usize>) -> Scene<'a> {
        let scene = Scene::new(self.fabric, self.recording, steps);
        match self.usual {
            Some(usual) => scene.with_usual(usual, 0..usual.steps().count),
            None => scene,
        }
    }
}

/// Makes views, one after the other, and remembers since when something has been wrong.
#[derive(Debug, Default)]
pub struct Watcher {
    onsets: Onsets,
}

impl Watcher {
    /// A view of these steps. `left_out` is what the source says of itself that is not in the recording.
    pub fn look(
        &mut self,
        subject: &Subject<'_>,
        steps: Range<usize>,
        left_out: &[String],
    ) -> View {
        let all = subject.recording.steps();
        let steps = steps.start.min(all.count)..steps.end.min(all.count);
        let scene = subject.scene(steps.clone());
        let diagnosis = diagnose(&scene);
        let since = self.onsets.of(subject, &steps, &diagnosis);
        let window = window(subject.recording, &steps);
        let findings: Vec<Active> = diagnosis.findings.iter().zip(since).map(Active::new).collect();
        let nodes = diagnosis.findings.iter().flat_map(|finding| finding.nodes.iter().copied());
        let measures = link::measures(&scene);
        let (offenders, nics_watched) = nic::offenders(&scene);
        let missing = diagnosis.missing.iter().map(|missing| missing.what.as_str());
        View {
            window,
            nics: scene.fabric.nics.len(),
            switches: scene.fabric.switches.len(),
            series: subject.recording.len(),
            map: map::rows(&scene, &measures, nodes),
            links: link::hottest(&scene, &measures),
            links_watched: link::watched(&measures),
            pauses: pauses::trees(&scene),
            pauses_known: measures.iter().any(|measure| measure.paused.is_some()),
            offenders,
            nics_watched,
            findings,
            ruled_out: diagnosis.ruled_out.iter().map(|cause| cause.name()).collect(),
            missing: missing.chain(left_out.iter().map(String::as_str)).map(clean).collect(),
        }
    }
}

fn window(recording: &Recording, steps: &Range<usize>) -> Window {
    let all = recording.steps();
    let last = |values: &[f32]| {
        let values = values.get(steps.clone())?;
        values.iter().rposition(|value| !value.is_nan()).map(|step| steps.start + step)
    };
    let newest = recording.series().filter_map(|(_, values)| last(values)).max();
    Window {
        from: all.begin(steps.start),
        to: all.begin(steps.end),
        newest: newest.map(|step| all.begin(step + 1)),
        steps: steps.len(),
        step: all.seconds(),
    }
}

/// The numbers of the first rows of every order together, in ascending order.
fn first_of_each<T>(list: &[T], most: usize, orders: &[&dyn Fn(&T) -> f64]) -> Vec<usize> {
    let mut chosen = std::collections::BTreeSet::new();
    for value in orders {
        let mut numbers: Vec<usize> = (0..list.len()).collect();
        let by_value = |a: &usize, b: &usize| {
            value(&list[*b]).total_cmp(&value(&list[*a])).then_with(|| a.cmp(b))
        };
        if numbers.len() > most {
            numbers.select_nth_unstable_by(most, by_value);
            numbers.truncate(most);
        }
        chosen.extend(numbers);
    }
    chosen.into_iter().collect()
}
