//! The page of an alert.

use super::record::STEP;
use super::{Alert, Severity};

/// The page of an alert, in Markdown.
pub fn runbook(alert: &Alert) -> String {
    let Alert { name, meaning, look, cure, owner, expression, threshold, .. } = alert;
    format!(
        "# {name}\n\nSeverity: {}. Owner: {owner}. Cause: `{}`.\n\n## What it means\n\n{meaning}\n\n## How urgent it is\n\n\
         {}\n\n## What to look at\n\n{look}\n\n## What to do\n\n{cure}\n\n## When it fires\n\nAfter {} s of\n\n```\n\
         {expression}\n```\n\nwhich is at most {} s after its fault began. Threshold: {threshold}\n",
        alert.severity.word(),
        alert.cause.name(),
        urgency(alert),
        alert.hold,
        alert.stated(),
    )
}

/// How soon somebody has to act, by what training loses.
fn urgency(alert: &Alert) -> String {
    let degraded =
        format!("Degraded training is a job whose steps take a fifth longer: `{STEP}` above 1.2");
    match alert.severity {
        Severity::Critical => format!(
            "Now: a job stops or fails because of it. {degraded}; a job that has stopped reports no steps at all."
        ),
        Severity::Warning => format!(
            "This working day, because training is slower or the next fault is not survived. {degraded}. If a job that \
             uses this place is degraded, treat the alert as critical."
        ),
    }
}
