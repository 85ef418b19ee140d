//! Packets on their way out: put together, and sent many at a time.
//!
//! Payloads stay where they are until the kernel takes them: between putting a packet in and
//! [`Outbox::flush`] memory must not change. What the kernel has no room for is copied then, so
//! that memory may change again.

mod row;

use crate::discard::{Reason, Reasons};
use crate::head::Head;
use crate::memory::{Place, Store};
use crate::name::{Control, Name};
use crate::run::{LEAST, Packet, Run};
use crate::socket::{Door, Socket};
use crate::syscall::{MOST, Outgoing, send_many};
use std::io;
use std::net::SocketAddr;
use xoff_wire::Header;
use xoff_wire::icrc::{self, Flow};
use xoff_wire::ip::TrafficClass;
use xoff_wire::roce::MAX_DATAGRAM;

/// Bytes held at a time, payloads included.
const ROOM: usize = 320 << 10;
/// Runs held at a time.
const RUNS: usize = MOST;
/// Payloads of at least this many bytes are gathered from memory. Copying shorter ones is faster.
const GATHERED: usize = 512;

/// The way to a peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub(crate) address: SocketAddr,
    pub(crate) name: Name,
    pub(crate) flow: Flow,
    pub(crate) door: Door,
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

/// Packets that wait to be sent.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Headers, padding and ICRCs of the packets, and short payloads, one after the other.
    own: Vec<u8>,
    waiting: Vec<Packet>,
    runs: Vec<Run>,
    /// Runs already sent.
    sent: usize,
    /// Bytes of all runs.
    filled: usize,
    /// Packets put in so far, and their bytes.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        let runs = Vec::with_capacity(RUNS);
        Self {
            own: Vec::new(),
            waiting: Vec::new(),
            runs,
            sent: 0,
            filled: 0,
            packets: 0,
            bytes: 0,
        }
    }

    /// Whether another packet fits for sure.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.runs.len() < RUNS && self.filled + MAX_DATAGRAM + 8 <= ROOM
    }

    /// How many equally long packets to one peer fit for sure.
    #[inline]
    pub(crate) fn room(&self, segmentation: bool) -> usize {
        let each = if segmentation { LEAST } else { 1 };
        let runs = (RUNS - self.runs.len().min(RUNS)) * each;
        runs.min((ROOM - self.filled) / (MAX_DATAGRAM + 8))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.runs.len()
    }

    /// Adds a packet with the payload that is at a place. Says whether there was room.
    ///
    /// A lone answer lets a longer packet to the same peer go first, because then both fit one run.
    #[inline]
    pub(crate) fn push(
        &mut self,
        route: &Route,
        class: TrafficClass,
        header: &Header,
        payload: Place,
        store: &Store,
        segmentation: bool,
    ) -> bool {
        let mut head = Head::of(header);
        let lone = self
            .runs
            .last()
            .filter(|run| segmentation && run.is_short() && run.is_along(route, class));
        let longer =
            packet_len(head.length, payload.length()) > lone.map_or(usize::MAX, |run| run.segment);
        let answer = if longer { self.step_back() } else { None };
        if !self.append(route, class, &mut head, (payload, store.at(payload)), segmentation) {
            return false;
        }
        self.packets += 1;
        if let Some(mut answer) = answer {
            // Headers alone, behind what was just written: it always finds room.
            self.append(route, class, &mut answer, (Place::NOTHING, &[]), segmentation);
        }
        true
    }

    /// Adds `count` packets that follow the one with `header` and differ from it in their number
    /// alone. Their payloads are pieces as long as its, from the second one of `payloads` on. There
    /// is [room](Outbox::room) for them.
    pub(crate) fn push_alike(
        &mut self,
        (route, class): (&Route, TrafficClass),
        header: &Header,
        payloads: Place,
        count: usize,
        store: &Store,
        segmentation: bool,
    ) {
        if count == 0 {
            return;
        }
        let mut head = Head::of(header);
        for n in 1..=count {
            let Some(payload) = payloads.piece(n, header.payload as usize) else { return };
            head.renumber(header.psn.plus(n as u32));
            let payload = (payload, store.at(payload));
            let fits = self.append(route, class, &mut head, payload, segmentation);
            debug_assert!(fits, "the caller has asked for room");
            self.packets += u64::from(fits);
        }
    }

    /// Takes the last run, a short packet, out again: its headers.
    fn step_back(&mut self) -> Option<Head> {
        let run = self.runs.pop()?;
        let head = self.own.get(run.start..)?.split_last_chunk::<{ icrc::LEN }>()?.0;
        let head = Head::copied(head)?;
        self.own.truncate(run.start);
        self.waiting.truncate(run.first);
        self.filled -= run.length;
        self.bytes -= run.length as u64;
        Some(head)
    }

    /// Puts a packet behind the last one. Its ICRC depends on its place in the run.
    #[inline]
    fn append(
        &mut self,
        route: &Route,
        class: TrafficClass,
        head: &mut Head,
        (place, payload): (Place, &[u8]),
        segmentation: bool,
    ) -> bool {
        let length = packet_len(head.length, payload.len());
        let (start, all_begun) = (self.own.len(), self.runs.len() >= RUNS);
        let pad = &[0; 3][..length - icrc::LEN - head.length - payload.len()];
        let joins = self
            .runs
            .last_mut()
            .filter(|run| segmentation && run.takes(length) && run.is_along(route, class));
        if self.filled + length > ROOM || (all_begun && joins.is_none()) {
            return false;
        }
        let identification = joins.as_ref().map_or(0, |run| run.count);
        let gathered = payload.len() >= GATHERED;
        let split = if gathered {
            let sum = match pad {
                [] => route.flow.icrc(identification, head.as_slice(), &[payload]),
                _ => route.flow.icrc(identification, head.as_slice(), &[payload, pad]),
            };
            let split = start + head.length;
            // More than there is, because a copy of fixed length is faster than one of the exact
            // length.
            self.own.extend_from_slice(head.finish(pad.len(), sum));
            self.own.truncate(split + pad.len() + icrc::LEN);
            split
        } else {
            // More than there is, for the same reason as above.
            self.own.extend_from_slice(head.with_room());
            self.own.truncate(start + head.length);
            self.own.extend_from_slice(payload);
            let split = self.own.len();
            self.own.extend_from_slice(pad);
            let sum = route.flow.icrc(identification, &self.own[start..], &[]);
            self.own.extend_from_slice(&sum.to_bytes());
            split
        };
        match joins {
            Some(run) => run.join(length),
            None => {
                self.runs.push(Run::new(route, class, start, self.waiting.len(), length));
            }
        }
        let payload = if gathered { place } else { Place::NOTHING };
        self.waiting.push(Packet { split, end: self.own.len(), payload });
        self.filled += length;
        self.bytes += length as u64;
        true
    }

    /// Sends what it can. What the socket has no room for stays.
    pub(crate) fn flush(&mut self, socket: &mut Socket, store: &Store, reasons: &mut Reasons) {
        while !self.is_empty() {
            match self.send_some(socket, store) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.keep(store),
                Err(error) => self.refused(&error, socket, store, reasons),
            }
        }
        self.runs.clear();
        self.waiting.clear();
        self.own.clear();
        (self.sent, self.filled) = (0, 0);
    }

    fn send_some(&self, socket: &Socket, store: &Store) -> io::Result<usize> {
        let waiting = &self.runs[self.sent..];
        let Some(door) = waiting.first().map(|run| run.door) else { return Ok(0) };
        // One call sends through one socket.
        let same = waiting.iter().take(MOST).take_while(|run| run.door == door).count();
        let waiting = &waiting[..same];
        let mut controls = [Control::EMPTY; MOST];
        let mut ends = [0; MOST];
        let packets: usize = waiting.iter().map(|run| usize::from(run.count)).sum();
        let mut pieces = Vec::with_capacity(2 * packets + same);
        for ((run, control), end) in waiting.iter().zip(&mut controls).zip(&mut ends) {
            run.describe(socket.is_v6(), control);
            run.gather(&self.own, &self.waiting, store, &mut pieces);
            *end = pieces.len();
        }
        let empty = Outgoing { name: &Name::EMPTY, control: &Control::EMPTY, pieces: &[] };
        let mut messages = [empty; MOST];
        let mut start = 0;
        for (index, run) in waiting.iter().enumerate() {
            let pieces = &pieces[start..ends[index]];
            messages[index] = Outgoing { name: &run.name, control: &controls[index], pieces };
            start = ends[index];
        }
        send_many(socket.door(door), &messages[..same])
    }

    /// Whether packets in it have payloads that are still in memory.
    pub(crate) fn is_bound(&self) -> bool {
        self.waiting.iter().any(|packet| packet.payload.length() > 0)
    }

    /// Copies what is not sent yet, so that memory may change.
    #[cold]
    fn keep(&mut self, store: &Store) {
        self.runs.drain(..self.sent);
        self.sent = 0;
        let (mut own, mut waiting) = (Vec::new(), Vec::new());
        for run in &mut self.runs {
            let first = waiting.len();
            let mut from = run.start;
            run.start = own.len();
            for packet in &self.waiting[run.range()] {
                own.extend_from_slice(&self.own[from..packet.split]);
                own.extend_from_slice(store.at(packet.payload));
                let split = own.len();
                own.extend_from_slice(&self.own[packet.split..packet.end]);
                from = packet.end;
                waiting.push(Packet { split, end: own.len(), payload: Place::NOTHING });
            }
            run.first = first;
        }
        (self.own, self.waiting) = (own, waiting);
        self.filled = self.runs.iter().map(|run| run.length).sum();
    }

    /// The first run was not taken: if it was one of many, its packets are tried one by one, and so
    /// is everything from then on. Otherwise it is lost like any packet.
    #[cold]
    fn refused(
        &mut self,
        error: &io::Error,
        socket: &mut Socket,
        store: &Store,
        reasons: &mut Reasons,
    ) {
        let refuses_runs = matches!(
            error.raw_os_error(),
            Some(libc::EIO | libc::EINVAL | libc::EOPNOTSUPP | libc::EMSGSIZE | libc::ENOPROTOOPT)
        );
        let Some(run) = self.runs.get(self.sent).copied() else { return };
        if run.count > 1 && refuses_runs {
            // Packets longer than the path allows are refused one by one as well: that says nothing
            // about runs.
            socket.segmentation &= error.raw_os_error() == Some(libc::EMSGSIZE);
            let singles = run.taken_apart(&mut self.own, &self.waiting, store);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Slice;
    use std::io::IoSlice;
    use xoff_transport::{Access, ProtectionDomain};
    use xoff_wire::roce::Datagram;
    use xoff_wire::{Aeth, Extension, Opcode, Psn, Qpn, Reth, Rkey, Service, Syndrome};

    const CLASS: TrafficClass = TrafficClass(2);

    /// An outbox, memory to send from, and a way.
    struct Bench {
        outbox: Outbox,
        store: Store,
        memory: crate::Memory,
        route: Route,
    }

    impl Bench {
        fn new() -> Self {
            let (from, to) = ("127.0.0.1:4791".parse().unwrap(), "127.0.0.2:4791".parse().unwrap());
            let route = Route::new(to, crate::verify::flow(from, to).unwrap());
            let mut store = Store::new(1, 1);
            let bytes: Box<[u8]> = (0..8192u32).map(|n| ((n * n) >> 5) as u8).collect();
            let memory = store.register(ProtectionDomain(1), bytes, Access::ALL, None).unwrap();
            Self { outbox: Outbox::new(), store, memory, route }
        }

        fn push(&mut self, class: TrafficClass, header: &Header) -> bool {
            let length = header.payload as usize;
            let slice = Slice::new(self.memory, u64::from(header.psn.get() % 4096), 4096);
            let place = self.store.locate(&slice, 0, length).unwrap();
            self.outbox.push(&self.route, class, header, place, &self.store, true)
        }

        fn data(&mut self, psn: u32, payload: u32) -> bool {
            self.push(CLASS, &data(psn, payload))
        }

        /// The runs, each as the payload lengths of its packets; all contents and ICRCs are
        /// checked.
        fn runs(&self) -> Vec<Vec<usize>> {
            self.outbox.runs.iter().map(|run| self.packets(run)).collect()
        }

        fn packets(&self, run: &Run) -> Vec<usize> {
            let mut pieces: Vec<IoSlice<'_>> = Vec::new();
            run.gather(&self.outbox.own, &self.outbox.waiting, &self.store, &mut pieces);
            let bytes = pieces.iter().map(|piece| &piece[..]).collect::<Vec<_>>().concat();
            assert_eq!(bytes.len(), run.length);
            let chunks = bytes.chunks(run.segment).enumerate();
            let lengths: Vec<usize> = chunks
                .map(|(n, packet)| {
                    let datagram = Datagram::parse(packet).unwrap();
                    assert_eq!(datagram.expected_icrc(&self.route.flow, n as u16), datagram.icrc);
                    let from = datagram.header.psn.get() as usize % 4096;
                    let sent = self.store.bytes(self.memory).unwrap();
                    assert_eq!(datagram.payload, &sent[from..from + datagram.payload.len()]);
                    datagram.payload.len()
                })
                .collect();
            assert_eq!(lengths.len(), usize::from(run.count));
            lengths
        }
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

    #[test]
    fn equally_long_packets_are_a_run() {
        let mut bench = Bench::new();
        for (psn, length) in [4096, 4096, 100, 4096, 4095].into_iter().enumerate() {
            assert!(bench.data(psn as u32, length));
        }
        // The last is one byte shorter, but padding makes up for it.
        assert_eq!(bench.runs(), [vec![4096, 4096, 100], vec![4096, 4095]]);
        assert!(bench.push(TrafficClass(6), &ack()));
        assert_eq!(bench.outbox.runs.len(), 3, "another class is another run");
    }

    #[test]
    fn no_run_is_too_long() {
        for (payload, most) in [(4096, 15), (4, 64)] {
            let (mut bench, mut count) = (Bench::new(), 0);
            while bench.outbox.has_room() && bench.data(count, payload) {
                count += 1;
            }
            assert!(count > 60);
            assert!(bench.runs().iter().rev().skip(1).all(|run| run.len() == most));
            assert!(bench.outbox.filled <= ROOM);
        }
    }

    #[test]
    fn packets_that_are_alike_are_those_put_in_one_by_one() {
        for (payload, segmentation) in [(1024, true), (1024, false), (514, true), (7, true)] {
            let (mut one, mut many) = (Bench::new(), Bench::new());
            let first = data(0x00ff_fffe, payload);
            let rest = one.store.locate_rest(&Slice::new(one.memory, 0, 8192), 5).unwrap();
            let length = payload as usize;
            let count = many.outbox.room(segmentation).min(rest.length() / length) - 1;
            assert!(count >= 6 && rest.piece(rest.length() / length, length).is_none());
            for bench in [&mut one, &mut many] {
                assert!(bench.push(CLASS, &ack()));
            }
            for n in 0..=count {
                let header = Header { psn: first.psn.plus(n as u32), ..first };
                let (route, place) = (one.route, rest.piece(n, length).unwrap());
                let store = &one.store;
                assert!(one.outbox.push(&route, CLASS, &header, place, store, segmentation));
            }
            let (way, store) = ((&many.route, CLASS), &many.store);
            let place = rest.piece(0, length).unwrap();
            many.outbox.push(&many.route, CLASS, &first, place, store, segmentation);
            many.outbox.push_alike(way, &first, rest, count, store, segmentation);
            assert_eq!(many.outbox.own, one.outbox.own, "{payload}");
            assert_eq!(many.outbox.packets, one.outbox.packets);
            let runs = |bench: &Bench| bench.outbox.runs.iter().map(Run::range).collect::<Vec<_>>();
            assert_eq!(runs(&many), runs(&one));
        }
    }

    #[test]
    fn a_row_is_its_packets_put_in_one_by_one() {
        let reth = Reth { address: 7, rkey: Rkey(1), length: 0 };
        for (payload, segmentation) in
            [(0, true), (7, true), (64, true), (64, false), (511, true), (514, true), (4096, true)]
        {
            for extension in [Extension::None, Extension::Reth(reth)] {
                let (mut one, mut many) = (Bench::new(), Bench::new());
                let writes = extension != Extension::None;
                let opcode = if writes { Opcode::WriteOnly } else { Opcode::SendOnly };
                let first = Header { opcode, extension, ..data(0x00ff_fff0, payload) };
                let count = many.outbox.room(segmentation).min(70) - 1;
                for bench in [&mut one, &mut many] {
                    assert!(bench.push(CLASS, &ack()) && bench.push(CLASS, &first));
                }
                let place = |bench: &Bench, n: u64| {
                    let slice = Slice::new(bench.memory, n * 57, payload.into());
                    bench.store.locate(&slice, 0, payload as usize).unwrap()
                };
                let address = |n: u64| n.wrapping_mul(0x1234_5678_9abc_def1);
                for n in 1..=count as u64 {
                    let psn = first.psn.plus(n as u32);
                    let reth = Reth { address: address(n), ..reth };
                    let extension = if writes { Extension::Reth(reth) } else { extension };
                    let (header, route) = (Header { psn, extension, ..first }, one.route);
                    let place = place(&one, n);
                    let store = &one.store;
                    assert!(one.outbox.push(&route, CLASS, &header, place, store, segmentation));
                }
                let rest: Vec<_> =
                    (1..=count as u64).map(|n| (address(n), place(&many, n))).collect();
                let (way, store) = ((&many.route, CLASS), &many.store);
                many.outbox.push_row(way, &first, rest.into_iter(), store, segmentation);
                assert_eq!(many.outbox.own, one.outbox.own, "{payload}");
                assert_eq!(many.outbox.packets, one.outbox.packets);
                assert_eq!(many.outbox.bytes, one.outbox.bytes);
                let runs =
                    |bench: &Bench| bench.outbox.runs.iter().map(Run::range).collect::<Vec<_>>();
                assert_eq!(runs(&many), runs(&one));
                let ends = |bench: &Bench| {
                    let of = |packet: &Packet| (packet.split, packet.end);
                    bench.outbox.waiting.iter().map(of).collect::<Vec<_>>()
                };
                assert_eq!(ends(&many), ends(&one));
            }
        }
    }

    #[test]
    fn as_many_fit_as_there_is_room_for() {
        for segmentation in [true, false] {
            for before in 0..200u32 {
                let mut bench = Bench::new();
                // Packets of any length, so that runs end where they like.
                for n in 0..before {
                    let payload = (n * n + before) % 9 * 500 + n % 2;
                    let place = Place::NOTHING.piece(0, 0).unwrap();
                    let _ = match n % 5 {
                        0 => bench.push(CLASS, &ack()),
                        1 => bench.push(TrafficClass((before % 4) as u8), &data(n, payload)),
                        2 => {
                            let (route, store) = (bench.route, &bench.store);
                            bench.outbox.push(&route, CLASS, &data(n, 0), place, store, false)
                        }
                        _ => bench.data(n, payload % 4097),
                    };
                }
                for payload in [4096, 1000, 30] {
                    let room = bench.outbox.room(segmentation);
                    let slice = Slice::new(bench.memory, 0, 8192);
                    let rest = bench.store.locate_rest(&slice, 0).unwrap();
                    let count = room.min(rest.length() / payload as usize - 1);
                    let (way, sent) = ((&bench.route, CLASS), bench.outbox.packets);
                    let header = data(5000, payload);
                    bench.outbox.push_alike(way, &header, rest, count, &bench.store, segmentation);
                    assert_eq!(bench.outbox.packets - sent, count as u64, "{before} {payload}");
                }
            }
        }
    }

    #[test]
    fn answers_leave_with_the_data_that_follows_them() {
        let mut bench = Bench::new();
        assert!(bench.push(CLASS, &ack()));
        assert!(bench.data(1, 64));
        assert_eq!(bench.runs(), [vec![64, 0]]);
        assert!(bench.data(2, 64));
        assert_eq!(bench.runs(), [vec![64, 0], vec![64]]);
        assert_eq!(bench.outbox.packets, 3);
        assert!(bench.push(CLASS, &ack()) && bench.data(3, 4096));
        assert_eq!(bench.runs(), [vec![64, 0], vec![64, 0], vec![4096]]);
    }

    #[test]
    fn a_run_taken_apart_has_other_sums() {
        for length in [50, 1111, 4096] {
            let mut bench = Bench::new();
            (0..4).for_each(|psn| assert!(bench.data(psn, length)));
            let Outbox { runs, own, waiting, .. } = &mut bench.outbox;
            *runs = runs[0].taken_apart(own, waiting, &bench.store);
            assert_eq!(bench.runs(), vec![vec![length as usize]; 4]);
        }
    }

    #[test]
    fn what_stays_does_not_depend_on_memory() {
        let mut bench = Bench::new();
        let lengths = [4096, 4096, 7, 513, 513, 100, 4096, 4093];
        for (psn, length) in lengths.into_iter().enumerate() {
            assert!(bench.data(psn as u32, length));
        }
        let before = bench.runs();
        assert!(bench.outbox.is_bound());
        // As if the first run had been sent.
        bench.outbox.sent = 1;
        bench.outbox.keep(&bench.store);
        assert_eq!(bench.runs(), before[1..]);
        assert!(!bench.outbox.is_bound());
        let left: usize = bench.outbox.runs.iter().map(|run| run.length).sum();
        assert_eq!(bench.outbox.filled, left);
        // More may follow, and join; and then stay as well.
        assert!(bench.data(20, 4093) && bench.data(21, 4000));
        let after = bench.runs();
        assert_eq!(after.concat().len(), before[1..].concat().len() + 2);
        bench.outbox.keep(&bench.store);
        assert_eq!(bench.runs(), after);
    }
}
