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

/// What xoff knows by itself, fitted to what was published of each system. `docs/collectives.md` has the error of each, which a test
/// computes.
pub(super) fn built_in() -> impl Iterator<Item = CollectiveProfile> {
    let profile = |name: &str, source: &str, cost: CostValues, channels| CollectiveProfile {
        name: name.to_owned(),
        source: source.to_owned(),
        cost,
        channels,
    };
    // In nanoseconds and Mb/s: launch, slice, proxy and copy rate; slice, proxy and rate with flags, and the same with LL128.
    let cost =
        |[launch, slice, proxy, copy]: [u64; 4], flags: [u64; 3], lines: Option<[u64; 3]>| {
            let (ns, mbps) =
                (|ns| Some(Span::from_ns(ns)), |mbps| Some(Rate::from_bps(mbps * 1_000_000)));
            let [flag_slice, flag_proxy, flag_rate] = flags;
            CostValues {
                launch: ns(launch),
                slice: ns(slice),
                copy_rate: mbps(copy),
                proxy: ns(proxy),
                flag_slice: ns(flag_slice),
                flag_proxy: ns(flag_proxy),
                flag_rate: mbps(flag_rate),
                ll128_slice: lines.and_then(|lines| ns(lines[0])),
                ll128_proxy: lines.and_then(|lines| ns(lines[1])),
                ll128_rate: lines.and_then(|lines| mbps(lines[2])),
                ll128: lines.is_none().then_some(false),
                ..CostValues::default()
            }
        };
    // With flags as in `measured`.
    let usual = ([200, 1_000, 70_400], Some([2_000, 5_000, 136_000]));
    [
        profile(
            "h100",
            "what `measured` is: NCCL's constants, beside published times of 8 to 256 H100",
            CostValues::default(),
            None,
        ),
        profile(
            "h100-nvlink",
            "AllReduce of 8 H100 of one server",
            cost([8_400, 1_300, 8_000, 188_000], [148, 1_000, 74_600], None),
            None,
        ),
        profile(
            "h100-efa",
            "AllReduce of 16, AllGather and AllToAll of 16 to 256 H100 with EFA of 3.2 Tb/s per server",
            CostValues {
                nvls_launch: Some(Span::from_ns(70_000)),
                pair_rate: Some(Rate::from_gbps(340)),
                ..cost(
                    [8_400, 3_000, 20_000, 176_000],
                    [200, 16_000, 70_400],
                    Some([2_000, 20_000, 136_000]),
                )
            },
            None,
        ),
        profile(
            "h100-efa-early",
            "AllReduce of 8 B and 1 KiB on 16 H100 with the first software for EFA",
            cost([160_000, 3_000, 8_000, 188_000], usual.0, usual.1),
            None,
        ),
        profile(
            "h100-gcp-a3-mega",
            "AllReduce of 16 H100 with eight NICs of 200G, their own transport and NVLS off",
            cost([67_200, 3_000, 32_000, 163_000], [2_780, 4_990, 163_000], None),
            Some(2),
        ),
        profile(
            "b200-efa",
            "AllReduce of 32 B200 with eight NICs of 400G and EFA",
            cost([268_000, 3_000, 8_000, 208_000], usual.0, usual.1),
            None,
        ),
        profile(
            "a100-roce",
            "AllReduce of 16 A100 with eight NICs of 200G and RoCE",
            cost(
                [16_800, 3_000, 8_000, 188_000],
                [400, 2_000, 76_100],
                Some([2_000, 1_900, 141_000]),
            ),
            None,
        ),
        profile(
            "a100-infiniband",
            "AllReduce of 16 A100 with eight NICs of 200G and InfiniBand",
            cost([13_300, 1_600, 492, 167_000], [300, 1_000, 54_500], None),
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
