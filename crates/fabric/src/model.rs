//! The fabric with everything decided: what the simulator runs, the renderer prints and the auditor
//! checks. Files are read into [`crate::file`] types; builders turn those into a [`Fabric`].
//!
//! Nodes are NICs and switches. NIC `i` is node `i`; switch `j` is node `nics + j`. Every node's
//! ports are consecutive, and every port has a peer: an unplugged port is not in the model.

use crate::network::Network;
use crate::rules::pcie;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use xoff_transport::config::QpConfig;
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

/// Traffic classes per port. Also the number of PFC priorities and of egress queues.
pub const CLASSES: usize = 8;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The id as an index.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(/** A NIC or a switch. */ NodeId);
id!(/** A NIC: one network identity, usually one per GPU. */ NicId);
id!(/** A switch. */ SwitchId);
id!(/** A port of a NIC or switch. */ PortId);
id!(/** A cable between two ports. */ CableId);
id!(/** A server with its GPUs and NICs. */ ServerId);

/// A traffic class: priority, queue and PFC class are the same number, 0 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u8);

/// A fabric, complete and checked.
#[derive(Debug, Clone)]
pub struct Fabric {
    /// Servers in rank order.
    pub servers: Vec<Server>,
    /// NICs in rank order.
    pub nics: Vec<Nic>,
    /// Switches, tier by tier from the hosts up.
    pub switches: Vec<Switch>,
    /// Ports, node by node.
    pub ports: Vec<Port>,
    /// Cables.
    pub cables: Vec<Cable>,
    /// The traffic classes.
    pub classes: [Class; CLASSES],
    /// How pause frames behave.
    pub pause: PauseRules,
    /// When switches mark, and who notifies senders.
    pub marking: Marking,
    /// Class of RDMA data unless a flow says otherwise.
    pub data_class: ClassId,
    /// Class of acknowledgements: `None` keeps them in the class of the data they answer.
    pub ack_class: Option<ClassId>,
    /// Class of congestion notification packets: `None` keeps them in the class of the data.
    pub cnp_class: Option<ClassId>,
    /// Who uses the fabric, as far as a file names them.
    pub tenants: Vec<Tenant>,
    /// Routes that override the shortest paths, for experiments and mistakes.
    pub static_routes: Vec<StaticRoute>,
    /// What happens first of what happens at once.
    pub ties: Ties,
    /// Links have credits: a packet is only sent into a switch that has room for it among what is reserved
    /// for its port and class. There are no pauses then.
    pub credits: bool,
    /// Transports that single workloads of a scenario use beside the fabric's own.
    pub guests: Vec<Guest>,
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

/// Somebody who uses the fabric beside others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    /// Its name; no other tenant has it.
    pub name: String,
    /// Class of its RDMA data.
    pub class: ClassId,
}

/// What happens first of what happens at the same instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ties {
    /// By kind and by number of what it happens to: the same on any number of threads.
    #[default]
    ById,
    /// In the order in which it came up, as in ns-3: slower, for comparisons.
    Insertion,
}

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
    /// The cores that run the transport; nothing where the NIC does.
    pub cpu: Option<Cpu>,
    /// How it reaches the memory of its server; `None` never holds it back.
    pub host: Option<HostPath>,
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
}

/// Where a switch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Attached to hosts: leaf, rack or edge switch.
    Leaf,
    /// Above the leaves: spine, cluster or pod switch.
    Spine,
    /// Above the spines: core or aggregation switch.
    Core,
}

impl Tier {
    /// The word for tables and names.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Leaf => "leaf",
            Tier::Spine => "spine",
            Tier::Core => "core",
        }
    }
}

/// A switch and the rules it forwards by.
#[derive(Debug, Clone)]
pub struct Switch {
    /// `leaf0`, `spine3`, …
    pub name: String,
    /// Where it stands.
    pub tier: Tier,
    /// Catalogue entry.
    pub silicon: String,
    /// Its ports.
    pub ports: Range<u32>,
    /// Packet memory.
    pub buffer: Bytes,
    /// Unit in which packet memory is handed out; zero counts bytes.
    pub cell: Bytes,
    /// From the scheduler's decision to the first bit on the wire.
    pub latency: Span,
    /// Whether a packet leaves before it has arrived whole.
    pub cut_through: bool,
    /// Longest packet that its ports take.
    pub mtu: Bytes,
    /// Class of each DSCP.
    pub dscp_to_class: [ClassId; 64],
    /// What of a packet decides among equal paths.
    pub hash: EcmpHash,
    /// How it chooses among equal ports.
    pub balancing: Balancing,
    /// PFC watchdog, if there is one.
    pub watchdog: Option<Watchdog>,
    /// Headroom that all ports share; `None` gives each port its own.
    pub headroom_pool: Option<Bytes>,
    /// How the weighted classes of a port take turns.
    pub discipline: Discipline,
    /// What becomes of packets that a lossy class has no room for; they are dropped without it.
    pub trimming: Option<Trimming>,
    /// Packets wait at their ingress for credits of their egress (virtual output queues); `None` queues
    /// them at their egress.
    pub voq: Option<Voq>,
}

impl Switch {
    /// What a packet takes from its arrival to the scheduler of its egress port when nothing else is
    /// there: credits and the cell fabric, or nothing.
    pub fn transit(&self) -> Span {
        self.voq.map_or(Span::ZERO, |voq| voq.credit_latency + voq.fabric_latency)
    }
}

/// Virtual output queues: a deep buffer at ingress, credits from the egress, and a cell fabric between
/// them that blocks nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Voq {
    /// From a packet's request to the credit that lets it go.
    pub credit_latency: Span,
    /// Through the cell fabric.
    pub fabric_latency: Span,
    /// What the fabric carries of a port, over the port's rate.
    pub speed_up: Ratio,
}

/// Packets that find a queue full lose their payload and go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trimming {
    /// The class in which they go on.
    pub class: ClassId,
    /// Bytes that are left of them, from Ethernet header to FCS.
    pub size: Bytes,
}

/// How flows are spread over equal paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcmpHash {
    /// What goes into the hash.
    pub fields: HashFields,
    /// Seed of this switch. Equal seeds along a path polarise.
    pub seed: u32,
}

/// What goes into the ECMP hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashFields {
    /// Source and destination address.
    pub addresses: bool,
    /// UDP source port (RoCEv2's entropy; the destination port is always 4791).
    pub source_port: bool,
    /// Destination queue pair.
    pub dest_qp: bool,
}

/// How a switch chooses among ports that lead equally near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Balancing {
    /// By the hash of the flow, which always takes the same port (ECMP).
    #[default]
    Hash,
    /// By the hash of the flow, and a controller that knows all flows gives them source ports by which
    /// they take the paths that it wants (centralised traffic engineering).
    Engineered,
    /// By the hash of the packet, to which its sender gives an entropy of its own: one that came back
    /// unmarked before, or a drawn one (spraying with recycled entropy).
    Recycled,
    /// By the hash of the packet, to which its sender gives one entropy of a set in turn, leaving out those that
    /// came back marked or trimmed (as in Ultra Ethernet).
    Paths,
    /// By where the destination hangs on its leaf: what is for the first NIC takes the first port,
    /// whoever sends it (static path pinning).
    Pinned,
    /// A flow keeps its port while its packets follow each other closely. After a pause of `gap` the
    /// next packet may take another; with a gap of zero every packet may.
    Adaptive {
        /// What decides then.
        choice: Choice,
        /// The pause after which packets sent before cannot be overtaken any more.
        gap: Span,
        /// Flows are remembered in a table of so many places, by their hash.
        table: u32,
    },
}

impl Balancing {
    /// Whether the hash of a packet decides.
    pub const fn hashes(self) -> bool {
        matches!(
            self,
            Balancing::Hash | Balancing::Engineered | Balancing::Recycled | Balancing::Paths
        )
    }

    /// Whether all packets of a flow take the port that its hash says.
    pub const fn keeps_paths(self) -> bool {
        matches!(self, Balancing::Hash | Balancing::Engineered)
    }

    /// Whether packets of one flow can overtake each other on a healthy fabric.
    pub const fn reorders(self) -> bool {
        match self {
            Balancing::Hash | Balancing::Engineered | Balancing::Pinned => false,
            Balancing::Recycled | Balancing::Paths => true,
            Balancing::Adaptive { gap, .. } => gap.is_zero(),
        }
    }
}

/// What decides among equal ports, where it is not the hash of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A draw (flowlet switching, packet spraying).
    Random,
    /// The shortest queue, then the least used link (dynamic load balancing).
    Local,
    /// The same, and what waits beyond the next switch counts, too (global load balancing).
    Global {
        /// How often switches report the quality of their ports to their neighbours; zero is at once.
        refresh: Span,
    },
}

/// What a PFC watchdog does, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watchdog {
    /// A queue paused this long without sending is stuck.
    pub detect: Span,
    /// After this long without pause frames the queue is lossless again.
    pub restore: Span,
    /// What happens to a stuck queue.
    pub action: WatchdogAction,
}

/// What a watchdog does to a stuck queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchdogAction {
    /// Drop what is queued and what arrives for it.
    Drop,
    /// Send it in spite of the pause.
    Forward,
}

/// How weighted classes take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discipline {
    /// Packets in proportion to the weights.
    Wrr,
    /// Bytes in proportion to the weights, by deficit counters (ETS).
    Dwrr,
    /// Bytes in proportion to the weights, by virtual finish times.
    Wfq,
}

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
    /// What holds for each class (switch ports; NIC ports use scheduling only).
    pub classes: [PortClass; CLASSES],
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

/// A traffic class as the whole fabric sees it.
#[derive(Debug, Clone)]
pub struct Class {
    /// Its name in tables.
    pub name: String,
    /// Whether PFC protects it.
    pub lossless: bool,
    /// DSCP that the NICs write into packets of this class.
    pub dscp: u8,
}

/// One class at one port: buffer, pause, marking and scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortClass {
    /// Buffer that belongs to this port and class alone, at ingress.
    pub reserved: Bytes,
    /// When to pause (lossless) or drop (lossy), at ingress.
    pub threshold: Threshold,
    /// How far below the threshold the occupancy must fall to resume.
    pub xon_offset: Bytes,
    /// Buffer beyond the threshold for what is still on its way; zero on lossy classes.
    pub headroom: Bytes,
    /// Limit of the egress queue, for lossy classes; `None` never drops at egress.
    pub egress_limit: Option<Threshold>,
    /// ECN marking at egress.
    pub ecn: Option<Ecn>,
    /// Turn at egress.
    pub scheduling: Scheduling,
}

/// A limit on the use of shared buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threshold {
    /// This share of what is still free: the dynamic threshold alpha.
    Dynamic(Ratio),
    /// A fixed size.
    Static(Bytes),
}

/// ECN marking: never below `kmin`, always above `kmax`, in between with a probability that grows
/// to `pmax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ecn {
    /// Queue length at which marking starts.
    pub kmin: Bytes,
    /// Queue length above which every packet is marked.
    pub kmax: Bytes,
    /// Probability just below `kmax`.
    pub pmax: Ratio,
}

/// When switches mark, and who notifies senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marking {
    /// A packet is marked when it joins its queue, on what waits before it; else when it leaves, on what is
    /// left.
    pub at_enqueue: bool,
    /// The switch notifies senders itself, each flow at most once in this time, instead of marking.
    pub notify: Option<Span>,
}

/// A class's turn at the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// Before all weighted classes; among strict ones the higher class first.
    Strict,
    /// A share in proportion to the weight.
    Weighted(u32),
}

/// How pause frames behave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseRules {
    /// Whether PFC is on at all.
    pub enabled: bool,
    /// Bytes of a pause frame on the wire, with preamble and gap.
    pub frame: Bytes,
    /// Pause time in quanta of 512 bit times; `None` pauses until told to resume.
    pub quanta: Option<u16>,
}

/// A route that overrides the shortest path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRoute {
    /// At this switch,
    pub at: SwitchId,
    /// packets for this NIC
    pub to: NicId,
    /// leave by this port.
    pub via: PortId,
}

impl Fabric {
    /// The place of the guest that a workload's traffic uses, if it does not use the fabric's transport.
    pub fn guest_of(&self, workload: u32) -> Option<usize> {
        self.guests.iter().position(|guest| guest.workloads.contains(&workload))
    }

    /// The node of a NIC.
    pub fn nic_node(&self, nic: NicId) -> NodeId {
        NodeId(nic.0)
    }

    /// The node of a switch.
    pub fn switch_node(&self, switch: SwitchId) -> NodeId {
        NodeId(self.nics.len() as u32 + switch.0)
    }

    /// The switch at a node, unless it is a NIC.
    pub fn node_switch(&self, node: NodeId) -> Option<SwitchId> {
        node.0.checked_sub(self.nics.len() as u32).map(SwitchId)
    }

    /// A node's ports.
    pub fn node_ports(&self, node: NodeId) -> impl DoubleEndedIterator<Item = PortId> + use<> {
        let range = match self.node_switch(node) {
            Some(switch) => &self.switches[switch.index()].ports,
            None => &self.nics[node.index()].ports,
        };
        range.clone().map(PortId)
    }

    /// A node's name.
    pub fn node_name(&self, node: NodeId) -> &str {
        match self.node_switch(node) {
            Some(switch) => &self.switches[switch.index()].name,
            None => &self.nics[node.index()].name,
        }
    }

    /// A port as people name it: its node, and the node it leads to, like `leaf0→spine1`; by the second of
    /// parallel cables `leaf0→spine1#2`, and so on. Both ends of a cable have the same number.
    pub fn port_name(&self, port: PortId) -> String {
        let this = &self.ports[port.index()];
        let peer = &self.ports[this.peer.index()];
        let name = format!("{}→{}", self.node_name(this.node), self.node_name(peer.node));
        let same_ends = |other: &PortId| {
            let other = &self.ports[other.index()];
            self.ports[other.peer.index()].node == peer.node && other.cable < this.cable
        };
        match self.node_ports(this.node).filter(same_ends).count() {
            0 => name,
            before => format!("{name}#{}", before + 1),
        }
    }

    /// The cable at a port.
    pub fn cable(&self, port: PortId) -> &Cable {
        &self.cables[self.ports[port.index()].cable.index()]
    }

    /// The time from the first bit sent at the start of `path` to the last bit received at its end
    /// for a packet of `bytes` on the wire, in an idle fabric.
    pub fn one_way(&self, path: &[PortId], bytes: Bytes) -> Span {
        let mut total = Span::ZERO;
        let mut slowest = Span::ZERO;
        for (hop, port) in path.iter().enumerate() {
            let cable = self.cable(*port);
            let wire = cable.rate.time_for(bytes);
            total += cable.delay;
            slowest = slowest.max(wire);
            let Some(switch) = self.node_switch(self.ports[port.index()].node) else { continue };
            let switch = &self.switches[switch.index()];
            total += switch.latency + switch.transit();
            // Stored whole before it goes on: the previous link's time is spent once more.
            if hop > 0 && !switch.cut_through {
                total += self.cable(path[hop - 1]).rate.time_for(bytes);
                slowest = wire;
            }
        }
        total + slowest
    }
}
