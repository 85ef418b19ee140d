//! What is wrong with devices: each for itself, along every cable, and end to end.
//!
//! With an intent, devices are held against it; without, against each other and the rules of the
//! trade. A packet of RDMA data and a notification are followed through every map of every port
//! they can come by. One mistake is reported once: what follows from it is not.

mod buffers;
mod cabling;
mod classify;
mod cure;
mod describe;
mod finding;
mod fleet;
mod known;
mod leads;
mod link;
mod nic;
mod queues;
mod rule;
mod scene;
mod tenants;
mod wiring;

pub use finding::{Finding, Report};
pub use rule::{RULES, Rule};

use crate::cabling::{Cables, device_of_file, scan};
use crate::device::{Device, RemarkKind};
use crate::host::NOT_READ;
use crate::intent::Intent;
use crate::place::{FileId, Files};
use crate::system::{Input, SystemId, Topic};
use finding::Collector;
use scene::{Scene, Site};
use std::collections::{BTreeMap, BTreeSet};

/// What files describe.
#[derive(Debug, Default)]
pub struct Collection {
    /// The devices. A host may be described by several files.
    pub devices: Vec<Device>,
    /// Files that look like no system's.
    pub strange: Vec<FileId>,
    /// What tables say about cables.
    pub cables: Cables,
}

/// The devices that files describe.
pub fn read(files: &Files) -> Collection {
    let mut found = Collection::default();
    let mut hosts = BTreeMap::new();
    for (id, file) in files.iter() {
        if file.text.lines().take(5).any(|line| line.contains(NOT_READ)) {
            continue;
        }
        let stem = file.name.rsplit(['/', '\\']).next().unwrap_or(&file.name);
        let name = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let scan = scan(id, &file.text);
        let text = scan.rest.as_deref().unwrap_or(&file.text);
        let (none, mut owner) = (scan.is_empty(), device_of_file(&file.name));
        match SystemId::recognise(text) {
            Some(system) => {
                let device = system.system().parse(&Input { name, file: id, text });
                owner.clone_from(&device.name);
                found.add(device, &mut hosts);
            }
            None if none => found.strange.push(id),
            None => {}
        }
        found.cables.add(scan, &owner);
    }
    found
}

impl Collection {
    /// Adds a device; what is said of a host elsewhere stays. `hosts` says where each host is.
    fn add(&mut self, device: Device, hosts: &mut BTreeMap<String, usize>) {
        if !device.is_host() {
            return self.devices.push(device);
        }
        let Some(known) = hosts.get(&device.name).and_then(|at| self.devices.get_mut(*at)) else {
            hosts.insert(device.name.clone(), self.devices.len());
            return self.devices.push(device);
        };
        for (name, port) in device.ports {
            known.ports.entry(name).or_insert(port);
        }
        let (old, new) = (&mut known.nccl, device.nccl);
        if new.traffic_class.is_said() {
            old.traffic_class = new.traffic_class;
        }
        if new.gid_index.is_said() {
            old.gid_index = new.gid_index;
        }
        known.remarks.extend(device.remarks);
    }
}

/// Checks devices against an intent, or against each other.
pub fn audit(devices: &[Device], intent: Option<&Intent>) -> Report {
    audit_with(devices, &Cables::default(), intent)
}

/// Checks devices and the cables between them against an intent, or against each other.
pub fn audit_with(devices: &[Device], cables: &Cables, intent: Option<&Intent>) -> Report {
    let scene = Scene::new(devices, cables, intent);
    let mut found = Collector::new(&scene);
    for site in scene.sites() {
        check_port(&site, &mut found);
    }
    link::check(&scene, &mut found);
    cabling::check(&scene, &mut found);
    fleet::check(&scene, &mut found);
    let remarks = |kind| devices.iter().map(|device| device.count(kind)).sum();
    Report {
        findings: found.into_findings(),
        devices: devices.len(),
        links: scene.wiring.wires.len(),
        unknown: remarks(RemarkKind::Unknown) + cables.remarks.len(),
        malformed: remarks(RemarkKind::Malformed),
        foreign: remarks(RemarkKind::Foreign),
        unchecked: unchecked(devices),
    }
}

fn unchecked(devices: &[Device]) -> Vec<(SystemId, Topic)> {
    let systems: BTreeSet<SystemId> = devices.iter().map(|device| device.system).collect();
    let topics = |system: SystemId| system.system().unsaid().iter().map(move |t| (system, *t));
    systems.into_iter().flat_map(topics).collect()
}

/// The rules of one port, from the wire inwards. A port without QoS has one mistake, not twelve.
fn check_port(site: &Site<'_>, found: &mut Collector<'_>) {
    if classify::not_applied(site, found) {
        return;
    }
    let standing = classify::check(site, found);
    if site.device.is_host() {
        nic::check(site, found);
        queues::shares(site, found);
    } else {
        if standing.class {
            queues::check(site, found);
        }
        if standing.pause {
            buffers::check(site, found);
        }
        buffers::watchdog(site, found);
        classify::drift(site, found);
    }
    buffers::mtu(site, found);
}
