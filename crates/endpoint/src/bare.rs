//! The same bytes without any protocol: what an endpoint's speed is to be compared with.
//!
//! Runs of packets as long as RoCE's go from one UDP socket to another, with the same offloads and
//! calls as a [`Device`](crate::Device) uses, and their contents are ignored.

use crate::error::OpenError;
use crate::name::{Control, Name};
use crate::settings::Waiting;
use crate::socket::Socket;
use crate::syscall::{Incoming, Outgoing, receive_many, send_many};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use xoff_units::Bytes;
use xoff_wire::icrc::Flow;
use xoff_wire::ipv4::Fragment;
use xoff_wire::udp::Port;

/// Packets in a run.
const RUN: usize = 15;

/// Computes the ICRC of each packet in `bytes`, all `packet` long and the first 12 bytes their headers, as a sender and a
/// receiver do, and returns something that depends on all of them.
pub fn checksums(bytes: &[u8], packet: Bytes) -> u32 {
    let here = (Ipv4Addr::LOCALHOST, Port::ROCE_V2);
    let flow = Flow::v4(here, Ipv4Addr::LOCALHOST, Fragment::WHOLE);
    let of = |packet: &[u8]| {
        let (head, payload) = packet.split_at(packet.len().min(12));
        flow.icrc(0, head, &[payload]).0
    };
    bytes.chunks_exact((packet.get() as usize).max(1)).map(of).fold(0, |all, sum| all ^ sum)
}

/// A UDP socket with nothing on top.
#[derive(Debug)]
pub struct Bare {
    socket: Socket,
    incoming: Vec<Incoming>,
    waiting: Waiting,
}

impl Bare {
    /// Opens one.
    pub fn open(address: SocketAddr, waiting: Waiting) -> Result<Self, OpenError> {
        let socket = Socket::open(address, 4 << 20, true, true)?;
        Ok(Self { socket, incoming: (0..8).map(|_| Incoming::new(1 << 16)).collect(), waiting })
    }

    /// Sends runs of packets of this payload until the socket is full, or eight of them. Says how
    /// many bytes it took.
    pub fn send_runs(&self, to: SocketAddr, payload: Bytes) -> Bytes {
        let segment = (payload.get() as usize).clamp(1, 4368);
        let bytes = [0; RUN * 4368];
        let mut control = Control::EMPTY;
        control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &(segment as u16).to_ne_bytes());
        let name = Name::of(to);
        let pieces = &[IoSlice::new(&bytes[..RUN * segment])];
        let run = Outgoing { name: &name, control: &control, pieces };
        match send_many(self.socket.fd(), &[run; 2]) {
            Ok(sent) => Bytes::new((sent * RUN * segment) as u64),
            Err(_) => {
                self.sleep(PollFlags::OUT, Duration::from_millis(10));
                Bytes::ZERO
            }
        }
    }

    /// Sends one packet.
    pub fn send(&self, to: SocketAddr, bytes: &[u8]) -> bool {
        let name = Name::of(to);
        let pieces = &[IoSlice::new(bytes)];
        let message = Outgoing { name: &name, control: &Control::EMPTY, pieces };
        matches!(send_many(self.socket.fd(), &[message]), Ok(1))
    }

    /// Takes what has arrived, waiting for it for a while. Says how many bytes it was.
    pub fn receive(&mut self, timeout: Duration) -> Bytes {
        if self.waiting == Waiting::Sleep {
            self.sleep(PollFlags::IN, timeout);
        }
        let count = receive_many(self.socket.fd(), &mut self.incoming).unwrap_or(0);
        Bytes::new(self.incoming.iter().take(count).map(|one| one.bytes().len() as u64).sum())
    }

    fn sleep(&self, flags: PollFlags, timeout: Duration) {
        let time = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let _ = poll(&mut [PollFd::from_borrowed_fd(self.socket.fd(), flags)], Some(&time));
    }
}
