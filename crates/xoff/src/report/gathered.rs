//! [`Gathered`]: series for the report, in bounded memory however long the run.

use xoff_fabric::model::{CLASSES, Fabric, PortId};
use xoff_sim::{Sample, Trace, TraceKind};
use xoff_units::{Instant, Span};

/// Queues that are followed: those that come first.
const QUEUES: usize = 2_048;

/// Steps of a series. When there are more, each two become one.
const STEPS: usize = 512;

/// Pauses that are kept.
const PAUSES: usize = 20_000;

/// What the report draws over time.
#[derive(Debug)]
pub(crate) struct Gathered {
    /// Time from one step to the next; it doubles as the run goes on.
    step: Span,
    /// By port and class: its place in `queues`, or beyond.
    places: Vec<u32>,
    queues: Vec<Queue>,
    /// Queues that found no place.
    left_out: u64,
    pauses: Vec<Pause>,
    /// By port and class: its last pause, if it has not ended.
    open: Vec<u32>,
    pauses_left_out: u64,
}

/// A queue step by step.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) port: PortId,
    pub(crate) class: u8,
    /// Greatest length of the egress queue.
    pub(crate) egress: Vec<u32>,
    /// Most bytes held of what came in by this port.
    pub(crate) ingress: Vec<u32>,
    /// Bytes sent, preambles and gaps included.
    pub(crate) sent: Vec<u64>,
    /// The step of the sample before.
    last: usize,
}

/// A class of a port that its peer kept paused.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pause {
    pub(crate) port: PortId,
    pub(crate) class: u8,
    pub(crate) from: Instant,
    /// Open if it did not end.
    pub(crate) to: Option<Instant>,
}

const NOWHERE: u32 = u32::MAX;

impl Gathered {
    /// For a fabric whose queues are sampled so often; zero is never.
    pub(crate) fn new(fabric: &Fabric, period: Span) -> Self {
        let slots = fabric.ports.len() * CLASSES;
        Self {
            step: period,
            places: vec![NOWHERE; slots],
            queues: Vec::new(),
            left_out: 0,
            pauses: Vec::new(),
            open: vec![NOWHERE; slots],
            pauses_left_out: 0,
        }
    }

    /// Takes in a sample, and how much of the wire was taken since the one before.
    pub(crate) fn sample(&mut self, sample: &Sample, sent: u64) {
        if self.step.is_zero() {
            return;
        }
        while self.at(sample.at) >= STEPS {
            self.halve();
        }
        let at = self.at(sample.at);
        let Some(queue) = self.queue(sample.port, sample.class) else { return };
        for series in [&mut queue.egress, &mut queue.ingress] {
            series.resize(series.len().max(at + 1), 0);
        }
        queue.sent.resize(queue.sent.len().max(at + 1), 0);
        queue.egress[at] = queue.egress[at].max(sample.queue);
        let ingress = u32::try_from(sample.ingress).unwrap_or(u32::MAX);
        queue.ingress[at] = queue.ingress[at].max(ingress);
        // A queue that holds nothing is not sampled, though its port may send: what it sent since the
        // sample before is spread over the steps since then.
        let first = (queue.last + 1).min(at);
        let steps = (at - first + 1) as u64;
        for step in &mut queue.sent[first..=at] {
            *step += sent / steps;
        }
        queue.sent[at] += sent % steps;
        queue.last = at;
    }

    /// Takes in what happened.
    pub(crate) fn trace(&mut self, trace: &Trace) {
        let slot = slot(trace.port, trace.class);
        match trace.kind {
            TraceKind::PauseStart if self.pauses.len() < PAUSES => {
                self.open[slot] = self.pauses.len() as u32;
                let (port, class, from) = (trace.port, trace.class, trace.at);
                self.pauses.push(Pause { port, class, from, to: None });
            }
            TraceKind::PauseStart => self.pauses_left_out += 1,
            TraceKind::PauseEnd => {
                let open = std::mem::replace(&mut self.open[slot], NOWHERE);
                if let Some(pause) = self.pauses.get_mut(open as usize) {
                    pause.to = Some(trace.at);
                }
            }
            _ => {}
        }
    }

    /// Time from one step to the next.
    pub(crate) fn step(&self) -> Span {
        self.step
    }

    /// The queues that were followed.
    pub(crate) fn queues(&self) -> &[Queue] {
        &self.queues
    }

    /// Samples of queues that were not.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The pauses that were kept, in order of their beginnings.
    pub(crate) fn pauses(&self) -> &[Pause] {
        &self.pauses
    }

    /// Pauses that were not.
    pub(crate) fn pauses_left_out(&self) -> u64 {
        self.pauses_left_out
    }

    fn at(&self, now: Instant) -> usize {
        (now.as_ps() / self.step.as_ps().max(1)) as usize
    }

    fn queue(&mut self, port: PortId, class: u8) -> Option<&mut Queue> {
        let slot = slot(port, class);
        if self.places[slot] == NOWHERE {
            if self.queues.len() >= QUEUES {
                self.left_out += 1;
                return None;
            }
            self.places[slot] = self.queues.len() as u32;
            let (egress, ingress, sent) = (Vec::new(), Vec::new(), Vec::new());
            self.queues.push(Queue { port, class, egress, ingress, sent, last: 0 });
        }
        self.queues.get_mut(self.places[slot] as usize)
    }

    /// Makes one step of each two.
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

fn slot(port: PortId, class: u8) -> usize {
    port.index() * CLASSES + usize::from(class) % CLASSES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered() -> Gathered {
        let text = include_str!("../../../../examples/two-leaves-40g.toml");
        let setup = xoff_fabric::load_fabric(text).into_result().unwrap();
        Gathered::new(&setup.fabric, Span::from_us(1))
    }

    fn sample(us: u64, queue: u32) -> Sample {
        let at = Instant::ZERO + Span::from_us(us);
        let (port, class) = (PortId(1), 3);
        Sample { at, port, class, queue, ingress: 7, paused: false, tx_bytes: 0, wire_bytes: 0 }
    }

    #[test]
    fn a_long_run_keeps_its_peak_and_its_sum() {
        let mut gathered = gathered();
        for us in 0..100_000 {
            gathered.sample(&sample(us, if us == 77_777 { 999 } else { 5 }), 10);
        }
        let [queue] = gathered.queues() else { panic!("one queue") };
        assert!(queue.egress.len() <= STEPS && queue.egress.len() > STEPS / 4);
        assert_eq!(queue.sent.iter().sum::<u64>(), 1_000_000);
        let peak = queue.egress.iter().position(|bytes| *bytes == 999).unwrap() as u64;
        let begin = peak * gathered.step().as_ps();
        let (step, at) = (gathered.step().as_ps(), Span::from_us(77_777).as_ps());
        assert!((begin..begin + step).contains(&at));
    }

    #[test]
    fn what_was_sent_without_waiting_is_spread() {
        let mut gathered = gathered();
        gathered.sample(&sample(2, 5), 10);
        gathered.sample(&sample(6, 5), 41);
        assert_eq!(gathered.queues()[0].sent, [0, 5, 5, 10, 10, 10, 11]);
        assert_eq!(gathered.queues()[0].egress, [0, 0, 5, 0, 0, 0, 5]);
    }

    #[test]
    fn pauses_are_paired_and_bounded() {
        let mut gathered = gathered();
        let trace = |us, kind| Trace {
            at: Instant::ZERO + Span::from_us(us),
            kind,
            port: PortId(2),
            class: 3,
            flow: None,
            bytes: 0,
        };
        gathered.trace(&trace(0, TraceKind::PauseEnd));
        for us in 0..PAUSES as u64 + 5 {
            gathered.trace(&trace(2 * us, TraceKind::PauseStart));
            gathered.trace(&trace(2 * us + 1, TraceKind::PauseEnd));
        }
        assert_eq!((gathered.pauses().len(), gathered.pauses_left_out()), (PAUSES, 5));
        assert!(gathered.pauses().iter().all(|p| p.to == Some(p.from + Span::from_us(1))));
    }
}
