//! [`Watcher`]: the observer of every run.
//!
//! What every caller needs it always keeps ([`Seen`]); everything that costs memory or disk is an
//! option: [`Pauses`] as they were obeyed, [`Series`] for a page in bounded memory, [`Samples`] one
//! by one for the figures of a validation, [`Counters`] as a collector scrapes them, and the event and queue tables of a
//! run folder.

mod counters;
mod log;
mod pauses;
mod samples;
mod series;

pub use counters::{Counters, Timescale};
pub use pauses::{Pause, Pauses};
pub use samples::Samples;
pub use series::{QueueSeries, Series};

use log::Log;
use xoff_fabric::model::{CLASSES, Fabric, PortId};
use xoff_fabric::scenario::Fault;
use xoff_sim::{Drop, Observer, Progress, Sample, Scrape, Sent, Trace, TraceKind};
use xoff_telemetry::{RunError, RunFolder};
use xoff_units::{Instant, Span};

/// Watches a run.
pub struct Watcher<'a> {
    fabric: &'a Fabric,
    seen: Seen,
    pauses: Pauses,
    series: Option<Series>,
    samples: Option<Samples>,
    counters: Option<Counters>,
    log: Option<Log<'a>>,
    go_on: &'a mut (dyn FnMut(&Progress) -> bool + Send),
}

/// What is always kept of a run.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// When a port first obeyed a pause.
    pub first_pause: Option<Instant>,
    /// The first drop that breaks the promise of a lossless class: not on the wire and not by a
    /// fault.
    pub first_lossless_drop: Option<Trace>,
    /// The first packet that a lossless class lost for any reason, the wire and faults included.
    pub first_loss: Option<Trace>,
    /// Bytes dropped, by class and reason.
    pub dropped: [[u64; Drop::COUNT]; CLASSES],
    /// Queues that a watchdog declared stuck.
    pub watchdog: u64,
    /// Events that were counted and not written.
    pub events_left_out: u64,
}

/// What a watcher has at the end of a run.
#[derive(Debug)]
pub struct Watched {
    /// What is always kept.
    pub seen: Seen,
    /// Pauses, as many as were chosen.
    pub pauses: Pauses,
    /// Series for a page, if chosen.
    pub series: Option<Series>,
    /// Samples, if chosen.
    pub samples: Option<Samples>,
    /// Counters, if chosen.
    pub counters: Option<Counters>,
    /// What could not be written to the run folder.
    pub errors: Vec<RunError>,
}

/// A class of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Queue {
    /// The port.
    pub port: PortId,
    /// The class.
    pub class: u8,
}

impl Queue {
    /// Its place in tables by port and class.
    fn slot(self) -> usize {
        self.port.index() * CLASSES + usize::from(self.class) % CLASSES
    }
}

impl<'a> Watcher<'a> {
    /// A watcher that keeps no more than [`Seen`]. `go_on` is asked now and then; false stops the
    /// run.
    pub fn new(fabric: &'a Fabric, go_on: &'a mut (dyn FnMut(&Progress) -> bool + Send)) -> Self {
        let (series, samples, counters, log) = (None, None, None, None);
        let (seen, pauses) = (Seen::default(), Pauses::first(0));
        Self { fabric, seen, pauses, series, samples, counters, log, go_on }
    }

    /// Keeps the first `most` pauses, too.
    pub fn keep_pauses(mut self, most: usize) -> Self {
        self.pauses = Pauses::first(most);
        self
    }

    /// Keeps series for a page, too, of queues that are sampled with this period; zero is never.
    pub fn keep_series(mut self, period: Span) -> Self {
        self.series = Some(Series::new(self.fabric, period));
        self
    }

    /// Keeps every sample, too.
    pub fn keep_samples(mut self) -> Self {
        self.samples = Some(Samples::default());
        self
    }

    /// Keeps all counters, too, as often as [`xoff_sim::Settings::scrape_period`] says.
    pub fn keep_counters(self, timescale: Timescale) -> Self {
        self.keep_counters_of(timescale, |_| true)
    }

    /// Keeps the counters of these ports only: those of a large fabric take much memory.
    pub fn keep_counters_of(mut self, timescale: Timescale, keep: impl Fn(PortId) -> bool) -> Self {
        self.counters = Some(Counters::new(self.fabric, timescale, keep));
        self
    }

    /// Writes events and queues to a run folder, too, whose tables are opened now: a folder that
    /// cannot be written is found before the run and not after it. The run stops when the disk
    /// takes no more.
    pub fn write_to(
        mut self,
        folder: &RunFolder,
        faults: &[Fault],
        max_events: u64,
    ) -> Result<Self, RunError> {
        self.log = Some(Log::new(self.fabric, folder, faults, max_events)?);
        Ok(self)
    }

    /// Completes the tables and hands over what was kept.
    pub fn finish(mut self) -> Watched {
        let mut errors = Vec::new();
        if let Some(log) = self.log {
            (self.seen.events_left_out, errors) = log.finish();
        }
        let (seen, pauses) = (self.seen, self.pauses);
        let (series, samples, counters) = (self.series, self.samples, self.counters);
        Watched { seen, pauses, series, samples, counters, errors }
    }

    fn drop(&mut self, trace: &Trace, reason: Drop) {
        let class = usize::from(trace.class) % CLASSES;
        self.seen.dropped[class][reason as usize] += u64::from(trace.bytes);
        if self.fabric.classes[class].lossless {
            self.seen.first_loss.get_or_insert(*trace);
            if reason.breaks_lossless() {
                self.seen.first_lossless_drop.get_or_insert(*trace);
            }
        }
    }
}

impl Observer for Watcher<'_> {
    fn trace(&mut self, trace: &Trace) {
        match trace.kind {
            TraceKind::Drop(reason) => self.drop(trace, reason),
            TraceKind::PauseStart => {
                self.seen.first_pause.get_or_insert(trace.at);
            }
            TraceKind::WatchdogDetect => self.seen.watchdog += 1,
            _ => {}
        }
        self.pauses.trace(trace);
        if let Some(log) = &mut self.log {
            log.trace(trace);
        }
    }

    fn sample(&mut self, sample: &Sample) {
        if let Some(series) = &mut self.series {
            series.sample(sample);
        }
        if let Some(samples) = &mut self.samples {
            samples.sample(sample);
        }
        if let Some(log) = &mut self.log {
            log.sample(sample);
        }
    }

    fn sent(&mut self, sent: &Sent) {
        if let Some(samples) = &mut self.samples {
            samples.sent(sent);
        }
    }

    fn scrape(&mut self, scrape: &Scrape<'_>) {
        if let Some(counters) = &mut self.counters {
            counters.scrape(scrape);
        }
    }

    fn progress(&mut self, progress: &Progress) -> bool {
        let writable = self.log.as_ref().is_none_or(Log::is_writable);
        (self.go_on)(progress) && writable
    }
}
