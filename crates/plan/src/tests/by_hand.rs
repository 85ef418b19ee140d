//! A bill of materials for 1,024 GPUs, made by hand, that the planner must reproduce.
//!
//! **Counts.** 1,024 GPUs / 8 = 128 servers, 128 x 8 = 1,024 NICs of 400G. A leaf has 64 cages of
//! 800G. With h NICs on it h/2 cages lead down (two links each) and h x 400 / 800 = h/2 up; h/2 +
//! h/2 = 64, so h = 64. In eight rails, 64 servers stand under eight leaves: 128 / 64 = 2 groups,
//! 2 x 8 = 16 leaves. Each has 32 uplinks: 16 x 32 = 512, over spines of 64 cages: 512 / 64 = 8
//! spines, 32 / 8 = 4 links to each.
//!
//! **Lengths.** 64 servers are 16 racks, eight to either side of a rack with the leaves. The d-th
//! rack away is 0.6 d to the side, and 1.5 m up and down at both ends: 3.6, 4.2, 4.8 m are bought
//! as 5 m, 5.4, 6.0, 6.6 m as 7 m, 7.2 and 7.8 m as 10 m. A rack has 4 x 8 = 32 links, which are 16
//! cables that fan out in two. So 2 sides x 2 groups x 16 = 64 cables for each d: 3 x 64 = 192 of
//! 5 m, 192 of 7 m, 128 of 10 m. The spines' rack is the first of the row in the middle, leaves are
//! in the ninth place of the rows beside it: 8 x 0.6 + 3 + 3 = 10.8 m, bought as 15 m, 512 times.
//!
//! **Media.** Lanes of 100G: passive copper to 2 m, linear active copper to 5 m, retimed to 7 m,
//! optical cables to 30 m.
//!
//! **Spares.** 24 switches x 2 % = 0.48: 1. 1,024 NICs x 2 % = 20.5: 21. Cables x 3 %: 5.8: 6, 6,
//! 3.8: 4, 15.4: 16.
//!
//! **Power** of what is installed. 24 x 1,000 + 1,024 x 25 = 49,600 W. At 800G and at two times
//! 400G the ends of a cable draw the same: 2 x 1.5 W, 2 x 8 W, 2 x 9 W. 192 x 3 + 192 x 16 + 128 x 18
//! + 512 x 18 = 15,168 W. Together 64,768 W.
//!
//! **Price** of what is ordered, in USD: 25 switches x 51.2 x 850 = 25 x 43,520 = 1,088,000; 1,045
//! NICs x 400 x 4 = 1,672,000; 198 x 280 = 55,440; 198 x 500 = 99,000; 132 x 900 = 118,800; 528 x
//! 900 = 475,200. Together 3,508,440.

use super::*;

/// Role, part, form factor, metres, installed, spares.
const LINES: [(&str, &str, &str, u64, u64, u64); 7] = [
    ("leaf", "tomahawk-5", "64 x OSFP", 0, 16, 1),
    ("spine", "tomahawk-5", "64 x OSFP", 0, 8, 0),
    ("nic", "connectx-7", "QSFP112", 0, 1_024, 21),
    ("cable", "acc", "OSFP to 2 x QSFP112", 5, 192, 6),
    ("cable", "aec", "OSFP to 2 x QSFP112", 7, 192, 6),
    ("cable", "aoc", "OSFP to 2 x QSFP112", 10, 128, 4),
    ("cable", "aoc", "OSFP to OSFP", 15, 512, 16),
];

#[test]
fn the_bill_for_1024_gpus_is_the_one_made_by_hand() {
    let bill = planned(&Wish::gpus(1_024)).design.bill;
    let lines: Vec<_> = bill
        .lines
        .iter()
        .map(|line| {
            let metres = line.item.length.map_or(0, |length| length.as_mm() / 1_000);
            let (part, form) = (line.item.part.as_str(), line.item.form.as_str());
            (line.role.name(), part, form, metres, line.quantity, line.spares)
        })
        .collect();
    assert_eq!(lines, LINES);
    assert_eq!(bill.milliwatts, 64_768_000);
    assert_eq!(bill.price.amount, Money::units(3_508_440));
}

/// A cable that fans out in two is one cable with three ends, and not its two legs.
#[test]
fn fans_are_counted_by_cables() {
    let plan = planned(&Wish::gpus(1_024));
    let host = &plan.design.cables[0];
    assert_eq!((host.links, host.cables), (1_024, 512));
    assert!(host.media.iter().all(|used| used.medium.ends() == 3 && used.links == 2 * used.cables));
    let up = &plan.design.cables[1];
    assert_eq!((up.links, up.cables), (512, 512));
    // 15 servers leave a leg of the last cable of each leaf unused.
    let odd = planned(&Wish { tiers: Some(2), ..Wish::gpus(120) });
    let host = &odd.design.cables[0];
    assert_eq!((host.links, host.cables), (120, 8 * 8));
}

#[test]
fn spares_follow_their_rule() {
    let spares = |share: Option<Ratio>| {
        let bill = planned(&Wish { spares: share, ..Wish::gpus(1_024) }).design.bill;
        bill.lines.iter().map(|line| line.spares).collect::<Vec<_>>()
    };
    assert_eq!(spares(Some(Ratio::ZERO)), [0; 7]);
    // 5 %: 1.2, 51.2, 9.6, 9.6, 6.4 and 25.6, rounded up.
    assert_eq!(spares(Some(Ratio::new(5, 100))), [2, 0, 52, 10, 10, 7, 26]);
    let refusal = refused(&Wish { spares: Some(Ratio::new(2, 1)), ..Wish::gpus(64) });
    assert!(refusal.cures[0].contains("0% to 100%"), "{refusal}");
}

/// 4 servers of 10.2 kW and the ends of 32 links of 5 m at 0.75 W each; eight leaves of 1 kW with
/// 32 fans below and 32 cables above each.
#[test]
fn racks_draw_what_stands_in_them() {
    let plan = planned(&Wish::gpus(1_024));
    let racks = plan.racks();
    assert_eq!(racks[7].milliwatts, 4 * 10_200_000 + 32 * 750);
    // Of a leaf's fans, 12 are linear (1.5 W), 12 retimed (8 W), 8 optical (9 W); its uplinks, too.
    let leaf = 1_000_000 + 12 * 1_500 + 12 * 8_000 + 8 * 9_000 + 32 * 9_000;
    assert_eq!(racks[8].milliwatts, 8 * leaf);
    assert!(plan.overloaded().is_empty());
    let catalogue = Catalogue::built_in();
    let prices = Prices::estimates(&catalogue);
    let weak = Floor { rack_milliwatts: 40_000_000, ..Floor::default() };
    let weak = crate::plan(&Wish::gpus(1_024), weak, &catalogue, &prices).unwrap();
    assert_eq!(weak.overloaded().len(), 32);
    assert!(weak.racks_text().contains(" kW !"), "{}", weak.racks_text());
    let low = Floor { rack_units: 30, ..Floor::default() };
    let refusal = crate::plan(&Wish::gpus(1_024), low, &catalogue, &prices).unwrap_err();
    assert!(refusal.message.contains("32U, and a rack has 30U"), "{refusal}");
}

/// Two hosts of 400G under a leaf ask for 800G up: as one link it would hang on one spine.
#[test]
fn nothing_hangs_on_one_spine_that_slower_uplinks_would_spare() {
    for wish in [
        Wish { tiers: Some(2), rails: Some(8), ..Wish::gpus(16) },
        Wish { tiers: Some(3), ..Wish::gpus(32) },
        Wish { tiers: Some(3), oversubscription: Some(Ratio::new(2, 1)), ..Wish::gpus(64) },
    ] {
        let shape = planned(&wish).design.shape;
        assert!(shape.spines_per_pod >= 2, "{wish:?}: {shape:?}");
    }
}
