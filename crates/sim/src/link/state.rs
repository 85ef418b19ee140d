//! The link at a port, and what makes it worse for a while.

use crate::id::Table;
use std::ops::{Index, IndexMut};
use std::sync::Arc;
use xoff_fabric::model::{Cable, CableId, Fabric, PortId};
use xoff_fabric::scenario::Degraded;
use xoff_units::Rate;
use xoff_workload::stream::Stream;

/// The link at a port. Both its ends have the same.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// Faults that hold it down.
    pub(super) down: u32,
    /// Whether its carrier is up: also of a link that is down and only swallows packets.
    pub(crate) carrier: bool,
    /// Counts the times it went down or came up.
    pub(crate) epoch: u16,
    /// Classes whose pause frames are not obeyed here.
    pub(crate) deaf: u8,
    /// The rate at which it runs.
    pub(crate) rate: Rate,
    /// Probability of a bit error and of a loss, in 2^-64.
    pub(super) bit_errors: u64,
    pub(super) loss: u64,
}

impl Link {
    pub(crate) fn new(cable: &Cable) -> Self {
        Self {
            down: 0,
            carrier: true,
            epoch: 0,
            deaf: 0,
            rate: cable.rate,
            bit_errors: cable.bit_error_rate.as_threshold(),
            loss: cable.loss.as_threshold(),
        }
    }

    pub(crate) fn is_down(&self) -> bool {
        self.down > 0
    }

    /// Whether packets can get lost on it.
    pub(super) fn is_lossy(&self) -> bool {
        self.is_down() || self.bit_errors > 0 || self.loss > 0
    }
}

/// The links of a run by port, and the draws that decide what they lose.
#[derive(Clone)]
pub(crate) struct Links {
    links: Table<PortId, Link>,
    /// Classes that PFC protects somewhere.
    protected: u8,
    streams: Table<PortId, Stream>,
}

impl Links {
    /// Classes that PFC protects somewhere, a bit for each.
    pub(crate) fn protected(&self) -> u8 {
        self.protected
    }

    pub(crate) fn new(fabric: &Fabric, seed: u64) -> Self {
        let ports = 0..fabric.ports.len() as u32;
        let protected = fabric.ports.iter().fold(0, |all, port| all | port.protected());
        // Where PFC is off for a class that it protects elsewhere, pauses are not obeyed.
        let link = |port: u32| Link {
            deaf: protected & !fabric.ports[port as usize].protected(),
            ..Link::new(fabric.cable(PortId(port)))
        };
        Self {
            links: ports.clone().map(link).collect(),
            protected,
            streams: ports.map(|port| Stream::new(seed, port.into(), "loss")).collect(),
        }
    }

    /// Goes on with the draws of a port where another thread ended.
    pub(crate) fn take_draws(&mut self, port: PortId, from: &Self) {
        self.streams[port].clone_from(&from.streams[port]);
    }

    /// A number out of all there are, for one packet that leaves by a port.
    pub(super) fn draw(&mut self, port: PortId) -> u64 {
        self.streams[port].next_u64()
    }
}

impl Index<PortId> for Links {
    type Output = Link;

    fn index(&self, port: PortId) -> &Link {
        &self.links[port]
    }
}

impl IndexMut<PortId> for Links {
    fn index_mut(&mut self, port: PortId) -> &mut Link {
        &mut self.links[port]
    }
}

/// The first port of each cable.
pub(crate) fn cable_ends(fabric: &Fabric) -> Vec<PortId> {
    let mut ends = vec![PortId(0); fabric.cables.len()];
    for (port, state) in fabric.ports.iter().enumerate().rev() {
        ends[state.cable.index()] = PortId(port as u32);
    }
    ends
}

/// Links that a fault makes worse.
#[derive(Debug, Clone)]
pub(crate) struct Degradation {
    /// The fault.
    pub(crate) number: u32,
    pub(crate) cables: Arc<[CableId]>,
    pub(crate) to: Degraded,
}
