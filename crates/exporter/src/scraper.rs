//! [`Scraper`]: one page after the other from one origin, with what the exporter says of itself.

use crate::exposition::{Exposition, Kind, Target, Value};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Where counters come from.
pub trait Origin: Send {
    /// Reads all of them.
    fn read(&mut self, out: &mut Exposition) -> Result<(), Unavailable>;
}

/// An origin that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Makes pages.
pub struct Scraper<'a> {
    inner: Mutex<Inner>,
    /// Time since some moment; it only grows.
    now: &'a (dyn Fn() -> Duration + Sync),
}

struct Inner {
    origin: Box<dyn Origin>,
    /// What could not be read, since the start.
    errors: u64,
}

/// A page, and why it says nothing of the origin if so.
#[derive(Debug)]
pub struct Page {
    /// The text.
    pub text: String,
    /// Series in it that are the origin's.
    pub series: usize,
    /// What kept the origin from being read.
    pub failure: Option<Unavailable>,
}

impl<'a> Scraper<'a> {
    /// Of an origin, by a clock.
    pub fn new(origin: Box<dyn Origin>, now: &'a (dyn Fn() -> Duration + Sync)) -> Self {
        Self { inner: Mutex::new(Inner { origin, errors: 0 }), now }
    }

    /// Reads the origin. One scrape at a time: a second one waits.
    pub fn page(&self) -> Page {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let start = (self.now)();
        let mut all = Exposition::default();
        let failure = inner.origin.read(&mut all).err();
        inner.errors += all.errors();
        let (series, errors) = (all.series(), inner.errors);
        let seconds = (self.now)().saturating_sub(start).as_secs_f64();
        let up = u128::from(failure.is_none());
        let own = Target::default();
        let mut gauge = |name, help, value| all.raw(&own, name, Kind::Gauge, help, value);
        gauge(
            "xoff_exporter_source_up",
            "Whether the exporter could read its source: 1 or 0.",
            Value::Whole(up),
        );
        gauge(
            "xoff_exporter_scrape_seconds",
            "Time that reading the source took.",
            Value::Real(seconds),
        );
        gauge("xoff_exporter_series", "Series read from the source.", Value::Whole(series as u128));
        all.raw(
            &own,
            "xoff_exporter_read_errors",
            Kind::Counter,
            "Files and fields that could not be read or are no numbers.",
            Value::Whole(errors.into()),
        );
        Page { text: all.text(), series, failure }
    }
}

impl std::fmt::Debug for Scraper<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scraper").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Twice(u32);

    impl Origin for Twice {
        fn read(&mut self, out: &mut Exposition) -> Result<(), Unavailable> {
            self.0 += 1;
            out.error();
            if self.0 > 2 { Err(Unavailable("gone".into())) } else { Ok(()) }
        }
    }

    #[test]
    fn errors_add_up_and_a_source_that_is_gone_is_said() {
        let time = AtomicU64::new(0);
        let now = || Duration::from_millis(time.fetch_add(5, Ordering::Relaxed));
        let scraper = Scraper::new(Box::new(Twice(0)), &now);
        assert!(scraper.page().text.contains("xoff_exporter_read_errors_total 1\n"));
        let second = scraper.page();
        assert!(second.text.contains("xoff_exporter_read_errors_total 2\n"));
        assert!(second.text.contains("xoff_exporter_source_up 1\n"));
        assert!(second.text.contains("xoff_exporter_scrape_seconds 0.005\n"));
        let third = scraper.page();
        assert!(third.text.contains("xoff_exporter_source_up 0\n"));
        assert_eq!(third.failure, Some(Unavailable("gone".into())));
    }
}
