//! Switches as they are meant to be.

use super::{Agreement, End, cabling};
use crate::device::{Balancing, Device, Neighbour, Port};
use crate::number::{Class, Dscp, Group, Priority, Queue};
use crate::place::Said;
use crate::qos::{
    GroupSettings, Levels, Maps, QueueSettings, Reaction, Trust, WatchdogSettings, Wred,
};
use crate::system::SystemId;
use crate::text::fit;
use std::sync::Arc;
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, PortClass, PortId, Switch, Watchdog};
use xoff_units::Length;

pub(super) fn devices(
    setup: &FabricSetup,
    ports: &[End],
    agreement: &Agreement,
    choose: &impl Fn(&Switch) -> SystemId,
) -> Vec<Device> {
    let of = |switch| device(setup, ports, agreement, switch, choose(switch));
    setup.fabric.switches.iter().map(of).collect()
}

fn device(
    setup: &FabricSetup,
    ports: &[End],
    agreement: &Agreement,
    switch: &Switch,
    system: SystemId,
) -> Device {
    let fabric = &setup.fabric;
    let mut device = Device::new(&switch.name, system);
    device.hardware = Said::meant(switch.silicon.clone());
    let balancing = agreement.balancing.unwrap_or(Balancing::Hash);
    device.balancing = Said::meant(balancing);
    device.shared_buffer = Said::meant(fabric.packet_memory(switch).shared);
    device.headroom_pool = switch.headroom_pool.map_or(Said::Absent, Said::meant);
    let maps = Arc::new(maps(fabric, switch));
    let mut profiles = Profiles::default();
    for id in switch.ports.clone().map(PortId) {
        let cable = fabric.cable(id);
        let peer = cabling::peer(fabric, ports, id);
        let classes = &fabric.ports[id.index()].classes;
        let (queues, groups) = profiles.of(classes);
        let port = Port {
            rate: Said::meant(cable.rate),
            mtu: Said::meant(switch.mtu),
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
            pfc: Said::meant(super::lossless(fabric, classes.iter().map(|class| class.lossless))),
            queues,
            groups,
            watchdog: watchdog(switch.watchdog),
            balancing: Said::meant(balancing != Balancing::Hash),
            ..Port::default()
        };
        device.ports.insert(ports[id.index()].port.clone(), port);
    }
    device
}

/// Devices count metres; a longer cable is the safe error.
pub(super) fn whole_metres(length: Length) -> Length {
    Length::from_m(length.as_mm().div_ceil(1000))
}

/// Queues, groups and pauses have the number of their class. Lossy classes share one group.
fn maps(fabric: &Fabric, switch: &Switch) -> Maps {
    let mut maps = Maps::default();
    for dscp in Dscp::all() {
        let class = Class::of(switch.dscp_to_class[dscp.index()]);
        maps.dscp_to_class[dscp.index()] = class.map_or(Said::Absent, Said::meant);
    }
    // All ports of a switch have the same rules.
    let first = fabric.ports.get(switch.ports.start as usize).filter(|_| !switch.ports.is_empty());
    let lossless: [bool; 8] = std::array::from_fn(|index| match first {
        Some(port) => port.classes[index].lossless,
        None => fabric.classes[index].lossless,
    });
    let lossy = lossless.iter().position(|lossless| !lossless).unwrap_or(0);
    for (index, lossless) in lossless.into_iter().enumerate() {
        let number = index as u8;
        let group = if lossless { number } else { lossy as u8 };
        maps.class_to_queue[index] = Queue::new(number).map_or(Said::Absent, Said::meant);
        maps.class_to_group[index] = Group::new(group).map_or(Said::Absent, Said::meant);
        maps.pfc_to_queue[index] = Queue::new(number).map_or(Said::Absent, Said::meant);
        maps.pfc_to_group[index] = Group::new(number).map_or(Said::Absent, Said::meant);
    }
    maps
}

fn watchdog(watchdog: Option<Watchdog>) -> WatchdogSettings {
    let on = Said::meant(watchdog.is_some());
    match watchdog {
        None => WatchdogSettings { on, ..WatchdogSettings::default() },
        Some(watchdog) => WatchdogSettings {
            on,
            detect: Said::meant(watchdog.detect),
            restore: Said::meant(watchdog.restore),
            reaction: Said::meant(Reaction::Act(watchdog.action)),
        },
    }
}

/// Settings of a port's queues and groups, shared by the ports that have the same.
type Shared = (Arc<[QueueSettings; 8]>, Arc<[GroupSettings; 8]>);

#[derive(Default)]
struct Profiles(Vec<([PortClass; 8], Shared)>);

impl Profiles {
    fn of(&mut self, classes: &[PortClass; 8]) -> Shared {
        if let Some((_, shared)) = self.0.iter().find(|(known, _)| known == classes) {
            return shared.clone();
        }
        let shared = (Arc::new(queues(classes)), Arc::new(groups(classes)));
        self.0.push((*classes, shared.clone()));
        shared
    }
}

pub(super) fn queues(classes: &[PortClass; 8]) -> [QueueSettings; 8] {
    let mut turns = classes.map(|class| Some(class.scheduling));
    fit::shares(&mut turns);
    std::array::from_fn(|index| QueueSettings {
        scheduling: turns[index].map_or(Said::Absent, Said::meant),
        wred: match classes[index].ecn {
            Some(ecn) => Said::meant(Wred { levels: Levels::Sizes(ecn), marks: true }),
            None => Said::Absent,
        },
    })
}

fn groups(classes: &[PortClass; 8]) -> [GroupSettings; 8] {
    let numbered: [Option<Priority>; 8] = std::array::from_fn(|index| Priority::new(index as u8));
    numbered.map(|number| {
        let Some(index) = number.map(Priority::index) else { return GroupSettings::default() };
        let class = &classes[index];
        if !class.lossless {
            return GroupSettings::default();
        }
        GroupSettings {
            reserved: Said::meant(class.reserved),
            threshold: Said::meant(class.threshold),
            xon_offset: Said::meant(class.xon_offset),
            headroom: Said::meant(class.headroom),
        }
    })
}
