//! [`Score`]: how good a setting is, over its cases and seeds, beside the present one.

use std::cmp::Ordering;

/// How good a setting is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Score {
    /// How much its runs do what they must not, on average; zero if none does.
    pub(crate) violation: f64,
    /// The logarithm of its figure over that of the present setting on the same seeds, by weight; below zero is better.
    pub(crate) value: f64,
    /// Seeds of which all cases have been run.
    pub(crate) seeds: u64,
}

impl Score {
    /// The better one is less. Nothing that violates is as good as what does not.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let violation = self.violation.total_cmp(&other.violation);
        violation.then(self.value.total_cmp(&other.value))
    }

    /// Whether its runs do nothing that they must not.
    pub(crate) fn is_feasible(&self) -> bool {
        self.violation <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_violates_is_worse_than_all_that_does_not() {
        let of = |violation: f64, value: f64| Score { violation, value, seeds: 1 };
        let mut all = [of(3.0, -9.0), of(0.0, 5.0), of(2.0, -9.0), of(0.0, -1.0), of(2.0, -10.0)];
        all.sort_by(Score::order);
        let order: Vec<(f64, f64)> = all.iter().map(|own| (own.violation, own.value)).collect();
        assert_eq!(order, [(0.0, -1.0), (0.0, 5.0), (2.0, -10.0), (2.0, -9.0), (3.0, -9.0)]);
    }
}
