//! Collectives against their fabric.

use crate::diagnostic::code;
use crate::document::{Report, Step, keys};
use crate::model::Fabric;
use crate::scenario::{
    AlgorithmSetting, Collective, CostSetting, CostValues, Operation, PlacementSetting, Workload,
};
use xoff_units::{Rate, Span};

/// Most channels and queue pairs of a connection, as in NCCL.
pub(crate) const MOST_CHANNELS: u32 = 64;
pub(super) const MOST_QPS: u32 = 128;

/// Checks what is particular to collectives; `workload` is one of them.
pub(super) fn check(
    index: usize,
    workload: &Workload,
    entry: &Collective,
    fabric: &Fabric,
    report: &mut Report<'_>,
) {
    let mut wrong = |key: &'static str, message: String, help: &str| {
        let path = [Step::Key("workload"), Step::Index(index), Step::Key(key)];
        report.error(code::IMPOSSIBLE, &path, message, help);
    };
    let exchanged = match workload {
        Workload::AllToAllCollective(exchanged) => Some(exchanged),
        _ => None,
    };
    let matrix = exchanged.is_some_and(|exchanged| exchanged.matrix.is_some());
    match (entry.size, entry.sizes) {
        (None, None) if matrix => {}
        _ if matrix => {
            wrong("matrix", "`matrix` and a size both say how much".into(), "keep one of them");
        }
        (None, None) => wrong("size", "no size".into(), "give `size` or `sizes`"),
        (Some(_), Some(_)) => {
            wrong("sizes", "`size` and `sizes` both say how much".into(), "keep one of them");
        }
        (Some(size), None) if size.is_zero() => {
            wrong("size", "nothing is sent".into(), "give a size like \"1GiB\"");
        }
        _ => {}
    }
    for (key, value, most) in [
        ("repeat", entry.repeat, u32::MAX),
        ("channels", entry.channels, MOST_CHANNELS),
        ("qps", entry.qps, MOST_QPS),
    ] {
        if let Some(value) = value.filter(|&value| value == 0 || value > most) {
            let help = format!("give 1 or more, at most {most}");
            wrong(key, format!("`{key}` is {value}"), &help);
        }
    }
    if entry.common.operation != Operation::Write {
        wrong("operation", "collectives write".into(), "leave `operation` out");
    }
    if !fits(workload, entry.algorithm) {
        let help = format!("it has {}", algorithms(workload));
        wrong("algorithm", "this collective has no such algorithm".into(), &help);
    }
    let aggregates = fabric.switches.iter().any(|switch| switch.aggregation.is_some());
    if entry.algorithm == AlgorithmSetting::InNetwork && !aggregates {
        let help = "add `aggregation = {}` under `[switch]` of the fabric, or choose `ring`";
        wrong("algorithm", "no switch of the fabric adds up data".into(), help);
    }
    let ranks = ranks(workload, entry, fabric, &mut wrong);
    if let Some(skew) = exchanged.and_then(|exchanged| exchanged.skew) {
        if matrix {
            wrong(
                "skew",
                "`matrix` and `skew` both say how uneven it is".into(),
                "keep one of them",
            );
        } else if !(1.0..=ranks as f64).contains(&skew) {
            let help = format!("give 1 (even) to {ranks} (all to one rank), like 2.5");
            wrong("skew", format!("`skew` is {skew}"), &help);
        }
    }
    if let Some(late) = entry.late.filter(|&late| late > LATEST) {
        wrong(
            "late",
            format!("`late` is {late}"),
            "give at most 100s; stragglers are some ms late",
        );
    }
    cost(index, &entry.cost, report);
}

/// Latest that a rank may come: far beyond any that a job would wait for.
const LATEST: Span = Span::from_ms(100_000);

/// Longest time of a cost: far beyond any GPU or host.
const LONGEST: Span = Span::from_ms(1000);

/// Costs of a workload that nothing would finish with.
pub(super) fn cost(index: usize, setting: &CostSetting, report: &mut Report<'_>) {
    if let CostSetting::Own(values) = setting {
        costs(keys!["workload", index, "cost"], values, report);
    }
}

/// Costs at a place of a file that nothing would finish with.
pub(crate) fn costs(at: &[Step<'_>], cost: &CostValues, report: &mut Report<'_>) {
    let mut wrong = |key: &'static str, message: String, help: &str| {
        let path = [at, keys![key]].concat();
        report.error(code::IMPOSSIBLE, &path, message, help);
    };
    for (key, rate) in [
        ("copy-rate", cost.copy_rate),
        ("pair-rate", cost.pair_rate),
        ("flag-rate", cost.flag_rate),
        ("ll128-rate", cost.ll128_rate),
    ] {
        if rate == Some(Rate::ZERO) {
            let help = "give a rate like \"188Gbps\", or `cost = \"none\"` for no cost at all";
            wrong(key, format!("with a `{key}` of zero nothing is ever received"), help);
        }
    }
    for (key, span) in [
        ("launch", cost.launch),
        ("nvls-launch", cost.nvls_launch),
        ("slice", cost.slice),
        ("proxy", cost.proxy),
        ("flag-slice", cost.flag_slice),
        ("flag-proxy", cost.flag_proxy),
        ("ll128-slice", cost.ll128_slice),
        ("ll128-proxy", cost.ll128_proxy),
    ] {
        if let Some(span) = span.filter(|&span| span > LONGEST) {
            wrong(key, format!("`{key}` is {span}"), "measured ones are below 20us");
        }
    }
}

/// GPUs that there are, those that take part, and the root among them; how many take part.
fn ranks(
    workload: &Workload,
    entry: &Collective,
    fabric: &Fabric,
    wrong: &mut impl FnMut(&'static str, String, &str),
) -> u64 {
    let mut there = gpus(fabric);
    if let PlacementSetting::Gpus(list) = &entry.placement {
        if let Some(gpu) = list.iter().find(|&&gpu| u64::from(gpu) >= there) {
            let help = format!("the fabric has {there} GPUs, counted from 0");
            wrong("placement", format!("there is no GPU {gpu}"), &help);
        }
        let mut sorted = list.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            wrong("placement", format!("GPU {} is listed twice", pair[0]), "list it once");
        }
        there = list.len() as u64;
    }
    let ranks = entry.ranks.map_or(there, u64::from);
    if ranks < 2 || ranks > there {
        let help = "give 2 or more, at most that many";
        wrong("ranks", format!("{ranks} ranks on {there} GPUs"), help);
    }
    if let Workload::Broadcast(rooted)
    | Workload::Gather(rooted)
    | Workload::Reduce(rooted)
    | Workload::Scatter(rooted) = workload
        && u64::from(rooted.root) >= ranks
    {
        let help = format!("there are {ranks} ranks, counted from 0");
        wrong("root", format!("there is no rank {}", rooted.root), &help);
    }
    ranks
}

/// GPUs of a fabric; a server that lists none has one per NIC.
pub(super) fn gpus(fabric: &Fabric) -> u64 {
    let count = |server: &crate::model::Server| match server.gpus {
        0 => server.nics.len() as u64,
        gpus => u64::from(gpus),
    };
    fabric.servers.iter().map(count).sum()
}

fn fits(workload: &Workload, algorithm: AlgorithmSetting) -> bool {
    use AlgorithmSetting::{
        Auto, Direct, InNetwork, Nvls, NvlsTree, Pairwise, Pat, Pxn, Rail, Ring, Tree,
    };
    match workload {
        Workload::AllReduce(_) => {
            matches!(algorithm, Auto | Ring | Tree | Rail | InNetwork | Nvls | NvlsTree)
        }
        Workload::AllGather(_) | Workload::ReduceScatter(_) => {
            matches!(algorithm, Auto | Ring | Pat)
        }
        Workload::Reduce(_) => matches!(algorithm, Auto | Ring),
        Workload::Broadcast(_) => matches!(algorithm, Auto | Ring | Tree),
        Workload::AllToAllCollective(_) => matches!(algorithm, Auto | Pairwise | Pxn | Direct),
        _ => matches!(algorithm, Auto | Pairwise | Pxn),
    }
}

fn algorithms(workload: &Workload) -> &'static str {
    match workload {
        Workload::AllReduce(_) => {
            "`auto`, `ring`, `tree`, `rail`, `nvls`, `nvls-tree` and `in-network`"
        }
        Workload::AllGather(_) | Workload::ReduceScatter(_) => "`auto`, `ring` and `pat`",
        Workload::Reduce(_) => "`auto` and `ring`",
        Workload::Broadcast(_) => "`auto`, `ring` and `tree`",
        Workload::AllToAllCollective(_) => "`auto`, `pairwise`, `pxn` and `direct`",
        _ => "`auto`, `pairwise` and `pxn`",
    }
}
