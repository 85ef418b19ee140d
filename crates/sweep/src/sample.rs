//! [`Sample`]: which combinations of the axes' values are run.

use crate::axis::{Axis, Setting};
use crate::sobol;
use xoff_workload::stream::Stream;

/// Which combinations are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Every combination.
    Grid,
    /// So many at random, such that every axis is divided into as many equal parts and each is met once.
    LatinHypercube {
        /// How many.
        points: u64,
        /// Of the draws.
        seed: u64,
    },
    /// The first so many of Sobol's sequence.
    Sobol {
        /// How many.
        points: u64,
        /// Shifts the whole sequence, if it is given.
        seed: Option<u64>,
    },
}

impl Sample {
    /// Its word in a sweep file.
    pub const fn word(self) -> &'static str {
        match self {
            Sample::Grid => "grid",
            Sample::LatinHypercube { .. } => "latin-hypercube",
            Sample::Sobol { .. } => "sobol",
        }
    }
}

/// Where the points of a sample are.
#[derive(Debug, Clone)]
pub(crate) enum Places {
    /// The number of values of each axis; the last axis changes first.
    Grid(Vec<u64>),
    /// By axis and point, a place from 0 to 1 in parts of 2^32.
    Drawn(Vec<Vec<u32>>),
    /// What is added, bit by bit, to each coordinate of Sobol's points.
    Sobol(Vec<u32>),
}

impl Places {
    /// Of a sample over these axes.
    pub(crate) fn new(sample: Sample, axes: &[Axis]) -> Self {
        match sample {
            Sample::Grid => {
                Places::Grid(axes.iter().map(|axis| axis.levels().unwrap_or(1) as u64).collect())
            }
            Sample::LatinHypercube { points, seed } => {
                let axis = |axis: usize| strata(points, seed, axis as u64);
                Places::Drawn((0..axes.len()).map(axis).collect())
            }
            Sample::Sobol { seed, .. } => {
                let shift = |axis: usize| match seed {
                    Some(seed) => {
                        (Stream::new(seed, axis as u64, "sobol shift").next_u64() >> 32) as u32
                    }
                    None => 0,
                };
                Places::Sobol((0..axes.len()).map(shift).collect())
            }
        }
    }

    /// What every key gets at a setting.
    pub(crate) fn settings<'a>(&self, axes: &'a [Axis], number: u64) -> Vec<Setting<'a>> {
        let each =
            axes.iter().enumerate().flat_map(|(at, axis)| match self.place(axis, at, number) {
                Place::Level(level) => axis.level(level),
                Place::Share(share) => axis.at(share),
            });
        each.collect()
    }

    /// Where a setting is on an axis.
    pub(crate) fn place(&self, axis: &Axis, at: usize, number: u64) -> Place {
        let drawn = match self {
            Places::Grid(levels) => {
                let below: u64 = levels[at + 1..].iter().product();
                return Place::Level((number / below.max(1) % levels[at].max(1)) as usize);
            }
            Places::Drawn(places) => places[at][number as usize],
            Places::Sobol(shift) => sobol::coordinate(number, at) ^ shift[at],
        };
        match axis.levels() {
            Some(levels) => Place::Level(((u64::from(drawn) * levels as u64) >> 32) as usize),
            None => Place::Share(f64::from(drawn) / (1u64 << 32) as f64),
        }
    }
}

/// Where a setting is on an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// At one of the values that are listed.
    Level(usize),
    /// So far between two values, from 0 to 1.
    Share(f64),
}

/// One place in each of `points` equal parts, in a random order.
fn strata(points: u64, seed: u64, axis: u64) -> Vec<u32> {
    let mut stream = Stream::new(seed, axis, "latin hypercube");
    let mut parts: Vec<u64> = (0..points).collect();
    stream.shuffle(&mut parts);
    let place = |part: u64| {
        // Rounded up, so that a place belongs to its part by its number alone.
        let [from, to] = [part, part + 1].map(|edge| (edge << 32).div_ceil(points));
        (from + stream.below(to - from)) as u32
    };
    parts.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every part of every axis is met once, whatever the seed.
        #[test]
        fn a_latin_hypercube_meets_every_part_once(points in 1u64..300, seed in any::<u64>()) {
            for axis in 0..3 {
                let places = strata(points, seed, axis);
                let part = |place: &u32| (u128::from(*place) * u128::from(points)) >> 32;
                let mut parts: Vec<u128> = places.iter().map(part).collect();
                parts.sort_unstable();
                let all: Vec<u128> = (0..u128::from(points)).collect();
                prop_assert_eq!(parts, all);
            }
        }
    }

    #[test]
    fn axes_are_drawn_independently() {
        let [a, b] = [0, 1].map(|axis| strata(64, 7, axis));
        assert_ne!(a, b);
        assert_ne!(a, strata(64, 8, 0));
        assert_eq!(a, strata(64, 7, 0));
    }
}
