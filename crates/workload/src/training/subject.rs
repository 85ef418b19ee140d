//! [`Subject`]: what a step trains. Transformers have their own files; here are the models whose ranks all have samples of
//! their own: recommenders with spread tables, and models that every rank has whole.

use super::cost::{Call, Event};
use super::gpu::MEMORY_EFFICIENCY;
use super::groups::Comm;
use super::model::Model;
use super::script::{Op, Script};
use super::step::{Step, StepError};
use crate::collective::Collective;
use std::ops::Deref;
use xoff_units::{Bytes, Span};

/// What a step trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A transformer.
    Transformer(Model),
    /// A recommender whose tables are spread over all ranks.
    Recommender(Recommender),
    /// A model that every rank has whole.
    Whole(Whole),
}

/// A step whose subject is a transformer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transformer<'a> {
    pub(super) step: &'a Step,
    pub(super) model: &'a Model,
}

impl Deref for Transformer<'_> {
    type Target = Step;

    fn deref(&self) -> &Step {
        self.step
    }
}

/// A recommender as DLRM is one: tables of embeddings, a small network before and a larger one behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recommender {
    /// Features that have a table.
    pub features: u32,
    /// Numbers of a row.
    pub width: u32,
    /// Rows of all tables.
    pub rows: u64,
    /// Rows that a sample reads, over all features.
    pub reads: u32,
    /// Parameters of the network before the tables' rows come in.
    pub bottom: u64,
    /// Parameters of the one behind.
    pub top: u64,
}

/// Bytes of a number of a row (FP32), and of a row's index.
const ELEMENT: u64 = 4;
const INDEX: u64 = 8;

impl Recommender {
    /// Parameters in all.
    pub fn parameters(&self) -> u64 {
        self.rows * u64::from(self.width) + self.bottom + self.top
    }

    /// Operations of a sample, forward.
    pub(super) fn operations(&self) -> u64 {
        2 * (self.bottom + self.top)
    }

    /// A call, as nccl-tests counts its size: of the larger buffer of a rank.
    pub(super) fn event(&self, step: &Step, call: Call) -> Result<Event, StepError> {
        let samples = u64::from(step.batch.micro);
        let pooled = u64::from(self.features) * u64::from(self.width) * ELEMENT;
        let size = match call {
            Call::Indices => samples.checked_mul(u64::from(self.reads) * INDEX),
            Call::Pooled => samples.checked_mul(pooled),
            Call::Bucket(0) => self.top.checked_mul(step.gradient),
            _ => self.bottom.checked_mul(step.gradient),
        };
        event(call, size)
    }

    /// Rows are read and summed, and go to their samples while the bottom network computes. Backward their gradients go
    /// back while the bottom network computes, and rows are updated. Which rows the next batch wants goes behind them.
    pub(super) fn script(&self, step: &Step) -> Script {
        let samples = f64::from(step.batch.micro);
        let compute = |parameters: u64| step.gpu.time(2.0 * samples * parameters as f64);
        let row = u64::from(self.width) * ELEMENT;
        let read = Bytes::new(u64::from(step.batch.micro) * u64::from(self.reads) * row);
        let read = step.gpu.memory_time(read, MEMORY_EFFICIENCY);
        let (bottom, top) = (compute(self.bottom), compute(self.top));
        let mut lines = Lines::new(step);
        lines.compute(read);
        let forward = lines.begin(Call::Pooled);
        lines.compute(bottom);
        lines.wait(forward);
        lines.compute(top * 3);
        lines.begin(Call::Bucket(0));
        let backward = lines.begin(Call::Pooled);
        let indices = lines.begin(Call::Indices);
        lines.compute(bottom * 2);
        let last = lines.begin(Call::Bucket(1));
        lines.wait(backward);
        // Read and written.
        lines.compute(read * 2);
        lines.wait(indices);
        lines.wait(last);
        Script { ops: lines.ops }
    }
}

/// A model that every rank has whole: its gradients are summed in buckets while the backward pass goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    /// Parameters.
    pub parameters: u64,
    /// Operations of a sample, forward.
    pub operations: u64,
}

/// Bytes of a bucket: the default of PyTorch's DistributedDataParallel (`bucket_cap_mb`).
const BUCKET: u64 = 25 << 20;

impl Whole {
    fn buckets(&self, step: &Step) -> u32 {
        let bytes = self.parameters.saturating_mul(step.gradient);
        u32::try_from(bytes.div_ceil(BUCKET)).unwrap_or(u32::MAX)
    }

    pub(super) fn event(&self, step: &Step, call: Call) -> Result<Event, StepError> {
        let bytes = self.parameters.checked_mul(step.gradient);
        let size = match call {
            Call::Bucket(number) => {
                let before = u64::from(number) * BUCKET;
                bytes.map(|all| all.saturating_sub(before).min(BUCKET))
            }
            _ => Some(0),
        };
        event(call, size)
    }

    /// Micro-batches one after the other; with the last one, a bucket is summed as soon as its share of the backward pass
    /// is computed. All buckets have an equal share of it.
    pub(super) fn script(&self, step: &Step) -> Script {
        let samples = f64::from(step.batch.micro);
        let forward = step.gpu.time(samples * self.operations as f64);
        let buckets = self.buckets(step).max(1);
        let share = Span::from_ps(forward.as_ps() * 2 / u64::from(buckets));
        let mut lines = Lines::new(step);
        for _ in 1..step.micro_batches() {
            lines.compute(forward * 3);
        }
        lines.compute(forward);
        let mut last = None;
        for number in 0..buckets {
            lines.compute(share);
            last = lines.begin(Call::Bucket(number));
        }
        lines.wait(last);
        Script { ops: lines.ops }
    }
}

fn event(call: Call, size: Option<u64>) -> Result<Event, StepError> {
    let collective = match call {
        Call::Indices | Call::Pooled => Collective::AllToAll,
        _ => Collective::AllReduce,
    };
    let size = Bytes::new(size.ok_or(StepError::TooLarge)?);
    Ok(Event { comm: call.comm(), collective, size })
}

/// A script that is written. Calls of one kind of group are done in their order, so that waiting for one is waiting for
/// all before it.
struct Lines<'a> {
    step: &'a Step,
    ops: Vec<Op>,
    tables: u32,
    data: u32,
}

impl<'a> Lines<'a> {
    fn new(step: &'a Step) -> Self {
        Self { step, ops: Vec::new(), tables: 0, data: 0 }
    }

    fn compute(&mut self, span: Span) {
        match self.ops.last_mut() {
            Some(Op::Compute(last)) => *last += span,
            _ => self.ops.push(Op::Compute(span)),
        }
    }

    fn begin(&mut self, call: Call) -> Option<(Comm, u32)> {
        let comm = call.comm();
        if self.step.parallelism.size(comm) == 1 {
            return None;
        }
        let begun = if comm == Comm::Tables { &mut self.tables } else { &mut self.data };
        *begun += 1;
        self.ops.push(Op::Begin(call));
        Some((comm, *begun))
    }

    fn wait(&mut self, ticket: Option<(Comm, u32)>) {
        self.ops.extend(ticket.map(|(comm, number)| Op::Await(comm, number)));
    }
}
