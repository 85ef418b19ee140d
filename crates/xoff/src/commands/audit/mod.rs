//! `xoff audit`: what is wrong with the configurations of devices.

mod approval;
mod baseline;
mod folder;
mod page;
mod sarif;
mod simulate;

pub(super) use folder::{collect, devices, read_folder};

use folder::read_collection;

use super::config::{balancing, usual_system};
use crate::exit::{Exit, Failure};
use crate::input;
use crate::output::{self, style::Style};
use serde::Serialize;
use std::path::{Path, PathBuf};
use xoff_config::audit::{Collection, RULES, Report, with_fixes};
use xoff_config::cabling::Cables;
use xoff_config::device::{Balancing, Device, RemarkKind};
use xoff_config::place::File;
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
`display set`), Dell OS10 and FS PicOS, mixed as they come; what each file is,
is seen from what is in it. Of hosts: check scripts of `xoff config`, output of
mlnx_qos, cma_roce_tos, ethtool, dcb, lldptool, niccli, nicctl and the like,
sysfs, environments, logs of sessions, sosreports; files of one host are one
device. With a fabric file devices are held against it and its
cables, without against each other. Cables also come from neighbour tables
(`lldpctl`, `show lldp neighbors`, as text or JSON) and from lists of cables
(cabling.csv of `xoff plan`, NetBox, other CSV) in the folder. If the fabric file was approved with
`xoff config --approve`, devices that drifted from what was approved are reported,
and signatures are checked against approvers.toml or FABRIC.approvers.

Exit codes:
  0    nothing, or warnings only
  1    a finding is an error, or a file could not be read; with --strict: there
       is a finding, or an archive or an empty file that was passed over; or devices
       drifted from what was approved, the fabric file is not the approved
       one, or an approval does not count
  2    bad usage, nothing to read, or a file of approvals that was tampered with
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
    /// Who may approve: a file of roles (.toml) or of allowed signers [default: FABRIC.approvers,
    /// or approvers.toml beside it]
    #[arg(long, value_name = "FILE", requires = "fabric")]
    approvers: Option<PathBuf>,
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
    /// End with 1 for warnings, too: a device on which nothing could be checked is one
    #[arg(long)]
    strict: bool,
    /// Explain a rule
    #[arg(long, value_name = "RULE", conflicts_with_all = ["dir", "fabric", "json", "unknown"])]
    explain: Option<String>,
}

pub(crate) fn execute(args: &Args) -> Result<Exit, Failure> {
    if let Some(id) = &args.explain {
        return explain(id);
    }
    let dir = args.dir.as_deref().unwrap_or(Path::new("."));
    let (files, Collection { devices, cables, strange, .. }, left_out) = read_collection(dir)?;
    let strange: Vec<&File> = strange.iter().filter_map(|id| files.get(*id)).collect();
    let meant = intent(args, &devices)?;
    let intent = meant.as_ref().map(|(_, intent)| intent);
    let mut report = with_fixes(&devices, &cables, &files, intent);
    if let Some(path) = &args.write_baseline {
        return baseline::write(path, &report);
    }
    let accepted = match &args.baseline {
        Some(path) => baseline::accept(path, &mut report)?,
        None => 0,
    };
    let approved = approval::of(args, &devices)?;
    let effects = match &meant {
        Some((setup, intent)) if args.simulate => Some(simulate::effects(setup, intent, &devices)?),
        _ => None,
    };
    if args.sarif {
        output::stdout_json(&sarif::log(&report, &files))?;
    } else if args.json {
        let mut answer = Answer::of(&report, &devices, &cables, &files, args.unknown);
        answer.accepted = accepted;
        let unknown = strange.iter().map(|file| folder::unknown(file));
        let left_out = left_out.unreadable.iter().chain(&left_out.others).cloned();
        answer.unread = left_out.chain(unknown).collect();
        answer.approval = approved.as_ref().map(approval::Entry::of);
        answer.effects = effects.as_ref();
        output::stdout_json(&answer)?;
    } else {
        output::stdout(&page::render(&report, &files, Style::stdout()))?;
        output::stdout(&page::footer(&report, accepted))?;
        if let Some(approved) = &approved {
            output::stdout(&approval::show(approved, Style::stdout()))?;
        }
        if args.unknown {
            output::stdout(&page::unknown(&devices, &cables, &files, Style::stdout()))?;
        }
        if let Some(effects) = &effects {
            simulate::show(effects)?;
        }
    }
    // A file with nothing in it is that of a device that did not answer.
    let empty = strange.iter().any(|file| file.text.trim().is_empty());
    let strictly = !report.findings.is_empty() || !left_out.others.is_empty() || empty;
    let broken =
        report.has_errors() || !left_out.unreadable.is_empty() || (args.strict && strictly);
    let found = if broken { Exit::BrokeARule } else { Exit::Fine };
    Ok(approved.map_or(found, |approved| approved.exit(found)))
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
    /// What is in the folder and was not read, and why.
    unread: Vec<String>,
    notes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<approval::Entry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    statements: Vec<String>,
    /// What it does, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    effects: Option<&'a simulate::Effects>,
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
    /// Statements that cure it; they were tried.
    fix: &'a str,
    /// Statements that take the fix back; they were tried.
    #[serde(skip_serializing_if = "str::is_empty")]
    undo: &'a str,
    /// Why there are none.
    #[serde(skip_serializing_if = "str::is_empty")]
    no_fix: &'a str,
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
            fix: &finding.fix.apply,
            undo: &finding.fix.undo,
            no_fix: &finding.fix.reason,
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
            unread: Vec::new(),
            notes: &report.notes,
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
