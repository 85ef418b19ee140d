//! `xoff catalogue`: what files can name.

mod costs;
mod facts;
mod models;

use crate::exit::{Exit, Failure};
use crate::output::number::{bytes, count, rate, time};
use crate::output::style::Style;
use crate::output::table::{Align, Table};
use crate::output::{self, stdout_width};
use clap::ValueEnum;
use serde_json::{Value, json};
use xoff_fabric::catalogue::{
    Catalogue, DCQCN_SETS, DcqcnSet, Form, Lane, Lanes, Make, Media, Milliwatts, NicModel, Optics,
    Silicon, Source,
};
use xoff_fabric::suggest;
use xoff_workload::training::{GPUS, GpuPreset, model_names};

const EXAMPLES: &str = "Examples:
  xoff catalogue
  xoff catalogue nics
  xoff catalogue nic connectx-7
  xoff catalogue dcqcn paper
  xoff catalogue silicon --json
  xoff catalogue collectives h100-efa
  xoff catalogue models
  xoff catalogue model llama-3-70b

`media` has lanes on the fibre, form factors, and how many links can share
one end; the reach of copper depends on the rate of a lane (`media dac --json`).

`nic NAME` lists how the NIC's transport behaves unless a file says otherwise:
each default with where it is from and how sure it is.

`collectives` are what `profile` of a fabric file's [collectives] can name,
with their mean error against published measurements by size: below 1 MiB a
factor, above it a share; one NAME lists it for each published series.

`models` are what `model` of a training step or an inference can name, `gpus`
what its `gpu` can.

A fabric file adds its own entries under [catalogue.silicon.NAME],
[catalogue.nic.NAME], [catalogue.media.NAME] and [catalogue.collectives.NAME].";

/// Arguments of `xoff catalogue`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to list (all without it)
    part: Option<Part>,
    /// One entry of it, in full
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Switch ASICs
    Silicon,
    /// NICs
    #[value(alias = "nic")]
    Nics,
    /// Cables and optics
    Media,
    /// Named sets of DCQCN constants
    Dcqcn,
    /// Named costs of collectives, each with its error
    #[value(alias = "collective")]
    Collectives,
    /// Models that training steps and inference can name
    #[value(alias = "model")]
    Models,
    /// GPUs that they run on
    #[value(alias = "gpu")]
    Gpus,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let mut catalogue = Catalogue::built_in();
    let mut sets = DCQCN_SETS.iter().collect::<Vec<_>>();
    let (mut models, mut gpus) = (models::all(), models::gpus());
    if let (Some(part), Some(name)) = (args.part, &args.name) {
        check_name(part, name, &catalogue)?;
        catalogue.silicon.retain(|known, _| known == name);
        catalogue.nics.retain(|known, _| known == name);
        catalogue.media.retain(|known, _| known == name);
        catalogue.collectives.retain(|known, _| known == name);
        sets.retain(|set| set.name == name);
        models.retain(|model| model.name == name);
        gpus.retain(|gpu| gpu.name == name);
    }
    let shown = Shown { catalogue, sets, models, gpus };
    match args.json {
        true => output::stdout_json(&shown.json(args))?,
        false => output::stdout(&shown.text(args, stdout_width(), Style::stdout()))?,
    }
    Ok(Exit::Fine)
}

/// What is listed, as far as a name does not choose one.
struct Shown {
    catalogue: Catalogue,
    sets: Vec<&'static DcqcnSet>,
    models: Vec<models::Entry>,
    gpus: Vec<&'static GpuPreset>,
}

impl Args {
    fn wants(&self, part: Part) -> bool {
        self.part.is_none_or(|only| only == part)
    }
}

impl Shown {
    fn json(&self, args: &Args) -> serde_json::Map<String, Value> {
        let Catalogue { silicon, nics, media, collectives, .. } = &self.catalogue;
        let mut all = serde_json::Map::new();
        let mut add = |part, name: &str, list: Vec<Value>| {
            if args.wants(part) {
                all.insert(name.to_owned(), Value::Array(list));
            }
        };
        add(Part::Silicon, "silicon", silicon.values().map(silicon_json).collect());
        add(Part::Nics, "nics", nics.values().map(nic_json).collect());
        add(Part::Media, "media", media.values().map(media_json).collect());
        add(Part::Dcqcn, "dcqcn", self.sets.iter().map(|set| facts::set_json(set)).collect());
        let profiles = collectives.values().map(costs::json).collect();
        add(Part::Collectives, "collectives", profiles);
        add(Part::Models, "models", self.models.iter().map(models::json).collect());
        add(Part::Gpus, "gpus", self.gpus.iter().map(models::gpu_json).collect());
        all
    }

    fn text(&self, args: &Args, width: usize, style: Style) -> String {
        let Catalogue { silicon, nics, media, collectives, .. } = &self.catalogue;
        if args.name.is_some() {
            let nic = nics.values().next().map(|nic| facts::nic(nic, width, style));
            let set = self.sets.first().map(|set| facts::set(set, width, style));
            let model = self.models.first().map(|model| models::page(model, width, style));
            let profile = collectives.values().next();
            let profile = profile.map(|profile| costs::page(profile, width, style));
            let only = match args.part {
                Some(Part::Nics) => nic,
                Some(Part::Dcqcn) => set,
                Some(Part::Models) => model,
                Some(Part::Collectives) => profile,
                _ => None,
            };
            if let Some(page) = only {
                return page;
            }
        }
        let parts = [
            (Part::Silicon, "Switch silicon", silicon_table(silicon.values())),
            (Part::Nics, "NICs", nic_table(nics.values())),
            (Part::Media, "Cables and optics", media_table(media.values())),
            (Part::Dcqcn, "DCQCN constants", set_table(&self.sets)),
            (Part::Collectives, "Costs of collectives", costs::table(collectives.values())),
            (Part::Models, "Models", models::table(&self.models)),
            (Part::Gpus, "GPUs", models::gpu_table(&self.gpus)),
        ];
        let sections = parts.iter().filter(|(part, ..)| args.wants(*part));
        let sections = sections.map(|(_, heading, table)| {
            format!("{}\n{}", style.bold(heading), table.render(width, style))
        });
        sections.collect::<Vec<_>>().join("\n")
    }
}
/// Refuses a name that the part does not have.
fn check_name(part: Part, name: &str, catalogue: &Catalogue) -> Result<(), Failure> {
    let known: Vec<&str> = match part {
        Part::Silicon => catalogue.silicon.keys().map(String::as_str).collect(),
        Part::Nics => catalogue.nics.keys().map(String::as_str).collect(),
        Part::Media => catalogue.media.keys().map(String::as_str).collect(),
        Part::Dcqcn => DCQCN_SETS.iter().map(|set| set.name).collect(),
        Part::Collectives => catalogue.collectives.keys().map(String::as_str).collect(),
        Part::Models => model_names(),
        Part::Gpus => GPUS.iter().map(|gpu| gpu.name).collect(),
    };
    if known.contains(&name) {
        return Ok(());
    }
    let help = suggest::help(name, known);
    Err(Failure::input(format!("there is no `{name}` in the catalogue; {help}")))
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
        ("network", Align::Left),
        ("ports", Align::Right),
        ("buffer", Align::Right),
        ("queueing", Align::Left),
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
            (if entry.infiniband { "InfiniBand" } else { "Ethernet" }).to_owned(),
            ports,
            bytes(entry.buffer),
            if entry.voq.is_some() { "VOQ" } else { "shared" }.to_owned(),
            bytes(entry.cell),
            time(entry.idle_latency()),
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
        ("ports", Align::Right),
        ("out of order", Align::Left),
        ("latency", Align::Right),
        ("power", Align::Right),
        ("figures", Align::Left),
    ]);
    for entry in entries {
        table.row([
            entry.name.clone(),
            entry.vendor.clone(),
            rate(entry.rate),
            format!("{} x {}", entry.ports, entry.lanes),
            entry.placement.name().to_owned(),
            time(entry.latency),
            watts(entry.power),
            source(entry.source).to_owned(),
        ]);
    }
    table
}

fn set_table(sets: &[&DcqcnSet]) -> Table {
    let mut table = Table::new(&[("name", Align::Left), ("what it is", Align::Left)]);
    sets.iter().for_each(|set| table.row([set.name, set.about]));
    table
}

fn media_table<'a>(entries: impl Iterator<Item = &'a Media>) -> Table {
    let mut table = Table::new(&[
        ("name", Align::Left),
        ("up to", Align::Right),
        ("lanes", Align::Left),
        ("form factor", Align::Left),
        ("connector", Align::Left),
        ("splits", Align::Right),
        ("reach", Align::Right),
        ("FEC", Align::Right),
        ("power/end", Align::Right),
        ("figures", Align::Left),
    ]);
    for entry in entries {
        let limit = |text: String| if entry.ideal { "any".to_owned() } else { text };
        let (lanes, forms, connector, splits) = match &entry.make {
            Make::Transceivers(optics) => (
                optics.lanes.to_string(),
                optics.modules.iter().map(|(form, _)| form.name()).collect::<Vec<_>>().join(", "),
                connector(optics),
                optics.most_ways().to_string(),
            ),
            Make::Attached(_) => {
                ("any".to_owned(), "any".to_owned(), "attached".to_owned(), "8".to_owned())
            }
            Make::Unknown => Default::default(),
        };
        table.row([
            entry.name.clone(),
            limit(rate(entry.rate)),
            lanes,
            forms,
            connector,
            splits,
            limit(reach(entry)),
            time(entry.fec),
            watts(entry.power),
            source(entry.source).to_owned(),
        ]);
    }
    table
}

/// `2 x MPO-12, OS2`.
fn connector(optics: &Optics) -> String {
    let (name, fibre) = (optics.connector.name(), optics.fibre.name());
    match optics.connectors {
        1 => format!("{name}, {fibre}"),
        many => format!("{many} x {name}, {fibre}"),
    }
}

/// The reach; that of a cable depends on the rate of its lanes.
fn reach(entry: &Media) -> String {
    let Make::Attached(reach) = entry.make else { return entry.reach.to_string() };
    let all = || reach.iter().map(|(_, metres)| metres);
    match (all().min(), all().max()) {
        (Some(least), Some(most)) if least != most => format!("{least}-{most}m"),
        (_, most) => format!("{}m", most.unwrap_or(&0)),
    }
}

fn silicon_json(entry: &Silicon) -> Value {
    json!({
        "name": entry.name,
        "vendor": entry.vendor,
        "infiniband": entry.infiniband,
        "capacity_bps": entry.capacity.bps(),
        "ports": entry.ports,
        "port_rate_bps": entry.port_rate.bps(),
        "max_ports": entry.max_ports,
        "buffer_bytes": entry.buffer.get(),
        "cell_bytes": entry.cell.get(),
        "latency_ps": entry.idle_latency().as_ps(),
        "virtual_output_queues": entry.voq.is_some(),
        "power_mw": entry.power.0,
        "figures": source(entry.source),
    })
}

fn nic_json(entry: &NicModel) -> Value {
    json!({
        "name": entry.name,
        "vendor": entry.vendor,
        "rate_bps": entry.rate.bps(),
        "ports": entry.ports,
        "lanes_per_port": entry.lanes,
        "out_of_order": entry.placement.name(),
        "latency_ps": entry.latency.as_ps(),
        "power_mw": entry.power.0,
        "figures": source(entry.source),
        "transport": entry.transport.iter().map(facts::fact_json).collect::<Vec<_>>(),
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
        "optics": entry.optics().map(optics_json),
        "reach_by_lane": match entry.make {
            Make::Attached(reach) => Value::Array(reach.iter().map(reach_json).collect()),
            _ => Value::Null,
        },
        "figures": source(entry.source),
    })
}

fn reach_json((lane, metres): &(Lane, u64)) -> Value {
    json!({ "lane_bps": lane.gbps() * 1_000_000_000, "reach_mm": metres * 1_000 })
}

fn optics_json(optics: &Optics) -> Value {
    let module = |(form, lanes): &(Form, Lanes)| {
        json!({
            "form_factor": form.name(),
            "electrical_lanes": lanes.count,
            "electrical_lane_bps": lanes.each.gbps() * 1_000_000_000,
        })
    };
    json!({
        "lanes": optics.lanes.count,
        "lane_bps": optics.lanes.each.gbps() * 1_000_000_000,
        "modulation": optics.lanes.each.modulation(),
        "scheme": optics.scheme.name(),
        "fibre": optics.fibre.name(),
        "fibres": optics.fibres(),
        "connector": optics.connector.name(),
        "connectors": optics.connectors,
        "most_ways": optics.most_ways(),
        "modules": optics.modules.iter().map(module).collect::<Vec<_>>(),
    })
}
