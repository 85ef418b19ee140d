//! Since when something has been wrong.
//!
//! A finding that is new is looked for in shorter and shorter beginnings of the window: it began with the step that the shortest of them
//! ends with. One that goes on keeps its beginning when the window moves past it.

use super::Subject;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use xoff_diagnose::fabric::{Cause, Diagnosis, diagnose};
use xoff_telemetry::recording::Timestamp;

/// Of recordings with more values than this the beginning is not looked for: it would take seconds.
const MOST_VALUES: usize = 1_000_000;
/// Findings whose beginning is looked for.
const MOST_FINDINGS: usize = 8;

/// Since when something has been wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// Since this step began.
    At(Timestamp),
    /// Since then at the latest: it was so when the window began, or nobody looked earlier.
    Before(Timestamp),
}

impl Since {
    /// The moment.
    pub const fn moment(self) -> Timestamp {
        match self {
            Since::At(at) | Since::Before(at) => at,
        }
    }
}

type What = (Cause, String);

/// The beginnings of what is wrong now.
#[derive(Debug, Default)]
pub(super) struct Onsets {
    known: BTreeMap<What, Since>,
    /// Where the last window ended: what goes back in time forgets.
    end: Option<Timestamp>,
}

impl Onsets {
    /// Since when each finding of a diagnosis of these steps has been there.
    pub(super) fn of(
        &mut self,
        subject: &Subject<'_>,
        steps: &Range<usize>,
        diagnosis: &Diagnosis,
    ) -> Vec<Since> {
        let all = subject.recording.steps();
        let end = all.begin(steps.end);
        if self.end.is_some_and(|last| end < last) {
            self.known.clear();
        }
        self.end = Some(end);
        let mut probe = Probe { subject, steps: steps.clone(), seen: BTreeMap::new() };
        let small = subject.recording.len().saturating_mul(steps.len()) <= MOST_VALUES;
        let mut list = Vec::new();
        for (number, finding) in diagnosis.findings.iter().enumerate() {
            let what = (finding.cause, finding.place.clone());
            let known = self.known.get(&what).copied();
            let since = known.unwrap_or_else(|| match small && number < MOST_FINDINGS {
                true => probe.onset(&what),
                false => Since::Before(end),
            });
            list.push((what, since));
        }
        self.known = list.iter().cloned().collect();
        list.into_iter().map(|(_, since)| since).collect()
    }
}

/// Diagnoses beginnings of a window, each once.
struct Probe<'a, 'b> {
    subject: &'a Subject<'b>,
    steps: Range<usize>,
    seen: BTreeMap<usize, BTreeSet<What>>,
}

impl Probe<'_, '_> {
    /// The shortest beginning that shows it, by bisection: what is wrong stays wrong as more is known of it.
    fn onset(&mut self, what: &What) -> Since {
        let all = self.subject.recording.steps();
        let (mut without, mut with) = (0, self.steps.len());
        while with > without + 1 {
            let middle = without.midpoint(with);
            if self.shows(middle, what) {
                with = middle;
            } else {
                without = middle;
            }
        }
        match with {
            0 | 1 => Since::Before(all.begin(self.steps.start)),
            with => Since::At(all.begin(self.steps.start + with - 1)),
        }
    }

    fn shows(&mut self, length: usize, what: &What) -> bool {
        let (subject, start) = (self.subject, self.steps.start);
        let seen = self.seen.entry(length).or_insert_with(|| {
            let found = diagnose(&subject.scene(start..start + length)).findings;
            found.into_iter().map(|finding| (finding.cause, finding.place)).collect()
        });
        seen.contains(what)
    }
}
