//! TCP's window: slow start, then CUBIC.
//!
//! After RFC 9438. Until the first loss the window grows by what is acknowledged. A loss cuts it to
//! beta once per window (section 4.6), and from there it follows `C (t - K)^3 + W_max` (section
//! 4.2), or the line of an equally aggressive Reno where that is higher (section 4.3), which in a
//! data centre it nearly always is: with round trips of microseconds the cubic takes seconds to
//! come back. Everything is in integers: times in microseconds, windows in 1/256 bytes, the cube
//! root digit by digit.
//!
//! What it is not: HyStart, pacing, undo of spurious cuts, marks (CUBIC runs without ECN here).

use super::{Feedback, ONE, div_q32, mul_q32};
use crate::config::Cubic;
use crate::counters::Counters;
use crate::signals::PathInfo;
use xoff_units::{Bytes, Instant, Rate};

/// Windows are held in 1/256 bytes, because increases per acknowledgement are small.
const FRACTION: u32 = 8;

/// Packets of the initial window (RFC 6928).
const INITIAL: u64 = 10;

/// No window is larger, so that its products fit.
const LARGEST: u64 = 1 << 40;

const PS_PER_US: u64 = 1_000_000;

/// State of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// In 1/256 bytes.
    window: u64,
    /// Below this the window grows by what is acknowledged.
    threshold: u64,
    mtu: u64,
    line: Rate,
    /// The window before the last cut, where the cubic has its plateau.
    plateau: u64,
    /// The window of a Reno sender since the last cut.
    reno: u64,
    /// When the cubic began, and how long it takes to its plateau, in microseconds.
    epoch: Option<(Instant, u64)>,
    /// Losses before this number are answered already; it is being recovered until all of that
    /// arrived.
    recover: u64,
    recovering: bool,
}

impl Sender {
    pub(crate) fn new(p: &Cubic, path: PathInfo, mtu: Bytes) -> Self {
        let mtu = mtu.get().clamp(1, 1 << 16);
        let initial =
            if p.initial_window.is_zero() { INITIAL * mtu } else { p.initial_window.get() };
        Self {
            window: initial.clamp(mtu, LARGEST) << FRACTION,
            threshold: LARGEST << FRACTION,
            mtu,
            line: path.line_rate,
            plateau: 0,
            reno: 0,
            epoch: None,
            recover: 0,
            recovering: false,
        }
    }

    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        self.line
    }

    #[inline]
    pub(crate) fn window(&self) -> Bytes {
        Bytes::new(self.window >> FRACTION)
    }

    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        p: &Cubic,
        counters: &mut Counters,
    ) {
        if self.recovering && feedback.acked >= self.recover {
            self.recovering = false;
        }
        if feedback.lost && feedback.acked >= self.recover {
            self.recover = feedback.next;
            self.recovering = true;
            self.cut(p, counters);
        }
        if self.recovering {
            return;
        }
        let bytes = feedback.bytes.min(1 << 32) << FRACTION;
        if self.window < self.threshold {
            self.window = (self.window + bytes).min(LARGEST << FRACTION);
        } else if bytes > 0 {
            self.avoid(now, bytes, p);
        }
        debug_assert!(
            (self.mtu << FRACTION..=LARGEST << FRACTION).contains(&self.window),
            "a window of {} / 256 bytes",
            self.window,
        );
    }

    /// A timeout: one packet, and slow start up to what a loss would have left.
    pub(crate) fn timed_out(&mut self, next: u64, p: &Cubic, counters: &mut Counters) {
        self.cut(p, counters);
        self.window = self.mtu << FRACTION;
        self.recover = next;
        self.recovering = false;
    }

    fn cut(&mut self, p: &Cubic, counters: &mut Counters) {
        let beta = p.beta.as_q32().min(ONE);
        self.plateau = if p.fast_convergence && self.window < self.plateau {
            mul_q32(self.window, (ONE + beta) / 2)
        } else {
            self.window
        };
        self.window = mul_q32(self.window, beta).max((2 * self.mtu) << FRACTION);
        self.threshold = self.window;
        self.epoch = None;
        counters.rate_decreases += 1;
    }

    /// Congestion avoidance: `bytes`, in 1/256, were acknowledged.
    fn avoid(&mut self, now: Instant, bytes: u64, p: &Cubic) {
        let (start, to_plateau) = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.reno = self.window;
                self.plateau = self.plateau.max(self.window);
                let epoch = (now, self.time_to_plateau(p));
                self.epoch = Some(epoch);
                epoch
            }
        };
        let beta = p.beta.as_q32().min(ONE);
        // 3 (1 - beta) / (1 + beta) packets per window acknowledged are as much as Reno gets; once
        // it is back where the cut was, a packet per window.
        let gain = if self.reno < self.plateau { 3 * div_q32(ONE - beta, ONE + beta) } else { ONE };
        let share = div_q32(bytes, self.window).min(ONE);
        self.reno += mul_q32(self.mtu << FRACTION, mul_q32(share, gain));
        let elapsed = now.since(start).as_ps() / PS_PER_US;
        let target = self.cubic(elapsed, to_plateau, p).min(self.window + self.window / 2);
        if target > self.window {
            self.window += mul_q32(target - self.window, share);
        }
        self.window = self.window.max(self.reno).min(LARGEST << FRACTION);
    }

    /// `K = cbrt((W_max - cwnd) / C)`, in microseconds.
    fn time_to_plateau(&self, p: &Cubic) -> u64 {
        let missing = u128::from(self.plateau - self.window);
        let packets = missing * 10u128.pow(18) / u128::from(self.mtu << FRACTION);
        cube_root((packets.min(1 << 95) << 32) / u128::from(p.c.as_q32().max(1)))
    }

    /// `C (t - K)^3 + W_max`, in 1/256 bytes.
    fn cubic(&self, elapsed: u64, to_plateau: u64, p: &Cubic) -> u64 {
        let distance = u128::from(elapsed.abs_diff(to_plateau).min(1 << 32));
        let c = u128::from(p.c.as_q32().min(1 << 36));
        let packets = (distance.pow(3) / 10u128.pow(6) * c) >> 32;
        let bytes = packets * u128::from(self.mtu << FRACTION) / 10u128.pow(12);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if elapsed < to_plateau {
            self.plateau.saturating_sub(bytes)
        } else {
            self.plateau.saturating_add(bytes)
        }
    }
}

/// The largest number whose cube is not above `x`.
fn cube_root(x: u128) -> u64 {
    let mut root = 0u128;
    for bit in (0..42).rev() {
        let next = root | 1 << bit;
        if next * next * next <= x {
            root = next;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xoff_units::Span;

    const MTU: u64 = 1000;

    fn sender() -> Sender {
        let path = PathInfo { line_rate: Rate::from_gbps(100), base_rtt: Span::from_us(10) };
        Sender::new(&Cubic::default(), path, Bytes::new(MTU))
    }

    /// A whole window is acknowledged at `us`.
    fn hear(sender: &mut Sender, us: u64, acked: u64, lost: bool) -> u64 {
        let bytes = sender.window().get();
        let next = acked + 100;
        let feedback = Feedback { acked, next, bytes, marked: false, rtt: None, lost, int: None };
        let now = Instant::ZERO + Span::from_us(us);
        sender.acknowledged(now, &feedback, &Cubic::default(), &mut Counters::default());
        sender.window().get()
    }

    #[test]
    fn starts_with_ten_packets_and_doubles() {
        let mut sender = sender();
        assert_eq!(sender.window(), Bytes::new(10 * MTU));
        assert_eq!(hear(&mut sender, 10, 1, false), 20 * MTU);
        assert_eq!(hear(&mut sender, 20, 2, false), 40 * MTU);
    }

    #[test]
    fn a_loss_leaves_seven_tenths_once_per_window() {
        let mut sender = sender();
        sender.window = (100 * MTU) << FRACTION;
        assert_eq!(hear(&mut sender, 0, 5, true), 70 * MTU - 1, "rounded down");
        assert_eq!(hear(&mut sender, 1, 50, true), 70 * MTU - 1, "still the same window");
        assert!(hear(&mut sender, 2, 105, true) < 50 * MTU, "a new one");
    }

    #[test]
    fn silence_starts_again_from_one_packet() {
        let mut sender = sender();
        sender.window = (100 * MTU) << FRACTION;
        sender.timed_out(200, &Cubic::default(), &mut Counters::default());
        assert_eq!(sender.window(), Bytes::new(MTU));
        // Losses of before do not count again, and slow start ends at seven tenths.
        let mut acked = 100;
        while sender.window < sender.threshold {
            acked += 1;
            hear(&mut sender, acked, acked, true);
        }
        assert!((70 * MTU..140 * MTU).contains(&sender.window().get()));
    }

    #[test]
    fn comes_back_to_the_plateau_after_k_seconds() {
        // RFC 9438: K = cbrt(W_max (1 - beta) / C); 3000 packets take cbrt(3000 x 0.3 / 0.4) = 13.1
        // s.
        let mut sender = sender();
        sender.window = (3000 * MTU) << FRACTION;
        hear(&mut sender, 0, 1, true);
        // Round trips of 100 ms, where the cubic is above Reno.
        let mut before = 0;
        for round in 1..400u64 {
            let window = hear(&mut sender, round * 100_000, 100 * (round + 1), false);
            assert!(window >= before, "it only grows without losses");
            before = window;
            if round == 120 {
                assert!((2900 * MTU..3001 * MTU).contains(&window), "{window} at 12 s");
            }
        }
        assert!(before > 4000 * MTU, "{before} after 40 s");
    }

    #[test]
    fn is_no_slower_than_reno_at_short_round_trips() {
        let mut sender = sender();
        sender.window = (100 * MTU) << FRACTION;
        hear(&mut sender, 0, 1, true);
        for round in 1..=20u64 {
            hear(&mut sender, round * 20, 100 * (round + 1), false);
        }
        // 0.53 packets per round trip.
        let grown = sender.window().get();
        assert!((80 * MTU..81 * MTU).contains(&grown), "{grown}");
    }

    proptest! {
        #[test]
        fn roots_are_exact(x in 0u128..1 << 120) {
            let root = u128::from(cube_root(x));
            prop_assert!(root.pow(3) <= x && (root + 1).pow(3) > x);
        }

        /// Whatever is heard, the window stays within its bounds.
        #[test]
        fn windows_stay_within_bounds(
            steps in proptest::collection::vec((0u64..1 << 40, 0u64..1 << 33, 0u8..4), 1..200),
        ) {
            let mut sender = sender();
            let p = Cubic::default();
            let (mut us, mut acked) = (0u64, 0u64);
            for (time, bytes, kind) in steps {
                us += time >> 8;
                acked += bytes >> 10;
                if kind == 0 {
                    sender.timed_out(acked + 10, &p, &mut Counters::default());
                }
                let (next, lost) = (acked + 10, kind == 1);
                let feedback =
                    Feedback { acked, next, bytes, marked: false, rtt: None, lost, int: None };
                let now = Instant::ZERO + Span::from_us(us.min(1 << 42));
                sender.acknowledged(now, &feedback, &p, &mut Counters::default());
                prop_assert!((MTU..=LARGEST).contains(&sender.window().get()));
            }
        }
    }
}
