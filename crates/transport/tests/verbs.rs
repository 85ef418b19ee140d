//! Real bytes in real regions: what verbs promise, one story per test.

mod pair;

use pair::side::pattern;
use pair::{Pair, plain};
use xoff_transport::config::QpConfig;
use xoff_transport::{
    Access, Atomic, Completion, Discard, ReceivedKind, Signals, Slack, Status, Target, Verb,
    WorkRequest,
};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{
    Aeth, Extension, Header, Immediate, Opcode, Operation, Psn, Qpn, Rkey, Service, Syndrome,
};

const IMMEDIATE: Immediate = Immediate([1, 2, 3, 4]);

fn ended(pair: &mut Pair, end: usize) -> Vec<(u64, Status)> {
    pair.completions(end).into_iter().map(|done| (done.id, done.status)).collect()
}

fn memory(length: u64) -> Pair {
    Pair::new(plain()).with_memory(length)
}

#[test]
fn a_write_arrives_where_it_should_and_nowhere_else() {
    for length in [1, 999, 1000, 1001, 5000] {
        let mut pair = memory(10_000);
        let mut expected = pair.side(1).region().to_vec();
        expected[3000..3000 + length].copy_from_slice(&pattern(5, length));
        pair.post_at(0, 5, Verb::Write, 3000, length as u64);
        pair.run();
        assert_eq!(ended(&mut pair, 0), [(5, Status::Ok)]);
        assert!(pair.side(1).region() == expected, "{length}");
        assert!(pair.side(1).is_intact());
    }
}

#[test]
fn a_read_brings_what_is_there() {
    for length in [1, 1000, 5001] {
        let mut pair = memory(10_000);
        pair.post_at(0, 5, Verb::Read, 3000, length as u64);
        pair.run();
        assert_eq!(ended(&mut pair, 0), [(5, Status::Ok)]);
        let there = pair.side(1).region()[3000..3000 + length].to_vec();
        assert!(pair.side(0).work[&5] == there, "{length}");
    }
}

#[test]
fn a_send_fills_its_receive() {
    let mut pair = memory(1);
    pair.side(1).post_receive(70, 5000);
    pair.post(0, 5, Verb::Send, 3500);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(5, Status::Ok)]);
    let received = pair.receives(1);
    assert_eq!((received[0].id, received[0].length.get()), (70, 3500));
    assert_eq!((received[0].kind, received[0].immediate), (ReceivedKind::Send, None));
    assert!(pair.side(1).buffers[&70].bytes()[..3500] == pattern(5, 3500));
}

/// What a peer gets for touching what it may not.
fn refused(operation: Verb, address: u64, key: Rkey, length: u64) -> (Status, Pair) {
    let mut pair = memory(10_000);
    let before = pair.side(1).region().to_vec();
    pair.side(0).work.insert(1, vec![7; length as usize]);
    let length = Bytes::new(length);
    let work = WorkRequest { id: 1, operation, length, address, rkey: key };
    pair.ends[0].post(pair.now, work).unwrap();
    pair.post_at(0, 2, Verb::Write, 0, 100);
    pair.run();
    let ended = ended(&mut pair, 0);
    assert_eq!(ended[1], (2, Status::Flushed));
    assert!(pair.side(1).region() == before && pair.side(1).is_intact());
    assert!(pair.ends.iter().all(|end| end.has_failed()));
    (ended[0].1, pair)
}

#[test]
fn memory_that_is_not_allowed_is_not_touched() {
    let add = Verb::Atomic(Atomic::FetchAdd { add: 1 });
    for operation in [Verb::Write, Verb::Read, add, Verb::WriteImmediate(IMMEDIATE)] {
        let side = memory(10_000).side(1).clone();
        let wrong = [
            (side.base, Rkey(0)),
            (side.base, Rkey(side.key.0 + 1)),
            (side.base - 8, side.key),
            (side.base + 10_000, side.key),
            (side.base + 10_000 - 4 * 8, Rkey(side.key.0 ^ 0x100)),
            (u64::MAX - 7, side.key),
        ];
        for (address, key) in wrong {
            let (status, pair) = refused(operation, address, key, 3000);
            assert_eq!(status, Status::RemoteAccess, "{operation:?} {address:x} {key}");
            assert_eq!(pair.ends[1].counters().discards.get(Discard::AccessDenied), 1);
        }
        if operation != add {
            // One byte too many, of which the first packet sees nothing.
            let (status, _) = refused(operation, side.base + 7001, side.key, 3000);
            assert_eq!(status, Status::RemoteAccess);
        }
    }
}

#[test]
fn rights_and_domains_hold_for_every_operation() {
    let add = Verb::Atomic(Atomic::FetchAdd { add: 1 });
    let all = [
        (Verb::Write, Access::REMOTE_WRITE),
        (Verb::Read, Access::REMOTE_READ),
        (add, Access::REMOTE_ATOMIC),
    ];
    for (operation, needed) in all {
        for (_, given) in all {
            for same_domain in [true, false] {
                let mut pair = memory(100);
                let access = given | Access::LOCAL_WRITE;
                let key = pair.side(1).register(0x9000, &[0; 64], access);
                pair.side(1).domain.0 += u32::from(!same_domain);
                pair.side(0).work.insert(1, vec![1; 8]);
                let length = Bytes::new(8);
                let work = WorkRequest { id: 1, operation, length, address: 0x9000, rkey: key };
                pair.ends[0].post(pair.now, work).unwrap();
                pair.run();
                let fine = given == needed && same_domain;
                let expected = if fine { Status::Ok } else { Status::RemoteAccess };
                assert_eq!(ended(&mut pair, 0), [(1, expected)], "{operation:?} {given:?}");
            }
        }
    }
}

#[test]
fn nothing_needs_no_key() {
    for operation in [Verb::Write, Verb::Read] {
        let mut pair = memory(10);
        let (length, address) = (Bytes::ZERO, 12_345);
        let work = WorkRequest { id: 1, operation, length, address, rkey: Rkey(99) };
        pair.ends[0].post(pair.now, work).unwrap();
        pair.run();
        assert_eq!(ended(&mut pair, 0), [(1, Status::Ok)]);
    }
}

#[test]
fn a_region_that_goes_away_meanwhile_ends_the_write() {
    let mut pair = memory(1_000_000);
    pair.post_at(0, 1, Verb::Write, 0, 1_000_000);
    pair.run_until(Instant::ZERO + Span::from_us(10));
    let key = pair.side(1).key;
    pair.side(1).regions.deregister(key).unwrap();
    let before = pair.side(1).region().to_vec();
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::RemoteAccess)]);
    assert!(pair.side(1).region() == before);
}

#[test]
fn a_region_that_goes_away_meanwhile_ends_the_read() {
    let mut pair = memory(1_000_000);
    pair.post_at(0, 1, Verb::Read, 0, 1_000_000);
    pair.run_until(Instant::ZERO + Span::from_us(10));
    let key = pair.side(1).key;
    pair.side(1).regions.deregister(key).unwrap();
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::RemoteAccess)]);
    assert!(pair.ends[1].has_failed());
}

#[test]
fn immediate_data_takes_a_receive_and_tells_what_came() {
    for length in [0u64, 10, 2500] {
        let mut pair = memory(5000);
        pair.side(1).post_receive(70, 3000);
        pair.post_at(0, 1, Verb::WriteImmediate(IMMEDIATE), 100, length);
        pair.post_at(0, 2, Verb::SendImmediate(IMMEDIATE), 0, length);
        pair.run_until(Instant::ZERO + Span::from_us(5));
        // The send has to wait.
        pair.side(1).post_receive(71, 3000);
        pair.run();
        assert_eq!(ended(&mut pair, 0), [(1, Status::Ok), (2, Status::Ok)]);
        let received = pair.receives(1);
        let kinds = [(70, ReceivedKind::Write), (71, ReceivedKind::Send)];
        for (received, kind) in received.iter().zip(kinds) {
            assert_eq!((received.id, received.kind), kind);
            assert_eq!((received.status, received.length.get()), (Status::Ok, length));
            assert_eq!(received.immediate, Some(IMMEDIATE));
        }
        assert_eq!(received.len(), 2);
        let length = length as usize;
        assert!(pair.side(1).region()[100..100 + length] == pattern(1, length));
        assert!(pair.side(1).buffers[&71].bytes()[..length] == pattern(2, length));
        assert!(pair.side(1).buffers[&70].bytes().iter().all(|&byte| byte == 0));
    }
}

#[test]
fn a_write_with_immediate_waits_for_a_receive() {
    let config = QpConfig { rnr_delay: Span::from_us(20), ..plain() };
    let mut pair = Pair::new(config).with_memory(5000);
    pair.post_at(0, 1, Verb::WriteImmediate(IMMEDIATE), 100, 2500);
    pair.run_until(Instant::ZERO + Span::from_us(30));
    assert!(pair.ends[1].counters().rnr_sent >= 1);
    assert_eq!(ended(&mut pair, 0), []);
    pair.side(1).post_receive(70, 0);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::Ok)]);
    assert_eq!(pair.receives(1)[0].length.get(), 2500);
    assert!(pair.side(1).region()[100..2600] == pattern(1, 2500));
}

#[test]
fn a_receiver_that_is_never_ready_is_given_up() {
    let config = QpConfig { rnr_retry_limit: 3, ..plain() };
    let mut pair = Pair::new(config).with_memory(1);
    pair.post(0, 1, Verb::Send, 2500);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::RnrRetryExceeded)]);
    assert_eq!(pair.ends[1].counters().rnr_sent, 4);
}

#[test]
fn a_receiver_that_is_never_ready_has_a_time_limit() {
    let rnr_time_limit = Span::from_us(500);
    let config = QpConfig { rnr_delay: Span::from_us(20), rnr_time_limit, ..plain() };
    let mut pair = Pair::new(config).with_memory(1);
    pair.post(0, 1, Verb::Send, 2500);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::RnrRetryExceeded)]);
    let time = pair.now.since(Instant::ZERO);
    assert!(rnr_time_limit <= time && time < rnr_time_limit * 2, "{time}");
}

#[test]
fn progress_sets_the_time_of_a_receiver_back() {
    let rnr_time_limit = Span::from_us(500);
    let config = QpConfig { rnr_delay: Span::from_us(20), rnr_time_limit, ..plain() };
    let mut pair = Pair::new(config).with_memory(1);
    (1..=4).for_each(|id| pair.post(0, id, Verb::Send, 100));
    for n in 1..=4 {
        // Not ready for longer than the limit in all, but never in one piece.
        pair.run_until(Instant::ZERO + Span::from_us(300) * n);
        pair.side(1).post_receive(70 + n, 100);
    }
    pair.run();
    assert_eq!(ended(&mut pair, 0), (1..=4).map(|id| (id, Status::Ok)).collect::<Vec<_>>());
    assert!(pair.ends[0].counters().rnr_received > 20);
}

/// A NAK for the packet with this number, out of nothing.
fn nak(to: Qpn, psn: u32, syndrome: Syndrome) -> Header {
    Header {
        service: Service::Reliable,
        opcode: Opcode::Acknowledge,
        ack_request: false,
        becn: false,
        dest_qp: to,
        psn: Psn::new(psn),
        extension: Extension::Aeth(Aeth { syndrome, msn: 0 }),
        payload: 0,
    }
}

#[test]
fn a_refusal_of_a_packet_that_was_not_sent_is_not_believed() {
    for syndrome in [
        Syndrome::InvalidRequest,
        Syndrome::RemoteAccessError,
        Syndrome::RemoteOperationalError,
        Syndrome::RnrNak { timer: 0 },
    ] {
        let mut pair = memory(5000);
        pair.post_at(0, 1, Verb::Write, 0, 2500);
        pair.run();
        assert_eq!(ended(&mut pair, 0), [(1, Status::Ok)]);
        // Packets 0 to 2 were sent; 3 is the next.
        let (now, local) = (pair.now, pair.ends[0].local());
        for psn in [3, 4, 0xff_ffff] {
            pair.ends[0].handle(now, &nak(local, psn, syndrome), Signals::default());
        }
        assert!(!pair.ends[0].has_failed(), "{syndrome:?}");
        let outside = pair.ends[0].counters().discards.get(Discard::OutsideWindow);
        assert_eq!(outside, 3, "{syndrome:?}");
        let before = pair.now;
        pair.post_at(0, 2, Verb::Write, 0, 2500);
        pair.run();
        assert_eq!(ended(&mut pair, 0), [(2, Status::Ok)], "{syndrome:?}");
        assert!(pair.now.since(before) < Span::from_us(50), "nor does it hold anything up");
    }
}

#[test]
fn a_send_can_invalidate_a_key() {
    let mut pair = memory(1);
    let key = pair.side(1).register(0x9000, &[0; 64], Access::ALL);
    pair.side(1).post_receive(70, 3000);
    pair.side(1).post_receive(71, 3000);
    pair.post(0, 1, Verb::SendInvalidate(key), 2500);
    pair.post(0, 2, Verb::SendInvalidate(key), 1);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::Ok), (2, Status::RemoteAccess)]);
    let received = pair.receives(1);
    assert_eq!((received[0].invalidated, received[0].length.get()), (Some(key), 2500));
    assert_eq!((received[1].id, received[1].status), (71, Status::Flushed));
    let opcodes: Vec<_> = pair.sent(0, Operation::Send).iter().map(|p| p.header.opcode).collect();
    assert_eq!(opcodes[2..], [Opcode::SendLastInvalidate, Opcode::SendOnlyInvalidate]);
}

#[test]
fn atomics_change_and_fetch() {
    let mut pair = memory(64);
    pair.side(1).set_word(16, 40);
    let swap = |compare, swap| Verb::Atomic(Atomic::CompareSwap { compare, swap });
    pair.post_at(0, 1, Verb::Atomic(Atomic::FetchAdd { add: 2 }), 16, 8);
    pair.post_at(0, 2, swap(42, 7), 16, 8);
    pair.post_at(0, 3, swap(42, 8), 16, 8);
    pair.run();
    let found = |id, before| Completion { id, status: Status::Ok, before };
    assert_eq!(pair.completions(0), [found(1, 40), found(2, 42), found(3, 7)]);
    assert_eq!((pair.side(1).word(16), pair.side(1).atomics), (7, 3));
}

#[test]
fn an_atomic_whose_answer_is_lost_is_not_done_twice() {
    let mut lost = 0;
    let mut pair = memory(64).scripted(move |seen| {
        let answer = seen.header.opcode == Opcode::AtomicAcknowledge;
        lost += u32::from(answer);
        if answer && lost <= 3 { pair::Fate::Lose } else { pair::Fate::Pass }
    });
    pair.side(1).set_word(0, 10);
    for id in 0..3 {
        pair.post_at(0, id, Verb::Atomic(Atomic::FetchAdd { add: 1 }), 0, 8);
    }
    pair.run();
    let before: Vec<u64> = pair.completions(0).iter().map(|done| done.before).collect();
    assert_eq!(before, [10, 11, 12]);
    assert_eq!((pair.side(1).word(0), pair.side(1).atomics), (13, 3));
}

#[test]
fn an_atomic_needs_an_address_that_is_a_multiple_of_eight() {
    let mut pair = memory(64);
    let side = pair.side(1).clone();
    let operation = Verb::Atomic(Atomic::FetchAdd { add: 1 });
    let (address, rkey) = (side.base + 4, side.key);
    let work = WorkRequest { id: 1, operation, length: Bytes::new(8), address, rkey };
    let posted = pair.ends[0].post(pair.now, work);
    assert_eq!(posted, Err(xoff_transport::PostError::Misaligned));
}

#[test]
fn answers_travel_in_the_order_of_their_requests() {
    let mut pair = memory(50_000);
    pair.post_at(0, 1, Verb::Write, 0, 1000);
    pair.post_at(0, 2, Verb::Read, 0, 20_000);
    pair.post_at(0, 3, Verb::Atomic(Atomic::FetchAdd { add: 1 }), 1000, 8);
    pair.post_at(0, 4, Verb::Write, 0, 1000);
    pair.post_at(0, 5, Verb::Read, 0, 3000);
    pair.run();
    assert_eq!(pair.completions(0).len(), 5);
    let answers: Vec<_> = pair.log.iter().filter(|seen| seen.from == 1).collect();
    assert!(answers.windows(2).all(|two| two[0].header.psn.get() < two[1].header.psn.get()));
}

#[test]
fn a_request_after_reads_is_refused_after_their_data() {
    let mut pair = memory(50_000);
    pair.post_at(0, 1, Verb::Read, 0, 20_000);
    pair.post_at(0, 2, Verb::Write, 50_000, 10);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::Ok), (2, Status::RemoteAccess)]);
    let last = pair.log.last().unwrap();
    assert_eq!((last.from, last.header.opcode), (1, Opcode::Acknowledge));
    let aeth = xoff_wire::Extension::Aeth(xoff_wire::Aeth {
        syndrome: Syndrome::RemoteAccessError,
        msn: 1,
    });
    assert_eq!(last.header.extension, aeth);
}

#[test]
fn a_failed_queue_pair_is_deaf_and_says_so() {
    let mut pair = memory(5000);
    pair.ends[1].fail(Status::Flushed);
    pair.post_at(0, 1, Verb::Write, 0, 3000);
    pair.run_until(Instant::ZERO + Span::from_us(50));
    assert_eq!(pair.ends[1].counters().discards.get(Discard::Failed), 3);
    assert_eq!(pair.ends[1].counters().ignored, 3);
}

#[test]
fn queue_pairs_can_share_receives() {
    let mut pairs = [memory(1), memory(1)];
    let [first, second] = &mut pairs;
    // The one queue goes to whoever has something to receive.
    for id in 70..73 {
        first.side(1).post_receive(id, 3000);
    }
    first.post(0, 1, Verb::Send, 2500);
    first.run();
    let shared = std::mem::take(&mut first.side(1).receives);
    assert_eq!(shared.len(), 2);
    second.side(1).buffers = first.side(1).buffers.clone();
    second.side(1).receives = shared;
    second.post(0, 2, Verb::Send, 1500);
    second.run();
    assert_eq!(first.receives(1)[0].id, 70);
    assert_eq!(second.receives(1)[0].id, 71);
    let left = std::mem::take(&mut second.side(1).receives);
    assert_eq!(left.len(), 1);
    // A queue pair that fails has no claim on what it did not use.
    second.ends[1].fail(Status::Flushed);
    assert_eq!(second.receives(1), []);
}

#[test]
fn lost_data_of_a_read_is_missed_when_later_work_is_acknowledged() {
    let mut lost = false;
    let mut pair = memory(50_000).scripted(move |seen| {
        let last = seen.header.opcode == Opcode::ReadResponseLast;
        let fate = if last && !lost { pair::Fate::Lose } else { pair::Fate::Pass };
        lost |= last;
        fate
    });
    pair.post_at(0, 1, Verb::Read, 0, 5000);
    pair.post_at(0, 2, Verb::Write, 10_000, 5000);
    pair.run();
    assert_eq!(ended(&mut pair, 0), [(1, Status::Ok), (2, Status::Ok)]);
    assert_eq!(pair.ends[0].counters().timeouts, 0);
}

#[test]
fn without_slack_bursts_are_single_packets() {
    let mut pair = memory(50_000);
    pair.post_at(0, 1, Verb::Write, 0, 50_000);
    let (mut plain, mut bursty) = (pair.ends[0].clone(), pair.ends[0].clone());
    for ns in (0..5000).step_by(37) {
        let now = Instant::ZERO + Span::from_ns(ns);
        assert_eq!(plain.poll_transmit(now), bursty.poll_transmit_within(now, Slack::default()));
        assert_eq!(plain.next_send(), bursty.next_send());
    }
}

#[test]
fn a_late_sender_catches_up_and_no_more() {
    let mut pair = memory(1_000_000);
    pair.post_at(0, 1, Verb::Write, 0, 1_000_000);
    let end = &mut pair.ends[0];
    let slack = Slack { ahead: Span::from_us(1), behind: Span::from_us(10) };
    let mut burst = |us| {
        let now = Instant::ZERO + Span::from_us(us);
        let packets = std::iter::from_fn(|| end.poll_transmit_within(now, slack));
        packets.map(|header| header.payload + 82).sum::<u32>()
    };
    let (first, second, third) = (burst(100), burst(105), burst(200));
    // 12.5 bytes per nanosecond, and at most a packet more.
    assert!((137_500..138_700).contains(&first), "{first}");
    assert!((61_400..63_700).contains(&second), "{second}");
    assert!((136_400..138_700).contains(&third), "{third}");
}

#[test]
fn a_service_of_another_kind_is_not_taken() {
    let mut pair = memory(5000);
    pair.post_at(0, 1, Verb::Write, 0, 10);
    let mut header = pair.ends[0].poll_transmit(pair.now).unwrap();
    header.service = Service::Unreliable;
    let [_, side] = pair.sides.as_mut().unwrap();
    let target = pair.ends[1].handle_at(pair.now, &header, Signals::default(), side);
    assert_eq!((target, pair.ends[1].delivered()), (Target::Nowhere, 0));
    assert_eq!(pair.ends[1].counters().discards.get(Discard::WrongOpcode), 1);
}
