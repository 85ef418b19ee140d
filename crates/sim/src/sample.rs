//! Samples of the queues at a fixed period, for the series in the run folder.

use crate::engine::Engine;
use crate::event::{EventQueue, Key, Kind};
use crate::id::Slot;
use crate::net::Net;
use crate::observe::Look;
use crate::parallel::border::Told;
use crate::pause::state::all_classes;
use crate::report::{Sample, Sent};
use crate::switch::port::port_flag;
use xoff_fabric::model::PortId;

impl<Q: EventQueue> Engine<'_, Q> {
    /// Samples every queue that holds something, is paused, or has an ingress that does.
    pub(crate) fn take_sample(&mut self) {
        self.sample_ports(|_| true);
        self.look_again(Look::Sample);
    }

    /// Samples the queues of these ports.
    pub(crate) fn sample_ports(&mut self, own: impl Fn(PortId) -> bool) {
        let mut told = self.border.told.take();
        let observer = &mut *self.observation.observer;
        let key = Key::new(Kind::Sample, Look::Sample as u32);
        let mut tell = |news: Told| match &mut told {
            Some(told) => told.push((key, news)),
            None => news.tell(observer),
        };
        for (port, state) in self.net.ports.enumerate().filter(|(port, _)| own(*port)) {
            for (class, lane) in all_classes().zip(&state.lanes) {
                if state.is_nic() && lane.tx_bytes > 0 {
                    let (at, class, bytes) = (self.now, class.0, lane.tx_bytes);
                    tell(Told::Sent(Sent { at, port, class, bytes }));
                }
                let paused = state.paused & class.bit() != 0;
                let slot = Slot::new(port, class);
                let queue = queued_for(&self.net, slot, lane.queue.bytes);
                if queue == 0 && lane.ingress.held() == 0 && !paused {
                    continue;
                }
                let sample = Sample {
                    at: self.now,
                    port,
                    class: class.0,
                    queue,
                    ingress: lane.ingress.held(),
                    paused,
                    tx_bytes: lane.tx_bytes,
                    wire_bytes: lane.wire_bytes(self.net.gap),
                };
                tell(Told::Sample(sample));
            }
        }
        self.border.told = told;
    }
}

/// What waits for a port and class: in its own queue, and at the ingresses of a switch with virtual output
/// queues.
fn queued_for(net: &Net, slot: Slot, own: u32) -> u32 {
    let port = &net.ports[slot.port()];
    if port.flags & port_flag::VOQ == 0 {
        return own;
    }
    let voqs = net.voqs.get(port.switch()).and_then(Option::as_deref);
    let waiting = voqs.map_or(0, |voqs| voqs.waiting(slot));
    (waiting + u64::from(own)).min(u64::from(u32::MAX)) as u32
}
