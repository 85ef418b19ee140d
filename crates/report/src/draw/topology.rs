//! Nodes in tiers with their links, folded to what can be seen.

use super::ink::Ink;
use super::panel::{ADVANCE, Drawn, LETTER, fit, line, picture, units, words};
use super::{Drawing, Form, Key, Picture, Width};
use crate::{LinkState, Node, Topology};
use plotters::coord::Shift;
use plotters::drawing::DrawingArea;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::prelude::SVGBackend;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};
use std::collections::BTreeMap;

/// Links that are drawn; a fabric with more is folded further.
const LINKS: usize = 260;

/// Height of a tier, of a node, and of the room above and below, in pixels.
const TIER: f64 = 112.0;
const NODE: f64 = 24.0;
const EDGE: f64 = 34.0;

/// A tier, or a node of it.
type Place = (usize, usize);

/// What is drawn of a topology.
struct Folded {
    tiers: Vec<Row>,
    /// Links between boxes, from the lower to the upper.
    links: BTreeMap<(Place, Place), Bundle>,
}

/// What is drawn of a tier.
struct Row {
    /// How many nodes a box stands for, at most.
    each: usize,
    boxes: Vec<Box>,
    /// The box of each node.
    of: Vec<usize>,
}

/// Links between the same two boxes.
#[derive(Debug, Clone, Copy, Default)]
struct Bundle {
    loads: f64,
    links: u32,
    /// The worst.
    state: LinkState,
}

impl Bundle {
    /// The mean load: the greatest would be the same of all in a fabric that is folded far.
    fn load(self) -> f64 {
        self.loads / f64::from(self.links.max(1))
    }
}

struct Box {
    name: String,
    rail: Option<u32>,
    down: bool,
}

pub(super) fn topology(topology: &Topology) -> Drawing {
    let (wide, narrow) = (fold(topology, 32), fold(topology, 8));
    let mut notes = Vec::new();
    let folded = |(_, row): &(&crate::Tier, &Row)| row.each > 1;
    let tiers = topology.tiers.iter().zip(&narrow.tiers).filter(folded);
    let names: Vec<&str> = tiers.map(|(tier, _)| tier.name.as_str()).collect();
    if !names.is_empty() {
        let names = names.join(", ");
        notes.push(format!("Folded: {names}; the picture says how many are in a box."));
    }
    if wide.links.len() < topology.links.len() {
        notes.push(format!(
            "The lines show {} links: their mean load, and the state of the worst.",
            topology.links.len()
        ));
    }
    Drawing {
        wide: whole(topology, &wide, Width::Wide),
        narrow: whole(topology, &narrow, Width::Narrow),
        legend: legend(topology, &wide),
        notes,
        description: description(topology),
    }
}

fn legend(topology: &Topology, folded: &Folded) -> Vec<Key> {
    let any = |state| topology.links.iter().any(|link| link.state == state);
    let key = |ink, form, name: &str| Key { ink, form, name: name.to_owned() };
    let mut keys = vec![key(Ink::Grid, Form::Ramp, "load of a link, from idle to full")];
    if any(LinkState::Hot) {
        keys.push(key(Ink::Fail, Form::Thick, "hot spot"));
    }
    if any(LinkState::Down) || topology.tiers.iter().flat_map(|t| &t.nodes).any(|n| n.down) {
        keys.push(key(Ink::Fail, Form::Dashes, "down"));
    }
    let boxes = folded.tiers.iter().flat_map(|row| &row.boxes);
    let mut rails: Vec<u32> = boxes.filter_map(|node| node.rail).collect();
    rails.sort_unstable();
    rails.dedup();
    for rail in rails.iter().take(usize::from(Ink::SERIES)) {
        keys.push(key(Ink::series(*rail as usize), Form::Box, &format!("rail {rail}")));
    }
    keys
}

fn description(topology: &Topology) -> String {
    let tier = |tier: &crate::Tier| format!("{} {}", tier.nodes.len(), tier.name);
    let tiers: Vec<String> = topology.tiers.iter().map(tier).collect();
    let count = |state| topology.links.iter().filter(|link| link.state == state).count();
    format!(
        "From below: {}. {} links, {} of them hot, {} down.",
        tiers.join(", "),
        topology.links.len(),
        count(LinkState::Hot),
        count(LinkState::Down)
    )
}

/// Folds until few enough boxes and links are left.
fn fold(topology: &Topology, most: usize) -> Folded {
    let mut boxes = most;
    loop {
        let folded = fold_to(topology, boxes);
        if folded.links.len() <= LINKS || boxes <= 2 {
            return folded;
        }
        boxes = boxes * 3 / 4;
    }
}

fn fold_to(topology: &Topology, most: usize) -> Folded {
    let tiers: Vec<Row> = topology.tiers.iter().map(|tier| row(&tier.nodes, most)).collect();
    let mut links: BTreeMap<(Place, Place), Bundle> = BTreeMap::new();
    for link in &topology.links {
        if topology.node(link.from).is_none() || topology.node(link.to).is_none() {
            continue;
        }
        let place = |at: crate::NodeRef| (at.tier, tiers[at.tier].of[at.node]);
        let (a, b) = (place(link.from), place(link.to));
        if a == b {
            continue;
        }
        let bundle = links.entry((a.min(b), a.max(b))).or_default();
        bundle.loads += if link.load.is_finite() { link.load.clamp(0.0, 1.0) } else { 0.0 };
        bundle.links += 1;
        bundle.state = bundle.state.max(link.state);
    }
    Folded { tiers, links }
}

/// The boxes of a tier: rail by rail, so that a rail's links run beside each other, and of a rail
/// that has too many nodes neighbours together.
fn row(nodes: &[Node], most: usize) -> Row {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|at| nodes[*at].rail);
    let rails = order.chunk_by(|a, b| nodes[*a].rail == nodes[*b].rail).count().max(1);
    let mut row = Row { each: 1, boxes: Vec::new(), of: vec![0; nodes.len()] };
    let by_rail = rails <= most && nodes.len() > most;
    let each = |length: usize| {
        if by_rail { length.div_ceil((most / rails).max(1)) } else { nodes.len().div_ceil(most) }
    };
    let parts: Vec<&[usize]> = if by_rail {
        order.chunk_by(|a, b| nodes[*a].rail == nodes[*b].rail).collect()
    } else {
        vec![&order]
    };
    for part in parts {
        let each = each(part.len()).max(1);
        row.each = row.each.max(each);
        for chunk in part.chunks(each) {
            for at in chunk {
                row.of[*at] = row.boxes.len();
            }
            row.boxes.push(group(&chunk.iter().map(|at| &nodes[*at]).collect::<Vec<_>>()));
        }
    }
    row
}

/// One box for neighbours. It has their rail if they are of one, and is down if one of them is.
fn group(nodes: &[&Node]) -> Box {
    let rail = nodes.first().and_then(|node| node.rail);
    let name = match nodes {
        [only] => only.name.clone(),
        [first, .., last] => format!("{} … {}", first.name, last.name),
        [] => String::new(),
    };
    let rail = rail.filter(|_| nodes.iter().all(|node| node.rail == rail));
    Box { name, rail, down: nodes.iter().any(|node| node.down) }
}

fn whole(topology: &Topology, folded: &Folded, width: Width) -> Picture {
    let tiers = folded.tiers.len().max(1) as f64;
    let height = (tiers - 1.0) * TIER + NODE + 2.0 * EDGE;
    picture(width.pixels(), height, |root| {
        let plan = Plan { topology, folded, width: width.pixels(), height };
        plan.links(root)?;
        plan.nodes(root)
    })
}

struct Plan<'a> {
    topology: &'a Topology,
    folded: &'a Folded,
    width: f64,
    height: f64,
}

impl Plan<'_> {
    /// Room for one box of a tier, in pixels.
    fn step(&self, tier: usize) -> f64 {
        self.width / self.folded.tiers[tier].boxes.len().max(1) as f64
    }

    /// The middle of a box, in pixels.
    fn middle(&self, (tier, node): Place) -> (f64, f64) {
        let x = (node as f64 + 0.5) * self.step(tier);
        (x, self.height - EDGE - NODE / 2.0 - tier as f64 * TIER)
    }

    /// The worst links last, on top of the others.
    fn links(&self, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
        let mut links: Vec<_> = self.folded.links.iter().collect();
        links.sort_by(|a, b| a.1.state.cmp(&b.1.state).then(a.1.load().total_cmp(&b.1.load())));
        for ((a, b), bundle) in links {
            let (from, to) = (self.middle(*a), self.middle(*b));
            let point = |(x, y): (f64, f64)| (units(x), units(y));
            let path = if a.0 == b.0 {
                // Links within a tier go around below it.
                let middle = ((from.0 + to.0) / 2.0, from.1 + NODE);
                vec![point(from), point(middle), point(to)]
            } else {
                vec![point((from.0, from.1 - NODE / 2.0)), point((to.0, to.1 + NODE / 2.0))]
            };
            let load = bundle.load();
            let style = match bundle.state {
                LinkState::Up => line(Ink::heat(load), 1.0 + 1.5 * load),
                LinkState::Hot => line(Ink::Fail, 4.0),
                LinkState::Down => line(Ink::Down, 2.0),
            };
            root.draw(&PathElement::new(path, style))?;
        }
        Ok(())
    }

    fn nodes(&self, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
        for (tier, row) in self.folded.tiers.iter().enumerate() {
            let step = self.step(tier);
            let half = (step * 0.42).min(46.0);
            for (at, node) in row.boxes.iter().enumerate() {
                let (x, y) = self.middle((tier, at));
                let corner = |x: f64, y: f64| (units(x), units(y));
                let frame = [corner(x - half, y - NODE / 2.0), corner(x + half, y + NODE / 2.0)];
                let ink = node.rail.map_or(Ink::Muted, |rail| Ink::series(rail as usize));
                root.draw(&Rectangle::new(frame, Ink::Card.sentinel().filled()))?;
                let fill = super::panel::see_through(ink, 0.22).filled();
                root.draw(&Rectangle::new(frame, fill))?;
                let edge = if node.down { Ink::Down } else { ink };
                root.draw(&Rectangle::new(frame, line(edge, if node.down { 2.0 } else { 1.0 })))?;
                if half * 2.0 >= ADVANCE * 3.0 && half * 2.0 >= self.least(node) {
                    let text = fit(&node.name, half * 2.0);
                    let style = words(Ink::Text, HPos::Center, VPos::Center);
                    root.draw(&Text::new(text, corner(x, y), style))?;
                }
            }
            self.title(root, tier)?;
        }
        Ok(())
    }

    /// A name of which hardly anything is left says nothing.
    fn least(&self, node: &Box) -> f64 {
        (node.name.chars().count().min(6) as f64) * ADVANCE
    }

    fn title(&self, root: &DrawingArea<SVGBackend<'_>, Shift>, tier: usize) -> Drawn {
        let Some(own) = self.topology.tiers.get(tier) else { return Ok(()) };
        let each = self.folded.tiers[tier].each;
        let mut text = format!("{} {}", own.nodes.len(), fit(&own.name, 160.0));
        if each > 1 {
            text += &format!(", {each} in a box");
        }
        let lowest = tier == 0;
        let (_, y) = self.middle((tier, 0));
        let y = if lowest { y + NODE / 2.0 + 6.0 } else { y - NODE / 2.0 - LETTER - 5.0 };
        let style = words(Ink::Muted, HPos::Left, VPos::Top);
        root.draw(&Text::new(text, (units(4.0), units(y)), style))
    }
}
