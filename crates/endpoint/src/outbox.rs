//! Packets on their way out: put together in one buffer, and sent many at a time.

use crate::discard::{Reason, Reasons};
use crate::name::{Control, Name};
use crate::socket::Socket;
use crate::syscall::{MOST, Outgoing, send_many};
use std::io;
use std::net::SocketAddr;
use xoff_wire::icrc::{self, Flow};
use xoff_wire::ip::TrafficClass;
use xoff_wire::roce::MAX_DATAGRAM;
use xoff_wire::{Header, MAX_HEADER_LEN};

/// Bytes held at a time: two runs, which stay in the cache between copying and sending.
const ROOM: usize = 160 << 10;
/// Runs held at a time.
const RUNS: usize = MOST;
/// The longest run that fits a datagram of IPv4.
const LONGEST_RUN: usize = 65_507;
/// The most packets in a run that every kernel takes.
const MOST_IN_RUN: u16 = 64;

/// The way to a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    name: Name,
    flow: Flow,
}

impl Route {
    pub(crate) fn new(address: SocketAddr, flow: Flow) -> Self {
        Self { address, name: Name::of(address), flow }
    }
}

/// Packets for one peer that leave with one call: equally long, but the last may be shorter.
#[derive(Debug, Clone, Copy)]
struct Run {
    name: Name,
    flow: Flow,
    class: TrafficClass,
    start: usize,
    end: usize,
    /// Bytes of its first packet.
    segment: usize,
    count: u16,
    /// Another packet may follow.
    open: bool,
}

/// Packets that wait to be sent.
#[derive(Debug)]
pub(crate) struct Outbox {
    buffer: Box<[u8]>,
    filled: usize,
    runs: Vec<Run>,
    /// Runs already sent.
    sent: usize,
    /// Packets put in so far.
    pub(crate) packets: u64,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        let buffer = vec![0; ROOM].into_boxed_slice();
        Self { buffer, filled: 0, runs: Vec::with_capacity(RUNS), sent: 0, packets: 0 }
    }

    /// Whether another packet fits for sure.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.runs.len() < RUNS && self.filled + MAX_DATAGRAM + 8 <= ROOM
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.runs.len()
    }

    /// Adds a packet, whose ICRC depends on its place in the run. Says whether there was room.
    #[inline]
    pub(crate) fn push(
        &mut self,
        route: &Route,
        class: TrafficClass,
        header: &Header,
        payload: &[u8],
        segmentation: bool,
    ) -> bool {
        let mut head = [0; MAX_HEADER_LEN];
        let head_len = header.encode(&mut head);
        let pad = payload.len().wrapping_neg() & 3;
        let covered = head_len + payload.len() + pad;
        let length = covered + icrc::LEN;
        if self.runs.len() >= RUNS {
            return false;
        }
        let Some(room) = self.buffer.get_mut(self.filled..self.filled + length) else {
            return false;
        };
        let (before, sum) = room.split_at_mut(covered);
        before[..head_len].copy_from_slice(&head[..head_len]);
        before[head_len..head_len + payload.len()].copy_from_slice(payload);
        before[head_len + payload.len()..].fill(0);
        let sum_of = |identification| route.flow.icrc(identification, before, &[]).to_bytes();
        let joins = self.runs.last_mut().filter(|run| {
            segmentation && run.takes(length) && run.class == class && run.name == route.name
        });
        match joins {
            Some(run) => {
                sum.copy_from_slice(&sum_of(run.count));
                run.open = length == run.segment;
                run.count += 1;
                run.end += length;
            }
            None => {
                sum.copy_from_slice(&sum_of(0));
                self.runs.push(Run {
                    name: route.name,
                    flow: route.flow,
                    class,
                    start: self.filled,
                    end: self.filled + length,
                    segment: length,
                    count: 1,
                    open: true,
                });
            }
        }
        self.filled += length;
        self.packets += 1;
        true
    }

    /// Sends what it can. What the socket has no room for stays.
    pub(crate) fn flush(&mut self, socket: &mut Socket, reasons: &mut Reasons) {
        while !self.is_empty() {
            match self.send_some(socket) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => self.refused(&error, socket, reasons),
            }
        }
        self.runs.clear();
        (self.sent, self.filled) = (0, 0);
    }

    fn send_some(&self, socket: &Socket) -> io::Result<usize> {
        let mut controls = [Control::EMPTY; MOST];
        let waiting = &self.runs[self.sent..];
        for (run, control) in waiting.iter().zip(&mut controls) {
            run.describe(socket.is_v6(), control);
        }
        let empty = Outgoing { name: &Name::EMPTY, control: &Control::EMPTY, bytes: &[] };
        let mut messages = [empty; MOST];
        let count = waiting.len().min(MOST);
        for ((run, control), message) in waiting.iter().zip(&controls).zip(&mut messages) {
            let bytes = &self.buffer[run.start..run.end];
            *message = Outgoing { name: &run.name, control, bytes };
        }
        send_many(socket.fd(), &messages[..count])
    }

    /// The first run was not taken: if it was one of many, its packets are tried one by one, and so
    /// is everything from then on. Otherwise it is lost, as packets are.
    #[cold]
    fn refused(&mut self, error: &io::Error, socket: &mut Socket, reasons: &mut Reasons) {
        let refuses_runs = matches!(
            error.raw_os_error(),
            Some(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::EMSGSIZE | libc::ENOPROTOOPT)
        );
        let Some(run) = self.runs.get(self.sent).copied() else { return };
        if run.count > 1 && refuses_runs {
            // Packets longer than the path allows are refused one by one as well: that says nothing
            // about runs.
            socket.segmentation &= error.raw_os_error() == Some(libc::EMSGSIZE);
            let singles = run.taken_apart(&mut self.buffer);
            self.runs.splice(self.sent..=self.sent, singles);
        } else {
            (0..run.count).for_each(|_| reasons.count(Reason::SendRefused));
            self.sent += 1;
        }
    }
}

impl Run {
    /// Whether a packet of `length` bytes may join.
    #[inline]
    fn takes(&self, length: usize) -> bool {
        self.open
            && length <= self.segment
            && self.count < MOST_IN_RUN
            && self.end - self.start + length <= LONGEST_RUN
    }

    /// What the kernel has to know of it beside its bytes.
    #[inline]
    fn describe(&self, v6: bool, control: &mut Control) {
        let class = i32::from(self.class.0).to_ne_bytes();
        if v6 {
            control.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &class);
        } else {
            control.push(libc::IPPROTO_IP, libc::IP_TOS, &class);
        }
        if self.count > 1 {
            let segment = (self.segment as u16).to_ne_bytes();
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &segment);
        }
    }

    /// Its packets as runs of one, each with the ICRC that it has alone.
    fn taken_apart(self, buffer: &mut [u8]) -> Vec<Self> {
        let mut singles = Vec::new();
        let mut start = self.start;
        for packet in buffer[self.start..self.end].chunks_mut(self.segment) {
            let end = start + packet.len();
            if let Some((covered, sum)) = packet.split_last_chunk_mut::<{ icrc::LEN }>() {
                *sum = self.flow.icrc(0, covered, &[]).to_bytes();
            }
            let segment = end - start;
            singles.push(Self { start, end, segment, count: 1, open: false, ..self });
            start = end;
        }
        singles
    }
}
