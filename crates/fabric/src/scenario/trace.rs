//! Traces in a scenario file.

use super::{AlgorithmSetting, Common, CostSetting, PlacementSetting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Ratio;

/// A trace of a job, replayed: its computing, messages, collectives and dependencies.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TraceReplay {
    /// The trace: a file, or a folder with one per rank, relative to this file. Chakra, GOAL, SimAI,
    /// AICB, PyTorch profiler JSON or NCCL logs, recognised by content.
    pub path: String,
    /// What it is, where its beginning does not tell: `chakra`, `goal`, `simai`, `kineto` or `nccl`.
    pub format: Option<String>,
    /// What computing times are multiplied by (default 1).
    pub compute_scale: Option<Ratio>,
    /// The GPU that computes where the trace says how many FLOPs and not how long: `a100`, `h100`, `h200`
    /// or `b200` (default `h100`).
    pub gpu: Option<String>,
    /// Leaves out what cannot be replayed, and says what, instead of refusing the trace.
    #[serde(default)]
    pub lenient: bool,
    /// How many times the ranks of the trace are there, side by side (default 1).
    pub replicas: Option<u32>,
    /// Groups of the trace, by name, that span all replicas. Those of a SimAI workload that are data
    /// parallel always do.
    #[serde(default)]
    pub replica_groups: Vec<String>,
    /// How collectives are done, where they have this algorithm (default `auto`).
    #[serde(default)]
    pub algorithm: AlgorithmSetting,
    /// Queue pairs of a connection, used in turn (default: `queue-pairs` of the fabric's `[transport]`, or 1).
    pub qps: Option<u32>,
    /// How often it runs (default 1).
    pub repeat: Option<u32>,
    /// Which GPUs take part, and in which order.
    #[serde(default)]
    pub placement: PlacementSetting,
    /// What its collectives cost beside the network: `fabric` (default: what its `[collectives]` says, or
    /// `measured`), `measured`, `none`, or a table of times and rates.
    #[serde(default)]
    pub cost: CostSetting,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

impl TraceReplay {
    /// A trace with every default.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            format: None,
            compute_scale: None,
            gpu: None,
            lenient: false,
            replicas: None,
            replica_groups: Vec::new(),
            algorithm: AlgorithmSetting::default(),
            qps: None,
            repeat: None,
            placement: PlacementSetting::default(),
            cost: CostSetting::default(),
            common: Common::default(),
        }
    }
}
