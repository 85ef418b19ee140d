//! Times in little memory: a histogram of logarithmic buckets, each three per cent wide.

use xoff_units::Span;

/// Buckets per doubling, as a power of two.
const FINE: u32 = 5;
/// Doublings: from a nanosecond to eighteen minutes.
const DOUBLINGS: usize = 36;

/// How often which time was seen. Nothing is allocated before the first.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    buckets: Vec<u32>,
    count: u64,
    largest: u64,
}

impl Histogram {
    pub(super) fn add(&mut self, span: Span) {
        let ns = span.as_ps() / 1000;
        let bucket = bucket_of(ns);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
        self.count += 1;
        self.largest = self.largest.max(ns);
    }

    /// Times seen.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// The longest, in nanoseconds.
    pub(super) const fn largest(&self) -> u64 {
        self.largest
    }

    /// Nanoseconds that this many per cent of the times do not exceed, to three per cent.
    pub(super) fn percentile(&self, per_cent: u64) -> u64 {
        let rank = (self.count * per_cent).div_ceil(100).max(1);
        let mut below = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            below += u64::from(*count);
            if below >= rank {
                return middle_of(bucket).min(self.largest);
            }
        }
        self.largest
    }
}

/// Small numbers have a bucket each, the others share `2^FINE` per doubling.
fn bucket_of(ns: u64) -> usize {
    if ns < 1 << FINE {
        return ns as usize;
    }
    let shift = ns.ilog2() - FINE;
    let bucket = ((shift as usize + 1) << FINE) + ((ns >> shift) as usize & ((1 << FINE) - 1));
    bucket.min((DOUBLINGS << FINE) - 1)
}

fn middle_of(bucket: usize) -> u64 {
    if bucket < 1 << FINE {
        return bucket as u64;
    }
    let shift = (bucket >> FINE) - 1;
    let low = ((bucket & ((1 << FINE) - 1)) as u64 + (1 << FINE)) << shift;
    low + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_of_a_known_distribution() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), 0);
        for us in 1..=1000 {
            histogram.add(Span::from_us(us));
        }
        let near = |found: u64, expected: u64| found.abs_diff(expected) * 100 <= expected * 3;
        assert!(near(histogram.percentile(50), 500_000), "{}", histogram.percentile(50));
        assert!(near(histogram.percentile(99), 990_000), "{}", histogram.percentile(99));
        assert_eq!((histogram.count(), histogram.largest()), (1000, 1_000_000));
    }

    proptest! {
        #[test]
        fn one_time_is_found_again(ns in 0u64..1 << 40) {
            let mut histogram = Histogram::default();
            histogram.add(Span::from_ps(ns * 1000));
            let found = histogram.percentile(50);
            prop_assert!(found.abs_diff(ns) * 32 <= ns, "{found} for {ns}");
        }

        #[test]
        fn memory_is_bounded(ns in any::<u64>()) {
            let mut histogram = Histogram::default();
            histogram.add(Span::from_ps(ns));
            prop_assert!(histogram.buckets.len() <= DOUBLINGS << FINE);
        }
    }
}
