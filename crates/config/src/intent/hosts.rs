//! Hosts as they are meant to be.

use super::switches::{queues, whole_metres};
use super::{Agreement, End, cabling};
use crate::device::{Device, Maker, Nccl, Neighbour, Nic, Port};
use crate::number::{Class, Dscp, Priorities, Priority};
use crate::place::Said;
use crate::qos::{Maps, Trust};
use crate::system::SystemId;
use std::sync::Arc;
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{ClassId, Fabric, PortId, ServerId};
use xoff_units::{Bytes, Length};

/// The usual MTU of hosts; a smaller one of the switches comes first.
const USUAL_MTU: Bytes = Bytes::new(9000);
/// The entry of a NIC's address table for RoCEv2 over IPv4, on most machines; those of AMD have no entries of RoCEv1
/// between.
const USUAL_GID_INDEX: u8 = 3;
const AMD_GID_INDEX: u8 = 1;

pub(super) fn devices(setup: &FabricSetup, ports: &[End], agreement: &Agreement) -> Vec<Device> {
    let servers = (0..setup.fabric.servers.len() as u32).map(ServerId);
    servers.map(|server| device(setup, ports, agreement, server)).collect()
}

fn device(setup: &FabricSetup, ports: &[End], agreement: &Agreement, server: ServerId) -> Device {
    let fabric = &setup.fabric;
    let mut device = Device::new(&fabric.servers[server.index()].name, SystemId::Host);
    let first = fabric.nics.get(fabric.servers[server.index()].nics.start as usize);
    let amd = first.and_then(|nic| cabling::maker(setup, nic)) == Some(Maker::Amd);
    device.nccl = Nccl {
        // NCCL writes what its variable says into the packets of all NICs: that of the first.
        traffic_class: said(data_dscp(fabric, server).map(Dscp::tos_with_ecn)),
        gid_index: Said::meant(if amd { AMD_GID_INDEX } else { USUAL_GID_INDEX }),
        ..Nccl::default()
    };
    let mut maps = Maps::default();
    for class in Class::all() {
        let usual = fabric.classes[class.index()].dscp;
        if let Some(dscp) = Dscp::new(first.map_or(usual, |nic| nic.dscp[class.index()])) {
            maps.dscp_to_class[dscp.index()] = Said::meant(class);
        }
    }
    let maps = Arc::new(maps);
    let data = agreement.data_class.and_then(|class| Priority::new(class.get()));
    let controlled = said(data.filter(|_| agreement.marking).map(Priorities::only));
    for id in cabling::server_ports(fabric, server) {
        let port = &fabric.ports[id.index()];
        let cable = fabric.cable(id);
        let peer = cabling::peer(fabric, ports, id);
        let nic = &fabric.nics[port.node.index()];
        let writes = |class: ClassId| Dscp::new(nic.dscp[usize::from(class.0)]);
        let mut settings = queues(&port.classes);
        // A NIC marks nothing: it takes turns.
        settings.iter_mut().for_each(|queue| queue.wred = Said::Absent);
        let meant = Port {
            rate: Said::meant(cable.rate),
            mtu: Said::meant(USUAL_MTU.min(cabling::peer_mtu(fabric, id))),
            neighbour: Said::meant(Neighbour {
                device: peer.device.clone(),
                port: Some(peer.port.to_string()),
            }),
            cable: match cable.length {
                length if length == Length::default() => Said::Absent,
                length => Said::meant(whole_metres(length)),
            },
            trust: Said::meant(Trust::Dscp),
            maps: Arc::clone(&maps),
            pfc: said(agreement.lossless),
            queues: Arc::new(settings),
            nic: Nic {
                data_dscp: said(writes(fabric.data_class)),
                cm_dscp: said(writes(fabric.data_class)),
                cnp_dscp: said(writes(fabric.cnp_class.unwrap_or(fabric.data_class))),
                notifies: controlled,
                reacts: controlled,
                maker: cabling::maker(setup, nic),
                shown: true,
            },
            ..Port::default()
        };
        device.ports.insert(name(ports, id), meant);
    }
    device
}

/// The DSCP that the first NIC of a server writes into RDMA data.
fn data_dscp(fabric: &Fabric, server: ServerId) -> Option<Dscp> {
    let first = fabric.servers[server.index()].nics.start as usize;
    Dscp::new(fabric.nics.get(first)?.dscp[usize::from(fabric.data_class.0)])
}

fn name(ports: &[End], id: PortId) -> crate::device::PortName {
    ports[id.index()].port.clone()
}

fn said<T>(value: Option<T>) -> Said<T> {
    value.map_or(Said::Absent, Said::meant)
}
