//! Ports with numbers and rules, from a wiring.

use super::buffers::{self, PortRules};
use super::classes::Classes;
use super::collectives;
use super::credits;
use super::places::Places;
use super::tenants;
use super::terms::Terms;
use super::wiring::{End, Wiring};
use crate::check::pace;
use crate::document::Report;
use crate::file::{
    AdaptiveSettings, NicSettings, Quanta, ReceiveSettings, ResponseSetting, TransportSection,
};
use crate::model::{
    CLASSES, CableId, Class, Cpu, EcmpHash, Model, Nic, NodeId, PauseRules, Port, PortClass,
    PortId, ReceiveLimit, Server, ServerId, Switch,
};
use crate::network::Network;
use crate::rules::{hash, pause};
use std::collections::BTreeMap;
use std::ops::Range;
use xoff_transport::config::{Congestion, Notification, QpConfig};
use xoff_units::{Bytes, Rate, Span};

/// The fabric of a wiring.
pub(super) fn assemble(
    terms: &Terms<'_>,
    wiring: Wiring,
    classes: Classes,
    report: &mut Report<'_>,
) -> Model {
    let file = terms.file;
    let nodes = port_ranges(&wiring);
    let places = Places::settle(file, &classes, &wiring, report);
    let ports = ports(terms, &wiring, &classes, &places, &nodes);
    let cables = wiring.links.iter().map(|link| wiring.cables[link.cable].clone()).collect();
    let mut fabric = Model {
        servers: servers(&wiring, terms),
        nics: nics(terms, &wiring, &classes, &nodes),
        switches: switches(&wiring, &places, &nodes),
        ports,
        cables,
        classes: classes.plans.clone().map(|plan| Class {
            name: plan.name,
            lossless: plan.lossless,
            dscp: plan.dscp,
        }),
        marking: file.ecn.marking(),
        adaptive: file.ecn.adaptive.as_ref().and_then(AdaptiveSettings::controller),
        pause: PauseRules {
            enabled: file.pfc.enabled,
            frame: file.pfc.frame,
            quanta: match file.pfc.quanta {
                Quanta::Count(quanta) => Some(quanta),
                Quanta::Word(_) => None,
            },
        },
        data_class: classes.data,
        ack_class: classes.ack,
        cnp_class: classes.cnp,
        tenants: tenants::settle(file, classes.data, report),
        static_routes: Vec::new(),
        ties: file.ties,
        credits: file.credits.enabled,
        guests: Vec::new(),
        queue_pairs: file.transport.queue_pairs.unwrap_or(1).max(1),
        convergence: file.convergence.times(),
        collectives: collectives::settle(file, terms.catalogue, report),
    };
    if file.credits.enabled {
        credits::settle(&mut fabric, &file.credits, report);
    } else {
        buffers::check(terms, &fabric, &wiring, &places, report);
        pace(file, &fabric, report);
    }
    fabric
}

fn node(wiring: &Wiring, end: End) -> usize {
    match end {
        End::Nic(nic) => nic as usize,
        End::Switch(switch) => wiring.nics.len() + switch as usize,
    }
}

/// The ports of every node: consecutive, in the order in which the node was plugged in.
fn port_ranges(wiring: &Wiring) -> Vec<Range<u32>> {
    let mut counts = vec![0u32; wiring.nics.len() + wiring.switches.len()];
    for link in &wiring.links {
        for end in link.ends {
            counts[node(wiring, end)] += 1;
        }
    }
    let mut next = 0;
    let range = |count: &u32| {
        let range = next..next + count;
        next = range.end;
        range
    };
    counts.iter().map(range).collect()
}

/// One end of a link as a port: which link, which end.
#[derive(Clone, Copy, Default)]
struct Slot {
    link: u32,
    end: u8,
}

fn ports(
    terms: &Terms<'_>,
    wiring: &Wiring,
    classes: &Classes,
    places: &Places,
    nodes: &[Range<u32>],
) -> Vec<Port> {
    let total = nodes.last().map_or(0, |range| range.end) as usize;
    let mut slots = vec![Slot::default(); total];
    let mut numbers = Vec::with_capacity(wiring.links.len());
    let mut next: Vec<u32> = nodes.iter().map(|range| range.start).collect();
    for (index, link) in wiring.links.iter().enumerate() {
        let mut pair = [0; 2];
        for (end, number) in pair.iter_mut().enumerate() {
            let place = &mut next[node(wiring, link.ends[end])];
            *number = *place;
            slots[*place as usize] = Slot { link: index as u32, end: end as u8 };
            *place += 1;
        }
        numbers.push(pair);
    }
    let full = next.iter().zip(nodes).position(|(next, range)| *next != range.end);
    assert_eq!(full, None, "a node whose ports are not all plugged in");
    let rules = PortRules { terms, wiring, classes, places };
    let mut known: BTreeMap<(Option<usize>, usize, Span), [PortClass; CLASSES]> = BTreeMap::new();
    let port = |slot: Slot| {
        let link = &wiring.links[slot.link as usize];
        let (end, other) = (usize::from(slot.end), usize::from(1 - slot.end));
        let kind = match link.ends[end] {
            End::Nic(_) => None,
            End::Switch(switch) => Some(wiring.switches[switch as usize].kind),
        };
        // Ports that differ in nothing share one computation: there are few kinds.
        let key = (kind, link.cable, rules.latency(link.ends[other]));
        let classes = known.entry(key).or_insert_with(|| rules.classes(kind, key.1, key.2));
        Port {
            node: NodeId(node(wiring, link.ends[end]) as u32),
            peer: PortId(numbers[slot.link as usize][other]),
            cable: CableId(slot.link),
            pause_response: response(terms.file.pfc.response, wiring.cables[link.cable].rate),
            label: link.labels[end].clone(),
            classes: *classes,
        }
    };
    slots.into_iter().map(port).collect()
}

/// Time a port of this rate takes to obey a pause.
pub(super) fn response(setting: ResponseSetting, rate: Rate) -> Span {
    match setting {
        ResponseSetting::Standard => pause::response_time(rate),
        ResponseSetting::After(time) => time,
    }
}

fn servers(wiring: &Wiring, terms: &Terms<'_>) -> Vec<Server> {
    let server = |plan: &super::wiring::ServerPlan| Server {
        name: plan.name.clone(),
        gpus: plan.gpus,
        nics: plan.nics.clone(),
        nvlink: if plan.gpus > 1 { terms.nvlink } else { Rate::ZERO },
        nvlink_latency: terms.nvlink_latency,
        nvls: terms.nvls && plan.gpus > 1,
    };
    wiring.servers.iter().map(server).collect()
}

fn nics(terms: &Terms<'_>, wiring: &Wiring, classes: &Classes, nodes: &[Range<u32>]) -> Vec<Nic> {
    let file = terms.file;
    let nic = |(index, plan): (usize, &super::wiring::NicPlan)| {
        let kind = &wiring.nic_kinds[plan.kind];
        Nic {
            name: plan.name.clone(),
            model: kind.model.clone(),
            server: ServerId(plan.server),
            ports: nodes[index].clone(),
            qp: queue_pairs(terms.transports.get(&kind.model).unwrap_or(&file.transport)),
            latency: kind.latency,
            receive: file.nic.receive.as_ref().map(receive),
            packet_rate: None,
            dscp: classes.plans.each_ref().map(|plan| plan.dscp),
            rail: plan.rail,
            cpu: cores(&file.nic),
            host: None,
            aggregates: None,
        }
    };
    wiring.nics.iter().enumerate().map(nic).collect()
}

/// The queue pairs of a network. TCP's DCTCP begins as TCP does, where a NIC's begins at full speed.
/// Schemes that work with the share of marked packets bring the echo that reports it.
pub(crate) fn queue_pairs(transport: &TransportSection) -> QpConfig {
    let mut qp = transport.qp.clone();
    if qp.congestion.needs_echo() {
        qp.notification = Notification::EchoInAck;
    }
    let tcp = matches!(transport.kind, Network::Tcp | Network::Iwarp);
    if let (true, Congestion::Dctcp(dctcp)) = (tcp, &mut qp.congestion)
        && dctcp.initial_window.is_zero()
    {
        dctcp.initial_window = qp.mtu * 10;
    }
    qp
}

/// The cores that run the transport, if any do.
pub(crate) fn cores(nic: &NicSettings) -> Option<Cpu> {
    let core_rate = nic.core_rate?;
    Some(Cpu { core_rate, flow_cores: nic.flow_cores.unwrap_or(1).max(1) })
}

/// The receive side with its defaults.
pub(crate) fn receive(given: &ReceiveSettings) -> ReceiveLimit {
    let buffer = given.buffer.unwrap_or(Bytes::new(2 << 20));
    ReceiveLimit {
        rate: given.rate,
        buffer,
        xoff: given.xoff.unwrap_or(Bytes::new(buffer.get() / 2)),
        xon: given.xon.unwrap_or(Bytes::new(buffer.get() / 4)),
        packet: Span::ZERO,
    }
}

fn switches(wiring: &Wiring, places: &Places, nodes: &[Range<u32>]) -> Vec<Switch> {
    let switch = |(index, plan): (usize, &super::wiring::SwitchPlan)| {
        let kind = &wiring.switch_kinds[plan.kind];
        Switch {
            name: plan.name.clone(),
            tier: kind.tier,
            silicon: kind.forwards.name.clone(),
            ports: nodes[wiring.nics.len() + index].clone(),
            buffer: kind.buffer,
            cell: kind.cell,
            latency: kind.latency,
            cut_through: kind.cut_through,
            mtu: kind.mtu,
            dscp_to_class: places.of(plan.kind).by_dscp,
            hash: EcmpHash {
                fields: kind.fields,
                seed: kind.seed.unwrap_or_else(|| hash::seed_of(index as u32)),
            },
            balancing: kind.balancing,
            watchdog: kind.watchdog,
            headroom_pool: kind.headroom_pool,
            silicon_headroom: kind.forwards.headroom,
            discipline: kind.discipline,
            trimming: kind.trimming,
            voq: kind.forwards.voq,
            aggregation: kind.aggregation,
        }
    };
    wiring.switches.iter().enumerate().map(switch).collect()
}
