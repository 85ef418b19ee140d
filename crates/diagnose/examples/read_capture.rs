//! Analyses a capture and prints what it is made of, to measure the analysis without the program
//! around it: `time cargo run --release -p xoff-diagnose --example read_capture -- big.pcap`.

use std::fs::File;
use std::io::{self, Write};
use xoff_diagnose::capture::{Analysis, Options};
use xoff_wire::capture::Reader;

fn main() -> io::Result<()> {
    let path =
        std::env::args().nth(1).ok_or_else(|| io::Error::other("usage: read_capture FILE"))?;
    let check_icrc = std::env::args().nth(2).is_none_or(|flag| flag != "--no-icrc");
    let mut reader = Reader::new(File::open(path)?).map_err(io::Error::other)?;
    let mut analysis = Analysis::new(Options { check_icrc, ..Options::default() });
    while let Some(packet) = reader.next_packet().map_err(io::Error::other)? {
        analysis.packet(&packet);
    }
    let report = analysis.finish();
    let totals = &report.totals;
    writeln!(
        io::stdout(),
        "{} packets, {} bytes, {} connections, {} findings, {} ICRCs right",
        totals.packets,
        reader.position(),
        report.connections.len(),
        report.findings.len(),
        totals.icrc_right
    )
}
