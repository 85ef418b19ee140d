//! [`Flow`]: one message between two NICs.

use crate::stream;
use xoff_fabric::model::{ClassId, NicId, SwitchId};
use xoff_fabric::scenario::Operation;
use xoff_units::{Bytes, Instant};

/// One message between two NICs, on a queue pair of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// When it is offered to its NIC.
    pub start: Instant,
    /// The NIC that asks for the operation.
    pub source: NicId,
    /// The NIC at the other end.
    pub destination: NicId,
    /// How much is moved.
    pub bytes: Bytes,
    /// The class its data travels in.
    pub class: ClassId,
    /// What is asked for.
    pub operation: Operation,
    /// UDP source port: what tells flows between the same NICs apart when paths are hashed.
    pub source_port: u16,
    /// The path, where the scenario decides it; hashing does otherwise.
    pub path: Option<Box<Pinned>>,
    /// Which `[[workload]]` it belongs to, counted from 0.
    pub workload: u32,
    /// Whether its packets travel in VXLAN.
    pub vxlan: bool,
}

/// A path that the scenario decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// Switches from source to destination.
    pub data: Vec<SwitchId>,
    /// Switches from destination to source; the same ones backwards if there are none.
    pub ack: Vec<SwitchId>,
}

/// The UDP source port of a flow: one of the 16,384 dynamic ports, by hash of its place in its
/// workload, so that it does not depend on the flows of others.
pub(crate) fn source_port(seed: u64, workload: u32, order: u64) -> u16 {
    let hash = stream::hash(stream::hash(seed, u64::from(workload)), order);
    0xC000 | (hash >> 50) as u16
}
