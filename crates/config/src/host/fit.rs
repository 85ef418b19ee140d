//! A host as far as its NICs can be told: each maker's tools set other things.

use crate::device::{Device, Maker, Port};
use crate::number::{Class, Dscp, Priorities, Queue};
use crate::place::Said;
use crate::qos::{GroupSettings, Maps, QueueSettings, WatchdogSettings};
use crate::text::fit;
use std::sync::Arc;
use xoff_fabric::model::Scheduling;
use xoff_units::Bytes;

/// Traffic classes of Intel's 800 series, as the README of irdma counts them.
const INTEL_CLASSES: u8 = 4;

/// The maker of a NIC: as said, else as its driver names devices, else the usual one.
pub(super) fn maker(name: &str, port: &Port) -> Maker {
    port.nic.maker.or(Maker::of_device(name)).unwrap_or(Maker::Nvidia)
}

pub(super) fn fit(device: &Device, limits: &mut Vec<String>) -> Device {
    let mut device = device.clone();
    fit::mtu_at_most(&mut device, Bytes::new(9978), limits);
    fit::queues(&mut device, |queue| queue.wred = Said::Absent);
    fit::groups(&mut device, |group| *group = GroupSettings::default());
    device.balancing = Said::Absent;
    fit::own_buffers(&mut device);
    let mut first_amd: Option<Port> = None;
    for (name, port) in &mut device.ports {
        port.watchdog = WatchdogSettings::default();
        port.balancing = Said::Absent;
        let maker = maker(name.as_str(), port);
        match maker {
            Maker::Nvidia => {}
            Maker::Broadcom => broadcom(port),
            Maker::Amd => amd(port, &mut first_amd, limits),
            Maker::Intel => intel(port, limits),
        }
        if maker != Maker::Nvidia {
            port.cable = Said::Absent;
            port.nic.maker = Some(maker);
        }
        own_numbers(Arc::make_mut(&mut port.maps), Some(maker));
    }
    device
}

/// Congestion control is one switch for all priorities.
fn all_or_none(said: &mut Said<Priorities>) {
    *said = said.map(|set| if set.is_empty() { set } else { Priorities::ALL });
}

fn broadcom(port: &mut Port) {
    all_or_none(&mut port.nic.notifies);
    all_or_none(&mut port.nic.reacts);
}

fn amd(port: &mut Port, first: &mut Option<Port>, limits: &mut Vec<String>) {
    note(
        limits,
        "AMD: the DSCP of RDMA data is set by applications (NCCL_IB_TC)",
        &port.nic.data_dscp,
    );
    note(
        limits,
        "AMD: no verified command turns DCQCN on; `nicctl show dcqcn` says whether it is",
        &port.nic.reacts,
    );
    port.nic.data_dscp = Said::Absent;
    (port.nic.notifies, port.nic.reacts) = (Said::Absent, Said::Absent);
    // A class takes turns under its own number.
    Arc::make_mut(&mut port.maps).class_to_queue = [Said::Absent; 8];
    match first {
        Some(first) => {
            if first.pfc != port.pfc || first.maps != port.maps || first.queues != port.queues {
                push(limits, "AMD: `nicctl` sets the QoS of all NICs: that of the first is used");
            }
            (port.trust, port.pfc) = (first.trust, first.pfc);
            (port.maps, port.queues) = (Arc::clone(&first.maps), Arc::clone(&first.queues));
        }
        None => *first = Some(port.clone()),
    }
}

fn intel(port: &mut Port, limits: &mut Vec<String>) {
    note(
        limits,
        "Intel: the DSCP of RDMA data is set by applications (NCCL_IB_TC) or rdma_cm",
        &port.nic.data_dscp,
    );
    note(limits, "Intel: no verified setting for the DSCP of CNPs", &port.nic.cnp_dscp);
    port.nic.data_dscp = Said::Absent;
    port.nic.cnp_dscp = Said::Absent;
    all_or_none(&mut port.nic.notifies);
    all_or_none(&mut port.nic.reacts);
    // One file is the switch of both.
    port.nic.notifies = port.nic.reacts;
    four_classes(port, limits);
}

/// A DSCP leads to a traffic class directly, and there are four.
fn four_classes(port: &mut Port, limits: &mut Vec<String>) {
    let high = |class: &Said<Class>| class.said().is_some_and(|class| class.get() >= INTEL_CLASSES);
    let maps = Arc::make_mut(&mut port.maps);
    maps.class_to_queue = [Said::Absent; 8];
    if maps.dscp_to_class.iter().any(high) {
        push(limits, "Intel: four traffic classes: DSCPs of classes 4 to 7 are in class 0");
    }
    for entry in maps.dscp_to_class.iter_mut().filter(|entry| high(entry)) {
        *entry = Class::new(0).map_or(Said::Absent, Said::meant);
    }
    let pauses =
        |set: Priorities| set.iter().filter(|p| p.get() < INTEL_CLASSES).collect::<Priorities>();
    if port.pfc.get().is_some_and(|set| pauses(set) != set) {
        push(
            limits,
            "Intel: four traffic classes: priorities 4 to 7 cannot pause; use a class from 0 to 3",
        );
    }
    port.pfc = port.pfc.map(pauses);
    if !port.queues.iter().any(QueueSettings::is_said) {
        return;
    }
    let queues = Arc::make_mut(&mut port.queues);
    let weight = |queue: &QueueSettings| match queue.scheduling.get() {
        Some(Scheduling::Weighted(weight)) => weight,
        _ => 0,
    };
    let rest: u32 = queues.iter().skip(INTEL_CLASSES.into()).map(weight).sum();
    for queue in queues.iter_mut().skip(INTEL_CLASSES.into()) {
        *queue = QueueSettings::default();
    }
    let heir = queues.iter_mut().find(|queue| weight(queue) > 0);
    if let Some(Said::At(Scheduling::Weighted(own), _)) = heir.map(|queue| &mut queue.scheduling) {
        *own += rest;
    }
}

fn note<T>(limits: &mut Vec<String>, sentence: &str, said: &Said<T>) {
    if said.is_said() {
        push(limits, sentence);
    }
}

fn push(limits: &mut Vec<String>, sentence: &str) {
    if !limits.iter().any(|known| known == sentence) {
        limits.push(sentence.to_owned());
    }
}

/// What a NIC does with DSCPs that nothing is said of: NVIDIA's take the upper three bits, others class 0. The rest
/// has one number.
pub(super) fn own_numbers(maps: &mut Maps, maker: Option<Maker>) {
    if maker.is_some_and(|maker| maker != Maker::Nvidia) {
        maps.unmatched_in_class_0();
    }
    for dscp in Dscp::all() {
        if let Some(class) = Class::new(dscp.get() >> 3) {
            let entry = &mut maps.dscp_to_class[dscp.index()];
            *entry = entry.or_default(class);
        }
    }
    maps.pause_by_class();
}

/// The queue of a class, as calls name it.
pub(super) fn queue_of(maps: &Maps, class: Class) -> u8 {
    maps.class_to_queue[class.index()].get().map_or(class.get(), Queue::get)
}
