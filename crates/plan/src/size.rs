//! The smallest [`Shape`] that holds a cluster, or how much the silicon could hold.
//!
//! With R ports at NIC speed two tiers hold R^2/2 NICs and three R^3/4. Uplinks run at the fastest
//! rate at which the cluster still fits: fewer cables, and fewer flows that share one. Ports are
//! counted in cages: links of one direction share a split cage, links of both do not.

use super::parts::Switch;
use super::shape::{Level, Shape};
use super::wish::Ask;
use xoff_fabric::rules::uplinks::links_above;
use xoff_units::{Rate, Ratio};

/// The most GPUs that fit; zero if not even one leaf can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shortage {
    pub(super) most: u64,
}

/// The shape with this many tiers and rails.
pub(super) fn size(ask: &Ask, tiers: u64, rails: u64) -> Result<Shape, Shortage> {
    let (mut most, mut alone) = (0, None);
    for rates in uplink_rates(ask, tiers) {
        let found = match tiers {
            1 => one_tier(ask, rails),
            2 => two_tiers(ask, rails, rates.0),
            _ => three_tiers(ask, rails, rates),
        };
        match found {
            // Slower uplinks to two spines carry as much as a fast one to a spine that nothing stands in for.
            Some(shape) if tiers > 1 && shape.planes * shape.spines_per_pod < 2 => {
                alone = alone.or(Some(shape));
            }
            Some(shape) => return Ok(shape),
            None => most = most.max(capacity(ask, tiers, rails, rates)),
        }
    }
    alone.ok_or(Shortage { most })
}

/// The most GPUs that the silicon holds with these uplinks.
pub(super) fn capacity(ask: &Ask, tiers: u64, rails: u64, (lower, upper): (Rate, Rate)) -> u64 {
    if tiers == 1 {
        return if rails > 1 { 0 } else { ask.gpus_of(host_links(ask)) };
    }
    let group = group_most(ask, rails, lower) * rails;
    let spine_room = match tiers {
        2 => upper_links(ask, Level::LeafSpine, lower),
        _ => spine_downlinks(ask, lower, upper),
    };
    let groups = spine_room / (rails * ask.homing / ask.planes);
    let pods = if tiers == 2 { 1 } else { upper_links(ask, Level::SpineCore, upper) };
    ask.gpus_of(group.saturating_mul(groups).saturating_mul(pods))
}

/// Rates that a level's links may have, the fastest first.
pub(super) fn rates(ask: &Ask, level: Level) -> Vec<Rate> {
    let [leaf, spine, core] = ask.switches().map(|switch| switch.silicon.port_rate);
    match level {
        Level::Host => vec![ask.host_rate()],
        Level::LeafSpine => halvings(leaf.min(spine), ask.host_rate()),
        Level::SpineCore => halvings(spine.min(core), ask.host_rate()),
    }
}

/// Rates of the uplinks of leaves and spines that something carries, the fastest first.
fn uplink_rates(ask: &Ask, tiers: u64) -> Vec<(Rate, Rate)> {
    let carried = |level| {
        let mut rates = rates(ask, level);
        rates.retain(|rate| ask.mode(level, *rate).is_some());
        rates
    };
    if tiers == 1 {
        return vec![(Rate::ZERO, Rate::ZERO)];
    }
    let lower = carried(Level::LeafSpine);
    if tiers < 3 {
        return lower.into_iter().map(|rate| (rate, Rate::ZERO)).collect();
    }
    let upper = carried(Level::SpineCore);
    let pairs = lower.iter().flat_map(|low| upper.iter().map(move |up| (*low, *up)));
    pairs.collect()
}

/// `fastest` and what it splits into, down to `slowest`. Ports slower than the NIC stay whole.
fn halvings(fastest: Rate, slowest: Rate) -> Vec<Rate> {
    let mut rates = vec![fastest];
    for split in [2, 4, 8] {
        let rate = Rate::from_bps(fastest.bps() / split);
        if rate >= slowest && rate.bps() > 0 {
            rates.push(rate);
        }
    }
    rates
}

/// Links of a level that share a cage of the switch below them; 0 if nothing carries them.
fn lower_ways(ask: &Ask, level: Level, rate: Rate) -> u64 {
    ask.mode(level, rate).map_or(0, |mode| mode.lower)
}

/// The same of the switch above them.
fn upper_ways(ask: &Ask, level: Level, rate: Rate) -> u64 {
    ask.mode(level, rate).map_or(0, |mode| mode.upper)
}

/// Links of a level that a switch above them takes at most.
fn upper_links(ask: &Ask, level: Level, rate: Rate) -> u64 {
    let switch = ask.switches()[level.upper() as usize];
    switch.links(upper_ways(ask, level, rate))
}

/// Cables of NICs that a leaf takes at most.
fn host_links(ask: &Ask) -> u64 {
    upper_links(ask, Level::Host, ask.host_rate())
}

/// Links of one direction: how many share a cage, and how many there are.
type Links = (u64, u64);

/// Whether a switch has cages for links down and up; they share none.
fn fits(switch: &Switch, down: Links, up: Links) -> bool {
    let cages = |(ways, links): Links| if ways == 0 { u64::MAX } else { links.div_ceil(ways) };
    cages(down).saturating_add(cages(up)) <= switch.cages
        && down.1 + up.1 <= u64::from(switch.silicon.max_ports)
}

/// No switch has more ports than this, so more need not be tried.
const MOST_LINKS: u64 = 65_536;

/// NICs on a leaf at most, in whole servers where a leaf takes whole servers.
fn group_most(ask: &Ask, rails: u64, uplink: Rate) -> u64 {
    let host = ask.host_rate();
    let room = host_links(ask).min(MOST_LINKS);
    let step = if rails > 1 { 1 } else { ask.nics };
    let (down, up) = leaf_ways(ask, uplink);
    let holds = |hosts: &u64| {
        let links = links_above(*hosts, ask.leaf_ratio, (host, uplink));
        hosts.is_multiple_of(step) && fits(&ask.leaf, (down, *hosts), (up, links))
    };
    (1..=room).rev().find(holds).unwrap_or(0)
}

/// Downlinks of a spine at most that leave room for its uplinks.
fn spine_downlinks(ask: &Ask, lower: Rate, upper: Rate) -> u64 {
    let room = upper_links(ask, Level::LeafSpine, lower).min(MOST_LINKS);
    let (down, up) = spine_ways(ask, lower, upper);
    let holds = |links: &u64| {
        let above = links_above(*links, ask.spine_ratio, (lower, upper));
        fits(&ask.spine, (down, *links), (up, above))
    };
    (1..=room).rev().find(holds).unwrap_or(0)
}

/// Links that share a cage of a leaf, down and up.
fn leaf_ways(ask: &Ask, uplink: Rate) -> (u64, u64) {
    let down = upper_ways(ask, Level::Host, ask.host_rate());
    (down, lower_ways(ask, Level::LeafSpine, uplink))
}

/// The same of a spine.
fn spine_ways(ask: &Ask, lower: Rate, upper: Rate) -> (u64, u64) {
    let down = upper_ways(ask, Level::LeafSpine, lower);
    (down, lower_ways(ask, Level::SpineCore, upper))
}

fn one_tier(ask: &Ask, rails: u64) -> Option<Shape> {
    let hosts = ask.servers * ask.nics;
    (rails == 1 && ask.homing == 1 && hosts <= host_links(ask)).then(|| Shape {
        tiers: 1,
        hosts_per_leaf: hosts,
        leaves: 1,
        leaves_per_pod: 1,
        ..bare(ask, 1)
    })
}

fn bare(ask: &Ask, rails: u64) -> Shape {
    Shape {
        servers: ask.servers,
        gpus_per_server: ask.gpus_per_server,
        nics_per_server: ask.nics,
        rails,
        homing: ask.homing,
        planes: ask.planes,
        tiers: 0,
        hosts_per_leaf: 0,
        leaves: 0,
        leaves_per_pod: 0,
        spines_per_pod: 0,
        cores_per_plane: 0,
        leaf_parallel: 0,
        spine_parallel: 0,
        host_rate: ask.host_rate(),
        leaf_spine_rate: Rate::ZERO,
        spine_core_rate: Rate::ZERO,
    }
}

/// Leaves filled evenly: groups of them (a leaf, or one for each rail) and servers of each group.
fn groups(ask: &Ask, rails: u64, uplink: Rate, least: u64) -> Option<(u64, u64)> {
    let most = group_most(ask, rails, uplink) / if rails > 1 { 1 } else { ask.nics };
    if most == 0 {
        return None;
    }
    let groups = ask.servers.div_ceil(most).max(least);
    let each = ask.servers.div_ceil(groups);
    let groups = ask.servers.div_ceil(each);
    (groups >= least).then_some((groups, each))
}

fn two_tiers(ask: &Ask, rails: u64, uplink: Rate) -> Option<Shape> {
    let least = if rails * ask.homing > 1 { 1 } else { 2 };
    let (groups, servers) = groups(ask, rails, uplink, least)?;
    let hosts = if rails > 1 { servers } else { servers * ask.nics };
    let leaves = groups * rails * ask.homing;
    let up = links_above(hosts, ask.leaf_ratio, (ask.host_rate(), uplink));
    let ways = leaf_ways(ask, uplink);
    let leaf_fits = |up| fits(&ask.leaf, (ways.0, hosts), (ways.1, up));
    let room = upper_links(ask, Level::LeafSpine, uplink);
    let (spines, parallel) = spread(up, leaves / ask.planes, room, 2, leaf_fits)?;
    Some(Shape {
        tiers: 2,
        hosts_per_leaf: hosts,
        leaves,
        leaves_per_pod: leaves,
        spines_per_pod: spines,
        leaf_parallel: parallel,
        leaf_spine_rate: uplink,
        ..bare(ask, rails)
    })
}

fn three_tiers(ask: &Ask, rails: u64, (lower, upper): (Rate, Rate)) -> Option<Shape> {
    if ask.homing > 1 {
        return None;
    }
    let (groups, servers) = groups(ask, rails, lower, 2)?;
    let hosts = if rails > 1 { servers } else { servers * ask.nics };
    let room = spine_downlinks(ask, lower, upper);
    let in_pod = room / rails;
    if in_pod == 0 {
        return None;
    }
    let pods = groups.div_ceil(in_pod).max(2);
    let in_pod = groups.div_ceil(pods);
    let pods = groups.div_ceil(in_pod);
    let leaves_per_pod = in_pod * rails;
    let up = links_above(hosts, ask.leaf_ratio, (ask.host_rate(), lower));
    let ways = leaf_ways(ask, lower);
    let leaf_fits = |up| fits(&ask.leaf, (ways.0, hosts), (ways.1, up));
    let (spines, leaf_parallel) = spread(up, leaves_per_pod, room, 2, leaf_fits)?;
    let down = leaves_per_pod * leaf_parallel;
    let up = links_above(down, ask.spine_ratio, (lower, upper));
    let ways = spine_ways(ask, lower, upper);
    let spine_fits = |up| fits(&ask.spine, (ways.0, down), (ways.1, up));
    let core_room = upper_links(ask, Level::SpineCore, upper);
    let (cores, spine_parallel) = spread(up, pods, core_room, 1, spine_fits)?;
    Some(Shape {
        tiers: 3,
        hosts_per_leaf: hosts,
        leaves: groups * rails,
        leaves_per_pod,
        spines_per_pod: spines,
        cores_per_plane: cores,
        leaf_parallel,
        spine_parallel,
        leaf_spine_rate: lower,
        spine_core_rate: upper,
        ..bare(ask, rails)
    })
}

/// Upper switches for `uplinks` of each of `below` switches, and parallel links to each: the fewest
/// switches that suffice, but at least `least`, to survive failures. What does not divide evenly
/// gets a few extra links, if that saves a third of the switches or more.
fn spread(
    uplinks: u64,
    below: u64,
    radix: u64,
    least: u64,
    fits: impl Fn(u64) -> bool,
) -> Option<(u64, u64)> {
    let least = least.min(uplinks);
    let choice = |parallel: u64| (uplinks.div_ceil(parallel), parallel);
    let good = |(uppers, parallel): &(u64, u64)| *uppers >= least && fits(uppers * parallel);
    let choices = || (1..=(radix / below).min(uplinks)).rev().map(choice).filter(good);
    let fewest = choices().next()?;
    let even = choices().find(|(uppers, parallel)| uppers * parallel == uplinks);
    Some(even.filter(|even| even.0 * 2 <= fewest.0 * 3).unwrap_or(fewest))
}

/// Whether `ratio` asks for fewer uplinks than downlinks.
pub(super) fn oversubscribed(ratio: Ratio) -> bool {
    ratio > Ratio::ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uppers_are_few_and_even() {
        let any = |_| true;
        assert_eq!(spread(32, 16, 64, 2, any), Some((8, 4)));
        // 32 over parts of five would take seven switches, but eight come out even.
        assert_eq!(spread(32, 12, 64, 2, any), Some((8, 4)));
        // 31 is prime: 31 switches, or eight with one link to spare.
        assert_eq!(spread(31, 16, 64, 2, any), Some((8, 4)));
        assert_eq!(spread(31, 16, 64, 2, |up| up <= 31), Some((31, 1)));
        // One would hold everything, two are safer.
        assert_eq!(spread(4, 2, 64, 2, any), Some((2, 2)));
        assert_eq!(spread(4, 65, 64, 2, any), None);
    }
}
