//! [`Shape`]: how the bytes of a channel are cut into laps, chunks and slices.
//!
//! A collective goes round its channel in laps. A lap has one chunk per rank of a ring (one in all
//! for trees and chains), and a chunk travels in slices. All cuts are even to the byte: parts of
//! one cut differ by at most one byte. (NCCL cuts full chunks and leaves a short last lap; the sums are
//! the same, and the ragged end is what would make closed forms inexact.)

/// Part `index` of `total` cut into `parts`, as evenly as whole bytes go.
pub(crate) const fn part(total: u64, parts: u32, index: u32) -> u64 {
    let parts = parts as u64;
    total / parts + ((index as u64) < total % parts) as u64
}

/// The largest part of such a cut.
pub(crate) const fn largest(total: u64, parts: u32) -> u64 {
    total.div_ceil(parts as u64)
}

/// How the bytes of one channel are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// All bytes of the channel.
    pub(crate) bytes: u64,
    pub(crate) laps: u32,
    /// Chunks per lap.
    pub(crate) chunks: u32,
    /// Slices per chunk.
    pub(crate) slices: u32,
}

/// A slice below this size is not worth its overhead: chunks are cut into fewer slices (NCCL: one
/// thirty-second of the 1 MiB that a slice has room for).
pub(crate) const LEAST_SLICE: u64 = 32 << 10;

impl Shape {
    /// Cuts `bytes` into laps of `chunks` chunks of at most `most` bytes in at most `slices` slices.
    /// Small amounts make one lap of small chunks, and those fewer slices. `None` if the laps
    /// cannot be counted.
    pub(crate) fn new(bytes: u64, chunks: u32, most: u64, slices: u32) -> Option<Self> {
        let laps = bytes.div_ceil(u64::from(chunks).checked_mul(most)?).max(1);
        let laps = u32::try_from(laps).ok()?;
        let chunk = largest(bytes / u64::from(laps), chunks);
        let slices = (chunk / LEAST_SLICE).clamp(1, u64::from(slices)) as u32;
        Some(Self { bytes, laps, chunks, slices })
    }

    /// The bytes of a slice.
    pub(crate) const fn slice(&self, lap: u32, chunk: u32, slice: u32) -> u64 {
        part(self.chunk(lap, chunk), self.slices, slice)
    }

    /// The bytes of a chunk.
    pub(crate) const fn chunk(&self, lap: u32, chunk: u32) -> u64 {
        part(part(self.bytes, self.laps, lap), self.chunks, chunk)
    }

    /// The bytes of a chunk, over all laps.
    pub(crate) fn chunk_in_all(&self, chunk: u32) -> u64 {
        // Laps come in two sizes.
        let long = (self.bytes % u64::from(self.laps)) as u32;
        let each = self.bytes / u64::from(self.laps);
        u64::from(long) * part(each + 1, self.chunks, chunk)
            + u64::from(self.laps - long) * part(each, self.chunks, chunk)
    }

    /// Whether some slices are empty: those are not sent at all.
    pub(crate) const fn has_empty(&self) -> bool {
        self.bytes / (self.laps as u64) < self.chunks as u64 * self.slices as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_cuts_are_even(
            bytes in 0u64..1 << 28, chunks in 1u32..300, most in 1u64 << 12..1 << 22, slices in 1u32..9,
        ) {
            let shape = Shape::new(bytes, chunks, most, slices).unwrap();
            let mut total = 0;
            for chunk in 0..chunks {
                let mut own = 0;
                for lap in 0..shape.laps {
                    let size = shape.chunk(lap, chunk);
                    prop_assert!(size <= most);
                    let cut = (0..shape.slices).map(|s| shape.slice(lap, chunk, s));
                    prop_assert_eq!(cut.clone().sum::<u64>(), size);
                    prop_assert!(shape.has_empty() || cut.clone().all(|slice| slice > 0));
                    prop_assert!(shape.slices == 1 || cut.clone().max() >= Some(LEAST_SLICE - 1));
                    own += size;
                }
                prop_assert_eq!(own, shape.chunk_in_all(chunk));
                total += own;
            }
            prop_assert_eq!(total, bytes);
        }
    }

    #[test]
    fn laps_beyond_counting_are_refused() {
        assert_eq!(Shape::new(u64::MAX, 1, 1, 1), None);
        assert_eq!(Shape::new(1, u32::MAX, u64::MAX, 1), None);
    }
}
