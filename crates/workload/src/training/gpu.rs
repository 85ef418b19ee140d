//! [`Gpu`]: how fast it computes.

use xoff_units::{Bytes, Rate, Ratio, Span};

/// Floating point operations per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlopRate(u64);

impl FlopRate {
    /// So many million million a second.
    pub const fn from_teraflops(tera: u32) -> Self {
        Self(tera as u64 * 1_000_000_000_000)
    }

    /// Operations per second.
    pub const fn per_second(self) -> u64 {
        self.0
    }
}

/// How fast a GPU computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gpu {
    /// The peak of its matrix units, dense, in the precision of the training.
    pub peak: FlopRate,
    /// The share of the peak that the kernels of a layer reach, all of them together: matrices
    /// more, attention less, and norms and activations, which wait for memory, next to nothing.
    /// Waiting for the network is not in it.
    pub efficiency: Ratio,
    /// What its memory delivers at most.
    pub memory: Rate,
}

/// The share of its memory's rate that a GPU reaches when it reads weights, caches or rows of tables. Our choice:
/// well-tuned decoding is reported at 60 to 80 %.
pub const MEMORY_EFFICIENCY: Ratio = Ratio::new(70, 100);

impl Gpu {
    /// The time to read so many bytes from memory at this share of its rate.
    pub(crate) fn memory_time(&self, bytes: Bytes, share: Ratio) -> Span {
        let rate = self.memory.bps() as f64 / 8.0 * share.as_f64();
        Span::from_ps((bytes.get() as f64 / rate * 1e12).round() as u64)
    }

    /// The time of so many operations, to the picosecond.
    pub(crate) fn time(&self, operations: f64) -> Span {
        let rate = self.peak.0 as f64 * self.efficiency.as_f64();
        // A float's cast saturates, and `Step::new` refuses rates of zero.
        Span::from_ps((operations / rate * 1e12).round() as u64)
    }
}
