//! Accepted findings: a file of them, so that only new ones are reported.

use crate::exit::{Exit, Failure};
use crate::output::number::counted;
use crate::output::{self, files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use xoff_config::audit::{Finding, Report};

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Baseline {
    /// Of this format.
    version: u32,
    accepted: Vec<Accepted>,
}

/// A finding as it was when it was accepted. With another message, or on a port more, it is new.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Accepted {
    rule: String,
    device: String,
    ports: BTreeSet<String>,
    message: String,
}

impl Accepted {
    fn of(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.id.to_owned(),
            device: finding.device.clone(),
            ports: finding.ports.iter().map(|port| port.as_str().to_owned()).collect(),
            message: finding.message.clone(),
        }
    }

    fn covers(&self, other: &Self) -> bool {
        self.rule == other.rule
            && self.device == other.device
            && self.message == other.message
            && other.ports.is_subset(&self.ports)
    }
}

const VERSION: u32 = 1;

/// Takes accepted findings out of a report; says how many.
pub(super) fn accept(path: &Path, report: &mut Report) -> Result<usize, Failure> {
    let bad = |error: String| Failure::input(format!("baseline `{}`: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    let baseline: Baseline = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    if baseline.version != VERSION {
        return Err(bad(format!("version {} is not known", baseline.version)));
    }
    let before = report.findings.len();
    report.findings.retain(|finding| {
        let this = Accepted::of(finding);
        !baseline.accepted.iter().any(|known| known.covers(&this))
    });
    Ok(before - report.findings.len())
}

/// Writes all findings of a report as accepted.
pub(super) fn write(path: &Path, report: &Report) -> Result<Exit, Failure> {
    let accepted = report.findings.iter().map(Accepted::of).collect();
    let baseline = Baseline { version: VERSION, accepted };
    files::write_one(path, &output::json(&baseline)?, |there| {
        serde_json::from_str::<Baseline>(there).is_ok()
    })?;
    output::stdout(&format!(
        "{} accepted\n",
        counted(baseline.accepted.len() as u64, "finding", "findings")
    ))?;
    Ok(Exit::Fine)
}
