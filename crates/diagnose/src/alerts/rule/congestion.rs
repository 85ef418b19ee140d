//! Drops, marks, incasts and links that are used unevenly.

use super::NETWORK;
use crate::alerts::record::{MARKED, SPREAD, USED, links_between};
use crate::alerts::select::{PORT, Select, uplinks};
use crate::alerts::{Alert, Scope, Severity};
use crate::fabric::Cause;
use xoff_fabric::model::{Ecn, Fabric};

pub(in crate::alerts) fn alerts(fabric: &Fabric, select: &Select) -> Vec<Alert> {
    let mut all = Vec::new();
    if fabric.classes.iter().any(|class| class.lossless) {
        all.push(drops(select));
    }
    let ecn: Vec<Ecn> = fabric
        .ports
        .iter()
        .filter(|port| fabric.node_switch(port.node).is_some())
        .filter_map(|port| port.classes[fabric.data_class.index()].ecn)
        .collect();
    all.extend(ecn.iter().map(|ecn| ecn.kmax.get()).max().map(|kmax| unmarked(select, kmax)));
    all.extend(ecn.iter().map(|ecn| ecn.kmin.get()).min().map(|kmin| early(select, kmin)));
    if !ecn.is_empty() {
        all.push(incast(select));
    }
    all.extend(uneven(fabric, select));
    all
}

fn drops(select: &Select) -> Alert {
    let drops = select.lossless("xoff_buffer_dropped_packets_total");
    Alert {
        name: "XoffLosslessDrops",
        cause: Cause::HeadroomTooSmall,
        scope: Scope::Port,
        severity: Severity::Critical,
        window: 60,
        hold: 0,
        expression: format!("sum {PORT} (increase({drops}[5m])) > 0"),
        threshold: "Any, in the classes that the fabric file makes lossless.".to_owned(),
        summary: "{{ $labels.device }} dropped lossless packets at {{ $labels.port }}",
        meaning: "A class that must not lose packets did: PFC is off somewhere, or the headroom does not hold what is on the cable.",
        look: "PFC on both ends of the link, the headroom against the cable's length (`xoff check`), `xoff audit`.",
        cure: "Configure the port as the fabric file says (`xoff config --diff`).",
        owner: NETWORK,
    }
}

/// A port that was paused or down did not send, and so could not mark: that its queue grew says nothing of its marking.
fn unmarked(select: &Select, kmax: u64) -> Alert {
    let queue = select.data("xoff_queue_watermark_bytes");
    let marked = select.data("xoff_ecn_marked_packets_total");
    let sent = select.data("xoff_transmit_packets_total");
    let paused = select.all("xoff_paused_seconds_total", "");
    let up = select.all("xoff_port_up", "");
    Alert {
        name: "XoffMarksMissing",
        cause: Cause::EcnOff,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!(
            "max {PORT} (max_over_time({queue}[5m])) > {} and sum {PORT} (rate({marked}[5m])) < 0.001 * sum {PORT} \
             (rate({sent}[5m])) unless max {PORT} (rate({paused}[5m])) > 0.1 unless min {PORT} (min_over_time({up}[5m])) == 0",
            kmax + kmax / 2
        ),
        threshold: format!(
            "A queue of 1.5 times Kmax ({} KB in the fabric file), where every packet is to be marked.",
            kmax / 1_000
        ),
        summary: "{{ $labels.device }} does not mark at {{ $labels.port }}",
        meaning: "A queue grew far beyond Kmax and nothing was marked: senders are stopped by pauses instead of slowing down.",
        look: "ECN on that queue: enabled, thresholds, the queue that RDMA really uses.",
        cure: "Configure the port as the fabric file says (`xoff config --diff`).",
        owner: NETWORK,
    }
}

fn early(select: &Select, kmin: u64) -> Alert {
    let queue = select.data("xoff_queue_watermark_bytes");
    Alert {
        name: "XoffMarksEarly",
        cause: Cause::EcnTooEarly,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!(
            "max {PORT} ({}) > 0.01 unless max {PORT} (max_over_time({queue}[5m])) >= {kmin}",
            select.all(MARKED, "")
        ),
        threshold: format!(
            "1 % of packets marked, and no queue of Kmin ({} KB in the fabric file).",
            kmin / 1_000
        ),
        summary: "{{ $labels.device }} marks at {{ $labels.port }} though its queue is short",
        meaning: "Packets are marked below Kmin: senders slow down though there is room, and bandwidth is wasted.",
        look: "Kmin and Kmax of that queue, and their units; values copied from slower ports.",
        cure: "Configure the port as the fabric file says (`xoff config --diff`).",
        owner: NETWORK,
    }
}

fn incast(select: &Select) -> Alert {
    let used = select.all(USED, "peer_tier=\"nic\"");
    let marked = select.all(MARKED, "peer_tier=\"nic\"");
    Alert {
        name: "XoffIncast",
        cause: Cause::Incast,
        scope: Scope::Port,
        severity: Severity::Warning,
        window: 300,
        hold: 60,
        expression: format!(
            "max {PORT} ({used}) > 0.8 and max {PORT} ({used}) > on (fabric) group_left () (2 * quantile by (fabric) (0.5, \
             {used})) and max {PORT} ({marked}) > 0.1"
        ),
        threshold: "Four fifths of the link, twice what the median NIC gets, a tenth of its packets marked.".to_owned(),
        summary: "many senders fill {{ $labels.port }} of {{ $labels.device }}",
        meaning: "Many senders send to one NIC for minutes: its port is full, packets wait there, and senders are slowed down.",
        look: "What runs on the host behind the port: a checkpoint, a parameter server, a hot expert; `xoff diagnose`.",
        cure: "Spread it over more NICs or over time. The network is not at fault.",
        owner: super::HOSTS,
    }
}

/// Nothing where no switch has several links up.
fn uneven(fabric: &Fabric, select: &Select) -> Option<Alert> {
    let pairs = uplinks(fabric);
    let fewest = pairs.iter().map(|(.., fewest)| *fewest).min()?;
    // Of two links the busiest carries at most twice their mean.
    let most = if fewest > 2 { 2.0 } else { 1.6 };
    let part = |(from, to, _): &(_, _, _)| select.all(USED, &links_between(*from, *to));
    let used: Vec<String> = pairs.iter().map(part).collect();
    Some(Alert {
        name: "XoffUnevenLinks",
        cause: Cause::UnevenLinks,
        scope: Scope::Device,
        severity: Severity::Warning,
        window: 300,
        hold: 120,
        expression: format!(
            "{} > {most} and max by (fabric, device) ({}) > 0.5",
            select.all(SPREAD, ""),
            used.join(" or ")
        ),
        threshold: format!(
            "The busiest link up has {most} times their mean and is half full; the fabric file has {fewest} or more links up."
        ),
        summary: "{{ $labels.device }} uses one of its links up much more than the others",
        meaning: "Flows collide on a link while others are idle: the hash sees too little, or routes are missing.",
        look: "Hash fields, queue pairs per connection, routes of that switch.",
        cure: "More entropy (queue pairs, hash on the queue pair) or adaptive balancing.",
        owner: NETWORK,
    })
}
