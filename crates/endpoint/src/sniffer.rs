//! Everything that passes an interface, both ways: what `xoff inspect --follow` reads.
//!
//! A packet socket without a filter but for the interface. Needs `CAP_NET_RAW`. The kernel keeps what is not
//! read in time up to the socket's buffer; what it drops beyond that is counted
//! ([`Sniffer::dropped`]). VLAN tags, which the kernel takes out of packets, are put back.

use crate::syscall::{Incoming, MOST, keep_only, receive_many, set_option, socket_drops};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use xoff_wire::capture::{LinkType, Packet, Timestamp};

/// Bytes of the longest packet: 64 KiB of IP, glued by offloads, and the link's header.
const ROOM: usize = (1 << 16) + 64;
/// What the kernel keeps for us until we read it, at most.
const BUFFER: i32 = 64 << 20;

/// Where a filter program finds the interface's number (linux/filter.h).
const INTERFACE: u32 = 0xffff_f000 + 8;
/// Shows how many packets were dropped so far, and where a tag was (linux/if_packet.h).
const PACKET_AUXDATA: i32 = 8;
/// A packet's state: a tag was taken out, and its kind is known.
const TAGGED: u32 = 1 << 4;
const TAG_KIND: u32 = 1 << 6;
/// Kinds of links (linux/if_arp.h).
const ETHERNET: u16 = 1;
const LOOPBACK: u16 = 772;
const NO_HEADER: u16 = 0xfffe;
/// What leaves the host (linux/if_packet.h).
const OUTGOING: u8 = 4;
/// Where a tag belongs: behind the two addresses.
const TAG_AT: usize = 12;

/// A packet socket that sees everything on one interface.
#[derive(Debug)]
pub struct Sniffer {
    socket: OwnedFd,
    interface: u32,
    incoming: Vec<Incoming>,
    /// A packet with its tag put back.
    tagged: Vec<u8>,
    dropped: u64,
}

/// What the kernel says beside a packet.
#[derive(Debug, Clone, Copy, Default)]
struct Beside {
    when: Timestamp,
    dropped: Option<u32>,
    /// The length it had.
    length: Option<u32>,
    tag: Option<[u8; 4]>,
}

impl Sniffer {
    /// Begins to listen on the interface of this name.
    pub fn open(interface: &str) -> io::Result<Self> {
        let protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
        let protocol = NonZeroU32::new(protocol).map(Protocol::from_raw);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)?;
        let fd = socket.as_fd();
        let index = name_to_index(fd, interface)?;
        keep_only(fd, &only(index))?;
        // A smaller buffer drops sooner, which is counted.
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, BUFFER);
        set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        set_option(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
        set_option(fd, libc::SOL_PACKET, PACKET_AUXDATA, 1)?;
        let incoming = (0..MOST).map(|_| Incoming::new(ROOM)).collect();
        Ok(Self { socket, interface: index, incoming, tagged: Vec::new(), dropped: 0 })
    }

    /// Packets that came faster than they were read.
    pub fn dropped(&self) -> u64 {
        // A kernel that does not say it of the socket says it beside a later packet.
        let counted = socket_drops(self.socket.as_fd()).map_or(0, u64::from);
        counted.max(self.dropped)
    }

    /// Calls `each` with the packets that came by `end` and were not read yet.
    pub fn finish(&mut self, end: Timestamp, mut each: impl FnMut(&Packet<'_>)) -> io::Result<()> {
        let mut later = false;
        loop {
            let received = self.receive(Duration::ZERO, |packet| {
                if packet.timestamp <= end {
                    each(packet);
                } else {
                    later = true;
                }
            })?;
            if received == 0 || later {
                return Ok(());
            }
        }
    }

    /// Waits a while for packets and calls `each` with those that came.
    pub fn receive(
        &mut self,
        timeout: Duration,
        mut each: impl FnMut(&Packet<'_>),
    ) -> io::Result<usize> {
        let time = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let own = PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN);
        match poll(&mut [own], Some(&time)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let count = match receive_many(self.socket.as_fd(), &mut self.incoming) {
            Ok(count) => count,
            Err(error) if is_nothing(&error) => return Ok(0),
            Err(error) => return Err(error),
        };
        for message in self.incoming.iter().take(count) {
            let beside = beside(message);
            if let Some(dropped) = beside.dropped {
                self.dropped = u64::from(dropped);
            }
            let Some((interface, link_type, outgoing)) = origin(message.name.as_slice()) else {
                continue;
            };
            // Packets that were queued before the filter was set have not passed it.
            if interface != self.interface || outgoing && link_type.1 {
                continue;
            }
            let bytes = match beside.tag {
                Some(tag) => put_back(&mut self.tagged, message.bytes(), tag),
                None => message.bytes(),
            };
            let added = bytes.len() - message.bytes().len();
            let wire_len = beside.length.map_or(message.bytes().len(), |length| length as usize);
            each(&Packet {
                timestamp: beside.when,
                link_type: link_type.0,
                interface: 0,
                wire_len: (wire_len + added) as u32,
                bytes,
            });
        }
        Ok(count)
    }
}

fn is_nothing(error: &io::Error) -> bool {
    // An interface that goes down says so once, and may come back.
    let down = error.raw_os_error() == Some(libc::ENETDOWN);
    down || matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A program for the kernel that keeps what passes one interface.
fn only(index: u32) -> [libc::sock_filter; 4] {
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    [step(0x20, 0, INTERFACE), step(0x15, 1, index), step(0x06, 0, 1 << 18), step(0x06, 0, 0)]
}

/// The interface that a packet passed, what its bytes begin with and whether that is a loopback, and
/// whether it was on its way out; from a `sockaddr_ll`.
fn origin(name: &[u8]) -> Option<(u32, (LinkType, bool), bool)> {
    let interface = u32::from_ne_bytes(*name.get(4..)?.first_chunk()?);
    let link_type = match u16::from_ne_bytes(*name.get(8..)?.first_chunk()?) {
        ETHERNET => (LinkType::ETHERNET, false),
        // Everything passes a loopback twice.
        LOOPBACK => (LinkType::ETHERNET, true),
        NO_HEADER => (LinkType::RAW_IP, false),
        _ => (LinkType::UNKNOWN, false),
    };
    Some((interface, link_type, *name.get(10)? == OUTGOING))
}

/// Reads what the kernel says beside a packet.
fn beside(message: &Incoming) -> Beside {
    let mut beside = Beside::default();
    message.control.each(|level, kind, value| {
        let word = |at: usize| Some(u32::from_ne_bytes(*value.get(at..)?.first_chunk()?));
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS) => {
                beside.when = timestamp(value).unwrap_or_default();
            }
            (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => beside.dropped = word(0),
            (libc::SOL_PACKET, PACKET_AUXDATA) => {
                beside.length = word(4);
                beside.tag = tag(value);
            }
            _ => {}
        }
    });
    beside
}

fn timestamp(value: &[u8]) -> Option<Timestamp> {
    let seconds = i64::from_ne_bytes(*value.first_chunk()?);
    let ns = i64::from_ne_bytes(*value.get(8..)?.first_chunk()?);
    let ns = seconds.checked_mul(1_000_000_000)?.checked_add(ns)?;
    Some(Timestamp::from_ns(u64::try_from(ns).ok()?))
}

/// The tag that was taken out of a packet; from a `tpacket_auxdata`.
fn tag(value: &[u8]) -> Option<[u8; 4]> {
    let status = u32::from_ne_bytes(*value.first_chunk()?);
    let short = |at: usize| Some(u16::from_ne_bytes(*value.get(at..)?.first_chunk()?));
    if status & TAGGED == 0 {
        return None;
    }
    let kind = if status & TAG_KIND == 0 { 0x8100 } else { short(18)? };
    let ([a, b], [c, d]) = (kind.to_be_bytes(), short(16)?.to_be_bytes());
    Some([a, b, c, d])
}

/// The packet with its tag where it was.
fn put_back<'a>(room: &'a mut Vec<u8>, bytes: &[u8], tag: [u8; 4]) -> &'a [u8] {
    let (addresses, rest) = bytes.split_at(bytes.len().min(TAG_AT));
    room.clear();
    room.extend_from_slice(addresses);
    room.extend_from_slice(&tag);
    room.extend_from_slice(rest);
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let mut message = Incoming::new(4);
        let mut aux = [0; 20];
        aux[..4].copy_from_slice(&(TAGGED | TAG_KIND).to_ne_bytes());
        aux[4..8].copy_from_slice(&1500u32.to_ne_bytes());
        aux[16..18].copy_from_slice(&0x6064u16.to_ne_bytes());
        aux[18..].copy_from_slice(&0x88a8u16.to_ne_bytes());
        let mut time = [0; 16];
        time[..8].copy_from_slice(&2i64.to_ne_bytes());
        time[8..].copy_from_slice(&7i64.to_ne_bytes());
        message.control.push(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &time);
        message.control.push(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &9u32.to_ne_bytes());
        message.control.push(libc::SOL_PACKET, PACKET_AUXDATA, &aux);
        let beside = beside(&message);
        assert_eq!(beside.when, Timestamp::from_ns(2_000_000_007));
        assert_eq!((beside.dropped, beside.length), (Some(9), Some(1500)));
        assert_eq!(beside.tag, Some([0x88, 0xa8, 0x60, 0x64]));
        let mut room = Vec::new();
        let back = put_back(&mut room, b"twelve bytesrest", [1, 2, 3, 4]);
        assert_eq!(back, b"twelve bytes\x01\x02\x03\x04rest");
        assert_eq!(put_back(&mut room, b"few", [1, 2, 3, 4]), b"few\x01\x02\x03\x04");
    }

    #[test]
    fn where_a_packet_came_from() {
        let mut name = [0; 20];
        name[4..8].copy_from_slice(&3u32.to_ne_bytes());
        name[8..10].copy_from_slice(&LOOPBACK.to_ne_bytes());
        name[10] = OUTGOING;
        assert_eq!(origin(&name), Some((3, (LinkType::ETHERNET, true), true)));
        assert_eq!(origin(&name[..9]), None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert!(Sniffer::open("no-such-if0").is_err());
    }
}
