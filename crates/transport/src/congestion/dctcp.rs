//! A DCTCP-style sender: the window is cut by the share of marked packets.
//!
//! After Alizadeh and others, "Data center TCP (DCTCP)" (2010) and RFC 8257. On a NIC a queue pair
//! starts with the window of an idle path, and losses do not change the window; as TCP it starts
//! slowly until the first mark or loss, halves its window for a loss (RFC 8257 section 3.5) and
//! begins anew after a timeout.

use super::{Feedback, ONE, as_f64, base_rtt, div_q32, mul_q32};
use crate::config::Dctcp;
use crate::counters::Counters;
use crate::signals::PathInfo;
use xoff_units::{Bytes, Rate};

/// Windows are held in 1/256 bytes, because increases per acknowledgement are small.
const FRACTION: u32 = 8;

/// The window never exceeds this many times what the idle path holds: more would only wait.
const LARGEST: u64 = 4;

/// State of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// In 1/256 bytes.
    window: u64,
    smallest: u64,
    largest: u64,
    line: Rate,
    /// Share of marked bytes, smoothed, in 1/2^32.
    alpha: u64,
    g: u64,
    round_ends: u64,
    acked: u64,
    marked: u64,
    /// A notification packet came instead of an echo.
    notified: bool,
    /// The window doubles in a round trip.
    slow_start: bool,
    /// As TCP: losses of packets before this number have been answered. `None` where losses do not
    /// count.
    recover: Option<u64>,
}

impl Sender {
    pub(crate) fn new(p: &Dctcp, path: PathInfo, mtu: Bytes) -> Self {
        let mtu = mtu.get().clamp(1, 1 << 16);
        let full = path.line_rate.bytes_in(base_rtt(p.base_rtt, path)).get().clamp(mtu, 1 << 46);
        let initial = p.initial_window.get().min(1 << 46);
        let tcp = initial > 0;
        Self {
            window: if tcp { initial.max(mtu) } else { full } << FRACTION,
            smallest: mtu << FRACTION,
            largest: (full * LARGEST).max(16 * mtu) << FRACTION,
            line: path.line_rate,
            alpha: 0,
            g: p.g.as_q32().min(ONE),
            round_ends: 0,
            acked: 0,
            marked: 0,
            notified: false,
            slow_start: tcp,
            recover: tcp.then_some(0),
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

    pub(crate) fn alpha(&self) -> f64 {
        as_f64(self.alpha)
    }

    /// A notification packet: stands for the mark of what is acknowledged next.
    pub(crate) fn notified(&mut self) {
        self.notified = true;
    }

    pub(crate) fn acknowledged(
        &mut self,
        feedback: &Feedback<'_>,
        p: &Dctcp,
        counters: &mut Counters,
    ) {
        let bytes = feedback.bytes.min(1 << 32);
        self.acked += bytes;
        if feedback.marked || (bytes > 0 && std::mem::take(&mut self.notified)) {
            self.marked += bytes;
            self.slow_start = false;
        } else if self.slow_start {
            self.window = (self.window + (bytes << FRACTION)).min(self.largest);
        } else {
            let share = div_q32(bytes << FRACTION, self.window).min(ONE);
            let step = mul_q32(p.additive_increase.get().min(1 << 32) << FRACTION, share);
            self.window = (self.window + step).min(self.largest);
        }
        if feedback.acked > self.round_ends {
            self.end_round(feedback.next, counters);
        }
        if feedback.lost && self.recover.is_some_and(|recover| feedback.acked >= recover) {
            self.recover = Some(feedback.next);
            self.slow_start = false;
            self.window = (self.window / 2).max(self.smallest);
            counters.rate_decreases += 1;
        }
        debug_assert!(self.window >= self.smallest, "the window is less than a packet");
    }

    /// A timeout: slow start from one packet.
    pub(crate) fn timed_out(&mut self, next: u64, counters: &mut Counters) {
        if let Some(recover) = &mut self.recover {
            *recover = next;
            self.slow_start = true;
            self.window = self.smallest;
            counters.rate_decreases += 1;
        }
    }

    /// Once per window: alpha moves, and the window is cut if anything was marked.
    fn end_round(&mut self, next: u64, counters: &mut Counters) {
        self.round_ends = next;
        debug_assert!(self.marked <= self.acked, "more bytes marked than acknowledged");
        let share = div_q32(self.marked, self.acked).min(ONE);
        self.alpha = mul_q32(self.alpha, ONE - self.g) + mul_q32(share, self.g);
        debug_assert!(self.alpha <= ONE, "alpha is {} of {ONE}", self.alpha);
        if self.marked > 0 {
            self.window = mul_q32(self.window, ONE - self.alpha / 2).max(self.smallest);
            counters.rate_decreases += 1;
        }
        self.acked = 0;
        self.marked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Span;

    fn sender() -> Sender {
        let path = PathInfo { line_rate: Rate::from_gbps(100), base_rtt: Span::from_us(10) };
        Sender::new(&Dctcp::default(), path, Bytes::new(1000))
    }

    /// `rounds` round trips of 100 packets, of which the first `marked` echo a mark.
    fn run(sender: &mut Sender, rounds: u64, marked: u64) -> Counters {
        let mut counters = Counters::default();
        for _ in 0..rounds {
            let start = sender.round_ends + 1;
            for n in 0..100 {
                let feedback = Feedback {
                    acked: if n == 99 { start } else { start - 1 },
                    next: start + 100,
                    bytes: 1000,
                    marked: n < marked,
                    rtt: None,
                    lost: false,
                    int: None,
                };
                sender.acknowledged(&feedback, &Dctcp::default(), &mut counters);
            }
        }
        counters
    }

    #[test]
    fn the_cut_is_in_proportion_to_the_marks() {
        let shrunk = |marked| {
            let mut sender = sender();
            let counters = run(&mut sender, 40, marked);
            assert_eq!(counters.rate_decreases, 40);
            sender.window()
        };
        assert!(shrunk(100) < shrunk(20));
        assert!(shrunk(20) < Bytes::new(125_000));
    }

    #[test]
    fn grows_without_marks_and_stays_in_bounds() {
        let mut sender = sender();
        run(&mut sender, 1000, 100);
        assert_eq!(sender.window(), Bytes::new(1000));
        assert!(sender.alpha() > 0.99);
        let counters = run(&mut sender, 10, 0);
        assert_eq!(counters.rate_decreases, 0);
        assert!(sender.window() > Bytes::new(30_000));
        run(&mut sender, 10_000, 0);
        assert_eq!(sender.window(), Bytes::new(500_000));
        assert!(sender.alpha() < 0.01);
    }

    #[test]
    fn as_tcp_it_starts_slowly_and_losses_count() {
        let path = PathInfo { line_rate: Rate::from_gbps(100), base_rtt: Span::from_us(10) };
        let p = Dctcp { initial_window: Bytes::new(10_000), ..Dctcp::default() };
        let mut sender = Sender::new(&p, path, Bytes::new(1000));
        let mut counters = Counters::default();
        let mut hear = |sender: &mut Sender, acked, marked, lost| {
            let bytes = sender.window().get();
            let next = acked + 1;
            let feedback = Feedback { acked, next, bytes, marked, rtt: None, lost, int: None };
            sender.acknowledged(&feedback, &p, &mut counters);
            sender.window().get()
        };
        assert_eq!(hear(&mut sender, 1, false, false), 20_000);
        assert_eq!(hear(&mut sender, 2, false, false), 40_000);
        // A mark ends slow start; a loss halves, once for all that was in flight.
        let marked = hear(&mut sender, 3, true, false);
        assert!(marked < 40_000);
        let lost = hear(&mut sender, 4, false, true);
        assert!((marked / 2..marked / 2 + 4096).contains(&lost), "{lost}");
        sender.recover = Some(9);
        assert!(hear(&mut sender, 5, false, true) >= lost);
        sender.timed_out(20, &mut Counters::default());
        assert_eq!(sender.window().get(), 1000);
        assert_eq!(hear(&mut sender, 6, false, false), 2000);
    }

    #[test]
    fn a_notification_packet_counts_as_a_mark() {
        let mut sender = sender();
        sender.notified();
        let counters = run(&mut sender, 1, 0);
        assert_eq!(counters.rate_decreases, 1);
    }
}
