//! DCQCN's reaction point.
//!
//! Two variants of one rule set. In the paper and in NICs the first notification cuts at once and
//! later ones at most once per interval ([`Dcqcn::cut_at_once`]); in the ns-3 line the first
//! notification starts a grid of ticks, and a tick cuts if there was a notification since the last.
//!
//! Alpha moves every microsecond or so and is needed only at a cut, so its ticks are made up for
//! when it is read. A decrease tick is a deadline only while a notification waits for it, and an
//! increase tick only while there is something to increase. The result is the same as if every tick
//! had been taken at its time; a test compares the two.
//!
//! Alpha is a double, as in the models this is compared with to the last picosecond. Only additions
//! and multiplications touch it, which every machine rounds alike.

use super::CongestionState;
use crate::config::Dcqcn;
use crate::counters::Counters;
use crate::pacing::SLOWEST;
use crate::signals::PathInfo;
use xoff_units::{Bytes, Instant, Rate, Span};

/// The decrease ticks come this much after the alpha ticks, so that a cut uses the newer alpha.
const AFTER_ALPHA: Span = Span::from_ns(1);

/// An alpha below this takes not one bit per second off any rate.
const NOTHING: f64 = 1e-18;

/// Intervals in a file may be zero; a clock that ticks without moving would never end.
fn interval(span: Span) -> Span {
    span.max(Span::from_ns(1))
}

/// State of one queue pair's reaction point.
#[derive(Debug, Clone)]
pub(crate) struct Reaction {
    rate: u64,
    target: u64,
    line: u64,
    alpha: f64,
    g: f64,
    /// The next alpha tick; never before the first notification.
    alpha_at: Instant,
    /// The last cut, or in the ns-3 line any tick of the decrease grid.
    grid: Instant,
    /// When the waiting notification cuts; never without one.
    decrease_at: Instant,
    /// The next increase by time; never before the first cut.
    increase_at: Instant,
    /// Bytes until the next increase by bytes.
    bytes_left: u64,
    time_stage: u32,
    byte_stage: u32,
    /// A notification came since the last alpha tick.
    marked: bool,
}

impl Reaction {
    pub(crate) fn new(p: &Dcqcn, path: PathInfo) -> Self {
        let line = path.line_rate.bps();
        Self {
            rate: line,
            target: line,
            line,
            alpha: p.initial_alpha.as_f64().min(1.0),
            g: p.g.as_f64().min(1.0),
            alpha_at: Instant::MAX,
            grid: Instant::ZERO,
            decrease_at: Instant::MAX,
            increase_at: Instant::MAX,
            bytes_left: p.byte_counter.get(),
            time_stage: 0,
            byte_stage: 0,
            marked: false,
        }
    }

    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.rate)
    }

    /// A notification takes effect.
    pub(crate) fn notified(&mut self, now: Instant, p: &Dcqcn, counters: &mut Counters) {
        self.advance(now, p, counters);
        let first = self.alpha_at.is_never();
        if first {
            self.alpha_at = now + interval(p.alpha_interval);
        }
        self.tick_alpha(now, p);
        if p.cut_at_once {
            if first || now >= self.grid + interval(p.decrease_interval) {
                self.cut(now, p, counters);
            } else {
                self.decrease_at = self.grid + interval(p.decrease_interval);
            }
            // The paper moves alpha with every notification, and its decay starts anew.
            self.move_alpha(true);
            self.alpha_at = now + interval(p.alpha_interval);
        } else if first {
            // The first mark sets alpha and does not count for its first tick.
            self.grid = now + AFTER_ALPHA;
            self.decrease_at = self.grid + interval(p.decrease_interval);
        } else {
            self.marked = true;
            if self.decrease_at.is_never() {
                let period = interval(p.decrease_interval).as_ps();
                let ticks = now.since(self.grid).as_ps() / period + 1;
                self.decrease_at = self.grid + Span::from_ps(period) * ticks;
            }
        }
    }

    /// A packet of `len` bytes left; says whether that was an increase.
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        len: u32,
        p: &Dcqcn,
        counters: &mut Counters,
    ) -> bool {
        if self.increase_at.is_never() {
            return false;
        }
        if self.bytes_left > u64::from(len) {
            self.bytes_left -= u64::from(len);
            return false;
        }
        self.advance(now, p, counters);
        self.bytes_left = p.byte_counter.get();
        self.increase(p);
        self.byte_stage = self.byte_stage.saturating_add(1);
        true
    }

    /// When the rate changes by itself.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let increase = if self.rate == self.line { Instant::MAX } else { self.increase_at };
        self.decrease_at.min(increase)
    }

    /// Takes every tick up to and including `now`, in order. Where both kinds fall on one instant
    /// the increase goes first, as its event was scheduled first.
    pub(crate) fn advance(&mut self, now: Instant, p: &Dcqcn, counters: &mut Counters) {
        loop {
            let next = self.decrease_at.min(self.increase_at);
            if next > now || next.is_never() {
                return;
            }
            if self.increase_at <= self.decrease_at {
                self.increase_tick(now.min(self.decrease_at), p);
            } else {
                self.grid = self.decrease_at;
                self.cut(self.grid, p, counters);
            }
        }
    }

    /// One increase by time; or all up to `until` together, where they would change nothing but
    /// their count.
    fn increase_tick(&mut self, until: Instant, p: &Dcqcn) {
        let period = interval(p.increase_timer);
        let settled =
            self.rate == self.target && (self.target == self.line || steps(p, self.line) == (0, 0));
        let ticks = if settled {
            until.since(self.increase_at).as_ps() / period.as_ps() + 1
        } else {
            self.increase(p);
            1
        };
        self.time_stage = self.time_stage.saturating_add(u32::try_from(ticks).unwrap_or(u32::MAX));
        self.increase_at += period * ticks;
    }

    /// Fast recovery halves the way to the target; later the target itself rises.
    fn increase(&mut self, p: &Dcqcn) {
        // Without a byte counter time alone decides.
        let bytes = if p.byte_counter.is_zero() { self.time_stage } else { self.byte_stage };
        let (additive, hyper) = steps(p, self.line);
        if self.time_stage.min(bytes) > p.fast_recovery {
            self.target = self.target.saturating_add(hyper);
        } else if self.time_stage.max(bytes) >= p.fast_recovery {
            self.target = self.target.saturating_add(additive);
        }
        self.target = self.target.min(self.line);
        // The last two bits per second at once, so that the target is reached and not only
        // approached.
        let close = self.target.abs_diff(self.rate) <= 2;
        self.rate = if close { self.target } else { self.rate / 2 + self.target / 2 };
        self.check_bounds();
    }

    fn cut(&mut self, at: Instant, p: &Dcqcn, counters: &mut Counters) {
        self.tick_alpha(at, p);
        if self.time_stage != 0 || self.byte_stage != 0 || p.clamp_target {
            self.target = self.rate;
        }
        // In doubles like alpha, and rounded down as the models do.
        let kept = (self.rate as f64 * (1.0 - self.alpha / 2.0)) as u64;
        let least = self.rate - p.largest_cut.of(self.rate).min(self.rate);
        let floor = p.min_rate.max(SLOWEST).bps().min(self.line);
        self.rate = kept.max(least).max(floor);
        self.time_stage = 0;
        self.byte_stage = 0;
        self.bytes_left = p.byte_counter.get();
        self.decrease_at = Instant::MAX;
        self.increase_at = at + interval(p.increase_timer);
        if p.cut_at_once {
            self.grid = at;
        }
        counters.rate_decreases += 1;
        debug_assert!(self.rate >= floor, "cut to {} b/s, below {floor}", self.rate);
        self.check_bounds();
    }

    /// Takes every alpha tick up to and including `now`.
    fn tick_alpha(&mut self, now: Instant, p: &Dcqcn) {
        if self.alpha_at > now || self.alpha_at.is_never() {
            return;
        }
        let period = interval(p.alpha_interval);
        let ticks = now.since(self.alpha_at).as_ps() / period.as_ps() + 1;
        self.alpha_at += period * ticks;
        let marked = std::mem::take(&mut self.marked);
        self.move_alpha(marked);
        for _ in 1..ticks {
            if self.alpha < NOTHING || self.g == 0.0 {
                break;
            }
            self.move_alpha(false);
        }
    }

    fn move_alpha(&mut self, marked: bool) {
        self.alpha *= 1.0 - self.g;
        if marked {
            self.alpha += self.g;
        }
        debug_assert!((0.0..=1.0).contains(&self.alpha), "alpha is {}", self.alpha);
    }

    /// The rate recovers towards its target, and neither passes the line rate.
    #[inline(always)]
    fn check_bounds(&self) {
        debug_assert!(
            self.rate <= self.target && self.target <= self.line,
            "out of order: rate {}, target {}, line rate {}",
            self.rate,
            self.target,
            self.line,
        );
    }

    /// The state as it is at `now`, including the ticks that are due and not yet taken.
    pub(crate) fn state(&self, now: Instant, p: &Dcqcn) -> CongestionState {
        let mut at_now = self.clone();
        at_now.advance(now, p, &mut Counters::default());
        at_now.tick_alpha(now, p);
        CongestionState {
            rate: at_now.rate(),
            target: Rate::from_bps(at_now.target),
            window: Bytes::MAX,
            alpha: at_now.alpha,
            stage: at_now.time_stage.max(at_now.byte_stage),
        }
    }
}

/// Additive and hyper increase at this line rate, in bits per second.
fn steps(p: &Dcqcn, line: u64) -> (u64, u64) {
    let scaled = |increase: Rate| match p.increase_at.bps() {
        0 => increase.bps(),
        given => {
            let product = u128::from(increase.bps()) * u128::from(line);
            u64::try_from(product / u128::from(given)).unwrap_or(u64::MAX)
        }
    };
    (scaled(p.additive_increase), scaled(p.hyper_increase))
}

#[cfg(test)]
#[path = "dcqcn_tests.rs"]
mod tests;
