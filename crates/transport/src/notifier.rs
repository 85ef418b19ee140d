//! The notification point: what a receiver does about marked packets.

use crate::config::{CnpScope, Notification, QpConfig};
use crate::delay::DelayLine;
use xoff_units::{Instant, Span};

/// Lets one congestion notification through per interval.
///
/// A queue pair has one of its own. Where the scope is wider ([`CnpScope`]) the owner of the queue
/// pairs keeps one per port or destination, consults it when a marked packet arrives, and passes
/// its answer in [`Signals::cnp_withheld`](crate::Signals::cnp_withheld).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CnpLimiter {
    /// No notification before this.
    opens_at: Instant,
}

impl CnpLimiter {
    /// Whether a notification may be made at `now`; if so, the next one may after `interval`.
    #[inline]
    pub fn admit(&mut self, now: Instant, interval: Span) -> bool {
        let open = now >= self.opens_at;
        if open {
            self.opens_at = now + interval;
        }
        open
    }
}

/// Turns marked data packets into congestion notification packets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notifier {
    limiter: CnpLimiter,
    /// Notifications that are being made.
    made: DelayLine,
    /// One is ready to leave. Several that became ready together say no more than one.
    ready: bool,
}

impl Notifier {
    /// A marked data packet arrived. `acknowledged` says whether an acknowledgement will answer it,
    /// which then carries the echo; the data of a read has none, so it always gets a packet.
    /// `withheld` is the answer of a limiter that is shared with other queue pairs.
    pub(crate) fn marked(
        &mut self,
        now: Instant,
        config: &QpConfig,
        acknowledged: bool,
        withheld: bool,
    ) {
        if acknowledged && config.notification == Notification::EchoInAck {
            return;
        }
        let admitted = match config.cnp_scope {
            CnpScope::QueuePair => self.limiter.admit(now, config.cnp_interval),
            CnpScope::Destination | CnpScope::Port => !withheld,
        };
        if !admitted {
            return;
        }
        if config.cnp_delay.is_zero() {
            self.ready = true;
        } else {
            self.made.push(now + config.cnp_delay);
        }
    }

    /// When a delayed notification is ready.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.made.due()
    }

    /// Moves what is made by now to what may leave.
    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        while self.made.pop(now).is_some() {
            self.ready = true;
        }
    }

    /// Takes the notification that may leave.
    #[inline]
    pub(crate) fn take(&mut self) -> bool {
        std::mem::take(&mut self.ready)
    }

    /// Whether no notification is being made or waiting.
    pub(crate) fn is_idle(&self) -> bool {
        !self.ready && self.made.due().is_never()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::Span;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    #[test]
    fn one_notification_per_interval() {
        let config = QpConfig { cnp_interval: Span::from_us(4), ..QpConfig::default() };
        let mut notifier = Notifier::default();
        let mut sent = Vec::new();
        for us in 0..12 {
            notifier.marked(at(us), &config, true, false);
            if notifier.take() {
                sent.push(us);
            }
            assert!(!notifier.take());
        }
        assert_eq!(sent, [0, 4, 8]);
    }

    #[test]
    fn a_delay_longer_than_the_interval_loses_none() {
        let config = QpConfig {
            cnp_interval: Span::from_us(2),
            cnp_delay: Span::from_us(10),
            ..QpConfig::default()
        };
        let mut notifier = Notifier::default();
        for us in [0, 1, 2, 3, 4] {
            notifier.marked(at(us), &config, true, false);
        }
        assert!(!notifier.take());
        for us in [10, 12, 14] {
            assert_eq!(notifier.deadline(), at(us));
            notifier.handle_deadline(at(us));
            assert!(notifier.take());
        }
        assert!(notifier.is_idle());
    }

    #[test]
    fn a_shared_limiter_decides_for_its_scope() {
        let config = QpConfig {
            cnp_interval: Span::from_us(4),
            cnp_scope: CnpScope::Port,
            ..QpConfig::default()
        };
        let mut port = CnpLimiter::default();
        let mut pairs = [Notifier::default(), Notifier::default()];
        let mut sent = Vec::new();
        for us in 0..12 {
            for (index, pair) in pairs.iter_mut().enumerate() {
                let withheld = !port.admit(at(us), config.cnp_interval);
                pair.marked(at(us), &config, true, withheld);
                if pair.take() {
                    sent.push((us, index));
                }
            }
        }
        // The first packet of each interval wins, whichever queue pair it belongs to.
        assert_eq!(sent, [(0, 0), (4, 0), (8, 0)]);
    }

    #[test]
    fn an_echo_needs_an_acknowledgement() {
        let config = QpConfig { notification: Notification::EchoInAck, ..QpConfig::default() };
        let mut notifier = Notifier::default();
        notifier.marked(at(0), &config, true, false);
        assert!(!notifier.take());
        notifier.marked(at(0), &config, false, false);
        assert!(notifier.take());
    }
}
