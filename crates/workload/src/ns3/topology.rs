//! `topology.txt`: `nodes switches links`, the numbers of the switches, then one link per line:
//! `a b rate delay error`. Whatever is not a switch is a host.

use super::text::{Line, Mistakes, lines};
use std::collections::btree_map::{BTreeMap, Entry};
use std::collections::{BTreeSet, VecDeque};
use xoff_units::{Rate, Ratio, Span};

/// Hosts, switches and links.
#[derive(Debug, Clone, Default)]
pub(super) struct Topology {
    pub(super) nodes: u32,
    pub(super) switches: BTreeSet<u32>,
    pub(super) links: Vec<Link>,
    pairs: BTreeSet<(u32, u32)>,
}

/// A link.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) ends: (u32, u32),
    pub(super) rate: Rate,
    pub(super) delay: Span,
    /// Share of packets that are lost.
    pub(super) loss: Ratio,
}

/// The most nodes that can be imported.
const MOST_NODES: u32 = 1_000_000;

impl Topology {
    /// A node's name in our files.
    pub(super) fn name(&self, node: u32) -> String {
        let kind = if self.switches.contains(&node) { "switch" } else { "host" };
        format!("{kind}{node}")
    }

    /// Whether a link joins two nodes.
    pub(super) fn joined(&self, a: u32, b: u32) -> bool {
        self.pairs.contains(&(a.min(b), a.max(b)))
    }

    /// The distance of each switch to the nearest host, in links: 1 for switches with hosts.
    pub(super) fn heights(&self) -> BTreeMap<u32, u32> {
        let mut neighbours: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(a, b) in &self.pairs {
            neighbours.entry(a).or_default().push(b);
            neighbours.entry(b).or_default().push(a);
        }
        let hosts = neighbours.keys().filter(|node| !self.switches.contains(node));
        let mut heights: BTreeMap<u32, u32> = hosts.map(|&host| (host, 0)).collect();
        let mut next: VecDeque<u32> = heights.keys().copied().collect();
        while let Some(node) = next.pop_front() {
            let height = heights[&node] + 1;
            for &other in &neighbours[&node] {
                if let Entry::Vacant(place) = heights.entry(other) {
                    place.insert(height);
                    next.push_back(other);
                }
            }
        }
        heights.retain(|node, _| self.switches.contains(node));
        heights
    }

    /// Whether a node exists; if not, that is a mistake.
    pub(super) fn knows(&self, node: u32, line: usize, mistakes: &mut Mistakes) -> bool {
        let known = node < self.nodes;
        if !known {
            let nodes = self.nodes;
            mistakes.add(line, format!("node {node} does not exist: nodes are 0 to {nodes} - 1"));
        }
        known
    }
}

/// Reads the file.
pub(super) fn read(text: &str, mistakes: &mut Mistakes) -> Topology {
    let mut topology = Topology::default();
    let mut lines = lines(text);
    let Some(header) = lines.next() else {
        mistakes.add(1, "the file is empty; it starts with `nodes switches links`");
        return topology;
    };
    let what = "`nodes switches links`, three numbers";
    let counts = [0, 1, 2].map(|at| header.read::<u32>(at, what, mistakes));
    let [Some(nodes), Some(switches), Some(links)] = counts else { return topology };
    if nodes > MOST_NODES {
        mistakes.add(header.number, format!("{nodes} nodes; at most {MOST_NODES} can be imported"));
        return topology;
    }
    topology.nodes = nodes;
    read_switches(&mut topology, switches, header.number, &mut lines, mistakes);
    let mut found = 0;
    for line in lines {
        found += 1;
        read_link(&mut topology, &line, mistakes);
    }
    if found != links {
        mistakes
            .add(header.number, format!("{links} links are announced, but the file has {found}"));
    }
    topology
}

/// The numbers of the switches, on one line or several.
fn read_switches<'a>(
    topology: &mut Topology,
    count: u32,
    header: usize,
    lines: &mut impl Iterator<Item = Line<'a>>,
    mistakes: &mut Mistakes,
) {
    let mut found = 0;
    while found < count {
        let Some(line) = lines.next() else {
            let text = format!("{count} switches are announced, but the file has {found}");
            return mistakes.add(header, text);
        };
        found += line.words.len() as u32;
        for at in 0..line.words.len() {
            let Some(node) = line.read(at, "the number of a switch", mistakes) else { continue };
            if topology.knows(node, line.number, mistakes) && !topology.switches.insert(node) {
                mistakes.add(line.number, format!("switch {node} is listed twice"));
            }
        }
    }
    if found > count {
        let text = format!("{count} switches are announced, but {found} are listed");
        mistakes.add(header, text);
    }
}

fn read_link(topology: &mut Topology, line: &Line<'_>, mistakes: &mut Mistakes) {
    let words = line.words.len();
    if !(4..=5).contains(&words) {
        let text = format!("{words} words; a link is `a b rate delay error`");
        return mistakes.add(line.number, text);
    }
    let a = line.read::<u32>(0, "a node's number", mistakes);
    let b = line.read::<u32>(1, "a node's number", mistakes);
    let rate = line.read::<Rate>(2, "a rate like 100Gbps", mistakes);
    let delay = line.read::<Span>(3, "a delay like 1000ns", mistakes);
    let loss = if words == 4 {
        Some(Ratio::ZERO)
    } else {
        line.read::<Ratio>(4, "a share of lost packets like 0.001", mistakes)
    };
    let ends = a.zip(b).filter(|&(a, b)| {
        let known = topology.knows(a, line.number, mistakes);
        known & topology.knows(b, line.number, mistakes)
    });
    if let Some((a, b)) = ends.filter(|(a, b)| a == b) {
        return mistakes.add(line.number, format!("a link from {a} to itself ({b})"));
    }
    let (Some(ends), Some(rate), Some(delay), Some(loss)) = (ends, rate, delay, loss) else {
        return;
    };
    topology.pairs.insert((ends.0.min(ends.1), ends.0.max(ends.1)));
    topology.links.push(Link { ends, rate, delay, loss });
}
