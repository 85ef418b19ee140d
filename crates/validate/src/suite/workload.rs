//! Collectives over sizes, and a training step.

use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{
    Collective, Common, ModelSetting, ModelShape, PlacementRule, PlacementSetting, TrainingStep,
    Workload,
};
use xoff_units::Span;

/// The most GPUs that take part.
const RANKS: u64 = 256;

/// A collective as a piece of traffic.
type Kind = fn(Collective) -> Workload;

pub(super) fn experiments(fabric: &Fabric, quick: bool) -> Vec<Experiment> {
    let gpus: u64 = fabric.servers.iter().map(|server| u64::from(server.gpus)).sum();
    if gpus < 2 || fabric.nics.len() < 2 {
        return Vec::new();
    }
    let ranks = (gpus > RANKS).then_some(RANKS as u32);
    let kinds: [(&str, &str, Kind); 4] = [
        ("all-reduce", "AllReduce", Workload::AllReduce),
        ("all-gather", "AllGather", Workload::AllGather),
        ("reduce-scatter", "ReduceScatter", Workload::ReduceScatter),
        ("all-to-all-collective", "AllToAll", Workload::AllToAllCollective),
    ];
    let one = |(id, name, kind): (&str, &str, Kind)| {
        // Pairwise exchanges make many small transfers; smaller sizes show as much.
        let sizes = match (quick, id) {
            (true, "all-to-all-collective") => "4MiB..8MiB",
            (true, _) => "4MiB..16MiB",
            (false, "all-to-all-collective") => "1MiB..16MiB",
            (false, _) => "1MiB..64MiB",
        };
        let collective = Collective {
            sizes: sizes.parse().ok(),
            ranks,
            common: Common { name: Some(name.into()), ..Common::default() },
            ..Collective::default()
        };
        let title = format!("{name} over {} GPUs, as nccl-tests does it", gpus.min(RANKS));
        Experiment::new(id, Phase::Workload, title)
            .with(kind(collective))
            .within(Span::from_ms(500))
    };
    kinds.into_iter().map(one).chain(step(fabric, quick)).collect()
}

/// GPUs of the training step, and experts of its layers.
const STEP_RANKS: u32 = 64;
const EXPERTS: u32 = 8;

/// A step of a model with few layers: computation and traffic both grow with them, so GPUs wait for
/// the same share of time as in a deeper one. Tensor parallelism stays inside servers; experts are
/// spread over servers, which adds all-to-all traffic to that of the gradients.
fn step(fabric: &Fabric, quick: bool) -> Option<Experiment> {
    let inside = fabric.servers.iter().map(|server| server.gpus).reduce(gcd)?;
    let gpus: u32 = fabric.servers.iter().map(|server| server.gpus).sum();
    let tp = power_of_two_within(inside, 8)?;
    let dp = gpus.min(STEP_RANKS) / tp;
    if dp < 2 || fabric.servers.len() < 2 {
        return None;
    }
    let shape = ModelShape {
        layers: if quick { 1 } else { 2 },
        hidden: 4096,
        heads: 32,
        kv_heads: Some(8),
        ffn: 14_336,
        gated: None,
        vocabulary: 8_192,
        experts: Some(EXPERTS),
        active: Some(2),
    };
    let step = TrainingStep {
        sequence: Some(4_096),
        tp: Some(tp),
        dp: Some(dp),
        ep: power_of_two_within(dp, EXPERTS),
        placement: PlacementSetting::Rule(PlacementRule::Fragmented),
        common: Common { name: Some("training step".into()), ..Common::default() },
        ..TrainingStep::new(ModelSetting::Shape(shape))
    };
    let title = format!("A training step of a mixture-of-experts model over {} GPUs", tp * dp);
    let experiment = Experiment::new("training-step", Phase::Workload, title);
    Some(experiment.with(Workload::TrainingStep(step)).within(Span::from_ms(500)))
}

/// The greatest power of two that divides a number and is not above `most`, a power of two itself.
fn power_of_two_within(number: u32, most: u32) -> Option<u32> {
    (number > 0).then(|| (1 << number.trailing_zeros()).min(most))
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_of(cluster: &str) -> Option<(u32, u32, u32)> {
        let text = format!("[cluster]\n{cluster}\n[fabric]\nkind = 'leaf-spine'\n");
        let experiment = step(&Fabric::from_toml(&text).unwrap(), false)?;
        let [Workload::TrainingStep(step)] = experiment.scenario.workloads.as_slice() else {
            return None;
        };
        Some((step.tp?, step.dp?, step.ep?))
    }

    #[test]
    fn steps_fit_their_servers() {
        assert_eq!(step_of("gpus = 256"), Some((8, 8, 8)));
        assert_eq!(step_of("gpus = 24"), Some((8, 3, 1)));
        assert_eq!(step_of("gpus = 64\ngpus-per-server = 4"), Some((4, 16, 8)));
        assert_eq!(step_of("gpus = 36\ngpus-per-server = 6"), Some((2, 18, 2)));
        assert_eq!(step_of("gpus = 7\ngpus-per-server = 1"), Some((1, 7, 1)));
        assert_eq!(step_of("gpus = 8"), None);
    }
}
