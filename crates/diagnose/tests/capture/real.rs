//! A kernel's captures.

use std::fs::File;
use std::path::{Path, PathBuf};
use xoff_diagnose::capture::{Analysis, Matched, Options, Report};
use xoff_wire::capture::Reader;

const NAMES: [&str; 7] = [
    "rc_atomic_fadd_v4.pcap",
    "rc_read_bw_v6.pcap",
    "rc_send_bw_v6.pcap",
    "rc_send_lat_v4.pcap",
    "rc_write_bw_v4_mtu1024.pcap",
    "rc_write_bw_v4_tclass106.pcap",
    "ud_send_bw_v6.pcap",
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data/pcap").join(name)
}

fn open(name: &str) -> Reader<File> {
    Reader::new(File::open(path(name)).unwrap()).unwrap()
}

/// The captures as they are.
pub(crate) fn files() -> Vec<Vec<u8>> {
    NAMES.iter().map(|name| std::fs::read(path(name)).unwrap()).collect()
}

/// All packets of all captures.
pub(crate) fn packets() -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for name in NAMES {
        let mut reader = open(name);
        while let Some(packet) = reader.next_packet().unwrap() {
            packets.push(packet.bytes.to_vec());
        }
    }
    packets
}

fn report(name: &str) -> Report {
    let mut reader = open(name);
    let mut analysis = Analysis::new(Options::default());
    while let Some(packet) = reader.next_packet().unwrap() {
        analysis.packet(&packet);
    }
    analysis.finish()
}

#[test]
fn sends_go_back_and_forth() {
    let report = report("rc_send_lat_v4.pcap");
    assert_eq!(report.connections.len(), 1);
    let connection = &report.connections[0];
    assert_eq!(connection.matched, Matched::Perftest);
    assert_eq!((connection.a.qpn, connection.b.qpn), (Some(0x3c), Some(0x3c)));
    assert_eq!((connection.a_to_b.operations.send, connection.b_to_a.operations.send), (4, 4));
    // As tshark shows the times: 8.5 ms and 3.8 ms for the first two.
    assert!(connection.a_to_b.round_trip.max_ns > 8_000_000);
    assert!(connection.a_to_b.round_trip.samples >= 3);
}

#[test]
fn reads_move_data_the_other_way() {
    let report = report("rc_read_bw_v6.pcap");
    let connection = &report.connections[0];
    assert_eq!(connection.a_to_b.operations.read, 5);
    assert_eq!(connection.a_to_b.payload_bytes, 0);
    assert!(connection.a_to_b.read_bytes >= 9 * 4096);
    assert_eq!(connection.a_to_b.read_bytes % 4096, 0);
    assert_eq!(connection.a_to_b.out_of_sequence.count, 0, "reads take many numbers");
    assert_eq!(connection.a_to_b.round_trip.samples, 1);
}

#[test]
fn everything_in_them_is_accounted_for() {
    for name in NAMES {
        let report = report(name);
        let totals = &report.totals;
        assert_eq!(totals.packets, 40);
        assert_eq!(totals.roce_v2 + totals.other, 40);
        assert_eq!((totals.icrc_right, totals.icrc_wrong.count), (totals.roce_v2, 0));
        assert_eq!(report.connections.len(), 1, "{name}");
        let connection = &report.connections[0];
        // Perftest's exchange in front names both queue pairs, even where nobody answers.
        assert_eq!(connection.a.qpn, connection.b.qpn, "{name}: by chance the same");
        assert!(matches!(connection.matched, Matched::Perftest | Matched::Datagram), "{name}");
        let direction = &connection.a_to_b;
        assert_eq!(direction.retransmissions.count + direction.duplicates.count, 0, "{name}");
        assert_eq!(direction.naks.total() + direction.out_of_sequence.count, 0, "{name}");
    }
}
