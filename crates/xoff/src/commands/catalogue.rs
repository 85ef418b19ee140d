//! `xoff catalogue`: what files can name.

use crate::exit::{Exit, Failure};
use crate::output::number::{bytes, count, rate, time};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, stdout_width};
use clap::ValueEnum;
use serde_json::{Value, json};
use xoff_fabric::catalogue::{Catalogue, Media, Milliwatts, NicModel, Silicon, Source};

const EXAMPLES: &str = "Examples:
  xoff catalogue
  xoff catalogue nics
  xoff catalogue silicon --json

A fabric file adds its own entries under [catalogue.silicon.NAME],
[catalogue.nic.NAME] and [catalogue.media.NAME].";

/// Arguments of `xoff catalogue`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to list (all without it)
    part: Option<Part>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Switch ASICs
    Silicon,
    /// NICs
    Nics,
    /// Cables and optics
    Media,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let catalogue = Catalogue::built_in();
    let wanted = |part| args.part.is_none_or(|only| only == part);
    let (silicon, nics, media) = (&catalogue.silicon, &catalogue.nics, &catalogue.media);
    if args.json {
        let mut all = serde_json::Map::new();
        let mut add = |part, name: &str, list: Vec<Value>| {
            if wanted(part) {
                all.insert(name.to_owned(), Value::Array(list));
            }
        };
        add(Part::Silicon, "silicon", silicon.values().map(silicon_json).collect());
        add(Part::Nics, "nics", nics.values().map(nic_json).collect());
        add(Part::Media, "media", media.values().map(media_json).collect());
        output::stdout_json(&all)?;
        return Ok(Exit::Fine);
    }
    let (width, style) = (stdout_width(), Style::stdout());
    let parts = [
        (Part::Silicon, "Switch silicon", silicon_table(silicon.values())),
        (Part::Nics, "NICs", nic_table(nics.values())),
        (Part::Media, "Cables and optics", media_table(media.values())),
    ];
    let sections = parts.iter().filter(|(part, ..)| wanted(*part));
    let sections = sections.map(|(_, heading, table)| {
        format!("{}\n{}", style.bold(heading), table.render(width, style))
    });
    output::stdout(&sections.collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Fine)
}

const fn source(source: Source) -> &'static str {
    match source {
        Source::Published => "published",
        Source::Estimated => "estimated",
        Source::Invented => "invented",
        Source::User => "file",
    }
}

fn watts(power: Milliwatts) -> String {
    format!("{:.1} W", f64::from(power.0) / 1000.0)
}

fn silicon_table<'a>(entries: impl Iterator<Item = &'a Silicon>) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("vendor", Align::Left),
        ("ports", Align::Right),
        ("buffer", Align::Right),
        ("cell", Align::Right),
        ("latency", Align::Right),
        ("power", Align::Right),
        ("figures", Align::Left),
    ]);
    for entry in entries {
        let ports = if entry.unlimited() {
            "any".to_owned()
        } else {
            format!("{} x {}", count(entry.ports.into()), rate(entry.port_rate))
        };
        table.row([
            entry.name.clone(),
            entry.vendor.clone(),
            ports,
            bytes(entry.buffer),
            bytes(entry.cell),
            time(entry.latency),
            watts(entry.power),
            source(entry.source).to_owned(),
        ]);
    }
    table
}

fn nic_table<'a>(entries: impl Iterator<Item = &'a NicModel>) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("vendor", Align::Left),
        ("rate", Align::Right),
        ("latency", Align::Right),
        ("power", Align::Right),
        ("figures", Align::Left),
    ]);
    for entry in entries {
        table.row([
            entry.name.clone(),
            entry.vendor.clone(),
            rate(entry.rate),
            time(entry.latency),
            watts(entry.power),
            source(entry.source).to_owned(),
        ]);
    }
    table
}

fn media_table<'a>(entries: impl Iterator<Item = &'a Media>) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("up to", Align::Right),
        ("reach", Align::Right),
        ("FEC", Align::Right),
        ("power/end", Align::Right),
        ("figures", Align::Left),
    ]);
    for entry in entries {
        let limit = |text: String| if entry.ideal { "any".to_owned() } else { text };
        table.row([
            entry.name.clone(),
            limit(rate(entry.rate)),
            limit(entry.reach.to_string()),
            time(entry.fec),
            watts(entry.power),
            source(entry.source).to_owned(),
        ]);
    }
    table
}

fn silicon_json(entry: &Silicon) -> Value {
    json!({
        "name": entry.name,
        "vendor": entry.vendor,
        "capacity_bps": entry.capacity.bps(),
        "ports": entry.ports,
        "port_rate_bps": entry.port_rate.bps(),
        "max_ports": entry.max_ports,
        "buffer_bytes": entry.buffer.get(),
        "cell_bytes": entry.cell.get(),
        "latency_ps": entry.latency.as_ps(),
        "power_mw": entry.power.0,
        "figures": source(entry.source),
    })
}

fn nic_json(entry: &NicModel) -> Value {
    json!({
        "name": entry.name,
        "vendor": entry.vendor,
        "rate_bps": entry.rate.bps(),
        "latency_ps": entry.latency.as_ps(),
        "power_mw": entry.power.0,
        "figures": source(entry.source),
    })
}

fn media_json(entry: &Media) -> Value {
    let real = !entry.ideal;
    json!({
        "name": entry.name,
        "rate_bps": real.then_some(entry.rate.bps()),
        "reach_mm": real.then_some(entry.reach.as_mm()),
        "fec_ps": entry.fec.as_ps(),
        "power_per_end_mw": entry.power.0,
        "figures": source(entry.source),
    })
}
