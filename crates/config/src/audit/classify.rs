//! From the wire to class, group and pause: trust, maps and PFC of a port.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::kind::role;
use super::rule;
use super::scene::Site;
use super::tenants;
use crate::device::{Device, Port};
use crate::number::{Class, Dscp, Priorities};
use crate::qos::Trust;
use crate::system::SystemId;
use xoff_fabric::model::Scheduling;

/// Whether a port has no QoS at all, which is then the one thing to say about it.
pub(super) fn not_applied(site: &Site<'_>, found: &mut Collector<'_>) -> bool {
    let lossless = site.lossless().is_some_and(|set| !set.is_empty());
    let pauses = site.port.pfc.get().is_some_and(|set| !set.is_empty());
    let reads = site.port.trust.get().is_some_and(|trust| trust.reads_dscp());
    // Weights may be those of the box; marks and strict queues are there for RDMA.
    let turns =
        site.port.queues.iter().any(|queue| {
            queue.wred.is_said() || queue.scheduling.said() == Some(&Scheduling::Strict)
        });
    if site.unknown(site.port.trust.value().is_none() && site.port.pfc.value().is_none()) {
        return false;
    }
    // What a port trusts may be said for the whole box: then a port that pauses nothing, and whose queues are left alone
    // where others' are not, has no policy of its own.
    let alone = |port: &Port| {
        port.queues.iter().all(|queue| !queue.wred.is_said() && !queue.scheduling.is_said())
    };
    let trusts = site.port.trust.is_said();
    let left_alone = alone(site.port) && site.meant.is_some_and(|meant| !alone(meant));
    if !lossless || pauses || (trusts && !left_alone) || (reads && turns) {
        return false;
    }
    let peer = site.wire.map(|(wire, side)| site.scene.name(wire.ends[1 - side].0));
    let towards = peer.map_or(String::new(), |name| format!(" towards {name}"));
    let fault = Fault::new(&rule::NOT_APPLIED, format!("no QoS policy is applied{towards}"))
        .at(site.port.place)
        .cured_by(Aspect::All);
    found.port(site, fault);
    true
}

/// How far RDMA data comes as it is meant to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standing {
    /// It is in its class, so that its queue is worth a look.
    pub(super) class: bool,
    /// Its buffer pauses, so that its headroom is worth a look.
    pub(super) pause: bool,
}

/// Trust, maps and PFC.
pub(super) fn check(site: &Site<'_>, found: &mut Collector<'_>) -> Standing {
    let class = trust(site, found) && data_class(site, found);
    // Where pauses belong to classes, a wrong class takes its pause along.
    if class || site.device.system.family() != SystemId::Junos {
        pfc(site, found);
    }
    let pause = class && pauses(site, found);
    if class && !site.device.is_host() {
        tenants::check(site, found);
        mixed(site, found);
    }
    Standing { class, pause }
}

fn trust(site: &Site<'_>, found: &mut Collector<'_>) -> bool {
    let trust = site.port.trust;
    if trust.get().is_some_and(|trust| trust.reads_dscp()) {
        return true;
    }
    if site.unknown(trust.value().is_none()) {
        return false;
    }
    if site.scene.by_vlan {
        let note = "switches sort packets by their VLAN priority, and none by DSCP: classes, queues and headroom of \
                    RDMA data were not checked";
        found.note(note.to_owned());
        return false;
    }
    let word = match trust.get() {
        Some(trust) => format!("the port trusts {}, not DSCP", trust.name()),
        None => "nothing says what the port trusts".to_owned(),
    };
    let fault =
        Fault::new(&rule::TRUST, word).at(trust.place().or(site.port.place)).cured_by(Aspect::Maps);
    found.port(site, if may_sort_by_vlan(site) { fault.warning() } else { fault });
    false
}

/// Whether a switch may well sort RoCE by VLAN priority, although others of the folder go by DSCP: all its ports that pause
/// trust VLAN priorities, as switched ports of EOS do unless told otherwise, and neither a host, a cable nor a switch of its kind says
/// that it is meant to do what those others do.
fn may_sort_by_vlan(site: &Site<'_>) -> bool {
    let scene = site.scene;
    let own = role(&site.device.name);
    let alike = |(index, other): (usize, &&Device)| index != site.index && role(&other.name) == own;
    let by_vlan =
        |other: Site<'_>| other.wire.is_none() && other.port.trust.get() == Some(Trust::Pcp);
    scene.intent.is_none()
        && !scene.devices.iter().any(|device| device.is_host())
        && !scene.devices.iter().enumerate().any(alike)
        && scene.sites_of(site.index, site.device).all(by_vlan)
}

fn pfc(site: &Site<'_>, found: &mut Collector<'_>) {
    let Some(wanted) = site.lossless() else { return };
    if site.unknown(site.port.pfc.value().is_none()) {
        return;
    }
    let on = site.port.pfc.get().unwrap_or(Priorities::NONE);
    let places = site.port.pfc.place().or(site.port.place);
    let meant = site.instead("pfc", wanted);
    // That others have it so is no excuse; only a fabric file may mean it.
    let alike = wanted == Priorities::ALL && site.scene.intent.is_none();
    let fault = if on == Priorities::ALL && (wanted != Priorities::ALL || alike) {
        let instead = match alike {
            true => "the others of its kind have it so, too".to_owned(),
            false => meant,
        };
        Fault::new(&rule::PFC_ALL, format!("PFC is on for all priorities; {instead}"))
    } else if wanted.minus(on).is_empty() {
        let extra = on.minus(wanted);
        if let Some(who) = paused_by_others(site).filter(|_| on.is_empty()) {
            let fault = Fault::new(&rule::PFC_MISSING, format!("PFC is off; {who}"));
            return found.port(site, fault.at(places).cured_by(Aspect::Pfc));
        }
        if extra.is_empty() {
            return;
        }
        Fault::new(&rule::PFC_EXTRA, format!("PFC is on for {on}; {meant}"))
    } else if on.is_empty() {
        Fault::new(&rule::PFC_MISSING, format!("PFC is off; {meant}"))
    } else {
        Fault::new(&rule::PFC_PRIORITY, format!("PFC is on for {on}; {meant}"))
    };
    found.port(site, fault.at(places).cured_by(Aspect::Pfc));
}

/// Without a fabric file, who pauses where the ports of a kind do not: what most of them have is then what none of them ought to.
fn paused_by_others(site: &Site<'_>) -> Option<String> {
    if site.scene.intent.is_some() {
        return None;
    }
    if site.device.is_host() {
        let set =
            site.agreement().lossless.filter(|set| !set.is_empty() && !site.scene.only_nics_pause);
        return set.map(|set| format!("most switches pause {set}"));
    }
    let far = site.wire.and_then(|(wire, side)| {
        let (index, name) = &wire.ends[1 - side];
        site.scene.site(*index, name)
    });
    // A switch that has nothing of RoCE may lead out of the fabric.
    let port = site.port;
    let sorts = port.trust.get().is_some_and(Trust::reads_dscp)
        && port.queues.iter().any(|queue| queue.is_said());
    let far = far.filter(|far| far.device.is_host() || sorts);
    // Where the far end is alone with it among its like, it is the one that is wrong.
    let usual = |far: &Site<'_>| far.meant.and_then(|usual| usual.pfc.get());
    let far = far.filter(|far| usual(far).is_none_or(|set| !set.is_empty()));
    let set = far.and_then(|far| far.port.pfc.get()).filter(|set| !set.is_empty());
    let nics = site.agreement().lossless.filter(|_| site.scene.only_nics_pause);
    match (set, nics) {
        (_, Some(set)) => Some(format!("no switch pauses, and most NICs pause {set}")),
        (Some(set), None) => Some(format!("the other end of its cable pauses {set}")),
        (None, None) => None,
    }
}

fn data_class(site: &Site<'_>, found: &mut Collector<'_>) -> bool {
    let Some(dscp) = site.agreement().data_dscp else { return true };
    let Some(wanted) = site.data_class() else { return true };
    let said = &site.port.maps.dscp_to_class[dscp.index()];
    if said.get() == Some(wanted) {
        return true;
    }
    if site.unknown(said.value().is_none()) {
        return false;
    }
    let meant = site.instead(&format!("dscp {dscp} class"), format!("class {wanted}"));
    let message = match said.get() {
        Some(class) => format!("DSCP {dscp} of RDMA data is in class {class}; {meant}"),
        None => format!("DSCP {dscp} of RDMA data is in no class; {meant}"),
    };
    let fault = Fault::new(&rule::DATA_CLASS, message)
        .at(said.place().or(site.port.place))
        .cured_by(Aspect::Maps);
    found.port(site, fault);
    false
}

/// The group of RDMA data pauses, and its pause stops the queue of RDMA data.
fn pauses(site: &Site<'_>, found: &mut Collector<'_>) -> bool {
    let maps = &site.port.maps;
    let Some(dscp) = site.agreement().data_dscp else { return false };
    let on = site.port.pfc.get().unwrap_or(Priorities::NONE);
    let (Some(group), Some(queue)) = (maps.group_of(dscp), maps.queue_of(dscp)) else {
        return false;
    };
    if on.is_empty() || site.lossless().is_some_and(|set| !set.minus(on).is_empty()) {
        return false;
    }
    let class = site.class(dscp).map_or(0, Class::index);
    let sends: Priorities =
        on.iter().filter(|p| maps.pfc_to_group[p.index()].get() == Some(group)).collect();
    if sends.is_empty() {
        let places = on.iter().filter_map(|p| maps.pfc_to_group[p.index()].place());
        let message = format!(
            "RDMA data is in priority group {group}, which no priority of {on} \
                               pauses"
        );
        let fault = Fault::new(&rule::PAUSE_GROUP, message)
            .at(places.chain(maps.class_to_group[class].place()))
            .cured_by(Aspect::Maps);
        found.port(site, fault);
        return false;
    }
    let stops = |p: &crate::number::Priority| maps.pfc_to_queue[p.index()].get() == Some(queue);
    if !sends.iter().any(|p| stops(&p)) {
        let places = sends.iter().filter_map(|p| maps.pfc_to_queue[p.index()].place());
        let message = format!("a pause of {sends} does not stop queue {queue} of RDMA data");
        let fault = Fault::new(&rule::PAUSE_QUEUE, message)
            .at(places.chain(maps.class_to_queue[class].place()))
            .cured_by(Aspect::Maps);
        found.port(site, fault);
    }
    true
}

/// Nothing else in the class or queue of RDMA data.
fn mixed(site: &Site<'_>, found: &mut Collector<'_>) {
    let maps = &site.port.maps;
    let Some(data) = site.agreement().data_dscp else { return };
    let (Some(class), Some(queue)) = (site.class(data), maps.queue_of(data)) else { return };
    let intended = |dscp: Dscp| site.meant.map(|m| m.maps.dscp_to_class[dscp.index()].get());
    // Without an intent only best effort is surely not meant to be lossless.
    let stranger = |dscp: &Dscp| match intended(*dscp) {
        Some(meant) => meant != Some(class),
        None => dscp.get() == 0,
    };
    // Tenants have a rule of their own.
    let other = |dscp: &Dscp| !tenants::owns(site.agreement(), *dscp);
    let inside: Vec<Dscp> = Dscp::all()
        .filter(|d| site.class(*d) == Some(class))
        .filter(stranger)
        .filter(other)
        .collect();
    if !inside.is_empty() && inside.iter().all(|d| Some(*d) != site.agreement().cnp_dscp) {
        let list: Vec<String> = inside.iter().map(|d| d.to_string()).collect();
        let message = format!("DSCP {} is in class {class} of RDMA data", list.join(", "));
        let places = inside.iter().filter_map(|d| maps.dscp_to_class[d.index()].place());
        let fault = Fault::new(&rule::MIXED, message).at(places).cured_by(Aspect::Maps);
        found.port(site, fault);
    }
    for lossy in Class::all().filter(|lossy| *lossy != class) {
        let used = Dscp::all().filter(other).any(|d| site.class(d) == Some(lossy));
        let shared = maps.class_to_queue[lossy.index()].get() == Some(queue);
        if used && shared {
            let message = format!("class {lossy} shares queue {queue} with RDMA data");
            let fault = Fault::new(&rule::MIXED, message)
                .at(maps.class_to_queue[lossy.index()].place())
                .cured_by(Aspect::Maps);
            found.port(site, fault);
        }
    }
}
