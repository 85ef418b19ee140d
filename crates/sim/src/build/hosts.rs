//! From a fabric and its traffic to the state of its hosts.

use crate::connection::state::{Connections, FlowState, Flows, Pins};
use crate::engineer::{self, Engineered};
use crate::host::guest::{self, GuestState};
use crate::host::pcie;
use crate::host::recycle::Rule;
use crate::hosts::Hosts;
use crate::id::{ConnectionId, FlowId, PlaneId, Table};
use crate::ideal::{self};
use crate::job::state::{Job, Jobs};
use crate::nic::state::NicState;
use crate::plane::state::Planes;
use crate::receiver::state::Receiver;
use crate::report::FlowCounters;
use crate::switch::hashing::Hashing;
use crate::{Settings, SimError};
use std::sync::Arc;
use xoff_fabric::model::{Balancing, Fabric, NodeId, PortId, Switch, SwitchId};
use xoff_fabric::route::Routes;
use xoff_fabric::rules::packet;
use xoff_fabric::scenario::Operation;
use xoff_units::{Instant, Span};
use xoff_workload::Flow;
use xoff_workload::stream::Stream;

/// Hosts before anything is sent. Gives every flow and queue pair its hashes.
pub(super) fn hosts(
    fabric: &Fabric,
    (routes, hashing): (&Routes, &mut Hashing),
    (flows, jobs): (&[Flow], Vec<Job>),
    settings: &Settings,
    routes_change: bool,
) -> Result<Hosts, SimError> {
    let (seed, fidelity) = (settings.seed, settings.fidelity);
    let engineered = engineer::engineered(fabric, routes, hashing, flows, &jobs);
    let first_qp = first_queue_pair(seed);
    let ways = (routes, &mut *hashing);
    let flows = flow_states(fabric, ways, flows, &engineered, first_qp, routes_change)?;
    let unfinished = flows.len() + jobs.len();
    let jobs = Jobs::new(fabric, routes, hashing, jobs, engineered.jobs, first_qp, fidelity);
    let rule = |switch: &Switch| match switch.balancing {
        Balancing::Recycled => Some(Rule::Recycle),
        Balancing::Paths => Some(Rule::Paths),
        _ => None,
    };
    let recycling = fabric.switches.iter().find_map(rule).map(|rule| (rule, seed));
    let mut nics = nic_states(fabric, seed);
    nics.iter_mut().for_each(|nic| {
        nic.returns |= recycling.is_some();
        nic.hosts_guests = !fabric.guests.is_empty();
    });
    Ok(Hosts {
        nics,
        planes: Planes::of(fabric),
        connections: Connections::default(),
        flows: Flows::new(flows),
        jobs,
        unfinished,
        guests: GuestState::all(fabric),
        recycling,
    })
}

fn nic_states(fabric: &Fabric, seed: u64) -> Table<PlaneId, NicState> {
    let mut configs: Vec<[Arc<xoff_transport::config::QpConfig>; 2]> = Vec::new();
    let state = |nic: &xoff_fabric::model::Nic, port: PortId| {
        let known = configs.iter().find(|[config, _]| **config == nic.qp).cloned();
        let [qp, in_vxlan] = known.unwrap_or_else(|| {
            configs.push([nic.qp.clone(), packet::in_vxlan(&nic.qp)].map(Arc::new));
            configs[configs.len() - 1].clone()
        });
        let rate = fabric.cable(port).rate;
        let mut state = NicState::new(port, rate, qp, in_vxlan, seed);
        state.flow_rate = nic.cpu.map_or(rate, |cpu| cpu.flow_rate().min(rate));
        let receiver = |limit| Box::new(Receiver::new(limit, Instant::ZERO));
        state.receiver = nic.receive.map(receiver);
        state.fetch = pcie::fetch_time(nic, rate);
        state.packet = pcie::packet_time(nic);
        state
    };
    let mut state = state;
    let first = fabric.nics.iter().map(|nic| (nic, nic.ports.start));
    let more = fabric.nics.iter().flat_map(|nic| nic.ports.clone().skip(1).map(move |p| (nic, p)));
    first.chain(more).map(|(nic, port)| state(nic, PortId(port))).collect()
}

/// The number that a run counts its queue pairs from. Switches hash that number, or the source port that a
/// NIC derives from it, so another seed sends the same queue pairs over other paths.
fn first_queue_pair(seed: u64) -> u32 {
    (Stream::new(seed, 0, "queue pairs").next_u64() >> 32) as u32
}

fn flow_states(
    fabric: &Fabric,
    (routes, hashing): (&Routes, &mut Hashing),
    flows: &[Flow],
    engineered: &Engineered,
    first_qp: u32,
    ways_change: bool,
) -> Result<Table<FlowId, FlowState>, SimError> {
    let mut states = Vec::with_capacity(flows.len());
    for (index, flow) in flows.iter().enumerate() {
        let (source, destination) = (flow.source, flow.destination);
        let entropy = |from, to, end: usize| {
            let qpn = first_qp.wrapping_add(index as u32) << 1 | end as u32;
            hashing.hashes(from, to, flow.source_port, qpn)
        };
        let mut hashes = [entropy(source, destination, 1), entropy(destination, source, 0)];
        if let Some(&chosen) = engineered.flows.get(index) {
            hashes[usize::from(flow.operation == Operation::Read)] = chosen;
        }
        let pins = flow.path.as_ref().map(|path| pins(fabric, flow, path)).transpose()?;
        let mut state = FlowState {
            start: flow.start,
            end: Instant::MAX,
            bytes: flow.bytes,
            source,
            destination,
            entropy: hashes.map(|hashes| hashing.entropy(&hashes)),
            connection: ConnectionId::NONE,
            class: flow.class,
            operation: flow.operation,
            failure: None,
            pins,
            vxlan: flow.vxlan,
            guest: guest::mark(fabric, flow.workload),
            bound: Span::ZERO,
            floor: Span::ZERO,
            base_rtt: Span::ZERO,
            counters: FlowCounters::default(),
        };
        set_bounds(fabric, (routes, hashing), flow, &mut state, ways_change);
        states.push(state);
    }
    // One base round trip for all, as HPCC and its kin assume: that of the longest path in use.
    let longest = states.iter().map(|flow| flow.base_rtt).max().unwrap_or(Span::ZERO);
    states.iter_mut().for_each(|flow| flow.base_rtt = longest);
    Ok(states.into())
}

/// Works out how fast a flow could be on the idle fabric.
fn set_bounds(
    fabric: &Fabric,
    ways: (&Routes, &Hashing),
    flow: &Flow,
    state: &mut FlowState,
    ways_change: bool,
) {
    let guest = fabric.guest_of(flow.workload).map(|guest| &fabric.guests[guest].qp);
    let own = guest.unwrap_or(&fabric.nics[flow.source.index()].qp);
    let tunnelled;
    let qp = if flow.vxlan {
        tunnelled = packet::in_vxlan(own);
        &tunnelled
    } else {
        own
    };
    // A flow that cannot arrive is not an error: the run shows what becomes of it.
    if let Some(ideal) = ideal::ideal(fabric, ways, state, qp) {
        state.bound = ideal.bound;
        state.floor = ideal.bound;
        state.base_rtt = ideal.base_rtt;
    }
    if ways_change && state.pins.is_none() {
        state.floor = state.floor.min(ideal::floor(fabric, state, qp));
    }
}

/// The ports along a pinned path.
fn pins(fabric: &Fabric, flow: &Flow, path: &xoff_workload::Pinned) -> Result<Box<Pins>, SimError> {
    let (source, destination) = (NodeId(flow.source.0), NodeId(flow.destination.0));
    let reversed: Vec<SwitchId>;
    let back = if path.ack.is_empty() {
        reversed = path.data.iter().rev().copied().collect();
        &reversed
    } else {
        &path.ack
    };
    let (first, forth) = ports_along(fabric, source, &path.data, destination)?;
    let (last, back) = ports_along(fabric, destination, back, source)?;
    Ok(Box::new(Pins { forth, back, first: [first, last] }))
}

/// The port by which a node sends, and those of the switches after it.
fn ports_along(
    fabric: &Fabric,
    from: NodeId,
    switches: &[SwitchId],
    to: NodeId,
) -> Result<(PortId, Vec<PortId>), SimError> {
    let nodes: Vec<NodeId> = switches.iter().map(|&s| fabric.switch_node(s)).collect();
    let mut ports = Vec::with_capacity(nodes.len());
    let first = nodes.first().copied().unwrap_or(to);
    let own = port_between(fabric, from, first)?;
    for (at, &node) in nodes.iter().enumerate() {
        let next = nodes.get(at + 1).copied().unwrap_or(to);
        ports.push(port_between(fabric, node, next)?);
    }
    Ok((own, ports))
}

/// The first port of `from` that leads to `to`.
fn port_between(fabric: &Fabric, from: NodeId, to: NodeId) -> Result<PortId, SimError> {
    let ports = match fabric.node_switch(from) {
        Some(switch) => fabric.switches[switch.index()].ports.clone(),
        None => fabric.nics[from.index()].ports.clone(),
    };
    let leads = |&port: &PortId| {
        let peer = fabric.ports[port.index()].peer;
        fabric.ports[peer.index()].node == to
    };
    ports.map(PortId).find(leads).ok_or_else(|| SimError::NoLink {
        from: fabric.node_name(from).to_string(),
        to: fabric.node_name(to).to_string(),
    })
}
