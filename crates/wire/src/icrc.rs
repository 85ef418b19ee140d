//! The invariant CRC: what protects a packet from end to end (IBTA 7.8.1, annexes A16 and A17).
//!
//! It is the CRC-32 of Ethernet over everything that routers do not change. What they may change
//! counts as ones: of IPv4 the type of service, time to live and checksum; of IPv6 and the GRH the
//! traffic class, flow label and hop limit; the UDP checksum; and the byte of the base header with
//! the congestion bits. In front stand eight bytes of ones in place of InfiniBand's local header.
//!
//! [`Flow`] serves a sender or receiver that does not see the IP header: everything constant is
//! hashed once per flow. Because a CRC is linear, the few fields that differ from packet to packet
//! (lengths and the IPv4 identification) are added by table, and only what starts at the base
//! header is hashed per packet.

mod linear;
mod reverse;

use crate::bytes::put;
use crate::ipv4::{self, Fragment};
use crate::udp::{self, Port};
use crate::{bth, ipv6};
use crc32fast::Hasher;
use linear::Contribution;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of the ICRC, behind payload and padding.
pub const LEN: usize = 4;
/// Bytes that count as ones in place of a local route header.
const LOCAL: usize = 8;
/// The last bytes before the base header, which are hashed together with it: sixteen bytes are hashed
/// faster than twelve, which are too few for the wide instructions.
const LAST: usize = 4;
/// Bytes in front of a packet that [`EquallyLong`] hashes.
pub const FRONT: usize = LAST;
/// Bytes between IPv4's total length and the last ones.
const TAIL_V4: usize = 24 - LAST;
/// What the identification adds.
static ID_V4: Contribution = Contribution::new(TAIL_V4 - 2);
/// What follows a base header is short up to here: with what is before it less than the 128 bytes from which several
/// blocks are hashed side by side.
const SHORT: usize = 108;
/// The congestion and reserved bits of the base header.
const BTH_MASKED: usize = 4;

/// An invariant CRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Icrc(pub u32);

impl Icrc {
    /// As it stands on the wire: the least significant byte first.
    pub const fn to_bytes(self) -> [u8; LEN] {
        self.0.to_le_bytes()
    }

    /// From the wire.
    pub(crate) const fn from_bytes(bytes: [u8; LEN]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }
}

impl fmt::Display for Icrc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08x}", self.0)
    }
}

/// What goes through the ICRC of every packet of a flow, hashed once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The CRC of the headers but for the last bytes, with zeros for lengths and identification.
    base: u32,
    /// The last bytes: with UDP its length, to be filled in, and checksum.
    last: [u8; LAST],
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    V4,
    V6,
    V1,
}

impl Flow {
    /// Packets over IPv4, without options. `fragment` holds the flags; a socket that discovers the
    /// path MTU sends [`Fragment::WHOLE`].
    pub fn v4(
        (source, source_port): (Ipv4Addr, Port),
        destination: Ipv4Addr,
        fragment: Fragment,
    ) -> Self {
        Self::v4_to((source, source_port), (destination, Port::ROCE_V2), fragment)
    }

    /// The same to another UDP port than RoCE's, for tests on one address.
    pub fn v4_to(
        (source, source_port): (Ipv4Addr, Port),
        (destination, port): (Ipv4Addr, Port),
        fragment: Fragment,
    ) -> Self {
        const N: usize = LOCAL + ipv4::LEN + udp::LEN;
        let mut out = [0xff; N];
        out[8] = 0x45;
        put::<10, 4, N>(&mut out, [0; 4]);
        put::<14, 2, N>(&mut out, fragment.0.to_be_bytes());
        out[17] = 17;
        put::<20, 4, N>(&mut out, source.octets());
        put::<24, 4, N>(&mut out, destination.octets());
        put::<28, 2, N>(&mut out, source_port.0.to_be_bytes());
        put::<30, 2, N>(&mut out, port.0.to_be_bytes());
        put::<32, 2, N>(&mut out, [0; 2]);
        Self::new(&out, Kind::V4)
    }

    /// Packets over IPv6.
    pub fn v6((source, source_port): (Ipv6Addr, Port), destination: Ipv6Addr) -> Self {
        Self::v6_to((source, source_port), (destination, Port::ROCE_V2))
    }

    /// The same to another UDP port than RoCE's, for tests on one address.
    pub fn v6_to(
        (source, source_port): (Ipv6Addr, Port),
        (destination, port): (Ipv6Addr, Port),
    ) -> Self {
        const N: usize = LOCAL + ipv6::LEN + udp::LEN;
        let mut out = [0xff; N];
        out[8] = 0x6f;
        put::<12, 2, N>(&mut out, [0; 2]);
        out[14] = 17;
        put::<16, 16, N>(&mut out, source.octets());
        put::<32, 16, N>(&mut out, destination.octets());
        put::<48, 2, N>(&mut out, source_port.0.to_be_bytes());
        put::<50, 2, N>(&mut out, port.0.to_be_bytes());
        put::<52, 2, N>(&mut out, [0; 2]);
        Self::new(&out, Kind::V6)
    }

    /// Packets of RoCEv1, between two GIDs.
    ///
    /// ```
    /// use xoff_wire::{grh::Gid, icrc::Flow};
    ///
    /// let gid = |last| Gid(std::net::Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last));
    /// let there = Flow::v1(gid(1), gid(2));
    /// let back = Flow::v1(gid(2), gid(1));
    /// assert_ne!(there, back, "the addresses are in the checksum");
    /// ```
    pub fn v1(source: crate::grh::Gid, destination: crate::grh::Gid) -> Self {
        const N: usize = LOCAL + ipv6::LEN;
        let mut out = [0xff; N];
        out[8] = 0x6f;
        put::<12, 2, N>(&mut out, [0; 2]);
        out[14] = crate::ip::Protocol::IBA.0;
        put::<16, 16, N>(&mut out, source.0.octets());
        put::<32, 16, N>(&mut out, destination.0.octets());
        Self::new(&out, Kind::V1)
    }

    fn new(headers: &[u8], kind: Kind) -> Self {
        let (start, last) = headers.split_at(headers.len() - LAST);
        let last = [last[0], last[1], last[2], last[3]];
        Self { base: crc32fast::hash(start), last, kind }
    }

    /// The ICRC of a packet of the flow.
    ///
    /// `headers` begin with the base header; `rest` is what follows them, in as many pieces as the
    /// caller has it: payload and padding, without the ICRC. `identification` is that of the IPv4
    /// header and counts for nothing elsewhere.
    pub fn icrc(&self, identification: u16, headers: &[u8], rest: &[&[u8]]) -> Icrc {
        let covered = headers.len() + rest.iter().map(|piece| piece.len()).sum::<usize>();
        let (start, last) = self.start(identification, (covered + LEN) as u16);
        let mut hasher = Hasher::new_with_initial(start);
        hash_masked(&mut hasher, last, headers);
        for piece in rest {
            hasher.update(piece);
        }
        Icrc(hasher.finalize())
    }

    /// What the ICRCs of packets of the flow have in common that are all as long: `covered` bytes from the base header to
    /// before the ICRC.
    pub fn equally_long(&self, covered: usize) -> EquallyLong {
        let (start, last) = self.start(0, (covered + LEN) as u16);
        EquallyLong { start, last, kind: self.kind }
    }

    /// The IPv4 identification with which a packet of the flow would have this ICRC, if there is one:
    /// for a receiver who is not shown the identification. `covered` is everything from the base
    /// header to before the ICRC.
    ///
    /// The ICRCs of all identifications are 65,536 of the 2^32 there are, so that one corrupted
    /// packet in 65,536 passes. Without an identification (not IPv4) all have to agree, and the
    /// answer is zero.
    pub fn identification(&self, covered: &[u8], icrc: Icrc) -> Option<u16> {
        let difference = self.icrc(0, covered, &[]).0 ^ icrc.0;
        match self.kind {
            _ if difference == 0 => Some(0),
            Kind::V4 => reverse::identification(difference, covered.len()),
            Kind::V6 | Kind::V1 => None,
        }
    }

    /// The CRC up to the last bytes before the base header of a packet with `len` bytes from there to
    /// its end, and those bytes.
    fn start(&self, identification: u16, len: u16) -> (u32, [u8; LAST]) {
        const TOTAL_V4: Contribution = Contribution::new(TAIL_V4);
        const PAYLOAD_V6: Contribution = Contribution::new(42 - LAST);
        const PAYLOAD_V1: Contribution = Contribution::new(34 - LAST);
        let udp = len.wrapping_add(udp::LEN as u16);
        let added = match self.kind {
            Kind::V4 => TOTAL_V4.of(udp.wrapping_add(ipv4::LEN as u16)) ^ ID_V4.of(identification),
            Kind::V6 => PAYLOAD_V6.of(udp),
            Kind::V1 => PAYLOAD_V1.of(len),
        };
        let [high, low] = udp.to_be_bytes();
        let last = match self.kind {
            Kind::V4 | Kind::V6 => [high, low, self.last[2], self.last[3]],
            Kind::V1 => self.last,
        };
        (self.base ^ added, last)
    }
}

/// What the ICRCs of equally long packets of a [`Flow`] have in common.
#[derive(Debug, Clone, Copy)]
pub struct EquallyLong {
    /// The CRC up to the last bytes before the base header, with identification zero, and those bytes.
    start: u32,
    last: [u8; LAST],
    kind: Kind,
}

impl EquallyLong {
    /// The ICRC of a packet with this IPv4 identification. `packet` is [`FRONT`] bytes that may be anything, and then all
    /// from the base header to before the ICRC, which is left as it is.
    ///
    /// ```
    /// use std::net::Ipv6Addr;
    /// use xoff_wire::icrc::{FRONT, Flow};
    /// use xoff_wire::udp::Port;
    ///
    /// let flow = Flow::v6((Ipv6Addr::LOCALHOST, Port(50_000)), Ipv6Addr::LOCALHOST);
    /// let mut packet = [7; FRONT + 92];
    /// let sum = flow.equally_long(92).icrc(0, &mut packet);
    /// assert_eq!(sum, flow.icrc(0, &packet[FRONT..], &[]));
    /// ```
    #[inline]
    pub fn icrc(&self, identification: u16, packet: &mut [u8]) -> Icrc {
        debug_assert!(packet.len() >= FRONT + bth::LEN, "a packet begins with a base header");
        let added = if self.kind == Kind::V4 { ID_V4.of(identification) } else { 0 };
        let mut hasher = Hasher::new_with_initial(self.start ^ added);
        packet[..LAST].copy_from_slice(&self.last);
        let masked = std::mem::replace(&mut packet[LAST + BTH_MASKED], 0xff);
        hasher.update(packet);
        packet[LAST + BTH_MASKED] = masked;
        Icrc(hasher.finalize())
    }
}

/// Hashes what begins with a base header, the congestion byte as ones, and the bytes before it.
fn hash_masked(hasher: &mut Hasher, last: [u8; LAST], bytes: &[u8]) {
    // Of a packet with payload only as much is copied as has to be, so that what is left of a whole MTU
    // is a multiple of the blocks that it is hashed in.
    if let Some((base, later)) = bytes.split_first_chunk::<{ bth::LEN }>()
        && (later.is_empty() || later.len() > SHORT)
    {
        let mut head = [0; LAST + bth::LEN];
        put::<0, LAST, _>(&mut head, last);
        put::<LAST, { bth::LEN }, _>(&mut head, *base);
        head[LAST + BTH_MASKED] = 0xff;
        hasher.update(&head);
        if !later.is_empty() {
            hasher.update(later);
        }
        return;
    }
    // Short headers in one call instead of two.
    let mut head = [0; LAST + bth::LEN + SHORT];
    head[..LAST].copy_from_slice(&last);
    head[LAST..LAST + bytes.len()].copy_from_slice(bytes);
    head[LAST + BTH_MASKED] = 0xff;
    hasher.update(&head[..LAST + bytes.len()]);
}

/// The ICRC of a RoCEv2 packet over IPv4 whose headers are at hand: `ip` with its options, then
/// `udp`, then everything from the base header to before the ICRC.
pub(crate) fn of_ipv4(ip: &[u8], udp: &[u8; udp::LEN], covered: &[u8]) -> Icrc {
    let mut masked = [0xff; LOCAL + ipv4::MAX_LEN];
    let len = ip.len().min(ipv4::MAX_LEN);
    masked[LOCAL..LOCAL + len].copy_from_slice(&ip[..len]);
    masked[LOCAL + 1] = 0xff;
    masked[LOCAL + 8] = 0xff;
    masked[LOCAL + 10] = 0xff;
    masked[LOCAL + 11] = 0xff;
    finish(&masked[..LOCAL + len], Some(udp), covered)
}

/// The ICRC of a packet over IPv6 or, without UDP, of RoCEv1.
pub(crate) fn of_ipv6(ip: &[u8; ipv6::LEN], udp: Option<&[u8; udp::LEN]>, covered: &[u8]) -> Icrc {
    let mut masked = [0xff; LOCAL + ipv6::LEN];
    masked[LOCAL..].copy_from_slice(ip);
    masked[LOCAL] |= 0x0f;
    masked[LOCAL + 1..LOCAL + 4].fill(0xff);
    masked[LOCAL + 7] = 0xff;
    finish(&masked, udp, covered)
}

fn finish(network: &[u8], udp: Option<&[u8; udp::LEN]>, covered: &[u8]) -> Icrc {
    let mut hasher = Hasher::new();
    let last = match udp {
        Some(udp) => {
            hasher.update(network);
            hasher.update(&udp[..LAST]);
            [udp[4], udp[5], 0xff, 0xff]
        }
        None => {
            let (start, last) = network.split_at(network.len() - LAST);
            hasher.update(start);
            [last[0], last[1], last[2], last[3]]
        }
    };
    debug_assert!(covered.len() >= bth::LEN);
    hash_masked(&mut hasher, last, covered);
    Icrc(hasher.finalize())
}

#[cfg(test)]
mod tests;
