//! Rules that hold at some switches only: at those of a tier (`[switch.spine]`), or at single ones (`[[device]]`).

use super::WatchdogSettings;
use super::{EcnSettings, HashSettings, HeadroomSetting, SchedulingEntry, SwitchSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use xoff_units::{Bytes, Ratio, Span};

/// The switches of one tier.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct TierSettings {
    /// Their own behaviour.
    #[serde(flatten)]
    pub own: SwitchSettings,
    /// What differs from `[ecn]`, `[pfc]` and `[[class]]`.
    #[serde(flatten)]
    pub(crate) rules: LocalRules,
}

/// Read as what `[switch]` says of all.
impl Deref for TierSettings {
    type Target = SwitchSettings;

    fn deref(&self) -> &SwitchSettings {
        &self.own
    }
}

/// What differs at some switches from `[ecn]`, `[pfc]` and `[[class]]`, key by key.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct LocalRules {
    /// ECN marking, where it differs from `[ecn]`.
    pub ecn: Option<EcnSettings>,
    /// Priority flow control, where it differs from `[pfc]`.
    pub pfc: Option<LocalPfc>,
    /// Traffic classes that differ from those of the fabric.
    #[serde(rename = "class")]
    pub classes: Vec<LocalClass>,
}

/// Priority flow control at some switches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct LocalPfc {
    /// Whether lossless classes are paused at all. Ports where they are not neither send pauses nor obey them.
    pub enabled: Option<bool>,
    /// An ingress queue may take this share of the free shared buffer before it pauses.
    pub alpha: Option<Ratio>,
    /// A fixed size at which it pauses, instead of a share.
    pub xoff: Option<Bytes>,
    /// How far below the threshold the occupancy must fall to resume.
    pub xon_offset: Option<Bytes>,
    /// Headroom per port and class, as in `[pfc]`.
    pub headroom: Option<HeadroomSetting>,
}

/// A traffic class at some switches, where it differs from that of the fabric. NICs do not know of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct LocalClass {
    /// Class, priority and queue number, 0 to 7.
    #[schemars(range(min = 0, max = 7))]
    pub id: u8,
    /// DSCPs that these switches put into it, and no others; those that it has elsewhere are best effort here.
    pub dscp: Option<Vec<u8>>,
    /// Whether PFC protects it.
    pub lossless: Option<bool>,
    /// `"strict"`, or a weight.
    pub scheduling: Option<SchedulingEntry>,
    /// ECN marking.
    pub ecn: Option<EcnSettings>,
    /// Buffer that belongs to one port and this class alone.
    pub reserved: Option<Bytes>,
    /// Share of the free shared buffer at ingress.
    pub alpha: Option<Ratio>,
    /// Share of the free shared buffer that one egress queue of a lossy class may take.
    pub egress_alpha: Option<Ratio>,
    /// Instead of a share: an egress queue of a lossy class holds what its port sends in this time.
    pub egress_delay: Option<Span>,
}

/// Single switches that differ from the others of their tier. Where several entries are about one switch, what the
/// later ones say counts.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct DeviceEntry {
    /// The switch, like `"spine3"`.
    pub name: Option<String>,
    /// Several switches, or patterns of names in which `*` stands for anything, like `["leaf0", "spine*"]`.
    pub names: Vec<String>,
    /// PFC watchdog.
    pub watchdog: Option<WatchdogSettings>,
    /// How flows are spread over equal paths.
    pub hash: Option<HashSettings>,
    /// What differs from `[ecn]`, `[pfc]` and `[[class]]`.
    #[serde(flatten)]
    pub rules: LocalRules,
}
