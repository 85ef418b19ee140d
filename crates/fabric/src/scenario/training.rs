//! Training steps in a scenario file.

use super::{Common, CostSetting, PlacementSetting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Ratio;

/// A training step of a transformer: computing, and everything that its GPUs send each other.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct TrainingStep {
    /// The model: `llama-2-7b`, `llama-2-13b`, `llama-3-8b`, `llama-3-70b`, `llama-3-405b`, `gpt-3-175b`,
    /// `mixtral-8x7b`, `deepseek-v3`, or its shape as a table; or, data-parallel alone, `dlrm-dcnv2`, `resnet-50`,
    /// `sdxl-unet`.
    pub model: ModelSetting,
    /// Layers, if only the first of the model are to be trained (default: all).
    pub layers: Option<u32>,
    /// Tokens of a sequence (default: those of the named model, or 8192).
    pub sequence: Option<u32>,
    /// Sequences or samples that go through the model at once, on each data-parallel rank (default 1; of a model that
    /// is no transformer: its own).
    pub micro_batch: Option<u32>,
    /// Micro-batches of each data-parallel rank (default 1).
    pub micro_batches: Option<u32>,
    /// Tensor parallelism, with sequence parallelism (default 1).
    pub tp: Option<u32>,
    /// Context parallelism (default 1).
    pub cp: Option<u32>,
    /// Pipeline stages (default 1).
    pub pp: Option<u32>,
    /// Parts of the model that each pipeline stage has (default 1).
    pub virtual_stages: Option<u32>,
    /// Data parallelism (default: what is left of the GPUs).
    pub dp: Option<u32>,
    /// Expert parallelism, over context and data ranks (default 1).
    pub ep: Option<u32>,
    /// Most servers that a token goes to, where experts are spread over servers: it is sent once to each and passed on by
    /// NVLink (default: as the model says; without it a token is sent to every one of its experts).
    pub expert_servers: Option<u32>,
    /// In which precision tokens go to their experts (default: as the model says, or `bf16`). They come back in BF16.
    pub dispatch: Option<DispatchSetting>,
    /// ZeRO stage, 0 to 3 (default 1; models that are no transformers: 0).
    pub zero: Option<u32>,
    /// What is computed a second time in the backward pass.
    #[serde(default)]
    pub recompute: RecomputeSetting,
    /// The GPU: `a100`, `h100`, `h200` or `b200` (default `h100`).
    pub gpu: Option<String>,
    /// Its peak in TFLOP/s, if not that of the named GPU.
    pub peak_tflops: Option<u32>,
    /// The share of the peak that the kernels of a layer reach (default: of the named GPU).
    pub efficiency: Option<Ratio>,
    /// Queue pairs of a connection, used in turn (default: `queue-pairs` of the fabric's `[transport]`, or 1).
    pub qps: Option<u32>,
    /// How many steps are made (default 1).
    pub repeat: Option<u32>,
    /// Which GPUs take part, and in which order.
    #[serde(default)]
    pub placement: PlacementSetting,
    /// What its collectives cost beside the network: `fabric` (default: what its `[collectives]` says, or
    /// `measured`), `measured`, `none`, or a table of times and rates.
    #[serde(default)]
    pub cost: CostSetting,
    /// What all kinds have in common.
    #[serde(flatten)]
    pub common: Common,
}

impl TrainingStep {
    /// One step of a model with every default.
    pub fn new(model: ModelSetting) -> Self {
        Self {
            model,
            layers: None,
            sequence: None,
            micro_batch: None,
            micro_batches: None,
            tp: None,
            cp: None,
            pp: None,
            virtual_stages: None,
            dp: None,
            ep: None,
            expert_servers: None,
            dispatch: None,
            zero: None,
            recompute: RecomputeSetting::default(),
            gpu: None,
            peak_tflops: None,
            efficiency: None,
            qps: None,
            repeat: None,
            placement: PlacementSetting::default(),
            cost: CostSetting::default(),
            common: Common::default(),
        }
    }
}

/// What is computed a second time instead of being kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecomputeSetting {
    /// Nothing.
    #[default]
    Off,
    /// Attention without its projections.
    Selective,
    /// The whole forward pass.
    Full,
}

/// In which precision tokens go to their experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DispatchSetting {
    /// Two bytes a number.
    Bf16,
    /// One byte a number, and four for the scale of every 128.
    Fp8,
}

/// A model, by name or shape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ModelSetting {
    /// By name.
    Name(String),
    /// By shape.
    Shape(ModelShape),
}

/// The shape of a decoder-only transformer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct ModelShape {
    /// Transformer layers.
    pub layers: u32,
    /// Width of what goes from layer to layer.
    pub hidden: u32,
    /// Attention heads.
    pub heads: u32,
    /// Heads of keys and values (default: as many as `heads`).
    pub kv_heads: Option<u32>,
    /// Width of the feed-forward block, or of one expert.
    pub ffn: u32,
    /// Whether the feed-forward block is gated: three matrices instead of two (default true).
    pub gated: Option<bool>,
    /// Tokens it knows.
    pub vocabulary: u32,
    /// Experts of a layer (default: none).
    pub experts: Option<u32>,
    /// Experts that each token goes to (default 2).
    pub active: Option<u32>,
    /// Experts of a layer that every token passes beside those (default 0).
    pub shared_experts: Option<u32>,
    /// Layers at the beginning that have a feed-forward block instead of experts (default 0).
    pub dense_layers: Option<u32>,
    /// Width of that block (default: `ffn`).
    pub dense_ffn: Option<u32>,
}
