//! [`seek`]: tries what checks advise, keeps what helps, and makes the advised fabric of it.
//!
//! Candidates come from the judges. One after the other is laid over the fabric as changed so far, the experiments of the
//! checks that ask for it are made again, and it stays only if one of those checks is better for it, the score does not fall
//! and nothing that the verdict hangs on is worse. At the end every experiment is made with all that stayed, and what
//! turns out to do harm goes again, the last first. So whatever is advised was measured, nothing is advised twice, and the
//! score of the advised fabric is the one that it gets when it is validated.

use crate::advice::Advice;
use crate::check::Check;
use crate::experiment::Experiment;
use crate::measure::Measurement;
use crate::validation::{Effect, Proposal, Turn, Validation};
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_report::Verdict;

/// What experiments measured, and why some were not made.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// What they measured, by their names.
    pub measured: BTreeMap<String, Measurement>,
    /// Experiments that could not be run, and why.
    pub refused: BTreeMap<String, String>,
}

impl Results {
    /// What each experiment took, in packet-hops.
    fn costs(&self) -> BTreeMap<String, u64> {
        let cost = |(id, measured): (&String, &Measurement)| (id.clone(), measured.packet_hops);
        self.measured.iter().map(cost).collect()
    }
}

/// A fabric with everything that is advised.
#[derive(Debug, Clone, PartialEq)]
pub struct Advised {
    /// Its file.
    pub text: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Its score.
    pub score: u32,
    /// Checks that still do not pass.
    pub remaining: Vec<String>,
    /// Whether every experiment was made with it; if not, there was no room in the budget, and checks whose experiments
    /// were not made again are as they were.
    pub whole: bool,
}

/// Runs experiments on the fabric that a text describes.
pub type Run<'a, E> = dyn FnMut(&str, &[Experiment]) -> Result<Results, E> + 'a;

/// How a trial is made.
pub struct Bench<'a, E> {
    /// Runs experiments on the fabric that a text describes.
    pub run: &'a mut Run<'a, E>,
    /// Judges a fabric by its text and what was measured.
    pub assess: &'a dyn Fn(&FabricSetup, &str, &Results) -> Validation,
    /// Candidates that are tried at most.
    pub most: usize,
    /// Packet-hops that trials may take, by what their experiments took in the validation; never more than that took.
    pub hops: u64,
    /// Whether every experiment is made again with all that stayed. Without that the score of the advised fabric is that of
    /// the experiments that were.
    pub confirms: bool,
}

/// A check is better with this much more quality, even if its verdict is the same.
const BETTER: f64 = 0.04;

/// Tries the candidates of a validation's checks. What helps becomes its changes, with what it did; what does not is
/// dropped from the advice of every check.
pub fn seek<E>(
    validation: &mut Validation,
    text: &str,
    experiments: &[Experiment],
    before: &Results,
    bench: &mut Bench<'_, E>,
) -> Result<Option<Advised>, E> {
    let mut state = State {
        text: text.to_owned(),
        results: before.clone(),
        now: validation.clone(),
        stale: BTreeSet::new(),
        kept: Vec::new(),
        costs: before.costs(),
        hops: 0,
    };
    let limit = state.costs.values().sum();
    for advice in candidates(validation).into_iter().take(bench.most) {
        // Trials make no more experiments than the validation itself, by what those took there: a fabric that hardly moves
        // packets would leave nothing for trials that let it move them.
        if state.hops > limit {
            break;
        }
        state.attempt(&advice, experiments, bench)?;
    }
    let whole = bench.confirms && state.confirm(text, validation, experiments, bench)?;
    let State { text: advised, now, kept, .. } = state;
    conclude(validation, &kept);
    if kept.is_empty() {
        return Ok(None);
    }
    let unhappy = now.checks.iter().filter(|check| check.verdict != Verdict::Pass);
    Ok(Some(Advised {
        text: advised,
        verdict: now.verdict,
        score: now.score,
        remaining: unhappy.map(|check| check.id.clone()).collect(),
        whole,
    }))
}

/// A file of which no fabric could be built, with what its checks advise, as far as that makes a fabric of it.
pub fn cure(validation: &Validation, text: &str) -> Option<Advised> {
    let mut cured = text.to_owned();
    for advice in candidates(validation) {
        cured = advice.apply(&cured)?;
    }
    load_fabric(&cured).value?;
    // Nothing has been measured of it.
    let (verdict, remaining) = (Verdict::Warn, vec!["everything but the file's rules".to_owned()]);
    Some(Advised { text: cured, verdict, score: 0, remaining, whole: false })
}

/// What checks that did not pass propose, without duplicates: of failing checks first, the likeliest of each first.
fn candidates(validation: &Validation) -> Vec<Advice> {
    let mut unhappy: Vec<&Check> =
        validation.checks.iter().filter(|check| check.verdict != Verdict::Pass).collect();
    unhappy.sort_by_key(|check| std::cmp::Reverse((check.verdict, check.headline)));
    let mut all: Vec<Advice> = Vec::new();
    let deepest = unhappy.iter().map(|check| check.candidates.len()).max().unwrap_or(0);
    for rank in 0..deepest {
        for advice in unhappy.iter().filter_map(|check| check.candidates.get(rank)) {
            if !advice.is_words() && !all.contains(advice) {
                all.push(advice.clone());
            }
        }
    }
    all
}

/// The fabric as changed so far.
struct State {
    text: String,
    results: Results,
    now: Validation,
    /// Experiments that were not made again since the text changed.
    stale: BTreeSet<String>,
    kept: Vec<Proposal>,
    /// What each experiment took in the validation, and what trials cost by that.
    costs: BTreeMap<String, u64>,
    hops: u64,
}

impl State {
    /// What these experiments took in the validation.
    fn cost(&self, experiments: &[Experiment]) -> u64 {
        experiments.iter().filter_map(|one| self.costs.get(&one.id)).sum()
    }

    fn attempt<E>(
        &mut self,
        advice: &Advice,
        experiments: &[Experiment],
        bench: &mut Bench<'_, E>,
    ) -> Result<(), E> {
        let asks =
            |check: &&Check| check.verdict != Verdict::Pass && check.candidates.contains(advice);
        let asking: Vec<Check> = self.now.checks.iter().filter(asks).cloned().collect();
        if asking.is_empty() || !advice.changes(&self.text) {
            return Ok(());
        }
        let Some(text) = advice.apply(&self.text) else { return Ok(()) };
        let Some(setup) = load_fabric(&text).value else { return Ok(()) };
        let names: BTreeSet<&String> = asking.iter().flat_map(|check| &check.experiments).collect();
        let again: Vec<Experiment> =
            experiments.iter().filter(|one| names.contains(&one.id)).cloned().collect();
        // What a budget has no room for is not tried.
        if self.hops.saturating_add(self.cost(&again)) > bench.hops {
            return Ok(());
        }
        let mut results = self.results.clone();
        self.hops += self.cost(&again);
        measure(bench, &text, &again, &mut results)?;
        let mut after = (bench.assess)(&setup, &text, &results);
        let helps = |effect: &Effect| {
            effect.better.iter().any(|turn| asking.iter().any(|check| check.id == turn.check))
        };
        let tried = effect(&self.now, &after);
        if !helps(&tried) || !gains(&tried) || harms(&self.now, &after) {
            return Ok(());
        }
        // It stays. What else does not pass may do so now.
        let unhappy = after.checks.iter().filter(|check| check.verdict != Verdict::Pass);
        let names: BTreeSet<&String> = unhappy.flat_map(|check| &check.experiments).collect();
        let made = |one: &&Experiment| again.iter().any(|made| made.id == one.id);
        let rest = experiments.iter().filter(|one| names.contains(&one.id) && !made(one));
        let rest: Vec<Experiment> = rest.cloned().collect();
        self.hops += self.cost(&rest);
        measure(bench, &text, &rest, &mut results)?;
        after = (bench.assess)(&setup, &text, &results);
        if ruins(&self.now, &after) {
            return Ok(());
        }
        self.stale = experiments.iter().map(|one| one.id.clone()).collect();
        for made in again.iter().chain(&rest) {
            self.stale.remove(&made.id);
        }
        let effect = effect(&self.now, &after);
        let checks = effect.better.iter().map(|turn| turn.check.clone()).collect();
        self.kept.push(Proposal { advice: advice.clone(), checks, effect: Some(effect) });
        (self.text, self.results, self.now) = (text, results, after);
        Ok(())
    }
}

impl State {
    /// Makes the experiments again that were not made since the last change, and takes changes back, the last first, until
    /// the fabric is no worse than it was. Whether there was room for that.
    fn confirm<E>(
        &mut self,
        original: &str,
        before: &Validation,
        experiments: &[Experiment],
        bench: &mut Bench<'_, E>,
    ) -> Result<bool, E> {
        let all_kept = self.kept.len();
        while !self.kept.is_empty() {
            let missing = experiments.iter().filter(|one| self.stale.contains(&one.id));
            let missing: Vec<Experiment> = missing.cloned().collect();
            let cost = self.cost(&missing);
            let Some(setup) = load_fabric(&self.text).value else { return Ok(false) };
            if self.hops.saturating_add(cost) > bench.hops {
                // What is known of a fabric with fewer changes is of one that did harm.
                if self.kept.len() < all_kept {
                    self.kept.clear();
                }
                return Ok(false);
            }
            self.hops += cost;
            measure(bench, &self.text, &missing, &mut self.results)?;
            self.now = (bench.assess)(&setup, &self.text, &self.results);
            let all = effect(before, &self.now);
            if gains(&all) && !ruins(before, &self.now) {
                self.tell(before);
                return Ok(true);
            }
            self.kept.pop();
            let mut kept = self.kept.iter().map(|proposal| &proposal.advice);
            let text = kept.try_fold(original.to_owned(), |text, advice| advice.apply(&text));
            let Some(text) = text else { return Ok(false) };
            self.text = text;
            self.stale = experiments.iter().map(|one| one.id.clone()).collect();
        }
        Ok(true)
    }

    /// The last change has what all experiments say; what it was said to better and does not is not said.
    fn tell(&mut self, before: &Validation) {
        let now = &self.now;
        let verdict = |id: &str| now.checks.iter().find(|check| check.id == id);
        for proposal in &mut self.kept {
            let Some(effect) = &mut proposal.effect else { continue };
            effect.better.retain(|turn| {
                let (is, was) =
                    (verdict(&turn.check), before.checks.iter().find(|c| c.id == turn.check));
                is.zip(was).is_some_and(|(is, was)| is.verdict <= was.verdict)
            });
            proposal.checks.retain(|id| effect.better.iter().any(|turn| turn.check == *id));
        }
        if let Some(effect) = self.kept.last_mut().and_then(|last| last.effect.as_mut()) {
            effect.score = now.score;
        }
    }
}

/// Whether a change is worth its trouble: the score is not lower, and it is higher or a verdict has turned.
fn gains(effect: &Effect) -> bool {
    let turned = effect.better.iter().any(|turn| turn.verdicts.1 < turn.verdicts.0);
    effect.score > effect.before || effect.score == effect.before && turned
}

/// Makes experiments and lays what they measured over what is known.
fn measure<E>(
    bench: &mut Bench<'_, E>,
    text: &str,
    experiments: &[Experiment],
    results: &mut Results,
) -> Result<(), E> {
    if experiments.is_empty() {
        return Ok(());
    }
    let fresh = (bench.run)(text, experiments)?;
    for id in fresh.measured.keys() {
        results.refused.remove(id);
    }
    results.measured.extend(fresh.measured);
    results.refused.extend(fresh.refused);
    Ok(())
}

/// Whether a check that the verdict hangs on has a worse verdict, or is as bad and clearly worse.
fn harms(before: &Validation, after: &Validation) -> bool {
    pairs(before, after).any(|(was, is)| {
        let turned = is.verdict > was.verdict && (was.headline || is.verdict == Verdict::Fail);
        let sank = was.headline && is.verdict != Verdict::Pass && is.quality < was.quality - BETTER;
        turned || sank && is.verdict >= was.verdict
    })
}

/// Whether a check fails that did not fail before.
fn ruins(before: &Validation, after: &Validation) -> bool {
    let fails = |check: &Check| check.verdict == Verdict::Fail;
    pairs(before, after).any(|(was, is)| fails(is) && !fails(was))
}

fn pairs<'a>(
    before: &'a Validation,
    after: &'a Validation,
) -> impl Iterator<Item = (&'a Check, &'a Check)> {
    before
        .checks
        .iter()
        .filter_map(|was| Some((was, after.checks.iter().find(|is| is.id == was.id)?)))
}

/// What changed from one validation to another.
fn effect(before: &Validation, after: &Validation) -> Effect {
    let (mut better, mut worse) = (Vec::new(), Vec::new());
    for (was, is) in pairs(before, after) {
        let turn = || Turn {
            check: was.id.clone(),
            verdicts: (was.verdict, is.verdict),
            measured: (was.measured.clone(), is.measured.clone()),
        };
        match () {
            () if is.verdict < was.verdict => better.push(turn()),
            () if is.verdict > was.verdict => worse.push(turn()),
            () if was.verdict == Verdict::Pass => {}
            () if is.quality >= was.quality + BETTER => better.push(turn()),
            () if is.quality <= was.quality - BETTER => worse.push(turn()),
            () => {}
        }
    }
    Effect { score: after.score, before: before.score, better, worse }
}

/// Leaves the advice of every check that was kept, and what can only be said.
fn conclude(validation: &mut Validation, kept: &[Proposal]) {
    for check in &mut validation.checks {
        let helped = kept.iter().find(|proposal| {
            let effect = proposal.effect.as_ref();
            effect.is_some_and(|effect| effect.better.iter().any(|turn| turn.check == check.id))
        });
        let said = check.candidates.iter().find(|advice| advice.is_words());
        check.advice = helped.map(|proposal| &proposal.advice).or(said).cloned();
    }
    let mut changes = kept.to_vec();
    for check in validation.checks.iter().filter(|check| check.verdict != Verdict::Pass) {
        let Some(advice) = check.advice.as_ref().filter(|advice| advice.is_words()) else {
            continue;
        };
        match changes.iter_mut().find(|known| known.advice == *advice) {
            Some(known) => known.checks.push(check.id.clone()),
            None => changes.push(Proposal {
                advice: advice.clone(),
                checks: vec![check.id.clone()],
                effect: None,
            }),
        }
    }
    validation.changes = changes;
}
