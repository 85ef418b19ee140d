//! Storage in a scenario file: checkpoints and remote disks.

use super::{Common, ServerSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Ratio, Span};

/// Everybody writes a checkpoint to storage servers, or with `operation = "read"` reads one back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Checkpoint {
    /// The share of each writer.
    pub size: Bytes,
    /// Storage servers: a number (the last ones of the fabric), or a list of names or numbers.
    pub storage: ServerSet,
    /// Servers that write (default: all others).
    pub servers: Option<ServerSet>,
    /// Who has a share: every GPU, by the NIC nearest to it, or every server, by all its NICs.
    #[serde(default)]
    pub each: Writer,
    /// Storage NICs that each share is spread over (default 1).
    pub stripes: Option<u32>,
    /// Each writer begins so much after the one before (default: all at once).
    pub stagger: Option<Span>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// Who has a share of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// Every GPU.
    #[default]
    Gpu,
    /// Every server.
    Server,
}

/// Initiators keep so many blocks under way against the disks of targets (NVMe over RDMA).
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct NvmeOf {
    /// Servers with the disks: a number (the last ones of the fabric), or a list of names or
    /// numbers.
    pub targets: ServerSet,
    /// Servers that read and write (default: all others).
    pub initiators: Option<ServerSet>,
    /// Bytes of an operation.
    pub block: Bytes,
    /// Operations that each NIC of an initiator keeps under way.
    pub queue_depth: u32,
    /// The share of operations that read (default 1: all of them).
    pub reads: Option<Ratio>,
    /// What the disk takes for an operation, whatever else it does (default 0).
    #[serde(default)]
    pub media_latency: Span,
    /// Operations of each NIC of an initiator.
    pub operations: Option<u32>,
    /// Instead: for how long operations begin.
    #[serde(rename = "for")]
    pub duration: Option<Span>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}
