//! Servers and NICs, and what a transport runs on.

use super::{CLASSES, ClassId, ServerId, SwitchId};
use crate::network::Network;
use crate::rules::pcie;
use std::ops::Range;
use xoff_transport::config::QpConfig;
use xoff_units::{Bytes, PacketRate, Rate, Span};

/// A server: the NICs and GPUs that share a chassis and an NVLink domain.
#[derive(Debug, Clone)]
pub struct Server {
    /// `server0`, …
    pub name: String,
    /// GPUs inside.
    pub gpus: u32,
    /// Its NICs.
    pub nics: Range<u32>,
    /// Rate of one GPU into the NVLink domain; zero without one.
    pub nvlink: Rate,
    /// From one of its GPUs to another, without queues.
    pub nvlink_latency: Span,
    /// Whether its NVSwitches add up what GPUs send and copy what they are to receive (NVLS).
    pub nvls: bool,
}

/// A NIC.
#[derive(Debug, Clone)]
pub struct Nic {
    /// `server0-nic0`, or the node's name in a custom fabric.
    pub name: String,
    /// Catalogue entry.
    pub model: String,
    /// The server it sits in.
    pub server: ServerId,
    /// Its ports.
    pub ports: Range<u32>,
    /// How its queue pairs behave.
    pub qp: QpConfig,
    /// Time between a doorbell or an arriving packet and what follows from it.
    pub latency: Span,
    /// The receive side, when it can be slower than the wire.
    pub receive: Option<ReceiveLimit>,
    /// Packets that it sends, and packets that it takes in, in a second; `None` never holds it back.
    pub packet_rate: Option<PacketRate>,
    /// DSCP that it writes into packets of each class.
    pub dscp: [u8; CLASSES],
    /// The rail that it is meant to be on, where the design has rails.
    pub rail: Option<u32>,
    /// The cores that run the transport; nothing where the NIC does.
    pub cpu: Option<Cpu>,
    /// How it reaches the memory of its server; `None` never holds it back.
    pub host: Option<HostPath>,
    /// The switch that it is part of: it ends the queue pairs by which that switch adds up data
    /// ([`Fabric::with_aggregators`](super::Fabric::with_aggregators)). `None` for the NICs of servers.
    pub aggregates: Option<SwitchId>,
}

/// How a NIC reaches the memory of its server, all its ports together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPath {
    /// The slot, where a file gives it.
    pub slot: Option<pcie::Slot>,
    /// Rate out of memory, at most that of the ports.
    pub send: pcie::Reached,
    /// Rate into memory, at most that of the ports. Where it is lower, [`Nic::receive`] has it, too.
    pub receive: pcie::Reached,
}

/// Cores that run a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    /// What one of them moves at one end.
    pub core_rate: Rate,
    /// How many can serve one flow.
    pub flow_cores: u32,
}

impl Cpu {
    /// No flow is faster.
    pub fn flow_rate(&self) -> Rate {
        Rate::from_bps(self.core_rate.bps().saturating_mul(self.flow_cores.into()))
    }
}

/// A receive side that drains into the host at a limited rate and pauses the fabric when it fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveLimit {
    /// Rate into the host (PCIe, memory).
    pub rate: Rate,
    /// Buffer on the NIC; what arrives beyond it is lost.
    pub buffer: Bytes,
    /// Occupancy at which the NIC pauses its link.
    pub xoff: Bytes,
    /// Occupancy at which it resumes.
    pub xon: Bytes,
    /// Time that a packet takes at least, however small.
    pub packet: Span,
}

/// A transport that some workloads use beside the fabric's own.
#[derive(Debug, Clone)]
pub struct Guest {
    /// Its network.
    pub network: Network,
    /// The workloads that use it, by their place in the scenario.
    pub workloads: Vec<u32>,
    /// How its queue pairs behave.
    pub qp: QpConfig,
    /// What a packet takes through the host, instead of the NIC's latency, where the network says so.
    pub latency: Option<Span>,
    /// The cores that run it; nothing where the NIC does.
    pub cpu: Option<Cpu>,
    /// The class of its traffic unless a workload says otherwise.
    pub class: ClassId,
}
