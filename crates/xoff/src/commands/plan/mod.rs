//! `xoff plan`: a fabric from a number of GPUs.

mod judged;
mod page;
mod report;

use crate::exit::{CODES, Exit, Failure};
use crate::input;
use crate::output::diagnostics::{Finding, Findings, Severity, SourceFile};
use crate::output::files::{self, Contents, Replace};
use crate::output::style::Style;
use crate::output::{self, stdout_width};
use judged::Judged;
use std::path::{Path, PathBuf};
use xoff_fabric::catalogue::Catalogue;
use xoff_plan::{
    Floor, InventoryError, Owned, Plan, PriceError, Prices, Skills, Wish, inventory, plan,
};
use xoff_units::{Length, Ratio};

const EXAMPLES: &str = "Examples:
  xoff plan 1024
  xoff plan 1024 --out pod && xoff check pod/fabric.toml
  xoff plan 8192 --nic connectx-7 --leaf tomahawk-5 --rails 8 --tiers 2
  xoff plan 24576 --oversubscription 2:1 --prices prices.toml --json
  xoff plan 1024 --storage --frontend --management --out pod
  xoff plan 1024 --existing inventory.csv --skills ethernet
  xoff plan 256 --validate
  xoff plan 8192 --planes 2
  xoff plan 2048 --nics-per-server 4 --homing dual --spares 5%

Everything but the GPUs may be left open. Without --out nothing is written;
with it, fabric.toml, bom.csv, cabling.csv, racks.txt, racks.csv, report.html
and plan.json.

An inventory has the names of `xoff catalogue`, a line for each part:

  part,quantity,length_m,rate
  tomahawk-5,8,,
  aoc,128,10,800Gbps

A price file has any of these; what it leaves out is estimated, and every sum
with an estimate in it is marked with a `~`:

  source = \"quote 4711\" # stands beside each of its prices in bom.csv
  date = 2026-11-02
  currency = \"EUR\"      # USD without it
  usd = 0.92            # what a USD is worth, for the estimates
  [switch]
  tomahawk-5 = 38000
  [nic]
  connectx-7 = 1450
  [media]
  800g-dr8 = 850        # a transceiver
  dac = 110             # a cable with its ends, of any rate,
  800g-dac = 160        # or of one rate: that of its widest end
  [fibre]
  cable = 20
  metre = 1.20";

/// Arguments of `xoff plan`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{CODES}"))]
pub(crate) struct Args {
    /// GPUs in the cluster
    gpus: u64,
    /// GPUs in one server [default: 8]
    #[arg(long, value_name = "N")]
    gpus_per_server: Option<u64>,
    /// NICs in one server [default: one per GPU]
    #[arg(long, value_name = "N")]
    nics_per_server: Option<u64>,
    /// NIC from the catalogue [default: connectx-7]
    #[arg(long, value_name = "NAME")]
    nic: Option<String>,
    /// Silicon of the leaves [default: tomahawk-5]
    #[arg(long, value_name = "NAME")]
    leaf: Option<String>,
    /// Silicon of the spines [default: as the leaves]
    #[arg(long, value_name = "NAME")]
    spine: Option<String>,
    /// Silicon of the cores [default: as the spines]
    #[arg(long, value_name = "NAME")]
    core: Option<String>,
    /// 1 puts all NICs of a server on one leaf, the number of NICs gives each a leaf
    #[arg(long, value_name = "N")]
    rails: Option<u64>,
    /// Leaves that each NIC is on: `dual` gives it two, with half of its rate each
    #[arg(long, value_enum, default_value_t, value_name = "HOMING")]
    homing: HomingArg,
    /// Planes of spines: with 2, each NIC has a port in both, with half of its rate each
    #[arg(long, value_name = "N")]
    planes: Option<u64>,
    /// Tiers of switches, 1 to 3 [default: as few as will do]
    #[arg(long, value_name = "N")]
    tiers: Option<u64>,
    /// Host bandwidth of a leaf over its uplink bandwidth, like 2:1 [default: 1:1]
    #[arg(long, value_name = "RATIO")]
    oversubscription: Option<Ratio>,
    /// Downlink bandwidth of a spine over its uplink bandwidth [default: 1:1]
    #[arg(long, value_name = "RATIO")]
    spine_oversubscription: Option<Ratio>,
    /// Plan a storage network, too, with N storage servers [default: one for every eight servers]
    #[arg(long, value_name = "N")]
    storage: Option<Option<u64>>,
    /// Plan a front-end network, too
    #[arg(long)]
    frontend: bool,
    /// Plan a management network, too
    #[arg(long)]
    management: bool,
    /// What the people who will run it know, for the choice between RoCE and InfiniBand
    #[arg(long, value_enum, value_name = "SKILLS")]
    skills: Option<SkillsArg>,
    /// What is there already, a table of part,quantity,length_m,rate: what of it can stay, what must be
    /// replaced, and in which order
    #[arg(long, value_name = "FILE")]
    existing: Option<PathBuf>,
    /// Validate the design and each alternative (small experiments; minutes), and put the time of a
    /// training step beside the price
    #[arg(long)]
    validate: bool,
    /// Spares as a share of what is installed, like 5%; 0% orders none [default: 3% of optics and
    /// cables (2 of a kind at least), 2% of NICs and switches (1 at least)]
    #[arg(long, value_name = "SHARE")]
    spares: Option<Ratio>,
    /// Prices that replace the built-in estimates
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Folder for the files
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace files that are there and differ
    #[arg(long, requires = "out")]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    // Last: its heading holds for every option that follows.
    /// The hall
    #[command(flatten)]
    floor: FloorArgs,
}

/// The measures of the hall.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Floor")]
struct FloorArgs {
    /// Servers in one rack [default: 4]
    #[arg(long, value_name = "N")]
    servers_per_rack: Option<u64>,
    /// Switches in a rack of switches [default: 8]
    #[arg(long, value_name = "N")]
    switches_per_rack: Option<u64>,
    /// Racks side by side [default: 20]
    #[arg(long, value_name = "N")]
    racks_per_row: Option<u64>,
    /// From one rack to the next [default: 600mm]
    #[arg(long, value_name = "LENGTH")]
    rack_pitch: Option<Length>,
    /// From one row to the next [default: 3m]
    #[arg(long, value_name = "LENGTH")]
    row_pitch: Option<Length>,
    /// From a device up to the cable tray [default: 1.5m]
    #[arg(long, value_name = "LENGTH")]
    drop: Option<Length>,
    /// Units of a rack [default: 48]
    #[arg(long, value_name = "N")]
    rack_units: Option<u64>,
    /// Units of a server [default: 8]
    #[arg(long, value_name = "N")]
    server_units: Option<u64>,
    /// What a server draws, NICs included, like 10.2kW [default: 1.275kW per GPU]
    #[arg(long, value_name = "POWER", value_parser = milliwatts)]
    server_power: Option<u64>,
    /// What a rack may draw [default: 45kW]
    #[arg(long, value_name = "POWER", value_parser = milliwatts)]
    rack_power: Option<u64>,
}

/// What people know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum SkillsArg {
    /// Ethernet
    Ethernet,
    /// InfiniBand
    Infiniband,
    /// Both alike
    Both,
}

/// Leaves that a NIC is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum HomingArg {
    /// One
    #[default]
    Single,
    /// Two
    Dual,
}

/// `45kW`, `800W`, in thousandths of a watt.
fn milliwatts(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let (number, scale) = match text.strip_suffix("kW") {
        Some(number) => (number, 1e6),
        None => (text.strip_suffix('W').ok_or("write a unit, like 45kW or 800W")?, 1e3),
    };
    let value: f64 = number.trim().parse().map_err(|_| "not a number, like 45kW or 800W")?;
    match (0.0..=1e6).contains(&value) {
        true => Ok((value * scale).round() as u64),
        false => Err("a power from 0 to 1000000 of its unit".to_owned()),
    }
}

impl FloorArgs {
    fn floor(&self) -> Floor {
        let usual = Floor::default();
        Floor {
            servers_per_rack: self.servers_per_rack.unwrap_or(usual.servers_per_rack),
            switches_per_rack: self.switches_per_rack.unwrap_or(usual.switches_per_rack),
            racks_per_row: self.racks_per_row.unwrap_or(usual.racks_per_row),
            rack_pitch: self.rack_pitch.unwrap_or(usual.rack_pitch),
            row_pitch: self.row_pitch.unwrap_or(usual.row_pitch),
            drop: self.drop.unwrap_or(usual.drop),
            rack_units: self.rack_units.unwrap_or(usual.rack_units),
            server_units: self.server_units.unwrap_or(usual.server_units),
            server_milliwatts: self.server_power,
            rack_milliwatts: self.rack_power.unwrap_or(usual.rack_milliwatts),
        }
    }
}

impl Args {
    fn wish(&self, catalogue: &Catalogue) -> Result<Wish, Failure> {
        let existing = self.existing.as_deref().map(|path| read_inventory(path, catalogue));
        Ok(Wish {
            gpus: self.gpus,
            gpus_per_server: self.gpus_per_server,
            nics_per_server: self.nics_per_server,
            nic: self.nic.clone(),
            leaf: self.leaf.clone(),
            spine: self.spine.clone(),
            core: self.core.clone(),
            rails: self.rails,
            planes: self.planes,
            homing: (self.homing == HomingArg::Dual).then_some(2),
            tiers: self.tiers,
            spares: self.spares,
            storage: self.storage,
            frontend: self.frontend,
            management: self.management,
            existing: existing.transpose()?,
            skills: self.skills.map(|skills| match skills {
                SkillsArg::Ethernet => Skills::Ethernet,
                SkillsArg::Infiniband => Skills::Infiniband,
                SkillsArg::Both => Skills::Both,
            }),
            oversubscription: self.oversubscription,
            spine_oversubscription: self.spine_oversubscription,
            ..Wish::default()
        })
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let catalogue = Catalogue::built_in();
    let prices = match &args.prices {
        Some(path) => read_prices(path, &catalogue)?,
        None => Prices::estimates(&catalogue),
    };
    let plan = plan(&args.wish(&catalogue)?, args.floor.floor(), &catalogue, &prices)
        .map_err(|refusal| Failure::input(refusal.to_string()))?;
    if let Some(folder) = &args.out {
        // A folder that cannot be is found before minutes of validation.
        files::claim(folder, &Contents::Files(&[], Replace::Nothing))?;
    }
    let judged = match args.validate {
        true => judged::judge_all(&plan, &prices)?,
        false => Vec::new(),
    };
    if let Some(folder) = &args.out {
        let written = written(&plan, &judged)?;
        let borrowed: Vec<_> = written.iter().map(|(name, text)| (*name, text.as_str())).collect();
        files::write(folder, &borrowed, Replace::forced(args.force))?;
    }
    if args.json {
        output::stdout_json(&json(&plan, &judged)?)?;
    } else {
        let (folder, style) = (args.out.as_deref(), Style::stdout());
        output::stdout(&page::render(&plan, &judged, folder, stdout_width(), style))?;
    }
    Ok(Exit::Fine)
}

/// What goes into the folder; the summary of it all is written last.
fn written(plan: &Plan, judged: &[Judged]) -> Result<[(&'static str, String); 7], Failure> {
    let json = output::json(&json(plan, judged)?)?;
    Ok([
        ("fabric.toml", plan.fabric_toml()),
        ("bom.csv", plan.bill_csv()),
        ("cabling.csv", plan.cabling_csv()),
        ("racks.txt", plan.racks_text()),
        ("racks.csv", plan.racks_csv()),
        ("report.html", report::report(plan, judged, &command()).html()),
        ("plan.json", json),
    ])
}

/// The plan, and what a validation found if there was one.
fn json(plan: &Plan, judged: &[Judged]) -> Result<serde_json::Value, Failure> {
    let failed = |error| Failure::write(format!("cannot write JSON: {error}"));
    let mut value = serde_json::to_value(plan).map_err(failed)?;
    if !judged.is_empty() {
        value["validated"] = serde_json::to_value(judged).map_err(failed)?;
    }
    Ok(value)
}

/// What gives the plan again: the options that say what is planned, not where it goes.
fn command() -> String {
    let mut words = std::env::args().skip(1);
    let mut text = "xoff".to_owned();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => drop(words.next()),
            "--force" | "--json" => {}
            word if word.starts_with("--out=") => {}
            word => text += &format!(" {word}"),
        }
    }
    text
}

fn read_inventory(path: &Path, catalogue: &Catalogue) -> Result<Vec<Owned>, Failure> {
    let text = input::read_text(path).map_err(Failure::input)?;
    inventory(&text, catalogue).map_err(|error| {
        let InventoryError { message, help, span } = error;
        let file = SourceFile { path: path.to_owned(), text };
        let (code, help) = ("inventory".to_owned(), Some(help));
        let finding = Finding { severity: Severity::Error, code, message, help, file: 0, span };
        Findings { files: vec![file], list: vec![finding] }.show(false);
        Failure::shown()
    })
}

fn read_prices(path: &Path, catalogue: &Catalogue) -> Result<Prices, Failure> {
    let text = input::read_text(path).map_err(Failure::input)?;
    Prices::from_toml(&text, catalogue).map_err(|error| {
        let PriceError { message, help, span } = error;
        let file = SourceFile { path: path.to_owned(), text };
        let code = "price".to_owned();
        let finding = Finding { severity: Severity::Error, code, message, help, file: 0, span };
        Findings { files: vec![file], list: vec![finding] }.show(false);
        Failure::shown()
    })
}
