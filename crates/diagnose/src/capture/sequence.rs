//! Sequence numbers as they come: in order, missing, late, again.

use xoff_wire::Psn;
use xoff_wire::capture::Timestamp;

/// Gaps that are remembered; of the oldest only the size is when there are more.
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
    /// One that may have been missing, since this moment.
    FillsDoubtful(Timestamp),
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
    /// Whether its numbers need not be packets.
    doubtful: bool,
}

impl Hole {
    fn end(&self) -> Psn {
        self.start.plus(self.len)
    }
}

/// A read whose number of answers is not known.
#[derive(Debug, Clone, Copy)]
struct OpenRead {
    psn: Psn,
    /// The bytes it asks for, unless the capture cut them off.
    bytes: Option<u32>,
}

impl OpenRead {
    /// Whether the numbers of its answers may end before `psn`.
    fn may_end_at(self, psn: Psn) -> bool {
        match self.bytes {
            Some(bytes) => (0..5).any(|power| psn == self.psn.plus(answers(bytes, 256 << power))),
            None => (1..=FAR).contains(&psn.distance_from(self.psn)),
        }
    }
}

/// Follows the sequence numbers of one sender.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    next: Option<Psn>,
    /// The latest packet, if that is a read whose number of answers is not known.
    open_read: Option<OpenRead>,
    /// In the order of their numbers.
    holes: Vec<Hole>,
    /// Where the last hole ended that is no longer remembered, and what was missing in all of those.
    forgotten: Option<(Psn, u32)>,
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
        if self.open_read.take().is_some_and(|read| read.may_end_at(psn)) {
            next = psn;
        }
        let distance = psn.distance_from(next);
        if distance.abs() > FAR {
            self.holes.clear();
            self.forgotten = None;
            self.next = Some(psn.plus(span));
            return Arrival::Elsewhere;
        }
        if distance < 0 {
            return self.fill(psn);
        }
        self.next = Some(psn.plus(span));
        if distance == 0 {
            return Arrival::InOrder;
        }
        if self.holes.len() == HOLES {
            self.forget_oldest();
        }
        let len = distance as u32;
        self.holes.push(Hole { start: next, len, since: now, doubtful: false });
        Arrival::AfterGap(len)
    }

    fn forget_oldest(&mut self) {
        let oldest = self.holes.remove(0);
        if !oldest.doubtful {
            let before = self.forgotten.map_or(0, |(_, missing)| missing);
            self.forgotten = Some((oldest.end(), before.saturating_add(oldest.len)));
        }
    }

    /// The next number.
    pub(super) const fn next(&self) -> Option<Psn> {
        self.next
    }

    /// The numbers before `psn` are not to be waited for.
    pub(super) fn skip_to(&mut self, psn: Psn) {
        if self.next.is_some_and(|next| next.is_before(psn)) {
            self.next = Some(psn);
        }
    }

    /// The numbers of the gap that was just found need not be packets.
    pub(super) fn doubt(&mut self) {
        if let Some(hole) = self.holes.last_mut() {
            hole.doubtful = true;
        }
    }

    /// Everything before `next` has arrived at the other end. Returns how many of those were never
    /// seen here; they are not missing any more.
    pub(super) fn acknowledge(&mut self, next: Psn) -> u32 {
        let mut unseen = 0;
        if let Some((end, missing)) = self.forgotten
            && !next.is_before(end)
        {
            unseen += missing;
            self.forgotten = None;
        }
        for hole in &mut self.holes {
            let covered = next.distance_from(hole.start).clamp(0, hole.len as i32) as u32;
            hole.start = hole.start.plus(covered);
            hole.len -= covered;
            unseen += if hole.doubtful { 0 } else { covered };
        }
        self.holes.retain(|hole| hole.len > 0);
        unseen
    }

    /// The packet that came last is a read of so many bytes, and the largest payload of a packet or
    /// the bytes are not known: where its answers end will be seen from what comes next.
    pub(super) fn open_read(&mut self, psn: Psn, bytes: Option<u32>) {
        self.open_read = Some(OpenRead { psn, bytes });
    }

    /// The largest payload of a packet has become known: a read that was open ends where that says.
    /// Returns its number and how many its answers take.
    pub(super) fn close_read(&mut self, mtu: u32) -> Option<(Psn, u32)> {
        let read = self.open_read?;
        let span = answers(read.bytes?, mtu);
        self.open_read = None;
        self.next = Some(read.psn.plus(span));
        Some((read.psn, span))
    }

    /// Takes `psn` out of the gap it lies in, if it lies in one.
    fn fill(&mut self, psn: Psn) -> Arrival {
        let inside = |hole: &Hole| (0..hole.len as i32).contains(&psn.distance_from(hole.start));
        let Some(at) = self.holes.iter().position(inside) else { return Arrival::Again };
        let hole = self.holes.remove(at);
        let before = psn.distance_from(hole.start) as u32;
        let after = Hole { start: psn.plus(1), len: hole.len - before - 1, ..hole };
        for part in [after, Hole { len: before, ..hole }] {
            if part.len > 0 {
                self.holes.insert(at, part);
            }
        }
        if self.holes.len() > HOLES {
            self.forget_oldest();
        }
        if hole.doubtful {
            Arrival::FillsDoubtful(hole.since)
        } else {
            Arrival::FillsGap(hole.since)
        }
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
        sequence.open_read(Psn::new(10), Some(65536));
        assert_eq!(sequence.arrive(Psn::new(26), 1, NOW), InOrder, "16 packets of 4096");
        sequence.open_read(Psn::new(26), Some(65536));
        assert_eq!(sequence.arrive(Psn::new(43), 1, NOW), AfterGap(16), "no size gives 17");
        sequence.open_read(Psn::new(43), None);
        assert_eq!(sequence.arrive(Psn::new(60), 1, NOW), InOrder, "cut off by the capture");
    }

    #[test]
    fn what_is_acknowledged_is_not_missing() {
        let mut sequence = Sequence::default();
        for psn in [0xff_fffe, 1, 5] {
            sequence.arrive(Psn::new(psn), 1, NOW);
        }
        assert_eq!(sequence.acknowledge(Psn::new(0xff_ffff)), 0);
        assert_eq!(sequence.acknowledge(Psn::new(3)), 3, "0xffffff, 0 and 2");
        assert_eq!(sequence.arrive(Psn::new(2), 1, NOW), Again);
        assert_eq!(sequence.arrive(Psn::new(3), 1, NOW), FillsGap(NOW));
        assert_eq!(sequence.acknowledge(Psn::new(6)), 1);
        // More gaps than are remembered: their sizes are.
        let mut sequence = Sequence::default();
        for at in 0..1000 {
            sequence.arrive(Psn::new(at * 3), 1, NOW);
        }
        assert_eq!(sequence.acknowledge(Psn::new(2998)), 999 * 2);
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
