//! Frames inside packets: VXLAN (RFC 7348), and GRE (RFC 2784, 2890) with what switches mirror in it, ERSPAN
//! types I to III.
//!
//! [`inside`] looks one level deep; a caller that goes deeper decides how deep.

use crate::capture::LinkType;
use crate::ethernet::EtherType;
use crate::frame::{Frame, Network, Transport};
use crate::ip::Protocol;
use crate::udp::Port;
use std::fmt;
use std::ops::Range;

/// Bytes of a VXLAN header.
const VXLAN_LEN: usize = 8;
/// The flag that the network identifier is valid.
const VXLAN_VALID: u8 = 0x08;

/// Bytes of a GRE header without optional fields, and of each such field.
const GRE_LEN: usize = 4;
const GRE_FIELD: usize = 4;
const GRE_CHECKSUM: u8 = 0x80;
const GRE_KEY: u8 = 0x20;
const GRE_SEQUENCE: u8 = 0x10;
/// GRE's protocol types that are not Ethernet's.
const BRIDGED: EtherType = EtherType(0x6558);
const ERSPAN: EtherType = EtherType(0x88be);
const ERSPAN_III: EtherType = EtherType(0x22eb);

/// Bytes of ERSPAN's own header by type, and of the part that a flag of type III announces.
const ERSPAN_II_LEN: usize = 8;
const ERSPAN_III_LEN: usize = 12;
const ERSPAN_PLATFORM_LEN: usize = 8;
/// Where type III says what kind of frame it mirrors: 0 for Ethernet, 2 for IP.
const FRAME_TYPE_ETHERNET: u8 = 0;
const FRAME_TYPE_IP: u8 = 2;

/// What a packet carries a frame in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tunnel {
    /// An overlay network.
    Vxlan,
    /// A mirror session without a header of its own.
    ErspanI,
    /// A mirror session.
    ErspanII,
    /// A mirror session with timestamps.
    ErspanIII,
    /// Anything else in GRE.
    Gre,
}

impl Tunnel {
    /// All there are.
    pub const ALL: [Self; 5] =
        [Self::Vxlan, Self::ErspanI, Self::ErspanII, Self::ErspanIII, Self::Gre];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "VXLAN",
            Self::ErspanI => "ERSPAN I",
            Self::ErspanII => "ERSPAN II",
            Self::ErspanIII => "ERSPAN III",
            Self::Gre => "GRE",
        }
    }
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A frame inside a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// What carries it.
    pub tunnel: Tunnel,
    /// Where its bytes are, as far as the capture kept them.
    pub range: Range<usize>,
    /// What they begin with.
    pub link_type: LinkType,
    /// The network, mirror session, port and direction, as far as the tunnel's header says them: the same
    /// for all packets that came the same way, and otherwise without meaning.
    pub session: u64,
}

/// The frame that a packet carries, if it does. `bytes` are those that `outer` was parsed from.
pub fn inside(outer: &Frame, bytes: &[u8]) -> Option<Inside> {
    let payload = outer.payload();
    let content = bytes.get(payload.clone())?;
    let (tunnel, header, link_type, session) = match (&outer.transport, &outer.network) {
        (Transport::Udp(udp), _) if udp.destination == Port::VXLAN => vxlan(content)?,
        (Transport::None, Network::Ipv4(ip)) if ip.protocol == Protocol::GRE => gre(content)?,
        (Transport::None, Network::Ipv6(ip)) if ip.next_header == Protocol::GRE => gre(content)?,
        _ => return None,
    };
    let range = payload.start + header..payload.end;
    (range.start < range.end).then_some(Inside { tunnel, range, link_type, session })
}

/// What it is, the bytes of its headers, what follows them, and the session.
type Header = (Tunnel, usize, LinkType, u64);

fn vxlan(bytes: &[u8]) -> Option<Header> {
    let header = bytes.first_chunk::<VXLAN_LEN>()?;
    let network = u64::from_be_bytes(*header);
    let valid = header[0] & VXLAN_VALID != 0;
    valid.then_some((Tunnel::Vxlan, VXLAN_LEN, LinkType::ETHERNET, network))
}

fn gre(bytes: &[u8]) -> Option<Header> {
    let &[flags, version, a, b] = bytes.first_chunk::<GRE_LEN>()?;
    // Version 1 is PPTP's.
    if version & 7 != 0 {
        return None;
    }
    let fields = [GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE];
    let fields = fields.iter().filter(|flag| flags & **flag != 0).count();
    let header = GRE_LEN + fields * GRE_FIELD;
    let ethernet = LinkType::ETHERNET;
    match EtherType(u16::from_be_bytes([a, b])) {
        EtherType::IPV4 | EtherType::IPV6 => Some((Tunnel::Gre, header, LinkType::RAW_IP, 0)),
        BRIDGED => Some((Tunnel::Gre, header, ethernet, 0)),
        // Type I has neither a sequence number nor a header.
        ERSPAN if flags & GRE_SEQUENCE == 0 => Some((Tunnel::ErspanI, header, ethernet, 0)),
        ERSPAN => {
            let session = u64::from_be_bytes(*bytes.get(header..)?.first_chunk()?);
            Some((Tunnel::ErspanII, header + ERSPAN_II_LEN, ethernet, session))
        }
        ERSPAN_III => erspan_iii(bytes.get(header..)?, header),
        _ => None,
    }
}

fn erspan_iii(bytes: &[u8], before: usize) -> Option<Header> {
    let head = bytes.first_chunk::<ERSPAN_III_LEN>()?;
    // P, five bits of frame type, hardware, direction, granularity; the last bit announces more.
    let frame_type = head[10] >> 2 & 0x1f;
    let more = if head[11] & 1 == 1 { ERSPAN_PLATFORM_LEN } else { 0 };
    let link_type = match frame_type {
        FRAME_TYPE_ETHERNET => LinkType::ETHERNET,
        FRAME_TYPE_IP => LinkType::RAW_IP,
        _ => return None,
    };
    // Session and direction; the timestamp between them differs from packet to packet.
    let session =
        u64::from_be_bytes([0, 0, head[0], head[1], head[2], head[3], head[10], head[11]]);
    Some((Tunnel::ErspanIII, before + ERSPAN_III_LEN + more, link_type, session))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame with an IPv4 packet of this protocol.
    fn packet(protocol: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend([0x08, 0x00, 0x45, 0]);
        bytes.extend((20 + content.len() as u16).to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(content);
        bytes
    }

    fn look(bytes: &[u8]) -> Option<(Tunnel, Vec<u8>, LinkType)> {
        let frame = Frame::parse(bytes, LinkType::ETHERNET);
        let found = inside(&frame, bytes)?;
        Some((found.tunnel, bytes[found.range].to_vec(), found.link_type))
    }

    #[test]
    fn what_is_in_vxlan() {
        let mut udp = vec![0xc0, 0, 0x12, 0xb5, 0, 20, 0, 0];
        udp.extend([8, 0, 0, 0, 0, 0, 7, 0]);
        udp.extend(b"mine");
        let (ethernet, mine) = (LinkType::ETHERNET, b"mine".to_vec());
        assert_eq!(look(&packet(17, &udp)), Some((Tunnel::Vxlan, mine, ethernet)));
        udp[8] = 0;
        assert_eq!(look(&packet(17, &udp)), None, "no network identifier");
    }

    #[test]
    fn what_is_in_gre() {
        let cases: [(&[u8], Option<Tunnel>); 7] = [
            (&[0, 0, 0x88, 0xbe], Some(Tunnel::ErspanI)),
            (&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 2, 0, 0, 0, 3], Some(Tunnel::ErspanII)),
            (
                &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 2, 9, 9, 9, 9, 0, 0, 0, 0],
                Some(Tunnel::ErspanIII),
            ),
            (
                &[
                    0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 2, 9, 9, 9, 9, 0, 0, 0, 1, 1, 2,
                    3, 4, 5, 6, 7, 8,
                ],
                Some(Tunnel::ErspanIII),
            ),
            (&[0xb0, 0, 0x65, 0x58, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], Some(Tunnel::Gre)),
            (&[0x10, 1, 0x88, 0xbe, 0, 0, 0, 1], None),
            (&[0, 0, 0x12, 0x34], None),
        ];
        for (header, tunnel) in cases {
            let found = look(&packet(47, &[header, b"mine"].concat()));
            let expected = tunnel.map(|tunnel| (tunnel, b"mine".to_vec(), LinkType::ETHERNET));
            assert_eq!(found, expected, "{header:?}");
        }
    }

    #[test]
    fn a_mirrored_ip_packet_has_no_ethernet_header() {
        let mut header = vec![0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 2, 9, 9, 9, 9, 0, 0];
        header.extend([2 << 2, 0]);
        let (_, _, link_type) = look(&packet(47, &[&header[..], b"mine"].concat())).unwrap();
        assert_eq!(link_type, LinkType::RAW_IP);
        header[18] = 1 << 2;
        assert_eq!(look(&packet(47, &[&header[..], b"mine"].concat())), None, "InfiniBand or so");
    }

    #[test]
    fn nothing_inside_is_nothing() {
        assert_eq!(look(&packet(47, &[0, 0, 0x88, 0xbe])), None);
        assert_eq!(look(&packet(47, &[0x10, 0, 0x88, 0xbe, 0])), None, "cut inside the header");
    }
}
