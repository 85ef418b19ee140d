//! Everything that is plugged in can link: by the lanes written out here, not by the rule that chose
//! it.

use super::*;
use crate::cabling::Cable;
use crate::parts::{Ends, Medium, Mode, Switch};
use crate::shape::Level;
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{Lane, Lanes, Plugged, Port, Scheme, link};

/// Lanes of the optics by the letters and digits of their names: `800g-2xdr4` has 2 x 4 of 100G.
fn by_name(name: &str) -> (u64, u64) {
    let (rate, kind) = name.split_once('-').unwrap();
    let gbps: u64 = match rate {
        "1.6t" => 1_600,
        rate => rate.trim_end_matches('g').parse().unwrap(),
    };
    let (twins, kind) =
        kind.split_once('x').map_or((1, kind), |(n, rest)| (n.parse().unwrap(), rest));
    let digits = kind.trim_start_matches(|c: char| !c.is_ascii_digit());
    let lanes = twins * digits.parse().unwrap_or(1);
    (lanes, gbps / lanes)
}

/// What a cable of this kind reaches at a lane rate, from the task and not from the catalogue.
fn copper(name: &str, lane: u64) -> u64 {
    match (name, lane) {
        ("dac", 10 | 25) => 5,
        ("dac", 50) => 3,
        ("dac", 100) => 2,
        ("dac", 200) => 1,
        ("acc", 100) => 5,
        ("acc", 200) => 2,
        ("aec", 25 | 50 | 100) => 7,
        ("aec", 200) => 3,
        ("aoc", 10 | 25 | 50 | 100) => 30,
        _ => 0,
    }
}

/// Both ends of a medium put the same lanes on the same kind of fibre or wire.
pub(super) fn check_medium(catalogue: &Catalogue, medium: &Medium, lanes: Lanes, length: Length) {
    let (count, each) = (u64::from(lanes.count), lanes.each.gbps());
    if medium.attached {
        assert_eq!(medium.lower.part, medium.upper.part);
        assert!(medium.lower.ways == 1 || medium.upper.ways == 1, "{medium:?}");
        let reach = Length::from_m(copper(&medium.name, each));
        assert!(length <= reach, "{medium:?} {length}");
        return;
    }
    for plug in [&medium.lower, &medium.upper] {
        let media = &catalogue.media[&plug.part];
        let optics = media.optics().unwrap();
        assert!(length <= media.reach, "{medium:?} {length}");
        if optics.scheme == Scheme::Coherent {
            assert_eq!(plug.ways, 1);
            continue;
        }
        let (all, rate) = by_name(&plug.part);
        // A parallel module that is not shared may leave lanes dark.
        let dark = plug.ways == 1 && optics.scheme == Scheme::Parallel;
        assert_eq!(rate, each, "{medium:?}");
        assert!(all / plug.ways == count || dark && all > count, "{medium:?}");
        // Wavelengths of one pair of fibres go to one place.
        if optics.scheme == Scheme::Wavelengths {
            assert_eq!(plug.ways, u64::from(optics.connectors), "{medium:?}");
        }
    }
    let kind = |part: &str| part.trim_start_matches(|c: char| c != '-')[1..].to_owned();
    let letters = |part: &str| {
        kind(part).trim_start_matches(|c: char| c.is_ascii_digit() || c == 'x')[..2].to_owned()
    };
    assert_eq!(letters(&medium.lower.part), letters(&medium.upper.part), "{medium:?}");
}

/// Links of a cable that fans out share a cage at one end, and have one length.
pub(super) fn check_cables(plan: &Plan, cables: &[Cable<'_>]) {
    let catalogue = &plan.catalogue;
    let mut legs: BTreeMap<(Level, u64), Vec<&Cable<'_>>> = BTreeMap::new();
    for cable in cables {
        let level = plan.design.cables.iter().find(|level| level.level == cable.level).unwrap();
        assert_eq!(cable.medium.lanes.rate(), level.rate);
        check_medium(catalogue, cable.medium, cable.medium.lanes, cable.length);
        legs.entry((cable.level, cable.number)).or_default().push(cable);
    }
    for cables in legs.values() {
        let first = cables[0];
        assert!(cables.len() as u64 <= first.medium.ways(), "{first:?}");
        let (below, above) = ((first.from, first.from_port.cage), (first.to, first.to_port.cage));
        let same = |cable: &&&Cable<'_>| match first.medium.upper.ways > 1 {
            true => (cable.to, cable.to_port.cage) == above,
            false => (cable.from, cable.from_port.cage) == below,
        };
        assert_eq!(cables.iter().filter(same).count(), cables.len(), "{first:?}");
        let alike =
            |cable: &&&Cable<'_>| cable.length == first.length && cable.medium == first.medium;
        assert_eq!(cables.iter().filter(alike).count(), cables.len(), "{first:?}");
    }
}

/// Every NIC on every switch and every switch under every other, at every rate and length.
#[test]
fn every_choice_of_the_whole_catalogue_can_link() {
    let catalogue = Catalogue::built_in();
    let sold = catalogue.silicon.values().filter(|silicon| !silicon.unlimited());
    let switches: Vec<Switch> = sold.map(|s| Switch::new(s.clone()).unwrap()).collect();
    let rates = [10, 25, 40, 100, 200, 400, 800, 1_600].map(Rate::from_gbps);
    let lengths = [1, 2, 3, 5, 7, 10, 20, 30, 50, 75, 100, 300, 500, 1_000, 2_000, 9_000];
    let mut tried = 0;
    let mut all = |ends: Ends, rate: Rate| {
        let Some(mode) = ends.mode(&catalogue, rate) else { return };
        assert_eq!(mode.lanes.rate(), rate);
        for metres in lengths {
            let length = Length::from_m(metres);
            if let Some(medium) = ends.medium(&catalogue, mode, length) {
                tried += 1;
                assert_eq!(medium.lanes.rate(), rate);
                check_medium(&catalogue, &medium, medium.lanes, length);
                for (plug, port) in [(&medium.lower, ends.lower), (&medium.upper, ends.upper)] {
                    assert!(port.form.takes(plug.form), "{medium:?}");
                }
            }
        }
    };
    for upper in &switches {
        for nic in catalogue.nics.values() {
            for cages in [1, 2] {
                let Some(lower) = Port::of_nic(nic, cages) else { continue };
                let rate = Rate::from_bps(nic.rate.bps() / u64::from(cages));
                all(Ends { lower, upper: upper.port, nic: true }, rate);
            }
        }
        for lower in &switches {
            for rate in rates {
                all(Ends { lower: lower.port, upper: upper.port, nic: false }, rate);
            }
        }
    }
    assert!(tried > 5_000, "{tried}");
}

/// Sizes from 8 to 8,192 GPUs, and the other shapes at some of them.
#[test]
fn every_size_can_be_cabled() {
    let catalogue = Catalogue::built_in();
    let prices = Prices::estimates(&catalogue);
    let inputs = design::Inputs { catalogue: &catalogue, prices: &prices, floor: Floor::default() };
    let check = |wish: &Wish| {
        let (design, ..) = inputs.design(wish).unwrap_or_else(|why| panic!("{wish:?}: {why}"));
        for level in &design.cables {
            for used in &level.media {
                assert_eq!(used.medium.lanes.rate(), level.rate);
                check_medium(&catalogue, &used.medium, used.medium.lanes, used.longest);
                let legs = used.medium.ways();
                assert!(used.cables * legs >= used.links, "{used:?}");
                assert!(used.cables <= used.links, "{used:?}");
            }
            let links: u64 = level.media.iter().map(|used| used.links).sum();
            assert_eq!(links, level.links);
        }
    };
    // Every size up to four pods; above them every fifth, and those where the rate of uplinks changes.
    let large = (2_048..=8_192).step_by(40).chain([4_096, 4_104, 8_192]);
    for gpus in (8..2_048).step_by(8).chain(large) {
        check(&Wish::gpus(gpus));
    }
    for gpus in [64, 512, 1_024, 4_096, 8_192] {
        let usual = Wish::gpus(gpus);
        check(&Wish { nics_per_server: Some(4), ..usual.clone() });
        check(&Wish { tiers: Some(3), ..usual.clone() });
        check(&Wish { homing: Some(2), tiers: Some(2), ..usual.clone() });
        for (nic, leaf) in [
            ("connectx-6", "tomahawk-5"),
            ("connectx-6", "spectrum-2"),
            ("connectx-7", "tomahawk-4"),
            ("connectx-8", "tomahawk-6"),
            ("e810", "trident-3"),
        ] {
            let wish = Wish { nic: Some(nic.into()), leaf: Some(leaf.into()), ..usual.clone() };
            if inputs.design(&wish).is_ok() {
                check(&wish);
            }
        }
    }
}

fn end<'a>(catalogue: &'a Catalogue, name: &str, port: Port, ways: u8) -> Plugged<'a> {
    Plugged { media: &catalogue.media[name], port, ways }
}

fn port(catalogue: &Catalogue, silicon: &str) -> Port {
    Port::of_switch(&catalogue.silicon[silicon]).unwrap()
}

/// What was seen in plans, and other pairs that look alike and cannot link.
#[test]
fn wrong_pairs_are_refused_with_the_reason() {
    let catalogue = Catalogue::built_in();
    let nic = Port::of_nic(&catalogue.nics["connectx-7"], 1).unwrap();
    let [old, new, next] =
        ["tomahawk-4", "tomahawk-5", "tomahawk-6"].map(|silicon| port(&catalogue, silicon));
    let four = Lanes::new(4, Lane::G100);
    let ten = Length::from_m(10);
    let cases = [
        (("400g-sr8", old, 1), ("800g-sr8", new, 2), "8 x 50G against 4 x 100G"),
        (("400g-fr4", nic, 1), ("400g-fr4", nic, 2), "its lanes share one fibre pair"),
        (("400g-fr4", nic, 1), ("800g-2xfr4", new, 4), "only by up to 2 of whole lanes"),
        (("400g-dr4", nic, 1), ("800g-2xsr4", new, 2), "send differently"),
        (("400g-dr4", nic, 1), ("aoc", new, 2), "send differently"),
        (("400g-dr4", nic, 1), ("1.6t-dr8", next, 4), "4 x 100G against 2 x 200G"),
        (("800g-dr8", nic, 1), ("800g-dr8", new, 1), "does not fit a QSFP112 port of 4 x 100G"),
        (("400g-sr4", nic, 1), ("400g-sr4", old, 1), "does not fit a QSFP-DD port of 8 x 50G"),
        (("dac", nic, 1), ("dac", old, 1), "does not fit a QSFP-DD port of 8 x 50G"),
        (("dac", nic, 1), ("dac", new, 2), "reaches 2m"),
        (("aoc", new, 2), ("aoc", new, 2), "no `aoc` fans out at both ends"),
        (("ideal", nic, 1), ("ideal", new, 2), "not known"),
    ];
    for ((a, a_port, a_ways), (b, b_port, b_ways), reason) in cases {
        let (a, b) = (end(&catalogue, a, a_port, a_ways), end(&catalogue, b, b_port, b_ways));
        let why = link(a, b, four, ten).unwrap_err().to_string();
        assert!(why.contains(reason), "{} {}: {why}", a.media.name, b.media.name);
        assert!(link(b, a, four, ten).is_err());
    }
    let good = [
        (("400g-sr4", nic, 1), ("800g-2xsr4", new, 2)),
        (("400g-dr4", nic, 1), ("800g-dr8", new, 2)),
        (("400g-dr4", nic, 1), ("400g-dr4", old, 1)),
        (("400g-fr4", nic, 1), ("800g-2xfr4", new, 2)),
    ];
    for ((a, a_port, a_ways), (b, b_port, b_ways)) in good {
        let (a, b) = (end(&catalogue, a, a_port, a_ways), end(&catalogue, b, b_port, b_ways));
        assert_eq!(link(a, b, four, ten), Ok(four));
    }
}

/// The choice for a cable between a NIC or switch and a switch.
fn chosen(lower: Port, upper: Port, nic: bool, gbps: u64, metres: u64) -> Option<[String; 4]> {
    let catalogue = Catalogue::built_in();
    let ends = Ends { lower, upper, nic };
    let mode: Mode = ends.mode(&catalogue, Rate::from_gbps(gbps))?;
    let medium = ends.medium(&catalogue, mode, Length::from_m(metres))?;
    let form = if medium.attached { medium.forms() } else { medium.patch.as_ref()?.ends.clone() };
    Some([medium.name.clone(), medium.lower.part, medium.upper.part, form])
}

#[test]
fn media_follow_the_length() {
    let catalogue = Catalogue::built_in();
    let nic = |name: &str| Port::of_nic(&catalogue.nics[name], 1).unwrap();
    let switch = |name: &str| port(&catalogue, name);
    let host = |metres| {
        let found = chosen(nic("connectx-7"), switch("tomahawk-5"), true, 400, metres);
        found.map(|[name, _, upper, form]| format!("{name} {upper} {form}"))
    };
    let fan = "OSFP to 2 x QSFP112";
    let straight = "MPO-12 to MPO-12";
    let expected = [
        (1, format!("dac dac {fan}")),
        (2, format!("dac dac {fan}")),
        (3, format!("acc acc {fan}")),
        (7, format!("aec aec {fan}")),
        (10, format!("aoc aoc {fan}")),
        (40, format!("400g-sr4 800g-2xsr4 {straight}")),
        (75, format!("400g-dr4 800g-2xdr4 {straight}")),
        (1_000, "400g-fr4 800g-2xfr4 LC duplex to LC duplex".to_owned()),
    ];
    for (metres, text) in expected {
        assert_eq!(host(metres), Some(text), "{metres} m");
    }
    assert_eq!(host(20_000), None);
    // 25G lanes: copper to 5 m; 50G: 3 m.
    let name = |found: Option<[String; 4]>| found.map(|[name, ..]| name);
    let old = |metres| chosen(nic("e810"), switch("trident-3"), true, 100, metres);
    assert_eq!(name(old(5)).as_deref(), Some("dac"));
    let six = |metres| chosen(nic("connectx-6"), switch("spectrum-2"), true, 200, metres);
    assert_eq!(name(six(3)).as_deref(), Some("dac"));
    assert_eq!(name(six(5)).as_deref(), Some("aec"));
    // Lanes of 200G: passive to 1 m, no optical cable, no multimode.
    let next = |metres| chosen(switch("tomahawk-6"), switch("tomahawk-6"), false, 1_600, metres);
    for (metres, medium) in [(1, "dac"), (2, "acc"), (3, "aec"), (5, "1.6t-dr8")] {
        assert_eq!(name(next(metres)).as_deref(), Some(medium));
    }
    // Lanes that differ: only optics with a gearbox at one end, however short.
    let mixed = chosen(nic("connectx-7"), switch("tomahawk-4"), true, 400, 1);
    assert_eq!(name(mixed).as_deref(), Some("400g-dr4"));
    // Where copper and SR8 of 50G lanes end, DR4 of 100G goes on.
    let old = |metres| chosen(switch("tomahawk-4"), switch("tomahawk-4"), false, 400, metres);
    for (metres, medium) in [(3, "dac"), (100, "400g-sr8"), (300, "400g-dr4"), (2_000, "400g-fr4")]
    {
        assert_eq!(name(old(metres)).as_deref(), Some(medium));
    }
    // Both ends split: no cable, but a connector for each link.
    let both = chosen(switch("tomahawk-5"), switch("tomahawk-5"), false, 400, 2).unwrap();
    assert_eq!(both[1..], ["800g-2xsr4", "800g-2xsr4", straight].map(str::to_owned));
}
