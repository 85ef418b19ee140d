//! [`Plan`]: the points of a sweep, by their numbers.
//!
//! A point is a setting (what every key gets) with a seed. Points are numbered setting by setting, and
//! within one seed by seed. What a point is depends on the sweep file and its number alone.

use crate::axis::{Axis, Setting};
use crate::file::Sweep;
use crate::sample::{Place, Places};
use crate::value::shown;

/// The points of a sweep.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The sweep.
    pub sweep: Sweep,
    places: Places,
    settings: u64,
    first_seed: u64,
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point<'a> {
    /// Its number, from 0.
    pub number: u64,
    /// The number of its setting, from 0; points that differ only in their seed have the same.
    pub setting: u64,
    /// Its seed.
    pub seed: u64,
    /// What every key gets, in the order of the axes.
    pub settings: Vec<Setting<'a>>,
}

impl Plan {
    /// The plan of a sweep whose scenario has this seed.
    pub fn new(sweep: Sweep, first_seed: u64) -> Self {
        let places = Places::new(sweep.sample, &sweep.axes);
        // A sweep that was read has a number of settings.
        let settings = sweep.settings().unwrap_or_default();
        Self { sweep, places, settings, first_seed }
    }

    /// How many points there are.
    pub fn points(&self) -> u64 {
        self.settings * self.sweep.seeds.count()
    }

    /// How many settings there are.
    pub fn settings(&self) -> u64 {
        self.settings
    }

    /// The axes.
    pub fn axes(&self) -> &[Axis] {
        &self.sweep.axes
    }

    /// Where a setting is on an axis.
    pub(crate) fn place(&self, axis: usize, setting: u64) -> Place {
        self.places.place(&self.sweep.axes[axis], axis, setting)
    }

    /// What every key gets at a setting.
    pub fn setting(&self, setting: u64) -> Vec<Setting<'_>> {
        self.places.settings(&self.sweep.axes, setting)
    }

    /// A point; none if there is none of this number.
    pub fn point(&self, number: u64) -> Option<Point<'_>> {
        if number >= self.points() {
            return None;
        }
        let seeds = self.sweep.seeds.count();
        let (setting, seed) = (number / seeds, number % seeds);
        Some(Point {
            number,
            setting,
            seed: self.sweep.seeds.seed(seed, self.first_seed),
            settings: self.places.settings(&self.sweep.axes, setting),
        })
    }
}

impl Point<'_> {
    /// What it changes, in one line.
    pub fn words(&self) -> String {
        let each = self.settings.iter();
        let mut words: Vec<String> =
            each.map(|setting| format!("{} = {}", setting.key, shown(&setting.value))).collect();
        words.push(format!("seed {}", self.seed));
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn plan(text: &str) -> Plan {
        let text = format!("scenario = 's.toml'\n{text}");
        Plan::new(Sweep::parse(&text).unwrap_or_else(|found| panic!("{found:#?}")), 5)
    }

    #[test]
    fn a_grid_has_every_combination_once_and_the_last_axis_changes_first() {
        let plan = plan(
            "seeds = 2\n[[axis]]\nkey = 'fabric.a'\nvalues = ['x', 'y']\n[[axis]]\nkey = 'fabric.b'\n\
             from = 1\nto = 3\nsteps = 3\n[[axis]]\nkeys = ['fabric.c', 'fabric.d']\nvalues = [[1, 2], [3, 4]]\n",
        );
        assert_eq!((plan.points(), plan.settings()), (24, 12));
        let words: Vec<String> =
            (0..24).map(|number| plan.point(number).unwrap().words()).collect();
        assert_eq!(words[0], "fabric.a = x, fabric.b = 1, fabric.c = 1, fabric.d = 2, seed 5");
        assert_eq!(words[1], "fabric.a = x, fabric.b = 1, fabric.c = 1, fabric.d = 2, seed 6");
        assert_eq!(words[2], "fabric.a = x, fabric.b = 1, fabric.c = 3, fabric.d = 4, seed 5");
        assert_eq!(words[23], "fabric.a = y, fabric.b = 3, fabric.c = 3, fabric.d = 4, seed 6");
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), 24);
        assert_eq!(plan.point(24), None);
    }

    #[test]
    fn seeds_alone_are_a_sweep() {
        let plan = plan("seeds = [7, 3]\n");
        let seeds: Vec<u64> = (0..2).map(|number| plan.point(number).unwrap().seed).collect();
        assert_eq!((plan.points(), seeds), (2, vec![7, 3]));
    }

    #[test]
    fn samples_stay_within_the_ends() {
        for sample in
            ["sample = 'latin-hypercube'", "sample = 'sobol'", "sample = 'sobol'\nsample-seed = 9"]
        {
            let plan = plan(&format!(
                "{sample}\npoints = 64\n[[axis]]\nkey = 'fabric.a'\nfrom = 10\nto = 20\n\
                 [[axis]]\nkey = 'fabric.b'\nvalues = ['x', 'y']\n"
            ));
            assert_eq!(plan.points(), 64);
            let of = |number| plan.point(number).unwrap().settings;
            let all: Vec<_> = (0..64).map(of).collect();
            let numbers: Vec<i64> = all.iter().map(|s| s[0].value.as_integer().unwrap()).collect();
            assert!(numbers.iter().all(|number| (10..=20).contains(number)), "{numbers:?}");
            assert!((10..20).all(|number| numbers.contains(&number)), "{numbers:?}");
            let x = all.iter().filter(|s| s[1].value.as_str() == Some("x")).count();
            assert_eq!(x, 32, "{sample}");
        }
    }

    proptest! {
        /// Any file gives a sweep or a list of what is wrong with it, each at a place of the file.
        #[test]
        fn no_text_breaks_it(text in "\\PC*", cut in 0usize..400, place in 0usize..400, with in any::<char>()) {
            let whole = "scenario = \"s.toml\"\nseeds = [1, 2]\nsample = \"sobol\"\npoints = 9\nresults = [\"pauses\"]\n\
                [[axis]]\nkey = \"fabric.ecn.kmin\"\nfrom = \"1KB\"\nto = \"1MB\"\nscale = \"log\"\n\
                [[axis]]\nkeys = [\"scenario.workload[0].size\", \"fabric.b\"]\nvalues = [[1, 2], [3, 4]]\n";
            let mut changed: String = whole.chars().take(cut).collect();
            changed.insert(place.min(changed.len()), with);
            for text in [text, changed] {
                match Sweep::parse(&text) {
                    Ok(sweep) => {
                        let plan = Plan::new(sweep, 1);
                        prop_assert!(plan.point(0).is_some() && plan.point(plan.points()).is_none());
                    }
                    Err(problems) => prop_assert!(!problems.is_empty()),
                }
            }
        }
    }
}
