//! Configurations collected from devices: the audit's findings as checks.

use super::words::{count, some};
use crate::advice::Advice;
use crate::check::Check;
use crate::phase::Phase;
use xoff_config::audit::{Finding, Report};
use xoff_fabric::Severity;
use xoff_report::Verdict;

/// The rule about software versions.
const VERSIONS: &str = "versions-differ";

/// Checks of the laboratory that device configurations allow.
pub fn judge_devices(report: &Report) -> Vec<Check> {
    let (versions, others): (Vec<&Finding>, Vec<&Finding>) =
        report.findings.iter().partition(|finding| finding.rule.id == VERSIONS);
    let devices = count(report.devices as u64, "device", "devices");
    let configured = check(
        "devices",
        "Devices are configured as intended",
        format!("audited {devices} and {}", count(report.links as u64, "cable", "cables")),
        &others,
        "no findings",
    );
    let same = check(
        "versions",
        "Devices of a kind run the same software",
        format!("compared the versions of {devices}"),
        &versions,
        "one version per kind of device",
    );
    vec![configured, same]
}

fn check(name: &str, title: &str, done: String, findings: &[&Finding], expected: &str) -> Check {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let verdict = match (errors, findings.len()) {
        (0, 0) => Verdict::Pass,
        (0, _) => Verdict::Warn,
        _ => Verdict::Fail,
    };
    let words: Vec<String> = findings
        .iter()
        .map(|finding| format!("{} ({}): {}", finding.device, finding.rule.id, finding.message))
        .collect();
    let measured = match words.is_empty() {
        true => "nothing found".to_owned(),
        false => format!("{errors} errors of {} findings: {}", words.len(), some(&words)),
    };
    let mut places: Vec<String> = findings.iter().map(|finding| finding.device.clone()).collect();
    places.dedup();
    let advice = "`xoff audit` on the same folder shows each finding in its place, with its fix";
    Check::new(Phase::Laboratory, name, title)
        .done(done)
        .seen(measured, expected)
        .verdict(verdict)
        .places(places)
        .advise(Some(Advice::words(advice)))
}
