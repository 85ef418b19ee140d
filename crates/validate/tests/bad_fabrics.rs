//! The fabrics of `examples/bad`: each fails for its own reason, and passes with what is advised.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use xoff_fabric::{FabricSetup, load_fabric};
use xoff_validate::judge::judge_broken;
use xoff_validate::validation::Subject;
use xoff_validate::{
    Choice, Evidence, Measurement, Phase, Validation, Verdict, judge, measure, suite,
};

/// Laboratory to synthetic load, small experiments: what the mistakes show in.
fn choice() -> Choice {
    Choice { phases: vec![Phase::Laboratory, Phase::Baseline, Phase::Synthetic], quick: true }
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

fn validate(text: &str) -> Validation {
    let loaded = load_fabric(text);
    let Some(setup) = loaded.value else {
        let checks = judge_broken(&loaded.diagnostics, loaded.draft.as_ref());
        return Validation::new(subject(), checks);
    };
    let (measured, refused) = experiments(&setup, text);
    let evidence = Evidence { setup: &setup, measured: &measured, refused: &refused };
    Validation::new(subject(), judge(&evidence, &choice()))
}

type Measured = (BTreeMap<String, Measurement>, BTreeMap<String, String>);

fn experiments(setup: &FabricSetup, text: &str) -> Measured {
    let all = suite(&setup.fabric, &choice());
    let results = Mutex::new(Measured::default());
    thread::scope(|scope| {
        for half in all.chunks(all.len().div_ceil(2).max(1)) {
            let results = &results;
            scope.spawn(move || {
                for experiment in half {
                    let outcome = measure(experiment, text, 1, &toml::Table::new(), &mut |_| true);
                    let mut results = results.lock().unwrap();
                    match outcome {
                        Ok(measured) => drop(results.0.insert(experiment.id.clone(), measured)),
                        Err(error) => {
                            drop(results.1.insert(experiment.id.clone(), error.to_string()));
                        }
                    }
                }
            });
        }
    });
    results.into_inner().unwrap()
}

fn failed(validation: &Validation) -> Vec<&str> {
    let failed = validation.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    failed.map(|check| check.id.as_str()).collect()
}

/// The fabric fails, for one of `reasons` and nothing before it, names `place`, and passes with the advice.
fn check(name: &str, reasons: &[&str], place: &str) {
    let path = format!("{}/../../examples/bad/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let before = validate(&text);
    assert_eq!(failed(&before), reasons, "{name}: {before:#?}");
    let said = before.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    let said: Vec<String> =
        said.map(|check| format!("{} {:?}", check.measured, check.places)).collect();
    assert!(said.iter().any(|words| words.contains(place)), "{name} names {place}: {said:?}");

    let remedy = before.remedy();
    assert!(!remedy.is_empty(), "{name}: nothing is advised");
    let mut table: toml::Table = text.parse().unwrap();
    xoff_validate::check::overlay(&mut table, &remedy);
    let advised = toml::to_string(&table).unwrap();
    let after = validate(&advised);
    assert_eq!(failed(&after), [""; 0], "{name}, as advised:\n{advised}\n{after:#?}");
}

#[test]
fn pfc_off() {
    check("pfc-off", &["laboratory.pfc", "synthetic.pfc-holds"], "pfc.enabled");
}

#[test]
fn pfc_on_all_priorities() {
    check("pfc-everywhere", &["laboratory.one-lossless-class"], "class.lossless");
}

#[test]
fn ecn_above_xoff() {
    check("ecn-above-xoff", &["laboratory.ecn-below-xoff"], "kmin");
}

#[test]
fn ecn_too_low() {
    check("ecn-too-low", &["synthetic.all-to-all"], "ecn.kmin");
}

#[test]
fn headroom_for_three_metres() {
    let reasons = ["laboratory.headroom", "synthetic.pfc-holds", "synthetic.lossless"];
    check("headroom-3m", &reasons, "leaf from spine");
}

#[test]
fn no_class_for_notifications() {
    check("no-cnp-class", &["laboratory.cnp-class"], "traffic.cnp");
}

#[test]
fn four_to_one() {
    let reasons = ["laboratory.oversubscription", "synthetic.all-to-all"];
    check("oversubscribed", &reasons, "4.00:1");
}

#[test]
fn equal_hash_seeds() {
    let reasons = [
        "laboratory.hash-seeds",
        "synthetic.all-to-all",
        "synthetic.permutation",
        "synthetic.ecmp",
    ];
    check("equal-seeds", &reasons, "switch.hash.seed");
}

#[test]
fn one_slow_optic() {
    check("slow-optic", &["laboratory.cables", "synthetic.all-to-all"], "leaf1→spine2");
}

#[test]
fn mismatched_mtu() {
    check("mtu-mismatch", &["laboratory.mtu"], "spine");
}
