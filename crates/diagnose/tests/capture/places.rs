//! The same packet recorded at several places.

use crate::harness::{Tape, forward, kinds};
use xoff_diagnose::capture::Kind;
use xoff_wire::capture::LinkType;

/// A packet behind a cooked header of the second version.
fn cooked_v2(interface: u32, kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes[12..14].to_vec();
    out.extend([0, 0]);
    out.extend(interface.to_be_bytes());
    out.extend([0, 1, kind, 6]);
    out.extend([2, 0, 0, 0, 0, 1, 0, 0]);
    out.extend(&bytes[14..]);
    out
}

/// And of the first.
fn cooked_v1(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0, kind, 0, 1, 0, 6];
    out.extend([2, 0, 0, 0, 0, 1, 0, 0]);
    out.extend(&bytes[12..14]);
    out.extend(&bytes[14..]);
    out
}

fn tape(v6: bool) -> Tape {
    let mut tape = Tape::new();
    tape.v6 = v6;
    tape.writes(0, 1..=10);
    tape.wait(3).ack(1, 10);
    tape
}

/// How captures record a packet at two places.
type Twice = fn(&[u8]) -> Vec<(LinkType, u32, Vec<u8>)>;

const WAYS: [(&str, Twice); 4] = [
    ("-i any, with interfaces", |bytes| {
        let v2 = LinkType::COOKED_V2;
        vec![(v2, 0, cooked_v2(3, 4, bytes)), (v2, 0, cooked_v2(5, 0, bytes))]
    }),
    ("-i any, with directions", |bytes| {
        let v1 = LinkType::COOKED_V1;
        vec![(v1, 0, cooked_v1(4, bytes)), (v1, 0, cooked_v1(0, bytes))]
    }),
    ("two interfaces in one file", |bytes| {
        let ethernet = LinkType::ETHERNET;
        vec![(ethernet, 0, bytes.to_vec()), (ethernet, 1, bytes.to_vec())]
    }),
    ("before and behind a router", |bytes| {
        let mut routed = bytes.to_vec();
        routed[5] ^= 7;
        // The hop limit, of either version.
        let at = if bytes[14] >> 4 == 4 { 22 } else { 21 };
        routed[at] -= 1;
        vec![(LinkType::ETHERNET, 0, bytes.to_vec()), (LinkType::ETHERNET, 0, routed)]
    }),
];

#[test]
fn packets_recorded_twice_count_once() {
    for v6 in [false, true] {
        let tape = tape(v6);
        let once = tape.report();
        for (name, way) in WAYS {
            let twice = tape.report_of(|_, bytes| way(bytes));
            assert_eq!(twice.totals.packets, 22, "{name}");
            assert_eq!(twice.totals.roce_v2, 11, "{name}");
            assert_eq!(twice.totals.recorded_twice.count, 11, "{name}");
            assert_eq!(twice.totals.icrc_right, 11, "{name}");
            assert_eq!(twice.totals.opcodes, once.totals.opcodes, "{name}");
            let (found, expected) = (forward(&twice), forward(&once));
            assert_eq!(found.operations, expected.operations, "{name}");
            assert_eq!(found.payload_bytes, expected.payload_bytes, "{name}");
            assert_eq!((found.acks, found.duplicates.count), (1, 0), "{name}");
            assert_eq!(found.retransmissions.count, 0, "{name}");
            assert_eq!(kinds(&twice), [Kind::RecordedTwice], "{name}");
        }
    }
}

#[test]
fn what_is_sent_again_is_still_seen() {
    let mut tape = Tape::new();
    // Over IPv6 a packet that is sent again is the same to the last bit.
    tape.v6 = true;
    let first = tape.writes(0, [1]);
    tape.wait(3000);
    tape.again(first);
    tape.wait(3).ack(1, 1);
    for (name, way) in WAYS {
        let report = tape.report_of(|_, bytes| way(bytes));
        assert_eq!(report.totals.recorded_twice.count, 3, "{name}");
        assert_eq!(forward(&report).retransmissions.count, 1, "{name}");
    }
}

#[test]
fn what_the_network_doubles_is_not_recorded_twice() {
    let mut tape = Tape::new();
    let first = tape.writes(0, [1]);
    tape.again(first);
    tape.writes(0, [2]);
    tape.wait(3).ack(1, 2);
    let report = tape.report();
    assert_eq!(report.totals.recorded_twice.count, 0);
    assert_eq!(forward(&report).duplicates.count, 1);
}
