//! Bisection, failures and alternatives, worked out by hand.

use super::*;
use crate::design::Part;

fn lost(design: &Design, part: Part) -> (u64, Ratio) {
    let failure = design.failures.iter().find(|failure| failure.part == part).unwrap();
    (failure.gpus, failure.lost)
}

#[test]
fn failures_of_a_multi_rail_pod() {
    let design = planned(&Wish::gpus(1_024)).design;
    assert_eq!(lost(&design, Part::Nic), (8, Ratio::new(1, 8)));
    // A leaf is one rail of its pod: every server there keeps seven NICs.
    assert_eq!(lost(&design, Part::Leaf), (512, Ratio::new(1, 8)));
    assert_eq!(lost(&design, Part::LeafUplink), (512, Ratio::new(1, 32)));
    assert_eq!(lost(&design, Part::Spine), (1_024, Ratio::new(1, 8)));
    assert!(!design.failures.iter().any(Failure::cuts_off));
}

#[test]
fn failures_of_single_rail() {
    let design = planned(&Wish { rails: Some(1), ..Wish::gpus(1_024) }).design;
    assert_eq!(lost(&design, Part::Leaf), (64, Ratio::ONE));
    let cut: Vec<Part> =
        design.failures.iter().filter(|f| f.cuts_off()).map(|failure| failure.part).collect();
    assert_eq!(cut, [Part::Leaf]);
}

#[test]
fn failures_of_three_tiers() {
    let design = planned(&Wish::gpus(24_576)).design;
    assert_eq!(lost(&design, Part::Spine), (2_048, Ratio::new(1, 32)));
    assert_eq!(lost(&design, Part::Core), (24_576, Ratio::new(1, 256)));
    assert_eq!((design.most_hops, design.grows_to), (5, 131_072));
}

#[test]
fn bisection_is_what_the_narrowest_level_carries() {
    let full = planned(&Wish::gpus(1_024)).design;
    assert_eq!(full.bisection, Rate::from_gbps(512 * 400));
    let half = Wish { oversubscription: Some(Ratio::new(2, 1)), ..Wish::gpus(1_024) };
    let half = planned(&half).design;
    assert!(half.bisection_share >= Ratio::new(1, 2) && half.bisection_share < Ratio::ONE);
    assert!(half.bill.price.amount < full.bill.price.amount);
    let top = Wish { spine_oversubscription: Some(Ratio::new(7, 1)), ..Wish::gpus(24_576) };
    let top = planned(&top).design;
    assert!(top.bisection_share < Ratio::new(1, 6), "{:?}", top.bisection_share);
    assert_eq!(top.shape.oversubscription(), Some(Ratio::ONE));
}

#[test]
fn alternatives_differ_in_one_thing() {
    let plan = planned(&Wish::gpus(1_024));
    let changes: Vec<(&str, Option<String>)> = plan
        .alternatives
        .iter()
        .map(|other| (other.change.as_str(), other.design.as_ref().map(Design::name)))
        .collect();
    let name = |text: &str| Some(text.to_owned());
    let expected = [
        ("single-rail", name("RoCE 400G, single-rail, 2 tiers")),
        ("3 tiers", name("RoCE 400G, 8 rails, 3 tiers")),
        ("800G NICs", name("RoCE 800G, 8 rails, 2 tiers")),
        ("InfiniBand", name("InfiniBand 400G, 8 rails, 2 tiers")),
        ("2:1", name("RoCE 400G, 8 rails, 2 tiers")),
    ];
    assert_eq!(changes, expected);
    let infiniband = plan.alternatives[3].design.as_ref().unwrap();
    assert_eq!(infiniband.bisection, plan.design.bisection);
}

#[test]
fn alternatives_that_cannot_be_built_say_why() {
    let plan = planned(&Wish::gpus(24_576));
    let two = plan.alternatives.iter().find(|other| other.change == "2 tiers").unwrap();
    assert!(two.design.is_none());
    let refusal = two.refusal.as_ref().unwrap();
    assert!(refusal.message.contains("8192 GPUs are the most"), "{refusal}");
    let one = planned(&Wish { nics_per_server: Some(1), ..Wish::gpus(1_024) });
    let rails = one.alternatives[0].refusal.as_ref().unwrap();
    assert!(rails.message.contains("one NIC"), "{rails}");
}

#[test]
fn cables_are_short_where_leaves_stand_near() {
    let plan = planned(&Wish::gpus(1_024));
    let host = &plan.design.cables[0];
    let media = |level: &LevelCables| -> Vec<(String, u64)> {
        let used = level.media.iter();
        used.map(|used| (used.medium.name.clone(), used.longest.as_mm() / 1_000)).collect()
    };
    let named = |names: &[(&str, u64)]| -> Vec<(String, u64)> {
        names.iter().map(|(name, metres)| ((*name).to_owned(), *metres)).collect()
    };
    // Eight racks of 60 cm to either side of the leaves, and up and down: 3.6 to 7.8 m.
    assert_eq!(host.longest, Length::from_m(10));
    assert_eq!(media(host), named(&[("acc", 5), ("aec", 7), ("aoc", 10)]));
    let single = planned(&Wish { rails: Some(1), ..Wish::gpus(1_024) });
    let host = &single.design.cables[0];
    // The leaf stands in one of two racks.
    assert_eq!((host.longest, media(host)), (Length::from_m(5), named(&[("dac", 2), ("acc", 5)])));
}
