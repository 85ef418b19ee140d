//! Whole validations: of the example pod, and of fabrics that are bad on purpose.

mod bad;
mod ideal;
mod long;
mod neighbours;
mod pod;
mod settings;
mod table;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_report::Verdict;
use xoff_validate::judge::{answers, judge_broken};
use xoff_validate::remedy::{Advised, Bench, Results, cure, seek};
use xoff_validate::validation::Subject;
use xoff_validate::{Choice, Evidence, Experiment, Validation, judge, measure, suite};

/// The text of an example.
fn example(name: &str) -> String {
    let path = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn subject() -> Subject {
    Subject {
        fabric: String::new(),
        fabric_sha256: String::new(),
        version: String::new(),
        seed: 1,
        quick: true,
    }
}

/// A whole validation of a fabric file, and the fabric as advised, confirmed by every experiment.
fn validate(text: &str, choice: &Choice) -> (Validation, Option<Advised>) {
    validate_with(text, choice, true)
}

/// The same; tables of many fabrics do not confirm what they advise.
fn validate_with(text: &str, choice: &Choice, confirms: bool) -> (Validation, Option<Advised>) {
    let loaded = load_fabric(text);
    let Some(setup) = loaded.value else {
        let checks = judge_broken(&loaded.diagnostics, loaded.draft.as_ref());
        let validation = Validation::new(subject(), checks, &BTreeMap::new());
        let advised = cure(&validation, text);
        return (validation, advised);
    };
    let all = suite(&setup.fabric, choice);
    let assess = |setup: &FabricSetup, text: &str, results: &Results| {
        let (measured, refused) = (&results.measured, &results.refused);
        let evidence = Evidence { setup, text, measured, refused };
        let checks = judge(&evidence, choice);
        let answers = answers(&evidence, &checks);
        Validation::new(subject(), checks, &answers)
    };
    let results = experiments(text, &all);
    let mut validation = assess(&setup, text, &results);
    let mut run = |text: &str, some: &[Experiment]| Ok::<_, ()>(experiments(text, some));
    let mut bench = Bench { run: &mut run, assess: &assess, most: 6, hops: u64::MAX, confirms };
    let advised = seek(&mut validation, text, &all, &results, &mut bench);
    (validation, advised.expect("nothing interrupts it"))
}

/// Every experiment, two at a time.
fn experiments(text: &str, all: &[Experiment]) -> Results {
    let outcomes = two_at_a_time(all, |experiment| {
        measure(experiment, text, 1, &toml::Table::new(), &mut |_| true)
    });
    let mut results = Results::default();
    for (Experiment { id, .. }, outcome) in all.iter().zip(outcomes) {
        match outcome {
            Ok(measured) => drop(results.measured.insert(id.clone(), measured)),
            Err(error) => drop(results.refused.insert(id.clone(), error.to_string())),
        }
    }
    results
}

/// What comes of each, in their order.
fn two_at_a_time<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(at) else { break };
                    let outcome = work(one);
                    done.lock().unwrap().insert(at, outcome);
                }
            });
        }
    });
    let done: Vec<R> = done.into_inner().unwrap().into_values().collect();
    assert_eq!(done.len(), all.len());
    done
}

/// Checks that failed.
fn failed(validation: &Validation) -> Vec<&str> {
    let failed = validation.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    failed.map(|check| check.id.as_str()).collect()
}

/// Checks that did not pass.
fn unhappy(validation: &Validation) -> Vec<String> {
    let unhappy = validation.checks.iter().filter(|check| check.verdict != Verdict::Pass);
    unhappy.map(|check| check.id.clone()).collect()
}
