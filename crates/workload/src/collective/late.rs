//! [`Lateness`]: ranks do not come to a collective at the same time.
//!
//! Kernels before it took longer on one GPU than on another, or its host was late to launch. A rank that comes late
//! asks for nothing and sends nothing until then; those that wait for it wait.

use crate::layout::GpuId;
use crate::stream::Stream;
use xoff_units::Span;

/// How late ranks come: each by a time of its own, drawn evenly from nothing to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lateness {
    /// No rank comes later.
    pub most: Span,
    /// Draws the times.
    pub seed: u64,
}

impl Lateness {
    /// All come at once.
    pub const NONE: Self = Self { most: Span::ZERO, seed: 0 };

    /// How late a GPU is.
    pub fn of(&self, gpu: GpuId) -> Span {
        if self.most.is_zero() {
            return Span::ZERO;
        }
        let mut stream = Stream::new(self.seed, u64::from(gpu.0), "lateness");
        Span::from_ps(stream.below(self.most.as_ps().saturating_add(1)))
    }
}
