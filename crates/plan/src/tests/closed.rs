//! Counts against the closed forms: R ports at NIC speed, two tiers R^2/2, three R^3/4, a rail pod
//! 8 x R/2.

use super::*;
use crate::{design, size};
use xoff_fabric::model::Tier;

/// Silicon whose ports are R at 400G.
const RADIX: [(&str, u64); 3] = [("tomahawk-3", 32), ("tomahawk-4", 64), ("tomahawk-5", 128)];

fn wish(leaf: &str, gpus: u64, tiers: u64, rails: u64) -> Wish {
    let leaf = Some(leaf.to_owned());
    Wish { leaf, tiers: Some(tiers), rails: Some(rails), ..Wish::gpus(gpus) }
}

#[test]
fn two_tiers_hold_half_the_square() {
    for (leaf, radix) in RADIX {
        for rails in [1, 8] {
            let most = radix * radix / 2;
            let full = planned(&wish(leaf, most, 2, rails));
            let shape = full.design.shape;
            assert_eq!((shape.leaves, shape.hosts_per_leaf), (radix, radix / 2), "{leaf}");
            assert_eq!(shape.switches(Tier::Spine), radix / 2, "{leaf}");
            assert_eq!(full.design.grows_to, most, "{leaf}");
            assert_eq!(full.design.bisection_share, xoff_units::Ratio::ONE);
            let refusal = refused(&wish(leaf, most + 8, 2, rails));
            assert!(refusal.message.contains(&format!("{most} GPUs are the most")), "{refusal}");
            assert!(refusal.cures.contains(&"--tiers 3".to_owned()), "{refusal}");
        }
    }
}

#[test]
fn three_tiers_hold_a_quarter_of_the_cube() {
    for (leaf, radix) in &RADIX[..2] {
        for rails in [1, 8] {
            let most = radix.pow(3) / 4;
            let full = planned(&wish(leaf, most, 3, rails));
            let shape = full.design.shape;
            assert_eq!(shape.leaves, radix * radix / 2, "{leaf}");
            assert_eq!(shape.switches(Tier::Spine), radix * radix / 2, "{leaf}");
            assert_eq!(shape.switches(Tier::Core), radix * radix / 4, "{leaf}");
            assert_eq!((shape.pods(), full.design.grows_to), (*radix, most), "{leaf}");
            let refusal = refused(&wish(leaf, most + 8, 3, rails));
            assert!(refusal.message.contains(&format!("{most} GPUs are the most")), "{refusal}");
        }
    }
    // More than a fabric file describes, but the form is the same.
    let ask = wish("tomahawk-5", 1_024, 3, 8).settle(&Catalogue::built_in()).unwrap();
    let rate = ask.nic.rate;
    assert_eq!(size::capacity(&ask, 3, 8, (rate, rate)), 524_288);
}

#[test]
fn a_rail_pod_holds_half_the_ports_of_every_rail() {
    for (leaf, radix) in RADIX {
        let pod = planned(&wish(leaf, 8 * radix, 2, 8)).design;
        assert_eq!(pod.one_hop_gpus, 8 * radix / 2, "{leaf}");
        let single = planned(&wish(leaf, 8 * radix, 2, 1)).design;
        assert_eq!(single.one_hop_gpus, radix / 2, "{leaf}");
    }
    // With a 51.2T leaf: 512 against 64.
    let plan = planned(&Wish::gpus(1_024));
    assert_eq!(plan.design.one_hop_gpus, 512);
    let single = plan.alternatives.iter().find(|other| other.change == "single-rail").unwrap();
    assert_eq!(single.design.as_ref().unwrap().one_hop_gpus, 64);
}

#[test]
fn the_four_sizes() {
    let counts = |gpus| {
        let design = planned(&Wish::gpus(gpus)).design;
        let tiers = [Tier::Leaf, Tier::Spine, Tier::Core].map(|tier| design.switches(tier));
        (design.shape.tiers, tiers, design.all_links(), design.bisection_share.as_f64())
    };
    assert_eq!(counts(1_024), (2, [16, 8, 0], 1_536, 1.0));
    // 800G uplinks would hold 4,096 in two tiers, 400G ones hold these.
    assert_eq!(counts(8_192), (2, [128, 64, 0], 16_384, 1.0));
    assert_eq!(counts(24_576), (3, [384, 384, 256], 49_152, 1.0));
    assert_eq!(counts(100_000), (3, [1_568, 1_568, 1_024], 200_352, 1.0));
}

#[test]
fn one_switch_holds_a_small_cluster() {
    let plan = planned(&Wish::gpus(128));
    let shape = plan.design.shape;
    assert_eq!((shape.tiers, shape.leaves, shape.rails), (1, 1, 1));
    assert_eq!((plan.design.most_hops, plan.design.grows_to), (1, 128));
    assert_eq!(planned(&Wish::gpus(136)).design.shape.tiers, 2);
    let one = planned(&Wish { nics_per_server: Some(1), ..Wish::gpus(1) });
    assert_eq!(one.design.shape.nics(), 1);
}

#[test]
fn rates_are_the_fastest_that_hold_the_cluster() {
    let uplink =
        |gpus| planned(&Wish::gpus(gpus)).design.shape.leaf_spine_rate.bps() / 1_000_000_000;
    assert_eq!((uplink(4_096), uplink(4_104)), (800, 400));
    let rails = |tiers| {
        let ask = Wish::gpus(64).settle(&Catalogue::built_in()).unwrap();
        design::rails(&ask, tiers)
    };
    assert_eq!((rails(1), rails(2)), (Some(1), Some(8)));
}
