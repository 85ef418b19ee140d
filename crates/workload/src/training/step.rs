//! [`Step`]: a model, a batch, a parallelism and a GPU that go together.

use super::gpu::Gpu;
use super::model::Model;
use super::parallelism::Parallelism;
use crate::collective::{CollectiveError, Cost, MOST_QUEUES};

/// What one step trains on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// Tokens of a sequence.
    pub sequence: u32,
    /// Sequences of a step, over all data-parallel ranks.
    pub sequences: u32,
    /// Sequences that go through the model at once, on each data-parallel rank.
    pub micro: u32,
}

/// What the backward pass computes a second time instead of keeping it (V. Korthikanti et al., "Reducing
/// activation recomputation in large transformer models", 2022).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recompute {
    /// Nothing.
    #[default]
    Off,
    /// Attention without its projections.
    Selective,
    /// The whole forward pass, with its traffic.
    Full,
}

/// A training step, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub(super) model: Model,
    pub(super) batch: Batch,
    pub(super) parallelism: Parallelism,
    pub(super) gpu: Gpu,
    pub(super) recompute: Recompute,
    /// Bytes of a gradient when it is summed over ranks: 4, or 2 if `half_gradients`.
    pub(super) gradient: u64,
    /// What its collectives cost beside the network.
    pub(super) cost: Cost,
    /// Queue pairs of a connection, used in turn.
    pub(super) queues: u32,
}

/// Why a step cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    /// A number out of its range.
    #[error("`{name}` is {value}; it goes from 1 to {most}")]
    Range {
        /// Which.
        name: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        most: u64,
    },
    /// Something that is to be spread evenly, and cannot be.
    #[error("{value} {what} are not divisible by {divisor} ({by})")]
    Uneven {
        /// What is spread.
        what: &'static str,
        /// How much there is.
        value: u64,
        /// Over what.
        by: &'static str,
        /// Over how many.
        divisor: u64,
    },
    /// Layers that do not fill the pipeline.
    #[error(
        "{layers} layers do not fill {parts} parts of a pipeline evenly: {layers} or {} (a layer \
         less in the first and last part) would have to be divisible by it", .layers + 2
    )]
    Layers {
        /// Layers.
        layers: u32,
        /// Stages times virtual stages.
        parts: u64,
    },
    /// Virtual stages without a pipeline.
    #[error("virtual stages need a pipeline; there is one stage")]
    NoPipeline,
    /// Expert parallelism without experts.
    #[error("expert parallelism needs a model with experts")]
    NoExperts,
    /// More experts for a token than there are.
    #[error("a token cannot go to {active} of {count} experts")]
    Experts {
        /// Experts for a token.
        active: u32,
        /// Experts of a layer.
        count: u32,
    },
    /// Too few or too many ranks.
    #[error("the step takes {wanted} GPUs and is given {given}")]
    Ranks {
        /// What it takes.
        wanted: u64,
        /// What it is given.
        given: u32,
    },
    /// Numbers beyond counting.
    #[error("the step has more bytes or takes more time than can be counted")]
    TooLarge,
    /// A collective that cannot be made.
    #[error(transparent)]
    Collective(#[from] CollectiveError),
}

impl Step {
    /// A step, if everything divides.
    pub fn new(
        model: Model,
        batch: Batch,
        parallelism: Parallelism,
        gpu: Gpu,
    ) -> Result<Self, StepError> {
        let (recompute, gradient, cost) = (Recompute::Off, 4, Cost::MEASURED);
        let step = Self { model, batch, parallelism, gpu, recompute, gradient, cost, queues: 1 };
        step.check_ranges()?;
        step.check_model()?;
        step.check_batch()?;
        Ok(step)
    }

    /// With this much computed twice.
    pub fn recomputing(self, recompute: Recompute) -> Self {
        Self { recompute, ..self }
    }

    /// With collectives that cost this beside the network.
    pub fn costing(self, cost: Cost) -> Self {
        Self { cost, ..self }
    }

    /// With so many queue pairs for each connection, used in turn.
    pub fn with_queues(self, queues: u32) -> Result<Self, StepError> {
        let (value, most) = (u64::from(queues), u64::from(MOST_QUEUES));
        if !(1..=most).contains(&value) {
            return Err(StepError::Range { name: "queues", value, most });
        }
        Ok(Self { queues, ..self })
    }

    /// What its collectives cost beside the network.
    pub fn collective_cost(&self) -> Cost {
        self.cost
    }

    /// With gradients summed in 2 bytes instead of 4.
    pub fn half_gradients(self) -> Self {
        Self { gradient: 2, ..self }
    }

    /// GPUs that it takes.
    pub fn gpus(&self) -> u32 {
        self.parallelism.gpus() as u32
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How its work is spread.
    pub fn parallelism(&self) -> &Parallelism {
        &self.parallelism
    }

    /// Tokens that it trains on.
    pub fn tokens(&self) -> u64 {
        u64::from(self.batch.sequence) * u64::from(self.batch.sequences)
    }

    /// Micro-batches of each data-parallel rank (M).
    pub fn micro_batches(&self) -> u32 {
        self.batch.sequences / self.parallelism.data / self.batch.micro
    }

    /// Layers of part `chunk` of a pipeline stage. Where they do not divide, the first and the last
    /// part have one less than the others, as Llama 3 has it: that is the embedding's and the
    /// output's place.
    pub(super) fn layers(&self, stage: u32, chunk: u32) -> u32 {
        let Parallelism { pipeline, chunks, .. } = self.parallelism;
        let parts = pipeline * chunks;
        let part = chunk * pipeline + stage;
        let short = !self.model.layers.is_multiple_of(parts);
        let end = part == 0 || part == parts - 1;
        self.model.layers.div_ceil(parts) - u32::from(short && end)
    }

    fn check_ranges(&self) -> Result<(), StepError> {
        let (model, batch, spread) = (&self.model, &self.batch, &self.parallelism);
        let experts = model.experts.map_or((1, 1), |experts| (experts.count, experts.active));
        // Far beyond what is built, and such that nothing below overflows.
        let ranges = [
            ("layers", model.layers, 1 << 12),
            ("hidden", model.hidden, 1 << 18),
            ("heads", model.heads, 1 << 12),
            ("kv-heads", model.kv_heads, 1 << 12),
            ("ffn", model.ffn, 1 << 20),
            ("vocabulary", model.vocabulary, 1 << 24),
            ("experts", experts.0, 1 << 12),
            ("active", experts.1, 1 << 12),
            ("sequence", batch.sequence, 1 << 24),
            ("sequences", batch.sequences, 1 << 24),
            ("micro-batch", batch.micro, 1 << 16),
            ("tp", spread.tensor, 1 << 10),
            ("cp", spread.context, 1 << 10),
            ("pp", spread.pipeline, 1 << 10),
            ("virtual-stages", spread.chunks, 1 << 10),
            ("dp", spread.data, 1 << 20),
            ("ep", spread.expert, 1 << 12),
        ];
        let wrong = ranges.into_iter().find(|&(_, value, most)| value == 0 || value > most);
        if let Some((name, value, most)) = wrong {
            return Err(StepError::Range { name, value: value.into(), most: most.into() });
        }
        let numbers = [
            ("GPUs", spread.gpus(), 1 << 20),
            ("peak", self.gpu.peak.per_second(), u64::MAX),
            ("efficiency", self.gpu.efficiency.numerator(), self.gpu.efficiency.denominator()),
        ];
        match numbers.into_iter().find(|&(_, value, most)| value == 0 || value > most) {
            Some((name, value, most)) => Err(StepError::Range { name, value, most }),
            None => Ok(()),
        }
    }

    fn check_model(&self) -> Result<(), StepError> {
        let (model, spread) = (&self.model, &self.parallelism);
        divides("hidden", model.hidden, "heads", model.heads)?;
        divides("heads", model.heads, "kv heads", model.kv_heads)?;
        divides("heads", model.heads, "tensor parallelism", spread.tensor)?;
        divides("kv heads", model.kv_heads, "tensor parallelism", spread.tensor)?;
        divides(
            "columns of the feed-forward block",
            model.ffn,
            "tensor parallelism",
            spread.tensor,
        )?;
        divides("tokens of the vocabulary", model.vocabulary, "tensor parallelism", spread.tensor)?;
        match model.experts {
            None if spread.expert > 1 => return Err(StepError::NoExperts),
            None => {}
            Some(experts) if experts.active > experts.count => {
                let (active, count) = (experts.active, experts.count);
                return Err(StepError::Experts { active, count });
            }
            Some(experts) => {
                divides("experts", experts.count, "expert parallelism", spread.expert)?;
                let (replicas, by) = (spread.replicas(), "expert parallelism");
                divides("context times data ranks", replicas, by, spread.expert)?;
            }
        }
        let parts = u64::from(spread.pipeline) * u64::from(spread.chunks);
        let layers = u64::from(model.layers);
        let short = layers + 2;
        if parts > short || !layers.is_multiple_of(parts) && !short.is_multiple_of(parts) {
            return Err(StepError::Layers { layers: model.layers, parts });
        }
        Ok(())
    }

    fn check_batch(&self) -> Result<(), StepError> {
        let (batch, spread) = (&self.batch, &self.parallelism);
        divides("tokens of a sequence", batch.sequence, "context parallelism", spread.context)?;
        let own = batch.sequence / spread.context;
        divides("tokens of a context rank", own, "tensor parallelism", spread.tensor)?;
        divides("sequences", batch.sequences, "data parallelism", spread.data)?;
        let own = batch.sequences / spread.data;
        divides("sequences of a data rank", own, "micro-batch", batch.micro)?;
        if spread.chunks > 1 && spread.pipeline == 1 {
            return Err(StepError::NoPipeline);
        }
        if spread.chunks > 1 {
            // The schedule of virtual stages goes in rounds of one micro-batch per stage.
            divides("micro-batches", self.micro_batches(), "pipeline stages", spread.pipeline)?;
        }
        Ok(())
    }
}

fn divides(
    what: &'static str,
    value: u32,
    by: &'static str,
    divisor: u32,
) -> Result<(), StepError> {
    if value.is_multiple_of(divisor) {
        return Ok(());
    }
    Err(StepError::Uneven { what, value: value.into(), by, divisor: divisor.into() })
}
