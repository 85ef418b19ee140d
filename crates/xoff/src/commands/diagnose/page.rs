//! A diagnosis on a terminal.

use crate::output::style::Style;
use crate::output::{printable, wrap};
use std::fmt::Write;
use xoff_diagnose::fabric::{Confidence, Diagnosis, Finding};

/// Findings that are shown.
const MOST: usize = 5;

pub(super) fn render(diagnosis: &Diagnosis, all: bool, width: usize, style: Style) -> String {
    let mut page = String::new();
    let findings = &diagnosis.findings;
    if findings.is_empty() {
        page.push_str(&style.green("Nothing wrong"));
        page.push_str(" is to be seen in these counters.\n");
    }
    // What may only follow from something else is named in one line, unless all is asked for.
    let (own, following): (Vec<&Finding>, Vec<&Finding>) =
        findings.iter().partition(|finding| all || finding.follows.is_none());
    let shown = if all { own.len() } else { own.len().min(MOST) };
    for (number, finding) in own.iter().take(shown).enumerate() {
        one(&mut page, number + 1, finding, width, style);
    }
    if shown < own.len() {
        let _ = writeln!(page, "{} more; --all shows them.", own.len() - shown);
    }
    if !following.is_empty() {
        paragraph(&mut page, &consequences(&following), 0, width);
    }
    if !diagnosis.ruled_out.is_empty() && (all || findings.is_empty()) {
        let names: Vec<&str> = diagnosis.ruled_out.iter().map(|cause| cause.name()).collect();
        paragraph(&mut page, &format!("Ruled out: {}.", names.join(", ")), 0, width);
    }
    for measured in &diagnosis.measured {
        paragraph(&mut page, &format!("Measured: {}.", printable(measured)), 0, width);
    }
    for missing in &diagnosis.missing {
        paragraph(&mut page, &format!("Not known: {}.", missing.what), 0, width);
    }
    page
}

/// What may have followed, in a sentence.
fn consequences(following: &[&Finding]) -> String {
    const SHOWN: usize = 3;
    let name =
        |finding: &&Finding| format!("{} ({})", printable(&finding.place), finding.cause.name());
    let names: Vec<String> = following.iter().take(SHOWN).map(name).collect();
    let more = following.len() - names.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("May follow from it: {}{rest}; --all shows why.", names.join(", "))
}

fn one(page: &mut String, number: usize, finding: &Finding, width: usize, style: Style) {
    let words = finding.cause.words();
    let sure = match finding.confidence {
        Confidence::Certain => style.red(finding.confidence.words()),
        Confidence::Likely => style.yellow(finding.confidence.words()),
        Confidence::Possible => style.dim(finding.confidence.words()),
    };
    let place = style.bold(&printable(&finding.place));
    let _ = writeln!(page, "{number}. {place}: {words} ({sure})");
    for evidence in &finding.evidence {
        paragraph(page, &printable(evidence), 3, width);
    }
    if let Some(place) = &finding.follows {
        paragraph(page, &format!("may follow from {}", printable(place)), 3, width);
    }
}

/// A paragraph, its lines broken where the terminal ends.
fn paragraph(page: &mut String, text: &str, indent: usize, width: usize) {
    for line in wrap(text, width.saturating_sub(indent)) {
        let _ = writeln!(page, "{:indent$}{line}", "");
    }
}
