//! `xoff audit`: what is wrong with the configurations of devices.

mod baseline;
mod page;
mod sarif;
mod simulate;

use super::config::{approve, balancing, usual_system};
use crate::exit::{Exit, Failure, Level, say};
use crate::input;
use crate::output::{self, style::Style};
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use xoff_config::approval::{Approval, Drift, drift, intent_hash};
use xoff_config::audit::{Collection, RULES, Report, audit_with, read};
use xoff_config::cabling::Cables;
use xoff_config::device::{Balancing, Device, RemarkKind};
use xoff_config::{Files, Intent, SystemId};
use xoff_fabric::model::Switch;
use xoff_fabric::{FabricSetup, Severity};

const EXAMPLES: &str = "Examples:
  xoff audit devices
  xoff audit devices --fabric examples/pod-256.toml --json | jq '.findings[].rule'
  xoff audit devices --write-baseline known.json
  xoff audit devices --baseline known.json --sarif > findings.sarif
  xoff audit --explain ecn-above-xoff

Reads running configurations of SONiC (config_db.json), Arista EOS, Cisco
NX-OS, NVIDIA Cumulus (NVUE commands and YAML), Juniper Junos (braces and
`display set`), Dell OS10 and FS PicOS, and what the check scripts of
`xoff config` print on hosts, mixed as they come; what each file is, is seen
from what is in it. With a fabric file devices are held against it and its
cables, without against each other. Cables also come from neighbour tables
(`lldpctl`, `show lldp neighbors`, as text or JSON) and from lists of cables
(cabling.csv of `xoff plan`, NetBox, other CSV) in the folder. If the fabric
file was approved with `xoff config --approve`, devices that drifted from what
was approved are reported.

Exit codes:
  0    nothing, or warnings only
  1    a finding is an error
  2    bad usage, or nothing to read
  3    results could not be written";

/// Arguments of `xoff audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A folder with configurations, or one file
    #[arg(required_unless_present = "explain")]
    dir: Option<PathBuf>,
    /// The fabric file that says what is meant
    #[arg(long, value_name = "FILE")]
    fabric: Option<PathBuf>,
    /// How flows are meant to be spread: hash, flowlet or per-packet
    #[arg(long, default_value = "hash", value_parser = balancing, requires = "fabric")]
    balancing: Balancing,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print SARIF 2.1.0
    #[arg(long, conflicts_with = "json")]
    sarif: bool,
    /// Leave out the findings that this file accepts
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Accept all findings there are, in this file
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    write_baseline: Option<PathBuf>,
    /// List the statements that were not understood
    #[arg(long)]
    unknown: bool,
    /// Run the fabric as it is configured and as it is meant, and show the difference
    #[arg(long, requires = "fabric")]
    simulate: bool,
    /// Explain a rule
    #[arg(long, value_name = "RULE", conflicts_with_all = ["dir", "fabric", "json", "unknown"])]
    explain: Option<String>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if let Some(id) = &args.explain {
        return explain(id);
    }
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let (files, Collection { devices, cables, .. }) = read_collection(dir)?;
    let meant = intent(args, &devices)?;
    let mut report = audit_with(&devices, &cables, meant.as_ref().map(|(_, intent)| intent));
    if let Some(path) = &args.write_baseline {
        return baseline::write(path, &report);
    }
    let accepted = match &args.baseline {
        Some(path) => baseline::accept(path, &mut report)?,
        None => 0,
    };
    let approval = approval(args, &devices)?;
    let effects = match &meant {
        Some((setup, intent)) if args.simulate => Some(simulate::effects(setup, intent, &devices)?),
        _ => None,
    };
    if args.sarif {
        output::stdout_json(&sarif::log(&report, &files))?;
    } else if args.json {
        let mut answer = Answer::of(&report, &devices, &cables, &files, args.unknown);
        answer.accepted = accepted;
        answer.approval = approval.as_ref().map(ApprovalEntry::of);
        answer.effects = effects.as_ref();
        output::stdout_json(&answer)?;
    } else {
        output::stdout(&page::render(&report, &files, Style::stdout()))?;
        output::stdout(&page::footer(&report, accepted, approval.as_ref(), Style::stdout()))?;
        if args.unknown {
            output::stdout(&page::unknown(&devices, &cables, &files, Style::stdout()))?;
        }
        if let Some(effects) = &effects {
            simulate::show(effects)?;
        }
    }
    Ok(if report.has_errors() { Exit::BrokeARule } else { Exit::Fine })
}

/// The configurations in a folder; what looks like none is named.
pub(super) fn read_folder(dir: &Path) -> Result<(Files, Vec<Device>), Failure> {
    read_collection(dir).map(|(files, found)| (files, found.devices))
}

/// All that is in a folder: configurations, and tables of cables.
fn read_collection(dir: &Path) -> Result<(Files, Collection), Failure> {
    let mut files = Files::default();
    collect(dir, 0, &mut files)?;
    let found = read(&files);
    if found.devices.is_empty() {
        return Err(Failure::input(format!(
            "nothing in `{}` looks like a configuration; known are SONiC's config_db.json, Arista \
             EOS, Cisco NX-OS, NVUE commands and YAML, Junos, Dell OS10, PicOS and the output of host \
             check scripts",
            dir.display()
        )));
    }
    for file in found.strange.iter().filter_map(|id| files.get(*id)) {
        say(Level::Warning, &format!("`{}` looks like no known configuration", file.name));
    }
    Ok((files, found))
}

/// What a fabric wants of devices that are configured already.
pub(super) fn intent_of(setup: &FabricSetup, balancing: Balancing, devices: &[Device]) -> Intent {
    Intent::running(setup, balancing, devices, |switch: &Switch| usual_system(setup, switch))
}

/// The fabric and what it wants, if there is one.
fn intent(args: &Args, devices: &[Device]) -> Result<Option<(FabricSetup, Intent)>, Failure> {
    let Some(path) = &args.fabric else { return Ok(None) };
    let setup = input::fabric(path)?;
    let intent = intent_of(&setup, args.balancing, devices);
    Ok(Some((setup, intent)))
}

/// The last approval of the fabric file, and what is not as it was approved.
struct Approved {
    approval: Approval,
    /// Whether the fabric file is still the approved one.
    same_file: bool,
    drift: Vec<Drift>,
}

fn approval(args: &Args, devices: &[Device]) -> Result<Option<Approved>, Failure> {
    let Some(path) = &args.fabric else { return Ok(None) };
    let Some(approval) = approve::last(path)? else { return Ok(None) };
    let Some(intent) = approval.approved(devices) else {
        return Err(Failure::input(format!(
            "`{}` was changed after it was written: its hash is not that of its fabric",
            approve::file(path).display()
        )));
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    let same_file = intent_hash(&text, args.balancing) == approval.intent;
    Ok(Some(Approved { drift: drift(&intent, devices), same_file, approval }))
}

/// Reads a file, or all files below a folder in the order of their names.
pub(super) fn collect(path: &Path, depth: usize, files: &mut Files) -> Result<(), Failure> {
    /// Larger files are not configurations.
    const MOST_BYTES: u64 = 64 << 20;
    const DEEPEST: usize = 8;
    let failed = |error: std::io::Error| {
        Failure::input(format!("cannot read `{}`: {error}", path.display()))
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        let entries = fs::read_dir(path).map_err(failed)?;
        let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|_| depth < DEEPEST) {
            collect(path, depth + 1, files)?;
        }
        return Ok(());
    }
    if metadata.len() > MOST_BYTES {
        say(Level::Warning, &format!("`{}` is too large for a configuration", path.display()));
        return Ok(());
    }
    let bytes = fs::read(path).map_err(failed)?;
    files.add(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned());
    Ok(())
}

fn explain(id: &str) -> Result<Exit, Failure> {
    let Some(rule) = RULES.iter().find(|rule| rule.id == id) else {
        let names: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        return Err(Failure::input(format!(
            "there is no rule `{id}`; rules are {}",
            names.join(", ")
        )));
    };
    output::stdout(&page::explain(rule, output::stdout_width(), Style::stdout()))?;
    Ok(Exit::Fine)
}

/// The result for machines.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    tool: &'static str,
    version: &'static str,
    devices: Vec<DeviceEntry<'a>>,
    links: usize,
    findings: Vec<FindingEntry<'a>>,
    unknown: usize,
    malformed: usize,
    foreign: usize,
    accepted: usize,
    unchecked: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<ApprovalEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    statements: Vec<String>,
    /// What it does, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    effects: Option<&'a simulate::Effects>,
}

#[derive(Debug, Serialize)]
struct ApprovalEntry<'a> {
    who: &'a str,
    when: &'a str,
    intent: &'a str,
    same_file: bool,
    drifted: Vec<DriftEntry<'a>>,
}

#[derive(Debug, Serialize)]
struct DriftEntry<'a> {
    device: &'a str,
    changed: Vec<String>,
}

impl<'a> ApprovalEntry<'a> {
    fn of(approved: &'a Approved) -> Self {
        let entry = |drift: &'a Drift| DriftEntry {
            device: &drift.device,
            changed: drift.changed.iter().map(page::difference).collect(),
        };
        Self {
            who: &approved.approval.who,
            when: &approved.approval.when,
            intent: &approved.approval.intent,
            same_file: approved.same_file,
            drifted: approved.drift.iter().map(entry).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct DeviceEntry<'a> {
    name: &'a str,
    system: &'static str,
    version: Option<&'a str>,
    ports: usize,
}

#[derive(Debug, Serialize)]
struct FindingEntry<'a> {
    rule: &'static str,
    severity: &'static str,
    device: &'a str,
    ports: Vec<&'a str>,
    lines: Vec<String>,
    message: &'a str,
    why: &'static str,
    fix: &'a str,
}

impl<'a> Answer<'a> {
    fn of(
        report: &'a Report,
        devices: &'a [Device],
        cables: &Cables,
        files: &Files,
        unknown: bool,
    ) -> Self {
        let entry = |device: &'a Device| DeviceEntry {
            name: &device.name,
            system: SystemId::name(device.system),
            version: device.version.value().map(String::as_str),
            ports: device.ports.len(),
        };
        let finding = |finding: &'a xoff_config::audit::Finding| FindingEntry {
            rule: finding.rule.id,
            severity: severity(finding.severity),
            device: &finding.device,
            ports: finding.ports.iter().map(|port| port.as_str()).collect(),
            lines: finding.places.iter().map(|place| files.label(*place)).collect(),
            message: &finding.message,
            why: finding.rule.why,
            fix: &finding.fix,
        };
        let remarks = devices.iter().flat_map(|device| &device.remarks).chain(&cables.remarks);
        let statements = remarks
            .filter(|remark| unknown && remark.kind != RemarkKind::Foreign)
            .map(|remark| files.label(remark.place))
            .collect();
        Self {
            tool: "xoff",
            version: env!("CARGO_PKG_VERSION"),
            devices: devices.iter().map(entry).collect(),
            links: report.links,
            findings: report.findings.iter().map(finding).collect(),
            unknown: report.unknown,
            malformed: report.malformed,
            foreign: report.foreign,
            accepted: 0,
            unchecked: page::unchecked(report),
            approval: None,
            statements,
            effects: None,
        }
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
