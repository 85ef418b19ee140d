//! The answers of a stream: acknowledgements and the data of reads.

use super::super::evidence::Evidence;
use super::super::report::Naks;
use super::Seen;
use xoff_wire::capture::Timestamp;
use xoff_wire::{Operation, Psn, Syndrome};

/// A jump of more than this is another connection.
const FAR: i32 = 1 << 16;

/// What is known of the answers.
#[derive(Debug, Default)]
pub(in super::super) struct Answers {
    pub(in super::super) acks: u64,
    pub(in super::super) naks: Naks,
    /// Bytes of read data, each counted once.
    pub(in super::super) read_bytes: u64,
    pub(in super::super) resent: Evidence,
    pub(in super::super) gaps: Evidence,
    pub(in super::super) last: Option<Timestamp>,
    mtu: Option<u32>,
    /// The number after the latest read data, and that after the furthest.
    next: Option<Psn>,
    furthest: Option<Psn>,
}

impl Answers {
    /// The path's MTU, once read data has shown it.
    pub(super) const fn mtu(&self) -> Option<u32> {
        self.mtu
    }

    /// An answer.
    pub(super) fn packet(&mut self, seen: &Seen<'_>) {
        self.last = Some(seen.timestamp);
        let number = seen.number;
        match seen.roce.aeth().map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack { .. }) => self.acks += 1,
            Some(Syndrome::RnrNak { .. }) => self.naks.receiver_not_ready.add(number),
            Some(Syndrome::SequenceError) => self.naks.sequence_error.add(number),
            Some(Syndrome::SelectiveNak | Syndrome::Trimmed) => self.naks.selective.add(number),
            Some(Syndrome::InvalidRequest) => self.naks.invalid_request.add(number),
            Some(Syndrome::RemoteAccessError) => self.naks.remote_access_error.add(number),
            Some(Syndrome::RemoteOperationalError) => {
                self.naks.remote_operational_error.add(number);
            }
            None if seen.opcode.has_aeth() => self.naks.reserved.add(number),
            None => {}
        }
        if seen.opcode.operation() == Operation::ReadResponse {
            self.read_data(seen);
        }
    }

    fn read_data(&mut self, seen: &Seen<'_>) {
        self.mtu = seen.mtu().or(self.mtu);
        let psn = seen.psn();
        let ahead = self.furthest.map_or(0, |furthest| psn.distance_from(furthest));
        // Between two reads other requests may have been acknowledged; only inside one must
        // numbers follow each other.
        let inside = !seen.opcode.position().begins();
        if inside && self.next.is_some_and(|next| (1..FAR).contains(&psn.distance_from(next))) {
            self.gaps.add(seen.number);
        }
        self.next = Some(psn.plus(1));
        if (-FAR..0).contains(&ahead) {
            self.resent.add(seen.number);
            return;
        }
        self.furthest = self.next;
        self.read_bytes += u64::from(seen.roce.payload);
    }
}
