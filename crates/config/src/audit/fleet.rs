//! Devices compared with each other.

use super::cure::Aspect;
use super::finding::{Collector, Fault};
use super::kind::{role, words};
use super::nic;
use super::rule;
use super::scene::{Scene, Site, usual};
use crate::device::{Balancing, Device, Maker, Nccl, RemarkKind};
use crate::number::Dscp;
use crate::system::{SystemId, Topic};
use std::collections::BTreeMap;

pub(super) fn check(scene: &Scene<'_>, found: &mut Collector<'_>) {
    for system in SystemId::ALL {
        versions(scene, system, found);
    }
    guards(scene, found);
    same_names(scene, found);
    fewer_ports(scene, found);
    not_followed(scene, found);
    unmarked(scene, found);
    unserved(scene, found);
    jobs(scene, found);
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
    // What a host runs is the firmware of its NICs: makers number theirs each in their own way.
    let maker = |device: &Device| {
        let mut all = device.ports.iter();
        all.find_map(|(name, port)| port.nic.maker.or(Maker::of_device(name.as_str())))
    };
    let mut makers: BTreeMap<Option<Maker>, Vec<(usize, &Device)>> = BTreeMap::new();
    for (index, device) in alike() {
        makers.entry(maker(device)).or_default().push((index, device));
    }
    for all in makers.values() {
        let versions = || {
            all.iter()
                .filter_map(|(index, device)| Some((*index, *device, device.version.value()?)))
        };
        let Some(common) = usual(versions().map(|(_, _, version)| version)) else { continue };
        for (index, device, version) in versions().filter(|(_, _, version)| *version != common) {
            let message = format!("software {version}; most {system} devices run {common}");
            found.device(index, Fault::new(&rule::VERSIONS, message).at(device.version.place()));
        }
    }
}

/// Several devices of one name: copies of a configuration, or devices of two fabrics.
fn same_names(scene: &Scene<'_>, found: &mut Collector<'_>) {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for device in &scene.devices {
        *names.entry(device.name.to_ascii_lowercase()).or_default() += 1;
    }
    let several: Vec<&str> =
        names.iter().filter(|(_, count)| **count > 1).map(|(name, _)| name.as_str()).collect();
    if several.is_empty() {
        return;
    }
    let shown = several[..several.len().min(4)].join(", ");
    let more = match several.len().saturating_sub(4) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    found.note(format!(
        "several devices have one name ({shown}{more}): copies of a configuration, or two fabrics in one folder. Cables \
         that lead to that name may be those of either"
    ));
}

/// A device with fewer ports of RoCE than all others that are named alike: its rack may be half empty, or its text cut off between two
/// ports. The first is no mistake.
fn fewer_ports(scene: &Scene<'_>, found: &mut Collector<'_>) {
    if scene.intent.is_some() {
        return;
    }
    let mut roles: BTreeMap<(SystemId, String), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, device) in scene.devices.iter().enumerate() {
        let ports = scene.sites_of(index, device).count();
        roles.entry((device.system, role(&device.name))).or_default().push((ports, index));
    }
    for ((system, role), mut all) in roles {
        all.sort_unstable();
        let [(fewest, index), (usual, _), .., (most, _)] = all[..] else { continue };
        if all.len() > 3 && fewest < usual && usual == most {
            found.note(format!(
                "{} has {fewest} ports that carry RoCE, all other {} have {usual}: ports may be missing from its text",
                scene.devices[index].name,
                words(system, &role)
            ));
        }
    }
}

/// A lossless fabric of which no switch marks. That is a way to run one, and no mistake of any device.
fn unmarked(scene: &Scene<'_>, found: &mut Collector<'_>) {
    let sites = || scene.sites().filter(|site| !site.device.is_host());
    let marks = |site: &Site<'_>| site.port.queues.iter().any(|queue| queue.wred.is_said());
    let pauses = |site: &Site<'_>| site.port.pfc.get().is_some_and(|set| !set.is_empty());
    let mute = |site: &Site<'_>| !site.can_say(Topic::Marking);
    if scene.intent.is_some() || !sites().any(|site| pauses(&site)) {
        return;
    }
    if !sites().any(|site| marks(&site) || mute(&site)) {
        found.note(
            "no switch marks packets: NICs have no congestion control to obey, and pauses alone keep the fabric from losing packets"
                .to_owned(),
        );
    }
}

/// Notifications that no switch serves before best effort. Fabrics are run that way, and no device is wrong for it.
fn unserved(scene: &Scene<'_>, found: &mut Collector<'_>) {
    let Some(cnp) = scene.agreement.cnp_dscp.filter(|_| scene.intent.is_none()) else { return };
    let is_written = |site: &Site<'_>| site.port.nic.cnp_dscp.get() == Some(cnp);
    let (hosts, switches): (Vec<Site<'_>>, Vec<Site<'_>>) =
        scene.sites().partition(|site| site.device.is_host());
    let waits = |site: &Site<'_>| {
        let queues = [Some(cnp), Dscp::new(0)].map(|dscp| site.port.maps.queue_of(dscp?));
        queues[0].is_some() && queues[0] == queues[1]
    };
    if hosts.iter().any(is_written) && !switches.is_empty() && switches.iter().all(waits) {
        found.note(format!(
            "CNPs (DSCP {cnp}) wait with best effort on every switch: where queues build up, senders are told late"
        ));
    }
}

/// What is read and not judged: tunnels of some systems, and DSCPs that are rewritten on the way.
fn not_followed(scene: &Scene<'_>, found: &mut Collector<'_>) {
    if scene.agreement.data_dscp.is_none() {
        return;
    }
    let kinds = [
        (
            RemarkKind::Tunnel,
            "put packets into tunnels: whether outer headers keep the DSCP and the marks of RDMA data",
        ),
        (RemarkKind::Rewrite, "rewrite DSCPs: which class RDMA data has behind them"),
    ];
    for system in SystemId::ALL {
        for (kind, what) in kinds {
            let own = |device: &&&Device| device.system == system && device.count(kind) > 0;
            let count = scene.devices.iter().filter(own).count();
            if count > 0 {
                let of = scene.devices.iter().filter(|device| device.system == system).count();
                found.note(format!(
                    "{system}, {count} of {of} devices {what} was not checked (`--unknown` lists the statements)"
                ));
            }
        }
    }
}

/// Whether something is known of what NCCL is told.
type IsShown = fn(&Nccl) -> bool;

/// Hosts of which no file shows what NCCL is told, where files of others do: a host without an environment, or one that is cut off.
fn jobs(scene: &Scene<'_>, found: &mut Collector<'_>) {
    let shown: [(&str, IsShown); 2] = [
        ("NCCL_IB_TC", |nccl| nccl.shown.is_some() || nccl.traffic_class.is_said()),
        ("NCCL_IB_GID_INDEX", |nccl| nccl.gid_index.is_said()),
    ];
    for (name, is_shown) in shown {
        let hosts = scene.devices.iter().filter(|device| device.is_host());
        let (known, silent): (Vec<&Device>, Vec<&Device>) =
            hosts.partition(|device| is_shown(&device.nccl));
        if known.is_empty() || silent.is_empty() {
            continue;
        }
        let names: Vec<&str> = silent.iter().take(4).map(|device| device.name.as_str()).collect();
        let more = if silent.len() > names.len() { ", …" } else { "" };
        found.note(format!(
            "{name} was not checked on {} of {} hosts, whose files do not show it: {}{more}",
            silent.len(),
            silent.len() + known.len(),
            names.join(", ")
        ));
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
