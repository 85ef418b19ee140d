//! The fabrics of `examples/bad`: each fails for its own reason, and passes with what is advised.

use super::{example, failed, validate};
use xoff_report::Verdict;
use xoff_validate::{Choice, Phase, Validation};

/// Laboratory to synthetic load, small experiments: what the mistakes show in.
fn judged(text: &str) -> Validation {
    let phases = vec![Phase::Laboratory, Phase::Baseline, Phase::Synthetic];
    validate(text, &Choice { phases, quick: true })
}

/// The fabric fails, for one of `reasons` and nothing before it, names `place`, and passes with the advice.
fn check(name: &str, reasons: &[&str], place: &str) {
    let text = example(&format!("bad/{name}"));
    let before = judged(&text);
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
    let after = judged(&advised);
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
    check("ecn-above-xoff", &["laboratory.ecn-before-pfc"], "marks from");
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
