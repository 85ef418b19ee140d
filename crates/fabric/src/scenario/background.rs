//! Background load in a scenario file: traffic of others, in a class of its own.

use super::{Common, ServerSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Ratio, Span};

/// Load that does not wait for anything, in a lossy class if `class` does not say otherwise.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Background {
    /// Share of every NIC's rate that is offered on average.
    pub load: Ratio,
    /// Sizes: `websearch`, `datamining`, `hadoop`, `storage`, a fixed size like `64KB`, or a
    /// `.csv` file.
    pub sizes: String,
    /// Flows begin for so long.
    #[serde(rename = "for")]
    pub duration: Span,
    /// When they begin.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Servers whose NICs take part (default: all).
    pub servers: Option<ServerSet>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// When the flows of a NIC begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At random, as those of many people do.
    #[default]
    Poisson,
    /// One after the other at equal intervals, each NIC from a time of its own.
    Constant,
}
