//! What applications add to messages, and requests that are withdrawn.

use super::*;
use crate::Error;

fn padded(text: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = text.to_vec();
    bytes.resize(length, 0);
    bytes
}

fn extras(data: &[u8]) -> Extras<'_> {
    Extras { data, ..Extras::default() }
}

#[test]
fn data_goes_both_ways() {
    let mut wire = Wire::new();
    let now = wire.now;
    let extras = Extras { data: b"who", retry_count: 3, rnr_retry_count: 2 };
    let ours = wire.a.connect_with(now, B, PORT, offer(17), extras).unwrap();
    wire.deliver_all();
    let theirs = wire.requested();
    let asked = wire.events.iter().any(|(_, event)| match event {
        Event::Requested { peer, data, .. } => {
            assert_eq!((peer.retry_count, peer.rnr_retry_count), (3, 2));
            data[..] == padded(b"who", REQUEST_DATA)
        }
        _ => false,
    });
    assert!(asked);
    let extras = Extras { data: b"me", retry_count: 7, rnr_retry_count: 5 };
    wire.b.accept_with(now, theirs, offer(18), extras).unwrap();
    wire.deliver_all();
    assert_eq!(wire.a.private_data(ours), padded(b"me", ACCEPT_DATA));
    let known = |event: &Event| match event {
        Event::Established { peer, .. } => (peer.retry_count, peer.rnr_retry_count) == (3, 5),
        _ => false,
    };
    assert!(wire.has(A, known));
    wire.b.disconnect_with(now, theirs, b"bye").unwrap();
    wire.deliver_all();
    assert!(wire.has(A, |event| *event == Event::Disconnected { id: ours }));
    assert_eq!(wire.a.private_data(ours), padded(b"bye", DISCONNECT_DATA));
}

#[test]
fn a_rejection_has_its_data() {
    let mut wire = Wire::new();
    let now = wire.now;
    let ours = wire.a.connect(now, B, PORT, offer(17)).unwrap();
    wire.deliver_all();
    let theirs = wire.requested();
    wire.b.reject_with(now, theirs, RejectReason::CONSUMER, b"not today").unwrap();
    wire.deliver_all();
    let reason = RejectReason::CONSUMER;
    assert!(wire.has(A, |event| *event == Event::Rejected { id: ours, reason }));
    assert_eq!(wire.a.private_data(ours), padded(b"not today", REJECT_DATA));
}

#[test]
fn nothing_is_cut_off() {
    let mut wire = Wire::new();
    let now = wire.now;
    let long = |most: usize| vec![1; most + 1];
    let too_long = |most| Error::PrivateData { given: most + 1, most };
    let (data, whole) = (long(REQUEST_DATA), [1; REQUEST_DATA]);
    let refused = wire.a.connect_with(now, B, PORT, offer(17), extras(&data));
    assert_eq!(refused, Err(too_long(REQUEST_DATA)));
    let ours = wire.a.connect_with(now, B, PORT, offer(17), extras(&whole)).unwrap();
    wire.deliver_all();
    let theirs = wire.requested();
    let refused = wire.b.reject_with(now, theirs, RejectReason::CONSUMER, &long(REJECT_DATA));
    assert_eq!(refused, Err(too_long(REJECT_DATA)));
    let refused = wire.b.accept_with(now, theirs, offer(18), extras(&long(ACCEPT_DATA)));
    assert_eq!(refused, Err(too_long(ACCEPT_DATA)));
    // The request still waits.
    wire.b.accept_with(now, theirs, offer(18), extras(&[2; ACCEPT_DATA])).unwrap();
    wire.deliver_all();
    assert_eq!(wire.a.private_data(ours), [2; ACCEPT_DATA]);
    let refused = wire.a.disconnect_with(now, ours, &long(DISCONNECT_DATA));
    assert_eq!(refused, Err(too_long(DISCONNECT_DATA)));
    wire.a.disconnect_with(now, ours, &[3; DISCONNECT_DATA]).unwrap();
}

#[test]
fn an_answer_to_a_withdrawn_request_is_rejected() {
    let mut wire = Wire::new();
    let now = wire.now;
    let ours = wire.a.connect(now, B, PORT, offer(17)).unwrap();
    wire.deliver_all();
    assert!(wire.a.withdraw(now, ours));
    assert!(!wire.a.withdraw(now, ours), "once is enough");
    let theirs = wire.requested();
    assert!(wire.b.accept(now, theirs, offer(18)));
    wire.deliver_all();
    let reason = RejectReason::TIMEOUT;
    assert!(wire.has(B, |event| *event == Event::Rejected { id: theirs, reason }));
    assert!(!wire.has(A, |event| matches!(event, Event::Established { .. })));
    assert_eq!((wire.a.open_connections(), wire.b.open_connections()), (0, 0));
}
