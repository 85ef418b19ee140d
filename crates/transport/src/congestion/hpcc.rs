//! HPCC's sender: the rate follows the load of the busiest hop, as the hops report it.
//!
//! The utilisation of a hop is its output against its capacity, plus its standing queue in units of
//! one bandwidth-delay product. The rules are those of the ns-3 line.
//!
//! It computes in floating point. The recorded runs it is held against amplify the
//! last bit of every rate, and were made with doubles; additions, multiplications and divisions of
//! doubles are exact to the bit on every machine, so results stay the same everywhere.

use super::{CongestionState, Feedback, base_rtt};
use crate::config::Hpcc;
use crate::counters::Counters;
use crate::pacing::SLOWEST;
use crate::signals::{IntHop, IntStack, PathInfo};
use xoff_units::{Bytes, Rate, Span};

/// State of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    rate: u64,
    /// The rate that reactions within one round trip start from.
    reference: u64,
    line: u64,
    /// Smoothed utilisation.
    utilisation: f64,
    eta: f64,
    base_rtt: Span,
    /// Bytes in flight at line rate.
    full_window: u64,
    window: u64,
    /// An acknowledgement beyond this number closes a round trip; zero before the first.
    round_ends: u64,
    stage: u32,
    hops: IntStack,
}

impl Sender {
    pub(crate) fn new(p: &Hpcc, path: PathInfo) -> Self {
        let base_rtt = base_rtt(p.base_rtt, path);
        let full_window = path.line_rate.bytes_in(base_rtt).get().max(1);
        let line = path.line_rate.bps();
        Self {
            rate: line,
            reference: line,
            line,
            utilisation: 1.0,
            eta: p.eta.as_f64(),
            base_rtt,
            full_window,
            window: full_window,
            round_ends: 0,
            stage: 0,
            hops: IntStack::EMPTY,
        }
    }

    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    #[inline]
    pub(crate) fn window(&self) -> Bytes {
        Bytes::new(self.window)
    }

    pub(crate) fn state(&self) -> CongestionState {
        CongestionState {
            rate: self.rate(),
            target: Rate::from_bps(self.reference),
            window: self.window(),
            alpha: self.utilisation,
            stage: self.stage,
        }
    }

    pub(crate) fn acknowledged(
        &mut self,
        feedback: &Feedback<'_>,
        p: &Hpcc,
        counters: &mut Counters,
    ) {
        let Some(stack) = feedback.int else { return };
        let stack =
            &if p.coarse_reports { stack.coarse(Rate::from_bps(self.line)) } else { *stack };
        if self.round_ends == 0 {
            self.round_ends = feedback.next;
            self.hops = *stack;
            return;
        }
        let round_over = feedback.acked > self.round_ends;
        if !round_over && !p.fast_react {
            return;
        }
        if round_over {
            self.round_ends = self.round_ends.max(feedback.next);
        }
        let Some((load, span)) = self.busiest(stack) else { return };
        self.smooth(load, span);
        let before = self.rate;
        let stage = self.react(p);
        if self.rate < before {
            counters.rate_decreases += 1;
        }
        if round_over {
            self.reference = self.rate;
            self.stage = stage;
        }
    }

    /// Utilisation of the busiest hop since its last report, and how long ago that was. Nothing if
    /// the path changed, or if the report is older than what is known.
    fn busiest(&mut self, stack: &IntStack) -> Option<(f64, Span)> {
        let (now, before) = (stack.hops(), self.hops);
        let before = before.hops();
        let same_path = now.len() == before.len()
            && now.iter().zip(before).all(|(n, b)| n.rate == b.rate && n.tx_bytes >= b.tx_bytes);
        if now.iter().zip(before).any(|(n, b)| n.at < b.at) {
            return None;
        }
        self.hops = *stack;
        if !same_path {
            return None;
        }
        let mut busiest: Option<(f64, Span)> = None;
        for (now, before) in now.iter().zip(before) {
            let Some((load, span)) = self.utilisation_of(now, before) else { continue };
            if busiest.is_none_or(|(most, _)| load > most) {
                busiest = Some((load, span));
            }
        }
        busiest
    }

    fn utilisation_of(&self, now: &IntHop, before: &IntHop) -> Option<(f64, Span)> {
        let span = now.at - before.at;
        let capacity = now.rate.bps() as f64;
        if span.is_zero() || capacity == 0.0 {
            return None;
        }
        let seconds = (span.as_ps() / 1_000) as f64 * 1e-9;
        let seconds = if seconds > 0.0 { seconds } else { span.as_ps() as f64 * 1e-12 };
        let output = ((now.tx_bytes - before.tx_bytes).saturating_mul(8)) as f64 / seconds;
        let standing = f64::from(now.queue.min(before.queue)) * self.line as f64;
        let load = output / capacity + standing / capacity / self.full_window as f64;
        Some((load, span))
    }

    /// Moves the smoothed utilisation by the share of a round trip that was observed.
    fn smooth(&mut self, load: f64, span: Span) {
        let whole = self.base_rtt.as_ps() as f64 / 1e3;
        let seen = span.min(self.base_rtt).as_ps() as f64 / 1e3;
        self.utilisation = (self.utilisation * (whole - seen) + load * seen) / whole;
    }

    /// Sets rate and window from the reference; returns the stage that goes with them.
    fn react(&mut self, p: &Hpcc) -> u32 {
        let excess = self.utilisation / self.eta;
        let multiplicative = excess >= 1.0 || self.stage >= p.max_stage;
        // A conversion from a double saturates, so that nonsense from the network stays in bounds.
        let base =
            if multiplicative { (self.reference as f64 / excess) as u64 } else { self.reference };
        let floor = p.min_rate.max(SLOWEST).bps().min(self.line);
        self.rate = base.saturating_add(p.additive_increase.bps()).clamp(floor, self.line);
        let window = u128::from(self.full_window) * u128::from(self.rate) / u128::from(self.line);
        self.window = u64::try_from(window).unwrap_or(u64::MAX).max(1);
        debug_assert!(self.window <= self.full_window, "a window beyond what the path holds");
        if multiplicative { 0 } else { self.stage + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Instant;

    const LINE: Rate = Rate::from_gbps(100);

    fn sender(p: &Hpcc) -> Sender {
        Sender::new(p, PathInfo { line_rate: LINE, base_rtt: Span::from_us(10) })
    }

    /// Reports of one hop that sends at `share` percent of its rate and holds `queue` bytes.
    fn run(sender: &mut Sender, p: &Hpcc, reports: u64, share: u64, queue: u32) -> Counters {
        let mut counters = Counters::default();
        let start = sender.hops.hops().first().map_or(Instant::ZERO, |hop| hop.at);
        let bytes = sender.hops.hops().first().map_or(0, |hop| hop.tx_bytes);
        for n in 1..=reports {
            let mut stack = IntStack::EMPTY;
            stack.push(IntHop {
                at: start + Span::from_us(1) * n,
                tx_bytes: bytes + n * 125 * share,
                queue,
                rate: LINE,
            });
            let feedback = Feedback {
                acked: n * 12,
                next: n * 12 + 120,
                bytes: 12_000,
                marked: false,
                rtt: None,
                lost: false,
                int: Some(&stack),
            };
            sender.acknowledged(&feedback, p, &mut counters);
        }
        counters
    }

    #[test]
    fn falls_under_a_queue_and_recovers_without() {
        let p = Hpcc::default();
        let mut sender = sender(&p);
        let counters = run(&mut sender, &p, 20, 100, 250_000);
        assert!(sender.rate() < Rate::from_gbps(50), "{}", sender.rate());
        assert!(counters.rate_decreases > 0);
        assert_eq!(sender.window, 125_000 * sender.rate / 100_000_000_000);
        let low = sender.rate();
        run(&mut sender, &p, 200, 10, 0);
        assert!(sender.rate() > low);
        assert_eq!(sender.rate(), LINE);
    }

    #[test]
    fn settles_at_the_target_utilisation() {
        let p = Hpcc { additive_increase: Rate::ZERO, ..Hpcc::default() };
        let mut sender = sender(&p);
        // A full link without a queue: the step of the first closed round is eta.
        run(&mut sender, &p, 3, 100, 0);
        let share = sender.rate().as_gbps_f64() / 100.0;
        assert!((share - 0.95).abs() < 0.001, "{share}");
    }

    #[test]
    fn never_leaves_its_bounds_and_ignores_nonsense() {
        let p = Hpcc::default();
        let mut sender = sender(&p);
        run(&mut sender, &p, 300, 100, u32::MAX);
        assert_eq!(sender.rate(), p.min_rate);
        for at in [0, 1, u64::MAX, 5] {
            let mut stack = IntStack::EMPTY;
            stack.push(IntHop {
                at: Instant::from_ps(at),
                tx_bytes: at,
                queue: u32::MAX,
                rate: Rate::from_bps(at),
            });
            let feedback = Feedback {
                acked: u64::MAX,
                next: u64::MAX,
                bytes: 0,
                marked: true,
                rtt: None,
                lost: false,
                int: Some(&stack),
            };
            sender.acknowledged(&feedback, &p, &mut Counters::default());
            assert!(sender.rate() >= p.min_rate && sender.rate() <= LINE);
        }
    }
}
