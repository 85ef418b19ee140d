//! Who approved the fabric file, and what is not as it was approved.

use super::super::config::approve::Book;
use super::Args;
use crate::exit::{Exit, Failure, Level, say};
use crate::output::number::counted;
use crate::output::printable;
use crate::output::style::Style;
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use xoff_config::approval::{Drift, drift, intent_hash};
use xoff_config::{Device, Difference};

/// Settings of a device that are named.
const MOST_SETTINGS: usize = 8;

/// The approvals of the fabric file, and what is not as it was approved.
pub(super) struct Approved {
    book: Book,
    /// Whether the fabric file, and the way flows are spread, are the approved ones.
    same_file: bool,
    /// Devices that are not as it was approved.
    drift: Vec<Drift>,
}

/// The approvals, if there is a fabric file and anything says who approved it or has to.
pub(super) fn of(args: &Args, devices: &[Device]) -> Result<Option<Approved>, Failure> {
    let Some(path) = &args.fabric else { return Ok(None) };
    let book = Book::open(path, args.approvers.as_deref())?;
    if book.is_absent() {
        return Ok(None);
    }
    let Some(record) = book.in_force() else {
        return Ok(Some(Approved { book, same_file: false, drift: Vec::new() }));
    };
    let Some(intent) = record.approved(devices) else {
        return Err(Failure::input(format!(
            "`{}`: the fabric that {} approved cannot be read by this version: approve it again",
            book.path.display(),
            record.who
        )));
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    let same_file = intent_hash(&text, args.balancing) == record.intent;
    Ok(Some(Approved { drift: drift(&intent, devices), same_file, book }))
}

impl Approved {
    /// How the audit ends: as its findings want, or worse. What a pipeline has to know stands on
    /// standard error too, since SARIF has no place for it.
    pub(super) fn exit(&self, found: Exit) -> Exit {
        let refusals = self.book.refusals();
        for refusal in &refusals {
            say(Level::Error, refusal);
        }
        if !refusals.is_empty() {
            return Exit::BadInput;
        }
        for remark in self.book.remarks() {
            say(Level::Warning, &remark);
        }
        if let Some(in_force) = &self.book.judgement.in_force {
            let (label, signed) =
                (self.book.label(in_force.index), self.book.signed(in_force.index));
            if signed != "signed" {
                say(Level::Warning, &format!("{label} is {signed}"));
            }
        }
        let mut troubles = Vec::new();
        if self.book.in_force().is_none() {
            troubles.push("no approval of the fabric file is in force".to_owned());
        } else if !self.same_file {
            troubles.push("the fabric file is not the approved one".to_owned());
        }
        if !self.drift.is_empty() {
            let devices = counted(self.drift.len() as u64, "device", "devices");
            troubles.push(format!("{devices} drifted from what was approved"));
        }
        for trouble in &troubles {
            say(Level::Error, trouble);
        }
        let left_out = self.book.judgement.left_out().next().is_some();
        if troubles.is_empty() && !left_out { found } else { Exit::BrokeARule }
    }
}

/// A difference from what was approved, in words.
fn difference(difference: &Difference) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!(
        "{}: {} was approved, {} is there",
        difference.about,
        value(&difference.left),
        value(&difference.right)
    )
}

/// The approval as people read it.
pub(super) fn show(approved: &Approved, style: Style) -> String {
    let mut text = String::new();
    let book = &approved.book;
    match (book.in_force(), &book.judgement.in_force) {
        (Some(record), Some(in_force)) => {
            let _ = writeln!(
                text,
                "approved by {} at {} (intent {}, {}){}",
                style.bold(&printable(&in_force.who.join(", "))),
                printable(&record.when),
                record.intent.get(..12).unwrap_or(&record.intent),
                book.signed(in_force.index),
                if approved.same_file { "" } else { "; the fabric file is not the approved one" }
            );
        }
        _ => {
            let _ = writeln!(text, "no approval of the fabric file is in force");
        }
    }
    for drift in &approved.drift {
        let _ = writeln!(
            text,
            "  {} drifted in {} settings",
            style.bold(&printable(&drift.device)),
            drift.changed.len()
        );
        for change in drift.changed.iter().take(MOST_SETTINGS) {
            let _ = writeln!(text, "    {}", printable(&difference(change)));
        }
        if drift.changed.len() > MOST_SETTINGS {
            let _ = writeln!(text, "    …");
        }
    }
    text
}

/// The approval for machines.
#[derive(Debug, Serialize)]
pub(super) struct Entry<'a> {
    /// Of the record in force.
    who: Option<&'a str>,
    /// All who approved the intent that is in force.
    approved_by: &'a [String],
    role: Option<&'a str>,
    when: Option<&'a str>,
    intent: Option<&'a str>,
    signature: Option<&'static str>,
    same_file: bool,
    drifted: Vec<DriftEntry<'a>>,
    /// Why the file of approvals is refused.
    refused: Vec<String>,
    /// Records that do not count, signatures that were not checked.
    remarks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DriftEntry<'a> {
    device: &'a str,
    changed: Vec<String>,
}

impl<'a> Entry<'a> {
    pub(super) fn of(approved: &'a Approved) -> Self {
        let entry = |drift: &'a Drift| DriftEntry {
            device: &drift.device,
            changed: drift.changed.iter().map(difference).collect(),
        };
        let book = &approved.book;
        let record = book.in_force();
        let in_force = book.judgement.in_force.as_ref();
        Self {
            who: record.map(|record| record.who.as_str()),
            approved_by: in_force.map_or(&[], |in_force| &in_force.who),
            role: record.and_then(|record| record.role.as_deref()),
            when: record.map(|record| record.when.as_str()),
            intent: record.map(|record| record.intent.as_str()),
            signature: in_force.map(|in_force| book.signed(in_force.index)),
            same_file: approved.same_file,
            drifted: approved.drift.iter().map(entry).collect(),
            refused: book.refusals(),
            remarks: book.remarks(),
        }
    }
}
