//! Writes a large capture, to measure how fast it is read:
//! `cargo run --release -p xoff-diagnose --example make_capture -- big.pcap 1000000000 4096`.
//!
//! Queue pairs of two hosts write messages of sixteen packets with the given payload, each
//! acknowledged. One packet in ten thousand is lost and sent again after a NAK.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::Ipv4Addr;
use xoff_wire::capture::{LinkType, Packet, PcapWriter, Timestamp};
use xoff_wire::frame::{Builder, Route};
use xoff_wire::udp::Port;
use xoff_wire::{
    Aeth, Extension, Header, Opcode, Operation, Position, Psn, Qpn, Reth, Rkey, Service, Syndrome,
};

const QPS: u32 = 64;
const MESSAGE: u32 = 16;

struct Tape<W> {
    out: PcapWriter<W>,
    now: Timestamp,
    written: u64,
    packets: u64,
    payload: Vec<u8>,
}

impl<W: Write> Tape<W> {
    fn send(&mut self, qp: u32, reply: bool, header: &Header) -> io::Result<()> {
        let hosts = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let (source, destination) = (hosts[usize::from(reply)], hosts[usize::from(!reply)]);
        let identification = self.packets as u16;
        let mut builder = Builder::new(Route::V4 { source, destination, identification });
        builder.source_port = Port(0xc000 | qp as u16);
        let mut bytes = [0; 4300];
        let payload = &self.payload[..header.payload as usize];
        let len = builder.write(header, payload, &mut bytes).expect("it fits");
        self.now = Timestamp::from_ns(self.now.as_ns() + 20 + len as u64 / 50);
        let (timestamp, link_type) = (self.now, LinkType::ETHERNET);
        let bytes = &bytes[..len];
        let wire_len = len as u32;
        self.out.write(&Packet { timestamp, link_type, interface: 0, wire_len, bytes })?;
        self.written += len as u64 + 16;
        self.packets += 1;
        Ok(())
    }

    fn write(&mut self, qp: u32, psn: Psn, at: u32) -> io::Result<()> {
        let opcode = Opcode::new(Operation::Write, Position::of(at == 0, at + 1 == MESSAGE));
        let payload = self.payload.len() as u32;
        let reth = Reth { address: 0x1000, rkey: Rkey(qp), length: MESSAGE * payload };
        let header = Header {
            service: Service::Reliable,
            opcode,
            ack_request: at + 1 == MESSAGE,
            becn: false,
            dest_qp: Qpn::new(0x200 + qp),
            psn,
            extension: if opcode.has_reth() { Extension::Reth(reth) } else { Extension::None },
            payload,
        };
        self.send(qp, false, &header)
    }

    fn answer(&mut self, qp: u32, psn: Psn, syndrome: Syndrome) -> io::Result<()> {
        let header = Header {
            service: Service::Reliable,
            opcode: Opcode::Acknowledge,
            ack_request: false,
            becn: false,
            dest_qp: Qpn::new(0x100 + qp),
            psn,
            extension: Extension::Aeth(Aeth { syndrome, msn: 0 }),
            payload: 0,
        };
        self.send(qp, true, &header)
    }
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = || io::Error::other("usage: make_capture FILE BYTES PAYLOAD");
    let path = arguments.next().ok_or_else(usage)?;
    let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
    let (Some(size), Some(payload)) = (number(), number()) else { return Err(usage()) };
    let out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut tape = Tape {
        out: PcapWriter::new(out, LinkType::ETHERNET)?,
        now: Timestamp::from_ns(1_700_000_000_000_000_000),
        written: 0,
        packets: 0,
        payload: vec![0x5a; payload.min(4096) as usize],
    };
    let mut psns: Vec<_> = (0..QPS).map(|qp| Psn::new(qp * 250_007)).collect();
    let mut message = 0;
    while tape.written < size {
        let qp = message % QPS;
        let start = psns[qp as usize];
        let lost = (message % 625 == 7).then_some(5);
        for at in 0..MESSAGE {
            if lost != Some(at) {
                tape.write(qp, start.plus(at), at)?;
            }
        }
        if let Some(lost) = lost {
            tape.answer(qp, start.plus(lost), Syndrome::SequenceError)?;
            for at in lost..MESSAGE {
                tape.write(qp, start.plus(at), at)?;
            }
        }
        tape.answer(qp, start.plus(MESSAGE - 1), Syndrome::Ack { credits: 31 })?;
        psns[qp as usize] = start.plus(MESSAGE);
        message += 1;
    }
    let (written, packets) = (tape.written, tape.packets);
    tape.out.finish()?;
    writeln!(io::stdout(), "{packets} packets, {written} bytes")
}
