//! Means and how far they can be trusted.

use serde::Serialize;
use xoff_sweep::numeric::exp;

/// A mean, and the interval that holds the true one in 95 of 100 cases (Student's t).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Student's t at 97.5 %, for one to thirty degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

impl Interval {
    /// Of measurements; nothing of none. One alone has no interval: it could be anything.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count;
        let degrees = values.len() - 1;
        if degrees == 0 {
            return Some(Self { mean, low: f64::NEG_INFINITY, high: f64::INFINITY });
        }
        let square = |value: &f64| (value - mean) * (value - mean);
        let variance = values.iter().map(square).sum::<f64>() / degrees as f64;
        let t = STUDENT.get(degrees - 1).copied().unwrap_or(1.96);
        let half = t * (variance / count).sqrt();
        Some(Self { mean, low: mean - half, high: mean + half })
    }

    /// Of logarithms of ratios, as relative changes: 0.1 is ten percent more.
    pub fn relative(values: &[f64]) -> Option<Self> {
        let change = |log: f64| match log.is_finite() {
            true => exp(log) - 1.0,
            false if log < 0.0 => -1.0,
            false => f64::MAX,
        };
        let own = Self::of(values)?;
        Some(Self { mean: change(own.mean), low: change(own.low), high: change(own.high) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten numbers from 1 to 10: mean 5.5, deviation 3.0277, half width 2.262 x 0.9574.
    #[test]
    fn the_interval_is_students() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let own = Interval::of(&values).unwrap();
        assert_eq!(own.mean, 5.5);
        assert!((own.low - 3.334).abs() < 1e-3 && (own.high - 7.666).abs() < 1e-3, "{own:?}");
        assert!(Interval::of(&[]).is_none());
        assert_eq!(Interval::of(&[2.0]).unwrap().high, f64::INFINITY);
    }

    #[test]
    fn logarithms_become_relative_changes() {
        let tenth = xoff_sweep::numeric::ln(1.1);
        let own = Interval::relative(&[tenth, tenth]).unwrap();
        assert!((own.mean - 0.1).abs() < 1e-12 && (own.low - 0.1).abs() < 1e-9, "{own:?}");
        assert_eq!(Interval::relative(&[0.0]).unwrap().low, -1.0);
    }
}
