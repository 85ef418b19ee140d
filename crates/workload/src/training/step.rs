//! [`Step`]: a model, a batch, a parallelism and a GPU that go together.

use super::cost::{Call, Event};
use super::gpu::Gpu;
use super::model::{Experts, Model};
use super::parallelism::{Parallelism, Zero};
use super::subject::{Recommender, Subject, Transformer, Whole};
use crate::collective::{CollectiveError, Cost, MOST_QUEUES};
use xoff_units::Bytes;

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
    pub(super) subject: Subject,
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
        "{layers} layers do not fill {parts} parts of a pipeline evenly: {layers}, {} (a layer less in the first and \
         last part), or {} or {} with layers in all parts would have to be divisible by it",
        .layers + 2, .layers + 1, .layers + 3
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
    /// A step of a transformer, if everything divides.
    pub fn new(
        model: Model,
        batch: Batch,
        parallelism: Parallelism,
        gpu: Gpu,
    ) -> Result<Self, StepError> {
        let step = Self::unchecked(Subject::Transformer(model), batch, parallelism, gpu);
        step.check_ranges()?;
        let transformer = Transformer { step: &step, model: &model };
        transformer.check_ranges()?;
        transformer.check_model()?;
        step.check_batch()?;
        Ok(step)
    }

    /// A step of a recommender, whose tables are spread over all ranks, each with so many samples.
    pub fn of_recommender(
        model: Recommender,
        samples: u32,
        ranks: u32,
        gpu: Gpu,
    ) -> Result<Self, StepError> {
        Self::data_parallel(Subject::Recommender(model), samples, 1, ranks, gpu)
    }

    /// A step of a model that every rank has whole, each with so many samples in every one of its micro-batches.
    pub fn of_whole(
        model: Whole,
        samples: u32,
        micro_batches: u32,
        ranks: u32,
        gpu: Gpu,
    ) -> Result<Self, StepError> {
        Self::data_parallel(Subject::Whole(model), samples, micro_batches, ranks, gpu)
    }

    fn data_parallel(
        subject: Subject,
        samples: u32,
        micro_batches: u32,
        ranks: u32,
        gpu: Gpu,
    ) -> Result<Self, StepError> {
        let sequences = samples.saturating_mul(micro_batches).saturating_mul(ranks);
        let batch = Batch { sequence: 1, sequences, micro: samples };
        let spread = Parallelism { data: ranks, zero: Zero::Off, ..Parallelism::default() };
        let step = Self::unchecked(subject, batch, spread, gpu);
        step.check_ranges()?;
        step.check_batch()?;
        Ok(step)
    }

    fn unchecked(subject: Subject, batch: Batch, parallelism: Parallelism, gpu: Gpu) -> Self {
        let (recompute, gradient, cost) = (Recompute::Off, 4, Cost::MEASURED);
        Self { subject, batch, parallelism, gpu, recompute, gradient, cost, queues: 1 }
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

    /// What it trains.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What a call is.
    pub(super) fn event(&self, call: Call) -> Result<Event, StepError> {
        match &self.subject {
            Subject::Transformer(model) => Transformer { step: self, model }.event(call),
            Subject::Recommender(model) => model.event(self, call),
            Subject::Whole(model) => model.event(self, call),
        }
    }

    /// What a stage sends to the next for one micro-batch, from each GPU.
    pub(super) fn hand_over(&self) -> Result<Bytes, StepError> {
        match &self.subject {
            Subject::Transformer(model) => Transformer { step: self, model }.hand_over(),
            Subject::Recommender(_) | Subject::Whole(_) => Ok(Bytes::ZERO),
        }
    }

    /// Operations that the step is worth: forward once, backward twice, nothing that is computed again.
    pub(super) fn worth(&self) -> f64 {
        let samples = f64::from(self.batch.sequences);
        match &self.subject {
            Subject::Transformer(model) => Transformer { step: self, model }.worth(),
            Subject::Recommender(model) => 3.0 * samples * model.operations() as f64,
            Subject::Whole(model) => 3.0 * samples * model.operations as f64,
        }
    }

    /// How its work is spread.
    pub fn parallelism(&self) -> &Parallelism {
        &self.parallelism
    }

    /// Tokens that it trains on; samples, if it is no transformer.
    pub fn tokens(&self) -> u64 {
        u64::from(self.batch.sequence) * u64::from(self.batch.sequences)
    }

    /// Micro-batches of each data-parallel rank (M).
    pub fn micro_batches(&self) -> u32 {
        self.batch.sequences / self.parallelism.data / self.batch.micro
    }

    fn check_ranges(&self) -> Result<(), StepError> {
        let (batch, spread) = (&self.batch, &self.parallelism);
        // Far beyond what is built, and such that nothing below overflows.
        in_range(&[
            ("sequence", batch.sequence, 1 << 24),
            ("sequences", batch.sequences, 1 << 24),
            ("micro-batch", batch.micro, 1 << 16),
            ("tp", spread.tensor, 1 << 10),
            ("cp", spread.context, 1 << 10),
            ("pp", spread.pipeline, 1 << 10),
            ("virtual-stages", spread.chunks, 1 << 10),
            ("dp", spread.data, 1 << 20),
            ("ep", spread.expert, 1 << 12),
            ("ranks of a server", spread.expert_node, 1 << 12),
        ])?;
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

impl Transformer<'_> {
    /// Layers of part `chunk` of a pipeline stage. Where they do not divide, some parts have one less than the others: the
    /// last one, then the first, as Llama 3 has it (that is the output's and the embedding's place), then the last but
    /// one, so that 61 layers fill 16 stages.
    pub(super) fn layers(&self, stage: u32, chunk: u32) -> u32 {
        let Parallelism { pipeline, chunks, .. } = self.parallelism;
        self.layers_of(chunk * pipeline + stage, pipeline * chunks)
    }

    fn layers_of(&self, part: u32, parts: u32) -> u32 {
        let each = self.model.layers.div_ceil(parts);
        let missing = each * parts - self.model.layers;
        let turn = match part {
            _ if part == parts - 1 => 0,
            0 => 1,
            _ => parts - part,
        };
        each - u32::from(turn < missing)
    }

    /// Those of them, at the beginning, that have no experts though others have.
    pub(super) fn leading(&self, stage: u32, chunk: u32) -> u32 {
        let Parallelism { pipeline, chunks, .. } = self.parallelism;
        let (part, parts) = (chunk * pipeline + stage, pipeline * chunks);
        let mut left = self.model.leading_layers();
        for before in 0..part {
            left = left.saturating_sub(self.layers_of(before, parts));
        }
        left.min(self.layers_of(part, parts))
    }

    fn check_ranges(&self) -> Result<(), StepError> {
        let model = self.model;
        let experts = model.experts.unwrap_or(Experts::plain(1, 1));
        let dense_ffn = if experts.dense_layers > 0 { experts.dense_ffn } else { 1 };
        in_range(&[
            ("layers", model.layers, 1 << 12),
            ("hidden", model.hidden, 1 << 18),
            ("heads", model.heads, 1 << 12),
            ("kv-heads", model.kv_heads, 1 << 12),
            ("ffn", model.ffn, 1 << 20),
            ("vocabulary", model.vocabulary, 1 << 24),
            ("experts", experts.count, 1 << 12),
            ("active", experts.active, 1 << 12),
            ("shared-experts", experts.shared.max(1), 1 << 12),
            ("dense-layers", experts.dense_layers.max(1), 1 << 12),
            ("dense-ffn", dense_ffn, 1 << 20),
            ("expert-servers", experts.servers.unwrap_or(1), 1 << 12),
        ])
    }

    fn check_model(&self) -> Result<(), StepError> {
        let (model, spread) = (self.model, &self.parallelism);
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
                let (ranks, by) = ("expert-parallel ranks", "ranks of a server");
                divides(ranks, spread.expert, by, spread.expert_node)?;
            }
        }
        self.check_layers()
    }

    /// Parts of the pipeline have as many layers, or up to three have one less. Only the first and the last of them may have
    /// none: they have the embedding and the output.
    fn check_layers(&self) -> Result<(), StepError> {
        let Parallelism { pipeline, chunks, .. } = self.parallelism;
        let (parts, layers) =
            (u64::from(pipeline) * u64::from(chunks), u64::from(self.model.layers));
        let missing = layers.div_ceil(parts) * parts - layers;
        let fills = match missing {
            0 => true,
            2 => parts <= layers + 2,
            1 | 3 => layers > parts,
            _ => false,
        };
        match fills {
            true => Ok(()),
            false => Err(StepError::Layers { layers: self.model.layers, parts }),
        }
    }
}

/// Numbers by name with the most that each may be; none may be 0.
fn in_range(ranges: &[(&'static str, u32, u32)]) -> Result<(), StepError> {
    match ranges.iter().find(|&&(_, value, most)| value == 0 || value > most) {
        Some(&(name, value, most)) => {
            Err(StepError::Range { name, value: value.into(), most: most.into() })
        }
        None => Ok(()),
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
