//! A packet socket, which shows what a UDP socket hides: the IPv4 identification.
//!
//! Needs `CAP_NET_RAW`. The UDP socket beside it stays open, so that the port is taken and the
//! kernel does not answer peers with "port unreachable"; what arrives there is not read.

use crate::inbox::Bundle;
use crate::syscall::{Incoming, keep_only, set_option, socket_drops};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::NonZeroU32;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use xoff_wire::ipv4;
use xoff_wire::udp;

/// What a packet socket that accepts runs puts before each packet (linux/virtio_net.h).
const RUN_HEADER: usize = 10;
/// Where that has the length of the run's packets; zero if it is none.
const SEGMENT: usize = 4;
/// Bytes of an Ethernet header without tags, which the kernel takes away.
const LINK: usize = 14;
/// UDP (RFC 768) in IPv4's protocol field.
const UDP: u8 = 17;
/// "More fragments" and the fragment's place.
const FRAGMENT: u16 = 0x3fff;

/// Do not show what we send (linux/if_packet.h).
const PACKET_IGNORE_OUTGOING: i32 = 23;

/// A packet socket for what comes to one address and port.
#[derive(Debug)]
pub(crate) struct Tap {
    socket: OwnedFd,
    address: SocketAddrV4,
}

impl Tap {
    /// Opens one, if we may.
    pub(crate) fn open(address: SocketAddrV4, buffer: usize) -> io::Result<Self> {
        let protocol = u32::from((libc::ETH_P_IP as u16).to_be());
        let protocol = NonZeroU32::new(protocol).map(Protocol::from_raw);
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)?;
        let fd = socket.as_fd();
        keep_only(fd, &filter(address))?;
        set_option(fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
        set_option(fd, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)?;
        let size = i32::try_from(buffer).unwrap_or(i32::MAX);
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, size);
        Ok(Self { socket, address })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Packets that were dropped because the receive buffer was full.
    pub(crate) fn overflows(&self) -> u64 {
        socket_drops(self.fd()).map_or(0, u64::from)
    }

    /// The packets in a message, if they are for us.
    pub(crate) fn bundle<'a>(&self, message: &'a Incoming) -> Option<Bundle<'a>> {
        let bytes = message.bytes();
        let (run, frame) = bytes.split_at_checked(RUN_HEADER)?;
        let (_, packet) = frame.split_at_checked(LINK)?;
        let (ip, _) = ipv4::Ipv4::parse(packet)?;
        let (source, destination) = (ip.source, ip.destination);
        // Packets that were queued before the filter was set have not passed it.
        if packet.first() != Some(&0x45)
            || ip.protocol.0 != UDP
            || ip.fragment.0 & FRAGMENT != 0
            || destination != *self.address.ip()
        {
            return None;
        }
        let view = udp::View::new(packet.get(ipv4::LEN..)?)?;
        if view.destination().0 != self.address.port() {
            return None;
        }
        // Frames are filled up to the shortest that Ethernet has.
        let end = usize::from(ip.total_length).min(packet.len());
        let bytes = packet.get(ipv4::LEN + udp::LEN..end)?;
        let segment = usize::from(u16::from_ne_bytes([run[SEGMENT], run[SEGMENT + 1]]));
        Some(Bundle {
            from: SocketAddr::new(IpAddr::V4(source), view.source().0),
            class: ip.class,
            bytes,
            segment: if segment == 0 { bytes.len().max(1) } else { segment },
            cut: message.cut || usize::from(ip.total_length) > packet.len(),
            identification: ip.identification,
        })
    }
}

/// A program for the kernel that keeps whole UDP packets to this address and port, and nothing
/// else.
fn filter(address: SocketAddrV4) -> [libc::sock_filter; 12] {
    // Loads count from the network header.
    const NETWORK: u32 = 0xfff0_0000;
    let (byte, half, word) = (0x30, 0x28, 0x20);
    let load = |size, at: u32| libc::sock_filter { code: size, jt: 0, jf: 0, k: NETWORK + at };
    // Each test that fails jumps to the last instruction.
    let equal = |k, left| libc::sock_filter { code: 0x15, jt: 0, jf: left, k };
    let none_of = |k, left| libc::sock_filter { code: 0x45, jt: left, jf: 0, k };
    let done = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
    [
        load(byte, 9),
        equal(UDP.into(), 9),
        load(word, 16),
        equal(ip_number(*address.ip()), 7),
        load(byte, 0),
        equal(0x45, 5),
        load(half, 6),
        none_of(FRAGMENT.into(), 3),
        load(half, 22),
        equal(address.port().into(), 1),
        done(1 << 18),
        done(0),
    ]
}

fn ip_number(ip: Ipv4Addr) -> u32 {
    u32::from_be_bytes(ip.octets())
}
