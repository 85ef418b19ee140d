//! `[links]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Length, Rate, Ratio, Span};

/// Cables, for all tiers and per tier.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Links {
    /// For all cables.
    #[serde(flatten)]
    pub all: LinkSettings,
    /// Between NICs and leaves.
    pub host: LinkSettings,
    /// Between leaves and spines.
    pub leaf_spine: LinkSettings,
    /// Between spines and cores.
    pub spine_core: LinkSettings,
}

/// A kind of cable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LinkSettings {
    /// Rate in each direction (default: the NIC's at hosts, the silicon's between switches).
    pub rate: Option<Rate>,
    /// Length (default 5m at hosts, 30m to spines, 100m to cores).
    pub length: Option<Length>,
    /// One-way delay with everything in it, instead of a length.
    pub delay: Option<Span>,
    /// Optics or copper from the catalogue (default: the cheapest that reach).
    pub media: Option<String>,
    /// Bits in error after FEC; each costs a packet (default 0).
    pub bit_error_rate: Option<Ratio>,
    /// Share of packets lost besides (default 0).
    pub loss: Option<Ratio>,
    /// Cables between the same two switches (default: as many as the uplinks need).
    pub parallel: Option<u32>,
}
