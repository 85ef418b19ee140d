//! From a fabric to the state of its wires and switches.

use crate::adapt::state::Adaptation;
use crate::balance::state::Balance;
use crate::convergence::state::Convergence;
use crate::credit::state as credit;
use crate::deadlock::state::Deadlocks;
use crate::event::{Key, Kind};
use crate::host::pcie;
use crate::hosts::Hosts;
use crate::id::{HashSeed, Table};
use crate::ideal::{flight, leads_to_cut_through};
use crate::link::state::Links;
use crate::net::Net;
use crate::notify::state::Marking;
use crate::pause::state::Pauses;
use crate::plane::state::Planes;
use crate::switch::buffer::{Profile, Shared};
use crate::switch::chip::SwitchState;
use crate::switch::hashing::Hashing;
use crate::switch::header::Headers;
use crate::switch::packet::Packets;
use crate::switch::port::{HEAD_BYTES, Lane, Port, port_flag};
use crate::switch::routing::Routing;
use crate::switch::scheduler::Scheduler;
use crate::switch::trail::Trails;
use crate::voq::state as voq;
use crate::{QueueKind, Settings, SimError};
use std::sync::Arc;
use xoff_fabric::model::{
    CLASSES, ClassId, Discipline, Fabric, NicId, NodeId, PortId, Scheduling, Switch, SwitchId,
};
use xoff_fabric::route::{Routes, Views};
use xoff_fabric::rules::hash;
use xoff_units::{ByteTime, Instant, Span};

/// Packets that a busy NIC has under way, with their answers: room that growing by doubling would
/// have to copy.
const PACKETS_PER_NIC: usize = 128;

/// How the traffic of a run uses the network, as far as the network's state depends on it.
pub(super) struct Use {
    /// Events of one instant are handled by turn.
    pub(super) by_turn: bool,
    /// The scenario has faults that change routes.
    pub(super) routes_change: bool,
}

/// Wires and switches before anything is sent.
pub(super) fn net(
    fabric: &Fabric,
    (routes, hashing): (Routes, Hashing),
    hosts: &Hosts,
    settings: &Settings,
    usage: &Use,
) -> Result<Net, SimError> {
    let mut profiles = Vec::new();
    let slots = profile_of_each_slot(fabric, &mut profiles);
    let port_count = fabric.ports.len();
    let gap = fabric.nics.first().map_or(0, |nic| nic.qp.framing.gap.get() as u32);
    let collects = hosts.nics.iter().any(|nic| nic.collects);
    let expected = (hosts.nics.len() * PACKETS_PER_NIC).min(1 << 20);
    let constant = |switch: &Switch| switch.balancing.keeps_paths();
    let one_way = fabric.switches.iter().all(constant);
    let shortcuts = settings.queue == QueueKind::Wheel;
    let routed = !usage.routes_change && hosts.flows.iter().all(|flow| flow.pins.is_none());
    let recycles = hosts.recycling.is_some();
    Ok(Net {
        headers: Headers::new(expected, settings.check_wire, collects, recycles),
        packets: Packets::new(expected),
        ports: (0..port_count as u32)
            .map(|port| port_state(fabric, &hosts.planes, &slots, &profiles, gap, PortId(port)))
            .collect(),
        switches: switch_states(fabric, &slots, &profiles)?,
        profiles,
        schedulers: schedulers(fabric),
        turns: if usage.by_turn { vec![0; port_count].into() } else { Table::new() },
        links: Links::new(fabric, settings.seed),
        pauses: Pauses::new(fabric, pause_flights(fabric)),
        credits: credit::initial(fabric),
        voqs: voq::initial(fabric),
        routing: Arc::new(Routing::new(fabric, Views::common(routes, fabric.switches.len()))),
        hashing,
        trails: Trails::new(one_way && shortcuts),
        balance: Balance::new(fabric, settings.seed),
        marking: Marking::new(port_count, settings.seed),
        adaptation: Adaptation::new(fabric),
        deadlocks: Deadlocks::new(!shortcuts, routed),
        convergence: Convergence::default(),
        gap,
    })
}

fn profile_of_each_slot(fabric: &Fabric, profiles: &mut Vec<Profile>) -> Vec<u32> {
    let mut slots = Vec::with_capacity(fabric.ports.len() * CLASSES);
    for port in &fabric.ports {
        for rules in &port.classes {
            let profile = Profile::new(rules, rules.lossless);
            let known = profiles.iter().rposition(|other| *other == profile);
            slots.push(known.unwrap_or(profiles.len()) as u32);
            if known.is_none() {
                profiles.push(profile);
            }
        }
    }
    slots
}

/// What is special about a port from the start.
fn port_flags(fabric: &Fabric, id: PortId) -> u8 {
    let cable = fabric.cable(id);
    let lossy = !cable.bit_error_rate.is_zero() || !cable.loss.is_zero();
    let of_nic = fabric.node_switch(fabric.ports[id.index()].node).is_none();
    let flags = [
        (of_nic, port_flag::NIC),
        (lossy, port_flag::LOSSY),
        (credit::governs(fabric, id), port_flag::CREDITS),
        (voq::governs(fabric, id), port_flag::VOQ),
        (pcie::is_slow(fabric, id), port_flag::SLOW_HOST),
    ];
    flags.into_iter().filter(|(holds, _)| *holds).fold(0, |flags, (_, flag)| flags | flag)
}

/// The number of a port's switch or plane.
fn owner(fabric: &Fabric, planes: &Planes, id: PortId) -> u32 {
    let node = fabric.ports[id.index()].node;
    match fabric.node_switch(node) {
        Some(switch) => switch.0,
        None => {
            let first = fabric.nics[node.index()].ports.start;
            planes.plane(NicId(node.0), (id.0 - first) as usize).0
        }
    }
}

fn port_state(
    fabric: &Fabric,
    planes: &Planes,
    slots: &[u32],
    profiles: &[Profile],
    gap: u32,
    id: PortId,
) -> Port {
    let port = &fabric.ports[id.index()];
    let flags = port_flags(fabric, id);
    let cut_through = leads_to_cut_through(fabric, id);
    // A switch with credits returns credit for all that leaves its buffer: every class counts as paused
    // and announced, so that `release` comes by `resume_if_room`. See `credit`.
    let owes = if fabric.credits && flags & port_flag::NIC == 0 { u8::MAX } else { 0 };
    // A switch that marks when packets join a queue looks at every packet there, and at none that leaves.
    let at_enqueue = fabric.marking.at_enqueue && flags & port_flag::NIC == 0;
    let to_nic = fabric.node_switch(fabric.ports[port.peer.index()].node).is_none();
    let (mut strict, mut limited) = (0, if at_enqueue { u8::MAX } else { 0 });
    for (class, rules) in port.classes.iter().enumerate() {
        if rules.egress_limit.is_some() {
            limited |= 1 << class;
        }
        if rules.scheduling == Scheduling::Strict {
            strict |= 1 << class;
        }
    }
    let port = Port {
        busy_until: Instant::ZERO,
        wake_at: Instant::MAX,
        flight: flight(fabric, id),
        byte_time: ByteTime::of(fabric.cable(id).rate),
        calm: 0,
        enough: if cut_through { HEAD_BYTES + gap } else { u32::MAX },
        arrival: Key::new(if to_nic { Kind::Deliver } else { Kind::Arrive }, port.peer.0),
        owner: owner(fabric, planes, id),
        waiting: 0,
        paused: 0,
        xoff: owes,
        announced: owes,
        refresh: 0,
        stuck: 0,
        limited,
        strict,
        flags,
        lanes: std::array::from_fn(|class| {
            let profile = slots[id.index() * CLASSES + class];
            let mut lane = Lane::new(profile, &profiles[profile as usize]);
            if at_enqueue {
                lane.kmin = u32::MAX;
            }
            lane
        }),
    };
    port.settle()
}

/// The time of each port's pause frames from their end to their effect.
fn pause_flights(fabric: &Fabric) -> Table<PortId, Span> {
    (0..fabric.ports.len() as u32).map(|port| pause_flight(fabric, PortId(port))).collect()
}

/// A pause frame leaves at the wire and acts at the peer's wire after its response time; what is
/// then still in the peer's pipeline counts into that time.
fn pause_flight(fabric: &Fabric, id: PortId) -> Span {
    let peer = fabric.ports[id.index()].peer;
    let pipeline = flight(fabric, peer).saturating_sub(fabric.cable(peer).delay);
    let response = fabric.ports[peer.index()].pause_response;
    fabric.cable(id).delay + response.saturating_sub(pipeline)
}

fn schedulers(fabric: &Fabric) -> Table<PortId, Scheduler> {
    let discipline = |node: NodeId| match fabric.node_switch(node) {
        Some(switch) => fabric.switches[switch.index()].discipline,
        None => Discipline::Dwrr,
    };
    fabric.ports.iter().map(|port| Scheduler::new(&port.classes, discipline(port.node))).collect()
}

fn switch_states(
    fabric: &Fabric,
    slots: &[u32],
    profiles: &[Profile],
) -> Result<Table<SwitchId, SwitchState>, SimError> {
    let state = |(index, switch): (usize, &xoff_fabric::model::Switch)| {
        let slots =
            switch.ports.clone().flat_map(|port| &slots[port as usize * CLASSES..][..CLASSES]);
        let rules = slots.map(|&slot| &profiles[slot as usize]);
        let mut set_aside: u64 = match switch.headroom_pool {
            Some(_) => rules.clone().map(|rule| rule.set_aside() - rule.headroom()).sum(),
            None => rules.clone().map(Profile::set_aside).sum(),
        };
        set_aside += switch.headroom_pool.map_or(0, |pool| pool.get());
        let Some(free) = switch.buffer.get().checked_sub(set_aside) else {
            return Err(SimError::Buffer(fabric.switches[index].name.clone()));
        };
        let headroom_free = switch.headroom_pool.map_or(u64::MAX >> 1, |pool| pool.get());
        Ok(SwitchState {
            shared: Shared::new(free, headroom_free, rules),
            shared_total: free,
            classes: switch.dscp_to_class.map(|class| ClassId(class.0 & 7)),
            hash_seed: HashSeed(hash::mixed(switch.hash.seed)),
            cell: switch.cell.get().min(4096) as u16,
            cut_through: switch.cut_through,
            trimming: switch.trimming,
        })
    };
    fabric.switches.iter().enumerate().map(state).collect()
}
