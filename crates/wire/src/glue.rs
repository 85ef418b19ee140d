//! Packets that a host's segmentation or receive offload glued together: one UDP datagram, as large as 64 KiB,
//! with several RoCE packets in it, all of one length but the last, which may be shorter.
//!
//! Such a datagram never was on the wire. [`Glued::find`] finds the length of its packets and
//! [`Glued::write`] writes each as it was, or will be: with lengths of its own and, over IPv4, with
//! an identification that counts on from the first's. (That is what Linux does when it cuts a
//! datagram up: `inet_gso_segment` adds one for each segment.)

use crate::bth::{self, Bth};
use crate::bytes::Cursor;
use crate::frame::{Frame, Link, Network, Transport};
use crate::icrc;
use crate::ipv4::Ipv4;
use crate::ipv6::Ipv6;
use crate::roce::{MAX_DATAGRAM, MAX_PAYLOAD, Roce};
use crate::udp::{self, Port, Udp};
use std::ops::Range;

/// The most packets in a datagram; Linux takes 128.
const MOST: usize = 128;
/// The shortest packet: a base header and an ICRC.
const LEAST: usize = bth::LEN + icrc::LEN;
/// Lengths whose ICRC is computed before the search gives up: bounds the work on hostile bytes.
const TRIES: usize = 64;
/// Link, network and UDP headers of any packet.
const HEADERS: usize = 128;
/// Room for any packet that [`Glued::write`] writes.
pub const ROOM: usize = HEADERS + MAX_DATAGRAM + 4;

/// How a datagram's packets lie in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glued {
    /// Where the packets are: what UDP carries.
    range: Range<usize>,
    /// Bytes of each but the last.
    segment: usize,
}

/// How the numbers of IPv4 go on from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// Each has the next one.
    Counted,
    /// All have the same.
    Fixed,
}

impl Glued {
    /// Finds the packets of a datagram. `None` if it is no RoCEv2, is not all there, or is no row of
    /// packets; a single packet is none. `frame` was parsed from `bytes`.
    pub fn find(frame: &Frame, bytes: &[u8]) -> Option<Self> {
        let udp = udp_of(frame)?;
        if frame.missing > 0 {
            return None;
        }
        let range = datagram(frame)?;
        let content = bytes.get(range.clone())?;
        let glued = |segment| Self { range: range.clone(), segment };
        // A UDP length that is not the datagram's can only be that of a packet in it.
        let said = usize::from(udp.length).checked_sub(udp::LEN);
        let said = said.filter(|said| *said < content.len());
        let mut tries = TRIES;
        for segment in said.into_iter().chain(likely(content)).chain(every(content)) {
            if !begins_packets(content, segment) {
                continue;
            }
            if tries == 0 {
                break;
            }
            tries -= 1;
            let found = glued(segment);
            if found.first_is_right(frame, bytes) {
                return Some(found);
            }
        }
        // No ICRC says where the first ends. Numbers that go on without a break do.
        let mut likely = said.into_iter().chain(likely(content)).chain(every(content));
        let fits =
            |segment: &usize| begins_packets(content, *segment) && counts_on(content, *segment);
        likely.find(fits).map(glued)
    }

    /// How many packets.
    pub fn count(&self) -> usize {
        self.range.len().div_ceil(self.segment.max(1))
    }

    /// Writes packet `at` as it is alone, with all headers, into `out`, which has [`ROOM`]. `None` if
    /// there is no such packet.
    pub fn write(
        &self,
        frame: &Frame,
        bytes: &[u8],
        at: usize,
        numbering: Numbering,
        out: &mut [u8],
    ) -> Option<usize> {
        let content = bytes.get(self.range.clone())?;
        let piece = content.chunks(self.segment.max(1)).nth(at)?;
        let udp_len = u16::try_from(udp::LEN + piece.len()).ok()?;
        let mut cursor = Cursor::new(out);
        match &frame.link {
            Link::None => {}
            Link::Ethernet(ethernet) => {
                let (header, len) = ethernet.emit();
                cursor.push(header.get(..len)?);
            }
            Link::Cooked(cooked) => cursor.push(cooked.as_slice()),
        }
        match &frame.network {
            Network::Ipv4(ip) => {
                let plus = if numbering == Numbering::Counted { at as u16 } else { 0 };
                let ip = Ipv4 {
                    total_length: udp_len.checked_add(ip.header_len() as u16)?,
                    identification: ip.identification.wrapping_add(plus),
                    ..*ip
                };
                let (header, len) = Ipv4 { checksum: ip.expected_checksum(), ..ip }.emit();
                cursor.push(header.get(..len)?);
            }
            Network::Ipv6(ip) => cursor.push(&Ipv6 { payload_length: udp_len, ..*ip }.emit()),
            Network::None | Network::Pause(_) | Network::Grh(_) => return None,
        }
        let udp = udp_of(frame)?;
        // The checksum covers what is no longer there; zero says that there is none.
        cursor.push(&Udp { length: udp_len, checksum: 0, ..udp }.emit());
        cursor.push(piece);
        cursor.finish()
    }

    /// Whether the first packet, cut off there, has the ICRC that it should have.
    fn first_is_right(&self, frame: &Frame, bytes: &[u8]) -> bool {
        let mut out = [0; ROOM];
        let Some(len) = self.write(frame, bytes, 0, Numbering::Counted, &mut out) else {
            return false;
        };
        let Some(packet) = out.get(..len) else { return false };
        let alone = Frame::parse(packet, link_type(frame));
        alone
            .roce()
            .is_some_and(|roce| roce.icrc.is_some() && roce.icrc == alone.expected_icrc(packet))
    }
}

/// The UDP header of a datagram to RoCE's port.
fn udp_of(frame: &Frame) -> Option<Udp> {
    match frame.transport {
        Transport::RoceV2(udp, _) => Some(udp),
        Transport::Udp(udp) if udp.destination == Port::ROCE_V2 => Some(udp),
        _ => None,
    }
}

/// What kind of capture begins with this link layer.
fn link_type(frame: &Frame) -> crate::capture::LinkType {
    use crate::capture::LinkType;
    use crate::cooked::Cooked;
    match frame.link {
        Link::None => LinkType::RAW_IP,
        Link::Ethernet(_) => LinkType::ETHERNET,
        Link::Cooked(Cooked::V1(_)) => LinkType::COOKED_V1,
        Link::Cooked(Cooked::V2(_)) => LinkType::COOKED_V2,
    }
}

/// Where what UDP carries lies, ICRC included.
fn datagram(frame: &Frame) -> Option<Range<usize>> {
    let payload = frame.payload();
    match &frame.transport {
        Transport::RoceV2(_, roce) => {
            let start = payload.start.checked_sub(roce.header_len())?;
            Some(start..payload.end + usize::from(roce.bth.pad) + icrc::LEN)
        }
        _ => Some(payload),
    }
}

/// Lengths that the first packet's headers suggest: what its RETH says, and full packets.
fn likely(content: &[u8]) -> impl Iterator<Item = usize> {
    let roce = Roce::parse(content, content.len());
    let around = roce.map_or(LEAST, |roce| roce.header_len() + icrc::LEN);
    let said = roce.and_then(|roce| roce.reth()).map(|reth| reth.length as usize);
    let full = (8..=12).map(|power| 1 << power);
    let limit = content.len();
    said.into_iter()
        .chain(full)
        .filter(|payload| *payload <= MAX_PAYLOAD)
        .map(move |payload| around + payload.next_multiple_of(4))
        .filter(move |segment| *segment < limit)
}

/// All lengths there can be.
fn every(content: &[u8]) -> impl Iterator<Item = usize> {
    let least = content.len().div_ceil(MOST).max(LEAST).next_multiple_of(4);
    (least..content.len().min(MAX_DATAGRAM + 4)).step_by(4)
}

/// Whether packets of the same partition begin at every multiple of `segment`.
fn begins_packets(content: &[u8], segment: usize) -> bool {
    if segment < LEAST || segment >= content.len() || content.len().div_ceil(segment) > MOST {
        return false;
    }
    let Some(first) = Bth::parse(content) else { return false };
    content.chunks(segment).all(|piece| {
        Roce::parse(piece, piece.len()).is_some_and(|roce| {
            roce.bth.pkey == first.pkey
                && roce.bth.version == first.version
                && roce.kind().is_some()
                && roce.payload as usize <= MAX_PAYLOAD
        })
    })
}

/// Whether the packets go to one queue pair and are numbered one after the other.
fn counts_on(content: &[u8], segment: usize) -> bool {
    let mut packets = content.chunks(segment.max(1)).map_while(Bth::parse);
    let Some(mut before) = packets.next() else { return false };
    packets.all(|bth| {
        let next = bth.dest_qp == before.dest_qp && bth.psn == before.psn.plus(1);
        before = bth;
        next
    })
}

#[cfg(test)]
mod tests;
