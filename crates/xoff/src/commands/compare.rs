//! `xoff compare`: one scenario under several rules, side by side.

use crate::exit::{CODES, Exit, Failure};
use crate::input;
use crate::interrupt::Interrupt;
use crate::output::files::{self, Contents};
use crate::output::number::microseconds;
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, printable, stdout_width};
use crate::pool;
use serde::Serialize;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use xoff_report::Unit;
use xoff_telemetry::file;
use xoff_validate::compare::{Figures, Subject, Variant, fit, variants};
use xoff_validate::measure::measure_with_files;
use xoff_validate::page::comparison::{Candidate, Material, comparison};
use xoff_validate::{Experiment, MeasureError, Measurement, Phase};

const EXAMPLES: &str = "Examples:
  xoff compare examples/permutation.toml --load-balancing ecmp,dlb,spray
  xoff compare examples/incast.toml --congestion-control none,dcqcn,hpcc,swift
  xoff compare examples/all-reduce.toml --load-balancing ecmp,dlb-packet --json
  xoff compare examples/incast.toml --congestion-control none,dcqcn --out comparison
  xoff compare examples/rivals-permutation.toml --transports roce,roce-tuned,infiniband,uet,tcp,iwarp

Transports: roce (as shipped), roce-tuned, infiniband, uet, tcp, iwarp, roce-v1 (what each
models, and what tuned means: docs/rivals.md).
Load balancing: ecmp, ecmp-qp, flowlet, dlb, dlb-packet, glb, glb-packet, spray, recycle,
paths, pinned, engineered.
Congestion control: none, dcqcn, hpcc, timely, swift, dctcp, cubic, nscc.
Given several, every combination is run. Ratios are to the first.";

/// Arguments of `xoff compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// The scenario file
    scenario: PathBuf,
    /// Networks that carry the traffic
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    transports: Vec<String>,
    /// Ways to choose among equal ports
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    load_balancing: Vec<String>,
    /// Ways to react to congestion
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    congestion_control: Vec<String>,
    /// Seed of every random draw, instead of the scenario's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Runs at a time [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = pool::threads)]
    threads: Option<usize>,
    /// A folder for the page, report.html, and all figures, comparison.json; an earlier comparison
    /// in it is replaced
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One variant's result.
#[derive(Debug, Serialize)]
struct Row {
    variant: String,
    change: toml::Table,
    /// What it changes of the fabric itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measurement>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let chosen = [
        (Subject::Transport, args.transports.clone()),
        (Subject::LoadBalancing, args.load_balancing.clone()),
        (Subject::CongestionControl, args.congestion_control.clone()),
    ];
    if chosen.iter().all(|(_, names)| names.is_empty()) {
        return Err(Failure::input(
            "name what to compare: --transports, --load-balancing or --congestion-control",
        ));
    }
    let mut variants = variants(&chosen).map_err(|error| Failure::input(error.to_string()))?;
    let scene = input::scenario(&args.scenario, args.seed, args.json)?;
    fit(&mut variants, &scene.setup);
    let fabric = scene.inputs.get(1).map(|path| input::read_text(path)).transpose();
    let fabric = fabric.map_err(Failure::input)?.unwrap_or_default();
    let mut experiment =
        Experiment::new("compare", Phase::Synthetic, "One scenario, several rules");
    experiment.scenario = scene.scenario.clone();
    let folder = args.scenario.parent().map(PathBuf::from).unwrap_or_default();
    let runs = Comparison { experiment, fabric, folder, seed: scene.seed };
    if let Some(path) = &args.out {
        Folder(path).claim()?;
    }
    let rows = runs.run(&variants, args.threads)?;
    if let Some(path) = &args.out {
        Folder(path).write(&rows, &report(args, scene.seed, &rows, &variants))?;
    }
    if args.json {
        output::stdout_json(&rows)?;
    } else {
        let name = args.scenario.display().to_string();
        output::stdout(&page(&name, scene.seed, &rows))?;
        if let Some(path) = &args.out {
            let place = path.join(Folder::PAGE).display().to_string();
            output::stdout(&format!(
                "\n{}  {}\n",
                Style::stdout().dim("report"),
                printable(&place)
            ))?;
        }
    }
    let broken = rows.iter().any(|row| row.measured.as_ref().is_none_or(|m| !m.is_complete()));
    Ok(if broken { Exit::BrokeARule } else { Exit::Fine })
}

struct Comparison {
    experiment: Experiment,
    /// Text of the fabric file.
    fabric: String,
    /// Where the scenario's own files are.
    folder: PathBuf,
    seed: u64,
}

impl Comparison {
    fn run(&self, variants: &[Variant], threads: Option<usize>) -> Result<Vec<Row>, Failure> {
        let interrupt = Interrupt::listen();
        let done = pool::each(variants, threads, |variant| {
            let mut open = xoff_workload::folder(&self.folder);
            let go_on = &mut |_: &_| !interrupt.requested();
            let (experiment, fabric, change) = (&self.experiment, &self.fabric, &variant.change);
            let outcome =
                measure_with_files(experiment, fabric, self.seed, change, &mut open, go_on);
            match outcome {
                Err(MeasureError::Interrupted) => ControlFlow::Break(outcome),
                _ => ControlFlow::Continue(outcome),
            }
        });
        let row = |(variant, outcome): (&Variant, Result<Measurement, MeasureError>)| {
            let Variant { name, change, note } = variant.clone();
            let row = Row { variant: name, change, note, refused: None, measured: None };
            match outcome {
                Ok(measured) => Ok(Row { measured: Some(measured), ..row }),
                Err(MeasureError::Interrupted) => Err(Failure::silent(Exit::Interrupted)),
                Err(error) => Ok(Row { refused: Some(error.to_string()), ..row }),
            }
        };
        done.into_iter().map(row).collect()
    }
}

/// What is said of a variant, and whether it goes with the times or with the counters: together
/// they would be too wide for a terminal.
const COLUMNS: [(&str, bool); 11] = [
    ("mean", true),
    ("p99", true),
    ("last", true),
    ("speed", true),
    ("busbw", true),
    ("cores", true),
    ("pauses", false),
    ("marks", false),
    ("drops", false),
    ("trimmed", false),
    ("sent again", false),
];

fn page(name: &str, seed: u64, rows: &[Row]) -> String {
    let style = Style::stdout();
    let first = rows.iter().find_map(|row| row.measured.as_ref()).map_or(0.0, Measurement::last_us);
    let measured = rows.iter().filter_map(|row| Some((row, row.measured.as_ref()?)));
    let lines: Vec<(&str, [String; COLUMNS.len()])> =
        measured.map(|(row, measured)| (row.variant.as_str(), cells(measured, first))).collect();
    let mut text = format!("{}  seed {seed}\n", style.bold(name));
    for times in [true, false] {
        // What nothing of this scenario has is left out.
        let says =
            |column: &usize| lines.iter().any(|(_, line)| !["-", "0"].contains(&&*line[*column]));
        let kept: Vec<usize> =
            (0..COLUMNS.len()).filter(|&column| COLUMNS[column].1 == times).filter(says).collect();
        if kept.is_empty() {
            continue;
        }
        let headings = kept.iter().map(|&column| (COLUMNS[column].0, Align::Right));
        let headings: Vec<_> = [("variant", Align::Left)].into_iter().chain(headings).collect();
        let mut table = Table::new(&headings);
        for (variant, line) in &lines {
            let cells = kept.iter().map(|&column| line[column].as_str());
            table.row([*variant].into_iter().chain(cells));
        }
        text += &format!("\n{}", table.render(stdout_width(), style));
    }
    for row in rows {
        if let Some(note) = &row.note {
            text += &format!("\n{} {}\n", row.variant, printable(note));
        }
        if let Some(why) = &row.refused {
            text += &format!("\n{} is refused: {}\n", row.variant, printable(why));
        }
    }
    text
}

fn cells(measured: &Measurement, first: f64) -> [String; COLUMNS.len()] {
    let own = Figures::of(measured);
    let dash = || "-".to_owned();
    let us = |us: Option<f64>| us.map_or_else(dash, microseconds);
    let speed = match own.last_us {
        _ if !own.complete => "unfinished".to_owned(),
        Some(time) => format!("{:.2}x", first / time),
        None => dash(),
    };
    [
        us(own.mean_us),
        us(own.p99_us),
        us(own.last_us),
        speed,
        own.busbw.map_or_else(dash, |busbw| Unit::BytesPerSecond.show(busbw)),
        own.cores.filter(|cores| *cores > 0.0).map_or_else(dash, |cores| format!("{cores:.1}")),
        own.pauses.to_string(),
        own.marks.to_string(),
        own.drops.to_string(),
        own.trimmed.to_string(),
        own.sent_again.to_string(),
    ]
}

/// A folder of a comparison: `report.html` and `comparison.json`.
struct Folder<'a>(&'a Path);

impl Folder<'_> {
    const ROWS: &'static str = "comparison.json";
    const PAGE: &'static str = "report.html";

    /// Takes the folder, before anything is run.
    fn claim(&self) -> Result<(), Failure> {
        let own = |path: &Path| {
            let text = fs::read(path.join(Self::ROWS)).unwrap_or_default();
            let rows: Result<Vec<serde_json::Value>, _> = serde_json::from_slice(&text);
            rows.is_ok_and(|rows| rows.iter().all(|row| row["variant"].is_string()))
        };
        files::claim(self.0, &Contents::Results { what: "comparison", own })
    }

    fn write(&self, rows: &[Row], page: &str) -> Result<(), Failure> {
        for (name, text) in [(Self::ROWS, output::json(rows)?), (Self::PAGE, page.to_owned())] {
            let path = self.0.join(name);
            file::replace(&path, text.as_bytes()).map_err(|error| files::failed(&path, &error))?;
        }
        Ok(())
    }
}

/// The comparison as a page.
fn report(args: &Args, seed: u64, rows: &[Row], variants: &[Variant]) -> String {
    let candidates = variants.iter().zip(rows).map(|(variant, row)| Candidate {
        variant,
        outcome: match &row.measured {
            Some(measured) => Ok(measured),
            None => Err(row.refused.as_deref().unwrap_or_default()),
        },
    });
    let name = args.scenario.file_name().unwrap_or(args.scenario.as_os_str());
    let (scenario, command) = (name.to_string_lossy(), args.command(seed));
    let material = Material {
        scenario: &scenario,
        candidates: candidates.collect(),
        seed,
        command: &command,
        version: env!("CARGO_PKG_VERSION"),
    };
    comparison(&material).html()
}

impl Args {
    /// The command that repeats the comparison, wherever it is written.
    fn command(&self, seed: u64) -> String {
        let mut words = vec!["xoff compare".to_owned(), self.scenario.display().to_string()];
        for (flag, names) in [
            ("--transports", &self.transports),
            ("--load-balancing", &self.load_balancing),
            ("--congestion-control", &self.congestion_control),
        ] {
            words.extend((!names.is_empty()).then(|| format!("{flag} {}", names.join(","))));
        }
        words.push(format!("--seed {seed}"));
        words.join(" ")
    }
}
