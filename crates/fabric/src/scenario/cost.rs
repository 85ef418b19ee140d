//! What collectives cost beside the network, in a scenario file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Rate, Span};

/// What collectives cost beside the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CostSetting {
    /// By name.
    Named(CostName),
    /// By value; what is not given is as measured.
    Own(CostValues),
}

impl Default for CostSetting {
    fn default() -> Self {
        Self::Named(CostName::Fabric)
    }
}

/// Sets of costs that have a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CostName {
    /// What `[collectives]` of the fabric file says; without that `measured`.
    #[default]
    Fabric,
    /// What agrees with published measurements (`docs/collectives.md`).
    Measured,
    /// Nothing: what the network alone would allow.
    None,
}

/// Costs by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct CostValues {
    /// From the call to the first step (default 8.4us).
    pub launch: Option<Span>,
    /// How much longer than `launch` NVLS takes to begin, and again for each level of a tree between servers (default 16.6us).
    pub nvls_launch: Option<Span>,
    /// What a channel of a GPU spends on every slice that it receives behind a fence (default 3us).
    pub slice: Option<Span>,
    /// Rate at which a channel copies and adds up what it receives (default 188Gbps, that is 23.5 GB/s).
    pub copy_rate: Option<Rate>,
    /// What the hosts' proxies add to a slice that crosses the network (default 8us).
    pub proxy: Option<Span>,
    /// Rate at which a GPU takes in what pairs exchange over the network (AllToAll, sends), all its channels together
    /// (default: as fast as it comes).
    pub pair_rate: Option<Rate>,
    /// What a channel spends on a small slice whose data carries flags (default 0.2us).
    pub flag_slice: Option<Span>,
    /// What the proxies add to such a slice (default 1us).
    pub flag_proxy: Option<Span>,
    /// Rate at which a channel takes in data with flags (default 70.4Gbps, that is 8.8 GB/s).
    pub flag_rate: Option<Rate>,
    /// What a channel spends on a slice with a flag in every 128 bytes (LL128; default 2us).
    pub ll128_slice: Option<Span>,
    /// What the proxies add to a slice with LL128 (default 5us).
    pub ll128_proxy: Option<Span>,
    /// Rate at which a channel takes in data with LL128 (default 136Gbps, that is 17 GB/s).
    pub ll128_rate: Option<Rate>,
    /// Whether slices may carry flags, where that is faster (default true).
    pub flags: Option<bool>,
    /// Whether these may be the flags of LL128 (default true; NCCL uses it where GPUs have NVLink and NICs are near them).
    pub ll128: Option<bool>,
}

/// What queue pairs the sizes of a sweep have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionsSetting {
    /// Every size begins with new ones: no congestion control remembers the size before.
    #[default]
    Fresh,
    /// Sizes with the same algorithm share them, as processes that run one size after the other do.
    Kept,
}
