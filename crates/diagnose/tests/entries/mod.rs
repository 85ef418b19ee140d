//! The entrance that capture files come through, with what must hold for any of them. The fuzz
//! target and the mutation test both call it.

use std::io::Read;
use xoff_diagnose::capture::{Analysis, Limits, Options, Unpacked};
use xoff_wire::capture::{LinkType, Packet, Reader, Timestamp};

/// Bytes that are read of what a file unpacks to.
const MOST: u64 = 1 << 22;

/// A packet, as any kind of link has it, three times at several places: counts add up, whatever is in it.
pub(crate) fn packet(bytes: &[u8]) {
    for link_type in
        [LinkType::ETHERNET, LinkType::RAW_IP, LinkType::COOKED_V1, LinkType::COOKED_V2]
    {
        let mut analysis = Analysis::new(Options::default());
        for interface in [0, 1, 0] {
            let (timestamp, wire_len) = (Timestamp::from_ns(7), bytes.len() as u32);
            analysis.packet(&Packet { timestamp, link_type, interface, wire_len, bytes });
        }
        let totals = analysis.finish().totals;
        let single = totals.roce_v1 + totals.roce_v2 - totals.glued_packets;
        let kinds = totals.pause_frames + totals.other + totals.recorded_twice.count;
        assert_eq!(single + kinds + totals.glued.count, 3, "{totals:?}");
        let followed: u64 = totals.opcodes.iter().map(|opcode| opcode.packets).sum();
        assert!(followed <= totals.roce_v1 + totals.roce_v2);
    }
}

/// A capture file, believed and not: ends, counts every packet, keeps the limits.
pub(crate) fn inspect(bytes: &[u8]) {
    for check_icrc in [true, false] {
        // However much comes out of a compressed file, so much is read.
        let Ok(unpacked) = Unpacked::new(bytes) else { return };
        let Ok(mut reader) = Reader::new(unpacked.take(MOST)) else { return };
        let limits = Limits { streams: 16, history: 8 };
        let mut analysis = Analysis::new(Options { check_icrc, limits, ..Options::default() });
        let mut count = 0;
        while let Ok(Some(packet)) = reader.next_packet() {
            analysis.packet(&packet);
            count += 1;
        }
        let report = analysis.finish();
        assert_eq!(report.totals.packets, count);
        assert!(report.connections.len() <= limits.streams);
        for finding in &report.findings {
            assert!(finding.evidence.packets.iter().all(|number| (1..=count).contains(number)));
        }
    }
}
