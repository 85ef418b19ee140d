//! [`Volumes`]: what a GPU sends in a step.

use super::cost::Call;
use super::script::{Op, Script};
use super::step::{Step, StepError};
use crate::collective::Collective;
use std::collections::BTreeMap;
use xoff_units::Bytes;

/// Along what a step is spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// TP.
    Tensor,
    /// CP.
    Context,
    /// PP.
    Pipeline,
    /// EP.
    Expert,
    /// DP, of dense parameters and of experts.
    Data,
    /// The tables of a recommender.
    Tables,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Dimension; 6] =
        [Self::Tensor, Self::Context, Self::Pipeline, Self::Expert, Self::Data, Self::Tables];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Context => "context",
            Self::Pipeline => "pipeline",
            Self::Expert => "expert",
            Self::Data => "data",
            Self::Tables => "tables",
        }
    }
}

/// One kind of transfer of a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Volume {
    /// Its dimension.
    pub dimension: Dimension,
    /// The collective that it is; none between pipeline stages.
    pub collective: Option<Collective>,
    /// Bytes of one, as nccl-tests counts: of the larger buffer of a rank.
    pub size: Bytes,
    /// Ranks that do it together.
    pub ranks: u32,
    /// How often in a step.
    pub events: u64,
}

impl Volume {
    /// What a GPU sends for all of them, by NVLink or NIC: of a collective of n ranks its size times
    /// (n-1)/n, and twice that for AllReduce. Where that is no whole number ranks differ by a byte.
    pub fn sent(&self) -> Bytes {
        let (size, ranks) = (u128::from(self.size.get()), u128::from(self.ranks));
        let one = match self.collective {
            None => size,
            Some(Collective::AllReduce) => 2 * size * (ranks - 1) / ranks,
            Some(_) => size * (ranks - 1) / ranks,
        };
        Bytes::new(u64::try_from(one * u128::from(self.events)).unwrap_or(u64::MAX))
    }
}

/// What a GPU sends in a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volumes {
    /// Kind by kind.
    pub list: Vec<Volume>,
}

impl Volumes {
    /// What goes along a dimension.
    pub fn along(&self, dimension: Dimension) -> Bytes {
        let own = self.list.iter().filter(|volume| volume.dimension == dimension);
        Bytes::new(own.fold(0, |sum, volume| volume.sent().get().saturating_add(sum)))
    }
}

impl Step {
    /// What every GPU of a pipeline stage sends in a step, counted from its script. Stages differ:
    /// the first and last have embeddings, and neighbours on one side only.
    pub fn volumes(&self, stage: u32) -> Result<Volumes, StepError> {
        let stages = self.parallelism.pipeline;
        if stage >= stages {
            let (value, most) = (u64::from(stage), u64::from(stages) - 1);
            return Err(StepError::Range { name: "stage", value, most });
        }
        let mut calls = BTreeMap::<Call, u64>::new();
        let mut sends = 0;
        for op in Script::new(self, stage)?.ops {
            match op {
                Op::Begin(call) => *calls.entry(call).or_default() += 1,
                Op::Send(_) => sends += 1,
                _ => {}
            }
        }
        let mut list = Vec::new();
        for (call, events) in calls {
            let event = self.event(call)?;
            list.push(Volume {
                dimension: event.comm.dimension(),
                collective: Some(event.collective),
                size: event.size,
                ranks: self.parallelism.size(event.comm),
                events,
            });
        }
        if sends > 0 {
            list.push(Volume {
                dimension: Dimension::Pipeline,
                collective: None,
                size: self.hand_over()?,
                ranks: 2,
                events: sends,
            });
        }
        Ok(Volumes { list })
    }
}
