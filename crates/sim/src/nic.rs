//! NICs: many queue pairs, one wire.
//!
//! An endpoint that may send at once is *ready*; one that must wait for its pace sits in a heap
//! until its time. Ready endpoints of a class take turns in the order of their places. Control
//! packets (acknowledgements, notifications) wait in the port's own queues and go before data of
//! the same class.

use crate::connection::{NO_CONNECTION, endpoint};
use crate::engine::Engine;
use crate::event::{EventQueue, Kind};
use crate::packet::flag;
use crate::port::Slot;
use crate::receiver::Receiver;
use crate::report::Drop;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use xoff_transport::Signals;
use xoff_transport::config::QpConfig;
use xoff_units::{Instant, Rate};
use xoff_wire::Operation as Opcode;

/// An endpoint as its NIC sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    pub(crate) nic: u32,
    pub(crate) class: u8,
    /// Place in its class's turn-taking.
    place: u32,
    /// When it stands in the pacing heap; never if it does not.
    paced_at: Instant,
}

impl Member {
    pub(crate) fn new(nic: u32, class: u8) -> Self {
        Self { nic, class, place: 0, paced_at: Instant::MAX }
    }
}

/// The endpoints of one class at one NIC.
#[derive(Debug, Default)]
struct Group {
    /// Endpoint at each place.
    places: Vec<u32>,
    vacant: Vec<u32>,
    /// One bit per place whose endpoint is ready.
    ready: Vec<u64>,
    ready_count: u32,
    /// The place that was served last.
    cursor: u32,
}

impl Group {
    fn join(&mut self, endpoint: u32) -> u32 {
        if let Some(place) = self.vacant.pop() {
            self.places[place as usize] = endpoint;
            return place;
        }
        let place = self.places.len() as u32;
        self.places.push(endpoint);
        if place as usize / 64 >= self.ready.len() {
            self.ready.push(0);
        }
        // The first turn is the first place's.
        self.cursor = if place == 0 { 0 } else { self.cursor };
        place
    }

    fn leave(&mut self, place: u32) {
        self.set_ready(place, false);
        self.vacant.push(place);
    }

    #[inline(always)]
    fn set_ready(&mut self, place: u32, ready: bool) {
        let (word, bit) = (&mut self.ready[place as usize / 64], 1u64 << (place % 64));
        let was = *word & bit != 0;
        if ready && !was {
            *word |= bit;
            self.ready_count += 1;
        } else if !ready && was {
            *word &= !bit;
            self.ready_count -= 1;
        }
    }

    /// The next ready endpoint after the one served last.
    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        if self.ready_count == 0 {
            return None;
        }
        let words = self.ready.len();
        let start = (self.cursor + 1) as usize % (words * 64);
        let mut word = start / 64;
        let mut bits = self.ready[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = if word + 1 == words { 0 } else { word + 1 };
            bits = self.ready[word];
        }
        self.cursor = word as u32 * 64 + bits.trailing_zeros();
        Some(self.places[self.cursor as usize])
    }
}

/// A NIC.
pub(crate) struct NicState {
    pub(crate) port: u32,
    pub(crate) rate: Rate,
    pub(crate) qp: Arc<QpConfig>,
    pub(crate) mtu: u32,
    /// Its packets collect telemetry for HPCC.
    pub(crate) collects: bool,
    /// Marks travel back in acknowledgements, which can be marked themselves.
    pub(crate) echo_marks: bool,
    /// Classes with a ready endpoint.
    pub(crate) ready: u8,
    groups: [Group; 8],
    pace: BinaryHeap<Reverse<(Instant, u32)>>,
    pub(crate) receiver: Option<Receiver>,
    /// Storms under way: pauses without end, by class.
    pub(crate) storms: [u32; 8],
}

impl NicState {
    pub(crate) fn new(port: u32, rate: Rate, qp: Arc<QpConfig>) -> Self {
        use xoff_transport::config::{Congestion, Notification};
        Self {
            port,
            rate,
            mtu: qp.mtu.get() as u32,
            collects: matches!(qp.congestion, Congestion::Hpcc(_)),
            echo_marks: qp.notification == Notification::EchoInAck,
            qp,
            ready: 0,
            groups: Default::default(),
            pace: BinaryHeap::new(),
            receiver: None,
            storms: [0; 8],
        }
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

    /// When the next paced endpoint's time comes.
    #[inline(always)]
    fn next_paced(&self) -> Instant {
        self.pace.peek().map_or(Instant::MAX, |&Reverse((at, _))| at)
    }
}

impl<Q: EventQueue> Engine<'_, Q> {
    /// Gives an endpoint its place at its NIC.
    pub(crate) fn join(&mut self, endpoint: u32) {
        let member = self.end_mut(endpoint).member;
        let group = &mut self.nics[member.nic as usize].groups[usize::from(member.class)];
        let place = group.join(endpoint);
        self.end_mut(endpoint).member.place = place;
    }

    /// Takes it back.
    pub(crate) fn leave(&mut self, endpoint: u32) {
        let member = self.end_mut(endpoint).member;
        let nic = &mut self.nics[member.nic as usize];
        nic.set_ready(member.class, member.place, false);
        nic.groups[usize::from(member.class)].leave(member.place);
    }

    /// Sets an endpoint's turn by when it can send next, and wakes its port if that is sooner.
    #[inline(always)]
    pub(crate) fn update_member(&mut self, endpoint: u32) {
        let at = self.place_member(endpoint);
        if at.is_never() {
            return;
        }
        let nic =
            self.connections[(endpoint >> 1) as usize].ends[(endpoint & 1) as usize].member.nic;
        let port = self.nics[nic as usize].port;
        if at <= self.now {
            self.kick(port);
        } else {
            self.schedule_next_nic(port);
        }
    }

    /// Puts an endpoint among the ready or the paced ones; when it can send next.
    #[inline(always)]
    fn place_member(&mut self, endpoint: u32) -> Instant {
        let end = &mut self.connections[(endpoint >> 1) as usize].ends[(endpoint & 1) as usize];
        let at = end.qp.next_send();
        let member = end.member;
        let nic = &mut self.nics[member.nic as usize];
        // Nobody sends before the wire is free: who may send by then need not stand in the heap.
        let ready = at <= self.now.max(self.ports[nic.port as usize].busy_until);
        nic.set_ready(member.class, member.place, ready);
        if !ready && at < member.paced_at {
            end.member.paced_at = at;
            nic.pace.push(Reverse((at, endpoint)));
        }
        at
    }

    /// Endpoints whose time has come become ready.
    #[inline(always)]
    fn release_paced(&mut self, nic: u32) {
        while let Some(&Reverse((at, endpoint))) = self.nics[nic as usize].pace.peek() {
            if at > self.now {
                break;
            }
            self.nics[nic as usize].pace.pop();
            let connection = &mut self.connections[(endpoint >> 1) as usize];
            let flow = connection.flow;
            let end = &mut connection.ends[(endpoint & 1) as usize];
            // The flow may have ended, and its connection may serve another one elsewhere.
            let stale = self.flows[flow as usize].connection != endpoint >> 1
                || end.member.nic != nic
                || end.member.paced_at != at;
            if stale {
                continue;
            }
            end.member.paced_at = Instant::MAX;
            self.place_member(endpoint);
        }
    }

    /// The NIC's port is free: send the next packet, if one may go.
    #[inline(never)]
    pub(crate) fn transmit_nic(&mut self, port: u32) {
        let nic = self.ports[port as usize].owner;
        self.release_paced(nic);
        let here = &self.ports[port as usize];
        let eligible = (here.waiting | self.nics[nic as usize].ready) & !here.paused;
        if eligible != 0 {
            let class = if eligible & (eligible - 1) == 0 {
                eligible.trailing_zeros() as u8
            } else {
                self.choose(port, eligible)
            };
            let slot = Slot::new(port, class);
            let waits = self.ports[port as usize].waiting & slot.bit() != 0;
            if waits {
                self.send_first_control(slot);
            } else {
                self.send_data(nic, slot);
            }
        }
        self.schedule_next_nic(port);
    }

    /// Sends the first control packet of a class.
    fn send_first_control(&mut self, slot: Slot) {
        let here = &mut self.ports[slot.port() as usize];
        let queue = &mut here.lane(slot.class()).queue;
        let packet = queue.pop(&mut self.chunks, &mut self.flights);
        if queue.is_empty() {
            here.waiting &= !slot.bit();
        }
        self.launch(slot, packet.index, packet.size.into());
    }

    /// Sends the next data packet of a class.
    #[inline(always)]
    fn send_data(&mut self, nic: u32, slot: Slot) {
        let group = &mut self.nics[nic as usize].groups[usize::from(slot.class())];
        let Some(endpoint) = group.next() else { return };
        let now = self.now;
        let end = &mut self.connections[(endpoint >> 1) as usize].ends[(endpoint & 1) as usize];
        let header = end.qp.poll_transmit(now);
        let deadline = end.qp.deadline();
        if deadline < end.timer_at {
            let at = deadline.max(now);
            end.timer_at = at;
            self.schedule(at, Kind::Deadline, endpoint, 0);
        }
        if let Some(header) = header {
            let packet = self.make_packet(endpoint, header);
            self.put_on_wire(slot, &packet);
        }
        self.place_member(endpoint);
    }

    /// Sees to it that the NIC's port wakes up when it can send again.
    #[inline(always)]
    pub(crate) fn schedule_next_nic(&mut self, port: u32) {
        let here = &mut self.ports[port as usize];
        let nic = &self.nics[here.owner as usize];
        let waiting = (here.waiting | nic.ready) & !here.paused;
        let at = if waiting | here.to_tell() != 0 {
            here.busy_until.max(self.now)
        } else {
            let paced = nic.next_paced();
            if paced.is_never() {
                return;
            }
            paced.max(here.busy_until).max(self.now)
        };
        if at < here.wake_at {
            here.wake_at = at;
            self.schedule_transmit(at, port);
        }
    }

    /// A packet has arrived at its NIC.
    #[inline(never)]
    pub(crate) fn receive(&mut self, port: u32, index: u32) {
        let nic = self.ports[port as usize].owner;
        let host = &self.nics[nic as usize];
        let packet = self.flights.get(index);
        if packet.dst != nic || host.receiver.is_some() {
            return self.receive_carefully(nic, port, index);
        }
        self.deliver(nic, index);
    }

    /// A packet has arrived at a NIC whose host is slow, or which it is not for.
    #[cold]
    fn receive_carefully(&mut self, nic: u32, port: u32, index: u32) {
        let packet = *self.flights.get(index);
        if packet.dst != nic {
            self.flights.release(index);
            let slot = Slot::new(port, self.class_of(packet.dscp));
            self.drop_packet(&packet, slot, Drop::NotMine);
        } else if self.take_into_host(nic, &packet) {
            self.deliver(nic, index);
        } else {
            self.flights.release(index);
        }
    }

    /// Hands a packet to its queue pair.
    #[inline(always)]
    fn deliver(&mut self, nic: u32, index: u32) {
        let packet = self.flights.get(index);
        let (letter_at, flags) = (packet.letter, packet.flags);
        self.totals.delivered += 1;
        self.totals.delivered_bytes += u64::from(packet.size);
        let slot = self.flows[packet.flow as usize].connection;
        self.flights.release(index);
        if slot == NO_CONNECTION {
            self.totals.late += 1;
            return self.letters.release(letter_at);
        }
        let end = usize::from(flags & flag::TO_INITIATOR == 0);
        let endpoint = endpoint(slot, end);
        let letter = self.letters.get(letter_at);
        let operation = letter.header.opcode.operation();
        self.totals.cnps += u64::from(operation == Opcode::Cnp);
        let answers = operation == Opcode::Acknowledge;
        let int = if answers && self.nics[nic as usize].collects {
            self.ints.get(letter_at as usize)
        } else {
            None
        };
        let sent_at = answers.then_some(letter.sent_at);
        let signals = Signals { ce: flags & flag::CE != 0, sent_at, int };
        let qp = &mut self.connections[slot as usize].ends[end].qp;
        qp.handle(self.now, &letter.header, signals);
        self.send_control(endpoint, Some(letter_at));
        self.letters.release(letter_at);
        if matches!(operation, Opcode::Write | Opcode::Send) {
            // Data does not change what its receiver has to send, answers apart.
            self.update_deadline(endpoint);
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
