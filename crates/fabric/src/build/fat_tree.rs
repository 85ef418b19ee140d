//! A fat tree of radix k: k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts.

use super::terms::Terms;
use super::wiring::{End, Stop, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};

/// 128^3/4 hosts are more than the largest fabric.
const LARGEST: u32 = 128;

pub(super) fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    let hosts = terms.cluster.all_nics();
    let holds = |k: u32| u64::from(k).pow(3) / 4;
    // With k = 2 a pod has one switch above its edge and there is one core: only if the file says so.
    let smallest = || (2..=LARGEST / 2).map(|half| 2 * half).find(|&k| holds(k) >= hosts);
    let Some(k) = terms.file.fabric.k.or_else(smallest) else {
        return Err(Stop::TooLarge("200,000 NICs"));
    };
    if !(2..=LARGEST).contains(&k) || !k.is_multiple_of(2) {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "k"],
            format!("there is no fat tree with k = {k}"),
            format!("k is even and lies between 2 and {LARGEST}"),
        );
        return Err(Stop::Reported);
    }
    if holds(k) < hosts {
        let better = smallest().map_or("a smaller cluster".to_owned(), |k| format!("k = {k}"));
        report.error(
            code::PORTS,
            keys!["fabric", "k"],
            format!("a fat tree with k = {k} holds {} NICs, not {hosts}", holds(k)),
            format!("{better} would do"),
        );
        return Err(Stop::Reported);
    }
    plug(terms, k / 2)
}

fn plug(terms: &Terms<'_>, half: u32) -> Result<Wiring, Stop> {
    let (pods, half_wide) = (2 * half, u64::from(half));
    let per_tier = u64::from(pods) * half_wide;
    let mut wiring = Wiring::with_servers(terms)?;
    let edges = wiring.add_tier(&terms.leaf, per_tier)?;
    let aggregations = wiring.add_tier(&terms.spine, per_tier)?;
    let cores = wiring.add_tier(&terms.core, half_wide * half_wide)?;
    let host = wiring.add_cable(&terms.host_cable);
    let lower = wiring.add_cable(&terms.leaf_spine_cable);
    let upper = wiring.add_cable(&terms.spine_core_cable);
    for nic in 0..wiring.nics.len() as u32 {
        wiring.connect(End::Nic(nic), End::Switch(edges.start + nic / half), host, 1)?;
    }
    for pod in 0..pods {
        for edge in 0..half {
            for aggregation in 0..half {
                let edge = End::Switch(edges.start + pod * half + edge);
                let above = End::Switch(aggregations.start + pod * half + aggregation);
                wiring.connect(edge, above, lower, 1)?;
            }
        }
    }
    for pod in 0..pods {
        for aggregation in 0..half {
            for core in 0..half {
                let below = End::Switch(aggregations.start + pod * half + aggregation);
                let above = End::Switch(cores.start + aggregation * half + core);
                wiring.connect(below, above, upper, 1)?;
            }
        }
    }
    Ok(wiring)
}
