//! The time that a device goes by.

use crate::settings::span;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant as Wall};
use xoff_units::{Instant, Span};

/// Where a device's time comes from: what its timers, its pacing and its congestion control count.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's, from the moment the device is opened.
    #[default]
    Wall,
    /// One that its owner moves. For tests: what happens no longer depends on how the machine schedules them.
    ///
    /// [`Device::wait`](crate::Device::wait) sleeps in wall time all the same; such a device is driven with
    /// [`Device::progress`](crate::Device::progress) alone.
    Steps(Steps),
}

/// A clock that stands still until it is moved. Its clones are the same clock.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    /// Picoseconds since it was made.
    ps: Arc<AtomicU64>,
}

impl Steps {
    /// Moves it on.
    pub fn advance(&self, by: Span) {
        self.ps.fetch_add(by.as_ps(), Ordering::Relaxed);
    }

    /// What it says.
    pub fn now(&self) -> Instant {
        Instant::from_ps(self.ps.load(Ordering::Relaxed))
    }
}

/// A [`Clock`] that runs. Its picoseconds last for 213 days.
#[derive(Debug, Clone)]
pub(crate) enum Running {
    Wall(Wall),
    Steps(Steps),
}

impl Running {
    /// Starts it.
    pub(crate) fn start(clock: &Clock) -> Self {
        match clock {
            Clock::Wall => Self::Wall(Wall::now()),
            Clock::Steps(steps) => Self::Steps(steps.clone()),
        }
    }

    /// What it says. Never less than before.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::Wall(start) => Instant::ZERO + span(start.elapsed()),
            Self::Steps(steps) => steps.now(),
        }
    }
}

/// How long it is from `now` to `then`; nothing if that has passed.
pub(crate) fn until(now: Instant, then: Instant) -> Duration {
    Duration::from_nanos(then.as_ps().saturating_sub(now.as_ps()) / 1000)
}
