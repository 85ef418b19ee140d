//! Collectives and a training step over the whole cluster.
//!
//! Up to [`TOGETHER`] servers work on one job. In a larger cluster several jobs of that size fill it, each with servers
//! from everywhere in turn: every link carries what it carries when the whole cluster trains, the rings are as long as
//! those of data-parallel groups in practice, and a collective moves full chunks.

use super::Scale;
use super::layout::Layout;
use super::load::queue_pairs;
use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{
    AlgorithmSetting, Collective, Common, ModelSetting, ModelShape, PlacementRule,
    PlacementSetting, TrainingStep, Workload,
};
use xoff_sim::Refusal;
use xoff_units::{Bytes, Span};

/// The most servers of one job.
const TOGETHER: usize = 32;
/// Servers of all jobs times NICs of the fabric, at most, of an AllToAll: every rank has a queue pair with every other,
/// and those of larger jobs would take gigabytes. Groups of experts are as large in practice.
const EXCHANGING: usize = 32_768;
/// So many servers at least.
const FEW: usize = 4;

/// The experiment with a training step on a healthy fabric.
pub const TRAINING_STEP: &str = "training-step";

/// A collective as a piece of traffic.
type Kind = fn(Collective) -> Workload;

fn exchange(collective: Collective) -> Workload {
    Workload::AllToAllCollective(collective.into())
}

/// The GPUs of each job, by number; one empty list if a single job has them all.
fn jobs(fabric: &Fabric, together: usize) -> Vec<Vec<u32>> {
    let servers = fabric.servers.len();
    if servers <= together {
        return vec![Vec::new()];
    }
    let mut first = Vec::with_capacity(servers);
    let mut counted = 0;
    for server in &fabric.servers {
        first.push(counted);
        counted += server.gpus;
    }
    let jobs = servers.div_ceil(together);
    let gpus = |server: usize| first[server]..first[server] + fabric.servers[server].gpus;
    (0..jobs).map(|job| (job..servers).step_by(jobs).flat_map(gpus).collect()).collect()
}

pub(super) fn experiments(fabric: &Fabric, mut scale: Scale) -> Vec<Experiment> {
    scale.flows &= Refusal::of_fabric(fabric, [fabric.data_class]).is_none();
    let gpus: u64 = fabric.servers.iter().map(|server| u64::from(server.gpus)).sum();
    if gpus < 2 || fabric.nics.len() < 2 {
        return Vec::new();
    }
    let exchanging = (EXCHANGING / fabric.nics.len()).clamp(FEW, TOGETHER);
    let (exchanging, jobs) = (jobs(fabric, exchanging), jobs(fabric, TOGETHER));
    // A server's NICs share what it sends: each of them sends the same in every fabric.
    let nics = fabric.servers.iter().map(|server| server.nics.len() as u64).max().unwrap_or(1);
    let reduced = Bytes::new(scale.reduced.get().saturating_mul(nics.max(1)));
    let kinds: [(&str, &str, Kind, Bytes); 4] = [
        ("all-reduce", "AllReduce", Workload::AllReduce, reduced),
        ("all-gather", "AllGather", Workload::AllGather, reduced),
        ("reduce-scatter", "ReduceScatter", Workload::ReduceScatter, reduced),
        ("all-to-all-collective", "AllToAll", exchange, scale.exchanged),
    ];
    let one = |(id, name, kind, size): (&str, &str, Kind, Bytes)| {
        let jobs = if id == "all-to-all-collective" { &exchanging } else { &jobs };
        let mut experiment = Experiment::new(id, Phase::Workload, title(name, jobs, gpus));
        for (number, job) in jobs.iter().enumerate() {
            let collective = Collective {
                size: Some(size),
                algorithm: algorithm(fabric, id),
                qps: Some(queue_pairs(fabric)).filter(|&number| number > 1),
                placement: placement(job, PlacementRule::Packed),
                common: named(name, number),
                ..Collective::default()
            };
            experiment = experiment.with(kind(collective));
        }
        let experiment = experiment.within(Span::from_ms(2_000));
        if scale.flows && id != "all-reduce" { experiment.as_flows() } else { experiment }
    };
    let chosen = kinds.into_iter().filter(|(id, ..)| scale.scatters || *id != "reduce-scatter");
    chosen.map(one).chain(step(fabric, scale, &jobs)).collect()
}

/// AllReduce goes along rings, as large ones do. All-to-all goes from rank to rank, each by its own NIC, where the fabric
/// lets it: then it crosses rails and spines.
fn algorithm(fabric: &Fabric, id: &str) -> AlgorithmSetting {
    match id {
        "all-reduce" => AlgorithmSetting::Ring,
        "all-to-all-collective" if Layout::of(fabric).crosses_rails => AlgorithmSetting::Pairwise,
        _ => AlgorithmSetting::Auto,
    }
}

fn title(name: &str, jobs: &[Vec<u32>], gpus: u64) -> String {
    match jobs.len() {
        1 => format!("{name} over all {gpus} GPUs"),
        number => format!("{name} over all {gpus} GPUs, in {number} jobs at once"),
    }
}

fn placement(job: &[u32], rule: PlacementRule) -> PlacementSetting {
    match job.is_empty() {
        true => PlacementSetting::Rule(rule),
        false => PlacementSetting::Gpus(job.to_vec()),
    }
}

fn named(name: &str, job: usize) -> Common {
    let name = if job == 0 { name.to_owned() } else { format!("{name} {}", job + 1) };
    Common { name: Some(name), ..Common::default() }
}

/// Experts of a layer, and GPUs of a tensor-parallel group, at most.
const EXPERTS: u32 = 8;
const TENSOR: u32 = 8;

/// A step of a model with few layers: computation and traffic both grow with them, so GPUs wait for
/// the same share of time as in a deeper one. Tensor parallelism stays inside servers; experts are
/// spread over servers, which adds all-to-all traffic to that of the gradients.
fn step(fabric: &Fabric, scale: Scale, jobs: &[Vec<u32>]) -> Option<Experiment> {
    let inside = fabric.servers.iter().map(|server| server.gpus).reduce(gcd)?;
    let gpus: u32 = fabric.servers.iter().map(|server| server.gpus).sum();
    let tp = power_of_two_within(inside, TENSOR)?;
    if fabric.servers.len() < 2 || gpus / tp < 2 {
        return None;
    }
    let title = title("A training step of a mixture-of-experts model", jobs, gpus.into());
    let mut experiment = Experiment::new(TRAINING_STEP, Phase::Workload, title);
    for (number, job) in jobs.iter().enumerate() {
        let ranks = if job.is_empty() { gpus } else { job.len() as u32 };
        let dp = ranks / tp;
        let ep = power_of_two_within(dp, EXPERTS);
        let step = TrainingStep {
            sequence: Some(4_096),
            tp: Some(tp),
            dp: Some(dp),
            ep,
            qps: Some(queue_pairs(fabric)).filter(|&number| number > 1),
            placement: placement(job, PlacementRule::Fragmented),
            common: named("training step", number),
            ..TrainingStep::new(ModelSetting::Shape(shape(scale, tp, ep.unwrap_or(1))))
        };
        experiment = experiment.with(Workload::TrainingStep(step));
    }
    let experiment = experiment.within(Span::from_ms(2_000));
    Some(if scale.flows { experiment.as_flows() } else { experiment })
}

/// A model whose weights are divided by as many GPUs as there are: each sends as much of them in a server with one GPU
/// as in one with eight, and computes as much.
fn shape(scale: Scale, tp: u32, ep: u32) -> ModelShape {
    ModelShape {
        layers: scale.layers,
        hidden: scale.hidden,
        heads: scale.hidden / 128,
        kv_heads: Some(8),
        ffn: 14_336 / TENSOR * tp,
        gated: None,
        vocabulary: 8_192,
        experts: Some(ep.max(2)),
        active: Some(2),
        shared_experts: None,
        dense_layers: None,
        dense_ffn: None,
    }
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
    use crate::suite::Choice;
    use xoff_fabric::scenario::Fidelity;

    fn fabric(cluster: &str) -> Fabric {
        let text = format!("[cluster]\n{cluster}\n[fabric]\nkind = 'leaf-spine'\n");
        Fabric::from_toml(&text).unwrap()
    }

    fn step_of(cluster: &str) -> Option<(u32, u32, u32)> {
        let fabric = fabric(cluster);
        let experiment = step(&fabric, Scale::of(&Choice::default(), 1), &jobs(&fabric, TOGETHER))?;
        let [Workload::TrainingStep(step)] = experiment.scenario.workloads.as_slice() else {
            return None;
        };
        Some((step.tp?, step.dp?, step.ep?))
    }

    #[test]
    fn steps_fit_their_servers() {
        assert_eq!(step_of("gpus = 256"), Some((8, 32, 8)));
        assert_eq!(step_of("gpus = 24"), Some((8, 3, 1)));
        assert_eq!(step_of("gpus = 64\ngpus-per-server = 4"), Some((4, 16, 8)));
        assert_eq!(step_of("gpus = 36\ngpus-per-server = 6"), Some((2, 18, 2)));
        assert_eq!(step_of("gpus = 7\ngpus-per-server = 1"), Some((1, 7, 1)));
        assert_eq!(step_of("gpus = 8"), None);
    }

    /// Only where packets would take too long, never the AllReduce, and never where flows cannot show what matters.
    #[test]
    fn large_fabrics_have_flows() {
        let fabric = fabric("gpus = 64");
        let as_flows = |fabric: &Fabric, nics| {
            let all = experiments(fabric, Scale::of(&Choice::default(), nics));
            let flows = all.into_iter().filter(|one| one.scenario.fidelity == Fidelity::Flow);
            flows.map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(as_flows(&fabric, 4_096), Vec::<String>::new());
        let meant = ["all-gather", "all-to-all-collective", TRAINING_STEP];
        assert_eq!(as_flows(&fabric, 8_192), meant);
        let lossy = "[cluster]\ngpus = 64\n[fabric]\nkind = 'leaf-spine'\n[pfc]\nenabled = false\n";
        let lossy = Fabric::from_toml(lossy).unwrap();
        assert_eq!(as_flows(&lossy, 8_192), Vec::<String>::new());
    }

    #[test]
    fn jobs_fill_the_whole_cluster() {
        assert_eq!(jobs(&fabric("gpus = 256"), TOGETHER), [Vec::<u32>::new()]);
        for gpus in [264, 512, 1_024, 2_040] {
            let jobs = jobs(&fabric(&format!("gpus = {gpus}")), TOGETHER);
            let mut all: Vec<u32> = jobs.iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, (0..gpus).collect::<Vec<u32>>());
            assert!(jobs.iter().all(|job| job.len() <= 256 && job.len() >= 128), "{jobs:?}");
        }
    }
}
