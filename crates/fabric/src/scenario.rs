//! The scenario file: what happens on a fabric. Traffic, faults, what to record and what is allowed
//! to go wrong.
//!
//! These are the types of the file itself; names of nodes are resolved against a fabric
//! when it is run ([`crate::names`]).

mod background;
mod collective;
mod cost;
mod fault;
mod rounds;
mod servers;
mod serving;
mod storage;
mod trace;
mod training;

use crate::network::Network;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Ratio, Span};

pub use background::{Arrivals, Background};
pub use collective::{
    AlgorithmSetting, Collective, Exchanged, PlacementRule, PlacementSetting, Rooted, SizeRange,
};
pub use cost::{ConnectionsSetting, CostName, CostSetting, CostValues};
pub use fault::{
    Among, Degraded, Fault, LinkChoice, LinkDegraded, LinkDown, LinkFlap, Miscabling, Reaction,
    RouteChange, ServerDown, Setting, SwitchDown, TierWord,
};
pub use rounds::{Halo, ParameterServer};
pub use servers::ServerSet;
pub use serving::{Inference, KvCache, ServingObjective, TokenSetting, TransferSetting};
pub use storage::{Checkpoint, NvmeOf, Writer};
pub use trace::TraceReplay;
pub use training::{DispatchSetting, ModelSetting, ModelShape, RecomputeSetting, TrainingStep};

/// A scenario file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Scenario {
    /// Path of the fabric file, relative to this file.
    pub fabric: String,
    /// Seed of every random draw.
    #[serde(default = "one")]
    pub seed: u64,
    /// What is simulated of the traffic.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// The run ends here even if traffic is left; without it the run ends with the traffic.
    pub duration: Option<Span>,
    /// Traffic.
    #[serde(default, rename = "workload")]
    pub workloads: Vec<Workload>,
    /// What breaks, and when.
    #[serde(default, rename = "fault")]
    pub faults: Vec<Fault>,
    /// What the run may do without failing.
    #[serde(default)]
    pub allow: Allow,
    /// What is written to the run folder.
    #[serde(default)]
    pub record: Record,
    /// Settings of the fabric file that this scenario changes, under the same keys.
    #[serde(default, rename = "override")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub overrides: toml::Table,
}

fn one() -> u64 {
    1
}

/// What is simulated of the traffic.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Fidelity {
    /// Every packet: queues, pauses, marks, losses.
    #[default]
    Packet,
    /// Packets where collectives crowd links, each such episode once; what repeats and what nothing is in the way of is not simulated
    /// again. For collectives and training steps.
    Fast,
    /// Flows with fair shares of links: the times of collectives and steps of tens of thousands of GPUs, without queues,
    /// pauses, marks and losses.
    Flow,
}

impl Fidelity {
    /// All of them.
    pub const ALL: [Fidelity; 3] = [Fidelity::Packet, Fidelity::Fast, Fidelity::Flow];

    /// Its name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Fidelity::Packet => "packet",
            Fidelity::Fast => "fast",
            Fidelity::Flow => "flow",
        }
    }
}

/// One piece of traffic.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Every NIC sends to one other and receives from one other, at random, never itself.
    Permutation(Permutation),
    /// Many send to one.
    Incast(Incast),
    /// Every NIC sends to every other.
    AllToAll(AllToAll),
    /// A list of flows, here or in a CSV file.
    Flows(Flows),
    /// Random arrivals at a given load.
    Poisson(Poisson),
    /// A collective: every rank ends with the sum of all data.
    AllReduce(Collective),
    /// A collective: every rank ends with all data.
    AllGather(Collective),
    /// A collective: every rank ends with its share of the sum of all data.
    ReduceScatter(Collective),
    /// A collective: every rank has a piece for every other. (Kind `all-to-all` is the plain
    /// pattern: flows that all start at once, without ranks, channels or clear-to-sends.)
    AllToAllCollective(Exchanged),
    /// A collective: every rank ends with the data of one.
    Broadcast(Rooted),
    /// A collective: one rank ends with all data, each rank's share sent to it as it asks for it.
    Gather(Rooted),
    /// A collective: one rank ends with the sum of all data.
    Reduce(Rooted),
    /// A collective: one rank has a share for each, and sends it.
    Scatter(Rooted),
    /// A collective: every rank sends to the next.
    SendRecv(Collective),
    /// A training step of a transformer: computing and everything that its GPUs send.
    TrainingStep(TrainingStep),
    /// A trace of a job, replayed.
    Trace(TraceReplay),
    /// A checkpoint written to storage servers, or read back.
    Checkpoint(Checkpoint),
    /// Blocks of remote disks, so many under way at a time.
    NvmeOf(NvmeOf),
    /// Key-value caches of requests, from prefill to decode servers.
    KvCache(KvCache),
    /// Requests from their arrival to their last token: prefill, caches, decode.
    Inference(Inference),
    /// Gradients to parameter servers, parameters back.
    ParameterServer(ParameterServer),
    /// Neighbours on a grid that swap faces, round by round.
    Halo(Halo),
    /// Load of others, in a class of its own.
    Background(Background),
}

impl Workload {
    /// What all kinds have in common.
    pub fn common(&self) -> &Common {
        match self {
            Workload::Permutation(w) => &w.common,
            Workload::Incast(w) => &w.common,
            Workload::AllToAll(w) => &w.common,
            Workload::Flows(w) => &w.common,
            Workload::Poisson(w) => &w.common,
            Workload::AllReduce(w)
            | Workload::AllGather(w)
            | Workload::ReduceScatter(w)
            | Workload::SendRecv(w) => &w.common,
            Workload::AllToAllCollective(w) => &w.collective.common,
            Workload::Broadcast(w)
            | Workload::Gather(w)
            | Workload::Reduce(w)
            | Workload::Scatter(w) => &w.collective.common,
            Workload::TrainingStep(w) => &w.common,
            Workload::Trace(w) => &w.common,
            Workload::Checkpoint(w) => &w.common,
            Workload::NvmeOf(w) => &w.common,
            Workload::KvCache(w) => &w.common,
            Workload::Inference(w) => &w.common,
            Workload::ParameterServer(w) => &w.common,
            Workload::Halo(w) => &w.common,
            Workload::Background(w) => &w.common,
        }
    }

    /// Its kind, as the file writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Workload::Permutation(_) => "permutation",
            Workload::Incast(_) => "incast",
            Workload::AllToAll(_) => "all-to-all",
            Workload::Flows(_) => "flows",
            Workload::Poisson(_) => "poisson",
            Workload::AllReduce(_) => "all-reduce",
            Workload::AllGather(_) => "all-gather",
            Workload::ReduceScatter(_) => "reduce-scatter",
            Workload::AllToAllCollective(_) => "all-to-all-collective",
            Workload::Broadcast(_) => "broadcast",
            Workload::Gather(_) => "gather",
            Workload::Reduce(_) => "reduce",
            Workload::Scatter(_) => "scatter",
            Workload::SendRecv(_) => "send-recv",
            Workload::TrainingStep(_) => "training-step",
            Workload::Trace(_) => "trace",
            Workload::Checkpoint(_) => "checkpoint",
            Workload::NvmeOf(_) => "nvme-of",
            Workload::KvCache(_) => "kv-cache",
            Workload::Inference(_) => "inference",
            Workload::ParameterServer(_) => "parameter-server",
            Workload::Halo(_) => "halo",
            Workload::Background(_) => "background",
        }
    }

    /// Whether it is a list of flows, and not a program.
    pub(crate) fn is_flows(&self) -> bool {
        matches!(
            self,
            Workload::Permutation(_)
                | Workload::Incast(_)
                | Workload::AllToAll(_)
                | Workload::Flows(_)
                | Workload::Poisson(_)
                | Workload::Background(_)
                | Workload::Checkpoint(_)
        )
    }

    /// What it says as a collective, if it is one.
    pub fn collective(&self) -> Option<&Collective> {
        match self {
            Workload::AllReduce(w)
            | Workload::AllGather(w)
            | Workload::ReduceScatter(w)
            | Workload::SendRecv(w) => Some(w),
            Workload::AllToAllCollective(w) => Some(&w.collective),
            Workload::Broadcast(w)
            | Workload::Gather(w)
            | Workload::Reduce(w)
            | Workload::Scatter(w) => Some(&w.collective),
            _ => None,
        }
    }
}

/// What all kinds of traffic have in common.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Common {
    /// When it starts.
    pub start: Span,
    /// Traffic class, 0 to 7; the fabric's data class without it.
    pub class: Option<u8>,
    /// RDMA operation.
    pub operation: Operation,
    /// Name in tables and in `flows.parquet`.
    pub name: Option<String>,
    /// Whose traffic it is: tenants have a report each, and can be run alone.
    pub tenant: Option<String>,
    /// Whether its packets travel in VXLAN: 50 bytes more on every link.
    pub vxlan: bool,
    /// The transport of its flows, if not the fabric's own: `tcp`, `iwarp` or `roce`. It brings queue
    /// pairs, framing, congestion control, host latency and cores, and travels in the first lossy class without a
    /// `class`.
    pub transport: Option<Network>,
}

/// An RDMA operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// The source writes into the destination's memory.
    #[default]
    Write,
    /// The source sends to a posted receive.
    Send,
    /// The destination's data is read by the source: bytes flow from destination to source.
    Read,
}

/// Every NIC sends to one other, or to so many others at once, and as many send to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Permutation {
    /// What each sends to each of its destinations.
    pub size: Bytes,
    /// Which NICs are paired: `any` (default), `same` (on the same rail of another server) or `other` (on another rail of
    /// another server).
    #[serde(default)]
    pub rails: RailPattern,
    /// Destinations of each NIC at once (default 1), all different.
    #[serde(default = "single")]
    pub destinations: u32,
    /// Flows that each pair divides its bytes into, each with a queue pair of its own (default 1).
    #[serde(default = "single")]
    pub queue_pairs: u32,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

impl Permutation {
    /// Every NIC sends so much to one other, with every default.
    pub fn new(size: Bytes) -> Self {
        let common = Common::default();
        Self { size, rails: RailPattern::Any, destinations: 1, queue_pairs: 1, common }
    }
}

const fn single() -> u32 {
    1
}

/// Which NICs a permutation pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RailPattern {
    /// Any two.
    #[default]
    Any,
    /// Two on the same rail, in different servers.
    Same,
    /// Two on different rails, in different servers.
    Other,
}

/// Many send to one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Incast {
    /// What each sends.
    pub size: Bytes,
    /// How many send; all others without it.
    pub senders: Option<u32>,
    /// Who receives: a NIC's name or number.
    pub target: Option<NodeRef>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// Every NIC sends to every other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct AllToAll {
    /// What each sends to each.
    pub size: Bytes,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// A list of flows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Flows {
    /// CSV file, relative to the scenario: `start,source,destination,bytes[,class][,path]`.
    pub file: Option<String>,
    /// The flows themselves.
    #[serde(default)]
    pub list: Vec<FlowEntry>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// One flow of a list.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FlowEntry {
    /// When it starts, counted from the start of its list.
    #[serde(default)]
    pub start: Span,
    /// Who sends: a NIC's name or number.
    pub source: NodeRef,
    /// Who receives.
    pub destination: NodeRef,
    /// How much.
    pub size: Bytes,
    /// Traffic class, if not the list's.
    pub class: Option<u8>,
    /// Switches that data passes through, in order; hashing decides without it.
    #[serde(default)]
    pub path: Vec<String>,
    /// Switches that acknowledgements pass through on their way back.
    #[serde(default)]
    pub ack_path: Vec<String>,
}

/// A node by its name or number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NodeRef {
    /// NICs count from 0.
    Number(u32),
    /// A name as `xoff check` prints it.
    Name(String),
}

/// Random arrivals at a given load.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Poisson {
    /// Share of every NIC's rate that arrives on average.
    pub load: Ratio,
    /// Sizes: `websearch`, `datamining`, `hadoop`, `storage`, or a fixed size like `1MB`.
    pub sizes: String,
    /// Arrivals stop after this time.
    #[serde(rename = "for")]
    pub duration: Span,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// What a run may do without failing.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Allow {
    /// Packets of a lossless class may be dropped.
    pub lossless_drops: bool,
    /// A pause deadlock may form.
    pub deadlock: bool,
    /// Flows may be unfinished at the end.
    pub unfinished: bool,
    /// Requests of `inference` may miss their objective.
    pub objective: bool,
}

/// What is written to the run folder.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Record {
    /// Period of the series in `queues.parquet`; zero turns them off.
    pub period: Span,
    /// Most events kept in `events.parquet`; the rest are counted.
    pub max_events: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self { period: Span::from_us(10), max_events: 1_000_000 }
    }
}
