//! Models and GPUs by name, with where their numbers come from.

use super::gpu::{FlopRate, Gpu};
use super::model::{Dispatch, Experts, Latent, Model};
use super::subject::{Recommender, Subject, Whole};
use xoff_units::{Rate, Ratio};

/// A model that files can name.
#[derive(Debug, Clone, Copy)]
pub struct ModelPreset {
    /// Its name.
    pub name: &'static str,
    /// Its shape.
    pub model: Model,
    /// Tokens of a sequence in its training.
    pub sequence: u32,
    /// Where the numbers were published.
    pub source: &'static str,
}

/// A GPU that files can name.
#[derive(Debug, Clone, Copy)]
pub struct GpuPreset {
    /// Its name.
    pub name: &'static str,
    /// How fast it is.
    pub gpu: Gpu,
    /// Where the numbers come from.
    pub source: &'static str,
}

const LLAMA2: &str = "H. Touvron et al., Llama 2, 2023, table 1, and the published configuration";
const HERD: &str = "Llama team, The Llama 3 Herd of Models, 2024, table 3";

/// Models that files can name.
pub const MODELS: [ModelPreset; 8] = [
    ModelPreset {
        name: "llama-2-7b",
        model: Model {
            layers: 32,
            hidden: 4_096,
            heads: 32,
            kv_heads: 32,
            ffn: 11_008,
            gated: true,
            vocabulary: 32_000,
            tied: false,
            latent: None,
            experts: None,
        },
        sequence: 4_096,
        source: LLAMA2,
    },
    ModelPreset {
        name: "llama-2-13b",
        model: Model {
            layers: 40,
            hidden: 5_120,
            heads: 40,
            kv_heads: 40,
            ffn: 13_824,
            gated: true,
            vocabulary: 32_000,
            tied: false,
            latent: None,
            experts: None,
        },
        sequence: 4_096,
        source: LLAMA2,
    },
    ModelPreset {
        name: "llama-3-8b",
        model: Model {
            layers: 32,
            hidden: 4_096,
            heads: 32,
            kv_heads: 8,
            ffn: 14_336,
            gated: true,
            vocabulary: 128_256,
            tied: false,
            latent: None,
            experts: None,
        },
        sequence: 8_192,
        source: HERD,
    },
    ModelPreset {
        name: "llama-3-70b",
        model: Model {
            layers: 80,
            hidden: 8_192,
            heads: 64,
            kv_heads: 8,
            ffn: 28_672,
            gated: true,
            vocabulary: 128_256,
            tied: false,
            latent: None,
            experts: None,
        },
        sequence: 8_192,
        source: HERD,
    },
    ModelPreset {
        name: "llama-3-405b",
        model: Model {
            layers: 126,
            hidden: 16_384,
            heads: 128,
            kv_heads: 8,
            ffn: 53_248,
            gated: true,
            vocabulary: 128_256,
            tied: false,
            latent: None,
            experts: None,
        },
        sequence: 8_192,
        source: HERD,
    },
    ModelPreset {
        name: "gpt-3-175b",
        model: Model {
            layers: 96,
            hidden: 12_288,
            heads: 96,
            kv_heads: 96,
            ffn: 49_152,
            gated: false,
            // 50,257, padded as Megatron-LM does so that it divides over GPUs.
            vocabulary: 51_200,
            tied: true,
            latent: None,
            experts: None,
        },
        sequence: 2_048,
        source: "T. Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1",
    },
    ModelPreset {
        name: "mixtral-8x7b",
        model: Model {
            layers: 32,
            hidden: 4_096,
            heads: 32,
            kv_heads: 8,
            ffn: 14_336,
            gated: true,
            vocabulary: 32_000,
            tied: false,
            latent: None,
            experts: Some(Experts::plain(8, 2)),
        },
        sequence: 4_096,
        source: "A. Jiang et al., Mixtral of Experts, 2024, table 1; sequences of 4,096 are our choice",
    },
    ModelPreset {
        name: "deepseek-v3",
        model: Model {
            layers: 61,
            hidden: 7_168,
            heads: 128,
            kv_heads: 128,
            ffn: 2_048,
            gated: true,
            vocabulary: 129_280,
            tied: false,
            latent: Some(Latent {
                query_rank: 1_536,
                kv_rank: 512,
                plain: 128,
                rotary: 64,
                value: 128,
            }),
            experts: Some(Experts {
                count: 256,
                active: 8,
                shared: 1,
                dense_layers: 3,
                dense_ffn: 18_432,
                servers: Some(4),
                dispatch: Dispatch::Fp8,
            }),
        },
        sequence: 4_096,
        source: "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, sections 3.2 and 4.2, and the published configuration; \
                 without its module for a second token",
    },
];

/// A model that is no transformer, by its name.
#[derive(Debug, Clone, Copy)]
pub struct DataParallelPreset {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub subject: Subject,
    /// Samples that go through it at once on each GPU.
    pub samples: u32,
    /// The share of a GPU's peak that its kernels reach, if not that of transformers.
    pub efficiency: Option<Ratio>,
    /// Where the numbers come from.
    pub source: &'static str,
}

/// Models that are no transformers.
pub const DATA_PARALLEL: [DataParallelPreset; 3] = [
    DataParallelPreset {
        name: "dlrm-dcnv2",
        subject: Subject::Recommender(Recommender {
            features: 26,
            width: 128,
            rows: 204_184_588,
            reads: 214,
            // 13, 512, 256, 128.
            bottom: 171_392,
            // Three cross layers of 3,456 with rank 512; 3,456, 1,024, 1,024, 512, 256, 1.
            top: 3 * (2 * 3_456 * 512 + 3_456) + 5_245_953,
        }),
        samples: 8_192,
        efficiency: None,
        source: "MLPerf training's recommendation reference (multi-hot Criteo 1TB); 65,536 samples over 8 GPUs; \
                 efficiency of transformers, for want of a published one",
    },
    DataParallelPreset {
        name: "resnet-50",
        subject: Subject::Whole(Whole { parameters: 25_557_032, operations: 8_178_000_000 }),
        samples: 256,
        efficiency: Some(Ratio::new(20, 100)),
        source: "K. He et al., Deep Residual Learning, 2015 (v1.5: 4.089 billion multiplications at 224 x 224); efficiency \
                 from 2,600 images a second on an A100 (pytorch-image-models issue 1491); 256 images are our choice",
    },
    DataParallelPreset {
        name: "sdxl-unet",
        subject: Subject::Whole(Whole { parameters: 2_567_463_684, operations: 5_980_000_000_000 }),
        samples: 8,
        efficiency: None,
        source: "D. Podell et al., SDXL, 2023, table 1; operations at 1,024 x 1,024 estimated, not published there; efficiency of \
                 transformers; 8 images are our choice",
    },
];

/// The names of all models, transformers first.
pub fn model_names() -> Vec<&'static str> {
    let others = DATA_PARALLEL.iter().map(|preset| preset.name);
    MODELS.iter().map(|preset| preset.name).chain(others).collect()
}

/// The share of an H100's peak that the kernels of a layer reach.
///
/// Chosen, to the percent, so that the published 43 % of Llama-3 405B on 8,192 GPUs comes out of
/// [`super::Step::analytic`] (NVLink at 80 % of its rate): 42.5 %. The other two published runs,
/// which were in sight, then come out as 39.9 % for 41 % on twice as many GPUs, 42.0 % for 38 % with sequences of 131,072
/// tokens; the tests check all three. The value is plausible from below: the best matrix products reach some 70 to
/// 80 % at the GPU's power limit, attention about 60 %, and norms, activations and copies come on top.
const H100_EFFICIENCY: Ratio = Ratio::new(52, 100);

/// A GPU of this peak in TFLOP/s, with memory of so many GB/s.
const fn of_memory(tera: u32, gigabytes: u64) -> Gpu {
    Gpu {
        peak: FlopRate::from_teraflops(tera),
        efficiency: H100_EFFICIENCY,
        memory: Rate::from_gbps(8 * gigabytes),
    }
}

/// GPUs that files can name. Peaks are those of dense BF16, memory is that of the SXM module with the most common stacks. Efficiencies other than the
/// H100's are that of the H100, for want of a published run to take them from.
pub const GPUS: [GpuPreset; 4] = [
    GpuPreset {
        name: "a100",
        gpu: of_memory(312, 2_039),
        source: "vendor's data sheet; efficiency of the H100",
    },
    GpuPreset {
        name: "h100",
        gpu: of_memory(989, 3_350),
        source: "vendor's data sheet; efficiency from the published 43 % of Llama-3 405B",
    },
    GpuPreset {
        name: "h200",
        gpu: of_memory(989, 4_800),
        source: "vendor's data sheet; efficiency of the H100",
    },
    GpuPreset {
        name: "b200",
        gpu: of_memory(2_250, 8_000),
        source: "vendor's data sheet; efficiency of the H100",
    },
];

impl Model {
    /// The model of this name.
    pub fn named(name: &str) -> Option<&'static ModelPreset> {
        MODELS.iter().find(|preset| preset.name == name)
    }
}

impl DataParallelPreset {
    /// The model of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        DATA_PARALLEL.iter().find(|preset| preset.name == name)
    }
}

impl Gpu {
    /// The GPU of this name.
    pub fn named(name: &str) -> Option<&'static GpuPreset> {
        GPUS.iter().find(|preset| preset.name == name)
    }
}
