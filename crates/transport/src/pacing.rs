//! When the next packet may leave.

use xoff_units::{Instant, Rate, Span, time::PS_PER_S};

/// Nothing sends more slowly than this, so that the time of a packet stays within bounds.
pub(crate) const SLOWEST: Rate = Rate::from_bps(1_000_000);

/// Spaces packets by their length on the wire at the current rate.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    next: Instant,
    last_start: Instant,
    rate: Rate,
    last_len: u32,
}

impl Pacer {
    pub(crate) fn new(rate: Rate) -> Self {
        let rate = rate.max(SLOWEST);
        Self { next: Instant::ZERO, last_start: Instant::ZERO, rate, last_len: 0 }
    }

    /// When the next packet may leave.
    #[inline]
    pub(crate) const fn next(&self) -> Instant {
        self.next
    }

    /// The time `len` bytes take, to the nearest picosecond. A packet is far shorter than the two
    /// megabytes at which the product would not fit.
    #[inline]
    fn time_of(&self, len: u32) -> Span {
        let rate = self.rate.bps();
        Span::from_ps((u64::from(len) * (8 * PS_PER_S) + rate / 2) / rate)
    }

    /// A packet of `len` bytes, gap included, starts at `now`.
    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, len: u32) {
        self.last_start = now;
        self.last_len = len;
        self.next = now + self.time_of(len);
    }

    /// Changes the rate. With `moves` it counts for the packet already sent, too: the next one comes
    /// earlier or later than was said. Otherwise it counts from the next packet on.
    #[inline]
    pub(crate) fn set_rate(&mut self, rate: Rate, moves: bool) {
        let rate = rate.max(SLOWEST);
        if rate == self.rate {
            return;
        }
        self.rate = rate;
        if moves {
            self.next = self.last_start + self.time_of(self.last_len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_follow_each_other_at_line_rate() {
        let mut pacer = Pacer::new(Rate::from_gbps(100));
        pacer.sent(Instant::ZERO, 4160);
        assert_eq!(pacer.next(), Instant::ZERO + Span::from_ps(332_800));
    }

    #[test]
    fn a_rate_change_moves_what_was_said_only_where_it_should() {
        for (moves, ps) in [(false, 80_000), (true, 160_000)] {
            let mut pacer = Pacer::new(Rate::from_gbps(100));
            pacer.sent(Instant::ZERO, 1000);
            pacer.set_rate(Rate::from_gbps(50), moves);
            assert_eq!(pacer.next().as_ps(), ps);
        }
    }

    #[test]
    fn a_rate_of_zero_is_slow_not_fatal() {
        let mut pacer = Pacer::new(Rate::ZERO);
        pacer.sent(Instant::ZERO, 10_000);
        assert_eq!(pacer.next().as_ps(), 80_000_000_000);
    }
}
