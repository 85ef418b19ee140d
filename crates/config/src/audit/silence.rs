//! What was not checked: devices and ports of which nothing was recognised. Nothing found and nothing looked at
//! are different sentences.

use super::finding::{Collector, Fault};
use super::rule;
use super::scene::Scene;
use crate::device::{Device, Port, PortName, RemarkKind};
use crate::place::Place;
use std::collections::BTreeMap;
use xoff_fabric::Severity;

/// Statements of a device that are named by their lines.
const MOST: usize = 8;

/// Devices whose text is cut off, with what tells it.
pub(super) type Cut = BTreeMap<usize, (String, Place)>;

/// The devices whose text ends in the middle of a statement, or lacks the end that all others have.
pub(super) fn cut(devices: &[Device]) -> Cut {
    let tell = |device: &Device| {
        let cut = device.remarks.iter().find(|remark| remark.kind == RemarkKind::Truncated)?;
        Some(("the text is cut off: what stands behind was not checked".to_owned(), cut.place))
    };
    devices.iter().enumerate().filter_map(|(index, d)| Some((index, tell(d)?))).collect()
}

pub(super) fn check(scene: &Scene<'_>, index: usize, device: &Device, found: &mut Collector<'_>) {
    unreadable(index, device, found);
    undefined(index, device, found);
    unchecked(scene, index, device, found);
    // Whoever keeps files may leave the end out: what there is was checked.
    let end = device.remarks.iter().find(|remark| remark.kind == RemarkKind::Unended);
    if let Some(end) = end {
        let message = "the text says that it is the output of a command, and lacks the `end` of that: if it is cut off, what \
                       stands behind was not checked";
        found.device(index, Fault::new(&rule::TRUNCATED, message).at([end.place]).warning());
    }
}

/// Devices and ports of which nothing was checked.
fn unchecked(scene: &Scene<'_>, index: usize, device: &Device, found: &mut Collector<'_>) {
    if scene.intent.is_some() && scene.intended(index).is_none() {
        let message = "the fabric file has no device of this name: nothing was checked";
        let fault = Fault::new(&rule::NOT_IN_FABRIC, message);
        // Where it has none of them, it is the file of another fabric, and the audit of this one did not pass.
        let any = (0..scene.devices.len()).any(|index| scene.intended(index).is_some());
        let severity = if any { fault.severity } else { Severity::Error };
        return found.device(index, Fault { severity, ..fault });
    }
    missing_ports(scene, index, found);
    let sites = scene.sites_of(index, device).count();
    let nothing_known = scene.agreement.data_dscp.is_none() && scene.agreement.lossless.is_none();
    if sites > 0 && (!nothing_known || found.has(index)) {
        return;
    }
    let message = match (sites, device.is_host()) {
        (0, true) => "nothing checked: no RDMA settings of a NIC were recognised",
        (0, false) if switched_off(device) => {
            "nothing checked: all ports with RoCE settings are switched off"
        }
        (0, false) => "nothing checked: no RoCE settings were recognised",
        _ => "nothing checked: no device says which packets are RDMA data",
    };
    found.device(index, Fault::new(&rule::NOTHING_CHECKED, message));
}

/// Whether there are ports that pause, and none of them is up.
fn switched_off(device: &Device) -> bool {
    let pauses = |port: &&Port| port.pfc.get().is_some_and(|set| !set.is_empty());
    let mut pausing = device.ports.values().filter(pauses).peekable();
    pausing.peek().is_some() && pausing.all(|port| port.enabled.get() == Some(false))
}

/// Ports that the fabric file has and the configuration does not.
fn missing_ports(scene: &Scene<'_>, index: usize, found: &mut Collector<'_>) {
    // Where the other end's text is cut off, so is what would tell which port it is.
    let cut = |name: &&&PortName| {
        let planned = scene.wiring.planned(&(index, (**name).clone()));
        planned.is_some_and(|planned| scene.cut.contains_key(&planned.other.0))
    };
    let lacking: Vec<&PortName> =
        scene.lacking_ports(index).into_iter().filter(|name| !cut(&name)).collect();
    if lacking.is_empty() {
        return;
    }
    let names: Vec<&str> = lacking.iter().take(MOST).map(|name| name.as_str()).collect();
    let more = match lacking.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "the fabric file has {}{more}, and the configuration does not: nothing was checked there",
        names.join(", ")
    );
    found.device(index, Fault::new(&rule::NOTHING_CHECKED, message));
}

/// Values that cannot be read.
fn unreadable(index: usize, device: &Device, found: &mut Collector<'_>) {
    let all = || device.remarks.iter().filter(|remark| remark.kind == RemarkKind::Malformed);
    let message = match all().count() {
        0 => return,
        1 => "a value that cannot be read".to_owned(),
        count => format!("{count} values that cannot be read"),
    };
    let places = all().take(MOST).map(|remark| remark.place);
    found.device(index, Fault::new(&rule::MALFORMED, message).at(places));
}

/// Profiles, maps and policies that are used and not there.
fn undefined(index: usize, device: &Device, found: &mut Collector<'_>) {
    let all = || device.remarks.iter().filter(|remark| remark.kind == RemarkKind::Undefined);
    let message = match all().count() {
        0 => return,
        1 => "something is named that is not defined".to_owned(),
        count => format!("{count} statements name what is not defined"),
    };
    let places = all().take(MOST).map(|remark| remark.place);
    found.device(index, Fault::new(&rule::UNDEFINED, message).at(places));
}
