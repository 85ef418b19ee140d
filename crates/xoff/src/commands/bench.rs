//! `xoff bench`: how fast the simulator is, on a fabric everybody can compare with.

use crate::clock::Stopwatch;
use crate::exit::{Exit, Failure};
use crate::memory;
use crate::output::number::{bytes, count, large, microseconds, percent, plain, time};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, stdout_width};
use clap::ValueEnum;
use serde::Serialize;
use std::num::NonZero;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{Permutation, Workload};
use xoff_sim::{Report, Settings, Silent, Threads};
use xoff_units::{Bytes, Span};
use xoff_workload::Flow;

const EXAMPLES: &str = "Examples:
  xoff bench
  xoff bench --hosts 128 --runs 5 --json
  xoff bench --threads 2

A permutation of 2 MB flows on a fat tree of 100 Gb/s links, 4096 B + 64 B
packets, one ACK per packet; PFC, ECN and DCQCN are on. The fabric files are
examples/bench-128.toml and examples/bench-1024.toml.";

/// Arguments of `xoff bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Size of the fabric
    #[arg(long, default_value = "1024")]
    hosts: Hosts,
    /// Runs; the fastest counts
    #[arg(long, default_value_t = 3, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Simulate on so many threads: the result is the same
    #[arg(long, default_value = "1", value_name = "N")]
    threads: NonZero<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Hosts {
    /// Fat tree k=8
    #[value(name = "128")]
    Pods8,
    /// Fat tree k=16
    #[value(name = "1024")]
    Pods16,
}

impl Hosts {
    /// The fabric file.
    const fn fabric(self) -> &'static str {
        match self {
            Hosts::Pods8 => include_str!("../../../../examples/bench-128.toml"),
            Hosts::Pods16 => include_str!("../../../../examples/bench-1024.toml"),
        }
    }
}

/// What every flow of the permutation moves.
const FLOW: Bytes = Bytes::new(2_000_000);

/// The figures of a benchmark.
#[derive(Debug, Serialize)]
struct Figures {
    hosts: usize,
    flows: usize,
    packet_hops: u64,
    events: u64,
    events_per_hop: f64,
    best_wall_seconds: f64,
    wall_seconds: Vec<f64>,
    packet_hops_per_second: f64,
    threads: usize,
    /// The share of all events that threads handled side by side.
    side_by_side: f64,
    /// Events that were handled over those that the busiest thread handled in each step: the speedup that as many
    /// cores as threads could give if waiting cost nothing.
    most_speedup: f64,
    peak_memory_bytes: Option<u64>,
    /// What the peak is above what the program held before its first run.
    run_memory_bytes: Option<u64>,
    run_memory_bytes_per_hop: Option<f64>,
    most_packets: u64,
    pauses: u64,
    ecn_marks: u64,
    cnps: u64,
    last_completion_ps: u64,
    result_hash: String,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let fabric = Fabric::from_toml(args.hosts.fabric()).map_err(|diagnostics| {
        let all: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        Failure::input(format!("the benchmark's own fabric file: {}", all.join("\n")))
    })?;
    memory::suit(fabric.nics.len());
    let flows = permutation(&fabric)?;
    let threads = Threads::up_to(args.threads.get());
    let settings = Settings { threads, ..Settings::default() };
    let before = memory::now();
    let mut wall_seconds = Vec::new();
    let mut last = None;
    for _ in 0..args.runs {
        // One run's results and the next one's state are not in memory at once.
        drop(last.take());
        let clock = Stopwatch::start();
        let report = xoff_sim::run(&fabric, &flows, &[], &settings, &mut Silent)
            .map_err(|error| Failure::input(error.to_string()))?;
        wall_seconds.push(clock.seconds());
        last = Some(report);
    }
    let Some(report) = last else { return Ok(Exit::Fine) };
    let figures = figures(&fabric, &report, wall_seconds, (before, threads));
    if args.json {
        output::stdout_json(&figures)?;
    } else {
        output::stdout(&table(&figures))?;
    }
    Ok(Exit::Fine)
}

fn permutation(fabric: &Fabric) -> Result<Vec<Flow>, Failure> {
    let workload = Workload::Permutation(Permutation::new(FLOW));
    let mut no_files = |name: &str| Err(std::io::Error::other(name.to_owned()));
    xoff_workload::expand(&[workload], fabric, Settings::default().seed, &mut no_files).map_err(
        |errors| Failure::input(errors.iter().map(ToString::to_string).collect::<String>()),
    )
}

fn figures(
    fabric: &Fabric,
    report: &Report,
    wall_seconds: Vec<f64>,
    (before, threads): (Option<Bytes>, Threads),
) -> Figures {
    let together = &report.sections;
    let alone = report.events.saturating_sub(together.events);
    let peak = memory::peak();
    let of_runs = peak.zip(before).map(|(peak, before)| peak.saturating_sub(before).get());
    let best = wall_seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let completions = report.flows.iter().filter_map(|flow| flow.completion());
    Figures {
        hosts: fabric.nics.len(),
        flows: report.flows.len(),
        packet_hops: report.packet_hops,
        events: report.events,
        events_per_hop: report.events as f64 / report.packet_hops.max(1) as f64,
        best_wall_seconds: best,
        packet_hops_per_second: report.packet_hops as f64 / best.max(1e-9),
        wall_seconds,
        threads: threads.count,
        side_by_side: together.events as f64 / report.events.max(1) as f64,
        most_speedup: report.events as f64 / (alone + together.critical).max(1) as f64,
        peak_memory_bytes: peak.map(Bytes::get),
        run_memory_bytes: of_runs,
        run_memory_bytes_per_hop: of_runs
            .map(|bytes| bytes as f64 / report.packet_hops.max(1) as f64),
        most_packets: report.most_packets,
        pauses: report.xoff_frames(),
        ecn_marks: report.marks(),
        cnps: report.cnps,
        last_completion_ps: completions.max().map_or(0, Span::as_ps),
        result_hash: format!("{:016x}", report.hash),
    }
}

fn table(figures: &Figures) -> String {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    let mut fact = |name: &str, value: String| table.row([name.to_owned(), value]);
    fact("hosts", count(figures.hosts as u64));
    fact("packet-hops", large(figures.packet_hops as f64));
    fact("events per hop", plain(figures.events_per_hop));
    let all: Vec<String> = figures.wall_seconds.iter().map(|s| microseconds(s * 1e6)).collect();
    fact("wall time", all.join(", "));
    fact("packet-hops/s", format!("{} (best)", large(figures.packet_hops_per_second)));
    if figures.threads > 1 {
        let text = format!(
            "{}: {} of the events side by side, {} times faster at most",
            figures.threads,
            percent(figures.side_by_side),
            plain(figures.most_speedup)
        );
        fact("threads", text);
    }
    if let Some(peak) = figures.peak_memory_bytes {
        fact("peak memory", bytes(Bytes::new(peak)));
    }
    if let (Some(all), Some(one)) = (figures.run_memory_bytes, figures.run_memory_bytes_per_hop) {
        let text = format!("{} ({} B per packet-hop)", bytes(Bytes::new(all)), plain(one));
        fact("of it the run's", text);
    }
    fact("most packets", count(figures.most_packets));
    fact("pauses", count(figures.pauses));
    fact("ECN marks", count(figures.ecn_marks));
    fact("CNPs", count(figures.cnps));
    fact("last completion", time(Span::from_ps(figures.last_completion_ps)));
    fact("result", figures.result_hash.clone());
    let style = Style::stdout();
    format!("{}\n{}", style.bold("Benchmark"), table.render(stdout_width(), style))
}
