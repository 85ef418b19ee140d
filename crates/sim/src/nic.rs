//! NICs: many queue pairs, one wire.
//!
//! An endpoint that may send at once is *ready*; one that must wait for its pace sits in a heap
//! until its time. Ready endpoints of a class take turns in the order of their places. Control
//! packets (acknowledgements, notifications) wait in the port's own queues and go before data of
//! the same class. A NIC with several ports is several of these: see [`crate::plane`].

use crate::cnp_limit::CnpLimits;
use crate::connection::End;
use crate::engine::Engine;
use crate::event::{Event, EventQueue, Key, Kind};
use crate::id::{EndpointId, FlowId, PacketId, PlaneId};
use crate::packet::flag;
use crate::port::{Port, Slot};
use crate::receiver::Receiver;
use crate::recycle::Feedback;
use crate::report::Drop;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use xoff_fabric::model::PortId;
use xoff_transport::Signals;
use xoff_transport::config::QpConfig;
use xoff_units::{ByteTime, Instant, Rate};
use xoff_wire::{Aeth, Extension, Header, Operation as Opcode, Syndrome};

/// An endpoint as its NIC sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// The NIC, or which of its ports (see [`crate::plane`]).
    pub(crate) plane: PlaneId,
    pub(crate) class: u8,
    /// Place in its class's turn-taking.
    place: u32,
    /// When it stands in the pacing heap; never if it does not.
    paced_at: Instant,
}

impl Member {
    pub(crate) fn new(plane: PlaneId, class: u8) -> Self {
        Self { plane, class, place: 0, paced_at: Instant::MAX }
    }
}

/// The endpoints of one class at one NIC. What every packet reads comes first: a NIC with few endpoints
/// never looks at the lists.
#[derive(Debug)]
#[repr(C)]
struct Group {
    /// One bit per place whose endpoint is ready: the first 64 places,
    ready: u64,
    ready_count: u32,
    /// The place that was served last, and the endpoint there.
    cursor: u32,
    served: EndpointId,
    /// and the others.
    more_ready: Vec<u64>,
    /// Endpoint at each place.
    places: Vec<EndpointId>,
    vacant: Vec<u32>,
}

impl Group {
    const fn new() -> Self {
        Self {
            ready: 0,
            ready_count: 0,
            cursor: 0,
            served: EndpointId(0),
            more_ready: Vec::new(),
            places: Vec::new(),
            vacant: Vec::new(),
        }
    }

    fn join(&mut self, endpoint: EndpointId) -> u32 {
        let place = self.vacant.pop().unwrap_or(self.places.len() as u32);
        match self.places.get_mut(place as usize) {
            Some(known) => *known = endpoint,
            None => self.places.push(endpoint),
        }
        if place as usize / 64 > self.more_ready.len() {
            self.more_ready.push(0);
        }
        if place == self.cursor {
            self.served = endpoint;
        }
        place
    }

    fn leave(&mut self, place: u32) {
        self.set_ready(place, false);
        self.vacant.push(place);
    }

    #[inline(always)]
    fn set_ready(&mut self, place: u32, ready: bool) {
        let word = match (place as usize / 64).checked_sub(1) {
            None => &mut self.ready,
            Some(more) => &mut self.more_ready[more],
        };
        let bit = 1u64 << (place % 64);
        let was = *word & bit != 0;
        if ready != was {
            *word ^= bit;
            self.ready_count = self.ready_count.wrapping_add(if ready { 1 } else { u32::MAX });
        }
    }

    /// The next ready endpoint after the one served last.
    #[inline(always)]
    fn next(&mut self) -> Option<EndpointId> {
        if self.ready_count == 0 {
            return None;
        }
        let place = if self.more_ready.is_empty() {
            let start = self.cursor.wrapping_add(1);
            start.wrapping_add(self.ready.rotate_right(start).trailing_zeros()) % 64
        } else {
            self.next_of_many()
        };
        if place != self.cursor {
            self.cursor = place;
            self.served = self.places[place as usize];
        }
        Some(self.served)
    }

    /// The place of the next ready endpoint, which there is, among more than 64.
    #[inline(never)]
    fn next_of_many(&self) -> u32 {
        let words = self.more_ready.len() + 1;
        let ready = |word: usize| match word.checked_sub(1) {
            None => self.ready,
            Some(more) => self.more_ready[more],
        };
        let start = (self.cursor + 1) as usize % (words * 64);
        let mut word = start / 64;
        let mut bits = ready(word) & (u64::MAX << (start % 64));
        while bits == 0 {
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = ready(word);
        }
        word as u32 * 64 + bits.trailing_zeros()
    }
}

/// A NIC, or one port of a NIC with several. What every packet reads comes first.
#[repr(C)]
pub(crate) struct NicState {
    /// When the next paced endpoint's time comes, and which it is.
    next_paced: Instant,
    paced: EndpointId,
    /// The endpoint that sent data last, and is likely to do so next.
    pub(crate) last: EndpointId,
    pub(crate) port: PortId,
    /// Classes with a ready endpoint.
    pub(crate) ready: u8,
    /// Its packets collect telemetry for HPCC.
    pub(crate) collects: bool,
    /// Acknowledgements bring back telemetry or entropies.
    pub(crate) returns: bool,
    /// Marks travel back in acknowledgements, which can be marked themselves.
    pub(crate) echo_marks: bool,
    /// Some of its traffic has a transport of its own.
    pub(crate) hosts_guests: bool,
    /// Its host, where that may be slower than the wire.
    pub(crate) receiver: Option<Box<Receiver>>,
    groups: [Group; 8],
    pub(crate) mtu: u32,
    pub(crate) rate: Rate,
    /// No flow is faster: the port's rate, or less where cores serve flows.
    pub(crate) flow_rate: Rate,
    pub(crate) qp: Arc<QpConfig>,
    /// Paced endpoints that come after it.
    pace: BinaryHeap<Reverse<(Instant, EndpointId)>>,
    /// Limiters of congestion notifications that its queue pairs share.
    cnps: CnpLimits,
    /// Storms under way: pauses without end, by class.
    pub(crate) storms: [u32; 8],
    /// How queue pairs behave whose packets travel in VXLAN.
    in_vxlan: Arc<QpConfig>,
    /// Time in which a byte comes out of the host's memory, where that is longer than on the wire.
    pub(crate) fetch: Option<ByteTime>,
}

impl NicState {
    pub(crate) fn new(
        port: PortId,
        rate: Rate,
        qp: Arc<QpConfig>,
        in_vxlan: Arc<QpConfig>,
    ) -> Self {
        use xoff_transport::config::{Congestion, Notification};
        Self {
            next_paced: Instant::MAX,
            paced: EndpointId(0),
            last: EndpointId::NONE,
            port,
            rate,
            flow_rate: rate,
            mtu: qp.mtu.get() as u32,
            collects: matches!(qp.congestion, Congestion::Hpcc(_)),
            returns: matches!(qp.congestion, Congestion::Hpcc(_)),
            echo_marks: qp.notification == Notification::EchoInAck,
            cnps: CnpLimits::new(qp.cnp_scope),
            qp,
            ready: 0,
            groups: std::array::from_fn(|_| Group::new()),
            pace: BinaryHeap::new(),
            receiver: None,
            hosts_guests: false,
            storms: [0; 8],
            in_vxlan,
            fetch: None,
        }
    }

    /// How its queue pairs behave.
    pub(crate) fn qp_of(&self, vxlan: bool) -> &Arc<QpConfig> {
        if vxlan { &self.in_vxlan } else { &self.qp }
    }

    #[inline(always)]
    fn set_ready(&mut self, class: u8, place: u32, ready: bool) {
        let group = &mut self.groups[usize::from(class)];
        group.set_ready(place, ready);
        if group.ready_count > 0 {
            self.ready |= 1 << class;
        } else {
            self.ready &= !(1 << class);
        }
    }

    /// Classes that a storm pauses.
    pub(crate) fn storm_classes(&self) -> u8 {
        let storming = self.storms.iter().enumerate().filter(|(_, storms)| **storms > 0);
        storming.fold(0, |classes, (class, _)| classes | 1 << class)
    }

    /// Puts an endpoint among the ready or the paced ones; when it can send next. Nobody sends
    /// before the wire is free: who may send by then need not stand in the heap.
    #[inline(always)]
    fn place(&mut self, endpoint: EndpointId, end: &mut End, free: Instant) -> Instant {
        let at = end.qp.next_send();
        let member = &mut end.member;
        let ready = at <= free;
        self.set_ready(member.class, member.place, ready);
        if !ready && at < member.paced_at {
            member.paced_at = at;
            self.pace(at, endpoint);
        }
        at
    }

    /// An endpoint whose time has come by `now`, and when it was.
    fn take_paced(&mut self, now: Instant) -> Option<(Instant, EndpointId)> {
        let first = (self.next_paced, self.paced);
        if first.0 > now || first.0.is_never() {
            return None;
        }
        let next = self.pace.pop();
        (self.next_paced, self.paced) =
            next.map_or((Instant::MAX, EndpointId(0)), |Reverse(next)| next);
        Some(first)
    }

    /// An endpoint's time comes at `at`. Mostly it is the only one, and needs no heap.
    #[inline(always)]
    fn pace(&mut self, at: Instant, endpoint: EndpointId) {
        let mut later = (at, endpoint);
        if later < (self.next_paced, self.paced) {
            std::mem::swap(&mut self.next_paced, &mut later.0);
            std::mem::swap(&mut self.paced, &mut later.1);
        }
        if !later.0.is_never() {
            self.pace.push(Reverse(later));
        }
    }

    /// When its port, which is `here`, can send next; never if nothing waits.
    #[inline(always)]
    fn next_transmit(&self, here: &Port, now: Instant) -> Instant {
        let waiting = (here.waiting | self.ready) & !here.paused;
        if waiting | here.to_tell() != 0 {
            here.busy_until.max(now)
        } else if self.next_paced.is_never() {
            Instant::MAX
        } else {
            self.next_paced.max(here.busy_until).max(now)
        }
    }
}

/// What an answer says of the path of the packet that it answers.
#[cold]
fn feedback(answer: &Header, marked: bool) -> Feedback {
    match answer.extension {
        Extension::Aeth(Aeth { syndrome: Syndrome::Trimmed, .. }) => Feedback::Trimmed,
        _ if marked => Feedback::Marked,
        _ => Feedback::Good,
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Gives an endpoint its place at its NIC.
    pub(crate) fn join(&mut self, endpoint: EndpointId) {
        let member = self.end_mut(endpoint).member;
        let group = &mut self.nics[member.plane].groups[usize::from(member.class)];
        let place = group.join(endpoint);
        self.end_mut(endpoint).member.place = place;
    }

    /// Takes it back.
    pub(crate) fn leave(&mut self, endpoint: EndpointId) {
        let member = self.end_mut(endpoint).member;
        let nic = &mut self.nics[member.plane];
        nic.set_ready(member.class, member.place, false);
        nic.groups[usize::from(member.class)].leave(member.place);
    }

    /// Sets an endpoint's turn by when it can send next, and wakes its port if that is sooner.
    #[inline(always)]
    pub(crate) fn update_member(&mut self, endpoint: EndpointId) {
        let end = &mut self.connections[endpoint.connection()].ends[endpoint.end()];
        let nic = &mut self.nics[end.member.plane];
        let port = nic.port;
        let here = &mut self.ports[port];
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
        let nic_state = &mut self.nics[nic];
        let free = self.now.max(self.ports[nic_state.port].busy_until);
        while nic_state.next_paced <= self.now
            && let Some((at, endpoint)) = nic_state.take_paced(self.now)
        {
            let connection = &mut self.connections[endpoint.connection()];
            let ended = connection.flow == FlowId::NONE;
            let end = &mut connection.ends[endpoint.end()];
            // The flow may have ended, and its connection may serve another one elsewhere.
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
        let nic = self.ports[port].plane();
        if self.nics[nic].next_paced <= self.now {
            self.release_paced(nic);
        }
        let here = &self.ports[port];
        let waiting = here.waiting;
        let eligible = (waiting | self.nics[nic].ready) & !here.paused;
        if eligible == 0 {
            return self.schedule_next_nic(port);
        }
        let class = if eligible & (eligible - 1) == 0 {
            eligible.trailing_zeros() as u8
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
        let here = &mut self.ports[slot.port()];
        let queue = &mut here.lane(slot.class()).queue;
        let (index, packet) = queue.pop(&mut self.packets);
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
        let host = &mut self.nics[nic];
        let Some(endpoint) = host.groups[usize::from(slot.class())].next() else { return };
        host.last = endpoint;
        let end = &mut self.connections[endpoint.connection()].ends[endpoint.end()];
        let header = end.qp.poll_transmit(now);
        let deadline = end.qp.deadline();
        if deadline < end.timer_at {
            let at = deadline.max(now);
            end.timer_at = at;
            self.events.push(Event { at, key: Key::new(Kind::Deadline, endpoint.0), data: 0 });
        }
        if let Some(header) = header {
            let (index, size) = end.packet(header, now, &mut self.packets, &mut self.headers);
            self.launch(slot, index, size.into());
        }
        let host = &mut self.nics[nic];
        let end = &mut self.connections[endpoint.connection()].ends[endpoint.end()];
        let here = &mut self.ports[slot.port()];
        host.place(endpoint, end, now.max(here.busy_until));
        self.schedule_next_nic(slot.port());
    }

    /// Sees to it that the NIC's port wakes up when it can send again.
    #[inline(always)]
    pub(crate) fn schedule_next_nic(&mut self, port: PortId) {
        let here = &mut self.ports[port];
        let at = self.nics[here.plane()].next_transmit(here, self.now);
        if at < here.wake_at {
            here.wake_at = at;
            self.schedule_transmit(at, port, PacketId::ANY);
        }
    }

    /// A packet has arrived at its NIC.
    #[inline(never)]
    pub(crate) fn receive(&mut self, port: PortId, index: PacketId) {
        let nic = self.ports[port].plane();
        let host = &self.nics[nic];
        let packet = self.packets.get(index);
        if PlaneId::first_of(packet.dst) != nic || host.receiver.is_some() || host.hosts_guests {
            return self.receive_carefully(nic, port, index);
        }
        self.deliver(nic, index);
    }

    /// A packet has arrived at a NIC whose host is slow, by its second port, or where it is not wanted;
    /// or it has not arrived.
    #[cold]
    fn receive_carefully(&mut self, nic: PlaneId, port: PortId, index: PacketId) {
        let packet = *self.packets.get(index);
        if packet.flags & flag::LOST != 0 {
            let slot = Slot::new(port, self.class_of(packet.dscp));
            self.lose_arrived(slot, index);
        } else if packet.dst != self.planes.home(nic) {
            let slot = Slot::new(port, self.class_of(packet.dscp));
            self.drop_packet(index, slot, Drop::NotMine);
        } else if self.nics[nic].hosts_guests && self.waits_for_host(nic, port, index) {
            // It comes again.
        } else if self.take_into_host(nic, index) {
            self.deliver(nic, index);
        }
    }

    /// Hands a packet to its queue pair.
    #[inline(always)]
    fn deliver(&mut self, nic: PlaneId, index: PacketId) {
        let packet = self.packets.get(index);
        let (endpoint, flags) = (packet.to, packet.flags);
        self.totals.delivered += 1;
        self.totals.delivered_bytes += u64::from(packet.size);
        let header = self.headers.get(index);
        let connection = &mut self.connections[endpoint.connection()];
        if connection.flow != header.flow {
            self.totals.late += 1;
            return self.packets.release(index);
        }
        let operation = header.transport.opcode.operation();
        self.totals.cnps += u64::from(operation == Opcode::Cnp);
        let answers = operation == Opcode::Acknowledge;
        let int = if answers && self.nics[nic].returns {
            let recycler = connection.ends[endpoint.end()].recycler();
            if let (Some(recycler), Some(returned)) = (recycler, self.headers.returned(index)) {
                recycler.hear(returned.0, feedback(&header.transport, returned.1));
            }
            self.headers.collected(index)
        } else {
            None
        };
        let sent_at = answers.then_some(header.sent_at);
        let trimmed = flags & flag::TRIMMED != 0;
        let ce = flags & flag::CE != 0;
        let cnp_withheld = ce && {
            let sender = connection.ends[endpoint.peer().end()].member.plane;
            let host = &mut self.nics[nic];
            host.cnps.withholds(self.now, sender, &host.qp)
        };
        let signals = Signals { ce, trimmed, cnp_withheld, sent_at, int };
        let qp = &mut connection.ends[endpoint.end()].qp;
        qp.handle(self.now, &header.transport, signals);
        self.send_control(endpoint, Some(index));
        self.packets.release(index);
        if matches!(operation, Opcode::Write | Opcode::Send) {
            // Data does not change what its receiver has to send, answers apart; and only a mark, which
            // may have to wait for its turn to be told, changes when it has to be woken.
            if flags & flag::CE != 0 {
                self.update_deadline(endpoint);
            }
            if self.connections[endpoint.connection()].carried.is_some() {
                self.transfers_arrive(endpoint);
            }
        } else if !self.finish_if_done(endpoint) {
            self.after_input(endpoint);
        }
    }

    /// The class NICs put packets of this DSCP into.
    pub(crate) fn class_of(&self, dscp: u8) -> u8 {
        let found = self.fabric.classes.iter().position(|class| class.dscp == dscp);
        found.unwrap_or(0) as u8
    }
}
