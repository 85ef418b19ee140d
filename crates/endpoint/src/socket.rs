//! UDP sockets set up for RoCE.

use crate::error::OpenError;
use crate::syscall::{set_option, socket_drops};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use xoff_wire::ip::{Ecn, TrafficClass};

/// The default class of the sockets: setting another for each packet costs time.
pub(crate) const USUAL_CLASS: TrafficClass = TrafficClass::new(26, Ecn::Capable0);

/// One of the ports a device sends from: the first is the one it listens at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Door(u8);

/// A socket and what it can do, and others at the same address that only send.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UdpSocket,
    doors: Vec<UdpSocket>,
    /// The kernel takes runs of packets.
    pub(crate) segmentation: bool,
    v6: bool,
}

impl Socket {
    /// A socket at `address` that sends what the ICRC can be computed for, and shows what is
    /// marked.
    pub(crate) fn open(
        address: SocketAddr,
        buffer: usize,
        segmentation: bool,
        coalescing: bool,
    ) -> Result<Self, OpenError> {
        let failed = |what| move |error| OpenError::Socket { what, error };
        let socket = UdpSocket::bind(address).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => OpenError::InUse(address),
            _ => OpenError::Bind { address, error },
        })?;
        socket.set_nonblocking(true).map_err(failed("cannot set the socket up"))?;
        let v6 = address.is_ipv6();
        let this = Self { socket, doors: Vec::new(), segmentation, v6 };
        this.prepare(&this.socket).map_err(failed("cannot set the socket up"))?;
        let size = i32::try_from(buffer).unwrap_or(i32::MAX);
        // As much as the kernel gives: the first attempt may pass the limit, which needs
        // privileges.
        for (force, ask) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            let _ = this
                .set(libc::SOL_SOCKET, force, size)
                .or_else(|_| this.set(libc::SOL_SOCKET, ask, size));
        }
        if coalescing {
            // Without it packets come one by one, which is only slower.
            let _ = this.set(libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        Ok(this)
    }

    fn prepare(&self, socket: &UdpSocket) -> io::Result<()> {
        let set = |level, name, value| set_option(socket.as_fd(), level, name, value);
        let class = USUAL_CLASS.0.into();
        if self.v6 {
            set(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, class)?;
            set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)?;
            set(libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            // Peers send no UDP checksum, which IPv6 forbids unless one says that one knows.
            set(libc::SOL_UDP, UDP_NO_CHECK6_RX, 1)
        } else {
            set(libc::IPPROTO_IP, libc::IP_TOS, class)?;
            // Never fragmented, so the identification is zero, or the place in a run.
            set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
            set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)
        }
    }

    fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        set_option(self.fd(), level, name, value)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Opens another port to send from, or finds it open.
    pub(crate) fn open_door(&mut self, address: SocketAddr) -> Option<Door> {
        let here = |door: &UdpSocket| door.local_addr().is_ok_and(|own| own == address);
        if let Some(index) = self.doors.iter().position(here) {
            return Some(Door(index as u8 + 1));
        }
        if self.doors.len() >= MOST_DOORS {
            return None;
        }
        let door = UdpSocket::bind(address).ok()?;
        door.set_nonblocking(true).ok()?;
        self.prepare(&door).ok()?;
        close_to_arrivals(&door);
        self.doors.push(door);
        Some(Door(self.doors.len() as u8))
    }

    /// The socket behind a door.
    pub(crate) fn door(&self, door: Door) -> BorrowedFd<'_> {
        let other = usize::from(door.0).checked_sub(1).and_then(|index| self.doors.get(index));
        other.unwrap_or(&self.socket).as_fd()
    }

    /// Another socket takes what arrives here.
    pub(crate) fn ignore_arrivals(&self) {
        close_to_arrivals(&self.socket);
    }

    /// Packets that arrived and were dropped because the receive buffer was full.
    pub(crate) fn overflows(&self) -> u64 {
        socket_drops(self.fd()).map_or(0, u64::from)
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.v6
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Ports that a device sends from beside its own. With more queue pairs than that, some share.
const MOST_DOORS: usize = 128;

/// Leaves as little room as possible for packets that will not be read.
fn close_to_arrivals(socket: &UdpSocket) {
    let _ = set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, 1);
}

/// Take packets without a checksum (linux/udp.h); the C library has no name for it.
const UDP_NO_CHECK6_RX: i32 = 102;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discard::Reasons;
    use crate::inbox::Inbox;
    use crate::memory::{Place, Store};
    use crate::outbox::{Outbox, Route};
    use crate::verify::flow;
    use xoff_wire::{Extension, Header, Opcode, Psn, Qpn, Service};

    /// The class that a packet arrives with which was sent in `class`.
    fn seen(from: &mut Socket, to: &Socket, class: TrafficClass) -> TrafficClass {
        let (source, destination) = (from.address().unwrap(), to.address().unwrap());
        let route = Route::new(destination, flow(source, destination).unwrap());
        let header = Header {
            service: Service::Reliable,
            opcode: Opcode::SendOnly,
            ack_request: false,
            becn: false,
            dest_qp: Qpn::new(5),
            psn: Psn::new(0),
            extension: Extension::None,
            payload: 0,
        };
        let (mut outbox, mut inbox, store) = (Outbox::new(), Inbox::new(), Store::new(1, 1));
        // Two of them are a run, which has a message for the kernel in any case.
        assert!(outbox.push(&route, class, &header, Place::NOTHING, &store, true));
        assert!(outbox.push(&route, class, &header, Place::NOTHING, &store, true));
        outbox.flush(from, &store, &mut Reasons::default());
        inbox.fill(to.fd());
        inbox.bundles(None).map(|bundle| bundle.class).next().expect("it arrived")
    }

    #[test]
    fn packets_arrive_in_the_class_they_were_sent_in() {
        for address in ["127.91.200.1:0", "[::1]:0"] {
            let open = || Socket::open(address.parse().unwrap(), 1 << 16, true, true).unwrap();
            let (mut from, to) = (open(), open());
            for class in [USUAL_CLASS.0, 0, 0xff, USUAL_CLASS.0 | 3, USUAL_CLASS.0] {
                assert_eq!(seen(&mut from, &to, TrafficClass(class)), TrafficClass(class));
            }
        }
    }
}
