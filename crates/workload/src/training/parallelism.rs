//! [`Parallelism`]: over how many GPUs each dimension of the work is spread.

/// Over how many GPUs each dimension of the work is spread. All are 1 by default: one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    /// TP: the matrices of a layer; with sequence parallelism.
    pub tensor: u32,
    /// CP: the tokens of a sequence.
    pub context: u32,
    /// PP: the layers.
    pub pipeline: u32,
    /// Virtual stages: parts of the model that each pipeline stage has (V).
    pub chunks: u32,
    /// DP: the sequences of a batch.
    pub data: u32,
    /// EP: the experts, over GPUs that context and data parallelism have already counted.
    pub expert: u32,
    /// Ranks of an expert-parallel group that are in one server, neighbours; 1 if each is in a server of its own. It only
    /// matters to models that limit the servers of a token.
    pub expert_node: u32,
    /// What data-parallel ranks keep a share of.
    pub zero: Zero,
}

impl Default for Parallelism {
    fn default() -> Self {
        let (tensor, context, pipeline, chunks, data, expert) = (1, 1, 1, 1, 1, 1);
        let zero = Zero::default();
        Self { tensor, context, pipeline, chunks, data, expert, expert_node: 1, zero }
    }
}

impl Parallelism {
    /// GPUs that it takes.
    pub fn gpus(&self) -> u64 {
        [self.tensor, self.context, self.pipeline, self.data].map(u64::from).iter().product()
    }

    /// Ranks that have the same dense parameters: of context and data parallelism.
    pub(super) fn replicas(&self) -> u32 {
        self.context.saturating_mul(self.data)
    }
}

/// What data-parallel ranks keep a share of instead of all (ZeRO; S. Rajbhandari et al., "ZeRO: memory
/// optimizations toward training trillion parameter models", 2020).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Zero {
    /// Nothing: gradients are summed everywhere (AllReduce).
    Off,
    /// Optimizer state: gradients are scattered (ReduceScatter), and updated parameters gathered
    /// (AllGather) as the next step first needs them.
    #[default]
    Optimizer,
    /// Gradients, too. The same is sent.
    Gradients,
    /// Parameters, too (FSDP): they are gathered for every forward and backward pass.
    Parameters,
}

impl Zero {
    /// The stage of this number, 0 to 3.
    pub const fn stage(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Off),
            1 => Some(Self::Optimizer),
            2 => Some(Self::Gradients),
            3 => Some(Self::Parameters),
            _ => None,
        }
    }
}
