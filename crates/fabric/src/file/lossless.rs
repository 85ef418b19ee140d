//! `[pfc]` and `[ecn]`.

use super::adaptive::AdaptiveSettings;
use crate::model::Marking;
use crate::schema::pattern;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use xoff_units::{Bytes, Rate, Ratio, Span};

/// Priority flow control.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Pfc {
    /// Whether lossless classes are paused at all.
    pub enabled: bool,
    /// An ingress queue may take this share of the free shared buffer before it pauses
    /// (default 1/8).
    pub alpha: Option<Ratio>,
    /// A fixed size at which it pauses, instead of a share.
    pub xoff: Option<Bytes>,
    /// Alpha holds at the NIC's rate and doubles with every doubling of the port's.
    pub scale_alpha_with_rate: bool,
    /// How far below the threshold the occupancy must fall to resume.
    pub xon_offset: Bytes,
    /// `"auto"`, a size per port and class, or `"3 delays"`: what the link carries in so many of
    /// its one-way delays.
    pub headroom: HeadroomSetting,
    /// A pause frame on the wire, with preamble and gap.
    pub frame: Bytes,
    /// Pause time in quanta of 512 bit times, or `"until-resume"`.
    pub quanta: Quanta,
    /// Time a port takes to obey: `"standard"` (IEEE 802.3 31B.3.7), or a time.
    pub response: ResponseSetting,
}

impl Default for Pfc {
    fn default() -> Self {
        Self {
            enabled: true,
            alpha: None,
            xoff: None,
            scale_alpha_with_rate: false,
            xon_offset: Bytes::new(18 * 1024),
            headroom: HeadroomSetting::Auto,
            frame: Bytes::new(84),
            quanta: Quanta::Count(u16::MAX),
            response: ResponseSetting::Standard,
        }
    }
}

/// How long a pause lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Quanta {
    /// So many quanta, refreshed before they run out.
    Count(u16),
    /// Until a resume.
    Word(UntilResume),
}

/// The word `until-resume`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UntilResume {
    /// A pause lasts until it is taken back.
    UntilResume,
}

/// How headroom is sized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum HeadroomSetting {
    /// As much as the cable, rate, MTU and silicon need.
    Auto,
    /// What the link carries in so many one-way delays.
    Delays(Ratio),
    /// This much.
    Size(Bytes),
}

/// How fast a port obeys a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum ResponseSetting {
    /// As late as the standard allows.
    Standard,
    /// After this time.
    After(Span),
}

impl FromStr for HeadroomSetting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "auto" {
            return Ok(HeadroomSetting::Auto);
        }
        let delays = text.strip_suffix("delays").or_else(|| text.strip_suffix("delay"));
        if let Some(count) = delays {
            return count.trim().parse().map(HeadroomSetting::Delays).map_err(|e| e.to_string());
        }
        text.parse().map(HeadroomSetting::Size).map_err(|error| {
            format!("{error}; headroom may also be `auto` or a number of delays like `3 delays`")
        })
    }
}

impl fmt::Display for HeadroomSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeadroomSetting::Auto => f.write_str("auto"),
            HeadroomSetting::Delays(count) => write!(f, "{count} delays"),
            HeadroomSetting::Size(size) => write!(f, "{size}"),
        }
    }
}

impl FromStr for ResponseSetting {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "standard" {
            return Ok(ResponseSetting::Standard);
        }
        text.parse()
            .map(ResponseSetting::After)
            .map_err(|error| format!("{error}; the response may also be `standard`"))
    }
}

impl fmt::Display for ResponseSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResponseSetting::Standard => f.write_str("standard"),
            ResponseSetting::After(time) => write!(f, "{time}"),
        }
    }
}

macro_rules! as_text {
    ($type:ident, $what:literal, $example:literal, $pattern:expr) => {
        impl TryFrom<String> for $type {
            type Error = String;
            fn try_from(text: String) -> Result<Self, String> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(setting: $type) -> String {
                setting.to_string()
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "pattern": format!("^(?:{})$", $pattern),
                    "description": $what,
                    "examples": [$example]
                })
            }
        }
    };
}

as_text!(
    HeadroomSetting,
    "`auto`, a size, or a number of one-way delays",
    "auto",
    [r"\s*auto\s*", &pattern::<Bytes>(), &(pattern::<Ratio>() + r"delays?\s*")].join("|")
);
as_text!(
    ResponseSetting,
    "`standard` or a time",
    "standard",
    [r"\s*standard\s*", &pattern::<Span>()].join("|")
);

/// ECN marking at egress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct EcnSettings {
    /// Whether queues mark (default: lossless classes do).
    pub enabled: Option<bool>,
    /// Queue length at which marking starts (default 400KB).
    pub kmin: Option<Bytes>,
    /// Queue length above which every packet is marked (default 1.6MB).
    pub kmax: Option<Bytes>,
    /// Probability just below `kmax` (default 0.2).
    pub pmax: Option<Ratio>,
    /// Port rate for which the thresholds are given (default 400Gbps).
    pub at: Option<Rate>,
    /// Other rates get thresholds in proportion (default true).
    pub scale: Option<bool>,
    /// When a packet is marked (only in `[ecn]`; default `dequeue`).
    pub mark: Option<MarkName>,
    /// Who tells senders of congestion (only in `[ecn]`; default `receiver`).
    pub notify: Option<NotifyName>,
    /// With `notify = "switch"`: a switch notifies each flow at most once in this time (only in `[ecn]`;
    /// default 4us).
    pub notify_interval: Option<Span>,
    /// A controller on every switch that moves the thresholds while traffic runs (only in `[ecn]`).
    pub adaptive: Option<AdaptiveSettings>,
}

/// When a packet is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MarkName {
    /// When it leaves its queue, on the length of what is left.
    Dequeue,
    /// When it joins its queue, on the length of what waits before it.
    Enqueue,
}

/// Who tells senders of congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NotifyName {
    /// Receivers of marked packets.
    Receiver,
    /// The switch that would mark a packet, which then does not (FastECN).
    Switch,
}

impl EcnSettings {
    /// When switches mark, and who notifies senders.
    pub fn marking(&self) -> Marking {
        let interval = self.notify_interval.unwrap_or(Span::from_us(4));
        Marking {
            at_enqueue: self.mark == Some(MarkName::Enqueue),
            notify: (self.notify == Some(NotifyName::Switch)).then_some(interval),
        }
    }
}
