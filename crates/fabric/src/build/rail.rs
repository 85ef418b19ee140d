//! Rail-optimised: NIC i of every server of a pod on leaf i of that pod (on a pair of leaves where
//! NICs have two ports), spines over all leaves.

use super::leaf_spine::{add_spines, hosts_per_leaf, leaf_sets};
use super::terms::Terms;
use super::wiring::{Stop, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};

pub(super) fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    let servers = u64::from(terms.cluster.servers);
    let (rails, side) = (u64::from(terms.cluster.nics), terms.file.fabric.homing.ports());
    let leaves_of_pod = rails * u64::from(side);
    let pods = leaf_sets(terms, leaves_of_pod, report)?;
    // Every server of a pod has one NIC on each leaf, so hosts per leaf are servers per pod.
    let from_pods = pods.map(|pods| servers.div_ceil(pods.max(1)).max(1));
    let per_pod = hosts_per_leaf(terms, servers, from_pods, report)?;
    let pods = pods.unwrap_or_else(|| servers.div_ceil(per_pod));
    if pods.saturating_mul(per_pod) < servers {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "leaves"],
            format!("{pods} pods of {per_pod} servers hold fewer than {servers} servers"),
            format!("{} leaves would hold them", servers.div_ceil(per_pod) * leaves_of_pod),
        );
        return Err(Stop::Reported);
    }
    let mut wiring = Wiring::with_servers(terms)?;
    let leaves = wiring.add_tier(&terms.leaf, pods.saturating_mul(leaves_of_pod))?;
    let cable = wiring.add_cable(&terms.host_cable);
    let rails = rails as u32;
    for nic in 0..wiring.nics.len() as u32 {
        let (server, rail) = (nic / rails, nic % rails);
        let pod = server / per_pod as u32;
        let first = leaves.start + (pod * rails + rail) * side;
        wiring.nics[nic as usize].rail = Some(rail);
        wiring.connect_to_set(nic, first..first + side, cable)?;
    }
    add_spines(&mut wiring, terms, leaves, per_pod, report)?;
    Ok(wiring)
}
