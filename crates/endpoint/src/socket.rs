//! UDP sockets set up for RoCE.

use crate::error::OpenError;
use crate::syscall::set_option;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// A socket and what it can do.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UdpSocket,
    /// The kernel takes runs of packets.
    pub(crate) segmentation: bool,
    v6: bool,
}

impl Socket {
    /// A socket at `address` that sends what the ICRC can be computed for, and shows what is marked.
    pub(crate) fn open(
        address: SocketAddr,
        buffer: usize,
        segmentation: bool,
        coalescing: bool,
    ) -> Result<Self, OpenError> {
        let failed = |what| move |error| OpenError::Socket { what, error };
        let socket = UdpSocket::bind(address).map_err(failed("cannot listen at the address"))?;
        socket.set_nonblocking(true).map_err(failed("cannot set the socket up"))?;
        let this = Self { socket, segmentation, v6: address.is_ipv6() };
        this.prepare().map_err(failed("cannot set the socket up"))?;
        let size = i32::try_from(buffer).unwrap_or(i32::MAX);
        // As much as may be had: the first asks for more than the limit, which needs rights.
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

    fn prepare(&self) -> io::Result<()> {
        if self.v6 {
            self.set(libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO)?;
            self.set(libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
            // Peers send no UDP checksum, which IPv6 forbids unless one says that one knows.
            self.set(libc::SOL_UDP, UDP_NO_CHECK6_RX, 1)
        } else {
            // Never fragmented, so the identification is zero, or the place in a run.
            self.set(libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO)?;
            self.set(libc::IPPROTO_IP, libc::IP_RECVTOS, 1)
        }
    }

    fn set(&self, level: i32, name: i32, value: i32) -> io::Result<()> {
        set_option(self.fd(), level, name, value)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(crate) fn is_v6(&self) -> bool {
        self.v6
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Take packets without a checksum (linux/udp.h); the C library has no name for it.
const UDP_NO_CHECK6_RX: i32 = 102;
