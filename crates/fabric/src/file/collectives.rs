//! `[collectives]`: what collectives cost on the GPUs and hosts of a cluster.

use crate::scenario::CostSetting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What collectives cost on the GPUs and hosts of the cluster, for workloads that say nothing of it. `xoff calibrate`
/// fits it to measurements.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct CollectiveSettings {
    /// A profile from the catalogue (`xoff catalogue collectives`), or one of `[catalogue.collectives]`.
    pub profile: Option<String>,
    /// Instead of a profile: `measured`, `none`, or a table of times and rates.
    pub cost: Option<CostSetting>,
    /// Channels of rings and trees (default: the profile's, or two per NIC of a server).
    pub channels: Option<u32>,
}
