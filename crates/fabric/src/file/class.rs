//! `[[class]]` and `[traffic]`.

use super::EcnSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Ratio, Span};

/// A traffic class that differs from the default one of its number: 0 is best effort, 3 is RDMA
/// (lossless, DSCP 26), 6 is congestion notification (strict, DSCP 48), the others are lossy.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ClassEntry {
    /// Class, priority and queue number, 0 to 7.
    #[schemars(range(min = 0, max = 7))]
    pub id: u8,
    /// Name in tables.
    pub name: Option<String>,
    /// DSCPs that belong to it; NICs write the first.
    pub dscp: Option<Vec<u8>>,
    /// Whether PFC protects it.
    pub lossless: Option<bool>,
    /// `"strict"`, or a weight.
    pub scheduling: Option<SchedulingEntry>,
    /// ECN marking, where it differs from `[ecn]`.
    pub ecn: Option<EcnSettings>,
    /// Buffer that belongs to one port and this class alone.
    pub reserved: Option<Bytes>,
    /// Share of the free shared buffer at ingress, where it differs from `[pfc]`.
    pub alpha: Option<Ratio>,
    /// Share of the free shared buffer that one egress queue of a lossy class may take.
    pub egress_alpha: Option<Ratio>,
    /// Instead of a share: an egress queue of a lossy class holds what its port sends in this time.
    pub egress_delay: Option<Span>,
}

/// A class's turn at the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SchedulingEntry {
    /// A share in proportion to this.
    Weight(u32),
    /// Before all weighted classes.
    Word(Strict),
}

/// The word `strict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strict {
    /// Before all weighted classes.
    Strict,
}

/// Which traffic uses which class.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Traffic {
    /// RDMA data (default 3).
    pub data: Option<u8>,
    /// Acknowledgements (default: as the data they answer).
    pub ack: Option<ClassRef>,
    /// Congestion notification packets (default 6).
    pub cnp: Option<ClassRef>,
}

/// A class by number, or `"data"` for the class of the data it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ClassRef {
    /// This class.
    Id(u8),
    /// The class of the data.
    Word(SameAsData),
}

/// The word `data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SameAsData {
    /// The class of the data.
    Data,
}
