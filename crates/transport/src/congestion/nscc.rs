//! A window in the manner of Ultra Ethernet's network-signalled congestion control (NSCC).
//!
//! Every acknowledgement brings a round-trip time and a mark, and the two together say what to do
//! (UET specification 1.0, congestion management):
//!
//! | | no mark | mark |
//! | --- | --- | --- |
//! | delay below target | grow in proportion to what is missing to the target | wait |
//! | delay above target | grow a little, so that flows become equal | cut by `gamma x (delay - target) / delay` |
//!
//! Cuts come at most once per round trip. Trimmed or lost packets are a stronger sign: at the end
//! of the round trip in which they were reported, the window becomes what really got through in it
//! (quick adapt), and what was sent before that does not count.
//!
//! What it is not: the averaging of delays, fast increase on an idle network, the choice of paths
//! by what they were marked for, receiver credits (RCCC).

use super::{Feedback, ONE, base_rtt, div_q32, mul_q32};
use crate::config::Nscc;
use crate::counters::Counters;
use crate::signals::PathInfo;
use xoff_units::{Bytes, Instant, Rate, Span};

/// Windows are held in 1/256 bytes, because increases per acknowledgement are small.
const FRACTION: u32 = 8;

/// State of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    // Windows and increases are in 1/256 bytes.
    window: u64,
    smallest: u64,
    largest: u64,
    /// Growth per round trip without delay.
    proportional: u64,
    /// Growth per round trip above the target.
    fair: u64,
    line: Rate,
    base_rtt: Span,
    target: Span,
    /// No cut before this.
    cut_from: Instant,
    /// When the present stretch of time ends.
    stretch_ends: Instant,
    /// What was acknowledged in it, in 1/256 bytes.
    delivered: u64,
    /// Whether something was trimmed or lost in it.
    loss: bool,
    /// Acknowledgements of this much say nothing of the window, in 1/256 bytes: it was sent before
    /// the window was adapted.
    stale: u64,
}

impl Sender {
    pub(crate) fn new(p: &Nscc, path: PathInfo, mtu: Bytes) -> Self {
        let base_rtt = base_rtt(p.base_rtt, path);
        let mtu = mtu.get().clamp(1, 1 << 16);
        let full = path.line_rate.bytes_in(base_rtt).get().clamp(mtu, 1 << 40) << FRACTION;
        let quarter = Span::from_ps(base_rtt.as_ps() / 4);
        let fair = if p.fair_increase.is_zero() { mtu } else { p.fair_increase.get().min(1 << 40) };
        Self {
            window: full,
            smallest: mtu << FRACTION,
            largest: p.largest_window.of(full).clamp(full.min(mtu << FRACTION), 1 << 52),
            proportional: p.proportional_increase.of(full).min(1 << 52),
            fair: fair << FRACTION,
            line: path.line_rate,
            base_rtt,
            target: if p.target.is_zero() { quarter * 3 } else { p.target },
            cut_from: Instant::ZERO,
            stretch_ends: Instant::ZERO,
            delivered: 0,
            loss: false,
            stale: 0,
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
        p: &Nscc,
        counters: &mut Counters,
    ) {
        let bytes = feedback.bytes.min(1 << 32) << FRACTION;
        self.delivered += bytes;
        self.loss |= feedback.lost;
        if now >= self.stretch_ends {
            self.adapt(now, counters);
        }
        if self.stale > 0 || feedback.lost {
            self.stale = self.stale.saturating_sub(bytes);
            return;
        }
        let Some(rtt) = feedback.rtt else { return };
        let delay = Span::from_ps(rtt.as_ps().saturating_sub(self.base_rtt.as_ps()));
        let share = div_q32(bytes, self.window).min(ONE);
        match (feedback.marked, delay < self.target) {
            (false, true) => {
                let room = div_q32((self.target - delay).as_ps(), self.target.as_ps()).min(ONE);
                self.grow(mul_q32(mul_q32(self.proportional, room), share));
            }
            (false, false) => self.grow(mul_q32(self.fair, share)),
            (true, true) => {}
            (true, false) if now >= self.cut_from => {
                let excess = div_q32((delay - self.target).as_ps(), delay.as_ps()).min(ONE);
                let cut = mul_q32(p.gamma.as_q32().min(ONE), excess);
                let cut = cut.min(p.largest_cut.as_q32()).min(ONE);
                self.window = mul_q32(self.window, ONE - cut).max(self.smallest);
                self.cut_from = now + rtt;
                counters.rate_decreases += 1;
            }
            (true, false) => {}
        }
    }

    fn grow(&mut self, by: u64) {
        self.window = (self.window + by).min(self.largest);
        debug_assert!(self.window >= self.smallest, "the window is less than a packet");
    }

    /// The end of a stretch, which is as long as a round trip with the delay that is aimed at. If
    /// packets were trimmed or lost in it, what got through is what there is room for.
    fn adapt(&mut self, now: Instant, counters: &mut Counters) {
        if self.loss && self.stretch_ends > Instant::ZERO && self.delivered < self.window {
            self.window = self.delivered.max(self.smallest);
            self.stale = self.window;
            counters.rate_decreases += 1;
        }
        (self.loss, self.delivered) = (false, 0);
        self.stretch_ends = now + self.base_rtt + self.target;
    }

    /// A timeout: one packet.
    pub(crate) fn timed_out(&mut self, counters: &mut Counters) {
        self.window = self.smallest;
        counters.rate_decreases += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 125 KB in flight fill the path; the target is 7.5 us.
    fn sender(p: &Nscc) -> Sender {
        let path = PathInfo { line_rate: Rate::from_gbps(100), base_rtt: Span::from_us(10) };
        Sender::new(p, path, Bytes::new(1000))
    }

    fn hear(sender: &mut Sender, us: u64, bytes: u64, rtt: u64, marked: bool, lost: bool) -> u64 {
        let rtt = Some(Span::from_us(rtt));
        let feedback = Feedback { acked: 1, next: 2, bytes, marked, rtt, lost, int: None };
        let now = Instant::ZERO + Span::from_us(us);
        sender.acknowledged(now, &feedback, &Nscc::default(), &mut Counters::default());
        sender.window().get()
    }

    #[test]
    fn starts_with_the_idle_path_and_stays_within_bounds() {
        let mut sender = sender(&Nscc::default());
        assert_eq!(sender.window(), Bytes::new(125_000));
        for us in 0..1000 {
            hear(&mut sender, us * 10, 125_000, 10, false, false);
        }
        assert_eq!(sender.window(), Bytes::new(187_500), "half as much again");
        sender.timed_out(&mut Counters::default());
        assert_eq!(sender.window(), Bytes::new(1000));
    }

    #[test]
    fn the_four_cases() {
        let fresh = || sender(&Nscc::default());
        // A window acknowledged without delay grows by an eighth of the path, half-way by half of
        // that.
        assert_eq!(hear(&mut fresh(), 100, 125_000, 10, false, false), 125_000 + 15_625);
        let half = hear(&mut fresh(), 100, 125_000, 14, false, false);
        assert!((132_000..133_000).contains(&half), "{half}");
        assert_eq!(hear(&mut fresh(), 100, 125_000, 20, false, false), 126_000);
        assert_eq!(hear(&mut fresh(), 100, 125_000, 15, true, false), 125_000);
        // 20 us of delay against 7.5: 0.8 x 12.5 / 20 is the largest cut allowed.
        let mut cut = fresh();
        assert_eq!(hear(&mut cut, 100, 1000, 30, true, false), 62_500);
        assert_eq!(hear(&mut cut, 110, 1000, 30, true, false), 62_500, "once per round trip");
        assert_eq!(hear(&mut cut, 130, 1000, 30, true, false), 31_250);
    }

    #[test]
    fn trimmed_packets_leave_what_got_through() {
        let mut sender = sender(&Nscc::default());
        for us in 100..110 {
            hear(&mut sender, us, 1000, 15, true, false);
        }
        // The first began the stretch, of 17.5 us, and does not count in it.
        assert_eq!(hear(&mut sender, 110, 0, 12, true, true), 125_000);
        assert_eq!(hear(&mut sender, 118, 0, 12, false, false), 9000);
        assert_eq!(hear(&mut sender, 119, 1000, 30, true, false), 9000, "sent before");
        assert_eq!(hear(&mut sender, 136, 0, 12, false, false), 9000, "nothing was lost again");
    }
}
