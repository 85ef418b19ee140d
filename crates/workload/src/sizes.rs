//! [`Sizes`]: how large flows are, as a cumulative distribution to draw from.

use crate::catalogue::SIZE_DISTRIBUTIONS;
use crate::csv::{Table, Wrong};
use crate::error::{MANY, Place};
use crate::expand::Open;
use crate::stream::Stream;
use xoff_units::{Bytes, Ratio};

/// Largest flow: 281 TB, so that sums stay well inside 128 bits.
const MOST_BYTES: u64 = 1 << 48;

/// Fraction bits of a mean size.
pub(crate) const MEAN_FRACTION_BITS: u32 = 16;

/// A cumulative distribution of sizes, evenly spread between its points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Sizes, and the probability of at most that much in units of 1/2^64. Neither falls; the first
    /// probability is 0 and the last is 1.
    points: Vec<(u64, u128)>,
}

const ONE: u128 = 1 << 64;

impl Sizes {
    /// What the `sizes` of a scenario stand for: a name, a file, or one size.
    pub(crate) fn read(text: &str, open: Open<'_>) -> Result<Self, Vec<(Place, String)>> {
        let text = text.trim();
        if let Some(known) = SIZE_DISTRIBUTIONS.iter().find(|known| known.name == text) {
            let points = known.points.iter().map(|&(size, p)| (size, Ratio::new(p, 10_000)));
            return Self::new(points).map_err(|message| vec![(Place::Entry, message)]);
        }
        if text.to_ascii_lowercase().ends_with(".csv") {
            return Self::read_file(text, open);
        }
        let size: Result<Bytes, _> = text.parse();
        let fixed = match size {
            Ok(size) => Self::new([(size.get(), Ratio::new(1, 1))]),
            Err(error) => {
                let names = SIZE_DISTRIBUTIONS.map(|known| format!("`{}`", known.name)).join(", ");
                Err(format!("{error}; or name a distribution ({names}) or a `.csv` file of one"))
            }
        };
        fixed.map_err(|message| vec![(Place::Entry, message)])
    }

    fn read_file(file: &str, open: Open<'_>) -> Result<Self, Vec<(Place, String)>> {
        let whole = |message: String| vec![(Place::File(file.to_owned()), message)];
        let mut reader = open(file).map_err(|error| whole(error.to_string()))?;
        let mut table = match Table::open(&mut *reader, &["size", "cumulative"], 2) {
            Ok(table) => table,
            Err(Wrong::File(message) | Wrong::Line(_, message)) => return Err(whole(message)),
        };
        let (mut points, mut wrong) = (Vec::new(), Vec::new());
        while let Some(row) = table.row() {
            let (line, message) = match row {
                Ok((line, row)) => match point(&row) {
                    Ok(point) => {
                        points.push(point);
                        continue;
                    }
                    Err(message) => (line, message),
                },
                Err(Wrong::Line(line, message)) => (line, message),
                Err(Wrong::File(message)) => return Err(whole(message)),
            };
            wrong.push((Place::Line(file.to_owned(), line), message));
            if wrong.len() >= MANY {
                break;
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Self::new(points).map_err(whole)
    }

    /// From points in order. Where the first has a probability above 0, that is the probability of
    /// exactly that size.
    fn new(points: impl IntoIterator<Item = (u64, Ratio)>) -> Result<Self, String> {
        let mut all: Vec<(u64, u128)> = Vec::new();
        for (size, share) in points {
            let numerator = u128::from(share.numerator()) << 64;
            let probability = numerator / u128::from(share.denominator());
            if size > MOST_BYTES {
                return Err(format!("a flow of {} is too large", Bytes::new(size)));
            }
            if probability > ONE {
                return Err(format!("a cumulative share of {share} is more than 1"));
            }
            match all.last() {
                None if probability > 0 => all.push((size, 0)),
                Some(&(before, p)) if size < before || probability < p => {
                    return Err("sizes and shares must grow from line to line".into());
                }
                _ => {}
            }
            all.push((size, probability));
        }
        match all.last() {
            None => Err("a distribution needs at least one size".into()),
            Some(&(0, _)) => Err("a flow needs at least one byte".into()),
            Some(&(_, ONE)) => Ok(Self { points: all }),
            Some(_) => Err("the last cumulative share must be 1 (or 100%)".into()),
        }
    }

    /// A size, at random.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Bytes {
        let at = u128::from(stream.next_u64());
        let next = self.points.partition_point(|&(_, probability)| probability <= at);
        // The last probability is above every draw and the first above none.
        let (Some(&(low, from)), Some(&(high, to))) =
            (self.points.get(next.wrapping_sub(1)), self.points.get(next))
        else {
            debug_assert!(false, "a draw outside the distribution");
            return Bytes::new(1);
        };
        let offset = u128::from(high - low) * (at - from) / (to - from);
        Bytes::new((low + offset as u64).max(1))
    }

    /// The mean size in bytes, in units of 1/2^16.
    pub(crate) fn mean(&self) -> u128 {
        let weighted = |pair: &[(u64, u128)]| {
            let ((low, from), (high, to)) = (pair[0], pair[1]);
            // Twice the mean of this stretch times its probability: at most 2^(49 + 64).
            u128::from(low + high) * (to - from)
        };
        let twice: u128 = self.points.windows(2).map(weighted).sum();
        (twice >> (65 - MEAN_FRACTION_BITS)).max(1)
    }
}

fn point(row: &[String]) -> Result<(u64, Ratio), String> {
    let size = bytes(&row[0])?;
    let share = row[1].parse().map_err(|error: xoff_units::ParseError| error.to_string())?;
    Ok((size.get(), share))
}

/// A size as tables write it: with a unit, or a plain number of bytes.
pub(crate) fn bytes(text: &str) -> Result<Bytes, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain {
        return text.parse().map(Bytes::new).map_err(|_| format!("`{text}` bytes are too many"));
    }
    text.parse().map_err(|error: xoff_units::ParseError| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::files;
    use proptest::prelude::*;

    fn sizes(text: &str) -> Sizes {
        Sizes::read(text, &mut files(&[])).unwrap()
    }

    fn refused(text: &str, file: &str) -> String {
        let wrong = Sizes::read(text, &mut files(&[("f.csv", file)])).unwrap_err();
        wrong.iter().map(|(place, message)| format!("{place} {message}\n")).collect()
    }

    #[test]
    fn published_means() {
        let kilobytes = |name| (sizes(name).mean() >> MEAN_FRACTION_BITS) / 1000;
        assert_eq!(kilobytes("websearch"), 1711);
        assert_eq!(kilobytes("hadoop"), 120);
        assert_eq!(kilobytes("storage"), 40);
        assert_eq!(sizes("1MB").mean() >> MEAN_FRACTION_BITS, 1_000_000);
    }

    #[test]
    fn draws_have_the_mean_and_the_shares() {
        for known in SIZE_DISTRIBUTIONS {
            let (sizes, mut stream) = (sizes(known.name), Stream::new(1, 0, "test"));
            let count = 200_000u64;
            let drawn: Vec<u64> = (0..count).map(|_| sizes.draw(&mut stream).get()).collect();
            let mean = drawn.iter().sum::<u64>() / count;
            let expected = (sizes.mean() >> MEAN_FRACTION_BITS) as u64;
            assert!(mean.abs_diff(expected) < expected / 40, "{}: {mean} {expected}", known.name);
            for &(size, share) in known.points {
                let found = drawn.iter().filter(|&&d| d <= size).count() as u64 * 10_000 / count;
                assert!(found.abs_diff(share) < 40, "{} {size}: {found}", known.name);
            }
        }
    }

    #[test]
    fn one_size_is_always_drawn() {
        let mut stream = Stream::new(1, 0, "test");
        assert!((0..100).all(|_| sizes("4KiB").draw(&mut stream) == Bytes::new(4096)));
    }

    #[test]
    fn files_have_steps_and_slopes() {
        let file = "cumulative,size\n25%,100\n0.25,1KB\n1,2KB\n";
        let sizes = Sizes::read("f.csv", &mut files(&[("f.csv", file)])).unwrap();
        // A quarter of exactly 100 bytes, the rest between 1 and 2 KB.
        assert_eq!(sizes.mean() >> MEAN_FRACTION_BITS, 1150);
        let mut stream = Stream::new(1, 0, "test");
        let drawn: Vec<u64> = (0..10_000).map(|_| sizes.draw(&mut stream).get()).collect();
        let small = drawn.iter().filter(|&&size| size == 100).count();
        assert!((2_300..2_700).contains(&small), "{small}");
        assert!(drawn.iter().all(|&size| size == 100 || (1_000..=2_000).contains(&size)));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(refused("web-search", "").contains("`websearch`"));
        assert!(refused("0B", "").contains("at least one byte"));
        assert!(refused("f.csv", "").contains("empty"));
        assert!(refused("f.csv", "size,cumulative\n").contains("at least one size"));
        assert!(refused("f.csv", "size,cumulative\n10,1\n5,1\n").contains("grow"));
        assert!(refused("f.csv", "size,cumulative\n10,0.5\n").contains("must be 1"));
        assert!(refused("f.csv", "size,cumulative\n10,2\n").contains("more than 1"));
        assert!(refused("f.csv", "size,cumulative\n999999999999999,1\n").contains("too large"));
        assert!(refused("nowhere.csv", "").contains("nowhere.csv"));
        let both = refused("f.csv", "size,cumulative\nx,1\n10,y\n");
        assert!(both.contains("line 2") && both.contains("line 3"), "{both}");
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(
            rows in prop::collection::vec((0u64..1 << 49, 0u64..=110), 0..6), seed in any::<u64>(),
        ) {
            let mut rows = rows;
            rows.sort_unstable();
            let mut file = "size,cumulative\n".to_owned();
            rows.iter().for_each(|(size, percent)| file += &format!("{size},{percent}%\n"));
            if let Ok(sizes) = Sizes::read("f.csv", &mut files(&[("f.csv", &file)])) {
                let (least, most) = (rows[0].0.max(1), rows[rows.len() - 1].0);
                let drawn = sizes.draw(&mut Stream::new(seed, 0, "test")).get();
                prop_assert!((least..=most).contains(&drawn));
                prop_assert!(sizes.mean() >> MEAN_FRACTION_BITS <= u128::from(most));
            }
        }
    }
}
