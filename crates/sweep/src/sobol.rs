//! Sobol' points: a sequence that fills a cube evenly, however many points are taken.
//!
//! Direction numbers by S. Joe and F. Y. Kuo ("Constructing Sobol sequences with better
//! two-dimensional projections", SIAM J. Sci. Comput. 30, 2008; set `new-joe-kuo-6`), in the order of
//! Antonov and Saleev: point `n` is the exclusive or of the direction numbers at the bits of the Gray code of `n`.

/// The most dimensions there are numbers for.
pub const MOST_DIMENSIONS: usize = 21;

/// Bits of a coordinate.
const BITS: usize = 32;

/// For dimensions two and up: the inner coefficients of a primitive polynomial as bits, and the first
/// direction numbers, as many as its degree.
const POLYNOMIALS: [(u32, &[u32]); MOST_DIMENSIONS - 1] = [
    (0, &[1]),
    (1, &[1, 3]),
    (1, &[1, 3, 1]),
    (2, &[1, 1, 1]),
    (1, &[1, 1, 3, 3]),
    (4, &[1, 3, 5, 13]),
    (2, &[1, 1, 5, 5, 17]),
    (4, &[1, 1, 5, 5, 5]),
    (7, &[1, 1, 7, 11, 19]),
    (11, &[1, 1, 5, 1, 1]),
    (13, &[1, 1, 1, 3, 11]),
    (14, &[1, 3, 5, 5, 31]),
    (1, &[1, 3, 3, 9, 7, 49]),
    (13, &[1, 1, 1, 15, 21, 21]),
    (16, &[1, 3, 1, 13, 27, 49]),
    (19, &[1, 1, 1, 15, 7, 5]),
    (22, &[1, 3, 1, 15, 13, 25]),
    (25, &[1, 1, 5, 5, 19, 61]),
    (1, &[1, 3, 7, 11, 23, 15, 103]),
    (4, &[1, 3, 7, 13, 13, 15, 69]),
];

/// The direction numbers of a dimension, from zero.
fn directions(dimension: usize) -> [u32; BITS] {
    let mut numbers = [0; BITS];
    let Some((coefficients, first)) = dimension.checked_sub(1).map(|at| POLYNOMIALS[at]) else {
        // The first dimension is the van der Corput sequence.
        (0..BITS).for_each(|bit| numbers[bit] = 1 << (BITS - 1 - bit));
        return numbers;
    };
    let degree = first.len();
    for bit in 0..BITS {
        numbers[bit] = match first.get(bit) {
            Some(number) => number << (BITS - 1 - bit),
            None => {
                let before = numbers[bit - degree];
                let inner = (1..degree).filter(|k| coefficients >> (degree - 1 - k) & 1 == 1);
                inner.fold(before ^ before >> degree, |sum, k| sum ^ numbers[bit - k])
            }
        };
    }
    numbers
}

/// A coordinate of a point, as a share of 2^32.
pub fn coordinate(point: u64, dimension: usize) -> u32 {
    let gray = point ^ point >> 1;
    let numbers = directions(dimension);
    let set = (0..BITS).filter(|bit| gray >> bit & 1 == 1);
    set.fold(0, |sum, bit| sum ^ numbers[bit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(point: u64, dimension: usize) -> f64 {
        f64::from(coordinate(point, dimension)) / (1u64 << 32) as f64
    }

    /// As published with the direction numbers (the first ten points of three dimensions).
    #[test]
    fn the_first_points_are_the_known_ones() {
        let known = [
            [0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25],
            [0.25, 0.75, 0.75],
            [0.375, 0.375, 0.625],
            [0.875, 0.875, 0.125],
            [0.625, 0.125, 0.875],
            [0.125, 0.625, 0.375],
            [0.1875, 0.3125, 0.9375],
            [0.6875, 0.8125, 0.4375],
        ];
        for (point, known) in known.iter().enumerate() {
            let own = [0, 1, 2].map(|dimension| share(point as u64, dimension));
            assert_eq!(own, *known, "point {point}");
        }
    }

    /// In every dimension the first 2^k points fall into each of 2^k equal parts once.
    #[test]
    fn every_dimension_is_filled_evenly() {
        for dimension in 0..MOST_DIMENSIONS {
            let mut seen = [false; 256];
            (0..256).for_each(|point| seen[(share(point, dimension) * 256.0) as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "dimension {dimension}");
        }
    }

    /// Two dimensions are not copies of each other: of 2,048 points, each of 8 x 8 fields gets some. (Of 1,024, those of
    /// the dimensions 15 and 16 leave half of the fields out: so are the published numbers.)
    #[test]
    fn pairs_of_dimensions_are_filled() {
        for a in 0..MOST_DIMENSIONS {
            for b in 0..a {
                let mut seen = [0u32; 64];
                for point in 0..2048 {
                    let [x, y] = [a, b].map(|dimension| (share(point, dimension) * 8.0) as usize);
                    seen[x * 8 + y] += 1;
                }
                assert!(seen.iter().all(|&count| count > 0), "{a} and {b}: {seen:?}");
            }
        }
    }
}
