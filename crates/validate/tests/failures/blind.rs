//! Counters lead to the place, whatever fabric, victim and seed.

use super::measured;
use std::collections::BTreeMap;
use xoff_fabric::load_fabric;
use xoff_fabric::scenario::Workload;
use xoff_validate::blind::diagnose;
use xoff_validate::judge::{Hit, hit, interval};
use xoff_validate::suite::Victims;
use xoff_validate::{Experiment, Measurement, Phase, measure};

const FABRICS: [(&str, &str); 8] = [
    (
        "rail",
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nleaf = 'tomahawk-5'\n",
    ),
    (
        "leaf-spine",
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'leaf-spine'\nleaves = 4\nspines = 2\n\
         leaf = 'tomahawk-5'\n[switch.watchdog]\nenabled = true\n",
    ),
    (
        "spray",
        "[cluster]\ngpus = 32\ngpus-per-server = 4\nnic = 'generic-200g'\n[fabric]\nkind = 'leaf-spine'\nleaves = 4\n\
         spines = 4\nleaf = 'ideal'\n[switch.balancing]\nkind = 'spray'\n\
         [transport]\nrecovery = 'selective-repeat'\nreorder-window = 256\n",
    ),
    (
        "hosts",
        "[cluster]\nhosts = 24\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'ideal'\nleaves = 3\nspines = 3\n",
    ),
    (
        "dual",
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'rail'\nhoming = 'dual'\nleaf = 'tomahawk-5'\n",
    ),
    (
        "three-tier",
        "[cluster]\ngpus = 64\nnic = 'connectx-7'\n[fabric]\nkind = 'three-tier'\nleaf = 'tomahawk-4'\nrails = true\n\
         leaves-per-pod = 8\nhosts-per-leaf = 4\nspines = 4\ncores = 4\n",
    ),
    (
        "one-spine",
        "[cluster]\nhosts = 12\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaf = 'ideal'\nleaves = 3\nspines = 1\n\
         [links.leaf-spine]\nrate = '100Gbps'\nparallel = 2\n",
    ),
    (
        "fat-tree",
        "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = 'fat-tree'\nk = 4\nleaf = 'ideal'\n",
    ),
];

/// Of all failures of all these fabrics at least 95 % are found at their place, and nothing is found where
/// nothing is wrong.
#[test]
fn counters_lead_to_the_place() {
    let mut hits: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    for (name, text) in FABRICS {
        let setup =
            load_fabric(text).into_result().unwrap_or_else(|found| panic!("{name}: {found:#?}"));
        for (pick, seed) in [(3, 1), (17, 2)] {
            let victims = Victims::picked(&setup.fabric, pick).expect("a victim");
            let all = measured(text, &setup, victims, seed, &[]);
            let base = &all["failure-none"];
            let alarms = diagnose(&setup.fabric, interval(base), None);
            assert!(alarms.is_empty(), "{name}, {pick}: {alarms:?} without a fault");
            for (id, run) in
                all.iter().filter(|(id, _)| id.starts_with("failure-") && *id != "failure-none")
            {
                let broken = &run.fault.as_ref().expect("a fault").places;
                let found = diagnose(&setup.fabric, interval(run), Some(interval(base)));
                let hit = hit(&found, broken, &setup.fabric);
                hits.entry(name).or_default()[hit as usize] += 1;
                if hit != Hit::Place {
                    println!("{name}, {pick}, {id}: {broken:?}, {:?}", found.first());
                }
            }
        }
    }
    println!("{:12} {:>6} {:>6} {:>6}", "fabric", "place", "near", "missed");
    for (name, [place, near, missed]) in &hits {
        println!("{name:12} {place:>6} {near:>6} {missed:>6}");
    }
    let sum = |at: usize| hits.values().map(|row| row[at]).sum::<u32>();
    let (place, all) = (sum(0), sum(0) + sum(1) + sum(2));
    println!("{place} of {all} at their place, {} near, {} missed", sum(1), sum(2));
    assert!(all >= 100, "{all} failures");
    assert!(f64::from(place) >= 0.95 * f64::from(all), "{place} of {all}");
}

fn under(workload: &str, fabric: &str) -> Measurement {
    let workload: Workload = toml::from_str(workload).expect("a workload");
    let experiment = Experiment::new("load", Phase::Failures, "load").with(workload);
    measure(&experiment, fabric, 1, &toml::Table::new(), &mut |_| true).expect("a measurement")
}

/// Congestion is no fault: whatever is marked and paused between switches, nothing is broken. Full queues of a
/// fabric without flow control are found, where they are.
#[test]
fn heavy_load_is_no_fault() {
    let loads = [
        "kind = 'incast'\nsenders = 31\nsize = '4MB'",
        "kind = 'permutation'\nsize = '4MB'",
        "kind = 'all-to-all'\nsize = '100KB'",
    ];
    for (name, fabric) in &FABRICS[..3] {
        let setup = load_fabric(fabric).into_result().unwrap_or_else(|found| panic!("{found:#?}"));
        for load in loads {
            let run = under(load, fabric);
            let found = diagnose(&setup.fabric, interval(&run), None);
            assert!(found.is_empty(), "{name}, {load}: {found:?}");
        }
    }
    let lossy = "[cluster]\nhosts = 16\nnic = 'generic-100g'\n[fabric]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\n\
                 [switch]\nbuffer = '1MB'\n[pfc]\nenabled = false\n[transport]\ncongestion = { kind = 'none' }\n";
    let setup = load_fabric(lossy).into_result().unwrap_or_else(|found| panic!("{found:#?}"));
    let run = under("kind = 'incast'\nsenders = 15\nsize = '4MB'\ntarget = 'server3-nic0'", lossy);
    let found = diagnose(&setup.fabric, interval(&run), None);
    let first = found.first().expect("full queues");
    assert_eq!(first.cause, xoff_diagnose::fabric::Cause::Discards, "{first:?}");
}
