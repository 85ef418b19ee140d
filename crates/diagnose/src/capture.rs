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
//!
//! What a capture has that never was on a wire is undone first: packets that a host's offload glued
//! together are taken apart ([`xoff_wire::glue`]), those of tunnels and mirror sessions unwrapped
//! ([`xoff_wire::tunnel`]), those recorded at several places counted once (`recorded`). A file that is
//! compressed is read through [`Unpacked`].

mod conclude;
mod course;
mod evidence;
mod finding;
mod histogram;
mod history;
mod opcodes;
mod pairing;
mod pause;
mod perftest;
mod recorded;
mod report;
mod sequence;
mod stream;
mod timeline;
mod totals;
mod unpack;

pub use evidence::Evidence;
pub use finding::{Finding, Kind, Severity};
pub use opcodes::OpcodeCount;
pub use pause::{PauseCount, Paused, Pauses, Port};
pub use report::{
    Connection, Direction, End, Latency, Management, Matched, Naks, Operations, Rates, Report,
};
pub use timeline::{Course, PausedPort, Sender};
pub use totals::{Totals, TunnelCount};
pub use unpack::{Compression, MAX_WINDOW, Unpacked};

use opcodes::Opcodes;
use pairing::Pairing;
use pause::Meters;
use perftest::Exchange;
use recorded::{Place, Recorded};
use stream::{Key, Seen, Streams};
use xoff_units::Rate;
use xoff_wire::capture::{LinkType, Packet, Timestamp};
use xoff_wire::cm::Message;
use xoff_wire::ethernet::MacAddr;
use xoff_wire::frame::{Frame, Network, Problem, Transport};
use xoff_wire::glue::{self, Glued, Numbering};
use xoff_wire::roce::{MAX_PAYLOAD, Roce};
use xoff_wire::udp::Port as UdpPort;
use xoff_wire::{Operation, Position, Service, mad, tunnel};

/// Tunnels inside tunnels that are looked through.
const DEPTH: u32 = 4;

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
    /// The speed of the links, from which follows how long a pause frame pauses.
    pub link_rate: Rate,
    /// How much is kept.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self { check_icrc: true, link_rate: Rate::from_gbps(100), limits: Limits::default() }
    }
}

/// An analysis on its way through a capture.
#[derive(Debug)]
pub struct Analysis {
    options: Options,
    totals: Totals,
    opcodes: Opcodes,
    pauses: Meters,
    management: Management,
    streams: Streams,
    pairing: Pairing,
    exchange: Exchange,
    recorded: Recorded,
    /// Room for a packet that was taken out of another.
    room: Vec<u8>,
}

/// A packet, or a frame inside one.
#[derive(Debug, Clone, Copy)]
struct Found<'a> {
    /// The number of the packet in the capture.
    number: u64,
    timestamp: Timestamp,
    /// Where it was captured.
    place: Place,
    link_type: LinkType,
    bytes: &'a [u8],
    /// Bytes it had on the wire.
    wire_len: u32,
    /// Tunnels around it.
    depth: u32,
}

impl Analysis {
    /// Begins.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            totals: Totals::default(),
            opcodes: Opcodes::new(),
            pauses: Meters::new(options.link_rate),
            management: Management::default(),
            streams: Streams::new(options.limits),
            pairing: Pairing::default(),
            exchange: Exchange::default(),
            recorded: Recorded::default(),
            room: vec![0; glue::ROOM],
        }
    }

    /// Packets so far.
    pub const fn packets(&self) -> u64 {
        self.totals.packets
    }

    /// Takes the next packet of the capture.
    pub fn packet(&mut self, packet: &Packet<'_>) {
        let number = self.totals.count(packet);
        self.streams.timeline.begin(packet.timestamp);
        if !packet.link_type.is_supported() {
            self.totals.unsupported_link.add(number);
            return;
        }
        self.frame(Found {
            number,
            timestamp: packet.timestamp,
            place: Place::new(packet.interface),
            link_type: packet.link_type,
            bytes: packet.bytes,
            wire_len: packet.wire_len,
            depth: 0,
        });
    }

    fn frame(&mut self, found: Found<'_>) {
        let Found { number, bytes, .. } = found;
        let frame = Frame::parse(bytes, found.link_type);
        if let Some(inside) = tunnel::inside(&frame, bytes) {
            if found.depth < DEPTH {
                self.totals.tunnel(inside.tunnel);
                let before = u32::try_from(inside.range.start).unwrap_or(u32::MAX);
                self.frame(Found {
                    place: found.place.inside(&frame, inside.session),
                    link_type: inside.link_type,
                    bytes: bytes.get(inside.range).unwrap_or_default(),
                    wire_len: found.wire_len.saturating_sub(before),
                    depth: found.depth + 1,
                    ..found
                });
                return;
            }
            self.totals.too_deep.add(number);
        }
        if self.is_glued_oddly(&frame, &found) {
            return;
        }
        self.problem(&frame, &found);
        if let Network::Pause(pause) = &frame.network {
            self.totals.pause_frames += 1;
            let station = frame.source_station().unwrap_or_default();
            self.pause((pause, station), &found);
            return;
        }
        let Some(roce) = frame.roce() else {
            self.not_roce(&frame, &found);
            return;
        };
        if self.recorded.again(found.place, &frame, roce, found.timestamp) {
            self.totals.recorded_twice.add(number);
            return;
        }
        self.whole_or_glued(&frame, roce, &found);
    }

    fn pause(&mut self, frame: (&xoff_wire::pause::Pause, MacAddr), found: &Found<'_>) {
        let timeline = &mut self.streams.timeline;
        self.pauses.count(frame, found.number, found.timestamp, timeline);
    }

    fn problem(&mut self, frame: &Frame, found: &Found<'_>) {
        let cut = found.bytes.len() < found.wire_len as usize;
        let totals = &mut self.totals;
        let evidence = match frame.problem {
            Some(Problem::Truncated) => &mut totals.truncated,
            // The capture may have ended it, or the sender.
            Some(Problem::Short) if cut => &mut totals.truncated,
            Some(Problem::Malformed | Problem::Short) => &mut totals.malformed,
            Some(Problem::Fragment) => &mut totals.fragments,
            None => return,
        };
        evidence.add(found.number);
    }

    fn not_roce(&mut self, frame: &Frame, found: &Found<'_>) {
        if frame.is_cut_roce(found.bytes) {
            self.totals.roce_v2 += 1;
            self.totals.headers_cut.add(found.number);
            return;
        }
        let truncated = frame.problem == Some(Problem::Truncated);
        if truncated && matches!(&frame.network, Network::Grh(grh) if grh.carries_transport()) {
            self.totals.roce_v1 += 1;
            self.totals.headers_cut.add(found.number);
            return;
        }
        self.totals.other += 1;
        let pair = self.exchange.packet(frame, found.bytes, &mut self.pairing);
        if let Some(pair) = pair {
            self.streams.join(pair, &self.pairing);
        }
    }

    /// A row of packets in a datagram whose lengths contradict each other, taken apart. Says whether it
    /// was one.
    fn is_glued_oddly(&mut self, frame: &Frame, found: &Found<'_>) -> bool {
        let to_roce =
            matches!(frame.transport, Transport::Udp(udp) if udp.destination == UdpPort::ROCE_V2);
        to_roce && frame.problem == Some(Problem::Malformed) && self.take_apart(frame, found)
    }

    /// A packet that is what it seems, or the first of several in one datagram.
    fn whole_or_glued(&mut self, frame: &Frame, roce: &Roce, found: &Found<'_>) {
        let oversized = roce.payload as usize > MAX_PAYLOAD;
        let right = self.options.check_icrc.then(|| icrc(frame, roce, found.bytes)).flatten();
        // Its ICRC is that of the last packet in it, so what is glued seems damaged.
        if (oversized || right == Some(false) || says_less(roce)) && self.take_apart(frame, found) {
            return;
        }
        match frame.transport {
            Transport::RoceV1(_) => self.totals.roce_v1 += 1,
            _ => self.totals.roce_v2 += 1,
        }
        if oversized || (frame.missing > 0 && right.is_none() && is_several(roce)) {
            self.totals.oversized.add(found.number);
            return;
        }
        self.checked(frame, roce, found, right);
    }

    /// Takes the packets of a datagram out of it, if it has several.
    fn take_apart(&mut self, frame: &Frame, found: &Found<'_>) -> bool {
        let Some(glued) = Glued::find(frame, found.bytes) else { return false };
        self.totals.glued.add(found.number);
        let mut room = std::mem::take(&mut self.room);
        for at in 0..glued.count() {
            let mut write = |numbering| {
                let len = glued.write(frame, found.bytes, at, numbering, &mut room)?;
                let bytes = room.get(..len)?;
                let alone = Frame::parse(bytes, found.link_type);
                let right = icrc(&alone, alone.roce()?, bytes);
                Some((alone, len, right))
            };
            let mut packet = write(Numbering::Counted);
            if packet.is_some_and(|(_, _, right)| right == Some(false)) {
                // Some senders number all their packets alike.
                let fixed = write(Numbering::Fixed).filter(|(_, _, right)| *right == Some(true));
                packet = fixed.or_else(|| write(Numbering::Counted));
            }
            let Some((alone, len, right)) = packet else { continue };
            let (Some(roce), Some(bytes)) = (alone.roce(), room.get(..len)) else { continue };
            self.totals.roce_v2 += 1;
            self.totals.glued_packets += 1;
            let right = right.filter(|_| self.options.check_icrc);
            let part = Found { bytes, wire_len: len as u32, ..*found };
            self.checked(&alone, roce, &part, right);
        }
        self.room = room;
        true
    }

    /// A packet whose ICRC is right, wrong, or not known.
    fn checked(&mut self, frame: &Frame, roce: &Roce, found: &Found<'_>, right: Option<bool>) {
        match right {
            Some(false) => {
                self.totals.icrc_wrong.add(found.number);
                return;
            }
            Some(true) => self.totals.icrc_right += 1,
            None if self.options.check_icrc => self.totals.icrc_unknown += 1,
            None => {}
        }
        self.opcodes.count(roce.bth.opcode.0, roce.payload);
        self.roce(frame, roce, found);
    }

    fn roce(&mut self, frame: &Frame, roce: &Roce, found: &Found<'_>) {
        let Some((service, opcode)) = roce.kind() else {
            self.totals.unknown_opcode.add(found.number);
            return;
        };
        let Some((source, destination)) = frame.addresses() else { return };
        let to = roce.bth.dest_qp;
        if service == Service::Datagram && to == mad::QPN {
            let payload = found.bytes.get(frame.payload()).unwrap_or_default();
            self.management(payload, (source, destination), found.number);
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
            number: found.number,
            timestamp: found.timestamp,
            wire_len: found.wire_len,
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

/// Whether a packet's ICRC is right; nothing if the capture did not keep it.
fn icrc(frame: &Frame, roce: &Roce, bytes: &[u8]) -> Option<bool> {
    frame.expected_icrc(bytes).map(|expected| roce.icrc == Some(expected))
}

/// Whether the length alone says that this is no single packet: one with more of its message to come is as long as an MTU.
fn is_several(roce: &Roce) -> bool {
    let goes_on = roce.kind().is_some_and(|(_, opcode)| {
        let data = [Operation::Send, Operation::Write, Operation::ReadResponse];
        data.contains(&opcode.operation()) && !opcode.position().ends()
    });
    let mtu = roce.payload.is_power_of_two() && (256..=MAX_PAYLOAD as u32).contains(&roce.payload);
    (goes_on && !mtu) || says_less(roce)
}

/// Whether a message of one packet says that it is shorter than the packet.
fn says_less(roce: &Roce) -> bool {
    let only = roce.kind().is_some_and(|(_, opcode)| {
        opcode.operation() == Operation::Write && opcode.position() == Position::Only
    });
    only && roce.reth().is_some_and(|reth| reth.length < roce.payload)
}
