//! A switch and the rules it forwards by.

use super::{Balancing, ClassId, EcmpHash, Model, NicId, PortClass, PortId, SwitchId};
use std::ops::Range;
use xoff_units::{Bytes, Ratio, Span};

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
    /// What the silicon itself adds to the headroom of a port.
    pub silicon_headroom: SiliconPart,
    /// How the weighted classes of a port take turns.
    pub discipline: Discipline,
    /// What becomes of packets that a lossy class has no room for; they are dropped without it.
    pub trimming: Option<Trimming>,
    /// Packets wait at their ingress for credits of their egress (virtual output queues); `None` queues
    /// them at their egress.
    pub voq: Option<Voq>,
    /// What it has for adding up data that passes it; it only forwards without.
    pub aggregation: Option<Aggregation>,
}

/// What a switch has for adding up data that passes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregation {
    /// Groups that it serves at once.
    pub groups: u32,
    /// Pieces that it holds for one group; at least 2.
    pub slots: u32,
    /// Largest piece that fits into a slot; not zero.
    pub piece: Bytes,
    /// From its death to the jobs that it served going on without it.
    pub fallback: Span,
}

impl Aggregation {
    /// Most slots of a group.
    pub const MOST_SLOTS: u32 = 4096;
    /// Largest piece: pieces are counted in 32 bits.
    pub const LARGEST_PIECE: Bytes = Bytes::new(64 << 20);
}

impl Switch {
    /// What a packet takes from its arrival to the scheduler of its egress port when nothing else is
    /// there: credits and the cell fabric, or nothing.
    pub fn transit(&self) -> Span {
        self.voq.map_or(Span::ZERO, |voq| voq.credit_latency + voq.fabric_latency)
    }
}

/// What a switch ASIC adds to headroom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiliconPart {
    /// Delay inside the MAC and PHY, in bytes.
    pub mac_phy: Bytes,
    /// Time data spends between the port and the accounting (tiles, gearboxes), both ways.
    pub pipeline: Span,
    /// Headroom is handed out in steps of this size; zero does not round.
    pub step: Bytes,
}

impl Default for SiliconPart {
    fn default() -> Self {
        Self { mac_phy: Bytes::new(820), pipeline: Span::ZERO, step: Bytes::new(1024) }
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

/// A route that overrides the shortest path: at one switch, packets for one NIC leave by one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticRoute {
    /// The switch.
    pub at: SwitchId,
    /// The NIC that packets are for.
    pub to: NicId,
    /// The port of the switch that they leave by.
    pub via: PortId,
}

/// How the packet memory of a switch is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketMemory {
    /// For what arrives after a pause.
    pub headroom: Bytes,
    /// For single ports and classes.
    pub reserved: Bytes,
    /// For all, as their thresholds allow; nothing where the others take more than there is.
    pub shared: Bytes,
}

impl Model {
    /// How the packet memory of a switch is divided.
    pub fn packet_memory(&self, switch: &Switch) -> PacketMemory {
        let ports = &self.ports[switch.ports.start as usize..switch.ports.end as usize];
        let sum = |get: fn(&PortClass) -> Bytes| -> Bytes {
            ports.iter().flat_map(|port| port.classes.iter().map(get)).sum()
        };
        let headroom = switch.headroom_pool.unwrap_or_else(|| sum(|class| class.headroom));
        let reserved = sum(|class| class.reserved);
        let claimed = headroom + reserved;
        let shared = switch.buffer.saturating_sub(claimed);
        let whole = claimed > switch.buffer || claimed + shared == switch.buffer;
        assert!(whole, "the parts of `{}`'s packet memory are not all of it", switch.name);
        PacketMemory { headroom, reserved, shared }
    }
}
