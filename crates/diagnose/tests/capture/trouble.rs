//! Loss, duplication, reordering, NAKs, congestion, damage, pauses.

use crate::harness::{MTU, Tape, forward, kinds, only};
use xoff_diagnose::capture::{Kind, Options, Severity};
use xoff_wire::ethernet::MacAddr;
use xoff_wire::frame::Builder;
use xoff_wire::pause::{Pause, Quanta};
use xoff_wire::{Opcode, Service, Syndrome};

#[test]
fn a_clean_write_has_nothing_to_say() {
    let mut tape = Tape::new();
    for message in 0..10 {
        tape.write(0, Opcode::WriteFirst, message * 3);
        tape.wait(1).write(0, Opcode::WriteMiddle, message * 3 + 1);
        tape.wait(1).write(0, Opcode::WriteLast, message * 3 + 2);
        tape.wait(8).ack(1, message * 3 + 2);
    }
    let report = tape.report();
    assert_eq!(report.findings, []);
    let direction = forward(&report);
    assert_eq!(direction.operations.write, 10);
    assert_eq!(direction.payload_bytes, 30 * u64::from(MTU));
    assert_eq!((direction.acks, direction.unanswered.count), (10, 0));
    assert_eq!(direction.duration_ns, 100_000);
    assert_eq!(direction.goodput_bps, Some(30 * 1024 * 8 * 10_000));
    assert_eq!(direction.round_trip.samples, 10);
    let near = |found: u64, ns: u64| found.abs_diff(ns) * 32 <= ns;
    assert!(near(direction.round_trip.p50_ns, 8000), "{:?}", direction.round_trip);
    assert!(near(direction.ack_delay.p99_ns, 10_000), "the first packet waits longest");
    assert_eq!(direction.round_trip.max_ns, 8000);
    assert_eq!((report.totals.icrc_right, report.totals.icrc_wrong.count), (40, 0));
}

#[test]
fn go_back_n_after_a_nak_is_retransmission() {
    for v6 in [false, true] {
        let mut tape = Tape::new();
        tape.v6 = v6;
        tape.writes(0, [100, 101]);
        let after_gap = tape.writes(0, [103, 104, 105]);
        let nak = tape.answer(1, Syndrome::SequenceError, 102);
        tape.wait(5).writes(0, [106]);
        let first = tape.writes(0, [102, 103, 104, 105, 106, 107]);
        tape.wait(5).ack(1, 107);
        let report = tape.report();
        let direction = forward(&report);
        assert_eq!(direction.naks.sequence_error.packets, [nak]);
        assert_eq!(direction.out_of_sequence.packets, [after_gap]);
        assert_eq!(direction.missing_packets, 0);
        let expected: Vec<u64> = (first..first + 5).collect();
        assert_eq!(direction.retransmissions.packets, expected, "v6 {v6}");
        assert_eq!((direction.duplicates.count, direction.reordered.count), (0, 0));
        assert_eq!(direction.operations.write, 8, "each once");
        assert_eq!(direction.payload_bytes, 8 * u64::from(MTU));
        use Kind::{OutOfSequence, Retransmission, SequenceNak};
        assert_eq!(kinds(&report), [SequenceNak, Retransmission, OutOfSequence]);
        assert!(report.findings[0].text.starts_with(if v6 { "fd00::1 qp 0x11" } else { "10.0" }));
    }
}

#[test]
fn a_timeout_is_retransmission_without_a_nak() {
    let mut tape = Tape::new();
    tape.v6 = true;
    let first = tape.writes(0, [7]);
    tape.wait(67_000);
    let again = tape.again(first);
    tape.wait(5).ack(1, 7);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.retransmissions.packets, [again]);
    assert_eq!(direction.round_trip.samples, 0, "nobody knows which of the two it answers");
}

#[test]
fn a_run_backwards_without_a_nak_is_retransmission_from_its_first_packet() {
    let mut tape = Tape::new();
    tape.v6 = true;
    // Only one direction was captured, and the sender is quick.
    tape.writes(0, [1, 2, 4, 5]);
    let first = tape.writes(0, [3, 4, 5, 6]);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.retransmissions.packets, [first, first + 1, first + 2]);
    assert_eq!(direction.reordered.count, 0);
    assert!(kinds(&report).contains(&Kind::Unmatched));
}

#[test]
fn a_doubled_packet_is_no_retransmission() {
    let mut tape = Tape::new();
    tape.writes(0, [1]);
    let doubled = tape.writes(0, [2]);
    let again = tape.again(doubled);
    tape.writes(0, [3]);
    tape.wait(3).ack(1, 3);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.duplicates.packets, [again]);
    assert_eq!(direction.retransmissions.count, 0);
    assert_eq!(kinds(&report), [Kind::Duplicate]);
    // The same number with another IP identification was made by the sender.
    let mut tape = Tape::new();
    tape.writes(0, [1, 2]);
    let again = tape.writes(0, [2]);
    assert_eq!(forward(&tape.report()).retransmissions.packets, [again]);
}

#[test]
fn overtaken_packets_are_reordered() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2, 5]);
    let late = tape.writes(0, [3, 4]);
    tape.writes(0, [6]);
    tape.wait(3).ack(1, 6);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.reordered.packets, [late, late + 1]);
    assert_eq!((direction.retransmissions.count, direction.missing_packets), (0, 0));
    assert_eq!(direction.operations.write, 6);
}

#[test]
fn lost_packets_of_an_unreliable_connection_stay_lost() {
    let mut tape = Tape::new();
    tape.service = Service::Unreliable;
    tape.writes(0, [1, 2, 6, 7]);
    let report = tape.report();
    assert_eq!(only(&report).service, Some("UC"));
    assert_eq!(forward(&report).missing_packets, 3);
    assert!(report.findings[0].text.contains("3 missing packets never came"));
    assert_eq!(forward(&report).unanswered.count, 0);
}

#[test]
fn the_kinds_of_nak_are_told_apart() {
    let mut tape = Tape::new();
    tape.writes(0, [1]);
    let rnr = tape.answer(1, Syndrome::RnrNak { timer: 12 }, 1);
    tape.wait(700).writes(0, [1]);
    tape.ack(1, 1);
    tape.writes(0, [2]);
    let access = tape.answer(1, Syndrome::RemoteAccessError, 2);
    let invalid = tape.answer(1, Syndrome::InvalidRequest, 2);
    let failed = tape.answer(1, Syndrome::RemoteOperationalError, 2);
    let report = tape.report();
    let naks = &forward(&report).naks;
    assert_eq!(naks.receiver_not_ready.packets, [rnr]);
    assert_eq!(naks.remote_access_error.packets, [access]);
    assert_eq!(naks.invalid_request.packets, [invalid]);
    assert_eq!(naks.remote_operational_error.packets, [failed]);
    assert_eq!(naks.total(), 4);
    assert_eq!(report.findings[0].severity, Severity::Error);
    assert!(kinds(&report).contains(&Kind::ReceiverNotReady));
    assert_eq!(forward(&report).retransmissions.count, 1);
}

#[test]
fn marks_and_notifications_are_counted_on_their_sender() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2, 3]);
    tape.class = 3;
    let marked = tape.writes(0, [4]);
    tape.class = 2;
    tape.ack(1, 4);
    let quiet = tape.report();
    assert!(kinds(&quiet).contains(&Kind::MarksWithoutCnp));
    let cnp = tape.cnp(1);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.congestion_marked.packets, [marked]);
    assert_eq!(direction.marked_share, 0.25);
    assert_eq!(direction.cnps.packets, [cnp]);
    assert_eq!(only(&report).b_to_a.cnps.count, 0);
    assert_eq!(kinds(&report), [Kind::CongestionMarked, Kind::Cnp]);
}

#[test]
fn a_wrong_icrc_is_reported_and_left_out() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2]);
    let bad = tape.writes(0, [3]);
    tape.damage(bad);
    tape.writes(0, [4]);
    let report = tape.report();
    assert_eq!(report.totals.icrc_wrong.packets, [bad]);
    assert_eq!(report.findings[0].kind, Kind::IcrcWrong);
    assert_eq!(report.findings[0].severity, Severity::Error);
    assert_eq!(forward(&report).missing_packets, 1);
    let options = Options { check_icrc: false, ..Options::default() };
    let trusting = tape.report_with(options);
    assert_eq!(trusting.totals.icrc_wrong.count, 0);
    assert_eq!(forward(&trusting).missing_packets, 0);
}

#[test]
fn reads_are_followed_through_their_data() {
    let mut tape = Tape::new();
    for read in 0..4 {
        tape.read(0, read * 8, 8 * MTU);
        tape.wait(10).read_data(1, read * 8, 8);
    }
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(report.findings, []);
    assert_eq!((direction.operations.read, direction.read_bytes), (4, 32 * 1024));
    assert_eq!(direction.round_trip.samples, 4);
    assert!(direction.round_trip.p50_ns.abs_diff(10_000) < 320);
    // Data is lost in the second read of four, and comes again from there.
    let mut tape = Tape::new();
    tape.read(0, 0, 4 * MTU);
    tape.read_data(1, 0, 2);
    let jump = tape.next();
    let mut header = tape.header(1, Opcode::ReadResponseLast, 3);
    header.payload = MTU;
    header.ack_request = false;
    let syndrome = Syndrome::Ack { credits: 31 };
    header.extension = xoff_wire::Extension::Aeth(xoff_wire::Aeth { syndrome, msn: 1 });
    // The last of the two above ended a read of two; this one goes on after a gap.
    tape.send(1, header);
    tape.wait(900).read(0, 2, 2 * MTU);
    let resent = tape.next();
    tape.read_data(1, 2, 2);
    let report = tape.report();
    let direction = forward(&report);
    assert_eq!(direction.read_out_of_sequence.packets, [jump]);
    assert_eq!(direction.retransmissions.count, 1, "the request");
    assert_eq!(direction.read_retransmissions.packets, [resent, resent + 1]);
}

#[test]
fn pauses_are_counted_by_priority() {
    let mut tape = Tape::new();
    let mut pause = |enabled: u16, time: u16| {
        let pause = Pause::Priorities { enabled, quanta: [Quanta(time); 8] };
        let mut bytes = vec![0; 60];
        Builder::write_pause(MacAddr([2; 6]), &pause, &mut bytes).unwrap();
        tape.raw(bytes)
    };
    let first = pause(1 << 3, 1000);
    pause(1 << 3 | 1 << 4, 65535);
    pause(1 << 3, 0);
    let report = tape.report();
    assert_eq!(report.totals.pause_frames, 3);
    let three = &report.pauses.priorities[3];
    assert_eq!((three.pauses.count, three.resumes, three.quanta), (2, 1, 66535));
    assert_eq!((three.pauses.packets[0], three.longest), (first, 65535));
    assert_eq!(report.pauses.priorities[4].pauses.count, 1);
    assert_eq!(kinds(&report), [Kind::Paused, Kind::Paused]);
    assert!(report.findings[0].text.starts_with("priority 3 paused by 2 frames, 66535 quanta"));
}

#[test]
fn sequence_numbers_that_jump_are_another_connection() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2]);
    tape.ack(1, 2);
    let jump = tape.writes(0, [5_000_000, 5_000_001]);
    tape.ack(1, 5_000_001);
    let report = tape.report();
    assert_eq!(forward(&report).jumps.packets, [jump]);
    assert_eq!(forward(&report).retransmissions.count + forward(&report).missing_packets, 0);
}
