//! [`Samples`]: queues and NICs, sample by sample.

use super::Queue;
use std::collections::BTreeMap;
use xoff_sim::{Sample, Sent};
use xoff_units::Instant;

/// Samples that are kept; no experiment of a validation comes near.
const MOST: usize = 2_000_000;

/// Every sample of a run, up to two million.
#[derive(Debug, Default)]
pub struct Samples {
    taken: usize,
    depths: BTreeMap<Queue, Vec<(Instant, u32)>>,
    sent: BTreeMap<Queue, Vec<(Instant, u64)>>,
}

impl Samples {
    pub(super) fn sample(&mut self, sample: &Sample) {
        if self.taken >= MOST {
            return;
        }
        let queue = Queue { port: sample.port, class: sample.class };
        // A queue is followed from its first sample that is not empty.
        match self.depths.get_mut(&queue) {
            Some(points) => points.push((sample.at, sample.queue)),
            None if sample.queue > 0 => {
                self.depths.insert(queue, vec![(sample.at, sample.queue)]);
            }
            None => return,
        }
        self.taken += 1;
    }

    pub(super) fn sent(&mut self, sent: &Sent) {
        if self.taken < MOST {
            let queue = Queue { port: sent.port, class: sent.class };
            self.sent.entry(queue).or_default().push((sent.at, sent.bytes));
            self.taken += 1;
        }
    }

    /// Bytes in egress queues over time.
    pub fn depths(&self) -> &BTreeMap<Queue, Vec<(Instant, u32)>> {
        &self.depths
    }

    /// Bytes that NICs have sent since the run began, over time.
    pub fn sent_bytes(&self) -> &BTreeMap<Queue, Vec<(Instant, u64)>> {
        &self.sent
    }
}
