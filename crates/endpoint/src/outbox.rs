//! Packets on their way out: put together in one buffer, and sent many at a time.

use crate::discard::{Reason, Reasons};
use crate::name::{Control, Name};
use crate::socket::{Door, Socket};
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
/// The longest answer: an atomic's, or a notification.
const SHORT: usize = 32;
/// The most packets in a run that every kernel takes.
const MOST_IN_RUN: u16 = 64;

/// The way to a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    name: Name,
    flow: Flow,
    door: Door,
}

impl Route {
    /// The way to `address` through the device's own port.
    pub(crate) fn new(address: SocketAddr, flow: Flow) -> Self {
        Self { address, name: Name::of(address), flow, door: Door::default() }
    }

    /// The same through another one, whose port is in `flow`.
    pub(crate) fn through(self, door: Door, flow: Flow) -> Self {
        Self { door, flow, ..self }
    }
}

/// Packets for one peer that leave with one call: equally long, but the last may be shorter.
#[derive(Debug, Clone, Copy)]
struct Run {
    name: Name,
    flow: Flow,
    door: Door,
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

    /// Adds a packet. Says whether there was room.
    ///
    /// A lone answer lets a longer packet to the same peer go first, because then both fit one run.
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
        let head = &head[..head_len];
        let lone = self
            .runs
            .last()
            .filter(|run| segmentation && run.is_short() && run.is_along(route, class));
        let longer =
            packet_len(head_len, payload.len()) > lone.map_or(usize::MAX, |run| run.segment);
        let answer = if longer { self.step_back() } else { None };
        if !self.append(route, class, head, payload, segmentation) {
            return false;
        }
        self.packets += 1;
        if let Some((bytes, length)) = answer {
            // Headers alone, behind what was just written: it always finds room.
            self.append(route, class, &bytes[..length - icrc::LEN], &[], segmentation);
        }
        true
    }

    /// Takes the last run, a short packet, out again.
    fn step_back(&mut self) -> Option<([u8; SHORT], usize)> {
        let run = self.runs.pop()?;
        let mut bytes = [0; SHORT];
        let length = run.end - run.start;
        bytes.get_mut(..length)?.copy_from_slice(&self.buffer[run.start..run.end]);
        self.filled = run.start;
        Some((bytes, length))
    }

    /// Puts a packet behind the last one. Its ICRC depends on its place in the run.
    #[inline]
    fn append(
        &mut self,
        route: &Route,
        class: TrafficClass,
        head: &[u8],
        payload: &[u8],
        segmentation: bool,
    ) -> bool {
        let length = packet_len(head.len(), payload.len());
        if self.runs.len() >= RUNS {
            return false;
        }
        let Some(room) = self.buffer.get_mut(self.filled..self.filled + length) else {
            return false;
        };
        let (covered, sum) = room.split_at_mut(length - icrc::LEN);
        let (start, rest) = covered.split_at_mut(head.len());
        start.copy_from_slice(head);
        let (body, pad) = rest.split_at_mut(payload.len());
        body.copy_from_slice(payload);
        pad.fill(0);
        let sum_of = |identification| route.flow.icrc(identification, covered, &[]).to_bytes();
        let joins = self
            .runs
            .last_mut()
            .filter(|run| segmentation && run.takes(length) && run.is_along(route, class));
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
                    door: route.door,
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
        let Some(door) = waiting.first().map(|run| run.door) else { return Ok(0) };
        // One call is for one door.
        let same = waiting.iter().take_while(|run| run.door == door).count();
        let waiting = &waiting[..same];
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
        send_many(socket.door(door), &messages[..count])
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

/// Bytes of a packet with all that is around its payload.
const fn packet_len(head: usize, payload: usize) -> usize {
    (head + payload).next_multiple_of(4) + icrc::LEN
}

impl Run {
    /// Whether it is one packet without payload, such as an acknowledgement.
    #[inline]
    fn is_short(&self) -> bool {
        self.count == 1 && self.segment <= SHORT
    }

    /// Whether packets of this class take the same way.
    #[inline]
    fn is_along(&self, route: &Route, class: TrafficClass) -> bool {
        self.class == class && self.door == route.door && self.name == route.name
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_wire::roce::Datagram;
    use xoff_wire::{Aeth, Extension, Opcode, Psn, Qpn, Service, Syndrome};

    fn route() -> Route {
        let (from, to) = ("127.0.0.1:4791".parse().unwrap(), "127.0.0.2:4791".parse().unwrap());
        Route::new(to, crate::verify::flow(from, to).unwrap())
    }

    fn data(psn: u32, payload: u32) -> Header {
        Header {
            service: Service::Reliable,
            opcode: Opcode::SendMiddle,
            ack_request: false,
            becn: false,
            dest_qp: Qpn::new(5),
            psn: Psn::new(psn),
            extension: Extension::None,
            payload,
        }
    }

    fn ack() -> Header {
        let aeth = Aeth { syndrome: Syndrome::Ack { credits: 31 }, msn: 0 };
        Header { opcode: Opcode::Acknowledge, extension: Extension::Aeth(aeth), ..data(0, 0) }
    }

    /// The runs, each as the payload lengths of its packets; all ICRCs are checked.
    fn runs(outbox: &Outbox, route: &Route) -> Vec<Vec<usize>> {
        let packets = |run: &Run| {
            let chunks = outbox.buffer[run.start..run.end].chunks(run.segment).enumerate();
            let lengths: Vec<usize> = chunks
                .map(|(n, packet)| {
                    let datagram = Datagram::parse(packet).unwrap();
                    assert_eq!(datagram.expected_icrc(&route.flow, n as u16), datagram.icrc);
                    datagram.payload.len()
                })
                .collect();
            assert_eq!(lengths.len(), usize::from(run.count));
            lengths
        };
        outbox.runs.iter().map(packets).collect()
    }

    const CLASS: TrafficClass = TrafficClass(2);

    #[test]
    fn equally_long_packets_are_a_run() {
        let (mut outbox, route) = (Outbox::new(), route());
        for (psn, length) in [4096, 4096, 100, 4096, 4095].into_iter().enumerate() {
            let payload = vec![7; length as usize];
            assert!(outbox.push(&route, CLASS, &data(psn as u32, length), &payload, true));
        }
        // The last is one byte shorter, but padding makes up for it.
        assert_eq!(runs(&outbox, &route), [vec![4096, 4096, 100], vec![4096, 4095]]);
        assert!(outbox.push(&route, TrafficClass(6), &ack(), &[], true));
        assert_eq!(outbox.runs.len(), 3, "another class is another run");
    }

    #[test]
    fn no_run_is_too_long() {
        let (mut outbox, route) = (Outbox::new(), route());
        let mut count = 0;
        while outbox.has_room() && outbox.push(&route, CLASS, &data(count, 4096), &[1; 4096], true)
        {
            count += 1;
        }
        assert!(count > 30);
        assert!(runs(&outbox, &route).iter().rev().skip(1).all(|run| run.len() == 15));
        let (mut outbox, mut count) = (Outbox::new(), 0);
        while outbox.has_room() && outbox.push(&route, CLASS, &data(count, 4), &[1; 4], true) {
            count += 1;
        }
        assert!(runs(&outbox, &route).iter().all(|run| run.len() <= 64));
    }

    #[test]
    fn answers_leave_with_the_data_that_follows_them() {
        let (mut outbox, route) = (Outbox::new(), route());
        assert!(outbox.push(&route, CLASS, &ack(), &[], true));
        assert!(outbox.push(&route, CLASS, &data(1, 64), &[9; 64], true));
        assert_eq!(runs(&outbox, &route), [vec![64, 0]]);
        assert!(outbox.push(&route, CLASS, &data(2, 64), &[9; 64], true));
        assert_eq!(runs(&outbox, &route), [vec![64, 0], vec![64]]);
        assert_eq!(outbox.packets, 3);
    }

    #[test]
    fn a_run_taken_apart_has_other_sums() {
        let (mut outbox, route) = (Outbox::new(), route());
        for psn in 0..4 {
            assert!(outbox.push(&route, CLASS, &data(psn, 50), &[3; 50], true));
        }
        let singles = outbox.runs[0].taken_apart(&mut outbox.buffer);
        outbox.runs = singles;
        assert_eq!(runs(&outbox, &route), vec![vec![50]; 4]);
    }
}
