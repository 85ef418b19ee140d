//! Another decoder counts the same: what tshark prints of each packet, added up here, beside what an
//! analysis says. Over a kernel's captures, as they are and in every wrapping; and over any others:
//! `XOFF_CAPTURES=FOLDER cargo test -p xoff-diagnose --test tshark`.
//!
//! What tshark sees is single packets: glued ones, and ICRCs, are for a second decoder (`decoder`), which
//! shares nothing with the crates under test. Captures of every trouble are made packet by packet
//! (`cases`); the counts of all three agree, however the file holds them: glued, cut, compressed, in
//! tunnels, twice. Where tshark is not installed that is said, and the second decoder stays.

#[path = "../capture/harness.rs"]
#[allow(dead_code, unreachable_pub, reason = "both test programs use a part of it")]
mod harness;

mod cases;
mod decoder;
mod model;

use harness::Tape;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use xoff_diagnose::capture::{Analysis, Direction, Options, Report, Unpacked};
use xoff_wire::capture::{LinkType, Packet, PcapWriter, Reader};

/// What tshark says of a packet.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    source: String,
    destination: String,
    opcode: u8,
    qp: u32,
    psn: u32,
    syndrome: Option<u8>,
    congested: bool,
    /// Bytes of the UDP datagram, header included.
    udp: u64,
    pad: u64,
    /// The sender's queue pair, of datagrams.
    from: Option<u32>,
}

const FIELDS: [&str; 13] = [
    "ip.src",
    "ip.dst",
    "ipv6.src",
    "ipv6.dst",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.aeth.syndrome",
    "ip.dsfield.ecn",
    "ipv6.tclass.ecn",
    "udp.length",
    "infiniband.bth.padcnt",
    "infiniband.deth.srcqp",
];

fn installed() -> bool {
    let found = Command::new("tshark").arg("--version").output();
    let there = found.is_ok_and(|output| output.status.success());
    if !there {
        // Not eprintln, which the test harness swallows when the test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED tshark: not installed");
    }
    there
}

fn rows(file: &Path) -> Vec<Row> {
    let mut command = Command::new("tshark");
    // Of packets inside others, the innermost; not those that an ICMP error quotes.
    command.args([
        "-n",
        "-Y",
        "infiniband && !icmp && !icmpv6",
        "-T",
        "fields",
        "-E",
        "separator=/t",
    ]);
    command.args(["-E", "occurrence=l"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let output = command.arg("-r").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<_> = line.split('\t').collect();
    let number = |at: usize| {
        let cell = *cells.get(at)?;
        let hex = cell.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16).unwrap());
        hex.or_else(|| (!cell.is_empty()).then(|| cell.parse().unwrap()))
    };
    // Only packets over IPv4 are wrapped around others here.
    let v6 = !cells[2].is_empty();
    let (source, destination) = if v6 { (cells[2], cells[3]) } else { (cells[0], cells[1]) };
    Row {
        source: source.to_owned(),
        destination: destination.to_owned(),
        opcode: number(4).unwrap() as u8,
        qp: number(5).unwrap() as u32,
        psn: number(6).unwrap() as u32,
        syndrome: number(7).map(|syndrome| syndrome as u8),
        congested: number(if v6 { 9 } else { 8 }) == Some(3),
        udp: number(10).unwrap(),
        pad: number(11).unwrap(),
        from: number(12).map(|qp| qp as u32),
    }
}

impl Row {
    /// The operation: the low five bits, but of notifications.
    fn kind(&self) -> u8 {
        if self.opcode == 0x81 { 0x81 } else { self.opcode & 0x1f }
    }

    fn is_datagram(&self) -> bool {
        self.opcode >> 5 == 3
    }

    /// Payload: the datagram without UDP, base and extended headers, padding and ICRC.
    fn payload(&self) -> u64 {
        let extended = match self.kind() {
            // RETH; with immediate data.
            6 | 10 | 12 => 16,
            11 => 20,
            3 | 5 | 9 | 22 | 23 => 4,
            13 | 15 | 16 | 17 => 4,
            18 => 12,
            19 | 20 => 28,
            0x81 => 16,
            _ => 0,
        };
        let datagram = if self.is_datagram() { 8 } else { 0 };
        self.udp - 8 - 12 - extended - datagram - self.pad - 4
    }

    fn is_request(&self) -> bool {
        matches!(self.kind(), 0..=12 | 19 | 20 | 22 | 23)
    }

    fn is_read_data(&self) -> bool {
        matches!(self.kind(), 13..=16)
    }
}

/// What one host sent to one queue pair.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    packets: u64,
    requests: u64,
    congested: u64,
    cnps: u64,
    acks: u64,
    rnr_naks: u64,
    naks: u64,
    payload: u64,
    read: u64,
}

type Key = (String, String, u32, Option<u32>);

fn by_tshark(rows: &[Row]) -> BTreeMap<Key, Sums> {
    let mut sums: BTreeMap<Key, Sums> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for row in rows.iter().filter(|row| row.qp != 1) {
        let key = (row.source.clone(), row.destination.clone(), row.qp, row.from);
        let sum = sums.entry(key.clone()).or_default();
        sum.packets += 1;
        sum.congested += u64::from(row.congested);
        sum.cnps += u64::from(row.kind() == 0x81);
        sum.requests += u64::from(row.is_request());
        match row.syndrome.map(|syndrome| syndrome >> 5 & 3) {
            Some(0) => sum.acks += 1,
            Some(1) => sum.rnr_naks += 1,
            Some(_) => sum.naks += 1,
            None => {}
        }
        // Each byte once.
        if row.is_datagram() || seen.insert((key, row.psn, row.is_request(), row.is_read_data())) {
            if row.is_request() {
                sum.payload += row.payload();
            } else if row.is_read_data() {
                sum.read += row.payload();
            }
        }
    }
    sums
}

/// The same from a report: what an end sent is in two directions, its requests in one and its answers in
/// the other.
fn by_us(report: &Report) -> BTreeMap<Key, Sums> {
    let mut sums = BTreeMap::new();
    for connection in &report.connections {
        let (a, b) = (&connection.a, &connection.b);
        let both = [
            (a, b, &connection.a_to_b, &connection.b_to_a),
            (b, a, &connection.b_to_a, &connection.a_to_b),
        ];
        for (from, to, own, other) in both {
            let Some(qp) = to.qpn.filter(|_| own.packets > 0) else { continue };
            let sender = from.qpn.filter(|_| connection.service == Some("UD"));
            let key = (from.address.to_string(), to.address.to_string(), qp, sender);
            sums.insert(key, sum(own, other));
        }
    }
    sums
}

fn sum(own: &Direction, other: &Direction) -> Sums {
    let rnr_naks = other.naks.receiver_not_ready.count;
    Sums {
        packets: own.packets,
        requests: own.request_packets,
        congested: own.congestion_marked.count,
        cnps: other.cnps.count,
        acks: other.acks,
        rnr_naks,
        naks: other.naks.total() - rnr_naks,
        payload: own.payload_bytes,
        read: other.read_bytes,
    }
}

fn inspect(file: impl Read) -> Report {
    let mut reader = Reader::new(Unpacked::new(file).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    while let Some(packet) = reader.next_packet().unwrap() {
        analysis.packet(&packet);
    }
    analysis.finish()
}

/// Compares every count. Returns the RoCE packets.
fn agree(file: &Path) -> usize {
    let rows = rows(file);
    let report = inspect(File::open(file).unwrap());
    let name = file.display();
    assert_eq!(report.totals.glued.count, 0, "{name} has glued packets");
    assert_eq!(report.totals.roce_v2 + report.totals.roce_v1, rows.len() as u64, "{name}");
    same_counts(&name.to_string(), &report, &rows);
    rows.len()
}

/// Compares what single packets say.
fn same_counts(name: &str, report: &Report, rows: &[Row]) {
    let mut opcodes: BTreeMap<u8, (u64, u64)> = BTreeMap::new();
    for row in rows {
        let (packets, payload) = opcodes.entry(row.opcode).or_default();
        *packets += 1;
        *payload += row.payload();
    }
    let ours = report.totals.opcodes.iter();
    let ours: BTreeMap<_, _> =
        ours.map(|count| (count.opcode, (count.packets, count.payload_bytes))).collect();
    assert_eq!(ours, opcodes, "{name}");
    let management = rows.iter().filter(|row| row.qp == 1).count() as u64;
    assert_eq!(report.management.packets, management, "{name}");
    assert_eq!(by_us(report), by_tshark(rows), "{name}");
}

fn captures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data/pcap");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// An IPv4 packet of this protocol around an Ethernet frame.
fn around(protocol: u8, headers: &[u8], frame: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend([0x08, 0x00, 0x45, 0]);
    bytes.extend((20 + headers.len() as u16 + frame.len() as u16).to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend(headers);
    bytes.extend(frame);
    bytes
}

/// How a packet may be wrapped.
type Wrap = fn(&[u8]) -> Vec<u8>;

const WRAPPINGS: [(&str, LinkType, Wrap); 5] = [
    ("vxlan", LinkType::ETHERNET, |frame| {
        let length = (16 + frame.len() as u16).to_be_bytes();
        let udp = [0xc0, 0, 0x12, 0xb5, length[0], length[1], 0, 0, 8, 0, 0, 0, 0, 0, 7, 0];
        around(17, &udp, frame)
    }),
    ("erspan2", LinkType::ETHERNET, |frame| {
        let head = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 9, 0, 0, 0, 3];
        around(47, &head, frame)
    }),
    ("erspan3", LinkType::ETHERNET, |frame| {
        let head = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0];
        around(47, &head, frame)
    }),
    ("cooked", LinkType::COOKED_V1, |frame| {
        let head = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&head[..], &frame[12..]].concat()
    }),
    ("cooked2", LinkType::COOKED_V2, |frame| {
        let head = [0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
        [&frame[12..14], &head, &frame[14..]].concat()
    }),
];

#[test]
fn a_kernels_captures_have_the_same_counts() {
    if !installed() {
        return;
    }
    let count: usize = captures().iter().map(|file| agree(file)).sum();
    assert!(count > 100, "{count}");
}

#[test]
fn so_they_have_in_every_wrapping() {
    if !installed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, link_type, wrap) in WRAPPINGS {
        // Two captures will do: one of either version of IP.
        for (at, file) in captures().into_iter().enumerate().skip(1).step_by(3).take(2) {
            let mut reader = Reader::new(File::open(&file).unwrap()).unwrap();
            let mut writer = PcapWriter::new(Vec::new(), link_type).unwrap();
            while let Some(packet) = reader.next_packet().unwrap() {
                let wrapped = wrap(packet.bytes);
                let (wire_len, bytes) = (wrapped.len() as u32, &wrapped[..]);
                writer.write(&Packet { link_type, wire_len, bytes, ..packet }).unwrap();
            }
            let path = folder.path().join(format!("{name}-{at}.pcap"));
            std::fs::write(&path, writer.finish().unwrap()).unwrap();
            assert!(agree(&path) > 10, "{name}");
        }
    }
}

/// A file that holds a case's packets: how, its bytes, and whether each packet is whole, and there with its
/// Ethernet header.
struct Form {
    name: &'static str,
    file: Vec<u8>,
    whole: bool,
    ethernet: bool,
}

fn forms(case: &str, tape: &Tape) -> Vec<Form> {
    let plain = cases::plain(tape);
    let form = |name, file, whole, ethernet| Form { name, file, whole, ethernet };
    let mut forms = vec![
        form("pcapng", cases::pcapng(tape), true, true),
        form("gzip", cases::gzip(&plain), true, true),
        form("zstd", cases::zstd(&cases::pcapng(tape)), true, true),
        form("twice", cases::on_two_interfaces(tape), true, false),
        form("glued", cases::glued(tape), true, true),
    ];
    for (name, link_type, wrap) in WRAPPINGS {
        if tape.v6 && !name.contains("cooked") || link_type == LinkType::ETHERNET {
            let file = cases::file(tape, link_type, |_, frame| vec![wrap(frame)], usize::MAX);
            forms.push(form(name, file, true, link_type == LinkType::ETHERNET));
        }
    }
    let cut = |snap| cases::file(tape, LinkType::ETHERNET, |_, frame| vec![frame.to_vec()], snap);
    // What a cut leaves: see the page on it.
    if case != "wrong icrc" {
        forms.push(form("128 bytes", cut(128), false, true));
        if tape.v6 || case != "datagrams" {
            forms.push(form("80 or 60 bytes", cut(if tape.v6 { 80 } else { 60 }), false, true));
        }
    }
    forms.push(form("plain", plain, true, true));
    forms
}

fn check_form(case: &str, form: &Form, truth: &decoder::Decoded) {
    let name = format!("{case}, {}", form.name);
    let report = inspect(&form.file[..]);
    let totals = &report.totals;
    same_counts(&name, &report, &truth.rows);
    let right = truth.rows.len() as u64;
    assert_eq!(totals.roce_v2, right + truth.wrong, "{name}");
    if form.whole {
        let icrc = (totals.icrc_right, totals.icrc_wrong.count, totals.icrc_unknown);
        assert_eq!(icrc, (right, truth.wrong, 0), "{name}");
    }
    let twice = if form.name == "twice" { right + truth.wrong } else { 0 };
    assert_eq!(totals.recorded_twice.count, twice, "{name}");
    if form.ethernet {
        assert_eq!(pauses(&report), truth.pauses, "{name}");
    }
    if form.name == "glued" {
        let decoded = decoder::decode(&form.file);
        assert_eq!(decoded.rows, truth.rows, "{name}: taken apart by two programs");
        assert_eq!(totals.glued.count, decoded.glued, "{name}");
    }
    model::same_sequences(&name, &report, &truth.rows);
}

/// Pause frames as the second decoder counts them.
fn pauses(report: &Report) -> decoder::Pauses {
    let mut pauses = decoder::Pauses::new();
    for port in &report.pauses.ports {
        for paused in &port.paused {
            let key = (port.station.clone(), paused.priority.unwrap_or(8));
            let count = &paused.count;
            pauses.insert(key, [count.pauses.count, count.resumes, count.quanta]);
        }
    }
    pauses
}

/// The same by tshark.
fn pauses_by_tshark(file: &Path) -> decoder::Pauses {
    let mut command = Command::new("tshark");
    command.args(["-n", "-Y", "macc", "-T", "fields", "-e", "eth.src", "-e", "macc.opcode"]);
    command.args(["-e", "macc.pause_time", "-e", "macc.cbfc.enbv"]);
    for class in 0..8 {
        command.args(["-e", &format!("macc.cbfc.pause_time.c{class}")]);
    }
    let output = command.arg("-r").arg(file).output().unwrap();
    assert!(output.status.success());
    let number = |text: &str| {
        let hex = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16).unwrap());
        hex.unwrap_or_else(|| text.parse().unwrap())
    };
    let mut pauses = decoder::Pauses::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let mut count = |priority: u8, quanta: u64| {
            let counts = pauses.entry((cells[0].to_owned(), priority)).or_default();
            counts[usize::from(quanta == 0)] += 1;
            counts[2] += quanta;
        };
        if number(cells[1]) == 1 {
            count(8, number(cells[2]));
        } else {
            let enabled = number(cells[3]);
            (0..8u8)
                .filter(|class| enabled >> class & 1 == 1)
                .for_each(|class| count(class, number(cells[4 + usize::from(class)])));
        }
    }
    pauses
}

#[test]
fn every_trouble_has_the_same_counts_however_a_file_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let tshark = installed();
    for (case, tape) in cases::all() {
        let plain = cases::plain(&tape);
        let truth = decoder::decode(&plain);
        assert!(truth.rows.len() > 4, "{case}");
        if tshark {
            let path = folder.path().join("case.pcap");
            std::fs::write(&path, &plain).unwrap();
            let rows = rows(&path);
            assert_eq!(rows.len() as u64, truth.rows.len() as u64 + truth.wrong, "{case}");
            if truth.wrong == 0 {
                assert_eq!(rows, truth.rows, "{case}: tshark and the second decoder");
            }
            assert_eq!(pauses_by_tshark(&path), truth.pauses, "{case}");
        }
        forms(case, &tape).iter().for_each(|form| check_form(case, form, &truth));
    }
}

#[test]
fn captures_from_elsewhere_have_the_same_counts() {
    let Some(folder) = std::env::var_os("XOFF_CAPTURES") else { return };
    assert!(installed());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let report = inspect(File::open(&path).unwrap());
        // What is glued together only the second decoder takes apart, of plain files.
        let count = if report.totals.glued.is_empty() {
            agree(&path)
        } else {
            let decoded = decoder::decode(&std::fs::read(&path).unwrap());
            let name = path.display().to_string();
            same_counts(&name, &report, &decoded.rows);
            model::same_sequences(&name, &report, &decoded.rows);
            let icrc = (report.totals.icrc_right, report.totals.icrc_wrong.count);
            assert_eq!(icrc, (decoded.rows.len() as u64, decoded.wrong), "{name}");
            decoded.rows.len()
        };
        let _ = writeln!(std::io::stderr(), "{}: {count} RoCE packets agree", path.display());
    }
}
