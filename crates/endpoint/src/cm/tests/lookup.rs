//! Lookups of datagram services, and peers that abuse them.

use super::*;
use crate::cm::connection::DECISION;
use crate::cm::lookup::MAX_LOOKUPS;
use xoff_transport::Qkey;
use xoff_wire::cm::{LookedUp, LookupStatus};

const SERVICE: DatagramService = DatagramService { qpn: Qpn::new(0x16), qkey: Qkey(0x0123_4567) };

/// A question that has reached its listener: its names at both ends.
fn asked() -> (Wire, ConnectionId, ConnectionId) {
    let mut wire = Wire::new();
    wire.b.listen_for_lookups(PORT);
    let ours = wire.a.look_up(wire.now, B, PORT).unwrap();
    wire.deliver_all();
    let theirs = match wire.events[..] {
        [(B, Event::LookedUp { id, from: A, .. })] => id,
        ref other => panic!("{other:?}"),
    };
    wire.events.clear();
    (wire, ours, theirs)
}

fn nothing_is_kept(wire: &Wire) -> bool {
    wire.a.lookups.questions.is_empty() && wire.b.lookups.questions.is_empty()
}

/// Goes on until nothing is due any more.
fn settle(wire: &mut Wire) {
    while !wire.a.deadline().min(wire.b.deadline()).is_never() {
        wire.wait();
        wire.flying.clear();
    }
}

#[test]
fn who_asks_is_told_and_forgotten() {
    let (mut wire, ours, theirs) = asked();
    assert!(wire.b.serve(wire.now, theirs, SERVICE));
    assert!(!wire.b.serve(wire.now, theirs, SERVICE), "once is enough");
    wire.deliver_all();
    assert_eq!(wire.events, [(A, Event::Found { id: ours, address: B, service: SERVICE })]);
    assert!(wire.a.lookups.questions.is_empty());
    settle(&mut wire);
    assert!(nothing_is_kept(&wire));
    assert_eq!(wire.events.len(), 1, "{:?}", wire.events);
}

#[test]
fn refusals_say_why() {
    let (mut wire, ours, theirs) = asked();
    assert!(wire.b.decline(wire.now, theirs, LookupStatus::CONSUMER));
    wire.deliver_all();
    let status = LookupStatus::CONSUMER;
    assert_eq!(wire.events, [(A, Event::NotFound { id: ours, status })]);

    let mut wire = Wire::new();
    // Connections are served at this port, datagrams are not.
    let id = wire.a.look_up(wire.now, B, PORT).unwrap();
    wire.deliver_all();
    let status = LookupStatus::INVALID_SERVICE_ID;
    assert_eq!(wire.events, [(A, Event::NotFound { id, status })]);
    assert!(nothing_is_kept(&wire));
    assert_eq!(wire.b.counters().unserved, 1);
}

#[test]
fn lost_questions_and_answers_are_repeated() {
    let mut wire = Wire::new();
    wire.b.listen_for_lookups(PORT);
    let ours = wire.a.look_up(wire.now, B, PORT).unwrap();
    wire.collect();
    wire.flying.clear();
    wire.wait();
    assert_eq!(wire.flying.len(), 1, "the question again");
    let again = wire.flying[0].clone();
    wire.deliver_all();
    // Asked once more while the caller thinks about it: nothing to say yet.
    wire.flying.push(again.clone());
    wire.deliver_all();
    let [(B, Event::LookedUp { id, .. })] = wire.events[..] else { panic!("{:?}", wire.events) };
    wire.events.clear();
    assert!(wire.b.serve(wire.now, id, SERVICE));
    wire.collect();
    let lost = wire.flying.pop().unwrap();
    wire.flying.push(again);
    wire.deliver_all();
    assert_eq!(wire.events, [(A, Event::Found { id: ours, address: B, service: SERVICE })]);
    wire.flying.push(lost);
    wire.deliver_all();
    assert_eq!(wire.events.len(), 1, "the lost answer comes late and says nothing new");
    assert_eq!((wire.b.counters().duplicates, wire.a.counters().stray), (2, 1));
}

#[test]
fn silence_ends_it() {
    let mut wire = Wire::new();
    let id = wire.a.look_up(wire.now, B, PORT).unwrap();
    wire.collect();
    settle(&mut wire);
    assert_eq!(wire.events, [(A, Event::TimedOut { id })]);
    assert_eq!(wire.a.counters().sent, 1 + u64::from(MAX_RETRIES));
    // And so it does if our own caller is silent.
    let (mut wire, _, theirs) = asked();
    let end = wire.now + DECISION;
    settle(&mut wire);
    assert!(wire.now >= end && nothing_is_kept(&wire));
    assert!(wire.events.contains(&(B, Event::TimedOut { id: theirs })), "{:?}", wire.events);
    assert!(!wire.b.serve(wire.now, theirs, SERVICE));
}

#[test]
fn only_those_who_were_asked_are_heard() {
    let mut wire = Wire::new();
    wire.b.listen_for_lookups(PORT);
    let ours = wire.a.look_up(wire.now, B, PORT).unwrap();
    wire.collect();
    let stranger = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 3));
    let (_, _, question) = wire.flying[0].clone();
    // The addresses in it are not the stranger's.
    wire.b.handle(wire.now, stranger, &question);
    assert_eq!(wire.b.counters().nonsense, 1);
    let answer = |service| {
        Message::LookedUp(LookedUp {
            remote_id: CommId(ours.0),
            status: LookupStatus::FOUND,
            info_len: 0,
            qpn: Qpn::new(666),
            service,
            qkey: 0,
            info: [0; 72],
            private_data: PrivateData::NONE,
        })
        .emit(TransactionId(0))
    };
    let (udp, tcp) = (ServiceId::udp(PORT), ServiceId::tcp(PORT));
    wire.a.handle(wire.now, stranger, &answer(udp));
    wire.a.handle(wire.now, B, &answer(tcp));
    assert_eq!(wire.a.counters().stray, 2);
    assert!(wire.a.poll_event().is_none());
    // What a lookup is called says nothing to those who deal in connections.
    assert!(!wire.a.accept(wire.now, ours, offer(1)) && !wire.a.disconnect(wire.now, ours));
    assert!(!wire.a.serve(wire.now, ours, SERVICE), "our own question is not ours to answer");
}

#[test]
fn a_flood_of_questions_is_bounded() {
    let mut wire = Wire::new();
    wire.b.listen_for_lookups(PORT);
    wire.a.look_up(wire.now, B, PORT).unwrap();
    wire.collect();
    let (_, _, mut question) = wire.flying.remove(0);
    for name in 1..=2 * MAX_LOOKUPS as u32 {
        question[24..28].copy_from_slice(&name.to_be_bytes());
        wire.b.handle(wire.now, A, &question);
        wire.collect();
    }
    assert_eq!(wire.b.lookups.questions.len(), MAX_LOOKUPS);
    assert_eq!(wire.b.counters().overflow, MAX_LOOKUPS as u64);
    assert!(wire.b.look_up(wire.now, A, PORT).is_none());
    let refused = wire.flying.iter().filter(|(_, _, bytes)| bytes[28] == 3).count();
    assert_eq!(refused, MAX_LOOKUPS, "each that was not taken was told so");
    settle(&mut wire);
    assert!(nothing_is_kept(&wire) && wire.b.lookups.due().is_never());
}
