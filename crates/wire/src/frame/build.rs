//! Packets from nothing.

use super::{Frame, Link, Network, Transport};
use crate::bth::{Bth, LEN as BTH_LEN};
use crate::bytes::Cursor;
use crate::capture::LinkType;
use crate::ethernet::{EtherType, Ethernet, MAX_TAGS, MacAddr, Tag};
use crate::extended::Extended;
use crate::grh::{Gid, Grh};
use crate::ip::{Protocol, TrafficClass};
use crate::ipv4::{self, Fragment, Ipv4, Options};
use crate::ipv6::Ipv6;
use crate::roce::Roce;
use crate::udp::{self, Port, Udp};
use crate::{Header, MAX_HEADER_LEN, icrc, pause};
use std::net::{Ipv4Addr, Ipv6Addr};

/// How a packet gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// RoCEv2 over IPv4.
    V4 {
        /// From whom.
        source: Ipv4Addr,
        /// To whom.
        destination: Ipv4Addr,
        /// The IPv4 identification.
        identification: u16,
    },
    /// RoCEv2 over IPv6.
    V6 {
        /// From whom.
        source: Ipv6Addr,
        /// To whom.
        destination: Ipv6Addr,
    },
    /// RoCEv1.
    V1 {
        /// From whom.
        source: Gid,
        /// To whom.
        destination: Gid,
    },
}

/// Makes Ethernet frames with right lengths, checksums and ICRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builder {
    /// From which station.
    pub source: MacAddr,
    /// To which station.
    pub destination: MacAddr,
    /// A VLAN tag.
    pub tag: Option<Tag>,
    /// How the packet gets there.
    pub route: Route,
    /// The sender's UDP port; RoCEv1 has none.
    pub source_port: Port,
    /// DSCP and ECN.
    pub class: TrafficClass,
    /// Routers it may still pass.
    pub hop_limit: u8,
}

impl Builder {
    /// A packet along `route`, everything else as senders have it by default.
    pub const fn new(route: Route) -> Self {
        Self {
            source: MacAddr([2, 0, 0, 0, 0, 1]),
            destination: MacAddr([2, 0, 0, 0, 0, 2]),
            tag: None,
            route,
            source_port: Port(0xc000),
            class: TrafficClass(2),
            hop_limit: 64,
        }
    }

    /// Writes the packet with this header and payload, whose length must be the header's. Returns
    /// the bytes written; `None` if `out` is too small or the lengths do not agree.
    pub fn write(&self, header: &Header, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut bytes = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut bytes);
        if payload.len() != header.payload as usize {
            return None;
        }
        self.write_raw(Bth::parse(&bytes)?, bytes.get(BTH_LEN..len)?, payload, out)
    }

    /// The same with a base header bit by bit and the extended headers as bytes, which need not fit
    /// the opcode. The ICRC is right.
    pub(crate) fn write_raw(
        &self,
        bth: Bth,
        extended: &[u8],
        payload: &[u8],
        out: &mut [u8],
    ) -> Option<usize> {
        let extended = Extended::new(extended)?;
        let pad = [0; 3];
        let pad = pad.get(..usize::from(bth.pad))?;
        let len = BTH_LEN + extended.as_slice().len() + payload.len() + pad.len() + icrc::LEN;
        let frame = self.frame(bth, extended, len)?;
        let mut cursor = Cursor::new(out);
        frame.emit_headers(&mut cursor);
        cursor.push(payload);
        cursor.push(pad);
        // The ICRC is computed over what has been written, with a place for itself behind it.
        let before = cursor.written().len();
        cursor.push(&[0; icrc::LEN]);
        let total = cursor.finish()?;
        let written = out.get(..total)?;
        let mut frame = frame;
        frame.start = (before - payload.len() - pad.len()) as u32;
        frame.end = (before - pad.len()) as u32;
        let icrc = frame.expected_icrc(written)?;
        out.get_mut(before..total)?.copy_from_slice(&icrc.to_bytes());
        Some(total)
    }

    /// The layers of a packet with `len` bytes from the base header to its end.
    fn frame(&self, bth: Bth, extended: Extended, len: usize) -> Option<Frame> {
        let mut frame = Frame::parse(&[], LinkType::UNKNOWN);
        // The value only has to be there; it is computed when everything else is.
        let icrc = Some(icrc::Icrc(0));
        let roce = Roce { bth, extended, payload: 0, icrc };
        let udp_len = u16::try_from(len + udp::LEN).ok()?;
        let udp = Udp {
            source: self.source_port,
            destination: Port::ROCE_V2,
            length: udp_len,
            checksum: 0,
        };
        let (network, ethertype) = self.network(udp_len)?;
        let mut tags = [None; MAX_TAGS];
        tags[0] = self.tag;
        let (source, destination) = (self.source, self.destination);
        frame.link = Link::Ethernet(Ethernet { destination, source, tags, ethertype });
        frame.network = network;
        frame.transport = match self.route {
            Route::V1 { .. } => Transport::RoceV1(roce),
            _ => Transport::RoceV2(udp, roce),
        };
        Some(frame)
    }

    fn network(&self, udp_len: u16) -> Option<(Network, EtherType)> {
        let (class, hop_limit) = (self.class, self.hop_limit);
        let ipv6 = |source, destination, payload_length, next_header| Ipv6 {
            class,
            flow_label: 0,
            payload_length,
            next_header,
            hop_limit,
            source,
            destination,
        };
        Some(match self.route {
            Route::V4 { source, destination, identification } => {
                let ip = Ipv4 {
                    class,
                    total_length: udp_len.checked_add(ipv4::LEN as u16)?,
                    identification,
                    fragment: Fragment::WHOLE,
                    ttl: hop_limit,
                    protocol: Protocol::UDP,
                    checksum: 0,
                    source,
                    destination,
                    options: Options::NONE,
                };
                let ip = Ipv4 { checksum: ip.expected_checksum(), ..ip };
                (Network::Ipv4(ip), EtherType::IPV4)
            }
            Route::V6 { source, destination } => {
                (Network::Ipv6(ipv6(source, destination, udp_len, Protocol::UDP)), EtherType::IPV6)
            }
            Route::V1 { source, destination } => {
                let len = udp_len - udp::LEN as u16;
                let grh = Grh(ipv6(source.0, destination.0, len, Protocol::IBA));
                (Network::Grh(grh), EtherType::ROCE_V1)
            }
        })
    }

    /// Writes a pause frame from `source`, filled up to the smallest Ethernet frame.
    pub fn write_pause(source: MacAddr, pause: &pause::Pause, out: &mut [u8]) -> Option<usize> {
        const SMALLEST: usize = 60;
        let ethernet = Ethernet {
            destination: pause::DESTINATION,
            source,
            tags: [None; MAX_TAGS],
            ethertype: EtherType::MAC_CONTROL,
        };
        let mut cursor = Cursor::new(out);
        super::push_part(&mut cursor, ethernet.emit());
        super::push_part(&mut cursor, pause.emit());
        let fill = SMALLEST - cursor.written().len().min(SMALLEST);
        cursor.push([0; SMALLEST].get(..fill)?);
        cursor.finish()
    }
}
