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
        interface: 0,
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

/// A small generator (splitmix64): the same numbers on every machine.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A kernel's packets with bytes changed, in any order, at any time, ICRCs believed.
#[test]
fn changed_packets_do_no_harm() {
    let packets = crate::real::packets();
    let mut state = 5;
    for _ in 0..200 {
        let limits = Limits { streams: 64, history: 32 };
        let mut analysis =
            Analysis::new(Options { check_icrc: false, limits, ..Options::default() });
        for _ in 0..500 {
            let mut bytes = packets[next(&mut state) as usize % packets.len()].clone();
            bytes.truncate(200);
            for _ in 0..next(&mut state) % 3 {
                // The transport headers, over IPv4 and IPv6.
                let at = 42 + next(&mut state) as usize % 40;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = next(&mut state) as u8;
                }
            }
            analysis.packet(&Packet {
                timestamp: Timestamp::from_ns(next(&mut state) % 1_000_000_000),
                link_type: LinkType::ETHERNET,
                interface: 0,
                wire_len: bytes.len() as u32,
                bytes: &bytes,
            });
        }
        let report = analysis.finish();
        assert_eq!(report.totals.packets, 500);
        assert!(report.connections.len() <= 64);
    }
}

/// A kernel's packets, glued, wrapped and changed.
#[test]
fn changed_tunnels_and_glued_packets_do_no_harm() {
    let packets = crate::real::packets();
    let mut state = 7;
    for round in 0..4000 {
        let first = &packets[next(&mut state) as usize % packets.len()];
        let mut bytes = first[..first.len().min(400)].to_vec();
        match round % 4 {
            0 => bytes = crate::tunnels::vxlan(&bytes),
            1 => bytes = crate::tunnels::erspan((round / 4 % 3 + 1) as u8, round, &bytes),
            2 => {
                let again = bytes.get(42..).unwrap_or_default().to_vec();
                (0..next(&mut state) % 5).for_each(|_| bytes.extend(&again));
            }
            _ => {}
        }
        for _ in 0..next(&mut state) % 4 {
            let at = next(&mut state) as usize % bytes.len();
            bytes[at] = next(&mut state) as u8;
        }
        bytes.truncate(1 + next(&mut state) as usize % (2 * bytes.len()));
        crate::entries::packet(&bytes);
    }
}

/// Compressed files with bytes changed anywhere.
#[test]
fn changed_compressed_files_do_no_harm() {
    use std::io::Write;
    let mut state = 8;
    for file in crate::real::files() {
        let file = &file[..file.len().min(6000)];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(file).unwrap();
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(file, level);
        for packed in [gzip.finish().unwrap(), zstd] {
            crate::entries::inspect(&packed);
            for _ in 0..60 {
                let mut bytes = packed.clone();
                for _ in 0..next(&mut state) % 4 {
                    let at = next(&mut state) as usize % bytes.len();
                    bytes[at] = next(&mut state) as u8;
                }
                bytes.truncate(1 + next(&mut state) as usize % (2 * packed.len()));
                crate::entries::inspect(&bytes);
            }
        }
    }
}

/// Whole files with bytes changed anywhere.
#[test]
fn changed_files_do_no_harm() {
    let mut state = 6;
    for file in crate::real::files() {
        crate::entries::inspect(&file);
        for _ in 0..100 {
            let mut bytes = file.clone();
            for _ in 0..=next(&mut state) % 8 {
                let at = next(&mut state) as usize % bytes.len();
                bytes[at] = next(&mut state) as u8;
            }
            bytes.truncate(1 + next(&mut state) as usize % (2 * file.len()));
            crate::entries::inspect(&bytes);
        }
    }
}
