//! A training step of a transformer: what its GPUs compute, and what they send when.
//!
//! A [`Step`] is a [`Model`], a [`Batch`], a [`Parallelism`] and a [`Gpu`], checked to go together. It
//! says three things:
//!
//! - [`Step::volumes`]: what every GPU sends, dimension by dimension;
//! - [`Step::analytic`]: how long it takes where no transfer hinders another;
//! - [`Step::program`]: the same step as a [`crate::program::Program`], for a network on which they do.
//!
//! The last two run the same script of each pipeline stage. It is that of Megatron-LM: tensor parallelism with
//! sequence parallelism (ReduceScatter and AllGather instead of AllReduce), 1F1B pipelines with virtual
//! stages, keys and values gathered for context parallelism, all-to-all before and after the experts,
//! gradients scattered layer by layer while the backward pass goes on.
//!
//! Ranks count in Megatron's order, tensor first, then context, data and pipeline. The ranks of an
//! expert-parallel group are neighbours among the context and data ranks, whichever these are (what Megatron-Core calls
//! folding), so that TP 8, CP 4, EP 4 fits on 64 GPUs.
//!
//! What is left out: the optimizer's own time; traffic of the embedding and of the loss; the sum
//! of tied embeddings over the first and last stage; routing is even over experts; memory is not counted.
//! Read [`Step`] first.

mod analysis;
mod cost;
mod critical;
mod gpu;
mod groups;
mod model;
mod pace;
mod parallelism;
mod presets;
mod run;
mod schedule;
mod script;
mod step;
mod subject;
#[cfg(test)]
mod tests;
mod traced;
mod volume;

pub use analysis::{Analysis, StepFigures};
pub use critical::{CriticalPath, Wait};
pub use gpu::{FlopRate, Gpu, MEMORY_EFFICIENCY};
pub use model::{Dispatch, Experts, Latent, Model};
pub use pace::Pace;
pub use parallelism::{Parallelism, Zero};
pub use presets::{
    DATA_PARALLEL, DataParallelPreset, GPUS, GpuPreset, MODELS, ModelPreset, model_names,
};
pub use run::StepProgram;
pub use step::{Batch, Recompute, Step, StepError};
pub use subject::{Recommender, Subject, Whole};
pub use volume::{Dimension, Volume, Volumes};
