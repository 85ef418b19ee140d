//! Three tiers: racks (leaves), clusters of racks (spines, per pod) and an aggregation layer (cores)
//! over the pods, each with its own oversubscription.
//!
//! Cores come in planes: core plane j connects the j-th spine of every pod, so a core needs ports
//! for the pods and not for all spines.

use super::fit;
use super::leaf_spine::{Room, hosts_per_leaf, least_spines, spread, uplinks};
use super::terms::Terms;
use super::wiring::{End, Stop, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::rules::uplinks::links_above;
use xoff_units::Ratio;

/// No spine has more ports than this, so larger pods need not be tried.
const MOST_TRIED: u64 = 65_536;

/// Everything that is counted.
struct Shape {
    hosts_per_leaf: u64,
    leaves: u64,
    leaves_per_pod: u64,
    pods: u64,
    spines_per_pod: u64,
    leaf_parallel: u64,
    cores_per_plane: u64,
    spine_parallel: u64,
}

pub(super) fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    let shape = shape(terms, report)?;
    let mut wiring = Wiring::with_servers(terms)?;
    let leaves = wiring.add_tier(&terms.leaf, shape.leaves)?;
    let spines = wiring.add_tier(&terms.spine, shape.pods.saturating_mul(shape.spines_per_pod))?;
    let host = wiring.add_cable(&terms.host_cable);
    for nic in 0..wiring.nics.len() as u32 {
        let leaf = leaves.start + leaf_of(terms, nic, shape.hosts_per_leaf as u32);
        wiring.connect(End::Nic(nic), End::Switch(leaf), host, 1)?;
        let rails = rails(terms) as u32;
        wiring.nics[nic as usize].rail = (rails > 1).then_some(nic % rails);
    }
    let lower = wiring.add_cable(&terms.leaf_spine_cable);
    let in_pod = shape.spines_per_pod as u32;
    for leaf in 0..shape.leaves as u32 {
        let pod = leaf / shape.leaves_per_pod as u32;
        for spine in 0..in_pod {
            let above = End::Switch(spines.start + pod * in_pod + spine);
            wiring.connect(End::Switch(leaves.start + leaf), above, lower, shape.leaf_parallel)?;
        }
    }
    if shape.cores_per_plane == 0 {
        return Ok(wiring);
    }
    let count = shape.spines_per_pod.saturating_mul(shape.cores_per_plane);
    let cores = wiring.add_tier(&terms.core, count)?;
    let upper = wiring.add_cable(&terms.spine_core_cable);
    let in_plane = shape.cores_per_plane as u32;
    for spine in 0..spines.len() as u32 {
        let plane = spine % in_pod;
        for core in 0..in_plane {
            let above = End::Switch(cores.start + plane * in_plane + core);
            wiring.connect(
                End::Switch(spines.start + spine),
                above,
                upper,
                shape.spine_parallel,
            )?;
        }
    }
    Ok(wiring)
}

/// The rails that leaves are divided into: one, unless the file asks for rails.
fn rails(terms: &Terms<'_>) -> u64 {
    if terms.file.fabric.rails == Some(true) { u64::from(terms.cluster.nics) } else { 1 }
}

fn leaf_of(terms: &Terms<'_>, nic: u32, per_leaf: u32) -> u32 {
    let rails = rails(terms) as u32;
    let (server, rail) = (nic / rails, nic % rails);
    server / per_leaf * rails + rail
}

fn shape(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Shape, Stop> {
    let layout = &terms.file.fabric;
    let hosts = terms.cluster.all_nics();
    let rails = rails(terms);
    // Leaves come in groups, one for each rail; without rails a group is one leaf.
    let (in_group, groups) = (hosts / rails, layout.leaves.map(|leaves| u64::from(leaves) / rails));
    let given = groups.map(|groups| in_group.div_ceil(groups.max(1)).max(1));
    let hosts_per_leaf = hosts_per_leaf(terms, in_group, given, report)?;
    let leaves = groups.unwrap_or(in_group.div_ceil(hosts_per_leaf)).saturating_mul(rails);
    if leaves.saturating_mul(hosts_per_leaf) < hosts {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "leaves"],
            format!(
                "{leaves} leaves with {hosts_per_leaf} hosts each hold fewer than {hosts} NICs"
            ),
            format!("{} leaves would hold them", in_group.div_ceil(hosts_per_leaf) * rails),
        );
        return Err(Stop::Reported);
    }
    let total = uplinks(terms, hosts_per_leaf);
    let parallel = terms.file.links.leaf_spine.parallel.map_or(1, |p| u64::from(p.max(1)));
    let usual = total.div_ceil(parallel).max(least_spines(terms, total));
    let spines_per_pod = layout.spines.map_or(usual, u64::from);
    let leaf_parallel = match terms.file.links.leaf_spine.parallel {
        Some(_) => parallel,
        None => total.div_ceil(spines_per_pod.max(1)),
    };
    let leaves_per_pod = leaves_per_pod(terms, leaves, leaf_parallel, report)?;
    let pods = leaves.div_ceil(leaves_per_pod);
    let down = leaves_per_pod.saturating_mul(leaf_parallel);
    let (cores_per_plane, spine_parallel) = core_plane(terms, pods, spines_per_pod, down, report)?;
    Ok(Shape {
        hosts_per_leaf,
        leaves,
        leaves_per_pod,
        pods,
        spines_per_pod,
        leaf_parallel,
        cores_per_plane,
        spine_parallel,
    })
}

fn spine_uplinks(terms: &Terms<'_>, downlinks: u64) -> u64 {
    let ratio = terms.file.fabric.spine_oversubscription.filter(|r| !r.is_zero());
    let rates = (terms.leaf_spine_cable.rate, terms.spine_core_cable.rate);
    links_above(downlinks, ratio.unwrap_or(Ratio::ONE), rates)
}

/// Leaves of a pod: as the file says, or as many as the spines have ports for.
fn leaves_per_pod(
    terms: &Terms<'_>,
    leaves: u64,
    parallel: u64,
    report: &mut Report<'_>,
) -> Result<u64, Stop> {
    if let Some(given) = terms.file.fabric.leaves_per_pod {
        if given == 0 {
            report.error(
                code::IMPOSSIBLE,
                keys!["fabric", "leaves-per-pod"],
                "a pod without leaves has no hosts",
                "give at least 1",
            );
            return Err(Stop::Reported);
        }
        return Ok(u64::from(given));
    }
    let (down, up) = (terms.leaf_spine_cable.rate, terms.spine_core_cable.rate);
    let room = u64::from(terms.spine.silicon.links_at(down)) / parallel.max(1);
    let fits = |leaves: &u64| {
        let links = leaves.saturating_mul(parallel);
        fit::fits(&terms.spine.silicon, &[(down, links), (up, spine_uplinks(terms, links))])
    };
    let largest = (1..=room.min(leaves).min(MOST_TRIED)).rev().find(fits).unwrap_or(1);
    // All rails of a group belong in one pod, where they fit.
    let rails = rails(terms);
    if rails > 1 && largest >= rails {
        return Ok(largest / rails * rails);
    }
    Ok(leaves.div_ceil(leaves.div_ceil(largest).max(1)).max(1))
}

/// Cores over each spine of a pod, and parallel links to each of them.
fn core_plane(
    terms: &Terms<'_>,
    pods: u64,
    planes: u64,
    downlinks: u64,
    report: &mut Report<'_>,
) -> Result<(u64, u64), Stop> {
    let given = terms.file.fabric.cores.map(u64::from);
    if let Some(cores) = given
        && (cores == 0 || !cores.is_multiple_of(planes))
    {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "cores"],
            format!("{cores} cores do not spread over {planes} spines per pod"),
            format!("use a multiple of {planes}: every spine of a pod has cores of its own"),
        );
        return Err(Stop::Reported);
    }
    if pods == 1 && given.is_none() {
        report.warn(
            code::TOPOLOGY,
            keys!["fabric", "kind"],
            "all leaves fit in one pod, so no core is built",
            "set `leaves-per-pod` or `cores`, or use kind `leaf-spine`",
        );
        return Ok((0, 0));
    }
    let rates = (terms.leaf_spine_cable.rate, terms.spine_core_cable.rate);
    let uplinks = spine_uplinks(terms, downlinks);
    let room = Room {
        below: pods,
        radix: u64::from(terms.core.silicon.links_at(rates.1)),
        // Every plane has cores of its own, so one each are several in all.
        least: if planes > 1 { 1 } else { uplinks.clamp(1, 2) },
        fits: &|up| fit::fits(&terms.spine.silicon, &[(rates.0, downlinks), (rates.1, up)]),
    };
    let parallel = terms.file.links.spine_core.parallel.map(u64::from);
    Ok(spread(uplinks, (given.map(|cores| cores / planes.max(1)), parallel), &room))
}
