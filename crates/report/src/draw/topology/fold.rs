//! Nodes of a tier as boxes that can be read: each by itself where all names fit, otherwise by rail
//! or with their neighbours, with how many they are. Links between the same two boxes become one
//! [`Bundle`].

use crate::draw::panel::ADVANCE;
use crate::{LinkState, Node, NodeRef, Tier, Topology, counted};
use std::collections::BTreeMap;

/// Bundles that are drawn; a fabric with more is folded further.
const BUNDLES: usize = 260;

/// Boxes of a tier, at most.
const BOXES: usize = 16;

/// Room beside the words of a box, in pixels: within it and to the next.
const BESIDE: f64 = 14.0;

/// A tier and a box of it.
pub(super) type Place = (usize, usize);

/// What is drawn of a topology.
pub(super) struct Folded {
    pub(super) tiers: Vec<Row>,
    /// Links between boxes, from the lower to the upper.
    pub(super) bundles: BTreeMap<(Place, Place), Bundle>,
}

/// What is drawn of a tier.
pub(super) struct Row {
    pub(super) boxes: Vec<Group>,
    /// The box of each node.
    of: Vec<usize>,
}

/// One box.
pub(super) struct Group {
    /// One line or two.
    pub(super) words: Vec<String>,
    /// All that is known of it.
    pub(super) said: String,
    /// Their rail, if they are of one.
    pub(super) rail: Option<u32>,
    pub(super) down: usize,
}

/// Links between the same two boxes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bundle {
    loads: f64,
    pub(super) links: usize,
    /// Those whose load is known.
    pub(super) measured: usize,
    pub(super) hot: usize,
    pub(super) down: usize,
    /// The busiest of them: its load and its number in the topology.
    pub(super) worst: Option<(f64, usize)>,
}

impl Bundle {
    fn add(&mut self, at: usize, load: f64, state: LinkState) {
        let load = if load.is_finite() { load.clamp(0.0, 1.0) } else { 0.0 };
        self.links += 1;
        if state == LinkState::Unmeasured {
            return;
        }
        self.loads += load;
        self.measured += 1;
        self.hot += usize::from(state == LinkState::Hot);
        self.down += usize::from(state == LinkState::Down);
        if self.worst.is_none_or(|(most, _)| load > most) {
            self.worst = Some((load, at));
        }
    }

    /// Two bundles as one.
    pub(super) fn with(self, other: Bundle) -> Bundle {
        let worst = match (self.worst, other.worst) {
            (Some(a), Some(b)) => Some(if b.0 > a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        Bundle {
            loads: self.loads + other.loads,
            links: self.links + other.links,
            measured: self.measured + other.measured,
            hot: self.hot + other.hot,
            down: self.down + other.down,
            worst,
        }
    }

    /// The mean load: the greatest would be the same of all in a fabric that is folded far.
    pub(super) fn load(&self) -> f64 {
        self.loads / self.measured.max(1) as f64
    }
}

/// Folds until all words fit into this many pixels and few enough bundles are left.
pub(super) fn fold(topology: &Topology, width: f64) -> Folded {
    let mut most = BOXES;
    loop {
        let tiers: Vec<Row> = topology.tiers.iter().map(|tier| row(tier, most, width)).collect();
        let bundles = bundles(topology, &tiers);
        if bundles.len() <= BUNDLES || most <= 2 {
            return Folded { tiers, bundles };
        }
        most = most * 3 / 4;
    }
}

fn bundles(topology: &Topology, tiers: &[Row]) -> BTreeMap<(Place, Place), Bundle> {
    let mut bundles: BTreeMap<(Place, Place), Bundle> = BTreeMap::new();
    for (at, link) in topology.links.iter().enumerate() {
        if topology.node(link.from).is_none() || topology.node(link.to).is_none() {
            continue;
        }
        let place = |at: NodeRef| (at.tier, tiers[at.tier].of[at.node]);
        let (a, b) = (place(link.from), place(link.to));
        if a != b {
            bundles.entry((a.min(b), a.max(b))).or_default().add(at, link.load, link.state);
        }
    }
    bundles
}

/// The boxes of a tier: as many as have room for their words.
fn row(tier: &Tier, most: usize, width: f64) -> Row {
    let atoms = atoms(&tier.nodes, most);
    let fits = |row: &Row| {
        let widest = row.boxes.iter().flat_map(|own| &own.words).map(|line| line.chars().count());
        let widest = widest.max().unwrap_or(0) as f64 * ADVANCE + BESIDE;
        row.boxes.len() as f64 * widest <= width
    };
    let counts = [atoms.len(), 16, 12, 8, 6, 4, 3, 2].into_iter().filter(|count| *count <= most);
    let mut rows = counts.filter(|count| *count <= atoms.len().max(1)).map(|count| {
        let each = atoms.len().div_ceil(count.max(1)).max(1);
        grouped(tier, atoms.chunks(each).map(<[_]>::concat))
    });
    rows.find(fits).unwrap_or_else(|| grouped(tier, [atoms.concat()].into_iter()))
}

/// What must not be taken apart: the nodes of a rail, where there are rails and too many nodes to
/// show each, so that a rail's links run beside each other.
fn atoms(nodes: &[Node], most: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|at| nodes[*at].rail);
    let rails = || order.chunk_by(|a, b| nodes[*a].rail == nodes[*b].rail);
    if rails().count() > 1 && nodes.len() > most {
        return rails().map(<[usize]>::to_vec).collect();
    }
    order.into_iter().map(|at| vec![at]).collect()
}

fn grouped(tier: &Tier, parts: impl Iterator<Item = Vec<usize>>) -> Row {
    let mut row = Row { boxes: Vec::new(), of: vec![0; tier.nodes.len()] };
    for part in parts.filter(|part| !part.is_empty()) {
        for at in &part {
            row.of[*at] = row.boxes.len();
        }
        row.boxes.push(group(tier, &part));
    }
    row
}

fn group(tier: &Tier, part: &[usize]) -> Group {
    let nodes: Vec<&Node> = part.iter().map(|at| &tier.nodes[*at]).collect();
    let (first, last) = (nodes[0], nodes[nodes.len() - 1]);
    let down = nodes.iter().filter(|node| node.down).count();
    let rail = first.rail.filter(|_| first.rail == last.rail);
    let from_to = names(&first.name, &last.name);
    let count = many(nodes.len(), &tier.name);
    let words = match (first.rail, last.rail) {
        _ if nodes.len() == 1 => vec![first.name.clone()],
        (Some(one), Some(other)) if one == other => vec![format!("rail {one}"), count.clone()],
        (Some(one), Some(other)) => vec![format!("rails {one}–{other}"), count.clone()],
        _ => vec![from_to.clone(), count.clone()],
    };
    let mut said = if nodes.len() == 1 { from_to } else { format!("{from_to}: {count}") };
    if let Some(rail) = rail {
        said += &format!(", rail {rail}");
    }
    if down > 0 {
        said += &if nodes.len() == 1 { ", down".to_owned() } else { format!(", {down} down") };
    }
    Group { words, said, rail, down }
}

/// So many of a tier, whose name is in the plural.
pub(super) fn many(count: usize, name: &str) -> String {
    let one = match name {
        "leaves" => "leaf",
        "switches" => "switch",
        name => name.strip_suffix('s').unwrap_or(name),
    };
    counted(count as u64, one, name)
}

/// The first and the last name of neighbours: `leaf0–15` where they only differ in their number.
fn names(first: &str, last: &str) -> String {
    if first == last {
        return first.to_owned();
    }
    let stem = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (a, b) = (stem(first), stem(last));
    if a == b && a < first.len() && a < last.len() && first[..a] == last[..b] {
        return format!("{first}–{}", &last[b..]);
    }
    format!("{first} … {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(count: usize, rails: Option<u32>) -> Tier {
        let rail = |at: usize| rails.map(|rails| at as u32 % rails);
        let node = |at: usize| Node { name: format!("leaf{at}"), rail: rail(at), down: at == 3 };
        Tier { name: "leaves".into(), nodes: (0..count).map(node).collect() }
    }

    fn words(row: &Row) -> Vec<String> {
        row.boxes.iter().map(|own| own.words.join("/")).collect()
    }

    #[test]
    fn boxes_say_who_they_are_and_how_many() {
        assert_eq!(words(&row(&tier(3, None), 16, 860.0)), ["leaf0", "leaf1", "leaf2"]);
        let many = row(&tier(1024, Some(8)), 16, 860.0);
        assert_eq!(many.boxes.len(), 8);
        assert_eq!(words(&many)[7], "rail 7/128 leaves");
        assert_eq!(many.boxes[3].said, "leaf3–1019: 128 leaves, rail 3, 1 down");
        let narrow = row(&tier(1024, Some(8)), 16, 350.0);
        assert_eq!(words(&narrow)[0], "rails 0–1/256 leaves");
        let plain = row(&tier(1024, None), 16, 860.0);
        assert_eq!(words(&plain)[0], "leaf0–127/128 leaves");
    }

    #[test]
    fn one_spine_is_not_one_spines() {
        assert_eq!(many(1, "spines"), "1 spine");
        assert_eq!(many(1, "leaves"), "1 leaf");
        assert_eq!(many(1_024, "NICs"), "1,024 NICs");
    }

    /// At any size every word fits into its box, and no node is lost.
    #[test]
    fn words_are_never_cut() {
        for count in [1, 2, 7, 16, 17, 64, 128, 1_000, 8_192] {
            for rails in [None, Some(8), Some(3)] {
                for width in [860.0, 350.0] {
                    let row = row(&tier(count, rails), 16, width);
                    let room = width / row.boxes.len() as f64;
                    for own in &row.boxes {
                        for line in &own.words {
                            let needs = line.chars().count() as f64 * ADVANCE;
                            assert!(needs <= room, "{line} in {room} pixels");
                        }
                    }
                    assert_eq!(row.of.len(), count);
                    assert!(row.of.iter().all(|at| *at < row.boxes.len()));
                }
            }
        }
    }
}
