//! Ports and the cables between them.

use super::{CLASSES, CableId, NodeId, PortClass, PortId};
use xoff_units::{Length, Rate, Ratio, Span};

/// One end of a cable.
#[derive(Debug, Clone)]
pub struct Port {
    /// The NIC or switch it belongs to.
    pub node: NodeId,
    /// The port at the other end.
    pub peer: PortId,
    /// The cable.
    pub cable: CableId,
    /// Time this port takes to stop after a pause frame arrived, measured at the wire.
    pub pause_response: Span,
    /// What its device calls it, where the fabric file says so. No other port of the switch or server has that name.
    pub label: Option<Box<str>>,
    /// What holds for each class (switch ports; NIC ports use scheduling only).
    pub classes: [PortClass; CLASSES],
}

impl Port {
    /// Classes that PFC (or credits) protects here, a bit for each.
    pub fn protected(&self) -> u8 {
        let bits = self.classes.iter().zip(0..).map(|(class, bit)| u8::from(class.lossless) << bit);
        bits.fold(0, |all, bit| all | bit)
    }
}

/// A cable with its optics.
#[derive(Debug, Clone)]
pub struct Cable {
    /// Rate in each direction.
    pub rate: Rate,
    /// Length.
    pub length: Length,
    /// One-way delay: propagation and FEC.
    pub delay: Span,
    /// Catalogue entry of the optics or copper.
    pub media: String,
    /// Bits in error after FEC; each costs a packet.
    pub bit_error_rate: Ratio,
    /// Share of packets lost besides.
    pub loss: Ratio,
}
