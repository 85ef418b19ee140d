//! Congestion notifications that switches send themselves (FastECN).
//!
//! Usually a switch marks a packet, its receiver answers the mark with a notification, and the sender hears of the
//! congestion after the rest of the path and all the way back. With `notify = "switch"` the switch that would
//! mark sends the notification, and leaves the packet unmarked. Each switch notifies a flow at most
//! once per interval.
//!
//! The notification is made in the pipeline: it takes no buffer of an ingress, and leaves by the switch's own
//! routes, also where its flow has a pinned path. A switch without a route to the sender sends none.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::EventQueue;
use crate::id::{FlowId, PacketId, Slot};
use crate::switch::header::PacketHeader;
use crate::switch::packet::{Packet, flag};
use crate::switch::trail::Stamp;
use xoff_units::Span;
use xoff_wire::{Extension, Header, Opcode, Psn, Qpn, Service};

impl<Q: EventQueue> Engine<'_, Q> {
    /// A packet that leaves by `slot` meets a long queue: it gets a mark, or its sender a notification.
    #[inline(never)]
    pub(crate) fn mark(&mut self, slot: Slot, index: PacketId) {
        if let Some(interval) = self.fabric.marking.notify {
            return self.notify_sender(slot, index, interval);
        }
        self.accounts.classes[slot].marked += 1;
        self.net.packets.get_mut(index).flags |= flag::CE;
        self.net.headers.mark_entropy(index);
    }

    /// A packet joins a queue whose switch marks then, on what waits before it.
    #[cold]
    pub(crate) fn mark_at_enqueue(&mut self, out: Slot, index: PacketId) {
        let lane = &self.net.ports[out.port()].lanes[out.class().index()];
        let (queued, kmin) = (lane.queue.bytes, self.net.profiles[lane.profile as usize].kmin);
        let capable = self.net.packets.get(index).flags & flag::ECT != 0;
        if self.fabric.marking.at_enqueue && capable && queued > kmin && self.marks(out, queued) {
            self.mark(out, index);
        }
    }

    /// The switch of a port notifies the sender of a packet of congestion, unless it did so lately.
    fn notify_sender(&mut self, slot: Slot, index: PacketId, interval: Span) {
        let switch = self.net.ports[slot.port()].switch();
        let (receiver, flow) = (self.net.packets.get(index).to, self.net.headers.flow(index));
        let alive =
            self.hosts.connections[receiver.connection()].flow == flow && flow != FlowId::NONE;
        let key = (switch, receiver);
        let lately = self.net.marking.was_notified(key, flow, (self.now, interval));
        if !alive || lately {
            return;
        }
        let header = Header {
            service: Service::Reliable,
            opcode: Opcode::Cnp,
            ack_request: false,
            becn: true,
            dest_qp: Qpn::new(receiver.peer().0),
            psn: Psn::new(0),
            extension: Extension::None,
            payload: 0,
        };
        let (like, own) = self.notification_of(receiver, &header);
        let class = own.class();
        // It joins the way to the sender here, so it follows no trail, and is charged to no ingress.
        let flags = like.flags & flag::TO_INITIATOR;
        let packet =
            Packet { flags, stamp: Stamp::NONE, ingress: Slot::NONE, charged: 0, hops: 0, ..like };
        let hash = self.net.hashing.at(switch, packet.entropy);
        let seed = self.net.switches[switch].hash_seed;
        let out = self.net.routing.next(switch, packet.dst, hash, seed);
        let Some(out) = out.or_else(|| self.balance(switch, &packet, hash, class)) else { return };
        self.net.marking.note(key, flow, self.now);
        self.accounts.totals.switch_cnps += 1;
        let index = self.net.packets.add(&packet);
        self.net.headers.write(
            index,
            PacketHeader { transport: header, sent_at: self.now, flow },
            packet.size,
        );
        let out = Slot::new(out, class);
        self.egress_joined(out, packet.size.into());
        self.enqueue(out, index, packet.size);
    }
}
