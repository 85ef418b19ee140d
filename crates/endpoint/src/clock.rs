//! Wall time as the transport counts it.

use crate::settings::span;
use std::time::{Duration, Instant as Wall};
use xoff_units::Instant;

/// Time since a device was opened. Its picoseconds last for 213 days.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Wall,
}

impl Clock {
    /// Starts it.
    pub(crate) fn start() -> Self {
        Self { start: Wall::now() }
    }

    /// What it says. Never less than before.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        Instant::ZERO + span(self.start.elapsed())
    }
}

/// How long it is from `now` to `then`; nothing if that has passed.
pub(crate) fn until(now: Instant, then: Instant) -> Duration {
    Duration::from_nanos(then.as_ps().saturating_sub(now.as_ps()) / 1000)
}
