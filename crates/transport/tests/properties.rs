//! Whatever the wire does, everything posted arrives once; and whatever a peer sends, nothing
//! breaks.

mod pair;

use pair::{Draws, Faults, LINE, Pair, plain};
use proptest::prelude::*;
use std::sync::Arc;
use xoff_transport::config::{
    Congestion, Dcqcn, Dctcp, Hpcc, Notification, QpConfig, Recovery, Swift, Timely,
};
use xoff_transport::{
    Atomic, IntHop, IntStack, PathInfo, QueuePair, Signals, Slack, Source, Status, Verb,
    WorkRequest,
};
use xoff_units::{Bytes, Instant, Rate, Span};
use xoff_wire::{
    Aeth, Extension, Header, Immediate, Opcode, Psn, Qpn, Reth, Rkey, Service, Syndrome,
};

fn verbs() -> impl Strategy<Value = Verb> {
    prop_oneof![Just(Verb::Write), Just(Verb::Send), Just(Verb::Read)]
}

fn schemes() -> impl Strategy<Value = Congestion> {
    prop_oneof![
        Just(Congestion::None),
        Just(Congestion::Dcqcn(Dcqcn::default())),
        Just(Congestion::Dcqcn(Dcqcn { cut_at_once: false, ..Dcqcn::default() })),
        Just(Congestion::Hpcc(Hpcc::default())),
        Just(Congestion::Timely(Timely::default())),
        Just(Congestion::Swift(Swift::default())),
        Just(Congestion::Dctcp(Dctcp::default())),
    ]
}

fn configs() -> impl Strategy<Value = QpConfig> {
    let recovery =
        prop_oneof![Just(Recovery::GoBackN), Just(Recovery::SelectiveRepeat), Just(Recovery::Rack)];
    let notification = prop_oneof![Just(Notification::Cnp), Just(Notification::EchoInAck)];
    let window = prop_oneof![Just(0u64), 1u64..50_000];
    let delays = (0u64..20, 0u64..20);
    let recovery = (recovery, prop_oneof![Just(0u32), 1u32..30]);
    (recovery, notification, 1u32..40, 100u64..2000, window, schemes(), delays, 0u64..100).prop_map(
        |(recovery, notification, ack_every, mtu, window, congestion, delays, nak)| QpConfig {
            recovery: recovery.0,
            reorder_window: recovery.1,
            notification,
            ack_every,
            mtu: Bytes::new(mtu),
            window: Bytes::new(window),
            congestion,
            cnp_delay: Span::from_us(delays.0),
            reaction_delay: Span::from_us(delays.1),
            nak_interval: Span::from_us(nak),
            timeout: Span::from_us(100),
            // One packet in five is lost each way: eight losses in a row happen, and are no end of the line.
            retry_limit: u8::MAX,
            ..plain()
        },
    )
}

fn faults() -> impl Strategy<Value = Faults> {
    (0u32..200, 0u32..200, 0u32..300, 0u32..300, 0u64..10).prop_map(
        |(loss, duplication, reordering, marks, late)| Faults {
            loss,
            duplication,
            reordering,
            marks,
            lateness: Span::from_us(late),
        },
    )
}

/// What is posted at both ends; returns bytes expected at each.
fn post_all(pair: &mut Pair, work: &[(usize, Verb, u64)]) -> [u64; 2] {
    let mut expected = [0; 2];
    for (id, &(end, verb, length)) in work.iter().enumerate() {
        pair.post(end, id as u64, verb, length);
        expected[if verb == Verb::Read { end } else { 1 - end }] += length;
    }
    expected
}

fn check_all(pair: &mut Pair, work: &[(usize, Verb, u64)], expected: [u64; 2]) {
    for (end, bytes) in expected.into_iter().enumerate() {
        let done = pair.completions(end);
        assert!(done.iter().all(|completion| completion.status == Status::Ok), "{done:?}");
        let ids: Vec<u64> = done.iter().map(|completion| completion.id).collect();
        let posted: Vec<u64> =
            (0..work.len() as u64).filter(|&id| work[id as usize].0 == end).collect();
        assert_eq!(ids, posted, "end {end}");
        assert_eq!(pair.ends[end].delivered(), bytes, "end {end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn everything_arrives_once(
        config in configs(),
        faults in faults(),
        seed in any::<u64>(),
        starts in (any::<u32>(), any::<u32>()),
        work in proptest::collection::vec((0usize..2, verbs(), 0u64..20_000), 1..12),
    ) {
        let run = || {
            let mut pair = Pair::new(config.clone()).seeded(seed, faults);
            let (a, b) = (Psn::new(starts.0), Psn::new(starts.1));
            let [left, right] = pair.ends;
            pair.ends = [left.starting_at(a, b), right.starting_at(b, a)];
            let expected = post_all(&mut pair, &work);
            pair.run();
            check_all(&mut pair, &work, expected);
            pair.digest
        };
        // And the same happens again.
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn sends_fill_the_receives_in_order(
        config in configs(),
        faults in faults(),
        seed in any::<u64>(),
        lengths in proptest::collection::vec(0u64..5_000, 1..10),
        early in 0usize..10,
    ) {
        let mut pair = Pair::new(config).seeded(seed, faults).with_memory(1);
        let receive = |pair: &mut Pair, n: usize| {
            pair.side(1).post_receive(1000 + n as u64, 5_000);
        };
        for (n, &length) in lengths.iter().enumerate() {
            pair.post(0, n as u64, Verb::Send, length);
        }
        let early = early.min(lengths.len());
        (0..early).for_each(|n| receive(&mut pair, n));
        pair.run_until(Instant::ZERO + Span::from_us(300));
        (early..lengths.len()).for_each(|n| receive(&mut pair, n));
        pair.run();
        let got: Vec<(u64, u64)> = pair
            .receives(1)
            .iter()
            .map(|received| (received.id, received.length.get()))
            .collect();
        let expected: Vec<(u64, u64)> =
            lengths.iter().enumerate().map(|(n, &length)| (1000 + n as u64, length)).collect();
        prop_assert_eq!(got, expected);
        prop_assert_eq!(pair.completions(0).len(), lengths.len());
        for (n, &length) in lengths.iter().enumerate() {
            let received = pair.side(1).buffers[&(1000 + n as u64)].bytes();
            let sent = pair::side::pattern(n as u64, length as usize);
            prop_assert!(received[..length as usize] == sent);
            prop_assert!(received[length as usize..].iter().all(|&byte| byte == 0));
        }
        prop_assert!(pair.side(1).is_intact());
    }
}

/// A header such as nobody should send, near enough to the truth to get past the first check.
fn nonsense(draws: &mut Draws) -> Header {
    let pick = |draws: &mut Draws, n: u64| draws.next() % n;
    let opcode = Opcode::ALL[pick(draws, Opcode::ALL.len() as u64) as usize];
    let syndromes = [
        Syndrome::Ack { credits: 31 },
        Syndrome::RnrNak { timer: pick(draws, 32) as u8 },
        Syndrome::SelectiveNak,
        Syndrome::Trimmed,
        Syndrome::Missing,
        Syndrome::SequenceError,
        Syndrome::Ack { credits: 0 },
        Syndrome::InvalidRequest,
    ];
    // The one that ends the queue pair is rare, or little else would be seen.
    let kinds = if draws.chance(20) { 7 } else { 6 };
    let length = [0, 1, 1000, 5000, 1 << 20, u32::MAX][pick(draws, 6) as usize];
    let aeth = Aeth { syndrome: syndromes[pick(draws, kinds) as usize], msn: near(draws) };
    let reth = Reth { address: u64::MAX, rkey: Rkey(0), length };
    Header {
        service: Service::Reliable,
        opcode,
        ack_request: draws.chance(500),
        becn: draws.chance(300),
        dest_qp: Qpn::new(if draws.chance(950) { 1 } else { 3 }),
        psn: Psn::new(near(draws)),
        extension: match pick(draws, 10) {
            0 => Extension::None,
            1 => Extension::Reth(reth),
            2 => Extension::Aeth(aeth),
            _ if opcode.has_reth() => Extension::Reth(reth),
            _ if opcode == Opcode::AtomicAcknowledge => Extension::AtomicAck(aeth, 5),
            _ if matches!(opcode, Opcode::CompareSwap | Opcode::FetchAdd) => {
                let address = draws.next() << pick(draws, 5);
                Extension::Atomic { address, rkey: Rkey(0), operand: 1, compare: 0 }
            }
            _ if opcode.has_aeth() => Extension::Aeth(aeth),
            _ => Extension::None,
        },
        payload: [0, 1000, 1000, 1000, 999, 1001, u32::MAX][pick(draws, 7) as usize],
    }
}

/// A number that is mostly small, sometimes just below zero or anywhere.
fn near(draws: &mut Draws) -> u32 {
    match draws.next() % 10 {
        0 => draws.next() as u32,
        1 => 0u32.wrapping_sub((draws.next() % 50) as u32),
        _ => (draws.next() % 60) as u32,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn nothing_a_peer_sends_breaks_anything(
        config in configs(),
        seed in any::<u64>(),
        rounds in 1usize..400,
    ) {
        let config = QpConfig { mtu: Bytes::new(1000), retry_limit: u8::MAX, ..config };
        let path = PathInfo { line_rate: LINE, base_rtt: Span::from_us(4) };
        let config = Arc::new(config);
        let new = || QueuePair::new(config.clone(), Qpn::new(1), Qpn::new(2), path);
        let mut pair = new();
        let mut draws = Draws(seed);
        let mut now = Instant::ZERO;
        let (mut posted, mut completed, mut arrived) = (0u64, 0u64, 0u64);
        for _ in 0..rounds {
            now += Span::from_ps(draws.next() % 50_000_000);
            if pair.has_failed() {
                // Everything posted has ended; the next victim takes its place.
                prop_assert_eq!(completed, posted);
                pair = new();
                arrived = 0;
            }
            if draws.chance(300) {
                let add = Verb::Atomic(Atomic::FetchAdd { add: 1 });
                let verbs = [Verb::Write, Verb::Send, Verb::Read, add];
                let operation = verbs[(draws.next() % 4) as usize];
                let length = Bytes::new(draws.next() % 30_000);
                let work = WorkRequest { id: posted, operation, length, address: 0, rkey: Rkey(0) };
                posted += u64::from(pair.post(now, work).is_ok());
            }
            let header = nonsense(&mut draws);
            arrived += u64::from(header.payload);
            let mut stack = IntStack::EMPTY;
            for _ in 0..draws.next() % 7 {
                stack.push(IntHop {
                    at: Instant::from_ps(draws.next() >> (draws.next() % 64)),
                    tx_bytes: draws.next() >> (draws.next() % 64),
                    queue: draws.next() as u32,
                    rate: Rate::from_bps(draws.next() >> (draws.next() % 64)),
                });
            }
            let sent_at = Instant::from_ps(draws.next() >> (draws.next() % 64));
            let signals = Signals {
                cnp_withheld: false,
                ce: draws.chance(300),
                sent_at: draws.chance(500).then_some(sent_at),
                int: draws.chance(500).then_some(&stack),
                trimmed: draws.chance(100),
            };
            pair.handle(now, &header, signals);
            let mut controls = 0;
            while pair.poll_control(now).is_some() {
                controls += 1;
                prop_assert!(controls < 10);
            }
            for _ in 0..draws.next() % 8 {
                let due = pair.next_send() <= now;
                prop_assert_eq!(pair.poll_transmit(now).is_some(), due);
                now += Span::from_ns(draws.next() % 200);
            }
            if draws.chance(300) {
                pair.handle_deadline(now);
                prop_assert!(pair.deadline() > now);
            }
            completed += std::iter::from_fn(|| pair.poll_completion()).count() as u64;
            prop_assert!(completed <= posted);
            prop_assert!(pair.delivered() <= arrived);
            prop_assert!(pair.rate() <= LINE && pair.rate() > Rate::ZERO);
            let _ = pair.congestion_state(now);
        }
    }
}

/// What a queue pair gives to the wire at `now`, at most `most` packets, and where the payload of each comes from: one by
/// one, or with those taken together that are alike, of one message and of several.
fn burst(
    pair: &mut QueuePair,
    now: Instant,
    slack: Slack,
    most: u32,
    alike: bool,
) -> Vec<(Header, Source)> {
    let mut packets = Vec::new();
    while (packets.len() as u32) < most
        && let Some(header) = pair.poll_transmit_within(now, slack)
    {
        let source = pair.payload_of(&header);
        packets.push((header, source));
        if !alike {
            continue;
        }
        let left = most - packets.len() as u32;
        let more = pair.poll_alike_within(now, slack, &header, left);
        packets.extend((1..=more).map(|n| {
            let header = Header { psn: header.psn.plus(n), ..header };
            let Source::Work { id, offset } = source else { panic!("the middle has payload") };
            let offset = offset + u64::from(n) * u64::from(header.payload);
            (header, Source::Work { id, offset })
        }));
        if more > 0 {
            continue;
        }
        let more = pair.poll_row_within(now, slack, &header, left);
        assert_eq!(pair.row(more).count(), more as usize);
        packets.extend((1..).zip(pair.row(more)).map(|(n, (id, address))| {
            let extension = match header.extension {
                Extension::Reth(reth) => Extension::Reth(Reth { address, ..reth }),
                other => other,
            };
            let source = Source::Work { id, offset: 0 };
            let source = if header.payload == 0 { Source::Nothing } else { source };
            (Header { psn: header.psn.plus(n), extension, ..header }, source)
        }));
    }
    packets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn packets_taken_together_are_those_taken_one_by_one(
        config in configs(),
        seed in any::<u64>(),
        slack in (0u64..30, 0u64..100),
        rounds in 1usize..60,
    ) {
        let config = QpConfig { mtu: Bytes::new(1000), retry_limit: u8::MAX, ..config };
        let path = PathInfo { line_rate: LINE, base_rtt: Span::from_us(4) };
        let slack = Slack { ahead: Span::from_us(slack.0), behind: Span::from_us(slack.1) };
        let mut one = QueuePair::new(Arc::new(config), Qpn::new(1), Qpn::new(2), path);
        let mut many = one.clone();
        let mut draws = Draws(seed);
        let mut now = Instant::ZERO;
        for id in 0..rounds as u64 {
            now += Span::from_ps(draws.next() % 20_000_000);
            // Long messages, and rows of short ones that are alike for a while.
            let operation = [Verb::Write, Verb::Write, Verb::Send, Verb::Read][id as usize % 4];
            let length = Bytes::new(draws.next() % 60_000);
            let long = WorkRequest { id: id << 8, operation, length, address: 0, rkey: Rkey(0) };
            let mut works = vec![long];
            let row = if draws.chance(500) { draws.next() % 40 } else { 0 };
            let kind = draws.next();
            for n in 0..row {
                let odd = draws.chance(50);
                let last = works[works.len() - 1];
                let operation = match (kind + u64::from(odd)) % 4 {
                    0 => Verb::Send,
                    1 => Verb::SendImmediate(Immediate([1; 4])),
                    _ => Verb::Write,
                };
                let length = Bytes::new((kind >> 8) % 5 * 250 + u64::from(draws.chance(30)));
                let rkey = if draws.chance(30) { Rkey(n as u32) } else { last.rkey };
                let address = if draws.chance(500) { draws.next() } else { last.address };
                works.push(WorkRequest { id: id << 8 | (n + 1), operation, length, address, rkey });
            }
            let arrived = draws.chance(300).then(|| nonsense(&mut draws));
            let (most, due) = ((draws.next() % 40) as u32, draws.chance(300));
            for pair in [&mut one, &mut many] {
                for &work in &works {
                    let _ = pair.post(now, work);
                }
                if let Some(header) = &arrived {
                    pair.handle(now, header, Signals::default());
                }
                if due {
                    pair.handle_deadline(now);
                }
            }
            let single = burst(&mut one, now, slack, most, false);
            prop_assert_eq!(&single, &burst(&mut many, now, slack, most, true));
            if let Some((last, _)) = single.last() {
                // Answered as a peer would, so that it goes on.
                let ack = Header {
                    opcode: Opcode::Acknowledge,
                    dest_qp: Qpn::new(1),
                    extension: Extension::Aeth(Aeth {
                        syndrome: Syndrome::Ack { credits: 31 },
                        msn: 0,
                    }),
                    payload: 0,
                    ..*last
                };
                for pair in [&mut one, &mut many] {
                    if draws.0 & 1 == 0 {
                        pair.handle(now, &ack, Signals::default());
                    }
                }
            }
            prop_assert_eq!(one.next_send(), many.next_send());
            prop_assert_eq!(one.deadline(), many.deadline());
            prop_assert_eq!(one.counters(), many.counters());
            prop_assert_eq!(one.rate(), many.rate());
        }
    }
}
