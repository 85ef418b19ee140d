//! Rail-optimised: NIC i of every server of a pod on leaf i of that pod, spines over all leaves.

use super::leaf_spine::{add_spines, hosts_per_leaf};
use super::terms::Terms;
use super::wiring::{End, Stop, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};

pub(super) fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    let servers = u64::from(terms.cluster.servers);
    let rails = u64::from(terms.cluster.nics);
    let layout = &terms.file.fabric;
    if let Some(leaves) = layout.leaves.map(u64::from)
        && (leaves == 0 || !leaves.is_multiple_of(rails))
    {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "leaves"],
            format!("{leaves} leaves do not come out even for {rails} rails"),
            format!("use a multiple of {rails}: one leaf per rail and pod"),
        );
        return Err(Stop::Reported);
    }
    let pods = layout.leaves.map(|leaves| u64::from(leaves) / rails);
    // Every server of a pod has one NIC on each leaf, so hosts per leaf are servers per pod.
    let from_pods = pods.map(|pods| servers.div_ceil(pods).max(1));
    let per_pod = hosts_per_leaf(terms, servers, from_pods, report)?;
    let pods = pods.unwrap_or_else(|| servers.div_ceil(per_pod));
    if pods.saturating_mul(per_pod) < servers {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "leaves"],
            format!("{pods} pods of {per_pod} servers hold fewer than {servers} servers"),
            format!("{} leaves would hold them", servers.div_ceil(per_pod) * rails),
        );
        return Err(Stop::Reported);
    }
    let mut wiring = Wiring::with_servers(terms)?;
    let leaves = wiring.add_tier(&terms.leaf, pods.saturating_mul(rails))?;
    let cable = wiring.add_cable(&terms.host_cable);
    let rails = rails as u32;
    for nic in 0..wiring.nics.len() as u32 {
        let (server, rail) = (nic / rails, nic % rails);
        let pod = server / per_pod as u32;
        let leaf = leaves.start + pod * rails + rail;
        wiring.connect(End::Nic(nic), End::Switch(leaf), cable, 1)?;
    }
    add_spines(&mut wiring, terms, leaves, per_pod, report)?;
    Ok(wiring)
}
