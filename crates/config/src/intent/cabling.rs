//! Names of ports, and the cables between them.

use crate::device::{Maker, PortName};
use crate::host;
use crate::system::{Cage, SystemId};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, Nic, NodeId, PortId, ServerId, Switch};
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

/// The device and port name of every port of a fabric, by its number.
pub(super) fn name_ports(setup: &FabricSetup, choose: &impl Fn(&Switch) -> SystemId) -> Vec<End> {
    let fabric = &setup.fabric;
    let mut names = Vec::with_capacity(fabric.ports.len());
    for (index, nic) in fabric.nics.iter().enumerate() {
        let server = &fabric.servers[nic.server.index()];
        let slot = index as u32 - server.nics.start;
        for port in 0..nic.ports.len() as u32 {
            let maker = maker(setup, nic).unwrap_or(Maker::Nvidia);
            let name = host::device_name(maker, slot + port);
            names.push(End { device: server.name.clone(), port: PortName::new(name) });
        }
    }
    for switch in &fabric.switches {
        let system = choose(switch).system();
        let rates = switch.ports.clone().map(|port| fabric.cable(PortId(port)).rate);
        let silicon = setup.catalogue.silicon.get(&switch.silicon);
        let split = |rate| silicon.map_or(1, |silicon| silicon.split(rate)).clamp(1, 8);
        for cage in cages(rates, split) {
            let port = PortName::new(system.port_name(cage));
            names.push(End { device: switch.name.clone(), port });
        }
    }
    names
}

/// Who made a NIC, as the catalogue says; unknown for generic ones.
pub(super) fn maker(setup: &FabricSetup, nic: &Nic) -> Option<Maker> {
    Maker::named(&setup.catalogue.nics.get(&nic.model)?.vendor)
}

/// Links fill cages in order; one cage has links of one rate.
fn cages(
    rates: impl Iterator<Item = Rate>,
    split: impl Fn(Rate) -> u32,
) -> impl Iterator<Item = Cage> {
    let mut next = 0;
    let mut open: Option<(Rate, Cage)> = None;
    rates.map(move |rate| {
        let cage = match open {
            Some((same, cage)) if same == rate && cage.link + 1 < cage.links => {
                Cage { link: cage.link + 1, ..cage }
            }
            _ => {
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
