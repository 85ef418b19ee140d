//! Packets as they arrive: many at a time, and runs of them in one piece.

use crate::syscall::{Incoming, receive_many};
use crate::tap::Tap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use xoff_wire::ip::TrafficClass;

/// Messages taken with one call.
const MESSAGES: usize = 4;
/// The longest message: a run as long as IP allows, and headers where they are shown.
const LONGEST: usize = (1 << 16) + 64;

/// Room for what arrives.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    buffers: Vec<Incoming>,
    filled: usize,
}

/// Packets of one sender that arrived in one piece.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bundle<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) class: TrafficClass,
    pub(crate) bytes: &'a [u8],
    /// Bytes of each packet but the last.
    pub(crate) segment: usize,
    /// Something is missing at the end.
    pub(crate) cut: bool,
    /// The IPv4 identification of the first, or what it most likely is. The others count on from
    /// it.
    pub(crate) identification: u16,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { buffers: (0..MESSAGES).map(|_| Incoming::new(LONGEST)).collect(), filled: 0 }
    }

    /// Takes what has arrived. Says whether there was as much as fits, so that there may be more.
    pub(crate) fn fill(&mut self, fd: BorrowedFd<'_>) -> bool {
        self.filled = 0;
        loop {
            match receive_many(fd, &mut self.buffers) {
                Ok(count) => self.filled = count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Nothing there, or an error of some packet sent before: neither is of interest.
                Err(_) => {}
            }
            return self.filled == self.buffers.len() && self.filled > 0;
        }
    }

    /// What was taken, from the socket or from the tap.
    pub(crate) fn bundles(&self, tap: Option<&Tap>) -> impl Iterator<Item = Bundle<'_>> {
        self.buffers.iter().take(self.filled).filter_map(move |message| match tap {
            Some(tap) => tap.bundle(message),
            None => bundle(message),
        })
    }
}

fn bundle(message: &Incoming) -> Option<Bundle<'_>> {
    let (ip, port) = message.name.address()?;
    let bytes = message.bytes();
    let (mut class, mut segment) = (TrafficClass(0), bytes.len());
    message.control.each(|level, kind, value| match (level, kind) {
        (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
            // One byte, or an integer.
            let low = if cfg!(target_endian = "big") { value.last() } else { value.first() };
            class = TrafficClass(low.copied().unwrap_or(0));
        }
        (libc::SOL_UDP, libc::UDP_GRO) => {
            if let Some(bytes) = value.first_chunk() {
                segment = usize::try_from(i32::from_ne_bytes(*bytes)).unwrap_or(0);
            }
        }
        _ => {}
    });
    let from = SocketAddr::new(ip, port);
    Some(Bundle {
        from,
        class,
        bytes,
        segment: segment.max(1),
        cut: message.cut,
        identification: 0,
    })
}
