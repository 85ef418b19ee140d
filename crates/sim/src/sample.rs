//! Samples of the queues at a fixed period, for the series in the run folder.

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::Slot;
use crate::observe::Look;
use crate::pause::state::all_classes;
use crate::report::{Sample, Sent};
use crate::switch::port::port_flag;

impl<Q: EventQueue> Engine<'_, Q> {
    /// Samples every queue that holds something, is paused, or has an ingress that does.
    pub(crate) fn take_sample(&mut self) {
        for (port, state) in self.net.ports.enumerate() {
            for (class, lane) in all_classes().zip(&state.lanes) {
                if state.is_nic() && lane.tx_bytes > 0 {
                    let (at, class, bytes) = (self.now, class.0, lane.tx_bytes);
                    self.observation.observer.sent(&Sent { at, port, class, bytes });
                }
                let paused = state.paused & class.bit() != 0;
                let slot = Slot::new(port, class);
                let queue = self.queued_for(slot, lane.queue.bytes);
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
                    wire_bytes: self.wire_bytes(lane),
                };
                self.observation.observer.sample(&sample);
            }
        }
        self.look_again(Look::Sample);
    }

    /// What waits for a port and class: in its own queue, and at the ingresses of a switch with virtual output
    /// queues.
    fn queued_for(&self, slot: Slot, own: u32) -> u32 {
        let port = &self.net.ports[slot.port()];
        if port.flags & port_flag::VOQ == 0 {
            return own;
        }
        let voqs = self.net.voqs.get(port.switch()).and_then(Option::as_deref);
        let waiting = voqs.map_or(0, |voqs| voqs.waiting(slot));
        (waiting + u64::from(own)).min(u64::from(u32::MAX)) as u32
    }
}
