//! What a fabric's devices agree on, where no fabric file says it: which packets are RDMA data and CNPs, and
//! how they are protected.
//!
//! Switches say which DSCPs they protect, hosts which of them they use. A host that sends what no switch
//! protects is wrong, however many hosts do.

use super::reference::Reference;
use super::scene::usual;
use crate::device::{Balancing, Device, Port};
use crate::intent::Agreement;
use crate::number::{Dscp, Priorities};
use crate::place::Said;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::model::Scheduling;
use xoff_fabric::rules::packet;

/// What most devices do.
pub(super) fn agreement(devices: &[&Device], reference: &Reference) -> Agreement {
    let switches = || reference.devices.iter().filter(|device| !device.is_host());
    let paused = |device: &Device| usual(device.ports.values().filter_map(pauses));
    let lossless = usual(switches().filter_map(paused))
        .or_else(|| usual(reference.devices.iter().filter_map(paused)));
    let data_dscp = data_dscp(devices, reference, lossless);
    let class = |device: &Device| {
        usual(
            device
                .ports
                .values()
                .filter_map(|port| port.maps.dscp_to_class[data_dscp?.index()].get()),
        )
    };
    let watched =
        |device: &Device| device.ports.values().any(|p| p.watchdog.on.get() == Some(true));
    Agreement {
        data_class: usual(switches().filter_map(class)),
        data_dscp,
        cnp_dscp: cnp_dscp(devices, reference, data_dscp),
        cnp_apart: true,
        lossless,
        marking: true,
        watchdog: switches().any(watched),
        packet: packet::default_largest_ip(),
        balancing: balancing(devices),
        tenants: Vec::new(),
    }
}

fn pauses(port: &Port) -> Option<Priorities> {
    port.pfc.get().filter(|set| !set.is_empty())
}

/// DSCPs in the order in which they are usual for RDMA data.
fn by_custom() -> impl Iterator<Item = Dscp> {
    [26, 24].into_iter().filter_map(Dscp::new).chain(Dscp::all())
}

/// The DSCP of RDMA data: of those that switches protect, the one that most hosts send.
fn data_dscp(
    devices: &[&Device],
    reference: &Reference,
    lossless: Option<Priorities>,
) -> Option<Dscp> {
    let sent = sent(devices);
    let mut protecting: BTreeMap<Dscp, usize> = BTreeMap::new();
    let mut switches = 0;
    for device in reference.devices.iter().filter(|device| !device.is_host()) {
        let Some(port) = device.ports.values().find(|port| pauses(port).is_some() || marks(port))
        else {
            continue;
        };
        switches += 1;
        for dscp in Dscp::all().filter(|dscp| protects(port, *dscp, lossless)) {
            *protecting.entry(dscp).or_default() += 1;
        }
    }
    let most = protecting.into_iter().filter(|(_, count)| 2 * count > switches);
    let protected: Vec<Dscp> = most.map(|(dscp, _)| dscp).collect();
    let votes = |dscp: &Dscp| sent.get(dscp).copied().unwrap_or(0);
    let sent_most = sent.values().copied().max();
    match protected.iter().map(&votes).max() {
        Some(0) => by_custom().find(|dscp| protected.contains(dscp)),
        Some(most) => by_custom().find(|dscp| protected.contains(dscp) && votes(dscp) == most),
        None => by_custom().find(|dscp| Some(votes(dscp)) == sent_most && sent_most.is_some()),
    }
}

/// How many hosts send RDMA data with each DSCP, by NIC or by NCCL.
fn sent(devices: &[&Device]) -> BTreeMap<Dscp, usize> {
    let mut sent = BTreeMap::new();
    for device in devices.iter().filter(|device| device.is_host()) {
        let nic = usual(device.ports.values().filter_map(|port| port.nic.data_dscp.get()));
        let nccl = device.nccl.traffic_class.get().map(Dscp::of_tos);
        let cm = usual(device.ports.values().filter_map(|port| port.nic.cm_dscp.get()));
        if let Some(dscp) = nccl.or(nic).or(cm) {
            *sent.entry(dscp).or_default() += 1;
        }
    }
    sent
}

/// Whether packets of a DSCP are in a lossless buffer; without PFC, whether their queue marks.
fn protects(port: &Port, dscp: Dscp, lossless: Option<Priorities>) -> bool {
    let Some(lossless) = lossless else {
        let queue = port.maps.queue_of(dscp);
        return queue.is_some_and(|queue| queue_marks(port, queue.index()));
    };
    let Some(group) = port.maps.group_of(dscp) else { return false };
    lossless.iter().any(|p| port.maps.pfc_to_group[p.index()].get() == Some(group))
}

/// What marks by default says nothing of RDMA.
fn queue_marks(port: &Port, queue: usize) -> bool {
    port.queues[queue].wred.said().is_some_and(|wred| wred.marks)
}

fn marks(port: &Port) -> bool {
    (0..port.queues.len()).any(|queue| queue_marks(port, queue))
}

/// The DSCP of notifications: what most NICs send, else 48 where switches have a strict queue for it.
fn cnp_dscp(devices: &[&Device], reference: &Reference, data: Option<Dscp>) -> Option<Dscp> {
    let written = devices.iter().filter_map(|device| {
        usual(device.ports.values().filter_map(|port| port.nic.cnp_dscp.get()))
    });
    let strict = |port: &Port| {
        let queue = port.maps.queue_of(Dscp::new(48)?)?;
        let own = Some(queue) != port.maps.queue_of(data?);
        let turn = port.queues[queue.index()].scheduling.get();
        (own && turn == Some(Scheduling::Strict)).then_some(())
    };
    let served = |device: &&Device| device.ports.values().any(|port| strict(port).is_some());
    let switches = || reference.devices.iter().filter(|device| !device.is_host());
    let usually = 2 * switches().filter(served).count() > switches().count();
    let usual_one = Dscp::new(48).filter(|_| usually);
    // What all NICs write and every switch puts with best effort is not what is meant, if there is a queue for the usual one.
    let written = usual(written).filter(|written| {
        let lost =
            |device: &&Device| device.ports.values().any(|port| with_best_effort(port, *written));
        usual_one.is_none() || !switches().all(|device| lost(&device))
    });
    written.or(usual_one)
}

fn with_best_effort(port: &Port, dscp: Dscp) -> bool {
    let queue = port.maps.queue_of(dscp);
    queue.is_some() && Dscp::new(0).is_some_and(|zero| port.maps.queue_of(zero) == queue)
}

/// What hosts are meant to write, where all of them write what no switch serves: that which switches serve. Says whether that is
/// so of RDMA data, of which the environment of jobs may say otherwise.
pub(super) fn correct(
    reference: &mut Reference,
    devices: &[Device],
    agreement: &Agreement,
) -> bool {
    let switches = || reference.devices.iter().filter(|device| !device.is_host());
    let protect = |dscp: Dscp| {
        let by = |port: &Port| protects(port, dscp, agreement.lossless);
        switches().any(|device| device.ports.values().any(by))
    };
    // Jobs may say what NICs do not.
    let told = |device: &Device| {
        device.nccl.shown.is_some() || device.nccl.traffic_class.value().is_some()
    };
    let silent = !devices.iter().filter(|device| device.is_host()).any(told);
    let data = agreement.data_dscp.filter(|data| silent && protect(*data));
    let unprotected: BTreeSet<Dscp> = Dscp::all().filter(|dscp| !protect(*dscp)).collect();
    let lost = |dscp: &Dscp| {
        let by = |device: &Device| device.ports.values().any(|port| with_best_effort(port, *dscp));
        switches().next().is_some() && switches().all(by)
    };
    let lost: BTreeSet<Dscp> = Dscp::all().filter(lost).collect();
    let mut corrected = false;
    for host in reference.devices.iter_mut().filter(|device| device.is_host()) {
        for port in host.ports.values_mut() {
            let nic = &mut port.nic;
            if let (Some(data), Some(own)) = (data, nic.data_dscp.get())
                && unprotected.contains(&own)
            {
                nic.data_dscp = Said::meant(data);
                corrected = true;
            }
            if let (Some(cnp), Some(own)) = (agreement.cnp_dscp, nic.cnp_dscp.get())
                && own != cnp
                && lost.contains(&own)
            {
                nic.cnp_dscp = Said::meant(cnp);
            }
        }
    }
    corrected
}

fn balancing(devices: &[&Device]) -> Option<Balancing> {
    let switches = devices.iter().filter(|device| !device.is_host());
    let named = usual(switches.filter_map(|device| device.balancing.get().map(Balancing::name)))?;
    [Balancing::Flowlet, Balancing::Packet].into_iter().find(|balancing| balancing.name() == named)
}
