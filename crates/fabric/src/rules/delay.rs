//! How long a packet can be on its way: propagation, and every buffer on the path full.

use crate::model::{Fabric, NicId, PortId};
use crate::route::{self, Routes};
use xoff_units::{Bytes, Rate, Span};

/// The longest of the shortest paths from the first NIC, and what full buffers do to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LongestDelay {
    /// There and back in an idle fabric.
    pub propagation: Span,
    /// By switch on the way: its name, its packet memory and the rate at which that drains.
    pub buffers: Vec<(String, Bytes, Rate)>,
}

impl LongestDelay {
    /// What full buffers delay a packet, propagation included.
    pub(crate) fn total(&self) -> Span {
        let drain = |(_, buffer, rate): &(String, Bytes, Rate)| rate.time_for(*buffer);
        self.buffers.iter().map(drain).fold(self.propagation, |sum, span| sum + span)
    }
}

/// The longest delay that a packet of the first NIC can meet on a shortest path; `None` if it reaches no
/// other NIC.
pub(crate) fn longest(fabric: &Fabric) -> Option<LongestDelay> {
    if fabric.nics.len() < 2 {
        return None;
    }
    let from = NicId(0);
    let distance = route::distances(fabric, from);
    let others = (1..fabric.nics.len() as u32).map(NicId);
    let farthest =
        others.filter(|&nic| distance(nic).is_some()).max_by_key(|&nic| distance(nic))?;
    let path = Routes::towards(fabric, &[farthest]).shortest_path(fabric, from, farthest)?;
    let buffer = |port: &PortId| {
        let switch = fabric.node_switch(fabric.ports[port.index()].node)?;
        let switch = &fabric.switches[switch.index()];
        Some((switch.name.clone(), switch.buffer, fabric.cable(*port).rate))
    };
    let propagation: Span =
        path.iter().map(|port| fabric.cable(*port).delay).fold(Span::ZERO, |sum, d| sum + d);
    Some(LongestDelay {
        propagation: propagation * 2,
        buffers: path.iter().filter_map(buffer).collect(),
    })
}
