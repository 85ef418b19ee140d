//! Faults of a scenario follow `[convergence]` of the fabric file.

use super::{json, output};
use std::fs;

/// A link between leaf and spine dies for good: packets that are lost for it, and when the last flow
/// ends, in microseconds.
fn cost(convergence: &str, fault: &str) -> (u64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let fabric = format!(
        "[cluster]\nhosts = 8\nnic = \"generic-100g\"\n[fabric]\nkind = \"leaf-spine\"\nleaves = 2\n\
         spines = 2\n[transport]\ntimeout = \"1ms\"\nretry-limit = 255\n\
         adaptive-retransmission = false\n\
         [convergence]\nwithdraw = \"1ms\"\n{convergence}"
    );
    let scenario = format!(
        "fabric = \"fabric.toml\"\n[[workload]]\nkind = \"permutation\"\nsize = \"2MB\"\n\
         [[fault]]\nkind = \"link-down\"\nlink = \"leaf0 spine0\"\nat = \"100us\"\n{fault}\n\
         [allow]\nlossless-drops = true\nunfinished = true\n"
    );
    fs::write(folder.path().join("fabric.toml"), fabric).unwrap();
    fs::write(folder.path().join("s.toml"), scenario).unwrap();
    let run = output(folder.path(), &["run", "s.toml", "--json", "--no-report"]);
    let summary = json(&run);
    assert_eq!(summary["flows"]["completed"], summary["flows"]["total"], "{summary:#}");
    let drops = summary["drops"].as_array().unwrap();
    let dead = drops.iter().filter(|drop| drop["reason"] == "link-down");
    let lost = dead.map(|drop| drop["packets"].as_u64().unwrap()).sum();
    (lost, summary["flows"]["fct_us"]["max"].as_f64().unwrap())
}

#[test]
fn a_fault_without_times_of_its_own_follows_the_fabric() {
    let bgp = cost("", "");
    let fast = cost("profile = \"fast-reroute\"\n", "");
    assert!(fast.0 > 0 && bgp.0 > 2 * fast.0, "lost: {} with BGP, {} repaired", bgp.0, fast.0);
    // Carrier loss is noticed after 10 ms, and after 500 us.
    assert!(bgp.1 > fast.1 + 8_000.0, "last: {} us with BGP, {} us repaired", bgp.1, fast.1);
    assert_eq!(bgp, cost("carrier = \"10ms\"\n", ""), "the default is BGP");
}

#[test]
fn times_of_the_fault_come_before_those_of_the_fabric() {
    let own = "converge = \"500us\"\nlate = \"1500us\"";
    let fast = cost("profile = \"fast-reroute\"\n", "");
    assert_eq!(cost("", own), fast);
    assert_eq!(cost("carrier = \"50ms\"\n", own), fast);
}

#[test]
fn a_link_that_is_dead_and_keeps_its_carrier_is_found_later() {
    let times = "profile = \"fast-reroute\"\nsilent = \"20ms\"\n";
    let (seen, silent) = (cost(times, ""), cost(times, "silent = true"));
    assert!(silent.0 > seen.0 && silent.1 > seen.1 + 15_000.0, "{seen:?} {silent:?}");
}
