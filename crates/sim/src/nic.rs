//! NICs: many queue pairs, one wire.
//!
//! An endpoint that may send at once is *ready*; one that must wait for its pace sits in a heap
//! until its time. Ready endpoints of a class take turns in the order of their places. Control
//! packets (acknowledgements, notifications) wait in the port's own queues and go before data of
//! the same class. A NIC with several ports is several of these: see [`crate::plane`].

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key, Kind};
use crate::host::guest::{AT_HOST, GuestState};
use crate::id::{EndpointId, FlowId, PacketId, PlaneId, Slot};
use crate::report::Drop;
use crate::switch::packet::flag;
use state::feedback;
use xoff_fabric::model::{ClassId, PortId};
use xoff_transport::Signals;
use xoff_units::Instant;
use xoff_wire::Operation as Opcode;

impl<Q: EventQueue> Engine<'_, Q> {
    /// Gives an endpoint its place at its NIC.
    pub(crate) fn join(&mut self, endpoint: EndpointId) {
        let member = self.end_mut(endpoint).member;
        let group = &mut self.hosts.nics[member.plane].groups[member.class.index()];
        let place = group.join(endpoint);
        self.end_mut(endpoint).member.place = place;
    }

    /// Takes it back.
    pub(crate) fn leave(&mut self, endpoint: EndpointId) {
        let member = self.end_mut(endpoint).member;
        let nic = &mut self.hosts.nics[member.plane];
        nic.set_ready(member.class, member.place, false);
        nic.groups[member.class.index()].leave(member.place);
    }

    /// Sets an endpoint's turn by when it can send next, and wakes its port if that is sooner.
    #[inline(always)]
    pub(crate) fn update_member(&mut self, endpoint: EndpointId) {
        let end = &mut self.hosts.connections[endpoint.connection()].ends[endpoint.end()];
        let nic = &mut self.hosts.nics[end.member.plane];
        let port = nic.port;
        let here = &mut self.net.ports[port];
        let at = nic.place(endpoint, end, self.now.max(here.busy_until));
        if at.is_never() {
            return;
        }
        if at <= self.now {
            self.kick(port);
        } else {
            self.schedule_next_nic(port);
        }
    }

    /// Endpoints whose time has come become ready.
    #[inline(never)]
    fn release_paced(&mut self, nic: PlaneId) {
        let nic_state = &mut self.hosts.nics[nic];
        let free = self.now.max(self.net.ports[nic_state.port].busy_until);
        while nic_state.next_paced <= self.now
            && let Some((at, endpoint)) = nic_state.take_paced(self.now)
        {
            let connection = &mut self.hosts.connections[endpoint.connection()];
            let ended = connection.flow == FlowId::NONE;
            let end = &mut connection.ends[endpoint.end()];
            // The flow may have ended, and its connection may serve another one elsewhere. Its entry stays in
            // the heap until its time comes, because taking it out would mean a search.
            if ended || end.member.plane != nic || end.member.paced_at != at {
                continue;
            }
            end.member.paced_at = Instant::MAX;
            nic_state.place(endpoint, end, free);
        }
    }

    /// The NIC's port is free: send the next packet, if one may go.
    #[inline(never)]
    pub(crate) fn transmit_nic(&mut self, port: PortId) {
        let nic = self.net.ports[port].plane();
        if self.hosts.nics[nic].next_paced <= self.now {
            self.release_paced(nic);
        }
        let here = &self.net.ports[port];
        let waiting = here.waiting;
        let eligible = (waiting | self.hosts.nics[nic].ready) & !here.paused;
        if eligible == 0 {
            return self.schedule_next_nic(port);
        }
        let class = if eligible & (eligible - 1) == 0 {
            ClassId(eligible.trailing_zeros() as u8)
        } else {
            self.choose(port, eligible)
        };
        let slot = Slot::new(port, class);
        if waiting & slot.bit() != 0 {
            self.send_first_control(slot);
        } else {
            self.send_data(nic, slot);
        }
    }

    /// Sends the first control packet of a class.
    #[inline(always)]
    fn send_first_control(&mut self, slot: Slot) {
        let here = &mut self.net.ports[slot.port()];
        let queue = &mut here.lane(slot.class()).queue;
        let (index, packet) = queue.pop(&mut self.net.packets);
        let size = packet.size;
        if queue.is_empty() {
            here.waiting &= !slot.bit();
        }
        self.launch(slot, index, size.into());
        self.schedule_next_nic(slot.port());
    }

    /// Sends the next data packet of a class.
    #[inline(always)]
    fn send_data(&mut self, nic: PlaneId, slot: Slot) {
        let now = self.now;
        let host = &mut self.hosts.nics[nic];
        let Some(endpoint) = host.groups[slot.class().index()].next() else { return };
        host.last = endpoint;
        let end = &mut self.hosts.connections[endpoint.connection()].ends[endpoint.end()];
        let header = end.qp.poll_transmit(now);
        let deadline = end.qp.deadline();
        if deadline < end.timer_at {
            let at = deadline.max(now);
            end.timer_at = at;
            self.events.push(Event { at, key: Key::new(Kind::Deadline, endpoint.0), data: 0 });
        }
        if let Some(header) = header {
            let (index, size) =
                end.packet(header, now, &mut self.net.packets, &mut self.net.headers);
            self.launch(slot, index, size.into());
        }
        let host = &mut self.hosts.nics[nic];
        let end = &mut self.hosts.connections[endpoint.connection()].ends[endpoint.end()];
        let here = &mut self.net.ports[slot.port()];
        host.place(endpoint, end, now.max(here.busy_until));
        self.schedule_next_nic(slot.port());
    }

    /// Sees to it that the NIC's port wakes up when it can send again.
    #[inline(always)]
    pub(crate) fn schedule_next_nic(&mut self, port: PortId) {
        let here = &mut self.net.ports[port];
        let at = self.hosts.nics[here.plane()].next_transmit(here, self.now);
        if at < here.wake_at {
            here.wake_at = at;
            self.schedule_transmit(at, port, PacketId::ANY);
        }
    }

    /// A packet has arrived at its NIC.
    #[inline(never)]
    pub(crate) fn receive(&mut self, port: PortId, index: PacketId) {
        let nic = self.net.ports[port].plane();
        let host = &self.hosts.nics[nic];
        let packet = self.net.packets.get(index);
        if PlaneId::first_of(packet.dst) != nic || host.receiver.is_some() || host.hosts_guests {
            return self.receive_carefully(nic, port, index);
        }
        self.deliver(nic, index);
    }

    /// A packet has arrived at a NIC whose host is slow, by its second port, or where it is not wanted;
    /// or it has not arrived.
    #[cold]
    fn receive_carefully(&mut self, nic: PlaneId, port: PortId, index: PacketId) {
        let packet = *self.net.packets.get(index);
        if packet.flags & flag::LOST != 0 {
            let slot = Slot::new(port, self.class_at(nic, packet.dscp));
            self.lose_arrived(slot, index);
        } else if packet.dst != self.hosts.planes.home(nic) {
            let slot = Slot::new(port, self.class_at(nic, packet.dscp));
            self.drop_packet(index, slot, Drop::NotMine);
        } else if self.hosts.nics[nic].hosts_guests && self.waits_for_host(nic, port, index) {
            // It comes again.
        } else if self.take_into_host(nic, index) {
            self.deliver(nic, index);
        }
    }

    /// Hands a packet to its queue pair.
    #[inline(always)]
    fn deliver(&mut self, nic: PlaneId, index: PacketId) {
        let packet = self.net.packets.get(index);
        let (endpoint, flags) = (packet.to, packet.flags);
        self.accounts.totals.delivered += 1;
        self.accounts.totals.delivered_bytes += u64::from(packet.size);
        let header = self.net.headers.get(index);
        let connection = &mut self.hosts.connections[endpoint.connection()];
        // The endpoint's place may have been given to another flow while the packet was under way.
        if connection.flow != header.flow {
            self.accounts.totals.late += 1;
            return self.net.packets.release(index);
        }
        let operation = header.transport.opcode.operation();
        self.accounts.totals.cnps += u64::from(operation == Opcode::Cnp);
        let answers = operation == Opcode::Acknowledge;
        let int = if answers && self.hosts.nics[nic].returns {
            let recycler = connection.ends[endpoint.end()].recycler();
            if let (Some(recycler), Some(returned)) = (recycler, self.net.headers.returned(index)) {
                recycler.hear(returned.0, feedback(&header.transport, returned.1));
            }
            self.net.headers.collected(index)
        } else {
            None
        };
        let sent_at = answers.then_some(header.sent_at);
        let trimmed = flags & flag::TRIMMED != 0;
        let ce = flags & flag::CE != 0;
        let cnp_withheld = ce && {
            let sender = connection.ends[endpoint.peer().end()].member.plane;
            let host = &mut self.hosts.nics[nic];
            host.cnps.withholds(self.now, sender, &host.qp)
        };
        let signals = Signals { ce, trimmed, cnp_withheld, sent_at, int };
        let qp = &mut connection.ends[endpoint.end()].qp;
        qp.handle(self.now, &header.transport, signals);
        self.send_control(endpoint, Some(index));
        self.net.packets.release(index);
        if matches!(operation, Opcode::Write | Opcode::Send) {
            // Data does not change what its receiver has to send, answers apart. Only a mark can move the
            // deadline: its CNP may have to wait for the CNP interval.
            if flags & flag::CE != 0 {
                self.update_deadline(endpoint);
            }
            if self.hosts.connections[endpoint.connection()].carried.is_some() {
                self.transfers_arrive(endpoint);
            }
        } else if !self.finish_if_done(endpoint) {
            self.after_input(endpoint);
        }
    }

    /// The class that a NIC puts packets of this DSCP into: that of its own packets with it, or else the fabric's.
    pub(crate) fn class_at(&self, nic: PlaneId, dscp: u8) -> ClassId {
        let own = &self.fabric.nics[self.hosts.planes.home(nic).index()].dscp;
        let found = own.iter().position(|&written| written == dscp);
        found.map_or_else(|| self.class_of(dscp), |class| ClassId(class as u8))
    }

    /// The class that packets of this DSCP are meant to be in.
    pub(crate) fn class_of(&self, dscp: u8) -> ClassId {
        let found = self.fabric.classes.iter().position(|class| class.dscp == dscp);
        ClassId(found.unwrap_or(0) as u8)
    }

    /// The guest of a mark.
    pub(crate) fn guest(&self, mark: u8) -> Option<&GuestState> {
        self.hosts.guests.get(usize::from(mark).checked_sub(1)?)
    }

    /// A packet of a guest waits for its host, if it has not yet. Whether it does.
    #[cold]
    pub(crate) fn waits_for_host(&mut self, nic: PlaneId, port: PortId, index: PacketId) -> bool {
        let packet = self.net.packets.get(index);
        let (to, hops) = (packet.to, packet.hops);
        let mark = self.hosts.connections.get(to.connection()).map_or(0, |at| at.guest);
        let Some(guest) = self.guest(mark) else { return false };
        let home = self.hosts.planes.home(nic);
        let extra = guest.latency.saturating_sub(self.fabric.nics[home.index()].latency);
        if hops == AT_HOST || extra.is_zero() {
            return false;
        }
        self.net.packets.get_mut(index).hops = AT_HOST;
        self.schedule(self.now + extra, Kind::Deliver, port, index);
        true
    }
}
