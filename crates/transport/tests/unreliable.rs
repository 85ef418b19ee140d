//! The services that promise little: what arrives is whole, and nothing else is touched.

mod pair;

use pair::side::{Side, pattern};
use pair::{Draws, LINE, plain};
use proptest::prelude::*;
use std::sync::Arc;
use xoff_transport::config::{Congestion, Dcqcn, QpConfig};
use xoff_transport::{
    AddressHandle, AnyPair, Atomic, Datagram, DatagramPair, Discard, PathInfo, PostError, Qkey,
    QueuePair, ReceivedKind, Signals, Slack, Status, Target, UnreliablePair, Verb, WorkRequest,
};
use xoff_units::{Bytes, Instant, Span};
use xoff_wire::{Header, Immediate, Opcode, Psn, Qpn, Rkey, Service};

const PATH: PathInfo = PathInfo { line_rate: LINE, base_rtt: Span::from_us(4) };
const QKEY: Qkey = Qkey(0x1234);

fn unreliable(local: u32, peer: u32, config: &QpConfig) -> AnyPair {
    let (local, peer) = (Qpn::new(local), Qpn::new(peer));
    AnyPair::Unreliable(Box::new(UnreliablePair::new(Arc::new(config.clone()), local, peer, PATH)))
}

fn datagrams(local: u32) -> AnyPair {
    let pair = DatagramPair::new(Arc::new(plain()), Qpn::new(local), QKEY, PATH);
    AnyPair::Datagram(Box::new(pair))
}

type Packet = (Header, Vec<u8>);

/// Everything a sender has to send, at whatever time it may.
fn drain(pair: &mut AnyPair, side: &mut Side) -> Vec<Packet> {
    let mut packets = Vec::new();
    while !pair.next_send().is_never() {
        let now = pair.next_send();
        let header = pair.poll_transmit(now).expect("a packet at its time");
        let payload = side.get(pair.payload_of(&header), header.payload as usize).unwrap();
        packets.push((header, payload));
    }
    packets
}

fn deliver(pair: &mut AnyPair, side: &mut Side, packets: &[Packet]) {
    for (header, payload) in packets {
        let target = pair.handle_at(Instant::ZERO, header, Signals::default(), side);
        side.put(target, payload);
        assert_eq!(pair.poll_control(Instant::ZERO), None);
    }
}

fn post(
    pair: &mut AnyPair,
    side: &mut Side,
    id: u64,
    operation: Verb,
    at: (u64, Rkey),
    length: u64,
) {
    side.work.insert(id, pattern(id, length as usize));
    let length = Bytes::new(length);
    let work = WorkRequest { id, operation, length, address: at.0, rkey: at.1 };
    pair.post(Instant::ZERO, work).unwrap();
}

#[test]
fn messages_over_an_unreliable_connection() {
    let (mut a, mut b) = (unreliable(1, 2, &plain()), unreliable(2, 1, &plain()));
    let (mut here, mut there) = (Side::new(1, 1), Side::new(10_000, 2));
    let at = (there.base + 500, there.key);
    let immediate = Immediate([5; 4]);
    there.post_receive(70, 3000);
    there.post_receive(71, 3000);
    post(&mut a, &mut here, 1, Verb::Write, at, 2500);
    post(&mut a, &mut here, 2, Verb::SendImmediate(immediate), at, 2100);
    post(&mut a, &mut here, 3, Verb::WriteImmediate(immediate), (at.0 + 3000, at.1), 10);
    let packets = drain(&mut a, &mut here);
    assert!(packets.iter().all(|(header, _)| header.service == Service::Unreliable));
    assert!(packets.iter().all(|(header, _)| !header.ack_request));
    let ids: Vec<_> =
        std::iter::from_fn(|| a.poll_completion()).map(|d| (d.id, d.status)).collect();
    assert_eq!(ids, [(1, Status::Ok), (2, Status::Ok), (3, Status::Ok)]);
    deliver(&mut b, &mut there, &packets);
    assert!(there.region()[500..3000] == pattern(1, 2500));
    assert!(there.region()[3500..3510] == pattern(3, 10));
    let received: Vec<_> = std::iter::from_fn(|| b.poll_receive()).collect();
    assert_eq!((received[0].id, received[0].length.get()), (70, 2100));
    assert_eq!((received[1].id, received[1].length.get()), (71, 10));
    assert_eq!(received[1].kind, ReceivedKind::Write);
    assert!(received.iter().all(|r| r.immediate == Some(immediate)));
    assert!(there.buffers[&70].bytes()[..2100] == pattern(2, 2100));
    assert!(a.is_idle() && b.is_idle());
}

#[test]
fn an_unreliable_connection_refuses_in_silence() {
    let (mut a, mut b) = (unreliable(1, 2, &plain()), unreliable(2, 1, &plain()));
    let (mut here, mut there) = (Side::new(1, 1), Side::new(10_000, 2));
    let before = there.region().to_vec();
    post(&mut a, &mut here, 1, Verb::Write, (there.base + 9000, there.key), 1001);
    post(&mut a, &mut here, 2, Verb::Write, (there.base, Rkey(77)), 3000);
    post(&mut a, &mut here, 3, Verb::Send, (0, Rkey(0)), 1500);
    let packets = drain(&mut a, &mut here);
    deliver(&mut b, &mut there, &packets);
    assert!(there.region() == before && there.is_intact());
    let discards = &b.counters().discards;
    assert_eq!(discards.get(Discard::AccessDenied), 2);
    assert_eq!(discards.get(Discard::NoReceive), 1);
    // The rest of the messages whose beginning was refused.
    assert_eq!(discards.get(Discard::Incomplete), 1 + 2 + 1);
    assert!(!b.has_failed());
    // And the next one is fine.
    post(&mut a, &mut here, 4, Verb::Write, (there.base, there.key), 2500);
    let packets = drain(&mut a, &mut here);
    deliver(&mut b, &mut there, &packets);
    assert!(there.region()[..2500] == pattern(4, 2500));
}

#[test]
fn numbers_that_only_go_back_never_run_out() {
    let mut pair = unreliable(1, 2, &plain());
    let mut side = Side::new(5000, 1);
    // Three times half a lap back from the expected one, which is below any start; then the last
    // number.
    for (id, psn) in [0x80_0000, 0x00_0001, 0x80_0002, 0xff_ffff, 0].into_iter().enumerate() {
        let id = id as u64;
        side.post_receive(id, 1000);
        post(&mut pair, &mut side, id, Verb::Send, (0, Rkey(0)), 10);
        let (mut header, _) = drain(&mut pair, &mut side).remove(0);
        (header.psn, header.dest_qp) = (Psn::new(psn), Qpn::new(1));
        let target = pair.handle_at(Instant::ZERO, &header, Signals::default(), &mut side);
        assert_eq!(target, Target::Receive { id, offset: 0 }, "each is a whole message");
    }
    assert_eq!(pair.delivered(), 50);
}

#[test]
fn services_have_their_own_verbs() {
    let work = |operation| {
        let length = Bytes::new(8);
        WorkRequest { id: 1, operation, length, address: 0, rkey: Rkey(0) }
    };
    let mut unreliable = unreliable(1, 2, &plain());
    let add = Verb::Atomic(Atomic::FetchAdd { add: 1 });
    for verb in [Verb::Read, add, Verb::SendInvalidate(Rkey(1))] {
        assert_eq!(unreliable.post(Instant::ZERO, work(verb)), Err(PostError::Unsupported));
    }
    let mut datagrams = datagrams(1);
    let posted = datagrams.post(Instant::ZERO, work(Verb::Send));
    assert_eq!(posted, Err(PostError::Unsupported));
    let reliable = QueuePair::new(Arc::new(plain()), Qpn::new(1), Qpn::new(2), PATH);
    let mut reliable = AnyPair::Reliable(Box::new(reliable));
    let posted = reliable.post_datagram(Instant::ZERO, datagram(1, 10));
    assert_eq!(posted, Err(PostError::Unsupported));
    assert_eq!(datagrams.post_datagram(Instant::ZERO, datagram(1, 1001)), Err(PostError::TooLong));
}

fn datagram(id: u64, length: u64) -> Datagram {
    Datagram {
        id,
        length: Bytes::new(length),
        immediate: None,
        address: AddressHandle(900 + id),
        to: Qpn::new(2),
        qkey: QKEY,
    }
}

#[test]
fn datagrams_say_where_they_go_and_come_from() {
    let mut a = datagrams(1);
    let pair = DatagramPair::new(Arc::new(plain()), Qpn::new(2), QKEY, PATH);
    let mut b = AnyPair::Datagram(Box::new(pair.reserving(Bytes::new(40))));
    let (mut here, mut there) = (Side::new(1, 1), Side::new(1, 2));
    here.work.insert(5, pattern(5, 700));
    here.work.insert(6, pattern(6, 960));
    let immediate = Some(Immediate([5; 4]));
    a.post_datagram(Instant::ZERO, Datagram { immediate, ..datagram(5, 700) }).unwrap();
    let header = a.poll_transmit(Instant::ZERO).unwrap();
    assert_eq!(a.address(), Some(AddressHandle(905)));
    let payload = here.get(a.payload_of(&header), 700).unwrap();
    a.post_datagram(Instant::ZERO, datagram(6, 960)).unwrap();
    let more = drain(&mut a, &mut here);
    // One that does not fit leaves the receive to the next.
    there.post_receive(70, 999);
    deliver(&mut b, &mut there, &more);
    assert_eq!(b.counters().discards.get(Discard::ReceiveTooShort), 1);
    deliver(&mut b, &mut there, &[(header, payload.clone())]);
    let received = b.poll_receive().unwrap();
    assert_eq!((received.id, received.length.get()), (70, 740));
    assert_eq!((received.source, received.immediate), (Some(Qpn::new(1)), immediate));
    assert!(there.buffers[&70].bytes()[40..740] == payload && there.is_intact());
    deliver(&mut b, &mut there, &more);
    assert_eq!(b.counters().discards.get(Discard::NoReceive), 1);
    assert_eq!(b.poll_receive(), None);
}

#[test]
fn a_datagram_needs_the_right_key_and_service() {
    let (mut a, mut b) = (datagrams(1), datagrams(2));
    let (mut here, mut there) = (Side::new(1, 1), Side::new(1, 2));
    here.work.insert(5, pattern(5, 700));
    there.post_receive(70, 1000);
    a.post_datagram(Instant::ZERO, Datagram { qkey: Qkey(9), ..datagram(5, 700) }).unwrap();
    a.post_datagram(Instant::ZERO, datagram(5, 700)).unwrap();
    let mut packets = drain(&mut a, &mut here);
    packets[1].0.service = Service::Reliable;
    deliver(&mut b, &mut there, &packets);
    let discards = &b.counters().discards;
    assert_eq!(discards.get(Discard::WrongQkey), 1);
    assert_eq!(discards.get(Discard::WrongOpcode), 1);
    assert_eq!((b.poll_receive(), b.delivered()), (None, 0));
}

#[test]
fn a_mark_is_answered_and_the_answer_slows_down() {
    let config = QpConfig { congestion: Congestion::Dcqcn(Dcqcn::default()), ..plain() };
    let mut here = Side::new(1, 1);
    let mut a = unreliable(1, 2, &config);
    let mut b = unreliable(2, 1, &config);
    let mut there = Side::new(5000, 2);
    let at = (there.base, there.key);
    post(&mut a, &mut here, 1, Verb::Write, at, 3000);
    let marked = Signals { ce: true, ..Signals::default() };
    let mut answers = Vec::new();
    for (header, payload) in drain(&mut a, &mut here) {
        let target = b.handle_at(Instant::ZERO, &header, marked, &mut there);
        there.put(target, &payload);
        answers.extend(std::iter::from_fn(|| b.poll_control(Instant::ZERO)));
    }
    assert_eq!(answers.len(), 1, "one per interval");
    assert_eq!((answers[0].opcode, answers[0].dest_qp), (Opcode::Cnp, Qpn::new(1)));
    let now = Instant::ZERO + Span::from_us(5);
    assert_eq!(a.handle_at(now, &answers[0], Signals::default(), &mut here), Target::Nowhere);
    assert!(a.rate() < LINE);
    assert!(!a.deadline().is_never());
    let mut c = datagrams(2);
    let mut d = datagrams(7);
    here.work.insert(5, pattern(5, 700));
    d.post_datagram(now, datagram(5, 700)).unwrap();
    let header = d.poll_transmit(now).unwrap();
    c.handle_at(now, &header, marked, &mut there);
    assert_eq!(c.poll_control(now).map(|header| header.dest_qp), Some(Qpn::new(7)));
    assert_eq!(c.poll_control(now), None);
}

#[test]
fn bursts_of_a_connection_keep_its_rate() {
    let mut pair = unreliable(1, 2, &plain());
    let mut side = Side::new(1, 1);
    post(&mut pair, &mut side, 1, Verb::Write, (0, Rkey(0)), 10_000_000);
    let slack = Slack { ahead: Span::from_us(10), behind: Span::from_us(50) };
    let mut sent = 0u64;
    let mut now = Instant::ZERO + Span::from_us(100);
    let start = now;
    let mut draws = Draws(3);
    while now < start + Span::from_us(500) {
        while let Some(header) = pair.poll_transmit_within(now, slack) {
            sent += u64::from(header.payload) + 82;
        }
        now += Span::from_ns(1000 + draws.next() % 30_000);
    }
    // 12.5 bytes per nanosecond, and what the slack allows beyond.
    let most = (500 + 10 + 50) * 12_500 + 2000;
    assert!((470 * 12_500..=most).contains(&sent), "{sent}");
}

#[test]
fn what_is_taken_out_of_use_is_flushed_and_deaf() {
    let (mut a, mut b) = (unreliable(1, 2, &plain()), unreliable(2, 1, &plain()));
    let (mut here, mut there) = (Side::new(1, 1), Side::new(1, 2));
    there.post_receive(70, 5000);
    there.post_receive(71, 5000);
    post(&mut a, &mut here, 1, Verb::Send, (0, Rkey(0)), 2500);
    let packets = drain(&mut a, &mut here);
    deliver(&mut b, &mut there, &packets[..2]);
    post(&mut b, &mut there, 9, Verb::Send, (0, Rkey(0)), 10);
    b.fail(Status::LocalProtection);
    b.flush_receives(&mut there.receives);
    deliver(&mut b, &mut there, &packets[2..]);
    let ended: Vec<_> = std::iter::from_fn(|| b.poll_receive()).map(|r| (r.id, r.status)).collect();
    assert_eq!(ended, [(70, Status::Flushed), (71, Status::Flushed)]);
    assert_eq!(b.poll_completion().map(|d| d.status), Some(Status::LocalProtection));
    assert_eq!(b.counters().discards.get(Discard::Failed), 1);
    let work = WorkRequest {
        id: 1,
        operation: Verb::Send,
        length: Bytes::ZERO,
        address: 0,
        rkey: Rkey(0),
    };
    assert_eq!(b.post(Instant::ZERO, work), Err(PostError::Failed));
}

/// What a wire without promises makes of packets.
fn mistreat(packets: Vec<Packet>, draws: &mut Draws, faults: (u32, u32, u32)) -> Vec<Packet> {
    let (loss, duplication, reordering) = faults;
    let mut out: Vec<Packet> = Vec::new();
    for packet in packets {
        if draws.chance(loss) {
            continue;
        }
        let at = if draws.chance(reordering) {
            out.len().saturating_sub((draws.next() % 4) as usize)
        } else {
            out.len()
        };
        if draws.chance(duplication) {
            out.push(packet.clone());
        }
        out.insert(at, packet);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn a_message_arrives_whole_or_not_at_all(
        seed in any::<u64>(),
        start in any::<u32>(),
        faults in (0u32..300, 0u32..200, 0u32..200),
        lengths in proptest::collection::vec(0u64..6000, 1..20),
    ) {
        let mut draws = Draws(seed);
        let start = Psn::new(start);
        let new = |local, peer| {
            let (local, peer) = (Qpn::new(local), Qpn::new(peer));
            let pair = UnreliablePair::new(Arc::new(plain()), local, peer, PATH);
            AnyPair::Unreliable(Box::new(pair.starting_at(start, start)))
        };
        let (mut a, mut b) = (new(1, 2), new(2, 1));
        let (mut here, mut there) = (Side::new(1, 1), Side::new(1, 2));
        for (n, &length) in lengths.iter().enumerate() {
            let immediate = Immediate((n as u32).to_be_bytes());
            post(&mut a, &mut here, n as u64, Verb::SendImmediate(immediate), (0, Rkey(0)), length);
        }
        for id in 100..100 + 4 * lengths.len() as u64 {
            there.post_receive(id, 6000);
        }
        let packets = mistreat(drain(&mut a, &mut here), &mut draws, faults);
        deliver(&mut b, &mut there, &packets);
        let received: Vec<_> = std::iter::from_fn(|| b.poll_receive()).collect();
        for (nth, received) in received.iter().enumerate() {
            // Receives are used in order, also after messages that broke off.
            prop_assert_eq!((received.id, received.status), (100 + nth as u64, Status::Ok));
            let n = u32::from_be_bytes(received.immediate.unwrap().0) as usize;
            prop_assert_eq!(received.length.get(), lengths[n]);
            let length = lengths[n] as usize;
            prop_assert!(there.buffers[&received.id].bytes()[..length] == pattern(n as u64, length));
        }
        if faults == (0, 0, 0) {
            prop_assert_eq!(received.len(), lengths.len());
        }
        prop_assert!(there.is_intact());
    }

    #[test]
    fn datagrams_arrive_whole(
        seed in any::<u64>(),
        faults in (0u32..300, 0u32..200, 0u32..300),
        lengths in proptest::collection::vec(0u64..=1000, 1..30),
    ) {
        let mut draws = Draws(seed);
        let (mut a, mut b) = (datagrams(1), datagrams(2));
        let (mut here, mut there) = (Side::new(1, 1), Side::new(1, 2));
        for (n, &length) in lengths.iter().enumerate() {
            let id = n as u64;
            here.work.insert(id, pattern(id, length as usize));
            let immediate = Some(Immediate((n as u32).to_be_bytes()));
            let datagram = Datagram { immediate, ..datagram(id, length) };
            a.post_datagram(Instant::ZERO, datagram).unwrap();
            there.post_receive(100 + 2 * id, 1000);
            there.post_receive(101 + 2 * id, 1000);
        }
        let packets = mistreat(drain(&mut a, &mut here), &mut draws, faults);
        deliver(&mut b, &mut there, &packets);
        let received: Vec<_> = std::iter::from_fn(|| b.poll_receive()).collect();
        prop_assert_eq!(received.len(), packets.len());
        for (received, (header, payload)) in received.iter().zip(&packets) {
            prop_assert_eq!(received.length.get(), u64::from(header.payload));
            let bytes = there.buffers[&received.id].bytes();
            prop_assert!(bytes[..payload.len()] == payload[..]);
        }
    }

    #[test]
    fn no_header_breaks_a_service(seed in any::<u64>(), rounds in 1usize..200) {
        let mut draws = Draws(seed);
        for mut pair in [unreliable(1, 2, &plain()), datagrams(1)] {
            let mut side = Side::new(5000, 1);
            let before = side.region().to_vec();
            let mut now = Instant::ZERO;
            for id in 0..rounds as u64 {
                now += Span::from_ns(draws.next() % 5000);
                if draws.chance(300) {
                    side.post_receive(id, draws.next() % 3000);
                }
                let mut bytes = [0; xoff_wire::MAX_HEADER_LEN];
                bytes.iter_mut().for_each(|byte| *byte = draws.next() as u8);
                bytes[0] = [bytes[0], bytes[0] % 32 + 32, 0x64, 0x65][(draws.next() % 4) as usize];
                let payload = [0, 1, 1000, 1001, 700][(draws.next() % 5) as usize];
                let Ok((mut header, _)) = Header::decode(&bytes, payload) else { continue };
                header.dest_qp = Qpn::new(if draws.chance(950) { 1 } else { 3 });
                let signals = Signals { ce: draws.chance(200), ..Signals::default() };
                let target = pair.handle_at(now, &header, signals, &mut side);
                side.put(target, &vec![0xee; payload as usize]);
                prop_assert!(!matches!(target, Target::Region(_)));
                while pair.poll_control(now).is_some() {}
                pair.handle_deadline(now);
            }
            prop_assert!(side.region() == before && side.is_intact());
        }
    }
}
