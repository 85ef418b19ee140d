//! Two queue pairs, a wire between them that can be told to misbehave, and virtual time.

#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of the harness")]

pub mod side;

use side::Side;
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_transport::config::{Congestion, QpConfig};
use xoff_transport::{
    Completion, IntHop, IntStack, PathInfo, QueuePair, Received, Signals, Verb, WorkRequest,
};
use xoff_units::{Bytes, Instant, Rate, Span};
use xoff_wire::{Header, MAX_HEADER_LEN, Operation, Qpn, Rkey};

pub const LINE: Rate = Rate::from_gbps(100);
pub const ONE_WAY: Span = Span::from_us(2);

/// A small repeatable random generator (splitmix64).
#[derive(Debug, Clone)]
pub struct Draws(pub u64);

impl Draws {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True in `per_mille` of a thousand cases.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.next() % 1000 < u64::from(per_mille)
    }
}

/// How the wire and the owner misbehave, in parts per thousand and at most so late.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    pub loss: u32,
    pub duplication: u32,
    pub reordering: u32,
    pub marks: u32,
    pub lateness: Span,
}

/// What to do with one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Lose,
    Mark,
    Delay(Span),
}

/// One packet on the wire.
#[derive(Debug, Clone)]
struct Flying {
    to: usize,
    header: Header,
    payload: Vec<u8>,
    ce: bool,
    sent_at: Option<Instant>,
    int: IntStack,
}

/// A packet as a test looks at it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    pub at: Instant,
    pub from: usize,
    pub header: Header,
}

type Script = Box<dyn FnMut(&Seen) -> Fate>;

pub struct Pair {
    pub ends: [QueuePair; 2],
    /// The memory of both, if they have any: then real bytes travel.
    pub sides: Option<[Side; 2]>,
    pub now: Instant,
    pub faults: Faults,
    /// Decides on single packets, before chance does.
    pub script: Option<Script>,
    /// Every packet that was sent, also the lost.
    pub log: Vec<Seen>,
    pub keep_log: bool,
    /// A hash of everything that happened.
    pub digest: u64,
    pub steps: u64,
    pub patience: u64,
    draws: Draws,
    flying: BTreeMap<(Instant, u64), Flying>,
    sent: u64,
    tx_bytes: [u64; 2],
    awake: [Instant; 2],
}

impl Pair {
    pub fn new(config: QpConfig) -> Self {
        let path = PathInfo { line_rate: LINE, base_rtt: ONE_WAY * 2 };
        let config = Arc::new(config);
        let end =
            |local, peer| QueuePair::new(config.clone(), Qpn::new(local), Qpn::new(peer), path);
        Self {
            ends: [end(1, 2), end(2, 1)],
            sides: None,
            now: Instant::ZERO,
            faults: Faults::default(),
            script: None,
            log: Vec::new(),
            keep_log: true,
            digest: 0,
            steps: 0,
            patience: 20_000_000,
            draws: Draws(1),
            flying: BTreeMap::new(),
            sent: 0,
            tx_bytes: [0; 2],
            awake: [Instant::ZERO; 2],
        }
    }

    pub fn seeded(mut self, seed: u64, faults: Faults) -> Self {
        self.draws = Draws(seed);
        self.faults = faults;
        self.patience = 500_000;
        self.keep_log = false;
        self
    }

    /// Both ends have a region of so many bytes.
    pub fn with_memory(mut self, length: u64) -> Self {
        self.sides = Some([Side::new(length, 1), Side::new(length, 2)]);
        self
    }

    pub fn side(&mut self, end: usize) -> &mut Side {
        &mut self.sides.as_mut().expect("the pair has memory")[end]
    }

    pub fn scripted(mut self, script: impl FnMut(&Seen) -> Fate + 'static) -> Self {
        self.script = Some(Box::new(script));
        self
    }

    pub fn post(&mut self, end: usize, id: u64, operation: Verb, length: u64) {
        let work = WorkRequest {
            id,
            operation,
            length: Bytes::new(length),
            address: 0x1000,
            rkey: Rkey(7),
        };
        if let Some(sides) = &mut self.sides {
            let bytes = if operation == Verb::Read {
                vec![0; length as usize]
            } else {
                side::pattern(id, length as usize)
            };
            sides[end].work.insert(id, bytes);
        }
        self.ends[end].post(self.now, work).unwrap();
    }

    /// The same somewhere in the peer's region.
    pub fn post_at(&mut self, end: usize, id: u64, operation: Verb, offset: u64, length: u64) {
        let peer = self.side(1 - end);
        let (address, rkey) = (peer.base + offset, peer.key);
        let length = Bytes::new(length);
        let bytes = if operation == Verb::Read {
            vec![0; length.get() as usize]
        } else {
            side::pattern(id, length.get() as usize)
        };
        self.side(end).work.insert(id, bytes);
        let work = WorkRequest { id, operation, length, address, rkey };
        self.ends[end].post(self.now, work).unwrap();
    }

    /// Runs until nothing is left to do, or `until`.
    pub fn run_until(&mut self, until: Instant) {
        self.service();
        loop {
            let next = self.next_event();
            if next > until || next.is_never() {
                self.now = self.now.max(if until.is_never() { self.now } else { until });
                return;
            }
            self.now = self.now.max(next);
            self.step();
            self.steps += 1;
            assert!(self.steps < self.patience, "no end in sight: {:#?}", self.ends);
        }
    }

    pub fn run(&mut self) {
        self.run_until(Instant::MAX);
        for (n, end) in self.ends.iter().enumerate() {
            assert!(end.is_idle(), "end {n} stopped with work left: {end:#?}");
        }
    }

    fn next_event(&self) -> Instant {
        let flying = self.flying.keys().next().map_or(Instant::MAX, |key| key.0);
        let wake = |n: usize| {
            let wish = self.ends[n].next_send().min(self.ends[n].deadline());
            if wish.is_never() { wish } else { wish.max(self.awake[n]) }
        };
        let next = flying.min(wake(0)).min(wake(1));
        // Timers of congestion control may go on for ever; that is not work.
        let waiting = self.flying.is_empty() && self.ends.iter().all(|end| end.is_idle());
        if waiting { Instant::MAX } else { next }
    }

    fn step(&mut self) {
        match self.flying.first_entry() {
            Some(entry) if entry.key().0 <= self.now => {
                let packet = entry.remove();
                self.arrive(packet);
            }
            _ => self.service(),
        }
    }

    fn arrive(&mut self, packet: Flying) {
        let int = [Operation::Acknowledge].contains(&packet.header.opcode.operation());
        let signals = Signals {
            cnp_withheld: false,
            ce: packet.ce,
            trimmed: false,
            sent_at: if int { packet.sent_at } else { None },
            int: int.then_some(&packet.int),
        };
        let end = &mut self.ends[packet.to];
        match &mut self.sides {
            None => end.handle(self.now, &packet.header, signals),
            Some(sides) => {
                let side = &mut sides[packet.to];
                let target = end.handle_at(self.now, &packet.header, signals, side);
                side.put(target, &packet.payload);
            }
        }
        self.drain_control(packet.to, packet.sent_at, packet.int);
    }

    /// Lets both owners do what is due.
    fn service(&mut self) {
        for n in 0..2 {
            if self.awake[n] > self.now {
                continue;
            }
            let mut worked = false;
            if self.ends[n].deadline() <= self.now {
                worked = true;
                self.ends[n].handle_deadline(self.now);
                assert!(self.ends[n].deadline() > self.now, "a deadline that does not move");
                self.drain_control(n, None, IntStack::EMPTY);
            }
            if self.ends[n].next_send() <= self.now {
                worked = true;
                let header = self.ends[n].poll_transmit(self.now);
                let header = header.expect("a send time without a packet");
                self.launch(n, header, Some(self.now), IntStack::EMPTY);
                self.drain_control(n, None, IntStack::EMPTY);
            } else {
                assert_eq!(self.ends[n].poll_transmit(self.now), None, "a packet before its time");
            }
            if worked && !self.faults.lateness.is_zero() {
                let late = self.draws.next() % self.faults.lateness.as_ps();
                self.awake[n] = self.now + Span::from_ps(late);
            }
        }
    }

    fn drain_control(&mut self, from: usize, sent_at: Option<Instant>, int: IntStack) {
        for _ in 0..4 {
            let Some(header) = self.ends[from].poll_control(self.now) else { return };
            self.launch(from, header, sent_at, int);
        }
        panic!("more than four control packets for one input");
    }

    fn launch(&mut self, from: usize, header: Header, sent_at: Option<Instant>, int: IntStack) {
        let mut bytes = [0; MAX_HEADER_LEN];
        let len = header.encode(&mut bytes);
        assert_eq!(Header::decode(&bytes[..len], header.payload), Ok((header, len)));
        self.note(from, &header, &bytes[..len]);
        let Some(payload) = self.payload(from, &header) else { return };
        let seen = Seen { at: self.now, from, header };
        if self.keep_log {
            self.log.push(seen);
        }
        let mut packet = Flying { to: 1 - from, header, payload, ce: false, sent_at, int };
        if header.opcode.has_payload() {
            self.tx_bytes[from] += u64::from(header.payload) + 62;
            let tx_bytes = self.tx_bytes[from];
            packet.int.push(IntHop { at: self.now, tx_bytes, queue: 0, rate: LINE });
        }
        let mut delay = ONE_WAY;
        match self.script.as_mut().map_or(Fate::Pass, |script| script(&seen)) {
            Fate::Pass => {}
            Fate::Lose => return,
            Fate::Mark => packet.ce = true,
            Fate::Delay(span) => delay += span,
        }
        packet.ce |= self.draws.chance(self.faults.marks);
        if self.draws.chance(self.faults.loss) {
            return;
        }
        if self.draws.chance(self.faults.reordering) {
            delay += Span::from_ns(self.draws.next() % 3000);
        }
        if self.draws.chance(self.faults.duplication) {
            let later = Span::from_ns(self.draws.next() % 5000);
            self.fly(delay + later, packet.clone());
        }
        self.fly(delay, packet);
    }

    /// The bytes of a packet about to be sent; none if the memory is gone.
    fn payload(&mut self, from: usize, header: &Header) -> Option<Vec<u8>> {
        let Some(sides) = &mut self.sides else { return Some(Vec::new()) };
        let source = self.ends[from].payload_of(header);
        let payload = sides[from].get(source, header.payload as usize);
        if payload.is_none() {
            self.ends[from].withdraw(header);
        }
        payload
    }

    fn fly(&mut self, delay: Span, packet: Flying) {
        self.sent += 1;
        self.flying.insert((self.now + delay, self.sent), packet);
    }

    fn note(&mut self, from: usize, header: &Header, bytes: &[u8]) {
        let words = [self.now.as_ps(), from as u64, u64::from(header.payload)];
        let words = words.into_iter().chain(bytes.iter().map(|&b| u64::from(b)));
        self.digest = words.fold(self.digest, |hash, word| {
            (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
        });
    }

    pub fn completions(&mut self, end: usize) -> Vec<Completion> {
        std::iter::from_fn(|| self.ends[end].poll_completion()).collect()
    }

    pub fn receives(&mut self, end: usize) -> Vec<Received> {
        std::iter::from_fn(|| self.ends[end].poll_receive()).collect()
    }

    /// Packets of one kind that an end sent.
    pub fn sent(&self, from: usize, operation: Operation) -> Vec<Seen> {
        let wanted =
            |seen: &&Seen| seen.from == from && seen.header.opcode.operation() == operation;
        self.log.iter().filter(wanted).copied().collect()
    }
}

/// No congestion control, one acknowledgement per packet, sizes that are easy to count with.
pub fn plain() -> QpConfig {
    QpConfig {
        mtu: Bytes::new(1000),
        ack_every: 1,
        congestion: Congestion::None,
        ..QpConfig::default()
    }
}
