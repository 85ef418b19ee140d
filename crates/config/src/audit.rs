//! What is wrong with devices: each for itself, along every cable, and end to end.
//!
//! With an intent, devices are held against it; without, against each other and the rules of the
//! trade. A packet of RDMA data and a notification are followed through every map of every port
//! they can come by. One mistake is reported once: what follows from it is not.

mod apart;
mod buffers;
mod cabling;
mod classify;
mod consensus;
mod cure;
mod describe;
mod drift;
mod finding;
mod fix;
mod fleet;
mod habit;
mod inactive;
mod kind;
mod known;
mod leads;
mod link;
mod nic;
mod queues;
mod reference;
mod rule;
mod scene;
mod sibling;
mod silence;
mod sizes;
mod statement;
mod tenants;
mod tunnels;
mod wiring;

pub use crate::collection::{Collection, read};
pub use finding::{Finding, Fix, Report};
pub(crate) use kind::role;
pub use rule::{RULES, Rule};

use crate::cabling::Cables;
use crate::device::{Device, RemarkKind};
use crate::intent::Intent;
use crate::place::Files;
use crate::system::{SystemId, Topic};
use finding::{Collector, Fault};
use scene::{Scene, Site};
use std::collections::BTreeSet;

/// Checks devices against an intent, or against each other.
pub fn audit(devices: &[Device], intent: Option<&Intent>) -> Report {
    report(devices, &Cables::default(), None, intent)
}

/// Checks devices and the cables between them against an intent, or against each other. Fixes need the texts: see
/// [`with_fixes`].
pub fn audit_with(devices: &[Device], cables: &Cables, intent: Option<&Intent>) -> Report {
    report(devices, cables, None, intent)
}

/// The same, with fixes: each was entered into the text of its device, which was read and audited again.
pub fn with_fixes(
    devices: &[Device],
    cables: &Cables,
    files: &Files,
    intent: Option<&Intent>,
) -> Report {
    report(devices, cables, Some(files), intent)
}

fn report(
    devices: &[Device],
    cables: &Cables,
    files: Option<&Files>,
    intent: Option<&Intent>,
) -> Report {
    let scene = Scene::new(devices, cables, intent);
    let apart = if intent.is_none() { apart::fabrics(&scene, cables) } else { None };
    let mut report = match apart {
        Some((fabrics, note)) => {
            drop(scene);
            let mut all = Report::default();
            for fabric in &fabrics {
                all.add(of_one(&Scene::new(fabric, cables, None), files));
            }
            all.notes.insert(0, note);
            all
        }
        None => of_one(&scene, files),
    };
    let remarks = |kind| devices.iter().map(|device| device.count(kind)).sum();
    report.unknown = remarks(RemarkKind::Unknown);
    report.unknown += cables.remarks.len();
    report.malformed = remarks(RemarkKind::Malformed) + remarks(RemarkKind::Truncated);
    report.foreign = remarks(RemarkKind::Foreign);
    report.unchecked = unchecked(devices);
    report
}

/// What is found in one fabric, without what was not understood.
fn of_one(scene: &Scene<'_>, files: Option<&Files>) -> Report {
    let mut found = check(scene, None);
    cabling::check(scene, &mut found);
    fleet::check(scene, &mut found);
    let notes = scene.notes.iter().cloned().chain(found.take_notes()).collect();
    Report {
        notes,
        findings: found.into_findings(files),
        devices: scene.devices.len(),
        links: scene.wiring.wires.len(),
        ..Report::default()
    }
}

/// The rules of every device and cable, or of one device and the cables at it. What needs all devices at once, and is not cured by
/// configuring one, is not among them.
fn check<'s>(scene: &'s Scene<'s>, only: Option<usize>) -> Collector<'s> {
    let mut found = Collector::new(scene);
    let wanted = |index: usize| only.is_none_or(|only| only == index);
    let wires = || {
        let ends = |wire: &&wiring::Wire| wire.ends.iter().any(|(index, _)| wanted(*index));
        scene.wiring.wires.iter().filter(ends)
    };
    let devices = || scene.devices.iter().enumerate().filter(|(index, _)| wanted(*index));
    // What is missing from a text that is cut off is no mistake of the device.
    let cut = &scene.cut;
    for (index, (message, place)) in cut.iter().filter(|(index, _)| wanted(**index)) {
        found.device(*index, Fault::new(&rule::TRUNCATED, message).at([*place]));
    }
    let wires = || {
        let whole =
            |wire: &&wiring::Wire| wire.ends.iter().all(|(index, _)| !cut.contains_key(index));
        wires().filter(whole)
    };
    let devices = || devices().filter(|(index, _)| !cut.contains_key(index));
    for site in devices().flat_map(|(index, device)| scene.sites_of(index, device)) {
        check_port(&site, &mut found);
    }
    if only.is_some() {
        // What is wrong at the other end of a cable decides what is said of the cable.
        let far = wires().flat_map(|wire| &wire.ends).filter(|(index, _)| !wanted(*index));
        for site in far.filter_map(|(index, name)| scene.site(*index, name)) {
            check_port(&site, &mut found);
        }
    }
    link::check(scene, wires(), &mut found);
    for (index, device) in devices() {
        fleet::check_device(scene, index, device, &mut found);
        // Last, because what other rules reported is not reported again.
        for site in scene.sites_of(index, device) {
            drift::port(&site, &mut found);
        }
        drift::device(scene, index, device, &mut found);
        silence::check(scene, index, device, &mut found);
    }
    found
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
        if standing.class {
            tunnels::check(site, found);
        }
    }
    buffers::mtu(site, found);
}
