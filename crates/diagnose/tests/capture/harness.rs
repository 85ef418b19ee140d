//! Captures made up packet by packet.

use std::net::{Ipv4Addr, Ipv6Addr};
use xoff_diagnose::capture::{Analysis, Connection, Direction, Kind, Options, Report};
use xoff_wire::capture::{LinkType, Packet, Timestamp};
use xoff_wire::ethernet::Tag;
use xoff_wire::frame::{Builder, Frame, Route};
use xoff_wire::ip::TrafficClass;
use xoff_wire::udp::Port;
use xoff_wire::{
    Aeth, Extension, Header, Opcode, Operation, Psn, Qpn, Reth, Rkey, Service, Syndrome,
};

/// The queue pairs of the two hosts.
pub(crate) const QP: [u32; 2] = [0x11, 0x22];
/// Nanoseconds since 1970 at which captures begin.
const START: u64 = 1_700_000_000_000_000_000;
pub(crate) const MTU: u32 = 1024;

/// A capture in the making between hosts 0 and 1.
pub(crate) struct Tape {
    packets: Vec<(u64, Vec<u8>)>,
    /// Microseconds since the start.
    pub(crate) now_us: u64,
    pub(crate) v6: bool,
    pub(crate) class: u8,
    pub(crate) qp: [u32; 2],
    pub(crate) port: u16,
    identification: u16,
    /// All packets have the same IPv4 identification.
    pub(crate) same_identification: bool,
    pub(crate) tag: Option<Tag>,
    pub(crate) service: Service,
}

impl Tape {
    pub(crate) fn new() -> Self {
        Self {
            packets: Vec::new(),
            now_us: 0,
            v6: false,
            class: 2,
            qp: QP,
            port: 0xc000,
            identification: 0,
            same_identification: false,
            tag: None,
            service: Service::Reliable,
        }
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, us: u64) -> &mut Self {
        self.now_us += us;
        self
    }

    /// The next packet's number.
    pub(crate) fn next(&self) -> u64 {
        self.packets.len() as u64 + 1
    }

    pub(crate) fn raw(&mut self, bytes: Vec<u8>) -> u64 {
        self.packets.push((START + self.now_us * 1000, bytes));
        self.packets.len() as u64
    }

    /// The same packet once more, bit for bit.
    pub(crate) fn again(&mut self, number: u64) -> u64 {
        let bytes = self.packets[number as usize - 1].1.clone();
        self.raw(bytes)
    }

    /// Gives a packet another payload of the same length, and the ICRC that belongs to it.
    pub(crate) fn rewrite(&mut self, number: u64, payload: &[u8]) {
        let bytes = &mut self.packets[number as usize - 1].1;
        let frame = Frame::parse(bytes, LinkType::ETHERNET);
        bytes[frame.payload()].copy_from_slice(payload);
        let icrc = frame.expected_icrc(bytes).unwrap();
        let at = bytes.len() - 4;
        bytes[at..].copy_from_slice(&icrc.to_bytes());
    }

    /// Flips a bit in a packet's payload.
    pub(crate) fn damage(&mut self, number: u64) {
        let bytes = &mut self.packets[number as usize - 1].1;
        let at = bytes.len() - 6;
        bytes[at] ^= 1;
    }

    pub(crate) fn send(&mut self, from: usize, header: Header) -> u64 {
        if !self.same_identification {
            self.identification = self.identification.wrapping_add(1);
        }
        let v4 = |host: usize| Ipv4Addr::new(10, 0, 0, host as u8 + 1);
        let v6 = |host: usize| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host as u16 + 1);
        let to = 1 - from;
        let route = if self.v6 {
            Route::V6 { source: v6(from), destination: v6(to) }
        } else {
            let identification = self.identification;
            Route::V4 { source: v4(from), destination: v4(to), identification }
        };
        let mut builder = Builder::new(route);
        builder.class = TrafficClass(self.class);
        builder.source_port = Port(self.port);
        builder.tag = self.tag;
        let payload = vec![7; header.payload as usize];
        let mut out = vec![0; 8192];
        let len = builder.write(&header, &payload, &mut out).unwrap();
        out.truncate(len);
        self.raw(out)
    }

    pub(crate) fn header(&self, from: usize, opcode: Opcode, psn: u32) -> Header {
        Header {
            service: self.service,
            opcode,
            ack_request: opcode.position().ends(),
            becn: false,
            dest_qp: Qpn::new(self.qp[1 - from]),
            psn: Psn::new(psn),
            extension: Extension::None,
            payload: 0,
        }
    }

    /// A packet of a write, each full.
    pub(crate) fn write(&mut self, from: usize, opcode: Opcode, psn: u32) -> u64 {
        let mut header = self.header(from, opcode, psn);
        header.payload = MTU;
        if opcode.has_reth() {
            let length = 3 * MTU;
            header.extension = Extension::Reth(Reth { address: 0, rkey: Rkey(1), length });
        }
        self.send(from, header)
    }

    /// Writes of one packet each.
    pub(crate) fn writes(&mut self, from: usize, psns: impl IntoIterator<Item = u32>) -> u64 {
        let mut first = 0;
        for psn in psns {
            let number = self.write(from, Opcode::WriteOnly, psn);
            first = if first == 0 { number } else { first };
            self.wait(1);
        }
        first
    }

    pub(crate) fn answer(&mut self, from: usize, syndrome: Syndrome, psn: u32) -> u64 {
        let mut header = self.header(from, Opcode::Acknowledge, psn);
        header.ack_request = false;
        header.extension = Extension::Aeth(Aeth { syndrome, msn: 1 });
        self.send(from, header)
    }

    pub(crate) fn ack(&mut self, from: usize, psn: u32) -> u64 {
        self.answer(from, Syndrome::Ack { credits: 31 }, psn)
    }

    pub(crate) fn read(&mut self, from: usize, psn: u32, length: u32) -> u64 {
        let mut header = self.header(from, Opcode::ReadRequest, psn);
        header.extension = Extension::Reth(Reth { address: 0, rkey: Rkey(1), length });
        self.send(from, header)
    }

    /// The data of a read: packets of `MTU` bytes.
    pub(crate) fn read_data(&mut self, from: usize, psn: u32, packets: u32) {
        use xoff_wire::Position;
        for at in 0..packets {
            let position = Position::of(at == 0, at + 1 == packets);
            let opcode = Opcode::new(Operation::ReadResponse, position);
            let mut header = self.header(from, opcode, psn + at);
            header.ack_request = false;
            header.payload = MTU;
            if opcode.has_aeth() {
                let syndrome = Syndrome::Ack { credits: 31 };
                header.extension = Extension::Aeth(Aeth { syndrome, msn: 1 });
            }
            self.send(from, header);
            self.wait(1);
        }
    }

    pub(crate) fn cnp(&mut self, from: usize) -> u64 {
        let mut header = self.header(from, Opcode::Cnp, 0);
        header.ack_request = false;
        header.becn = true;
        self.send(from, header)
    }

    pub(crate) fn packets(&self) -> impl Iterator<Item = Packet<'_>> {
        self.packets.iter().map(|(ns, bytes)| Packet {
            timestamp: Timestamp::from_ns(*ns),
            link_type: LinkType::ETHERNET,
            interface: 0,
            wire_len: bytes.len() as u32,
            bytes,
        })
    }

    pub(crate) fn report_with(&self, options: Options) -> Report {
        let mut analysis = Analysis::new(options);
        for packet in self.packets() {
            analysis.packet(&packet);
        }
        assert_eq!(analysis.packets(), self.packets.len() as u64);
        analysis.finish()
    }

    pub(crate) fn report(&self) -> Report {
        self.report_with(Options::default())
    }

    /// The report of the same packets, each changed: into none, one or several.
    pub(crate) fn report_of(
        &self,
        change: impl Fn(u64, &[u8]) -> Vec<(LinkType, u32, Vec<u8>)>,
    ) -> Report {
        let mut analysis = Analysis::new(Options::default());
        for (number, packet) in (1..).zip(self.packets()) {
            for (link_type, interface, bytes) in change(number, packet.bytes) {
                let wire_len = bytes.len() as u32;
                let bytes = &bytes[..];
                analysis.packet(&Packet { link_type, interface, wire_len, bytes, ..packet });
            }
        }
        analysis.finish()
    }

    /// The report of a capture that keeps so many bytes of each packet.
    pub(crate) fn report_cut(&self, snap: usize) -> Report {
        let mut analysis = Analysis::new(Options::default());
        for packet in self.packets() {
            let bytes = &packet.bytes[..packet.bytes.len().min(snap)];
            analysis.packet(&Packet { bytes, ..packet });
        }
        analysis.finish()
    }

    /// Takes the packets from `number` on away and puts one datagram in their place that has them
    /// all, as segmentation offload shows it to a tap.
    pub(crate) fn glue(&mut self, number: u64) -> u64 {
        let parts = self.packets.split_off(number as usize - 1);
        let headers = if self.v6 { 62 } else { 42 };
        let (ns, mut whole) = parts[0].clone();
        for (_, part) in &parts[1..] {
            whole.extend_from_slice(&part[headers..]);
        }
        let udp = (whole.len() - headers + 8) as u16;
        let (ip, at) = if self.v6 { (udp, 18) } else { (udp + 20, 16) };
        whole[at..at + 2].copy_from_slice(&ip.to_be_bytes());
        whole[headers - 4..headers - 2].copy_from_slice(&udp.to_be_bytes());
        self.packets.push((ns, whole));
        number
    }
}

/// The only connection.
pub(crate) fn only(report: &Report) -> &Connection {
    assert_eq!(report.connections.len(), 1, "{:#?}", report.connections);
    &report.connections[0]
}

/// What its first asker asked.
pub(crate) fn forward(report: &Report) -> &Direction {
    &only(report).a_to_b
}

/// The kinds of findings, in their order.
pub(crate) fn kinds(report: &Report) -> Vec<Kind> {
    report.findings.iter().map(|finding| finding.kind).collect()
}
