//! [`Book`]: the records of a fabric file, and what they are worth.

use super::keygen::Desk;
use super::signers::Signers;
use crate::exit::Failure;
use crate::input;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use xoff_config::approval::{Approval, Check, Date, Judgement, Policy, judge};

/// Each signature is checked by a program of its own, which takes some milliseconds.
pub(super) const MOST_RECORDS: usize = 1000;

/// The records of a fabric file, oldest first.
#[derive(Debug)]
pub(crate) struct Book {
    /// Where they are.
    pub(crate) path: PathBuf,
    /// The records.
    pub(crate) records: Vec<Approval>,
    /// What came of checking their signatures.
    pub(crate) checks: Vec<Check>,
    /// What they are worth.
    pub(crate) judgement: Judgement,
    /// What says who may approve.
    pub(crate) signers: Option<Signers>,
}

/// Where the records of a fabric file are: `pod.toml` has `pod.toml.approved.json`.
fn path(fabric: &Path) -> PathBuf {
    let mut name = fabric.as_os_str().to_owned();
    name.push(".approved.json");
    PathBuf::from(name)
}

/// All records of a file; none if there is no file.
fn read(path: &Path) -> Result<Vec<Approval>, Failure> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        _ => {}
    }
    let text = input::read_text(path).map_err(Failure::input)?;
    let records: Vec<Approval> = serde_json::from_str(&text).map_err(|error| {
        Failure::input(format!("`{}` holds no approvals: {error}", path.display()))
    })?;
    if records.len() > MOST_RECORDS {
        return Err(Failure::input(format!(
            "`{}` holds {} approvals, and at most {MOST_RECORDS} are read: keep it elsewhere, and \
             approve the fabric file anew",
            path.display(),
            records.len()
        )));
    }
    Ok(records)
}

/// Checks all signatures, up to the first that shows that the file is refused: a file of forgeries
/// costs no more than one of them.
fn check(records: &[Approval], signers: Option<&Signers>) -> Vec<Check> {
    let good = vec![Check::Good; records.len()];
    let chained = judge(records, &good, Policy::Nobody, now()).broken().next().is_none();
    let mut refused = !chained;
    let mut desk = Desk::open(signers.map(|signers| signers.allowed.as_str()));
    let one = |record: &Approval| {
        if refused {
            return Check::NotChecked("the file is refused".to_owned());
        }
        let check = desk.check(record);
        refused = check == Check::Forged;
        check
    };
    records.iter().map(one).collect()
}

impl Book {
    /// Reads and judges the records of a fabric file.
    pub(crate) fn open(fabric: &Path, approvers: Option<&Path>) -> Result<Self, Failure> {
        let signers = Signers::find(fabric, approvers)?;
        let path = path(fabric);
        let records = read(&path)?;
        let checks = check(&records, signers.as_ref());
        let policy = signers.as_ref().map_or(Policy::Nobody, Signers::policy);
        let judgement = judge(&records, &checks, policy, now());
        Ok(Self { path, records, checks, judgement, signers })
    }

    /// Whether the file still has the records that were read.
    pub(super) fn is_current(&self) -> bool {
        read(&self.path).is_ok_and(|records| records == self.records)
    }

    /// Whether nothing was approved, and nothing says that it has to be.
    pub(crate) fn is_absent(&self) -> bool {
        self.records.is_empty() && self.signers.is_none()
    }

    /// The record of the intent that is in force.
    pub(crate) fn in_force(&self) -> Option<&Approval> {
        self.records.get(self.judgement.in_force.as_ref()?.index)
    }

    /// Whether a record is signed, in words.
    pub(crate) fn signed(&self, index: usize) -> &'static str {
        let signed = self.records.get(index).is_some_and(|record| record.signature.is_some());
        match self.checks.get(index) {
            _ if !signed => "unsigned",
            Some(Check::NotChecked(_)) => "signed, not checked",
            _ if self.signers.is_none() => "signed, by a key that nobody vouches for",
            Some(Check::NotAllowed(_)) => "signed, by a key that is not allowed",
            Some(Check::Forged) => "signature does not hold",
            _ => "signed",
        }
    }

    /// A record by its number, name and date.
    pub(crate) fn label(&self, index: usize) -> String {
        match self.records.get(index) {
            Some(record) => format!("record {} ({}, {})", index + 1, record.who, record.when),
            None => format!("record {}", index + 1),
        }
    }

    /// Why the file is refused.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let path = self.path.display();
        let refusal = |(index, breaks): (usize, &[xoff_config::approval::Break])| {
            let why: Vec<String> = breaks.iter().map(ToString::to_string).collect();
            format!("`{path}` is refused: {}: {}", self.label(index), why.join("; "))
        };
        self.judgement.broken().map(refusal).collect()
    }

    /// What else has to be said: records that do not count, signatures that were not checked.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let unchecked = self.checks.iter().find_map(|check| match check {
            Check::NotChecked(why) => Some(format!("signatures were not checked: {why}")),
            _ => None,
        });
        let left_out = self
            .judgement
            .left_out()
            .map(|(index, reason)| format!("{} does not count: {reason}", self.label(index)));
        unchecked.into_iter().chain(left_out).collect()
    }
}

/// The time of day in UTC.
#[allow(clippy::disallowed_methods, reason = "an approval has a date; no result depends on it")]
pub(super) fn now() -> Date {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    Date::from_unix(since.map_or(0, |since| since.as_secs()))
}
