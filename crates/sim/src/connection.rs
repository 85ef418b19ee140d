//! Flows and the pairs of queue pairs that carry them.
//!
//! A flow gets a [`Connection`] when it starts and gives it back when it ends; packets that are
//! still under way then find no connection and are counted as late.

pub(crate) mod state;

use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::host::recycle::Recycler;
use crate::id::{ConnectionId, EndpointId, FlowId, PacketId, PlaneId, Slot};
use crate::job::carried::Carried;
use crate::nic::state::Member;
use crate::report::{Failure, FlowCounters, TraceKind};
use crate::switch::packet::{Packet, flag};
use crate::switch::trail::Stamp;
use state::{Connection, End, Forms, LONGEST_MESSAGE, Way};
use xoff_fabric::model::ClassId;
use xoff_fabric::scenario::Operation;
use xoff_transport::config::Notification;
use xoff_transport::{PathInfo, QueuePair, Status, Verb, WorkRequest};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{Extension, Header, Opcode, Psn, Qpn, Rkey, Service};

impl<Q: EventQueue> Engine<'_, Q> {
    /// Starts a flow.
    pub(crate) fn open(&mut self, flow: FlowId) {
        if self.is_fluid() {
            return self.open_fluid(flow);
        }
        let state = self.hosts.flows.get_mut(flow);
        let way = Way {
            flow,
            nics: [state.source, state.destination],
            entropy: state.entropy,
            class: state.class,
            pinned: state.pins.is_some(),
            turn: None,
            base_rtt: state.base_rtt,
            vxlan: state.vxlan,
            guest: state.guest,
        };
        let (bytes, operation) = (state.bytes, state.operation);
        let messages = bytes.get().div_ceil(LONGEST_MESSAGE).max(1);
        let slot = self.connect(&way, messages, None);
        self.hosts.flows.get_mut(flow).connection = slot;
        let verb = match operation {
            Operation::Write => Verb::Write,
            Operation::Send => Verb::Send,
            Operation::Read => Verb::Read,
        };
        let initiator = slot.end(0);
        let now = self.now;
        let mut left = bytes.get();
        for id in 0..messages {
            let length = Bytes::new(left.min(LONGEST_MESSAGE));
            left -= length.get();
            let work = WorkRequest { id, operation: verb, length, address: 0, rkey: Rkey(0) };
            let posted = self.end_mut(initiator).qp.post(now, work);
            debug_assert!(posted.is_ok(), "a message of legal size was refused");
        }
        self.after_input(initiator);
    }

    /// Makes a pair of queue pairs.
    pub(crate) fn connect(
        &mut self,
        way: &Way,
        messages: u64,
        carried: Option<Box<Carried>>,
    ) -> ConnectionId {
        let slot = self.hosts.connections.next_id();
        let ends = [0usize, 1].map(|end| {
            let plane = self.plane_of(way, end);
            let nic = &self.hosts.nics[plane];
            let (local, peer) = (slot.end(end), slot.end(1 - end));
            let guest = self.guest(way.guest);
            let line_rate = guest.map_or(nic.flow_rate, |guest| guest.flow_rate.min(nic.rate));
            let path = PathInfo { line_rate, base_rtt: way.base_rtt };
            let config = guest.map_or(nic.qp_of(way.vxlan), |guest| guest.qp_of(way.vxlan)).clone();
            let qp = QueuePair::new(config, Qpn::new(local.0), Qpn::new(peer.0), path);
            let member = Member::new(plane, way.class);
            let entity = u64::from(way.flow.0) << 1 | end as u64;
            let stamp = self.net.trails.begin(peer);
            let mut forms = self.forms(way, end, plane, peer, stamp);
            let recycles = self.hosts.recycling.filter(|_| !way.pinned && way.guest == 0);
            let recycler = |(rule, seed)| Box::new(Recycler::new(rule, seed, entity));
            forms.recycler = recycles.map(recycler);
            End { qp, forms, member, timer_at: Instant::MAX }
        });
        let guest = way.guest;
        let connection = Connection { flow: way.flow, guest, messages, carried, ends };
        self.hosts.connections.add(connection);
        for end in 0..2 {
            self.join(slot.end(end));
        }
        slot
    }

    /// Routes have changed: packets that are sent from now on leave other trails than those under way, which follow none any
    /// more; nor do those whose flow has ended.
    pub(crate) fn begin_trails_anew(&mut self) {
        self.net.trails.forget();
        for slot in self.hosts.connections.ids() {
            (0..2).for_each(|end| self.begin_trail_anew(slot.end(end)));
        }
    }

    /// The same for packets of one endpoint, which takes another way from now on.
    pub(crate) fn begin_trail_anew(&mut self, endpoint: EndpointId) {
        let stamp = self.net.trails.begin(endpoint.peer());
        self.end_mut(endpoint).forms.set_stamp(stamp);
    }

    #[inline(always)]
    pub(crate) fn end_mut(&mut self, endpoint: EndpointId) -> &mut End {
        &mut self.hosts.connections[endpoint.connection()].ends[endpoint.end()]
    }

    /// Something happened to an endpoint: its answers go out, its turn and its deadline are set.
    #[inline(always)]
    pub(crate) fn after_input(&mut self, endpoint: EndpointId) {
        self.update_member(endpoint);
        self.update_deadline(endpoint);
    }

    /// Sees to it that an endpoint wakes up at its deadline.
    #[inline(always)]
    pub(crate) fn update_deadline(&mut self, endpoint: EndpointId) {
        let end = &mut self.hosts.connections[endpoint.connection()].ends[endpoint.end()];
        let deadline = end.qp.deadline();
        if deadline < end.timer_at {
            let at = deadline.max(self.now);
            end.timer_at = at;
            self.schedule(at, Kind::Deadline, endpoint, 0);
        }
    }

    /// A deadline event: act on it, or wait on if it has moved.
    pub(crate) fn endpoint_deadline(&mut self, endpoint: EndpointId) {
        let now = self.now;
        let Some(connection) = self.hosts.connections.get(endpoint.connection()) else { return };
        let flow = connection.flow;
        if flow == FlowId::NONE {
            return;
        }
        let end = self.end_mut(endpoint);
        if end.timer_at != now {
            return;
        }
        end.timer_at = Instant::MAX;
        // The deadline may have moved later since the event was scheduled: then this only arms it again.
        if end.qp.deadline() <= now {
            let before = end.qp.counters().timeouts;
            end.qp.handle_deadline(now);
            if end.qp.counters().timeouts > before {
                let member = end.member;
                let port = self.hosts.nics[member.plane].port;
                let slot = Slot::new(port, member.class);
                self.trace_packet(TraceKind::Timeout, slot, Some(flow), 0);
            }
            self.send_control(endpoint, None);
            if self.finish_if_done(endpoint) {
                return;
            }
        }
        self.after_input(endpoint);
    }

    /// Queues the acknowledgements and notifications an endpoint has made. `answered` is the packet
    /// they answer, whose time stamp and telemetry travel back with them.
    #[inline(always)]
    pub(crate) fn send_control(&mut self, endpoint: EndpointId, answered: Option<PacketId>) {
        let now = self.now;
        while let Some(header) = self.end_mut(endpoint).qp.poll_control(now) {
            self.queue_control(endpoint, header, answered);
        }
    }

    fn queue_control(&mut self, endpoint: EndpointId, header: Header, answered: Option<PacketId>) {
        let sent_at = answered.map_or(self.now, |answered| self.net.headers.get(answered).sent_at);
        let forms = &self.end_mut(endpoint).forms;
        let (mut packet, mut slot) = (forms.ack, forms.ack_slot);
        let packet_header = forms.header(header, sent_at);
        if header.opcode == Opcode::Cnp {
            (packet, slot) = self.notification(endpoint, packet, &header);
        }
        let index = self.net.packets.add(&packet);
        self.net.headers.write(index, packet_header, packet.size);
        if let Some(answered) = answered
            && header.opcode != Opcode::Cnp
        {
            self.net.headers.return_collected(answered, index);
        }
        self.enqueue(slot, index, packet.size);
    }

    /// The congestion notification that an endpoint would send, and where it would wait.
    pub(crate) fn notification_of(&self, endpoint: EndpointId, header: &Header) -> (Packet, Slot) {
        let end = &self.hosts.connections[endpoint.connection()].ends[endpoint.end()];
        self.notification(endpoint, end.forms.ack, header)
    }

    /// A congestion notification is like an acknowledgement, in a class of its own.
    #[inline(never)]
    fn notification(&self, endpoint: EndpointId, like: Packet, header: &Header) -> (Packet, Slot) {
        let end = &self.hosts.connections[endpoint.connection()].ends[endpoint.end()];
        let member = &end.member;
        let nic = &self.hosts.nics[member.plane];
        let class = self.fabric.cnp_class.unwrap_or(member.class);
        let size = end.qp.wire_len(header) as u16;
        let from = self.hosts.planes.home(member.plane);
        let dscp = self.fabric.nics[from.index()].dscp[class.index()];
        (Packet { size, dscp, ..like }, Slot::new(nic.port, class))
    }

    /// What the packets of one end of a flow have in common.
    fn forms(&self, way: &Way, end: usize, plane: PlaneId, to: EndpointId, stamp: Stamp) -> Forms {
        let (nic, dst) = (&self.hosts.nics[plane], way.nics[1 - end]);
        let mut flags = if end == 1 { flag::TO_INITIATOR } else { 0 };
        if way.pinned {
            flags |= flag::PINNED;
        }
        let header = |opcode, payload, extension| Header {
            service: Service::Reliable,
            opcode,
            ack_request: false,
            becn: false,
            dest_qp: Qpn::new(0),
            psn: Psn::new(0),
            extension,
            payload,
        };
        let guest = self.guest(way.guest);
        let qp = guest.map_or(nic.qp_of(way.vxlan), |guest| guest.qp_of(way.vxlan));
        let mtu = qp.mtu.get() as u32;
        let packet = |class: ClassId, header: &Header, more: u8| Packet {
            dst,
            stamp,
            entropy: way.entropy[end],
            next: PacketId::NONE,
            to,
            ingress: Slot::NONE,
            size: qp.framing.wire_len(header, qp.mtu) as u16,
            charged: 0,
            dscp: self.fabric.nics[way.nics[end].index()].dscp[class.index()],
            flags: flags | more,
            hops: 0,
        };
        let full = header(Opcode::WriteMiddle, mtu, Extension::None);
        let ack = header(Opcode::Acknowledge, 0, Extension::None);
        // Acknowledgements of guests stay with their data: a class of their own is for the fabric's transport.
        let ack_class = self.fabric.ack_class.filter(|_| guest.is_none());
        let ack_class = ack_class.unwrap_or(way.class);
        let int = if nic.collects && guest.is_none() { flag::INT } else { 0 };
        let marks = if qp.congestion.takes_marks() { flag::ECT } else { 0 };
        let echo = if qp.notification == Notification::EchoInAck { marks } else { 0 };
        Forms {
            ack: packet(ack_class, &ack, echo),
            ack_slot: Slot::new(nic.port, ack_class),
            recycler: None,
            data: packet(way.class, &full, marks | int),
            mtu: if self.hosts.recycling.is_some() { u32::MAX } else { mtu },
            flow: way.flow,
        }
    }

    /// Ends the flow if its initiator has completed all of it; whether it did.
    #[inline(always)]
    pub(crate) fn finish_if_done(&mut self, endpoint: EndpointId) -> bool {
        let connection = &mut self.hosts.connections[endpoint.connection()];
        if connection.carried.is_some() {
            return self.post_backlog(endpoint);
        }
        if endpoint.end() != 0 {
            return false;
        }
        let mut failed = None;
        while let Some(completion) = connection.ends[0].qp.poll_completion() {
            if completion.status != Status::Ok {
                failed = failed.or(Some(completion.status));
            }
            connection.messages -= 1;
        }
        let done = connection.messages == 0 || failed.is_some();
        if done {
            let failure = failed.map(|status| self.failure(endpoint, status));
            self.finish(endpoint, failure);
        }
        done
    }

    /// A queue pair failed: what the run says of it.
    #[cold]
    pub(crate) fn failure(&mut self, endpoint: EndpointId, status: Status) -> Failure {
        let (slot, end) = (endpoint.connection(), endpoint.end());
        let connection = &self.hosts.connections[slot];
        let (own, peer) = (&connection.ends[end].member, &connection.ends[1 - end].member);
        let nic = &self.hosts.nics[own.plane];
        let failure = Failure {
            at: self.now,
            status,
            from: self.hosts.planes.home(own.plane),
            to: self.hosts.planes.home(peer.plane),
            queue_pair: endpoint.0,
            after: match status {
                Status::RetryExceeded => nic.qp.silence_limit().unwrap_or(Span::ZERO),
                _ => Span::ZERO,
            },
        };
        let (slot, flow) = (Slot::new(nic.port, own.class), connection.flow);
        self.accounts.health[slot.port()].failures += 1;
        self.trace_packet(TraceKind::QueuePairError, slot, Some(flow), 0);
        failure
    }

    /// Takes both ends of a connection from their NICs; packets under way to it are late from now on.
    pub(crate) fn detach(&mut self, slot: ConnectionId) {
        for end in 0..2 {
            self.leave(slot.end(end));
        }
        self.hosts.connections[slot].flow = FlowId::NONE;
    }

    /// Closes a connection and adds what it counted. Its place is given to the next one, and packets that are
    /// under way are late.
    pub(crate) fn disconnect(
        &mut self,
        slot: ConnectionId,
        mut counters: FlowCounters,
    ) -> FlowCounters {
        self.detach(slot);
        self.count_at_nics(slot);
        let connection = &mut self.hosts.connections[slot];
        connection.ends.iter().for_each(|end| counters.add(&end.qp));
        connection.carried = None;
        self.hosts.connections.free(slot);
        counters
    }

    /// Adds what the two ends of a connection counted to their NICs' ports.
    fn count_at_nics(&mut self, slot: ConnectionId) {
        for end in &self.hosts.connections[slot].ends {
            self.accounts.health[self.hosts.nics[end.member.plane].port].add(&end.qp);
        }
    }

    fn finish(&mut self, endpoint: EndpointId, failure: Option<Failure>) {
        let slot = endpoint.connection();
        let number = self.hosts.connections[slot].flow;
        let counters = self.disconnect(slot, FlowCounters::default());
        let now = self.now;
        let flow = self.hosts.flows.get_mut(number);
        flow.connection = ConnectionId::NONE;
        flow.counters = counters;
        flow.failure = failure;
        if failure.is_none() {
            flow.end = now;
            assert!(
                now - flow.start >= flow.floor,
                "flow {} took {} where physics needs {}",
                number.0,
                now - flow.start,
                flow.floor
            );
        }
        self.finish_one();
    }
}
