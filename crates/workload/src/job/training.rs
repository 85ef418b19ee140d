//! From the training steps of a scenario to steps on GPUs.

use crate::layout::{Layout, RankId};
use crate::training::{
    Batch, DataParallelPreset, Dispatch, Experts, FlopRate, GPUS, Gpu, Model, Parallelism,
    Recompute, Step, Subject, Zero, model_names,
};
use std::collections::BTreeSet;
use xoff_fabric::scenario::{
    DispatchSetting, ModelSetting, ModelShape, RecomputeSetting, TrainingStep,
};

/// Tokens of a sequence where nothing says how many.
const SEQUENCE: u32 = 8_192;

/// GPUs that a training step takes, where its entry says so.
pub(super) fn ranks(entry: &TrainingStep) -> Option<u32> {
    let dp = entry.dp?;
    let all = [entry.tp, entry.cp, entry.pp].map(|number| number.unwrap_or(1));
    Some(all.into_iter().fold(dp, u32::saturating_mul))
}

/// The step of an entry on the GPUs of a layout.
pub(super) fn step(entry: &TrainingStep, layout: &Layout) -> Result<Step, String> {
    if let ModelSetting::Name(name) = &entry.model
        && let Some(preset) = DataParallelPreset::named(name)
    {
        return data_parallel(entry, preset, layout.ranks());
    }
    let (mut model, sequence) = model(entry)?;
    let one = |number: Option<u32>| number.unwrap_or(1);
    let zero = entry.zero.unwrap_or(1);
    let rest = [entry.tp, entry.cp, entry.pp].map(one).into_iter().fold(1, u32::saturating_mul);
    let spread = Parallelism {
        tensor: one(entry.tp),
        context: one(entry.cp),
        pipeline: one(entry.pp),
        chunks: one(entry.virtual_stages),
        data: entry.dp.unwrap_or(layout.ranks() / rest.max(1)),
        expert: one(entry.ep),
        expert_node: 1,
        zero: Zero::stage(zero).ok_or_else(|| format!("there is no ZeRO stage {zero}"))?,
    };
    let node = ranks_of_a_server(&spread, layout);
    let spread = Parallelism { expert_node: node.unwrap_or(1), ..spread };
    if let (Some(experts), None) = (&mut model.experts, node) {
        // Nothing can be passed on by NVLink in an order that is the same everywhere.
        experts.servers = None;
    }
    let (micro, micro_batches) = (one(entry.micro_batch), one(entry.micro_batches));
    let sequences = micro.saturating_mul(micro_batches).saturating_mul(spread.data);
    let batch = Batch { sequence: entry.sequence.unwrap_or(sequence), sequences, micro };
    let step = Step::new(model, batch, spread, gpu(entry)?).map_err(|error| error.to_string())?;
    Ok(step.recomputing(match entry.recompute {
        RecomputeSetting::Off => Recompute::Off,
        RecomputeSetting::Selective => Recompute::Selective,
        RecomputeSetting::Full => Recompute::Full,
    }))
}

/// Ranks of every expert-parallel group that are in one server, where that is the same number of neighbours everywhere.
fn ranks_of_a_server(spread: &Parallelism, layout: &Layout) -> Option<u32> {
    let Parallelism { tensor, expert, .. } = *spread;
    let step = tensor.saturating_mul(expert);
    let fits = u64::from(layout.ranks()) == spread.gpus() && step <= layout.ranks();
    if step == 0 || !fits {
        return Some(1);
    }
    let domain = |rank: u32| layout.seat(RankId(rank)).domain;
    let first = domain(0);
    let node = (0..expert).take_while(|&place| domain(place * tensor) == first).count() as u32;
    if !expert.is_multiple_of(node.max(1)) {
        return None;
    }
    // The first tensor rank of each stands for all of them.
    let replicas = layout.ranks() / tensor;
    let leader = |replica: u32| domain((replica - replica % node) * tensor);
    let together = (0..replicas).all(|replica| leader(replica) == domain(replica * tensor));
    let apart = (0..replicas / expert).all(|group| {
        let places = (0..expert / node).map(|place| leader(group * expert + place * node));
        let servers: BTreeSet<u32> = places.collect();
        servers.len() as u32 == expert / node
    });
    (together && apart).then_some(node)
}

/// A step of a model that is no transformer.
fn data_parallel(
    entry: &TrainingStep,
    preset: &DataParallelPreset,
    ranks: u32,
) -> Result<Step, String> {
    let name = preset.name;
    let not_one = |number: Option<u32>| number.is_some_and(|number| number != 1);
    let refused = [
        ("tp", not_one(entry.tp)),
        ("cp", not_one(entry.cp)),
        ("pp", not_one(entry.pp)),
        ("virtual-stages", not_one(entry.virtual_stages)),
        ("ep", not_one(entry.ep)),
        ("zero", entry.zero.is_some_and(|stage| stage > 0)),
        ("sequence", entry.sequence.is_some()),
        ("layers", entry.layers.is_some()),
        ("recompute", entry.recompute != RecomputeSetting::Off),
        ("expert-servers", entry.expert_servers.is_some()),
        ("dispatch", entry.dispatch.is_some()),
    ];
    if let Some((key, _)) = refused.into_iter().find(|(_, given)| *given) {
        return Err(format!("`{name}` is data-parallel and no transformer: leave `{key}` out"));
    }
    let mut gpu = gpu(entry)?;
    gpu.efficiency = entry.efficiency.or(preset.efficiency).unwrap_or(gpu.efficiency);
    let samples = entry.micro_batch.unwrap_or(preset.samples);
    let micro_batches = entry.micro_batches.unwrap_or(1);
    let step = match preset.subject {
        Subject::Recommender(_) if micro_batches != 1 => {
            return Err(format!(
                "`{name}` updates its tables with every batch: leave `micro-batches` out"
            ));
        }
        Subject::Recommender(model) => Step::of_recommender(model, samples, ranks, gpu),
        Subject::Whole(model) => Step::of_whole(model, samples, micro_batches, ranks, gpu),
        Subject::Transformer(_) => return Err(format!("`{name}` is a transformer")),
    };
    step.map_err(|error| error.to_string())
}

/// The model of an entry, with what the entry changes of it, and the tokens of its sequences.
fn model(entry: &TrainingStep) -> Result<(Model, u32), String> {
    let (mut model, sequence) = match &entry.model {
        ModelSetting::Name(name) => {
            let known = Model::named(name);
            let known = known.ok_or_else(|| unknown("model", name, &model_names()))?;
            (known.model, known.sequence)
        }
        ModelSetting::Shape(shape) => (of_shape(shape), SEQUENCE),
    };
    if let Some(layers) = entry.layers {
        if layers > model.layers {
            return Err(format!("`layers` is {layers}, and the model has {}", model.layers));
        }
        model.layers = layers;
    }
    match &mut model.experts {
        Some(experts) => {
            experts.servers = entry.expert_servers.or(experts.servers);
            experts.dispatch = match entry.dispatch {
                Some(DispatchSetting::Bf16) => Dispatch::Bf16,
                Some(DispatchSetting::Fp8) => Dispatch::Fp8,
                None => experts.dispatch,
            };
        }
        None if entry.expert_servers.is_some() || entry.dispatch.is_some() => {
            return Err("`expert-servers` and `dispatch` need a model with experts".into());
        }
        None => {}
    }
    Ok((model, sequence))
}

fn of_shape(shape: &ModelShape) -> Model {
    let experts = |count| Experts {
        shared: shape.shared_experts.unwrap_or(0),
        dense_layers: shape.dense_layers.unwrap_or(0),
        dense_ffn: shape.dense_ffn.unwrap_or(shape.ffn),
        ..Experts::plain(count, shape.active.unwrap_or(2))
    };
    Model {
        layers: shape.layers,
        hidden: shape.hidden,
        heads: shape.heads,
        kv_heads: shape.kv_heads.unwrap_or(shape.heads),
        ffn: shape.ffn,
        gated: shape.gated.unwrap_or(true),
        vocabulary: shape.vocabulary,
        tied: false,
        latent: None,
        experts: shape.experts.map(experts),
    }
}

fn gpu(entry: &TrainingStep) -> Result<Gpu, String> {
    let name = entry.gpu.as_deref().unwrap_or("h100");
    let names = GPUS.map(|preset| preset.name);
    let known = Gpu::named(name).ok_or_else(|| unknown("GPU", name, &names))?.gpu;
    Ok(Gpu {
        peak: entry.peak_tflops.map_or(known.peak, FlopRate::from_teraflops),
        efficiency: entry.efficiency.unwrap_or(known.efficiency),
        ..known
    })
}

pub(super) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!("there is no {what} `{name}`; there are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::collective::Network;
    use crate::testing::workloads;
    use crate::training::Subject;
    use crate::{ideal, programs};
    use xoff_fabric::model::Fabric;

    const SMALL: &str = "{layers=4, hidden=1024, heads=16, kv-heads=8, ffn=4096, vocabulary=8192";

    fn pod() -> Fabric {
        Fabric::from_toml("[cluster]\ngpus = 32\n[fabric]\nkind = 'rail'\n").unwrap()
    }

    #[test]
    fn entries_become_steps_that_run() {
        let fabric = pod();
        for (rest, gpus) in [
            ("tp=8", 32),
            ("tp=8\ndp=2\nzero=0", 16),
            ("tp=8\ncp=2\npp=2\nmicro-batches=2\nvirtual-stages=2", 32),
            ("tp=8\nplacement='fragmented'\nzero=3\nrecompute='full'", 32),
            ("tp=2\ndp=1\nplacement=[3, 9]", 2),
        ] {
            let text = format!(
                "kind='training-step'\nmodel={SMALL}}}\nsequence=512\nrepeat=2\n\
                 gpu='a100'\nefficiency=0.5\npeak-tflops=100\n{rest}"
            );
            let jobs = programs(&workloads(&text), &fabric, 1).unwrap();
            let training = jobs[0].training.unwrap();
            assert_eq!((training.step.gpus(), training.repeat), (gpus, 2), "{rest}");
            for mut turn in jobs[0].programs().unwrap() {
                assert_eq!(turn.repeat, 2);
                ideal::run(&mut turn.program, &fabric, &Network::default()).unwrap();
            }
        }
    }

    fn step(rest: &str) -> crate::training::Step {
        let text = format!("kind='training-step'\n{rest}");
        programs(&workloads(&text), &pod(), 1).unwrap()[0].training.unwrap().step
    }

    #[test]
    fn servers_of_expert_ranks_are_those_of_the_layout() {
        let servers = |step: crate::training::Step| match step.subject() {
            Subject::Transformer(model) => model.experts.unwrap().servers,
            _ => None,
        };
        let packed = "model='deepseek-v3'\nlayers=4\nep=32\n";
        assert_eq!(step(packed).parallelism().expert_node, 8);
        assert_eq!(servers(step(packed)), Some(4));
        assert_eq!(servers(step(&format!("{packed}expert-servers=2"))), Some(2));
        // Tensor parallelism over half a server leaves two ranks in each.
        let half = step("model='deepseek-v3'\nlayers=4\ntp=4\nep=8\n");
        assert_eq!(half.parallelism().expert_node, 2);
        let whole = step("model='deepseek-v3'\nlayers=4\ntp=8\nep=4\n");
        assert_eq!((whole.parallelism().expert_node, servers(whole)), (1, Some(4)));
        // Where neighbours are not in one server nothing is passed on.
        let mixed = step(&format!("{packed}placement='fragmented'\n"));
        let list: Vec<u32> = (0..32).map(|rank| rank % 4 * 8 + rank / 4).collect();
        let apart = step(&format!("{packed}placement={list:?}\n"));
        assert_eq!((apart.parallelism().expert_node, servers(apart)), (1, None));
        assert!(mixed.parallelism().expert_node == 8 || servers(mixed).is_none());
    }

    #[test]
    fn models_that_are_no_transformers_run() {
        let fabric = pod();
        for (rest, samples) in [
            ("model='dlrm-dcnv2'\nmicro-batch=16", 16 * 32),
            ("model='resnet-50'\ndp=16\nmicro-batch=4\nmicro-batches=2", 4 * 2 * 16),
            ("model='sdxl-unet'\ndp=2\nzero=0\ntp=1", 8 * 2),
        ] {
            assert_eq!(step(rest).tokens(), samples, "{rest}");
            let text = format!("kind='training-step'\n{rest}");
            let jobs = programs(&workloads(&text), &fabric, 1).unwrap();
            for mut turn in jobs[0].programs().unwrap() {
                ideal::run(&mut turn.program, &fabric, &Network::default()).unwrap();
            }
        }
        for (rest, said) in [
            ("model='dlrm-dcnv2'\ntp=2", "leave `tp` out"),
            ("model='resnet-50'\nzero=1", "leave `zero` out"),
            ("model='sdxl-unet'\nsequence=5", "leave `sequence` out"),
            ("model='dlrm-dcnv2'\nmicro-batches=2", "leave `micro-batches` out"),
            ("model='llama-3-8b'\nlayers=33", "`layers` is 33, and the model has 32"),
            ("model='llama-3-8b'\nexpert-servers=2", "need a model with experts"),
            ("model='mixtral-8x7b'\nep=64", "8 experts are not divisible by 64"),
        ] {
            let text = format!("kind='training-step'\n{rest}");
            let wrong = programs(&workloads(&text), &fabric, 1).unwrap_err();
            assert!(wrong[0].to_string().contains(said), "{said}: {}", wrong[0]);
        }
    }

    #[test]
    fn mistakes_are_said() {
        let one = |rest: &str| format!("kind='training-step'\n{rest}\n[[workload]]\n");
        let text = [
            one("model='llama-4'"),
            one("model='llama-3-70b'\ntp=8\ngpu='tpu'"),
            one("model='llama-3-70b'\ntp=3\ndp=1"),
            one("model='llama-3-70b'\ntp=8\ndp=5"),
            one("model='llama-3-70b'\ntp=8\nzero=4"),
            one("model='llama-3-70b'\ntp=8\nrepeat=0"),
            one("model='llama-3-70b'\ntp=4294967295\ndp=4294967295"),
        ];
        let text = text.concat() + "kind='all-reduce'\nsize='1MB'";
        let wrong = programs(&workloads(&text), &pod(), 1).unwrap_err();
        let said: String = wrong.iter().map(|error| format!("{error}\n")).collect();
        for text in [
            "workload 0: there is no model `llama-4`; there are llama-2-7b,",
            "workload 1: there is no GPU `tpu`; there are a100,",
            "workload 2: 64 heads are not divisible by 3",
            "workload 3: 40 ranks are to be placed",
            "workload 4: there is no ZeRO stage 4",
            "workload 5: `repeat` is 0",
            "workload 6: 4294967295 ranks are to be placed",
        ] {
            assert!(said.contains(text), "{text}\n{said}");
        }
    }
}
