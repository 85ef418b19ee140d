//! Whose turn it is at a port: strict classes first, then weighted ones.
//!
//! Among strict classes the higher number wins. Weighted classes take turns by packets ([`Wrr`]),
//! by bytes with deficit counters ([`Dwrr`], which is ETS), or by virtual finish time ([`Wfq`]).
//! With one class waiting none of this runs.
//!
//! [`Wrr`]: Discipline::Wrr
//! [`Dwrr`]: Discipline::Dwrr
//! [`Wfq`]: Discipline::Wfq

use xoff_fabric::model::{CLASSES, Discipline, PortClass, Scheduling};

/// The turn-taking state of one port.
#[derive(Debug, Clone)]
pub(crate) struct Scheduler {
    discipline: Discipline,
    /// The class whose turn it is.
    cursor: u8,
    weights: [u32; CLASSES],
    /// DWRR: bytes handed out per turn.
    quanta: [i64; CLASSES],
    /// WRR: packets left in this turn. DWRR: bytes left. WFQ: virtual time of the next start.
    credit: [i64; CLASSES],
    /// WFQ: the virtual time of the last packet served.
    clock: i64,
}

/// DWRR hands out this many bytes per turn to the largest weight, and the others their share of it:
/// a few jumbo frames, so that turns are short. A small weight may need several for one packet.
const QUANTUM: i64 = 4 * 9216;

/// WFQ's virtual time is in bytes per weight, times this.
const VIRTUAL_SCALE: i64 = 1 << 16;

impl Scheduler {
    pub(crate) fn new(classes: &[PortClass; CLASSES], discipline: Discipline) -> Self {
        let mut weights = [1; CLASSES];
        for (weight, class) in weights.iter_mut().zip(classes) {
            if let Scheduling::Weighted(value) = class.scheduling {
                *weight = value.max(1);
            }
        }
        let largest = i64::from(weights.iter().copied().max().unwrap_or(1));
        let quanta = weights.map(|weight| (QUANTUM * i64::from(weight) / largest).max(1));
        Self { discipline, cursor: 0, weights, quanta, credit: [0; CLASSES], clock: 0 }
    }

    /// The class to serve among the weighted ones in `eligible` (at least one bit set).
    /// `size` gives the length of a class's first packet.
    pub(crate) fn pick(&mut self, eligible: u8, size: impl Fn(u8) -> u32) -> u8 {
        debug_assert!(eligible != 0);
        match self.discipline {
            Discipline::Wrr => self.pick_wrr(eligible),
            Discipline::Dwrr => self.pick_dwrr(eligible, size),
            Discipline::Wfq => self.pick_wfq(eligible, size),
        }
    }

    /// The next class after the cursor that is in `eligible`.
    fn advance(&mut self, eligible: u8) -> usize {
        let after = eligible.rotate_right(u32::from(self.cursor) + 1);
        self.cursor = (self.cursor + 1 + after.trailing_zeros() as u8) % CLASSES as u8;
        usize::from(self.cursor)
    }

    fn pick_wrr(&mut self, eligible: u8) -> u8 {
        let current = usize::from(self.cursor);
        if eligible & 1 << current != 0 && self.credit[current] > 0 {
            self.credit[current] -= 1;
            return self.cursor;
        }
        let next = self.advance(eligible);
        self.credit[next] = i64::from(self.weights[next]) - 1;
        self.cursor
    }

    fn pick_dwrr(&mut self, eligible: u8, size: impl Fn(u8) -> u32) -> u8 {
        let current = usize::from(self.cursor);
        if eligible & 1 << current == 0 {
            // A class with nothing to send keeps no credit.
            self.credit[current] = 0;
        } else {
            let cost = i64::from(size(self.cursor));
            if self.credit[current] >= cost {
                self.credit[current] -= cost;
                return self.cursor;
            }
        }
        loop {
            let next = self.advance(eligible);
            self.credit[next] += self.quanta[next];
            let cost = i64::from(size(self.cursor));
            if self.credit[next] >= cost {
                self.credit[next] -= cost;
                return self.cursor;
            }
        }
    }

    fn pick_wfq(&mut self, eligible: u8, size: impl Fn(u8) -> u32) -> u8 {
        let mut best = (i64::MAX, 0);
        for class in 0..CLASSES as u8 {
            if eligible & 1 << class == 0 {
                continue;
            }
            // A class that was idle starts at the present virtual time, not in the past.
            let start = self.credit[usize::from(class)].max(self.clock);
            if start < best.0 {
                best = (start, class);
            }
        }
        let (start, class) = best;
        let index = usize::from(class);
        self.clock = start;
        let cost = i64::from(size(class)) * VIRTUAL_SCALE / i64::from(self.weights[index]);
        self.credit[index] = start + cost;
        class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_fabric::model::Threshold;
    use xoff_units::Bytes;

    fn scheduler(discipline: Discipline, weights: [u32; 3]) -> Scheduler {
        let class = |weight| PortClass {
            lossless: true,
            reserved: Bytes::ZERO,
            threshold: Threshold::Static(Bytes::ZERO),
            xon_offset: Bytes::ZERO,
            headroom: Bytes::ZERO,
            egress_limit: None,
            ecn: None,
            scheduling: Scheduling::Weighted(weight),
        };
        let mut classes = [class(1); CLASSES];
        for (slot, weight) in classes.iter_mut().zip(weights) {
            *slot = class(weight);
        }
        Scheduler::new(&classes, discipline)
    }

    /// Bytes each of three classes got after many turns, all of them always waiting.
    fn shares(discipline: Discipline, weights: [u32; 3], sizes: [u32; 3]) -> [u64; 3] {
        let mut scheduler = scheduler(discipline, weights);
        let mut bytes = [0u64; 3];
        for _ in 0..60_000 {
            let class = usize::from(scheduler.pick(0b111, |class| sizes[usize::from(class)]));
            bytes[class] += u64::from(sizes[class]);
        }
        bytes
    }

    fn close(got: u64, of: u64, share: f64) {
        let got = got as f64 / of as f64;
        assert!((got - share).abs() < 0.01, "got a share of {got}, expected {share}");
    }

    #[test]
    fn byte_shares_follow_the_weights_whatever_the_packet_size() {
        for discipline in [Discipline::Dwrr, Discipline::Wfq] {
            let bytes = shares(discipline, [50, 30, 20], [4160, 1000, 64]);
            let total = bytes.iter().sum();
            close(bytes[0], total, 0.5);
            close(bytes[1], total, 0.3);
            close(bytes[2], total, 0.2);
        }
    }

    #[test]
    fn wrr_counts_packets() {
        let bytes = shares(Discipline::Wrr, [3, 2, 1], [100, 100, 100]);
        let total = bytes.iter().sum();
        close(bytes[0], total, 0.5);
        close(bytes[2], total, 1.0 / 6.0);
    }

    #[test]
    fn an_idle_class_saves_nothing_up() {
        for discipline in [Discipline::Wrr, Discipline::Dwrr, Discipline::Wfq] {
            let mut scheduler = scheduler(discipline, [1, 1, 1]);
            for _ in 0..10_000 {
                assert_eq!(scheduler.pick(0b001, |_| 1000), 0);
            }
            let second = (0..1000).filter(|_| scheduler.pick(0b011, |_| 1000) == 1).count();
            assert!((450..=550).contains(&second), "{discipline:?}: {second} of 1000");
        }
    }
}
