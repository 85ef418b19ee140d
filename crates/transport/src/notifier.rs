//! The notification point: what a receiver does about marked packets.

use crate::config::{Notification, QpConfig};
use crate::delay::DelayLine;
use xoff_units::Instant;

/// Turns marked data packets into congestion notification packets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notifier {
    /// No notification before this.
    allowed: Instant,
    /// Notifications that are being made.
    made: DelayLine,
    /// One is ready to leave. Several that became ready together say no more than one.
    ready: bool,
}

impl Notifier {
    /// A marked data packet arrived. `acknowledged` says whether an acknowledgement will answer it,
    /// which then carries the echo; the data of a read has none, so it always gets a packet.
    pub(crate) fn marked(&mut self, now: Instant, config: &QpConfig, acknowledged: bool) {
        if acknowledged && config.notification == Notification::EchoInAck {
            return;
        }
        if now < self.allowed {
            return;
        }
        self.allowed = now + config.cnp_interval;
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
            notifier.marked(at(us), &config, true);
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
            notifier.marked(at(us), &config, true);
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
    fn an_echo_needs_an_acknowledgement() {
        let config = QpConfig { notification: Notification::EchoInAck, ..QpConfig::default() };
        let mut notifier = Notifier::default();
        notifier.marked(at(0), &config, true);
        assert!(!notifier.take());
        notifier.marked(at(0), &config, false);
        assert!(notifier.take());
    }
}
