//! From a fabric and its traffic to an engine ready to run.

use crate::balance::state::{Balancer, Reports, Use};
use crate::connection::state::{FlowState, Pins};
use crate::convergence::state::Convergence;
use crate::credit::state as credit;
use crate::deadlock::state::Search;
use crate::engine::{self, ClassCount, Engine, STRETCH, SwitchState, Totals};
use crate::engineer::{self, Engineered};
use crate::event::{EventQueue, Key, Kind, MAX_ID};
use crate::host::guest::{self, GuestState};
use crate::host::pcie;
use crate::host::recycle::Rule;
use crate::id::{ConnectionId, FlowId, HashSeed, PacketId, PlaneId, Table};
use crate::ideal::{self, flight, leads_to_cut_through};
use crate::job::state::{Job, Jobs};
use crate::link::state::{Link, cable_ends};
use crate::nic::state::NicState;
use crate::pause::state::PauseState;
use crate::plane::state::Planes;
use crate::receiver::state::Receiver;
use crate::report::{FlowCounters, Observer};
use crate::switch::buffer::{Profile, Shared};
use crate::switch::hashing::Hashing;
use crate::switch::header::Headers;
use crate::switch::packet::Packets;
use crate::switch::port::{HEAD_BYTES, Lane, Port, port_flag};
use crate::switch::routing::Routing;
use crate::switch::scheduler::Scheduler;
use crate::switch::trail::Trails;
use crate::voq::state as voq;
use crate::{QueueKind, Settings, SimError};
use std::collections::BTreeMap;
use std::sync::Arc;
use xoff_fabric::model::{
    Balancing, CLASSES, Discipline, Fabric, NicId, NodeId, PortId, Scheduling, Switch, SwitchId,
};
use xoff_fabric::route::{Routes, Views};
use xoff_fabric::rules::{hash, packet};
use xoff_fabric::scenario::{Fault, Operation};
use xoff_units::{ByteTime, Instant, Span};
use xoff_workload::Flow;
use xoff_workload::stream::Stream;

/// Packets that a busy NIC has under way, with their answers: room that growing by doubling would
/// have to copy.
const PACKETS_PER_NIC: usize = 128;

/// Builds an engine around an event queue.
pub(crate) fn engine<'a, Q: EventQueue>(
    fabric: &'a Fabric,
    (flows, jobs): (&[Flow], Vec<Job>),
    faults: &[Fault],
    settings: &Settings,
    events: Q,
    observer: &'a mut dyn Observer,
) -> Result<Engine<'a, Q>, SimError> {
    if (fabric.ports.len() * 8 + fabric.nics.len()) as u64 > u64::from(MAX_ID)
        || flows.len() as u64 > u64::from(MAX_ID / 2)
    {
        return Err(SimError::TooLarge);
    }
    let routes = Routes::new(fabric);
    let ways_change = faults.iter().any(Fault::changes_routes);
    let mut profiles = Vec::new();
    let slots = profile_of_each_slot(fabric, &mut profiles);
    let mut hashing = Hashing::of(fabric);
    let engineered = engineer::engineered(fabric, &routes, &hashing, flows, &jobs);
    let first_qp = first_queue_pair(settings.seed);
    let ways = (&routes, &mut hashing);
    let flows = flow_states(fabric, ways, flows, &engineered, first_qp, ways_change)?;
    let unfinished = flows.len() + jobs.len();
    let jobs = Jobs::new(fabric, &routes, &mut hashing, jobs, engineered.jobs, first_qp);
    let mut order: Vec<FlowId> = flows.ids().collect();
    order.sort_by_key(|&flow| flows[flow].start);
    let port_count = fabric.ports.len();
    let stream = |purpose: &'static str| {
        (0..port_count as u64).map(|port| Stream::new(settings.seed, port, purpose)).collect()
    };
    let gap = fabric.nics.first().map_or(0, |nic| nic.qp.framing.gap.get() as u32);
    let planes = Planes::of(fabric);
    let mut nics = nic_states(fabric);
    let balancers = balancers(fabric, settings.seed);
    let uses = if balancers.is_empty() { 0 } else { port_count };
    let collects = nics.iter().any(|nic| nic.collects);
    let expected = (nics.len() * PACKETS_PER_NIC).min(1 << 20);
    let rule = |switch: &Switch| match switch.balancing {
        Balancing::Recycled => Some(Rule::Recycle),
        Balancing::Paths => Some(Rule::Paths),
        _ => None,
    };
    let recycling = fabric.switches.iter().find_map(rule).map(|rule| (rule, settings.seed));
    nics.iter_mut().for_each(|nic| {
        nic.returns |= recycling.is_some();
        nic.hosts_guests = !fabric.guests.is_empty();
    });
    let constant = |switch: &Switch| switch.balancing.keeps_paths();
    let one_way = faults.is_empty() && fabric.switches.iter().all(constant);
    let shortcuts = settings.queue == QueueKind::Wheel;
    let routed = !ways_change && flows.iter().all(|flow| flow.pins.is_none());
    let start = Instant::ZERO;
    Ok(Engine {
        fabric,
        now: start,
        events,
        headers: Headers::new(expected, settings.check_wire, collects, recycling.is_some()),
        packets: Packets::new(expected),
        ports: (0..port_count as u32)
            .map(|port| port_state(fabric, &planes, &slots, &profiles, gap, PortId(port)))
            .collect(),
        switches: switch_states(fabric, &slots, &profiles)?,
        profiles,
        schedulers: schedulers(fabric),
        turns: if Q::BY_TURN { vec![0; port_count].into() } else { Table::new() },
        nics,
        planes,
        routing: Routing::new(fabric, Views::common(routes, fabric.switches.len())),
        hashing,
        trails: Trails::new(one_way && shortcuts),
        balancers,
        recycling,
        places: places(fabric),
        uses: vec![Use::default(); uses].into(),
        guests: GuestState::all(fabric),
        reports: Reports::new(fabric),
        flows,
        order,
        next_flow: 0,
        unfinished,
        jobs,
        connections: Table::new(),
        free_connections: Vec::new(),
        pauses: vec![PauseState::NONE; port_count * CLASSES].into(),
        pause_flight: (0..port_count as u32)
            .map(|port| pause_flight(fabric, PortId(port)))
            .collect(),
        paused: Vec::new(),
        credits: credit::initial(fabric),
        voqs: voq::initial(fabric),
        deadlock_pending: false,
        search: Search::new(!shortcuts, routed),
        deadlocks: Vec::new(),
        mark_streams: stream("ecn"),
        loss_streams: stream("loss"),
        notified: BTreeMap::new(),
        counts: vec![ClassCount::default(); port_count * CLASSES].into(),
        totals: Totals::default(),
        links: (0..port_count as u32).map(|port| Link::new(fabric.cable(PortId(port)))).collect(),
        cable_ends: if faults.is_empty() { Vec::new() } else { cable_ends(fabric) },
        degraded: Vec::new(),
        settings: Vec::new(),
        convergence: Convergence::default(),
        faults: crate::fault::plan(fabric, faults, settings.seed)
            .map_err(|error| SimError::Name(error.message))?,
        faults_left: 0,
        observer,
        gap,
        // A frame without length would make two pauses of one port indistinguishable in time.
        pause_bytes: fabric.pause.frame.get().max(1) as u32,
        quanta: fabric.pause.quanta,
        sample_period: settings.sample_period,
        stop: None,
        handled: 0,
        stretch: STRETCH,
        countdown: STRETCH,
        looks: 0,
        seen_hops: 0,
        seen_delivered: 0,
        patience: engine::patience(fabric),
        horizon: settings.until.unwrap_or(Instant::MAX),
        soon: PacketId::NONE,
        sender: PlaneId::NONE,
    })
}

/// Events per microsecond and how far ahead they lie, for the wheel.
pub(crate) fn event_density(fabric: &Fabric) -> (u64, Span) {
    let mtu = fabric.nics.first().map_or(4096, |nic| nic.qp.mtu.get() + 64);
    let mut per_us = 0u64;
    let mut horizon = Span::ZERO;
    for port in 0..fabric.ports.len() as u32 {
        let rate = fabric.cable(PortId(port)).rate;
        let packet = rate.time_for(xoff_units::Bytes::new(mtu));
        // A port is busy with data some of the time, and with as many small answers.
        per_us += 500_000 / packet.as_ps().max(1) + 1;
        horizon = horizon.max(packet + packet + flight(fabric, PortId(port)));
    }
    (per_us, horizon.min(Span::from_us(20)))
}

fn profile_of_each_slot(fabric: &Fabric, profiles: &mut Vec<Profile>) -> Vec<u32> {
    let mut slots = Vec::with_capacity(fabric.ports.len() * CLASSES);
    for port in &fabric.ports {
        for (class, rules) in port.classes.iter().enumerate() {
            let protected = fabric.pause.enabled || fabric.credits;
            let lossless = fabric.classes[class].lossless && protected;
            let profile = Profile::new(rules, lossless);
            let known = profiles.iter().rposition(|other| *other == profile);
            slots.push(known.unwrap_or(profiles.len()) as u32);
            if known.is_none() {
                profiles.push(profile);
            }
        }
    }
    slots
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
    let cable = fabric.cable(id);
    let mut flags = 0;
    if fabric.node_switch(port.node).is_none() {
        flags |= port_flag::NIC;
    }
    if !cable.bit_error_rate.is_zero() || !cable.loss.is_zero() {
        flags |= port_flag::LOSSY;
    }
    let cut_through = leads_to_cut_through(fabric, id);
    if credit::governs(fabric, id) {
        flags |= port_flag::CREDITS;
    }
    if voq::governs(fabric, id) {
        flags |= port_flag::VOQ;
    }
    if pcie::is_slow(fabric, id) {
        flags |= port_flag::SLOW_HOST;
    }
    // A switch with credits always owes word of what leaves its buffer: see `credit`.
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
        byte_time: ByteTime::of(cable.rate),
        calm: 0,
        enough: if cut_through { HEAD_BYTES + gap } else { u32::MAX },
        arrival: Key::new(if to_nic { Kind::Deliver } else { Kind::Arrive }, port.peer.0),
        owner: match fabric.node_switch(port.node) {
            Some(switch) => switch.0,
            None => {
                let first = fabric.nics[port.node.index()].ports.start;
                planes.plane(NicId(port.node.0), (id.0 - first) as usize).0
            }
        },
        waiting: 0,
        paused: 0,
        xoff: owes,
        told: owes,
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

/// Where each NIC hangs on its leaf, counted from 0 among the NICs of that leaf; nothing if no switch
/// asks.
fn places(fabric: &Fabric) -> Table<NicId, u32> {
    if fabric.switches.iter().all(|switch| switch.balancing != Balancing::Pinned) {
        return Table::new();
    }
    let mut places = vec![0; fabric.nics.len()];
    let peer = |port: u32| fabric.ports[fabric.ports[port as usize].peer.index()].node;
    for switch in &fabric.switches {
        let nodes = switch.ports.clone().map(peer);
        let nics = nodes.filter(|node| fabric.node_switch(*node).is_none());
        nics.zip(0..).for_each(|(node, place)| places[node.index()] = place);
    }
    places.into()
}

/// What switches balance with; nothing at all if none does.
fn balancers(fabric: &Fabric, seed: u64) -> Table<SwitchId, Option<Balancer>> {
    if fabric.switches.iter().all(|switch| switch.balancing.hashes()) {
        return Table::new();
    }
    let balancer = |(index, switch): (u64, &Switch)| {
        Balancer::new(switch.balancing, Stream::new(seed, index, "balance"))
    };
    (0..).zip(&fabric.switches).map(balancer).collect()
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
            classes: switch.dscp_to_class.map(|class| class.0 & 7),
            hash_seed: HashSeed(hash::mixed(switch.hash.seed)),
            cell: switch.cell.get().min(4096) as u16,
            cut_through: switch.cut_through,
            trimming: switch.trimming,
        })
    };
    fabric.switches.iter().enumerate().map(state).collect()
}

fn nic_states(fabric: &Fabric) -> Table<PlaneId, NicState> {
    let mut configs: Vec<[Arc<xoff_transport::config::QpConfig>; 2]> = Vec::new();
    let state = |nic: &xoff_fabric::model::Nic, port: PortId| {
        let known = configs.iter().find(|[config, _]| **config == nic.qp).cloned();
        let [qp, in_vxlan] = known.unwrap_or_else(|| {
            configs.push([nic.qp.clone(), packet::in_vxlan(&nic.qp)].map(Arc::new));
            configs[configs.len() - 1].clone()
        });
        let rate = fabric.cable(port).rate;
        let mut state = NicState::new(port, rate, qp, in_vxlan);
        state.flow_rate = nic.cpu.map_or(rate, |cpu| cpu.flow_rate().min(rate));
        let receiver = |limit| Box::new(Receiver::new(limit, Instant::ZERO));
        state.receiver = nic.receive.map(receiver);
        state.fetch = pcie::fetch_time(nic, rate);
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
            class: flow.class.0,
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
        let guest = fabric.guest_of(flow.workload).map(|guest| &fabric.guests[guest].qp);
        let own = guest.unwrap_or(&fabric.nics[source.index()].qp);
        let tunnelled;
        let qp = if flow.vxlan {
            tunnelled = packet::in_vxlan(own);
            &tunnelled
        } else {
            own
        };
        // A flow that cannot arrive is not an error: the run shows what becomes of it.
        if let Some(ideal) = ideal::ideal(fabric, (routes, hashing), &state, qp) {
            state.bound = ideal.bound;
            state.floor = ideal.bound;
            state.base_rtt = ideal.base_rtt;
        }
        if ways_change && state.pins.is_none() {
            state.floor = state.floor.min(ideal::floor(fabric, &state, qp));
        }
        states.push(state);
    }
    // One base round trip for all, as HPCC and its kin assume: that of the longest path in use.
    let longest = states.iter().map(|flow| flow.base_rtt).max().unwrap_or(Span::ZERO);
    states.iter_mut().for_each(|flow| flow.base_rtt = longest);
    Ok(states.into())
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
