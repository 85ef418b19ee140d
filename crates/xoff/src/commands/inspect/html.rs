//! The page: what happened when.

use xoff_diagnose::capture::{
    Connection, Course, Direction, End, Finding, Report as Capture, Sender, Severity,
};
use xoff_report::{
    Axis, Block, Cell, Chart, Column, Fact, Figure, Number, Plot, Report, Section, Series, Table,
    Tile, Unit, Verdict, counted,
};
use xoff_units::{Bytes, Rate, Span};

/// Lines of a figure: those that have colours of their own.
const LINES: usize = 8;
/// What every page of this command says.
const MARK: &str = "made by xoff inspect";

/// Whether a file is a page of this command.
pub(super) fn is_own(text: &str) -> bool {
    text.contains(MARK)
}

/// The page of a capture.
pub(super) fn render(capture: &Capture, title: &str, format: &str) -> String {
    let mut report = Report::new(title, headline(capture));
    let worst = capture.findings.iter().map(|finding| verdict(finding.severity));
    report.verdict = Some(Verdict::worst(worst).unwrap_or(Verdict::Pass));
    report.tiles = tiles(capture);
    report.facts = vec![
        Fact::new("Capture", format!("{title} ({format})")),
        Fact::new("Page", format!("{MARK} {}", env!("CARGO_PKG_VERSION"))),
        Fact::new(
            "Times",
            "those of the place of the capture; rates are of bytes on the wire, by the sender",
        ),
    ];
    report.sections = vec![findings(capture)];
    report.sections.extend(course(capture));
    report.sections.push(connections(capture));
    report.sections.push(packets(capture));
    report.html()
}

const fn verdict(severity: Severity) -> Verdict {
    match severity {
        Severity::Error => Verdict::Fail,
        Severity::Warning => Verdict::Warn,
        Severity::Note => Verdict::Pass,
    }
}

fn headline(capture: &Capture) -> String {
    let totals = &capture.totals;
    let packets = counted(totals.roce_v2 + totals.roce_v1, "RoCE packet", "RoCE packets");
    let connections = counted(capture.connections.len() as u64, "connection", "connections");
    let lasted = Number::from(Span::from_ps(totals.duration_ns.saturating_mul(1000)));
    let worse = |finding: &&Finding| finding.severity != Severity::Note;
    let troubles = capture.findings.iter().filter(worse).count() as u64;
    let end = match troubles {
        0 => "nothing out of the ordinary".to_owned(),
        _ => counted(troubles, "finding that matters", "findings that matter"),
    };
    format!("{packets} of {connections} in {lasted}: {end}.")
}

fn directions(capture: &Capture) -> impl Iterator<Item = &Direction> {
    capture.connections.iter().flat_map(|connection| [&connection.a_to_b, &connection.b_to_a])
}

fn tiles(capture: &Capture) -> Vec<Tile> {
    let sum = |of: fn(&Direction) -> u64| directions(capture).map(of).sum::<u64>();
    let bytes = sum(|d| d.payload_bytes + d.read_bytes);
    let again = sum(|d| d.retransmissions.count + d.read_retransmissions.count);
    let lost = sum(|d| d.missing_packets + d.read_missing_packets);
    let pauses = Number::count(capture.totals.pause_frames);
    let bad = |count: u64| if count == 0 { Verdict::Pass } else { Verdict::Warn };
    vec![
        Tile::new("Payload", Bytes::new(bytes)),
        Tile::new("Sent again", Number::count(again)).note("packets").verdict(bad(again)),
        Tile::new("Never came", Number::count(lost)).note("packets").verdict(bad(lost)),
        Tile::new("Notifications", Number::count(sum(|d| d.cnps.count))).note("CNPs"),
        Tile::new("Pause frames", pauses),
    ]
}

fn findings(capture: &Capture) -> Section {
    let mut section = Section::new("findings", "Findings");
    let columns = [Column::text(""), Column::text("finding"), Column::text("packets")];
    let mut table = Table::new("finding-table", "What was found, worst first", columns);
    for finding in &capture.findings {
        let place = finding.connection.map_or(String::new(), |number| format!("#{number} "));
        let numbers: Vec<_> = finding.evidence.packets.iter().map(u64::to_string).collect();
        table.push([
            Cell::from(verdict(finding.severity)),
            format!("{place}{}", finding.text).into(),
            numbers.join(", ").into(),
        ]);
    }
    let nothing = Block::Text("Nothing out of the ordinary.".to_owned());
    section.blocks.push(if table.rows.is_empty() { nothing } else { table.into() });
    section
}

/// What a figure shows of a sender, in each step.
type Values<'a> = &'a dyn Fn(&Sender) -> Vec<f64>;

/// One figure for each thing that changes with time, of the senders in which it changes most.
fn course(capture: &Capture) -> Option<Section> {
    let course = &capture.course;
    let mut section = Section::new("course", "What happened when");
    let width = Number::from(Span::from_ps(course.bin_ns.saturating_mul(1000)));
    let mut lead = format!("In steps of {width}, from the first packet on.");
    if course.senders_left_out > 0 {
        let rest = counted(course.senders_left_out, "sender is", "senders are");
        lead += &format!(" {rest} not followed over time: the totals have them.");
    }
    section.lead = Some(lead);
    let seconds = course.bin_ns as f64 / 1e9;
    let rates = |sender: &Sender| sender.bytes.iter().map(|b| *b as f64 * 8.0 / seconds).collect();
    let of = |counts: &[u32]| counts.iter().map(|count| f64::from(*count)).collect();
    let count = |unit| Axis::new("packets", unit);
    let figures: [(&str, &str, Axis, Values<'_>); 5] = [
        ("rates", "Rate of each sender", Axis::new("rate", Unit::BitsPerSecond), &rates),
        ("cnps", "Congestion notifications to each sender", count(Unit::Count), &|s| of(&s.cnps)),
        ("marks", "Packets with a congestion mark", count(Unit::Count), &|s| of(&s.marked)),
        ("again", "Packets sent again", count(Unit::Count), &|s| of(&s.resent)),
        ("gaps", "Packets before which others are missing", count(Unit::Count), &|s| of(&s.gaps)),
    ];
    for (id, title, axis, values) in figures {
        let series: Vec<_> = course
            .senders
            .iter()
            .map(|sender| (name(capture, sender), values(sender)))
            .filter(|(_, values)| values.iter().any(|value| *value > 0.0))
            .collect();
        section.blocks.extend(figure(id, title, axis, series, course));
    }
    section.blocks.extend(pauses(course));
    (!section.blocks.is_empty()).then_some(section)
}

/// Steps over time, the largest in sum if there are many.
fn figure(
    id: &str,
    title: &str,
    axis: Axis,
    mut series: Vec<(String, Vec<f64>)>,
    course: &Course,
) -> Option<Block> {
    let all = series.len();
    series.sort_by(|(_, a), (_, b)| {
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        sum(b).total_cmp(&sum(a))
    });
    series.truncate(LINES);
    if series.is_empty() {
        return None;
    }
    let seconds = course.bin_ns as f64 / 1e9;
    // The same time in all figures, so that they can be compared.
    let sent = course.senders.iter().map(|sender| sender.bytes.len());
    let paused = course.pauses.iter().map(|port| port.paused_ns.len());
    let steps = sent.chain(paused).max().unwrap_or(0);
    let time = Axis::new("time", Unit::Seconds).from_to(0.0, steps as f64 * seconds);
    let mut chart = Chart::new(time, axis);
    for (name, mut values) in series {
        // Back to nothing behind the last.
        values.push(0.0);
        let points = values.iter().enumerate().map(|(at, value)| (at as f64 * seconds, *value));
        chart.series.push(Series::new(name, points.collect()));
    }
    let figure = Figure::new(id, title, Plot::Steps(chart));
    let more = all.saturating_sub(LINES) as u64;
    Some(match more {
        0 => figure.into(),
        _ => figure.caption(format!("The {LINES} with most of {all}.")).into(),
    })
}

fn pauses(course: &Course) -> Option<Block> {
    let width = course.bin_ns.max(1) as f64;
    let share = |paused: &[u64]| paused.iter().map(|ns| *ns as f64 / width).collect();
    let series = course.pauses.iter().map(|port| {
        let what = port.priority.map_or("link".to_owned(), |at| format!("priority {at}"));
        (format!("{} {what}", port.station), share(&port.paused_ns))
    });
    let axis = Axis::new("share of time", Unit::Share).from_to(0.0, 1.0);
    figure("pauses", "Time paused, by the station that paused", axis, series.collect(), course)
}

fn end(end: &End) -> String {
    end.qpn.map_or_else(|| format!("{} ?", end.address), |qpn| format!("{} 0x{qpn:x}", end.address))
}

fn name(capture: &Capture, sender: &Sender) -> String {
    let connection = sender.connection.checked_sub(1).and_then(|at| capture.connections.get(at));
    let Some(connection) = connection else { return format!("#{}", sender.connection) };
    let (from, to) = ends(connection, sender.end == "a");
    format!("#{} {} → {}", sender.connection, end(from), end(to))
}

const fn ends(connection: &Connection, forward: bool) -> (&End, &End) {
    if forward { (&connection.a, &connection.b) } else { (&connection.b, &connection.a) }
}

fn connections(capture: &Capture) -> Section {
    let mut section = Section::new("connections", "Connections");
    let columns = [
        Column::text("#"),
        Column::text("from"),
        Column::text("to"),
        Column::text("kind"),
        Column::number("operations", Unit::Count),
        Column::number("bytes", Unit::Bytes),
        Column::number("goodput", Unit::BitsPerSecond),
        Column::number("sent again", Unit::Count),
        Column::number("never came", Unit::Count),
        Column::number("not captured", Unit::Count),
        Column::number("NAKs", Unit::Count),
        Column::number("marked", Unit::Share),
        Column::number("CNPs", Unit::Count),
        Column::number("CNPs per second", Unit::Plain),
        Column::number("slowest", Unit::BitsPerSecond),
        Column::number("fastest", Unit::BitsPerSecond),
        Column::number("RTT p50", Unit::Seconds),
        Column::number("RTT p99", Unit::Seconds),
    ];
    let mut table = Table::new("connection-table", "What each end asked of the other", columns);
    for (at, connection) in capture.connections.iter().enumerate() {
        let both = [(&connection.a_to_b, true), (&connection.b_to_a, false)];
        for (direction, forward) in both.into_iter().filter(|(d, _)| d.request_packets > 0) {
            table.push(row(at + 1, connection, direction, forward));
        }
    }
    section.blocks.push(table.into());
    section
}

fn row(number: usize, connection: &Connection, d: &Direction, forward: bool) -> Vec<Cell> {
    let (from, to) = ends(connection, forward);
    let count = |count: u64| Cell::from(Number::count(count));
    let rate = |bps: Option<u64>| Cell::from(bps.map(|bps| Number::from(Rate::from_bps(bps))));
    let time = |ns: u64| {
        let measured = d.round_trip.samples > 0;
        Cell::from(measured.then(|| Number::from(Span::from_ps(ns.saturating_mul(1000)))))
    };
    vec![
        format!("#{number}").into(),
        end(from).into(),
        end(to).into(),
        connection.service.unwrap_or_default().into(),
        count(d.operations.total()),
        Number::from(Bytes::new(d.payload_bytes + d.read_bytes)).into(),
        rate(d.goodput_bps),
        count(d.retransmissions.count + d.read_retransmissions.count),
        count(d.missing_packets + d.read_missing_packets),
        count(d.not_captured_packets),
        count(d.naks.total()),
        Number::share(d.marked_share).into(),
        count(d.cnps.count),
        Number::plain(d.cnps_per_second).into(),
        rate(d.rate.map(|rates| rates.lowest_bps)),
        rate(d.rate.map(|rates| rates.peak_bps)),
        time(d.round_trip.p50_ns),
        time(d.round_trip.p99_ns),
    ]
}

fn packets(capture: &Capture) -> Section {
    let mut section = Section::new("packets", "Packets");
    let columns = [
        Column::text("opcode"),
        Column::number("packets", Unit::Count),
        Column::number("payload", Unit::Bytes),
    ];
    let mut table = Table::new("opcode-table", "RoCE packets by opcode", columns);
    for opcode in &capture.totals.opcodes {
        let name = opcode.name.clone().unwrap_or_else(|| format!("0x{:02x}", opcode.opcode));
        let payload = Number::from(Bytes::new(opcode.payload_bytes));
        table.push([Cell::from(name), Number::count(opcode.packets).into(), payload.into()]);
    }
    section.blocks.push(table.into());
    let columns = [
        Column::text("paused by"),
        Column::text("priority"),
        Column::number("pauses", Unit::Count),
        Column::number("resumes", Unit::Count),
        Column::number("paused", Unit::Seconds),
        Column::number("share", Unit::Share),
        Column::number("longest", Unit::Seconds),
    ];
    let mut table = Table::new("pause-table", "Ports that were paused", columns);
    let time = |ns: u64| Cell::from(Number::from(Span::from_ps(ns.saturating_mul(1000))));
    for port in &capture.pauses.ports {
        for paused in &port.paused {
            table.push([
                Cell::from(port.station.clone()),
                paused.priority.map_or("link".to_owned(), |at| at.to_string()).into(),
                Number::count(paused.count.pauses.count).into(),
                Number::count(paused.count.resumes).into(),
                time(paused.paused_ns),
                Number::share(paused.share).into(),
                time(paused.longest_ns),
            ]);
        }
    }
    if !table.rows.is_empty() {
        section.blocks.push(table.into());
    }
    section
}
