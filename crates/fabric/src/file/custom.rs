//! `[[node]]`, `[[link]]` and `[[route]]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Length, Rate, Ratio, Span};

/// A NIC or switch of a custom fabric.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct CustomNode {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// A NIC's server; NICs of one server are numbered together. Default: a server of its own.
    pub server: Option<String>,
    /// The rail that a NIC is meant to be on, from 0; without it the design has no rails.
    pub rail: Option<u32>,
    /// A NIC's model (default: the cluster's).
    pub nic: Option<String>,
    /// A switch's silicon (default: the tier's).
    pub silicon: Option<String>,
    /// Where a switch stands (default leaf).
    pub tier: Option<TierName>,
    /// A switch's packet memory, if not the tier's or the silicon's.
    pub buffer: Option<Bytes>,
}

/// What a custom node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NodeKind {
    /// Sends and receives.
    Nic,
    /// Forwards.
    Switch,
}

/// Where a switch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TierName {
    /// At the hosts.
    Leaf,
    /// Above the leaves.
    Spine,
    /// Above the spines.
    Core,
}

/// A cable of a custom fabric.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CustomLink {
    /// The two nodes, like `"leaf0 spine1"`.
    pub ends: String,
    /// Rate in each direction (default: the tier's).
    pub rate: Option<Rate>,
    /// Length.
    pub length: Option<Length>,
    /// One-way delay, instead of a length.
    pub delay: Option<Span>,
    /// Optics or copper from the catalogue.
    pub media: Option<String>,
    /// Bits in error after FEC.
    pub bit_error_rate: Option<Ratio>,
    /// Share of packets lost besides.
    pub loss: Option<Ratio>,
    /// So many cables alike (default 1).
    pub parallel: Option<u32>,
    /// Names of the two ports of each cable, in the order of `ends`, like `["Ethernet1/1 mlx5_0"]`: interfaces of switches, RDMA devices of servers. `-` is a port whose name is generated (default: all are).
    pub ports: Option<Vec<String>>,
}

/// A route that overrides the shortest path.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct RouteEntry {
    /// The switch.
    pub at: String,
    /// The NIC that packets are for.
    pub to: String,
    /// The neighbour that the switch sends them to; with parallel cables, over the first.
    pub via: String,
}
