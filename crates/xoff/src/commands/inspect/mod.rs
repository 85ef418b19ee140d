//! `xoff inspect`: what a person wants to know of a RoCE capture.

mod page;

use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output::reading::Bar;
use crate::output::{self, printable, stdout_width, style::Style};
use serde::Serialize;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use xoff_diagnose::capture::{Analysis, Options, Report, Severity};
use xoff_wire::capture::{CaptureError, Format, LinkType, Reader};

const EXAMPLES: &str = "Examples:
  xoff inspect slow.pcap
  xoff inspect slow.pcapng --json | jq '.findings[].text'
  tcpdump -i eth0 -s 128 -w - udp port 4791 | xoff inspect -

Reads pcap and pcapng with Ethernet, raw IP or Linux cooked packets. Packets
are numbered from 1, as in Wireshark. Times are those of the place where the
capture was made: RTT from a request to the answer that names it, ACK from
the oldest request that an answer covers.

Exit codes:
  0    fine
  1    a finding is an error: wrong ICRCs, requests refused
  2    bad usage, no capture, or one that is cut off or damaged
  3    results could not be written
  130  interrupted";

/// Arguments of `xoff inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The capture; `-` for standard input
    file: PathBuf,
    /// Print everything found as JSON
    #[arg(long)]
    json: bool,
    /// Show all connections and findings, however many
    #[arg(long)]
    all: bool,
    /// Do not check ICRCs: for captures made by something that changes packets
    #[arg(long)]
    no_icrc: bool,
}

impl Args {
    fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    /// The capture as messages name it.
    fn name(&self) -> String {
        if self.is_stdin() { "standard input".to_owned() } else { self.file.display().to_string() }
    }
}

/// What came of reading.
#[derive(Debug)]
struct Outcome {
    report: Report,
    format: Format,
    bytes: u64,
    skipped_blocks: u64,
    /// Why it was not read to its end.
    stopped: Option<Stopped>,
}

#[derive(Debug)]
enum Stopped {
    Interrupted,
    Broken(CaptureError),
}

/// The result for machines.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    tool: &'static str,
    version: &'static str,
    file: &'a Path,
    format: &'static str,
    file_bytes: u64,
    skipped_blocks: u64,
    complete: bool,
    problem: Option<String>,
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen();
    let outcome = if args.is_stdin() {
        read(args, std::io::stdin().lock(), None, &interrupt)?
    } else {
        let file = File::open(&args.file).map_err(|error| unreadable(args, &error.to_string()))?;
        let metadata = file.metadata().ok();
        if metadata.as_ref().is_some_and(|metadata| metadata.is_dir()) {
            return Err(unreadable(args, "it is a folder"));
        }
        let size = metadata.filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        read(args, file, size, &interrupt)?
    };
    show(args, &outcome)?;
    Ok(judge(args, &outcome))
}

fn unreadable(args: &Args, reason: &str) -> Failure {
    Failure::input(format!("cannot read {}: {reason}", args.name()))
}

/// Reads the capture, as far as it can be read.
fn read(
    args: &Args,
    source: impl Read,
    size: Option<u64>,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    /// Packets between two reads of the clock.
    const STEP: u64 = 1 << 12;
    let mut reader = Reader::new(source).map_err(|error| refused(args, &error))?;
    if let Some(link_type) = reader.link_type().filter(|link_type| !link_type.is_supported()) {
        return Err(unsupported(args, link_type));
    }
    let mut bar = (!args.json && std::io::stderr().is_terminal()).then(|| Bar::new(size));
    let options = Options { check_icrc: !args.no_icrc, ..Options::default() };
    let mut analysis = Analysis::new(options);
    let stopped = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => analysis.packet(&packet),
            Ok(None) => break None,
            Err(error) => break Some(Stopped::Broken(error)),
        }
        if analysis.packets().is_multiple_of(STEP) {
            if interrupt.requested() {
                break Some(Stopped::Interrupted);
            }
            if let Some(bar) = &mut bar {
                bar.update(reader.position(), Some((analysis.packets(), "packets")));
            }
        }
    };
    if let Some(bar) = bar {
        bar.clear();
    }
    Ok(Outcome {
        report: analysis.finish(),
        format: reader.format(),
        bytes: reader.position(),
        skipped_blocks: reader.skipped_blocks(),
        stopped,
    })
}

/// The file is none that can be read; what would help.
fn refused(args: &Args, error: &CaptureError) -> Failure {
    let cure = match error {
        CaptureError::NotACapture([0x1f, 0x8b, ..]) => "it is compressed: gunzip it first",
        CaptureError::NotACapture([0x28, 0xb5, 0x2f, 0xfd]) => {
            "it is compressed: decompress it with zstd -d first"
        }
        CaptureError::NotACapture([b'B', b'Z', b'h', _]) => "it is compressed: bunzip2 it first",
        CaptureError::NotACapture(_) | CaptureError::Empty => {
            "a capture is made with `tcpdump -i INTERFACE -w FILE.pcap` or Wireshark"
        }
        CaptureError::Cut { .. } | CaptureError::Damaged { .. } => {
            "the file was not written to its end or copied as text; capture or copy it again"
        }
        CaptureError::Read(_) => return unreadable(args, &error.to_string()),
    };
    Failure::input(format!("{}: {error}; {cure}", args.name()))
}

fn unsupported(args: &Args, link_type: LinkType) -> Failure {
    Failure::input(format!(
        "{}: packets of link type {link_type} cannot be read; capture on an Ethernet interface, or \
         on `any` (Linux cooked)",
        args.name()
    ))
}

const fn format_name(format: Format) -> &'static str {
    match format {
        Format::Pcap => "pcap",
        Format::Pcapng => "pcapng",
    }
}

fn problem(outcome: &Outcome) -> Option<String> {
    let packets = outcome.report.totals.packets;
    Some(match outcome.stopped.as_ref()? {
        Stopped::Interrupted => format!("interrupted after packet {packets}"),
        Stopped::Broken(error) => format!("not read past packet {packets}: {error}"),
    })
}

fn show(args: &Args, outcome: &Outcome) -> Result<(), Failure> {
    let format = format_name(outcome.format);
    if args.json {
        return output::stdout_json(&Answer {
            tool: "xoff",
            version: env!("CARGO_PKG_VERSION"),
            file: &args.file,
            format,
            file_bytes: outcome.bytes,
            skipped_blocks: outcome.skipped_blocks,
            complete: outcome.stopped.is_none(),
            problem: problem(outcome),
            report: &outcome.report,
        });
    }
    let name = match args.file.file_name() {
        Some(name) if !args.is_stdin() => name.to_string_lossy().into_owned(),
        _ => args.name(),
    };
    let title = format!("{}  {format}", printable(&name));
    let limit = if args.all { usize::MAX } else { page::MOST };
    output::stdout(&page::render(&outcome.report, &title, limit, stdout_width(), Style::stdout()))
}

/// Says what went wrong, on standard error, and how the program ends.
fn judge(args: &Args, outcome: &Outcome) -> Exit {
    let name = args.name();
    match (&outcome.stopped, problem(outcome)) {
        (Some(Stopped::Interrupted), Some(problem)) => {
            say(Level::Warning, &format!("{name}: {problem}"));
            return Exit::Interrupted;
        }
        (Some(Stopped::Broken(error)), Some(problem)) => {
            let cure = match error {
                CaptureError::Cut { .. } => {
                    "; the capture was probably stopped hard, and all before that is shown"
                }
                _ => "; all before that is shown",
            };
            say(Level::Error, &format!("{name}: {problem}{cure}"));
            return Exit::BadInput;
        }
        _ => {}
    }
    let failed = |severity| severity == Severity::Error;
    if outcome.report.findings.iter().any(|finding| failed(finding.severity)) {
        Exit::BrokeARule
    } else {
        Exit::Fine
    }
}
