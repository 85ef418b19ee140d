//! [`search`]: from the present setting to a better one, within a budget of runs.

use crate::design;
use crate::goal::Judged;
use crate::knob::Place;
use crate::model::{Model, Told};
use crate::plan::Plan;
use crate::score::Score;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use xoff_sweep::Row;
use xoff_workload::stream::Stream;

/// Why a setting was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// It is the present one.
    Present,
    /// Space is filled.
    Start,
    /// The model proposed it.
    Model,
    /// A good one with knobs turned back.
    Back,
}

impl Stage {
    /// Its word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Stage::Present => "present",
            Stage::Start => "start",
            Stage::Model => "model",
            Stage::Back => "back",
        }
    }
}

/// A setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Where every knob is.
    pub places: Vec<Place>,
    /// Why it was run.
    pub stage: Stage,
}

/// One run: a setting on a case with a seed. Seeds are counted from the case's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The number of the setting.
    pub point: usize,
    /// The number of the case.
    pub case: usize,
    /// The number of the seed.
    pub seed: u64,
}

/// What runs settings. The search is a function of what it answers.
pub trait Runner {
    /// Runs all of these, in any order, and answers in their order; none if somebody stops the search.
    fn run(&mut self, plan: &Plan, points: &[Point], runs: &[Run]) -> Option<Vec<Row>>;
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The settings that were run; the first is the present one.
    pub points: Vec<Point>,
    /// What each run gave.
    pub rows: BTreeMap<Run, Row>,
    /// The setting to propose: the best that keeps all bounds on all seeds, with every knob back that is worth nothing.
    pub best: Option<usize>,
    /// Knobs that were turned back because they are worth nothing, with what that changed on the seeds of the search.
    pub indifferent: Vec<(usize, f64)>,
    /// Settings like the best with one knob (or two that belong together) back, run on the unseen seeds.
    pub backs: Vec<Back>,
    /// Whether the model saw nothing to gain before the budget was used.
    pub converged: bool,
}

/// The best setting with some knobs back where the files have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Back {
    /// The knobs.
    pub knobs: Vec<usize>,
    /// The setting.
    pub point: usize,
}

/// A search under way.
pub(crate) struct Search<'a> {
    pub(crate) plan: &'a Plan,
    runner: &'a mut dyn Runner,
    pub(crate) found: Found,
    taken: BTreeMap<String, usize>,
}

/// A gain that is not worth a run: a twentieth of a percent.
const NOTHING: f64 = 0.0005;

/// Settings that the last choice is made among.
const FINALISTS: usize = 4;

/// Batches without more than that after which the model is believed, and those before it may be.
const PATIENCE: u64 = 4;
const FIRST_BATCHES: u64 = 12;

/// Searches. None if the runner stopped it.
pub fn search(plan: &Plan, runner: &mut dyn Runner) -> Option<Found> {
    let mut search = Search { plan, runner, found: Found::empty(), taken: BTreeMap::new() };
    search.present()?;
    search.start()?;
    search.model()?;
    let best = search.simplify()?;
    search.check(best)?;
    Some(search.found)
}

/// Runs so many settings at random on all seeds of the search, whatever the budget, and the best of them on the unseen
/// ones: what a search has to beat. None if the runner stopped it.
pub fn random(plan: &Plan, runner: &mut dyn Runner, count: u64) -> Option<Found> {
    let mut search = Search { plan, runner, found: Found::empty(), taken: BTreeMap::new() };
    search.present()?;
    let mut stream = Stream::new(plan.options.search_seed, 0, "tune at random");
    let mut points = Vec::new();
    // Of a space with few settings, not as many as are wished for are different.
    for _ in 0..count.saturating_mul(20) {
        if points.len() as u64 >= count {
            break;
        }
        let before = search.found.points.len();
        if let Some(places) = design::anywhere(plan, &mut stream) {
            let point = search.point(places, Stage::Start);
            points.extend((point == before).then_some(point));
        }
    }
    search.run(&points, search.seeds())?;
    let best = search.ranked(search.seeds()).first().copied();
    search.run(&[0], search.unseen())?;
    if let Some(best) = best {
        search.run(&[best], search.last_seeds())?;
        search.run(&[best], search.unseen())?;
        let feasible = search.score(best, 0..search.unseen().end);
        search.found.best = feasible.is_some_and(|score| score.is_feasible()).then_some(best);
    }
    Some(search.found)
}

impl Search<'_> {
    /// The seeds of the search.
    pub(crate) fn seeds(&self) -> Range<u64> {
        0..self.plan.options.seeds
    }

    /// The seeds of the last choice: those of the search, and as many again. What a search finds best is partly lucky on
    /// its seeds.
    pub(crate) fn last_seeds(&self) -> Range<u64> {
        0..self.plan.options.all_seeds()
    }

    /// The seeds that the search has not seen.
    pub(crate) fn unseen(&self) -> Range<u64> {
        self.plan.options.unseen_seeds()
    }

    fn cases(&self) -> u64 {
        self.plan.cases.len() as u64
    }

    /// Runs that are left.
    pub(crate) fn left(&self) -> u64 {
        self.plan.options.budget.saturating_sub(self.found.rows.len() as u64)
    }

    /// Whether so many settings can be run on so many seeds before the check.
    pub(crate) fn affords(&self, settings: u64, seeds: u64) -> bool {
        settings * seeds * self.cases() + self.kept() <= self.left()
    }

    /// The number of a setting; of a new one if it is not there.
    pub(crate) fn point(&mut self, places: Vec<Place>, stage: Stage) -> usize {
        let text = self.plan.text(&places);
        *self.taken.entry(text).or_insert_with(|| {
            self.found.points.push(Point { places, stage });
            self.found.points.len() - 1
        })
    }

    /// Runs settings on seeds, as far as that was not done.
    pub(crate) fn run(&mut self, points: &[usize], seeds: Range<u64>) -> Option<()> {
        let mut runs = BTreeSet::new();
        for &point in points {
            for case in 0..self.plan.cases.len() {
                runs.extend(seeds.clone().map(|seed| Run { point, case, seed }));
            }
        }
        let runs: Vec<Run> =
            runs.into_iter().filter(|run| !self.found.rows.contains_key(run)).collect();
        if runs.is_empty() {
            return Some(());
        }
        let rows = self.runner.run(self.plan, &self.found.points, &runs)?;
        assert_eq!(rows.len(), runs.len(), "a row for every run");
        self.found.rows.extend(runs.into_iter().zip(rows));
        Some(())
    }

    pub(crate) fn score(&self, point: usize, seeds: Range<u64>) -> Option<Score> {
        self.found.score(self.plan, point, seeds)
    }

    fn present(&mut self) -> Option<()> {
        let places = vec![None; self.plan.knobs.len()];
        let present = self.point(places, Stage::Present);
        self.run(&[present], self.last_seeds())
    }

    /// Fills space, and runs the better ones on more seeds.
    fn start(&mut self) -> Option<()> {
        let knobs = self.plan.knobs.len() as u64;
        // Up to a fifth of the search, on one seed each; halving at most doubles it.
        let usual = 12.max(2 * knobs + 4);
        let fifth = self.left().saturating_sub(self.reserve()) / (5 * self.cases());
        let kept = self.kept() + 3 * self.plan.options.all_seeds() * self.cases();
        let most = self.left().saturating_sub(kept) / (2 * self.cases());
        let count = usual.max(fifth.min(40)).min(most);
        let mut points = Vec::new();
        for number in 0..count {
            if let Some(places) = design::evenly(self.plan, number) {
                points.push(self.point(places, Stage::Start));
            }
        }
        self.halve(points)
    }

    /// Runs settings on one seed, the better half on two, and so on, until all seeds of the search are there; what beats the
    /// best so far is run on those of the last choice, too.
    fn halve(&mut self, mut points: Vec<usize>) -> Option<()> {
        let all = self.plan.options.seeds;
        let mut seeds = 1.min(all);
        loop {
            self.run(&points, 0..seeds)?;
            let best = self.incumbent().and_then(|best| self.score(best, 0..seeds));
            let mut ranked: Vec<(Score, usize)> = points
                .iter()
                .filter_map(|&point| Some((self.score(point, 0..seeds)?, point)))
                .collect();
            ranked.sort_by(|a, b| a.0.order(&b.0));
            let beats = |score: &Score| best.is_none_or(|best| score.order(&best).is_lt());
            if seeds >= all {
                let better: Vec<usize> = ranked
                    .into_iter()
                    .filter(|(score, _)| beats(score))
                    .map(|(_, point)| point)
                    .take(2)
                    .collect();
                return self.run(&better, self.last_seeds());
            }
            let half = ranked.len().div_ceil(2);
            let keep = |(at, (score, _)): &(usize, (Score, usize))| {
                *at < half && score.violation < 1000.0 || beats(score)
            };
            points =
                ranked.into_iter().enumerate().filter(keep).map(|(_, (_, point))| point).collect();
            seeds = (2 * seeds).min(all);
        }
    }

    /// The best setting that was run on all seeds of the last choice.
    pub(crate) fn incumbent(&self) -> Option<usize> {
        self.ranked(self.last_seeds()).first().copied()
    }

    /// All settings that were run on all of these seeds, the best first; of equal ones the first.
    pub(crate) fn ranked(&self, seeds: Range<u64>) -> Vec<usize> {
        let count = seeds.end - seeds.start;
        let mut all: Vec<(Score, usize)> = (0..self.found.points.len())
            .filter_map(|point| Some((self.score(point, seeds.clone())?, point)))
            .filter(|(score, _)| score.seeds == count)
            .collect();
        all.sort_by(|a, b| a.0.order(&b.0).then(a.1.cmp(&b.1)));
        all.into_iter().map(|(_, point)| point).collect()
    }

    /// Runs that nothing else may use: the present setting and another one on the unseen seeds.
    pub(crate) fn kept(&self) -> u64 {
        2 * self.plan.options.unseen * self.cases()
    }

    /// Runs that are kept for what comes after the search: turning back, and the check.
    fn reserve(&self) -> u64 {
        let (knobs, options) = (self.plan.knobs.len() as u64, &self.plan.options);
        let seeds = options.all_seeds();
        let back = knobs * seeds + (knobs * seeds).div_ceil(2);
        self.cases() * (FINALISTS as u64 * seeds + back + (2 + knobs.min(6)) * options.unseen)
    }

    /// Runs what the model proposes, batch by batch.
    fn model(&mut self) -> Option<()> {
        let mut model = Model::new(self.plan);
        let mut quiet = 0;
        for round in 0.. {
            let batch = 2 * crate::plan::BATCH as u64 * self.plan.options.seeds * self.cases();
            if self.left() < self.reserve() + batch {
                break;
            }
            let proposal = {
                let told = self.found.told(self.plan);
                let taken: BTreeSet<String> = self.taken.keys().cloned().collect();
                model.propose(self.plan, &told, &taken, round)
            };
            if proposal.settings.is_empty() {
                self.found.converged = true;
                break;
            }
            quiet = if proposal.gain < NOTHING { quiet + 1 } else { 0 };
            let points: Vec<usize> = proposal
                .settings
                .into_iter()
                .map(|places| self.point(places, Stage::Model))
                .collect();
            self.halve(points)?;
            if quiet >= PATIENCE && round >= FIRST_BATCHES {
                self.found.converged = true;
                break;
            }
        }
        self.complete()
    }

    /// Runs the settings that look best, whatever they were run on, on the seeds of the last choice.
    fn complete(&mut self) -> Option<()> {
        let mut ranked = self.found.scores(self.plan);
        ranked.sort_by(|a, b| a.0.order(&b.0).then(a.1.cmp(&b.1)));
        let mut best: Vec<usize> =
            ranked.into_iter().take(FINALISTS).map(|(_, point)| point).collect();
        while !self.affords(best.len() as u64, self.plan.options.seeds) {
            best.pop();
        }
        self.run(&best, self.seeds())?;
        let mut best: Vec<usize> = self.ranked(self.seeds()).into_iter().take(FINALISTS).collect();
        while !self.affords(best.len() as u64, self.plan.options.all_seeds()) {
            best.pop();
        }
        self.run(&best, self.last_seeds())
    }
}

impl Found {
    fn empty() -> Self {
        Self {
            points: Vec::new(),
            rows: BTreeMap::new(),
            best: None,
            indifferent: Vec::new(),
            backs: Vec::new(),
            converged: false,
        }
    }

    /// What a run says about its setting; none if it was not run.
    pub fn judged(&self, plan: &Plan, run: Run) -> Option<Judged> {
        self.rows.get(&run).map(|row| plan.cases[run.case].goal.judge(row))
    }

    /// The logarithm of a run's figure over that of the present setting on the same case and seed.
    pub fn ratio(&self, plan: &Plan, run: Run) -> Option<f64> {
        let own = self.judged(plan, run)?.value?;
        let present = self.judged(plan, Run { point: 0, ..run }).and_then(|judged| judged.value);
        // Where the present setting gives nothing at all, logarithms themselves are compared.
        Some(own - present.unwrap_or_default())
    }

    /// How good a setting is on the seeds of a range on which all cases were run; none if there are none.
    pub(crate) fn score(&self, plan: &Plan, point: usize, seeds: Range<u64>) -> Option<Score> {
        let (mut violation, mut value, mut count) = (0.0, 0.0, 0u64);
        for seed in seeds {
            let runs: Vec<Run> =
                (0..plan.cases.len()).map(|case| Run { point, case, seed }).collect();
            if !runs.iter().all(|run| self.rows.contains_key(run)) {
                continue;
            }
            count += 1;
            for run in runs {
                violation += self.judged(plan, run)?.violation;
                value += plan.cases[run.case].weight * self.ratio(plan, run).unwrap_or_default();
            }
        }
        let seeds = count as f64;
        (count > 0).then(|| Score {
            violation: violation / seeds,
            value: value / seeds,
            seeds: count,
        })
    }

    /// The scores of all settings on the seeds that they have of the search and its last choice.
    pub(crate) fn scores(&self, plan: &Plan) -> Vec<(Score, usize)> {
        let of =
            |point: usize| Some((self.score(plan, point, 0..plan.options.all_seeds())?, point));
        (0..self.points.len()).filter_map(of).collect()
    }

    /// The same for the model.
    pub(crate) fn told<'a>(&'a self, plan: &Plan) -> Vec<Told<'a>> {
        let told =
            |(score, point): (Score, usize)| Told { places: &self.points[point].places, score };
        self.scores(plan).into_iter().map(told).collect()
    }
}
