//! [`Answer`]: what a search found, for people and machines.

use crate::gauss::Process;
use crate::knob::Place;
use crate::model::{self, Model};
use crate::plan::Plan;
use crate::search::{Found, Run};
use crate::statistics::Interval;
use serde::Serialize;
use std::ops::Range;
use xoff_sweep::numeric::{exp, ln};
use xoff_sweep::{Figure, Row};

/// What the search says about the present setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Another setting is better, on seeds that the search has not seen.
    Better,
    /// Another setting is better on average, but the unseen seeds do not agree.
    Uncertain,
    /// No setting is better by 2 % or more: the present one is as good.
    AsGood,
    /// No setting keeps all bounds on all seeds.
    NoneFound,
}

/// A change that is not worth its trouble.
pub const WORTHWHILE: f64 = 0.02;

/// A knob with its values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Turned {
    /// What it is called.
    pub knob: String,
    /// Its keys.
    pub keys: Vec<String>,
    /// The value in force now.
    pub present: String,
    /// The value that is advised; none if it stays.
    pub advised: Option<String>,
}

/// What knobs of the advised setting are worth: what becomes of it with them back where the files have them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Worth {
    /// The knobs; two where one alone would put thresholds into the wrong order.
    pub knobs: Vec<String>,
    /// The relative change of the objective on the unseen seeds; 0.1 is ten percent slower.
    pub back: Option<Interval>,
    /// Whether a bound is then not kept.
    pub violates: bool,
}

/// What the model says about one knob, all others as advised.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Profile {
    /// The knob.
    pub knob: String,
    /// Values from and to which the objective stays within one percent; of names all that do.
    pub alike: Vec<String>,
    /// Whether that is everything that the knob may take.
    pub everything: bool,
    /// By how much the worst value is worse than the best; at least, where that is far.
    pub spread: f64,
}

/// One workload on the unseen seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The workload.
    pub case: String,
    /// The figure that is aimed at.
    pub objective: &'static str,
    /// Its mean at the present setting.
    pub present: Option<f64>,
    /// Its mean at the advised one.
    pub advised: Option<f64>,
    /// The relative change of time; below zero is better. (Of a figure that should be large, of its inverse.)
    pub change: Option<Interval>,
    /// Time paused, in us, at the present and the advised setting.
    pub paused_us: [Option<f64>; 2],
}

/// A setting than which no other is both faster and less paused.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Kept {
    /// The number of the setting.
    pub setting: usize,
    /// The relative change of the objective, on the seeds of the search.
    pub change: f64,
    /// Time paused, in us, all cases together, on average.
    pub paused_us: f64,
    /// What it changes.
    pub values: Vec<(String, String)>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What it says about the present setting.
    pub verdict: Verdict,
    /// Whether the present setting itself does what it must not.
    pub present_violates: bool,
    /// The number of the advised setting; none if the present one stays, or nothing was found.
    pub advised: Option<usize>,
    /// The relative change of the objective on the unseen seeds; -0.2 takes a fifth less time.
    pub change: Option<Interval>,
    /// The same on the seeds of the search.
    pub change_on_search_seeds: Option<Interval>,
    /// Every knob.
    pub values: Vec<Turned>,
    /// What the turned knobs are worth, the most first.
    pub worth: Vec<Worth>,
    /// Knobs that the search turned back because they change nothing, with what that cost.
    pub indifferent: Vec<(String, f64)>,
    /// What the model says about each knob.
    pub profiles: Vec<Profile>,
    /// The workloads on the unseen seeds.
    pub cases: Vec<Checked>,
    /// What speed costs in pauses.
    pub front: Vec<Kept>,
    /// Runs that were made.
    pub runs: u64,
    /// Settings that were run.
    pub settings: u64,
    /// Settings that did what they must not.
    pub violating: u64,
    /// Whether the search ended because there was nothing more to gain.
    pub converged: bool,
}

impl Answer {
    /// What a search found.
    pub fn of(plan: &Plan, found: &Found) -> Self {
        let options = &plan.options;
        let (seen, unseen) = (0..options.all_seeds(), options.unseen_seeds());
        let feasible = |point: usize, seeds: &Range<u64>| {
            found.score(plan, point, seeds.clone()).is_some_and(|score| score.is_feasible())
        };
        let present_violates = !feasible(0, &seen) || !feasible(0, &unseen);
        let change = found.best.and_then(|best| found.change(plan, best, unseen.clone()));
        let verdict = match (found.best, change) {
            (None, _) => Verdict::NoneFound,
            (Some(best), _) if best != 0 && present_violates => Verdict::Better,
            (Some(_), Some(change)) if change.mean <= -WORTHWHILE => {
                if change.high < 0.0 {
                    Verdict::Better
                } else {
                    Verdict::Uncertain
                }
            }
            _ => Verdict::AsGood,
        };
        let advises = matches!(verdict, Verdict::Better | Verdict::Uncertain);
        let advised = found.best.filter(|best| advises && *best != 0);
        let scores = found.scores(plan);
        Self {
            verdict,
            present_violates,
            advised,
            change,
            change_on_search_seeds: found.best.and_then(|best| found.change(plan, best, seen)),
            values: values(plan, found, advised),
            worth: if advises { worth(plan, found, unseen.clone()) } else { Vec::new() },
            indifferent: found
                .indifferent
                .iter()
                .map(|(knob, cost)| (plan.knobs[*knob].name().to_owned(), exp(*cost) - 1.0))
                .collect(),
            profiles: profiles(plan, found),
            cases: (0..plan.cases.len())
                .map(|case| checked(plan, found, case, unseen.clone()))
                .collect(),
            front: front(plan, found),
            runs: found.rows.len() as u64,
            settings: found.points.len() as u64,
            violating: scores.iter().filter(|(score, _)| !score.is_feasible()).count() as u64,
            converged: found.converged,
        }
    }
}

impl Found {
    /// The logarithm of a setting's objective over that of another on the same seed, over all cases by weight, seed by
    /// seed.
    fn ratios(&self, plan: &Plan, point: usize, to: usize, seeds: Range<u64>) -> Vec<f64> {
        let of = |seed: u64| -> Option<f64> {
            let mut sum = 0.0;
            for (case, own) in plan.cases.iter().enumerate() {
                let value = |point| self.judged(plan, Run { point, case, seed })?.value;
                sum += own.weight * (value(point)? - value(to)?);
            }
            Some(sum)
        };
        seeds.filter_map(of).collect()
    }

    /// The relative change of the objective against the present setting.
    fn change(&self, plan: &Plan, point: usize, seeds: Range<u64>) -> Option<Interval> {
        Interval::relative(&self.ratios(plan, point, 0, seeds))
    }

    /// The mean of a figure over the runs of a setting on a case.
    fn mean(&self, point: usize, case: usize, seeds: Range<u64>, figure: &Figure) -> Option<f64> {
        let rows = seeds.filter_map(|seed| self.rows.get(&Run { point, case, seed }));
        let values: Vec<f64> = rows.filter_map(|row: &Row| row.figure(figure)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}

fn values(plan: &Plan, found: &Found, advised: Option<usize>) -> Vec<Turned> {
    let place = |knob: usize| advised.and_then(|point| found.points[point].places[knob]);
    let turned = |(at, knob): (usize, &crate::Knob)| Turned {
        knob: knob.name().to_owned(),
        keys: knob.axis.keys.iter().map(ToString::to_string).collect(),
        present: knob.value(None),
        advised: place(at).map(|place| knob.value(Some(place))),
    };
    plan.knobs.iter().enumerate().map(turned).collect()
}

fn worth(plan: &Plan, found: &Found, unseen: Range<u64>) -> Vec<Worth> {
    let Some(best) = found.best else { return Vec::new() };
    let mut all: Vec<Worth> = found
        .backs
        .iter()
        .map(|back| Worth {
            knobs: back.knobs.iter().map(|&knob| plan.knobs[knob].name().to_owned()).collect(),
            back: Interval::relative(&found.ratios(plan, back.point, best, unseen.clone())),
            violates: found
                .score(plan, back.point, unseen.clone())
                .is_none_or(|score| !score.is_feasible()),
        })
        .collect();
    all.sort_by(|a, b| {
        let key = |own: &Worth| own.back.map_or(f64::INFINITY, |back| back.mean);
        b.violates.cmp(&a.violates).then(key(b).total_cmp(&key(a)))
    });
    all
}

fn checked(plan: &Plan, found: &Found, case: usize, unseen: Range<u64>) -> Checked {
    let own = &plan.cases[case];
    let figure = own.goal.figure;
    let mean = |point: usize, figure: &Figure| found.mean(point, case, unseen.clone(), figure);
    let best = found.best;
    let ratios = |best: usize| -> Vec<f64> {
        let ratio = |seed| {
            let value = |point| found.judged(plan, Run { point, case, seed })?.value;
            Some(value(best)? - value(0)?)
        };
        unseen.clone().filter_map(ratio).collect()
    };
    let paused = Figure::named("paused_us");
    let paused_of = |point: Option<usize>| mean(point?, paused?);
    Checked {
        case: own.name.clone(),
        objective: figure.name,
        present: mean(0, figure),
        advised: best.and_then(|best| mean(best, figure)),
        change: best.and_then(|best| Interval::relative(&ratios(best))),
        paused_us: [paused_of(Some(0)), paused_of(best)],
    }
}

/// Settings of the front that are kept.
const MOST_FRONT: usize = 50;

/// Settings run on all seeds that keep the bounds, and than which none is better in both.
fn front(plan: &Plan, found: &Found) -> Vec<Kept> {
    let Some(paused) = Figure::named("paused_us") else { return Vec::new() };
    let seeds = plan.options.seeds;
    let mut all: Vec<Kept> = Vec::new();
    for (score, point) in found.scores(plan) {
        if !score.is_feasible() || score.seeds < seeds {
            continue;
        }
        let each = (0..plan.cases.len()).map(|case| found.mean(point, case, 0..seeds, paused));
        let Some(pauses) = each.collect::<Option<Vec<f64>>>() else { continue };
        let places = &found.points[point].places;
        let turned = plan.knobs.iter().zip(places).filter(|(_, place)| place.is_some());
        all.push(Kept {
            setting: point,
            change: exp(score.value) - 1.0,
            paused_us: pauses.iter().sum(),
            values: turned
                .map(|(knob, place)| (knob.name().to_owned(), knob.value(*place)))
                .collect(),
        });
    }
    all.sort_by(|a, b| a.change.total_cmp(&b.change).then(a.paused_us.total_cmp(&b.paused_us)));
    let mut front: Vec<Kept> = Vec::new();
    for one in all {
        if front.last().is_none_or(|last| one.paused_us < last.paused_us) {
            front.push(one);
        }
    }
    front.truncate(MOST_FRONT);
    front
}

/// Places of a range at which the model is asked.
const STEPS: usize = 20;

/// Steps in which the model learns the shape of the response.
const LEARNING: usize = 6;

fn profiles(plan: &Plan, found: &Found) -> Vec<Profile> {
    let Some(best) = found.best else { return Vec::new() };
    let told = found.told(plan);
    let mut model = Model::new(plan);
    let mut process = None;
    for _ in 0..LEARNING {
        process = model.learn(plan, &told);
    }
    let Some(process) = process else { return Vec::new() };
    let places = &found.points[best].places;
    (0..plan.knobs.len()).map(|knob| profile(plan, &process, places, knob)).collect()
}

fn profile(plan: &Plan, process: &Process, best: &[Place], at: usize) -> Profile {
    let knob = &plan.knobs[at];
    let mut place = model::coordinates(plan, best);
    let own = process.mean(&place);
    let tried: Vec<f64> = match knob.axis.levels() {
        Some(levels) => (0..levels).map(|level| (level as f64 + 0.5) / levels as f64).collect(),
        None => (0..=STEPS).map(|step| step as f64 / STEPS as f64).collect(),
    };
    let mut guess = |coordinate: f64| {
        place[at] = coordinate;
        process.mean(&place)
    };
    let values: Vec<f64> = tried.iter().map(|&coordinate| guess(coordinate)).collect();
    let least = values.iter().copied().fold(own, f64::min);
    let most = values.iter().copied().fold(own, f64::max);
    let near = |value: f64| value <= own + ln(1.01);
    let word = |coordinate: f64| knob.value(Some(knob.axis.rounded(coordinate)));
    let alike: Vec<String> = if knob.is_ordered() {
        // From where it is, as far as it goes in both directions.
        let here = knob.coordinate(best[at]);
        let mut range: Option<(usize, usize)> = None;
        let closest = (0..tried.len())
            .min_by(|a, b| (tried[*a] - here).abs().total_cmp(&(tried[*b] - here).abs()));
        if let Some(start) = closest.filter(|&start| near(values[start])) {
            let low = (0..=start).rev().take_while(|&step| near(values[step])).last();
            let high = (start..tried.len()).take_while(|&step| near(values[step])).last();
            range = low.zip(high);
        }
        range.map_or(Vec::new(), |(low, high)| vec![word(tried[low]), word(tried[high])])
    } else {
        let good = tried.iter().zip(&values).filter(|(_, value)| near(**value));
        good.map(|(&coordinate, _)| word(coordinate)).collect()
    };
    Profile {
        knob: knob.name().to_owned(),
        alike,
        everything: values.iter().all(|&value| near(value)),
        spread: exp(most - least) - 1.0,
    }
}
