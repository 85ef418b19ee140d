//! Cables: whether those of a tier are alike and lose nothing, and whether every switch has the cables that its
//! neighbours have.

use super::words::some;
use super::{Evidence, advice};
use crate::advice::Advice;
use crate::check::Check;
use crate::phase::Phase;
use std::collections::{BTreeMap, BTreeSet};
use xoff_fabric::FabricSetup;
use xoff_fabric::model::{Fabric, PortId, SwitchId, Tier};
use xoff_report::Verdict;
use xoff_units::{Rate, Ratio};

pub(super) fn checks(evidence: &Evidence<'_>) -> Vec<Check> {
    vec![cables(evidence.setup), rails(&evidence.setup.fabric)]
}

fn check(name: &str, title: &str) -> Check {
    Check::new(Phase::Laboratory, name, title)
}

/// The tier that a port belongs to; 0 is a NIC.
fn tier(fabric: &Fabric, port: PortId) -> u8 {
    let node = fabric.ports[port.index()].node;
    fabric.node_switch(node).map_or(0, |switch| fabric.switches[switch.index()].tier as u8 + 1)
}

/// The two tiers that a cable joins, the lower first.
fn ends(fabric: &Fabric, port: PortId) -> (u8, u8) {
    let (here, there) = (tier(fabric, port), tier(fabric, fabric.ports[port.index()].peer));
    (here.min(there), here.max(there))
}

/// Every cable once, from its lower end.
fn lower_ends(fabric: &Fabric) -> impl Iterator<Item = PortId> + '_ {
    let ports = (0..fabric.ports.len() as u32).map(PortId);
    ports.filter(|&port| {
        let peer = fabric.ports[port.index()].peer;
        (tier(fabric, port), port) < (tier(fabric, peer), peer)
    })
}

/// Whether a NIC's port is as fast as its model has it: another model beside it may be faster.
fn is_all_it_has(setup: &FabricSetup, port: PortId) -> bool {
    let fabric = &setup.fabric;
    let nic = fabric.nics.get(fabric.ports[port.index()].node.index());
    let model = nic.and_then(|nic| Some((nic, setup.catalogue.nics.get(&nic.model)?)));
    model.is_some_and(|(nic, model)| {
        let ports = (nic.ports.len() as u64).max(1);
        fabric.cable(port).rate.bps() * ports >= model.rate.bps()
    })
}

fn cables(setup: &FabricSetup) -> Check {
    let fabric = &setup.fabric;
    let mut fastest: BTreeMap<(u8, u8), Rate> = BTreeMap::new();
    for port in lower_ends(fabric) {
        let known = fastest.entry(ends(fabric, port)).or_insert(Rate::ZERO);
        *known = fabric.cable(port).rate.max(*known);
    }
    let (mut lossy, mut slow, mut pairs) = (Vec::new(), Vec::new(), BTreeMap::new());
    for port in lower_ends(fabric) {
        let (cable, usual) = (fabric.cable(port), fastest[&ends(fabric, port)]);
        if cable.rate < usual && !is_all_it_has(setup, port) {
            let name = fabric.port_name(port);
            slow.push(format!("{name} ({} where others have {usual})", cable.rate));
            let peer = fabric.ports[port.index()].peer;
            let mut names = [port, peer]
                .map(|port| fabric.node_name(fabric.ports[port.index()].node).to_owned());
            names.sort();
            let [first, second] = names;
            pairs.insert((first, second), usual);
        }
        if cable.bit_error_rate > Ratio::ZERO || cable.loss > Ratio::ZERO {
            lossy.push(fabric.port_name(port));
        }
    }
    let verdict = if slow.is_empty() && lossy.is_empty() { Verdict::Pass } else { Verdict::Fail };
    let mut measured = Vec::new();
    if !slow.is_empty() {
        measured.push(format!("slow: {}", some(&slow)));
    }
    if !lossy.is_empty() {
        measured.push(format!("losing packets: {}", some(&lossy)));
    }
    if measured.is_empty() {
        measured.push(format!("all {} cables", fabric.cables.len()));
    }
    let advice = advice::clean_cables(setup, &pairs, !lossy.is_empty());
    check("cables", "Cables of a tier are alike, and lose nothing")
        .done("compared rate, bit errors and loss of every cable with its neighbours")
        .seen(measured.join("; "), "the same rate, no errors left after FEC")
        .verdict(verdict)
        .places(slow.into_iter().chain(lossy))
        .advise(Some(advice))
}

/// More cables than this share of all are no mistake but a design.
const ODD: f64 = 0.25;

/// What is wrong with the cables between switches.
#[derive(Default)]
struct Cabling {
    /// In words.
    wrong: Vec<String>,
    /// Whether a switch has less bandwidth for it.
    missing: bool,
}

/// Leaves and spines that are joined by as many cables in most cases, and the pairs that are not.
fn meshes(fabric: &Fabric) -> Cabling {
    let mut joined: BTreeMap<(SwitchId, SwitchId), u64> = BTreeMap::new();
    let mut level = Vec::new();
    let mut between = 0;
    for port in lower_ends(fabric) {
        let peer = fabric.ports[port.index()].peer;
        let [low, high] =
            [port, peer].map(|port| fabric.node_switch(fabric.ports[port.index()].node));
        let (Some(low), Some(high)) = (low, high) else { continue };
        between += 1;
        match ends(fabric, port) {
            (below, above) if below == above => level.push(fabric.port_name(port)),
            _ => *joined.entry((low, high)).or_default() += fabric.cable(port).rate.bps(),
        }
    }
    let mut found = Cabling::default();
    if !level.is_empty() && (level.len() as f64) <= ODD * f64::from(between) {
        found.wrong.push(format!("{} joins switches of one tier", some(&level)));
    }
    for (lows, highs) in groups(&joined) {
        let pairs = || lows.iter().flat_map(|&low| highs.iter().map(move |&high| (low, high)));
        let rate = |pair| joined.get(&pair).copied().unwrap_or(0);
        let mut numbers: BTreeMap<u64, usize> = BTreeMap::new();
        pairs().for_each(|pair| *numbers.entry(rate(pair)).or_default() += 1);
        let usual = numbers.iter().max_by_key(|(_, number)| **number).map_or(0, |(rate, _)| *rate);
        let odd: Vec<_> = pairs().filter(|&pair| rate(pair) != usual).collect();
        if usual == 0 || odd.len() as f64 > ODD * (lows.len() * highs.len()) as f64 {
            continue;
        }
        let name = |switch: SwitchId| &fabric.switches[switch.index()].name;
        for &(low, high) in &odd {
            let (has, usual) = (rate((low, high)), Rate::from_bps(usual));
            found.wrong.push(match has {
                0 => format!("nothing between {} and {} (others: {usual})", name(low), name(high)),
                has => {
                    let has = Rate::from_bps(has);
                    format!("{has} between {} and {} (others: {usual})", name(low), name(high))
                }
            });
        }
        let up = |low: SwitchId| highs.iter().map(|&high| rate((low, high))).sum::<u64>();
        found.missing |= lows.iter().any(|&low| up(low) < usual * highs.len() as u64);
    }
    found
}

type Sides = (BTreeSet<SwitchId>, BTreeSet<SwitchId>);

/// Switches that are joined with each other, however far: those of the lower tier, and those of the upper one.
fn groups(joined: &BTreeMap<(SwitchId, SwitchId), u64>) -> Vec<Sides> {
    let mut all: Vec<Sides> = Vec::new();
    for &(low, high) in joined.keys() {
        let mut own: Sides = (BTreeSet::from([low]), BTreeSet::from([high]));
        let (with, apart): (Vec<Sides>, Vec<Sides>) =
            all.into_iter().partition(|(lows, highs)| lows.contains(&low) || highs.contains(&high));
        for (lows, highs) in with {
            own.0.extend(lows);
            own.1.extend(highs);
        }
        all = apart;
        all.push(own);
    }
    all
}

/// Switches without a cable.
fn idle(fabric: &Fabric) -> Vec<String> {
    let bare = fabric.switches.iter().filter(|switch| switch.ports.is_empty());
    bare.map(|switch| format!("{} has no cable", switch.name)).collect()
}

/// Hosts of a leaf, and its bandwidth down and up.
type Shape = (u64, u64, u64);

/// Leaves with another number of hosts than most, or with less bandwidth up for what they have down: slower NICs of an older
/// model ask for less.
fn odd_leaves(fabric: &Fabric) -> Vec<String> {
    let mut shapes: BTreeMap<Shape, Vec<String>> = BTreeMap::new();
    for switch in fabric.switches.iter().filter(|switch| switch.tier == Tier::Leaf) {
        let (mut hosts, mut down, mut up) = (0, 0, 0);
        for port in switch.ports.clone().map(PortId) {
            let peer = fabric.ports[fabric.ports[port.index()].peer.index()].node;
            let rate = fabric.cable(port).rate.bps();
            match fabric.node_switch(peer) {
                Some(_) => up += rate,
                None => (hosts, down) = (hosts + 1, down + rate),
            }
        }
        shapes.entry((hosts, down, up)).or_default().push(switch.name.clone());
    }
    let most = shapes.values().map(Vec::len).max().unwrap_or(0);
    let Some((&usual, _)) = shapes.iter().find(|(_, names)| names.len() == most) else {
        return Vec::new();
    };
    let differs = |&(hosts, down, up): &Shape| {
        let less = u128::from(up) * u128::from(usual.1) < u128::from(usual.2) * u128::from(down);
        hosts != usual.0 || less
    };
    let few = shapes.iter().filter(|(shape, names)| names.len() < most && differs(shape));
    few.flat_map(|(_, names)| names.iter().cloned()).collect()
}

fn rails(fabric: &Fabric) -> Check {
    let odd = odd_leaves(fabric);
    let Cabling { mut wrong, missing } = meshes(fabric);
    wrong.extend(idle(fabric));
    let cure = (!wrong.is_empty())
        .then(|| Advice::words(format!("put these cables right: {}", wrong.join("; "))));
    let mut seen = Vec::new();
    if !odd.is_empty() {
        seen.push(format!("another bandwidth down or up than most leaves: {}", some(&odd)));
    }
    if !wrong.is_empty() {
        seen.push(some(&wrong));
    }
    let measured = match seen.is_empty() {
        true => "every leaf has the same bandwidth down and up".to_owned(),
        false => seen.join("; "),
    };
    check("symmetric-rails", "Leaves and rails are alike")
        .done("compared the bandwidth of every leaf, to hosts and to spines, and the cables between switches")
        .seen(measured, "the same everywhere: a collective waits for the slowest rail")
        .verdict(match (missing, odd.is_empty() && wrong.is_empty()) {
            (true, _) => Verdict::Fail,
            (false, false) => Verdict::Warn,
            (false, true) => Verdict::Pass,
        })
        .places(odd.into_iter().chain(wrong))
        .consider(cure)
}
