//! Whatever else differs from the intent, or from most devices of a kind: all that `xoff config --diff` sees.
//!
//! What breaks RDMA has rules of its own; a difference that such a rule reported, or that follows from it, is not
//! reported again.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::queues;
use super::rule;
use super::scene::{Scene, Site};
use crate::device::Device;
use crate::facts::Facts;
use crate::number::Priorities;
use crate::place::{Place, Said};
use crate::system::{SystemId, Topic};
use std::collections::BTreeSet;
use xoff_fabric::rules::packet;
use xoff_units::Bytes;

/// Settings that one finding names.
const MOST: usize = 4;

/// Differences of a port that no rule has reported.
pub(super) fn port(site: &Site<'_>, found: &mut Collector<'_>) {
    let Some(meant) = site.meant else { return };
    let facts = &site.scene.facts;
    let (own, wanted) = (facts.of_port(site.port), facts.of_port(meant));
    let mut differences = Vec::new();
    let mut aspects = Vec::new();
    for difference in own.differences(&wanted) {
        let about = difference.about.as_str();
        // What a host was not asked for is not known.
        let unknown = site.device.is_host() && difference.left.is_none();
        if unknown || tolerable(site, about) || found.covers(site, about) {
            continue;
        }
        let nothing = || "nothing".to_owned();
        let right = difference.right.clone().unwrap_or_else(nothing);
        let left = difference.left.clone().unwrap_or_else(nothing);
        differences.push(format!("{about} is {left}, {}", site.instead(about, right)));
        aspects.push(Aspect::of(about));
    }
    if differences.is_empty() {
        return split(site, found);
    }
    let rule = if site.scene.intent.is_some() { &rule::DRIFT } else { &rule::FLEET_DRIFT };
    let aspect = aspects.iter().skip(1).fold(aspects[0], |all, one| all.and(*one));
    let fault = Fault::new(rule, listed(&differences)).at(places(site)).cured_by(aspect);
    found.port(site, fault);
}

/// Facts on which as many devices differ as agree: nobody can say which are meant.
fn split(site: &Site<'_>, found: &mut Collector<'_>) {
    let Some(reference) = &site.scene.reference else { return };
    let own = site.scene.facts.of_port(site.port);
    // Where one side is wrong by another rule, the other is right.
    let settled = |about: &str| {
        let alike = reference.alike(site.index, site.name);
        let mut others = alike.filter_map(|(index, name)| site.scene.site(index, name));
        others.any(|other| found.covers(&other, about))
    };
    let open = reference.split(site.index, site.name).filter(|about| !settled(about));
    let all: Vec<String> =
        open.map(|about| format!("{about} is {}", own.get(about).unwrap_or("nothing"))).collect();
    if all.is_empty() {
        return;
    }
    let message = format!("{}, and as many devices have it otherwise", listed(&all));
    found.port(site, Fault::new(&rule::FLEET_DRIFT, message).at(places(site)));
}

fn listed(all: &[String]) -> String {
    let mut text = all[..all.len().min(MOST)].join("; ");
    if all.len() > MOST {
        text += &format!("; and {} more", all.len() - MOST);
    }
    text
}

fn places(site: &Site<'_>) -> Option<Place> {
    site.port.place
}

/// Differences that units, rounding and headers make.
fn tolerable(site: &Site<'_>, about: &str) -> bool {
    let Some(meant) = site.meant else { return true };
    if site.device.is_host() && immaterial(site, about) {
        return true;
    }
    // Where nothing pauses there is nothing to watch, and no headroom that depends on the cable.
    let of_pauses = about.starts_with("watchdog") || about == "cable";
    if of_pauses && site.lossless().is_some_and(|set| set.is_empty()) {
        return true;
    }
    if about == "mtu" {
        let both = site.port.mtu.get().zip(meant.mtu.get());
        return both
            .is_some_and(|(own, meant)| own.get().abs_diff(meant.get()) <= packet::ETHERNET.get());
    }
    // What the box sizes itself is more than nothing.
    let group = about.strip_prefix("group ").and_then(|rest| rest.strip_suffix(" headroom"));
    if let Some(Ok(group)) = group.map(str::parse::<usize>) {
        let [own, meant] = [site.port, meant].map(|port| port.groups[group].headroom.get());
        return own.is_none() && meant.is_some_and(Bytes::is_zero);
    }
    if about.ends_with("turn") {
        return queues::same_share(site, about);
    }
    let Some(number) = about.strip_prefix("queue ").and_then(|rest| rest.strip_suffix(" wred"))
    else {
        return false;
    };
    let Ok(number) = number.parse::<usize>() else { return false };
    // What a fabric file says of marking cannot be held against a system of which no statement for it is known.
    let unsaid = site.scene.intent.is_some() && !site.can_say(Topic::Marking);
    if unsaid && meant.queues[number].wred.get().is_none() {
        return true;
    }
    let both = site.port.queues[number].wred.get().zip(meant.queues[number].wred.get());
    both.is_some_and(|(own, meant)| queues::close(&own, &meant))
}

/// What a driver starts with, and makes no difference to RDMA: queues of other classes, the length of the cable, and
/// notifications in more priorities than are used.
fn immaterial(site: &Site<'_>, about: &str) -> bool {
    let nic = (&site.port.nic, site.meant.map(|meant| meant.nic));
    // Where nothing can be written, nothing is meant.
    let more = |own: Option<Priorities>, meant: Option<Priorities>| match (own, meant) {
        (_, None) => true,
        (own, Some(meant)) => own.is_some_and(|own| meant.minus(own).is_empty()),
    };
    let data = site.agreement().data_dscp.map(|dscp| format!("dscp {dscp} class"));
    match (about.split(' ').next(), nic) {
        (Some("cable" | "class" | "pause" | "group" | "queue"), _) => true,
        (Some("dscp"), _) => Some(about) != data.as_deref(),
        (Some("notifies"), (own, Some(meant))) => more(own.notifies.get(), meant.notifies.get()),
        (Some("reacts"), (own, Some(meant))) => more(own.reacts.get(), meant.reacts.get()),
        _ => false,
    }
}

/// Differences of a device beside its ports.
pub(super) fn device(scene: &Scene<'_>, index: usize, device: &Device, found: &mut Collector<'_>) {
    let usual = || scene.reference.as_ref().map(|reference| &reference.devices[index]);
    let Some(meant) = scene.fitted(index).or_else(usual) else { return };
    let bare = |device: &Device| Device { ports: Default::default(), ..device.clone() };
    let differences = Facts::of(&bare(device)).differences(&Facts::of(&bare(meant)));
    let differing: Vec<String> = differences
        .iter()
        .filter(|difference| !difference.about.starts_with("nccl"))
        // The balancing of a fleet has a rule of its own.
        .filter(|difference| scene.intent.is_some() || difference.about != "balancing")
        .filter(|difference| !found.covers_device(index, &difference.about))
        .map(|difference| {
            let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
            let (left, right) = (word(&difference.left), word(&difference.right));
            let instead = if scene.intent.is_some() { "is meant" } else { "is usual" };
            format!("{} is {left}, {right} {instead}", difference.about)
        })
        .collect();
    // Where a device says nothing of the kind, and something is wrong with it, that is why.
    let silent = device.own.is_empty() && found.has(index);
    let own = if silent { Vec::new() } else { own(device, meant) };
    let all = [differing, own].concat();
    if all.is_empty() || device.system == SystemId::Host {
        return;
    }
    let rule = if scene.intent.is_some() { &rule::DRIFT } else { &rule::FLEET_DRIFT };
    found.device(index, Fault::new(rule, listed(&all)).cured_by(Aspect::Buffers));
}

/// Settings of the whole box that most devices of a kind have otherwise.
fn own(device: &Device, meant: &Device) -> Vec<String> {
    let names: BTreeSet<&String> = device.own.keys().chain(meant.own.keys()).collect();
    let differing = names.into_iter().filter_map(|name| {
        let [own, usual] = [device, meant].map(|one| one.own.get(name).and_then(Said::value));
        // A pool that is not there at all is no headroom, which has a rule of its own.
        let pool = own.is_none() && device.system.family() == SystemId::Cumulus;
        let word = |value: Option<&String>| value.map_or("nothing", String::as_str).to_owned();
        (own != usual && !pool)
            .then(|| format!("{name} is {}, {} is usual", word(own), word(usual)))
    });
    differing.collect()
}
