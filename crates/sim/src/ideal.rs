//! What a flow could do at best: its path, the round trip of the idle fabric, and the time below
//! which no completion can lie.

use crate::connection::FlowState;
use crate::port::HEAD_BYTES;
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
    /// From the end of a transmission to its arrival.
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
fn path(fabric: &Fabric, routes: &Routes, flow: &FlowState, back: bool) -> Vec<PortId> {
    let (from, to) =
        if back { (flow.destination, flow.source) } else { (flow.source, flow.destination) };
    let entropy = flow.entropy[usize::from(back)];
    let pinned = flow.pins.as_deref().map(|pins| if back { &pins.back } else { &pins.forth });
    let mut ports = vec![PortId(fabric.nics[from as usize].ports.start)];
    for hop in 0..usize::from(crate::packet::MAX_HOPS) {
        let peer = fabric.ports[ports[hop].index()].peer;
        let node = fabric.ports[peer.index()].node;
        if node == NodeId(to) {
            return ports;
        }
        let Some(switch) = fabric.node_switch(node) else { return Vec::new() };
        let next = match pinned {
            Some(pins) => pins.get(hop).map(|&port| PortId(port)),
            None => choose(fabric, routes, switch, NicId(to), entropy),
        };
        match next {
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
    entropy: u32,
) -> Option<PortId> {
    let choices = routes.candidates(switch, to);
    let seed = fabric.switches[switch.index()].hash.seed;
    choices.get(hash::pick(entropy, seed, choices.len())).copied()
}

fn hops(fabric: &Fabric, ports: &[PortId]) -> Vec<Hop> {
    let hop = |&port: &PortId| Hop {
        byte_time: ByteTime::of(fabric.cable(port).rate),
        flight: flight(fabric, port),
        cut_through: leads_to_cut_through(fabric, port),
    };
    ports.iter().map(hop).collect()
}

/// The shortest time in which a train of `full` packets of `size` bytes and one of `last` bytes can
/// cross the path: for each link, the time until the first packet reaches it, all packets on it, and
/// the last packet's way from there. The largest of these is what no train can beat.
fn train(hops: &[Hop], full: u64, size: u32, last: u32, gap: u32) -> Span {
    let first = if full > 0 { size } else { last };
    let mut best = Span::ZERO;
    let mut reach = Span::ZERO;
    for (at, hop) in hops.iter().enumerate() {
        let all = Span::from_ps(hop.byte_time.times(size + gap).as_ps().saturating_mul(full))
            + hop.byte_time.times(last + gap);
        let mut end = reach + all + hop.flight;
        for pair in hops[at..].windows(2) {
            end += onward(&pair[0], &pair[1], last, gap);
        }
        best = best.max(end);
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
    routes: &Routes,
    flow: &FlowState,
    qp: &QpConfig,
) -> Option<Ideal> {
    let forth = hops(fabric, &path(fabric, routes, flow, false));
    let back = hops(fabric, &path(fabric, routes, flow, true));
    if forth.is_empty() || back.is_empty() {
        return None;
    }
    let framing = &qp.framing;
    let gap = framing.gap.get() as u32;
    let (mtu, bytes) = (qp.mtu.get().max(1), flow.bytes.get());
    let packets = bytes.div_ceil(mtu).max(1);
    let rest = bytes - (packets - 1) * mtu;
    let header = framing.header.get();
    let size = (header + mtu) as u32;
    let last = if framing.pad_last { size } else { (header + rest) as u32 };
    let ack = if framing.ack.is_zero() { header.max(64) } else { framing.ack.get() } as u32;
    let bound = if flow.operation == Operation::Read {
        // A request one way, the data the other.
        train(&forth, 0, 0, header as u32, gap) + train(&back, packets - 1, size, last, gap)
    } else {
        train(&forth, packets - 1, size, last, gap) + train(&back, 0, 0, ack, gap)
    };
    let flights = forth.iter().chain(&back).fold(Span::ZERO, |sum, hop| sum + hop.flight);
    let payloads = forth.iter().fold(Span::ZERO, |sum, hop| sum + hop.byte_time.times(mtu as u32));
    Some(Ideal { bound, base_rtt: flights + payloads })
}
