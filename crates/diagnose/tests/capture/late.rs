//! Read data that comes late, losses between messages, and what was not lost but not captured.

use crate::harness::{MTU, Tape, forward, kinds};
use xoff_diagnose::capture::Kind;
use xoff_wire::{Opcode, Operation, Position, Service, Syndrome};

/// One packet of read data, at a place in a read of `of` packets.
fn data(tape: &mut Tape, psn: u32, at: u32, of: u32) -> u64 {
    let mut header = tape.header(
        1,
        Opcode::new(Operation::ReadResponse, Position::of(at == 0, at + 1 == of)),
        psn + at,
    );
    header.ack_request = false;
    header.payload = MTU;
    if header.opcode.has_aeth() {
        let syndrome = Syndrome::Ack { credits: 31 };
        header.extension = xoff_wire::Extension::Aeth(xoff_wire::Aeth { syndrome, msn: 1 });
    }
    tape.wait(1).send(1, header)
}

#[test]
fn read_data_that_comes_late_is_counted() {
    let mut tape = Tape::new();
    tape.read(0, 100, 8 * MTU);
    for at in [0, 1, 2, 5, 6, 7] {
        data(&mut tape, 100, at, 8);
    }
    // The requester asks again for what it lacks.
    tape.wait(900).read(0, 103, 5 * MTU);
    let again = tape.next();
    for at in 0..5 {
        data(&mut tape, 103, at, 5);
    }
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.read_bytes, 8 * u64::from(MTU));
    assert_eq!(direction.read_out_of_sequence.packets, [5]);
    assert_eq!((direction.read_missing_packets, direction.read_late_packets), (0, 2));
    assert_eq!(direction.read_retransmissions.packets, (again..again + 5).collect::<Vec<_>>());
    assert_eq!(direction.incomplete_reads.count, 0);
    let gap = report.findings.iter().find(|finding| finding.kind == Kind::OutOfSequence).unwrap();
    assert!(gap.text.ends_with("all missing packets came later"), "{}", gap.text);
}

#[test]
fn a_loss_between_two_reads_is_seen() {
    for lost in [&[3][..], &[4], &[2, 3, 4, 5], &[3, 4]] {
        let mut tape = Tape::new();
        tape.read(0, 0, 4 * MTU);
        tape.read(0, 4, 4 * MTU);
        tape.read(0, 8, 4 * MTU);
        for psn in (0..12).filter(|psn| !lost.contains(psn)) {
            data(&mut tape, psn / 4 * 4, psn % 4, 4);
        }
        let report = tape.report();
        let direction = forward(&report);
        assert_eq!(direction.read_out_of_sequence.count, 1, "{lost:?}");
        assert_eq!(direction.read_missing_packets, lost.len() as u64, "{lost:?}");
        assert_eq!(direction.read_bytes, (12 - lost.len() as u64) * u64::from(MTU));
        assert_eq!(kinds(&report), [Kind::OutOfSequence], "{lost:?}");
    }
}

#[test]
fn other_requests_between_reads_are_no_loss() {
    let mut tape = Tape::new();
    for round in 0..20 {
        let psn = round * 6;
        tape.read(0, psn, 4 * MTU);
        tape.writes(0, [psn + 4, psn + 5]);
        for at in 0..4 {
            data(&mut tape, psn, at, 4);
        }
        tape.ack(1, psn + 5);
    }
    let report = tape.report();
    assert_eq!(report.findings, []);
    assert_eq!(forward(&report).read_bytes, 80 * u64::from(MTU));
}

#[test]
fn a_read_without_its_end_is_said() {
    let mut tape = Tape::new();
    tape.read(0, 0, 4 * MTU);
    for at in 0..3 {
        data(&mut tape, 0, at, 4);
    }
    let report = tape.report();
    assert_eq!(forward(&report).incomplete_reads.packets, [1]);
    assert_eq!(kinds(&report), [Kind::IncompleteRead]);
}

#[test]
fn overtaken_read_data_is_not_sent_again() {
    let mut tape = Tape::new();
    tape.read(0, 0, 4 * MTU);
    for at in [0, 2, 1, 3] {
        data(&mut tape, 0, at, 4);
    }
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.read_bytes, 4 * u64::from(MTU));
    assert_eq!((direction.read_reordered.count, direction.read_retransmissions.count), (1, 0));
}

#[test]
fn what_was_acknowledged_was_not_lost() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2]);
    let after = tape.writes(0, [5, 6]);
    tape.wait(3).ack(1, 6);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!((direction.missing_packets, direction.not_captured_packets), (0, 2));
    assert_eq!(direction.out_of_sequence.packets, [after]);
    assert_eq!(kinds(&report), [Kind::NotCaptured]);
    let text = &report.findings[0].text;
    assert!(text.contains("2 missing packets were acknowledged"), "{text}");
}

#[test]
fn what_was_not_acknowledged_never_came() {
    let mut tape = Tape::new();
    // 3 is not captured, 6 is lost.
    tape.writes(0, [1, 2, 4, 5, 7]);
    tape.wait(3).answer(1, Syndrome::SequenceError, 6);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!((direction.missing_packets, direction.not_captured_packets), (1, 1));
    let gap = report.findings.iter().find(|finding| finding.kind == Kind::OutOfSequence).unwrap();
    let end = "1 missing packet never came; 1 was acknowledged and not captured";
    assert!(gap.text.ends_with(end), "{}", gap.text);
    // It comes again, and everything is acknowledged.
    tape.wait(5).writes(0, [6, 7]);
    tape.wait(3).ack(1, 7);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!((direction.missing_packets, direction.not_captured_packets), (0, 1));
    assert_eq!(direction.late_packets, 1);
}

#[test]
fn without_acknowledgements_nobody_knows() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2, 5]);
    let report = tape.report();
    assert_eq!(forward(&report).missing_packets, 2);
    let text = &report.findings[0].text;
    assert!(text.ends_with("no acknowledgement tells whether the capture missed them"), "{text}");
    // An unreliable connection has none.
    tape.service = Service::Unreliable;
    tape.qp = [0x31, 0x32];
    tape.writes(0, [1, 2, 5]);
    let report = tape.report();
    let unreliable = report.findings.iter().find(|finding| finding.connection == Some(2)).unwrap();
    assert!(unreliable.text.ends_with("2 missing packets never came"), "{}", unreliable.text);
}
