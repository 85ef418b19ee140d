//! What was not checked: devices and ports of which nothing was recognised. Nothing found and nothing looked at
//! are different sentences.

use super::finding::{Collector, Fault};
use super::scene::Scene;
use super::{kind, rule};
use crate::device::{Device, RemarkKind};
use crate::place::Place;
use crate::system::SystemId;
use std::collections::BTreeMap;

/// Statements of a device that are named by their lines.
const MOST: usize = 8;

/// Devices whose text is cut off, with what tells it.
pub(super) type Cut = BTreeMap<usize, (String, Place)>;

/// The devices whose text ends in the middle of a statement, or otherwise than those of all others of their system.
pub(super) fn cut(devices: &[Device]) -> Cut {
    // Leaves and spines may well end with different lines.
    let mut kinds: BTreeMap<(SystemId, String), Endings<'_>> = BTreeMap::new();
    for device in devices {
        let Some(ending) = &device.ending else { continue };
        for role in [kind::role(&device.name), String::new()] {
            let all = kinds.entry((device.system, role)).or_default();
            all.texts += 1;
            all.ended += usize::from(ending.ended);
            *all.last.entry(&ending.last).or_default() += 1;
        }
    }
    let tell = |device: &Device| {
        let known = device.remarks.iter().find(|remark| remark.kind == RemarkKind::Truncated);
        let known = known.map(|r| ("the text ends in the middle of a statement".into(), r.place));
        let of = |role: String| kinds.get(&(device.system, role))?.unlike(device);
        known.or_else(|| of(kind::role(&device.name))).or_else(|| of(String::new()))
    };
    devices.iter().enumerate().filter_map(|(index, d)| Some((index, tell(d)?))).collect()
}

/// How the texts of a system end.
#[derive(Default)]
struct Endings<'a> {
    texts: usize,
    ended: usize,
    last: BTreeMap<&'a str, usize>,
}

impl Endings<'_> {
    /// What tells that the text of a device is cut off, if it does not end as all others do.
    fn unlike(&self, device: &Device) -> Option<(String, Place)> {
        let own = device.ending.as_ref()?;
        let others = self.texts - 1;
        let place = Place::line(*device.files.first()?, own.line);
        let (usual, count) = self.last.iter().max_by_key(|(_, count)| **count)?;
        if others < 3 {
            return None;
        }
        if own.last != *usual && *count == others {
            let message = format!(
                "the text ends otherwise than those of {count} other devices: it may be cut off"
            );
            return Some((message, place));
        }
        let cut = !own.ended && self.ended == others;
        cut.then(|| ("the last line is not ended: the text may be cut off".to_owned(), place))
    }
}

pub(super) fn check(scene: &Scene<'_>, index: usize, device: &Device, found: &mut Collector<'_>) {
    unreadable(index, device, found);
    if scene.intent.is_some() && scene.intended(index).is_none() {
        let message = "the fabric file has no device of this name: nothing was checked";
        return found.device(index, Fault::new(&rule::NOT_IN_FABRIC, message));
    }
    missing_ports(scene, index, found);
    let sites = scene.sites_of(index, device).count();
    let nothing_known = scene.agreement.data_dscp.is_none() && scene.agreement.lossless.is_none();
    if sites > 0 && (!nothing_known || found.has(index)) {
        return;
    }
    let message = match (sites, device.is_host()) {
        (0, true) => "nothing checked: no RDMA settings of a NIC were recognised",
        (0, false) => "nothing checked: no RoCE settings were recognised",
        _ => "nothing checked: no device says which packets are RDMA data",
    };
    found.device(index, Fault::new(&rule::NOTHING_CHECKED, message));
}

/// Ports that the fabric file has and the configuration does not.
fn missing_ports(scene: &Scene<'_>, index: usize, found: &mut Collector<'_>) {
    let lacking = scene.lacking_ports(index);
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
