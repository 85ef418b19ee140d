//! What is wrong, and since when.

use super::Since;
use crate::clean;
use xoff_diagnose::fabric::{Cause, Confidence, Finding};

/// Something that is wrong in the window.
#[derive(Debug, Clone)]
pub struct Active {
    /// What.
    pub cause: Cause,
    /// Where.
    pub place: String,
    /// How sure.
    pub confidence: Confidence,
    /// Since when.
    pub since: Since,
    /// The counters that say so.
    pub evidence: Vec<String>,
}

impl Active {
    pub(super) fn new((finding, since): (&Finding, Since)) -> Self {
        Self {
            cause: finding.cause,
            place: clean(&finding.place),
            confidence: finding.confidence,
            since,
            evidence: finding.evidence.iter().map(|text| clean(text)).collect(),
        }
    }
}
