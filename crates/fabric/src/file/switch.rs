//! `[switch]` and its tables per tier.

use super::TierSettings;
use crate::model::Tier;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Span};

/// The switches' own behaviour, for all and per tier.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SwitchSection {
    /// For all switches.
    #[serde(flatten)]
    pub all: SwitchSettings,
    /// For leaves.
    pub leaf: TierSettings,
    /// For spines.
    pub spine: TierSettings,
    /// For cores.
    pub core: TierSettings,
}

impl SwitchSection {
    /// What is said of one tier.
    pub(crate) fn tier(&self, tier: Tier) -> &TierSettings {
        match tier {
            Tier::Leaf => &self.leaf,
            Tier::Spine => &self.spine,
            Tier::Core => &self.core,
        }
    }
}

/// A kind of switch. What is not given comes from the silicon in the catalogue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct SwitchSettings {
    /// Silicon from the catalogue that forwards, where it is not the one that the wiring is planned with
    /// (`fabric.leaf`, `.spine`, `.core`): the same wiring on other switches. Its buffer, cell and latency
    /// count, and its ports have to suffice.
    pub silicon: Option<String>,
    /// Packet memory.
    pub buffer: Option<Bytes>,
    /// Unit of packet memory; 0 counts bytes.
    pub cell: Option<Bytes>,
    /// From the scheduler's decision to the first bit on the wire.
    pub latency: Option<Span>,
    /// Whether a packet leaves before it has arrived whole (default cut-through; silicon with virtual
    /// output queues always stores).
    pub forwarding: Option<Forwarding>,
    /// Largest frame a port accepts (default 9216B).
    pub mtu: Option<Bytes>,
    /// PFC watchdog (default: none).
    pub watchdog: Option<WatchdogSettings>,
    /// How flows are spread over equal paths.
    pub hash: Option<HashSettings>,
    /// How it chooses among equal ports (default ecmp).
    pub balancing: Option<BalancingSettings>,
    /// Headroom that all ports share (default: each has its own).
    pub headroom_pool: Option<Bytes>,
    /// How weighted classes take turns (default dwrr).
    pub discipline: Option<DisciplineName>,
    /// Packets that a full queue of a lossy class has no room for are cut down to their header and go on
    /// (default: they are dropped).
    pub trimming: Option<TrimmingSettings>,
    /// Switches that add up what the ranks of a collective send (`algorithm = "in-network"`), like `{}` for the
    /// defaults (default: they do not).
    pub aggregation: Option<AggregationSettings>,
}

/// What a switch has for adding up data that passes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct AggregationSettings {
    /// Groups that it serves at once; a job has one for each of its rails (default 16).
    #[schemars(range(min = 1))]
    pub groups: Option<u32>,
    /// Pieces that it holds for one group, 2 to 4096; half of them are under way at a time (default 64).
    #[schemars(range(min = 2, max = 4096))]
    pub slots: Option<u32>,
    /// Largest piece that fits into a slot (default 32KiB).
    pub piece: Option<Bytes>,
    /// From the death of a switch to the jobs that it served going on by rings (default 10ms).
    pub fallback: Option<Span>,
}

/// What becomes of packets that are cut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TrimmingSettings {
    /// The class in which they go on.
    #[schemars(range(min = 0, max = 7))]
    pub class: u8,
    /// What is left of them, from Ethernet header to FCS (default 64B).
    pub size: Option<Bytes>,
}

/// When a packet is sent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// As soon as its headers are read.
    CutThrough,
    /// Once it has arrived whole.
    StoreAndForward,
}

/// How weighted classes take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisciplineName {
    /// Packets in proportion to the weights.
    Wrr,
    /// Bytes in proportion to the weights, by deficit counters (ETS).
    Dwrr,
    /// Bytes in proportion to the weights, by virtual finish times.
    Wfq,
}

/// A PFC watchdog.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct WatchdogSettings {
    /// Whether it watches.
    pub enabled: bool,
    /// A queue paused this long without sending is stuck.
    pub detect: Span,
    /// After this long without pause frames the queue is lossless again.
    pub restore: Span,
    /// What happens to a stuck queue.
    pub action: WatchdogActionName,
}

impl Default for WatchdogSettings {
    /// The defaults that switch operating systems ship.
    fn default() -> Self {
        Self {
            enabled: true,
            detect: Span::from_ms(200),
            restore: Span::from_ms(200),
            action: WatchdogActionName::Drop,
        }
    }
}

/// What a watchdog does to a stuck queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WatchdogActionName {
    /// Drop what is queued and what arrives for it.
    Drop,
    /// Send it in spite of the pause.
    Forward,
}

/// How flows are spread over equal paths.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct HashSettings {
    /// What goes into the hash (default addresses and source port).
    pub fields: Option<Vec<HashField>>,
    /// `"per-switch"` (default), or one number for all: equal seeds polarise.
    pub seed: Option<HashSeed>,
}

/// How a switch chooses among ports that lead equally near.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct BalancingSettings {
    /// What decides.
    pub kind: BalancingName,
    /// Whether flowlets or single packets choose (default flowlet; spray: always packet).
    pub per: Option<Unit>,
    /// The pause that ends a flowlet (default 10us).
    pub gap: Option<Span>,
    /// Places in the table of flowlets (default 4096).
    pub table: Option<u32>,
    /// With `glb`: how often switches report the quality of their ports to their neighbours (default
    /// 5us; 0us knows it at once).
    pub refresh: Option<Span>,
}

/// What decides among equal ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BalancingName {
    /// The hash of the flow: a flow always takes the same port.
    Ecmp,
    /// A draw for every flowlet.
    Flowlet,
    /// Dynamic load balancing: the shortest queue, then the least used link.
    Dlb,
    /// Global load balancing: what waits beyond the next switch counts, too.
    Glb,
    /// A draw for every packet.
    Spray,
    /// The hash, with an entropy for every packet: one that came back unmarked, or a drawn one.
    Recycle,
    /// The hash, with an entropy for every packet: those of a set in turn, but those that came back marked or
    /// trimmed sit out (as Ultra Ethernet senders do).
    Paths,
    /// Static pinning: by where the destination is attached to its leaf, whichever NIC sends.
    Pinned,
    /// Centralised traffic engineering: the hash, with source ports that a controller chose.
    Engineered,
}

/// What chooses anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// The first packet after a pause.
    Flowlet,
    /// Every packet.
    Packet,
}

/// Something that goes into the ECMP hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HashField {
    /// Source and destination address.
    Addresses,
    /// UDP source port.
    SourcePort,
    /// Destination queue pair.
    DestQp,
}

/// The seed of the hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HashSeed {
    /// The same for every switch.
    Fixed(u32),
    /// Its own for every switch.
    Each(PerSwitch),
}

/// The word `per-switch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PerSwitch {
    /// Derived from the switch's number.
    PerSwitch,
}
