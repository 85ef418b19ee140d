//! Failures at their real scale: what they cost a job, and whether counters lead to their place.

mod blind;
mod cost;

use std::collections::BTreeMap;
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_validate::judge::{FailureCost, failure_costs};
use xoff_validate::suite::{Victims, failures_of};
use xoff_validate::{Check, Choice, Evidence, Measurement, Phase, judge, measure};

/// A fabric with what its failure experiments measured.
struct Judged {
    text: String,
    setup: FabricSetup,
    measured: BTreeMap<String, Measurement>,
}

impl Judged {
    /// Runs these experiments (all, if none is named) with the victims that a validation has.
    fn new(text: &str, only: &[&str]) -> Self {
        let setup = load_fabric(text).into_result().unwrap_or_else(|found| panic!("{found:#?}"));
        let victims = Victims::of(&setup.fabric).expect("a victim");
        let measured = measured(text, &setup, victims, 1, only);
        Self { text: text.to_owned(), setup, measured }
    }

    fn evidence<'a>(&'a self, refused: &'a BTreeMap<String, String>) -> Evidence<'a> {
        Evidence { setup: &self.setup, text: &self.text, measured: &self.measured, refused }
    }

    /// What a failure costs.
    fn cost(&self, id: &str) -> FailureCost {
        let costs = failure_costs(&self.evidence(&BTreeMap::new()));
        let cost = costs.into_iter().find(|cost| cost.id == id);
        let cost = cost.unwrap_or_else(|| panic!("{id} was not judged"));
        println!("{cost:?}");
        cost
    }

    /// A check of the two phases.
    fn check(&self, id: &str) -> Check {
        let choice = Choice { phases: vec![Phase::Failures, Phase::Operations], quick: true };
        let checks = judge(&self.evidence(&BTreeMap::new()), &choice);
        let check = checks.into_iter().find(|check| check.id == id);
        check.unwrap_or_else(|| panic!("there is no {id}"))
    }
}

fn measured(
    text: &str,
    setup: &FabricSetup,
    victims: Victims,
    seed: u64,
    only: &[&str],
) -> BTreeMap<String, Measurement> {
    let all = failures_of(&setup.fabric, victims, true);
    let wanted = |id: &str| only.is_empty() || id == "failure-none" || only.contains(&id);
    let run = |experiment: xoff_validate::Experiment| {
        let found = measure(&experiment, text, seed, &toml::Table::new(), &mut |_| true);
        let found = found.unwrap_or_else(|error| panic!("{}: {error}", experiment.id));
        (experiment.id, found)
    };
    all.into_iter().filter(|experiment| wanted(&experiment.id)).map(run).collect()
}
