//! Captures of the first bytes of packets.

use crate::harness::{MTU, Tape, forward, kinds};
use xoff_diagnose::capture::{Analysis, Direction, Kind, Options};
use xoff_wire::capture::Packet;
use xoff_wire::ethernet::{EtherType, Tag};

/// Writes and reads, nothing wrong with them.
fn tape() -> Tape {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2]);
    tape.ack(1, 2);
    tape.read(0, 3, 4 * MTU);
    tape.read_data(1, 3, 4);
    tape.writes(0, [7, 8]);
    tape.ack(1, 8);
    tape.read(0, 9, 8 * MTU);
    tape.read(0, 17, 8 * MTU);
    tape.read_data(1, 9, 8);
    tape.read_data(1, 17, 8);
    tape.writes(0, [25]);
    tape.ack(1, 25);
    tape
}

fn counts(direction: &Direction) -> (u64, u64, u64, u64, u64) {
    (
        direction.operations.write,
        direction.operations.read,
        direction.payload_bytes,
        direction.read_bytes,
        direction.wire_bytes,
    )
}

#[test]
fn any_length_behind_the_base_header_is_enough() {
    let tape = tape();
    let whole = tape.report();
    assert_eq!(whole.findings, []);
    for snap in [54, 56, 58, 60, 64, 68, 96, 128] {
        let cut = tape.report_cut(snap);
        assert_eq!(counts(forward(&cut)), counts(forward(&whole)), "snap length {snap}");
        assert_eq!(kinds(&cut), [Kind::Truncated], "snap length {snap}: {:?}", cut.findings);
        assert_eq!(cut.totals.opcodes, whole.totals.opcodes, "snap length {snap}");
        assert_eq!(cut.totals.roce_v2, whole.totals.roce_v2);
        let answers = forward(&cut).acks + forward(&cut).answers_cut;
        assert_eq!(answers, forward(&whole).acks, "snap length {snap}");
    }
}

#[test]
fn with_a_tag_the_same() {
    let mut tape = Tape::new();
    let protocol = EtherType::CUSTOMER_TAG;
    tape.tag = Some(Tag { protocol, priority: 3, drop_eligible: false, vlan: 7 });
    tape.writes(0, 0..10);
    tape.ack(1, 9);
    let report = tape.report_cut(60);
    // The acknowledgement's sign is cut off.
    assert_eq!((forward(&report).operations.write, forward(&report).answers_cut), (10, 1));
    assert!(!kinds(&report).contains(&Kind::FatalNak), "{:?}", report.findings);
}

#[test]
fn over_ipv6_the_base_header_is_cut_and_that_is_said() {
    let mut tape = Tape::new();
    tape.v6 = true;
    tape.writes(0, 0..10);
    tape.ack(1, 9);
    for snap in [60, 62, 66] {
        let report = tape.report_cut(snap);
        assert_eq!((report.totals.roce_v2, report.totals.other), (11, 0), "snap length {snap}");
        assert_eq!(report.totals.headers_cut.count, 11);
        assert_eq!(kinds(&report), [Kind::HeadersCut, Kind::Truncated], "snap length {snap}");
        assert!(report.findings[0].text.contains("tcpdump -s 128"));
    }
}

#[test]
fn without_ip_the_base_header_is_cut_and_that_is_said() {
    let mut tape = Tape::new();
    tape.v6 = true;
    tape.writes(0, 0..10);
    tape.ack(1, 9);
    let mut analysis = Analysis::new(Options::default());
    for packet in tape.packets() {
        // RoCEv1 has the route header in place of that of IPv6, and no UDP.
        let mut bytes = packet.bytes.to_vec();
        bytes[12..14].copy_from_slice(&[0x89, 0x15]);
        let length = u16::from_be_bytes([bytes[18], bytes[19]]) - 8;
        bytes[18..20].copy_from_slice(&length.to_be_bytes());
        bytes[20] = 0x1b;
        bytes.drain(54..62);
        let wire_len = bytes.len() as u32;
        analysis.packet(&Packet { bytes: &bytes[..60], wire_len, ..packet });
    }
    let report = analysis.finish();
    assert_eq!((report.totals.roce_v1, report.totals.other), (11, 0));
    assert_eq!(report.totals.headers_cut.count, 11);
    assert_eq!(kinds(&report), [Kind::HeadersCut, Kind::Truncated]);
}

#[test]
fn no_length_is_taken_for_damage() {
    let tape = tape();
    for snap in 0..200 {
        let report = tape.report_cut(snap);
        assert_eq!(report.totals.malformed.count, 0, "snap length {snap}");
        assert_eq!(report.totals.icrc_wrong.count, 0, "snap length {snap}");
    }
}
