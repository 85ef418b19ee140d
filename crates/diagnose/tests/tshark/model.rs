//! What follows from the order of sequence numbers, by a model of its own: gaps, what fills them, and what
//! comes again.

use crate::Row;
use std::collections::{BTreeMap, BTreeSet};
use xoff_diagnose::capture::{Direction, Report};

/// The numbers of one stream.
#[derive(Debug, Default)]
struct Sequence {
    next: Option<u32>,
    missing: BTreeSet<u32>,
    gaps: u64,
    late: u64,
    again: u64,
}

impl Sequence {
    fn take(&mut self, psn: u32) {
        let next = *self.next.get_or_insert(psn);
        if psn >= next {
            self.gaps += u64::from(psn > next);
            self.missing.extend(next..psn);
            self.next = Some(psn + 1);
        } else if self.missing.remove(&psn) {
            self.late += 1;
        } else {
            self.again += 1;
        }
    }
}

/// From, to and queue pair.
type Stream = (String, String, u32);

/// Compares the sequences of requests and of read data of each stream. Requests for reads take numbers
/// that single packets do not show, so streams with those are left to their data.
pub(crate) fn same_sequences(name: &str, report: &Report, rows: &[Row]) {
    let (mut requests, mut data) = (BTreeMap::new(), BTreeMap::new());
    let mut acked: BTreeMap<Stream, u32> = BTreeMap::new();
    for row in rows {
        let stream = (row.source.clone(), row.destination.clone(), row.qp);
        if row.is_request() {
            requests.entry(stream).or_insert_with(Sequence::default).take(row.psn);
        } else if row.is_read_data() {
            data.entry(stream).or_insert_with(Sequence::default).take(row.psn);
        } else if row.kind() == 17 && row.syndrome.is_some_and(|syndrome| syndrome >> 5 == 0) {
            let last = acked.entry(stream).or_default();
            *last = row.psn.max(*last);
        }
    }
    for connection in &report.connections {
        let (a, b) = (&connection.a, &connection.b);
        for (from, to, own) in [(a, b, &connection.a_to_b), (b, a, &connection.b_to_a)] {
            let stream = |from: &xoff_diagnose::capture::End, to: &xoff_diagnose::capture::End| {
                to.qpn.map(|qpn| (from.address.to_string(), to.address.to_string(), qpn))
            };
            let (out, back) = (stream(from, to), stream(to, from));
            let acked = back.as_ref().and_then(|back| acked.get(back));
            let reads = own.operations.read > 0;
            if let Some(sequence) = out.and_then(|out| requests.get(&out)).filter(|_| !reads) {
                same_requests(name, own, sequence, acked.copied());
            }
            if let Some(sequence) = back.and_then(|back| data.get(&back)) {
                same_data(name, own, sequence);
            }
        }
    }
}

fn same_requests(name: &str, own: &Direction, sequence: &Sequence, acked: Option<u32>) {
    assert_eq!(own.out_of_sequence.count, sequence.gaps, "{name}: {sequence:?}");
    assert_eq!(own.late_packets, sequence.late, "{name}: {sequence:?}");
    let again = own.retransmissions.count + own.duplicates.count + own.reordered.count;
    assert_eq!(again, sequence.again + sequence.late, "{name}: {sequence:?}");
    let known = sequence.missing.iter().filter(|&&psn| acked.is_some_and(|acked| psn <= acked));
    let not_captured = known.count() as u64;
    let missing = sequence.missing.len() as u64 - not_captured;
    assert_eq!((own.missing_packets, own.not_captured_packets), (missing, not_captured), "{name}");
}

fn same_data(name: &str, own: &Direction, sequence: &Sequence) {
    assert_eq!(own.read_out_of_sequence.count, sequence.gaps, "{name}: {sequence:?}");
    assert_eq!(own.read_late_packets, sequence.late, "{name}: {sequence:?}");
    let again = own.read_retransmissions.count + own.read_reordered.count;
    assert_eq!(again, sequence.again + sequence.late, "{name}: {sequence:?}");
    assert_eq!(own.read_missing_packets, sequence.missing.len() as u64, "{name}");
}
