//! What a [`Machine`] repeats, and how it is moved on by whole periods.
//!
//! Two moments at which a machine has the same [posture](Machine::posture) differ only in how far its workers and links are. If what its
//! workers have to do next is what they did in between, it does the same again.

use super::{Machine, SLOTS, State, Worker};
use crate::collective::shape::Shape;

/// How far the workers and links of a machine are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Places {
    /// Slices that each worker has behind it.
    workers: Vec<u64>,
    /// Pieces that the receiver of each link has taken.
    links: Vec<u32>,
}

impl Machine {
    /// Whether there is anything to repeat: many slices, and none of them empty.
    pub(crate) fn may_repeat(&self) -> bool {
        // So many periods of the slots that the search for a period is worth it.
        let long = |worker: &Worker| self.slices(worker) > u64::from(8 * SLOTS);
        self.terms.queues <= SLOTS
            && SLOTS.is_multiple_of(self.terms.queues)
            && self.workers.iter().any(long)
            && !self.shapes.iter().any(Shape::has_empty)
    }

    /// The slices of a worker in all.
    fn slices(&self, worker: &Worker) -> u64 {
        let shape = &self.shapes[worker.channel as usize];
        u64::from(shape.laps) * u64::from(worker.part.steps()) * u64::from(shape.slices)
    }

    fn place(&self, worker: &Worker) -> u64 {
        let shape = &self.shapes[worker.channel as usize];
        let steps = u64::from(worker.lap) * u64::from(worker.part.steps()) + u64::from(worker.step);
        steps * u64::from(shape.slices) + u64::from(worker.slice)
    }

    /// The worker that has the most to do.
    pub(crate) fn longest(&self) -> Option<usize> {
        (0..self.workers.len()).max_by_key(|&number| self.slices(&self.workers[number]))
    }

    /// The steps that a worker has behind it, and the lap that it is at.
    pub(crate) fn pace(&self, worker: usize) -> (u64, u32) {
        let worker = &self.workers[worker];
        let steps = u64::from(worker.part.steps());
        (u64::from(worker.lap) * steps + u64::from(worker.step), worker.lap)
    }

    /// How far it is.
    pub(crate) fn places(&self) -> Places {
        Places {
            workers: self.workers.iter().map(|worker| self.place(worker)).collect(),
            links: self.links.iter().map(|link| link.consumed).collect(),
        }
    }

    /// All that decides what it does next, but for how far it is and for what its workers do after the slice that they are at: added to `out`.
    pub(crate) fn posture(&self, out: &mut Vec<u64>) {
        debug_assert!(self.ready.is_empty(), "looked at while it runs");
        for worker in &self.workers {
            let Worker { op, state, slice, bytes, .. } = *worker;
            let flags = u64::from(op.takes) << 8 | u64::from(op.gives) << 16 | state as u64;
            out.extend([flags, u64::from(slice) << 32 | u64::from(bytes)]);
        }
        self.links.iter().for_each(|link| link.posture(out));
    }

    /// How many times it does again what it did since it was `before`, at most `most` times. It has the posture that it had then.
    pub(crate) fn repetitions(&self, before: &Places, most: u64) -> u64 {
        let now = self.places();
        let window = self.terms.window;
        let mut most = most;
        for ((link, &now), &then) in self.links.iter().zip(&now.links).zip(&before.links) {
            // The last pieces are not asked for ahead.
            if now > then {
                let left = link.expected.saturating_sub(now + window);
                most = most.min(u64::from(left / (now - then)));
            }
        }
        // Where chunks are equal, workers of a kind that are as far have the same before them.
        let mut seen = Vec::new();
        for ((worker, &now), &then) in self.workers.iter().zip(&now.workers).zip(&before.workers) {
            let shape = &self.shapes[worker.channel as usize];
            let kind = (worker.part.kind(), shape, now, then);
            if most == 0 {
                return 0;
            }
            if now > then && !seen.contains(&kind) {
                most = self.alike(worker, now, now - then, most);
                if shape.is_even() {
                    seen.push(kind);
                }
            }
        }
        most
    }

    /// How many times a worker's next `period` slices are like those before, at most `most` times.
    fn alike(&self, worker: &Worker, now: u64, period: u64, most: u64) -> u64 {
        let shape = &self.shapes[worker.channel as usize];
        let steps = u64::from(worker.part.steps());
        let lap = steps * u64::from(shape.slices);
        if period.is_multiple_of(lap) {
            // Laps of one size are alike, and those of the other kind are at the end.
            let [(long, _), (short, _)] = shape.kinds();
            let alike = if u64::from(long) * lap > now - period { long } else { long + short };
            return ((u64::from(alike) * lap - 1).saturating_sub(now) / period).min(most);
        }
        let slices = u64::from(shape.slices);
        if !period.is_multiple_of(slices) {
            return 0;
        }
        let step = |step: u64| {
            let op = worker.part.op((step % steps) as u32);
            (op.takes, op.gives, shape.chunk((step / steps) as u32, op.chunk))
        };
        // Of a step that it is in the middle of, the rest is still to come. The last one is followed by none.
        let (first, period) = (now / slices, period / slices);
        let last = first.saturating_add(period.saturating_mul(most));
        let last = last.min(u64::from(shape.laps) * steps - 1);
        let other = (first + 1..=last).find(|&place| step(place) != step(place - period));
        (other.unwrap_or(last + 1) - 1 - first) / period
    }

    /// Does so many times again what it did since it was `before`.
    pub(crate) fn repeat(&mut self, before: &Places, times: u64) {
        let now = self.places();
        for (number, (&now, &then)) in now.workers.iter().zip(&before.workers).enumerate() {
            let worker = &self.workers[number];
            if now == then {
                continue;
            }
            let shape = &self.shapes[worker.channel as usize];
            let steps = u64::from(worker.part.steps());
            let step = (now + (now - then) * times) / u64::from(shape.slices);
            let (lap, step) = ((step / steps) as u32, (step % steps) as u32);
            let op = worker.part.op(step);
            let chunk = shape.chunk(lap, op.chunk);
            let worker = &mut self.workers[number];
            debug_assert!(worker.state != State::Done, "what is done does nothing again");
            (worker.lap, worker.step, worker.op, worker.chunk) = (lap, step, op, chunk);
        }
        for (link, &then) in self.links.iter_mut().zip(&before.links) {
            let more = u64::from(link.consumed - then) * times;
            link.advance(u32::try_from(more).expect("no more pieces than are expected"));
        }
    }
}
