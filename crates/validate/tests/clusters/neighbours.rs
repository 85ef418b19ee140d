//! Owners of traffic side by side: closed forms on an idle fabric, and worse fabrics that come out worse.

use super::experiments;
use super::table::{TUNED, rail};
use std::collections::BTreeMap;
use xoff_fabric::load_fabric;
use xoff_report::Verdict;
use xoff_validate::{
    Check, Choice, Evidence, Experiment, Measurement, Phase, judge, measure, suite,
};

/// The experiments that different owners share, with what they measured and their checks.
fn side_by_side(text: &str) -> (Vec<Measurement>, Vec<Check>) {
    let setup = load_fabric(text).into_result().unwrap();
    let choice = Choice { phases: vec![Phase::Workload], quick: true };
    let names = ["storage", "kv-cache", "tenants"];
    let mine = |one: &Experiment| names.contains(&one.id.as_str());
    let own: Vec<Experiment> = suite(&setup.fabric, &choice).into_iter().filter(mine).collect();
    assert_eq!(own.len(), names.len());
    let results = experiments(text, &own);
    assert!(results.refused.is_empty(), "{:?}", results.refused);
    let (measured, refused) = (&results.measured, &results.refused);
    let checks = judge(&Evidence { setup: &setup, text, measured, refused }, &choice);
    let ids = ["storage", "checkpoint", "kv-cache", "tenants"].map(|id| format!("workload.{id}"));
    let checks: Vec<Check> = checks.into_iter().filter(|one| ids.contains(&one.id)).collect();
    assert_eq!(checks.len(), ids.len());
    (results.measured.into_values().collect(), checks)
}

/// Four leaves of two servers, so that everything crosses the spines.
fn racks(more: &str) -> String {
    format!(
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\n\
         leaf = 'tomahawk-5'\nhosts-per-leaf = 16\n{more}{TUNED}"
    )
}

#[test]
fn storage_and_collective_share_what_their_nics_have() {
    let text = "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\n\
                leaf = 'tomahawk-5'\n"
        .to_owned()
        + TUNED
        + "congestion = { kind = 'none' }\n";
    let (measured, _) = side_by_side(&text);
    let storage = measured.iter().find(|one| one.experiment == "storage").unwrap();
    let (training, checkpoint) =
        (storage.owner("training").unwrap(), storage.owner("checkpoint").unwrap());
    // Six servers of eight GPUs write 8 MiB each to sixteen NICs of 400 Gbps: 24 MiB each, and headers.
    let line = 24.0 * 1_048_576.0 * 8.0 / 400e3;
    let took = checkpoint.alone.whole_us;
    assert!((line..1.04 * line).contains(&took), "{took} us, {line} at line rate");
    // Along with the collective nothing is lost: it waits for what its NICs write, 8 MiB, and no longer.
    let needed = training.alone.each_us.mean + 8.0 * 1_048_576.0 * 8.0 / 400e3;
    let took = training.together.each_us.mean;
    assert!(took > training.alone.each_us.mean && took < 1.05 * needed, "{took} us of {needed}");
    // Tenants on servers of their own, at switches that do not block, do not know of each other.
    let tenants = measured.iter().find(|one| one.experiment == "tenants").unwrap();
    for own in &tenants.owners {
        assert!(own.together.is_complete() && own.alone.is_complete());
        let ratio = own.together.each_us.mean / own.alone.each_us.mean;
        assert!((0.99..1.01).contains(&ratio), "{}: {ratio}", own.name);
    }
}

/// A part of a cache is one message on one port, and caches meet by chance: neither makes a sound fabric a bad one.
#[test]
fn caches_are_in_time_on_sound_fabrics_whatever_the_seed() {
    let dual = rail(64, "bluefield-3", "tomahawk-5", "homing = 'dual'\n") + TUNED;
    let single = rail(64, "connectx-7", "tomahawk-5", "") + TUNED;
    for text in [dual, single, racks("")] {
        for seed in 1..=4 {
            let check = caches(&text, seed);
            assert_eq!(check.verdict, Verdict::Pass, "seed {seed}: {check:?}");
        }
    }
    for seed in 1..=4 {
        let check = caches(&racks("oversubscription = '4:1'\n"), seed);
        assert_ne!(check.verdict, Verdict::Pass, "seed {seed}: {check:?}");
    }
}

/// What is said of key-value caches.
fn caches(text: &str, seed: u64) -> Check {
    let setup = load_fabric(text).into_result().unwrap();
    let choice = Choice { phases: vec![Phase::Workload], quick: true };
    let mut all = suite(&setup.fabric, &choice).into_iter();
    let experiment = all.find(|one| one.id == "kv-cache").unwrap();
    let measured = measure(&experiment, text, seed, &toml::Table::new(), &mut |_| true).unwrap();
    let measured = BTreeMap::from([(experiment.id, measured)]);
    let refused = BTreeMap::new();
    let evidence = Evidence { setup: &setup, text, measured: &measured, refused: &refused };
    let mut checks = judge(&evidence, &choice).into_iter();
    checks.find(|one| one.id == "workload.kv-cache").unwrap()
}

#[test]
fn an_oversubscribed_fabric_is_worse_for_all_of_them() {
    let (_, full) = side_by_side(&racks(""));
    let (_, narrow) = side_by_side(&racks("oversubscription = '4:1'\n"));
    for (full, narrow) in full.iter().zip(&narrow) {
        assert_eq!(full.verdict, Verdict::Pass, "{full:?}");
        assert!(narrow.quality < full.quality - 0.1, "{narrow:?}");
        assert!(narrow.verdict > full.verdict, "{narrow:?}");
    }
    let failed = narrow.iter().any(|check| check.verdict == Verdict::Fail);
    assert!(failed, "{narrow:#?}");
}
