//! Nodes and links as listed.

use super::cables::{self, Given};
use super::labels::Labels;
use super::switches;
use super::terms::{NicKind, Terms};
use super::wiring::{End, ServerPlan, Stop, Wiring};
use crate::diagnostic::code;
use crate::document::{Report, keys};
use crate::file::{CustomLink, CustomNode, LinkSettings, NodeKind, TierName};
use crate::model::{Cable, Tier};
use crate::suggest;
use std::collections::BTreeMap;
use xoff_units::Length;

pub(super) fn wire(terms: &Terms<'_>, report: &mut Report<'_>) -> Result<Wiring, Stop> {
    let file = terms.file;
    if file.nodes.is_empty() {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "kind"],
            "a custom fabric has no nodes",
            "list them as [[node]] and their cables as [[link]]",
        );
        return Err(Stop::Reported);
    }
    let mut wiring = Wiring::default();
    let mut ends: BTreeMap<&str, End> = BTreeMap::new();
    for (index, node) in file.nodes.iter().enumerate() {
        if ends.contains_key(node.name.as_str()) {
            duplicate(index, node, report);
        }
        // Its number follows once NICs are sorted by server and switches by tier.
        ends.insert(&node.name, End::Switch(u32::MAX));
    }
    add_nics(terms, &mut wiring, &mut ends, report)?;
    add_switches(terms, &mut wiring, &mut ends, report)?;
    let mut labels = Labels::default();
    for (index, link) in file.custom_links.iter().enumerate() {
        let first = wiring.links.len();
        add_link(terms, &mut wiring, &ends, index, link, report)?;
        labels.give(&mut wiring, first, (index, link), report);
    }
    connectivity(&wiring, file.nodes.as_slice(), report);
    Ok(wiring)
}

fn duplicate(index: usize, node: &CustomNode, report: &mut Report<'_>) {
    report.error(
        code::DUPLICATE,
        keys!["node", index, "name"],
        format!("there are two nodes called `{}`", node.name),
        "names must differ",
    );
}

/// NICs in the order of their servers' first appearance: a server's NICs are numbered together.
fn add_nics<'a>(
    terms: &Terms<'a>,
    wiring: &mut Wiring,
    ends: &mut BTreeMap<&'a str, End>,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let mut servers: Vec<(String, Vec<(usize, &CustomNode)>)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, node) in terms.file.nodes.iter().enumerate() {
        if node.kind != NodeKind::Nic {
            continue;
        }
        match node.server.as_deref().and_then(|server| known.get(server)) {
            Some(&at) => servers[at].1.push((index, node)),
            None => {
                if let Some(server) = node.server.as_deref() {
                    known.insert(server, servers.len());
                }
                let name = node.server.clone().unwrap_or_else(|| format!("{}-server", node.name));
                servers.push((name, vec![(index, node)]));
            }
        }
    }
    server_names(&servers, report);
    wiring.nic_kinds.push(terms.nic.clone());
    for (server, (name, nics)) in servers.into_iter().enumerate() {
        let first = wiring.nics.len() as u32;
        for (index, node) in &nics {
            let kind = nic_kind(terms, wiring, *index, node, report);
            ends.insert(&node.name, End::Nic(wiring.nics.len() as u32));
            wiring.add_nic(node.name.clone(), server as u32, kind)?;
            if let Some(nic) = wiring.nics.last_mut() {
                nic.rail = node.rail;
            }
        }
        let gpus = nics.len() as u32;
        wiring.servers.push(ServerPlan { name, gpus, nics: first..wiring.nics.len() as u32 });
    }
    Ok(())
}

/// Two servers of one name could not be told apart: one that a NIC names, and one that a NIC without a server got.
fn server_names(servers: &[(String, Vec<(usize, &CustomNode)>)], report: &mut Report<'_>) {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for (name, nics) in servers {
        let Some((index, first)) = nics.first() else { continue };
        if let Some(other) = known.insert(name, &first.name) {
            let key = if first.server.is_some() { "server" } else { "name" };
            report.error(
                code::DUPLICATE,
                keys!["node", *index, key],
                format!(
                    "there are two servers called `{name}`: of `{other}` and of `{}`",
                    first.name
                ),
                "a NIC without `server` has a server named after it: give both NICs the same \
                 `server`, or names that differ",
            );
        }
        let mut rails: Vec<u32> = nics.iter().filter_map(|(_, nic)| nic.rail).collect();
        rails.sort_unstable();
        if let Some(pair) = rails.windows(2).find(|pair| pair[0] == pair[1]) {
            let place = |nic: &&(usize, &CustomNode)| nic.1.rail == Some(pair[0]);
            let index = nics.iter().rev().find(place).map_or(*index, |(index, _)| *index);
            report.warn(
                code::UNUSUAL,
                keys!["node", index, "rail"],
                format!("`{name}` has two NICs on rail {}", pair[0]),
                "NICs of a server are on rails of their own",
            );
        }
    }
}

fn nic_kind(
    terms: &Terms<'_>,
    wiring: &mut Wiring,
    index: usize,
    node: &CustomNode,
    report: &mut Report<'_>,
) -> usize {
    let Some(name) = node.nic.as_deref() else { return 0 };
    if let Some(kind) = wiring.nic_kinds.iter().skip(1).position(|kind| kind.model == name) {
        return kind + 1;
    }
    let Some(model) = terms.catalogue.nics.get(name) else {
        report.error(
            code::UNKNOWN_NAME,
            keys!["node", index, "nic"],
            format!("there is no `{name}` in the catalogue of NICs"),
            suggest::help(name, terms.catalogue.nics.keys().map(String::as_str)),
        );
        return 0;
    };
    wiring.nic_kinds.push(NicKind {
        model: model.name.clone(),
        rate: model.rate,
        latency: terms.file.nic.latency.unwrap_or(model.latency),
    });
    wiring.nic_kinds.len() - 1
}

fn tier(name: Option<TierName>) -> Tier {
    match name {
        Some(TierName::Spine) => Tier::Spine,
        Some(TierName::Core) => Tier::Core,
        Some(TierName::Leaf) | None => Tier::Leaf,
    }
}

/// Switches, tier by tier from the hosts up.
fn add_switches<'a>(
    terms: &Terms<'a>,
    wiring: &mut Wiring,
    ends: &mut BTreeMap<&'a str, End>,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let nodes = terms.file.nodes.iter().enumerate();
    let mut switches: Vec<_> = nodes.filter(|(_, n)| n.kind == NodeKind::Switch).collect();
    switches.sort_by_key(|(index, node)| (tier(node.tier), *index));
    for (index, node) in switches {
        if node.rail.is_some() {
            report.error(
                code::TOPOLOGY,
                keys!["node", index, "rail"],
                format!("`{}` is a switch, and rails are given to NICs", node.name),
                "give `rail` to the NICs that are meant to be plugged into it",
            );
        }
        let tier = tier(node.tier);
        let mut kind = match tier {
            Tier::Leaf => terms.leaf.clone(),
            Tier::Spine => terms.spine.clone(),
            Tier::Core => terms.core.clone(),
        };
        if let Some(name) = node.silicon.as_deref() {
            match terms.catalogue.silicon.get(name) {
                Some(silicon) => {
                    let silicon = silicon.clone();
                    kind = switches::kind(tier, silicon, terms.file, terms.catalogue, report);
                }
                None => report.error(
                    code::UNKNOWN_NAME,
                    keys!["node", index, "silicon"],
                    format!("there is no `{name}` in the catalogue of silicon"),
                    suggest::help(name, terms.catalogue.silicon.keys().map(String::as_str)),
                ),
            }
        }
        kind.buffer = node.buffer.unwrap_or(kind.buffer);
        ends.insert(&node.name, End::Switch(wiring.switches.len() as u32));
        wiring.add_switch(node.name.clone(), kind)?;
    }
    Ok(())
}

fn add_link(
    terms: &Terms<'_>,
    wiring: &mut Wiring,
    ends: &BTreeMap<&str, End>,
    index: usize,
    link: &CustomLink,
    report: &mut Report<'_>,
) -> Result<(), Stop> {
    let words: Vec<&str> = link.ends.split_whitespace().collect();
    let path = keys!["link", index, "ends"];
    let [a, b] = words[..] else {
        report.error(
            code::WRONG_VALUE,
            path,
            format!("`{}` does not name two nodes", link.ends),
            "write `ends = \"leaf0 spine1\"`",
        );
        return Ok(());
    };
    let mut found = [None; 2];
    for (slot, name) in found.iter_mut().zip([a, b]) {
        *slot = ends.get(name).copied();
        if slot.is_none() {
            report.error(
                code::UNKNOWN_NAME,
                path,
                format!("there is no node `{name}`"),
                suggest::help(name, ends.keys().copied()),
            );
        }
    }
    let [Some(a), Some(b)] = found else { return Ok(()) };
    if a == b || matches!((a, b), (End::Nic(_), End::Nic(_))) {
        report.error(
            code::TOPOLOGY,
            path,
            format!("`{}` does not lead through a switch", link.ends),
            "a link joins a NIC and a switch, or two switches",
        );
        return Ok(());
    }
    let cable = cable(terms, wiring, index, link, (a, b), report);
    let cable = wiring.add_cable(&cable);
    wiring.connect(a, b, cable, u64::from(link.parallel.unwrap_or(1)))
}

fn cable(
    terms: &Terms<'_>,
    wiring: &Wiring,
    index: usize,
    link: &CustomLink,
    (a, b): (End, End),
    report: &mut Report<'_>,
) -> Cable {
    let own = LinkSettings {
        rate: link.rate,
        length: link.length,
        delay: link.delay,
        media: link.media.clone(),
        bit_error_rate: link.bit_error_rate,
        loss: link.loss,
        parallel: None,
    };
    let rate = match (a, b) {
        (End::Nic(nic), _) | (_, End::Nic(nic)) => {
            wiring.nic_kinds[wiring.nics[nic as usize].kind].rate
        }
        _ => terms.leaf_spine_cable.rate,
    };
    let given = Given {
        own: &own,
        own_path: keys!["link", index],
        all: &terms.file.links.all,
        default_rate: rate,
        default_length: Length::from_m(5),
    };
    cables::cable(&given, terms.catalogue, report)
}

/// Reports NICs without a cable, and NICs that cannot reach the first one.
fn connectivity(wiring: &Wiring, nodes: &[CustomNode], report: &mut Report<'_>) {
    let total = wiring.nics.len() + wiring.switches.len();
    let node = |end: End| match end {
        End::Nic(nic) => nic as usize,
        End::Switch(switch) => wiring.nics.len() + switch as usize,
    };
    let mut parent: Vec<usize> = (0..total).collect();
    fn root(parent: &mut [usize], mut at: usize) -> usize {
        while parent[at] != at {
            parent[at] = parent[parent[at]];
            at = parent[at];
        }
        at
    }
    for link in &wiring.links {
        let [a, b] = link.ends.map(|end| root(&mut parent, node(end)));
        parent[a] = b;
    }
    if wiring.nics.is_empty() {
        report.error(
            code::TOPOLOGY,
            keys!["fabric", "kind"],
            "there is no NIC among the nodes, so nothing is ever sent",
            "add nodes with `kind = \"nic\"`",
        );
        return;
    }
    let mut plugged = vec![false; total];
    wiring.links.iter().flat_map(|link| link.ends).for_each(|end| plugged[node(end)] = true);
    let first = root(&mut parent, 0);
    let position: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    for (index, nic) in wiring.nics.iter().enumerate() {
        let alone = !plugged[index];
        if alone || root(&mut parent, index) != first {
            let at = position.get(nic.name.as_str()).copied().unwrap_or(0);
            report.error(
                code::DISCONNECTED,
                keys!["node", at, "name"],
                match alone {
                    true => format!("nothing is plugged into `{}`", nic.name),
                    false => format!("`{}` cannot reach `{}`", nic.name, wiring.nics[0].name),
                },
                "a [[link]] is missing",
            );
        }
    }
}
