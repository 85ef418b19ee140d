//! Random wishes: what is counted, what is cabled and what `fabric` makes of the file must be the
//! same.

use super::*;
use crate::cabling::{Cable, End};
use crate::wiring::PortNumber;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::derived::Derived;
use xoff_fabric::diagnostic::code;
use xoff_fabric::load_fabric;
use xoff_fabric::model::{CableId, Tier};

fn wishes() -> impl Strategy<Value = Wish> {
    let silicon = prop::sample::select(vec![
        None,
        Some("tomahawk-3"),
        Some("tomahawk-4"),
        Some("tomahawk-6"),
        Some("spectrum-2"),
        Some("jericho-2c-plus"),
        Some("silicon-one-g200"),
    ]);
    let nic =
        prop::sample::select(vec![None, Some("connectx-6"), Some("connectx-8"), Some("e810")]);
    let shape = (1u64..200, 1u64..=9, prop::option::of(1u64..=9));
    let homing = prop::sample::select(vec![None, None, None, Some(2)]);
    let wanted = (any::<Option<bool>>(), prop::option::of(1u64..=3), homing);
    let ratio = || prop::option::of((1u64..=9, 1u64..=4));
    (shape, silicon.clone(), silicon, nic, wanted, ratio(), ratio()).prop_map(
        |(
            (servers, gpus, nics),
            leaf,
            spine,
            nic,
            (multi, tiers, homing),
            leaf_ratio,
            spine_ratio,
        )| {
            let text = |name: Option<&str>| name.map(str::to_owned);
            let ratio = |(a, b): (u64, u64)| Ratio::new(a.max(b), b);
            Wish {
                gpus: servers * gpus,
                gpus_per_server: Some(gpus),
                nics_per_server: nics,
                nic: text(nic),
                leaf: text(leaf),
                spine: text(spine),
                rails: multi.map(|multi| if multi { nics.unwrap_or(gpus) } else { 1 }),
                tiers,
                homing,
                oversubscription: leaf_ratio.map(ratio),
                spine_oversubscription: spine_ratio.map(ratio),
                ..Wish::default()
            }
        },
    )
}

pub(super) fn cables(plan: &Plan) -> Vec<Cable<'_>> {
    let mut cables = Vec::new();
    plan.for_each_cable(|cable| cables.push(cable));
    cables
}

/// Every end exists and is used once.
fn check_ends(plan: &Plan, cables: &[Cable<'_>]) {
    let shape = &plan.design.shape;
    let mut used: BTreeSet<(End, PortNumber)> = BTreeSet::new();
    for cable in cables {
        for (end, port) in [(cable.from, cable.from_port), (cable.to, cable.to_port)] {
            assert!(used.insert((end, port)), "{end} {port} is used twice");
            match end {
                End::Nic { server, nic } => {
                    assert!(server < shape.servers && nic < shape.nics_per_server);
                }
                End::Switch { tier, number } => {
                    assert!(number < shape.switches(tier), "{end}");
                    let silicon = &plan.silicon[tier as usize];
                    assert!(
                        port.cage >= 1 && port.cage <= u64::from(silicon.ports),
                        "{end} {port}"
                    );
                    let rate = shape.rate(cable.level);
                    assert!(
                        port.leg.unwrap_or(1) <= u64::from(silicon.split(rate)),
                        "{end} {port}"
                    );
                }
            }
        }
    }
    assert_eq!(used.len(), 2 * cables.len());
    assert_eq!(cables.len() as u64, plan.design.all_links());
}

/// The bill has what the cabling plan counts.
fn check_bill(plan: &Plan, cables: &[Cable<'_>]) {
    let design = &plan.design;
    let mut lengths: BTreeMap<(bool, Length), BTreeSet<(Level, u64)>> = BTreeMap::new();
    let mut optics: BTreeMap<(&str, &str), BTreeSet<(End, u64)>> = BTreeMap::new();
    for cable in cables {
        let medium = cable.medium;
        let id = (cable.level, cable.number);
        lengths.entry((medium.attached, cable.length)).or_default().insert(id);
        if !medium.attached {
            let ends = [
                (&medium.lower, cable.from, cable.from_port),
                (&medium.upper, cable.to, cable.to_port),
            ];
            for (plug, end, port) in ends {
                let key = (plug.part.as_str(), plug.form.name());
                optics.entry(key).or_default().insert((end, port.cage));
            }
        }
    }
    let bill = &design.bill;
    let numbers: u64 = lengths.values().map(|cables| cables.len() as u64).sum();
    assert_eq!(bill.quantity(Role::Cable) + bill.quantity(Role::Fibre), numbers);
    assert_eq!(numbers, design.all_cables());
    for ((attached, length), cables) in lengths {
        let role = if attached { Role::Cable } else { Role::Fibre };
        let lines = bill.lines.iter().filter(|l| l.role == role && l.item.length == Some(length));
        let lines = lines.map(|line| line.quantity).sum::<u64>();
        assert_eq!(lines, cables.len() as u64, "{role:?} {length}");
    }
    let transceivers: BTreeMap<(&str, &str), u64> = bill
        .lines
        .iter()
        .filter(|line| line.role == Role::Transceiver)
        .map(|line| ((line.item.part.as_str(), line.item.form.as_str()), line.quantity))
        .collect();
    let counted = optics.iter().map(|(name, ends)| (*name, ends.len() as u64)).collect();
    assert_eq!(transceivers, counted);
    let sum: u64 = bill.lines.iter().map(|l| l.price.amount.0 * (l.quantity + l.spares)).sum();
    assert_eq!(sum, bill.price.amount.0);
}

/// Whether a file uses silicon with gigabytes of packet memory.
fn is_deep(text: &str) -> bool {
    text.contains("jericho")
}

/// `fabric` makes of the file what the plan says.
fn check_file(plan: &Plan, cables: &[Cable<'_>]) {
    let text = plan.fabric_toml();
    let loaded = load_fabric(&text);
    // Gigabytes of buffer take longer to drain than queue pairs wait, and that is worth a word.
    let reported = loaded.diagnostics.iter().filter(|d| d.code != code::TIMEOUT || !is_deep(&text));
    assert_eq!(reported.count(), 0, "{text}\n{:?}", loaded.diagnostics);
    let setup = loaded.value.unwrap();
    let (fabric, shape) = (&setup.fabric, &plan.design.shape);
    assert_eq!(fabric.servers.len() as u64, shape.servers, "{text}");
    assert_eq!(fabric.nics.len() as u64, shape.nics());
    for tier in [Tier::Leaf, Tier::Spine, Tier::Core] {
        let count = fabric.switches.iter().filter(|switch| switch.tier == tier).count();
        assert_eq!(count as u64, shape.switches(tier), "{tier:?}\n{text}");
    }
    assert_eq!(fabric.cables.len(), cables.len(), "{text}");
    let mut ends = vec![Vec::new(); cables.len()];
    for port in &fabric.ports {
        ends[port.cable.index()].push(fabric.node_name(port.node));
    }
    for (index, cable) in cables.iter().enumerate() {
        let there = &fabric.cables[CableId(index as u32).index()];
        let level = plan.design.cables.iter().find(|level| level.level == cable.level).unwrap();
        assert_eq!((there.rate, there.length), (level.rate, level.longest), "{text}");
        assert_eq!(there.media, plan.wiring.farthest(cable.level).unwrap().name, "{text}");
        assert_eq!(level.rate, level.mode.lanes.rate());
        let mut here = [cable.from.to_string(), cable.to.to_string()];
        here.sort_unstable();
        ends[index].sort_unstable();
        assert_eq!(ends[index], here, "{text}");
    }
    let derived = Derived::of(&setup);
    let ratio = |tier: &str| derived.tiers.iter().find(|row| row.tier == tier)?.oversubscription;
    assert_eq!(ratio("leaf"), shape.oversubscription(), "{text}");
    assert_eq!(ratio("spine"), shape.spine_oversubscription(), "{text}");
    let hops = derived.paths.iter().map(|path| path.links - 1).max();
    assert!(hops.is_none_or(|hops| hops <= plan.design.most_hops), "{hops:?}\n{text}");
}

/// Nothing can be left out of the file without changing what it says.
fn check_smallest(plan: &Plan) {
    let text = plan.fabric_toml();
    let counts = |text: &str| {
        let setup = load_fabric(text).value?;
        let fabric = &setup.fabric;
        let cables = fabric.cables.iter().map(|c| (c.rate, c.length, c.media.clone()));
        let parts: Vec<_> = fabric.switches.iter().map(|s| (s.tier, s.silicon.clone())).collect();
        let nics: Vec<_> = fabric.nics.iter().map(|n| (n.server, n.model.clone())).collect();
        let ports: Vec<_> = fabric.ports.iter().map(|p| p.node).collect();
        Some((cables.collect::<Vec<_>>(), parts, nics, ports))
    };
    let whole = counts(&text);
    let structural =
        ["rate", "length", "media", "gpus-per-server", "nics-per-server", "nic", "leaf"];
    for (at, line) in text.lines().enumerate() {
        let key = line.split(" = ").next().unwrap_or("");
        if !structural.contains(&key) {
            continue;
        }
        let rest = text.lines().enumerate().filter(|(other, _)| *other != at);
        let without: Vec<&str> = rest.map(|(_, line)| line).collect();
        assert_ne!(counts(&without.join("\n")), whole, "`{line}` is not needed in\n{text}");
    }
}

fn check(wish: &Wish) -> bool {
    let Ok(plan) = made(wish) else { return false };
    let cables = cables(&plan);
    check_ends(&plan, &cables);
    super::links::check_cables(&plan, &cables);
    check_bill(&plan, &cables);
    check_file(&plan, &cables);
    let asked = wish.oversubscription.unwrap_or(Ratio::ONE);
    assert!(plan.design.shape.oversubscription().is_none_or(|got| got <= asked));
    let asked = wish.spine_oversubscription.unwrap_or(Ratio::ONE);
    assert!(plan.design.shape.spine_oversubscription().is_none_or(|got| got <= asked));
    assert!(plan.design.grows_to >= plan.design.shape.gpus());
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn plans_agree_with_the_fabrics_they_describe(wish in wishes()) {
        if !check(&wish) {
            let refusal = refused(&wish);
            prop_assert!(!refusal.cures.is_empty(), "{wish:?}: {refusal}");
        }
    }
}

#[test]
fn the_usual_sizes_agree() {
    for gpus in [8, 64, 256, 1_024, 4_104] {
        for tiers in [None, Some(2), Some(3)] {
            for rails in [None, Some(1), Some(8)] {
                let wish = Wish { rails, tiers, ..Wish::gpus(gpus) };
                let made = check(&wish);
                assert!(made || gpus == 8, "{wish:?}: {}", refused(&wish));
            }
        }
    }
}

/// Two planes are listed node by node, and resolve to what was planned.
#[test]
fn planes_agree() {
    for (gpus, spines) in [(64, 4), (256, 4), (1_024, 8)] {
        let wish = Wish { planes: Some(2), ..Wish::gpus(gpus) };
        assert!(check(&wish), "{}", refused(&wish));
        let plan = planned(&wish);
        let shape = &plan.design.shape;
        assert_eq!((shape.homing, shape.switches(Tier::Spine)), (2, spines), "{gpus}");
        // No spine has cables from leaves of both planes.
        for cable in cables(&plan).iter().filter(|cable| cable.level == Level::LeafSpine) {
            let (End::Switch { number: leaf, .. }, End::Switch { number: spine, .. }) =
                (cable.from, cable.to)
            else {
                panic!("{cable:?}");
            };
            assert_eq!(leaf % 2, spine / shape.spines_per_pod);
        }
    }
    // Half of the rate makes twice the ports: a plane of 8 groups of 128 servers with 800G uplinks.
    let most = planned(&Wish { planes: Some(2), ..Wish::gpus(8_192) });
    let shape = &most.design.shape;
    assert_eq!((shape.hosts_per_leaf, shape.leaves, most.design.grows_to), (128, 128, 8_192));
    let refusal = refused(&Wish { planes: Some(3), ..Wish::gpus(64) });
    assert!(refusal.message.contains("two ports"), "{refusal}");
    let refusal = refused(&Wish { planes: Some(2), tiers: Some(3), ..Wish::gpus(64) });
    assert!(refusal.cures.contains(&"--tiers 2".to_owned()), "{refusal}");
}

#[test]
fn no_key_of_a_file_is_idle() {
    for gpus in [64, 256, 1_000, 1_024] {
        for (tiers, rails) in [(None, None), (Some(2), Some(1)), (Some(3), Some(8))] {
            check_smallest(&planned(&Wish { rails, tiers, ..Wish::gpus(gpus) }));
        }
    }
}

#[test]
fn racks_hold_everything_once_and_not_too_much() {
    for gpus in [64, 1_000, 8_192] {
        let plan = planned(&Wish::gpus(gpus));
        let mut seen = BTreeSet::new();
        for rack in plan.racks() {
            let servers = rack.devices.iter().filter(|d| matches!(d, Device::Server(_))).count();
            assert!(servers as u64 <= plan.floor.servers_per_rack);
            assert!(rack.place <= plan.floor.racks_per_row && !rack.devices.is_empty());
            for device in rack.devices {
                assert!(seen.insert(device), "{device} stands twice");
            }
        }
        let shape = &plan.design.shape;
        let switches: u64 = bill::tiers(shape).iter().sum();
        assert_eq!(seen.len() as u64, shape.servers + switches);
    }
}
