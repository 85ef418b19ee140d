//! [`Validation`]: all checks of a fabric together, with scores and a verdict.

use crate::advice::Advice;
use crate::check::{Aspect, Check};
use crate::phase::Phase;
use crate::suite::Curtailment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use xoff_report::{Verdict, counted};

/// A fabric, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    /// The fabric file's name.
    pub fabric: String,
    /// Hash of its text.
    pub fabric_sha256: String,
    /// Version of xoff.
    pub version: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Whether the experiments were the small ones.
    pub quick: bool,
    /// The worst of all checks.
    pub verdict: Verdict,
    /// 0 to 100: the mean quality of the checks, less something for each that does not pass. Never above 60 with a
    /// failure, nor above 80 with a warning that the verdict hangs on.
    pub score: u32,
    /// Whether it is lossless, what a job gets, and what failures cost.
    pub aspects: Vec<AspectResult>,
    /// Phase by phase.
    pub phases: Vec<PhaseResult>,
    /// Every check, in the order of the phases.
    pub checks: Vec<Check>,
    /// Proposed changes, the most effective first.
    pub changes: Vec<Proposal>,
    /// What a budget took away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curtailment: Option<Curtailment>,
}

/// A phase, judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseResult {
    /// Which.
    pub phase: Phase,
    /// The worst of its checks.
    pub verdict: Verdict,
    /// 0 to 100.
    pub score: u32,
    /// Checks that passed, that warn and that failed.
    pub counts: [u32; 3],
}

/// One of the three answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AspectResult {
    /// Which.
    pub aspect: Aspect,
    /// The worst of its checks.
    pub verdict: Verdict,
    /// The answer, in one sentence.
    pub answer: String,
    /// Whether experiments were made that answer it; otherwise only settings were looked at.
    pub measured: bool,
}

/// A proposed change and its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// What to change.
    pub advice: Advice,
    /// Checks that advise it.
    pub checks: Vec<String>,
    /// Its effect, if it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

/// What a change did when it was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The score with the change, on top of those before it in the list.
    pub score: u32,
    /// The score before it.
    pub before: u32,
    /// Checks that are better with it, before and after.
    pub better: Vec<Turn>,
    /// Checks that are worse with it.
    pub worse: Vec<Turn>,
}

/// A check before and after a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The check.
    pub check: String,
    /// Its verdicts.
    pub verdicts: (Verdict, Verdict),
    /// What was measured.
    pub measured: (String, String),
}

/// What a validation is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The fabric file's name.
    pub fabric: String,
    /// Hash of its text.
    pub fabric_sha256: String,
    /// Version of xoff.
    pub version: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Whether the experiments were the small ones.
    pub quick: bool,
}

impl Validation {
    /// Judges a fabric by its checks.
    ///
    /// `answers` are the sentences of the three aspects; without one it says that
    /// nothing was measured, or what its worst check has seen.
    pub fn new(subject: Subject, checks: Vec<Check>, answers: &BTreeMap<Aspect, String>) -> Self {
        let phases: Vec<PhaseResult> =
            Phase::ALL.into_iter().filter_map(|phase| PhaseResult::of(phase, &checks)).collect();
        let worst = Verdict::worst(checks.iter().map(|check| check.verdict));
        let Subject { fabric, fabric_sha256, version, seed, quick } = subject;
        Self {
            fabric,
            fabric_sha256,
            version,
            seed,
            quick,
            verdict: worst.unwrap_or(Verdict::Pass),
            score: score(&checks),
            aspects: aspects(&checks, answers),
            changes: proposals(&checks),
            curtailment: None,
            phases,
            checks,
        }
    }
}

impl PhaseResult {
    fn of(phase: Phase, checks: &[Check]) -> Option<Self> {
        let own = || checks.iter().filter(|check| check.phase == phase);
        let verdict = Verdict::worst(own().map(|check| check.verdict))?;
        let mut counts = [0; 3];
        for check in own() {
            counts[check.verdict as usize] += 1;
        }
        Some(Self { phase, verdict, score: score(own()), counts })
    }
}

/// What each check that warns or fails takes away, beside its quality.
const WARNED: f64 = 2.0;
const FAILED: f64 = 6.0;
/// No more than this with a failure, a warning that the verdict hangs on, or any warning.
const CAPS: [f64; 3] = [60.0, 80.0, 95.0];

fn score<'a>(checks: impl IntoIterator<Item = &'a Check>) -> u32 {
    let (mut sum, mut weights, mut taken, mut cap) = (0.0, 0.0, 0.0, 100.0f64);
    for check in checks {
        let weight = if check.headline { 3.0 } else { 1.0 };
        sum += weight * check.quality;
        weights += weight;
        (taken, cap) = match check.verdict {
            Verdict::Pass => (taken, cap),
            Verdict::Warn if check.headline => (taken + WARNED, cap.min(CAPS[1])),
            Verdict::Warn => (taken + WARNED, cap.min(CAPS[2])),
            Verdict::Fail => (taken + FAILED, cap.min(CAPS[0])),
        };
    }
    if weights == 0.0 {
        return 0;
    }
    // What is taken away also lowers a score that its cap holds: worse is never the same.
    let open = (100.0 * sum / weights - taken).clamp(0.0, 100.0);
    (open * cap / 100.0).round() as u32
}

fn aspects(checks: &[Check], answers: &BTreeMap<Aspect, String>) -> Vec<AspectResult> {
    let one = |aspect: Aspect| {
        let own = || checks.iter().filter(move |check| check.aspect == aspect);
        let worst = own().max_by_key(|check| (check.verdict, check.headline))?;
        let measured = answers.contains_key(&aspect);
        let unmeasured = || match worst.verdict {
            Verdict::Pass => format!(
                "not measured; {} of it pass",
                counted(own().count() as u64, "check", "checks")
            ),
            _ => format!("{}: {}", worst.heading(), worst.measured),
        };
        let answer = answers.get(&aspect).cloned().unwrap_or_else(unmeasured);
        Some(AspectResult { aspect, verdict: worst.verdict, answer, measured })
    };
    Aspect::ALL.into_iter().filter_map(one).collect()
}

/// The advice of checks that did not pass, without duplicates, failures first.
fn proposals(checks: &[Check]) -> Vec<Proposal> {
    let mut all: Vec<Proposal> = Vec::new();
    let mut asking: Vec<&Check> = checks.iter().filter(|check| check.advice.is_some()).collect();
    asking.sort_by_key(|check| std::cmp::Reverse(check.verdict));
    for check in asking {
        let Some(advice) = &check.advice else { continue };
        match all.iter_mut().find(|proposal| proposal.advice == *advice) {
            Some(known) => known.checks.push(check.id.clone()),
            None => all.push(Proposal {
                advice: advice.clone(),
                checks: vec![check.id.clone()],
                effect: None,
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject() -> Subject {
        Subject {
            fabric: "pod.toml".into(),
            fabric_sha256: "00".into(),
            version: "0".into(),
            seed: 1,
            quick: true,
        }
    }

    fn check(phase: Phase, name: &str, verdict: Verdict) -> Check {
        Check::new(phase, name, name).verdict(verdict)
    }

    #[test]
    fn scores_are_capped_and_the_verdict_is_the_worst() {
        let checks = vec![
            check(Phase::Laboratory, "a", Verdict::Pass),
            check(Phase::Laboratory, "b", Verdict::Warn),
            check(Phase::Baseline, "c", Verdict::Fail),
        ];
        let validation = Validation::new(subject(), checks, &BTreeMap::new());
        assert_eq!(validation.verdict, Verdict::Fail);
        let scores: Vec<u32> = validation.phases.iter().map(|phase| phase.score).collect();
        assert_eq!(scores, [74, 8]);
        assert!(validation.score <= 60, "{}", validation.score);
        assert_eq!(validation.phases[0].counts, [1, 1, 0]);
    }

    #[test]
    fn the_same_advice_is_proposed_once_and_failures_come_first() {
        let pfc = Advice::change("pfc", "[pfc]\nenabled = true");
        let dog = Advice::change("dog", "[switch.watchdog]\nenabled = true");
        let warn = check(Phase::Laboratory, "w", Verdict::Warn).advise(Some(dog.clone()));
        let fail = check(Phase::Laboratory, "f", Verdict::Fail).advise(Some(pfc.clone()));
        let again = check(Phase::Synthetic, "g", Verdict::Fail).advise(Some(pfc.clone()));
        let passed = check(Phase::Synthetic, "p", Verdict::Pass).advise(Some(dog.clone()));
        let validation =
            Validation::new(subject(), vec![warn, fail, again, passed], &BTreeMap::new());
        let asked: Vec<(&str, usize)> = validation
            .changes
            .iter()
            .map(|proposal| (proposal.advice.text.as_str(), proposal.checks.len()))
            .collect();
        assert_eq!(asked, [("pfc", 2), ("dog", 1)]);
    }
}
