//! [`Matrix`]: what every rank has for every other where that is not the same: AllToAllv.
//!
//! As a file it is what nccl-tests' `alltoallv_perf` reads: numbers of bytes between blanks, a line per sender.
//! Mixtures of experts are uneven in one way: some experts are popular with everybody ([`Uneven::Skewed`]).

use super::shape::part;
use crate::stream::Stream;
use std::sync::Arc;
use xoff_units::Bytes;

/// How uneven an AllToAll is.
#[derive(Debug, Clone, PartialEq)]
pub enum Uneven {
    /// The busiest rank is sent so many times what ranks are sent in the mean. Loads fall as a power of the place in an
    /// order that is drawn; all senders have the same favourites.
    Skewed {
        /// Busiest over mean: from 1 to the number of ranks.
        ratio: f64,
        /// Draws the order.
        seed: u64,
    },
    /// Exactly this, whatever the size.
    Exactly(Arc<Matrix>),
}

impl Uneven {
    /// What every rank has for every other, if each has `size` in all.
    pub fn matrix(&self, size: Bytes, ranks: u32) -> Arc<Matrix> {
        match self {
            Uneven::Exactly(matrix) => Arc::clone(matrix),
            Uneven::Skewed { ratio, seed } => Arc::new(Matrix::skewed(size, ranks, *ratio, *seed)),
        }
    }
}

/// Bytes from every rank to every rank, those to itself included: they take no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    ranks: u32,
    /// Row by row; a row is a sender.
    bytes: Vec<u64>,
}

/// Most ranks of a matrix.
const MOST_RANKS: usize = 8192;

impl Matrix {
    /// The matrix of a text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let (mut rows, mut columns) = (0usize, 0usize);
        for (line, number) in text.lines().zip(1..) {
            let before = bytes.len();
            for word in line.split_whitespace() {
                let value = word.parse::<u64>();
                let value =
                    value.map_err(|_| format!("line {number}: `{word}` is no number of bytes"))?;
                bytes.push(value);
            }
            let found = bytes.len() - before;
            if found == 0 {
                continue;
            }
            columns = if rows == 0 { found } else { columns };
            rows += 1;
            if found != columns {
                return Err(format!("line {number} has {found} numbers, the first row {columns}"));
            }
            if columns > MOST_RANKS {
                return Err(format!("{columns} numbers in a row; at most {MOST_RANKS} ranks"));
            }
        }
        if rows != columns || rows == 0 {
            return Err(format!(
                "{rows} rows of {columns} numbers; a matrix has as many rows as columns"
            ));
        }
        let sum = bytes.iter().try_fold(0u64, |sum, &bytes| sum.checked_add(bytes));
        match sum {
            None => Err("more bytes in all than can be counted".to_owned()),
            Some(0) => Err("all numbers are zero: nothing to send".to_owned()),
            Some(_) => Ok(Self { ranks: rows as u32, bytes }),
        }
    }

    /// Rows that are alike and sum up to `size`; the busiest column has `ratio` times the mean.
    fn skewed(size: Bytes, ranks: u32, ratio: f64, seed: u64) -> Self {
        let weights = weights(ranks, ratio);
        let mut order: Vec<u32> = (0..ranks).collect();
        Stream::new(seed, 0, "popular ranks").shuffle(&mut order);
        let mut row = vec![0; ranks as usize];
        let mut left = size.get();
        for (&rank, weight) in order.iter().zip(&weights) {
            let own = ((size.get() as f64 * weight).round() as u64).min(left);
            row[rank as usize] = own;
            left -= own;
        }
        // What rounding left over.
        (0..ranks).for_each(|rank| row[rank as usize] += part(left, ranks, rank));
        let bytes = (0..ranks).flat_map(|_| row.iter().copied()).collect();
        Self { ranks, bytes }
    }

    /// How many ranks it is for.
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// What a rank has for another.
    pub fn between(&self, from: u32, to: u32) -> Bytes {
        Bytes::new(self.bytes[from as usize * self.ranks as usize + to as usize])
    }

    /// What the busiest rank sends or receives, itself included: the size of it, as nccl-tests counts.
    pub fn busiest(&self) -> Bytes {
        let ranks = || 0..self.ranks;
        let sent = ranks().map(|from| ranks().map(|to| self.between(from, to).get()).sum::<u64>());
        let received = ranks().map(|to| ranks().map(|from| self.between(from, to).get()).sum());
        Bytes::new(sent.chain(received).max().unwrap_or(0))
    }
}

/// Shares that sum up to 1 and fall as a power of their place; the first is `ratio` times the mean.
fn weights(ranks: u32, ratio: f64) -> Vec<f64> {
    let of = |power: f64| {
        let all: Vec<f64> = (1..=ranks).map(|place| f64::from(place).powf(-power)).collect();
        let sum: f64 = all.iter().sum();
        all.into_iter().map(|weight| weight / sum).collect::<Vec<f64>>()
    };
    let (mut low, mut high) = (0.0, 64.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        let first = of(middle).first().copied().unwrap_or(1.0) * f64::from(ranks);
        if first < ratio { low = middle } else { high = middle }
    }
    of(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_matrix_says_so() {
        let wrong = |text: &str| Matrix::parse(text).unwrap_err();
        assert_eq!(wrong(""), "0 rows of 0 numbers; a matrix has as many rows as columns");
        assert_eq!(wrong("1 2\n\n3 x\n"), "line 3: `x` is no number of bytes");
        assert_eq!(wrong("1 2\n3\n"), "line 2 has 1 numbers, the first row 2");
        assert_eq!(
            wrong("1 2 3\n4 5 6\n"),
            "2 rows of 3 numbers; a matrix has as many rows as columns"
        );
        assert_eq!(wrong("0 0\n0 0\n"), "all numbers are zero: nothing to send");
        assert_eq!(wrong("-1"), "line 1: `-1` is no number of bytes");
        assert!(wrong(&format!("{0} {0}\n{0} {0}", u64::MAX)).contains("can be counted"));
    }

    #[test]
    fn a_file_is_row_by_row() {
        let matrix = Matrix::parse("0 16 32\n48\t0 64\n\n  80 96 0  \n").unwrap();
        assert_eq!(matrix.ranks(), 3);
        assert_eq!(matrix.between(1, 2), Bytes::new(64));
        assert_eq!(matrix.between(2, 1), Bytes::new(96));
        // Rank 2 sends 176 and rank 0 receives 128.
        assert_eq!(matrix.busiest(), Bytes::new(176));
    }

    #[test]
    fn the_busiest_has_its_share() {
        for (ranks, ratio) in [(8, 1.0), (8, 2.0), (64, 1.5), (64, 10.0), (256, 3.0), (4, 4.0)] {
            let size = Bytes::new(64 << 20);
            let matrix = Matrix::skewed(size, ranks, ratio, 7);
            let row: Vec<u64> = (0..ranks).map(|to| matrix.between(3, to).get()).collect();
            assert_eq!(row.iter().sum::<u64>(), size.get(), "{ranks} {ratio}");
            let most = row.iter().max().copied().unwrap_or(0) as f64;
            let seen = most * f64::from(ranks) / size.get() as f64;
            assert!((seen / ratio - 1.0).abs() < 0.01, "{ranks} {ratio}: {seen}");
        }
        let other = Matrix::skewed(Bytes::new(1 << 20), 64, 3.0, 8);
        assert_ne!(other, Matrix::skewed(Bytes::new(1 << 20), 64, 3.0, 9));
    }
}
