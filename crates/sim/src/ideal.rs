//! What a flow could do at best: its path, the round trip of the idle fabric, and the time below
//! which no completion can lie.

use crate::connection::state::FlowState;
use crate::id::FlowHash;
use crate::plane::state as plane;
use crate::switch::hashing::{Hashes, Hashing};
use crate::switch::port::HEAD_BYTES;
use xoff_fabric::model::{Fabric, NicId, NodeId, PortId, SwitchId};
use xoff_fabric::route::Routes;
use xoff_fabric::rules::hash;
use xoff_fabric::scenario::Operation;
use xoff_transport::config::QpConfig;
use xoff_units::{ByteTime, Span};

/// One link of a path, in the direction of the packet.
#[derive(Debug, Clone, Copy)]
struct Hop {
    byte_time: ByteTime,
    /// From the end of a transmission to its arrival, and what a packet takes to the port before.
    flight: Span,
    /// The receiving switch forwards before a packet has arrived whole.
    cut_through: bool,
}

/// From a port's scheduler to the far end: pipeline and cable.
pub(crate) fn flight(fabric: &Fabric, port: PortId) -> Span {
    let node = fabric.ports[port.index()].node;
    let pipeline = match fabric.node_switch(node) {
        Some(switch) => fabric.switches[switch.index()].latency,
        None => fabric.nics[node.index()].latency,
    };
    pipeline + fabric.cable(port).delay
}

/// Whether the node a port leads to cuts through.
pub(crate) fn leads_to_cut_through(fabric: &Fabric, port: PortId) -> bool {
    let peer = fabric.ports[port.index()].peer;
    let node = fabric.ports[peer.index()].node;
    fabric.node_switch(node).is_some_and(|switch| fabric.switches[switch.index()].cut_through)
}

/// The ports a packet leaves by, from its NIC on. Empty if it does not arrive.
fn path(fabric: &Fabric, ways: Ways<'_>, flow: &FlowState, back: bool) -> Vec<PortId> {
    let (routes, hashing) = ways;
    let (from, to) =
        if back { (flow.destination, flow.source) } else { (flow.source, flow.destination) };
    let entropy = flow.entropy[usize::from(back)];
    let pinned = flow.pins.as_deref().map(|pins| if back { &pins.back } else { &pins.forth });
    let own = &fabric.nics[from.index()].ports;
    let first = match &flow.pins {
        Some(pins) => pins.first[usize::from(back)],
        None => {
            let preferred = plane::preferred(own.len(), hashing.at_nic(entropy));
            PortId(own.start + preferred as u32)
        }
    };
    walk(fabric, first, to, |hop, switch| match pinned {
        Some(pins) => pins.get(hop).copied(),
        None => choose(fabric, routes, switch, to, hashing.at(switch, entropy)),
    })
}

/// The ports that packets with these hashes leave by where every switch hashes, from their NIC on. Empty if
/// they do not arrive.
pub(crate) fn hashed_path(
    fabric: &Fabric,
    (routes, hashing): Ways<'_>,
    (from, to): (NicId, NicId),
    hashes: &Hashes,
) -> Vec<PortId> {
    let own = &fabric.nics[from.index()].ports;
    let preferred = plane::preferred(own.len(), Hashing::of_nic(hashes));
    walk(fabric, PortId(own.start + preferred as u32), to, |_, switch| {
        choose(fabric, routes, switch, to, hashing.at_switch(switch, hashes))
    })
}

/// What decides by which port a packet leaves a switch.
pub(crate) type Ways<'a> = (&'a Routes, &'a Hashing);

/// Follows the ports that `next` says from `first` on to a NIC; empty if they do not lead there.
fn walk(
    fabric: &Fabric,
    first: PortId,
    to: NicId,
    next: impl Fn(usize, SwitchId) -> Option<PortId>,
) -> Vec<PortId> {
    let mut ports = vec![first];
    for hop in 0..usize::from(crate::switch::packet::MAX_HOPS) {
        let peer = fabric.ports[ports[hop].index()].peer;
        let node = fabric.ports[peer.index()].node;
        if node == NodeId(to.0) {
            return ports;
        }
        let Some(switch) = fabric.node_switch(node) else { return Vec::new() };
        match next(hop, switch) {
            Some(port) => ports.push(port),
            None => return Vec::new(),
        }
    }
    Vec::new()
}

fn choose(
    fabric: &Fabric,
    routes: &Routes,
    switch: SwitchId,
    to: NicId,
    flow: FlowHash,
) -> Option<PortId> {
    let choices = routes.candidates(switch, to);
    let seed = fabric.switches[switch.index()].hash.seed;
    choices.get(hash::pick(flow.0, seed, choices.len())).copied()
}

impl Hop {
    fn of(fabric: &Fabric, port: PortId) -> Self {
        let switch = fabric.node_switch(fabric.ports[port.index()].node);
        let transit = switch.map_or(Span::ZERO, |id| fabric.switches[id.index()].transit());
        Self {
            byte_time: ByteTime::of(fabric.cable(port).rate),
            flight: flight(fabric, port) + transit,
            cut_through: leads_to_cut_through(fabric, port),
        }
    }

    /// At least as fast as both.
    fn faster(self, other: Self) -> Self {
        Self {
            byte_time: self.byte_time.min(other.byte_time),
            flight: self.flight.min(other.flight),
            cut_through: self.cut_through | other.cut_through,
        }
    }
}

/// The links from NIC to NIC.
struct Path {
    hops: Vec<Hop>,
    /// Packets may take different ways: each hop is at least as fast as any that could be its.
    spreads: bool,
}

impl Path {
    /// The way of a flow's packets; nothing if they do not arrive.
    fn of(fabric: &Fabric, ways: Ways<'_>, flow: &FlowState, back: bool) -> Option<Self> {
        let ports = path(fabric, ways, flow, back);
        let (first, last) = (*ports.first()?, *ports.last()?);
        let hashes = |port: &PortId| match fabric.node_switch(fabric.ports[port.index()].node) {
            Some(switch) => fabric.switches[switch.index()].balancing.keeps_paths(),
            None => true,
        };
        // The first switch that chooses for itself is on every path there is, up to its choice.
        if ports.iter().all(hashes) || flow.pins.is_some() {
            let hops = ports.iter().map(|&port| Hop::of(fabric, port)).collect();
            return Some(Self { hops, spreads: false });
        }
        let to = if back { flow.source } else { flow.destination };
        let mut hops = vec![Hop::of(fabric, first)];
        if fabric.static_routes.iter().any(|route| route.to == to) {
            // Ways may differ in length: what lies between the ends does not count.
            hops.push(Hop::of(fabric, last));
            return Some(Self { hops, spreads: true });
        }
        let mut reached = vec![first];
        // All ways are equally long, so what the packets have reached after a hop is one layer.
        while hops.len() < ports.len() {
            reached = onward_ports(fabric, ways.0, &reached, to);
            let layer = reached.iter().map(|&port| Hop::of(fabric, port));
            hops.push(layer.reduce(Hop::faster)?);
        }
        Some(Self { hops, spreads: true })
    }
}

/// The ports by which packets that left by `reached` may go on.
fn onward_ports(fabric: &Fabric, routes: &Routes, reached: &[PortId], to: NicId) -> Vec<PortId> {
    let next = |port: &PortId| fabric.ports[fabric.ports[port.index()].peer.index()].node;
    let switches = reached.iter().filter_map(|port| fabric.node_switch(next(port)));
    let mut ports: Vec<PortId> =
        switches.flat_map(|switch| routes.candidates(switch, to)).copied().collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// The shortest time in which a train of `full` packets of `size` bytes and one of `last` bytes can
/// cross the path: for each link, the time until the first packet reaches it, all packets on it, and
/// the last packet's way from there. The largest of these is what no train can beat.
///
/// Where packets of one flow take several paths, the links between the first and the last may share
/// them, and only the time of a single packet counts there.
fn train(path: &Path, full: u64, size: u32, last: u32, gap: u32) -> Span {
    let hops = &path.hops;
    // A short packet may overtake a long one on another path.
    let first = match full {
        0 => last,
        _ if path.spreads => size.min(last),
        _ => size,
    };
    let mut best = Span::ZERO;
    let mut reach = Span::ZERO;
    for (at, hop) in hops.iter().enumerate() {
        let all = Span::from_ps(hop.byte_time.times(size + gap).as_ps().saturating_mul(full))
            + hop.byte_time.times(last + gap);
        let mut end = reach + all + hop.flight;
        for pair in hops[at..].windows(2) {
            end += onward(&pair[0], &pair[1], last, gap);
        }
        if !path.spreads || at == 0 || at + 1 == hops.len() {
            best = best.max(end);
        }
        let seen = if hop.cut_through { HEAD_BYTES.min(first) } else { first };
        reach += hop.byte_time.times(seen + gap) + hop.flight;
    }
    best
}

/// From a packet's arrival at the end of one link to its arrival at the end of the next.
fn onward(hop: &Hop, next: &Hop, size: u32, gap: u32) -> Span {
    let on_next = next.byte_time.times(size + gap);
    if !hop.cut_through {
        return on_next + next.flight;
    }
    // The head left early; the rest follows at the slower of the two rates.
    let early = hop.byte_time.times(size + gap) - hop.byte_time.times(HEAD_BYTES.min(size) + gap);
    next.flight + on_next.saturating_sub(early)
}

/// What a flow could do at best.
pub(crate) struct Ideal {
    /// No completion lies below this.
    pub(crate) bound: Span,
    /// Round trip of the idle fabric: both ways' flight, and a full payload on every link.
    pub(crate) base_rtt: Span,
}

/// Works out a flow's [`Ideal`]; `None` if it cannot arrive.
pub(crate) fn ideal(
    fabric: &Fabric,
    ways: Ways<'_>,
    flow: &FlowState,
    qp: &QpConfig,
) -> Option<Ideal> {
    let forth = Path::of(fabric, ways, flow, false)?;
    let back = Path::of(fabric, ways, flow, true)?;
    let bound = bound(&forth, &back, flow, qp);
    let mtu = qp.mtu.get().max(1) as u32;
    let flights = forth.hops.iter().chain(&back.hops).fold(Span::ZERO, |sum, hop| sum + hop.flight);
    let payloads = forth.hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.byte_time.times(mtu));
    Some(Ideal { bound, base_rtt: flights + payloads })
}

/// The time below which no completion lies whatever way the packets take: nothing is known but the
/// first link and the last one.
pub(crate) fn floor(fabric: &Fabric, flow: &FlowState, qp: &QpConfig) -> Span {
    let way = |from, to| {
        let hops = vec![edge(fabric, from, false)?, edge(fabric, to, true)?];
        Some(Path { hops, spreads: true })
    };
    let (source, destination) = (flow.source, flow.destination);
    match (way(source, destination), way(destination, source)) {
        (Some(forth), Some(back)) => bound(&forth, &back, flow, qp),
        _ => Span::ZERO,
    }
}

/// The best of a NIC's links, out of it or into it.
fn edge(fabric: &Fabric, nic: NicId, into: bool) -> Option<Hop> {
    let own = fabric.nics[nic.index()].ports.clone().map(PortId);
    let ports = own.map(|port| if into { fabric.ports[port.index()].peer } else { port });
    let hops = ports.map(|port| Hop { cut_through: true, ..Hop::of(fabric, port) });
    hops.reduce(Hop::faster)
}

/// The least time over given links.
fn bound(forth: &Path, back: &Path, flow: &FlowState, qp: &QpConfig) -> Span {
    let framing = &qp.framing;
    let gap = framing.gap.get() as u32;
    let (mtu, bytes) = (qp.mtu.get().max(1), flow.bytes.get());
    let packets = bytes.div_ceil(mtu).max(1);
    let rest = bytes - (packets - 1) * mtu;
    let header = framing.header.get();
    let size = (header + mtu) as u32;
    let last = if framing.pad_last { size } else { (header + rest) as u32 };
    let ack = if framing.ack.is_zero() { header.max(64) } else { framing.ack.get() } as u32;
    if flow.operation == Operation::Read {
        // A request one way, the data the other.
        train(forth, 0, 0, header as u32, gap) + train(back, packets - 1, size, last, gap)
    } else {
        train(forth, packets - 1, size, last, gap) + train(back, 0, 0, ack, gap)
    }
}
