//! Names of ports, and the cables between them.

use crate::device::{Maker, PortName};
use crate::host;
use crate::system::{Cage, SystemId};
use std::collections::BTreeSet;
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, Nic, NodeId, PortId, Server, ServerId, Switch};
use xoff_units::{Bytes, Length, Rate};

/// A cable between two devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its two ends.
    pub ends: [End; 2],
    /// Its rate.
    pub rate: Option<Rate>,
    /// Its length.
    pub length: Option<Length>,
    /// Headroom below which the lossless class can lose packets, at each end that is a switch.
    pub headroom: [Option<Bytes>; 2],
    /// The rail of the NIC at one of its ends, in a design with rails.
    pub rail: Option<u32>,
}

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The device.
    pub device: String,
    /// Its port.
    pub port: PortName,
}

/// The device and port name of every port of a fabric, by its number. Ports that the fabric file does not name get
/// generated names, which are no other port's.
pub(super) fn name_ports(setup: &FabricSetup, choose: &impl Fn(&Switch) -> SystemId) -> Vec<End> {
    let fabric = &setup.fabric;
    let mut names = Vec::with_capacity(fabric.ports.len());
    for server in &fabric.servers {
        name_server(setup, server, &mut names);
    }
    for switch in &fabric.switches {
        name_switch(setup, switch, choose(switch), &mut names);
    }
    assert_eq!(names.len(), fabric.ports.len(), "a name for each port");
    names
}

/// Names the RDMA devices of a server: each by its place among them, or the next free one.
fn name_server(setup: &FabricSetup, server: &Server, names: &mut Vec<End>) {
    let fabric = &setup.fabric;
    let nics = &fabric.nics[server.nics.start as usize..server.nics.end as usize];
    let ports = || nics.iter().flat_map(|nic| nic.ports.clone().map(move |port| (nic, port)));
    let mut taken = given(fabric, ports().map(|(_, port)| port));
    for (place, (nic, port)) in (0..).zip(ports()) {
        let maker = maker(setup, nic).unwrap_or(Maker::Nvidia);
        let label = fabric.ports[port as usize].label.as_deref().map(str::to_owned);
        let name = label.unwrap_or_else(|| {
            let mut numbered = (place..).map(|number| host::device_name(maker, number));
            numbered.find(|name| !taken.contains(name)).expect("numbers without end")
        });
        taken.insert(name.to_ascii_lowercase());
        names.push(End { device: server.name.clone(), port: PortName::new(name) });
    }
}

/// Names the ports of a switch. Those that the file does not name fill the cages of which it names no port.
fn name_switch(setup: &FabricSetup, switch: &Switch, system: SystemId, names: &mut Vec<End>) {
    let fabric = &setup.fabric;
    let system = system.system();
    let label = |port: u32| fabric.ports[port as usize].label.as_deref();
    let taken = given(fabric, switch.ports.clone());
    let free = |cage: u32| {
        let broken =
            [1, 2, 4, 8].into_iter().flat_map(|links| (0..links).map(move |link| (links, link)));
        let mut ways = broken.map(|(links, link)| system.port_name(Cage { cage, link, links }));
        taken.is_empty() || !ways.any(|name| taken.contains(&name.to_ascii_lowercase()))
    };
    let silicon = setup.catalogue.silicon.get(&switch.silicon);
    let split = |rate| silicon.map_or(1, |silicon| silicon.split(rate)).clamp(1, 8);
    let unnamed = switch.ports.clone().filter(|port| label(*port).is_none());
    let rates = unnamed.map(|port| fabric.cable(PortId(port)).rate);
    let mut generated = cages(rates, split, free).map(|cage| system.port_name(cage));
    for port in switch.ports.clone() {
        let name = label(port).map(str::to_owned).or_else(|| generated.next());
        let port = PortName::new(name.expect("a cage for each port without a name"));
        names.push(End { device: switch.name.clone(), port });
    }
}

/// The names that the file gives some ports, in lower case.
fn given(fabric: &Fabric, ports: impl Iterator<Item = u32>) -> BTreeSet<String> {
    let labels = ports.filter_map(|port| fabric.ports[port as usize].label.as_deref());
    labels.map(str::to_ascii_lowercase).collect()
}

/// The devices of which the file names ports.
pub(super) fn named_devices(fabric: &Fabric, ports: &[End]) -> BTreeSet<String> {
    let named = fabric.ports.iter().zip(ports).filter(|(port, _)| port.label.is_some());
    named.map(|(_, end)| end.device.clone()).collect()
}

/// Who made a NIC, as the catalogue says; unknown for generic ones.
pub(super) fn maker(setup: &FabricSetup, nic: &Nic) -> Option<Maker> {
    Maker::named(&setup.catalogue.nics.get(&nic.model)?.vendor)
}

/// Links fill free cages in order; one cage has links of one rate.
fn cages(
    rates: impl Iterator<Item = Rate>,
    split: impl Fn(Rate) -> u32,
    free: impl Fn(u32) -> bool,
) -> impl Iterator<Item = Cage> {
    let mut next = 0;
    let mut open: Option<(Rate, Cage)> = None;
    rates.map(move |rate| {
        let cage = match open {
            Some((same, cage)) if same == rate && cage.link + 1 < cage.links => {
                Cage { link: cage.link + 1, ..cage }
            }
            _ => {
                while !free(next) {
                    next += 1;
                }
                next += 1;
                // Three links of eight lanes are four with one left dark.
                Cage { cage: next - 1, link: 0, links: split(rate).next_power_of_two().min(8) }
            }
        };
        open = Some((rate, cage));
        cage
    })
}

pub(super) fn links(fabric: &Fabric, ports: &[End]) -> Vec<Link> {
    let numbered = fabric.ports.iter().enumerate();
    let once = numbered.filter(|(index, port)| *index < port.peer.index());
    once.map(|(index, port)| {
        let cable = &fabric.cables[port.cable.index()];
        let length = Some(cable.length).filter(|length| *length != Length::default());
        let (a, b) = (PortId(index as u32), port.peer);
        Link {
            ends: [a, b].map(|end| ports[end.index()].clone()),
            rate: Some(cable.rate),
            length,
            headroom: [a, b].map(|end| needed(fabric, end)),
            rail: [a, b].into_iter().find_map(|end| rail(fabric, end)),
        }
    })
    .collect()
}

fn needed(fabric: &Fabric, port: PortId) -> Option<Bytes> {
    use xoff_fabric::rules::headroom::{Situation, needed};
    Situation::at(fabric, port).map(|situation| needed(&situation))
}

/// The rail that a port of a NIC is meant to be on.
fn rail(fabric: &Fabric, port: PortId) -> Option<u32> {
    fabric.nics.get(fabric.ports[port.index()].node.index())?.rail
}

/// What a port leads to.
pub(super) fn peer<'a>(fabric: &Fabric, ports: &'a [End], port: PortId) -> &'a End {
    &ports[fabric.ports[port.index()].peer.index()]
}

/// The MTU of the switch that a NIC's port leads to.
pub(super) fn peer_mtu(fabric: &Fabric, port: PortId) -> Bytes {
    let peer = &fabric.ports[fabric.ports[port.index()].peer.index()];
    let switch = fabric.node_switch(peer.node).expect("no cable joins two NICs");
    fabric.switches[switch.index()].mtu
}

/// The ports of a server's NICs.
pub(super) fn server_ports(fabric: &Fabric, server: ServerId) -> impl Iterator<Item = PortId> + '_ {
    let nics = fabric.servers[server.index()].nics.clone();
    nics.flat_map(|nic| fabric.node_ports(NodeId(nic)))
}
