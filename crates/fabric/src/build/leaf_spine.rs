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
    // Leaves that the same NICs are attached to are a set: one, or a pair.
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

/// Uplinks of a leaf with `hosts` hosts, all spines together.
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
    let rates = (terms.host_cable.rate, terms.leaf_spine_cable.rate);
    let room = Room {
        below: leaves.len() as u64,
        radix: u64::from(terms.spine.silicon.links_at(rates.1)),
        least: least_spines(terms, total),
        fits: &|up| fit::fits(&terms.leaf.silicon, &[(rates.0, per_leaf), (rates.1, up)]),
    };
    let given = (
        layout.spines.map(u64::from),
        terms.file.links.leaf_spine.parallel.map(|parallel| u64::from(parallel.max(1))),
    );
    let (spines, parallel) = spread(total, given, &room);
    let spine_range = wiring.add_tier(&terms.spine, spines)?;
    let cable = wiring.add_cable(&terms.leaf_spine_cable);
    for leaf in leaves {
        for spine in spine_range.clone() {
            wiring.connect(End::Switch(leaf), End::Switch(spine), cable, parallel)?;
        }
    }
    Ok(())
}

/// The fewest spines that are built over leaves with `uplinks` each unless the file gives a number. A
/// single spine is a single point of failure, and no load is balanced over it. A ratio that the file
/// asks for is kept all the same: it may leave each leaf a single uplink.
pub(super) fn least_spines(terms: &Terms<'_>, uplinks: u64) -> u64 {
    if terms.file.fabric.oversubscription.is_some() { uplinks.clamp(1, 2) } else { 2 }
}

/// What bounds the number of upper switches.
pub(super) struct Room<'a> {
    /// Switches below that each have the uplinks.
    pub(super) below: u64,
    /// Ports of an upper switch at the rate of the uplinks.
    pub(super) radix: u64,
    /// Never fewer upper switches than this, unless the file gives their number.
    pub(super) least: u64,
    /// Whether a switch below has ports for that number of uplinks.
    pub(super) fits: &'a dyn Fn(u64) -> bool,
}

/// Beyond a million uplinks the wiring is refused anyway.
const MOST_TRIED: u64 = 1 << 20;

/// How `total` uplinks of each switch below spread over upper switches: the number of upper switches
/// and of parallel links to each. The numbers that the file gives are kept. Otherwise as few switches
/// as carry the uplinks, `room.least` or more; a few uplinks more than `total` are used where a number
/// that divides evenly would take half as many switches again.
pub(super) fn spread(
    total: u64,
    (uppers, parallel): (Option<u64>, Option<u64>),
    room: &Room<'_>,
) -> (u64, u64) {
    let total = total.max(1);
    match (uppers, parallel) {
        (Some(uppers), Some(parallel)) => (uppers, parallel.max(1)),
        (Some(uppers), None) => (uppers, total.div_ceil(uppers.max(1))),
        (None, Some(parallel)) => {
            let parallel = parallel.max(1);
            let least =
                if (room.fits)(parallel.saturating_mul(room.least)) { room.least } else { 1 };
            (total.div_ceil(parallel).max(least), parallel)
        }
        (None, None) => {
            let each = |uppers: u64| total.div_ceil(uppers);
            let enough = |&uppers: &u64| {
                room.below.saturating_mul(each(uppers)) <= room.radix
                    && (room.fits)(uppers.saturating_mul(each(uppers)))
            };
            let most = total.min(MOST_TRIED).max(room.least);
            let choices = || (room.least..=most).filter(enough);
            let even = choices().find(|&uppers| total.is_multiple_of(uppers));
            let uppers = match (choices().next(), even) {
                (Some(fewest), Some(even)) if even * 2 > fewest * 3 => fewest,
                (_, Some(even)) => even,
                (Some(fewest), None) => fewest,
                // Nothing suffices: one link to each, and the port check complains.
                (None, None) => total,
            };
            (uppers, each(uppers))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(below: u64, least: u64, fits: &dyn Fn(u64) -> bool) -> Room<'_> {
        Room { below, radix: 64, least, fits }
    }

    #[test]
    fn spines_are_as_few_as_carry_the_uplinks() {
        let any = |_| true;
        // 8 leaves with 16 uplinks each over 64-port spines: two spines, eight links to each.
        assert_eq!(spread(16, (None, None), &room(8, 2, &any)), (2, 8));
        assert_eq!(spread(16, (Some(4), None), &room(8, 2, &any)), (4, 4));
        assert_eq!(spread(16, (None, Some(1)), &room(8, 2, &any)), (16, 1));
        // Nothing suffices: one link to each, and the port check complains.
        assert_eq!(spread(4, (None, None), &room(100, 2, &any)), (4, 1));
    }

    #[test]
    fn there_are_two_spines_unless_the_file_says_one() {
        let any = |_| true;
        // One spine would hold everything.
        assert_eq!(spread(4, (None, None), &room(8, 2, &any)), (2, 2));
        assert_eq!(spread(1, (None, None), &room(8, 2, &any)), (2, 1));
        assert_eq!(spread(4, (None, Some(4)), &room(8, 2, &any)), (2, 4));
        assert_eq!(spread(4, (Some(1), None), &room(8, 2, &any)), (1, 4));
        // A leaf without a port to spare keeps what it has.
        assert_eq!(spread(1, (None, None), &room(8, 2, &|up| up < 2)), (1, 1));
        assert_eq!(spread(4, (None, Some(4)), &room(8, 2, &|up| up < 8)), (1, 4));
    }

    #[test]
    fn uplinks_that_do_not_divide_evenly_get_a_few_more() {
        let any = |_| true;
        // 17 is prime: 17 spines, or two of nine links each.
        assert_eq!(spread(17, (None, None), &room(4, 2, &any)), (2, 9));
        assert_eq!(spread(17, (None, None), &room(4, 2, &|up| up <= 17)), (17, 1));
        // Four spines of five links are hardly more than three of seven.
        assert_eq!(spread(20, (None, None), &room(8, 2, &any)), (4, 5));
    }
}
