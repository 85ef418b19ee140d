//! Work in rounds in a scenario file: parameter servers and halo exchange.

use super::{Common, PlacementSetting, ServerSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Span};

/// Workers send gradients to servers, which send parameters back.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ParameterServer {
    /// Servers of parameters: a number (the last ones of the fabric), or a list. Each of their NICs
    /// has an equal part.
    pub servers: ServerSet,
    /// Servers whose GPUs work (default: all others).
    pub workers: Option<ServerSet>,
    /// Gradients of a worker; parameters are as many bytes.
    pub size: Bytes,
    /// What a worker computes before it sends (default 0).
    #[serde(default)]
    pub compute: Span,
    /// What a server computes when all gradients are there (default 0).
    #[serde(default)]
    pub update: Span,
    /// Rounds (default 1).
    pub rounds: Option<u32>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// Ranks on a grid swap the faces of their cells with their neighbours, round by round.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Halo {
    /// Ranks along each side of the grid, two or three.
    pub grid: Vec<u32>,
    /// Bytes of a face.
    pub size: Bytes,
    /// Whether the grid goes round: whoever is at an edge has the other edge as a neighbour
    /// (default true).
    pub periodic: Option<bool>,
    /// What a rank computes before it sends (default 0).
    #[serde(default)]
    pub compute: Span,
    /// Rounds (default 1).
    pub rounds: Option<u32>,
    /// Which GPUs take part, and in which order: the last side of the grid counts first.
    #[serde(default)]
    pub placement: PlacementSetting,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}
