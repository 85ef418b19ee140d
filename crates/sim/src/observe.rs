//! What observes a run, how often progress is reported to it, and when a run counts as stalled.

use crate::Settings;
use crate::report::Observer;
use crate::scrape::Watermarks;
use xoff_fabric::model::Fabric;
use xoff_units::{Instant, Span};

/// Events between two reports of progress.
const STRETCH: u64 = 1 << 18;

/// Reports between two counts of the packet-hops, for which all ports must be visited.
const COUNT_EVERY: u32 = 4;

/// A run in which nothing was delivered for so long is stalled, unless a timer is still running.
const HOPELESS: Span = Span::from_ms(5_000);

/// What comes again and again and moves no packet. The number is the id of its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Look {
    /// Queues are sampled.
    Sample = 0,
    /// All counters are read.
    Scrape = 1,
    /// Controllers of thresholds read counters. With ids above, switches set what was decided.
    Adapt = 2,
}

impl Look {
    pub(crate) const ALL: [Self; 3] = [Self::Sample, Self::Scrape, Self::Adapt];
}

/// The observer of a run and what it was last shown.
pub(crate) struct Observation<'a> {
    pub(crate) observer: &'a mut dyn Observer,
    /// How often queues are sampled, counters read, and thresholds decided on; zero is never.
    sample_period: Span,
    scrape_period: Span,
    adapt_period: Span,
    /// When counters were last read; at zero all are zero.
    pub(crate) scraped: Instant,
    /// The greatest lengths of queues before the last scrape.
    pub(crate) watermarks: Watermarks,
    /// How long nothing may be delivered before the run counts as stalled.
    pub(crate) patience: Span,
    /// Deliveries when progress was last looked for.
    delivered: u64,
    /// Events handled before the present stretch.
    handled: u64,
    /// Events in the present stretch.
    stretch: u64,
    /// Events of the present stretch that are left.
    countdown: u64,
    /// Reports so far, and the packet-hops counted at one of the last.
    reports: u32,
    hops: u64,
}

impl<'a> Observation<'a> {
    pub(crate) fn new(
        fabric: &Fabric,
        observer: &'a mut dyn Observer,
        settings: &Settings,
    ) -> Self {
        Self {
            observer,
            sample_period: settings.sample_period,
            scrape_period: settings.scrape_period,
            adapt_period: fabric.adaptive.as_ref().map_or(Span::ZERO, |own| own.interval),
            scraped: Instant::ZERO,
            watermarks: Watermarks::default(),
            patience: patience(fabric),
            delivered: 0,
            handled: 0,
            stretch: STRETCH,
            countdown: STRETCH,
            reports: 0,
            hops: 0,
        }
    }

    /// How often it is looked; zero is never.
    pub(crate) fn period(&self, look: Look) -> Span {
        match look {
            Look::Sample => self.sample_period,
            Look::Scrape => self.scrape_period,
            Look::Adapt => self.adapt_period,
        }
    }

    /// An event was handled; whether it was the last of its stretch.
    #[inline(always)]
    pub(crate) fn count_event(&mut self) -> bool {
        self.countdown -= 1;
        self.countdown == 0
    }

    /// A stretch is over, and the next one begins.
    pub(crate) fn begin_stretch(&mut self) {
        self.handled += self.stretch;
        (self.stretch, self.countdown) = (STRETCH, STRETCH);
    }

    /// The stretch ends with the present event.
    pub(crate) fn end_stretch(&mut self) {
        self.handled += self.stretch - self.countdown;
        (self.stretch, self.countdown) = (1, 1);
    }

    /// The present event, with which the stretch ends, is none of the fabric.
    pub(crate) fn forget_event(&mut self) {
        self.stretch = 0;
    }

    /// Events handled so far, which count elsewhere from now on.
    pub(crate) fn take_events(&mut self) -> u64 {
        let events = self.events();
        (self.handled, self.stretch, self.countdown) = (0, STRETCH, STRETCH);
        events
    }

    /// So many events were handled elsewhere.
    pub(crate) fn count_more(&mut self, events: u64) {
        self.handled += events;
    }

    /// A new stretch begins, and ends after so many events.
    pub(crate) fn shorten_stretch(&mut self, events: u64) {
        self.handled += self.stretch - self.countdown;
        (self.stretch, self.countdown) = (events, events);
    }

    /// Events handled so far.
    pub(crate) fn events(&self) -> u64 {
        self.handled + self.stretch - self.countdown
    }

    /// The packet-hops to report, which `count` counts now and then.
    pub(crate) fn hops(&mut self, count: impl FnOnce() -> u64) -> u64 {
        if self.reports.is_multiple_of(COUNT_EVERY) {
            self.hops = count();
        }
        self.reports += 1;
        self.hops
    }

    /// Whether anything was delivered since the last time.
    pub(crate) fn has_progressed(&mut self, delivered: u64) -> bool {
        std::mem::replace(&mut self.delivered, delivered) != delivered
    }
}

/// How long nothing may be delivered before a run counts as stalled: long enough for a queue pair that hears
/// nothing to use up its retries.
fn patience(fabric: &Fabric) -> Span {
    let qps = fabric.nics.iter().map(|nic| &nic.qp);
    let retries = qps.map(|qp| qp.timeout.as_ps().saturating_mul(u64::from(qp.retry_limit) + 2));
    // Simulated time ends after 213 days; half of that is longer than any run.
    let longest = retries.max().unwrap_or(0).min(u64::MAX / 2);
    HOPELESS.max(Span::from_ps(longest))
}
