//! `xoff exporter`: counters of a host's NICs or of a switch, for Prometheus to scrape.

mod gnmi;
mod serve;

use crate::exit::{Exit, Failure};
use crate::input;
use clap::{Subcommand, ValueEnum};
use serve::Serving;
use std::path::{Path, PathBuf};
use xoff_config::SystemId;
use xoff_exporter::host::{self, Host, Kernel, Statistics};
use xoff_exporter::naming::{Assignment, Naming, NamingError};
use xoff_exporter::sonic::{self, Address, Redis, Switch};
use xoff_exporter::{Origin, Unavailable};
use xoff_fabric::FabricSetup;

const EXAMPLES: &str = "Examples:
  xoff exporter host --fabric pod.toml
  xoff exporter host --once > /var/lib/node_exporter/xoff.prom
  xoff exporter sonic --redis unix:/var/run/redis/redis.sock
  xoff exporter gnmi leaf0:8080 --ca ca.pem --username admin --password-file password
  xoff exporter gnmi 127.0.0.1:6030 --insecure --dialect openconfig --sample 5s --once
  xoff exporter host --listen 0.0.0.0:9810 --tls-cert c.pem --tls-key k.pem --token-file token

Series are those of docs/metrics.md, so that `xoff alerts` and `xoff diagnose`
understand them. docs/exporter.md says what else is exported, and how to run it.

Exit codes:
  0    fine
  2    bad usage, a bad file, or nothing to read counters from
  3    results could not be written
  130  interrupted";

/// Arguments of `xoff exporter`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Whose counters
    #[command(subcommand)]
    whose: Whose,
}

#[derive(Debug, Subcommand)]
enum Whose {
    /// Export the counters of this host's NICs: sysfs and ethtool -S
    #[command(after_help = EXAMPLES)]
    Host(HostArgs),
    /// Export the counters of a SONiC switch, from its Redis
    #[command(after_help = EXAMPLES)]
    Sonic(SonicArgs),
    /// Export the counters of a switch by gNMI, with SONiC's or OpenConfig's paths
    #[command(after_help = EXAMPLES)]
    Gnmi(gnmi::Args),
}

/// What all need to name series.
#[derive(Debug, clap::Args)]
struct Names {
    /// The fabric file, which says what ports are called
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// The value of the label `fabric` [default: the name of the fabric file, or `fabric`]
    #[arg(long, value_name = "NAME")]
    fabric_name: Option<String>,
}

impl Names {
    fn setup(&self) -> Result<Option<FabricSetup>, Failure> {
        self.fabric.as_deref().map(input::fabric).transpose()
    }

    fn label(&self) -> String {
        let stem = self.fabric.as_deref().and_then(Path::file_stem);
        let stem = stem.map(|stem| stem.to_string_lossy().into_owned());
        self.fabric_name.clone().or(stem).unwrap_or_else(|| "fabric".to_owned())
    }
}

/// What of `ethtool -S` is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ethtool {
    /// Statistics of ports
    Port,
    /// Those of every queue, too: thousands of series per NIC
    All,
    /// None
    Off,
}

#[derive(Debug, clap::Args)]
struct HostArgs {
    #[command(flatten)]
    names: Names,
    /// The host's name, as the fabric file has it [default: the kernel's]
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// What a NIC is in the fabric, like mlx5_0=server0-nic0 or mlx5_0=server0-nic0:leaf0 (repeat it for each)
    #[arg(long, value_name = "NIC=DEVICE[:PORT]")]
    device: Vec<Assignment>,
    /// Where sysfs is
    #[arg(long, value_name = "DIR", default_value = "/sys")]
    sysfs: PathBuf,
    /// What of `ethtool -S` to export [default: port, or off with another sysfs than /sys]
    #[arg(long, value_enum)]
    ethtool: Option<Ethtool>,
    #[command(flatten)]
    serving: Serving,
}

#[derive(Debug, clap::Args)]
struct SonicArgs {
    #[command(flatten)]
    names: Names,
    /// The switch's name, as the fabric file has it [default: its hostname in CONFIG_DB]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Where Redis listens: HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6379")]
    redis: Address,
    /// Export every counter in COUNTERS_DB, not only those of docs/metrics.md, watermarks and the watchdog's
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    serving: Serving,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    match &args.whose {
        Whose::Host(args) => serve::run(host(args)?, &args.serving),
        Whose::Sonic(args) => serve::run(sonic(args)?, &args.serving),
        Whose::Gnmi(args) => serve::run(gnmi::origin(args)?, &args.serving),
    }
}

fn host(args: &HostArgs) -> Result<Box<dyn Origin>, Failure> {
    let setup = args.names.setup()?;
    let name = match &args.host {
        Some(name) => name.clone(),
        None => kernel_name()?,
    };
    let mut naming = Naming::host(&args.names.label(), &name);
    match &setup {
        Some(setup) if args.device.is_empty() => {
            let nics = host::nics(&args.sysfs);
            let rdma = nics.iter().filter(|nic| nic.rdma.is_some());
            let locals: Vec<String> = rdma.map(host::Nic::local).collect();
            naming.match_nics(setup, &locals).map_err(wrong)?;
        }
        _ => naming.assign(setup.as_ref(), &args.device).map_err(wrong)?,
    }
    // A tree of files elsewhere may be another host's, of which this kernel knows nothing.
    let usual = if args.sysfs == Path::new("/sys") { Ethtool::Port } else { Ethtool::Off };
    let ethtool = args.ethtool.unwrap_or(usual);
    let kernel = (ethtool != Ethtool::Off).then(|| Box::new(Kernel) as Box<dyn Statistics>);
    let detail = if ethtool == Ethtool::All { host::Detail::Queues } else { host::Detail::Port };
    Ok(Box::new(Host { sysfs: args.sysfs.clone(), naming, statistics: kernel, detail }))
}

/// What the kernel calls this host.
fn kernel_name() -> Result<String, Failure> {
    let path = "/proc/sys/kernel/hostname";
    let name = std::fs::read_to_string(path).map(|name| name.trim().to_owned());
    match name {
        Ok(name) if !name.is_empty() => Ok(name),
        Ok(_) => Err(Failure::input("the host has no name; give it one with --host")),
        Err(error) => Err(Failure::input(format!("cannot read `{path}`: {error}; say --host"))),
    }
}

fn sonic(args: &SonicArgs) -> Result<Box<dyn Origin>, Failure> {
    let setup = args.names.setup()?;
    let mut database = Redis::at(args.redis.clone());
    let device = match &args.device {
        Some(device) => device.clone(),
        None => {
            let name = sonic::hostname(&mut database).map_err(unavailable)?;
            let missing = "the switch has no hostname in CONFIG_DB; name it with --device";
            name.ok_or_else(|| Failure::input(missing))?
        }
    };
    let mut naming = Naming::switch(&args.names.label(), &device);
    if let Some(setup) = &setup {
        naming.match_ports(setup, SystemId::Sonic).map_err(wrong)?;
    }
    let detail = if args.all { sonic::Detail::All } else { sonic::Detail::Schema };
    Ok(Box::new(Switch { database: Box::new(database), naming, detail }))
}

fn wrong(error: NamingError) -> Failure {
    Failure::input(error.to_string())
}

fn unavailable(error: Unavailable) -> Failure {
    Failure::input(error.to_string())
}
