//! `xoff plan`: a fabric from a number of GPUs.

mod page;

use crate::exit::{CODES, Exit, Failure};
use crate::input;
use crate::output::diagnostics::{Finding, Findings, Severity, SourceFile};
use crate::output::style::Style;
use crate::output::{self, files, stdout_width};
use std::path::{Path, PathBuf};
use xoff_fabric::catalogue::Catalogue;
use xoff_plan::{Floor, Plan, PriceError, Prices, Wish, plan};
use xoff_units::{Length, Ratio};

const EXAMPLES: &str = "Examples:
  xoff plan 1024
  xoff plan 1024 --out pod && xoff check pod/fabric.toml
  xoff plan 8192 --nic connectx-7 --leaf tomahawk-5 --rails 8 --tiers 2
  xoff plan 24576 --oversubscription 2:1 --prices prices.toml --json

Everything but the GPUs may be left open. Without --out nothing is written;
with it, fabric.toml, bom.csv, cabling.csv, racks.txt, racks.csv and
plan.json.

A price file has any of these; what it leaves out is estimated, and every sum
with an estimate in it is marked with a `~`:

  currency = \"EUR\"      # USD without it
  usd = 0.92            # what a USD is worth, for the estimates
  [switch]
  tomahawk-5 = 38000
  [nic]
  connectx-7 = 1450
  [media]
  800g-dr8 = 850        # a transceiver, or a cable with its ends
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
    /// Tiers of switches, 1 to 3 [default: as few as will do]
    #[arg(long, value_name = "N")]
    tiers: Option<u64>,
    /// Host bandwidth of a leaf over its uplink bandwidth, like 2:1 [default: 1:1]
    #[arg(long, value_name = "RATIO")]
    oversubscription: Option<Ratio>,
    /// Downlink bandwidth of a spine over its uplink bandwidth [default: 1:1]
    #[arg(long, value_name = "RATIO")]
    spine_oversubscription: Option<Ratio>,
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
        }
    }
}

impl Args {
    fn wish(&self) -> Wish {
        Wish {
            gpus: self.gpus,
            gpus_per_server: self.gpus_per_server,
            nics_per_server: self.nics_per_server,
            nic: self.nic.clone(),
            leaf: self.leaf.clone(),
            spine: self.spine.clone(),
            core: self.core.clone(),
            rails: self.rails,
            tiers: self.tiers,
            oversubscription: self.oversubscription,
            spine_oversubscription: self.spine_oversubscription,
            ..Wish::default()
        }
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let catalogue = Catalogue::built_in();
    let prices = match &args.prices {
        Some(path) => read_prices(path, &catalogue)?,
        None => Prices::estimates(&catalogue),
    };
    let plan = plan(&args.wish(), args.floor.floor(), &catalogue, &prices)
        .map_err(|refusal| Failure::input(refusal.to_string()))?;
    if let Some(folder) = &args.out {
        let written = written(&plan)?;
        let borrowed: Vec<_> = written.iter().map(|(name, text)| (*name, text.as_str())).collect();
        files::write(folder, &borrowed, args.force)?;
    }
    if args.json {
        output::stdout_json(&plan)?;
    } else {
        output::stdout(&page::render(&plan, args.out.as_deref(), stdout_width(), Style::stdout()))?;
    }
    Ok(Exit::Fine)
}

/// What goes into the folder; the summary of it all is written last.
fn written(plan: &Plan) -> Result<[(&'static str, String); 6], Failure> {
    let mut json = serde_json::to_string_pretty(plan)
        .map_err(|error| Failure::write(format!("cannot write JSON: {error}")))?;
    json.push('\n');
    Ok([
        ("fabric.toml", plan.fabric_toml()),
        ("bom.csv", plan.bill_csv()),
        ("cabling.csv", plan.cabling_csv()),
        ("racks.txt", plan.racks_text()),
        ("racks.csv", plan.racks_csv()),
        ("plan.json", json),
    ])
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
