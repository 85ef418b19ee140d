//! Several fabrics in one folder, as far as devices themselves tell: no cable joins them, and RDMA data is something else
//! in each. What most devices of both have is then what neither means.

use super::scene::Scene;
use crate::cabling::Cables;
use crate::device::Device;
use std::collections::{BTreeMap, BTreeSet};

/// More fabrics than this in one folder are rather devices whose cables are not known.
const MOST: usize = 8;

/// The devices of each fabric, and a sentence about them; `None` if all are of one, or nothing says otherwise.
pub(super) fn fabrics(scene: &Scene<'_>, cables: &Cables) -> Option<(Vec<Vec<Device>>, String)> {
    let groups = groups(scene);
    let switches =
        |group: &Vec<usize>| group.iter().filter(|index| !scene.devices[**index].is_host()).count();
    if !(2..=MOST).contains(&groups.len()) || groups.iter().any(|group| switches(group) < 2) {
        return None;
    }
    let of = |group: &Vec<usize>| group.iter().map(|index| scene.devices[*index].clone()).collect();
    let all: Vec<Vec<Device>> = groups.iter().map(of).collect();
    let data = |devices: &Vec<Device>| Scene::new(devices, cables, None).agreement.data_dscp;
    let sent: Vec<_> = all.iter().map(data).collect();
    let ways: BTreeSet<_> = sent.iter().flatten().collect();
    if ways.len() < 2 {
        return None;
    }
    let said = all.iter().zip(&sent).map(|(devices, dscp)| {
        let name = devices.first().map_or("", |device| device.name.as_str());
        let dscp = dscp.map_or("no known DSCP".to_owned(), |dscp| format!("DSCP {dscp}"));
        format!("{name} and {} more, {dscp}", devices.len() - 1)
    });
    let said: Vec<String> = said.collect();
    let note = format!(
        "{} fabrics that no cable joins, and in which RDMA data has a DSCP of its own ({}): each was audited for itself",
        all.len(),
        said.join("; ")
    );
    Some((all, note))
}

/// Devices that cables join, directly or by others.
fn groups(scene: &Scene<'_>) -> Vec<Vec<usize>> {
    let count = scene.devices.len();
    let mut leads: Vec<usize> = (0..count).collect();
    fn root(leads: &mut [usize], mut at: usize) -> usize {
        while leads[at] != at {
            leads[at] = leads[leads[at]];
            at = leads[at];
        }
        at
    }
    let known = scene.wiring.leads.known().map(|((index, _), peer)| (index, peer));
    let wires = scene.wiring.wires.iter().map(|wire| (wire.ends[0].0, wire.ends[1].0));
    for (a, b) in known.chain(wires).filter(|(a, b)| a.max(b) < &count) {
        let (a, b) = (root(&mut leads, a), root(&mut leads, b));
        leads[a.max(b)] = a.min(b);
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in 0..count {
        groups.entry(root(&mut leads, index)).or_default().push(index);
    }
    groups.into_values().collect()
}
