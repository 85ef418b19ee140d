//! The fabrics of `examples/bad`: each fails for its own reason, and passes with what is advised.

use super::{example, failed, validate};
use xoff_report::Verdict;
use xoff_validate::remedy::Advised;
use xoff_validate::{Choice, Phase, Validation};

/// Laboratory to synthetic load, small experiments: what the mistakes show in.
fn judged(text: &str) -> (Validation, Option<Advised>) {
    let phases = vec![Phase::Laboratory, Phase::Baseline, Phase::Synthetic];
    validate(text, &Choice { phases, quick: true })
}

/// The fabric fails for `reasons`, names `place`, and has no failure with what is advised.
fn check(name: &str, reasons: &[&str], place: &str) {
    let text = example(&format!("bad/{name}"));
    let (before, advised) = judged(&text);
    let failed_for = failed(&before);
    assert!(reasons.iter().all(|reason| failed_for.contains(reason)), "{name}: {failed_for:?}");
    let said = before.checks.iter().filter(|check| check.verdict == Verdict::Fail);
    let said: Vec<String> =
        said.map(|check| format!("{} {:?}", check.measured, check.places)).collect();
    assert!(said.iter().any(|words| words.contains(place)), "{name} names {place}: {said:?}");
    let advised = advised.unwrap_or_else(|| panic!("{name}: nothing is advised\n{before:#?}"));
    let (after, _) = judged(&advised.text);
    let left = failed(&after);
    let gone = reasons.iter().all(|reason| !left.contains(reason));
    assert!(gone, "{name}, as advised:\n{}\n{left:?}", advised.text);
    assert!(after.score > before.score, "{name}: {} to {}", before.score, after.score);
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
    check("ecn-too-low", &["laboratory.ecn-thresholds"], "is marked");
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
    check("slow-optic", &["laboratory.cables"], "leaf1→spine2");
}

#[test]
fn mismatched_mtu() {
    check("mtu-mismatch", &["laboratory.mtu"], "spine");
}
