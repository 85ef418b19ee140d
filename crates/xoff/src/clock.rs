//! The only place that asks the clock: how long a run takes is worth knowing, and decides nothing of it.

use std::time::Duration;
use xoff_telemetry::recording::Timestamp;

/// The wall time: where readings of counters are looked for, and where those of a run are put.
#[allow(clippy::disallowed_methods, reason = "wall time is what metric stores are ordered by")]
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Timestamp(since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)))
}

/// Measures wall time from its making.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "wall time is what a stopwatch is for")]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}
