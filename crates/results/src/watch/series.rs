//! [`Series`]: queues over time for a page, in bounded memory however long the run.

use super::Queue;
use xoff_fabric::model::{CLASSES, Fabric};
use xoff_sim::Sample;
use xoff_units::{Instant, Span};

/// Queues that are followed: the first to be sampled.
const QUEUES: usize = 2_048;

/// Steps of a series. A longer run merges each two of them into one.
const STEPS: usize = 512;

/// Queues step by step.
#[derive(Debug)]
pub struct Series {
    /// Time from one step to the next; it doubles as the run goes on.
    step: Span,
    /// By port and class: its place in `queues`, or beyond.
    places: Vec<u32>,
    queues: Vec<QueueSeries>,
    /// Bytes on the wire at the last sample, by port and class.
    wire: Vec<u64>,
    /// Samples of queues that are not followed.
    left_out: u64,
}

/// A queue step by step.
#[derive(Debug, Clone)]
pub struct QueueSeries {
    /// Which queue.
    pub queue: Queue,
    /// Greatest length of the egress queue.
    pub egress: Vec<u32>,
    /// Most bytes held of what came in by this port.
    pub ingress: Vec<u32>,
    /// Bytes sent, preambles and gaps included.
    pub sent: Vec<u64>,
    /// The step of the sample before.
    last: usize,
}

const NOWHERE: u32 = u32::MAX;

impl Series {
    pub(super) fn new(fabric: &Fabric, period: Span) -> Self {
        let slots = fabric.ports.len() * CLASSES;
        Self {
            step: period,
            places: vec![NOWHERE; slots],
            queues: Vec::new(),
            wire: vec![0; slots],
            left_out: 0,
        }
    }

    pub(super) fn sample(&mut self, sample: &Sample) {
        if self.step.is_zero() {
            return;
        }
        let key = Queue { port: sample.port, class: sample.class };
        let before = std::mem::replace(&mut self.wire[key.slot()], sample.wire_bytes);
        let sent = sample.wire_bytes.saturating_sub(before);
        while self.at(sample.at) >= STEPS {
            self.halve();
        }
        let at = self.at(sample.at);
        let Some(queue) = self.queue(key) else { return };
        for series in [&mut queue.egress, &mut queue.ingress] {
            series.resize(series.len().max(at + 1), 0);
        }
        queue.sent.resize(queue.sent.len().max(at + 1), 0);
        queue.egress[at] = queue.egress[at].max(sample.queue);
        let ingress = u32::try_from(sample.ingress).unwrap_or(u32::MAX);
        queue.ingress[at] = queue.ingress[at].max(ingress);
        // An empty queue is not sampled, though its port may send: what it sent since the sample
        // before is spread over the steps since then.
        let first = (queue.last + 1).min(at);
        let steps = (at - first + 1) as u64;
        for step in &mut queue.sent[first..=at] {
            *step += sent / steps;
        }
        queue.sent[at] += sent % steps;
        queue.last = at;
    }

    /// Time from one step to the next; zero if queues were not sampled.
    pub fn step(&self) -> Span {
        self.step
    }

    /// The queues that were followed.
    pub fn queues(&self) -> &[QueueSeries] {
        &self.queues
    }

    /// Samples of queues that were not followed.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn at(&self, now: Instant) -> usize {
        (now.as_ps() / self.step.as_ps().max(1)) as usize
    }

    fn queue(&mut self, queue: Queue) -> Option<&mut QueueSeries> {
        let slot = queue.slot();
        if self.places[slot] == NOWHERE {
            if self.queues.len() >= QUEUES {
                self.left_out += 1;
                return None;
            }
            self.places[slot] = self.queues.len() as u32;
            let (egress, ingress, sent) = (Vec::new(), Vec::new(), Vec::new());
            self.queues.push(QueueSeries { queue, egress, ingress, sent, last: 0 });
        }
        self.queues.get_mut(self.places[slot] as usize)
    }

    /// Merges each two steps into one.
    fn halve(&mut self) {
        self.step = self.step + self.step;
        for queue in &mut self.queues {
            let most = |pair: &[u32]| pair.iter().copied().max().unwrap_or(0);
            queue.egress = queue.egress.chunks(2).map(most).collect();
            queue.ingress = queue.ingress.chunks(2).map(most).collect();
            queue.sent = queue.sent.chunks(2).map(|pair| pair.iter().sum()).collect();
            queue.last /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::model::PortId;

    fn series() -> Series {
        let text = include_str!("../../../../examples/two-leaves-40g.toml");
        let setup = xoff_fabric::load_fabric(text).into_result().unwrap();
        Series::new(&setup.fabric, Span::from_us(1))
    }

    fn sample(us: u64, queue: u32, wire_bytes: u64) -> Sample {
        let at = Instant::ZERO + Span::from_us(us);
        let (port, class) = (PortId(1), 3);
        Sample { at, port, class, queue, ingress: 7, paused: false, tx_bytes: 0, wire_bytes }
    }

    #[test]
    fn a_long_run_keeps_its_peak_and_its_sum() {
        let mut series = series();
        for us in 0..100_000 {
            let depth = if us == 77_777 { 999 } else { 5 };
            series.sample(&sample(us, depth, 10 * (us + 1)));
        }
        let [queue] = series.queues() else { panic!("one queue") };
        assert!(queue.egress.len() <= STEPS && queue.egress.len() > STEPS / 4);
        assert_eq!(queue.sent.iter().sum::<u64>(), 1_000_000);
        let peak = queue.egress.iter().position(|bytes| *bytes == 999).unwrap() as u64;
        let begin = peak * series.step().as_ps();
        let (step, at) = (series.step().as_ps(), Span::from_us(77_777).as_ps());
        assert!((begin..begin + step).contains(&at));
    }

    #[test]
    fn what_was_sent_without_waiting_is_spread() {
        let mut series = series();
        series.sample(&sample(2, 5, 10));
        series.sample(&sample(6, 5, 51));
        assert_eq!(series.queues()[0].sent, [0, 5, 5, 10, 10, 10, 11]);
        assert_eq!(series.queues()[0].egress, [0, 0, 5, 0, 0, 0, 5]);
    }
}
