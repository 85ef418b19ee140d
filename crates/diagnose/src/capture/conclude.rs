//! From what was followed to what is said.

use super::course::Ends;
use super::report::{Connection, Direction, End, Latency, Report};
use super::stream::{Stream, Streams};
use super::{Analysis, Evidence, course, finding};
use xoff_wire::Service;

/// The report of an analysis.
pub(super) fn report(analysis: Analysis) -> Report {
    let Analysis { mut totals, opcodes, pauses, management, mut streams, .. } = analysis;
    totals.opcodes = opcodes.seen();
    let (pauses, paused) = pauses.finish(totals.end(), totals.duration_ns, &mut streams.timeline);
    let mut connections = Vec::new();
    for (id, stream) in streams.all.iter().enumerate() {
        if stream.partner.is_none_or(|partner| partner >= id) {
            let (first, second) = first_asker(&streams, id, stream.partner);
            connections.push(connection(&streams, first, second));
        }
    }
    let course = course::course(&streams.timeline, &connections, paused);
    let connections = connections.into_iter().map(|(_, connection)| connection).collect();
    let findings = Vec::new();
    let mut report = Report { totals, pauses, management, connections, course, findings };
    report.findings = finding::all(&report);
    report
}

/// The two streams of a connection, the one with the first request in front.
fn first_asker(streams: &Streams, id: usize, partner: Option<usize>) -> (usize, Option<usize>) {
    let asked = |id: usize| match streams.all.get(id) {
        Some(stream) if stream.requests.packets > 0 => stream.requests.first_number,
        _ => u64::MAX,
    };
    match partner {
        Some(partner) if asked(partner) < asked(id) => (partner, Some(id)),
        _ => (id, partner),
    }
}

fn connection(streams: &Streams, id: usize, other: Option<usize>) -> (Ends, Connection) {
    let stream = &streams.all[id];
    let partner = other.and_then(|other| streams.all.get(other));
    let rates = |id: usize| {
        let bins = streams.timeline.stream(id);
        course::rates(&streams.all[id], bins, streams.timeline.width())
    };
    let mut connection = connected(stream, partner);
    connection.a_to_b.rate = rates(id);
    connection.b_to_a.rate = other.and_then(rates);
    ([(Some(id), "a"), (other, "b")], connection)
}

fn connected(stream: &Stream, partner: Option<&Stream>) -> Connection {
    let key = stream.key;
    let service = stream.service.or(partner.and_then(|partner| partner.service));
    Connection {
        service: service.map(Service::name),
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
        direction.read_reordered = answers.reordered.clone();
        direction.read_out_of_sequence = answers.gaps.clone();
        direction.read_missing_packets = answers.missing;
        direction.read_late_packets = answers.came_later;
        direction.answers_cut = answers.cut;
        direction.cnps = partner.cnps.clone();
        direction.cnp_interval_ns = partner.cnp_interval.map(|span| span.as_ps() / 1000);
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
    direction.not_captured_packets = requests.not_captured;
    direction.late_packets = requests.came_later;
    direction.jumps = requests.jumps.clone();
    direction.ecn_capable = stream.ecn_capable;
    direction.congestion_marked = stream.congested.clone();
    direction.marked_share = share(&stream.congested, stream.packets);
    direction.unanswered = requests.waiting();
    direction.incomplete_reads = requests.incomplete();
    let sent_ns = stream.ended.since(stream.began).as_ps() / 1000;
    if sent_ns > 0 {
        direction.cnps_per_second = direction.cnps.count as f64 * 1e9 / sent_ns as f64;
    }
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
