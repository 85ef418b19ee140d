//! Serving in a scenario file: the key-value caches that prefill servers hand to decode servers.

use super::{Common, ServerSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Span};

/// Requests whose key-value cache goes from the server that read the prompt to the one that
/// answers it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct KvCache {
    /// Servers that read prompts: a number (the first ones of the fabric), or a list.
    pub prefill: ServerSet,
    /// Servers that answer: a number (the last ones of the fabric), or a list.
    pub decode: ServerSet,
    /// The model, by name: a token has 2 x layers x kv heads x head dimension x bytes.
    pub model: Option<String>,
    /// Bytes of a number in the cache (default 2).
    pub element_bytes: Option<u32>,
    /// Bytes of a token, instead of a model's.
    pub bytes_per_token: Option<Bytes>,
    /// Tokens of a prompt: a number, or two for anything between them.
    pub tokens: TokenSetting,
    /// Requests in a second, on average, of all servers together.
    pub requests_per_second: u32,
    /// Requests in all.
    pub requests: u32,
    /// What a transfer may take.
    pub objective: Option<Span>,
    /// Queue pairs between two NICs, used in turn (default: `queue-pairs` of the fabric's `[transport]`, or 1).
    pub qps: Option<u32>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// Tokens of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TokenSetting {
    /// Always as many.
    Fixed(u32),
    /// From the first to the second, each equally likely.
    Between([u32; 2]),
}

impl TokenSetting {
    /// The least and the most.
    pub fn bounds(self) -> (u32, u32) {
        match self {
            Self::Fixed(tokens) => (tokens, tokens),
            Self::Between([least, most]) => (least, most),
        }
    }
}
