//! [`Model`]: from settings that were run to settings that are worth a run.

use crate::design;
use crate::gauss::{Process, Seen, Shape};
use crate::knob::Place;
use crate::plan::{BATCH, Plan};
use crate::score::Score;
use std::collections::BTreeSet;
use xoff_workload::stream::Stream;

/// Settings that a process learns from: more take longer than they tell.
const MOST_SEEN: usize = 200;

/// Candidates of a proposal: near good settings, and anywhere.
const NEAR: usize = 400;
const ANYWHERE: usize = 250;

/// A setting that was run, for the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told<'a> {
    pub(crate) places: &'a [Place],
    pub(crate) score: Score,
}

/// What the model knows from one proposal to the next.
#[derive(Debug)]
pub(crate) struct Model {
    shape: Shape,
}

/// Settings that are worth a run, and by how much the best of them is expected to be better.
pub(crate) struct Proposal {
    pub(crate) settings: Vec<Vec<Place>>,
    pub(crate) gain: f64,
}

/// Coordinates of a setting.
pub(crate) fn coordinates(plan: &Plan, places: &[Place]) -> Vec<f64> {
    plan.knobs.iter().zip(places).map(|(knob, place)| knob.coordinate(*place)).collect()
}

/// What the process is to learn: values, with everything that is far from good, or violates, alike.
///
/// How bad a bad setting is does not matter, and a response that has a few values far off is hard to learn. Where
/// nothing keeps the bounds, it is the violations that are to become less.
fn targets(told: &[&Told<'_>]) -> Vec<f64> {
    let mut feasible: Vec<f64> =
        told.iter().filter(|own| own.score.is_feasible()).map(|own| own.score.value).collect();
    if feasible.is_empty() {
        return told.iter().map(|own| xoff_sweep::numeric::ln(1.0 + own.score.violation)).collect();
    }
    feasible.sort_by(f64::total_cmp);
    let (best, median) = (feasible[0], feasible[feasible.len() / 2]);
    let most = best + (2.5 * (median - best)).max(0.05);
    let value = |own: &&Told<'_>| match own.score.is_feasible() {
        true => own.score.value.min(most),
        false => most,
    };
    told.iter().map(value).collect()
}

impl Model {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { shape: Shape::new(plan.knobs.len()) }
    }

    /// A process that has learned from settings, in the order in which they were run.
    pub(crate) fn learn(&mut self, plan: &Plan, told: &[Told<'_>]) -> Option<Process> {
        Process::fit(&self.seen(plan, told)?, &mut self.shape)
    }

    fn seen(&self, plan: &Plan, told: &[Told<'_>]) -> Option<Seen> {
        let mut own: Vec<&Told<'_>> = told.iter().collect();
        if own.len() > MOST_SEEN {
            // The latest, and the best of the others.
            let late = own.split_off(own.len() - MOST_SEEN / 3);
            own.sort_by(|a, b| a.score.order(&b.score));
            own.truncate(MOST_SEEN - late.len());
            own.extend(late);
        }
        if own.len() < 2 {
            return None;
        }
        Some(Seen {
            places: own.iter().map(|own| coordinates(plan, own.places)).collect(),
            values: targets(&own),
            seeds: own.iter().map(|own| own.score.seeds.max(1) as f64).collect(),
            names: plan.knobs.iter().map(|knob| !knob.is_ordered()).collect(),
        })
    }

    /// Settings that are worth a run: the greatest expected improvement, one after the other, each as if those before
    /// it had given what is expected of them.
    pub(crate) fn propose(
        &mut self,
        plan: &Plan,
        told: &[Told<'_>],
        taken: &BTreeSet<String>,
        round: u64,
    ) -> Proposal {
        let mut stream = Stream::new(plan.options.search_seed, round, "tune proposals");
        let mut process = self.learn(plan, told);
        let candidates = candidates(plan, told, taken, &mut stream);
        let mut told: Vec<Told<'_>> = told.to_vec();
        let mut proposal = Proposal { settings: Vec::new(), gain: 0.0 };
        let mut left: Vec<&Vec<Place>> = candidates.iter().collect();
        while proposal.settings.len() < BATCH && !left.is_empty() {
            let Some(known) = &process else {
                // Nothing to learn from: what comes first is as good as anything.
                proposal.settings.push(left.remove(0).clone());
                continue;
            };
            let any = told.iter().any(|own| own.score.is_feasible());
            let best = told
                .iter()
                .filter(|own| own.score.is_feasible() || !any)
                .map(|own| known.mean(&coordinates(plan, own.places)))
                .fold(f64::INFINITY, f64::min);
            let mut first = (0, f64::NEG_INFINITY);
            for (at, places) in left.iter().enumerate() {
                let own = known.improvement(&coordinates(plan, places), best);
                if own > first.1 {
                    first = (at, own);
                }
            }
            let chosen = left.remove(first.0);
            proposal.gain = proposal.gain.max(first.1);
            proposal.settings.push(chosen.clone());
            let value = known.mean(&coordinates(plan, chosen));
            let expected = Score { violation: 0.0, value, seeds: 1 };
            told.push(Told { places: chosen, score: expected });
            // The shape stays: a guess teaches nothing about it.
            process = self.seen(plan, &told).and_then(|seen| Process::new(seen, &self.shape));
        }
        proposal
    }
}

/// Settings that nobody has run.
fn candidates(
    plan: &Plan,
    told: &[Told<'_>],
    taken: &BTreeSet<String>,
    stream: &mut Stream,
) -> Vec<Vec<Place>> {
    let mut ranked: Vec<&Told<'_>> = told.iter().collect();
    ranked.sort_by(|a, b| a.score.order(&b.score));
    ranked.truncate(4);
    let mut all = Vec::new();
    let mut texts = taken.clone();
    let mut add = |places: Option<Vec<Place>>, all: &mut Vec<Vec<Place>>| {
        if let Some(places) = places
            && texts.insert(plan.text(&places))
        {
            all.push(places);
        }
    };
    for number in 0..NEAR {
        if let Some(good) = ranked.get(number % 4) {
            add(design::near(plan, good.places, stream), &mut all);
        }
    }
    for _ in 0..ANYWHERE {
        add(design::anywhere(plan, stream), &mut all);
    }
    all
}
