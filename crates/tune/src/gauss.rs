//! [`Process`]: a Gaussian process, which guesses what settings nobody has run would give, and how sure that is.
//!
//! Kernel: Matérn 5/2 with a length for every coordinate (C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for
//! Machine Learning", 2006, eq. 4.17; marginal likelihood 5.8, here with the scale of the signal solved for), and
//! noise that falls with the number of seeds. A few hundred points by Cholesky's method: no library is needed, and
//! additions, multiplications, divisions and square roots give the same bits everywhere.

use xoff_sweep::numeric::{exp, ln};

/// Lengths that coordinates may have: from one on which a tenth of the range matters to one that hardly does.
const LENGTHS: [f64; 6] = [0.1, 0.2, 0.4, 0.8, 1.6, 6.4];

/// The noise of one seed, over the signal.
const NOISES: [f64; 6] = [1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 0.5];

/// What is learned about a response: indices into [`LENGTHS`] and [`NOISES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    lengths: Vec<usize>,
    noise: usize,
}

impl Shape {
    pub(crate) fn new(coordinates: usize) -> Self {
        Self { lengths: vec![3; coordinates], noise: 3 }
    }
}

/// Settings that were run, and what they gave.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Coordinates from 0 to 1.
    pub(crate) places: Vec<Vec<f64>>,
    /// What each gave; less is better.
    pub(crate) values: Vec<f64>,
    /// On how many seeds.
    pub(crate) seeds: Vec<f64>,
    /// Whether a coordinate is a name, and not an amount: two places are equal or not.
    pub(crate) names: Vec<bool>,
}

/// A process that has seen some settings.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    seen: Seen,
    scales: Vec<f64>,
    /// The lower triangle of the factor of the covariances, row by row.
    factor: Vec<Vec<f64>>,
    /// Covariances to the minus one, times what was seen.
    weights: Vec<f64>,
    mean: f64,
    /// The variance of the signal.
    signal: f64,
    /// The logarithm of the likelihood, up to a constant.
    likelihood: f64,
}

fn kernel(a: &[f64], b: &[f64], scales: &[f64], names: &[bool]) -> f64 {
    let mut square = 0.0;
    for at in 0..a.len() {
        let apart = if names[at] { f64::from(u8::from(a[at] != b[at])) } else { a[at] - b[at] };
        let apart = apart * scales[at];
        square += apart * apart;
    }
    let far = (5.0 * square).sqrt();
    (1.0 + far + far * far / 3.0) * exp(-far)
}

/// Solves `factor x = right` for a lower triangle.
fn forward(factor: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::with_capacity(right.len());
    for (row, right) in factor.iter().zip(right) {
        let known: f64 = row.iter().zip(&solved).map(|(a, b)| a * b).sum();
        solved.push((right - known) / row[solved.len()]);
    }
    solved
}

/// Solves `factor' x = right`.
fn backward(factor: &[Vec<f64>], mut right: Vec<f64>) -> Vec<f64> {
    for row in (0..right.len()).rev() {
        right[row] /= factor[row][row];
        let own = right[row];
        for (column, value) in right.iter_mut().enumerate().take(row) {
            *value -= factor[row][column] * own;
        }
    }
    right
}

impl Process {
    /// A process of this shape; none if what was seen contradicts itself under it.
    pub(crate) fn new(seen: Seen, shape: &Shape) -> Option<Self> {
        let scales: Vec<f64> = shape.lengths.iter().map(|&at| 1.0 / LENGTHS[at]).collect();
        let noise = NOISES[shape.noise];
        let count = seen.values.len();
        let mut factor: Vec<Vec<f64>> = Vec::with_capacity(count);
        for row in 0..count {
            let mut own: Vec<f64> = Vec::with_capacity(row + 1);
            let place = &seen.places[row];
            for (column, before) in factor.iter().enumerate() {
                let known: f64 = own.iter().zip(before).map(|(a, b)| a * b).sum();
                let value = kernel(place, &seen.places[column], &scales, &seen.names);
                own.push((value - known) / before[column]);
            }
            let known: f64 = own.iter().map(|a| a * a).sum();
            let value = kernel(place, place, &scales, &seen.names) + noise / seen.seeds[row] + 1e-9;
            if value <= known {
                return None;
            }
            own.push((value - known).sqrt());
            factor.push(own);
        }
        let mean = seen.values.iter().sum::<f64>() / count.max(1) as f64;
        let right: Vec<f64> = seen.values.iter().map(|value| value - mean).collect();
        let half = forward(&factor, &right);
        let signal = half.iter().map(|a| a * a).sum::<f64>() / count.max(1) as f64;
        let signal = signal.max(1e-12);
        let determinant: f64 = factor.iter().enumerate().map(|(at, row)| ln(row[at])).sum();
        let likelihood = -0.5 * count as f64 * ln(signal) - determinant;
        let weights = backward(&factor, half);
        Some(Self { seen, scales, factor, weights, mean, signal, likelihood })
    }

    /// The most likely process that a few steps from `shape` lead to; the shape is left for the next time.
    pub(crate) fn fit(seen: &Seen, shape: &mut Shape) -> Option<Self> {
        let mut best = Self::new(seen.clone(), shape);
        let better = |own: &Process, best: &Option<Process>| {
            best.as_ref().is_none_or(|best| own.likelihood > best.likelihood + 1e-9)
        };
        for coordinate in 0..=shape.lengths.len() {
            for step in [-1i64, 1] {
                let mut other = shape.clone();
                let (place, most) = match other.lengths.get_mut(coordinate) {
                    Some(length) => (length, LENGTHS.len()),
                    None => (&mut other.noise, NOISES.len()),
                };
                let moved = *place as i64 + step;
                if !(0..most as i64).contains(&moved) {
                    continue;
                }
                *place = moved as usize;
                if let Some(own) = Self::new(seen.clone(), &other)
                    && better(&own, &best)
                {
                    best = Some(own);
                    *shape = other;
                    break;
                }
            }
        }
        best
    }

    /// What a place gives, and the deviation of that guess.
    pub(crate) fn guess(&self, place: &[f64]) -> (f64, f64) {
        let near: Vec<f64> = self
            .seen
            .places
            .iter()
            .map(|own| kernel(own, place, &self.scales, &self.seen.names))
            .collect();
        let mean: f64 = near.iter().zip(&self.weights).map(|(a, b)| a * b).sum();
        let known: f64 = forward(&self.factor, &near).iter().map(|a| a * a).sum();
        (self.mean + mean, (self.signal * (1.0 - known).max(1e-12)).sqrt())
    }

    /// The same without its deviation, which takes longer.
    pub(crate) fn mean(&self, place: &[f64]) -> f64 {
        let each = self.seen.places.iter().zip(&self.weights);
        let sum: f64 = each
            .map(|(own, weight)| kernel(own, place, &self.scales, &self.seen.names) * weight)
            .sum();
        self.mean + sum
    }

    /// How much less than `best` a place gives, on average over what it may give and never below zero.
    pub(crate) fn improvement(&self, place: &[f64], best: f64) -> f64 {
        let (mean, deviation) = self.guess(place);
        let z = (best - mean) / deviation;
        deviation * (z * normal(z) + density(z))
    }
}

/// The density of the normal distribution.
fn density(z: f64) -> f64 {
    exp(-0.5 * z * z) * 0.398_942_280_401_432_7
}

/// The normal distribution: its Taylor series around zero, which needs a hundred terms at six deviations.
fn normal(z: f64) -> f64 {
    if z.abs() > 6.0 {
        return if z > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut term, mut sum) = (z, z);
    for odd in 1..120 {
        term *= z * z / f64::from(2 * odd + 1);
        sum += term;
    }
    (0.5 + density(z) * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(of: impl Fn(&[f64]) -> f64, count: u64) -> Seen {
        let places: Vec<Vec<f64>> = (1..=count)
            .map(|point| {
                let at = |axis| xoff_sweep::sobol::coordinate(point, axis);
                (0..2).map(|axis| f64::from(at(axis)) / 4_294_967_296.0).collect()
            })
            .collect();
        let values: Vec<f64> = places.iter().map(|place| of(place)).collect();
        let seeds = vec![1.0; values.len()];
        Seen { places, values, seeds, names: vec![false; 2] }
    }

    #[test]
    fn the_normal_distribution_is_the_known_one() {
        for (z, known) in
            [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (-5.0, 2.867e-7)]
        {
            assert!((normal(z) - known).abs() < 1e-9, "{z}: {}", normal(z));
        }
    }

    #[test]
    fn it_learns_a_bowl_and_which_coordinate_matters() {
        let bowl = |place: &[f64]| (place[0] - 0.3) * (place[0] - 0.3);
        let seen = seen(bowl, 40);
        let mut shape = Shape::new(2);
        let mut process = None;
        for _ in 0..6 {
            process = Process::fit(&seen, &mut shape);
        }
        let process = process.unwrap();
        for place in [[0.31, 0.5], [0.8, 0.1], [0.05, 0.9]] {
            let (mean, deviation) = process.guess(&place);
            assert!((mean - bowl(&place)).abs() < 0.01, "{mean} at {place:?}");
            assert!(deviation < 0.05, "{deviation}");
        }
        assert!(shape.lengths[1] > shape.lengths[0], "{shape:?}");
        let best = 0.0;
        assert!(
            process.improvement(&[0.3, 0.2], best + 0.1)
                > process.improvement(&[0.9, 0.2], best + 0.1)
        );
    }

    #[test]
    fn points_that_were_seen_are_sure_and_others_are_not() {
        let seen = seen(|place| place[0], 6);
        let process = Process::new(seen.clone(), &Shape { lengths: vec![1, 1], noise: 0 }).unwrap();
        let (mean, near) = process.guess(&seen.places[2]);
        let (_, far) = process.guess(&[0.99, 0.01]);
        assert!((mean - seen.values[2]).abs() < 1e-3 && near < far / 5.0, "{near} {far}");
    }

    #[test]
    fn equal_points_do_not_break_it() {
        let mut seen = seen(|place| place[0], 5);
        seen.places.push(seen.places[0].clone());
        seen.values.push(7.0);
        seen.seeds.push(1.0);
        assert!(Process::fit(&seen, &mut Shape::new(2)).is_some());
    }
}
