//! Which ports ought to be configured alike, and which carry RoCE, as far as devices themselves tell.
//!
//! Where no fabric file says it, ports are of one kind if their devices have the same system and are named
//! alike but for numbers, if they lead to devices that are named alike, and if they have the same speed.

use super::wiring::{Wire, Wiring};
use crate::device::{Device, Port, PortName};
use crate::number::Priorities;
use crate::qos::Trust;
use crate::system::SystemId;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::rules::packet;
use xoff_units::Rate;

/// Ports that ought to be configured alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// The system of their devices.
    pub(super) system: SystemId,
    /// How their devices are named, without numbers.
    pub(super) role: String,
    /// How what they lead to is named, without numbers; empty if that is not known.
    pub(super) peer: String,
    /// Their speed, if known.
    pub(super) rate: Option<Rate>,
}

/// A name without its numbers and its domain: `leaf01.pod2.example.net` is `leaf#`.
pub(crate) fn role(name: &str) -> String {
    let own = name.split('.').next().unwrap_or(name);
    let mut role = String::new();
    for letter in own.chars() {
        match letter.is_ascii_digit() {
            true if role.ends_with('#') => {}
            true => role.push('#'),
            false => role.push(letter.to_ascii_lowercase()),
        }
    }
    role
}

/// A role in words: `leaf switches`, `hosts`.
pub(super) fn words(system: SystemId, role: &str) -> String {
    let name = role.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match (name, system) {
        ("", SystemId::Host) => "hosts".to_owned(),
        ("", _) => "switches".to_owned(),
        (name, SystemId::Host) => format!("{name} hosts"),
        (name, _) => format!("{name} switches"),
    }
}

/// The kind of each port that carries RoCE, where no fabric file says which ports do.
pub(super) fn of_members(
    devices: &[&Device],
    wiring: &Wiring<'_>,
) -> BTreeMap<(usize, PortName), Kind> {
    let wired = wired(&wiring.wires);
    let peers = peers(wiring);
    let told = Told::of(devices, &peers);
    let mut members = of_ports(devices, wiring, |index, name, port| {
        let end = (index, name.clone());
        let cable = match (wired.contains(&end), peers.contains_key(&end)) {
            (true, _) => Leads::ToPort,
            (_, true) => Leads::ToDevice,
            _ if port.neighbour.is_said() => Leads::Elsewhere,
            _ => Leads::Untold,
        };
        told.carries_roce(index, devices[index], port, cable)
    });
    // A port that only looks like those that pause is one of them if most of its like do: a box that pauses at three ports of
    // thirty has another use for the rest. Where a whole box pauses, a small MTU is a mistake if nearly all of its like have a large one.
    let needed = |end: &(usize, PortName)| {
        let device = devices[end.0];
        let port = device.ports.get(&end.1);
        match port {
            _ if device.is_host() || wired.contains(end) => 0,
            Some(port) if pauses(port) && told.everywhere.contains(&end.0) && is_small(port) => 4,
            Some(port) if pauses(port) => 0,
            _ => 1,
        }
    };
    let like = |kind: &Kind| (kind.system, kind.role.clone(), kind.rate);
    let mut counts: BTreeMap<_, (usize, usize)> = BTreeMap::new();
    for (end, kind) in &members {
        let (surely, perhaps) = counts.entry(like(kind)).or_default();
        *(if needed(end) == 0 { surely } else { perhaps }) += 1;
    }
    members.retain(|end, kind| {
        let (surely, perhaps) = counts.get(&like(kind)).copied().unwrap_or_default();
        surely >= needed(end) * perhaps
    });
    members
}

/// Where a port leads, as far as it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    /// To a port of a device that is there.
    ToPort,
    /// To a device that is there, perhaps to a port that is of another network.
    ToDevice,
    /// To something else.
    Elsewhere,
    Untold,
}

/// The kind of each port that is a member.
pub(super) fn of_ports(
    devices: &[&Device],
    wiring: &Wiring<'_>,
    is_member: impl Fn(usize, &PortName, &Port) -> bool,
) -> BTreeMap<(usize, PortName), Kind> {
    let peers = peers(wiring);
    let mut members = BTreeMap::new();
    for (index, device) in devices.iter().enumerate() {
        for (name, port) in device.ports.iter().filter(|(name, port)| is_member(index, name, port))
        {
            let end = (index, name.clone());
            let peer = peers.get(&end).and_then(|peer| devices.get(*peer));
            let peer = peer.map(|peer| role(&peer.name)).unwrap_or_default();
            let rate = port.rate.get();
            members
                .insert(end, Kind { system: device.system, role: role(&device.name), peer, rate });
        }
    }
    members
}

/// Ports whose cables lead to ports that are there.
fn wired(wires: &[Wire]) -> BTreeSet<(usize, PortName)> {
    wires.iter().flat_map(|wire| wire.ends.iter().cloned()).collect()
}

/// The device that each port leads to, whether or not it is known to which port: of a NIC, a description may have a name
/// that nothing joins to an RDMA device.
fn peers(wiring: &Wiring<'_>) -> BTreeMap<(usize, PortName), usize> {
    let mut peers: BTreeMap<(usize, PortName), usize> = wiring.leads.known().collect();
    for wire in &wiring.wires {
        let [a, b] = &wire.ends;
        peers.extend([(a.clone(), b.0), (b.clone(), a.0)]);
    }
    peers
}

/// What ports that pause tell about those that do not.
struct Told {
    /// Speeds of ports that pause or mark, by system.
    rates: BTreeSet<(SystemId, Rate)>,
    /// Whether nearly all ports that pause lead to devices that are there: then a port that leads elsewhere is
    /// of another network.
    wired: bool,
    /// Devices on which all ports pause: PFC was turned on for the box, and says nothing of a port.
    everywhere: BTreeSet<usize>,
}

impl Told {
    fn of(devices: &[&Device], peers: &BTreeMap<(usize, PortName), usize>) -> Self {
        let (mut rates, mut all, mut wired) = (BTreeSet::new(), 0usize, 0usize);
        let used = |port: &&Port| port.enabled.get() != Some(false);
        let boxed = |device: &Device| device.ports.values().filter(used).all(pauses);
        let everywhere = (0..devices.len()).filter(|index| boxed(devices[*index])).collect();
        for (index, device) in devices.iter().enumerate().filter(|(_, device)| !device.is_host()) {
            for (name, port) in device.ports.iter().filter(|(_, port)| pauses(port)) {
                rates.extend(port.rate.get().map(|rate| (device.system, rate)));
                all += 1;
                wired += usize::from(peers.contains_key(&(index, name.clone())));
            }
        }
        Self { rates, wired: wired * 10 >= all * 6 && all > 0, everywhere }
    }

    /// Whether a port carries RoCE: it pauses, its cable leads to a device that is there, or two things
    /// that ports of RoCE have and others rarely do.
    fn carries_roce(&self, index: usize, device: &Device, port: &Port, cable: Leads) -> bool {
        if port.enabled.get() == Some(false) {
            return false;
        }
        let own = pauses(port) && !self.everywhere.contains(&index);
        if device.is_host() || own || cable == Leads::ToPort {
            return true;
        }
        let elsewhere = self.wired && cable == Leads::Elsewhere;
        let rate = port.rate.get().map(|rate| self.rates.contains(&(device.system, rate)));
        if pauses(port) {
            return !elsewhere && (!is_small(port) || rate == Some(true));
        }
        if elsewhere || rate == Some(false) {
            return false;
        }
        let jumbo = port.mtu.said().is_some_and(|mtu| *mtu >= packet::default_largest_ip());
        let trusts = matches!(port.trust.said(), Some(Trust::Dscp | Trust::Both));
        let watched = port.watchdog.on.said() == Some(&true);
        let told_off = port.pfc.is_said();
        let signs = [jumbo, trusts, watched, told_off, rate == Some(true)];
        signs.into_iter().filter(|sign| *sign).count() >= 2
    }
}

/// Whether an RDMA packet does not fit.
fn is_small(port: &Port) -> bool {
    port.mtu.get().is_some_and(|mtu| mtu < packet::default_largest_ip())
}

fn pauses(port: &Port) -> bool {
    port.pfc.get().is_some_and(|set: Priorities| !set.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_names_without_numbers() {
        assert_eq!(role("leaf01"), role("leaf12.pod2.example.net"));
        assert_eq!(role("dc1-Leaf-2"), "dc#-leaf-#");
        assert_ne!(role("leaf1"), role("spine1"));
        assert_eq!(words(SystemId::Eos, "leaf#"), "leaf switches");
        assert_eq!(words(SystemId::Host, "#"), "hosts");
    }
}
