//! Serving in a scenario file: the key-value caches that prefill servers hand to decode servers, alone or with the
//! computing around them.

use super::{Common, ServerSet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Ratio, Span};

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

/// Requests from their arrival to their last token: prompts are read by prefill servers, their caches go to decode servers,
/// and these answer token by token. A server is one instance of the model, over all its GPUs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct Inference {
    /// Servers that read prompts: a number (the first ones of the fabric), or a list.
    pub prefill: ServerSet,
    /// Servers that answer: a number (the last ones of the fabric), or a list.
    pub decode: ServerSet,
    /// The model, by name: a transformer.
    pub model: String,
    /// The GPU: `a100`, `h100`, `h200` or `b200` (default `h100`).
    pub gpu: Option<String>,
    /// Its peak in TFLOP/s, if not that of the named GPU.
    pub peak_tflops: Option<u32>,
    /// The share of the peak that prompts are read at (default: of the named GPU).
    pub efficiency: Option<Ratio>,
    /// The share of its memory's rate that answers are computed at (default 0.7).
    pub memory_efficiency: Option<Ratio>,
    /// Bytes of a number in the cache (default 2).
    pub element_bytes: Option<u32>,
    /// Bytes of a weight (default 2).
    pub weight_bytes: Option<u32>,
    /// A JSONL file of requests, relative to the scenario: `timestamp` in milliseconds, `input_length`,
    /// `output_length`. Without it they come at random.
    pub trace: Option<String>,
    /// Requests in a second, on average, of all servers together (Poisson), without a trace.
    pub requests_per_second: Option<u32>,
    /// Requests in all (of a trace: at most so many, from its beginning).
    pub requests: Option<u32>,
    /// Tokens of a prompt, without a trace: a number, or two for anything between them.
    pub input: Option<TokenSetting>,
    /// Tokens of an answer, without a trace: a number, or two for anything between them.
    pub output: Option<TokenSetting>,
    /// When the cache of a prompt is sent.
    #[serde(default)]
    pub transfer: TransferSetting,
    /// Most requests that a decode server answers at once (default 256).
    pub max_batch: Option<u32>,
    /// What a request may take. The run fails if too few requests keep to it.
    pub objective: Option<ServingObjective>,
    /// Queue pairs between two NICs, used in turn (default: `queue-pairs` of the fabric's `[transport]`, or 1).
    pub qps: Option<u32>,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

/// When the cache of a prompt is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TransferSetting {
    /// Layer by layer, as each has been computed.
    #[default]
    Layer,
    /// All of it when the prompt has been read.
    Whole,
}

/// What a request may take, and how many must keep to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ServingObjective {
    /// From its arrival to its first token.
    pub ttft: Option<Span>,
    /// For each token after the first, on average over the request.
    pub tpot: Option<Span>,
    /// The share of all requests that must keep to both (default 0.99).
    pub share: Option<Ratio>,
}
