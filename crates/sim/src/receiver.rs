//! A receive side that is slower than the wire: it fills, pauses the fabric, drains and resumes.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::id::{PacketId, PlaneId, Slot};
use crate::pause::state::classes;
use crate::report::Drop;
use crate::switch::packet::Packet;
use state::{Receiver, level_of};
use xoff_fabric::model::ReceiveLimit;

impl<Q: EventQueue> Engine<'_, Q> {
    /// Takes an arriving packet into the host's buffer; false if there was no room and it is gone.
    #[cold]
    pub(crate) fn take_into_host(&mut self, nic: PlaneId, index: PacketId) -> bool {
        let &Packet { dscp, size, .. } = self.net.packets.get(index);
        let class = self.class_at(nic, dscp);
        let now = self.now;
        let state = &mut self.hosts.nics[nic];
        let port = state.port;
        let Some(receiver) = state.receiver.as_mut() else { return true };
        receiver.drain_to(now);
        if !receiver.take(size) {
            self.drop_packet(index, Slot::new(port, class), Drop::HostBuffer);
            return false;
        }
        let lossless = self.fabric.classes[class.index()].lossless;
        if lossless
            && receiver.level >= level_of(receiver.limit.xoff)
            && receiver.paused & class.bit() == 0
        {
            let first = receiver.paused == 0;
            receiver.paused |= class.bit();
            let at = receiver.resumes_at();
            if self.net.ports[port].xoff & class.bit() == 0 {
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
        let state = &mut self.hosts.nics[nic];
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
        for class in classes(paused) {
            self.ask_resume(Slot::new(port, class));
        }
    }

    /// Changes how fast a NIC's receive side drains; `None` lifts the limit.
    pub(crate) fn limit_receiver(&mut self, nic: PlaneId, limit: Option<ReceiveLimit>) {
        let now = self.now;
        let state = &mut self.hosts.nics[nic];
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
                for class in classes(paused) {
                    self.ask_resume(Slot::new(port, class));
                }
            }
        }
    }
}
