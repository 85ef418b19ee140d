//! When the next packet may leave.

use xoff_units::{Instant, Rate, Span, time::PS_PER_S};

/// Nothing sends more slowly than this, so that the time of a packet stays within bounds.
pub(crate) const SLOWEST: Rate = Rate::from_bps(1_000_000);

/// How far a sender that works in bursts may deviate from the instants that pacing gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slack {
    /// Packets may leave this much before their time, so that several can be given to the wire at
    /// once.
    pub ahead: Span,
    /// A sender that wakes up late may catch up with at most this much of what it missed.
    /// Without it every delay of the clock is lost for good, and the rate is never reached.
    pub behind: Span,
}

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
    pub(crate) fn time_of(&self, len: u32) -> Span {
        let rate = self.rate.bps();
        Span::from_ps((u64::from(len) * (8 * PS_PER_S) + rate / 2) / rate)
    }

    /// The instant at which a packet given to the wire at `now` counts as sent, if one may be.
    #[inline]
    pub(crate) fn start(&self, now: Instant, slack: Slack) -> Option<Instant> {
        if self.next > now + slack.ahead {
            return None;
        }
        let earliest = now.as_ps().saturating_sub(slack.behind.as_ps());
        Some(self.next.max(Instant::from_ps(earliest)))
    }

    /// A packet of `len` bytes, gap included, starts at `now`.
    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, len: u32) {
        self.sent_for(now, len, self.time_of(len));
    }

    /// The same of a packet that takes `time`, computed before.
    #[inline]
    pub(crate) fn sent_for(&mut self, now: Instant, len: u32, time: Span) {
        debug_assert!(
            now >= self.last_start && now >= self.next,
            "a packet starts before the one before it has left"
        );
        self.last_start = now;
        self.last_len = len;
        self.next = now + time;
    }

    /// Changes the rate. With `moves` it counts for the packet already sent, too: the next one
    /// comes earlier or later than was said. Otherwise it counts from the next packet on.
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

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    /// Packets of a microsecond each that leave when the sender wakes up.
    fn burst(pacer: &mut Pacer, now: Instant, slack: Slack) -> usize {
        let mut count = 0;
        while let Some(start) = pacer.start(now, slack) {
            pacer.sent(start, 12_500);
            count += 1;
        }
        count
    }

    #[test]
    fn bursts_keep_the_rate() {
        let slack = Slack { ahead: Span::from_us(3), behind: Span::from_us(20) };
        let mut pacer = Pacer::new(Rate::from_gbps(100));
        // As far ahead as allowed, and then as many as time has passed, however late.
        assert_eq!(burst(&mut pacer, at(100), slack), 24);
        assert_eq!(burst(&mut pacer, at(100), slack), 0);
        assert_eq!(burst(&mut pacer, at(110), slack), 10);
        assert_eq!(burst(&mut pacer, at(111), slack), 1);
        assert_eq!(burst(&mut pacer, at(120), slack), 9);
        // A sender that slept for long catches up no more than the bound.
        assert_eq!(burst(&mut pacer, at(1000), slack), 24);
    }

    #[test]
    fn without_slack_nothing_is_caught_up() {
        let mut pacer = Pacer::new(Rate::from_gbps(100));
        for us in [10, 20, 30] {
            assert_eq!(pacer.start(at(us), Slack::default()), Some(at(us)));
            assert_eq!(burst(&mut pacer, at(us), Slack::default()), 1);
        }
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
