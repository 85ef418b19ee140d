//! Servers that collectives take for ranks although they are not like the others: storage among GPU servers.

use super::words::some;
use crate::advice::Advice;
use crate::check::Check;
use crate::phase::Phase;
use std::collections::BTreeMap;
use xoff_fabric::model::{Fabric, Server};
use xoff_report::Verdict;
use xoff_units::Rate;

/// What the NICs of a server carry together.
fn rate(fabric: &Fabric, server: &Server) -> Rate {
    let nics = &fabric.nics[server.nics.start as usize..server.nics.end as usize];
    Rate::from_bps(nics.iter().map(|nic| fabric.nic_rate(nic).bps()).sum())
}

/// Every NIC of a custom fabric brings a GPU: a server with a slow NIC is the slowest rank of every collective, whatever
/// it is there for. Nothing to say where all servers are alike.
pub(super) fn check(fabric: &Fabric) -> Option<Check> {
    let mut by_rate: BTreeMap<Rate, Vec<String>> = BTreeMap::new();
    for server in &fabric.servers {
        by_rate.entry(rate(fabric, server)).or_default().push(server.name.clone());
    }
    let (usual, number) =
        by_rate.iter().map(|(rate, all)| (*rate, all.len())).max_by_key(|of| of.1)?;
    let slower: Vec<(Rate, Vec<String>)> =
        by_rate.into_iter().filter(|(rate, _)| *rate < usual).collect();
    if slower.is_empty() {
        return None;
    }
    let words = slower.iter().map(|(rate, names)| format!("{} of {rate}", some(names)));
    let names = || slower.iter().flat_map(|(_, names)| names.iter().cloned());
    let seen = format!(
        "{}, and {number} of {usual}: collectives and training steps take all of them for ranks, and are as slow as \
         the slowest",
        words.collect::<Vec<_>>().join("; ")
    );
    let check = Check::new(Phase::Laboratory, "ranks", "Servers of a job have the same network")
        .done("added up the NICs of every server")
        .seen(seen, "servers with the same rate, or a file without those that have no GPUs")
        .verdict(Verdict::Warn)
        .places(names());
    Some(check.consider([Advice::words(
        "validate the GPU servers without the others: a file cannot say yet that a server has no GPUs. Storage is \
         judged by `xoff run` with a workload of its own",
    )]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fabric(storage: &str) -> Fabric {
        let nic = |name: &str, model: &str| {
            format!("{{ name = '{name}', kind = 'nic', nic = '{model}' }}, ")
        };
        let gpus: String = (0..4).map(|at| nic(&format!("gpu{at}"), "connectx-7")).collect();
        let names = ["gpu0", "gpu1", "gpu2", "gpu3", "store"];
        let links: String = names.map(|name| format!("{{ ends = '{name} leaf0' }}, ")).concat();
        let text = format!(
            "node = [{gpus}{}{{ name = 'leaf0', kind = 'switch', tier = 'leaf' }}]\nlink = [{links}]\n\
             [cluster]\nnic = 'connectx-7'\n[fabric]\nkind = 'custom'\nleaf = 'tomahawk-5'\n",
            nic("store", storage)
        );
        Fabric::from_toml(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    #[test]
    fn storage_among_gpu_servers_is_named() {
        assert_eq!(check(&fabric("connectx-7")), None);
        let found = check(&fabric("generic-100g")).unwrap();
        assert_eq!(found.verdict, Verdict::Warn);
        assert_eq!(found.places, ["store-server"]);
        assert!(found.measured.contains("store-server of 100Gbps, and 4 of 400Gbps"), "{found:?}");
    }
}
