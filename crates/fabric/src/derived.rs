//! What follows from a fabric file: ports used, oversubscription, headroom, thresholds, bandwidth
//! times delay. Equal things are one row, so that a thousand switches read like one.

mod group;
mod host;
mod local;
mod nic;

use crate::build::{PortUse, ports_needed};
use crate::file::GoalSettings;
use crate::goals::Goals;
use crate::model::{CLASSES, ClassId, Fabric, NicId, PortId, Switch, Threshold, Tier};
use crate::route::{self, Routes};
use crate::rules::headroom::{self, Situation};
use crate::rules::{buffer, packet};
use crate::setup::{FabricSetup, NicDefault};
use group::Grouped;
pub use host::HostRow;
pub use local::LocalRow;
pub use nic::NicRow;
use serde::Serialize;
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

/// What follows from a fabric file.
#[derive(Debug, Clone, Serialize)]
pub struct Derived {
    /// Servers.
    pub servers: u64,
    /// GPUs in all servers.
    pub gpus: u64,
    /// NICs in all servers.
    pub nics: u64,
    /// Ports of a NIC; where they differ, of the one with most.
    pub ports_per_nic: u64,
    /// Switches, alike ones together.
    pub switches: Vec<SwitchRow>,
    /// Bandwidth per tier.
    pub tiers: Vec<TierRow>,
    /// Cables, alike ones together.
    pub links: Vec<LinkRow>,
    /// NICs that a file says how they reach memory, alike ones together.
    pub hosts: Vec<HostRow>,
    /// NICs with limits or DSCPs of their own, alike ones together.
    pub nic_limits: Vec<NicRow>,
    /// PFC and ECN at switch ports, alike ones together.
    pub thresholds: Vec<ThresholdRow>,
    /// Rules of tiers and of single switches.
    pub local: Vec<LocalRow>,
    /// How queue pairs behave, as far as the NIC has a say in it.
    pub transport: Vec<TransportRow>,
    /// Nearest and farthest NICs.
    pub paths: Vec<PathRow>,
    /// What the fabric is meant to achieve, if the file says anything of it.
    pub goals: Option<Goals>,
}

/// One setting of the cluster's NIC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransportRow {
    /// The key below `[transport]`.
    pub key: &'static str,
    /// What is in force.
    pub value: String,
    /// Where that is from: `file`, or how sure the default is.
    pub from: &'static str,
    /// Where the default is from.
    pub source: &'static str,
}

/// Links of one rate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PortCount {
    /// Their rate.
    pub rate: Rate,
    /// How many.
    pub count: u64,
}

/// Switches that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SwitchRow {
    /// `leaf0 … leaf7`.
    pub names: String,
    /// How many.
    pub count: u64,
    /// Where they stand.
    pub tier: &'static str,
    /// Their silicon.
    pub silicon: String,
    /// Whether they have virtual output queues, and no shared buffer.
    pub voq: bool,
    /// Links in use.
    pub ports: Vec<PortCount>,
    /// Full-rate ports in use, where the silicon has such.
    pub ports_used: Option<u64>,
    /// Full-rate ports it has.
    pub ports_available: Option<u64>,
    /// Packet memory.
    pub buffer: Bytes,
    /// Headroom of all ports.
    pub headroom: Bytes,
    /// Reservations of all ports.
    pub reserved: Bytes,
    /// What remains to share.
    pub shared: Bytes,
}

/// Bandwidth of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TierRow {
    /// The tier.
    pub tier: &'static str,
    /// Its switches.
    pub switches: u64,
    /// Bandwidth towards the hosts, of the switch with the highest oversubscription.
    pub down: Rate,
    /// Bandwidth of that switch away from them; zero at the top.
    pub up: Rate,
    /// Down over up, `None` at the top.
    pub oversubscription: Option<Ratio>,
}

/// Cables that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LinkRow {
    /// What they join, like `nic-leaf`.
    pub between: String,
    /// How many.
    pub count: u64,
    /// Rate in each direction.
    pub rate: Rate,
    /// Length, zero if only a delay is known.
    pub length: Length,
    /// One-way delay.
    pub delay: Span,
    /// Optics or copper.
    pub media: String,
    /// What is under way on the cable there and back.
    pub in_flight: Bytes,
}

/// PFC and ECN of one class at ports that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ThresholdRow {
    /// Where, like `leaf from nic`.
    pub at: String,
    /// Switches, where others of the tier have other rules: `spine3`, or `leaf0 … leaf7 (7)`.
    pub switches: String,
    /// How many ports.
    pub ports: u64,
    /// Their rate.
    pub rate: Rate,
    /// Whether PFC protects the class there.
    pub lossless: bool,
    /// The class.
    pub class: u8,
    /// Its name.
    pub class_name: String,
    /// Buffer of its own.
    pub reserved: Bytes,
    /// Share of the free buffer before it pauses; `None` for a fixed size.
    pub alpha: Option<Ratio>,
    /// Occupancy that pauses, when nothing else is congested.
    pub xoff: Bytes,
    /// Occupancy that resumes then.
    pub xon: Bytes,
    /// Occupancy that pauses when every port of the switch is congested.
    pub xoff_loaded: Bytes,
    /// How many ingresses fill an egress queue to Kmin before they are paused; `None` if not even all do,
    /// or nothing is marked.
    pub ingresses_to_mark: Option<u64>,
    /// Headroom configured.
    pub headroom: Bytes,
    /// Headroom that the worst case takes.
    pub headroom_needed: Bytes,
    /// Queue at which marking starts.
    pub kmin: Option<Bytes>,
    /// Queue above which every packet is marked.
    pub kmax: Option<Bytes>,
    /// Probability just below that.
    pub pmax: Option<Ratio>,
}

/// A pair of NICs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathRow {
    /// `nearest` or `farthest`.
    pub pair: &'static str,
    /// One end.
    pub from: String,
    /// The other.
    pub to: String,
    /// Links between them.
    pub links: u64,
    /// Equal shortest paths.
    pub choices: u64,
    /// Rate of the slowest link.
    pub rate: Rate,
    /// A full packet there and its acknowledgement back, in an idle fabric.
    pub base_rtt: Span,
    /// Rate times that: what is in flight at full speed.
    pub bdp: Bytes,
}

impl Derived {
    /// What follows from a fabric.
    pub fn of(setup: &FabricSetup) -> Self {
        let fabric = &setup.fabric;
        Self {
            servers: fabric.servers.len() as u64,
            gpus: fabric.servers.iter().map(|server| u64::from(server.gpus)).sum(),
            nics: fabric.nics.len() as u64,
            ports_per_nic: fabric.nics.iter().map(|nic| nic.ports.len() as u64).max().unwrap_or(0),
            switches: switches(setup),
            tiers: tiers(fabric),
            links: links(fabric),
            hosts: host::rows(fabric),
            nic_limits: nic::rows(fabric),
            thresholds: thresholds(fabric),
            local: local::rows(setup),
            transport: transport(setup),
            paths: paths(fabric),
            goals: (setup.file.goals != GoalSettings::default()).then(|| setup.goals.clone()),
        }
    }
}

fn transport(setup: &FabricSetup) -> Vec<TransportRow> {
    let connection = TransportRow {
        key: "queue-pairs",
        value: setup.fabric.queue_pairs.to_string(),
        from: if setup.file.transport.queue_pairs.is_some() { "file" } else { "documented" },
        source: "NCCL_IB_QPS_PER_CONNECTION is 1 unless it is set",
    };
    std::iter::once(connection).chain(setup.nic_defaults.iter().map(transport_row)).collect()
}

fn transport_row(default: &NicDefault) -> TransportRow {
    let fact = &default.fact;
    let (value, from) = match &default.instead {
        Some(own) => (own.as_str(), "file"),
        None => (fact.value, fact.confidence.name()),
    };
    let value = value.trim_matches(['"', '\'']).to_owned();
    TransportRow { key: fact.key, value, from, source: fact.source }
}

fn port_use(fabric: &Fabric, switch: &Switch) -> PortUse {
    let mut used = PortUse::new();
    for port in switch.ports.clone() {
        *used.entry(fabric.cable(PortId(port)).rate).or_default() += 1;
    }
    used
}

fn switches(setup: &FabricSetup) -> Vec<SwitchRow> {
    let fabric = &setup.fabric;
    let mut rows = Grouped::default();
    for switch in &fabric.switches {
        let used = port_use(fabric, switch);
        let silicon = setup.catalogue.silicon.get(&switch.silicon).filter(|s| !s.unlimited());
        let memory = fabric.packet_memory(switch);
        let row = SwitchRow {
            names: String::new(),
            count: 0,
            tier: switch.tier.name(),
            silicon: switch.silicon.clone(),
            voq: switch.voq.is_some(),
            ports_used: silicon.and_then(|s| ports_needed(s, &used)),
            ports_available: silicon.map(|s| s.ports.into()),
            ports: used.into_iter().map(|(rate, count)| PortCount { rate, count }).collect(),
            buffer: switch.buffer,
            headroom: memory.headroom,
            reserved: memory.reserved,
            shared: memory.shared,
        };
        rows.add(row, &switch.name);
    }
    rows.into_rows(|mut row, members| {
        row.names = members.span();
        row.count = members.count;
        row
    })
}

/// What a port leads to.
fn towards(fabric: &Fabric, port: PortId) -> Option<Tier> {
    let peer = fabric.ports[port.index()].peer;
    let switch = fabric.node_switch(fabric.ports[peer.index()].node)?;
    Some(fabric.switches[switch.index()].tier)
}

fn tiers(fabric: &Fabric) -> Vec<TierRow> {
    let mut rows: Vec<TierRow> = Vec::new();
    for switch in &fabric.switches {
        let (mut down, mut up) = (0u64, 0u64);
        for port in switch.ports.clone().map(PortId) {
            let rate = fabric.cable(port).rate.bps();
            match towards(fabric, port) {
                Some(tier) if tier > switch.tier => up = up.saturating_add(rate),
                Some(tier) if tier == switch.tier => {}
                _ => down = down.saturating_add(rate),
            }
        }
        let row = TierRow {
            tier: switch.tier.name(),
            switches: 1,
            down: Rate::from_bps(down),
            up: Rate::from_bps(up),
            oversubscription: (up > 0).then(|| Ratio::new(down, up)),
        };
        match rows.last_mut().filter(|last| last.tier == row.tier) {
            Some(last) => {
                let switches = last.switches + 1;
                if row.oversubscription > last.oversubscription {
                    *last = row;
                }
                last.switches = switches;
            }
            None => rows.push(row),
        }
    }
    rows
}

fn word(tier: Option<Tier>) -> &'static str {
    tier.map_or("nic", Tier::name)
}

fn links(fabric: &Fabric) -> Vec<LinkRow> {
    let mut rows = Grouped::default();
    for (index, port) in fabric.ports.iter().enumerate() {
        // Each cable once, from its end with the smaller number.
        if index > port.peer.index() {
            continue;
        }
        let cable = &fabric.cables[port.cable.index()];
        let mut ends = [towards(fabric, port.peer), towards(fabric, PortId(index as u32))];
        ends.sort_unstable();
        let row = LinkRow {
            between: format!("{}-{}", word(ends[0]), word(ends[1])),
            count: 0,
            rate: cable.rate,
            length: cable.length,
            delay: cable.delay,
            media: cable.media.clone(),
            in_flight: cable.rate.bytes_in(cable.delay * 2),
        };
        rows.add(row, "");
    }
    rows.into_rows(|mut row, members| {
        row.count = members.count;
        row
    })
}

fn thresholds(fabric: &Fabric) -> Vec<ThresholdRow> {
    let mut rows = Grouped::default();
    for switch in &fabric.switches {
        let shared = fabric.packet_memory(switch).shared;
        for port in switch.ports.clone().map(PortId) {
            let here = &fabric.ports[port.index()].classes;
            let lossless = |id: &usize| fabric.classes[*id].lossless || here[*id].lossless;
            for class in (0..CLASSES).filter(lossless) {
                let id = ClassId(class as u8);
                rows.add(threshold_row(fabric, switch, port, id, shared), &switch.name);
            }
        }
    }
    let mut rows = rows.into_rows(|mut row, members| {
        row.ports = members.count;
        row.switches = match members.names {
            0..=2 => members.span(),
            names => format!("{} ({names})", members.span()),
        };
        row
    });
    let alike =
        |a: &ThresholdRow, b: &ThresholdRow| (&a.at, a.rate, a.class) == (&b.at, b.rate, b.class);
    // Where switches of a tier differ, rows say whose they are.
    let apart: Vec<bool> =
        rows.iter().map(|row| rows.iter().filter(|other| alike(row, other)).count() > 1).collect();
    for (row, apart) in rows.iter_mut().zip(apart) {
        if !apart {
            row.switches = String::new();
        }
    }
    rows
}

fn threshold_row(
    fabric: &Fabric,
    switch: &Switch,
    port: PortId,
    class: ClassId,
    shared: Bytes,
) -> ThresholdRow {
    let rules = fabric.ports[port.index()].classes[usize::from(class.0)];
    let all = switch.ports.len() as u64;
    let xoff = rules.reserved + buffer::xoff(rules.threshold, shared, 1);
    ThresholdRow {
        at: format!("{} from {}", switch.tier.name(), word(towards(fabric, port))),
        switches: String::new(),
        ports: 0,
        rate: fabric.cable(port).rate,
        lossless: rules.lossless,
        class: class.0,
        class_name: fabric.classes[usize::from(class.0)].name.clone(),
        reserved: rules.reserved,
        alpha: match rules.threshold {
            Threshold::Dynamic(alpha) => Some(alpha),
            Threshold::Static(_) => None,
        },
        xoff,
        xon: xoff.saturating_sub(rules.xon_offset),
        xoff_loaded: rules.reserved + buffer::xoff(rules.threshold, shared, all),
        ingresses_to_mark: rules.ecn.and_then(|ecn| {
            let limits = (rules.reserved, rules.threshold, shared);
            Some(buffer::ingresses_to_fill(ecn.kmin, limits, all - 1)?.0)
        }),
        headroom: rules.headroom,
        headroom_needed: Situation::at(fabric, port)
            .filter(|_| rules.lossless)
            .map_or(Bytes::ZERO, |situation| headroom::needed(&situation)),
        kmin: rules.ecn.map(|ecn| ecn.kmin),
        kmax: rules.ecn.map(|ecn| ecn.kmax),
        pmax: rules.ecn.map(|ecn| ecn.pmax),
    }
}

/// The nearest and the farthest NIC from the first one.
fn paths(fabric: &Fabric) -> Vec<PathRow> {
    const LOOKED_AT: usize = 512;
    let nics = fabric.nics.len();
    let step = nics.div_ceil(LOOKED_AT).max(1);
    let others = std::iter::once(1).chain((0..nics).rev().step_by(step));
    let others = others.filter(|&other| other > 0 && other < nics).map(|nic| NicId(nic as u32));
    let found = distant(fabric, others);
    let nearest = found.iter().min_by_key(|(links, _)| *links);
    let farthest = found.iter().max_by_key(|(links, _)| *links);
    let ends = [("nearest", nearest), ("farthest", farthest)];
    let mut wanted: Vec<NicId> = ends.iter().filter_map(|(_, end)| Some(end.as_ref()?.1)).collect();
    wanted.extend((nics > 0).then_some(NicId(0)));
    let routes = Routes::towards(fabric, &wanted);
    let mut rows = Vec::new();
    for (pair, end) in ends {
        rows.extend(end.and_then(|(_, nic)| path_row(fabric, &routes, pair, *nic)));
    }
    if rows.len() == 2 && rows[0].links == rows[1].links {
        rows.truncate(1);
    }
    rows
}

/// Links of the way from the first NIC to each of `others` that can be reached. Without static routes one
/// search gives them all, where tables for all switches of a large fabric would take seconds.
fn distant(fabric: &Fabric, others: impl Iterator<Item = NicId>) -> Vec<(usize, NicId)> {
    if fabric.nics.is_empty() {
        return Vec::new();
    }
    if fabric.static_routes.is_empty() {
        let distance = route::distances(fabric, NicId(0));
        return others.filter_map(|nic| Some((distance(nic)?, nic))).collect();
    }
    let routes = Routes::new(fabric);
    let way = |nic| routes.shortest_path(fabric, NicId(0), nic).map(|path| (path.len(), nic));
    others.filter_map(way).collect()
}

fn path_row(fabric: &Fabric, routes: &Routes, pair: &'static str, to: NicId) -> Option<PathRow> {
    let from = NicId(0);
    let there = routes.shortest_path(fabric, from, to)?;
    let back = routes.shortest_path(fabric, to, from)?;
    let qp = &fabric.nics[from.index()].qp;
    let gap = qp.framing.gap;
    let turn = fabric.nics[to.index()].latency;
    let base_rtt = fabric.one_way(&there, packet::largest(qp) + gap)
        + turn
        + fabric.one_way(&back, packet::smallest(qp) + gap);
    let rate = there.iter().map(|port| fabric.cable(*port).rate).min()?;
    Some(PathRow {
        pair,
        from: fabric.nics[from.index()].name.clone(),
        to: fabric.nics[to.index()].name.clone(),
        links: there.len() as u64,
        choices: routes.path_choices(fabric, from, to),
        rate,
        base_rtt,
        bdp: rate.bytes_in(base_rtt),
    })
}

#[cfg(test)]
mod tests;
