//! The entrance that capture files come through, with what must hold for any of them. The fuzz
//! target and the mutation test both call it.

use xoff_diagnose::capture::{Analysis, Limits, Options};
use xoff_wire::capture::Reader;

/// A capture file, believed and not: ends, counts every packet, keeps the limits.
pub(crate) fn inspect(bytes: &[u8]) {
    for check_icrc in [true, false] {
        let Ok(mut reader) = Reader::new(bytes) else { return };
        let limits = Limits { streams: 16, history: 8 };
        let mut analysis = Analysis::new(Options { check_icrc, limits });
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
