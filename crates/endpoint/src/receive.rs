//! The way of a packet in: from the socket to its queue pair, its bytes to their place.

use crate::device::{Device, SLACK};
use crate::discard::Reason;
use crate::inbox::Bundle;
use crate::memory::{Around, Place};
use crate::outbox::Route;
use crate::pair::{Entry, MANAGEMENT};
use crate::tap::Tap;
use crate::verify::flow;
use std::net::SocketAddr;
use xoff_transport::{Signals, Status, Target};
use xoff_units::Instant;
use xoff_wire::bth::Pkey;
use xoff_wire::icrc::Flow;
use xoff_wire::ip::{Ecn, TrafficClass};
use xoff_wire::roce::Datagram;
use xoff_wire::{DecodeError, Operation};

/// The partition without the membership bit.
const PARTITION: u16 = 0x7fff;

/// A packet that has been taken apart, and what is known of it from outside.
#[derive(Clone, Copy)]
struct Arrived<'a> {
    /// Not moved: its header is too large to be copied for every packet.
    datagram: &'a Datagram<'a>,
    from: SocketAddr,
    flow: Flow,
    /// The IPv4 identification, or what it most likely is: the place in the run.
    identification: u16,
    ce: bool,
}

impl Device {
    /// Takes what has arrived. Says whether there may be more.
    pub(crate) fn receive(&mut self, now: Instant) -> bool {
        // Moved out, because its packets are borrowed while they change the rest of the device.
        let mut inbox = std::mem::take(&mut self.inbox);
        let tap = self.tap.take();
        let more = inbox.fill(tap.as_ref().map_or(self.socket.fd(), Tap::fd));
        for bundle in inbox.bundles(tap.as_ref()) {
            self.unbundle(now, bundle);
        }
        (self.inbox, self.tap) = (inbox, tap);
        more
    }

    /// Takes a datagram as if it had arrived from there: for captures that are played back, and for
    /// tests. It is verified and counted as any other.
    pub fn inject(&mut self, from: SocketAddr, class: TrafficClass, datagram: &[u8]) {
        let now = self.clock.now();
        let segment = datagram.len().max(1);
        let (bytes, cut, identification) = (datagram, false, 0);
        self.unbundle(now, Bundle { from, class, bytes, segment, cut, identification });
        self.answer_touched(now);
    }

    fn unbundle(&mut self, now: Instant, bundle: Bundle<'_>) {
        let Some(flow) = flow(bundle.from, self.address) else { return };
        let ce = bundle.class.ecn() == Ecn::Congested;
        let count = bundle.bytes.len().div_ceil(bundle.segment);
        self.count_received(count.max(1), bundle.bytes.len());
        if count == 0 {
            // A datagram without a byte.
            self.reasons.count(Reason::Malformed);
        }
        for (n, bytes) in bundle.bytes.chunks(bundle.segment).enumerate() {
            if bundle.cut && n + 1 == count {
                self.reasons.count(Reason::TooLong);
                return;
            }
            match Datagram::parse(bytes) {
                Ok(ref datagram) => {
                    let from = bundle.from;
                    let identification = bundle.identification.wrapping_add(n as u16);
                    self.arrive(now, &Arrived { datagram, from, flow, identification, ce });
                }
                Err(error) => self.reasons.count(reason(error)),
            }
        }
    }

    fn arrive(&mut self, now: Instant, arrived: &Arrived<'_>) {
        match self.admit(arrived) {
            Ok(index) => self.deliver(now, index, arrived),
            Err(reason) => self.reasons.count(reason),
        }
    }

    /// The place of the queue pair that a packet is for, if it may have it.
    fn admit(&mut self, arrived: &Arrived<'_>) -> Result<u32, Reason> {
        let header = &arrived.datagram.header;
        let index = self.pairs.find(header.dest_qp).ok_or(Reason::UnknownPair)?;
        let entry = self.pairs.at(index).ok_or(Reason::UnknownPair)?;
        if entry.core.is_none() {
            return Err(Reason::UnknownPair);
        }
        if let Some(route) = &entry.route
            && route.address.ip() != arrived.from.ip()
        {
            return Err(Reason::WrongSource);
        }
        // The ICRC last, because it reads every byte; what is above costs a few comparisons.
        let pkey = arrived.datagram.bth().map_or(Pkey(0), |bth| bth.pkey());
        if pkey.0 & PARTITION != Pkey::DEFAULT.0 & PARTITION {
            return Err(Reason::WrongPartition);
        }
        let (flow, identification) = (&arrived.flow, arrived.identification);
        if !self.verification.accepts(arrived.datagram, flow, identification) {
            return Err(Reason::BadIcrc);
        }
        Ok(index)
    }

    /// Gives a packet to its queue pair, its payload to where it belongs, and answers.
    fn deliver(&mut self, now: Instant, index: u32, arrived: &Arrived<'_>) {
        let Some(entry) = self.pairs.at(index) else { return };
        let Entry { core: Some(core), receives, settings, route, .. } = &mut *entry else { return };
        if is_data(route.is_some(), arrived) {
            self.taken += 1;
        }
        let receives = match settings.shared {
            Some(shared) => self.shared.get_mut(shared.0 as usize).unwrap_or(receives),
            None => receives,
        };
        let domain = settings.domain;
        let mut around = Around { store: &mut self.store, receives, domain };
        let header = &arrived.datagram.header;
        let signals = Signals { ce: arrived.ce, ..Signals::default() };
        let target = core.handle_at(now, header, signals, &mut around);
        let payload = arrived.datagram.payload;
        let room = match target {
            Target::Nowhere => None,
            Target::Region(at) => Some(self.store.placed_mut(at, payload.len())),
            Target::Receive { id, offset } => {
                Some(self.posted.receives.get(id).and_then(|receive| {
                    self.store.allowed_part_mut(domain, &receive.local, offset, payload.len())
                }))
            }
            Target::Read { id, offset } => Some(
                self.posted
                    .works
                    .get(id)
                    .and_then(|work| self.store.part_mut(&work.local, offset, payload.len())),
            ),
        };
        match room {
            Some(Some(room)) => room.copy_from_slice(payload),
            // The memory was given back while the message was on its way.
            Some(None) => core.fail(Status::LocalProtection),
            None => {}
        }
        let connected = entry.route.is_some();
        if !connected {
            // A datagram queue pair has no peer: answers go to the sender of this packet.
            self.answer(now, index, Some(arrived));
        } else if !entry.touched {
            // Answered after the whole batch: one acknowledgement covers all of its packets.
            entry.touched = true;
            self.touched.push(index);
        }
    }

    /// Answers what arrived since the last call, so that several packets get one acknowledgement.
    pub(crate) fn answer_touched(&mut self, now: Instant) {
        while let Some(index) = self.touched.pop() {
            if let Some(entry) = self.pairs.at(index) {
                entry.touched = false;
            }
            self.settle(now, index);
        }
    }

    /// After anything happened to a queue pair: sends its answers, takes what has ended, and
    /// schedules its next call.
    pub(crate) fn settle(&mut self, now: Instant, index: u32) {
        self.answer(now, index, None);
    }

    fn answer(&mut self, now: Instant, index: u32, arrived: Option<&Arrived<'_>>) {
        let Some(entry) = self.pairs.at(index) else { return };
        let Some(core) = &mut entry.core else { return };
        while let Some(header) = core.poll_control(now) {
            // A datagram queue pair has no peer: the answer goes to the address the packet came
            // from, at the port that peers listen on.
            let route = match (&entry.route, arrived) {
                (Some(route), _) => *route,
                (None, Some(arrived)) => {
                    let listens = SocketAddr::new(arrived.from.ip(), self.address.port());
                    let Some(flow) = flow(self.address, listens) else { continue };
                    Route::new(listens, flow)
                }
                (None, None) => continue,
            };
            let class = match header.opcode.operation() {
                Operation::Cnp => self.settings.cnp_class,
                _ => entry.settings.class,
            };
            let runs = self.socket.segmentation;
            if !self.outbox.has_room() {
                self.outbox.flush(&mut self.socket, &self.store, &mut self.reasons);
            }
            if !self.outbox.push(&route, class, &header, Place::NOTHING, &self.store, runs) {
                self.reasons.count(Reason::NoRoomToSend);
            }
        }
        self.reap(index, arrived.map(|arrived| arrived.from));
        if let Some(entry) = self.pairs.at(index) {
            self.schedule.update(index, entry, now, SLACK.ahead);
            self.flights.count(entry);
            if let Some(first) = self.flights.next_in_line(entry) {
                self.schedule.push_sender(first);
            }
        }
    }

    /// Takes the work and the receives of a queue pair that have ended.
    pub(crate) fn reap(&mut self, index: u32, from: Option<SocketAddr>) {
        let Some(entry) = self.pairs.at(index) else { return };
        let Some(core) = &mut entry.core else { return };
        let (id, settings) = (entry.id, &entry.settings);
        while let Some(done) = core.poll_completion() {
            self.posted.work_ended(done, id, settings.send_completions, &mut self.store);
        }
        // Receives of a shared queue stay for the other queue pairs.
        if settings.shared.is_none() && core.has_failed() {
            core.flush_receives(&mut entry.receives);
        }
        while let Some(received) = core.poll_receive() {
            self.posted.receive_ended(received, id, settings.receive_completions, from);
        }
    }
}

/// Whether a packet is of a connection, or a datagram other than those of connection management.
fn is_data(connected: bool, arrived: &Arrived<'_>) -> bool {
    connected || arrived.datagram.header.dest_qp != MANAGEMENT
}

fn reason(error: DecodeError) -> Reason {
    match error {
        DecodeError::Short | DecodeError::Payload => Reason::Malformed,
        DecodeError::Opcode(_) | DecodeError::Version(_) | DecodeError::Syndrome(_) => {
            Reason::NotSpoken
        }
    }
}
