//! Named costs of collectives, each fitted to what a system measured.

use crate::scenario::CostValues;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Rate, Span};

/// What collectives cost on one system beside its network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveProfile {
    /// Its name in files.
    pub name: String,
    /// What it was fitted to, and how well that worked.
    pub source: String,
    /// Times and rates; what is not given is as in `measured`.
    pub cost: CostValues,
    /// Channels of rings and trees.
    pub channels: Option<u32>,
}

/// What xoff knows by itself: `xoff calibrate` on published AllReduce times from 8 bytes to 16 MiB, each on a single
/// switch with the NICs of that system.
pub(super) fn built_in() -> impl Iterator<Item = CollectiveProfile> {
    let profile = |name: &str, source: &str, cost: CostValues, channels| CollectiveProfile {
        name: name.to_owned(),
        source: source.to_owned(),
        cost,
        channels,
    };
    // In nanoseconds and Mb/s: launch, slice, proxy and copy rate, then slice, proxy and rate with flags.
    let cost = |[launch, slice, proxy, copy, flag_slice, flag_proxy, flag_rate]: [u64; 7]| {
        let (ns, mbps) =
            (|ns| Some(Span::from_ns(ns)), |mbps| Some(Rate::from_bps(mbps * 1_000_000)));
        CostValues {
            launch: ns(launch),
            slice: ns(slice),
            copy_rate: mbps(copy),
            proxy: ns(proxy),
            flag_slice: ns(flag_slice),
            flag_proxy: ns(flag_proxy),
            flag_rate: mbps(flag_rate),
            flags: None,
            // Fitted without it.
            ll128: Some(false),
            ..CostValues::default()
        }
    };
    [
        profile(
            "h100",
            "what `measured` is: NCCL's constants, beside published times of 8 to 256 H100",
            CostValues::default(),
            None,
        ),
        profile(
            "h100-nvlink",
            "8 H100 of one server; mean error 5.6 %",
            cost([8_400, 1_300, 8_000, 188_000, 148, 1_000, 74_600]),
            None,
        ),
        profile(
            "h100-gcp-a3-mega",
            "16 H100 with eight NICs of 200G and their own transport; mean error 6.7 %",
            cost([67_200, 3_000, 32_000, 163_000, 2_780, 4_990, 163_000]),
            Some(2),
        ),
        profile(
            "a100-roce",
            "16 A100 with eight NICs of 200G; mean error 5.4 %",
            cost([15_200, 3_000, 1_740, 188_000, 621, 2_000, 91_000]),
            Some(11),
        ),
        profile(
            "a100-infiniband",
            "16 A100 with eight NICs of 200G; mean error 3.2 %",
            cost([13_300, 1_600, 492, 167_000, 300, 1_000, 54_500]),
            Some(8),
        ),
    ]
    .into_iter()
}

/// Costs of collectives under a name. What is not given is as in `measured`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct CollectiveEntry {
    /// What it was fitted to.
    pub source: Option<String>,
    /// Channels of rings and trees.
    pub channels: Option<u32>,
    /// Times and rates.
    pub cost: CostValues,
}

impl CollectiveEntry {
    pub(super) fn named(&self, name: &str) -> CollectiveProfile {
        CollectiveProfile {
            name: name.to_owned(),
            source: self.source.clone().unwrap_or_else(|| "this file".to_owned()),
            cost: self.cost,
            channels: self.channels,
        }
    }
}
