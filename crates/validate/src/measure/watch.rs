//! What is seen while a run runs: pauses, drops, queues over time.

use std::collections::BTreeMap;
use xoff_fabric::model::{CLASSES, Fabric, PortId};
use xoff_sim::{Sample, Sent, Trace, TraceKind};
use xoff_units::Instant;

/// Pauses that are kept: the first ones, which show how they spread.
const PAUSES: usize = 2_000;

/// Samples that are kept: no experiment should come near.
const SAMPLES: usize = 2_000_000;

/// A port and one of its classes.
pub(super) type Queue = (PortId, u8);

#[derive(Debug)]
pub(super) struct Seen {
    lossless: [bool; CLASSES],
    pub(super) first_pause: Option<Instant>,
    pub(super) first_lossless_drop: Option<Trace>,
    pub(super) watchdog: u64,
    open: BTreeMap<Queue, Instant>,
    pub(super) pauses: Vec<(Queue, Instant, Instant)>,
    samples: usize,
    pub(super) sent: BTreeMap<Queue, Vec<(Instant, u64)>>,
    pub(super) depths: BTreeMap<Queue, Vec<(Instant, u32)>>,
}

impl Seen {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self {
            lossless: std::array::from_fn(|class| fabric.classes[class].lossless),
            first_pause: None,
            first_lossless_drop: None,
            watchdog: 0,
            open: BTreeMap::new(),
            pauses: Vec::new(),
            samples: 0,
            sent: BTreeMap::new(),
            depths: BTreeMap::new(),
        }
    }

    pub(super) fn trace(&mut self, trace: &Trace) {
        let queue = (trace.port, trace.class);
        match trace.kind {
            TraceKind::PauseStart => {
                self.first_pause.get_or_insert(trace.at);
                if self.open.len() + self.pauses.len() < PAUSES {
                    self.open.entry(queue).or_insert(trace.at);
                }
            }
            TraceKind::PauseEnd => {
                if let Some(from) = self.open.remove(&queue) {
                    self.pauses.push((queue, from, trace.at));
                }
            }
            TraceKind::Drop(_) if self.lossless[usize::from(trace.class)] => {
                self.first_lossless_drop.get_or_insert(*trace);
            }
            TraceKind::WatchdogDetect => self.watchdog += 1,
            _ => {}
        }
    }

    pub(super) fn sample(&mut self, sample: &Sample) {
        if self.samples >= SAMPLES {
            return;
        }
        let queue = (sample.port, sample.class);
        // A queue is followed from when it is first seen with something in it.
        match self.depths.get_mut(&queue) {
            Some(points) => points.push((sample.at, sample.queue)),
            None if sample.queue > 0 => {
                self.depths.insert(queue, vec![(sample.at, sample.queue)]);
            }
            None => return,
        }
        self.samples += 1;
    }

    pub(super) fn sent(&mut self, sent: &Sent) {
        if self.samples < SAMPLES {
            let points = self.sent.entry((sent.port, sent.class)).or_default();
            points.push((sent.at, sent.bytes));
            self.samples += 1;
        }
    }

    /// Pauses that were still on when the run ended.
    pub(super) fn close(&mut self, end: Instant) {
        let open = std::mem::take(&mut self.open);
        self.pauses.extend(open.into_iter().map(|(queue, from)| (queue, from, end)));
    }
}
