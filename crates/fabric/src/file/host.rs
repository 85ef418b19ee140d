//! `[nic.pcie]` and `[[host]]`: what lies between a NIC and the memory of its server.

use super::{NicDscp, ReceiveSettings};
use crate::rules::pcie::Slot;
use crate::scenario::NodeRef;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use xoff_units::{Bytes, PacketRate, Span};

/// How NICs reach the memory of their server. What is not given does not limit them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct PcieSettings {
    /// Generation and lanes of the slot (default: enough for the NIC, gen5 x16 at 400Gbps).
    pub slot: Option<SlotSetting>,
    /// Largest payload of a transaction (default 256B).
    pub max_payload: Option<Bytes>,
    /// Largest read that the NIC asks for at a time (default 512B).
    pub max_read_request: Option<Bytes>,
    /// Whether writes into memory may overtake each other (default true).
    pub relaxed_ordering: Option<bool>,
    /// Whether an IOMMU translates every access (default false); `"passthrough"` translates none.
    pub iommu: Option<IommuSetting>,
    /// Pages that the IOMMU maps (default 4KiB).
    pub iommu_page: Option<Bytes>,
    /// From a read request to its data (default 700ns, an estimate).
    pub read_latency: Option<Span>,
    /// From a write to its place in the order of memory: with strict ordering 4KiB are under way in
    /// this time (default 220ns, fitted to a measured 150Gbps).
    pub write_latency: Option<Span>,
    /// Time that a page costs which the IOMMU has to look up (default 205ns, fitted to a measured
    /// 160Gbps with pages of 4KiB).
    pub page_walk: Option<Span>,
}

/// A PCIe slot in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct SlotSetting(pub Slot);

impl std::str::FromStr for SlotSetting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl TryFrom<String> for SlotSetting {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SlotSetting> for String {
    fn from(setting: SlotSetting) -> String {
        setting.0.to_string()
    }
}

impl JsonSchema for SlotSetting {
    fn schema_name() -> Cow<'static, str> {
        "SlotSetting".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let what = "generation and lanes of a PCIe slot";
        let pattern = r"^\s*[gG][eE][nN]\s*\+?0*[1-6]\s*[xX]\s*\+?0*(?:1|2|4|8|16)\s*$";
        json_schema!({
            "type": "string",
            "pattern": pattern,
            "description": what,
            "examples": ["gen5 x16"]
        })
    }
}

/// What an IOMMU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum IommuSetting {
    /// It translates every access, or there is none.
    Translates(bool),
    /// It is there and translates nothing for this device.
    Word(Passthrough),
}

/// The word `passthrough`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Passthrough {
    /// Addresses are not translated.
    Passthrough,
}

/// Servers or NICs that differ from the others. Where several entries are about one NIC, what the later ones say
/// counts, key by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct HostEntry {
    /// Servers, by name or by number from 0: all their NICs are meant.
    pub servers: Vec<NodeRef>,
    /// Single NICs that are meant as well.
    pub nics: Vec<NodeRef>,
    /// How they reach memory, where it differs from `[nic.pcie]`.
    pub pcie: PcieSettings,
    /// A receive side that can be slower than the wire, instead of that of `[nic.receive]`.
    pub receive: Option<ReceiveSettings>,
    /// Packets that they send, and packets that they take in, in a second, instead of `packet-rate` of `[nic]`.
    pub packet_rate: Option<PacketRate>,
    /// DSCPs that they write, instead of those of `[nic.dscp]`.
    pub dscp: NicDscp,
}
