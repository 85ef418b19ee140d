//! The requests of a stream: sends, writes, reads, atomics.

use super::super::evidence::Evidence;
use super::super::histogram::Histogram;
use super::super::history::{History, Sent};
use super::super::report::Operations;
use super::super::sequence::{Arrival, Sequence, answers};
use super::Seen;
use xoff_units::Span;
use xoff_wire::capture::Timestamp;
use xoff_wire::{Operation, Psn, Service, Syndrome};

/// A repeated packet this long after the original is no duplicate of the network's but a timeout
/// of the sender's.
pub(super) const TIMEOUT: Span = Span::from_us(500);

/// What a packet that comes out of order was taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Resent,
    Reordered,
    Duplicate,
}

/// The last packet that came out of order, while nothing in order came after it.
#[derive(Debug, Clone, Copy)]
struct Backward {
    next: Psn,
    number: u64,
    judged: Judged,
}

/// What is known of the requests.
#[derive(Debug, Default)]
pub(in super::super) struct Requests {
    sequence: Sequence,
    history: History,
    mtu: Option<u32>,
    backward: Option<Backward>,
    /// The latest NAK: the packet that it reports missing, and when it came.
    nak: Option<(Psn, Timestamp)>,
    pub(in super::super) operations: Operations,
    pub(in super::super) packets: u64,
    /// Bytes of payload, each counted once.
    pub(in super::super) payload: u64,
    pub(in super::super) first: Option<Timestamp>,
    pub(in super::super) first_number: u64,
    pub(in super::super) last: Option<Timestamp>,
    pub(in super::super) resent: Evidence,
    pub(in super::super) duplicates: Evidence,
    pub(in super::super) reordered: Evidence,
    pub(in super::super) gaps: Evidence,
    /// Packets missing in those gaps that never came.
    pub(in super::super) missing: u64,
    /// Packets missing in those gaps that never came here, but were acknowledged.
    pub(in super::super) not_captured: u64,
    /// Packets missing in those gaps that came later.
    pub(in super::super) came_later: u64,
    pub(in super::super) jumps: Evidence,
    pub(in super::super) round_trip: Histogram,
    pub(in super::super) ack_delay: Histogram,
}

impl Requests {
    /// Another connection begins on the same queue pair.
    pub(super) fn restart(&mut self) {
        self.sequence.restart();
        self.history.clear();
        self.backward = None;
        self.nak = None;
    }

    /// Whether a request with this number was seen.
    pub(super) fn asked(&self, psn: Psn) -> bool {
        self.history.find(psn).is_some()
    }

    /// Requests that wanted an answer and got none.
    pub(in super::super) fn waiting(&self) -> Evidence {
        self.history.waiting()
    }

    /// Reads of whose data only the beginning came.
    pub(in super::super) fn incomplete(&self) -> Evidence {
        self.history.incomplete()
    }

    /// The numbers between two that are data of reads: the first, and how many.
    pub(super) fn data_between(&self, from: Psn, to: Psn) -> Option<(Psn, u32)> {
        self.history.data_between(from, to)
    }

    /// Whether the request that this number belongs to was sent more than once.
    pub(super) fn was_repeated(&self, psn: Psn) -> bool {
        self.history.find(psn).is_some_and(|sent| sent.repeated)
    }

    /// A request.
    pub(super) fn packet(&mut self, seen: &Seen<'_>, partner_mtu: Option<u32>, limit: usize) {
        self.packets += 1;
        if self.first.is_none() {
            self.first = Some(seen.timestamp);
            self.first_number = seen.number;
        }
        self.last = Some(seen.timestamp);
        self.mtu = seen.mtu().or(self.mtu);
        if seen.service == Service::Datagram {
            // A queue pair's numbers go to many destinations: nothing to follow.
            self.count(seen);
            return;
        }
        let mtu = partner_mtu.or(self.mtu);
        if let Some(mtu) = mtu {
            self.learn_mtu(mtu);
        }
        let (span, open) = span(seen, mtu);
        let arrival = self.sequence.arrive(seen.psn(), span, seen.timestamp);
        match arrival {
            Arrival::InOrder => {
                self.backward = None;
                // Where a read's answers end may be known only now.
                self.history.ends_before(seen.psn());
            }
            Arrival::AfterGap(missing) => {
                self.backward = None;
                self.gaps.add(seen.number);
                self.missing += u64::from(missing);
            }
            Arrival::Elsewhere => {
                self.restart_at(seen);
            }
            Arrival::FillsGap(since) | Arrival::FillsDoubtful(since) => {
                self.missing = self.missing.saturating_sub(1);
                self.came_later += 1;
                self.out_of_order(seen, Some(since));
                self.count(seen);
                return;
            }
            Arrival::Again => {
                self.out_of_order(seen, None);
                return;
            }
        }
        if let Some(bytes) = open {
            self.sequence.open_read(seen.psn(), bytes);
        }
        self.count(seen);
        let asks = seen.roce.bth.ack_request
            || matches!(seen.opcode.operation(), Operation::ReadRequest | Operation::Atomic);
        let sent = Sent {
            number: seen.number,
            psn: seen.psn(),
            span,
            timestamp: seen.timestamp,
            icrc: seen.roce.icrc,
            repeated: false,
            asks: asks && seen.service == Service::Reliable,
            read: seen.opcode.operation() == Operation::ReadRequest,
            open: open == Some(None),
        };
        self.history.push(sent, limit);
    }

    /// The path's MTU has become known: the latest read may take more numbers than one.
    pub(super) fn learn_mtu(&mut self, mtu: u32) {
        if let Some((read, span)) = self.sequence.close_read(mtu) {
            self.history.widen(read, span);
        }
    }

    fn restart_at(&mut self, seen: &Seen<'_>) {
        self.jumps.add(seen.number);
        self.history.clear();
        self.backward = None;
        self.nak = None;
    }

    /// Counts what is new: payload, and an operation with its last packet.
    fn count(&mut self, seen: &Seen<'_>) {
        self.payload += u64::from(seen.roce.payload);
        if seen.opcode.position().ends() {
            self.operations.count(seen.opcode);
        }
    }

    /// A packet whose number is not a new one, or was missing since a moment.
    fn out_of_order(&mut self, seen: &Seen<'_>, missing_since: Option<Timestamp>) {
        let before = self.history.repeat(seen.psn(), seen.timestamp, seen.roce.icrc);
        let original = missing_since.or(before.map(|sent| sent.timestamp));
        let another = before.is_some_and(|sent| {
            sent.icrc.is_some() && seen.roce.icrc.is_some_and(|icrc| sent.icrc != Some(icrc))
        });
        let in_run = missing_since.is_none()
            && self.backward.is_some_and(|backward| backward.next == seen.psn());
        let resent = in_run
            || another
            || original.is_none_or(|original| {
                seen.timestamp.since(original) >= TIMEOUT || self.was_asked_for(seen, original)
            });
        let judged = match (resent, missing_since) {
            (true, _) => Judged::Resent,
            (false, Some(_)) => Judged::Reordered,
            (false, None) => Judged::Duplicate,
        };
        if in_run && let Some(backward) = self.backward {
            // What seemed to be reordered or duplicated was the first packet of a retransmission.
            self.rejudge(backward);
        }
        self.evidence(judged).add(seen.number);
        self.backward = Some(Backward { next: seen.psn().plus(1), number: seen.number, judged });
    }

    /// Whether a NAK reported a packet missing after it was sent.
    fn was_asked_for(&self, seen: &Seen<'_>, original: Timestamp) -> bool {
        self.nak.is_some_and(|(psn, when)| !seen.psn().is_before(psn) && original <= when)
    }

    fn rejudge(&mut self, backward: Backward) {
        if backward.judged != Judged::Resent {
            self.evidence(backward.judged).take_back(backward.number);
            self.resent.add(backward.number);
        }
    }

    fn evidence(&mut self, judged: Judged) -> &mut Evidence {
        match judged {
            Judged::Resent => &mut self.resent,
            Judged::Reordered => &mut self.reordered,
            Judged::Duplicate => &mut self.duplicates,
        }
    }

    /// The other end has everything before `next`. What of it was not seen here was not lost: it went
    /// another way, or the capture dropped it.
    fn arrived_before(&mut self, next: Psn) {
        let unseen = u64::from(self.sequence.acknowledge(next));
        self.not_captured += unseen;
        self.missing = self.missing.saturating_sub(unseen);
    }

    /// The partner answered.
    pub(super) fn answered(&mut self, seen: &Seen<'_>) {
        let psn = seen.psn();
        match seen.roce.aeth().map(|aeth| aeth.syndrome) {
            Some(nak) if nak.requests_packets() || matches!(nak, Syndrome::RnrNak { .. }) => {
                self.nak = Some((psn, seen.timestamp));
                // Everything before it has arrived.
                self.history.answer(psn.plus(0x00ff_ffff));
                self.arrived_before(psn);
                return;
            }
            Some(Syndrome::Ack { .. }) => self.arrived_before(psn.plus(1)),
            Some(_) => self.arrived_before(psn),
            // Inside a read's answers there is no AETH; in an acknowledgement it is reserved.
            None if seen.opcode.operation() == Operation::ReadResponse => {
                self.arrived_before(psn.plus(1));
            }
            // An answer, whatever its sign; that is cut off.
            None if !seen.roce.is_whole() => {
                self.history.answer(psn);
                self.arrived_before(psn);
                return;
            }
            None => return,
        }
        let Some(answered) = self.history.answer(psn) else { return };
        if !answered.named.repeated && answered.named.psn == psn {
            self.round_trip.add(seen.timestamp.since(answered.named.timestamp));
        }
        if let Some(oldest) = answered.oldest
            && !oldest.repeated
        {
            self.ack_delay.add(seen.timestamp.since(oldest.timestamp));
        }
    }
}

/// The numbers that a request takes; of a read, its bytes where that is not known, if those are.
fn span(seen: &Seen<'_>, mtu: Option<u32>) -> (u32, Option<Option<u32>>) {
    match (seen.opcode.operation(), seen.roce.reth(), mtu) {
        (Operation::ReadRequest, Some(reth), Some(mtu)) => (answers(reth.length, mtu), None),
        (Operation::ReadRequest, reth, _) => (1, Some(reth.map(|reth| reth.length))),
        _ => (1, None),
    }
}
