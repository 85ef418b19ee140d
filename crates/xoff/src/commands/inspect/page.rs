//! The report for people.

use crate::output::number::{bytes, count, counted, microseconds, percent, plain, rate};
use crate::output::printable;
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use std::fmt::Write;
use xoff_diagnose::capture::{
    Connection, Direction, End, Evidence, Finding, Latency, Operations, Report, Severity,
};
use xoff_units::{Bytes, Rate};

/// Connections and findings shown, unless all are wanted.
pub(super) const MOST: usize = 40;

/// Packet numbers shown of a finding.
const NUMBERS: usize = 6;

/// The page.
pub(super) fn render(
    report: &Report,
    title: &str,
    limit: usize,
    width: usize,
    style: Style,
) -> String {
    let mut text = head(report, title, style);
    connections(&mut text, report, limit, width, style);
    ports(&mut text, report, limit, width, style);
    opcodes(&mut text, report, width, style);
    findings(&mut text, report, limit, style);
    text
}

fn head(report: &Report, title: &str, style: Style) -> String {
    let totals = &report.totals;
    let mut text = format!(
        "{}  {}, {} on the wire, {}\n",
        style.bold(title),
        counted(totals.packets, "packet", "packets"),
        bytes(Bytes::new(totals.wire_bytes)),
        microseconds(totals.duration_ns as f64 / 1000.0),
    );
    let mut parts = vec![format!("RoCEv2 {}", count(totals.roce_v2))];
    for tunnel in &totals.tunnels {
        parts.push(format!("in {} {}", tunnel.tunnel, count(tunnel.packets)));
    }
    for (name, number) in [
        ("RoCEv1", totals.roce_v1),
        ("pause", totals.pause_frames),
        ("connection management", report.management.packets),
        ("other", totals.other),
        ("recorded twice", totals.recorded_twice.count),
        ("truncated", totals.truncated.count),
    ] {
        if number > 0 {
            parts.push(format!("{name} {}", count(number)));
        }
    }
    let checked = totals.icrc_right + totals.icrc_wrong.count;
    if checked + totals.icrc_unknown > 0 {
        let mut icrc = format!("ICRC right {}", count(totals.icrc_right));
        for (name, number) in
            [("wrong", totals.icrc_wrong.count), ("not kept", totals.icrc_unknown)]
        {
            if number > 0 {
                let _ = write!(icrc, ", {name} {}", count(number));
            }
        }
        parts.push(icrc);
    }
    let _ = writeln!(text, "  {}", parts.join(" · "));
    text
}

/// A table of requesters, responders and operations, the busiest first if not all are shown.
fn connections(text: &mut String, report: &Report, limit: usize, width: usize, style: Style) {
    let mut rows: Vec<_> = Vec::new();
    for (at, connection) in report.connections.iter().enumerate() {
        let Connection { a, b, a_to_b, b_to_a, .. } = connection;
        let quiet = a_to_b.request_packets + b_to_a.request_packets == 0;
        if a_to_b.request_packets > 0 || quiet {
            rows.push((at, connection, a, b, a_to_b));
        }
        if b_to_a.request_packets > 0 {
            rows.push((at, connection, b, a, b_to_a));
        }
    }
    if rows.is_empty() {
        let _ = writeln!(text, "\nNo RoCE connection in it.");
        return;
    }
    let more = rows.len().saturating_sub(limit);
    if more > 0 {
        rows.sort_by_key(|row| std::cmp::Reverse(row.4.payload_bytes + row.4.read_bytes));
        rows.truncate(limit);
    }
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(at, connection, from, to, direction)| row(at + 1, connection, from, to, direction))
        .collect();
    let table = table(&rows);
    let _ = write!(text, "\n{}\n{}", style.bold("Connections"), table.render(width, style));
    if more > 0 {
        let _ = writeln!(text, "  and {} more: --all shows them", count(more as u64));
    }
}

/// How many columns there are.
const ALL: usize = 20;

/// The columns, of which those without anything in them are left out: that makes room for the
/// others, and an empty column says nothing that the absent one does not.
const COLUMNS: [(&str, Align); ALL] = [
    ("#", Align::Right),
    ("from", Align::Left),
    ("to", Align::Left),
    ("kind", Align::Left),
    ("operations", Align::Left),
    ("bytes", Align::Right),
    ("goodput", Align::Right),
    ("again", Align::Right),
    ("NAK", Align::Right),
    ("gaps", Align::Right),
    ("twice", Align::Right),
    ("CE", Align::Right),
    ("CNP", Align::Right),
    ("CNP/s", Align::Right),
    ("slowest", Align::Right),
    ("fastest", Align::Right),
    ("RTT p50", Align::Right),
    ("RTT p99", Align::Right),
    ("ACK p50", Align::Right),
    ("ACK p99", Align::Right),
];

fn table(rows: &[[String; ALL]]) -> Table {
    let used: Vec<_> =
        (0..COLUMNS.len()).filter(|at| rows.iter().any(|row| !row[*at].is_empty())).collect();
    let columns: Vec<_> = used.iter().map(|at| COLUMNS[*at]).collect();
    let mut table = Table::new(&columns);
    for row in rows {
        table.row(used.iter().map(|at| row[*at].clone()));
    }
    table
}

fn row(
    number: usize,
    connection: &Connection,
    from: &End,
    to: &End,
    d: &Direction,
) -> [String; ALL] {
    let moved = d.payload_bytes + d.read_bytes;
    // How a sender that is notified slows down and recovers.
    let rates = d.rate.filter(|_| d.cnps.count > 1);
    let speed = |bps: Option<u64>| bps.map_or(String::new(), |bps| rate(Rate::from_bps(bps)));
    let rtt = latency(&d.round_trip);
    let ack = latency(&d.ack_delay);
    [
        number.to_string(),
        end(from),
        end(to),
        connection.service.unwrap_or_default().to_owned(),
        operations(&d.operations),
        bytes(Bytes::new(moved)),
        d.goodput_bps.filter(|_| moved > 0).map_or(String::new(), |bps| rate(Rate::from_bps(bps))),
        some(d.retransmissions.count + d.read_retransmissions.count),
        some(d.naks.total()),
        some(d.out_of_sequence.count + d.read_out_of_sequence.count),
        some(d.duplicates.count),
        if d.congestion_marked.is_empty() { String::new() } else { percent(d.marked_share) },
        some(d.cnps.count),
        if d.cnps.count > 1 { plain(d.cnps_per_second) } else { String::new() },
        speed(rates.map(|rates| rates.lowest_bps)),
        speed(rates.map(|rates| rates.peak_bps)),
        rtt.0,
        rtt.1,
        ack.0,
        ack.1,
    ]
}

fn end(end: &End) -> String {
    match end.qpn {
        Some(qpn) => format!("{} 0x{qpn:x}", end.address),
        None => format!("{} ?", end.address),
    }
}

/// A count, or nothing.
fn some(number: u64) -> String {
    if number == 0 { String::new() } else { count(number) }
}

fn latency(latency: &Latency) -> (String, String) {
    if latency.samples == 0 {
        return Default::default();
    }
    let time = |ns: u64| microseconds(ns as f64 / 1000.0);
    (time(latency.p50_ns), time(latency.p99_ns))
}

fn operations(operations: &Operations) -> String {
    let kinds = [
        (operations.send, "send"),
        (operations.write, "write"),
        (operations.read, "read"),
        (operations.compare_swap, "swap"),
        (operations.fetch_add, "add"),
    ];
    let said = kinds.iter().filter(|(number, _)| *number > 0);
    said.map(|(number, kind)| format!("{} {kind}", count(*number))).collect::<Vec<_>>().join(", ")
}

/// Ports that were paused, by the station that paused them.
fn ports(text: &mut String, report: &Report, limit: usize, width: usize, style: Style) {
    let mut rows: Vec<_> = Vec::new();
    for port in &report.pauses.ports {
        rows.extend(port.paused.iter().map(|paused| (port, paused)));
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by_key(|(_, paused)| std::cmp::Reverse(paused.paused_ns));
    let mut table = Table::new(&[
        ("paused by", Align::Left),
        ("priority", Align::Right),
        ("pauses", Align::Right),
        ("resumes", Align::Right),
        ("paused", Align::Right),
        ("share", Align::Right),
        ("longest", Align::Right),
    ]);
    for (port, paused) in rows.iter().take(limit) {
        let time = |ns: u64| microseconds(ns as f64 / 1000.0);
        table.row([
            port.station.clone(),
            paused.priority.map_or("link".to_owned(), |priority| priority.to_string()),
            count(paused.count.pauses.count),
            count(paused.count.resumes),
            time(paused.paused_ns),
            percent(paused.share),
            time(paused.longest_ns),
        ]);
    }
    let speed = rate(Rate::from_bps(report.pauses.link_rate_bps));
    let heading = format!("Pauses, if links have {speed} (--link-rate)");
    let _ = write!(text, "\n{}\n{}", style.bold(&heading), table.render(width, style));
    if let Some(more @ 1..) = rows.len().checked_sub(limit) {
        let _ = writeln!(text, "  and {} more: --all shows them", count(more as u64));
    }
}

/// Packets by opcode, in as many lines as it takes.
fn opcodes(text: &mut String, report: &Report, width: usize, style: Style) {
    /// Columns of a line where there is room for more.
    const LONGEST: usize = 120;
    if report.totals.opcodes.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.bold("Packets by opcode"));
    let mut line = String::new();
    for opcode in &report.totals.opcodes {
        let name = opcode.name.clone().unwrap_or_else(|| format!("0x{:02x}", opcode.opcode));
        let part = format!("{name} {}", count(opcode.packets));
        if !line.is_empty() && line.len() + part.len() + 5 > width.min(LONGEST) {
            let _ = writeln!(text, "  {line}");
            line.clear();
        }
        line += if line.is_empty() { "" } else { " · " };
        line += &part;
    }
    let _ = writeln!(text, "  {line}");
}

fn findings(text: &mut String, report: &Report, limit: usize, style: Style) {
    if report.findings.is_empty() {
        // Nothing found in nothing is no good news.
        if report.totals.roce_v2 + report.totals.roce_v1 + report.totals.pause_frames > 0 {
            let _ = writeln!(text, "\nNothing out of the ordinary.");
        }
        return;
    }
    let _ = writeln!(text, "\n{}", style.bold("Findings"));
    for finding in report.findings.iter().take(limit) {
        let _ = writeln!(text, "  {}", line(finding, style));
    }
    if let Some(more @ 1..) = report.findings.len().checked_sub(limit) {
        let _ = writeln!(text, "  and {} more: --all shows them", count(more as u64));
    }
}

fn line(finding: &Finding, style: Style) -> String {
    let word = match finding.severity {
        Severity::Error => style.red("error  "),
        Severity::Warning => style.yellow("warning"),
        Severity::Note => style.cyan("note   "),
    };
    let place = finding.connection.map_or(String::new(), |number| format!("#{number} "));
    let text = printable(&finding.text);
    format!("{word}  {place}{text}{}", style.dim(&numbers(&finding.evidence)))
}

/// `  packets 3, 9, 12 …`
fn numbers(evidence: &Evidence) -> String {
    if evidence.packets.is_empty() {
        return String::new();
    }
    let shown: Vec<_> =
        evidence.packets.iter().take(NUMBERS).map(|number| number.to_string()).collect();
    let word = if evidence.count == 1 { "packet" } else { "packets" };
    let more = if evidence.count as usize > shown.len() { " …" } else { "" };
    format!("  ({word} {}{more})", shown.join(", "))
}
