//! A receive side that is slower than the wire: it fills, pauses the fabric, drains and resumes.

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::packet::Packet;
use crate::port::Slot;
use crate::report::Drop;
use xoff_fabric::model::ReceiveLimit;
use xoff_units::{Bytes, Instant, Rate};

/// The buffer between wire and host. It drains all the time; its level is worked out when needed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    limit: ReceiveLimit,
    level: u64,
    /// When `level` was true.
    at: Instant,
    /// Classes paused because of it.
    paused: u8,
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
        let gone = self.limit.rate.bytes_in(now - self.at).get();
        if gone > 0 || self.level == 0 {
            self.level = self.level.saturating_sub(gone);
            self.at = now;
        }
    }

    /// Whether it is full enough to hold this class back.
    pub(crate) fn pauses(&self, class: u8) -> bool {
        self.paused & 1 << class != 0
    }

    /// When the level will have fallen to the resume point.
    fn resumes_at(&self) -> Instant {
        let excess = self.level.saturating_sub(self.limit.xon.get());
        self.at + self.limit.rate.time_for(Bytes::new(excess))
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Takes an arriving packet into the host's buffer; false if there was no room and it is gone.
    #[cold]
    pub(crate) fn take_into_host(&mut self, nic: u32, index: u32) -> bool {
        let &Packet { dscp, size, .. } = self.packets.get(index);
        let class = self.class_of(dscp);
        let now = self.now;
        let state = &mut self.nics[nic as usize];
        let port = state.port;
        let Some(receiver) = state.receiver.as_mut() else { return true };
        receiver.drain_to(now);
        if receiver.level + u64::from(size) > receiver.limit.buffer.get() {
            self.drop_packet(index, Slot::new(port, class), Drop::HostBuffer);
            return false;
        }
        receiver.level += u64::from(size);
        let lossless = self.fabric.classes[usize::from(class)].lossless;
        if lossless
            && receiver.level >= receiver.limit.xoff.get()
            && receiver.paused & 1 << class == 0
        {
            let first = receiver.paused == 0;
            receiver.paused |= 1 << class;
            let at = receiver.resumes_at();
            if self.ports[port as usize].xoff & 1 << class == 0 {
                self.ask_pause(Slot::new(port, class));
            }
            if first && !at.is_never() {
                self.schedule(at.max(now), Kind::Drain, nic, 0);
            }
        }
        true
    }

    /// The receive side may have drained enough to resume.
    pub(crate) fn drain_receiver(&mut self, nic: u32) {
        let now = self.now;
        let state = &mut self.nics[nic as usize];
        let (port, storm) = (state.port, state.storm_classes());
        let Some(receiver) = state.receiver.as_mut() else { return };
        receiver.drain_to(now);
        if receiver.level > receiver.limit.xon.get() {
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
    pub(crate) fn limit_receiver(&mut self, nic: u32, limit: Option<ReceiveLimit>) {
        let now = self.now;
        let state = &mut self.nics[nic as usize];
        let (port, storm) = (state.port, state.storm_classes());
        let before = state.receiver.take();
        match limit {
            Some(limit) => {
                let mut receiver = before.unwrap_or_else(|| Box::new(Receiver::new(limit, now)));
                receiver.drain_to(now);
                receiver.at = now;
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
