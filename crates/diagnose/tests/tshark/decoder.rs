//! A second decoder, which shares nothing with the crates under test: bytes of a capture file to rows, as
//! tshark gives them, and what tshark does not do. It takes datagrams apart that an offload glued
//! together, and verifies every ICRC.

use crate::Row;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) rows: Vec<Row>,
    pub(crate) wrong: u64,
    /// Of packets that were not kept whole.
    pub(crate) unknown: u64,
    /// Datagrams with several packets.
    pub(crate) glued: u64,
    pub(crate) pauses: Pauses,
}

/// Frames that stop, frames that resume, and the times of all, by priority: eight is the whole link.
pub(crate) type Pauses = BTreeMap<(String, u8), [u64; 3]>;

fn u16_of(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

fn u24_of(bytes: &[u8], at: usize) -> u32 {
    (usize::from(bytes[at]) << 16 | u16_of(bytes, at + 1)) as u32
}

/// A classic capture file of this byte order, with Ethernet or cooked (v2) packets.
pub(crate) fn decode(file: &[u8]) -> Decoded {
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let link = word(20);
    let (mut at, mut decoded) = (24, Decoded::default());
    while at < file.len() {
        let length = word(at + 8);
        let packet = &file[at + 16..at + 16 + length];
        match link {
            1 => decoded.ethernet(packet),
            276 => decoded.network(u16_of(packet, 0), &packet[20..]),
            other => panic!("link type {other}"),
        }
        at += 16 + length;
    }
    decoded
}

impl Decoded {
    fn ethernet(&mut self, packet: &[u8]) {
        let mut at = 12;
        while matches!(u16_of(packet, at), 0x8100 | 0x88a8) {
            at += 4;
        }
        if u16_of(packet, at) == 0x8808 {
            return self.pause(packet, at + 2);
        }
        self.network(u16_of(packet, at), &packet[at + 2..]);
    }

    fn pause(&mut self, packet: &[u8], at: usize) {
        let station: Vec<String> = packet[6..12].iter().map(|byte| format!("{byte:02x}")).collect();
        let mut count = |priority: u8, quanta: usize| {
            let counts = self.pauses.entry((station.join(":"), priority)).or_default();
            counts[usize::from(quanta == 0)] += 1;
            counts[2] += quanta as u64;
        };
        match u16_of(packet, at) {
            1 => count(8, u16_of(packet, at + 2)),
            0x0101 => (0..8u8).filter(|priority| packet[at + 3] >> priority & 1 == 1).for_each(
                |priority| count(priority, u16_of(packet, at + 4 + 2 * priority as usize)),
            ),
            _ => {}
        }
    }

    fn network(&mut self, kind: usize, packet: &[u8]) {
        match kind {
            0x0800 => {
                let length = usize::from(packet[0] & 15) * 4;
                self.transport(packet[9], &packet[..length], &packet[length..]);
            }
            0x86dd => self.transport(packet[6], &packet[..40], &packet[40..]),
            _ => {}
        }
    }

    fn transport(&mut self, protocol: u8, ip: &[u8], packet: &[u8]) {
        let port = if protocol == 17 { u16_of(packet, 2) } else { 0 };
        match (protocol, port) {
            (17, 4791) => self.datagram(ip, packet),
            (17, 4789) => self.ethernet(&packet[16..]),
            // GRE with a sequence number, and a mirror session's header of version 2 or 3.
            (47, _) => match u16_of(packet, 2) {
                0x88be => self.ethernet(&packet[16..]),
                0x22eb => self.ethernet(&packet[20..]),
                _ => {}
            },
            _ => {}
        }
    }

    /// One packet or several of one length, the last of which may be shorter.
    fn datagram(&mut self, ip: &[u8], udp: &[u8]) {
        let total = u16_of(udp, 4) - 8;
        let kept = &udp[8..];
        if kept.len() < total {
            self.unknown += 1;
            return self.row(ip, kept, total);
        }
        let kept = &kept[..total];
        let is_right = |part: &[u8], nth: usize| icrc(ip, &udp[..4], part, nth) == ending(part);
        // Full packets first: headers of at most 32 bytes and a power of two. Otherwise any length.
        let full = (8..=12).flat_map(|power| (4..=8).map(move |words| (1 << power) + 4 * words));
        let any = (16..total).step_by(4);
        let mut lengths = full.filter(|&length| length < total).chain(any);
        match lengths.find(|&length| is_right(&kept[..length], 0)) {
            _ if is_right(kept, 0) => self.row(ip, kept, total),
            Some(length) => {
                self.glued += 1;
                for (nth, part) in kept.chunks(length).enumerate() {
                    if is_right(part, nth) {
                        self.row(ip, part, part.len());
                    } else {
                        self.wrong += 1;
                    }
                }
            }
            None => self.wrong += 1,
        }
    }

    fn row(&mut self, ip: &[u8], packet: &[u8], length: usize) {
        let v6 = ip[0] >> 4 == 6;
        let address = |at: usize| {
            if v6 {
                Ipv6Addr::from(<[u8; 16]>::try_from(&ip[at..at + 16]).unwrap()).to_string()
            } else {
                Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap()).to_string()
            }
        };
        let (source, destination) = if v6 { (8, 24) } else { (12, 16) };
        let opcode = packet[0];
        let answers = opcode == 0x11 || opcode == 0x12 || (0x0d..=0x10).contains(&opcode);
        let class = if v6 { (u16_of(ip, 0) >> 4) as u8 } else { ip[1] };
        self.rows.push(Row {
            source: address(source),
            destination: address(destination),
            opcode,
            qp: u24_of(packet, 5),
            psn: u24_of(packet, 9),
            syndrome: (answers && opcode != 0x0e).then(|| packet[12]),
            congested: class & 3 == 3,
            udp: length as u64 + 8,
            pad: u64::from(packet[1] >> 4 & 3),
            from: (opcode >> 5 == 3).then(|| u24_of(packet, 17)),
        });
    }
}

fn ending(packet: &[u8]) -> u32 {
    u32::from_le_bytes(packet[packet.len() - 4..].try_into().unwrap())
}

/// The check sum of a packet, the `nth` of its datagram: of everything that does not change on the way.
fn icrc(ip: &[u8], ports: &[u8], packet: &[u8], nth: usize) -> u32 {
    let mut bytes = vec![0xff; 8];
    bytes.extend(ip);
    let length = packet.len() + 8;
    if ip[0] >> 4 == 6 {
        bytes[8] = 0x6f;
        bytes[9..12].fill(0xff);
        bytes[12..14].copy_from_slice(&(length as u16).to_be_bytes());
        bytes[15] = 0xff;
    } else {
        bytes[9] = 0xff;
        bytes[10..12].copy_from_slice(&((length + ip.len()) as u16).to_be_bytes());
        let identification = u16_of(ip, 4) as u16;
        bytes[12..14].copy_from_slice(&identification.wrapping_add(nth as u16).to_be_bytes());
        bytes[16] = 0xff;
        bytes[18..20].fill(0xff);
    }
    bytes.extend(ports);
    bytes.extend((length as u16).to_be_bytes());
    bytes.extend([0xff; 2]);
    let start = bytes.len();
    bytes.extend(&packet[..packet.len() - 4]);
    bytes[start + 4] = 0xff;
    !bytes.iter().fold(u32::MAX, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8)
}

/// What each byte does to the sum.
static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut crc, mut bit) = (at as u32, 0);
        while bit < 8 {
            crc = crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            bit += 1;
        }
        table[at] = crc;
        at += 1;
    }
    table
};
