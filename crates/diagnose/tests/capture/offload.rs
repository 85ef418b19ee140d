//! Packets that a host's offloads glued together.

use crate::harness::{MTU, Tape, forward, kinds, only};
use xoff_diagnose::capture::{Kind, Options};
use xoff_wire::{Opcode, Syndrome};

#[test]
fn glued_packets_are_taken_apart() {
    for (v6, same) in [(false, false), (false, true), (true, false)] {
        let mut tape = Tape::new();
        tape.v6 = v6;
        tape.same_identification = same;
        tape.writes(0, [1]);
        let first = tape.writes(0, 2..17);
        tape.glue(first);
        tape.wait(5).ack(1, 16);
        let report = tape.report();
        let totals = &report.totals;
        assert_eq!((totals.packets, totals.roce_v2), (3, 17), "v6 {v6} same {same}");
        assert_eq!((totals.icrc_right, totals.icrc_wrong.count), (17, 0), "v6 {v6} same {same}");
        assert_eq!((totals.glued.packets.as_slice(), totals.glued_packets), (&[first][..], 15));
        let direction = forward(&report);
        assert_eq!((direction.operations.write, direction.request_packets), (16, 16));
        assert_eq!(direction.payload_bytes, 16 * u64::from(MTU));
        let alone = if v6 { 1118 } else { 1098 };
        assert_eq!(direction.wire_bytes, 16 * alone, "as on the wire");
        assert_eq!(kinds(&report), [Kind::Glued]);
        let text = "1 datagram merged by segmentation offload, taken apart into 15 packets";
        assert_eq!(report.findings[0].text, text);
    }
}

#[test]
fn the_last_may_be_shorter() {
    let mut tape = Tape::new();
    let first = tape.next();
    for (psn, opcode) in [(1, Opcode::WriteMiddle), (2, Opcode::WriteMiddle)] {
        tape.write(0, opcode, psn);
    }
    let mut last = tape.header(0, Opcode::WriteLast, 3);
    last.payload = 100;
    tape.send(0, last);
    tape.glue(first);
    tape.ack(1, 3);
    let report = tape.report();
    assert_eq!((report.totals.roce_v2, report.totals.icrc_wrong.count), (4, 0));
    assert_eq!(forward(&report).payload_bytes, 2 * u64::from(MTU) + 100);
}

#[test]
fn small_ones_and_answers_too() {
    let mut tape = Tape::new();
    for psn in 1..=3 {
        let mut header = tape.header(0, Opcode::SendOnly, psn);
        header.payload = 64;
        tape.send(0, header);
    }
    tape.glue(1);
    let first = tape.next();
    tape.ack(1, 1);
    tape.ack(1, 2);
    tape.ack(1, 3);
    tape.glue(first);
    let report = tape.report();
    assert_eq!((report.totals.packets, report.totals.roce_v2), (2, 6));
    assert_eq!((report.totals.icrc_right, report.totals.icrc_wrong.count), (6, 0));
    assert_eq!((only(&report).a_to_b.operations.send, only(&report).a_to_b.acks), (3, 3));
}

#[test]
fn without_icrcs_they_come_apart_as_well() {
    let mut tape = Tape::new();
    let first = tape.writes(0, 1..10);
    tape.glue(first);
    let options = Options { check_icrc: false, ..Options::default() };
    let report = tape.report_with(options);
    assert_eq!((report.totals.roce_v2, report.totals.glued_packets), (9, 9));
    assert_eq!(forward(&report).operations.write, 9);
}

#[test]
fn a_damaged_packet_among_glued_ones_is_the_only_wrong_one() {
    let mut tape = Tape::new();
    tape.writes(0, 1..5);
    tape.damage(2);
    tape.glue(1);
    tape.answer(1, Syndrome::SequenceError, 2);
    let report = tape.report();
    assert_eq!((report.totals.icrc_right, report.totals.icrc_wrong.count), (4, 1));
}

#[test]
fn what_was_cut_cannot_be_taken_apart_and_is_said() {
    let mut tape = Tape::new();
    let first = tape.writes(0, 1..10);
    tape.glue(first);
    let report = tape.report_cut(128);
    assert_eq!(kinds(&report), [Kind::Oversized, Kind::Truncated]);
    assert!(report.findings[0].text.contains("tcpdump -s 0"), "{}", report.findings[0].text);
    assert_eq!(report.totals.icrc_wrong.count, 0);
}

#[test]
fn two_short_ones_that_were_cut_are_not_one() {
    // As a sender hands a message of MTU 1024 over: what begins it is longer by its RETH, so that a datagram has two
    // packets, and is no longer than a packet may be.
    let mut tape = Tape::new();
    let first = tape.next();
    tape.write(0, Opcode::WriteFirst, 1);
    tape.write(0, Opcode::WriteMiddle, 2);
    tape.glue(first);
    let whole = tape.report();
    assert_eq!(
        (whole.totals.glued_packets, forward(&whole).payload_bytes),
        (2, 2 * u64::from(MTU))
    );
    let cut = tape.report_cut(128);
    assert_eq!(kinds(&cut), [Kind::Oversized, Kind::Truncated]);
    assert!(cut.connections.is_empty(), "nothing is said of what was not seen: {cut:#?}");
}
