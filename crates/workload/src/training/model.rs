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
    /// Keys and values that are kept compressed, if they are.
    pub latent: Option<Latent>,
    /// Experts, if the feed-forward blocks are mixtures of them.
    pub experts: Option<Experts>,
}

/// Multi-head latent attention (DeepSeek-AI, DeepSeek-V2, 2024, section 2.1): queries, keys and values go through a
/// narrow projection, and only the narrow form of keys and values is cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latent {
    /// Width that queries are compressed to.
    pub query_rank: u32,
    /// Width that keys and values are compressed to.
    pub kv_rank: u32,
    /// Width of a head's queries and keys without position.
    pub plain: u32,
    /// Width of their part with position; keys have one for all heads.
    pub rotary: u32,
    /// Width of a head's values.
    pub value: u32,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Experts {
    /// Experts of a layer that tokens are routed to.
    pub count: u32,
    /// Experts that each token goes to.
    pub active: u32,
    /// Experts of a layer that every token passes, wherever it is.
    pub shared: u32,
    /// Layers at the beginning that have a feed-forward block instead.
    pub dense_layers: u32,
    /// Width of that block.
    pub dense_ffn: u32,
    /// Most servers that a token goes to, if routing is limited. It is then sent once to each, and passed on by NVLink.
    pub servers: Option<u32>,
    /// In which precision tokens go to their experts. They come back in BF16.
    pub dispatch: Dispatch,
}

/// In which precision tokens go to their experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dispatch {
    /// Two bytes a number.
    #[default]
    Bf16,
    /// One byte a number, and four for the scale of every 128.
    Fp8,
}

impl Dispatch {
    /// Bytes of a token of this width.
    pub(super) fn token(self, hidden: u32) -> u64 {
        match self {
            Self::Bf16 => 2 * u64::from(hidden),
            Self::Fp8 => u64::from(hidden) + 4 * u64::from(hidden.div_ceil(128)),
        }
    }
}

impl Experts {
    /// So many experts in every layer, of which each token goes to some, wherever they are.
    pub const fn plain(count: u32, active: u32) -> Self {
        let (shared, dense_layers, dense_ffn) = (0, 0, 0);
        let dispatch = Dispatch::Bf16;
        Self { count, active, shared, dense_layers, dense_ffn, servers: None, dispatch }
    }
}

/// The matrices of attention: how many parameters each has.
pub(super) struct Attention {
    /// Keys and values.
    pub(super) keys: u64,
    pub(super) queries: u64,
    pub(super) output: u64,
    /// Of these, what every tensor rank has whole.
    pub(super) whole: u64,
    /// Width of queries and of values, over all heads: what scores and sums are computed over.
    pub(super) widths: u64,
}

impl Model {
    /// Parameters in all.
    pub fn parameters(&self) -> u64 {
        let dense = self.leading_layers();
        let mixed = u64::from(self.layers) - u64::from(dense);
        let layers = u64::from(dense) * self.leading_parameters()
            + mixed * (self.dense_parameters() + self.expert_parameters());
        let embeddings = if self.tied { 1 } else { 2 } * self.embedding_parameters();
        layers + embeddings + u64::from(self.hidden)
    }

    /// Parameters that a token meets: without the experts that it does not go to.
    pub fn active_parameters(&self) -> u64 {
        let Some(experts) = self.experts else { return self.parameters() };
        let unused = u64::from(experts.count - experts.active.min(experts.count));
        let mixed = u64::from(self.layers - self.leading_layers());
        self.parameters() - mixed * unused * self.block_parameters()
    }

    /// Layers at the beginning that have no experts though others have.
    pub(super) fn leading_layers(&self) -> u32 {
        self.experts.map_or(0, |experts| experts.dense_layers.min(self.layers))
    }

    /// The matrices of a layer's attention.
    pub(super) fn attention(&self) -> Attention {
        let (hidden, heads) = (u64::from(self.hidden), u64::from(self.heads));
        let Some(latent) = self.latent else {
            let square = hidden * hidden;
            let keys = 2 * hidden * self.kv_width();
            return Attention {
                keys,
                queries: square,
                output: square,
                whole: 0,
                widths: 2 * hidden,
            };
        };
        let Latent { query_rank, kv_rank, plain, rotary, value } = latent;
        let [query_rank, kv_rank, plain, rotary, value] =
            [query_rank, kv_rank, plain, rotary, value].map(u64::from);
        // Down to the narrow width, its norm, and up to all heads.
        let down = hidden * (kv_rank + rotary) + kv_rank;
        let queries_down = hidden * query_rank + query_rank;
        Attention {
            keys: down + kv_rank * heads * (plain + value),
            queries: queries_down + query_rank * heads * (plain + rotary),
            output: heads * value * hidden,
            whole: down + queries_down,
            widths: heads * (plain + rotary + value),
        }
    }

    fn attention_parameters(&self) -> u64 {
        let Attention { keys, queries, output, .. } = self.attention();
        keys + queries + output
    }

    /// Parameters of a layer without its experts: attention, norms, and the feed-forward block or
    /// the router and shared experts beside its experts.
    pub(super) fn dense_parameters(&self) -> u64 {
        let hidden = u64::from(self.hidden);
        let rest = match self.experts {
            Some(experts) => self.router_parameters() + self.shared_parameters(&experts),
            None => self.block_parameters(),
        };
        self.attention_parameters() + 2 * hidden + rest
    }

    /// Parameters of a layer at the beginning that has no experts though others have.
    pub(super) fn leading_parameters(&self) -> u64 {
        self.attention_parameters() + 2 * u64::from(self.hidden) + self.leading_block()
    }

    /// Parameters of such a layer's feed-forward block.
    pub(super) fn leading_block(&self) -> u64 {
        self.block_of(self.experts.map_or(0, |experts| experts.dense_ffn))
    }

    /// Parameters of a layer's router.
    pub(super) fn router_parameters(&self) -> u64 {
        self.experts.map_or(0, |e| u64::from(self.hidden) * u64::from(e.count))
    }

    fn shared_parameters(&self, experts: &Experts) -> u64 {
        u64::from(experts.shared) * self.block_parameters()
    }

    /// Parameters of the experts of a layer that tokens are routed to.
    pub(super) fn expert_parameters(&self) -> u64 {
        self.experts.map_or(0, |experts| u64::from(experts.count) * self.block_parameters())
    }

    /// Parameters of a feed-forward block, or of one expert.
    pub(super) fn block_parameters(&self) -> u64 {
        self.block_of(self.ffn)
    }

    fn block_of(&self, ffn: u32) -> u64 {
        let matrices = if self.gated { 3 } else { 2 };
        matrices * u64::from(self.hidden) * u64::from(ffn)
    }

    /// Parameters of the embedding.
    pub(super) fn embedding_parameters(&self) -> u64 {
        u64::from(self.vocabulary) * u64::from(self.hidden)
    }

    /// Width of the keys, and of the values, as attention has them without compression.
    fn kv_width(&self) -> u64 {
        u64::from(self.hidden / self.heads.max(1)) * u64::from(self.kv_heads)
    }

    /// Numbers that a layer keeps of a token for the attention of later ones.
    pub(super) fn kept_numbers(&self) -> u64 {
        match self.latent {
            Some(latent) => u64::from(latent.kv_rank) + u64::from(latent.rotary),
            None => 2 * self.kv_width(),
        }
    }

    /// What the cache of keys and values holds of a token, at so many bytes a number: 2 x layers x heads of
    /// keys and values x their width, or layers x the compressed width.
    pub fn cache_per_token(&self, element: u32) -> Bytes {
        let numbers = u64::from(self.layers) * self.kept_numbers();
        Bytes::new(numbers.saturating_mul(element.into()))
    }

    /// Experts that a token is routed to; 1 where there are none.
    pub(super) fn active(&self) -> u32 {
        self.experts.map_or(1, |experts| experts.active)
    }

    /// Feed-forward blocks that a token passes in a layer: experts that it is routed to, and shared ones.
    pub(super) fn blocks(&self) -> u32 {
        self.experts.map_or(1, |experts| experts.active.saturating_add(experts.shared))
    }
}
