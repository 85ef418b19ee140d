//! Swift's sender: the window follows the round-trip time against a target.
//!
//! After Kumar and others, "Swift: delay is simple and effective for congestion control in the
//! datacenter" (2020): additive increase below the target, multiplicative decrease above it in
//! proportion to the excess, at most once per round trip. A window below one packet paces. Host
//! delay and the scaling of the target with hops and flows are not modelled.

use super::{Feedback, ONE, base_rtt, div_q32, mul_q32};
use crate::config::Swift;
use crate::counters::Counters;
use crate::signals::PathInfo;
use xoff_units::{Bytes, Instant, Rate, Span};

/// Windows are held in 1/256 bytes, because increases per acknowledgement are small.
const FRACTION: u32 = 8;

/// State of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// In 1/256 bytes.
    window: u64,
    smallest: u64,
    largest: u64,
    mtu: u64,
    line: Rate,
    base_rtt: Span,
    /// No decrease before this.
    decrease_from: Instant,
}

impl Sender {
    pub(crate) fn new(p: &Swift, path: PathInfo, mtu: Bytes) -> Self {
        let base_rtt = base_rtt(p.base_rtt, path);
        let mtu = mtu.get().clamp(1, 1 << 16);
        // What line rate needs when the queue is at its target.
        let full = path.line_rate.bytes_in(base_rtt + p.target).get().clamp(mtu, 1 << 48);
        Self {
            window: full << FRACTION,
            smallest: (mtu << FRACTION) / 16,
            largest: full << FRACTION,
            mtu,
            line: path.line_rate,
            base_rtt,
            decrease_from: Instant::ZERO,
        }
    }

    /// Line rate while the window is a packet or more; below, the window spread over a round trip.
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        if self.window >> FRACTION >= self.mtu {
            return self.line;
        }
        Rate::of(Bytes::new(self.window >> FRACTION), self.base_rtt).min(self.line)
    }

    #[inline]
    pub(crate) fn window(&self) -> Bytes {
        Bytes::new((self.window >> FRACTION).max(1))
    }

    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        p: &Swift,
        counters: &mut Counters,
    ) {
        let Some(rtt) = feedback.rtt else { return };
        let target = self.base_rtt + p.target;
        if rtt < target {
            // One additive increase per window acknowledged.
            let acked = feedback.bytes.min(1 << 32) << FRACTION;
            let share = div_q32(acked, self.window).min(ONE);
            let step = mul_q32(p.additive_increase.get().min(1 << 32) << FRACTION, share);
            self.window = (self.window + step).min(self.largest);
        } else if now >= self.decrease_from {
            let excess = div_q32((rtt - target).as_ps(), rtt.as_ps()).min(ONE);
            let cut = mul_q32(p.beta.as_q32().min(ONE), excess);
            let cut = cut.min(p.largest_cut.as_q32()).min(ONE);
            self.window = mul_q32(self.window, ONE - cut).max(self.smallest);
            self.decrease_from = now + rtt;
            counters.rate_decreases += 1;
        }
        debug_assert!(
            (self.smallest..=self.largest).contains(&self.window),
            "a window of {} outside {} to {}",
            self.window,
            self.smallest,
            self.largest,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(p: &Swift) -> Sender {
        let path = PathInfo { line_rate: Rate::from_gbps(100), base_rtt: Span::from_us(10) };
        Sender::new(p, path, Bytes::new(4096))
    }

    fn acks(sender: &mut Sender, p: &Swift, start_us: u64, count: u64, rtt_us: u64) -> Counters {
        let mut counters = Counters::default();
        for n in 0..count {
            let feedback = Feedback {
                acked: n,
                next: n,
                bytes: 4096,
                marked: false,
                rtt: Some(Span::from_us(rtt_us)),
                lost: false,
                int: None,
            };
            let now = Instant::ZERO + Span::from_us(start_us + n);
            sender.acknowledged(now, &feedback, p, &mut counters);
        }
        counters
    }

    #[test]
    fn shrinks_above_the_target_at_most_once_per_round_trip() {
        let p = Swift::default();
        let mut sender = sender(&p);
        let full = sender.window();
        let counters = acks(&mut sender, &p, 0, 100, 50);
        assert_eq!(counters.rate_decreases, 2);
        assert!(sender.window() < full);
        acks(&mut sender, &p, 100, 10_000, 500);
        assert_eq!(sender.window(), Bytes::new(4096 / 16));
        assert!(sender.rate() < Rate::from_gbps(1));
    }

    #[test]
    fn grows_by_one_increase_per_window_below_the_target() {
        let p = Swift::default();
        let mut sender = sender(&p);
        sender.window = (10 * 4096) << FRACTION;
        acks(&mut sender, &p, 0, 10, 11);
        let grown = sender.window().get();
        assert!((44_500..=45_056).contains(&grown), "{grown}");
        acks(&mut sender, &p, 10, 100_000, 11);
        assert_eq!(sender.window(), Bytes::new(250_000));
        assert_eq!(sender.rate(), Rate::from_gbps(100));
    }
}
