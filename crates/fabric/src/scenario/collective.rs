//! Collectives in a scenario file: what ranks do together, as NCCL runs it.

use super::{Common, ConnectionsSetting, CostSetting};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use xoff_units::{Bytes, Span};

/// What ranks do together, once or over a range of sizes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Collective {
    /// Bytes, counted as nccl-tests does: of the larger buffer of a rank.
    pub size: Option<Bytes>,
    /// Several sizes instead, one after the other: powers of two times the first, like
    /// `"1MiB..8GiB"`.
    pub sizes: Option<SizeRange>,
    /// How often each size runs (default 1).
    pub repeat: Option<u32>,
    /// How it is done (default `auto`).
    pub algorithm: AlgorithmSetting,
    /// Channels: parts of the data that go their own ways (default: by NCCL's rules).
    pub channels: Option<u32>,
    /// Queue pairs of a connection, used in turn (default: `queue-pairs` of the fabric's `[transport]`, or 1).
    pub qps: Option<u32>,
    /// GPUs that take part (default: all, or all that `placement` lists).
    pub ranks: Option<u32>,
    /// Which GPUs take part, and in which order.
    pub placement: PlacementSetting,
    /// What it costs beside the network: `fabric` (default: what its `[collectives]` says, or `measured`), `measured`, `none`, or a
    /// table of times and rates.
    pub cost: CostSetting,
    /// Whether each size of `sizes` begins with new queue pairs (`fresh`, the default) or goes on with those of the
    /// sizes before it (`kept`). Repetitions of a size always keep theirs.
    pub connections: ConnectionsSetting,
    /// Ranks come to it up to so much late, each by a time of its own that is drawn evenly (default: all at once).
    pub late: Option<Span>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// A collective in which one rank has a part of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Rooted {
    /// The rank that has all data before (broadcast, scatter) or after (gather, reduce) (default 0).
    pub root: u32,
    /// What all collectives have in common.
    #[serde(flatten)]
    pub collective: Collective,
}

/// A collective in which every rank has a piece for every other.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Exchanged {
    /// How uneven it is: what the busiest rank is sent over what ranks are sent in the mean, from 1 to the number of ranks
    /// (default 1). All ranks have the same favourites, as tokens have experts; loads fall as a power of the place in
    /// an order that is drawn.
    pub skew: Option<f64>,
    /// A file with what every rank has for every other, instead of `size` and `sizes`: numbers of bytes between blanks, a
    /// line per sender, as nccl-tests' `alltoallv_perf` reads it; relative to the scenario.
    pub matrix: Option<String>,
    /// What all collectives have in common.
    #[serde(flatten)]
    pub collective: Collective,
}

impl From<Collective> for Exchanged {
    fn from(collective: Collective) -> Self {
        Self { skew: None, matrix: None, collective }
    }
}

/// How a collective is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlgorithmSetting {
    /// As NCCL's tuner would choose for the size.
    #[default]
    Auto,
    /// Along a ring through all ranks; a chain for broadcast and reduce.
    Ring,
    /// Along two binary trees over the servers.
    Tree,
    /// Scattered inside the servers, along a ring per rail, gathered inside the servers.
    Rail,
    /// From rank to rank, each by its own NIC.
    Pairwise,
    /// From rank to rank, by the NIC that is on the receiver's rail.
    Pxn,
    /// Everybody writes to everybody at once, each by its own NIC, as low-latency kernels for mixtures of experts do.
    Direct,
    /// Inside one server by its NVSwitches, which add up and copy; needs `nvls` under `[cluster]`.
    Nvls,
    /// The same in every server, and along two trees between them; needs `nvls` under `[cluster]`.
    NvlsTree,
    /// Up and down trees of switches that add up what they are sent; needs `aggregation` under `[switch]`.
    InNetwork,
    /// Along the trees of all chunks at once, several chunks in a message (NCCL's PAT); all-gather and reduce-scatter with one rank per server.
    Pat,
}

/// Which GPUs take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PlacementSetting {
    /// By rule.
    Rule(PlacementRule),
    /// These GPUs, counted through the servers from 0, rank by rank.
    Gpus(Vec<u32>),
}

impl Default for PlacementSetting {
    fn default() -> Self {
        Self::Rule(PlacementRule::Packed)
    }
}

/// How GPUs are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementRule {
    /// The first ones, server by server.
    #[default]
    Packed,
    /// Whole servers, drawn at random.
    Fragmented,
}

/// Sizes from the first to the last, each twice the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SizeRange {
    /// The first; not zero.
    first: Bytes,
    /// None is larger; not below the first.
    last: Bytes,
}

impl SizeRange {
    /// From `first` to `last`; none if that is no range.
    pub fn new(first: Bytes, last: Bytes) -> Option<Self> {
        (!first.is_zero() && first <= last).then_some(Self { first, last })
    }

    /// The sizes.
    pub fn iter(self) -> impl Iterator<Item = Bytes> {
        let doubled = |size: &Bytes| size.get().checked_mul(2).map(Bytes::new);
        std::iter::successors(Some(self.first), doubled).take_while(move |&size| size <= self.last)
    }
}

impl FromStr for SizeRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let form = "sizes are a range like `1MiB..8GiB`";
        let (first, last) = text.split_once("..").ok_or(form)?;
        let size = |text: &str| text.trim().parse::<Bytes>().map_err(|e| format!("{e}; {form}"));
        let (first, last) = (size(first)?, size(last)?);
        Self::new(first, last)
            .ok_or_else(|| format!("there are no sizes from {first} to {last}; {form}"))
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

impl TryFrom<String> for SizeRange {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SizeRange> for String {
    fn from(range: SizeRange) -> String {
        range.to_string()
    }
}

impl JsonSchema for SizeRange {
    fn schema_name() -> Cow<'static, str> {
        "SizeRange".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let what = "sizes from the first to the last, each twice the one before";
        let size = crate::schema::pattern::<Bytes>();
        json_schema!({
            "type": "string",
            "pattern": format!(r"^{size}\.\.{size}$"),
            "description": what,
            "examples": ["1MiB..8GiB"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_double() {
        let range: SizeRange = "1MiB..8MiB".parse().unwrap();
        let sizes: Vec<u64> = range.iter().map(Bytes::get).collect();
        assert_eq!(sizes, [1 << 20, 2 << 20, 4 << 20, 8 << 20]);
        let range: SizeRange = " 3B .. 13B ".parse().unwrap();
        assert_eq!(range.iter().map(Bytes::get).collect::<Vec<_>>(), [3, 6, 12]);
        assert_eq!(range.to_string().parse(), Ok(range));
        let all = SizeRange::new(Bytes::new(1), Bytes::MAX).unwrap();
        assert_eq!(all.iter().count(), 64);
    }

    #[test]
    fn what_is_no_range_says_what_one_is() {
        for text in ["", "1MiB", "8MiB..1MiB", "0B..1MiB", "1MiB..", "..", "a..b", "1..2..3"] {
            let error = text.parse::<SizeRange>().unwrap_err();
            assert!(error.contains("1MiB..8GiB"), "{text}: {error}");
        }
    }
}
