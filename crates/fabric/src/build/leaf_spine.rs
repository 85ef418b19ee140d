//! Leaves with hosts, every leaf to every spine.

use super::fit;
use super::terms::Terms;
use super::wiring::{End, Stop, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::Kind;
use crate::rules::uplinks::links_above;
use std::ops::Range;
use xoff_units::Ratio;

pub(super) fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    let hosts = terms.cluster.all_nics();
    let layout = &terms.file.fabric;
    // Leaves that the same NICs hang on are a set: one, or a pair.
    let side = layout.homing.ports();
    let sets = leaf_sets(terms, u64::from(side), report)?;
    let given = sets.map(|sets| hosts.div_ceil(sets.max(1)).max(1));
    let per_leaf = hosts_per_leaf(terms, hosts, given, report)?;
    let sets = sets.unwrap_or_else(|| hosts.div_ceil(per_leaf));
    let leaves = sets.saturating_mul(side.into());
    if sets.saturating_mul(per_leaf) < hosts {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "leaves"],
            format!("{leaves} leaves with {per_leaf} hosts each hold fewer than {hosts} NICs"),
            format!("{} leaves would hold them", hosts.div_ceil(per_leaf) * u64::from(side)),
        );
        return Err(Stop::Reported);
    }
    let mut wiring = Wiring::with_servers(terms)?;
    let leaf_range = wiring.add_tier(&terms.leaf, leaves)?;
    let cable = wiring.add_cable(&terms.host_cable);
    for nic in 0..wiring.nics.len() as u32 {
        let first = leaf_range.start + nic / per_leaf as u32 * side;
        wiring.connect_to_set(nic, first..first + side, cable)?;
    }
    add_spines(&mut wiring, terms, leaf_range, per_leaf, report)?;
    Ok(wiring)
}

/// How many sets of `each` leaves the file asks for, if it says so: they must come out even.
pub(super) fn leaf_sets(
    terms: &Terms<'_>,
    each: u64,
    report: &mut Report<'_>,
) -> Result<Option<u64>, Stop> {
    let Some(leaves) = terms.file.fabric.leaves.map(u64::from) else { return Ok(None) };
    if leaves.is_multiple_of(each) {
        return Ok(Some(leaves / each));
    }
    let (rail, dual) = (terms.file.fabric.kind == Kind::Rail, terms.file.fabric.homing.ports() > 1);
    let rails = terms.cluster.nics;
    let (what, why) = match (rail, dual) {
        (true, false) => (format!("{rails} rails"), "one leaf per rail and pod"),
        (true, true) => (format!("pairs for {rails} rails"), "two leaves per rail and pod"),
        _ => ("pairs".to_owned(), "every NIC is on two leaves"),
    };
    report.error(
        code::TOPOLOGY,
        keys!["fabric", "leaves"],
        format!("{leaves} leaves do not come out even for {what}"),
        format!("use a multiple of {each}: {why}"),
    );
    Err(Stop::Reported)
}

/// NICs on one leaf: as the file says, or as many as leave room for the uplinks.
pub(super) fn hosts_per_leaf(
    terms: &Terms<'_>,
    most: u64,
    from_leaves: Option<u64>,
    report: &mut Report<'_>,
) -> Result<u64, Stop> {
    let layout = &terms.file.fabric;
    for (key, value) in [
        ("hosts-per-leaf", layout.hosts_per_leaf),
        ("leaves", layout.leaves),
        ("spines", layout.spines),
    ] {
        if value == Some(0) {
            report.error(
                code::IMPOSSIBLE,
                keys!["fabric", key],
                format!("`{key} = 0` leaves nothing to build"),
                "give at least 1",
            );
            return Err(Stop::Reported);
        }
    }
    if let Some(hosts) = layout.hosts_per_leaf.map(u64::from).or(from_leaves) {
        return Ok(hosts);
    }
    let rate = terms.host_cable.rate;
    let room = u64::from(terms.leaf.silicon.links_at(rate)).min(most);
    let fits = |hosts: &u64| {
        let uplinks = uplinks(terms, *hosts);
        let links = [(rate, *hosts), (terms.leaf_spine_cable.rate, uplinks)];
        fit::fits(&terms.leaf.silicon, &links)
    };
    let largest = (1..=room).rev().find(fits);
    // Without room for a single host the port check will say what is missing.
    let largest = largest.unwrap_or(1);
    // Filled evenly: 96 hosts on leaves of 64 are two times 48.
    Ok(most.div_ceil(most.div_ceil(largest).max(1)).max(1))
}

/// Uplinks of a leaf with so many hosts, all spines together.
pub(super) fn uplinks(terms: &Terms<'_>, hosts: u64) -> u64 {
    let layout = &terms.file.fabric;
    match (layout.spines, layout.oversubscription) {
        (Some(spines), None) => {
            let parallel = terms.file.links.leaf_spine.parallel.unwrap_or(1);
            u64::from(spines) * u64::from(parallel)
        }
        (_, ratio) => {
            let ratio = ratio.filter(|r| !r.is_zero()).unwrap_or(Ratio::ONE);
            links_above(hosts, ratio, (terms.host_cable.rate, terms.leaf_spine_cable.rate))
        }
    }
}

/// Spines over `leaves`, every leaf to every spine.
pub(super) fn add_spines(
    wiring: &mut Wiring,
    terms: &Terms<'_>,
    leaves: Range<u32>,
    per_leaf: u64,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let layout = &terms.file.fabric;
    if leaves.len() == 1 && layout.spines.is_none() {
        report.warn(
            code::TOPOLOGY,
            keys!["fabric", "kind"],
            "all NICs fit on one leaf, so no spine is built",
            "set `leaves`, `hosts-per-leaf` or `spines`, or use kind `single`",
        );
        return Ok(());
    }
    let total = uplinks(terms, per_leaf);
    let (spines, parallel) = spread(
        total,
        leaves.len() as u64,
        u64::from(terms.spine.silicon.links_at(terms.leaf_spine_cable.rate)),
        layout.spines.map(u64::from),
        terms.file.links.leaf_spine.parallel.map(u64::from),
    );
    let spine_range = wiring.add_tier(&terms.spine, spines)?;
    let cable = wiring.add_cable(&terms.leaf_spine_cable);
    for leaf in leaves {
        for spine in spine_range.clone() {
            wiring.connect(End::Switch(leaf), End::Switch(spine), cable, parallel)?;
        }
    }
    Ok(())
}

/// How `total` uplinks of each of `below` switches spread over upper switches of `radix` ports:
/// the number of upper switches and of parallel links to each. As few switches as will do.
pub(super) fn spread(
    total: u64,
    below: u64,
    radix: u64,
    uppers: Option<u64>,
    parallel: Option<u64>,
) -> (u64, u64) {
    let total = total.max(1);
    match (uppers, parallel) {
        (Some(uppers), Some(parallel)) => (uppers, parallel.max(1)),
        (Some(uppers), None) => (uppers, total.div_ceil(uppers.max(1))),
        (None, Some(parallel)) => (total.div_ceil(parallel.max(1)), parallel.max(1)),
        (None, None) => {
            let enough = |uppers: &u64| {
                total.is_multiple_of(*uppers) && below.saturating_mul(total / uppers) <= radix
            };
            // Beyond a million uplinks the wiring is refused anyway.
            let uppers = (1..=total.min(1 << 20)).find(enough).unwrap_or(total);
            (uppers, total / uppers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spines_are_as_few_as_carry_the_uplinks() {
        // 8 leaves with 16 uplinks each over 64-port spines: two spines, eight links to each.
        assert_eq!(spread(16, 8, 64, None, None), (2, 8));
        assert_eq!(spread(16, 8, 64, Some(4), None), (4, 4));
        assert_eq!(spread(16, 8, 64, None, Some(1)), (16, 1));
        // Nothing suffices: one link to each, and the port check complains.
        assert_eq!(spread(4, 100, 64, None, None), (4, 1));
    }
}
