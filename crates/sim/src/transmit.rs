//! A port sends: pause frames first, then the class whose turn it is.

use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key, Kind};
use crate::id::{PacketId, Slot};
use crate::switch::packet::flag;
use crate::switch::port::{Wake, port_flag};
use xoff_fabric::model::{ClassId, PortId};
use xoff_transport::IntHop;
use xoff_units::Instant;

impl<Q: EventQueue> Engine<'_, Q> {
    /// A transmit event: the port may send, unless something has overtaken the event.
    #[inline(never)]
    pub(crate) fn wake(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        // Events are never cancelled: a wake that was moved leaves its old event behind.
        if here.wake_at != self.now {
            return;
        }
        here.wake_at = Instant::MAX;
        if here.busy_until > self.now {
            return self.kick(port);
        }
        self.transmit(port);
    }

    /// Something may have become sendable: send it, or see to it that the port wakes up in time.
    #[inline(always)]
    pub(crate) fn kick(&mut self, port: PortId) {
        match self.net.ports[port].plan_wake(self.now) {
            Wake::Known => {}
            Wake::At(at) => self.schedule_transmit(at, port, PacketId::ANY),
            Wake::Now => self.transmit_now(port),
        }
    }

    #[inline(never)]
    pub(crate) fn transmit_now(&mut self, port: PortId) {
        self.transmit(port);
    }

    #[inline(always)]
    fn transmit(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        // MAC control frames overtake data, also in paused classes: PFC acts on data only.
        if here.unannounced() != 0 {
            return self.send_pause_frame(port);
        }
        if here.is_nic() {
            return self.transmit_nic(port);
        }
        let eligible = here.eligible();
        if eligible == 0 {
            return;
        }
        // Giving buffer back may make this very port want to send a pause frame: not yet.
        here.wake_at = self.now;
        // One class alone needs no scheduler, whose state would be another cache line.
        let class = if eligible & (eligible - 1) == 0 {
            ClassId(eligible.trailing_zeros() as u8)
        } else {
            self.choose(port, eligible)
        };
        let slot = Slot::new(port, class);
        let (index, size) = self.dequeue(slot);
        self.launch(slot, index, size);
        let here = &mut self.net.ports[port];
        if here.eligible() | here.unannounced() == 0 {
            here.wake_at = Instant::MAX;
        } else {
            let (at, next) = (here.busy_until, here.lane(class).queue.first());
            here.wake_at = at;
            self.schedule_transmit(at, port, next);
        }
    }

    /// The class whose turn it is, among several.
    #[inline(never)]
    pub(crate) fn choose(&mut self, port: PortId, eligible: u8) -> ClassId {
        let here = &self.net.ports[port];
        let strict = eligible & here.strict;
        if strict != 0 {
            return ClassId(7 - strict.leading_zeros() as u8);
        }
        let (lanes, packets) = (&here.lanes, &self.net.packets);
        let mtu = self.hosts.nics.iter().next().map_or(4096, |nic| nic.mtu);
        let class = self.net.schedulers[port].pick(eligible, |class| {
            let queue = &lanes[usize::from(class & 7)].queue;
            queue.iter(packets).next().map_or(mtu, |packet| packet.size.into())
        });
        ClassId(class)
    }

    /// Takes a class's first packet out of queue and buffer, and marks it if the queue is long. Its
    /// number and size.
    #[inline(always)]
    fn dequeue(&mut self, slot: Slot) -> (PacketId, u32) {
        let here = &mut self.net.ports[slot.port()];
        let lane = here.lane(slot.class());
        let (index, packet) = lane.queue.pop(&mut self.net.packets);
        let (size, flags) = (packet.size, packet.flags);
        let (ingress, charged) = (packet.ingress, packet.charged);
        let (left, kmin) = (lane.queue.bytes, lane.kmin);
        if lane.queue.is_empty() {
            here.waiting &= !slot.bit();
        }
        self.net.balance.see(slot.port(), here);
        let behind_fabric = here.flags & port_flag::VOQ != 0;
        if left > kmin && flags & flag::ECT != 0 && self.marks(slot, left) {
            self.mark(slot, index);
        }
        if flags & flag::INT != 0 {
            self.stamp(slot.port(), index);
        }
        if ingress != Slot::NONE {
            self.release(ingress, charged);
        } else if behind_fabric {
            self.egress_left(slot, size.into());
        }
        (index, size.into())
    }

    /// The queue is longer than Kmin: whether the packet gets a mark.
    #[inline(never)]
    pub(crate) fn marks(&mut self, slot: Slot, left: u32) -> bool {
        let lane = self.net.ports[slot.port()].lane(slot.class());
        let rules = &self.net.profiles[lane.profile as usize];
        let stream = self.net.marking.stream(slot.port());
        rules.marks(left, || stream.next_u64())
    }

    /// The hop writes its telemetry into the packet.
    #[cold]
    pub(crate) fn stamp(&mut self, port: PortId, index: PacketId) {
        let here = &self.net.ports[port];
        let rate = self.net.links[port].rate;
        let (tx_bytes, queue) = (here.tx_bytes(), here.queued());
        self.net.headers.collect(index, IntHop { at: self.now, tx_bytes, queue, rate });
    }

    /// Gives buffer back, and lets the peer go on if that was enough.
    #[inline(always)]
    pub(crate) fn release(&mut self, slot: Slot, charged: u16) {
        let here = &mut self.net.ports[slot.port()];
        let asked = here.xoff & slot.bit() != 0;
        let shared = &mut self.net.switches[here.switch()].shared;
        here.lane(slot.class()).ingress.release(u32::from(charged), shared);
        if asked {
            self.resume_if_room(slot, charged);
        }
    }

    /// Resumes a paused peer if there is room for what it sends, or returns credit where links have credits.
    #[inline(never)]
    fn resume_if_room(&mut self, slot: Slot, charged: u16) {
        if !self.net.credits.is_empty() {
            return self.return_credit(slot, charged);
        }
        let here = &mut self.net.ports[slot.port()];
        let shared = &self.net.switches[here.switch()].shared;
        let lane = here.lane(slot.class());
        if lane.ingress.may_resume(&self.net.profiles[lane.profile as usize], shared) {
            self.ask_resume(slot);
        }
    }

    /// Sends a packet that has its place among the flights.
    #[inline(always)]
    pub(crate) fn launch(&mut self, slot: Slot, index: PacketId, size: u32) {
        let here = &mut self.net.ports[slot.port()];
        debug_assert!(here.paused & slot.bit() == 0, "a paused class sends");
        debug_assert!(here.busy_until <= self.now, "two packets on one wire");
        let arrival = here.take_wire(self.now, slot.class(), size, self.net.gap);
        let (flags, key) = (here.flags, here.arrival);
        if Q::BY_TURN {
            self.net.turns[slot.port()] = self.events.take_turn();
        }
        // One test for all that is rare: losses, credits and slow hosts share a mask.
        if flags & port_flag::CAREFUL != 0 && !self.gets_through(slot, index, size) {
            return;
        }
        self.schedule_arrival(arrival, key, flags, index);
    }

    /// Whether a packet on a link that may lose it, that has credits, or whose host is slow arrives at
    /// the other end.
    #[cold]
    fn gets_through(&mut self, slot: Slot, index: PacketId, size: u32) -> bool {
        let flags = self.net.ports[slot.port()].flags;
        if flags & port_flag::LOSSY != 0
            && let Some(reason) = self.fate(slot.port(), size)
        {
            self.lose(slot, index, reason);
            return false;
        }
        if flags & port_flag::CREDITS != 0 {
            self.spend_credit(slot, size);
        }
        if flags & port_flag::SLOW_HOST != 0 {
            self.fetch_from_host(slot.port(), index);
        }
        true
    }

    /// The port will be able to send at `at`, and probably send `packet`. Where turns count, its turn is
    /// that of the transmission that ends then.
    #[inline(always)]
    pub(crate) fn schedule_transmit(&mut self, at: Instant, port: PortId, packet: PacketId) {
        if Q::BY_TURN && at == self.net.ports[port].busy_until {
            let event = Event { at, key: Key::new(Kind::Transmit, port.0), data: packet.0 };
            return self.events.push_in_turn(event, self.net.turns[port]);
        }
        self.schedule(at, Kind::Transmit, port, packet);
    }

    /// A packet has just taken the wire of a NIC with a slow host: the next one waits for its data, too.
    #[cold]
    pub(crate) fn fetch_from_host(&mut self, port: PortId, index: PacketId) {
        let here = &mut self.net.ports[port];
        let host = &self.hosts.nics[here.plane()];
        here.busy_until = here.busy_until.max(self.now + host.packet);
        let Some(fetch) = host.fetch else { return };
        let payload = self.net.headers.get(index).transport.payload;
        if payload > 0 {
            let fetched = self.now + fetch.times(payload);
            here.busy_until = here.busy_until.max(fetched);
        }
    }
}
