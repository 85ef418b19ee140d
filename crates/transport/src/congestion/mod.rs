//! Congestion control at the sender: one small state machine per scheme, and the enum that holds
//! the one in use.
//!
//! Most of them work on integers: rates in bits per second, shares and gains in 1/2^32. DCQCN's
//! alpha and HPCC's utilisation are doubles, as in the models they are compared with to the last
//! bit; they use only operations that IEEE 754 rounds alike on every machine. None of the
//! controllers sends or paces anything: they give a rate and a window.

mod cubic;
mod dcqcn;
mod dctcp;
mod hpcc;
mod nscc;
mod swift;
mod timely;

use crate::config::{Congestion, QpConfig};
use crate::counters::Counters;
use crate::pacing::SLOWEST;
use crate::signals::{IntStack, PathInfo};
use xoff_units::{Bytes, Instant, Rate, Span};

/// One, in the fixed point of gains and shares.
pub(crate) const ONE: u64 = 1 << 32;

/// What congestion control says at one instant, for traces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CongestionState {
    /// The rate packets are paced at.
    pub rate: Rate,
    /// The rate being recovered (DCQCN) or the reference (HPCC); the rate itself elsewhere.
    pub target: Rate,
    /// Most bytes in flight; [`Bytes::MAX`] without a window.
    pub window: Bytes,
    /// DCQCN's and DCTCP's alpha, HPCC's utilisation; zero elsewhere.
    pub alpha: f64,
    /// Increases since the last decrease.
    pub stage: u32,
}

/// What an acknowledgement reports.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Feedback<'a> {
    /// Everything before this packet number is acknowledged.
    pub acked: u64,
    /// The number of the next packet to send.
    pub next: u64,
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// It echoes a mark.
    pub marked: bool,
    /// Time since the packet it answers was sent.
    pub rtt: Option<Span>,
    /// Something is lost and has not been sent again; for schemes that count losses when they are
    /// reported ([`Controller::counts_news`]), the acknowledgement itself reports one.
    pub lost: bool,
    /// What the hops wrote into that packet.
    pub int: Option<&'a IntStack>,
}

/// The scheme in use and its state.
#[derive(Debug, Clone)]
pub(crate) enum Controller {
    /// Line rate, whatever happens.
    None(Rate),
    Dcqcn(dcqcn::Reaction),
    Hpcc(Box<hpcc::Sender>),
    Timely(timely::Sender),
    Swift(swift::Sender),
    Dctcp(Box<dctcp::Sender>),
    Cubic(Box<cubic::Sender>),
    Nscc(Box<nscc::Sender>),
}

/// The idle round-trip time: set, or of the path, and never zero, because it divides.
fn base_rtt(set: Span, path: PathInfo) -> Span {
    let rtt = if set.is_zero() { path.base_rtt } else { set };
    rtt.max(Span::from_ns(1))
}

/// `a x b / 2^32`.
#[inline]
fn mul_q32(a: u64, b: u64) -> u64 {
    let product = (u128::from(a) * u128::from(b)) >> 32;
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// `a / b` in 1/2^32; `b` zero counts as one.
#[inline]
fn div_q32(a: u64, b: u64) -> u64 {
    let quotient = (u128::from(a) << 32) / u128::from(b.max(1));
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

impl Controller {
    pub(crate) fn new(config: &QpConfig, path: PathInfo) -> Self {
        // The line rate divides, and bounds what the controllers clamp to.
        let path = PathInfo { line_rate: path.line_rate.max(SLOWEST), ..path };
        match &config.congestion {
            Congestion::None => Self::None(path.line_rate),
            Congestion::Dcqcn(p) => Self::Dcqcn(dcqcn::Reaction::new(p, path)),
            Congestion::Hpcc(p) => Self::Hpcc(Box::new(hpcc::Sender::new(p, path))),
            Congestion::Timely(p) => Self::Timely(timely::Sender::new(p, path)),
            Congestion::Swift(p) => Self::Swift(swift::Sender::new(p, path, config.mtu)),
            Congestion::Dctcp(p) => Self::Dctcp(Box::new(dctcp::Sender::new(p, path, config.mtu))),
            Congestion::Cubic(p) => Self::Cubic(Box::new(cubic::Sender::new(p, path, config.mtu))),
            Congestion::Nscc(p) => Self::Nscc(Box::new(nscc::Sender::new(p, path, config.mtu))),
        }
    }

    /// The rate packets are paced at.
    #[inline]
    pub(crate) fn rate(&self) -> Rate {
        match self {
            Self::None(line) => *line,
            Self::Dcqcn(state) => state.rate(),
            Self::Hpcc(state) => state.rate(),
            Self::Timely(state) => state.rate(),
            Self::Swift(state) => state.rate(),
            Self::Dctcp(state) => state.rate(),
            Self::Cubic(state) => state.rate(),
            Self::Nscc(state) => state.rate(),
        }
    }

    /// Most bytes in flight.
    #[inline]
    pub(crate) fn window(&self) -> Bytes {
        match self {
            Self::None(_) | Self::Dcqcn(_) | Self::Timely(_) => Bytes::MAX,
            Self::Hpcc(state) => state.window(),
            Self::Swift(state) => state.window(),
            Self::Dctcp(state) => state.window(),
            Self::Cubic(state) => state.window(),
            Self::Nscc(state) => state.window(),
        }
    }

    /// Whether a new rate also counts for the packet sent last. NICs' rate limiters obey at once;
    /// the ns-3 line's DCQCN does not, and a queue pair cut to a crawl waits out its last packet.
    #[inline]
    pub(crate) fn moves_next_send(&self, config: &QpConfig) -> bool {
        match (self, &config.congestion) {
            (Self::Hpcc(_), _) => true,
            (Self::Dcqcn(_), Congestion::Dcqcn(p)) => p.cut_at_once,
            _ => false,
        }
    }

    /// Whether only the news of a loss counts, and not that it is still to be repaired.
    pub(crate) fn counts_news(&self) -> bool {
        matches!(self, Self::Nscc(_))
    }

    /// Whether acknowledgements without a mark matter.
    #[inline]
    pub(crate) fn wants_feedback(&self) -> bool {
        !matches!(self, Self::None(_) | Self::Dcqcn(_))
    }

    /// A congestion notification takes effect.
    pub(crate) fn notified(&mut self, at: Instant, config: &QpConfig, counters: &mut Counters) {
        match (self, &config.congestion) {
            (Self::Dcqcn(state), Congestion::Dcqcn(p)) => state.notified(at, p, counters),
            (Self::Dctcp(state), _) => state.notified(),
            _ => {}
        }
    }

    /// An acknowledgement arrived.
    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        feedback: Feedback<'_>,
        config: &QpConfig,
        counters: &mut Counters,
    ) {
        match (self, &config.congestion) {
            (Self::Hpcc(state), Congestion::Hpcc(p)) => {
                state.acknowledged(&feedback, p, counters);
            }
            (Self::Timely(state), Congestion::Timely(p)) => {
                state.acknowledged(&feedback, p, counters);
            }
            (Self::Swift(state), Congestion::Swift(p)) => {
                state.acknowledged(now, &feedback, p, counters);
            }
            (Self::Dctcp(state), Congestion::Dctcp(p)) => {
                state.acknowledged(&feedback, p, counters);
            }
            (Self::Cubic(state), Congestion::Cubic(p)) => {
                state.acknowledged(now, &feedback, p, counters);
            }
            (Self::Nscc(state), Congestion::Nscc(p)) => {
                state.acknowledged(now, &feedback, p, counters);
            }
            _ => {}
        }
    }

    /// A timeout; `next` is the number of the next packet that was never sent.
    pub(crate) fn timed_out(&mut self, next: u64, config: &QpConfig, counters: &mut Counters) {
        match (self, &config.congestion) {
            (Self::Dctcp(state), _) => state.timed_out(next, counters),
            (Self::Cubic(state), Congestion::Cubic(p)) => state.timed_out(next, p, counters),
            (Self::Nscc(state), _) => state.timed_out(counters),
            _ => {}
        }
    }

    /// A packet of `len` bytes left. Says whether the rate may have changed.
    #[inline]
    pub(crate) fn sent(
        &mut self,
        now: Instant,
        len: u32,
        config: &QpConfig,
        counters: &mut Counters,
    ) -> bool {
        match (self, &config.congestion) {
            (Self::Dcqcn(state), Congestion::Dcqcn(p)) if !p.byte_counter.is_zero() => {
                state.sent(now, len, p, counters)
            }
            _ => false,
        }
    }

    /// When the state changes by itself.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        match self {
            Self::Dcqcn(state) => state.deadline(),
            _ => Instant::MAX,
        }
    }

    /// Does what is due by `now`.
    pub(crate) fn handle_deadline(
        &mut self,
        now: Instant,
        config: &QpConfig,
        counters: &mut Counters,
    ) {
        if let (Self::Dcqcn(state), Congestion::Dcqcn(p)) = (self, &config.congestion) {
            state.advance(now, p, counters);
        }
    }

    /// The state as it is at `now`.
    pub(crate) fn state(&self, now: Instant, config: &QpConfig) -> CongestionState {
        let rate = self.rate();
        let plain =
            CongestionState { rate, target: rate, window: self.window(), alpha: 0.0, stage: 0 };
        match (self, &config.congestion) {
            (Self::Dcqcn(state), Congestion::Dcqcn(p)) => state.state(now, p),
            (Self::Hpcc(state), _) => state.state(),
            (Self::Dctcp(state), _) => CongestionState { alpha: state.alpha(), ..plain },
            (Self::Timely(state), _) => CongestionState { stage: state.stage(), ..plain },
            _ => plain,
        }
    }
}

/// A share as a floating-point number, for traces.
fn as_f64(q32: u64) -> f64 {
    q32 as f64 / ONE as f64
}
