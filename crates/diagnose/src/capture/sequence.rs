//! Sequence numbers as they come: in order, missing, late, again.

use xoff_wire::Psn;
use xoff_wire::capture::Timestamp;

/// Gaps that are remembered; the oldest is forgotten when there are more.
const HOLES: usize = 64;
/// A jump of more than this is another connection on the same queue pair, or a hole in the
/// capture: no sender has this much in flight.
const FAR: i32 = 1 << 16;

/// How a packet stands to those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The next, or the first of all.
    InOrder,
    /// New, with this many missing before it.
    AfterGap(u32),
    /// One that was missing since this moment.
    FillsGap(Timestamp),
    /// Seen before.
    Again,
    /// Far from all others.
    Elsewhere,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    start: Psn,
    len: u32,
    since: Timestamp,
}

/// Follows the sequence numbers of one sender.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    next: Option<Psn>,
    /// After a read whose number of answers is not known: its number and bytes.
    open_read: Option<(Psn, u32)>,
    holes: Vec<Hole>,
}

impl Sequence {
    /// Begins anew with whatever comes.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// A packet with number `psn` came, which takes `span` numbers.
    pub(super) fn arrive(&mut self, psn: Psn, span: u32, now: Timestamp) -> Arrival {
        let Some(mut next) = self.next else {
            self.next = Some(psn.plus(span));
            return Arrival::InOrder;
        };
        if let Some((read, bytes)) = self.open_read.take()
            && (0..5).any(|power| psn == read.plus(answers(bytes, 256 << power)))
        {
            next = psn;
        }
        let distance = psn.distance_from(next);
        if distance.abs() > FAR {
            self.holes.clear();
            self.next = Some(psn.plus(span));
            return Arrival::Elsewhere;
        }
        if distance < 0 {
            return self.fill(psn).map_or(Arrival::Again, Arrival::FillsGap);
        }
        self.next = Some(psn.plus(span));
        if distance == 0 {
            return Arrival::InOrder;
        }
        if self.holes.len() == HOLES {
            self.holes.remove(0);
        }
        self.holes.push(Hole { start: next, len: distance as u32, since: now });
        Arrival::AfterGap(distance as u32)
    }

    /// The packet that came last is a read of `bytes` bytes, and the largest payload of a packet is
    /// not known: where its answers end will be seen from what comes next.
    pub(super) fn open_read(&mut self, psn: Psn, bytes: u32) {
        self.open_read = Some((psn, bytes));
    }

    /// The largest payload of a packet has become known: a read that was open ends where that says.
    /// Returns its number and how many its answers take.
    pub(super) fn close_read(&mut self, mtu: u32) -> Option<(Psn, u32)> {
        let (read, bytes) = self.open_read.take()?;
        let span = answers(bytes, mtu);
        self.next = Some(read.plus(span));
        Some((read, span))
    }

    /// Takes `psn` out of the gap it lies in and says since when that was one.
    fn fill(&mut self, psn: Psn) -> Option<Timestamp> {
        let inside = |hole: &Hole| (0..hole.len as i32).contains(&psn.distance_from(hole.start));
        let at = self.holes.iter().position(inside)?;
        let hole = self.holes.swap_remove(at);
        let before = psn.distance_from(hole.start) as u32;
        let after = hole.len - before - 1;
        for (start, len) in [(hole.start, before), (psn.plus(1), after)] {
            if len > 0 && self.holes.len() < HOLES {
                self.holes.push(Hole { start, len, since: hole.since });
            }
        }
        Some(hole.since)
    }
}

/// Packets of an answer of `bytes` bytes with at most `mtu` in each.
pub(super) const fn answers(bytes: u32, mtu: u32) -> u32 {
    if bytes == 0 || mtu == 0 { 1 } else { bytes.div_ceil(mtu) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{AfterGap, Again, Elsewhere, FillsGap, InOrder};
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_ns(5);

    fn arrivals(numbers: &[u32]) -> Vec<Arrival> {
        let mut sequence = Sequence::default();
        numbers.iter().map(|psn| sequence.arrive(Psn::new(*psn), 1, NOW)).collect()
    }

    #[test]
    fn gaps_open_and_close() {
        let found = arrivals(&[0xff_ffff, 0, 4, 2, 2, 1, 3, 5, 0]);
        let fills = FillsGap(NOW);
        assert_eq!(
            found,
            [InOrder, InOrder, AfterGap(3), fills, Again, fills, fills, InOrder, Again]
        );
    }

    #[test]
    fn far_jumps_begin_anew() {
        assert_eq!(arrivals(&[5, 1_000_000, 1_000_001]), [InOrder, Elsewhere, InOrder]);
    }

    #[test]
    fn a_read_of_unknown_packets_ends_where_the_next_begins() {
        let mut sequence = Sequence::default();
        sequence.arrive(Psn::new(10), 1, NOW);
        sequence.open_read(Psn::new(10), 65536);
        assert_eq!(sequence.arrive(Psn::new(26), 1, NOW), InOrder, "16 packets of 4096");
        sequence.open_read(Psn::new(26), 65536);
        assert_eq!(sequence.arrive(Psn::new(43), 1, NOW), AfterGap(16), "no size gives 17");
    }

    proptest! {
        #[test]
        fn any_numbers_do_no_harm(numbers in proptest::collection::vec((0u32..200, 0u32..9), 0..400)) {
            let mut sequence = Sequence::default();
            for (psn, span) in numbers {
                sequence.arrive(Psn::new(psn.wrapping_mul(997)), span, NOW);
                prop_assert!(sequence.holes.len() <= HOLES);
            }
        }

        /// Every number of a shuffled window is new exactly once.
        #[test]
        fn what_is_new_is_new_once(order in Just((0u32..60).collect::<Vec<_>>()).prop_shuffle()) {
            let mut sequence = Sequence::default();
            sequence.arrive(Psn::new(0), 1, NOW);
            let order: Vec<_> = order.into_iter().map(|psn| psn + 1).collect();
            for psn in order.iter().chain(&order) {
                let first = sequence.arrive(Psn::new(*psn), 1, NOW) != Again;
                prop_assert_eq!(first, sequence.arrive(Psn::new(*psn), 1, NOW) == Again && first);
            }
        }
    }
}
