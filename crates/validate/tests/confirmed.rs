//! What is advised was tried with every experiment: a change that cures what asks for it and ruins something else goes
//! again.

use std::collections::BTreeMap;
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_report::Verdict;
use xoff_validate::remedy::{Advised, Bench, Results, seek};
use xoff_validate::validation::Subject;
use xoff_validate::{Advice, Check, Experiment, Measurement, Phase, Validation};

const FILE: &str = "[cluster]\ngpus = 16\n[fabric]\nkind = 'rail'\n";

/// The change that is tried.
fn change() -> Advice {
    Advice::change("another alpha", "[pfc]\nalpha = \"1/4\"")
}

fn is_changed(text: &str) -> bool {
    text.contains("1/4")
}

/// What an experiment that only notes which fabric it ran on measures.
fn noted(text: &str, all: &[Experiment]) -> Results {
    let mut results = Results::default();
    for experiment in all {
        let packet_hops = 1 + u64::from(is_changed(text));
        let measured = Measurement { packet_hops, ..Measurement::default() };
        results.measured.insert(experiment.id.clone(), measured);
    }
    results
}

/// A check that asks for the change and passes with it, and one that has the verdict `beside` with it.
fn assess(text: &str, results: &Results, beside: Verdict) -> Validation {
    let changed = |id: &str| results.measured[id].packet_hops == 2;
    let asks = Check::new(Phase::Synthetic, "asks", "It is cured")
        .from(["one"])
        .verdict(if changed("one") { Verdict::Pass } else { Verdict::Fail })
        .consider([change()]);
    let other = Check::new(Phase::Synthetic, "other", "It stays as it is")
        .from(["two"])
        .headline()
        .verdict(if changed("two") { beside } else { Verdict::Pass });
    let subject = Subject {
        fabric: String::new(),
        fabric_sha256: text.len().to_string(),
        version: String::new(),
        seed: 1,
        quick: true,
    };
    Validation::new(subject, vec![asks, other], &BTreeMap::new())
}

fn sought(beside: Verdict, hops: u64) -> (Validation, Option<Advised>) {
    let made = |id: &str| Experiment::new(id, Phase::Synthetic, id);
    let all = [made("one"), made("two")];
    let before = noted(FILE, &all);
    let mut validation = assess(FILE, &before, beside);
    assert!(load_fabric(FILE).value.is_some());
    let judge = |_: &FabricSetup, text: &str, results: &Results| assess(text, results, beside);
    let mut run = |text: &str, some: &[Experiment]| Ok::<_, ()>(noted(text, some));
    let mut bench = Bench { run: &mut run, assess: &judge, most: 6, hops, confirms: true };
    let advised = seek(&mut validation, FILE, &all, &before, &mut bench).expect("no interrupt");
    (validation, advised)
}

#[test]
fn a_change_that_ruins_what_did_not_ask_is_not_advised() {
    let (validation, advised) = sought(Verdict::Fail, u64::MAX);
    assert_eq!(advised, None);
    assert!(validation.changes.iter().all(|change| change.effect.is_none()), "{validation:?}");
}

#[test]
fn the_score_that_is_told_is_the_one_of_the_advised_file() {
    for beside in [Verdict::Pass, Verdict::Warn] {
        let (validation, advised) = sought(beside, u64::MAX);
        let advised = advised.expect("a change that helps");
        let all = ["one", "two"].map(|id| Experiment::new(id, Phase::Synthetic, id));
        let really = assess(&advised.text, &noted(&advised.text, &all), beside);
        assert_eq!((advised.score, advised.verdict), (really.score, really.verdict), "{beside:?}");
        assert!(advised.whole && advised.score > validation.score);
    }
}

#[test]
fn what_a_budget_leaves_untried_is_told() {
    // Room for one experiment more.
    let (_, advised) = sought(Verdict::Pass, 1);
    assert!(!advised.expect("a change that helps").whole);
}
