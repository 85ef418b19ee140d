//! What a GPU computes for one micro-batch, and what its groups send for it.

use super::groups::Comm;
use super::model::Dispatch;
use super::parallelism::Parallelism;
use super::step::StepError;
use super::subject::Transformer;
use crate::collective::Collective;
use xoff_units::{Bytes, Span};

/// Time of the parts of a forward pass on one GPU. A backward pass takes twice as long: gradients of
/// what went in, and of the weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// Projection to keys and values.
    pub(super) keys: Span,
    /// Projection to queries.
    pub(super) queries: Span,
    /// Attention itself, causal: half of all pairs of tokens.
    pub(super) attention: Span,
    /// Projection of its result.
    pub(super) output: Span,
    /// Feed-forward block, or router and experts.
    pub(super) block: Span,
    /// Feed-forward block of the first layers, where only later ones have experts.
    pub(super) leading: Span,
    /// Output matrix, on the last stage.
    pub(super) head: Span,
}

/// Operations of the parts of a forward pass for one micro-batch, over all GPUs that share it.
struct Operations {
    keys: f64,
    queries: f64,
    attention: f64,
    output: f64,
    block: f64,
    leading: f64,
    head: f64,
}

impl Transformer<'_> {
    /// Two operations for every parameter and token; attention multiplies every token with those
    /// before it, twice.
    fn operations(&self) -> Operations {
        let model = self.model;
        let tokens = f64::from(self.batch.micro) * f64::from(self.batch.sequence);
        let router = model.router_parameters() as f64;
        let block = model.block_parameters() as f64 * f64::from(model.blocks()) + router;
        let attention = model.attention();
        Operations {
            keys: 2.0 * tokens * attention.keys as f64,
            queries: 2.0 * tokens * attention.queries as f64,
            attention: tokens * f64::from(self.batch.sequence) * attention.widths as f64,
            output: 2.0 * tokens * attention.output as f64,
            block: 2.0 * tokens * block,
            leading: 2.0 * tokens * model.leading_block() as f64,
            head: 2.0 * tokens * model.embedding_parameters() as f64,
        }
    }

    /// Operations that the step is worth: forward once, backward twice, nothing that is computed again.
    pub(super) fn worth(&self) -> f64 {
        let one = self.operations();
        let layer = one.keys + one.queries + one.attention + one.output + one.block;
        let micro_batches = f64::from(self.batch.sequences / self.batch.micro);
        let layers = f64::from(self.model.layers) * layer
            + f64::from(self.model.leading_layers()) * (one.leading - one.block);
        3.0 * (layers + one.head) * micro_batches
    }

    pub(super) fn cost(&self) -> Cost {
        let all = self.operations();
        let share = f64::from(self.parallelism.tensor) * f64::from(self.parallelism.context);
        let time = |operations: f64| self.gpu.time(operations / share);
        Cost {
            keys: time(all.keys),
            queries: time(all.queries),
            attention: time(all.attention),
            output: time(all.output),
            block: time(all.block),
            leading: time(all.leading),
            head: time(all.head),
        }
    }
}

/// Which half of an AllReduce, or all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Half {
    Gather,
    Scatter,
    Both,
}

/// What ranks of a group do together at a point of the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    /// Tokens of the tensor ranks, around attention.
    Tokens(Half),
    /// Tokens of the tensor ranks, around the feed-forward block: with experts, each as often as it
    /// goes to one.
    Block(Half),
    /// Keys and values of the context ranks, or their gradients.
    Keys(Half),
    /// Tokens to their experts, or back.
    Experts(Way, Reach),
    /// Parameters of a layer or their gradients, without experts.
    Layer(Half),
    /// The same of a layer that has no experts though others have.
    Leading(Half),
    /// Parameters of a layer's experts or their gradients.
    ExpertLayer(Half),
    /// Parameters of the embedding or output matrix.
    Embedding(Half),
    /// Of a recommender: which rows are wanted, to the tables that have them.
    Indices,
    /// Of a recommender: rows, summed over each feature, to the samples that want them, or their gradients back.
    Pooled,
    /// Gradients of a model that every rank has whole, by the number of the bucket.
    Bucket(u32),
}

/// Which way tokens go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// To their experts.
    Dispatch,
    /// Back.
    Combine,
}

/// Over which ranks of an expert-parallel group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// All, each token as often as it goes to an expert.
    All,
    /// Those in the same place of each server, each token once for every server.
    Servers,
    /// Those of one server, each token as often as it goes to an expert.
    Inside,
}

/// Bytes of an activation and of a parameter (BF16).
const ELEMENT: u64 = 2;

/// A call's group, kind and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) comm: Comm,
    pub(super) collective: Collective,
    /// As nccl-tests counts: of the larger buffer of a rank.
    pub(super) size: Bytes,
}

impl Transformer<'_> {
    /// Tokens of a micro-batch that a tensor-parallel group has.
    fn own_tokens(&self) -> u128 {
        let tokens = u128::from(self.batch.micro) * u128::from(self.batch.sequence);
        tokens / u128::from(self.parallelism.context)
    }

    /// What a call is.
    ///
    /// With b sequences of s tokens, width h, k experts per token and n parameters on a GPU: tensor
    /// 2bsh, twice forward and twice backward in a layer, each time a ReduceScatter and an AllGather
    /// (V. Korthikanti et al., 2022, section 4.2.2); context 2 x 2 x b x s x the keys' width (The Llama 3 Herd of Models,
    /// 2024, section 3.3.2), of which a tensor rank has its share, or 2 x b x s x the compressed width, which each has
    /// whole; experts 2bshk over the tensor ranks, there and back (in FP8 half as much there, and scales); data 4n for
    /// gradients in FP32 and 2n for parameters in BF16 (the same, and S. Rajbhandari et al., 2020, section 7).
    pub(super) fn event(&self, call: Call) -> Result<Event, StepError> {
        let spread = &self.parallelism;
        let tensor = u128::from(spread.tensor);
        let activations = u128::from(ELEMENT) * self.own_tokens() * u128::from(self.model.hidden);
        let active = u128::from(self.model.active());
        let of_parameters = |parameters: u64, half: Half| {
            let element = if half == Half::Gather { ELEMENT } else { self.gradient };
            u128::from(parameters) * u128::from(element)
        };
        let (half, size) = match call {
            Call::Tokens(half) => (half, activations),
            Call::Block(half) => (half, activations * active),
            Call::Keys(half) => {
                let tokens = self.own_tokens() * u128::from(spread.context);
                let share = if self.model.latent.is_some() { 1 } else { tensor };
                let numbers = u128::from(self.model.kept_numbers());
                (half, u128::from(ELEMENT) * tokens * numbers / share)
            }
            Call::Experts(way, reach) => {
                let copies = self.own_tokens() * u128::from(self.copies(reach));
                (Half::Both, copies * u128::from(self.routed_token(way)) / tensor)
            }
            Call::Layer(half) => (half, of_parameters(self.layer_share(), half)),
            Call::Leading(half) => (half, of_parameters(self.leading_share(), half)),
            Call::ExpertLayer(half) => (half, of_parameters(self.expert_share(), half)),
            Call::Embedding(half) => (half, of_parameters(self.embedding_share(), half)),
            // Of other models.
            Call::Indices | Call::Pooled | Call::Bucket(_) => (Half::Both, 0),
        };
        let collective = match (call, half) {
            (Call::Experts(..), _) => Collective::AllToAll,
            (_, Half::Gather) => Collective::AllGather,
            (_, Half::Scatter) => Collective::ReduceScatter,
            (_, Half::Both) => Collective::AllReduce,
        };
        let size = u64::try_from(size).map_err(|_| StepError::TooLarge)?;
        Ok(Event { comm: call.comm(), collective, size: Bytes::new(size) })
    }

    /// What a stage sends to the next for one micro-batch, from each GPU: its share of the tokens.
    pub(super) fn hand_over(&self) -> Result<Bytes, StepError> {
        let all = u128::from(ELEMENT) * self.own_tokens() * u128::from(self.model.hidden);
        let share = all / u128::from(self.parallelism.tensor);
        u64::try_from(share).map(Bytes::new).map_err(|_| StepError::TooLarge)
    }

    /// Whether tokens go once to each server of their experts, and on from there by NVLink.
    pub(super) fn routes_by_servers(&self) -> bool {
        let Parallelism { expert, expert_node, .. } = self.parallelism;
        let limited = self.model.experts.is_some_and(|experts| experts.servers.is_some());
        limited && expert_node > 1 && expert > expert_node
    }

    /// How often a token is sent.
    fn copies(&self, reach: Reach) -> u32 {
        let Parallelism { expert, expert_node, .. } = self.parallelism;
        let active = self.model.active();
        let limit = self.model.experts.and_then(|experts| experts.servers).unwrap_or(active);
        match reach {
            Reach::Inside => active,
            Reach::Servers => active.min(limit).min(expert / expert_node.max(1)),
            // Where every rank is in a server of its own, the limit is one of ranks.
            Reach::All if expert_node == 1 && expert > 1 => active.min(limit),
            Reach::All => active,
        }
    }

    /// Bytes of a token on its way to an expert or back.
    fn routed_token(&self, way: Way) -> u64 {
        let dispatch = match (way, self.model.experts) {
            (Way::Dispatch, Some(experts)) => experts.dispatch,
            _ => Dispatch::Bf16,
        };
        dispatch.token(self.model.hidden)
    }

    /// Parameters of a layer on one GPU, without experts. Norms, router and what attention is compressed by are on all
    /// of them.
    fn layer_share(&self) -> u64 {
        let model = self.model;
        let whole =
            2 * u64::from(model.hidden) + model.router_parameters() + model.attention().whole;
        (model.dense_parameters() - whole) / u64::from(self.parallelism.tensor) + whole
    }

    /// The same of a layer that has no experts though others have.
    fn leading_share(&self) -> u64 {
        let model = self.model;
        let whole = 2 * u64::from(model.hidden) + model.attention().whole;
        (model.leading_parameters() - whole) / u64::from(self.parallelism.tensor) + whole
    }

    /// Parameters of a layer's experts on one GPU.
    fn expert_share(&self) -> u64 {
        let gpus = u64::from(self.parallelism.tensor) * u64::from(self.parallelism.expert);
        self.model.expert_parameters() / gpus
    }

    fn embedding_share(&self) -> u64 {
        self.model.embedding_parameters() / u64::from(self.parallelism.tensor)
    }
}

impl Call {
    /// The group that does it.
    pub(super) const fn comm(self) -> Comm {
        match self {
            Call::Tokens(_) | Call::Block(_) => Comm::Tensor,
            Call::Keys(_) => Comm::Context,
            Call::Experts(_, Reach::All) => Comm::Expert,
            Call::Experts(_, Reach::Servers) => Comm::ExpertRail,
            Call::Experts(_, Reach::Inside) => Comm::ExpertServer,
            Call::Layer(_) | Call::Leading(_) | Call::Embedding(_) => Comm::Data,
            Call::ExpertLayer(_) => Comm::ExpertData,
            Call::Indices | Call::Pooled => Comm::Tables,
            Call::Bucket(_) => Comm::Data,
        }
    }
}
