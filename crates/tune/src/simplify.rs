//! The end of a search: turning back what is worth nothing, and the seeds that it has not seen.
//!
//! A search moves every knob, also those that do not matter. An advised change that gains nothing is not advised: every
//! knob goes back to where the files have it, unless that costs something.

use crate::score::Score;
use crate::search::{Back, Search, Stage};

/// What all knobs that are turned back together may cost: half a percent.
const TOLERANCE: f64 = 0.005;

/// Settings that are tried on the unseen seeds, if those before them do there what they must not.
const CANDIDATES: usize = 5;

impl Search<'_> {
    /// The best setting, with every knob back that is worth nothing. None in it if nothing keeps the bounds.
    pub(crate) fn simplify(&mut self) -> Option<Option<usize>> {
        let seeds = self.last_seeds();
        let Some(best) = self.ranked(seeds.clone()).first().copied() else { return Some(None) };
        let Some(score) = self.score(best, seeds.clone()).filter(|score| score.is_feasible())
        else {
            return Some(None);
        };
        let changed = self.changed(best);
        if changed.is_empty() || !self.affords(changed.len() as u64, seeds.end) {
            return Some(Some(best));
        }
        let each: Vec<(usize, usize)> =
            changed.iter().map(|&knob| (knob, self.back(best, &[knob]))).collect();
        let points: Vec<usize> = each.iter().map(|(_, point)| *point).collect();
        self.run(&points, seeds.clone())?;
        let cost = |(knob, point): &(usize, usize)| {
            let own = self.score(*point, seeds.clone())?;
            own.is_feasible().then_some((own.value - score.value, *knob))
        };
        let mut costs: Vec<(f64, usize)> = each.iter().filter_map(cost).collect();
        costs.retain(|(cost, _)| *cost <= TOLERANCE);
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // One after the other on top of those before it, as long as all together cost nothing.
        let (mut point, mut back) = (best, Vec::new());
        for (cost, knob) in costs {
            if self.found.points[point].places[knob].is_none() || !self.affords(1, seeds.end) {
                continue;
            }
            let next = self.back(point, &[knob]);
            self.run(&[next], seeds.clone())?;
            let own = self.score(next, seeds.clone()).filter(|own| own.is_feasible());
            if own.is_some_and(|own| own.value <= score.value + TOLERANCE) {
                back.extend(self.different(point, next).into_iter().map(|knob| (knob, cost)));
                point = next;
            }
        }
        self.found.indifferent = back;
        Some(Some(point))
    }

    /// Knobs that are not where the files have them.
    pub(crate) fn changed(&self, point: usize) -> Vec<usize> {
        let places = self.found.points[point].places.iter().enumerate();
        places.filter(|(_, place)| place.is_some()).map(|(knob, _)| knob).collect()
    }

    /// Knobs in which two settings differ.
    fn different(&self, a: usize, b: usize) -> Vec<usize> {
        let [a, b] = [a, b].map(|point| &self.found.points[point].places);
        (0..a.len()).filter(|&knob| a[knob] != b[knob]).collect()
    }

    /// A setting with knobs back, and with them the other threshold where one alone would be in the wrong order.
    fn back(&mut self, point: usize, knobs: &[usize]) -> usize {
        let mut places = self.found.points[point].places.clone();
        for &knob in knobs {
            places[knob] = None;
            if !self.plan.in_order(&places)
                && let Some(other) = self.plan.companion(knob)
            {
                places[other] = None;
            }
        }
        self.point(places, Stage::Back)
    }

    /// Runs the present setting and the best one on the unseen seeds, the next best where that one does there what it
    /// must not, and what becomes of it with each of its knobs back.
    pub(crate) fn check(&mut self, best: Option<usize>) -> Option<()> {
        let unseen = self.unseen();
        let count = self.plan.options.unseen;
        self.run(&[0], unseen.clone())?;
        let next: Vec<usize> =
            self.ranked(self.last_seeds()).into_iter().filter(|own| Some(*own) != best).collect();
        // Ever farther away from one that fails: its neighbours would, too. The present setting is the last resort.
        let steps = (0..).map(|power| (1usize << power) - 1).take(CANDIDATES);
        let farther = steps.filter_map(|step| next.get(step).copied());
        let candidates: Vec<usize> = best.into_iter().chain(farther).chain([0]).collect();
        for candidate in candidates {
            let feasible = |score: Option<Score>| score.is_some_and(|score| score.is_feasible());
            let cost = count * self.plan.cases.len() as u64;
            let affordable = candidate == 0 || cost <= self.left();
            if !feasible(self.score(candidate, self.last_seeds())) || !affordable {
                continue;
            }
            self.run(&[candidate], unseen.clone())?;
            if feasible(self.score(candidate, unseen.clone())) {
                self.found.best = Some(candidate);
                break;
            }
        }
        if self.found.best != best {
            self.found.indifferent.clear();
        }
        self.worth()
    }

    /// Runs the best setting with each of its knobs back on the unseen seeds, those that matter most first.
    fn worth(&mut self) -> Option<()> {
        let Some(best) = self.found.best else { return Some(()) };
        let mut backs: Vec<(f64, Back)> = Vec::new();
        for knob in self.changed(best) {
            let point = self.back(best, &[knob]);
            let knobs = self.different(best, point);
            if backs.iter().any(|(_, back)| back.point == point) {
                continue;
            }
            let cost = self
                .score(point, self.last_seeds())
                .map_or(0.0, |score| if score.is_feasible() { score.value } else { f64::INFINITY });
            backs.push((cost, Back { knobs, point }));
        }
        backs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.point.cmp(&b.1.point)));
        let unseen = self.unseen();
        let each = self.plan.options.unseen * self.plan.cases.len() as u64;
        backs.truncate((self.left() / each.max(1)) as usize);
        self.found.backs = backs.into_iter().map(|(_, back)| back).collect();
        let points: Vec<usize> = self.found.backs.iter().map(|back| back.point).collect();
        self.run(&points, unseen)
    }
}
