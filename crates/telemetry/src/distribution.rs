//! [`Distribution`]: mean and percentiles of many values.

use serde::{Deserialize, Serialize};

/// Mean and percentiles of many values. Percentiles are by nearest rank: each is a value that
/// occurred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Half of the values are at most this.
    pub p50: f64,
    /// 99 % of the values are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl Distribution {
    /// The distribution of `values`, each divided by `unit`; `None` of no values. Sorts `values`.
    ///
    /// Everything but the last division is on integers, so the order of `values` cannot show.
    pub fn of(values: &mut [u64], unit: u64) -> Option<Self> {
        values.sort_unstable();
        let max = *values.last()?;
        let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
        let unit = unit.max(1) as f64;
        let percentile = |percent| nearest_rank(values, percent).map(|v| v as f64 / unit);
        Some(Self {
            mean: sum as f64 / values.len() as f64 / unit,
            p50: percentile(50)?,
            p99: percentile(99)?,
            max: max as f64 / unit,
        })
    }

    /// The distribution of values that are no integers, sorted by `f64::total_cmp`; `None` of no
    /// values.
    pub fn of_sorted(sorted: &[f64]) -> Option<Self> {
        debug_assert!(sorted.is_sorted_by(|a, b| a.total_cmp(b).is_le()));
        Some(Self {
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p50: nearest_rank(sorted, 50)?,
            p99: nearest_rank(sorted, 99)?,
            max: *sorted.last()?,
        })
    }
}

/// The percentiles by which services are judged, by nearest rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half of the values are at most this.
    pub p50: f64,
    /// 90 % of the values are at most this.
    pub p90: f64,
    /// 99 % of the values are at most this.
    pub p99: f64,
}

impl Percentiles {
    /// The percentiles of `values`, each divided by `unit`; `None` of no values. Sorts `values`.
    pub fn of(values: &mut [u64], unit: u64) -> Option<Self> {
        values.sort_unstable();
        let unit = unit.max(1) as f64;
        let percentile = |percent| nearest_rank(values, percent).map(|value| value as f64 / unit);
        Some(Self { p50: percentile(50)?, p90: percentile(90)?, p99: percentile(99)? })
    }
}

/// The percentile of sorted values by nearest rank: the smallest value that at least `percent` % of
/// them do not exceed. `percent` 0 is the smallest, 100 and more the largest.
pub fn nearest_rank<T: Copy>(sorted: &[T], percent: u32) -> Option<T> {
    let rank = (sorted.len() as u128 * u128::from(percent.min(100))).div_ceil(100);
    sorted.get((rank as usize).saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_of_small_lists() {
        assert_eq!(nearest_rank::<u64>(&[], 50), None);
        assert_eq!(nearest_rank(&[7], 0), Some(7));
        assert_eq!(nearest_rank(&[7], 99), Some(7));
        let five = [15, 20, 35, 40, 50];
        for (percent, value) in [(0, 15), (5, 15), (30, 20), (40, 20), (50, 35), (100, 50)] {
            assert_eq!(nearest_rank(&five, percent), Some(value), "p{percent}");
        }
    }

    #[test]
    fn a_mean_that_would_overflow() {
        let d = Distribution::of(&mut [u64::MAX, u64::MAX], 1).unwrap();
        assert_eq!(d.mean, d.max);
        assert_eq!(Distribution::of(&mut [], 1), None);
    }

    #[test]
    fn values_that_are_no_integers() {
        let values: Vec<f64> = (1..=1000).map(f64::from).collect();
        let d = Distribution::of_sorted(&values).unwrap();
        assert_eq!((d.mean, d.p50, d.p99, d.max), (500.5, 500.0, 990.0, 1000.0));
        assert_eq!(Distribution::of_sorted(&[]), None);
    }

    proptest! {
        #[test]
        fn is_the_smallest_value_that_enough_do_not_exceed(
            mut values in prop::collection::vec(0u64..50, 1..200), percent in 0u32..=100,
        ) {
            values.sort_unstable();
            let found = nearest_rank(&values, percent).unwrap();
            let share = |limit| values.iter().filter(|&&v| v <= limit).count() * 100;
            prop_assert!(values.contains(&found));
            prop_assert!(share(found) >= percent as usize * values.len());
            if let Some(&below) = values.iter().rev().find(|&&v| v < found) {
                prop_assert!(share(below) < percent as usize * values.len());
            }
        }

        #[test]
        fn order_of_values_does_not_show(mut values in prop::collection::vec(any::<u64>(), 1..50)) {
            let mut reversed: Vec<_> = values.iter().rev().copied().collect();
            let one = Distribution::of(&mut values, 1000).unwrap();
            prop_assert_eq!(one, Distribution::of(&mut reversed, 1000).unwrap());
            prop_assert!(one.p50 <= one.p99 && one.p99 <= one.max);
        }
    }
}
