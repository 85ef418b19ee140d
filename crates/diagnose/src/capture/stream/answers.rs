//! The answers of a stream: acknowledgements and the data of reads.

use super::super::evidence::Evidence;
use super::super::report::Naks;
use super::super::sequence::{Arrival, Sequence};
use super::Seen;
use super::requests::{Requests, TIMEOUT};
use xoff_wire::capture::Timestamp;
use xoff_wire::{Operation, Psn, Syndrome};

/// A jump of more than this is another connection.
const FAR: i32 = 1 << 16;

/// What is known of the answers.
#[derive(Debug, Default)]
pub(in super::super) struct Answers {
    pub(in super::super) acks: u64,
    pub(in super::super) naks: Naks,
    /// Answers whose sign the capture did not keep.
    pub(in super::super) cut: u64,
    /// Bytes of read data, each counted once.
    pub(in super::super) read_bytes: u64,
    pub(in super::super) resent: Evidence,
    /// Read data that came late, and not because it was sent again.
    pub(in super::super) reordered: Evidence,
    pub(in super::super) gaps: Evidence,
    /// Packets missing in those gaps that did not come later.
    pub(in super::super) missing: u64,
    /// Packets missing in those gaps that came later.
    pub(in super::super) came_later: u64,
    pub(in super::super) last: Option<Timestamp>,
    mtu: Option<u32>,
    sequence: Sequence,
    /// The number after the latest read data.
    latest: Option<Psn>,
}

impl Answers {
    /// The path's MTU, once read data has shown it.
    pub(super) const fn mtu(&self) -> Option<u32> {
        self.mtu
    }

    /// Another connection begins on the same queue pair.
    pub(super) fn restart(&mut self) {
        self.sequence.restart();
        self.latest = None;
    }

    /// An answer, and the requests it may be to.
    pub(super) fn packet(&mut self, seen: &Seen<'_>, requests: Option<&Requests>) {
        self.last = Some(seen.timestamp);
        let number = seen.number;
        match seen.roce.aeth().map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack { .. }) => self.acks += 1,
            Some(Syndrome::RnrNak { .. }) => self.naks.receiver_not_ready.add(number),
            Some(Syndrome::SequenceError) => self.naks.sequence_error.add(number),
            Some(Syndrome::SelectiveNak | Syndrome::Trimmed | Syndrome::Missing) => {
                self.naks.selective.add(number);
            }
            Some(Syndrome::InvalidRequest) => self.naks.invalid_request.add(number),
            Some(Syndrome::RemoteAccessError) => self.naks.remote_access_error.add(number),
            Some(Syndrome::RemoteOperationalError) => {
                self.naks.remote_operational_error.add(number);
            }
            None if !seen.roce.is_whole() => self.cut += 1,
            None if seen.opcode.has_aeth() => self.naks.reserved.add(number),
            None => {}
        }
        if seen.opcode.operation() == Operation::ReadResponse {
            self.read_data(seen, requests);
        }
    }

    fn read_data(&mut self, seen: &Seen<'_>, requests: Option<&Requests>) {
        self.mtu = seen.mtu().or(self.mtu);
        let psn = seen.psn();
        let missing = self.missing_before(seen, requests);
        let after_latest =
            self.latest.is_some_and(|latest| (1..FAR).contains(&psn.distance_from(latest)));
        self.latest = Some(psn.plus(1));
        match self.sequence.arrive(psn, 1, seen.timestamp) {
            Arrival::InOrder | Arrival::Elsewhere => {}
            Arrival::AfterGap(_) => match missing {
                Some(packets) => {
                    self.gaps.add(seen.number);
                    self.missing += u64::from(packets);
                }
                None => self.sequence.doubt(),
            },
            late @ (Arrival::FillsGap(since) | Arrival::FillsDoubtful(since)) => {
                if matches!(late, Arrival::FillsGap(_)) {
                    self.missing = self.missing.saturating_sub(1);
                    self.came_later += 1;
                }
                let resent = seen.timestamp.since(since) >= TIMEOUT
                    || requests.is_some_and(|requests| requests.was_repeated(psn));
                if resent { &mut self.resent } else { &mut self.reordered }.add(seen.number);
            }
            Arrival::Again => {
                // Of data that is sent again, some may be lost again.
                if after_latest && !seen.opcode.position().begins() {
                    self.gaps.add(seen.number);
                }
                self.resent.add(seen.number);
                return;
            }
        }
        self.read_bytes += u64::from(seen.roce.payload);
    }

    /// Packets of data that are missing before this one, if that is known.
    ///
    /// Inside a read numbers follow each other. Between two reads other requests may have been
    /// acknowledged, whose numbers no data has: there the requests have to say which are data's.
    fn missing_before(&mut self, seen: &Seen<'_>, requests: Option<&Requests>) -> Option<u32> {
        let (psn, next) = (seen.psn(), self.sequence.next()?);
        if !(1..FAR).contains(&psn.distance_from(next)) {
            return None;
        }
        let inside = !seen.opcode.position().begins();
        match requests.map(|requests| requests.data_between(next, psn)) {
            Some(Some((first, count))) => {
                self.sequence.skip_to(first);
                Some(count)
            }
            // The requests are not remembered, or there are none.
            Some(None) | None if inside => Some(psn.distance_from(next) as u32),
            Some(None) => {
                self.sequence.skip_to(psn);
                None
            }
            None => None,
        }
    }
}
