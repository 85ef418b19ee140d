//! The bill of materials: every part with its number, power and price.

use super::floor::Hall;
use super::parts::{self, Medium};
use super::price::{Price, Prices};
use super::refusal::Refusal;
use super::shape::{Level, Shape};
use super::wish::Ask;
use super::{floor, size};
use serde::Serialize;
use std::collections::BTreeMap;
use xoff_fabric::catalogue::{Catalogue, Milliwatts, Silicon};
use xoff_fabric::model::Tier;
use xoff_units::{Length, Rate};

/// What a part is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A switch at the hosts.
    Leaf,
    /// A switch above the leaves.
    Spine,
    /// A switch above the spines.
    Core,
    /// A NIC.
    Nic,
    /// A transceiver.
    Transceiver,
    /// A cable with its ends attached. One that fans out is counted by its legs.
    Cable,
    /// A fibre between transceivers.
    Fibre,
}

impl Role {
    /// The word for tables.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Leaf => "leaf",
            Role::Spine => "spine",
            Role::Core => "core",
            Role::Nic => "nic",
            Role::Transceiver => "transceiver",
            Role::Cable => "cable",
            Role::Fibre => "fibre",
        }
    }
}

/// A part and its quantity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What it is for.
    pub role: Role,
    /// Which part, by its name in the catalogue.
    pub part: String,
    /// The length of a cable or fibre.
    pub length: Option<Length>,
    /// How many.
    pub quantity: u64,
    /// Power of each.
    pub power: Milliwatts,
    /// Whether the power is an estimate.
    pub power_estimate: bool,
    /// Price of each.
    pub price: Price,
}

/// The cables of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LevelCables {
    /// Between what.
    pub level: Level,
    /// How many.
    pub cables: u64,
    /// Rate of each.
    pub rate: Rate,
    /// The longest.
    pub longest: Length,
    /// What carries them: one kind for all cables of a level, so that it reaches the longest.
    pub medium: Medium,
}

/// Everything to be bought, servers excepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Bill {
    /// The parts.
    pub lines: Vec<Line>,
    /// Power of all, in thousandths of a watt.
    pub milliwatts: u64,
    /// Price of all.
    pub price: Price,
}

impl Bill {
    /// How many parts have this role.
    pub fn quantity(&self, role: Role) -> u64 {
        self.lines.iter().filter(|line| line.role == role).map(|line| line.quantity).sum()
    }
}

/// Switches of each tier.
pub(super) fn tiers(shape: &Shape) -> [u64; 3] {
    [Tier::Leaf, Tier::Spine, Tier::Core].map(|tier| shape.switches(tier))
}

/// The silicon of each tier.
pub(super) fn silicon(ask: &Ask) -> [&Silicon; 3] {
    [&ask.leaf, &ask.spine, &ask.core]
}

/// The cables of every level, with what carries them.
pub(super) fn cables(
    ask: &Ask,
    shape: &Shape,
    hall: &Hall,
    catalogue: &Catalogue,
) -> Result<Vec<LevelCables>, Refusal> {
    let longest = hall.longest(shape);
    let level = |level: Level| {
        let (rate, longest) = (shape.rate(level), longest[level as usize]);
        let splits = parts::splits(level, rate, silicon(ask));
        let medium = parts::medium(catalogue, rate, longest, splits).ok_or_else(|| {
            Refusal::new(
                format!(
                    "nothing in the catalogue carries {rate} over the {longest} between {}",
                    floor::between(level)
                ),
                ["racks that stand closer together", "slower links"],
            )
        })?;
        Ok(LevelCables { level, cables: shape.cables(level), rate, longest, medium })
    };
    shape.levels().map(level).collect()
}

/// The bill of a fabric.
pub(super) fn bill(
    ask: &Ask,
    shape: &Shape,
    hall: &Hall,
    levels: &[LevelCables],
    catalogue: &Catalogue,
    prices: &Prices,
) -> Bill {
    let mut lines = devices(ask, shape, prices);
    let mut count = Count::default();
    count.transceivers(ask, shape, levels);
    shape.for_each_run(|run| {
        let medium = levels.iter().find(|level| level.level == run.level).map(|l| &l.medium);
        if let Some(medium) = medium {
            count.cable(medium, hall.length(run), run.cables);
        }
    });
    let media = |name: &str| catalogue.media.get(name);
    lines.extend(count.parts.iter().map(|((role, part, length), quantity)| {
        let ends = match role {
            Role::Cable => 2,
            Role::Transceiver => 1,
            _ => 0,
        };
        let power = media(part).map_or(0, |media| media.power.0.saturating_mul(ends));
        Line {
            role: *role,
            part: (*part).to_owned(),
            length: *length,
            quantity: *quantity,
            power: Milliwatts(power),
            power_estimate: false,
            price: match (role, length) {
                (Role::Fibre, Some(length)) => prices.fibre(*length),
                _ => prices.media(part),
            },
        }
    }));
    let add = |sum: Price, line: &Line| sum + line.price.times(line.quantity);
    let watts = |line: &Line| u64::from(line.power.0).saturating_mul(line.quantity);
    Bill {
        milliwatts: lines.iter().map(watts).fold(0, u64::saturating_add),
        price: lines.iter().fold(Price::default(), add),
        lines,
    }
}

fn devices(ask: &Ask, shape: &Shape, prices: &Prices) -> Vec<Line> {
    let tiers = [
        (Role::Leaf, Tier::Leaf, &ask.leaf),
        (Role::Spine, Tier::Spine, &ask.spine),
        (Role::Core, Tier::Core, &ask.core),
    ];
    let switches = tiers.iter().map(|(role, tier, silicon)| Line {
        role: *role,
        part: silicon.name.clone(),
        length: None,
        quantity: shape.switches(*tier),
        power: silicon.power,
        power_estimate: true,
        price: prices.switch(&silicon.name),
    });
    let nics = Line {
        role: Role::Nic,
        part: ask.nic.name.clone(),
        length: None,
        quantity: shape.nics(),
        power: ask.nic.power,
        power_estimate: true,
        price: prices.nic(&ask.nic.name),
    };
    switches.filter(|line| line.quantity > 0).chain([nics]).collect()
}

/// Parts while they are counted, by role, name and length.
#[derive(Default)]
struct Count<'a> {
    parts: BTreeMap<(Role, &'a str, Option<Length>), u64>,
}

impl<'a> Count<'a> {
    fn add(&mut self, role: Role, part: &'a str, length: Option<Length>, count: u64) {
        if count > 0 {
            *self.parts.entry((role, part, length)).or_default() += count;
        }
    }

    fn cable(&mut self, medium: &'a Medium, length: Length, cables: u64) {
        match medium.attached {
            true => self.add(Role::Cable, &medium.name, Some(length), cables),
            false => self.add(Role::Fibre, "fibre", Some(length), cables),
        }
    }

    /// A transceiver per cage that is used: links of one level share it, others do not.
    fn transceivers(&mut self, ask: &Ask, shape: &Shape, levels: &'a [LevelCables]) {
        let silicon = silicon(ask);
        for level in levels.iter().filter(|level| !level.medium.attached) {
            let (rate, medium) = (level.rate, &level.medium);
            let cages = |tier: Tier, links: u64| {
                size::cages(silicon[tier as usize], rate, links).unwrap_or(links)
            };
            let (below, above) = (level.level.lower(), level.level.upper());
            let lower = match below {
                None => shape.nics(),
                Some(tier) => {
                    let each = level.cables / shape.switches(tier).max(1);
                    shape.switches(tier) * cages(tier, each)
                }
            };
            self.add(Role::Transceiver, &medium.lower, None, lower);
            let links = used(shape, level.level);
            let upper = links.iter().map(|links| cages(above, *links)).sum();
            self.add(Role::Transceiver, &medium.upper, None, upper);
        }
    }
}

/// Links that arrive from below at every switch above.
fn used(shape: &Shape, level: Level) -> Vec<u64> {
    let mut links = vec![0; shape.switches(level.upper()) as usize];
    shape.for_each_run(|run| {
        if run.level == level {
            links[run.upper as usize] += run.cables;
        }
    });
    links
}
