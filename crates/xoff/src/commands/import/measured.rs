//! `xoff import nccl-tests`: what a benchmark of collectives measured, as a table or as JSON.

use crate::exit::{CODES, Exit, Failure, Level, say};
use crate::input;
use crate::output::number::{counted, microseconds};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{stdout, stdout_json, stdout_width};
use serde_json::{Value, json};
use std::path::PathBuf;
use xoff_workload::measured::{self, Kind, Measured, Sample, Series};

const EXAMPLES: &str = "Examples:
  xoff import nccl-tests all_reduce.log
  mpirun -np 16 ./build/all_reduce_perf -b 8 -e 16G -f 2 | xoff import nccl-tests -
  xoff import nccl-tests result.json --json | jq '.series[0].rows'

Reads the table of nccl-tests and rccl-tests (with the words that mpirun and
srun put before lines, broken by NCCL's logs, several in one file), the JSON
of `-J`, and rows of PARAM.";

/// Arguments of `xoff import nccl-tests`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(super) struct Args {
    /// What the benchmark printed; `-` for standard input
    file: PathBuf,
    /// The collective, where the file does not say it
    #[arg(long, value_parser = collective)]
    collective: Option<Kind>,
    /// Print everything found as JSON
    #[arg(long)]
    json: bool,
}

/// A collective by its name.
pub(in crate::commands) fn collective(text: &str) -> Result<Kind, String> {
    Kind::named(text).ok_or_else(|| {
        "known are all-reduce, all-gather, reduce-scatter, all-to-all, broadcast, reduce, gather, scatter and send-recv"
            .to_owned()
    })
}

pub(super) fn execute(args: &Args) -> Result<Exit, Failure> {
    let file = input::read_or_stdin(&args.file)?;
    let name = file.path.display();
    let mut measured =
        measured::read(&file.text).map_err(|error| Failure::input(format!("`{name}`: {error}")))?;
    for series in &mut measured.series {
        series.collective = args.collective.or(series.collective);
    }
    for note in &measured.notes {
        say(Level::Warning, &format!("`{name}`: {note}"));
    }
    if args.json {
        stdout_json(&answer(&measured))?;
    } else {
        let width = stdout_width();
        let tables = measured.series.iter().map(|series| page(series, width, Style::stdout()));
        stdout(&tables.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(Exit::Fine)
}

/// What ran where, and its rows.
fn page(series: &Series, width: usize, style: Style) -> String {
    let what = series.collective.map_or("a collective that the file does not name", Kind::name);
    let mut place = String::new();
    if let Some(ranks) = series.ranks {
        place += &format!(", {}", counted(ranks.into(), "GPU", "GPUs"));
    }
    if let Some(hosts) = series.hosts {
        place += &format!(" on {}", counted(hosts.into(), "host", "hosts"));
    }
    let columns = ["size", "out of place", "bus GB/s", "in place", "bus GB/s"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Right)));
    for row in &series.rows {
        let half = |sample: Option<Sample>| match sample {
            Some(sample) => [microseconds(sample.time_us), format!("{:.2}", sample.bus_gbps)],
            None => [String::new(), String::new()],
        };
        let [out_time, out_bus] = half(row.out_of_place);
        let [in_time, in_bus] = half(row.in_place);
        table.row([row.size.to_string(), out_time, out_bus, in_time, in_bus]);
    }
    format!("{}{place}\n{}", style.bold(what), table.render(width, style))
}

fn answer(measured: &Measured) -> Value {
    let half = |sample: Option<Sample>| {
        sample.map(|sample| {
            json!({"time_us": sample.time_us, "bus_gbps": sample.bus_gbps, "wrong": sample.wrong})
        })
    };
    let series = measured.series.iter().map(|series| {
        let rows = series.rows.iter().map(|row| {
            json!({
                "bytes": row.size.get(),
                "out_of_place": half(row.out_of_place),
                "in_place": half(row.in_place),
            })
        });
        json!({
            "collective": series.collective.map(Kind::name),
            "gpus": series.ranks,
            "hosts": series.hosts,
            "rows": rows.collect::<Vec<_>>(),
        })
    });
    let notes = measured.notes.iter().map(ToString::to_string);
    json!({"series": series.collect::<Vec<_>>(), "notes": notes.collect::<Vec<_>>()})
}
