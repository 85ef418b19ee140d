//! Small steps on the ideal network: they come to their end, move what they should, and take as long as
//! the analysis says.

use super::*;
use crate::ideal::Outcome;
use crate::layout::RankId;
use xoff_units::Instant;

/// A model small enough to run in a moment; everything in it is a power of two, so that collectives are
/// cut without a rest.
fn little(experts: Option<Experts>) -> Model {
    Model {
        layers: 4,
        hidden: 1_024,
        heads: 16,
        kv_heads: 8,
        ffn: 4_096,
        gated: false,
        vocabulary: 8_192,
        tied: false,
        latent: None,
        experts,
    }
}

const EXPERTS: Option<Experts> = Some(Experts::plain(8, 2));

fn spread(tensor: u32, context: u32, pipeline: u32, chunks: u32, data: u32) -> Parallelism {
    Parallelism { tensor, context, pipeline, chunks, data, ..Parallelism::default() }
}

fn step(model: Model, spread: Parallelism, micro_batches: u32) -> Step {
    let sequences = micro_batches * spread.data;
    let batch = Batch { sequence: 2_048, sequences, micro: 1 };
    // Slow enough that computing is worth something beside sending.
    let gpu = Gpu { peak: FlopRate::from_teraflops(100), ..h100() };
    Step::new(model, batch, spread, gpu).unwrap()
}

fn run(step: &Step, fabric: &Fabric, layout: &Layout) -> Outcome {
    let mut program = step.program(layout).unwrap();
    let outcome = ideal::run(&mut program, fabric, &network()).unwrap();
    // Whatever waits for whatever: the parts of the critical path are the whole time.
    let path = program.critical_path().unwrap();
    assert_eq!(path.total(), outcome.end - Instant::ZERO, "{path:?}");
    outcome
}

#[test]
fn a_critical_path_says_what_was_waited_for() {
    let step = step(little(None), spread(8, 1, 1, 1, 4), 2);
    let fabric = cluster(4);
    let mut program = step.program(&packed(&fabric)).unwrap();
    ideal::run(&mut program, &fabric, &network()).unwrap();
    let path = program.critical_path().unwrap();
    assert_eq!(path.compute, step.compute().unwrap());
    let waits = |wanted| path.waits.iter().find(|(d, _)| *d == wanted).unwrap().1;
    assert!(!waits(Dimension::Tensor).is_zero() && !waits(Dimension::Data).is_zero());
    assert!(waits(Dimension::Pipeline).is_zero() && waits(Dimension::Expert).is_zero());
    // Ranks 0, 8, 16 and 24 share parameters, and so on.
    let longest = path.longest.unwrap();
    assert!(longest.ranks.contains(&longest.held_by));
    let size = if longest.dimension == Dimension::Data { 4 } else { 8 };
    assert_eq!(longest.ranks.len(), size);
}

/// Every shape of step, with servers of 8 that are full.
fn steps() -> Vec<(&'static str, Step)> {
    let dense = little(None);
    let with = |spread: Parallelism, expert, zero| Parallelism { expert, zero, ..spread };
    let fsdp = |spread| with(spread, 1, Zero::Parameters);
    vec![
        ("tp", step(dense, spread(8, 1, 1, 1, 1), 2)),
        ("tp dp", step(dense, spread(8, 1, 1, 1, 4), 2)),
        ("tp dp, all-reduce", step(dense, with(spread(8, 1, 1, 1, 4), 1, Zero::Off), 2)),
        ("tp cp", step(dense, spread(8, 4, 1, 1, 1), 2)),
        ("tp pp", step(dense, spread(8, 1, 4, 1, 1), 4)),
        ("tp pp vp", step(dense, spread(8, 1, 2, 2, 1), 4)),
        ("tp cp pp dp", step(dense, spread(8, 2, 2, 2, 2), 4)),
        ("fsdp", step(dense, fsdp(spread(1, 1, 1, 1, 8)), 2)),
        ("fsdp over servers", step(dense, fsdp(spread(8, 1, 1, 1, 4)), 2)),
        ("ep", step(little(EXPERTS), with(spread(8, 4, 1, 1, 2), 4, Zero::Optimizer), 1)),
        ("ep pp", step(little(EXPERTS), with(spread(8, 1, 2, 1, 4), 4, Zero::Optimizer), 4)),
        ("full", step(dense, spread(8, 2, 1, 1, 2), 2).recomputing(Recompute::Full)),
        ("selective", step(dense, spread(8, 2, 1, 1, 2), 2).recomputing(Recompute::Selective)),
    ]
}

/// On the ideal network, with tensor parallelism over exactly a server, a rank's other dimensions are its
/// NIC's load and no other's. The step is not faster than the analysis says, and at most 10 % slower;
/// where several dimensions share a NIC, which the analysis leaves out, at most 35 %.
#[test]
fn steps_move_what_the_volumes_say_in_the_time_of_the_analysis() {
    for (name, step) in steps() {
        let fabric = cluster(step.gpus().div_ceil(8));
        let layout = packed(&fabric);
        let outcome = run(&step, &fabric, &layout);
        let mut dimensions = 0;
        for rank in 0..step.gpus() {
            let volumes = step.volumes(step.parallelism().position(rank).stage).unwrap();
            let near = volumes.along(Dimension::Tensor);
            let all = Dimension::ALL.iter().map(|&d| volumes.along(d).get()).sum::<u64>();
            let far = Dimension::ALL.iter().filter(|&&d| d != Dimension::Tensor);
            dimensions = far.filter(|&&d| !volumes.along(d).is_zero()).count();
            let seat = layout.seat(RankId(rank));
            let (nic, gpu) = (outcome.nics[seat.nic.0 as usize], outcome.gpus[seat.gpu.index()]);
            if step.parallelism().tensor == 8 {
                assert_eq!(gpu.sent, near, "{name}, rank {rank}");
                assert_eq!(nic.sent.get(), all - near.get(), "{name}, rank {rank}");
            } else {
                assert_eq!(gpu.sent.get() + nic.sent.get(), all, "{name}, rank {rank}");
            }
        }
        let analysis = step.analytic(&layout, &network()).unwrap();
        let sum = analysis.compute + analysis.exposed() + analysis.bubble();
        assert!(analysis.time.as_ps().abs_diff(sum.as_ps()) < 10, "{name}: {analysis:?}");
        let off = outcome.end.as_ps() as f64 / analysis.time.as_ps() as f64 - 1.0;
        eprintln!("{name}: {:+.1} % of {}", off * 100.0, analysis.time);
        let most = if dimensions > 1 { 0.35 } else { 0.10 };
        assert!(off > -0.02 && off < most, "{name}: {:+.1} %\n{analysis:?}", off * 100.0);
    }
}

#[test]
fn the_same_again_gives_the_same() {
    let (_, step) = steps().remove(6);
    let fabric = cluster(step.gpus() / 8);
    let layout = packed(&fabric);
    assert_eq!(run(&step, &fabric, &layout), run(&step, &fabric, &layout));
}

#[test]
fn fragmented_ranks_work_too() {
    let step = step(little(EXPERTS), Parallelism { expert: 2, ..spread(4, 2, 2, 1, 2) }, 2);
    let fabric = cluster(8);
    for seed in 0..4 {
        let layout =
            Layout::new(&fabric, Some(step.gpus()), &Placement::Fragmented { seed }).unwrap();
        let outcome = run(&step, &fabric, &layout);
        let sent: u64 = outcome.nics.iter().chain(&outcome.gpus).map(|m| m.sent.get()).sum();
        let volumes = |stage| step.volumes(stage).unwrap();
        let of_stage =
            |stage| Dimension::ALL.iter().map(|&d| volumes(stage).along(d).get()).sum::<u64>();
        let said = (0..2).map(of_stage).sum::<u64>() * u64::from(step.gpus() / 2);
        // What is handed to the GPU that owns a NIC (PXN) goes twice.
        assert!(sent >= said && sent < said * 2, "{sent} for {said}");
    }
}

#[test]
fn a_lone_gpu_computes() {
    let step = step(little(None), Parallelism::default(), 3);
    let fabric = cluster(1);
    let layout = Layout::new(&fabric, Some(1), &Placement::Packed).unwrap();
    let analysis = step.analytic(&layout, &network()).unwrap();
    assert_eq!(analysis.time, analysis.compute);
    assert_eq!(run(&step, &fabric, &layout).end.as_ps(), analysis.time.as_ps());
    let figures = step.figures(analysis.time).unwrap();
    assert!((figures.mfu - h100().efficiency.as_f64()).abs() < 1e-9, "{figures:?}");
    assert!(figures.idle.abs() < 1e-9);
}

#[test]
fn what_does_not_divide_is_said() {
    let refused = |spread: Parallelism, sequences: u32| {
        let batch = Batch { sequence: 2_048, sequences, micro: 1 };
        Step::new(little(EXPERTS), batch, spread, h100()).unwrap_err().to_string()
    };
    let one = Parallelism::default();
    for (spread, sequences, text) in [
        (Parallelism { tensor: 3, ..one }, 1, "16 heads are not divisible by 3 (tensor"),
        (Parallelism { tensor: 16, ..one }, 1, "8 kv heads are not divisible by 16"),
        (Parallelism { context: 3, ..one }, 1, "2048 tokens of a sequence are not divisible by 3"),
        (Parallelism { data: 3, ..one }, 4, "4 sequences are not divisible by 3 (data"),
        (Parallelism { expert: 3, data: 3, ..one }, 3, "8 experts are not divisible by 3"),
        (Parallelism { expert: 4, data: 2, ..one }, 2, "2 context times data ranks are not"),
        (Parallelism { pipeline: 5, ..one }, 1, "4 layers do not fill 5 parts"),
        (
            Parallelism { pipeline: 2, chunks: 2, ..one },
            3,
            "3 micro-batches are not divisible by 2",
        ),
        (Parallelism { chunks: 2, ..one }, 1, "virtual stages need a pipeline"),
        (Parallelism { tensor: 0, ..one }, 1, "`tp` is 0; it goes from 1"),
        (Parallelism { data: u32::MAX, ..one }, 1, "`dp` is 4294967295"),
    ] {
        let said = refused(spread, sequences);
        assert!(said.contains(text), "{said}");
    }
    let few = Layout::new(&cluster(1), None, &Placement::Packed).unwrap();
    let step = step(little(None), spread(8, 2, 1, 1, 1), 1);
    let said = step.program(&few).unwrap_err().to_string();
    assert_eq!(said, "the step takes 16 GPUs and is given 8");
}
