//! [`Pauses`]: from when to when ports obeyed their peers.

use super::Queue;
use std::collections::BTreeMap;
use xoff_sim::{Trace, TraceKind};
use xoff_units::Instant;

/// A class of a port that its peer kept paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// What was paused.
    pub queue: Queue,
    /// From when.
    pub from: Instant,
    /// To when; none if it was still paused when the run ended.
    pub to: Option<Instant>,
}

/// The first pauses of a run, which show how they spread, and how many followed.
#[derive(Debug)]
pub struct Pauses {
    most: usize,
    kept: Vec<Pause>,
    /// The kept pause of each queue that is paused now.
    open: BTreeMap<Queue, usize>,
    left_out: u64,
}

impl Pauses {
    pub(super) fn first(most: usize) -> Self {
        Self { most, kept: Vec::new(), open: BTreeMap::new(), left_out: 0 }
    }

    pub(super) fn trace(&mut self, trace: &Trace) {
        let queue = Queue { port: trace.port, class: trace.class };
        match trace.kind {
            TraceKind::PauseStart if self.kept.len() < self.most => {
                self.open.insert(queue, self.kept.len());
                self.kept.push(Pause { queue, from: trace.at, to: None });
            }
            TraceKind::PauseStart => self.left_out += 1,
            TraceKind::PauseEnd => {
                if let Some(open) = self.open.remove(&queue) {
                    self.kept[open].to = Some(trace.at);
                }
            }
            _ => {}
        }
    }

    /// The pauses that were kept, in the order in which they began.
    pub fn kept(&self) -> &[Pause] {
        &self.kept
    }

    /// Later pauses, which were only counted.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::model::PortId;
    use xoff_units::Span;

    #[test]
    fn pauses_are_paired_and_bounded() {
        let trace = |us, kind| Trace {
            at: Instant::ZERO + Span::from_us(us),
            kind,
            port: PortId(2),
            class: 3,
            flow: None,
            bytes: 0,
        };
        let mut pauses = Pauses::first(100);
        pauses.trace(&trace(0, TraceKind::PauseEnd));
        for us in 0..105 {
            pauses.trace(&trace(2 * us, TraceKind::PauseStart));
            pauses.trace(&trace(2 * us + 1, TraceKind::PauseEnd));
        }
        assert_eq!((pauses.kept().len(), pauses.left_out()), (100, 5));
        assert!(pauses.kept().iter().all(|p| p.to == Some(p.from + Span::from_us(1))));
    }
}
