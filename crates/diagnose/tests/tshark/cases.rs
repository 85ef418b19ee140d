//! Captures of every trouble, made packet by packet, and the ways in which a file may hold them.

use crate::harness::{MTU, Tape};
use flate2::write::GzEncoder;
use std::io::Write;
use xoff_wire::capture::{LinkType, Packet, PcapWriter, PcapngWriter};
use xoff_wire::{
    Aeth, Deth, Extension, Header, Immediate, Opcode, Operation, Position, Qpn, Reth, Rkey,
    Service, Syndrome,
};

/// A capture and its name.
pub(crate) type Case = (&'static str, Tape);

fn data(tape: &mut Tape, first: u32, at: u32, of: u32) {
    let position = Position::of(at == 0, at + 1 == of);
    let mut header = tape.header(1, Opcode::new(Operation::ReadResponse, position), first + at);
    header.ack_request = false;
    header.payload = MTU;
    if header.opcode.has_aeth() {
        let syndrome = Syndrome::Ack { credits: 31 };
        header.extension = Extension::Aeth(Aeth { syndrome, msn: 1 });
    }
    tape.wait(1).send(1, header);
}

/// A pause of some priorities, by a station.
fn pause(station: u8, priorities: &[(u8, u16)]) -> Vec<u8> {
    let mut bytes = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, station, 0x88, 8, 1, 1, 0, 0];
    bytes.extend([0; 42]);
    for (priority, quanta) in priorities {
        bytes[17] |= 1 << priority;
        let at = 18 + 2 * usize::from(*priority);
        bytes[at..at + 2].copy_from_slice(&quanta.to_be_bytes());
    }
    bytes
}

fn write(tape: &mut Tape, from: usize, first: u32, length: u32, extra: u32) {
    let count = length.div_ceil(MTU);
    for at in 0..count {
        let opcode = Opcode::new(Operation::Write, Position::of(at == 0, at + 1 == count));
        let mut header = tape.header(from, opcode, first + at);
        header.payload = (length - at * MTU).min(MTU) - extra;
        if at == 0 {
            header.extension = Extension::Reth(Reth { address: 64, rkey: Rkey(9), length });
        }
        tape.wait(1).send(from, header);
    }
}

fn with(service: Service, make: impl FnOnce(&mut Tape)) -> Tape {
    let mut tape = Tape::new();
    tape.service = service;
    make(&mut tape);
    tape
}

fn rc(make: impl FnOnce(&mut Tape)) -> Tape {
    with(Service::Reliable, make)
}

/// What happens to reliable connections.
fn reliable() -> Vec<Case> {
    vec![
        (
            "clean",
            rc(|tape| {
                (0..10).for_each(|n| {
                    write(tape, 0, n * 5, 5 * MTU - 100, 0);
                    tape.wait(3).ack(1, n * 5 + 4);
                });
            }),
        ),
        (
            "both ways",
            rc(|tape| {
                (0..10).for_each(|n| {
                    write(tape, 0, n * 3, 3 * MTU, 0);
                    write(tape, 1, 900 + n * 2, 2 * MTU, 0);
                    tape.wait(3).ack(1, n * 3 + 2);
                    tape.ack(0, 900 + n * 2 + 1);
                });
            }),
        ),
        (
            "lost at a message boundary",
            rc(|tape| {
                tape.writes(0, (0..40).filter(|psn| ![10, 20, 21].contains(psn)));
                tape.answer(1, Syndrome::SequenceError, 10);
                tape.wait(700).writes(0, 10..40);
                tape.wait(2).ack(1, 39);
            }),
        ),
        (
            "never captured",
            rc(|tape| {
                tape.writes(0, (0..40).filter(|psn| psn % 7 != 3));
                tape.wait(2).ack(1, 39);
            }),
        ),
        (
            "never came",
            rc(|tape| {
                tape.writes(0, (0..40).filter(|psn| *psn != 12));
            }),
        ),
        (
            "out of order",
            rc(|tape| {
                tape.writes(0, [0, 1, 4, 2, 3, 5, 8, 7, 6, 9]);
                tape.ack(1, 9);
            }),
        ),
        (
            "late read data",
            rc(|tape| {
                tape.read(0, 100, 8 * MTU);
                [0, 1, 2, 5, 6, 7].into_iter().for_each(|at| data(tape, 100, at, 8));
                tape.wait(900).read(0, 103, 5 * MTU);
                (0..5).for_each(|at| data(tape, 103, at, 5));
            }),
        ),
        (
            "read data out of order",
            rc(|tape| {
                tape.read(0, 100, 8 * MTU);
                [0, 1, 4, 2, 3, 6, 5, 7].into_iter().for_each(|at| data(tape, 100, at, 8));
                tape.read(0, 108, 2 * MTU);
                [0, 1].into_iter().for_each(|at| data(tape, 108, at, 2));
            }),
        ),
        (
            "not ready",
            rc(|tape| {
                tape.writes(0, 0..4);
                tape.answer(1, Syndrome::RnrNak { timer: 12 }, 2);
                tape.wait(2000).writes(0, 2..4);
                tape.answer(1, Syndrome::RemoteAccessError, 3);
            }),
        ),
        (
            "wrong icrc",
            rc(|tape| {
                tape.writes(0, 0..10);
                tape.damage(4);
                tape.damage(7);
                tape.ack(1, 9);
            }),
        ),
        (
            "atomics",
            rc(|tape| {
                (0..10).for_each(|psn| {
                    let opcode = if psn % 3 == 0 { Opcode::CompareSwap } else { Opcode::FetchAdd };
                    let mut header = tape.header(0, opcode, psn);
                    let (address, rkey) = (64, Rkey(9));
                    header.extension = Extension::Atomic { address, rkey, operand: 1, compare: 0 };
                    tape.wait(5).send(0, header);
                    let mut answer = tape.header(1, Opcode::AtomicAcknowledge, psn);
                    let aeth = Aeth { syndrome: Syndrome::Ack { credits: 31 }, msn: psn };
                    answer.extension = Extension::AtomicAck(aeth, 7);
                    answer.ack_request = false;
                    tape.wait(5).send(1, answer);
                });
            }),
        ),
    ]
}

/// What the network says, and what is not reliable.
fn others() -> Vec<Case> {
    vec![
        (
            "marks and notifications",
            rc(|tape| {
                (0..40).for_each(|psn| {
                    tape.class = if psn % 3 == 0 { 3 } else { 2 };
                    tape.writes(0, [psn]);
                    tape.class = 2;
                    if psn % 5 == 0 {
                        tape.wait(50).cnp(1);
                    }
                });
                tape.ack(1, 39);
            }),
        ),
        (
            "pauses",
            rc(|tape| {
                for n in 0..60 {
                    let station = [7, 9][n % 2];
                    let time = if n % 5 == 4 { 0 } else { 600 + n as u16 };
                    tape.wait(3).raw(pause(station, &[(3, time), (4 + (n % 2) as u8, 0xffff)]));
                    tape.writes(0, [n as u32]);
                }
                let mut link = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 7, 0x88, 8, 0, 1, 1, 0];
                link.extend([0; 42]);
                tape.raw(link);
                tape.ack(1, 59);
            }),
        ),
        (
            "odd lengths, immediate data",
            rc(|tape| {
                write(tape, 0, 0, 4 * MTU - 101, 0);
                let mut header = tape.header(0, Opcode::WriteOnlyImm, 4);
                header.payload = 13;
                let reth = Reth { address: 3, rkey: Rkey(9), length: 13 };
                header.extension = Extension::RethImm(reth, Immediate([1, 2, 3, 4]));
                tape.wait(1).send(0, header);
                let mut header = tape.header(0, Opcode::SendOnlyImm, 5);
                (header.payload, header.extension) = (1, Extension::Imm(Immediate([9; 4])));
                tape.wait(1).send(0, header);
                tape.wait(1).ack(1, 5);
            }),
        ),
        (
            "over v6",
            rc(|tape| {
                tape.v6 = true;
                tape.writes(0, (0..20).filter(|psn| *psn != 7));
                tape.wait(600).writes(0, 7..20);
                tape.ack(1, 19);
                tape.read(1, 50, 3 * MTU);
            }),
        ),
        (
            "unreliable",
            with(Service::Unreliable, |tape| {
                (0..12).filter(|n| n % 4 != 1).for_each(|n| write(tape, 0, n * 3, 3 * MTU - 9, 0));
            }),
        ),
        (
            "datagrams",
            with(Service::Datagram, |tape| {
                for psn in 0..20 {
                    let header = Header {
                        opcode: Opcode::SendOnly,
                        extension: Extension::Deth(Deth { qkey: 5, source: Qpn::new(0x11) }),
                        payload: 100 + psn % 4,
                        ..tape.header(0, Opcode::SendOnly, psn)
                    };
                    tape.wait(1).send(0, header);
                }
            }),
        ),
    ]
}

pub(crate) fn all() -> Vec<Case> {
    reliable().into_iter().chain(others()).collect()
}

// ---- the same in other files

/// Packets as a file's bytes, each changed by `change` into any number of others.
pub(crate) fn file(
    tape: &Tape,
    link_type: LinkType,
    change: impl Fn(u64, &[u8]) -> Vec<Vec<u8>>,
    snap: usize,
) -> Vec<u8> {
    let mut writer = PcapWriter::new(Vec::new(), link_type).unwrap();
    for (number, packet) in (1..).zip(tape.packets()) {
        for bytes in change(number, packet.bytes) {
            let wire_len = bytes.len() as u32;
            let bytes = &bytes[..bytes.len().min(snap)];
            writer.write(&Packet { link_type, wire_len, bytes, ..packet }).unwrap();
        }
    }
    writer.finish().unwrap()
}

pub(crate) fn plain(tape: &Tape) -> Vec<u8> {
    file(tape, LinkType::ETHERNET, |_, bytes| vec![bytes.to_vec()], usize::MAX)
}

pub(crate) fn pcapng(tape: &Tape) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    tape.packets().for_each(|packet| writer.write(&packet).unwrap());
    writer.finish().unwrap()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// As `-i any` records a packet that passes two interfaces: what is no pause, twice.
pub(crate) fn on_two_interfaces(tape: &Tape) -> Vec<u8> {
    let cooked = |frame: &[u8], interface: u8, kind: u8| {
        let head = [0, 0, 0, 0, 0, interface, 0, 1, kind, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&frame[12..14], &head, &frame[14..]].concat()
    };
    let change = |_: u64, frame: &[u8]| vec![cooked(frame, 2, 4), cooked(frame, 3, 0)];
    file(tape, LinkType::COOKED_V2, change, usize::MAX)
}

/// The same packets as a host with segmentation offload shows them: runs of one flow in one datagram, as
/// long as they are alike and the last is not longer. Those of `-1` ICRCs end a run.
pub(crate) fn glued(tape: &Tape) -> Vec<u8> {
    let packets: Vec<Packet<'_>> = tape.packets().collect();
    let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET).unwrap();
    let mut at = 0;
    while at < packets.len() {
        let first = packets[at].bytes;
        let headers = if first[12] == 0x86 { 62 } else { 42 };
        let roce = |bytes: &[u8]| bytes[12..14] != [0x88, 8] && bytes.len() > headers;
        let next_id = |count: usize, bytes: &[u8]| {
            let id = |bytes: &[u8]| u16::from_be_bytes([bytes[18], bytes[19]]);
            first[12] == 0x86 || id(first).wrapping_add(count as u16) == id(bytes)
        };
        let mut end = at + 1;
        while end < packets.len() && end - at < 15 && roce(first) {
            let (last, next) = (packets[end - 1].bytes, packets[end].bytes);
            let same = roce(next)
                && last.len() == first.len()
                && next.len() <= first.len()
                && next[..16] == first[..16]
                && next[headers - 22..headers - 4] == first[headers - 22..headers - 4]
                && next_id(end - at, next)
                && class(next) == class(first);
            if !same {
                break;
            }
            end += 1;
        }
        let mut whole = first.to_vec();
        packets[at + 1..end].iter().for_each(|part| whole.extend(&part.bytes[headers..]));
        if end - at > 1 {
            let udp = (whole.len() - headers + 8) as u16;
            let (ip, place) = if first[12] == 0x86 { (udp, 18) } else { (udp + 20, 16) };
            whole[place..place + 2].copy_from_slice(&ip.to_be_bytes());
            whole[headers - 4..headers - 2].copy_from_slice(&udp.to_be_bytes());
        }
        let wire_len = whole.len() as u32;
        writer.write(&Packet { wire_len, bytes: &whole, ..packets[at] }).unwrap();
        at = end;
    }
    writer.finish().unwrap()
}

fn class(frame: &[u8]) -> u8 {
    if frame[12] == 0x86 { frame[15] } else { frame[15] & 3 }
}
