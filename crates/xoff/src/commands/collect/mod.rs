//! `xoff collect`: running configurations and host states, fetched with `ssh` into a folder that `xoff audit` reads.
//!
//! Devices are asked what [`xoff_config::inventory::asks`] says and nothing else. [`ssh`] makes the arguments, [`process`]
//! keeps time and size, [`device`] asks one device, [`folder`] keeps files, [`cause`] says in plain words why a
//! device is missing.

mod cause;
mod device;
mod folder;
mod process;
mod show;
mod ssh;

use super::config::usual_system;
use crate::clock::{self, Stopwatch};
use crate::exit::{Exit, Failure, Level, say};
use crate::input::{self, wall_time};
use crate::interrupt::Interrupt;
use crate::output::diagnostics::{Finding, Findings, Severity, SourceFile};
use crate::output::number::counted;
use crate::output::style::Style;
use crate::{output, pool};
use device::{Asking, Collected, Result as Answer, State};
use ssh::Ssh;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;
use xoff_config::device::Balancing;
use xoff_config::inventory::{self, Defaults, Inventory, Mistake, NOT_READ, Target};
use xoff_config::{Intent, SystemId};
use xoff_watch::time::Clock;

const EXAMPLES: &str = "Examples:
  xoff collect --list
  xoff collect inventory.toml --dry-run
  xoff collect inventory.toml --out running
  xoff collect hosts.yml --out running --fabric pod.toml --parallel 32 --redact
  xoff audit running --fabric pod.toml

Asks every device of an inventory what it is configured to do, with the
system's ssh and its keys, and writes a file per device. Nothing is changed on
a device: --list prints every command, --dry-run every ssh that would be run.

An inventory is a TOML file with [[device]] (name, address, system, user, port,
jump, identity), an Ansible inventory (INI or YAML), a list with `name system`
on each line, or CSV with headings. Systems are sonic, eos, nx-os, cumulus,
junos, os10, picos and host.

Configurations have hashes of passwords: files are readable by their owner
alone, and --redact masks passwords, keys and communities.

Exit codes:
  0    every device was collected
  1    some were not
  2    bad usage or a bad inventory
  3    results could not be written
  130  interrupted; what was complete is there";

/// Arguments of `xoff collect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The inventory: TOML, Ansible's INI or YAML, a list, CSV; - is standard input
    #[arg(required_unless_present = "list")]
    inventory: Option<PathBuf>,
    /// Folder for the files
    #[arg(long, value_name = "DIR", required_unless_present_any = ["list", "dry_run"])]
    out: Option<PathBuf>,
    /// Print the commands of every system, and contact nothing
    #[arg(long, conflicts_with_all = ["inventory", "out", "dry_run"])]
    list: bool,
    /// Print every ssh command line, and contact nothing
    #[arg(long, conflicts_with = "out")]
    dry_run: bool,
    /// The fabric file: devices of it that the inventory lacks are named
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// What devices run that the inventory says nothing of
    #[arg(long, value_name = "SYSTEM", value_parser = inventory::system_named)]
    system: Option<SystemId>,
    /// The user for devices that the inventory says none for [default: ssh's own choice]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Devices that are asked at the same time
    #[arg(long, value_name = "N", default_value = "16", value_parser = parallel)]
    parallel: usize,
    /// The time that a device has, like 60s or 5min
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = wall_time::some)]
    timeout: Duration,
    /// Mask passwords, keys and communities in what is written
    #[arg(long)]
    redact: bool,
    /// Take host keys of devices that are not known yet (StrictHostKeyChecking=accept-new)
    #[arg(long)]
    accept_new: bool,
    /// An option passed on to ssh, like HostKeyAlgorithms=+ssh-rsa (repeat it for each)
    #[arg(long, value_name = "KEY=VALUE", value_parser = ssh::option)]
    ssh_option: Vec<String>,
    /// The ssh program [default: what XOFF_SSH names, or ssh]
    #[arg(long, value_name = "PATH")]
    ssh: Option<PathBuf>,
    /// Print JSON: what was asked of each device, and what came of it
    #[arg(long, conflicts_with_all = ["list", "dry_run"])]
    json: bool,
    /// Show no progress and no notes
    #[arg(long)]
    quiet: bool,
}

/// The most that a device may answer: what the audit reads of a file.
const MOST_BYTES: usize = 64 << 20;

/// Mistakes of an inventory that are shown.
const SHOWN_MISTAKES: usize = 20;

fn parallel(text: &str) -> Result<usize, String> {
    let number: Option<usize> = text.parse().ok().filter(|number| (1..=512).contains(number));
    number.ok_or_else(|| "give a number of devices from 1 to 512".to_owned())
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    let style = Style::stdout();
    let Some(path) = args.inventory.as_deref().filter(|_| !args.list) else {
        output::stdout(&show::list(style))?;
        return Ok(Exit::Fine);
    };
    let inventory = read(path, args)?;
    let absent = match &args.fabric {
        Some(fabric) => check(fabric, &inventory)?,
        None => Vec::new(),
    };
    if !args.quiet {
        inventory.notes.iter().for_each(|note| say(Level::Note, note));
    }
    let program = args.ssh.clone().or_else(|| std::env::var_os("XOFF_SSH").map(PathBuf::from));
    let ssh = Ssh {
        program: program.unwrap_or_else(|| "ssh".into()),
        accept_new: args.accept_new,
        options: args.ssh_option.clone(),
        timeout: args.timeout,
    };
    let Some(out) = args.out.as_deref().filter(|_| !args.dry_run) else {
        output::stdout(&show::dry_run(&ssh, &inventory.targets))?;
        return Ok(Exit::Fine);
    };
    try_program(&ssh)?;
    folder::claim(out)?;
    collect(args, path, &inventory, &ssh, out, &absent)
}

/// Reads the inventory; what is wrong with it is shown on its lines.
fn read(path: &Path, args: &Args) -> Result<Inventory, Failure> {
    let file = input::read_or_stdin(path)?;
    let defaults = Defaults { system: args.system, user: args.user.clone() };
    let name = file.path.file_name().map(|name| name.to_string_lossy().into_owned());
    match inventory::read(&name.unwrap_or_default(), &file.text, &defaults) {
        Ok(inventory) => Ok(inventory),
        Err(mistakes) => {
            let hidden = mistakes.len().saturating_sub(SHOWN_MISTAKES);
            findings(file, &mistakes).show(false);
            if hidden > 0 {
                say(Level::Error, &format!("and {hidden} mistakes more like these"));
            }
            Err(Failure::shown())
        }
    }
}

fn findings(file: SourceFile, mistakes: &[Mistake]) -> Findings {
    let mut starts = vec![0];
    starts.extend(file.text.match_indices('\n').map(|(at, _)| at + 1));
    let span = |line: u32| match line {
        0 => 0..0,
        line => {
            let start = starts.get(line as usize - 1).copied().unwrap_or(0);
            let text = file.text[start..].lines().next().unwrap_or("");
            let indent = text.len() - text.trim_start().len();
            start + indent..start + text.len()
        }
    };
    let finding = |mistake: &Mistake| Finding {
        severity: Severity::Error,
        code: "xoff::inventory".to_owned(),
        message: mistake.message.clone(),
        help: Some(mistake.cure.clone()),
        file: 0,
        span: span(mistake.line),
    };
    let list = mistakes.iter().take(SHOWN_MISTAKES).map(finding).collect();
    Findings { files: vec![file], list }
}

/// The devices of a fabric that the inventory lacks; both sides are told of what the other does not know.
fn check(fabric: &Path, inventory: &Inventory) -> Result<Vec<String>, Failure> {
    let setup = input::fabric(fabric)?;
    let intent = Intent::of(&setup, Balancing::Hash, |switch| usual_system(&setup, switch));
    let wanted = || intent.devices.iter().map(|device| device.name.as_str());
    let missing = inventory::missing(&inventory.targets, wanted());
    if !missing.is_empty() {
        say(
            Level::Warning,
            &format!(
                "{} of `{}` not in the inventory: {}",
                counted(missing.len() as u64, "device is", "devices are"),
                fabric.display(),
                show::some(&missing)
            ),
        );
    }
    let names: std::collections::BTreeSet<String> = wanted().map(str::to_ascii_lowercase).collect();
    let strange = inventory.targets.iter().map(Target::short_name);
    let strange: Vec<&str> =
        strange.filter(|name| !names.contains(&name.to_ascii_lowercase())).collect();
    if !strange.is_empty() {
        let devices = counted(strange.len() as u64, "device", "devices");
        say(Level::Note, &format!("{devices} not in the fabric: {}", show::some(&strange)));
    }
    Ok(missing.into_iter().map(str::to_owned).collect())
}

/// Whether there is such a program at all: better one message than one for each device.
fn try_program(ssh: &Ssh) -> Result<(), Failure> {
    let mut command = Command::new(&ssh.program);
    command.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.status() {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::input(format!(
            "cannot run `{}`: {error}; install OpenSSH's client, or name it with --ssh",
            ssh.program.display()
        ))),
    }
}

/// Asks all devices, several at a time, and says what came of it.
fn collect(
    args: &Args,
    path: &Path,
    inventory: &Inventory,
    ssh: &Ssh,
    out: &Path,
    absent: &[String],
) -> Result<Exit, Failure> {
    let (clock, began) = (Stopwatch::start(), Clock::Wall.exact(clock::now()));
    let interrupt = Interrupt::listen();
    let asking = Asking { ssh, interrupt: &interrupt, bytes: MOST_BYTES, redact: args.redact };
    let progress = show::Progress::new(inventory.targets.len(), args.quiet);
    let unwritten: Mutex<Option<Failure>> = Mutex::new(None);
    let results = pool::each(&inventory.targets, Some(args.parallel), |target| {
        let mut answer = asking.collect(target);
        let written = match answer.state {
            State::Collected => folder::write(out, target, &answer.files),
            State::Failed | State::Interrupted => {
                answer.collected.kept = folder::kept(out, target);
                Ok(())
            }
        };
        progress.done(target, answer.state != State::Collected);
        // What was written is on the disk: only its size is needed now, and devices may be thousands.
        let files = std::mem::take(&mut answer.files);
        answer.written = (files.len(), files.iter().map(|(_, text)| text.len()).sum());
        let stop = written.is_err() || interrupt.requested();
        if let Err(failure) = written {
            answer.state = State::Interrupted;
            *unwritten.lock().unwrap_or_else(|lock| lock.into_inner()) = Some(failure);
        }
        if stop { ControlFlow::Break(answer) } else { ControlFlow::Continue(answer) }
    });
    progress.clear();
    let seconds = device::rounded(clock.seconds());
    let record = record(args, path, inventory, absent, &results, (began, seconds));
    folder::record(out, &record)?;
    if let Some(failure) = unwritten.into_inner().unwrap_or_else(|lock| lock.into_inner()) {
        return Err(failure);
    }
    if !args.quiet {
        say_notes(args, inventory, out, &results);
    }
    if args.json {
        output::stdout_json(&record)?;
    } else {
        let devices = inventory.targets.len();
        let text = show::summary(out, &results, devices, seconds, Style::stdout());
        output::stdout(&text)?;
    }
    Ok(if interrupt.requested() {
        Exit::Interrupted
    } else if record.collected == inventory.targets.len() {
        Exit::Fine
    } else {
        Exit::BrokeARule
    })
}

fn record<'a>(
    args: &Args,
    path: &Path,
    inventory: &'a Inventory,
    absent: &'a [String],
    results: &'a [(&Target, Answer)],
    (began, seconds): (String, f64),
) -> folder::Record<'a> {
    static NOTHING: Collected =
        Collected { asked: Vec::new(), calls_itself: None, looks_like: None, kept: Vec::new() };
    // Results are in the order of the inventory; those that were not begun are missing.
    let mut rest = results.iter().peekable();
    let entry = |target: &'a Target| {
        let found = rest.next_if(|(other, _)| other.name == target.name);
        let cause = found.and_then(|(_, answer)| answer.cause.as_ref());
        folder::Entry {
            name: &target.name,
            address: &target.address,
            system: target.system.name(),
            state: found.map_or(State::Interrupted, |(_, answer)| answer.state),
            error: cause.map(|cause| cause.message.as_str()),
            cure: cause.map(|cause| cause.cure.as_str()),
            collected: found.map_or(&NOTHING, |(_, answer)| &answer.collected),
        }
    };
    let of = |state| results.iter().filter(|(_, answer)| answer.state == state).count();
    folder::Record {
        note: NOT_READ,
        tool: "xoff",
        version: env!("CARGO_PKG_VERSION"),
        inventory: path.display().to_string(),
        began,
        seconds,
        redacted: args.redact,
        collected: of(State::Collected),
        failed: of(State::Failed),
        not_in_inventory: absent.iter().map(String::as_str).collect(),
        devices: inventory.targets.iter().map(entry).collect(),
    }
}

fn say_notes(args: &Args, inventory: &Inventory, out: &Path, results: &[(&Target, Answer)]) {
    for note in show::notes(results) {
        say(Level::Note, &note);
    }
    let others = folder::others(out, &inventory.targets);
    if !others.is_empty() {
        let many = counted(others.len() as u64, "file is", "files are");
        let names = show::some(&others);
        say(
            Level::Note,
            &format!("{many} of no device of this inventory, and audited all the same: {names}"),
        );
    }
    if !args.redact && results.iter().any(|(_, answer)| answer.written.0 > 0) {
        say(
            Level::Note,
            "configurations have hashes of passwords and communities: only you can read the files; --redact \
             masks them",
        );
    }
}
