//! [`Shape`]: how the bytes of a channel are cut into laps, chunks and slices.
//!
//! A collective goes round its channel in laps. A lap has one chunk per rank of a ring (one in all
//! for trees and chains), and a chunk travels in slices. Laps and chunks of a ring are cut evenly: parts of
//! one cut differ by at most one byte. (NCCL cuts full chunks and leaves a short last lap; the sums are
//! the same, and the ragged end is what would make closed forms inexact.) Where pieces or laps overlap, as they do in
//! trees, chains, rails and between pairs, all are full but for the last, as NCCL cuts them: a byte more than a
//! piece makes a second piece of one byte, not two halves that overlap and take less time than one.

/// Part `index` of `total` cut into `parts`, as evenly as whole bytes go.
pub(crate) const fn part(total: u64, parts: u32, index: u32) -> u64 {
    let parts = parts as u64;
    total / parts + ((index as u64) < total % parts) as u64
}

/// Part `index` of `total` cut into parts of `most`; the last one has the rest.
pub(crate) const fn ragged(total: u64, most: u64, index: u32) -> u64 {
    let rest = total.saturating_sub(most.saturating_mul(index as u64));
    if rest < most { rest } else { most }
}

/// The largest part of an even cut.
pub(crate) const fn largest(total: u64, parts: u32) -> u64 {
    total.div_ceil(parts as u64)
}

/// How the bytes of one channel are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// All bytes of the channel.
    pub(crate) bytes: u64,
    pub(crate) laps: u32,
    /// Bytes of every lap but the last, where laps are not cut evenly.
    full: Option<u64>,
    /// Chunks per lap.
    pub(crate) chunks: u32,
    /// Most slices per chunk.
    pub(crate) slices: u32,
}

/// The least slice but the last of a chunk. NCCL: the larger of an even share and one thirty-second of the
/// 1 MiB that a slice has room for.
pub(crate) const LEAST_SLICE: u64 = 32 << 10;

impl Shape {
    /// Cuts `bytes` into laps of `chunks` chunks of at most `most` bytes in at most `slices` slices.
    /// Small amounts make one lap of small chunks, and those fewer slices. `None` if the laps
    /// cannot be counted.
    pub(crate) fn new(bytes: u64, chunks: u32, most: u64, slices: u32) -> Option<Self> {
        let laps = bytes.div_ceil(u64::from(chunks).checked_mul(most)?).max(1);
        let laps = u32::try_from(laps).ok()?;
        let chunk = largest(largest(bytes, laps), chunks);
        let slices = if chunk > LEAST_SLICE { slices } else { 1 };
        Some(Self { bytes, laps, full: None, chunks, slices })
    }

    /// The same, but all laps are full and the last one has the rest.
    pub(crate) fn full(bytes: u64, chunks: u32, most: u64, slices: u32) -> Option<Self> {
        let even = Self::new(bytes, chunks, most, slices)?;
        let full = (even.laps > 1).then_some(u64::from(chunks) * most);
        Some(Self { full, slices: if even.laps > 1 { slices } else { even.slices }, ..even })
    }

    /// Cuts `bytes` into pieces that go over so many hops, one after the other: laps of one chunk in one slice. There are
    /// four pieces per hop, all as large, where that makes pieces from `least` to `most`; else as many full ones
    /// as there are, and a rest.
    pub(crate) fn pipeline(bytes: u64, hops: u32, least: u64, most: u64) -> Option<Self> {
        let least = least.min(most);
        let pieces = u64::from(hops) * 4;
        let (laps, full) = match bytes.div_ceil(pieces) {
            piece if piece <= least => (bytes.div_ceil(least), Some(least)),
            piece if piece <= most => (pieces, None),
            _ => (bytes.div_ceil(most), Some(most)),
        };
        let laps = u32::try_from(laps.max(1)).ok()?;
        Some(Self { bytes, laps, full, chunks: 1, slices: 1 })
    }

    /// The bytes of a slice.
    pub(crate) const fn slice(&self, lap: u32, chunk: u32, slice: u32) -> u64 {
        self.slice_of(self.chunk(lap, chunk), slice)
    }

    /// The bytes of a slice of a chunk that has so many.
    pub(crate) const fn slice_of(&self, chunk: u64, slice: u32) -> u64 {
        cut(chunk, self.slices, slice)
    }

    /// The bytes of a chunk.
    pub(crate) const fn chunk(&self, lap: u32, chunk: u32) -> u64 {
        part(self.lap(lap), self.chunks, chunk)
    }

    /// The bytes of a lap.
    pub(crate) const fn lap(&self, lap: u32) -> u64 {
        match self.full {
            Some(most) => ragged(self.bytes, most, lap),
            None => part(self.bytes, self.laps, lap),
        }
    }

    /// The laps that there are: of each size how many, and one of them. The largest comes first.
    pub(crate) fn kinds(&self) -> [(u32, u32); 2] {
        let first = match self.full {
            Some(_) => self.laps - 1,
            None => (self.bytes % u64::from(self.laps)) as u32,
        };
        [(first, 0), (self.laps - first, self.laps - 1)]
    }

    /// Whether all chunks of a lap have as many bytes, in every lap.
    pub(crate) fn is_even(&self) -> bool {
        let even = |(_, lap): (u32, u32)| self.lap(lap).is_multiple_of(self.chunks.into());
        self.kinds().into_iter().all(even)
    }

    /// The bytes of a chunk, over all laps.
    pub(crate) fn chunk_in_all(&self, chunk: u32) -> u64 {
        let sum = |(count, lap): (u32, u32)| u64::from(count) * self.chunk(lap, chunk);
        self.kinds().into_iter().map(sum).sum()
    }

    /// Whether some slices are empty: those are not sent at all.
    pub(crate) const fn has_empty(&self) -> bool {
        // The smallest chunk of the smallest lap.
        let chunk = self.lap(self.laps - 1) / self.chunks as u64;
        chunk == 0 || cut(chunk, self.slices, self.slices - 1) == 0
    }
}

/// Slice `index` of a chunk in at most so many.
const fn cut(chunk: u64, slices: u32, index: u32) -> u64 {
    let even = largest(chunk, slices);
    ragged(chunk, if slices > 1 && even < LEAST_SLICE { LEAST_SLICE } else { even }, index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_cuts_are_even(
            bytes in 0u64..1 << 28, chunks in 1u32..300, most in 1u64 << 12..1 << 22, slices in 1u32..9,
            even in any::<bool>(),
        ) {
            let shape = match even {
                true => Shape::new(bytes, chunks, most, slices).unwrap(),
                false => Shape::full(bytes, chunks, most, slices).unwrap(),
            };
            let mut total = 0;
            for chunk in 0..chunks {
                let mut own = 0;
                for lap in 0..shape.laps {
                    let size = shape.chunk(lap, chunk);
                    prop_assert!(size <= most);
                    let cut = (0..shape.slices).map(|s| shape.slice(lap, chunk, s));
                    prop_assert_eq!(cut.clone().sum::<u64>(), size);
                    prop_assert!(shape.has_empty() || cut.clone().all(|slice| slice > 0));
                    let all: Vec<_> = cut.filter(|&slice| slice > 0).collect();
                    let but_last = &all[..all.len().saturating_sub(1)];
                    prop_assert!(but_last.iter().all(|&slice| slice >= LEAST_SLICE));
                    own += size;
                }
                prop_assert_eq!(own, shape.chunk_in_all(chunk));
                total += own;
            }
            prop_assert_eq!(total, bytes);
        }
    }

    #[test]
    fn a_byte_more_makes_no_largest_slice_smaller() {
        let largest = |bytes| Shape::new(bytes, 4, 2 << 20, 2).unwrap().slice(0, 0, 0);
        let around = |bytes: u64| (bytes - 9..bytes + 9).map(largest).collect::<Vec<_>>();
        assert!([4 * LEAST_SLICE, 8 * LEAST_SLICE].map(around).iter().all(|all| all.is_sorted()));
        let pipeline = |bytes| Shape::pipeline(bytes, 2, LEAST_SLICE, 4 * LEAST_SLICE).unwrap();
        let pieces = pipeline(LEAST_SLICE + 1);
        assert_eq!(
            (pieces.laps, pieces.slice(0, 0, 0), pieces.slice(1, 0, 0)),
            (2, LEAST_SLICE, 1)
        );
        assert_eq!(pieces.chunk_in_all(0), LEAST_SLICE + 1);
        assert!(!pieces.has_empty());
        let (even, many) = (pipeline(15 * LEAST_SLICE + 1), pipeline(33 * LEAST_SLICE));
        assert_eq!((even.laps, even.chunk_in_all(0)), (8, 15 * LEAST_SLICE + 1));
        assert_eq!((many.laps, many.slice(8, 0, 0)), (9, LEAST_SLICE));
    }

    #[test]
    fn laps_beyond_counting_are_refused() {
        assert_eq!(Shape::new(u64::MAX, 1, 1, 1), None);
        assert_eq!(Shape::new(1, u32::MAX, u64::MAX, 1), None);
    }
}
