//! The two ends of a cable: pauses that reach the right queue, packets that fit.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::rule;
use super::scene::{Scene, Site, usual};
use super::wiring::Wire;
use crate::number::Priorities;
use std::cell::LazyCell;
use std::collections::BTreeMap;
use xoff_units::Bytes;

pub(super) fn check<'w>(
    scene: &Scene<'_>,
    wires: impl Iterator<Item = &'w Wire>,
    found: &mut Collector<'_>,
) {
    // Fixes are tried many times, and few cables have two MTUs.
    let mtus = LazyCell::new(|| UsualMtus::of(scene));
    for wire in wires {
        let ends = (scene.site(wire.ends[0].0, &wire.ends[0].1))
            .zip(scene.site(wire.ends[1].0, &wire.ends[1].1));
        let Some((a, b)) = ends else { continue };
        mtu(&a, &b, &mtus, found);
        if scene.intent.is_none() {
            cable(&a, &b, found);
            cable(&b, &a, found);
        }
        if !broken(wire, found) {
            pause(&a, &b, found);
            pause(&b, &a, found);
        }
    }
}

fn broken(wire: &Wire, found: &Collector<'_>) -> bool {
    wire.ends.iter().any(|(index, port)| found.is_broken(*index, port))
}

/// Data from `sender` to `receiver`: the receiver's pause must stop the sender's queue.
fn pause(sender: &Site<'_>, receiver: &Site<'_>, found: &mut Collector<'_>) {
    let Some(dscp) = sender.agreement().data_dscp else { return };
    if sender.lossless().is_none_or(|set| set.is_empty()) {
        return;
    }
    let (Some(queue), Some(group)) =
        (sender.port.maps.queue_of(dscp), receiver.port.maps.group_of(dscp))
    else {
        return;
    };
    let on = |site: &Site<'_>| site.port.pfc.get().unwrap_or(Priorities::NONE);
    let asked: Priorities = on(receiver)
        .iter()
        .filter(|p| receiver.port.maps.pfc_to_group[p.index()].get() == Some(group))
        .collect();
    let obeyed: Priorities = on(sender)
        .iter()
        .filter(|p| sender.port.maps.pfc_to_queue[p.index()].get() == Some(queue))
        .collect();
    if asked.minus(obeyed) != asked || asked.is_empty() {
        return;
    }
    let message = format!(
        "{} {} pauses priority {asked}, and the RDMA data of this port stops for {obeyed}",
        receiver.device.name, receiver.name
    );
    let places = [sender.port.pfc.place(), receiver.port.pfc.place()].into_iter().flatten();
    found.port(sender, Fault::new(&rule::PAUSE_LINK, message).at(places).cured_by(Aspect::Pfc));
}

/// One cable cannot be of two lengths: the end that believes in less has less headroom.
fn cable(site: &Site<'_>, other: &Site<'_>, found: &mut Collector<'_>) {
    // A NIC says the length that its driver starts with, whatever the cable is.
    if site.device.is_host() || other.device.is_host() {
        return;
    }
    let (Some(own), Some(far)) = (site.port.cable.get(), other.port.cable.get()) else { return };
    // Where this end is as all others of its kind and the other end is not, it is the other end that is wrong.
    let usual = |site: &Site<'_>| {
        let usual = site.meant.and_then(|usual| usual.cable.get());
        usual.map(|usual| Some(usual) == site.port.cable.get())
    };
    if usual(site) == Some(true) && usual(other) == Some(false) {
        return;
    }
    // Against what is meant, or usual, that was said already.
    let real = site.intended.and_then(|port| port.cable.get());
    if real.is_some_and(|real| own < real) {
        return;
    }
    if own < far && other.port.cable.is_said() {
        let how = if site.port.cable.is_said() { "" } else { " by default" };
        let message =
            format!("headroom is sized for {own}{how}, and {} says {far}", other.device.name);
        let places = [site.port.cable.place(), other.port.cable.place()].into_iter().flatten();
        found.port(site, Fault::new(&rule::HEADROOM_SMALL, message).at(places));
    }
}

/// The usual MTU of switches and of hosts: the end that differs from it is at fault.
struct UsualMtus(BTreeMap<bool, Bytes>);

impl UsualMtus {
    fn of(scene: &Scene<'_>) -> Self {
        let of_kind = |host: bool| {
            let alike = scene.devices.iter().filter(move |device| device.is_host() == host);
            let mtus = alike.flat_map(|device| device.ports.values());
            usual(mtus.filter_map(|port| port.mtu.get())).map(|mtu| (host, mtu))
        };
        Self([false, true].into_iter().filter_map(of_kind).collect())
    }

    fn blames(&self, site: &Site<'_>) -> bool {
        let usual = self.0.get(&site.device.is_host());
        usual
            .zip(site.port.mtu.get())
            .is_some_and(|(usual, own)| own.get().abs_diff(usual.get()) > 18)
    }
}

fn mtu<F: FnOnce() -> UsualMtus>(
    a: &Site<'_>,
    b: &Site<'_>,
    mtus: &LazyCell<UsualMtus, F>,
    found: &mut Collector<'_>,
) {
    let (Some(left), Some(right)) = (a.port.mtu.get(), b.port.mtu.get()) else { return };
    let hosts = (a.device.is_host(), b.device.is_host());
    let wrong = match hosts {
        // A host may send smaller packets than the switch would take.
        (true, false) => left > right,
        (false, true) => right > left,
        _ => left.get().abs_diff(right.get()) > 18,
    };
    // With an intent, the end that differs from it is reported already.
    let told = [a, b].iter().any(|site| {
        let meant = site.meant.and_then(|m| m.mtu.get());
        let small = site.port.mtu.get().is_some_and(|mtu| mtu < site.agreement().packet);
        small || meant.is_some_and(|meant| Some(meant) != site.port.mtu.get())
    });
    if !wrong || told {
        return;
    }
    let (blamed, other) = if mtus.blames(b) && !mtus.blames(a) { (b, a) } else { (a, b) };
    let message = format!(
        "an MTU of {} against {} of {} {}",
        blamed.port.mtu.get().map_or(0, Bytes::get),
        other.port.mtu.get().map_or(0, Bytes::get),
        other.device.name,
        other.name
    );
    let places = [blamed.port.mtu.place(), other.port.mtu.place()].into_iter().flatten();
    found.port(blamed, Fault::new(&rule::MTU_LINK, message).at(places).cured_by(Aspect::Mtu));
}
