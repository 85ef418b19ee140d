//! A whole packet through all its layers.
//!
//! [`Frame::parse`] never fails: it goes as deep as the bytes make sense and says in
//! [`Frame::problem`] why it went no deeper. [`Frame::emit`] writes the same bytes again, whatever
//! they were. [`Builder`] makes packets from nothing.

mod build;

pub use crate::cooked::Cooked;
pub use build::{Builder, Route};

use crate::bytes::Cursor;
use crate::capture::LinkType;
use crate::ethernet::{EtherType, Ethernet, MacAddr};
use crate::grh::{self, Grh};
use crate::icrc::{self, Icrc};
use crate::ip::{Protocol, TrafficClass};
use crate::ipv4::Ipv4;
use crate::ipv6::{self, Ipv6};
use crate::pause::Pause;
use crate::roce::Roce;
use crate::udp::{self, Port, Udp};
use std::net::IpAddr;
use std::ops::Range;

/// What carries the network layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing, or nothing we know.
    None,
    /// Ethernet.
    Ethernet(Ethernet),
    /// A cooked capture's stand-in.
    Cooked(Cooked),
}

/// What carries the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing we know.
    None,
    /// A pause frame: nothing deeper.
    Pause(Pause),
    /// IPv4.
    Ipv4(Ipv4),
    /// IPv6.
    Ipv6(Ipv6),
    /// RoCEv1's route header.
    Grh(Grh),
}

/// What carries the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Nothing we know.
    None,
    /// UDP with something else in it.
    Udp(Udp),
    /// RoCEv2.
    RoceV2(Udp, Roce),
    /// RoCEv1.
    RoceV1(Roce),
}

/// Why a frame was not followed deeper, or not to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// The bytes end inside a header.
    Short,
    /// A header contradicts itself or the one around it.
    Malformed,
    /// A piece of an IP datagram.
    Fragment,
    /// The capture kept fewer bytes than the packet had.
    Truncated,
}

/// A packet's layers. The payload stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The link layer.
    pub link: Link,
    /// The network layer.
    pub network: Network,
    /// The transport layer.
    pub transport: Transport,
    /// Where the headers end.
    start: u32,
    /// Where the payload ends that is there.
    end: u32,
    /// Bytes that the IP lengths promise and that are not there.
    pub missing: u32,
    /// What is wrong, if something is.
    pub problem: Option<Problem>,
}

impl Frame {
    /// Takes apart the bytes of one packet.
    pub fn parse(bytes: &[u8], link_type: LinkType) -> Self {
        let mut frame = Self {
            link: Link::None,
            network: Network::None,
            transport: Transport::None,
            start: 0,
            end: bytes.len() as u32,
            missing: 0,
            problem: None,
        };
        frame.problem = frame.parse_link(bytes, link_type).err();
        if frame.missing > 0 && frame.problem.is_none() {
            frame.problem = Some(Problem::Truncated);
        }
        frame
    }

    fn parse_link(&mut self, bytes: &[u8], link_type: LinkType) -> Result<(), Problem> {
        let ethertype = match link_type {
            LinkType::ETHERNET => {
                let (ethernet, len) = Ethernet::parse(bytes).ok_or(Problem::Short)?;
                self.link = Link::Ethernet(ethernet);
                self.start = len as u32;
                ethernet.ethertype
            }
            LinkType::COOKED_V1 => {
                self.cooked(Cooked::V1(*bytes.first_chunk().ok_or(Problem::Short)?))
            }
            LinkType::COOKED_V2 => {
                self.cooked(Cooked::V2(*bytes.first_chunk().ok_or(Problem::Short)?))
            }
            other if other.is_raw_ip() => match bytes.first().map(|first| first >> 4) {
                Some(4) => EtherType::IPV4,
                Some(6) => EtherType::IPV6,
                Some(_) => return Err(Problem::Malformed),
                None => return Err(Problem::Short),
            },
            _ => return Ok(()),
        };
        match ethertype {
            EtherType::IPV4 => self.parse_ipv4(bytes),
            EtherType::IPV6 => self.parse_ipv6(bytes),
            EtherType::ROCE_V1 => self.parse_grh(bytes),
            EtherType::MAC_CONTROL => self.parse_pause(bytes),
            _ => Ok(()),
        }
    }

    fn cooked(&mut self, cooked: Cooked) -> EtherType {
        self.link = Link::Cooked(cooked);
        self.start = cooked.as_slice().len() as u32;
        cooked.ethertype()
    }

    fn parse_pause(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        // Other MAC control frames are none of our business.
        if let Some((pause, len)) = Pause::parse(self.rest(bytes)) {
            self.network = Network::Pause(pause);
            self.start += len as u32;
        }
        Ok(())
    }

    fn parse_ipv4(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let rest = self.rest(bytes);
        let (ip, len) = Ipv4::parse(rest).ok_or(short_or_bad(rest.len(), crate::ipv4::LEN))?;
        let total = usize::from(ip.total_length);
        if total < len {
            return Err(Problem::Malformed);
        }
        self.network = Network::Ipv4(ip);
        self.claim(rest.len(), total);
        self.start += len as u32;
        if ip.fragment.is_piece() {
            return Err(Problem::Fragment);
        }
        if ip.protocol == Protocol::UDP { self.parse_udp(bytes, total - len) } else { Ok(()) }
    }

    fn parse_ipv6(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let rest = self.rest(bytes);
        let ip = Ipv6::parse(rest).ok_or(short_or_bad(rest.len(), ipv6::LEN))?;
        let payload = usize::from(ip.payload_length);
        self.network = Network::Ipv6(ip);
        self.claim(rest.len(), ipv6::LEN + payload);
        self.start += ipv6::LEN as u32;
        if ip.next_header == Protocol::UDP { self.parse_udp(bytes, payload) } else { Ok(()) }
    }

    fn parse_grh(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let rest = self.rest(bytes);
        let grh = Grh::parse(rest).ok_or(short_or_bad(rest.len(), grh::LEN))?;
        let payload = usize::from(grh.0.payload_length);
        self.network = Network::Grh(grh);
        self.claim(rest.len(), grh::LEN + payload);
        self.start += grh::LEN as u32;
        if !grh.carries_transport() {
            return Ok(());
        }
        let roce = self.parse_roce(bytes, payload)?;
        self.transport = Transport::RoceV1(roce);
        Ok(())
    }

    fn parse_udp(&mut self, bytes: &[u8], len: usize) -> Result<(), Problem> {
        let rest = self.rest(bytes);
        // Where the capture ends inside the header, that is no fault of the packet's.
        let cut = self.missing > 0 && len >= udp::LEN;
        let bad = if cut { Problem::Truncated } else { short_or_bad(len, udp::LEN) };
        let udp = Udp::parse(rest).ok_or(bad)?;
        self.transport = Transport::Udp(udp);
        self.start += udp::LEN as u32;
        if usize::from(udp.length) != len {
            return Err(Problem::Malformed);
        }
        if udp.destination == Port::ROCE_V2 {
            let roce = self.parse_roce(bytes, len - udp::LEN)?;
            self.transport = Transport::RoceV2(udp, roce);
        }
        Ok(())
    }

    fn parse_roce(&mut self, bytes: &[u8], len: usize) -> Result<Roce, Problem> {
        let rest = self.rest(bytes);
        let bad = if self.missing > 0 { Problem::Truncated } else { Problem::Malformed };
        let roce = Roce::parse(rest, len).ok_or(bad)?;
        self.start += roce.header_len() as u32;
        self.end = self.end.min(self.start + roce.payload);
        Ok(roce)
    }

    /// What has not been taken apart yet, up to the end that the lengths gave so far.
    fn rest<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// A layer that begins where we are says it is `len` bytes long; `there` are there.
    fn claim(&mut self, there: usize, len: usize) {
        self.missing = len.saturating_sub(there) as u32;
        self.end = self.start + len.min(there) as u32;
    }

    /// Where the innermost payload lies that the capture kept.
    pub fn payload(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The RoCE headers, if the frame has them.
    pub fn roce(&self) -> Option<&Roce> {
        match &self.transport {
            Transport::RoceV1(roce) | Transport::RoceV2(_, roce) => Some(roce),
            _ => None,
        }
    }

    /// Whether it is RoCEv2 as far as the capture shows: UDP to RoCE's port, and nothing of the base
    /// header or not all of it. `bytes` are those it was parsed from.
    pub fn is_cut_roce(&self, bytes: &[u8]) -> bool {
        let protocol = match &self.network {
            Network::Ipv4(ip) => ip.protocol,
            Network::Ipv6(ip) => ip.next_header,
            _ => return false,
        };
        if self.problem != Some(Problem::Truncated) || protocol != Protocol::UDP {
            return false;
        }
        match &self.transport {
            Transport::Udp(udp) => udp.destination == Port::ROCE_V2,
            // The ports are the first two fields.
            Transport::None => self.rest(bytes).get(2..4) == Some(&Port::ROCE_V2.0.to_be_bytes()),
            Transport::RoceV2(..) | Transport::RoceV1(_) => false,
        }
    }

    /// The station that sent it, if the link layer says so.
    pub fn source_station(&self) -> Option<MacAddr> {
        match &self.link {
            Link::Ethernet(ethernet) => Some(ethernet.source),
            Link::Cooked(cooked) => Some(cooked.source()),
            Link::None => None,
        }
    }

    /// From whom and to whom, if it has a network layer with addresses. GIDs count as IPv6.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        match &self.network {
            Network::Ipv4(ip) => Some((ip.source.into(), ip.destination.into())),
            Network::Ipv6(ip) | Network::Grh(Grh(ip)) => {
                Some((ip.source.into(), ip.destination.into()))
            }
            Network::None | Network::Pause(_) => None,
        }
    }

    /// DSCP and ECN, if it has them.
    pub fn class(&self) -> Option<TrafficClass> {
        match &self.network {
            Network::Ipv4(ip) => Some(ip.class),
            Network::Ipv6(ip) | Network::Grh(Grh(ip)) => Some(ip.class),
            Network::None | Network::Pause(_) => None,
        }
    }

    /// The ICRC that the frame, whose bytes these are, should have. `None` if it is not RoCE or not
    /// all there.
    pub fn expected_icrc(&self, bytes: &[u8]) -> Option<Icrc> {
        let roce = self.roce()?;
        roce.icrc?;
        let transport = (self.start as usize).checked_sub(roce.header_len())?;
        let end = self.end as usize + usize::from(roce.bth.pad);
        let covered = bytes.get(transport..end)?;
        let udp_at = transport.checked_sub(udp::LEN);
        let udp = || bytes.get(udp_at?..)?.first_chunk();
        match &self.network {
            Network::Ipv4(ip) => {
                let at = udp_at?.checked_sub(ip.header_len())?;
                Some(icrc::of_ipv4(bytes.get(at..udp_at?)?, udp()?, covered))
            }
            Network::Ipv6(_) => {
                let at = udp_at?.checked_sub(ipv6::LEN)?;
                Some(icrc::of_ipv6(bytes.get(at..)?.first_chunk()?, Some(udp()?), covered))
            }
            Network::Grh(_) => {
                let at = transport.checked_sub(grh::LEN)?;
                Some(icrc::of_ipv6(bytes.get(at..)?.first_chunk()?, None, covered))
            }
            Network::None | Network::Pause(_) => None,
        }
    }

    /// Writes the frame: headers and ICRC from their values, the rest from `bytes`, which are those
    /// it was parsed from. `None` if `out` is too small.
    pub fn emit(&self, bytes: &[u8], out: &mut [u8]) -> Option<usize> {
        let mut cursor = Cursor::new(out);
        self.emit_headers(&mut cursor);
        let (start, end) = (self.start as usize, self.end as usize);
        cursor.push(bytes.get(start..end).unwrap_or_default());
        let mut tail = bytes.get(end..).unwrap_or_default();
        if let Some(Roce { icrc: Some(icrc), bth, .. }) = self.roce() {
            let (pad, after) = tail.split_at_checked(usize::from(bth.pad))?;
            cursor.push(pad);
            cursor.push(&icrc.to_bytes());
            tail = after.get(icrc::LEN..)?;
        }
        cursor.push(tail);
        cursor.finish()
    }

    fn emit_headers(&self, cursor: &mut Cursor<'_>) {
        match &self.link {
            Link::None => {}
            Link::Ethernet(ethernet) => push_part(cursor, ethernet.emit()),
            Link::Cooked(cooked) => cursor.push(cooked.as_slice()),
        }
        match &self.network {
            Network::None => {}
            Network::Pause(pause) => push_part(cursor, pause.emit()),
            Network::Ipv4(ip) => push_part(cursor, ip.emit()),
            Network::Ipv6(ip) => cursor.push(&ip.emit()),
            Network::Grh(grh) => cursor.push(&grh.emit()),
        }
        match &self.transport {
            Transport::None => {}
            Transport::Udp(udp) | Transport::RoceV2(udp, _) => cursor.push(&udp.emit()),
            Transport::RoceV1(_) => {}
        }
        if let Some(roce) = self.roce() {
            cursor.push(&roce.bth.emit());
            cursor.push(roce.extended.as_slice());
        }
    }
}

fn push_part<const N: usize>(cursor: &mut Cursor<'_>, (bytes, len): ([u8; N], usize)) {
    cursor.push(bytes.get(..len).unwrap_or_default());
}

/// Why a header was not read from `there` bytes, when it needs `len` at least.
const fn short_or_bad(there: usize, len: usize) -> Problem {
    if there < len { Problem::Short } else { Problem::Malformed }
}

#[cfg(test)]
mod tests;
