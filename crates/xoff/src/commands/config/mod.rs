//! `xoff config`: the RoCE configuration of every device of a fabric.

pub(super) mod approve;
mod change;
mod deliver;
pub(super) mod folder;

use crate::exit::{Exit, Failure, Level, say};
use crate::input;
use crate::output::number::counted;
use crate::output::{self, printable, style::Style};
use folder::Made;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use xoff_config::approval::intent_hash;
use xoff_config::device::Balancing;
use xoff_config::{Intent, SystemId};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Switch, Tier};

const EXAMPLES: &str = "Examples:
  xoff config examples/pod-256.toml --out devices
  xoff config examples/pod-256.toml --leaf eos --spine nx-os --out devices
  xoff config examples/pod-256.toml --diff running
  xoff config examples/pod-256.toml --diff running --rollback --out change
  xoff config examples/pod-256.toml --diff running --patches --out change
  xoff config examples/pod-256.toml --system eos --ansible --avd --gnmi --out devices
  xoff config examples/adaptive-17.toml --agent --out devices
  xoff config examples/pod-256.toml --system eos --ztp --serials serials.csv \
    --server http://192.0.2.1 --base base --out devices
  xoff config examples/pod-256.toml --approve 'Ada Lovelace'
  xoff config examples/pod-256.toml --approve --key ~/.ssh/id_ed25519
  xoff config examples/pod-256.toml --approvals

Writes a file per switch, and per host a script, a systemd unit, the
environment of NCCL and a check script whose output `xoff audit` reads. Only
RoCE is configured: merge the files into what the devices have. The same
fabric file gives the same bytes. Without a system, silicon of NVIDIA runs
cumulus, of Cisco nx-os, and any other sonic. The folder is listed in its
xoff-config.json: files of an earlier run that are not made any more are
removed, files that were edited are not replaced without --force, and files
of others are never removed.

With --diff nothing is configured: what would change on the devices whose
configurations are in a folder is printed, as statements of their systems, and
with --out written, with --rollback the way back too. With --patches a device
with SONiC gets JSON patches for `config apply-patch`, there and back.

--ansible, --avd and --gnmi add folders for these tools to the files of the
devices: a playbook that delivers those files to one leaf first and then to one
device at a time, structured configurations of EOS, and OpenConfig JSON. What
a tool has no words for is noted. --ztp adds a bundle from which boxes find
their configurations by serial number, with what a DHCP server has to say.

With --approve a record of who approved this fabric file, and when, is added to
FABRIC.approved.json; `xoff audit --fabric` then tells devices that drifted.
With --key it is signed by ssh-keygen, with keys in files, agents and hardware.
Who may approve what is said by approvers.toml beside the fabric file (roles
with rights to parts of it, and how many approvals are needed), or by
FABRIC.approvers (allowed signers); unsigned approvals do not count then. --approvals
lists all of them and says which hold (docs/approvals.md).

Exit codes:
  0    fine; with --diff: nothing would change; with --approvals: the fabric
       file is the approved one
  1    with --diff: something would change; with --approve: whoever it is may
       not approve this; with --approvals: the fabric file is not the approved
       one, or an approval since does not count
  2    bad usage or a bad file
  3    results could not be written";

/// Arguments of `xoff config`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The fabric file
    fabric: PathBuf,
    /// Folder for the files
    #[arg(long, value_name = "DIR", required_unless_present_any = ["diff", "approving"])]
    out: Option<PathBuf>,
    /// Show what would change against the running configurations in a folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["system", "leaf", "spine", "core"])]
    diff: Option<PathBuf>,
    /// Write the way back as well
    #[arg(long, requires_all = ["diff", "out"])]
    rollback: bool,
    /// Write JSON patches for SONiC, there and back, instead of statements
    #[arg(long, requires_all = ["diff", "out"])]
    patches: bool,
    /// Write an Ansible playbook, its inventory and tasks
    #[arg(long, requires = "out", conflicts_with_all = ["diff", "approve"])]
    ansible: bool,
    /// Write structured configurations for Arista's AVD
    #[arg(long, requires = "out", conflicts_with_all = ["diff", "approve"])]
    avd: bool,
    /// Write OpenConfig JSON for gNMI
    #[arg(long, requires = "out", conflicts_with_all = ["diff", "approve"])]
    gnmi: bool,
    /// Write what an agent on a switch needs that moves ECN thresholds (`[ecn.adaptive]`)
    #[arg(long, requires = "out", conflicts_with_all = ["diff", "approve"])]
    agent: bool,
    /// Write a bundle for zero-touch provisioning
    #[arg(long, requires_all = ["out", "serials", "server"], conflicts_with_all = ["diff", "approve"])]
    ztp: bool,
    /// Lines of DEVICE,SERIAL or DEVICE,SERIAL,MAC for the bundle
    #[arg(long, value_name = "FILE", requires = "ztp")]
    serials: Option<PathBuf>,
    /// Where boxes load the bundle from
    #[arg(long, value_name = "URL", requires = "ztp", value_parser = deliver::server)]
    server: Option<String>,
    /// Folder with a base configuration per switch, before the RoCE part in the bundle
    #[arg(long, value_name = "DIR", requires = "ztp")]
    base: Option<PathBuf>,
    /// System of all switches: sonic, eos, nx-os, cumulus, cumulus-yaml, junos, junos-set, os10 or
    /// picos
    #[arg(long, value_parser = switch_system)]
    system: Option<SystemId>,
    /// System of the leaves
    #[arg(long, value_name = "SYSTEM", value_parser = switch_system)]
    leaf: Option<SystemId>,
    /// System of the spines
    #[arg(long, value_name = "SYSTEM", value_parser = switch_system)]
    spine: Option<SystemId>,
    /// System of the cores
    #[arg(long, value_name = "SYSTEM", value_parser = switch_system)]
    core: Option<SystemId>,
    /// How flows are spread over equal paths: hash, flowlet or per-packet
    #[arg(long, default_value = "hash", value_parser = balancing)]
    balancing: Balancing,
    /// Replace or remove files that were edited since they were written
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    approval: approve::Options,
}

pub(super) fn switch_system(text: &str) -> Result<SystemId, String> {
    match text.parse()? {
        SystemId::Host => Err("`host` is no system of a switch".to_owned()),
        system => Ok(system),
    }
}

/// A way to spread flows, by its name.
pub(super) fn balancing(text: &str) -> Result<Balancing, String> {
    let all = [Balancing::Hash, Balancing::Flowlet, Balancing::Packet];
    let found = all.into_iter().find(|balancing| balancing.name() == text);
    found.ok_or_else(|| "it is one of hash, flowlet and per-packet".to_owned())
}

/// The system of a switch whose owner does not say: that of its silicon's maker.
pub(super) fn usual_system(setup: &FabricSetup, switch: &Switch) -> SystemId {
    let silicon = setup.catalogue.silicon.get(&switch.silicon);
    match silicon.map(|silicon| silicon.vendor.as_str()) {
        Some("NVIDIA") => SystemId::Cumulus,
        Some("Cisco") => SystemId::NxOs,
        _ => SystemId::Sonic,
    }
}

impl Args {
    fn choose(&self, setup: &FabricSetup, switch: &Switch) -> SystemId {
        let own = match switch.tier {
            Tier::Leaf => self.leaf,
            Tier::Spine => self.spine,
            Tier::Core => self.core,
        };
        own.or(self.system).unwrap_or_else(|| usual_system(setup, switch))
    }

    /// The hash of what the files are made of.
    fn intent_hash(&self) -> Result<String, Failure> {
        let text = fs::read_to_string(&self.fabric).map_err(|error| {
            Failure::input(format!("cannot read `{}`: {error}", self.fabric.display()))
        })?;
        Ok(intent_hash(&text, self.balancing))
    }
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if args.approval.approvals {
        return approve::list(&args.fabric, &args.approval);
    }
    let setup = input::fabric(&args.fabric)?;
    if args.approval.approve.is_some() {
        return approve::record(&args.fabric, &args.approval, args.balancing);
    }
    if let Some(running) = &args.diff {
        return change::execute(args, &setup, running);
    }
    let Some(out) = &args.out else {
        return Err(Failure::input("say where the files go with --out"));
    };
    let intent = Intent::of(&setup, args.balancing, |switch| args.choose(&setup, switch));
    let mut limits: BTreeMap<(SystemId, String), usize> = BTreeMap::new();
    let mut files = Vec::new();
    let mut counts: BTreeMap<SystemId, usize> = BTreeMap::new();
    for device in &intent.devices {
        let mut changed = Vec::new();
        let own = intent.files(device, &mut changed).into_iter();
        files.extend(own.map(|file| Made::of(&device.name, device.system, file)));
        *counts.entry(device.system).or_default() += 1;
        for limit in changed {
            *limits.entry((device.system, limit)).or_default() += 1;
        }
    }
    files.extend(deliver::files(args, &setup, &intent)?);
    let plan = folder::fill(out, &files, args.intent_hash()?, args.force)?;
    for ((system, limit), devices) in &limits {
        let devices = counted(*devices as u64, "device", "devices");
        say(Level::Note, &format!("{system}: {limit} ({devices})"));
    }
    let style = Style::stdout();
    let shown = printable(&out.display().to_string());
    let number = counted(files.len() as u64, "file", "files");
    let mut text = format!("{}  {number}\n", style.bold(&shown));
    for (system, count) in counts {
        text += &format!("{system:<12} {:>14}\n", counted(count as u64, "device", "devices"));
    }
    output::stdout(&(text + &folder::told(&plan)))?;
    Ok(Exit::Fine)
}
