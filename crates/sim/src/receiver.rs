//! A receive side that is slower than the wire: it fills, pauses the fabric, drains and resumes.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, PlaneId};
use crate::packet::Packet;
use crate::port::Slot;
use crate::report::Drop;
use xoff_fabric::model::ReceiveLimit;
use xoff_units::{Bytes, Instant, Rate, Span};

/// The buffer between wire and host. It drains all the time; its level is worked out when needed, in units in
/// which a bit per second moves one in a picosecond: no fraction of a byte is lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    limit: ReceiveLimit,
    level: u128,
    /// When `level` was true.
    at: Instant,
    /// Classes paused because of it.
    paused: u8,
}

/// A byte in the units of a level: bits times picoseconds in a second.
const BYTE: u128 = 8 * 1_000_000_000_000;

/// So many bytes as a level.
fn level_of(bytes: Bytes) -> u128 {
    u128::from(bytes.get()) * BYTE
}

impl Receiver {
    pub(crate) fn new(limit: ReceiveLimit, now: Instant) -> Self {
        Self { limit, level: 0, at: now, paused: 0 }
    }

    /// The limit a NIC without one gets when a fault slows it down.
    pub(crate) fn default_limit(rate: Rate) -> ReceiveLimit {
        ReceiveLimit {
            rate,
            buffer: Bytes::new(2 << 20),
            xoff: Bytes::new(512 << 10),
            xon: Bytes::new(256 << 10),
        }
    }

    fn drain_to(&mut self, now: Instant) {
        let gone = u128::from(self.limit.rate.bps()) * u128::from((now - self.at).as_ps());
        self.level = self.level.saturating_sub(gone);
        self.at = now;
    }

    /// Takes in a packet; false if there is no room for it.
    fn take(&mut self, size: u16) -> bool {
        let level = self.level + level_of(Bytes::new(size.into()));
        let fits = level <= level_of(self.limit.buffer);
        if fits {
            self.level = level;
        }
        fits
    }

    /// Whether it holds more than this.
    fn is_above(&self, bytes: Bytes) -> bool {
        self.level > level_of(bytes)
    }

    /// Whether it is full enough to hold this class back.
    pub(crate) fn pauses(&self, class: u8) -> bool {
        self.paused & 1 << class != 0
    }

    /// When the level will have fallen to the resume point.
    fn resumes_at(&self) -> Instant {
        let excess = self.level.saturating_sub(level_of(self.limit.xon));
        let rate = u128::from(self.limit.rate.bps());
        let wait = if rate == 0 { u128::MAX } else { excess.div_ceil(rate) };
        u64::try_from(wait).map_or(Instant::MAX, |wait| self.at + Span::from_ps(wait))
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Takes an arriving packet into the host's buffer; false if there was no room and it is gone.
    #[cold]
    pub(crate) fn take_into_host(&mut self, nic: PlaneId, index: PacketId) -> bool {
        let &Packet { dscp, size, .. } = self.packets.get(index);
        let class = self.class_of(dscp);
        let now = self.now;
        let state = &mut self.nics[nic];
        let port = state.port;
        let Some(receiver) = state.receiver.as_mut() else { return true };
        receiver.drain_to(now);
        if !receiver.take(size) {
            self.drop_packet(index, Slot::new(port, class), Drop::HostBuffer);
            return false;
        }
        let lossless = self.fabric.classes[usize::from(class)].lossless;
        if lossless
            && receiver.level >= level_of(receiver.limit.xoff)
            && receiver.paused & 1 << class == 0
        {
            let first = receiver.paused == 0;
            receiver.paused |= 1 << class;
            let at = receiver.resumes_at();
            if self.ports[port].xoff & 1 << class == 0 {
                self.ask_pause(Slot::new(port, class));
            }
            if first && !at.is_never() {
                self.schedule(at.max(now), Kind::Drain, nic, 0);
            }
        }
        true
    }

    /// The receive side may have drained enough to resume.
    pub(crate) fn drain_receiver(&mut self, nic: PlaneId) {
        let now = self.now;
        let state = &mut self.nics[nic];
        let (port, storm) = (state.port, state.storm_classes());
        let Some(receiver) = state.receiver.as_mut() else { return };
        receiver.drain_to(now);
        if receiver.is_above(receiver.limit.xon) {
            let at = receiver.resumes_at();
            if !at.is_never() && receiver.paused != 0 {
                self.schedule(at.max(now), Kind::Drain, nic, 0);
            }
            return;
        }
        let paused = std::mem::take(&mut receiver.paused) & !storm;
        for class in 0..8 {
            if paused & 1 << class != 0 {
                self.ask_resume(Slot::new(port, class));
            }
        }
    }

    /// Changes how fast a NIC's receive side drains; `None` lifts the limit.
    pub(crate) fn limit_receiver(&mut self, nic: PlaneId, limit: Option<ReceiveLimit>) {
        let now = self.now;
        let state = &mut self.nics[nic];
        let (port, storm) = (state.port, state.storm_classes());
        let before = state.receiver.take();
        match limit {
            Some(limit) => {
                let mut receiver = before.unwrap_or_else(|| Box::new(Receiver::new(limit, now)));
                receiver.drain_to(now);
                receiver.limit = limit;
                let resume = receiver.paused != 0;
                let at = receiver.resumes_at();
                state.receiver = Some(receiver);
                if resume && !at.is_never() {
                    self.schedule(at.max(now), Kind::Drain, nic, 0);
                }
            }
            None => {
                let paused = before.map_or(0, |receiver| receiver.paused) & !storm;
                for class in (0..8).filter(|class| paused & 1 << class != 0) {
                    self.ask_resume(Slot::new(port, class));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 Gb/s drain 8,750 bytes in 10 us, however often somebody looks.
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

    #[test]
    fn a_host_that_takes_nothing_never_resumes() {
        let mut receiver = Receiver::new(Receiver::default_limit(Rate::ZERO), Instant::ZERO);
        (0..100).for_each(|_| assert!(receiver.take(9_000)));
        receiver.drain_to(Instant::ZERO + Span::from_ms(1));
        assert_eq!(receiver.level, level_of(Bytes::new(900_000)));
        assert!(receiver.resumes_at().is_never());
    }
}
