//! Findings as people read them.

use crate::output::number::counted;
use crate::output::style::Style;
use crate::output::{printable, wrap};
use std::fmt::Write;
use xoff_config::Files;
use xoff_config::audit::{Finding, Report, Rule};
use xoff_config::cabling::Cables;
use xoff_config::device::{Device, PortName, RemarkKind};
use xoff_fabric::Severity;

/// Lines of a configuration that are shown for one finding.
const MOST_LINES: usize = 8;
/// Ports that are named.
const MOST_PORTS: usize = 6;

pub(super) fn render(report: &Report, files: &Files, style: Style) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        write_finding(&mut text, finding, files, style);
    }
    let count = |severity| report.findings.iter().filter(|f| f.severity == severity).count();
    let _ = writeln!(
        text,
        "{}, {}: {}, {}; {} not understood, {} unreadable",
        counted(report.devices as u64, "device", "devices"),
        counted(report.links as u64, "cable", "cables"),
        counted(count(Severity::Error) as u64, "error", "errors"),
        counted(count(Severity::Warning) as u64, "warning", "warnings"),
        counted(report.unknown as u64, "statement", "statements"),
        report.malformed
    );
    let silent = report.findings.iter().filter(|finding| finding.is_silence()).count();
    if silent > 0 {
        let devices = counted(silent as u64, "device", "devices");
        let _ = writeln!(text, "{} {devices}", style.yellow("nothing was checked on"));
    }
    text
}

fn word(finding: &Finding, style: Style) -> String {
    match finding.severity {
        Severity::Error => style.red("error"),
        Severity::Warning => style.yellow("warning"),
    }
}

fn write_finding(text: &mut String, finding: &Finding, files: &Files, style: Style) {
    let _ = writeln!(
        text,
        "{}[{}]: {}{}: {}",
        word(finding, style),
        finding.rule.id,
        style.bold(&printable(&finding.device)),
        ports(&finding.ports),
        printable(&finding.message)
    );
    let lines = finding.places.iter().flat_map(|place| {
        let name = files.get(place.file).map_or("", |file| file.name.as_str());
        files.lines(*place, MOST_LINES).into_iter().map(move |(number, line)| (name, number, line))
    });
    for (name, number, line) in lines.take(MOST_LINES) {
        let _ = writeln!(
            text,
            "  {} {}",
            style.dim(&format!("{}:{number} |", printable(name))),
            printable(line)
        );
    }
    let _ = writeln!(text, "  {} {}", style.cyan("why:"), finding.rule.why);
    let _ = writeln!(text, "  {} {}", style.green("fix:"), finding.rule.cure);
    let device = printable(&finding.device);
    let statements = |text: &mut String, statements: &str| {
        for line in statements.lines() {
            let _ = writeln!(text, "    {}", printable(line));
        }
    };
    if !finding.fix.apply.is_empty() {
        let _ = writeln!(text, "  on {device}:");
        statements(text, &finding.fix.apply);
    }
    if !finding.fix.undo.is_empty() {
        let _ = writeln!(text, "  to undo it on {device}:");
        statements(text, &finding.fix.undo);
    }
    if !finding.fix.reason.is_empty() {
        let _ = writeln!(text, "  no statements: {}", finding.fix.reason);
    }
    text.push('\n');
}

fn ports(ports: &[PortName]) -> String {
    let named: Vec<String> =
        ports.iter().take(MOST_PORTS).map(|port| printable(port.as_str())).collect();
    match ports.len() {
        0 => String::new(),
        count if count > MOST_PORTS => format!(" {} … ({count} ports)", named.join(", ")),
        _ => format!(" {}", named.join(", ")),
    }
}

/// What was not checked, in words.
pub(super) fn unchecked(report: &Report) -> Vec<String> {
    let topic = |(system, topic): &(xoff_config::SystemId, xoff_config::system::Topic)| {
        format!("{} of {system}", topic.name())
    };
    report.unchecked.iter().map(topic).collect()
}

/// What stands below the findings: what holds for many devices, and what was left out.
pub(super) fn footer(report: &Report, accepted: usize) -> String {
    let mut text = String::new();
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", printable(note));
    }
    if accepted > 0 {
        let findings = counted(accepted as u64, "finding", "findings");
        let _ = writeln!(text, "accepted by the baseline and not shown: {findings}");
    }
    let unchecked = unchecked(report);
    if !unchecked.is_empty() {
        let _ = writeln!(
            text,
            "not checked, because how it is configured is not verified: {}",
            unchecked.join(", ")
        );
    }
    text
}

/// Statements that were not understood, with their lines.
pub(super) fn unknown(devices: &[Device], cables: &Cables, files: &Files, style: Style) -> String {
    let mut text = String::new();
    let remarks = devices.iter().flat_map(|device| &device.remarks).chain(&cables.remarks);
    for remark in remarks.filter(|remark| remark.kind != RemarkKind::Foreign) {
        let label = files.label(remark.place);
        let line = files.lines(remark.place, 1).first().map_or("", |(_, line)| line.trim());
        let _ = writeln!(
            text,
            "{} {} {}",
            style.dim(&printable(&label)),
            remark.kind.name(),
            printable(line)
        );
    }
    text
}

/// The page of a rule.
pub(super) fn explain(rule: &Rule, width: usize, style: Style) -> String {
    let severity = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    format!(
        "{}  {severity}\n{}.\n\n{}\n\n{}\n",
        style.bold(rule.id),
        rule.title,
        wrapped(rule.why, width),
        wrapped(rule.cure, width)
    )
}

fn wrapped(text: &str, width: usize) -> String {
    wrap(text, width.min(100)).join("\n")
}
