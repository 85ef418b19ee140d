//! [`Plan`]: everything a search depends on.

use crate::goal::Goal;
use crate::knob::{self, Knob, Place};
use std::ops::Range;
use xoff_sweep::Setting;

/// A workload that is tuned for.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// How much it counts; all together count 1.
    pub weight: f64,
    /// What is aimed at.
    pub goal: Goal,
    /// The seed of its first run; others follow it.
    pub first_seed: u64,
}

/// How much is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Runs, all together.
    pub budget: u64,
    /// Seeds that the search uses.
    pub seeds: u64,
    /// Seeds that the result is checked on.
    pub unseen: u64,
    /// Of the draws of the search itself.
    pub search_seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { budget: 600, seeds: 3, unseen: 10, search_seed: 1 }
    }
}

impl Options {
    /// The seeds of the search, and as many again for its last choice.
    pub fn all_seeds(&self) -> u64 {
        2 * self.seeds
    }

    /// The seeds that nothing is chosen by.
    pub fn unseen_seeds(&self) -> Range<u64> {
        self.all_seeds()..self.all_seeds() + self.unseen
    }
}

/// Everything a search depends on.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The workloads.
    pub cases: Vec<Case>,
    /// What may be changed.
    pub knobs: Vec<Knob>,
    /// How much is done.
    pub options: Options,
    pairs: Vec<(usize, usize)>,
}

/// Settings of a batch that the model proposes. Not by the number of threads: the result must not depend on it.
pub(crate) const BATCH: usize = 4;

impl Plan {
    /// Of cases, whose weights are scaled, and knobs. There must be some of each.
    pub fn new(mut cases: Vec<Case>, knobs: Vec<Knob>, options: Options) -> Self {
        assert!(!cases.is_empty() && !knobs.is_empty(), "something to tune, and something to turn");
        let sum: f64 = cases.iter().map(|case| case.weight).sum();
        let count = cases.len() as f64;
        for case in &mut cases {
            case.weight = if sum > 0.0 { case.weight / sum } else { 1.0 / count };
        }
        let pairs = knob::ordered_pairs(&knobs);
        Self { cases, knobs, options, pairs }
    }

    /// The fewest runs that a search of so many cases and knobs can do with.
    pub fn least_budget(cases: u64, knobs: u64, options: &Options) -> u64 {
        // Twelve settings that are halved, three and the present one on all seeds, every knob back, and the check.
        let seeds = options.all_seeds();
        cases * (24 + 4 * seeds + knobs * seeds + 2 * options.unseen)
    }

    /// What the keys get at a setting.
    pub fn settings(&self, places: &[Place]) -> Vec<Setting<'_>> {
        self.knobs.iter().zip(places).flat_map(|(knob, place)| knob.settings(*place)).collect()
    }

    /// Whether thresholds that have an order keep it.
    pub(crate) fn in_order(&self, places: &[Place]) -> bool {
        knob::in_order(&self.knobs, &self.pairs, places)
    }

    /// Knobs that must be turned back together with one: the other threshold of its pair.
    pub(crate) fn companion(&self, knob: usize) -> Option<usize> {
        self.pairs.iter().find_map(|&(a, b)| match knob {
            own if own == a => Some(b),
            own if own == b => Some(a),
            _ => None,
        })
    }

    /// The seed of a run.
    pub fn seed(&self, case: usize, seed: u64) -> u64 {
        self.cases[case].first_seed.wrapping_add(seed)
    }

    /// A setting as values with two digits, which is what is run and advised; a value that is in force now is left to the
    /// files.
    pub(crate) fn round(&self, places: &mut [Place]) {
        for (knob, place) in self.knobs.iter().zip(places) {
            let rounded = place.map(|place| knob.axis.rounded(place));
            *place = rounded.filter(|place| knob.present_place() != Some(*place));
        }
    }

    /// What tells a setting from others: its values, in words.
    pub fn text(&self, places: &[Place]) -> String {
        let settings = self.settings(places);
        let words = settings.iter().map(|own| format!("{}={}", own.key, own.value));
        words.collect::<Vec<_>>().join(",")
    }
}
