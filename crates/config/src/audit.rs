//! What is wrong with devices: each for itself, along every cable, and end to end.
//!
//! With an intent, devices are held against it; without, against each other and the rules of the
//! trade. A packet of RDMA data and a notification are followed through every map of every port
//! they can come by. One mistake is reported once: what follows from it is not.

mod buffers;
mod classify;
mod cure;
mod finding;
mod fleet;
mod link;
mod nic;
mod queues;
mod rule;
mod scene;
mod tenants;

pub use crate::collection::{Collection, read};
pub use finding::{Finding, Report};
pub use rule::{RULES, Rule};

use crate::device::{Device, RemarkKind};
use crate::intent::Intent;
use crate::system::{SystemId, Topic};
use finding::Collector;
use scene::{Scene, Site};
use std::collections::BTreeSet;

/// Checks devices against an intent, or against each other.
pub fn audit(devices: &[Device], intent: Option<&Intent>) -> Report {
    let scene = Scene::new(devices, intent);
    let mut found = Collector::new(&scene);
    for site in scene.sites() {
        check_port(&site, &mut found);
    }
    link::check(&scene, &mut found);
    fleet::check(&scene, &mut found);
    let remarks = |kind| devices.iter().map(|device| device.count(kind)).sum();
    Report {
        findings: found.into_findings(),
        devices: devices.len(),
        links: scene.wires.len(),
        unknown: remarks(RemarkKind::Unknown),
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
