//! [`within`]: the experiments that fit into a time.
//!
//! What is made is decided before anything runs, from estimated packet-hops and a fixed rate: the same command makes the
//! same experiments on every machine. What is left out or made smaller is in the [`Curtailment`], and said with the verdict.

use super::cost::{Cost, Estimator};
use super::{CROWDED, Choice, UNDISTURBED, suite};
use crate::experiment::Experiment;
use crate::phase::Phase;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use xoff_fabric::model::Fabric;

/// Packet-hops that are simulated in a second on the two cores that budgets are given for. One core alone makes as many
/// of a pod of 256 GPUs; larger fabrics are slower ([`hops_per_second`]).
pub const HOPS_PER_SECOND: u64 = 2_000_000;

/// The same on a fabric of so many NICs, as whole validations were measured (`docs/validate.md`): what does not fit into
/// caches takes longer.
const fn hops_per_second(nics: usize) -> f64 {
    match nics {
        ..=2_048 => HOPS_PER_SECOND as f64,
        _ => 1_700_000.0,
    }
}

/// What a budget took away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Curtailment {
    /// The budget, in seconds on two cores.
    pub budget_s: f64,
    /// What the experiments take that were made, by estimate.
    pub estimate_s: f64,
    /// What all experiments would take.
    pub whole_s: f64,
    /// Packet-hops that are simulated in a second, by which both are reckoned.
    #[serde(default)]
    pub hops_per_second: f64,
    /// Experiments that were left out.
    pub left_out: Vec<String>,
    /// Experiments that were made smaller, as `--quick` makes them.
    pub smaller: Vec<String>,
}

impl Curtailment {
    /// Packet-hops that the experiments leave of the budget, for trials of what might help.
    pub fn hops_left(&self) -> u64 {
        ((self.budget_s - self.estimate_s).max(0.0) * self.hops_per_second) as u64
    }

    /// What was taken away, in words; nothing if all fits.
    pub fn sentence(&self) -> Option<String> {
        let list = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
        };
        let parts = [list("left out", &self.left_out), list("smaller", &self.smaller)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() && self.estimate_s <= self.budget_s {
            return None;
        }
        let left = self.budget_s - self.estimate_s;
        let rest = if left < 0.0 {
            format!("what is left still takes about {:.0} s", self.estimate_s)
        } else {
            format!("trials of what might help have {left:.0} s")
        };
        Some(format!(
            "Budget of {:.0} s, where everything takes about {:.0} s by estimate; {}; {rest}",
            self.budget_s,
            self.whole_s,
            if parts.is_empty() { "nothing left out".to_owned() } else { parts.join("; ") },
        ))
    }
}

/// Experiments with what each takes.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is made, phase by phase.
    pub experiments: Vec<Experiment>,
    /// What each takes.
    pub costs: Vec<Cost>,
    /// What a budget took away, if there is one.
    pub curtailment: Option<Curtailment>,
}

impl Plan {
    /// What all of them take.
    pub fn hops(&self) -> u64 {
        self.costs.iter().map(|cost| cost.hops).sum()
    }
}

/// A way to save time.
enum Saving {
    /// Leaves experiments out.
    Drop(fn(&Experiment) -> bool),
    /// Makes those of a phase as `--quick` does.
    Shrink(Phase),
}

/// What is saved, one after the other until the rest fits: first what only adds certainty, then what other experiments
/// show a part of, last what answers a question of its own. Baseline, permutation, flood and AllReduce always stay.
const SAVINGS: [Saving; 11] = [
    Saving::Drop(|one| one.draw > 0),
    Saving::Drop(|one| ["all-gather", "reduce-scatter"].contains(&one.id.as_str())),
    Saving::Shrink(Phase::Workload),
    Saving::Shrink(Phase::Failures),
    Saving::Drop(|one| CROWDED.contains(&one.id.as_str())),
    Saving::Drop(|one| SECOND_TO_OTHERS.contains(&one.id.as_str())),
    Saving::Drop(|one| SIDE_BY_SIDE.contains(&one.id.as_str())),
    Saving::Drop(|one| one.id == "all-to-all-collective" || one.id == super::ALL_TO_ALL),
    Saving::Drop(|one| one.phase == Phase::Failures),
    Saving::Drop(|one| one.id == "training-step"),
    Saving::Drop(|one| one.id.starts_with("incast-") || one.id == super::VICTIMS),
];

/// Traffic of different owners.
const SIDE_BY_SIDE: [&str; 3] = [super::STORAGE, super::SERVING, super::TENANTS];

/// Failures that another one is much like.
const SECOND_TO_OTHERS: [&str; 6] = [
    "failure-optic-worse",
    "failure-reset",
    "failure-upgrade",
    "failure-step",
    "failure-route",
    "failure-flap",
];

/// The experiments of a choice with what they take; with a budget those that fit into it.
pub fn within(fabric: &Fabric, choice: &Choice, budget: Option<Duration>) -> Plan {
    let mut estimator = Estimator::new(fabric);
    let estimated = |one: Experiment| {
        let cost = estimator.cost(&one);
        (one, cost)
    };
    let all: Vec<Priced> = suite(fabric, choice).into_iter().map(estimated).collect();
    let Some(budget) = budget else { return Plan::of(all, None) };
    let order: Vec<String> = all.iter().map(|(one, _)| one.id.clone()).collect();
    let place = |id: &String| order.iter().position(|other| other == id);
    let rate = hops_per_second(fabric.nics.len());
    let taken = Curtailment {
        budget_s: budget.as_secs_f64(),
        whole_s: seconds(&all, rate),
        hops_per_second: rate,
        ..Curtailment::default()
    };
    let mut rest = Rest { all, dropped: Vec::new(), taken };
    for saving in &SAVINGS {
        if rest.fits() {
            break;
        }
        match saving {
            Saving::Drop(which) => rest.drop_some(*which),
            Saving::Shrink(phase) => rest.shrink(*phase, fabric, choice, &mut estimator),
        }
    }
    rest.bring_back();
    let Rest { mut all, mut taken, .. } = rest;
    all.sort_by_key(|(one, _)| place(&one.id));
    taken.left_out.sort_by_key(place);
    taken.smaller.retain(|id| all.iter().any(|(one, _)| one.id == *id));
    taken.smaller.sort_by_key(place);
    taken.estimate_s = seconds(&all, rate);
    Plan::of(all, Some(taken))
}

/// An experiment with what it takes.
type Priced = (Experiment, Cost);

impl Plan {
    fn of(all: Vec<Priced>, curtailment: Option<Curtailment>) -> Self {
        let (experiments, costs) = all.into_iter().unzip();
        Self { experiments, costs, curtailment }
    }
}

/// What stays while a budget is made to fit.
struct Rest {
    all: Vec<Priced>,
    /// What went, the last of all first to come back.
    dropped: Vec<Priced>,
    taken: Curtailment,
}

impl Rest {
    fn fits(&self) -> bool {
        seconds(&self.all, self.taken.hops_per_second) <= self.taken.budget_s
    }

    fn drop_some(&mut self, which: fn(&Experiment) -> bool) {
        let gone: Vec<Priced> = self.all.extract_if(.., |(one, _)| which(one)).collect();
        self.dropped.extend(gone.into_iter().rev());
    }

    fn shrink(
        &mut self,
        phase: Phase,
        fabric: &Fabric,
        choice: &Choice,
        estimator: &mut Estimator<'_>,
    ) {
        if choice.quick {
            return;
        }
        let small = suite(fabric, &Choice { phases: vec![phase], quick: true });
        for (one, cost) in &mut self.all {
            let Some(smaller) = small.iter().find(|small| small.id == one.id) else { continue };
            let less = estimator.cost(smaller);
            if less.hops < cost.hops {
                (*one, *cost) = (smaller.clone(), less);
                self.taken.smaller.push(one.id.clone());
            }
        }
    }

    /// What went last matters most: it comes back where it fits beside what stays. A failure is judged beside the
    /// undisturbed run, which is the first of its phase.
    fn bring_back(&mut self) {
        while let Some(priced) = self.dropped.pop() {
            let (phase, id) = (priced.0.phase, priced.0.id.clone());
            let reference = self.all.iter().any(|(one, _)| one.id == UNDISTURBED);
            let alone = phase == Phase::Failures && id != UNDISTURBED && !reference;
            self.all.push(priced);
            if alone || !self.fits() {
                self.all.pop();
                self.taken.left_out.push(id);
            }
        }
    }
}

/// What experiments take on two cores that make so many packet-hops in a second.
fn seconds(all: &[Priced], hops_per_second: f64) -> f64 {
    let hops: u64 = all.iter().map(|(_, cost)| cost.hops).sum();
    hops as f64 / hops_per_second
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(gpus: u32) -> Fabric {
        let text = format!("[cluster]\ngpus = {gpus}\n[fabric]\nkind = 'rail'\n");
        Fabric::from_toml(&text).unwrap()
    }

    fn ids(plan: &Plan) -> Vec<&str> {
        plan.experiments.iter().map(|one| one.id.as_str()).collect()
    }

    #[test]
    fn without_a_budget_everything_is_made() {
        let (fabric, choice) = (pod(64), Choice::default());
        let plan = within(&fabric, &choice, None);
        assert_eq!(plan.experiments.len(), suite(&fabric, &choice).len());
        assert_eq!(plan.curtailment, None);
        let ample = within(&fabric, &choice, Some(Duration::from_secs(1_000_000)));
        assert_eq!(ids(&ample), ids(&plan));
        assert_eq!(ample.curtailment.unwrap().sentence(), None);
    }

    /// A budget is kept and made use of, and all that it leaves out is said.
    #[test]
    fn a_budget_is_kept_and_says_what_it_leaves_out() {
        let (fabric, choice) = (pod(64), Choice::default());
        let all = within(&fabric, &choice, None);
        let whole = all.hops() as f64 / HOPS_PER_SECOND as f64;
        for share in [0.9, 0.5, 0.3, 0.2, 0.1, 0.05, 0.0] {
            let budget = Duration::from_secs_f64(whole * share);
            let plan = within(&fabric, &choice, Some(budget));
            let taken = plan.curtailment.clone().unwrap();
            let mut named: Vec<&str> = ids(&plan);
            named.extend(taken.left_out.iter().map(String::as_str));
            named.sort_unstable();
            let mut expected = ids(&all);
            expected.sort_unstable();
            assert_eq!(named, expected, "made and left out are all there are");
            assert!(taken.sentence().is_some(), "{share}: {taken:?}");
            let over = taken.estimate_s > taken.budget_s;
            assert!(!over || share < 0.07, "{share}: {taken:?}");
            // Nothing that is left out would have fitted.
            let cost = |id: &String| {
                let at = all.experiments.iter().position(|one| one.id == *id).unwrap();
                all.costs[at].hops as f64 / HOPS_PER_SECOND as f64
            };
            let made = |id: &str| plan.experiments.iter().any(|one| one.id == id);
            let fits = |id: &&String| {
                let judged = !id.starts_with("failure-") && !id.ends_with("-spine");
                let judged = judged && *id != "all-spines";
                (judged || made(UNDISTURBED)) && cost(id) <= taken.budget_s - taken.estimate_s
            };
            assert_eq!(taken.left_out.iter().find(fits), None, "{share}: {taken:?}");
            let failures = plan.experiments.iter().any(|one| one.phase == Phase::Failures);
            assert!(!failures || made(UNDISTURBED), "{share}: {taken:?}");
            let phases: Vec<Phase> = plan.experiments.iter().map(|one| one.phase).collect();
            assert!(phases.is_sorted(), "{phases:?}");
            assert_eq!(over, taken.sentence().unwrap().contains("still takes"), "{taken:?}");
            for id in ["baseline-pairs", "permutation", "flood", "all-reduce"] {
                assert!(ids(&plan).contains(&id), "{id} stays at {share}");
            }
        }
        // The same budget, the same experiments.
        let budget = Some(Duration::from_secs_f64(whole / 4.0));
        let (one, two) = (within(&fabric, &choice, budget), within(&fabric, &choice, budget));
        let text = |plan: &Plan| -> Vec<String> {
            plan.experiments.iter().map(|one| one.text("f", 1, &toml::Table::new())).collect()
        };
        assert_eq!(text(&one), text(&two));
    }
}
