//! The buffer between a NIC's wire and its host.

use xoff_fabric::model::{ClassId, ReceiveLimit};
use xoff_units::{Bytes, Instant, Rate, Span};

/// The buffer between wire and host. It drains all the time; its level is worked out when needed, in units in
/// which a bit per second moves one in a picosecond: no fraction of a byte is lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub(super) limit: ReceiveLimit,
    pub(super) level: u128,
    /// What has to drain until it is empty, in the same units: more than `level` where packets take longer than their
    /// bytes.
    work: u128,
    /// When `level` was true.
    pub(super) at: Instant,
    /// Classes paused because of it.
    pub(super) paused: u8,
}

/// A byte in the units of a level: bits times picoseconds in a second.
pub(super) const BYTE: u128 = 8 * 1_000_000_000_000;

/// So many bytes as a level.
pub(super) fn level_of(bytes: Bytes) -> u128 {
    u128::from(bytes.get()) * BYTE
}

impl Receiver {
    pub(crate) fn new(limit: ReceiveLimit, now: Instant) -> Self {
        Self { limit, level: 0, work: 0, at: now, paused: 0 }
    }

    /// The limit a NIC without one gets when a fault slows it down.
    pub(crate) fn default_limit(rate: Rate) -> ReceiveLimit {
        ReceiveLimit {
            rate,
            buffer: Bytes::new(2 << 20),
            xoff: Bytes::new(512 << 10),
            xon: Bytes::new(256 << 10),
            packet: Span::ZERO,
        }
    }

    pub(super) fn drain_to(&mut self, now: Instant) {
        let gone = u128::from(self.limit.rate.bps()) * u128::from((now - self.at).as_ps());
        // Where packets take longer than their bytes, bytes leave in proportion to the work that is done.
        self.level = match self.work == self.level || gone >= self.work {
            true => self.level.saturating_sub(gone),
            false => {
                let bits = self.share_bits();
                let share = (gone << bits).div_ceil(self.work);
                self.level - ((self.level * share) >> bits)
            }
        };
        self.work = self.work.saturating_sub(gone);
        self.at = now;
    }

    /// Bits of a share of the work: what a few megabytes lose by 32 is far below a byte, and fewer are taken where the work
    /// would overflow.
    fn share_bits(&self) -> u32 {
        self.work.leading_zeros().min(32)
    }

    /// Takes in a packet; false if there is no room for it.
    pub(super) fn take(&mut self, size: u16) -> bool {
        // A small packet stays as long as the NIC takes for any packet.
        let least = u128::from(self.limit.rate.bps()) * u128::from(self.limit.packet.as_ps());
        let bytes = level_of(Bytes::new(size.into()));
        let level = self.level + bytes;
        let fits = level <= level_of(self.limit.buffer);
        if fits {
            self.level = level;
            self.work += bytes.max(least);
        }
        fits
    }

    /// Whether it holds more than this.
    pub(super) fn is_above(&self, bytes: Bytes) -> bool {
        self.level > level_of(bytes)
    }

    /// Whether it is full enough to hold this class back.
    pub(crate) fn pauses(&self, class: ClassId) -> bool {
        self.paused & class.bit() != 0
    }

    /// When the level will have fallen to the resume point.
    pub(super) fn resumes_at(&self) -> Instant {
        let mut excess = self.level.saturating_sub(level_of(self.limit.xon));
        if excess > 0 && self.work != self.level {
            let bits = self.share_bits();
            let share = (excess << bits).div_ceil(self.level);
            excess = ((self.work * share) >> bits) + 1;
        }
        let rate = u128::from(self.limit.rate.bps());
        let wait = if rate == 0 { u128::MAX } else { excess.div_ceil(rate) };
        u64::try_from(wait).map_or(Instant::MAX, |wait| self.at + Span::from_ps(wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 Gb/s drain 8,750 bytes in 10 us, however often the level is worked out.
    #[test]
    fn looking_often_loses_no_fraction_of_a_byte() {
        let limit = Receiver::default_limit(Rate::from_gbps(7));
        let full = || {
            let mut receiver = Receiver::new(limit, Instant::ZERO);
            (0..100).for_each(|_| assert!(receiver.take(10_000)));
            receiver
        };
        let end = Instant::ZERO + Span::from_us(10);
        let mut once = full();
        once.drain_to(end);
        assert_eq!(once.level, level_of(Bytes::new(1_000_000 - 8_750)));
        let mut often = full();
        let mut now = Instant::ZERO;
        while now < end {
            now = (now + Span::from_ps(1_777)).min(end);
            often.drain_to(now);
        }
        assert_eq!(often.level, once.level);
        // It says when it will have fallen to the resume point, to the picosecond.
        let at = often.resumes_at();
        often.drain_to(Instant::from_ps(at.as_ps() - 1));
        assert!(often.is_above(limit.xon));
        often.drain_to(at);
        assert!(!often.is_above(limit.xon));
    }

    /// 1,000 packets of 100 B at 1 us each: half of them are gone after 500 us, whatever the rate of bytes.
    #[test]
    fn small_packets_leave_one_by_one() {
        let limit = Receiver::default_limit(Rate::from_gbps(400));
        let limit = ReceiveLimit { packet: Span::from_us(1), xon: Bytes::new(50_000), ..limit };
        let mut receiver = Receiver::new(limit, Instant::ZERO);
        (0..1_000).for_each(|_| assert!(receiver.take(100)));
        assert_eq!(
            receiver.level,
            level_of(Bytes::new(100_000)),
            "they take the room of their bytes"
        );
        let half = receiver.resumes_at();
        let off = half.since(Instant::ZERO).as_us_f64() - 500.0;
        assert!(off.abs() < 0.001, "{off} us");
        for step in 1..=500 {
            receiver.drain_to(Instant::ZERO + Span::from_us(step));
        }
        let left = receiver.level / BYTE;
        assert!((49_990..=50_000).contains(&left), "{left} bytes");
        receiver.drain_to(Instant::ZERO + Span::from_us(1_000));
        assert_eq!((receiver.level, receiver.work), (0, 0));
    }

    #[test]
    fn the_slowest_nic_with_the_largest_buffer_does_not_overflow() {
        let limit = Receiver::default_limit(Rate::from_gbps(1_600));
        let second = Span::from_ms(1_000);
        let limit = ReceiveLimit { packet: second, buffer: Bytes::new(1 << 40), ..limit };
        let mut receiver = Receiver::new(limit, Instant::ZERO);
        (0..100_000).for_each(|_| assert!(receiver.take(64)));
        let before = receiver.level;
        receiver.drain_to(Instant::ZERO + second);
        assert!(receiver.level < before && receiver.resumes_at() > Instant::ZERO + second);
    }

    #[test]
    fn a_host_that_takes_nothing_never_resumes() {
        let mut receiver = Receiver::new(Receiver::default_limit(Rate::ZERO), Instant::ZERO);
        (0..100).for_each(|_| assert!(receiver.take(9_000)));
        receiver.drain_to(Instant::ZERO + Span::from_ms(1));
        assert_eq!(receiver.level, level_of(Bytes::new(900_000)));
        assert!(receiver.resumes_at().is_never());
    }
}
