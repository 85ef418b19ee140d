//! What the words of a scenario's collectives mean: costs, places, operations and algorithms.

use crate::collective::{Algorithm, Collective, Cost, Flags, Matrix, Uneven, tuner};
use crate::layout::{GpuId, Layout, Placement, RankId};
use std::path::Path;
use std::sync::Arc;
use xoff_fabric::model::Fabric;
use xoff_fabric::scenario::{
    AlgorithmSetting, CostName, CostSetting, PlacementRule, PlacementSetting, Workload,
};
use xoff_units::Bytes;

/// How uneven an AllToAll is; none if it is even, or no AllToAll.
pub(super) fn uneven(
    workload: &Workload,
    seed: u64,
    base: Option<&Path>,
) -> Result<Option<Uneven>, String> {
    let Workload::AllToAllCollective(entry) = workload else { return Ok(None) };
    let Some(path) = &entry.matrix else {
        return Ok(entry.skew.map(|ratio| Uneven::Skewed { ratio, seed }));
    };
    let base = base.ok_or("a matrix is read from a file, and none can be read here")?;
    let path = base.join(path);
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(&error))?;
    let matrix = Matrix::parse(&text).map_err(|error| wrong(&error))?;
    Ok(Some(Uneven::Exactly(Arc::new(matrix))))
}

/// The costs of a setting; what it does not say is as measured.
pub(crate) fn cost(setting: &CostSetting, fabric: &Fabric) -> Cost {
    let own = match setting {
        // That of a fabric is never that of a fabric.
        CostSetting::Named(CostName::Fabric) => match &fabric.collectives.cost {
            CostSetting::Named(CostName::Fabric) => return Cost::MEASURED,
            of_fabric => return cost(of_fabric, fabric),
        },
        CostSetting::Named(CostName::Measured) => return Cost::MEASURED,
        CostSetting::Named(CostName::None) => return Cost::NONE,
        CostSetting::Own(own) => own,
    };
    let usual = Cost::MEASURED;
    let flags = usual.flags.filter(|_| own.flags != Some(false)).map(|usual| Flags {
        slice: own.flag_slice.unwrap_or(usual.slice),
        proxy: own.flag_proxy.unwrap_or(usual.proxy),
        rate: own.flag_rate.unwrap_or(usual.rate),
    });
    let lines = own.flags != Some(false) && own.ll128 != Some(false);
    let lines = usual.lines.filter(|_| lines).map(|usual| Flags {
        slice: own.ll128_slice.unwrap_or(usual.slice),
        proxy: own.ll128_proxy.unwrap_or(usual.proxy),
        rate: own.ll128_rate.unwrap_or(usual.rate),
    });
    Cost {
        launch: own.launch.unwrap_or(usual.launch),
        nvls_launch: own.nvls_launch.unwrap_or(usual.nvls_launch),
        slice: own.slice.unwrap_or(usual.slice),
        copy_rate: own.copy_rate.or(usual.copy_rate),
        proxy: own.proxy.unwrap_or(usual.proxy),
        pair_rate: own.pair_rate.or(usual.pair_rate),
        flags,
        lines,
    }
}

/// Where the ranks are.
pub(super) fn placement(setting: &PlacementSetting, seed: u64) -> Placement {
    match setting {
        PlacementSetting::Rule(PlacementRule::Packed) => Placement::Packed,
        PlacementSetting::Rule(PlacementRule::Fragmented) => Placement::Fragmented { seed },
        PlacementSetting::Gpus(list) => {
            Placement::Listed(list.iter().map(|&gpu| GpuId(gpu)).collect())
        }
    }
}

/// The operation of a workload.
pub(super) fn collective(workload: &Workload) -> Collective {
    match workload {
        Workload::AllGather(_) => Collective::AllGather,
        Workload::ReduceScatter(_) => Collective::ReduceScatter,
        Workload::AllToAllCollective(_) => Collective::AllToAll,
        Workload::Broadcast(entry) => Collective::Broadcast { root: RankId(entry.root) },
        Workload::Gather(entry) => Collective::Gather { root: RankId(entry.root) },
        Workload::Reduce(entry) => Collective::Reduce { root: RankId(entry.root) },
        Workload::Scatter(entry) => Collective::Scatter { root: RankId(entry.root) },
        Workload::SendRecv(_) => Collective::SendRecv,
        _ => Collective::AllReduce,
    }
}

/// The algorithm for messages of a size.
pub(super) fn algorithm(
    setting: AlgorithmSetting,
    collective: Collective,
    size: Bytes,
    layout: &Layout,
) -> Algorithm {
    match setting {
        AlgorithmSetting::Auto => match tuner::choose(collective, size, layout) {
            Some(choice) => choice.algorithm,
            None => Algorithm::of(collective)[0],
        },
        AlgorithmSetting::Ring => Algorithm::Ring,
        AlgorithmSetting::Tree => Algorithm::Tree,
        AlgorithmSetting::Rail => Algorithm::Rail,
        AlgorithmSetting::Pairwise => Algorithm::Pairwise,
        AlgorithmSetting::Pxn => Algorithm::Pxn,
        AlgorithmSetting::Direct => Algorithm::Direct,
        AlgorithmSetting::Nvls => Algorithm::Nvls,
        AlgorithmSetting::NvlsTree => Algorithm::NvlsTree,
        AlgorithmSetting::InNetwork => Algorithm::InNetwork,
        AlgorithmSetting::Pat => Algorithm::Pat,
    }
}
