//! Servers of a scenario by role: who stores, who computes.

use super::NodeRef;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Servers that do something: so many, or these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ServerSet {
    /// So many.
    Count(u32),
    /// These, by name or by number from 0.
    List(Vec<NodeRef>),
}
