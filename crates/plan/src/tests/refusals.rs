//! What cannot be built, and whether the cures cure.

use super::*;

/// The wish after a cure, if the cure is an option or a number of GPUs.
fn cured(wish: &Wish, cure: &str) -> Option<Wish> {
    let mut wish = wish.clone();
    if let Some(gpus) = cure.strip_suffix(" GPUs") {
        return Some(Wish { gpus: gpus.parse().ok()?, ..wish });
    }
    let (option, value) = cure.split_once(' ')?;
    let value = value.split(' ').next()?;
    match option {
        "--tiers" => wish.tiers = Some(value.parse().ok()?),
        "--rails" => wish.rails = Some(value.parse().ok()?),
        "--oversubscription" => wish.oversubscription = Some(value.parse().ok()?),
        "--nic" => wish.nic = Some(value.to_owned()),
        "--leaf" => {
            wish.leaf = Some(value.to_owned());
            wish.spine = None;
            wish.core = None;
        }
        _ => return None,
    }
    Some(wish)
}

/// Every cure that can be applied makes the wish possible. Returns how many could be.
fn cures_work(wish: &Wish) -> usize {
    let refusal = refused(wish);
    let tried = refusal.cures.iter().filter_map(|cure| Some((cure, cured(wish, cure)?)));
    tried
        .map(|(cure, wish)| {
            if let Err(other) = made(&wish) {
                panic!("`{cure}` does not cure `{}`: {other}", refusal.message);
            }
        })
        .count()
}

#[test]
fn too_many_for_two_tiers() {
    let wish = Wish { tiers: Some(2), ..Wish::gpus(10_000) };
    let refusal = refused(&wish);
    assert_eq!(
        refusal.to_string(),
        "with two tiers of tomahawk-5, 8192 GPUs are the most, not 10000\n  \
         would do: --tiers 3\n        \
         or: --oversubscription 2:1\n        \
         or: --leaf tomahawk-6\n        \
         or: 8192 GPUs"
    );
    assert_eq!(cures_work(&wish), 4);
}

#[test]
fn cures_cure() {
    let usual = Wish::gpus(2_048);
    let text = |name: &str| Some(name.to_owned());
    let wishes = [
        Wish { tiers: Some(1), ..usual.clone() },
        Wish { tiers: Some(1), rails: Some(8), ..Wish::gpus(64) },
        Wish { tiers: Some(2), rails: Some(1), ..Wish::gpus(20_000) },
        Wish { leaf: text("tomahawk-3"), ..Wish::gpus(16_000) },
        Wish { leaf: text("trident-3"), ..usual.clone() },
        Wish { nic: text("connectx-8"), leaf: text("tomahawk-4"), ..usual.clone() },
        Wish { gpus: 1_001, ..usual.clone() },
        Wish { rails: Some(3), ..usual },
    ];
    for wish in wishes {
        assert!(cures_work(&wish) > 0, "{wish:?}: {}", refused(&wish));
    }
}

#[test]
fn names_and_numbers() {
    let text = |name: &str| Some(name.to_owned());
    let cases = [
        (Wish { nic: text("connectx7"), ..Wish::gpus(64) }, "did you mean `connectx-7`?"),
        (Wish { leaf: text("tomahawk5"), ..Wish::gpus(64) }, "did you mean `tomahawk-5`?"),
        (Wish { core: text("ideal"), ..Wish::gpus(64) }, "xoff catalogue silicon"),
        (Wish::gpus(0), "at least 1"),
        (Wish { tiers: Some(4), ..Wish::gpus(64) }, "--tiers 1, 2 or 3"),
        (Wish { rails: Some(0), ..Wish::gpus(64) }, "at least 1"),
        (Wish { gpus_per_server: Some(0), ..Wish::gpus(64) }, "at least 1"),
        (Wish { oversubscription: Some(Ratio::ZERO), ..Wish::gpus(64) }, "1:1 to 64:1"),
        (Wish { oversubscription: Some(Ratio::new(1, 2)), ..Wish::gpus(64) }, "1:1 to 64:1"),
        (Wish::gpus(u64::MAX), "would"),
        (Wish::gpus(1 << 40), "up to 200000"),
        (Wish { nics_per_server: Some(u64::MAX), ..Wish::gpus(64) }, "1 to 1024"),
        (Wish { gpus_per_server: Some(u64::MAX), ..Wish::gpus(64) }, "1 to 1024"),
    ];
    for (wish, expected) in cases {
        let refusal = refused(&wish).to_string();
        assert!(refusal.contains(expected), "{wish:?}: {refusal}");
    }
}

#[test]
fn what_no_file_describes_is_refused() {
    // 200,000 NICs in three tiers take 400,000 cables.
    let refusal = refused(&Wish::gpus(200_000));
    assert!(refusal.message.contains("a fabric file describes up to 300000"), "{refusal}");
    assert!(refused(&Wish::gpus(200_008)).message.contains("more than 200000 NICs"));
}

#[test]
fn floors_that_hold_nothing() {
    let catalogue = Catalogue::built_in();
    let prices = Prices::estimates(&catalogue);
    let usual = Floor::default();
    let floors = [
        Floor { servers_per_rack: 0, ..usual },
        Floor { racks_per_row: u64::MAX, ..usual },
        Floor { row_pitch: Length::from_mm(u64::MAX), ..usual },
    ];
    for floor in floors {
        assert!(plan(&Wish::gpus(64), floor, &catalogue, &prices).is_err());
    }
    // Rows so far apart that nothing reaches.
    let far = Floor { row_pitch: Length::from_m(100), racks_per_row: 1, ..usual };
    for pitch in [0, 100] {
        let floor = Floor { rack_pitch: Length::from_m(pitch), ..far };
        let made = plan(&Wish::gpus(8_192), floor, &catalogue, &prices);
        if let Err(refusal) = made {
            assert!(refusal.message.contains("nothing in the catalogue carries"), "{refusal}");
        }
    }
    let flat = Floor { row_pitch: Length::default(), rack_pitch: Length::default(), ..usual };
    assert!(plan(&Wish::gpus(1_024), flat, &catalogue, &prices).is_ok());
}

/// It is in the catalogue, and what is wrong is the network.
#[test]
fn infiniband_silicon_is_not_said_to_be_unknown() {
    for wish in [
        Wish { leaf: Some("quantum-2".into()), ..Wish::gpus(64) },
        Wish { spine: Some("quantum-2".into()), ..Wish::gpus(64) },
    ] {
        let refusal = refused(&wish);
        assert!(refusal.message.contains("`quantum-2` is an InfiniBand switch"), "{refusal}");
        assert!(refusal.cures[0].contains("xoff catalogue silicon"), "{refusal}");
    }
    let unknown = refused(&Wish { leaf: Some("quantum-9".into()), ..Wish::gpus(64) });
    assert!(unknown.message.contains("there is no `quantum-9`"), "{unknown}");
}
