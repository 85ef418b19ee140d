//! Steps against what was published of them.

use super::*;
use crate::collective::Collective;

/// Llama-3 405B as table 4 of The Llama 3 Herd of Models has it. The first part of the model is the
/// embedding alone and the last one the output alone (section 3.3.2), so that parts have one layer: eight
/// virtual stages.
fn llama(data: u32, context: u32, sequence: u32, sequences: u32) -> Step {
    let (tensor, pipeline, chunks) = (8, 16, 8);
    let zero = Zero::Gradients;
    let spread =
        Parallelism { tensor, context, pipeline, chunks, data, zero, ..Parallelism::default() };
    let batch = Batch { sequence, sequences, micro: 1 };
    Step::new(model("llama-3-405b"), batch, spread, h100()).unwrap()
}

fn llama_16k() -> Step {
    llama(128, 1, 8_192, 2_048)
}

#[test]
fn parameters_are_those_of_the_names() {
    let billions = |name| model(name).parameters() as f64 / 1e9;
    for (name, wanted) in [
        ("llama-2-7b", 6.738),
        ("llama-2-13b", 13.016),
        ("llama-3-8b", 8.030),
        ("deepseek-v3", 671.0),
        ("llama-3-70b", 70.55),
        ("llama-3-405b", 405.85),
        ("gpt-3-175b", 174.6),
        ("mixtral-8x7b", 46.70),
    ] {
        let is = billions(name);
        assert!((is - wanted).abs() < 0.001 * wanted, "{name}: {is}");
    }
}

/// The byte table: tensor 2bsh, data 4 and 2 bytes for every parameter of a rank, pipeline 2bsh/TP.
#[test]
fn llama_405b_on_16384_gpus_sends_what_the_table_says() {
    let step = llama_16k();
    assert_eq!((step.gpus(), step.micro_batches()), (16_384, 16));
    let volumes = step.volumes(5).unwrap();
    let (tokens, hidden) = (8_192.0, 16_384.0);
    let parameters = 405e9 / (8.0 * 16.0);
    let layers = 126.0 / 16.0;
    let near = |is: u64, wanted: f64, what: &str| {
        let off = is as f64 / wanted - 1.0;
        assert!(off.abs() < 0.05, "{what}: {is} for {wanted} ({:+.1} %)", off * 100.0);
    };
    let events = |dimension, collective| -> (u64, u64) {
        let own = |v: &&Volume| v.dimension == dimension && v.collective == collective;
        let own: Vec<_> = volumes.list.iter().filter(own).collect();
        (own[0].size.get(), own.iter().map(|volume| volume.events).sum())
    };
    let (gather, scatter) = (Some(Collective::AllGather), Some(Collective::ReduceScatter));
    for half in [gather, scatter] {
        let (size, count) = events(Dimension::Tensor, half);
        near(size, 2.0 * tokens * hidden, "tensor");
        near(count, 16.0 * layers * 4.0, "tensor events");
    }
    let (size, count) = events(Dimension::Data, scatter);
    near(size * count, 4.0 * parameters, "gradients");
    let (size, count) = events(Dimension::Data, gather);
    near(size * count, 2.0 * parameters, "parameters");
    let (size, count) = events(Dimension::Pipeline, None);
    near(size, 2.0 * tokens * hidden / 8.0, "pipeline");
    assert_eq!(count, 2 * 16 * 8);
    // What a GPU sends in all, from the table by hand.
    let tensor = 16.0 * layers * 4.0 * 2.0 * 2.0 * tokens * hidden * 7.0 / 8.0;
    near(volumes.along(Dimension::Tensor).get(), tensor, "tensor in all");
    near(volumes.along(Dimension::Data).get(), 6.0 * parameters * 127.0 / 128.0, "data in all");
    let pipeline = 2.0 * 16.0 * 8.0 * 2.0 * tokens * hidden / 8.0;
    near(volumes.along(Dimension::Pipeline).get(), pipeline, "pipeline in all");
    assert!(volumes.along(Dimension::Context).is_zero());
    assert!(volumes.along(Dimension::Expert).is_zero());
}

/// GPT-3 175B with TP 8, PP 8, DP 512: 5.5 GB of gradients in BF16 and 6 MB from stage to stage.
#[test]
fn gpt_3_sends_what_was_published() {
    let spread = Parallelism {
        tensor: 8,
        pipeline: 8,
        data: 512,
        zero: Zero::Off,
        ..Parallelism::default()
    };
    let batch = Batch { sequence: 2_048, sequences: 512 * 16, micro: 1 };
    let step = Step::new(model("gpt-3-175b"), batch, spread, h100()).unwrap().half_gradients();
    let volumes = step.volumes(3).unwrap();
    let of = |dimension| volumes.list.iter().find(|v| v.dimension == dimension).unwrap();
    let data = of(Dimension::Data);
    assert_eq!(data.collective, Some(Collective::AllReduce));
    let gradients = data.size.get() as f64 * data.events as f64 / 1e9;
    assert!((gradients / 5.5 - 1.0).abs() < 0.05, "{gradients}");
    let pipeline = of(Dimension::Pipeline).size.get() as f64 / 1e6;
    assert!((pipeline / 6.0 - 1.0).abs() < 0.05, "{pipeline}");
}

/// One efficiency, taken from the first, gives the other two. Points are of utilisation.
#[test]
fn llama_405b_is_as_fast_as_published() {
    for (name, step, published, within) in [
        ("8,192 GPUs", llama(64, 1, 8_192, 2_048), 43.0, 1.0),
        ("16,384 GPUs", llama_16k(), 41.0, 2.0),
        ("131,072 tokens", llama(8, 16, 131_072, 128), 38.0, 5.0),
    ] {
        let fabric = cluster(step.gpus() / 8);
        let analysis = step.analytic(&packed(&fabric), &network()).unwrap();
        let figures = step.figures(analysis.time).unwrap();
        let mfu = figures.mfu * 100.0;
        eprintln!("{name}: {mfu:.1} % (published {published} %), {analysis:?}");
        assert!((mfu - published).abs() < within, "{name}: {mfu}, {figures:?}\n{analysis:?}");
    }
}

/// The bubble of a pipeline of p stages with v parts each and m micro-batches is (p-1)/(v x m) of the
/// time of the rest, if handing over takes no time: GPUs here are so slow that it does not count.
#[test]
fn bubbles_are_those_of_the_formula() {
    let flat = Network::default();
    for (pipeline, chunks, sequences) in [(4, 1, 8), (4, 2, 8), (8, 4, 16), (16, 8, 32)] {
        let mut shape = model("llama-3-70b");
        (shape.layers, shape.vocabulary) = (128, 8);
        let spread = Parallelism { tensor: 8, pipeline, chunks, ..Parallelism::default() };
        let batch = Batch { sequence: 8_192, sequences, micro: 1 };
        let slow = Gpu { peak: FlopRate::from_teraflops(1), ..h100() };
        let step = Step::new(shape, batch, spread, slow).unwrap();
        let layout = packed(&cluster(pipeline));
        let analysis = step.analytic(&layout, &flat).unwrap();
        let busy = analysis.compute + analysis.exposed();
        let is = analysis.bubble().as_ps() as f64 / busy.as_ps() as f64;
        let wanted = f64::from(pipeline - 1) / f64::from(chunks * sequences);
        assert!((is / wanted - 1.0).abs() < 0.01, "{pipeline} {chunks}: {is} {wanted}");
        let formula =
            step.bubble().unwrap().as_ps() as f64 / step.compute().unwrap().as_ps() as f64;
        assert!((formula / wanted - 1.0).abs() < 1e-6, "{formula} {wanted}");
    }
}
