//! Devices compared with each other.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::nic;
use super::rule;
use super::scene::{Scene, usual};
use crate::device::{Balancing, Device};
use crate::number::Dscp;
use crate::system::{SystemId, Topic};

pub(super) fn check(scene: &Scene<'_>, found: &mut Collector<'_>) {
    for system in SystemId::ALL {
        versions(scene, system, found);
    }
    guards(scene, found);
    for number in 0..scene.missing.len() {
        let fault = Fault::new(&rule::NOT_SEEN, "its configuration was not collected");
        found.device(scene.devices.len() + number, fault);
    }
}

/// What a device as a whole has, against the others.
pub(super) fn check_device(
    scene: &Scene<'_>,
    index: usize,
    device: &Device,
    found: &mut Collector<'_>,
) {
    if device.is_host() {
        nccl(scene, index, device, found);
        nic::gid(index, device, found);
    } else {
        balancing(scene, index, device, found);
    }
}

fn versions(scene: &Scene<'_>, system: SystemId, found: &mut Collector<'_>) {
    let alike = || scene.devices.iter().enumerate().filter(|(_, d)| d.system.family() == system);
    let Some(common) = usual(alike().filter_map(|(_, device)| device.version.value())) else {
        return;
    };
    for (index, device) in alike() {
        let Some(version) = device.version.value().filter(|version| *version != common) else {
            continue;
        };
        let message = format!("software {version}; most {system} devices run {common}");
        found.device(index, Fault::new(&rule::VERSIONS, message).at(device.version.place()));
    }
}

fn guards(scene: &Scene<'_>, found: &mut Collector<'_>) {
    let switches = || scene.devices.iter().enumerate().filter(|(_, d)| !d.is_host());
    if switches().all(|(_, device)| device.guards.is_empty()) {
        return;
    }
    for (index, device) in switches().filter(|(_, device)| device.guards.is_empty()) {
        let message = format!("no access list of {} names UDP port 4791", device.name);
        found.device(index, Fault::new(&rule::GUARD, message));
    }
}

fn nccl(scene: &Scene<'_>, index: usize, device: &Device, found: &mut Collector<'_>) {
    let meant = scene.intent.and_then(|intent| intent.device(&device.name));
    let meant = meant.and_then(|device| device.nccl.traffic_class.get()).map(Dscp::of_tos);
    let Some(wanted) = meant.or(scene.agreement.data_dscp) else { return };
    let said = &device.nccl.traffic_class;
    let fault = match said.get() {
        Some(tos) if Dscp::of_tos(tos) == wanted => return,
        Some(tos) => {
            let dscp = Dscp::of_tos(tos);
            let message = format!("NCCL_IB_TC={tos} is DSCP {dscp}; {wanted} is meant");
            Fault::new(&rule::NCCL, message).at(said.place())
        }
        // No environment of this host was collected.
        None if device.nccl.shown.is_none() => return,
        None => Fault::new(&rule::NCCL_MISSING, "NCCL_IB_TC is not set"),
    };
    found.device(index, fault.cured_by(Aspect::Nccl));
}

fn balancing(scene: &Scene<'_>, index: usize, device: &Device, found: &mut Collector<'_>) {
    let Some(wanted) = scene.agreement.balancing else { return };
    // Not every system can do what is wanted.
    let possible = match scene.fitted(index) {
        Some(meant) => meant.balancing.get().is_some_and(|b| b != Balancing::Hash),
        None => scene.intent.is_none(),
    };
    let possible = possible && !device.system.system().unsaid().contains(&Topic::Balancing);
    if !possible {
        return;
    }
    if device.balancing.get().is_none_or(|balancing| balancing == Balancing::Hash) {
        let message = format!("flows are spread by a hash; {} is meant", wanted.name());
        let fault = Fault::new(&rule::BALANCING, message)
            .at(device.balancing.place())
            .cured_by(Aspect::Balancing);
        return found.device(index, fault);
    }
    let mostly = usual(device.ports.values().map(|port| port.balancing.get())).flatten();
    let names = device.ports.keys();
    for site in names.filter_map(|name| scene.site(index, name)) {
        let meant = match site.meant {
            Some(port) => port.balancing.get(),
            None => mostly.filter(|_| scene.intent.is_none() && site.wire.is_some()),
        };
        if meant == Some(true) && site.port.balancing.get() != Some(true) {
            let fault = Fault::new(&rule::BALANCING, "the port takes no part in load balancing")
                .at(site.port.place)
                .cured_by(Aspect::Balancing);
            found.port(&site, fault);
        }
    }
}
