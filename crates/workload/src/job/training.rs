//! From the training steps of a scenario to steps on GPUs.

use crate::layout::Layout;
use crate::training::{
    Batch, Experts, FlopRate, GPUS, Gpu, MODELS, Model, Parallelism, Recompute, Step, Zero,
};
use xoff_fabric::scenario::{ModelSetting, ModelShape, RecomputeSetting, TrainingStep};

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
    let (model, sequence) = model(&entry.model)?;
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
        zero: Zero::stage(zero).ok_or_else(|| format!("there is no ZeRO stage {zero}"))?,
    };
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

fn model(setting: &ModelSetting) -> Result<(Model, u32), String> {
    match setting {
        ModelSetting::Name(name) => {
            let names = MODELS.map(|preset| preset.name);
            let known = Model::named(name).ok_or_else(|| unknown("model", name, &names))?;
            Ok((known.model, known.sequence))
        }
        ModelSetting::Shape(shape) => Ok((of_shape(shape), SEQUENCE)),
    }
}

fn of_shape(shape: &ModelShape) -> Model {
    let experts = |count| Experts { count, active: shape.active.unwrap_or(2) };
    Model {
        layers: shape.layers,
        hidden: shape.hidden,
        heads: shape.heads,
        kv_heads: shape.kv_heads.unwrap_or(shape.heads),
        ffn: shape.ffn,
        gated: shape.gated.unwrap_or(true),
        vocabulary: shape.vocabulary,
        tied: false,
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
    })
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!("there is no {what} `{name}`; there are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::collective::Network;
    use crate::testing::workloads;
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
            "workload 0: there is no model `llama-4`; there are llama-3-70b,",
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
