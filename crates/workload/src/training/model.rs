//! [`Model`]: the shape of a transformer, and how many parameters it has.

use xoff_units::Bytes;

/// The shape of a decoder-only transformer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Transformer layers.
    pub layers: u32,
    /// Width of what goes from layer to layer.
    pub hidden: u32,
    /// Attention heads, which share `hidden` among them.
    pub heads: u32,
    /// Heads of keys and values: fewer than `heads` with grouped queries.
    pub kv_heads: u32,
    /// Width of the feed-forward block (of one expert).
    pub ffn: u32,
    /// Whether the feed-forward block is gated (SwiGLU): three matrices instead of two.
    pub gated: bool,
    /// Tokens it knows.
    pub vocabulary: u32,
    /// Whether the embedding is the output matrix, too.
    pub tied: bool,
    /// Experts, if the feed-forward blocks are mixtures of them.
    pub experts: Option<Experts>,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// Experts of a layer.
    pub count: u32,
    /// Experts that each token goes to.
    pub active: u32,
}

impl Model {
    /// Parameters in all.
    pub fn parameters(&self) -> u64 {
        let layer = self.dense_parameters() + self.expert_parameters();
        let embeddings = if self.tied { 1 } else { 2 } * self.embedding_parameters();
        u64::from(self.layers) * layer + embeddings + u64::from(self.hidden)
    }

    /// Parameters of a layer without its experts: attention, norms, and the feed-forward block or
    /// the router before its experts.
    pub(super) fn dense_parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden);
        let attention = 2 * hidden * hidden + 2 * hidden * self.kv_width();
        let rest = match self.experts {
            Some(experts) => hidden * u64::from(experts.count),
            None => self.block_parameters(),
        };
        attention + 2 * hidden + rest
    }

    /// Parameters of the experts of a layer.
    pub(super) fn expert_parameters(&self) -> u64 {
        self.experts.map_or(0, |experts| u64::from(experts.count) * self.block_parameters())
    }

    /// Parameters of a feed-forward block, or of one expert.
    pub(super) fn block_parameters(&self) -> u64 {
        let matrices = if self.gated { 3 } else { 2 };
        matrices * u64::from(self.hidden) * u64::from(self.ffn)
    }

    /// Parameters of the embedding.
    pub(super) fn embedding_parameters(&self) -> u64 {
        u64::from(self.vocabulary) * u64::from(self.hidden)
    }

    /// Width of the keys, and of the values.
    pub(super) fn kv_width(&self) -> u64 {
        u64::from(self.hidden / self.heads.max(1)) * u64::from(self.kv_heads)
    }

    /// What the cache of keys and values holds of a token, at so many bytes a number: 2 x layers x heads of
    /// keys and values x their width.
    pub fn cache_per_token(&self, element: u32) -> Bytes {
        let numbers = 2 * u64::from(self.layers) * self.kv_width();
        Bytes::new(numbers.saturating_mul(element.into()))
    }

    /// Experts that a token goes to; 1 where there are none.
    pub(super) fn active(&self) -> u32 {
        self.experts.map_or(1, |experts| experts.active)
    }
}
