//! `[[tenant]]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody who uses the fabric beside others. Tenants of one class share its queues and its pauses;
/// tenants of different classes are meant to be apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct TenantEntry {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Class of its RDMA data, 0 to 7 (default: that of `[traffic]`).
    #[schemars(range(min = 0, max = 7))]
    pub class: Option<u8>,
}
