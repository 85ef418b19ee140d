//! `xoff inspect`: what a person wants to know of a RoCE capture.

mod follow;
mod html;
mod page;
mod source;

use crate::exit::{Exit, Failure, Level, say};
use crate::interrupt::Interrupt;
use crate::output::reading::Bar;
use crate::output::{self, files, printable, stdout_width, style::Style};
use serde::Serialize;
use source::{Stdin, Tracked};
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xoff_diagnose::capture::{Analysis, Compression, Options, Report, Severity, Unpacked};
use xoff_units::{Rate, Span};
use xoff_wire::capture::{CaptureError, Format, LinkType, Reader};

const EXAMPLES: &str = "Examples:
  xoff inspect slow.pcap
  xoff inspect slow.pcapng.zst --html slow.html
  xoff inspect slow.pcapng --json | jq '.findings[].text'
  xoff inspect --follow eth0 --for 10s
  tcpdump -i eth0 -s 128 -w - udp port 4791 | xoff inspect -

Reads pcap and pcapng, plain or compressed by gzip or zstd, with Ethernet, raw
IP or Linux cooked packets, also inside VXLAN, GRE and ERSPAN. Packets are
numbered from 1, as in Wireshark; those that offloads glued together are taken
apart, those recorded on several interfaces count once. Times are those of the
place where the capture was made: RTT from a request to the answer that names
it, ACK from the oldest request that an answer covers.

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
    #[arg(required_unless_present = "follow")]
    file: Option<PathBuf>,
    /// Listen on an interface instead, until Ctrl-C (needs CAP_NET_RAW)
    #[arg(long, value_name = "INTERFACE", conflicts_with = "file")]
    follow: Option<String>,
    /// Listen for so long
    #[arg(long = "for", value_name = "TIME", requires = "follow")]
    duration: Option<Span>,
    /// Write a page with rates, losses, notifications and pauses over time
    #[arg(long, value_name = "PAGE")]
    html: Option<PathBuf>,
    /// Print everything found as JSON
    #[arg(long)]
    json: bool,
    /// Show all connections and findings, however many
    #[arg(long)]
    all: bool,
    /// Do not check ICRCs: for captures made by something that changes packets
    #[arg(long)]
    no_icrc: bool,
    /// The speed of the links, from which follows how long a pause frame pauses
    #[arg(long, value_name = "RATE", default_value = "100Gbps")]
    link_rate: Rate,
}

impl Args {
    fn is_stdin(&self) -> bool {
        self.file.as_deref() == Some(Path::new("-"))
    }

    /// The capture as messages name it.
    fn name(&self) -> String {
        match (&self.follow, &self.file) {
            (Some(interface), _) => interface.clone(),
            (None, Some(file)) if !self.is_stdin() => file.display().to_string(),
            _ => "standard input".to_owned(),
        }
    }

    /// The capture as headings name it.
    fn title(&self) -> String {
        let file = self.file.as_deref().filter(|_| !self.is_stdin());
        let last = file.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        last.unwrap_or_else(|| self.name())
    }

    fn options(&self) -> Options {
        let (check_icrc, link_rate) = (!self.no_icrc, self.link_rate);
        Options { check_icrc, link_rate, ..Options::default() }
    }
}

/// What came of reading.
#[derive(Debug)]
struct Outcome {
    report: Report,
    format: &'static str,
    compression: Compression,
    bytes: u64,
    skipped_blocks: u64,
    /// Packets that came faster than they were read.
    dropped: u64,
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
    file: Option<&'a Path>,
    interface: Option<&'a str>,
    format: &'static str,
    compression: Option<&'static str>,
    file_bytes: u64,
    skipped_blocks: u64,
    dropped_packets: u64,
    complete: bool,
    problem: Option<String>,
    #[serde(flatten)]
    report: &'a Report,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if let Some(page) = &args.html {
        files::may_write_one(page, html::is_own)?;
    }
    let interrupt = Interrupt::listen();
    let outcome = if let Some(interface) = &args.follow {
        let limit = args.duration.map(|span| Duration::from_nanos(span.as_ps() / 1000));
        follow::follow(interface, limit, args.options(), args.json, &interrupt)?
    } else if args.is_stdin() {
        read(args, Tracked::new(Stdin(interrupt.clone()), &interrupt), None, &interrupt)?
    } else {
        let path = args.file.as_deref().unwrap_or(Path::new("-"));
        let file = File::open(path).map_err(|error| unreadable(args, &error.to_string()))?;
        let metadata = file.metadata().ok();
        if metadata.as_ref().is_some_and(|metadata| metadata.is_dir()) {
            return Err(unreadable(args, "it is a folder"));
        }
        let size = metadata.filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        read(args, Tracked::new(file, &interrupt), size, &interrupt)?
    };
    if let Some(page) = &args.html {
        let text = html::render(&outcome.report, &args.title(), &heading(&outcome));
        files::write_one(page, &text, html::is_own)?;
    }
    show(args, &outcome)?;
    Ok(judge(args, &outcome))
}

fn unreadable(args: &Args, reason: &str) -> Failure {
    Failure::input(format!("cannot read {}: {reason}", args.name()))
}

/// Reads the capture, as far as it can be read.
fn read(
    args: &Args,
    source: Tracked<impl Read>,
    size: Option<u64>,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    /// Packets between two reads of the clock.
    const STEP: u64 = 1 << 12;
    let count = source.count();
    let source = Unpacked::new(source).map_err(|error| refused(args, &error.into()))?;
    let compression = source.compression();
    let mut reader = match Reader::new(source) {
        Err(_) if interrupt.requested() => return Err(Failure::silent(Exit::Interrupted)),
        other => other.map_err(|error| refused(args, &error))?,
    };
    if let Some(link_type) = reader.link_type().filter(|link_type| !link_type.is_supported()) {
        return Err(unsupported(args, link_type));
    }
    let mut bar = (!args.json && std::io::stderr().is_terminal()).then(|| Bar::new(size));
    let mut analysis = Analysis::new(args.options());
    let stopped = loop {
        match reader.next_packet() {
            Ok(Some(packet)) => analysis.packet(&packet),
            Ok(None) => break None,
            Err(_) if interrupt.requested() => break Some(Stopped::Interrupted),
            Err(error) => break Some(Stopped::Broken(error)),
        }
        if analysis.packets().is_multiple_of(STEP) {
            if interrupt.requested() {
                break Some(Stopped::Interrupted);
            }
            if let Some(bar) = &mut bar {
                bar.update(count.get(), Some((analysis.packets(), "packets")));
            }
        }
    };
    if let Some(bar) = bar {
        bar.clear();
    }
    Ok(Outcome {
        report: analysis.finish(),
        format: format_name(reader.format()),
        compression,
        bytes: reader.position(),
        skipped_blocks: reader.skipped_blocks(),
        dropped: 0,
        stopped,
    })
}

/// The file is none that can be read; what would help.
fn refused(args: &Args, error: &CaptureError) -> Failure {
    let cure = match error {
        CaptureError::NotACapture([b'B', b'Z', b'h', _]) => "it is compressed: bunzip2 it first",
        CaptureError::NotACapture([0xfd, b'7', b'z', b'X']) => "it is compressed: unxz it first",
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

/// `pcapng, gzip`.
fn heading(outcome: &Outcome) -> String {
    let parts = [Some(outcome.format), outcome.compression.name()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn show(args: &Args, outcome: &Outcome) -> Result<(), Failure> {
    if args.json {
        return output::stdout_json(&Answer {
            tool: "xoff",
            version: env!("CARGO_PKG_VERSION"),
            file: args.file.as_deref(),
            interface: args.follow.as_deref(),
            format: outcome.format,
            compression: outcome.compression.name(),
            file_bytes: outcome.bytes,
            skipped_blocks: outcome.skipped_blocks,
            dropped_packets: outcome.dropped,
            complete: outcome.stopped.is_none(),
            problem: problem(outcome),
            report: &outcome.report,
        });
    }
    let title = format!("{}  {}", printable(&args.title()), heading(outcome));
    let limit = if args.all { usize::MAX } else { page::MOST };
    output::stdout(&page::render(&outcome.report, &title, limit, width(), Style::stdout()))
}

/// The columns of the terminal. In a pipe or a file there is room for whole names, which scripts look
/// for; `COLUMNS` says otherwise.
fn width() -> usize {
    /// More than any table needs.
    const WIDE: usize = 1000;
    let piped = !std::io::stdout().is_terminal() && std::env::var_os("COLUMNS").is_none();
    if piped { WIDE } else { stdout_width() }
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
