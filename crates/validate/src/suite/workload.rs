//! Collectives over sizes.

use crate::experiment::Experiment;
use crate::phase::Phase;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{Collective, Common, Workload};
use xoff_units::Span;

/// GPUs up to which all take part.
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
        // Pairwise exchanges make many small transfers; the smaller sizes say as much.
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
    kinds.into_iter().map(one).collect()
}
