//! Headroom: buffer for what still arrives after a pause frame was sent.
//!
//! Two figures are computed and the larger one is used. `shipped` is the sizing that switch
//! vendors ship: it assumes the worst for cells and port MTU and knows nothing of FEC. [`needed`] is
//! the exact worst case of the switch model, which the shipped figure misses when a delay is given
//! instead of a length, when optics are slow or when the peer answers later than the standard says.

use super::{packet, pause};
use crate::model::{Model, PortId, SiliconPart};
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

/// Everything headroom depends on: one lossless class at one switch port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation {
    /// Rate of the link.
    pub rate: Rate,
    /// Length of the cable; zero when only a delay is known.
    pub length: Length,
    /// One-way delay of the cable, FEC included.
    pub delay: Span,
    /// Largest frame the port accepts in any class.
    pub port_mtu: Bytes,
    /// Largest packet really sent, without the gap.
    pub largest: Bytes,
    /// Smallest packet really sent, without the gap.
    pub smallest: Bytes,
    /// Preamble and gap around every packet.
    pub gap: Bytes,
    /// A pause frame on the wire.
    pub pause_frame: Bytes,
    /// Time the peer takes to stop.
    pub response: Span,
    /// Time from the peer's scheduler to its wire: what left the scheduler is sent.
    pub peer_latency: Span,
    /// Unit of packet memory; zero counts bytes.
    pub cell: Bytes,
    /// The silicon's own part.
    pub silicon: SiliconPart,
}

impl Situation {
    /// The situation at a switch port of a fabric; `None` at a NIC.
    pub fn at(fabric: &Model, port: PortId) -> Option<Self> {
        let this = &fabric.ports[port.index()];
        let switch = &fabric.switches[fabric.node_switch(this.node)?.index()];
        let peer = &fabric.ports[this.peer.index()];
        let peer_latency = match fabric.node_switch(peer.node) {
            Some(other) => fabric.switches[other.index()].latency,
            None => fabric.nics[peer.node.index()].latency,
        };
        let cable = fabric.cable(port);
        let qp = &fabric.nics.first()?.qp;
        Some(Self {
            rate: cable.rate,
            length: cable.length,
            delay: cable.delay,
            port_mtu: switch.mtu,
            largest: packet::largest(qp),
            smallest: packet::smallest(qp),
            gap: qp.framing.gap,
            pause_frame: fabric.pause.frame,
            response: peer.pause_response,
            peer_latency,
            cell: switch.cell,
            silicon: switch.silicon_headroom,
        })
    }
}

/// Signal speed that vendors' sizing assumes, in m/s.
const VENDOR_SIGNAL_SPEED: u128 = 198_000_000;
/// Counting in thousandths of a byte keeps the vendors' fractions.
const MILLI: u128 = 1_000;

/// The headroom to configure.
pub fn headroom(s: &Situation) -> Bytes {
    let exact = needed(s);
    // Without a step the vendors' roundings have no meaning, but their margin does.
    let chosen = shipped(s).max(exact).round_up_to(s.silicon.step);
    assert!(chosen >= exact, "headroom of {chosen} where {exact} can arrive after a pause");
    chosen
}

/// `lossless MTU + cell occupancy x (port MTU + cable there and back + silicon + response)`.
pub(crate) fn shipped(s: &Situation) -> Bytes {
    let rate = u128::from(s.rate.bps());
    let cable = if s.length == Length::default() {
        bytes_in(s.rate, s.delay).saturating_mul(2 * MILLI)
    } else {
        // mm x bit/s / (8 x m/s): thousandths of a byte fall out of the millimetres.
        (2 * u128::from(s.length.as_mm())).saturating_mul(rate) / (8 * VENDOR_SIGNAL_SPEED)
    };
    let quanta = pause::QUANTUM.get() * u64::from(pause::response_quanta(s.rate));
    let inside = bytes_in(s.rate, s.silicon.pipeline);
    let wire = u128::from(s.port_mtu.get()) + inside + u128::from(quanta);
    let wire = wire.saturating_mul(MILLI).saturating_add(cable);
    let wire = wire.saturating_add(u128::from(s.silicon.mac_phy.get()) * MILLI);
    let total = wire.saturating_mul(cell_occupancy(s.cell)) / MILLI;
    to_bytes(total.saturating_add(u128::from(s.largest.get()) + 1)).round_up_to(s.silicon.step)
}

/// The most cells a byte can cost, as vendors count it: all packets as small as Ethernet allows.
fn cell_occupancy(cell: Bytes) -> u128 {
    let cell = u128::from(cell.get());
    match cell {
        0 => 1,
        1..=128 => (2 * cell).div_ceil(1 + cell),
        _ => cell.div_ceil(64),
    }
}

/// The worst case of the switch model, in buffer.
///
/// After the packet that crosses the threshold, the pause frame waits for a full packet, is sent,
/// travels, and takes effect after the peer's response; a last full packet has just begun by then.
/// What fits into that time on the wire arrives, in packets of the size that wastes most memory.
pub fn needed(s: &Situation) -> Bytes {
    let full = s.largest + s.gap;
    let response = s.response.max(s.peer_latency);
    let silent = s.delay * 2 + response;
    let wire = bytes_in(s.rate, silent) + 1;
    let wire = wire + u128::from((full + s.pause_frame + full).get());
    let inflation = worst_inflation(s);
    let (n, d) = (u128::from(inflation.numerator()), u128::from(inflation.denominator()));
    let crossing = s.largest.round_up_to(s.cell) + s.cell;
    to_bytes(wire.saturating_mul(n).div_ceil(d.max(1)).saturating_add(crossing.get().into()))
}

/// Most buffer that one byte on the wire can take, at least one.
fn worst_inflation(s: &Situation) -> Ratio {
    let cell = s.cell.get();
    if cell == 0 {
        return Ratio::ONE;
    }
    let cost = |size: u64| {
        let buffer = Bytes::new(size).round_up_to(s.cell).get();
        Ratio::new(buffer, size.saturating_add(s.gap.get()).max(1))
    };
    let smallest = s.smallest.get().max(1);
    // Just past a cell boundary the next cell is almost empty; later boundaries waste less.
    let past_boundary = smallest.div_ceil(cell).saturating_mul(cell).saturating_add(1);
    cost(smallest).max(cost(past_boundary)).max(Ratio::ONE)
}

fn bytes_in(rate: Rate, span: Span) -> u128 {
    u128::from(rate.bytes_in(span).get())
}

fn to_bytes(value: u128) -> Bytes {
    Bytes::new(u64::try_from(value).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
