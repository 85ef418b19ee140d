//! All verbs mixed, real bytes, and a wire that does what it wants; then peers that do.

mod pair;

use pair::side::{Side, pattern};
use pair::{Draws, Faults, LINE, Pair, plain};
use proptest::prelude::*;
use std::sync::Arc;
use xoff_transport::config::{Congestion, Dcqcn, QpConfig, Recovery};
use xoff_transport::{
    Access, Atomic, PathInfo, QueuePair, ReceivedKind, Signals, Status, Target, Verb, WorkRequest,
};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{
    Aeth, Extension, Header, Immediate, Opcode, Psn, Qpn, Reth, Rkey, Service, Syndrome,
};

/// Most bytes of one message, and of the words before all others.
const SLOT: u64 = 12_000;
const WORDS: u64 = 64;
const MOST: usize = 14;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Write,
    Send,
    /// Reads the slot of that work, which may have been written before.
    Read(usize),
    WriteImmediate,
    SendImmediate,
    Add,
    Swap,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Write),
        Just(Kind::Send),
        (0usize..MOST).prop_map(Kind::Read),
        Just(Kind::WriteImmediate),
        Just(Kind::SendImmediate),
        Just(Kind::Add),
        Just(Kind::Swap),
    ]
}

fn configs() -> impl Strategy<Value = QpConfig> {
    let recovery = prop_oneof![3 => Just(Recovery::GoBackN), 1 => Just(Recovery::SelectiveRepeat)];
    let window = prop_oneof![Just(0u64), 1u64..20_000];
    let congestion = prop_oneof![Just(Congestion::None), Just(Congestion::Dcqcn(Dcqcn::default()))];
    let recovery = (recovery, prop_oneof![Just(0u32), 1u32..30]);
    (recovery, 1u32..20, 200u64..1500, window, congestion, 0u64..50, 1u8..20).prop_map(
        |(recovery, ack_every, mtu, window, congestion, nak, max_reads)| QpConfig {
            recovery: recovery.0,
            reorder_window: recovery.1,
            ack_every,
            mtu: Bytes::new(mtu),
            window: Bytes::new(window),
            congestion,
            nak_interval: Span::from_us(nak),
            timeout: Span::from_us(100),
            retry_limit: u8::MAX,
            max_reads,
            ..plain()
        },
    )
}

fn faults() -> impl Strategy<Value = Faults> {
    (0u32..200, 0u32..200, 0u32..300, 0u32..100, 0u64..10).prop_map(
        |(loss, duplication, reordering, marks, late)| Faults {
            loss,
            duplication,
            reordering,
            marks,
            lateness: Span::from_us(late),
        },
    )
}

const fn slot(n: usize) -> u64 {
    WORDS + n as u64 * SLOT
}

/// What one end wants, and what has to come of it.
struct Plan {
    work: Vec<(Kind, u64)>,
    /// The peer's region as it must be in the end, without the words.
    memory: Vec<u8>,
    /// What each read must bring.
    reads: Vec<(u64, Vec<u8>)>,
    /// The receives of the peer that are used: by which work.
    receives: Vec<(usize, Kind, u64)>,
    adds: u64,
    swaps: u64,
}

impl Plan {
    fn post(pair: &mut Pair, end: usize, work: &[(usize, Kind, u64)]) -> Self {
        let work: Vec<(Kind, u64)> =
            work.iter().filter(|work| work.0 == end).map(|work| (work.1, work.2)).collect();
        let memory = pair.side(1 - end).region().to_vec();
        let mut plan =
            Self { work, memory, reads: Vec::new(), receives: Vec::new(), adds: 0, swaps: 0 };
        for n in 0..plan.work.len() {
            plan.post_one(pair, end, n);
        }
        plan
    }

    fn post_one(&mut self, pair: &mut Pair, end: usize, n: usize) {
        let (kind, length) = self.work[n];
        let id = n as u64;
        let immediate = Immediate([n as u8; 4]);
        let mut at = slot(n);
        let verb = match kind {
            Kind::Write => Verb::Write,
            Kind::Send => Verb::Send,
            Kind::WriteImmediate => Verb::WriteImmediate(immediate),
            Kind::SendImmediate => Verb::SendImmediate(immediate),
            Kind::Read(other) => {
                at = slot(other % (n + 1));
                let bytes = self.memory[at as usize..][..length as usize].to_vec();
                self.reads.push((id, bytes));
                Verb::Read
            }
            Kind::Add => {
                self.adds += 1;
                at = 0;
                Verb::Atomic(Atomic::FetchAdd { add: 1 })
            }
            Kind::Swap => {
                let compare = self.swaps;
                self.swaps += 1;
                at = 8;
                Verb::Atomic(Atomic::CompareSwap { compare, swap: compare + 1 })
            }
        };
        if matches!(kind, Kind::Write | Kind::WriteImmediate) {
            self.memory[at as usize..][..length as usize]
                .copy_from_slice(&pattern(id, length as usize));
        }
        if matches!(kind, Kind::Send | Kind::SendImmediate | Kind::WriteImmediate) {
            self.receives.push((n, kind, length));
        }
        pair.post_at(end, id, verb, at, length);
    }

    fn check(&self, pair: &mut Pair, end: usize) {
        let done = pair.completions(end);
        assert!(done.iter().all(|done| done.status == Status::Ok), "{done:?}");
        let ids: Vec<u64> = done.iter().map(|done| done.id).collect();
        assert_eq!(ids, (0..self.work.len() as u64).collect::<Vec<_>>());
        let found = |kind| {
            let which = self.work.iter().zip(&done).filter(move |(work, _)| work.0 == kind);
            which.map(|(_, done)| done.before).collect::<Vec<u64>>()
        };
        // Each of them happened once, and in the order they were posted.
        assert_eq!(found(Kind::Add), (0..self.adds).collect::<Vec<_>>());
        assert_eq!(found(Kind::Swap), (0..self.swaps).collect::<Vec<_>>());
        let peer = pair.side(1 - end);
        assert_eq!((peer.word(0), peer.word(8)), (self.adds, self.swaps));
        assert_eq!(peer.atomics, self.adds + self.swaps);
        let words = WORDS as usize;
        assert!(peer.region()[words..] == self.memory[words..], "memory of {}", 1 - end);
        for (id, bytes) in &self.reads {
            assert!(pair.side(end).work[id] == *bytes, "read {id}");
        }
        self.check_receives(pair, 1 - end);
    }

    fn check_receives(&self, pair: &mut Pair, end: usize) {
        let received = pair.receives(end);
        assert_eq!(received.len(), self.receives.len());
        for (nth, (received, &(n, kind, length))) in received.iter().zip(&self.receives).enumerate()
        {
            assert_eq!((received.id, received.status), (1000 + nth as u64, Status::Ok));
            assert_eq!(received.length.get(), length);
            let immediate = (kind != Kind::Send).then_some(Immediate([n as u8; 4]));
            assert_eq!(received.immediate, immediate);
            let buffer = pair.side(end).buffers[&received.id].bytes().to_vec();
            if kind == Kind::WriteImmediate {
                assert_eq!(received.kind, ReceivedKind::Write);
                assert!(buffer.iter().all(|&byte| byte == 0));
            } else {
                assert_eq!(received.kind, ReceivedKind::Send);
                assert!(buffer[..length as usize] == pattern(n as u64, length as usize));
            }
        }
        assert!(pair.side(end).is_intact());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_verb_arrives_once_and_whole(
        config in configs(),
        faults in faults(),
        seed in any::<u64>(),
        starts in (any::<u32>(), any::<u32>()),
        work in proptest::collection::vec((0usize..2, kinds(), 0u64..SLOT), 1..MOST),
        early in 0usize..MOST,
    ) {
        let region = slot(MOST);
        let mut pair = Pair::new(config).seeded(seed, faults).with_memory(region);
        let (a, b) = (Psn::new(starts.0), Psn::new(starts.1));
        let [left, right] = pair.ends;
        pair.ends = [left.starting_at(a, b), right.starting_at(b, a)];
        for end in 0..2 {
            pair.side(end).set_word(0, 0);
            pair.side(end).set_word(8, 0);
        }
        let plans = [0, 1].map(|end| Plan::post(&mut pair, end, &work));
        let receive = |pair: &mut Pair, from: usize, to: usize| {
            for (end, plan) in plans.iter().enumerate() {
                let needed = plan.receives.len();
                for nth in from.min(needed)..to.min(needed) {
                    pair.side(1 - end).post_receive(1000 + nth as u64, SLOT);
                }
            }
        };
        receive(&mut pair, 0, early);
        pair.run_until(Instant::ZERO + Span::from_us(200));
        receive(&mut pair, early, usize::MAX);
        pair.run();
        for (end, plan) in plans.iter().enumerate() {
            plan.check(&mut pair, end);
        }
    }
}

/// Regions that a stranger may try: one for everything, one that can only be read, one of another
/// domain; and one that is gone.
struct Victim {
    side: Side,
    keys: [Rkey; 4],
    images: [Vec<u8>; 3],
}

impl Victim {
    fn new() -> Self {
        let mut side = Side::new(5000, 1);
        let read_only = side.register(0x20_0000, &pattern(8, 5000), Access::REMOTE_READ);
        let gone = side.register(0x30_0000, &pattern(9, 5000), Access::ALL);
        side.regions.deregister(gone);
        side.domain.0 += 1;
        let foreign = side.key;
        let bytes = pattern(7, 5000);
        let length = Bytes::new(5000);
        let (domain, base, access) = (side.domain, 0x40_0000, Access::ALL);
        let region = xoff_transport::Region { domain, base, length, access };
        // The place of the one that is gone is used again: its key must not be.
        let (id, own) = side.regions.register(region).unwrap();
        side.memory[id.index()] = pair::side::Guarded::new(&bytes);
        let read_only_own =
            xoff_transport::Region { access: Access::REMOTE_READ, base: 0x50_0000, ..region };
        let (id, readable) = side.regions.register(read_only_own).unwrap();
        side.memory.resize(id.index() + 1, pair::side::Guarded::new(&[]));
        side.memory[id.index()] = pair::side::Guarded::new(&bytes);
        let images = [0, 1, 3].map(|n: usize| side.memory[n].bytes().to_vec());
        let _ = read_only;
        Self { side, keys: [foreign, gone, readable, own], images }
    }

    /// Whether what nobody may write is as it was.
    fn is_unharmed(&self) -> bool {
        let same = [0, 1, 3].iter().zip(&self.images);
        same.into_iter().all(|(&n, image)| self.side.memory[n].bytes() == image)
            && self.side.is_intact()
    }
}

/// A header that aims at memory.
fn aimed(draws: &mut Draws, keys: &[Rkey], expected: u32) -> Header {
    let pick = |draws: &mut Draws, n: usize| (draws.next() % n as u64) as usize;
    let opcode = Opcode::ALL[pick(draws, Opcode::ALL.len())];
    let base = [1 << 32, 0x20_0000, 0x30_0000, 0x40_0000, 0x50_0000, 0, u64::MAX - 4000];
    let offset = [0, 0, 8, 4992, 4000, 3999, 5000, u64::MAX][pick(draws, 8)];
    let address = base[pick(draws, base.len())].wrapping_add(offset);
    let key = match draws.next() % 8 {
        0 => Rkey(draws.next() as u32),
        // Not by one: that is what the next region in the same place gets.
        1 => Rkey(keys[pick(draws, keys.len())].0.wrapping_add(5)),
        _ => keys[pick(draws, keys.len())],
    };
    let length = [0, 1, 8, 1000, 2000, 5000, 5001, 1 << 31, u32::MAX][pick(draws, 9)];
    let payload = [0, 1, 8, 500, 1000, 1000, 1000, 1001, 4096][pick(draws, 9)];
    let reth = Reth { address, rkey: key, length };
    let immediate = Immediate([9; 4]);
    let aeth = Aeth { syndrome: Syndrome::Ack { credits: 31 }, msn: 1 };
    let all = [
        Extension::None,
        Extension::Reth(reth),
        Extension::RethImm(reth, immediate),
        Extension::Aeth(aeth),
        Extension::Imm(immediate),
        Extension::Ieth(key),
        Extension::Atomic { address, rkey: key, operand: draws.next(), compare: 0 },
        Extension::AtomicAck(aeth, draws.next()),
    ];
    let fitting = if opcode.has_reth() {
        if opcode.has_immediate() { 2 } else { 1 }
    } else if opcode.has_immediate() {
        4
    } else if matches!(opcode, Opcode::CompareSwap | Opcode::FetchAdd) {
        6
    } else if opcode.has_aeth() {
        3
    } else {
        0
    };
    let services = [Service::Reliable, Service::Unreliable, Service::Datagram];
    Header {
        service: services[if draws.chance(950) { 0 } else { pick(draws, 3) }],
        opcode,
        ack_request: draws.chance(500),
        becn: false,
        dest_qp: Qpn::new(1),
        psn: Psn::new(match draws.next() % 8 {
            0 => draws.next() as u32,
            1 => expected.wrapping_sub((draws.next() % 10) as u32),
            _ => expected,
        }),
        extension: all[if draws.chance(900) { fitting } else { pick(draws, all.len()) }],
        payload: if draws.chance(700) && !opcode.has_payload() { 0 } else { payload },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_outside_what_is_allowed_is_touched(
        seed in any::<u64>(),
        with_key in any::<bool>(),
        rounds in 1usize..300,
    ) {
        let mut victim = Victim::new();
        let mut draws = Draws(seed);
        let keys = victim.keys;
        // Without the one key that opens memory for writing, nothing at all may change.
        let keys = if with_key { &keys[..] } else { &keys[..3] };
        let own = victim.side.memory[2].bytes().to_vec();
        let path = PathInfo { line_rate: LINE, base_rtt: Span::from_us(4) };
        let config = Arc::new(plain());
        let new = || QueuePair::new(config.clone(), Qpn::new(1), Qpn::new(2), path);
        let mut pair = new();
        let (mut now, mut expected, mut id) = (Instant::ZERO, 0u32, 0u64);
        for _ in 0..rounds {
            now += Span::from_ns(draws.next() % 5000);
            if pair.has_failed() {
                pair = new();
                expected = 0;
            }
            if draws.chance(200) {
                id += 1;
                victim.side.post_receive(id, draws.next() % 3000);
            }
            if draws.chance(200) {
                id += 1;
                let add = Verb::Atomic(Atomic::FetchAdd { add: 1 });
                let operation = [Verb::Read, add, Verb::Send][(draws.next() % 3) as usize];
                let length = Bytes::new(draws.next() % 3000);
                let work = WorkRequest { id, operation, length, address: 0, rkey: Rkey(1) };
                victim.side.work.insert(id, vec![0; length.get() as usize]);
                let _ = pair.post(now, work);
            }
            let header = aimed(&mut draws, keys, expected);
            let target = pair.handle_at(now, &header, Signals::default(), &mut victim.side);
            if let Target::Region(at) = target {
                prop_assert!(with_key && at.region.index() == 2);
            }
            victim.side.put(target, &vec![0xee; header.payload as usize]);
            while let Some(control) = pair.poll_control(now) {
                if let Extension::Aeth(Aeth { syndrome: Syndrome::Ack { .. }, .. }) =
                    control.extension
                {
                    expected = control.psn.plus(1).get();
                }
            }
            for _ in 0..draws.next() % 6 {
                let Some(sent) = pair.poll_transmit(now) else { break };
                let source = pair.payload_of(&sent);
                let bytes = victim.side.get(source, sent.payload as usize);
                prop_assert!(bytes.is_some(), "a promise of memory that may not be read");
                now += Span::from_ns(200);
            }
            // Follow what it accepted, so that later packets are looked at, too.
            if header.psn.get() == expected && !pair.has_failed() && target != Target::Nowhere {
                expected = (expected + 1) & 0xff_ffff;
            }
        }
        prop_assert!(victim.is_unharmed());
        if !with_key {
            prop_assert!(victim.side.memory[2].bytes() == own);
            prop_assert_eq!(victim.side.atomics, 0);
        }
    }
}
