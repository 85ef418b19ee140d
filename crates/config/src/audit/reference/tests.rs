//! Votes among devices.

use super::super::wiring::Wiring;
use super::*;
use crate::number::Priority;
use crate::place::Said;
use xoff_units::{Bytes, Rate};

/// Makes a port another one.
type Change = fn(&mut Port);

/// Switches with two ports each, which are configured as told.
fn fleet(named: &[(&str, Change)]) -> Vec<Device> {
    let device = |(name, change): &(&str, Change)| {
        let mut device = Device::new(*name, SystemId::Eos);
        for port in ["Ethernet1", "Ethernet2"] {
            let port = device.port(port);
            port.rate = Said::meant(Rate::from_gbps(400));
            port.pfc = Said::meant(Priority::new(3).into_iter().collect());
            port.mtu = Said::meant(Bytes::new(9214));
            change(port);
        }
        device
    };
    named.iter().map(device).collect()
}

fn reference(devices: &[Device]) -> Reference {
    let all: Vec<&Device> = devices.iter().collect();
    let kinds = kind::of_ports(&all, &Wiring::default(), |_, _, _| true);
    Reference::of(&all, kinds, &crate::facts::Register::default())
}

fn mtu(reference: &Reference, index: usize) -> Option<u64> {
    reference.devices[index].ports[&PortName::new("Ethernet1")].mtu.get().map(Bytes::get)
}

const AS_ALL: Change = |_| {};
const SMALL: Change = |port| port.mtu = Said::meant(Bytes::new(1500));

#[test]
fn most_devices_of_a_kind_decide() {
    let devices =
        fleet(&[("leaf1", AS_ALL), ("leaf2", SMALL), ("leaf3", AS_ALL), ("spine1", SMALL)]);
    let usual = reference(&devices);
    assert_eq!((mtu(&usual, 1), mtu(&usual, 3)), (Some(9214), Some(1500)));
    let port = PortName::new("Ethernet1");
    assert_eq!(usual.support(1, &port, "mtu").as_deref(), Some("2 of 3 leaf switches"));
    assert!(usual.is_firm(1, &port, "mtu", Some("9.214KB")));
    assert!(!usual.is_firm(1, &port, "mtu", Some("4KB")), "nobody has it");
}

#[test]
fn of_two_sides_the_lossless_one_wins() {
    let off: Change = |port| port.pfc = Said::Default(Default::default());
    let devices = fleet(&[("leaf1", AS_ALL), ("leaf2", off)]);
    let usual = reference(&devices);
    let pfc = &usual.devices[1].ports[&PortName::new("Ethernet1")].pfc;
    assert!(pfc.get().is_some_and(|set| !set.is_empty()));
}

#[test]
fn buffers_of_whole_devices() {
    let mut devices =
        fleet(&[("leaf1", AS_ALL), ("leaf2", AS_ALL), ("leaf3", AS_ALL), ("spine1", AS_ALL)]);
    for device in &mut devices[..2] {
        device.headroom_pool = Said::meant(Bytes::new(1 << 20));
    }
    let usual = reference(&devices);
    let pool = |index: usize| usual.devices[index].headroom_pool.get().map(Bytes::get);
    assert_eq!(
        (pool(2), pool(3)),
        (Some(1 << 20), None),
        "two of four are no majority for the spine"
    );
}

#[test]
fn what_two_have_and_the_others_each_otherwise() {
    let small: Change = |port| port.mtu = Said::meant(Bytes::new(1500));
    let large: Change = |port| port.mtu = Said::meant(Bytes::new(9000));
    let devices =
        fleet(&[("leaf1", AS_ALL), ("leaf2", AS_ALL), ("leaf3", small), ("leaf4", large)]);
    let usual = reference(&devices);
    let mtu = |index: usize| usual.devices[index].ports[&PortName::new("Ethernet1")].mtu.get();
    assert_eq!([2, 3].map(mtu), [0, 0].map(mtu));
}
