//! RoCE inside VXLAN, GRE and mirror sessions.

use crate::harness::{Tape, forward, kinds};
use xoff_diagnose::capture::{Kind, Report};
use xoff_wire::capture::LinkType;

/// An Ethernet frame with an IPv4 packet of this protocol.
fn ipv4(protocol: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let mut bytes = vec![2; 12];
    bytes.extend([0x08, 0x00, 0x45, 0]);
    bytes.extend((20 + content.len() as u16).to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend(content);
    bytes
}

pub(crate) fn vxlan(frame: &[u8]) -> Vec<u8> {
    let length = (16 + frame.len() as u16).to_be_bytes();
    let udp = [0xc0, 0, 0x12, 0xb5, length[0], length[1], 0, 0];
    ipv4(17, &[&udp, &[8, 0, 0, 0, 0, 0, 7, 0], frame])
}

/// The header of a mirror session, with a sequence number that counts.
pub(crate) fn erspan(kind: u8, number: u64, frame: &[u8]) -> Vec<u8> {
    let [.., a, b, c, d] = number.to_be_bytes();
    match kind {
        1 => ipv4(47, &[&[0, 0, 0x88, 0xbe], frame]),
        2 => ipv4(47, &[&[0x10, 0, 0x88, 0xbe, a, b, c, d, 0x10, 1, 0, 9, 0, 0, 0, 3], frame]),
        _ => {
            let head = [0x10, 0, 0x22, 0xeb, a, b, c, d, 0x20, 1, 0, 9, a, b, c, d, 0, 0, 0, 1];
            ipv4(47, &[&head, &[0; 8], frame])
        }
    }
}

fn troubled() -> Tape {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2, 4, 5]);
    tape.answer(1, xoff_wire::Syndrome::SequenceError, 3);
    tape.wait(5).writes(0, [3, 4, 5, 6]);
    tape.wait(5).ack(1, 6);
    tape.cnp(1);
    tape
}

/// A packet of this number, wrapped.
type Wrap = fn(u64, &[u8]) -> Vec<u8>;

#[test]
fn what_is_inside_is_judged_as_if_it_were_alone() {
    let tape = troubled();
    let alone = tape.report();
    let ways: [(&str, Wrap); 5] = [
        ("VXLAN", |_, frame| vxlan(frame)),
        ("ERSPAN I", |number, frame| erspan(1, number, frame)),
        ("ERSPAN II", |number, frame| erspan(2, number, frame)),
        ("ERSPAN III", |number, frame| erspan(3, number, frame)),
        ("GRE", |_, frame| ipv4(47, &[&[0, 0, 0x65, 0x58], frame])),
    ];
    for (name, way) in ways {
        let wrap = |number: u64, bytes: &[u8]| vec![(LinkType::ETHERNET, 0, way(number, bytes))];
        let inside = tape.report_of(wrap);
        assert_eq!(inside.totals.tunnels.len(), 1, "{name}");
        assert_eq!(inside.totals.tunnels[0].tunnel, name);
        assert_eq!(inside.totals.tunnels[0].packets, alone.totals.packets);
        assert_eq!(inside.totals.icrc_right, alone.totals.icrc_right, "{name}");
        assert_eq!(inside.connections, alone.connections, "{name}");
        assert_eq!(inside.findings, alone.findings, "{name}");
    }
}

#[test]
fn both_sides_of_a_mirrored_port_are_one_packet() {
    let mut tape = Tape::new();
    tape.writes(0, [1, 2, 3]);
    tape.ack(1, 3);
    let report = tape.report_of(|number, bytes| {
        let mut other = erspan(2, number, bytes);
        // Another session: behind two Ethernet, IP and GRE headers, and half of the own one.
        other[14 + 20 + 8 + 3] = 8;
        let ethernet = LinkType::ETHERNET;
        vec![(ethernet, 0, erspan(2, number, bytes)), (ethernet, 0, other)]
    });
    assert_eq!(report.totals.recorded_twice.count, 4);
    assert_eq!(forward(&report).operations.write, 3);
    assert_eq!(kinds(&report), [Kind::RecordedTwice]);
}

fn nested(depth: usize) -> Report {
    let mut tape = Tape::new();
    tape.writes(0, [1]);
    tape.report_of(|_, bytes| {
        let wrapped = (0..depth).fold(bytes.to_vec(), |inner, _| vxlan(&inner));
        vec![(LinkType::ETHERNET, 0, wrapped)]
    })
}

#[test]
fn tunnels_in_tunnels_end_somewhere() {
    assert_eq!(nested(4).totals.roce_v2, 1);
    let deep = nested(500);
    assert_eq!((deep.totals.roce_v2, deep.totals.other), (0, 1));
    assert_eq!(deep.totals.too_deep.packets, [1]);
    assert!(kinds(&deep).contains(&Kind::TooDeep));
}

#[test]
fn a_tunnel_that_the_capture_cut_is_still_looked_into() {
    let tape = troubled();
    let mut analysis = xoff_diagnose::capture::Analysis::new(Default::default());
    for packet in tape.packets() {
        let wrapped = vxlan(packet.bytes);
        let wire_len = wrapped.len() as u32;
        let bytes = &wrapped[..wrapped.len().min(150)];
        analysis.packet(&xoff_wire::capture::Packet { bytes, wire_len, ..packet });
    }
    let report = analysis.finish();
    assert_eq!(forward(&report).operations, forward(&tape.report()).operations);
    assert_eq!(report.totals.malformed.count, 0);
}
