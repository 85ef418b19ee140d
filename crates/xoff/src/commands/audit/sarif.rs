//! Findings as SARIF 2.1.0, the form that code review tools read.

use serde_json::{Value, json};
use xoff_config::Files;
use xoff_config::audit::{Finding, RULES, Report, Rule};
use xoff_config::place::Place;
use xoff_fabric::Severity;

/// Where the form is described: the address that the standard itself gives its schema.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log of one run.
pub(super) fn log(report: &Report, files: &Files) -> Value {
    let rules: Vec<Value> = RULES.iter().map(|rule| descriptor(rule)).collect();
    let results: Vec<Value> = report.findings.iter().map(|f| result(f, files)).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "xoff",
                    "semanticVersion": env!("CARGO_PKG_VERSION"),
                    "rules": rules,
                }
            },
            "results": results,
        }]
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.why },
        "help": { "text": rule.cure, "markdown": rule.page() },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn result(finding: &Finding, files: &Files) -> Value {
    let index = RULES.iter().position(|rule| rule.id == finding.rule.id);
    let ports: Vec<&str> = finding.ports.iter().map(|port| port.as_str()).collect();
    let at = if ports.is_empty() { String::new() } else { format!(" {}", ports.join(", ")) };
    let mut locations: Vec<Value> =
        finding.places.iter().filter_map(|place| location(finding, *place, files)).collect();
    if locations.is_empty() {
        locations.push(json!({ "logicalLocations": [device(finding)] }));
    }
    let mut value = json!({
        "ruleId": finding.rule.id,
        "level": level(finding.severity),
        "message": { "text": format!("{}{at}: {}", finding.device, finding.message) },
        "locations": locations,
        "partialFingerprints": {
            "xoffFinding/v1": format!("{}|{}|{}", finding.rule.id, finding.device, finding.message),
        },
        "properties": { "device": finding.device, "ports": ports, "fix": finding.fix.apply },
    });
    if let Some(index) = index {
        value["ruleIndex"] = json!(index);
    }
    value
}

fn device(finding: &Finding) -> Value {
    json!({ "name": finding.device, "kind": "device" })
}

fn location(finding: &Finding, place: Place, files: &Files) -> Option<Value> {
    let file = files.get(place.file)?;
    let (first, last) = files.numbers(place);
    Some(json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&file.name) },
            "region": { "startLine": first.max(1), "endLine": last.max(1) },
        },
        "logicalLocations": [device(finding)],
    }))
}

/// A path as a relative reference: everything but plain characters is escaped.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let unix = path.replace('\\', "/");
    unix.bytes().fold(String::new(), |text, byte| match plain(byte) {
        true => text + char::from(byte).encode_utf8(&mut [0; 4]),
        false => text + &format!("%{byte:02X}"),
    })
}
