//! The same cause in many places is one finding: about a switch, a server, or most of a tier.

use super::Cause;
use super::Scene;
use super::finding::{Confidence, Finding};
use std::collections::BTreeMap;
use xoff_fabric::model::{NodeId, ServerId, Tier};

/// Fewer places of a tier than this are listed one by one.
const FEW: usize = 4;

/// What findings of one cause are gathered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    /// Ports of a switch.
    Switch(NodeId),
    /// NICs of a server.
    Server(ServerId),
    /// Switches of a tier; `None` is all NICs.
    Tier(Option<Tier>),
    /// It stands alone.
    Alone(usize),
}

/// One finding for all ports of a switch that say the same, one for all NICs of a server, and one for most of a tier.
pub(super) fn grouped(scene: &Scene<'_>, found: Vec<Finding>) -> Vec<Finding> {
    let found = gather(scene, found, near);
    gather(scene, found, tier)
}

/// Gathers findings by cause and group; a group that is too small stays as it is.
fn gather(
    scene: &Scene<'_>,
    found: Vec<Finding>,
    of: fn(&Scene<'_>, &Finding) -> Option<Group>,
) -> Vec<Finding> {
    let mut groups: BTreeMap<(Cause, Group), Vec<Finding>> = BTreeMap::new();
    for (at, finding) in found.into_iter().enumerate() {
        let group = of(scene, &finding).unwrap_or(Group::Alone(at));
        groups.entry((finding.cause, group)).or_default().push(finding);
    }
    let merged = groups.into_iter().flat_map(|((_, group), all)| match name(scene, group, &all) {
        Some(place) => vec![merge(place, all)],
        None => all,
    });
    merged.collect()
}

/// The switch or server of a finding about one of its ports or NICs.
fn near(scene: &Scene<'_>, finding: &Finding) -> Option<Group> {
    let [node] = finding.nodes[..] else { return None };
    match scene.fabric.nics.get(node.index()) {
        Some(nic) => Some(Group::Server(nic.server)),
        None => Some(Group::Switch(node)),
    }
}

/// The tier of a finding about switches or NICs as a whole.
fn tier(scene: &Scene<'_>, finding: &Finding) -> Option<Group> {
    let mut tiers = finding.nodes.iter().map(|node| tier_of(scene, *node));
    let first = tiers.next()?;
    let whole = !finding.place.contains('→');
    (whole && tiers.all(|tier| tier == first)).then_some(Group::Tier(first))
}

fn tier_of(scene: &Scene<'_>, node: NodeId) -> Option<Tier> {
    let switch = scene.fabric.node_switch(node)?;
    Some(scene.fabric.switches[switch.index()].tier)
}

/// The place that findings of a group have in common, if they are to be one.
fn name(scene: &Scene<'_>, group: Group, all: &[Finding]) -> Option<String> {
    let fabric = scene.fabric;
    let nodes: usize = all.iter().map(|finding| finding.nodes.len()).sum();
    match group {
        Group::Alone(_) => None,
        Group::Switch(node) => (all.len() > 1).then(|| fabric.node_name(node).to_owned()),
        Group::Server(server) => {
            let server = &fabric.servers[server.index()];
            (all.len() > 1 && 2 * all.len() >= server.nics.len()).then(|| server.name.clone())
        }
        Group::Tier(tier) => {
            let (count, word) = match tier {
                None => (fabric.nics.len(), "NICs"),
                Some(tier) => {
                    let own = fabric.switches.iter().filter(|switch| switch.tier == tier);
                    (own.count(), plural(tier))
                }
            };
            let most = 2 * nodes > count && all.len() > 1 && nodes >= FEW.min(count);
            most.then(|| match nodes == count {
                true => format!("all {count} {word}"),
                false => format!("{nodes} of {count} {word}"),
            })
        }
    }
}

const fn plural(tier: Tier) -> &'static str {
    match tier {
        Tier::Leaf => "leaves",
        Tier::Spine => "spines",
        Tier::Core => "core switches",
    }
}

/// One finding of several, with the evidence of the worst.
fn merge(place: String, mut all: Vec<Finding>) -> Finding {
    all.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.place.cmp(&b.place)));
    let weight = all.iter().map(|finding| finding.weight).sum();
    let confidence =
        all.iter().map(|finding| finding.confidence).max().unwrap_or(Confidence::Possible);
    let mut nodes: Vec<NodeId> = all.iter().flat_map(|finding| finding.nodes.clone()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    const SHOWN: usize = 4;
    let names: Vec<&str> = all.iter().take(SHOWN).map(|finding| finding.place.as_str()).collect();
    let more = all.len() - names.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let seen = format!("seen at {}{rest}", names.join(", "));
    let worst = all.swap_remove(0);
    Finding { place, weight, confidence, nodes, ..worst }.because(seen)
}
