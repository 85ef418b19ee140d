//! TIMELY's sender: the rate follows the gradient of the round-trip time.
//!
//! After Mittal and others, "TIMELY: RTT-based congestion control for the datacenter" (2015),
//! algorithm 1, one update per round trip. A single update takes away at most half, so that one
//! outlier does not stop the flow.

use super::{Feedback, ONE, base_rtt, div_q32, mul_q32};
use crate::config::Timely;
use crate::counters::Counters;
use crate::pacing::SLOWEST;
use crate::signals::PathInfo;
use xoff_units::{Rate, Span};

/// State of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    rate: u64,
    line: u64,
    base_rtt: Span,
    /// The last round-trip time; zero before the first.
    last_rtt: Span,
    /// Smoothed difference between round-trip times, in picoseconds.
    difference: i64,
    round_ends: u64,
    good_rounds: u32,
}

impl Sender {
    pub(crate) fn new(p: &Timely, path: PathInfo) -> Self {
        let line = path.line_rate.bps();
        Self {
            rate: line,
            line,
            base_rtt: base_rtt(p.base_rtt, path),
            last_rtt: Span::ZERO,
            difference: 0,
            round_ends: 0,
            good_rounds: 0,
        }
    }

    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// Rounds without a positive gradient, in a row.
    pub(crate) fn stage(&self) -> u32 {
        self.good_rounds
    }

    pub(crate) fn acknowledged(
        &mut self,
        feedback: &Feedback<'_>,
        p: &Timely,
        counters: &mut Counters,
    ) {
        let Some(rtt) = feedback.rtt else { return };
        if feedback.acked <= self.round_ends && self.round_ends != 0 {
            return;
        }
        self.round_ends = feedback.next;
        let last = std::mem::replace(&mut self.last_rtt, rtt);
        if last.is_zero() {
            return;
        }
        self.smooth(rtt, last, p);
        let before = self.rate;
        let factor = self.factor(rtt, p);
        let floor = p.min_rate.max(SLOWEST).bps().min(self.line);
        let grown = match factor {
            Some(factor) => mul_q32(self.rate, factor.max(ONE / 2)),
            None => self.rate.saturating_add(self.growth(p)),
        };
        self.rate = grown.clamp(floor, self.line);
        if self.rate < before {
            counters.rate_decreases += 1;
        }
    }

    fn smooth(&mut self, rtt: Span, last: Span, p: &Timely) {
        // Times of the network, not of a file: still bounded before they are signed.
        let signed = |span: Span| i64::try_from(span.as_ps()).unwrap_or(i64::MAX);
        let newest = i128::from(signed(rtt)) - i128::from(signed(last));
        let weight = i128::from(p.ewma.as_q32().min(ONE));
        let sum = i128::from(self.difference) * (i128::from(ONE) - weight) + newest * weight;
        self.difference = i64::try_from(sum / i128::from(ONE)).unwrap_or(0);
    }

    /// What to multiply the rate by; nothing means that it may grow.
    fn factor(&mut self, rtt: Span, p: &Timely) -> Option<u64> {
        let beta = p.beta.as_q32().min(ONE);
        if rtt < p.t_low {
            self.good_rounds = 0;
            None
        } else if rtt > p.t_high {
            self.good_rounds = 0;
            let below = div_q32(p.t_high.as_ps(), rtt.as_ps()).min(ONE);
            Some(ONE - mul_q32(beta, ONE - below))
        } else if self.difference <= 0 {
            self.good_rounds = self.good_rounds.saturating_add(1);
            None
        } else {
            self.good_rounds = 0;
            let gradient = div_q32(self.difference.unsigned_abs(), self.base_rtt.as_ps());
            Some(ONE.saturating_sub(mul_q32(beta, gradient)))
        }
    }

    /// Additive increase, five times as much after enough good rounds.
    fn growth(&self, p: &Timely) -> u64 {
        let hyper = self.good_rounds >= p.hyper_after && self.good_rounds > 0;
        p.additive_increase.bps().saturating_mul(if hyper { 5 } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: Rate = Rate::from_gbps(100);

    fn sender(p: &Timely) -> Sender {
        Sender::new(p, PathInfo { line_rate: LINE, base_rtt: Span::from_us(20) })
    }

    fn rounds(sender: &mut Sender, p: &Timely, rtts: impl Iterator<Item = u64>) -> Counters {
        let mut counters = Counters::default();
        for us in rtts {
            let feedback = Feedback {
                acked: sender.round_ends + 1,
                next: sender.round_ends + 100,
                bytes: 1000,
                marked: false,
                rtt: Some(Span::from_us(us)),
                lost: false,
                int: None,
            };
            sender.acknowledged(&feedback, p, &mut counters);
        }
        counters
    }

    #[test]
    fn a_growing_round_trip_slows_it_down() {
        let p = Timely::default();
        let mut sender = sender(&p);
        let counters = rounds(&mut sender, &p, (0..20).map(|n| 60 + 5 * n));
        assert!(sender.rate() < Rate::from_gbps(50), "{}", sender.rate());
        assert!(counters.rate_decreases > 10);
    }

    #[test]
    fn a_long_round_trip_slows_it_down_and_a_short_one_lets_it_grow() {
        let p = Timely::default();
        let mut sender = sender(&p);
        rounds(&mut sender, &p, (0..1000).map(|_| 5000));
        assert_eq!(sender.rate(), p.min_rate);
        let counters = rounds(&mut sender, &p, (0..100).map(|_| 20));
        assert_eq!(counters.rate_decreases, 0);
        // The first of them only sets what the next is compared with.
        assert_eq!(sender.rate().bps(), p.min_rate.bps() + 100 * p.additive_increase.bps());
        rounds(&mut sender, &p, (0..20_000).map(|_| 20));
        assert_eq!(sender.rate(), LINE);
    }

    #[test]
    fn good_rounds_multiply_the_increase() {
        let p = Timely::default();
        let mut sender = sender(&p);
        sender.rate = 1_000_000_000;
        rounds(&mut sender, &p, (0..11).map(|_| 100));
        assert_eq!(sender.rate, 1_000_000_000 + (4 + 6 * 5) * p.additive_increase.bps());
    }

    #[test]
    fn absurd_round_trips_stay_in_bounds() {
        let p = Timely { t_low: Span::ZERO, t_high: Span::MAX, ..Timely::default() };
        let mut sender = sender(&p);
        for ps in [u64::MAX, 0, u64::MAX, 1, 1 << 63] {
            let feedback = Feedback {
                acked: u64::MAX,
                next: 1,
                bytes: 0,
                marked: false,
                rtt: Some(Span::from_ps(ps)),
                lost: false,
                int: None,
            };
            sender.acknowledged(&feedback, &p, &mut Counters::default());
            assert!(sender.rate() >= p.min_rate && sender.rate() <= LINE);
        }
    }
}
