//! Captures that mean no good: limits hold and nothing panics.

use crate::harness::{Tape, kinds};
use proptest::prelude::*;
use xoff_diagnose::capture::{Analysis, Kind, Limits, Options};
use xoff_wire::Opcode;
use xoff_wire::capture::{LinkType, Packet, Timestamp};

#[test]
fn queue_pairs_beyond_the_limit_are_counted_and_said() {
    let mut tape = Tape::new();
    for qp in 0..50 {
        tape.qp = [1, 0x100 + qp];
        tape.writes(0, [1, 2]);
    }
    let limits = Limits { streams: 10, history: 4 };
    let report = tape.report_with(Options { limits, ..Options::default() });
    assert_eq!(report.connections.len(), 10);
    assert_eq!(report.totals.not_followed, 80);
    assert!(kinds(&report).contains(&Kind::NotFollowed));
}

#[test]
fn a_short_history_loses_times_and_nothing_else() {
    let mut tape = Tape::new();
    tape.writes(0, 0..100);
    tape.ack(1, 99);
    for history in [0, 1, 8] {
        let limits = Limits { streams: 10, history };
        let report = tape.report_with(Options { limits, ..Options::default() });
        assert_eq!(report.connections[0].a_to_b.operations.write, 100);
    }
}

#[test]
fn glued_packets_are_recognised() {
    let mut tape = Tape::new();
    let mut header = tape.header(0, Opcode::SendOnly, 1);
    header.payload = 5000;
    let number = tape.send(0, header);
    let report = tape.report();
    assert_eq!(report.totals.oversized.packets, [number]);
    assert_eq!(kinds(&report), [Kind::Oversized]);
}

#[test]
fn a_capture_of_headers_alone_still_counts() {
    let mut tape = Tape::new();
    tape.writes(0, 0..10);
    tape.ack(1, 9);
    let mut analysis = Analysis::new(Options::default());
    for packet in tape.packets() {
        let bytes = &packet.bytes[..packet.bytes.len().min(96)];
        analysis.packet(&Packet { bytes, ..packet });
    }
    let report = analysis.finish();
    assert_eq!(report.connections[0].a_to_b.payload_bytes, 10 * 1024);
    assert_eq!((report.totals.icrc_unknown, report.totals.icrc_right), (10, 1));
    assert_eq!(kinds(&report), [Kind::Truncated]);
}

#[test]
fn other_links_are_said_to_be_unreadable() {
    let mut analysis = Analysis::new(Options::default());
    analysis.packet(&Packet {
        timestamp: Timestamp::from_ns(0),
        link_type: LinkType(147),
        wire_len: 4,
        bytes: &[1, 2, 3, 4],
    });
    assert_eq!(kinds(&analysis.finish()), [Kind::NotFollowed]);
}

proptest! {
    /// Random sequence numbers, directions and kinds, at random and sometimes decreasing times.
    #[test]
    fn any_packets_do_no_harm(
        packets in proptest::collection::vec((0usize..2, 0u32..40, 0u8..24, 0u64..2000), 0..200),
        qps in 1u32..4,
    ) {
        let mut tape = Tape::new();
        let count = packets.len() as u64;
        for (at, (from, psn, kind, time)) in packets.into_iter().enumerate() {
            tape.now_us = time;
            tape.qp = [at as u32 % qps, 9];
            let opcode = Opcode::ALL[usize::from(kind)];
            let mut header = tape.header(from, opcode, psn.wrapping_mul(0x3_0001));
            header.payload = if opcode.has_payload() { psn } else { 0 };
            tape.send(from, header);
        }
        let report = tape.report();
        prop_assert_eq!(report.totals.packets, count);
        let sum = report.totals.roce_v2 + report.totals.other + report.totals.pause_frames;
        prop_assert_eq!(sum, count);
        let followed: u64 =
            report.connections.iter().map(|c| c.a_to_b.packets + c.b_to_a.packets).sum();
        let unknown = report.totals.unknown_opcode.count;
        prop_assert_eq!(followed + unknown + report.management.packets, count);
        for finding in &report.findings {
            prop_assert!(finding.evidence.packets.len() <= 16);
            prop_assert!(finding.evidence.packets.iter().all(|number| *number <= count));
        }
    }
}
