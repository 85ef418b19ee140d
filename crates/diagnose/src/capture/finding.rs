//! What is worth a line.

use super::report::{Connection, Direction, End, Matched, Report};
use super::{Evidence, Paused};
use serde::Serialize;
use std::fmt::{self, Write};
use xoff_units::Rate;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something failed or is damaged.
    Error,
    /// Something costs performance, or hides the truth.
    Warning,
    /// Good to know.
    Note,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Packets with a wrong ICRC.
    IcrcWrong,
    /// A NAK that ends the connection.
    FatalNak,
    /// NAKs for missing packets.
    SequenceNak,
    /// NAKs because the receiver had no buffer.
    ReceiverNotReady,
    /// Packets sent again.
    Retransmission,
    /// Packets missing before others.
    OutOfSequence,
    /// Packets missing before others that were acknowledged: the capture does not have them.
    NotCaptured,
    /// Packets that overtook others.
    Reordered,
    /// Packets that the network doubled.
    Duplicate,
    /// Congestion marks.
    CongestionMarked,
    /// Congestion marks without a congestion notification.
    MarksWithoutCnp,
    /// Congestion notifications.
    Cnp,
    /// Requests without answer.
    Unanswered,
    /// Reads of which only the beginning was answered.
    IncompleteRead,
    /// Sequence numbers that jumped.
    Jump,
    /// A connection was rejected.
    Rejected,
    /// Pause frames.
    Paused,
    /// A port that was paused for most of the time, or for long without a break.
    PauseStorm,
    /// Packets that a host glued together, taken apart.
    Glued,
    /// Packets that a host glued together and that could not be taken apart.
    Oversized,
    /// Packets recorded at several places.
    RecordedTwice,
    /// Packets that the capture cut before the end of their RoCE headers.
    HeadersCut,
    /// Packets inside too many others.
    TooDeep,
    /// Packets that make no sense.
    Malformed,
    /// Packets in pieces.
    Fragmented,
    /// Packets that the capture did not keep whole.
    Truncated,
    /// Packets that were not followed or could not be read.
    NotFollowed,
    /// Directions that could not be matched.
    Unmatched,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// What it is.
    pub kind: Kind,
    /// The connection it is about, from one.
    pub connection: Option<usize>,
    /// How often, and in which packets first.
    pub evidence: Evidence,
    /// In words.
    pub text: String,
}

/// Everything worth saying of a report, worst first.
pub(super) fn all(report: &Report) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, connection) in report.connections.iter().enumerate() {
        of_connection(&mut findings, at + 1, connection);
    }
    of_pauses(&mut findings, report);
    of_capture(&mut findings, report);
    findings.sort_by_key(|finding| finding.severity);
    findings
}

struct Ends(End, End);

impl fmt::Display for Ends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |end: &End| match end.qpn {
            Some(qpn) => format!("{} qp 0x{qpn:x}", end.address),
            None => end.address.to_string(),
        };
        write!(f, "{} → {}", end(&self.0), end(&self.1))
    }
}

fn of_connection(out: &mut Vec<Finding>, number: usize, connection: &Connection) {
    let Connection { a, b, .. } = *connection;
    for (ends, direction) in [(Ends(a, b), &connection.a_to_b), (Ends(b, a), &connection.b_to_a)] {
        let mut say = |severity, kind, evidence: &Evidence, text: &str| {
            if !evidence.is_empty() {
                let text = format!("{ends}: {text}");
                let evidence = evidence.clone();
                let connection = Some(number);
                out.push(Finding { severity, kind, connection, evidence, text });
            }
        };
        let reliable = connection.service == Some("RC");
        of_direction(direction, reliable, &mut say);
        if connection.matched != Matched::OneWay {
            let waiting = &direction.unanswered;
            let text = format!("{} without an answer", many(waiting, "request"));
            say(Severity::Note, Kind::Unanswered, waiting, &text);
            let partly = &direction.incomplete_reads;
            let text = format!("{} of whose data the end is missing", many(partly, "read"));
            say(Severity::Note, Kind::IncompleteRead, partly, &text);
        }
    }
    if connection.matched == Matched::OneWay && connection.service == Some("RC") {
        let text = format!(
            "{}: the other direction is not in the capture or cannot be identified, so there are no \
             round-trip times",
            Ends(a, b)
        );
        let (severity, kind) = (Severity::Note, Kind::Unmatched);
        let evidence = Evidence { count: 1, packets: vec![connection.first_packet] };
        out.push(Finding { severity, kind, connection: Some(number), evidence, text });
    }
}

fn of_direction(
    direction: &Direction,
    reliable: bool,
    say: &mut impl FnMut(Severity, Kind, &Evidence, &str),
) {
    use Severity::{Error, Note, Warning};
    let naks = &direction.naks;
    for (evidence, text) in [
        (&naks.invalid_request, "refused: invalid request"),
        (&naks.remote_access_error, "refused: key or access rights do not allow it"),
        (&naks.remote_operational_error, "refused: the other end failed to carry it out"),
        (&naks.reserved, "refused with a reserved syndrome"),
    ] {
        say(Error, Kind::FatalNak, evidence, &format!("{} {text}", many(evidence, "request")));
    }
    let missing = naks.sequence_error.with(&naks.selective);
    let text = format!("{} for missing packets", many(&missing, "NAK"));
    say(Warning, Kind::SequenceNak, &missing, &text);
    let rnr = &naks.receiver_not_ready;
    let text = format!("{}: the receiver had no buffer ready", many(rnr, "RNR NAK"));
    say(Warning, Kind::ReceiverNotReady, rnr, &text);
    let resent = direction.retransmissions.with(&direction.read_retransmissions);
    let text = format!("{} sent again", many(&resent, "packet"));
    say(Warning, Kind::Retransmission, &resent, &text);
    gaps(direction, reliable, say);
    let late = &direction.reordered.with(&direction.read_reordered);
    say(Note, Kind::Reordered, late, &format!("{} overtaken by later ones", many(late, "packet")));
    let twice = &direction.duplicates;
    say(
        Note,
        Kind::Duplicate,
        twice,
        &format!("{} duplicated by the network", many(twice, "packet")),
    );
    let jumps = &direction.jumps;
    let text = "the sequence numbers jump: another connection, or a hole in the capture";
    say(Note, Kind::Jump, jumps, text);
    congestion(direction, say);
}

/// Packets that are missing here: late, lost, or not captured.
fn gaps(
    direction: &Direction,
    reliable: bool,
    say: &mut impl FnMut(Severity, Kind, &Evidence, &str),
) {
    let gaps = direction.out_of_sequence.with(&direction.read_out_of_sequence);
    let late = direction.late_packets + direction.read_late_packets;
    let lost = direction.missing_packets + direction.read_missing_packets;
    let unseen = direction.not_captured_packets;
    let before = many(&gaps, "packet");
    if lost + late == 0 && unseen > 0 {
        let text = format!(
            "{before} out of sequence; {}, so the capture does not have all packets",
            were(unseen, "missing packet", "was acknowledged", "were acknowledged")
        );
        say(Severity::Note, Kind::NotCaptured, &gaps, &text);
        return;
    }
    let mut parts = Vec::new();
    if lost > 0 {
        parts.push(were(lost, "missing packet", "never came", "never came"));
    }
    if unseen > 0 {
        let (one, many) =
            ("was acknowledged and not captured", "were acknowledged and not captured");
        parts.push(were(unseen, "", one, many));
    }
    if lost + unseen == 0 {
        parts.push("all missing packets came later".to_owned());
    }
    if lost > 0 && reliable && direction.acks == 0 && direction.naks.total() == 0 {
        parts.push("no acknowledgement tells whether the capture missed them".to_owned());
    }
    let text = format!("{before} out of sequence; {}", parts.join("; "));
    say(Severity::Warning, Kind::OutOfSequence, &gaps, &text);
}

/// `3 missing packets were acknowledged`.
fn were(count: u64, thing: &str, one: &str, many: &str) -> String {
    let (plural, verb) = if count == 1 { ("", one) } else { ("s", many) };
    if thing.is_empty() {
        format!("{count} {verb}")
    } else {
        format!("{count} {thing}{plural} {verb}")
    }
}

fn congestion(direction: &Direction, say: &mut impl FnMut(Severity, Kind, &Evidence, &str)) {
    let (marked, cnps) = (&direction.congestion_marked, &direction.cnps);
    let share = 100.0 * direction.marked_share;
    let packets = many(marked, "packet");
    if !marked.is_empty() && cnps.is_empty() && direction.acks > 0 {
        let text = format!(
            "{packets} congestion-marked ({share:.1} %), and no notification (CNP) came back"
        );
        say(Severity::Warning, Kind::MarksWithoutCnp, marked, &text);
    } else {
        let text = format!("{packets} congestion-marked ({share:.1} %)");
        say(Severity::Note, Kind::CongestionMarked, marked, &text);
    }
    let mut text = format!("{} to this sender", many(cnps, "congestion notification"));
    if cnps.count > 1 && direction.cnps_per_second > 0.0 {
        let _ = write!(text, ", {:.0} a second", direction.cnps_per_second);
    }
    if let (Some(rates), 2..) = (direction.rate, cnps.count) {
        let gbps = |bps| Rate::from_bps(bps).as_gbps_f64();
        let (lowest, peak) = (gbps(rates.lowest_bps), gbps(rates.peak_bps));
        let mean = gbps(rates.mean_bps);
        let _ = write!(text, "; it sent {mean:.3} Gb/s, {lowest:.3} to {peak:.3}");
    }
    say(Severity::Note, Kind::Cnp, cnps, &text);
}

fn of_pauses(out: &mut Vec<Finding>, report: &Report) {
    let by_priority = report.pauses.priorities.iter().enumerate();
    let named = by_priority.map(|(at, count)| (format!("priority {at}"), count));
    for (name, count) in named.chain([("the whole link".to_owned(), &report.pauses.link)]) {
        if count.is_empty() {
            continue;
        }
        let text = format!(
            "{name} paused by {}, {} quanta in all (at most {}), resumed by {}",
            many(&count.pauses, "frame"),
            count.quanta,
            count.longest,
            count.resumes
        );
        let evidence = count.pauses.clone();
        let (severity, kind) = (Severity::Note, Kind::Paused);
        out.push(Finding { severity, kind, connection: None, evidence, text });
    }
    for port in &report.pauses.ports {
        for paused in port.paused.iter().filter(|paused| is_storm(paused)) {
            let what =
                paused.priority.map_or("the whole link".to_owned(), |at| format!("priority {at}"));
            let text = format!(
                "{} paused {what} for {:.1} % of the time, {} us without a break, if the link has \
                 {}: a pause storm",
                port.station,
                100.0 * paused.share,
                paused.longest_ns / 1000,
                Rate::from_bps(report.pauses.link_rate_bps),
            );
            let evidence = paused.count.pauses.clone();
            let (severity, kind) = (Severity::Warning, Kind::PauseStorm);
            out.push(Finding { severity, kind, connection: None, evidence, text });
        }
    }
}

/// Whether a port was paused in a way that no congested receiver explains: as long as a switch's watchdog
/// waits (200 ms by default) without a break, or half of a capture that shows many frames.
fn is_storm(paused: &Paused) -> bool {
    const WATCHDOG: u64 = 200_000_000;
    const FRAMES: u64 = 20;
    let often = paused.share >= 0.5 && paused.count.pauses.count >= FRAMES;
    paused.longest_ns >= WATCHDOG || often
}

fn of_capture(out: &mut Vec<Finding>, report: &Report) {
    use Severity::{Error, Note, Warning};
    let totals = &report.totals;
    let mut say = |severity, kind, evidence: &Evidence, text: String| {
        if !evidence.is_empty() {
            let evidence = evidence.clone();
            out.push(Finding { severity, kind, connection: None, evidence, text });
        }
    };
    let wrong = &totals.icrc_wrong;
    let mut text =
        format!("{} with a wrong ICRC, excluded from everything else", many(wrong, "packet"));
    if wrong.count > totals.icrc_right {
        text += "; if the capture itself changed them, use --no-icrc";
    }
    say(Error, Kind::IcrcWrong, wrong, text);
    let rejects = &report.management.rejects;
    let reason = report.management.first_reason.as_deref().unwrap_or_default();
    let text = format!("{} rejected: {reason}", many(rejects, "connection"));
    say(Warning, Kind::Rejected, rejects, text);
    let glued = &totals.oversized;
    let text = format!(
        "{} merged by segmentation offload, and not kept whole enough to be taken apart, so not counted \
         below; capture whole packets (tcpdump -s 0), with offloads off, or on the wire",
        many(glued, "datagram")
    );
    say(Warning, Kind::Oversized, glued, text);
    let apart = &totals.glued;
    let text = format!(
        "{} merged by segmentation offload, taken apart into {}",
        many(apart, "datagram"),
        were(totals.glued_packets, "packet", "", "").trim_end()
    );
    say(Note, Kind::Glued, apart, text);
    let twice = &totals.recorded_twice;
    let text = format!(
        "{} recorded more than once, on several interfaces or in both directions; counted once",
        many(twice, "packet")
    );
    say(Note, Kind::RecordedTwice, twice, text);
    let headless = &totals.headers_cut;
    let text = format!(
        "{} truncated before the end of the RoCE headers, and only counted; capture 128 bytes or more \
         (tcpdump -s 128)",
        many(headless, "packet")
    );
    say(Warning, Kind::HeadersCut, headless, text);
    let deep = &totals.too_deep;
    let text = format!("{} inside more tunnels than are looked through", many(deep, "packet"));
    say(Note, Kind::TooDeep, deep, text);
    let bad = &totals.malformed;
    say(Warning, Kind::Malformed, bad, format!("{} malformed", many(bad, "packet")));
    let opcodes = &totals.unknown_opcode;
    let text = format!("{} with an unknown opcode", many(opcodes, "packet"));
    say(Note, Kind::Malformed, opcodes, text);
    let links = &totals.unsupported_link;
    let text = format!("{} of an unsupported link type", many(links, "packet"));
    say(Warning, Kind::NotFollowed, links, text);
    let rest = Evidence { count: totals.not_followed, packets: Vec::new() };
    let text =
        format!("{} of queue pairs beyond the limit were only counted", many(&rest, "packet"));
    say(Warning, Kind::NotFollowed, &rest, text);
    let pieces = &totals.fragments;
    let text = format!(
        "{} fragmented: the path's MTU is smaller than the packets",
        many(pieces, "IP packet")
    );
    say(Note, Kind::Fragmented, pieces, text);
    let cut = &totals.truncated;
    let text =
        format!("{} truncated in the capture; their ICRC is not checked", many(cut, "packet"));
    say(Note, Kind::Truncated, cut, text);
}

/// `3 packets`.
fn many(evidence: &Evidence, thing: &str) -> String {
    match evidence.count {
        1 => format!("1 {thing}"),
        count => format!("{count} {thing}s"),
    }
}
