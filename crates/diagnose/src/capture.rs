//! A capture, packet by packet, to what a person wants to know of it.
//!
//! [`Analysis::packet`] takes the packets in their order; [`Analysis::finish`] gives the
//! [`Report`]. Memory is bounded by [`Limits`]: what does not fit is counted and said.
//!
//! A *stream* is everything one host sends to one queue pair of another; an RC connection is two of
//! them. Which two, is known from the connection manager's messages or perftest's exchange if they
//! are in the capture, otherwise from answers whose sequence numbers fit requests.
//!
//! How a repeated sequence number is judged: after a NAK, half a millisecond or more after the
//! original, with another ICRC than it (a sender numbers its IP packets anew), or in a run of such
//! packets it is a retransmission; otherwise the network made a duplicate. A packet that fills a
//! gap is reordered, or a retransmission by the same marks.

mod conclude;
mod evidence;
mod finding;
mod histogram;
mod history;
mod pairing;
mod pause;
mod perftest;
mod report;
mod sequence;
mod stream;
mod totals;

pub use evidence::Evidence;
pub use finding::{Finding, Kind, Severity};
pub use pause::{PauseCount, Pauses};
pub use report::{
    Connection, Direction, End, Latency, Management, Matched, Naks, Operations, Report,
};
pub use totals::Totals;

use pairing::Pairing;
use perftest::Exchange;
use stream::{Key, Seen, Streams};
use xoff_wire::capture::Packet;
use xoff_wire::cm::Message;
use xoff_wire::frame::{Frame, Network, Problem, Transport};
use xoff_wire::roce::{MAX_PAYLOAD, Roce};
use xoff_wire::{Operation, Service, mad};

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Streams that are followed; packets of more are only counted.
    pub streams: usize,
    /// Requests of a stream that are remembered until they are answered.
    pub history: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { streams: 16_384, history: 512 }
    }
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether ICRCs are checked. Packets with a wrong one are counted and not analysed further, as
    /// a NIC does.
    pub check_icrc: bool,
    /// How much is kept.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self { check_icrc: true, limits: Limits::default() }
    }
}

/// An analysis on its way through a capture.
#[derive(Debug)]
pub struct Analysis {
    options: Options,
    totals: Totals,
    pauses: Pauses,
    management: Management,
    streams: Streams,
    pairing: Pairing,
    exchange: Exchange,
}

impl Analysis {
    /// Begins.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            totals: Totals::default(),
            pauses: Pauses::default(),
            management: Management::default(),
            streams: Streams::new(options.limits),
            pairing: Pairing::default(),
            exchange: Exchange::default(),
        }
    }

    /// Packets so far.
    pub const fn packets(&self) -> u64 {
        self.totals.packets
    }

    /// Takes the next packet of the capture.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        let number = self.totals.count(packet);
        if !packet.link_type.is_supported() {
            self.totals.unsupported_link.add(number);
            return;
        }
        let frame = Frame::parse(packet.bytes, packet.link_type);
        match frame.problem {
            Some(Problem::Truncated) => self.totals.truncated.add(number),
            Some(Problem::Malformed | Problem::Short) => self.totals.malformed.add(number),
            Some(Problem::Fragment) => self.totals.fragments.add(number),
            None => {}
        }
        if let Network::Pause(pause) = &frame.network {
            self.totals.pause_frames += 1;
            self.pauses.count(pause, number);
            return;
        }
        let Some(roce) = frame.roce() else {
            self.totals.other += 1;
            let pair = self.exchange.packet(&frame, packet.bytes, &mut self.pairing);
            if let Some(pair) = pair {
                self.streams.join(pair, &self.pairing);
            }
            return;
        };
        match frame.transport {
            Transport::RoceV1(_) => self.totals.roce_v1 += 1,
            _ => self.totals.roce_v2 += 1,
        }
        // Segments that a host glued together; what follows the first is not ours to read.
        if roce.payload as usize > MAX_PAYLOAD {
            self.totals.oversized.add(number);
            return;
        }
        if self.options.check_icrc && !self.icrc_holds(&frame, roce, packet.bytes, number) {
            return;
        }
        self.roce(packet, &frame, roce, number);
    }

    /// Whether the ICRC is right, or cannot be checked.
    fn icrc_holds(&mut self, frame: &Frame, roce: &Roce, bytes: &[u8], number: u64) -> bool {
        match frame.expected_icrc(bytes) {
            None => self.totals.icrc_unknown += 1,
            expected if expected == roce.icrc => self.totals.icrc_right += 1,
            Some(_) => {
                self.totals.icrc_wrong.add(number);
                return false;
            }
        }
        true
    }

    fn roce(&mut self, packet: &Packet<'_>, frame: &Frame, roce: &Roce, number: u64) {
        let Some((service, opcode)) = roce.kind() else {
            self.totals.unknown_opcode.add(number);
            return;
        };
        let Some((source, destination)) = frame.addresses() else { return };
        let to = roce.bth.dest_qp;
        if service == Service::Datagram && to == mad::QPN {
            let payload = packet.bytes.get(frame.payload()).unwrap_or_default();
            self.management(payload, (source, destination), number);
            return;
        }
        // Notifications are about connections as much as about datagrams: they name no sender.
        let deth = if opcode.operation() == Operation::Cnp { None } else { roce.deth() };
        let key = Key { source, destination, to, from: deth.map(|deth| deth.source) };
        let Some(id) = self.streams.find(key, service, &self.pairing) else {
            self.totals.not_followed += 1;
            return;
        };
        let seen = Seen {
            number,
            timestamp: packet.timestamp,
            wire_len: packet.wire_len,
            class: frame.class().unwrap_or_default(),
            port: match frame.transport {
                Transport::RoceV2(udp, _) => Some(udp.source),
                _ => None,
            },
            roce,
            service,
            opcode,
        };
        self.streams.packet(id, &seen);
    }

    /// A packet to queue pair 1.
    fn management(&mut self, payload: &[u8], ends: (std::net::IpAddr, std::net::IpAddr), at: u64) {
        self.management.packets += 1;
        let Ok((_, message)) = Message::parse(payload) else { return };
        match message {
            Message::Request(_) => self.management.requests += 1,
            Message::Reply(_) => self.management.replies += 1,
            Message::Ready(_) => self.management.ready += 1,
            Message::Disconnect(_) => self.management.disconnects += 1,
            Message::Reject(reject) => self.management.reject(reject.reason, at),
            Message::Delay(_)
            | Message::Disconnected(_)
            | Message::Lookup(_)
            | Message::LookedUp(_) => {}
        }
        if let Some(pair) = self.pairing.learn(&message, ends) {
            self.streams.join(pair, &self.pairing);
        }
    }

    /// Ends, and says what there is to say.
    pub fn finish(self) -> Report {
        conclude::report(self)
    }
}
