//! From what was followed to what is said.

use super::finding;
use super::report::{Connection, Direction, End, Latency, Report};
use super::stream::Stream;
use super::{Analysis, Evidence};
use xoff_wire::Service;

/// The report of an analysis.
pub(super) fn report(analysis: Analysis) -> Report {
    let Analysis { totals, pauses, management, streams, .. } = analysis;
    let all = &streams.all;
    let mut ends: Vec<(&Stream, Option<&Stream>)> = Vec::new();
    for (id, stream) in all.iter().enumerate() {
        let partner = stream.partner.and_then(|partner| all.get(partner));
        match stream.partner {
            Some(partner) if partner < id => {}
            _ => ends.push(first_asker(stream, partner)),
        }
    }
    let connections: Vec<_> =
        ends.into_iter().map(|(stream, partner)| connection(stream, partner)).collect();
    let mut report = Report { totals, pauses, management, connections, findings: Vec::new() };
    report.findings = finding::all(&report);
    report
}

/// The two streams of a connection, the one with the first request in front.
fn first_asker<'a>(
    stream: &'a Stream,
    partner: Option<&'a Stream>,
) -> (&'a Stream, Option<&'a Stream>) {
    let asked = |stream: &Stream| {
        if stream.requests.packets > 0 { stream.requests.first_number } else { u64::MAX }
    };
    match partner {
        Some(partner) if asked(partner) < asked(stream) => (partner, Some(stream)),
        _ => (stream, partner),
    }
}

fn connection(stream: &Stream, partner: Option<&Stream>) -> Connection {
    let key = stream.key;
    let service = stream.service.or(partner.and_then(|partner| partner.service));
    Connection {
        service: service.map(|service| match service {
            Service::Reliable => "RC",
            Service::Unreliable => "UC",
            Service::Datagram => "UD",
        }),
        first_packet: partner.map_or(stream.first, |partner| stream.first.min(partner.first)),
        matched: stream.matched,
        a: End { address: key.source, qpn: stream.from.map(|qpn| qpn.get()) },
        b: End { address: key.destination, qpn: Some(key.to.get()) },
        a_to_b: direction(Some(stream), partner),
        b_to_a: direction(partner, Some(stream)),
    }
}

/// What the sender of `stream` requested, and what `partner` answered.
fn direction(stream: Option<&Stream>, partner: Option<&Stream>) -> Direction {
    let mut direction = Direction::default();
    if let Some(partner) = partner {
        let answers = &partner.answers;
        direction.acks = answers.acks;
        direction.naks = answers.naks.clone();
        direction.read_bytes = answers.read_bytes;
        direction.read_retransmissions = answers.resent.clone();
        direction.read_out_of_sequence = answers.gaps.clone();
        direction.cnps = partner.cnps.clone();
    }
    let Some(stream) = stream else { return direction };
    let requests = &stream.requests;
    direction.packets = stream.packets;
    direction.wire_bytes = stream.wire_bytes;
    direction.request_packets = requests.packets;
    direction.operations = requests.operations;
    direction.payload_bytes = requests.payload;
    direction.retransmissions = requests.resent.clone();
    direction.duplicates = requests.duplicates.clone();
    direction.reordered = requests.reordered.clone();
    direction.out_of_sequence = requests.gaps.clone();
    direction.missing_packets = requests.missing;
    direction.jumps = requests.jumps.clone();
    direction.ecn_capable = stream.ecn_capable;
    direction.congestion_marked = stream.congested.clone();
    direction.marked_share = share(&stream.congested, stream.packets);
    direction.unanswered = requests.waiting();
    direction.round_trip = Latency::of(&requests.round_trip);
    direction.ack_delay = Latency::of(&requests.ack_delay);
    let last_answer = partner.and_then(|partner| partner.answers.last);
    if let (Some(first), Some(last)) = (requests.first, requests.last.max(last_answer)) {
        direction.duration_ns = last.since(first).as_ps() / 1000;
        let bits = 8 * u128::from(direction.payload_bytes + direction.read_bytes);
        let rate = (bits * 1_000_000_000).checked_div(u128::from(direction.duration_ns));
        direction.goodput_bps = rate.and_then(|rate| u64::try_from(rate).ok());
    }
    direction
}

fn share(part: &Evidence, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part.count as f64 / whole as f64 }
}
