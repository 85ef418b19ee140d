//! Shards: the rows of some consecutive points as lines of JSON.
//!
//! The first line says which sweep and which shard it is; a line that is cut off, or is no row of the
//! shard, is as good as none. A row is the same whoever makes it, so that two processes that make the
//! same shard do no harm.

use crate::row::{Figure, Row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::Range;

/// Which points are in which shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shards {
    /// Points of the sweep.
    pub points: u64,
    /// Points of a shard.
    pub size: u64,
}

/// Shards of a sweep, at most: few enough to be files of one folder.
const MOST_SHARDS: u64 = 1_000;

impl Shards {
    /// Of a sweep with so many points.
    pub fn of(points: u64) -> Self {
        Self { points, size: points.div_ceil(MOST_SHARDS).max(1) }
    }

    /// How many shards there are.
    pub fn count(&self) -> u64 {
        self.points.div_ceil(self.size.max(1))
    }

    /// The points of a shard.
    pub fn points_of(&self, shard: u64) -> Range<u64> {
        let begin = shard.saturating_mul(self.size).min(self.points);
        begin..begin.saturating_add(self.size).min(self.points)
    }
}

/// The first line of a shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// What tells this sweep from all others.
    pub sweep: String,
    /// The number of the shard.
    pub shard: u64,
    /// The names of the figures.
    pub figures: Vec<String>,
}

impl Header {
    /// Of a shard of the sweep with this key.
    pub fn new(sweep: &str, shard: u64) -> Self {
        let figures = Figure::ALL.iter().map(|figure| figure.name.to_owned()).collect();
        Self { sweep: sweep.to_owned(), shard, figures }
    }

    /// Its line.
    pub fn line(&self) -> String {
        line(self)
    }
}

/// A row as a line.
pub fn row_line(row: &Row) -> String {
    line(row)
}

fn line(value: &impl Serialize) -> String {
    // Plain data with text keys always has a form in JSON.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

/// The rows of a shard that are in this file, by point. Nothing if it is a file of something else.
pub fn read(mut input: impl BufRead, header: &Header, points: &Range<u64>) -> BTreeMap<u64, Row> {
    let mut rows = BTreeMap::new();
    let mut first = true;
    let mut text = Vec::new();
    loop {
        text.clear();
        // A file that cannot be read further ends there; its points are run again.
        if !input.read_until(b'\n', &mut text).is_ok_and(|count| count > 0)
            || !text.ends_with(b"\n")
        {
            return rows;
        }
        if std::mem::take(&mut first) {
            if serde_json::from_slice::<Header>(&text).is_ok_and(|own| own == *header) {
                continue;
            }
            return rows;
        }
        if let Ok(row) = serde_json::from_slice::<Row>(&text)
            && points.contains(&row.point)
            && row.figures.len() == Figure::ALL.len()
        {
            rows.insert(row.point, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(point: u64, value: f64) -> Row {
        let mut row = Row::without_run(point, "failed", "x\ny".into());
        row.figures[3] = Some(value);
        row
    }

    #[test]
    fn every_point_is_in_one_shard() {
        for points in [0, 1, 400, 999, 1_000, 1_001, 10_000, 1_000_000] {
            let shards = Shards::of(points);
            assert!(shards.count() <= MOST_SHARDS, "{points}");
            let all: Vec<u64> = (0..shards.count()).flat_map(|at| shards.points_of(at)).collect();
            assert_eq!(all, (0..points).collect::<Vec<_>>());
            assert!(shards.points_of(shards.count()).is_empty());
        }
    }

    proptest! {
        /// Cut off anywhere, a file has whole rows or none of them, and numbers are the same to the last bit.
        #[test]
        fn files_that_are_cut_off_have_whole_rows(values in prop::collection::vec(any::<f64>(), 1..20), cut in 0.0f64..1.0) {
            let finite = values.iter().copied().filter(|value| value.is_finite());
            let rows: Vec<Row> = finite.enumerate().map(|(at, value)| row(at as u64, value)).collect();
            let header = Header::new("key", 0);
            let text: String = std::iter::once(header.line()).chain(rows.iter().map(row_line)).collect();
            let points = 0..rows.len() as u64;
            let all = read(text.as_bytes(), &header, &points);
            prop_assert_eq!(all.into_values().collect::<Vec<_>>(), rows.clone());
            let part = &text.as_bytes()[..(text.len() as f64 * cut) as usize];
            let some: Vec<Row> = read(part, &header, &points).into_values().collect();
            prop_assert_eq!(&some[..], &rows[..some.len()]);
        }
    }

    #[test]
    fn files_of_something_else_have_no_rows() {
        let header = Header::new("key", 0);
        let with = |first: String| first + &row_line(&row(0, 1.0));
        let count = |text: &str| read(text.as_bytes(), &header, &(0..2)).len();
        assert_eq!(count(&with(header.line())), 1);
        assert_eq!(count(&with(Header::new("other", 0).line())), 0);
        assert_eq!(count(&with(Header::new("key", 1).line())), 0);
        assert_eq!(count(&with(String::new())), 0);
        assert_eq!(count("\u{0}\u{1}\n\n\n"), 0);
        let foreign =
            header.line() + &row_line(&row(7, 1.0)) + "{}\n[]\n" + &row_line(&row(1, 2.0));
        assert_eq!(count(&foreign), 1);
    }
}
