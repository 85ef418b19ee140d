//! `xoff exporter gnmi`: the counters of a switch, by gNMI.

use super::serve::Serving;
use super::{Names, wrong};
use crate::clock::Stopwatch;
use crate::commands::config::switch_system;
use crate::exit::Failure;
use clap::ValueEnum;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use xoff_config::SystemId;
use xoff_exporter::Origin;
use xoff_exporter::gnmi::{
    AccessError, Address, Dialect, Login, Queues, Secret, Security, Settings, Switch, Tls,
};
use xoff_exporter::naming::Naming;
use xoff_units::Span;

/// Where a password may be that is in no file.
const PASSWORD: &str = "XOFF_GNMI_PASSWORD";
/// For how long the first page waits for the device.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whose paths a switch has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Paths {
    /// SONiC's COUNTERS_DB
    Sonic,
    /// OpenConfig's interfaces and QoS
    Openconfig,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where the switch listens: HOST:PORT
    #[arg(value_name = "ADDRESS")]
    address: Address,
    #[command(flatten)]
    names: Names,
    /// The switch's name, as the fabric file has it [default: the host of ADDRESS]
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// The system whose names of ports the fabric file stands for, as in `xoff config`
    /// [default: sonic, or eos with --dialect openconfig]
    #[arg(long, requires = "fabric", value_parser = switch_system)]
    system: Option<SystemId>,
    /// Whose paths the switch has [default: what it says itself]
    #[arg(long, value_enum)]
    dialect: Option<Paths>,
    /// Time between samples, from 1s to 600s; a value that was not sent three times is not exported
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = sample)]
    sample: Duration,
    /// The priority that a queue of OpenConfig stands for, like BE1=0 (repeat it for each)
    #[arg(long, value_name = "NAME=PRIORITY", value_parser = queue)]
    queue: Vec<(String, u8)>,
    #[command(flatten)]
    access: Access,
    #[command(flatten)]
    pub(super) serving: Serving,
}

/// How the switch is reached.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reaching the switch")]
struct Access {
    /// The certificates that signed the switch's, in PEM
    #[arg(long, value_name = "FILE", required_unless_present = "insecure")]
    ca: Option<PathBuf>,
    /// The name in the switch's certificate [default: the host of ADDRESS]
    #[arg(long, value_name = "NAME", requires = "ca")]
    tls_name: Option<String>,
    /// A certificate that says who the exporter is, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["ca", "client_key"])]
    client_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
    /// Without TLS: everybody on the way can read all that is sent, passwords included
    #[arg(long, conflicts_with = "ca")]
    insecure: bool,
    /// The user; the password is in --password-file or in the variable XOFF_GNMI_PASSWORD
    #[arg(long, value_name = "NAME", conflicts_with = "device_token_file")]
    username: Option<String>,
    /// A file with the user's password
    #[arg(long, value_name = "FILE", requires = "username")]
    password_file: Option<PathBuf>,
    /// A file with a token for the switch, instead of a user
    #[arg(long, value_name = "FILE")]
    device_token_file: Option<PathBuf>,
}

fn sample(text: &str) -> Result<Duration, String> {
    let span: Span = text.parse().map_err(|error| format!("{error}"))?;
    let time = Duration::from_nanos(span.as_ps() / 1_000);
    match (Duration::from_secs(1)..=Duration::from_secs(600)).contains(&time) {
        true => Ok(time),
        false => Err("it is between 1s and 600s".to_owned()),
    }
}

fn queue(text: &str) -> Result<(String, u8), String> {
    let form = || format!("`{text}` is not of the form BE1=0, with a priority from 0 to 7");
    let (name, priority) = text.rsplit_once('=').ok_or_else(form)?;
    match priority.parse() {
        Ok(priority @ 0..8) if !name.is_empty() => Ok((name.to_owned(), priority)),
        _ => Err(form()),
    }
}

pub(super) fn origin(args: &Args) -> Result<Box<dyn Origin>, Failure> {
    let setup = args.names.setup()?;
    let device = args.device.as_deref().unwrap_or(args.address.host());
    let mut naming = Naming::switch(&args.names.label(), device);
    let dialect = args.dialect.map(|dialect| match dialect {
        Paths::Sonic => Dialect::Sonic,
        Paths::Openconfig => Dialect::OpenConfig,
    });
    if let Some(setup) = &setup {
        let usual = match dialect {
            Some(Dialect::OpenConfig) => SystemId::Eos,
            _ => SystemId::Sonic,
        };
        naming.match_ports(setup, args.system.unwrap_or(usual)).map_err(wrong)?;
    }
    let settings = Settings {
        address: args.address.clone(),
        security: args.access.security().map_err(refused)?,
        login: args.access.login()?,
        dialect,
        sample: args.sample,
        patience: PATIENCE,
    };
    let clock = Stopwatch::start();
    let queues: Queues = args.queue.iter().cloned().collect();
    let switch = Switch::start(settings, naming, queues, Arc::new(move || clock.elapsed()));
    Ok(Box::new(switch.map_err(super::unavailable)?))
}

fn refused(error: AccessError) -> Failure {
    Failure::input(error.to_string())
}

impl Access {
    fn security(&self) -> Result<Security, AccessError> {
        let Some(ca) = &self.ca else { return Ok(Security::Plain) };
        let own = self.client_cert.as_deref().zip(self.client_key.as_deref());
        Ok(Security::Tls(Tls::read(ca, self.tls_name.clone(), own)?))
    }

    fn login(&self) -> Result<Login, Failure> {
        if let Some(path) = &self.device_token_file {
            return Ok(Login::Token(Secret::read(path).map_err(refused)?));
        }
        let Some(name) = &self.username else { return Ok(Login::Nobody) };
        let name = Secret::new(name, "--username").map_err(refused)?;
        let password = match (&self.password_file, std::env::var(PASSWORD)) {
            (Some(path), _) => Secret::read(path),
            (None, Ok(password)) => Secret::new(&password, PASSWORD),
            (None, Err(_)) => {
                let cure = format!("--username needs --password-file, or the variable {PASSWORD}");
                return Err(Failure::input(cure));
            }
        };
        Ok(Login::User(name, password.map_err(refused)?))
    }
}
