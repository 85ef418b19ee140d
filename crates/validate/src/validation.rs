//! [`Validation`]: all checks of a fabric together, with scores and a verdict.

use crate::check::{Advice, Check};
use crate::phase::Phase;
use serde::{Deserialize, Serialize};
use xoff_report::Verdict;

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
    /// 0 to 100: the mean of the phases.
    pub score: u32,
    /// Phase by phase.
    pub phases: Vec<PhaseResult>,
    /// Every check, in the order of the phases.
    pub checks: Vec<Check>,
    /// Proposed changes, the most effective first.
    pub changes: Vec<Proposal>,
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
    /// The score with the change.
    pub score: u32,
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
    pub fn new(subject: Subject, checks: Vec<Check>) -> Self {
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
            score: mean(phases.iter().map(|phase| phase.score)),
            changes: proposals(&checks),
            phases,
            checks,
        }
    }

    /// What changed from this validation to one with a change.
    pub fn effect(&self, after: &Validation) -> Effect {
        let (mut better, mut worse) = (Vec::new(), Vec::new());
        for was in &self.checks {
            let Some(is) = after.checks.iter().find(|check| check.id == was.id) else { continue };
            let turn = || Turn {
                check: was.id.clone(),
                verdicts: (was.verdict, is.verdict),
                measured: (was.measured.clone(), is.measured.clone()),
            };
            match is.verdict.cmp(&was.verdict) {
                std::cmp::Ordering::Less => better.push(turn()),
                std::cmp::Ordering::Greater => worse.push(turn()),
                std::cmp::Ordering::Equal => {}
            }
        }
        Effect { score: after.score, better, worse }
    }

    /// Orders the proposed changes by their effect.
    pub fn order_changes(&mut self) {
        let gain = |proposal: &Proposal| {
            let effect = proposal.effect.as_ref();
            let better = effect.map_or(0, |effect| effect.better.len());
            (effect.map(|effect| effect.score), better, proposal.checks.len())
        };
        self.changes.sort_by_key(|proposal| std::cmp::Reverse(gain(proposal)));
    }

    /// All changes that failing checks advise, together.
    pub fn remedy(&self) -> toml::Table {
        let failed = self.checks.iter().filter(|check| check.verdict == Verdict::Fail);
        let mut all = toml::Table::new();
        for advice in failed.filter_map(|check| check.advice.as_ref()) {
            crate::check::overlay(&mut all, &advice.change);
        }
        all
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
        let score = mean(own().map(|check| match check.verdict {
            Verdict::Pass => 100,
            Verdict::Warn => 50,
            Verdict::Fail => 0,
        }));
        Some(Self { phase, verdict, score, counts })
    }
}

fn mean(values: impl Iterator<Item = u32>) -> u32 {
    let (mut sum, mut count) = (0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    if count == 0 { 0 } else { (2 * sum + count) / (2 * count) }
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
    fn scores_are_means_and_the_verdict_is_the_worst() {
        let checks = vec![
            check(Phase::Laboratory, "a", Verdict::Pass),
            check(Phase::Laboratory, "b", Verdict::Warn),
            check(Phase::Baseline, "c", Verdict::Fail),
        ];
        let validation = Validation::new(subject(), checks);
        assert_eq!(validation.verdict, Verdict::Fail);
        let scores: Vec<u32> = validation.phases.iter().map(|phase| phase.score).collect();
        assert_eq!(scores, [75, 0]);
        assert_eq!(validation.score, 38);
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
        let validation = Validation::new(subject(), vec![warn, fail, again, passed]);
        let asked: Vec<(&str, usize)> = validation
            .changes
            .iter()
            .map(|proposal| (proposal.advice.text.as_str(), proposal.checks.len()))
            .collect();
        assert_eq!(asked, [("pfc", 2), ("dog", 1)]);
        assert_eq!(validation.remedy(), pfc.change);
    }

    #[test]
    fn an_effect_lists_what_turned() {
        let before = Validation::new(
            subject(),
            vec![
                check(Phase::Laboratory, "a", Verdict::Fail),
                check(Phase::Laboratory, "b", Verdict::Pass),
            ],
        );
        let after = Validation::new(
            subject(),
            vec![
                check(Phase::Laboratory, "a", Verdict::Pass),
                check(Phase::Laboratory, "b", Verdict::Warn),
            ],
        );
        let effect = before.effect(&after);
        assert_eq!(effect.better[0].check, "laboratory.a");
        assert_eq!(effect.worse[0].check, "laboratory.b");
        assert_eq!(effect.score, 75);
    }
}
