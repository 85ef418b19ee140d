//! Who approved the fabric file, and what is not as it was approved.

use super::super::config::approve;
use super::Args;
use crate::exit::Failure;
use crate::output::printable;
use crate::output::style::Style;
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use xoff_config::approval::{Approval, Drift, drift, intent_hash};
use xoff_config::{Device, Difference};

/// Settings of a device that are named.
const MOST_SETTINGS: usize = 8;

/// The last approval of the fabric file, and what is not as it was approved.
pub(super) struct Approved {
    approval: Approval,
    /// Whether the fabric file is still the approved one.
    same_file: bool,
    drift: Vec<Drift>,
}

/// The last approval, if there is a fabric file that was approved.
pub(super) fn of(args: &Args, devices: &[Device]) -> Result<Option<Approved>, Failure> {
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
    let approval = &approved.approval;
    let _ = writeln!(
        text,
        "approved by {} at {} (intent {}){}",
        style.bold(&printable(&approval.who)),
        printable(&approval.when),
        approval.intent.get(..12).unwrap_or(&approval.intent),
        if approved.same_file { "" } else { "; the fabric file has changed since" }
    );
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

impl<'a> Entry<'a> {
    pub(super) fn of(approved: &'a Approved) -> Self {
        let entry = |drift: &'a Drift| DriftEntry {
            device: &drift.device,
            changed: drift.changed.iter().map(difference).collect(),
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
