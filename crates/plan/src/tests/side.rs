//! Storage, front end and management: counts by hand, and one cabling plan for all networks.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::Tier;

fn all(gpus: u64) -> Wish {
    Wish { storage: Some(None), frontend: true, management: true, ..Wish::gpus(gpus) }
}

/// 128 servers and 16 storage servers with two NICs are 160 hosts of 400G. At 2:1 a leaf takes 84:
/// 42 cages down, 21 up; 85 would take 43 and 22. So two leaves of 80 with 20 uplinks each, over
/// two spines. The front end: 128 hosts of 200G on leaves of 32 cages; at 3:1 a leaf takes 24: 24
/// down, 8 up. 128 / 24 is six leaves, of 22 (the last of 18) with ceil(22 / 3) = 8 uplinks.
#[test]
fn networks_are_sized_by_their_rules() {
    let plan = planned(&all(1_024));
    let sides = &plan.sides;
    assert_eq!(sides.storage_servers, 16);
    let counts = |at: usize| {
        let shape = &sides.networks[at].shape;
        (shape.nics(), shape.leaves, shape.switches(Tier::Spine), shape.leaf_uplinks())
    };
    assert_eq!(counts(0), (160, 2, 2, 20));
    assert_eq!(counts(1), (128, 6, 2, 8));
    // Two ports for 144 servers, one for 24 + 4 + 8 switches, two for each rack.
    let management = sides.management.as_ref().unwrap();
    let racks = plan.hall.racks.len() as u64;
    // The rack of the 25G pair came last and counts its own.
    assert_eq!(management.ports, 2 * 144 + 36 + 2 * (racks - 1));
    assert!(management.switches >= management.ports.div_ceil(44));
    assert_eq!(management.aggregation, 2);
    let bills = plan.lines().fold(Price::default(), |sum, l| sum + l.price.times(l.ordered()));
    assert_eq!(bills, plan.price());
    assert!(plan.price().amount > plan.design.bill.price.amount);
    assert!(plan.milliwatts() > plan.design.bill.milliwatts);
}

#[test]
fn every_port_is_used_once_and_every_cable_is_billed() {
    for gpus in [64, 1_024, 2_048] {
        let plan = planned(&all(gpus));
        let csv = plan.cabling_csv();
        let mut lines = csv.lines();
        let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
        let at = |name: &str| columns.iter().position(|column| *column == name).unwrap();
        let mut ports = BTreeSet::new();
        let mut cables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in lines {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), columns.len(), "{line}");
            for end in ["from", "to"] {
                let cell = |name: &str| cells[at(&format!("{end}_{name}"))];
                assert!(ports.insert((cell("device"), cell("port"))), "{line}");
                assert!(cell("rack").starts_with('R') && cell("rack") != "R00.00", "{line}");
                assert!(cell("unit") != "0" || cell("port").starts_with("pdu"), "{line}");
                assert!(cell("label").contains(cell("device")), "{line}");
            }
            let network = cells[at("network")].to_owned();
            cables.entry(network).or_default().insert(cells[at("cable")].to_owned());
        }
        for (network, labels) in cables {
            let own = plan.lines().filter(|line| line.purpose.name() == network);
            let own = own.filter(|line| matches!(line.role, Role::Cable | Role::Fibre));
            let billed: u64 = own.map(|line| line.quantity).sum();
            assert_eq!(labels.len() as u64, billed, "{gpus} {network}");
        }
    }
}

#[test]
fn everything_stands_somewhere_once() {
    let plan = planned(&all(1_024));
    let mut units = BTreeSet::new();
    let mut devices = BTreeSet::new();
    for rack in plan.racks() {
        assert!(rack.milliwatts > 0);
        for device in &rack.devices {
            assert!(devices.insert(*device), "{device} stands twice");
        }
    }
    for (device, place) in plan.places() {
        assert!(units.insert((place.row, place.rack, place.unit)), "{device}");
        assert!(place.unit <= plan.floor.rack_units);
    }
    // 128 + 16 servers, 24 + 4 + 8 switches, and those of management.
    let management = plan.sides.management.as_ref().unwrap();
    let all = 144 + 36 + management.switches + management.aggregation;
    assert_eq!((devices.len() as u64, units.len() as u64), (all, all));
}

#[test]
fn what_is_beside_is_not_in_the_fabric_file() {
    let (with, without) = (planned(&all(1_024)), planned(&Wish::gpus(1_024)));
    assert_eq!(with.fabric_toml(), without.fabric_toml());
    assert_eq!(with.design, without.design);
    let refusal = refused(&Wish { storage: Some(Some(0)), ..Wish::gpus(64) });
    assert!(refusal.message.contains("--storage"), "{refusal}");
}
