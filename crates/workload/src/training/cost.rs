//! What a GPU computes for one micro-batch, and what its groups send for it.

use super::groups::Comm;
use super::step::{Step, StepError};
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
    head: f64,
}

impl Step {
    /// Two operations for every parameter and token; attention multiplies every token with those
    /// before it, twice.
    fn operations(&self) -> Operations {
        let model = &self.model;
        let hidden = f64::from(model.hidden);
        let tokens = f64::from(self.batch.micro) * f64::from(self.batch.sequence);
        let router = model.experts.map_or(0.0, |experts| hidden * f64::from(experts.count));
        let block = model.block_parameters() as f64 * f64::from(model.active()) + router;
        Operations {
            keys: 2.0 * tokens * hidden * 2.0 * model.kv_width() as f64,
            queries: 2.0 * tokens * hidden * hidden,
            attention: 2.0 * tokens * f64::from(self.batch.sequence) * hidden,
            output: 2.0 * tokens * hidden * hidden,
            block: 2.0 * tokens * block,
            head: 2.0 * tokens * model.embedding_parameters() as f64,
        }
    }

    /// Operations that the step is worth: forward once, backward twice, nothing that is computed again.
    pub(super) fn worth(&self) -> f64 {
        let one = self.operations();
        let layer = one.keys + one.queries + one.attention + one.output + one.block;
        let micro_batches = f64::from(self.batch.sequences / self.batch.micro);
        3.0 * (f64::from(self.model.layers) * layer + one.head) * micro_batches
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
    Experts,
    /// Parameters of a layer or their gradients, without experts.
    Layer(Half),
    /// Parameters of a layer's experts or their gradients.
    ExpertLayer(Half),
    /// Parameters of the embedding or output matrix.
    Embedding(Half),
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

impl Step {
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
    /// 2024, section 3.3.2), of which a tensor rank has its share; experts 2bshk over the tensor ranks, there and
    /// back; data 4n for gradients in FP32 and 2n for parameters in BF16 (the same, and S. Rajbhandari et al.,
    /// 2020, section 7).
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
                let width = u128::from(self.model.kv_width());
                (half, 2 * u128::from(ELEMENT) * tokens * width / tensor)
            }
            Call::Experts => (Half::Both, activations * active / tensor),
            Call::Layer(half) => (half, of_parameters(self.layer_share(), half)),
            Call::ExpertLayer(half) => (half, of_parameters(self.expert_share(), half)),
            Call::Embedding(half) => (half, of_parameters(self.embedding_share(), half)),
        };
        let collective = match (call, half) {
            (Call::Experts, _) => Collective::AllToAll,
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

    /// Parameters of a layer on one GPU, without experts. Norms and router are on all of them.
    fn layer_share(&self) -> u64 {
        let model = &self.model;
        let hidden = u64::from(model.hidden);
        let whole = 2 * hidden + model.experts.map_or(0, |e| hidden * u64::from(e.count));
        (model.dense_parameters() - whole) / u64::from(self.parallelism.tensor) + whole
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
            Call::Experts => Comm::Expert,
            Call::Layer(_) | Call::Embedding(_) => Comm::Data,
            Call::ExpertLayer(_) => Comm::ExpertData,
        }
    }
}
