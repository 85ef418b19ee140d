//! What an analysis found, as values.

use super::evidence::Evidence;
use super::histogram::Histogram;
use super::{Course, Finding, Pauses, Totals};
use serde::Serialize;
use std::net::IpAddr;
use xoff_wire::cm::RejectReason;
use xoff_wire::{Opcode, Operation};

/// Everything found in a capture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The capture as a whole.
    pub totals: Totals,
    /// Pause frames.
    pub pauses: Pauses,
    /// Management packets.
    pub management: Management,
    /// Connections, in the order of their first packets.
    pub connections: Vec<Connection>,
    /// What happened when.
    pub course: Course,
    /// What is worth saying, worst first.
    pub findings: Vec<Finding>,
}

/// Packets to queue pair 1.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Management {
    /// All of them.
    pub packets: u64,
    /// Requests to connect.
    pub requests: u64,
    /// Agreements.
    pub replies: u64,
    /// Confirmations.
    pub ready: u64,
    /// Rejections.
    pub rejects: Evidence,
    /// Why the first was rejected.
    pub first_reason: Option<String>,
    /// Requests to part.
    pub disconnects: u64,
}

impl Management {
    pub(super) fn reject(&mut self, reason: RejectReason, number: u64) {
        self.rejects.add(number);
        self.first_reason.get_or_insert_with(|| reason.to_string());
    }
}

/// How the two directions of a connection were found to be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matched {
    /// The connection manager's messages are in the capture.
    ConnectionManager,
    /// Perftest's exchange over TCP is in the capture.
    Perftest,
    /// Answers in one fit the requests in the other.
    SequenceNumbers,
    /// They were not: only one direction is there, or several fit.
    OneWay,
    /// Datagrams have one direction and name both queue pairs.
    Datagram,
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct End {
    /// The host.
    pub address: IpAddr,
    /// Its queue pair, if that is known.
    pub qpn: Option<u32>,
}

/// Two queue pairs that talk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Connection {
    /// RC, UC or UD; nothing if no packet says it.
    pub service: Option<&'static str>,
    /// The number of its first packet.
    pub first_packet: u64,
    /// How its directions were matched.
    pub matched: Matched,
    /// The end that sent the first request.
    pub a: End,
    /// The other.
    pub b: End,
    /// What `a` requested of `b`.
    pub a_to_b: Direction,
    /// What `b` requested of `a`.
    pub b_to_a: Direction,
}

/// Operations by kind, each counted when its last packet is seen the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// Sends.
    pub send: u64,
    /// Writes.
    pub write: u64,
    /// Reads.
    pub read: u64,
    /// Compare-and-swaps.
    pub compare_swap: u64,
    /// Fetch-and-adds.
    pub fetch_add: u64,
    /// Sends and writes of these that carry immediate data.
    pub with_immediate: u64,
}

impl Operations {
    pub(super) fn count(&mut self, opcode: Opcode) {
        match opcode.operation() {
            Operation::Send => self.send += 1,
            Operation::Write => self.write += 1,
            Operation::ReadRequest => self.read += 1,
            Operation::Atomic if opcode == Opcode::CompareSwap => self.compare_swap += 1,
            Operation::Atomic => self.fetch_add += 1,
            _ => {}
        }
        self.with_immediate += u64::from(opcode.has_immediate());
    }

    /// All of them.
    pub const fn total(&self) -> u64 {
        self.send + self.write + self.read + self.compare_swap + self.fetch_add
    }
}

/// Negative acknowledgements by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Naks {
    /// A packet is missing: send again from it.
    pub sequence_error: Evidence,
    /// The receiver had no buffer: send again later.
    pub receiver_not_ready: Evidence,
    /// The request makes no sense.
    pub invalid_request: Evidence,
    /// The key or the rights do not allow it.
    pub remote_access_error: Evidence,
    /// The receiver could not.
    pub remote_operational_error: Evidence,
    /// NAKs of xoff's own selective repeat.
    pub selective: Evidence,
    /// A reserved syndrome.
    pub reserved: Evidence,
}

impl Naks {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.sequence_error.count
            + self.receiver_not_ready.count
            + self.invalid_request.count
            + self.remote_access_error.count
            + self.remote_operational_error.count
            + self.selective.count
            + self.reserved.count
    }
}

/// Times, to three per cent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// How many were measured.
    pub samples: u64,
    /// The middle one.
    pub p50_ns: u64,
    /// The one that 99 of 100 do not exceed.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Latency {
    pub(super) fn of(histogram: &Histogram) -> Self {
        Self {
            samples: histogram.count(),
            p50_ns: histogram.percentile(50),
            p99_ns: histogram.percentile(99),
            max_ns: histogram.largest(),
        }
    }
}

/// How fast an end sent, headers included, in bits per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// From its first packet to its last.
    pub mean_bps: u64,
    /// In its fastest bin of time.
    pub peak_bps: u64,
    /// In the slowest between its first and last.
    pub lowest_bps: u64,
}

/// One end's requests and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Direction {
    /// Packets this end sent, answers to the other's requests included.
    pub packets: u64,
    /// Their bytes on the wire.
    pub wire_bytes: u64,
    /// Request packets.
    pub request_packets: u64,
    /// Operations it requested.
    pub operations: Operations,
    /// Bytes it sent or wrote, each counted once.
    pub payload_bytes: u64,
    /// Bytes it read, each counted once.
    pub read_bytes: u64,
    /// From its first request to the last packet that has to do with them.
    pub duration_ns: u64,
    /// Both kinds of bytes over that time, in bits per second.
    pub goodput_bps: Option<u64>,
    /// Request packets sent again.
    pub retransmissions: Evidence,
    /// Request packets that the network doubled.
    pub duplicates: Evidence,
    /// Request packets that came late, and not because they were sent again.
    pub reordered: Evidence,
    /// Packets before which others are missing.
    pub out_of_sequence: Evidence,
    /// Packets missing there that did not come later either.
    pub missing_packets: u64,
    /// Packets missing there that were acknowledged: not lost, but not captured.
    pub not_captured_packets: u64,
    /// Packets missing there that came later.
    pub late_packets: u64,
    /// Packets whose numbers have nothing to do with those before.
    pub jumps: Evidence,
    /// Read data sent again.
    pub read_retransmissions: Evidence,
    /// Read data that came late, and not because it was sent again.
    pub read_reordered: Evidence,
    /// Read data before which other data is missing.
    pub read_out_of_sequence: Evidence,
    /// Packets of read data missing there that did not come later either.
    pub read_missing_packets: u64,
    /// Packets of read data missing there that came later.
    pub read_late_packets: u64,
    /// Acknowledgements it got.
    pub acks: u64,
    /// Negative ones it got.
    pub naks: Naks,
    /// Packets it sent that switches could have marked.
    pub ecn_capable: u64,
    /// Packets it sent that arrived here marked.
    pub congestion_marked: Evidence,
    /// The share of those in all packets it sent.
    pub marked_share: f64,
    /// Congestion notifications it got.
    pub cnps: Evidence,
    /// Those per second, over the time in which it sent.
    pub cnps_per_second: f64,
    /// The shortest time between two of them.
    pub cnp_interval_ns: Option<u64>,
    /// How fast it sent.
    pub rate: Option<Rates>,
    /// Answers it got whose sign, positive or negative, the capture did not keep.
    pub answers_cut: u64,
    /// Requests that wanted an answer and have none in the capture.
    pub unanswered: Evidence,
    /// Reads of whose data only the beginning is in the capture.
    pub incomplete_reads: Evidence,
    /// From a request to the answer that names it: from here to the other end and back.
    pub round_trip: Latency,
    /// From a request to the answer that covers it, of the oldest that each answer covers.
    pub ack_delay: Latency,
}
