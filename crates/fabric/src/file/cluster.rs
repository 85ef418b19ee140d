//! `[cluster]`, `[fabric]` and `[nic]`.

use super::host::PcieSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, PacketRate, Rate, Ratio, Span};

/// The NIC of a file that names none.
pub(crate) const DEFAULT_NIC: &str = "generic-400g";

/// GPUs, servers and NICs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Cluster {
    /// GPUs in the cluster (default 64; a fat tree's default is what it holds).
    pub gpus: Option<u32>,
    /// Shorthand for so many servers with one GPU and one NIC each.
    pub hosts: Option<u32>,
    /// GPUs in one server (default 8; 1 with `hosts` and in a fat tree).
    pub gpus_per_server: Option<u32>,
    /// NICs in one server (default: one per GPU).
    pub nics_per_server: Option<u32>,
    /// NIC from the catalogue (default `generic-400g`).
    pub nic: Option<String>,
    /// Rate of the NIC, if not the catalogue's. Its ports share it where it has several.
    pub nic_rate: Option<Rate>,
    /// Rate of one GPU into the NVLink domain of its server (default 3.6Tbps; 0 without one).
    pub nvlink: Option<Rate>,
    /// From a GPU's store to its arrival at another GPU of the server, without queues (default 400ns).
    pub nvlink_latency: Option<Span>,
    /// Whether the NVSwitches of a server add up and copy (NVLS, GPUs of the Hopper generation and later; default false).
    pub nvls: Option<bool>,
}

/// How switches are wired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One switch.
    Single,
    /// Every leaf to every spine.
    #[default]
    LeafSpine,
    /// One leaf per rail: NIC i of every server of a pod to leaf i of that pod; spines above.
    Rail,
    /// k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores.
    FatTree,
    /// Racks, clusters of racks, and an aggregation layer over the clusters.
    ThreeTier,
    /// Nodes and links as listed.
    Custom,
}

/// To how many leaves a NIC is cabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Homing {
    /// One, at the NIC's rate.
    #[default]
    Single,
    /// A pair of leaves (dual ToR): two ports at half the NIC's rate each, so that either leaf can go.
    Dual,
}

impl Homing {
    /// Ports of a NIC, each on a leaf of its own.
    pub const fn ports(self) -> u32 {
        match self {
            Homing::Single => 1,
            Homing::Dual => 2,
        }
    }
}

/// Switches and how they are wired.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Layout {
    /// The wiring (default `leaf-spine`).
    pub kind: Kind,
    /// To how many leaves each NIC is cabled (default `single`; `dual` with kinds `leaf-spine` and
    /// `rail`).
    pub homing: Homing,
    /// Silicon of the leaves (default `generic`).
    pub leaf: Option<String>,
    /// Silicon of the spines (default: as the leaves).
    pub spine: Option<String>,
    /// Silicon of the cores (default: as the spines).
    pub core: Option<String>,
    /// Number of leaves (default: as few as hold the hosts); with `homing = "dual"` they go in pairs.
    pub leaves: Option<u32>,
    /// Number of spines; in three tiers, per pod (default: as few as carry the uplinks, two or more).
    pub spines: Option<u32>,
    /// Number of cores (default: as few as carry the uplinks, two or more).
    pub cores: Option<u32>,
    /// NICs on one leaf (default: as many as leave room for the uplinks).
    pub hosts_per_leaf: Option<u32>,
    /// In three tiers: NIC i of every server of a group on leaf i of that group, as kind `rail`
    /// does (default: NICs fill the leaves one after the other).
    pub rails: Option<bool>,
    /// Leaves in one pod of three tiers.
    pub leaves_per_pod: Option<u32>,
    /// Radix of a fat tree (default: the smallest that holds the cluster).
    pub k: Option<u32>,
    /// Host bandwidth of a leaf over its uplink bandwidth, like `"2:1"` (default 1:1).
    pub oversubscription: Option<Ratio>,
    /// Downlink bandwidth of a spine over its uplink bandwidth (default 1:1).
    pub spine_oversubscription: Option<Ratio>,
}

/// The NICs' own behaviour.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct NicSettings {
    /// Time between a doorbell or an arriving packet and what follows from it (default: the
    /// catalogue's).
    pub latency: Option<Span>,
    /// A receive side that can be slower than the wire.
    pub receive: Option<ReceiveSettings>,
    /// Packets that a NIC sends, and packets that it takes in, in a second, whatever their size (default: as many as
    /// its ports carry).
    pub packet_rate: Option<PacketRate>,
    /// DSCPs that NICs write, where those are not the first ones of `[[class]]`: switches put such packets into the
    /// class that their own map says.
    pub dscp: NicDscp,
    /// How NICs reach the memory of their server.
    pub pcie: PcieSettings,
    /// What one core of the host moves at one end, where cores and not the NIC run the transport.
    pub core_rate: Option<Rate>,
    /// Cores that can serve one flow, so that none is faster than they are (default 1).
    #[schemars(range(min = 1, max = 1024))]
    pub flow_cores: Option<u32>,
}

/// DSCPs that a NIC writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct NicDscp {
    /// Of RDMA data, and of acknowledgements in its class.
    #[schemars(range(min = 0, max = 63))]
    pub data: Option<u8>,
    /// Of congestion notification packets.
    #[schemars(range(min = 0, max = 63))]
    pub cnp: Option<u8>,
}

/// A receive side that can be slower than the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct ReceiveSettings {
    /// Rate into the host.
    pub rate: Rate,
    /// Buffer on the NIC (default 2MiB).
    pub buffer: Option<Bytes>,
    /// Occupancy at which the NIC pauses its link (default: half the buffer).
    pub xoff: Option<Bytes>,
    /// Occupancy at which it resumes (default: a quarter of the buffer).
    pub xon: Option<Bytes>,
}
