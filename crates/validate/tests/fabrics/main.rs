//! Whole validations: of the example pod, and of fabrics that are bad on purpose.

mod bad;
mod ideal;
mod pod;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_report::Verdict;
use xoff_validate::judge::judge_broken;
use xoff_validate::validation::Subject;
use xoff_validate::{Choice, Evidence, Measurement, Validation, judge, measure, suite};

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

/// A whole validation of a fabric file.
fn validate(text: &str, choice: &Choice) -> Validation {
    let loaded = load_fabric(text);
    let Some(setup) = loaded.value else {
        let checks = judge_broken(&loaded.diagnostics, loaded.draft.as_ref());
        return Validation::new(subject(), checks);
    };
    let (measured, refused) = experiments(&setup, text, choice);
    let evidence = Evidence { setup: &setup, measured: &measured, refused: &refused };
    Validation::new(subject(), judge(&evidence, choice))
}

type Measured = (BTreeMap<String, Measurement>, BTreeMap<String, String>);

/// Every experiment, two at a time.
fn experiments(setup: &FabricSetup, text: &str, choice: &Choice) -> Measured {
    let all = suite(&setup.fabric, choice);
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Measured::default()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(experiment) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = measure(experiment, text, 1, &toml::Table::new(), &mut |_| true);
                    let (mut results, id) = (results.lock().unwrap(), experiment.id.clone());
                    match outcome {
                        Ok(measured) => drop(results.0.insert(id, measured)),
                        Err(error) => drop(results.1.insert(id, error.to_string())),
                    }
                }
            });
        }
    });
    results.into_inner().unwrap()
}

/// Checks that failed.
fn failed(validation: &Validation) -> Vec<&str> {
    let failed = validation.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    failed.map(|check| check.id.as_str()).collect()
}
