//! Nodes in tiers with their links: each with its name while names fit, groups with counts and loads
//! where there are more. What a line stands for, and how busy it is, is written between the tiers;
//! the worst links are named below the picture, however large the fabric is.

mod fold;

use super::ink::Ink;
use super::panel::{ADVANCE, LETTER, fit, units};
use super::{Drawing, Form, Key, Picture, Width};
use crate::html::escape;
use crate::{Link, LinkState, Topology, Unit, counted};
use fold::{Bundle, Folded, Group, Place, fold, many};
use std::collections::BTreeMap;

/// Height of a tier, of a box, and of the room above and below, in pixels.
const TIER: f64 = 150.0;
const NODE: f64 = 40.0;
const EDGE: f64 = 28.0;

/// Links of each state that are named below the picture.
const NAMED: usize = 3;

pub(super) fn topology(topology: &Topology) -> Drawing {
    let draw = |width: Width| whole(topology, &fold(topology, width.pixels()), width.pixels());
    let wide = fold(topology, Width::Wide.pixels());
    let mut notes = Vec::new();
    if wide.bundles.len() < topology.links.len() {
        let links = counted(topology.links.len() as u64, "link", "links");
        let coloured = if measured(topology) { ", coloured by their mean load" } else { "" };
        notes.push(format!("A line is all links between two groups{coloured}: {links} in all."));
    }
    notes.extend(worst(topology));
    Drawing {
        wide: whole(topology, &wide, Width::Wide.pixels()),
        narrow: draw(Width::Narrow),
        legend: legend(topology, &wide),
        notes,
        description: description(topology),
    }
}

/// The links that one should look at, by name: those that are down, hot spots, and the busiest.
fn worst(topology: &Topology) -> Vec<String> {
    let of = |state: LinkState| {
        let mut links: Vec<&Link> = topology.links.iter().collect();
        links.retain(|link| link.state == state && (state != LinkState::Up || link.load > 0.0));
        links.sort_by(|a, b| b.load.total_cmp(&a.load));
        links
    };
    let sound = topology.links.iter().all(|link| link.state <= LinkState::Up);
    let busiest = if sound { "Busiest" } else { "Busiest of the others" };
    let states = [("Down", LinkState::Down), ("Hot", LinkState::Hot), ("", LinkState::Up)];
    let part = |(word, state): (&str, LinkState)| {
        let links = of(state);
        let named = links.iter().take(NAMED).filter_map(|link| {
            let name = name(topology, link)?;
            let load = (state != LinkState::Down).then(|| Unit::Share.show(link.load));
            Some([Some(name), load].into_iter().flatten().collect::<Vec<_>>().join(" "))
        });
        let mut named: Vec<String> = named.collect();
        if links.len() > named.len() && state != LinkState::Up {
            named.push(counted((links.len() - named.len()) as u64, "other", "others"));
        }
        let word = if word.is_empty() { busiest } else { word };
        (!named.is_empty()).then(|| format!("{word}: {}.", named.join(", ")))
    };
    states.into_iter().filter_map(part).collect()
}

fn name(topology: &Topology, link: &Link) -> Option<String> {
    let (from, to) = (topology.node(link.from)?, topology.node(link.to)?);
    Some(format!("{}–{}", from.name, to.name))
}

fn legend(topology: &Topology, folded: &Folded) -> Vec<Key> {
    let any = |state| topology.links.iter().any(|link| link.state == state);
    let key = |ink, form, name: &str| Key { ink, form, name: name.to_owned() };
    let mut keys = Vec::new();
    if measured(topology) {
        keys.push(key(Ink::Grid, Form::Ramp, "load of a link, from idle to full"));
        if any(LinkState::Unmeasured) {
            keys.push(key(Ink::Muted, Form::Line, "not recorded"));
        }
    }
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

/// Whether the load of any link is known.
fn measured(topology: &Topology) -> bool {
    topology.links.iter().any(|link| link.state != LinkState::Unmeasured)
}

fn description(topology: &Topology) -> String {
    let tier = |tier: &crate::Tier| many(tier.nodes.len(), &tier.name);
    let tiers: Vec<String> = topology.tiers.iter().map(tier).collect();
    let count = |state| topology.links.iter().filter(|link| link.state == state).count();
    format!(
        "From below: {}. {}, {} of them hot, {} down.",
        tiers.join(", "),
        counted(topology.links.len() as u64, "link", "links"),
        count(LinkState::Hot),
        count(LinkState::Down)
    )
}

fn whole(topology: &Topology, folded: &Folded, width: f64) -> Picture {
    let tiers = folded.tiers.len().max(1) as f64;
    let height = (tiers - 1.0) * TIER + NODE + 2.0 * EDGE;
    let plan = Plan { topology, folded, width, height };
    let shapes = plan.lines() + &plan.sums() + &plan.boxes();
    let size = |pixels: f64| units(pixels).max(1) as u32;
    Picture { width: size(width), height: size(height), shapes, frame: None }
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

    /// The worst last, on top of the others.
    fn lines(&self) -> String {
        let mut bundles: Vec<_> = self.folded.bundles.iter().collect();
        let rank = |bundle: &Bundle| (bundle.down.min(1), bundle.hot.min(1));
        bundles.sort_by(|a, b| rank(a.1).cmp(&rank(b.1)).then(a.1.load().total_cmp(&b.1.load())));
        bundles.into_iter().map(|((a, b), bundle)| self.line(*a, *b, bundle)).collect()
    }

    fn line(&self, a: Place, b: Place, bundle: &Bundle) -> String {
        let (from, to) = (self.middle(a), self.middle(b));
        let half = NODE / 2.0;
        let points = if a.0 == b.0 {
            // Links within a tier go around below it.
            vec![from, ((from.0 + to.0) / 2.0, from.1 + NODE), to]
        } else {
            vec![(from.0, from.1 - half), (to.0, to.1 + half)]
        };
        let place = |(x, y): &(f64, f64)| format!("{},{}", units(*x), units(*y));
        let points = points.iter().map(place).collect::<Vec<_>>().join(" ");
        let load = bundle.load();
        // Of many, a few that are hot do not make the line hot: the words count them.
        let (ink, width) = match bundle {
            _ if bundle.measured == 0 => (Ink::Muted, 0.6),
            _ if 2 * bundle.down > bundle.links => (Ink::Down, 2.0),
            _ if 2 * bundle.hot > bundle.links => (Ink::Fail, 4.0),
            _ => (Ink::heat(load), 1.5 + 2.5 * load),
        };
        let line = |class: &str, ink: &str, width: f64| {
            let width = units(width);
            format!(
                "<polyline{class} fill=\"none\" stroke=\"{ink}\" stroke-width=\"{width}\" points=\"{points}\"/>"
            )
        };
        format!(
            "<g class=\"spot\"><title>{}</title>{}{}</g>\n",
            escape(&self.said(a, b, bundle)),
            line("", &ink.drawn(), width),
            line(" class=\"reach\"", "none", 10.0)
        )
    }

    /// All that is known of the links between two boxes.
    fn said(&self, a: Place, b: Place, bundle: &Bundle) -> String {
        let own = |(tier, at): Place| &self.folded.tiers[tier].boxes[at].words[0];
        format!("{} – {}\n{}", own(a), own(b), self.sum(bundle).join("\n"))
    }

    /// How many links, how busy, and what is wrong with some: a line each.
    fn sum(&self, bundle: &Bundle) -> Vec<String> {
        let share = |load: f64| Unit::Share.show(load);
        let mut links = counted(bundle.links as u64, "link", "links");
        if bundle.measured == 0 {
            return vec![links];
        }
        if bundle.measured < bundle.links {
            let recorded = Unit::Count.show(bundle.measured as f64);
            links += &format!(", {recorded} recorded");
        }
        let mut lines = match bundle.worst {
            Some((most, _)) if bundle.links > 1 => {
                vec![format!("{links}: mean {}, worst {}", share(bundle.load()), share(most))]
            }
            _ => vec![format!("{links}: {}", share(bundle.load()))],
        };
        let wrong = [(bundle.hot, "hot"), (bundle.down, "down")];
        let wrong = wrong.iter().filter(|(count, _)| *count > 0);
        let wrong: Vec<String> = wrong.map(|(count, word)| format!("{count} {word}")).collect();
        if !wrong.is_empty() {
            lines.push(wrong.join(", "));
        }
        lines
    }

    /// What all links between two tiers carry, in words between them.
    fn sums(&self) -> String {
        let mut between: BTreeMap<(usize, usize), Bundle> = BTreeMap::new();
        for ((a, b), bundle) in self.folded.bundles.iter().filter(|((a, b), _)| b.0 == a.0 + 1) {
            let all = between.entry((a.0, b.0)).or_default();
            *all = all.with(*bundle);
        }
        let mut out = String::new();
        for ((lower, _), bundle) in between {
            let (_, y) = self.middle((lower, 0));
            let mut lines = self.sum(&bundle);
            let worst = bundle.worst.filter(|(load, _)| bundle.links > 1 && *load > 0.0);
            if let Some(name) =
                worst.and_then(|(_, at)| name(self.topology, &self.topology.links[at]))
            {
                lines.insert(1, format!("busiest: {name}"));
            }
            let above = y - NODE / 2.0 - (TIER - NODE) / 2.0;
            let top = above - lines.len() as f64 * (LETTER + 4.0) / 2.0 + LETTER;
            for (row, line) in lines.iter().enumerate() {
                out += &self.aside(top + row as f64 * (LETTER + 4.0), Ink::Text, line);
            }
        }
        out
    }

    fn boxes(&self) -> String {
        let mut out = String::new();
        for (tier, row) in self.folded.tiers.iter().enumerate() {
            for (at, own) in row.boxes.iter().enumerate() {
                out += &self.one(self.middle((tier, at)), self.step(tier) / 2.0 - 3.0, own);
            }
            let Some(all) = self.topology.tiers.get(tier) else { continue };
            let mut text = many(all.nodes.len(), &all.name);
            if row.boxes.len() < all.nodes.len() {
                text += &format!(" in {}", counted(row.boxes.len() as u64, "group", "groups"));
            }
            let (_, y) = self.middle((tier, 0));
            let y = if tier == 0 { y + NODE / 2.0 + LETTER + 4.0 } else { y - NODE / 2.0 - 7.0 };
            out += &self.aside(y, Ink::Muted, &text);
        }
        out
    }

    /// Words at the left edge, on paper of their own: lines run behind them.
    fn aside(&self, y: f64, ink: Ink, text: &str) -> String {
        let text = fit(text, self.width - 8.0);
        let (width, height) = (text.chars().count() as f64 * ADVANCE * 0.92 + 8.0, LETTER + 4.0);
        format!(
            "<rect x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" fill-opacity=\"0.88\"/>",
            units(y - LETTER),
            units(width.min(self.width)),
            units(height),
            Ink::Card.drawn()
        ) + &words(4.0, y, "start", ink, &text)
    }

    fn one(&self, (x, y): (f64, f64), room: f64, own: &Group) -> String {
        let half = room.min(64.0);
        let ink = own.rail.map_or(Ink::Muted, |rail| Ink::series(rail as usize));
        let edge = if own.down > 0 { Ink::Down } else { ink };
        let frame = |more: &str| {
            let (left, top) = (units(x - half), units(y - NODE / 2.0));
            let (width, height) = (units(2.0 * half), units(NODE));
            format!(
                "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"8\"{more}/>"
            )
        };
        let paper = frame(&format!(" fill=\"{}\"", Ink::Card.drawn()));
        let tint = frame(&format!(
            " fill=\"{}\" fill-opacity=\"0.22\" stroke=\"{}\" stroke-width=\"{}\"",
            ink.drawn(),
            edge.drawn(),
            if own.down > 0 { 4 } else { 2 }
        ));
        let first = y + LETTER / 2.0 - 2.0 - (own.words.len() as f64 - 1.0) * (LETTER + 2.0) / 2.0;
        let lines = own.words.iter().enumerate().map(|(row, line)| {
            let line = fit(line, 2.0 * half + 8.0);
            words(x, first + row as f64 * (LETTER + 2.0), "middle", Ink::Text, &line)
        });
        let lines: String = lines.collect();
        let said = escape(&own.said);
        format!("<g class=\"spot\"><title>{said}</title>{paper}{tint}\n{lines}</g>\n")
    }
}

/// Words whose base line is here, in pixels.
fn words(x: f64, y: f64, anchor: &str, ink: Ink, text: &str) -> String {
    format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\" font-size=\"{}\" fill=\"{}\">{}</text>\n",
        units(x),
        units(y),
        units(LETTER),
        ink.drawn(),
        escape(text)
    )
}
